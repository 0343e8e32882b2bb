"""Methods: functions from a table to a table, one file per idea."""

from sfumato.methods.cart_synthesis import CARTSynthesis
from sfumato.methods.compression import JPEG
from sfumato.methods.correlated_noise import CorrelatedNoise, KimNoise, NormalSynthesis, ResidualNoise
from sfumato.methods.date_shift import DateShift
from sfumato.methods.distortion import DistributionDistortion
from sfumato.methods.local_recoding import LocalRecoding
from sfumato.methods.local_suppression import LocalSuppression
from sfumato.methods.microaggregation import MDAV, IndividualRanking, MaximumDistance, ProjectionMicroaggregation
from sfumato.methods.noise import Noise
from sfumato.methods.optimal_recoding import OptimalRecoding
from sfumato.methods.pram import PRAM
from sfumato.methods.rank_groups import GroupedMicroaggregation, GroupedSwapping
from sfumato.methods.recoding import GlobalRecoding
from sfumato.methods.record_swapping import RecordSwapping
from sfumato.methods.removal import VariableRemoval
from sfumato.methods.resampling import Resampling
from sfumato.methods.rounding import Rounding
from sfumato.methods.sampling import Sampling
from sfumato.methods.shuffling import Shuffling
from sfumato.methods.swapping import RankSwapping
from sfumato.methods.top_bottom import TopBottomCoding

__all__ = [
    "JPEG",
    "MDAV",
    "PRAM",
    "CARTSynthesis",
    "CorrelatedNoise",
    "DateShift",
    "DistributionDistortion",
    "GlobalRecoding",
    "GroupedMicroaggregation",
    "GroupedSwapping",
    "IndividualRanking",
    "KimNoise",
    "LocalRecoding",
    "LocalSuppression",
    "MaximumDistance",
    "Noise",
    "NormalSynthesis",
    "OptimalRecoding",
    "ProjectionMicroaggregation",
    "RankSwapping",
    "RecordSwapping",
    "Resampling",
    "ResidualNoise",
    "Rounding",
    "Sampling",
    "Shuffling",
    "TopBottomCoding",
    "VariableRemoval",
]
