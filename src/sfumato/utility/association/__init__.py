"""How strongly the variables of a file are associated, for every pair at once and whatever their scales."""

from sfumato.utility.association.columns import Column, Scale, normal
from sfumato.utility.association.pairs import REASONS, TESTS, WEIGHTED, PairTests, pair_tests, turned

__all__ = ["REASONS", "TESTS", "WEIGHTED", "Column", "PairTests", "Scale", "normal", "pair_tests", "turned"]
