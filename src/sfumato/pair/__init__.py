"""Two tables on one footing: what measures share is asked for by name, computed once, and merges from part to part."""

from sfumato.pair.half import Coding, Half
from sfumato.pair.keys import Keys, design_weights, present_keys, sampling_fraction
from sfumato.pair.masking import Masking
from sfumato.pair.pair import Pair

__all__ = ["Coding", "Half", "Keys", "Masking", "Pair", "design_weights", "present_keys", "sampling_fraction"]
