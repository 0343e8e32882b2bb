"""Risk measures: what an intruder can learn from a protected table."""

from sfumato.risk.attack_and_control import Inference, Linkability, SinglingOut
from sfumato.risk.attribution import DCAP, TCAP, DiSCO, RepU
from sfumato.risk.distance_linkage import DistanceLinkage
from sfumato.risk.diversity import LDiversity, TCloseness
from sfumato.risk.exposed_amounts import ExposedAmounts
from sfumato.risk.individual import IndividualRisk
from sfumato.risk.interval import RankInterval, SpreadInterval
from sfumato.risk.k_anonymity import KAnonymity
from sfumato.risk.log_linear import LogLinearRisk
from sfumato.risk.match_probability import MatchProbability
from sfumato.risk.nearest_record import NearestRecord
from sfumato.risk.population import PopulationRisk
from sfumato.risk.probabilistic_linkage import ProbabilisticLinkage
from sfumato.risk.rank_attack import RankSwappingAttack
from sfumato.risk.reidentification import Reidentification
from sfumato.risk.robust_mahalanobis import RobustMahalanobisRisk
from sfumato.risk.sample_uniques import SampleUniques
from sfumato.risk.suda import SUDA2

__all__ = [
    "DCAP",
    "SUDA2",
    "TCAP",
    "DiSCO",
    "DistanceLinkage",
    "ExposedAmounts",
    "IndividualRisk",
    "Inference",
    "KAnonymity",
    "LDiversity",
    "Linkability",
    "LogLinearRisk",
    "MatchProbability",
    "NearestRecord",
    "PopulationRisk",
    "ProbabilisticLinkage",
    "RankInterval",
    "RankSwappingAttack",
    "Reidentification",
    "RepU",
    "RobustMahalanobisRisk",
    "SampleUniques",
    "SinglingOut",
    "SpreadInterval",
    "TCloseness",
]
