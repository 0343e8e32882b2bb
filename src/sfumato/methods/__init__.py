"""Methods: functions from a table to a table, one file per idea."""

from sfumato.methods.compression import JPEG
from sfumato.methods.correlated_noise import CorrelatedNoise, KimNoise, NormalSynthesis, ResidualNoise
from sfumato.methods.distortion import DistributionDistortion
from sfumato.methods.microaggregation import MDAV, IndividualRanking, ProjectionMicroaggregation
from sfumato.methods.noise import Noise
from sfumato.methods.rank_groups import GroupedMicroaggregation, GroupedSwapping
from sfumato.methods.resampling import Resampling
from sfumato.methods.swapping import RankSwapping

__all__ = [
    "JPEG",
    "MDAV",
    "CorrelatedNoise",
    "DistributionDistortion",
    "GroupedMicroaggregation",
    "GroupedSwapping",
    "IndividualRanking",
    "KimNoise",
    "Noise",
    "NormalSynthesis",
    "ProjectionMicroaggregation",
    "RankSwapping",
    "Resampling",
    "ResidualNoise",
]
