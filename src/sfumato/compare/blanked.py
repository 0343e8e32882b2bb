"""What local suppression would blank of the keys, and how that is said."""

from dataclasses import dataclass

import numpy as np

from sfumato.compare.figures import listed
from sfumato.compare.key_sets import KeySet


@dataclass(frozen=True)
class Blanked:
    """The share of each key's values that is blanked, and the sets of keys that ask for it."""

    shares: tuple[float, ...]
    sets: tuple[KeySet, ...]

    @property
    def mean(self) -> float:
        """The share of all key values."""
        return float(np.mean(self.shares))


def blanking(blanked: Blanked, *, sampled: bool) -> str:
    """Say how many key values are blanked, and for which sets of keys."""
    if not blanked.sets:
        return ""
    first, *others = blanked.sets
    where = " in the sample" if sampled else ""
    said = f"{100 * blanked.mean:.1f} % of key values are blanked{where}, where fewer than {first.k} records look alike"
    if not others:
        return said
    return ", or ".join([f"{said} in {listed(first.keys)}", *(f"fewer than {o.k} in {listed(o.keys)}" for o in others)])
