"""Utility measures: what a protected table is still good for."""

from sfumato.utility.cdf import CDFMaximum, CDFSquares
from sfumato.utility.certainty_penalty import CertaintyPenalty
from sfumato.utility.class_size import AverageClassSize
from sfumato.utility.cluster import ClusterUtility
from sfumato.utility.correlation_structure import EigenvalueLoss, InverseCorrelationLoss
from sfumato.utility.density_divergence import DensityDivergence
from sfumato.utility.discernibility import Discernibility
from sfumato.utility.divergence import KullbackLeibler
from sfumato.utility.ellipsoid import EllipsoidOverlap
from sfumato.utility.global_utility import GlobalDataUtility
from sfumato.utility.information_loss import InformationLoss, InformationLossTorres, StructureLoss
from sfumato.utility.models import Model
from sfumato.utility.non_uniform_entropy import NonUniformEntropy
from sfumato.utility.overlap import ConclusionChanges, IntervalOverlap
from sfumato.utility.precision import Precision
from sfumato.utility.propensity import PropensityUtility
from sfumato.utility.scaled_distance import IL1s
from sfumato.utility.suppressed import Suppressed
from sfumato.utility.table_distances import AverageAbsoluteDistance, CramersVChange
from sfumato.utility.table_utility import TableUtility
from sfumato.utility.value_distance import ValueDistance

__all__ = [
    "AverageAbsoluteDistance",
    "AverageClassSize",
    "CDFMaximum",
    "CDFSquares",
    "CertaintyPenalty",
    "ClusterUtility",
    "ConclusionChanges",
    "CramersVChange",
    "DensityDivergence",
    "Discernibility",
    "EigenvalueLoss",
    "EllipsoidOverlap",
    "GlobalDataUtility",
    "IL1s",
    "InformationLoss",
    "InformationLossTorres",
    "IntervalOverlap",
    "InverseCorrelationLoss",
    "KullbackLeibler",
    "Model",
    "NonUniformEntropy",
    "Precision",
    "PropensityUtility",
    "StructureLoss",
    "Suppressed",
    "TableUtility",
    "ValueDistance",
]
