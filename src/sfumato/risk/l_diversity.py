"""l-diversity: how many different confidential values the records of a key class have."""

from dataclasses import field, replace
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
        caveat="what is alike but not near counts as different: with near = 0.0001, incomes of 50,000 and 50,010 are "
        "two values, and so are two diseases of the stomach",
        formula="value = share of the records whose class (equal keys) violates, for any confidential variable:\n"
        "distinct:   number of different values < l\n"
        "entropy:    exp(-sum_v p_v ln p_v) < l        p_v = share of value v in the class\n"
        "recursive:  r_1 >= c (r_l + ... + r_m)        r_1 >= r_2 >= ... = counts of values in the class\n"
        "numbers x, y are near if |x - y| <= near max(|x|, |y|, interquartile range of the file)\n"
        "in ascending order a value begins with each number not near to the one that began the last",
        reading="0 means that no class gives its value away. ``l=2`` asks only that two values occur, and one member "
        "in a hundred is enough for that; entropy and recursive ask that no value prevails. Amounts that differ by a "
        "trifle are one value (``near``), since whoever learns them to a ten-thousandth knows them; to ask for more, "
        "recode them first or say near = 0.01. Classes of one violate always: KAnonymity comes first.",
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
    the file as well: see :class:`TCloseness`.

    Numbers count as one value when they differ by no more than the share ``near`` of the larger of them, or of the
    distance between the quartiles of the file, so that 50,000.00 and 50,000.01 protect nobody; the number of values is
    then the most that can be picked from the class so that no two of them are near. Whole numbers below 10,000 stay
    apart with the default unless quartiles lie farther apart than that, dates always; ``near=0`` counts whatever
    differs.

    >>> import pyarrow as pa
    >>> pay = pa.table({"town": ["A", "A", "B", "B"], "pay": [50_000.0, 50_000.01, 50_000.0, 61_000.0]})
    >>> LDiversity(variables=("town",), confidential=("pay",)).evaluate(pay, pay).value
    0.5
    """

    l: int = 2  # noqa: E741 - its name everywhere
    diversity: Diversity = "distinct"
    c: float = 3.0
    confidential: tuple[str, ...] | None = None
    near: float = field(default=1e-4, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "l", least=2)
        parameters.one_of(self, "diversity", ("distinct", "entropy", "recursive"))
        parameters.number(self, "c", above=0)
        parameters.names(self, "confidential")
        parameters.share(self, "near", zero=True)

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
        if kind == "numeric" and self.near > 0:
            profile = joined(profile, self.near)
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


def joined(profile: Profile, near: float) -> Profile:
    """Count numbers of a class as one value where they are near to the one with which it begins, upwards.

    >>> levels = np.array([100.0, 100.5, 101.5, 300.0])
    >>> found = Profile(np.zeros(4, dtype=int), np.arange(4), np.array([1.0, 2, 3, 4]), 1, np.full(4, 0.25), levels)
    >>> joined(found, 0.01).count.tolist()  # the quartiles are 100 and 101.5; 101.5 is near to 100.5, not to 100
    [3.0, 3.0, 4.0]
    """
    if profile.levels is None or not len(profile.cell):
        return profile
    last = _last_near(profile.levels, profile.whole, near)[profile.value]
    begins = np.ones(len(last), dtype=bool)
    begins[1:] = (np.diff(profile.cell) != 0) | (profile.value[1:] > last[:-1])  # not near to the one before
    key = profile.cell * (len(profile.levels) + 1) + profile.value
    reach = profile.cell * (len(profile.levels) + 1) + last
    start = np.flatnonzero(begins)
    end = np.append(start[1:], len(last))
    while len(start):  # one more value of each run of neighbours, until it is gone through
        start = np.searchsorted(key, reach[start], "right")
        inside = start < end
        start, end = start[inside], end[inside]
        begins[start] = True
    count = class_sums(np.cumsum(begins) - 1, profile.count, int(begins.sum()))
    return replace(profile, cell=profile.cell[begins], value=profile.value[begins], count=count)


def _last_near(levels: Floats, share: Floats, near: float) -> NDArray[np.intp]:
    """Return, for each number, the place of the largest one that is near to it."""
    cumulated = np.cumsum(share)
    low, high = np.searchsorted(cumulated, np.array([0.25, 0.75]) - 1e-9)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # numbers near the largest there are
        spread = levels[min(int(high), len(levels) - 1)] - levels[low]
        upwards = levels + near * np.maximum(np.abs(levels), spread)
        positive = np.where(levels > 0, levels / (1 - near), -np.inf)
    return np.asarray(np.searchsorted(levels, np.maximum(upwards, positive), "right") - 1)
