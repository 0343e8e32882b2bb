"""Propensity score utility: pooled tables, logistic models, trees, and what chance alone would give."""

from sfumato.utility.propensity.measure import PropensityUtility

__all__ = ["PropensityUtility"]
