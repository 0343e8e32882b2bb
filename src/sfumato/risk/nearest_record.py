"""Distance to the closest record: whether protected records lie nearer to the originals than other people do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.mixed_distance import Points, least_distances, least_from_others, slack
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Half, Pair
from sfumato.pair.sample import SIZE, Sample
from sfumato.pair.statistics import Statistic, merged
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import Notes, compared, followed
from sfumato.risk.nearest_links import Bridge
from sfumato.risk.points import Places, mixed_points
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding

# How far some records lie from the nearest original. How a value is recoded may depend on the protected one, so that
# originals are read from whole columns on the footing of both tables, which lie in files where the tables do.

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CHUNK = 500_000  # original records that are searched together


@dataclass(frozen=True, eq=False)
class LeastDistances(Statistic):
    """The least distance of each record looked for, by list of records."""

    lists: tuple[Floats, ...]

    def merge(self, other: Self) -> Self:
        """Take the lesser of both."""
        return type(self)(tuple(np.minimum(one, two) for one, two in zip(self.lists, other.lists, strict=True)))

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(distances.nbytes for distances in self.lists)


@dataclass(frozen=True, eq=False)
class Units:
    """To which unit a record belongs, told by its number, as far as the units of a sample must be told apart.

    Households that have nobody in the sample, and records without one, are as many units as they have records: whoever
    is looked for is none of them.
    """

    households: NDArray[Any] | None
    known: NDArray[Any]

    @classmethod
    def of(cls, half: Half, sample: Sample) -> "Units":
        """Look up the households of a sample."""
        name = half.schema.household
        if name is None:
            return cls(None, np.empty(0))
        column = half.column(name)
        drawn = column[sample.rows]
        return cls(column, np.unique(drawn[~np.isnan(drawn) if drawn.dtype.kind == "f" else drawn >= 0]))

    def __call__(self, rows: Integers) -> Integers:
        """Return the unit of each of these records."""
        if self.households is None or not len(self.known):
            return rows
        values = self.households[rows]
        place = np.minimum(np.searchsorted(self.known, values), len(self.known) - 1)
        return np.where(self.known[place] == values, place, len(self.known) + rows)


@dataclass(frozen=True, eq=False)
class Originals:
    """The original records as points, by their numbers."""

    columns: Mapping[str, Recoding]
    places: Mapping[str, Places]
    units: Units

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())).original)

    def at(self, rows: NDArray[np.integer]) -> Floats:
        """Return the points of some original records."""
        return self._placed({name: seen.original for name, seen in self.columns.items()}, rows)

    def protected_at(self, rows: NDArray[np.integer]) -> Floats:
        """Return the points of some protected records."""
        return self._placed({name: seen.protected for name, seen in self.columns.items()}, rows)

    def _placed(self, columns: Mapping[str, NDArray[Any]], rows: NDArray[np.integer]) -> Floats:
        return np.column_stack([self.places[name](np.asarray(column[rows])) for name, column in columns.items()])

    def distances(self, lists: Sequence[tuple[Floats, Integers]]) -> tuple[Floats, ...]:
        """Return how far each point of several lists is from the nearest original of another unit (-1: of any).

        Originals are searched in pieces of about the same size, whatever the parts of their table, so that rounding
        does not depend on them.
        """
        pieces = -(-len(self) // CHUNK)
        ends = [len(self) * piece // pieces for piece in range(pieces + 1)]
        found = merged(self._least(np.arange(low, high), lists) for low, high in pairwise(ends))
        return found.lists

    def _least(self, rows: Integers, lists: Sequence[tuple[Floats, Integers]]) -> LeastDistances:
        points = Points.of(self.at(rows), self.units(rows))
        return LeastDistances(tuple(least_distances(points, here, but) for here, but in lists))


def of_none(records: int) -> Integers:
    """Return the unit that is passed over, for records that are none of the originals."""
    return np.full(records, -1, dtype=np.int64)


def error_of_share(nearer: tuple[Sample, Floats], farther: tuple[Sample, Floats]) -> float:
    """Return the standard error of the share of pairs of two samples of which the one is less than the other.

    Each sample comes with the share of the other that its records are less, or more, than; their variances add up
    (DeLong, DeLong and Clarke-Pearson 1988, Comparing the areas under two or more correlated receiver operating
    characteristic curves), each with the correction for a sample of a finite table.
    """
    return sqrt(sum(sample.error(shares) ** 2 for sample, shares in (nearer, farther)))


# the measure

CLOSEST = 0.05
WEAK_EVIDENCE = (
    "distance to the closest record is weak evidence: a file can pass and still give away who is in it; never release "
    "on its strength"
)


@catalogued(
    MeasureAbout(
        title="Nearness to original records, beside that of others",
        source="Distance to the closest record, as in Park et al. (2018), Data synthesis based on generative "
        "adversarial networks; its weakness: Yao et al. (2025), The DCR delusion, arXiv 2505.01524",
        purpose="risk",
        counts=("median distance",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="two missing values are equal; a missing and a present value are as far apart as can be",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        records="protected",
        parts="sample",
        caveat=WEAK_EVIDENCE,
        formula="value = max(0, 2 u - 1),   u = P(d < D) + P(d = D) / 2\n"
        "d = distance of a protected record to the nearest original\n"
        "D = distance of an original to the nearest other one, or of a held-out record to an original\n"
        "distance = Gower: sum over the variables of differences from 0 to 1",
        reading="0 is what fresh draws from the population give, 1 a copy; 0.2 says that protected records lie "
        "nearer to the originals than other people do, in a way that a fifth of copies would explain. Look at the "
        'part "copies of an original" as well: a file of one percent copies scores 0.01 and gives those people away. '
        "Use it to find a synthesiser that memorises, never to show that a file is safe.",
    )
)
class NearestRecord(Measure):
    """How much nearer to the original records the protected ones lie than other people do: 0 no more, 1 all of them.

    Distances are of Gower's kind: per variable 0 to 1 (numbers by the range of both tables, ordered categories by their
    place, unordered ones equal or not), averaged. The yardstick is how near people come to an original who are not that
    original: without a ``holdout``, each original record's distance to the nearest other one (of another household,
    where the schema names them); with it, the distance of each held-out record to the nearest original. With u the
    probability that a protected record lies nearer to its nearest original than such a person does, ties counting half,
    the value is 2u - 1, or 0 if that is negative (Cliff's delta): 0 is expected of fresh draws from the same
    population, 1 of a copy of distinct records, and about q where a share q are copies and the rest are fresh. Means
    and modes lie near many people without being anyone's, so that a file can also score by being too smooth.

    ``holdout`` is the path of a file of records of the same population and variables that had no part in making the
    protected table. A random part of the original itself will not do where all of it was released, for then an exact
    copy passes; records that carry the id of an original are refused. With a holdout the parts also tell the share of
    protected records nearer to an original than to any held-out one, and what is expected of that if the file knows
    neither. Other parts: the share of protected records nearer than all but 5 percent of people come (5 percent is
    expected), of copies of an original, of originals with a twin, and the median distances. ``by_record`` is, per
    protected record, the share of people who come less near. A low figure shows little: see the caveat. The search is
    exact; doubling the records doubles the time and a little more, or up to four times where unordered categories,
    between which there is no near and far, are most of what is compared.

    Of tables in parts ``sample`` protected records and as many people of the yardstick, drawn at random (5,000 if
    nobody says), look for the nearest of all originals; all of the holdout is read. The part "standard error" is that
    of 2u - 1. With all records in the samples the figure is that in memory. ``sample`` holds for tables in memory, too.

    >>> import pyarrow as pa
    >>> people = pa.table({"x": [0.0, 10.0, 20.0, 30.0, 40.0]})
    >>> NearestRecord().evaluate(people, pa.table({"x": [1.0, 40.0, 50.0, 55.0]})).value  # 1 and 0 are nearer, 10 ties
    0.25
    """

    holdout: str | None = None
    sample: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.holdout is not None and (not isinstance(self.holdout, str) or not self.holdout):
            raise parameters.refuse(self, f"holdout must be the path of a file, as text; got {self.holdout!r}")
        if self.sample is not None:
            parameters.whole(self, "sample", least=2)
            self.known_as(random=True)

    @property
    def reads(self) -> tuple[str, ...]:
        """The holdout: a store of figures knows it by its content."""
        return () if self.holdout is None else (self.holdout,)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        columns, more = compared(pair, names, asked=self.variables is not None)
        notes = (*notes, *more)
        if self.holdout is None and len(pair.original) < 2:
            raise NotApplicable("with one original record there is no other to compare distances with")
        if self.sample is not None or pair.in_parts:
            return self._of_samples(pair, columns, rng, notes)
        if self.holdout is not None:
            return self._against_holdout(pair.original, columns, notes)
        bridge = Bridge.between(pair, tuple(columns))
        near = least_distances(bridge.people, bridge.file.rows, of_none(len(bridge.file.rows)))[bridge.file.place]
        others = least_from_others(bridge.people)[bridge.people.place]
        _refuse_one_household(others)
        return self._measured(near, others, len(columns), {}, notes)

    def _of_samples(
        self, pair: Pair, columns: Mapping[str, Recoding], rng: np.random.Generator, notes: Notes
    ) -> Measurement:
        """Look for samples of the protected records, and of the people beside them, among all original records."""
        size = self.sample or SIZE
        drawn = Sample.drawn(len(pair.protected), size, rng)
        if self.holdout is None:
            people = Sample.drawn(len(pair.original), size, rng)
            units = Units.of(pair.original, people)
            originals = Originals(columns, {name: Places.of(seen) for name, seen in columns.items()}, units)
            after = originals.protected_at(drawn.rows)
            near, others = originals.distances(
                [(after, of_none(len(drawn))), (originals.at(people.rows), units(people.rows))]
            )
            _refuse_one_household(others)
            parts: dict[str, float] = {}
            said = "originals"
        else:
            kept = self._held_out(pair.original, tuple(columns))
            people = Sample.drawn(len(kept), size, rng)
            before = pair.original.only(columns)
            joined = {name: followed(before, kept, name, seen) for name, seen in columns.items()}
            places = {name: Places.of(seen) for name, seen in joined.items()}
            held = np.column_stack([places[name](seen.original[len(before) :]) for name, seen in joined.items()])
            originals = Originals(columns, places, Units(None, np.empty(0)))
            after = originals.protected_at(drawn.rows)
            near, others = originals.distances(
                [(after, of_none(len(drawn))), (held[people.rows], of_none(len(people)))]
            )
            parts, more = _beside_holdout(after, held, near, others, len(before))
            notes, said = (*notes, *more), "held-out records"
        if drawn.whole and people.whole:
            return self._measured(near, others, len(columns), parts, notes, by_record=False)
        nearer = less_near(near, others, slack(near, len(columns)))
        farther = less_near(others, near, slack(others, len(columns)))
        parts[SAMPLING_ERROR] = 2 * error_of_share((drawn, nearer), (people, farther))
        told = (
            f"simple random samples of {len(drawn):,} of {drawn.records:,} protected records and of {len(people):,} of "
            f"{people.records:,} {said} were looked for among all originals: standard error "
            f"{parts[SAMPLING_ERROR]:.2g}"
        )
        return self._measured(near, others, len(columns), parts, (*notes, told), by_record=False)

    def _against_holdout(self, half: Half, columns: Mapping[str, Recoding], notes: Notes) -> Measurement:
        original, kept = half.table, self._held_out(half, tuple(columns))
        # the held-out records are people like the originals: put into the protected table's terms as those are
        both, after = mixed_points([followed(original, kept, name, seen) for name, seen in columns.items()])
        before, held = both[: len(original)], both[len(original) :]
        points = Points.of(before)
        near, others = (least_distances(points, side, of_none(len(side))) for side in (after, held))
        parts, more = _beside_holdout(after, held, near, others, len(before))
        return self._measured(near, others, len(columns), parts, (*notes, *more))

    def _held_out(self, original: Half, names: tuple[str, ...]) -> Microdata:
        from sfumato.table.files import read

        assert self.holdout is not None
        kept = Microdata.beside(original.parts[0], read(self.holdout).to_arrow())
        absent = [name for name in names if name not in kept.schema]
        if absent:
            raise NotApplicable(f"the holdout {self.holdout!r} has no {', '.join(absent)}")
        for name in names:
            if kept.schema[name].kind != original.schema[name].kind:
                raise NotApplicable(
                    f"{name!r} is {original.schema[name].kind} in the original and {kept.schema[name].kind} in the "
                    "holdout; it must hold records as the original does"
                )
        key = original.schema.id
        if key is not None and key in kept.schema:
            theirs = set(kept.to_arrow()[key].to_pylist())
            known: set[object] = set()
            for part in original.parts:
                ids = Microdata(part.schema.only([key]), {key: part.columns[key]}).to_arrow()[key]
                known |= theirs.intersection(ids.to_pylist())
            if known:
                raise NotApplicable(
                    f"{len(known):,} of the {len(kept):,} held-out records have the id of an original; the "
                    "holdout must have had no part in making the protected table"
                )
        return kept

    def _measured(
        self,
        near: Floats,
        others: Floats,
        variables: int,
        parts: dict[str, float],
        notes: Notes,
        *,
        by_record: bool = True,
    ) -> Measurement:
        tie = slack(near, variables)
        chances = less_near(near, others, tie)
        return self.measurement(
            max(2 * float(chances.mean()) - 1, 0.0),
            parts={
                "nearer than all but 5 % of people": float(too_near(near, others, CLOSEST, tie).mean()),
                "copies of an original": float((near == 0).mean()),
                "originals with a twin": float((others == 0).mean()),
                "median distance": float(np.median(near)) / variables,
                "median distance of others": float(np.median(others)) / variables,
                **parts,
            },
            by_record=chances if by_record else None,
            notes=(*notes, WEAK_EVIDENCE),
        )


def _refuse_one_household(others: Floats) -> None:
    if not np.isfinite(others).all():
        raise NotApplicable("all original records are of one household; there is no other person")


def _beside_holdout(
    after: Floats, held: Floats, near: Floats, others: Floats, originals: int
) -> tuple[dict[str, float], Notes]:
    """Tell how many protected records are nearer to an original than to a held-out one, and what is odd of these."""
    away = least_distances(Points.of(held), after, of_none(len(after)))
    tie = np.abs(near - away) <= slack(near, after.shape[1])
    copies = int((others == 0).sum())
    said = f"{copies:,} of {len(others):,} held-out records equal an original: were they released?"
    parts = {
        "nearer to an original than to the holdout": float(np.where(tie, 0.5, near < away).mean()),
        "expected so": originals / (originals + len(held)),
    }
    return parts, (said,) if copies else ()


def less_near(near: Floats, others: Floats, tie: Floats) -> Floats:
    """Return, for each distance, the share of the others that are greater; those that tie count half.

    >>> less_near(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0]), np.zeros(3)).tolist()
    [1.0, 0.625, 0.25]
    """
    ordered = np.sort(others)
    below, upto = np.searchsorted(ordered, near - tie, "left"), np.searchsorted(ordered, near + tie, "right")
    share: Floats = 1 - (below + upto) / (2 * len(ordered))
    return share


def too_near(near: Floats, others: Floats, closest: float, tie: Floats) -> Floats:
    """Tell of each distance whether it is below the quantile of others; at it, it counts for what is left of the share.

    >>> too_near(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0, 3.0]), 0.25, np.zeros(3)).round(3).tolist()
    [1.0, 0.333, 0.0]
    """
    ordered = np.sort(others)
    place = min(max(int(np.ceil(closest * len(ordered) - 1e-9)), 1), len(ordered)) - 1
    limit = ordered[place]
    below, upto = np.searchsorted(ordered, limit, "left"), np.searchsorted(ordered, limit, "right")
    part = (closest * len(ordered) - below) / (upto - below)
    at = np.abs(near - limit) <= tie
    counted: Floats = np.where(at, min(part, 1.0), near < limit)
    return counted
