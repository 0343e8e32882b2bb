"""Risk measures: what an intruder can learn from a protected table."""

from sfumato.risk.distance_linkage import DistanceLinkage
from sfumato.risk.diversity import LDiversity, TCloseness
from sfumato.risk.individual import IndividualRisk
from sfumato.risk.interval import RankInterval, SpreadInterval
from sfumato.risk.k_anonymity import KAnonymity
from sfumato.risk.log_linear import LogLinearRisk
from sfumato.risk.probabilistic_linkage import ProbabilisticLinkage
from sfumato.risk.suda import SUDA2
from sfumato.risk.uniques import SampleUniques

__all__ = [
    "SUDA2",
    "DistanceLinkage",
    "IndividualRisk",
    "KAnonymity",
    "LDiversity",
    "LogLinearRisk",
    "ProbabilisticLinkage",
    "RankInterval",
    "SampleUniques",
    "SpreadInterval",
    "TCloseness",
]
