"""l-diversity: how many different confidential values the records of a key class have."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.data.schema import Kind
from sfumato.kernels.groups import class_sums
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair
from sfumato.registry import catalogued
from sfumato.risk.class_profiles import MISSING, Confidential, Profile

Floats = NDArray[np.float64]
Diversity = Literal["distinct", "entropy", "recursive"]


@catalogued(
    MeasureAbout(
        title="Records in classes that violate l-diversity",
        source="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007)",
        purpose="risk",
        counts=("smallest",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="counts values as different however near they are: two incomes a cent apart are two values",
        formula="value = share of the records whose class (equal keys) violates, for any confidential variable:\n"
        "distinct:   number of different values < l\n"
        "entropy:    exp(-sum_v p_v ln p_v) < l        p_v = share of value v in the class\n"
        "recursive:  r_1 >= c (r_l + ... + r_m)        r_1 >= r_2 >= ... = counts of values in the class",
        reading="0 means that no class gives its value away. ``l=2`` asks only that two values occur, and one member "
        "in a hundred is enough for that; entropy and recursive ask that no value prevails. Continuous amounts pass "
        "by their cents, so recode them first. Classes of one violate always: KAnonymity comes first.",
    )
)
class LDiversity(Confidential):
    """Share of records in classes of equal keys that have too few different confidential values.

    Whoever finds the class of a person learns that person's confidential value if all members share it, though the
    class be large. With ``diversity="distinct"`` a class violates when it has fewer than ``l`` different values; with
    "entropy" when exp(-sum p ln p) of its values' shares p is below l; with "recursive" when its most frequent value
    is not less frequent than ``c`` times all but the l - 1 most frequent together, r_1 >= c (r_l + ... + r_m). A record
    counts when its class violates for any variable in ``confidential`` (by default those of that role), and
    ``by_variable`` gives the share for each. The parts "smallest, NAME" are, for each of these variables, the l (the
    number of values, or the number the entropy is worth) of the least diverse class. A unique record always violates.
    It misleads where values are different but alike (all of them diseases of the stomach) or where one value is rare in
    the file as well: see :class:`TCloseness`. Recode a continuous variable into classes first.
    """

    l: int = 2  # noqa: E741 - its name everywhere
    diversity: Diversity = "distinct"
    c: float = 3.0
    confidential: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "l", least=2)
        parameters.one_of(self, "diversity", ("distinct", "entropy", "recursive"))
        parameters.number(self, "c", above=0)
        parameters.names(self, "confidential")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        figures, notes = self.by_class(keys, pair)
        violates = {name: figure[:, 0] > 0 for name, figure in figures.items()}
        levels = {name: figure[:, 1][figure[:, 1] > 0] for name, figure in figures.items()}
        by_any = np.any(list(violates.values()), axis=0)
        return self.measurement(
            found.share(by_any),
            parts={f"smallest, {name}": float(level.min()) for name, level in levels.items() if level.size},
            by_variable={name: found.share(cells) for name, cells in violates.items()},
            by_record=found.by_record(by_any),
            notes=(*keys.notes, *notes),
        )

    def figures(self, profile: Profile, kind: Kind) -> Floats:
        """Tell of each class whether it violates l-diversity, and its number of values, 0 where it has none."""
        some = profile.total > 0
        return np.column_stack([self._violates(profile) & some, np.where(some, self._level(profile), 0.0)])

    def _level(self, profile: Profile) -> Floats:
        """Return the number of different values of each class, or the number that its entropy is worth."""
        if self.diversity == "entropy":
            share = profile.share
            return np.exp(class_sums(profile.cell, -share * np.log(share), profile.cells))
        return np.bincount(profile.cell, minlength=profile.cells).astype(np.float64)

    def _violates(self, profile: Profile) -> NDArray[np.bool_]:
        """Tell which classes are not l-diverse."""
        if self.diversity != "recursive":
            return self._level(profile) < self.l - 1e-9  # an entropy of ln l exactly is enough
        order = np.lexsort((-profile.count, profile.cell))
        number = np.bincount(profile.cell, minlength=profile.cells)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(number) - number, number)
        cell, count = profile.cell[order], profile.count[order]
        largest = class_sums(cell[rank == 0], count[rank == 0], profile.cells)
        rest = class_sums(cell[rank >= self.l - 1], count[rank >= self.l - 1], profile.cells)
        return largest >= self.c * rest
