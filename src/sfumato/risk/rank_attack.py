"""The attack that knows of rank swapping: windows of ranks around what is known, intersected."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.kernels.rank_windows import search_windows
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import Values
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import KnownVariables, check_known, known_sets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MISSING = -1e10  # the place of a missing value: far from every rank, so that only missing ones are in its window


@catalogued(
    MeasureAbout(
        title="Rank window linkage disclosure",
        source="Nin, Herranz and Torra (2008), Rethinking rank swapping to decrease disclosure risk, Data & Knowledge "
        "Engineering 64, 346-364",
        purpose="risk",
        counts=("candidates",),
        cases="knows ",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="a missing value is looked for among the missing, a present one among those present; a record with a "
        "value made missing is not found by an intruder who knows that value",
        column_order=True,
        caveat="made against rank swapping; of other methods, which move most values little, it says next to nothing",
        formula="candidates of i: protected records c, |rank_j(c) - rank_j(x_i)| <= w_j in each known variable j\n"
        "w_j = floor(p n), or the largest move there is in j\n"
        "taken: the candidate with the greatest sum_j |rank_j(c) - rank_j(x_i)| / (w_j + 1)\n"
        "value = mean over the sets of known variables of (sum_i 1 / t_i where the own is taken) / n\n"
        "        (t_i = candidates that tie)",
        reading="Read it against DistanceLinkage on a rank-swapped file: where it is larger, the method gives more "
        'away than the usual linkage shows. The part "own record the only candidate" is certain re-identification; '
        "with a random guess among the candidates as a yardstick. On files that were not rank swapped the window is "
        "as wide as the largest move and the figure means little.",
    )
)
class RankSwappingAttack(Measure):
    """Share of records found by an intruder who knows how rank swapping moves values.

    A value swapped with one at most p n ranks away lies in a known window. For each variable an intruder knows, the
    candidates are the protected records whose value is at most that many ranks from the known one (from its first to
    its last rank where it ties; where it does not occur, from its place in the order); the own record is in every one
    of these sets, so it is in their intersection, which shrinks with each further variable. Of the candidates left the
    one that has moved farthest is taken: swapping from the lowest rank up, with a partner drawn evenly from the free
    ones of the next w ranks, moves a value by d ranks with a frequency proportional to 2^(d/w), for near ranks have
    more often been taken before; so the product of these frequencies over the variables is greatest where the sum of
    d/w is. Candidates as far share the link. (The nearest, the choice of distance linkage, would be worse than a
    guess.) The figure is the mean over the sets of variables that become ``known``, as in :class:`DistanceLinkage`,
    which it should be read beside: distance linkage alone understates the risk of rank swapping, several times over
    where p is large.

    ``p`` is the share of the records that a value may have moved, as in ``RankSwapping``; None means the largest move
    there is in each variable, which an intruder who knows the method knows well enough. Parts hold the share for each
    set; the share of cases in which the own record is among the candidates (1 when p is not below the method's); the
    number of candidates on average; the share in which the own record is the only one; and what a random guess among
    the candidates would earn. ``by_record`` is the share of the sets that find each record.

    >>> import pyarrow as pa
    >>> original = pa.table({"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]})
    >>> swapped = pa.table({"a": [2, 1, 4, 3], "b": [1, 3, 2, 4]})
    >>> found = RankSwappingAttack(known=2).evaluate(original, swapped)
    >>> found.parts["knows a, b"], found.parts["own record a candidate"]
    (1.0, 1.0)
    """

    known: KnownVariables = 7
    p: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known", check_known(self, self.known))
        if self.p is not None:
            parameters.share(self, "p")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        shared, notes = self.shared(pair)
        original, protected = pair.tables()
        sets = known_sets(self, self.known, original.schema, shared)
        names = tuple(dict.fromkeys(name for known in sets for name in known))
        windows = {
            name: window(pair.protected.values(name), original.columns[name], protected.columns[name], self.p)
            for name in names
        }
        found = np.zeros(len(original))
        parts: dict[str, float] = {}
        rows: list[dict[str, object]] = []
        for known in sets:
            table, low, high, centre = (
                np.column_stack([getattr(windows[name], side) for name in known])
                for side in ("protected", "low", "high", "centre")
            )
            # whole numbers, so that sums of mean ranks are exact and candidates that have moved as far tie
            steps = np.array([np.round(2**20 / (windows[name].reach + 1)) for name in known])
            there = ((low <= table) & (table <= high)).all(axis=1)
            own = (np.abs(table - centre) * steps).sum(axis=1)
            inside, farther, tied = search_windows(table, low, high, centre, own, steps)
            linked = np.where(there & (farther == 0), 1 / np.maximum(tied, 1), 0.0)
            found += linked / len(sets)
            parts[f"knows {', '.join(known)}"] = float(linked.mean())
            rows.append(
                {
                    "known": ", ".join(known),
                    "re-identified": float(linked.mean()),
                    "own record a candidate": float(there.mean()),
                    "candidates": float(inside.mean()),
                    "own record the only candidate": float((there & (inside == 1)).mean()),
                    "random guess": float(np.where(there, 1 / np.maximum(inside, 1), 0.0).mean()),
                }
            )
        for name in list(rows[0])[2:]:
            parts[name] = float(np.mean([row[name] for row in rows]))
        widest = ", ".join(f"{name} {windows[name].reach:,}" for name in names)
        return self.measurement(
            float(found.mean()),
            parts=parts,
            by_record=found,
            tables={"known": tuple(rows)},
            notes=(*notes, f"ranks a value may have moved: {widest}"),
        )


@dataclass(frozen=True, eq=False)
class Window:
    """One variable: the mean rank of each protected value, and where that of each original value may have gone."""

    protected: Floats
    low: Floats
    high: Floats
    centre: Floats
    reach: int


def window(
    ranked: Values, before: Floats, after: Floats, p: float | None = None, *, known: Values | None = None
) -> Window:
    """Place both columns among the ranks of the protected values present, from 0; ties have their mean rank.

    Who knows the values of all records, ``known``, ranks the original ones among these.
    """
    protected, low, high, centre = (np.full(len(before), MISSING) for _ in range(4))
    shown, there = ~np.isnan(before), ~np.isnan(after)
    n = ranked.present
    if n == 0 or not shown.any():  # nobody is in a window of ranks, but those missing in both
        high[shown], low[shown] = -1.0, 0.0
        protected[there] = 0.0
        return Window(protected, low, high, centre, 0)
    among = ranked if known is None else known
    first, last = among.below(before), among.not_above(before) - 1
    their_first, their_last = ranked.below(after), ranked.not_above(after) - 1
    if p is None:
        both = shown & there
        moved = np.maximum(their_first - last, first - their_last)[both]
        reach = int(max(moved.max(initial=0), 0))
    else:
        reach = int(p * n + 1e-9)  # 0.29 * 100 is 28.999..., yet 29 ranks are meant
    mean_rank = np.repeat(ranked.ranks(ranked.values), ranked.counts)
    protected[there] = (their_first[there] + their_last[there]) / 2
    centre[shown] = (first[shown] + last[shown]) / 2
    from_rank, to_rank = np.maximum(first - reach, 0), np.minimum(last + reach, n - 1)
    # a window without any rank, of a value that does not occur, holds nobody: its ends change places
    low[shown] = np.append(mean_rank, np.inf)[np.minimum(from_rank, n)][shown]
    high[shown] = np.append(mean_rank, -np.inf)[to_rank][shown]
    return Window(protected, low, high, centre, reach)
