"""Utility measures: what a protected table is still good for."""

from sfumato.utility.information_loss import InformationLoss, InformationLossTorres, StructureLoss

__all__ = ["InformationLoss", "InformationLossTorres", "StructureLoss"]
