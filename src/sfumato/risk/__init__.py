"""Risk measures: what an intruder can learn from a protected table."""

from sfumato.risk.distance_linkage import DistanceLinkage
from sfumato.risk.interval import RankInterval, SpreadInterval

__all__ = ["DistanceLinkage", "RankInterval", "SpreadInterval"]
