"""Distance-based record linkage: whether the nearest record is the right one.

One-to-one linkage, in which the distances of all pairs together are least, is by Herranz, Nin, Rodriguez and Tassa
(2015), Revisiting distance-based record linkage for privacy-preserving release of statistical datasets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.boxes import distinct
from sfumato.kernels.spread import standardised
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Pair
from sfumato.pair.pair import Terms
from sfumato.pair.sample import SIZE, Sample, taken
from sfumato.pair.statistics import Moments, Sums, merged
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import KnownVariables, check_known, compared, known_sets
from sfumato.risk.points import (
    Ends,
    Places,
    SoughtRecords,
    Space,
    linked,
    points,
    with_missing_apart,
)
from sfumato.table.microdata import Microdata

# Distance linkage of a sample of records, each searched for among all records of the other table, part by part

Floats = NDArray[np.float64]
Links = tuple[Floats, Floats]  # how surely the own record comes first, and second, of each record looked for

CHUNK = 500_000  # records of whole columns that are searched together


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations by which numbers of a table are standardised."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, found: Moments, names: tuple[str, ...], said: str) -> "Scale":
        """Take those of all records; variables without a value are refused, or with too large ones."""
        mean, spread = found.mean, found.spread
        if np.isnan(mean).any():
            name = names[int(np.argmax(np.isnan(mean)))]
            raise NotApplicable(f"every value of {name!r} is missing in the {said} table")
        if not np.isfinite(spread).all():
            name = names[int(np.argmin(np.isfinite(spread)))]
            raise NotApplicable(f"{name!r} has values too large for a standard deviation")
        return cls(mean, spread)

    def scores(self, columns: Floats) -> Floats:
        """Return standardised numbers."""
        return standardised(columns, self.mean, self.spread)

    def ends(self, found: Moments, records: int) -> Ends:
        """Return the ends of a table's variables after it is standardised; rounding keeps their order."""
        low, high = (self.scores(end[None, :])[0] for end in (found.low, found.high))
        return Ends(low, high, np.asarray(found.present < records))


@dataclass(frozen=True, eq=False)
class EuclideanSearch:
    """Looks for records in a part by several sets of standardised numbers; it goes to other processes."""

    names: tuple[str, ...]
    scale: Scale
    sets: tuple[tuple[list[int], Space, SoughtRecords], ...]

    def __call__(self, part: Microdata) -> Sums:
        """Count, of each set and record, the records of the part that are nearer than the own, and as near."""
        scores = self.scale.scores(part.numeric(self.names))
        return _sums([sought.among(space.placed(scores[:, chosen])) for chosen, space, sought in self.sets])


@dataclass(frozen=True, eq=False)
class GowerSearch:
    """Looks for records in a part by several sets of variables of all kinds; it goes to other processes."""

    columns: tuple[tuple[Callable[[Any], NDArray[Any]], Places], ...]  # what reads a variable of a part, and places it
    sets: tuple[tuple[list[int], SoughtRecords], ...]

    def __call__(self, part: Any) -> Sums:
        """Count, of each set and record, the records of the part that are nearer than the own, and as near."""
        points = np.column_stack([place(read(part)) for read, place in self.columns])
        return _sums([sought.among(points[:, chosen]) for chosen, sought in self.sets])


def _sums(found: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> Sums:
    return Sums({f"{what} {number}": counts for number, both in enumerate(found) for what, counts in _named(both)})


def _named(both: tuple[NDArray[np.int64], NDArray[np.int64]]) -> list[tuple[str, NDArray[np.int64]]]:
    return [("nearer", both[0]), ("tied", both[1])]


def _links(found: Sums, sets: int, *, share: bool) -> list[Links]:
    return [linked(found[f"nearer {number}"], found[f"tied {number}"], share=share) for number in range(sets)]


def euclidean_links(
    pair: Pair, names: tuple[str, ...], sets: Sequence[list[int]], sample: Sample, *, own: bool, back: bool, share: bool
) -> list[Links]:
    """Look for the records of a sample by sets of numbers, given as places among the names.

    ``own``: each table is standardised by itself, else both as the original; ``back``: protected records look for
    originals.
    """
    halves, scales = (pair.original, pair.protected), _scales(pair, names, own=own)
    scores, ends = [], []
    for half, scale in zip(halves, scales, strict=True):
        columns = taken(half, names, sample.rows)
        scores.append(scale.scores(np.column_stack([columns[name] for name in names])))
        ends.append(scale.ends(half.moments(names), len(half)))
    here, there = (1, 0) if back else (0, 1)
    searched = []
    for chosen in sets:
        space = Space.between(_of(ends[here], chosen), _of(ends[there], chosen))
        own_points = space.placed(scores[there][:, chosen])
        searched.append(
            (chosen, space, SoughtRecords.euclidean(space.placed(scores[here][:, chosen]), own_points, space))
        )
    counts = halves[there].total(EuclideanSearch(names, scales[there], tuple(searched)))
    return _links(counts, len(sets), share=share)


def _scales(pair: Pair, names: tuple[str, ...], *, own: bool) -> list[Scale]:
    """Return the scale of each table: its own, or the original's."""
    ours, theirs = (
        Scale.of(half.moments(names), names, said)
        for half, said in ((pair.original, "original"), (pair.protected, "protected"))
    )
    return [ours, theirs if own else ours]


def _of(ends: Ends, chosen: list[int]) -> Ends:
    return Ends(ends.low[chosen], ends.high[chosen], ends.gap[chosen])


def gower_links(
    pair: Pair, names: tuple[str, ...], sets: Sequence[list[int]], sample: Sample, *, back: bool, share: bool
) -> list[Links]:
    """Look for the records of a sample by sets of variables of all kinds, given as places among the names."""
    seen = {name: pair.footing(name) for name in names}
    places = {name: Places.of(seen[name]) for name in names}
    before, after = (
        np.column_stack([places[name](np.asarray(getattr(seen[name], side)[sample.rows])) for name in names])
        for side in ("original", "protected")
    )
    here, there = (after, before) if back else (before, after)
    searched = tuple((chosen, SoughtRecords.gower(here[:, chosen], there[:, chosen])) for chosen in sets)
    if not back:
        columns = tuple((Terms.of(pair, name), places[name]) for name in names)
        return _links(pair.protected.total(GowerSearch(columns, searched)), len(sets), share=share)
    # how an original value is recoded may depend on the protected one, so that only whole columns tell
    whole = GowerSearch(tuple((_Slice(seen[name].original), places[name]) for name in names), searched)
    chunks = (slice(start, start + CHUNK) for start in range(0, len(pair.original), CHUNK))
    return _links(merged(whole(rows) for rows in chunks), len(sets), share=share)


@dataclass(frozen=True, eq=False)
class _Slice:
    """Reads some records of a whole column."""

    column: NDArray[Any]

    def __call__(self, rows: slice) -> NDArray[Any]:
        return np.asarray(self.column[rows])


# One-to-one linkage: records paired so that the distances of all pairs together are least

Partners = NDArray[np.intp]
TIED = 1e-9  # of the mean distance: pairings whose distances differ by no more per own link are equally good


class OwnLinks(NamedTuple):
    """How surely each record is paired with its own, and the least and greatest number of own pairs among the best."""

    by_record: Floats
    fewest: int
    most: int


def own_links(here: Floats, there: Floats, distances: Floats, *, share: bool) -> OwnLinks:
    """Pair row i of ``here`` with rows of ``there`` at the least total distance, and look for row i.

    Seldom is one pairing alone the best. So it is found twice, with as many and with as few own pairs as the best ones
    allow. ``share`` takes the mean of the two, and spreads the links of equal rows evenly over them; otherwise the one
    with most own pairs counts.

    >>> rows = np.array([[0.0], [1.0], [5.0]])
    >>> own_links(rows, rows[[1, 0, 2]], np.abs(rows - rows[[1, 0, 2]].T), share=True)
    OwnLinks(by_record=array([0., 0., 1.]), fewest=1, most=1)
    """
    from scipy.optimize import linear_sum_assignment

    own = np.arange(len(here))
    step = TIED * float(distances.mean()) or 1.0
    pairings = []
    for prefers in (step, -step):  # dearer own pairs, then cheaper ones
        costs = distances.copy()
        costs[own, own] += prefers
        pairings.append(linear_sum_assignment(costs)[1])
    fewest, most = (int((partner == own).sum()) for partner in pairings)
    if not share:
        return OwnLinks((pairings[1] == own).astype(np.float64), fewest, most)
    kinds = distinct(here)[1], distinct(there)[1]
    return OwnLinks(np.mean([_spread(partner, *kinds) for partner in pairings], axis=0), fewest, most)


def _spread(partner: Partners, ours: Partners, theirs: Partners) -> Floats:
    """Return the chance of an own pair if the links between equal rows and equal rows are dealt out at random.

    With f links from n equal rows to m equal rows, a row of the one and its own of the other are paired with f / (n m).
    """
    width = int(theirs.max()) + 1
    sizes, their_sizes = np.bincount(ours), np.bincount(theirs)
    found, links = np.unique(ours * width + theirs[partner], return_counts=True)
    wanted = ours * width + theirs
    at = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
    flow = np.where(found[at] == wanted, links[at], 0)
    chance: Floats = flow / (sizes[ours] * their_sizes[theirs])
    return chance


# the measure

MAX_PAIRED = 5_000  # records that are paired one to one: their distances to each other must fit in memory


ABOUT = MeasureAbout(
    title="Distance linkage disclosure (DLD)",
    source="Pagliuca and Seri (1998); Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of "
    "Anonymized Data, sections 4.1 and 5",
    purpose="risk",
    better="lower",
    range=(0.0, 1.0),
    unit="share",
    missing="two missing values are equal; a missing and a present value are farther apart than any two present",
    column_order=True,
    parts="sample",
    parts_if="links to each",
    cases="knows ",
    caveat="an intruder who knows the masking method may do better, notably against rank swapping",
    formula="DLD = mean over the sets of known variables of (sum_i L_i) / n\n"
    "L_i = 1 / t_i if no record of the other table is nearer to record i than its own, else 0\n"
    '      (t_i = records as near as that; ties="linked": 1 instead of 1 / t_i)\n'
    "distance = Euclidean, of the known variables' z-scores by each table's own means and deviations",
    reading="The share of records that an intruder finds who knows the true values of these variables for "
    "everybody and takes the nearest record. A guess finds 1 / n. Look at the parts: with one variable known "
    "little is found, and every further one adds to it. It is a worst case in what the intruder knows, not in how "
    "clever he is.",
)
MIXED = replace(
    ABOUT,
    title="Distance linkage disclosure (DLD), all kinds",
    source=f"{ABOUT.source}; Gower (1971), A general coefficient of similarity and some of its properties",
    kinds=("numeric", "ordinal", "nominal", "date"),
    missing="two missing values are equal; a missing and a present value are as far apart as can be",
    formula="DLD = mean over the sets of known variables of (sum_i L_i) / n,   L_i as with the Euclidean distance\n"
    "distance = sum over the known variables of:  numeric |x - y| / range of both tables;  ordinal\n"
    "|place - place| / (categories - 1);  nominal 0 if equal, else 1;  one missing 1, both missing 0",
)
ONE_TO_ONE: dict[str, Any] = {
    "title": "Distance linkage disclosure, one to one",
    "source": "Herranz, Nin, Rodriguez and Tassa (2015), Revisiting distance-based record linkage for "
    "privacy-preserving release of statistical datasets",
    "caveat": "it takes the two tables to be of the same people, every one of them once; time grows with the cube of "
    "the records",
    "formula": "records are paired one to one so that the sum of the distances of all pairs is least;\n"
    "value = mean over the sets of known variables of the share paired with their own\n"
    "of several best pairings: the mean of the one with most and the one with fewest own pairs,\n"
    "links of equal rows spread over them",
}


@catalogued(ABOUT)
class DistanceLinkage(Measure):
    """Share of records whose nearest record in the other table is their own: DLD of the paper.

    For each set of variables an intruder may know, every record of one table looks for the nearest of the other; the
    figure is the mean over the sets. ``known`` is a number (the first 1, 2, ..., 7 keys, or variables where the schema
    names no key), a list of names that become known one after the other, or a list of sets. ``direction`` says who
    searches where. ``ties="share"`` gives a record that ties with others an equal part of one link, which is what a
    guess would earn; ``"linked"`` counts it whole, as the paper's figures do. ``second=True`` also counts records whose
    own is second nearest. Parts hold the share for each set and the share linked to the second nearest; ``by_record``
    the share of the sets that link each record.

    ``distance="euclidean"`` is the paper's, of the standardised values of numeric variables:
    ``standardise="own"`` scales each table by its own means and standard deviations, ``"original"`` both by the
    original's. ``distance="gower"`` takes variables of all kinds and adds up one number from 0 to 1 for each: numbers
    differ by their difference over the range of both tables together (so one outlier makes all other differences
    small), ordered categories by their places from first to last, unordered ones by 0 or 1; two missing values by 0,
    a missing and a present one by 1, which is farthest. There the original's values are first recoded as the protected
    table's were, for whoever knows the town knows the region too. Both searches are exact; doubling the records doubles
    the time and a little more, or up to four times where hardly any variable tells records apart.

    ``links="one to one"`` pairs every record of one table with one of the other so that all distances together are
    least, as an intruder would who knows that both tables are of the same people (for 5,000 records at most). Of
    several best pairings the two with most and with fewest own pairs are found, and their shares are parts;
    ``ties="share"`` takes their mean, ``"linked"`` the one with most. The direction makes no difference then.

    Of a table in parts ``sample`` records drawn at random (5,000 if nobody says) look for their own among all records
    of the other table, on the scale of the whole tables; the part "standard error" says how sure the mean is; it is
    never 0, for who is linked may not have been drawn. With all records in the sample the figure is that in memory.
    ``sample`` holds for a table in memory, too.
    """

    known: KnownVariables = 7
    direction: Literal["original to protected", "protected to original"] = "original to protected"
    standardise: Literal["own", "original"] = "own"
    ties: Literal["share", "linked"] = "share"
    second: bool = False
    distance: Literal["euclidean", "gower"] = "euclidean"
    links: Literal["each", "one to one"] = "each"
    sample: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known", check_known(self, self.known))
        parameters.one_of(self, "direction", ("original to protected", "protected to original"))
        parameters.one_of(self, "standardise", ("own", "original"))
        parameters.one_of(self, "ties", ("share", "linked"))
        parameters.one_of(self, "second", (True, False))
        parameters.one_of(self, "distance", ("euclidean", "gower"))
        if self.distance == "gower":
            if self.standardise != "own":
                raise parameters.refuse(self, "standardise is for the Euclidean distance; Gower's scales by ranges")
            object.__setattr__(self, "about", MIXED)
        parameters.one_of(self, "links", ("each", "one to one"))
        if self.links == "one to one":
            if self.second:
                raise parameters.refuse(self, "a record that is paired one to one has no second nearest")
            self.known_as(**ONE_TO_ONE, parts="memory", parts_if="")
        if self.sample is not None:
            parameters.whole(self, "sample", least=2)
            if self.links == "one to one":
                raise parameters.refuse(self, "records that are paired one to one are all needed, not a sample")
            self.known_as(random=True)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        shared, notes = self.shared(pair)
        mixed, one_to_one = self.distance == "gower", self.links == "one to one"
        if one_to_one:
            pair.tables()
        size = SIZE if pair.in_parts else len(pair.original)
        sample = Sample.drawn(len(pair.original), self.sample or size, rng)
        if mixed:
            columns, more = compared(pair, shared, asked=self.variables is not None)
            shared, notes = tuple(columns), (*notes, *more)
        sets = known_sets(self, self.known, pair.original.schema, shared)
        names = tuple(dict.fromkeys(name for known in sets for name in known))
        chosen = [[names.index(name) for name in known] for known in sets]
        own, back, share = self.standardise == "own", self.direction == "protected to original", self.ties == "share"
        if one_to_one:
            before, after = points(pair, names) if mixed else _standardised(pair, names, own=own)
            return self._one_to_one(before, after, chosen, sets, notes)
        if mixed:
            found = gower_links(pair, names, chosen, sample, back=back, share=share)
        else:
            found = euclidean_links(pair, names, chosen, sample, own=own, back=back, share=share)
        linked, parts = self._together(found, sets)
        if not sample.whole:
            parts[SAMPLING_ERROR] = sample.error(linked)
            among = "all original ones" if back else "all protected ones"
            notes = (*notes, sample.said(parts[SAMPLING_ERROR], among))
        by_record = None if pair.in_parts or self.sample is not None else linked
        return self.measurement(float(linked.mean()), parts=parts, by_record=by_record, notes=notes)

    def _together(self, found: list[Links], sets: list[tuple[str, ...]]) -> tuple[Floats, dict[str, float]]:
        """Return how surely each record is linked, over the sets, and the share of each set."""
        linked, nearest_two = np.zeros(len(found[0][0])), np.zeros(len(found[0][0]))
        parts: dict[str, float] = {}
        for known, (first, second) in zip(sets, found, strict=True):
            linked += first / len(sets)
            nearest_two += second / len(sets)
            parts[f"knows {', '.join(known)}"] = float(first.mean() + (second.mean() if self.second else 0.0))
        parts["linked to the second nearest"] = float(nearest_two.mean())
        return (linked + nearest_two if self.second else linked), parts

    def _one_to_one(
        self,
        before: Floats,
        after: Floats,
        columns: list[list[int]],
        sets: list[tuple[str, ...]],
        notes: tuple[str, ...],
    ) -> Measurement:
        from scipy.spatial.distance import cdist

        if len(before) > MAX_PAIRED:
            raise NotApplicable(
                f"{len(before):,} records cannot be paired one to one, {MAX_PAIRED:,} is the most; measure a sample, "
                "or take links='each'"
            )
        found: list[OwnLinks] = []
        for chosen in columns:
            here, there = before[:, chosen], after[:, chosen]
            if self.distance == "gower":
                apart = sum(np.minimum(np.abs(x[:, None] - y), 1.0) for x, y in zip(here.T, there.T, strict=True))
                distances = np.asarray(apart, dtype=np.float64)
            else:
                here, there, _ = with_missing_apart(here, there)
                distances = cdist(here, there)
            found.append(own_links(here, there, distances, share=self.ties == "share"))
        by_record = np.mean([each.by_record for each in found], axis=0)
        parts = {
            f"knows {', '.join(known)}": float(each.by_record.mean()) for known, each in zip(sets, found, strict=True)
        }
        parts["fewest of the best pairings"] = float(np.mean([each.fewest for each in found])) / len(before)
        parts["most of the best pairings"] = float(np.mean([each.most for each in found])) / len(before)
        return self.measurement(float(by_record.mean()), parts=parts, by_record=by_record, notes=notes)


def _standardised(pair: Pair, names: tuple[str, ...], *, own: bool) -> list[Floats]:
    """Return the z-scores of both tables, by each table's own means and deviations or by the original's."""
    scales = _scales(pair, names, own=own)
    halves = pair.original, pair.protected
    return [scale.scores(half.table.numeric(names)) for scale, half in zip(scales, halves, strict=True)]
