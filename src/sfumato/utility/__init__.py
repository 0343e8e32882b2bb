"""Utility measures: what a protected table is still good for."""

from sfumato.utility.cdf import CDFMaximum, CDFSquares
from sfumato.utility.class_sizes import AverageClassSize, Discernibility
from sfumato.utility.cluster import ClusterUtility
from sfumato.utility.correlation_structure import EigenvalueLoss, InverseCorrelationLoss
from sfumato.utility.divergence import DensityDivergence, KullbackLeibler
from sfumato.utility.generalisation import CertaintyPenalty, NonUniformEntropy, Precision
from sfumato.utility.global_utility import GlobalDataUtility
from sfumato.utility.information_loss import IL1s, InformationLoss, InformationLossTorres, StructureLoss
from sfumato.utility.models import Model
from sfumato.utility.overlap import ConclusionChanges, EllipsoidOverlap, IntervalOverlap
from sfumato.utility.propensity import PropensityUtility
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
