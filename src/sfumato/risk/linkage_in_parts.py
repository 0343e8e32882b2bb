"""Distance linkage of a sample of records, each searched for among all records of the other table, part by part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import standardised
from sfumato.pair import Half, Pair
from sfumato.pair.sample import Sample, taken
from sfumato.pair.statistics import Moments, Sums, merged
from sfumato.pair.terms import Terms
from sfumato.risk.mixed_points import Places
from sfumato.risk.number_space import Ends, Space
from sfumato.risk.own_nearest import Sought, linked

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
        """Take those of all records; refused where there are none, or where they are no numbers."""
        refuse_without_scale(found.mean, found.spread, names, said)
        return cls(found.mean, found.spread)

    def scores(self, columns: Floats) -> Floats:
        """Return standardised numbers."""
        return standardised(columns, self.mean, self.spread)

    def ends(self, found: Moments, records: int) -> Ends:
        """Return the ends of a table's variables after it is standardised; rounding keeps their order."""
        low, high = (self.scores(end[None, :])[0] for end in (found.low, found.high))
        return Ends(low, high, np.asarray(found.present < records))


def refuse_without_scale(mean: Floats, spread: Floats, names: tuple[str, ...], said: str) -> None:
    """Refuse variables without a value, or with values too large for a standard deviation."""
    if np.isnan(mean).any():
        raise NotApplicable(f"every value of {names[int(np.argmax(np.isnan(mean)))]!r} is missing in the {said} table")
    if not np.isfinite(spread).all():
        name = names[int(np.argmin(np.isfinite(spread)))]
        raise NotApplicable(f"{name!r} has values too large for a standard deviation")


@dataclass(frozen=True, eq=False)
class EuclideanSearch:
    """Looks for records in a part by several sets of standardised numbers; it goes to other processes."""

    names: tuple[str, ...]
    scale: Scale
    sets: tuple[tuple[list[int], Space, Sought], ...]

    def __call__(self, part: Microdata) -> Sums:
        """Count, of each set and record, the records of the part that are nearer than the own, and as near."""
        scores = self.scale.scores(part.numeric(self.names))
        return _sums([sought.among(space.placed(scores[:, chosen])) for chosen, space, sought in self.sets])


@dataclass(frozen=True, eq=False)
class GowerSearch:
    """Looks for records in a part by several sets of variables of all kinds; it goes to other processes."""

    columns: tuple[tuple[Callable[[Any], NDArray[Any]], Places], ...]  # what reads a variable of a part, and places it
    sets: tuple[tuple[list[int], Sought], ...]

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
    halves: list[tuple[Half, str]] = [(pair.original, "original"), (pair.protected, "protected")]
    moments = [half.moments(names) for half, _ in halves]
    scales = [Scale.of(found, names, said) for found, (_, said) in zip(moments, halves, strict=True)]
    if not own:
        scales[1] = scales[0]
    scores, ends = [], []
    for (half, _), found, scale in zip(halves, moments, scales, strict=True):
        columns = taken(half, names, sample.rows)
        scores.append(scale.scores(np.column_stack([columns[name] for name in names])))
        ends.append(scale.ends(found, len(half)))
    here, there = (1, 0) if back else (0, 1)
    searched = []
    for chosen in sets:
        space = Space.between(_of(ends[here], chosen), _of(ends[there], chosen))
        own_points = space.placed(scores[there][:, chosen])
        searched.append((chosen, space, Sought.euclidean(space.placed(scores[here][:, chosen]), own_points, space)))
    counts = halves[there][0].total(EuclideanSearch(names, scales[there], tuple(searched)))
    return _links(counts, len(sets), share=share)


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
    searched = tuple((chosen, Sought.gower(here[:, chosen], there[:, chosen])) for chosen in sets)
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
