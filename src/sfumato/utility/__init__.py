"""Utility measures: what a protected table is still good for."""

from sfumato.utility.cluster import ClusterUtility
from sfumato.utility.information_loss import InformationLoss, InformationLossTorres, StructureLoss

__all__ = ["ClusterUtility", "InformationLoss", "InformationLossTorres", "StructureLoss"]
