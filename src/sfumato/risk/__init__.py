"""Risk measures: what an intruder can learn from a protected table."""

from sfumato.risk.distance_linkage import DistanceLinkage
from sfumato.risk.interval import RankInterval, SpreadInterval
from sfumato.risk.probabilistic_linkage import ProbabilisticLinkage

__all__ = ["DistanceLinkage", "ProbabilisticLinkage", "RankInterval", "SpreadInterval"]
