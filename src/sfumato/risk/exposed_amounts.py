"""Amounts that identify by themselves: extreme values that stand in the protected table as they were."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.sorting import middle_of
from sfumato.pair.statistics import Statistic
from sfumato.registry import catalogued

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RECORDS_PER_EXTREME = 20  # a small table has few extremes: at most one record in twenty


@catalogued(
    MeasureAbout(
        title="Extreme amounts that stand as they were",
        source="Hundepool et al., Statistical Disclosure Control (2012), chapter 3: outliers of continuous variables "
        "identify without any key",
        purpose="risk",
        counts=("extreme values",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="left out: a missing value is no extreme, and one that was made missing does not stand",
        joint=False,
        parts="summaries",
        caveat="says nothing of amounts that are not extreme, nor of an extreme hidden in a sum or a ratio; and an "
        "amount moved by more than ``within`` counts as gone: all of them times 0.985 give 0, though everybody is "
        "found as before. The part 'nearest to its own' sees that",
        formula="value = #{extreme values x with |x' - x| <= within |x|} / #{extreme values}\n"
        "extreme: the `most` values farthest from the variable's median, at most n / 20, no ties",
        reading="0 means that no extreme amount was left as it was. The largest income of a town is known to its "
        "neighbours, so anything above 0 wants a look; the parts tell of how many variables the farthest value itself "
        "stands, and which share of the extremes the nearest protected value finds, however far it was moved. Top "
        "coding, rounding of large amounts, noise in proportion and microaggregation remove them; of these only top "
        "coding and microaggregation, which make others equal to them, lower that part for certain.",
    )
)
class ExposedAmounts(Measure):
    """Share of the extreme amounts that stand in the protected table as they were, or nearly so.

    An amount that nobody else has identifies by itself: whoever has heard of the largest fortune finds it without any
    key. Of each variable the ``most`` values farthest from its median are looked at, but at most one record in twenty,
    and no value that ties with the next, since a value that many have is no mark. One stands if the protected value
    differs from it by no more than the share ``within``. Without ``variables`` the confidential numeric ones are looked
    at, or all numeric ones if none is confidential. ``by_variable`` gives the share of each, ``by_record`` is 1 where a
    record shows an extreme, and the part "variables whose farthest value stands" is a share of the variables.

    The part "nearest to its own" asks for less than standing: who knows an extreme amount takes the record whose
    protected value is nearest to it. It is the share of the extremes found so, where of f equally near ones each is
    right by 1/f. A value that was only moved aside, by a factor or by noise, is found by it as long as no other comes
    as near.

    >>> import pyarrow as pa
    >>> pay = pa.table({"pay": [float(i) for i in range(1, 40)] + [5000.0]})
    >>> ExposedAmounts().evaluate(pay, pay).value
    1.0
    """

    most: int = 10
    within: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "most")
        parameters.share(self, "within")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        secret = set(pair.original.schema.analysed("numeric", role="confidential"))
        if self.variables is None and secret & set(names):
            names = tuple(name for name in names if name in secret)
        if not names:
            raise NotApplicable("there is no numeric variable to look at")
        records = len(pair.original)
        most = min(self.most, max(1, records // RECORDS_PER_EXTREME))
        shown = None if pair.in_parts else np.zeros(records, dtype=bool)
        number, standing, farthest, nearest, by_variable = 0, 0, 0, 0.0, {}
        for name in names:
            found = self._farthest(pair, name, most)
            far, first = found.extremes(most)
            stands = far & found.stands
            number, standing = number + int(far.sum()), standing + int(stands.sum())
            farthest += bool((stands & first).any())
            nearest += _found_by_nearest(pair, name, found.before[far], found.after[far])
            by_variable[name] = float(stands.sum() / max(far.sum(), 1))
            if shown is not None:
                shown[found.rows[stands]] = True
        return self.measurement(
            standing / max(number, 1),
            parts={
                "variables whose farthest value stands": farthest / len(names),
                "nearest to its own": nearest / max(number, 1),
                "extreme values": float(number),
            },
            by_variable=by_variable,
            by_record=None if shown is None else shown.astype(np.float64),
            notes=notes if number else (*notes, "no variable has a value of its own that is farther than all others"),
        )

    def _farthest(self, pair: Pair, name: str, most: int) -> "Farthest":
        """Find the values farthest from the median, and whether each stands as it was."""
        middle = _median_of_halves(pair, name)
        within = self.within
        return pair.total(
            lambda before, after: Farthest.of(before.columns[name], after.columns[name], middle, within, most)
        )


@dataclass(frozen=True, eq=False)
class Farthest(Statistic):
    """The values of a part that lie farthest from the median of all, one more than can be extremes.

    ``away`` says how far, ``stands`` whether the protected value is the same or nearly so, ``before`` and ``after``
    what they were and are, ``rows`` where the records are in a table of one part.
    """

    away: Floats
    stands: Flags
    before: Floats
    after: Floats
    rows: NDArray[np.intp]
    most: int

    @classmethod
    def of(cls, before: Floats, after: Floats, middle: float, within: float, most: int) -> Self:
        """Look through the values of a part; ``middle`` is the median of the halves, so that no sum overflows."""
        rows = np.flatnonzero(~np.isnan(before))
        x, y = before[rows], after[rows]
        return cls(np.abs(x / 2 - middle), np.abs(y - x) <= within * np.abs(x), x, y, rows, most)._first()

    def merge(self, other: Self) -> Self:
        """Keep the farthest of both parts."""
        return type(self)(
            np.concatenate([self.away, other.away]),
            np.concatenate([self.stands, other.stands]),
            np.concatenate([self.before, other.before]),
            np.concatenate([self.after, other.after]),
            np.concatenate([self.rows, other.rows]),
            self.most,
        )._first()

    def _first(self) -> Self:
        if len(self.away) <= self.most + 1:
            return self
        kept = np.argpartition(-self.away, self.most)[: self.most + 1]
        return type(self)(
            self.away[kept], self.stands[kept], self.before[kept], self.after[kept], self.rows[kept], self.most
        )

    def extremes(self, most: int) -> tuple[Flags, Flags]:
        """Tell which values are farther from the median than all but ``most``, and which of them is the farthest.

        >>> found = Farthest.of(np.array([1.0, 2, 3, 3, 90, -50]), np.zeros(6), 1.25, 0.01, 2)
        >>> far, first = found.extremes(2)
        >>> sorted(found.rows[far].tolist()), found.rows[first].tolist()
        ([4, 5], [4])
        """
        if len(self.away) < 2:  # a value that is alone is no extreme
            none = np.zeros(len(self.away), dtype=bool)
            return none, none
        next_one = np.sort(self.away)[-most - 1] if most < len(self.away) else -1.0
        far = self.away > max(float(next_one), 0.0)
        return far, far & (self.away == self.away.max())


@dataclass(frozen=True, eq=False)
class Nearest(Statistic):
    """How near the nearest protected value of a part comes to each of several amounts, and how many come so near."""

    apart: Floats
    number: NDArray[np.int64]

    @classmethod
    def of(cls, amounts: Floats, after: Floats) -> Self:
        """Look through the protected values of a part; distances are halved, so that none overflows.

        >>> found = Nearest.of(np.array([10.0, 50.0]), np.array([9.0, 11.0, 44.0, np.nan]))
        >>> (2 * found.apart).tolist(), found.number.tolist()
        ([1.0, 6.0], [2, 1])
        """
        present = after[~np.isnan(after)] / 2
        if not present.size:
            return cls(np.full(len(amounts), np.inf), np.zeros(len(amounts), dtype=np.int64))
        apart = [np.abs(present - amount / 2) for amount in amounts]
        least = np.array([each.min() for each in apart])
        number = [int((each == low).sum()) for each, low in zip(apart, least, strict=True)]
        return cls(least, np.array(number, dtype=np.int64))

    def merge(self, other: Self) -> Self:
        """Keep the nearer ones, and count those of both that are as near."""
        least = np.minimum(self.apart, other.apart)
        number = self.number * (self.apart == least) + other.number * (other.apart == least)
        return type(self)(least, number)


def _found_by_nearest(pair: Pair, name: str, amounts: Floats, own: Floats) -> float:
    """Return how many of the extremes the nearest protected value is expected to find."""
    if not len(amounts):
        return 0.0
    found = pair.protected.total(lambda after: Nearest.of(amounts, after.columns[name]))
    hit = np.abs(own / 2 - amounts / 2) == found.apart  # never of a missing one
    return float((hit / np.maximum(found.number, 1)).sum())


def _median_of_halves(pair: Pair, name: str) -> float:
    """Return the median of half the original's values; NaN if there is none."""
    if not pair.in_parts:
        values = pair.original.table.columns[name]
        present = values[~np.isnan(values)]
        return float(np.median(present / 2)) if present.size else float("nan")
    found = pair.original.keep(("middle", name), lambda: middle_of(pair.original, name))
    return float("nan") if found is None else float(np.mean(np.array(found) / 2))
