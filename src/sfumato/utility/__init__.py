"""Utility measures: what a protected table is still good for."""

from sfumato.utility.cdf import CDFMaximum, CDFSquares
from sfumato.utility.cluster import ClusterUtility
from sfumato.utility.correlation_structure import EigenvalueLoss, InverseCorrelationLoss
from sfumato.utility.divergence import KullbackLeibler
from sfumato.utility.ellipsoid import EllipsoidOverlap
from sfumato.utility.global_utility import GlobalDataUtility
from sfumato.utility.information_loss import InformationLoss, InformationLossTorres, StructureLoss
from sfumato.utility.models import Model
from sfumato.utility.overlap import ConclusionChanges, IntervalOverlap
from sfumato.utility.propensity import PropensityUtility
from sfumato.utility.suppressed import Suppressed
from sfumato.utility.table_utility import TableUtility
from sfumato.utility.value_distance import ValueDistance

__all__ = [
    "CDFMaximum",
    "CDFSquares",
    "ClusterUtility",
    "ConclusionChanges",
    "EigenvalueLoss",
    "EllipsoidOverlap",
    "GlobalDataUtility",
    "InformationLoss",
    "InformationLossTorres",
    "IntervalOverlap",
    "InverseCorrelationLoss",
    "KullbackLeibler",
    "Model",
    "PropensityUtility",
    "StructureLoss",
    "Suppressed",
    "TableUtility",
    "ValueDistance",
]
