"""The frontier: the candidates that no other beats, and how sure that is.

One candidate dominates another if it is at least as good in every measure and better in one, by the means as they
are, never rescaled. A candidate on the frontier is dominated by none; equal ones are kept both.

How sure: each mean has a 95 % interval by Student's t over its replicates, and a difference of two means within the
root of the sum of their squared half widths may be chance. A second frontier is drawn in which such differences count
as none; a candidate that is on one of the two only is doubtful.
Candidates of one method share their draws, so that their differences are usually surer than this takes them to be.

The knee, of one risk and one utility: the candidate on the frontier farthest below the chord of its two ends, after
each measure was divided by its range over the frontier. It is where further risk begins to buy little utility. That
depends on the candidates at the ends, so that adding one may move it: a place to begin looking, and never used to tell
who dominates whom.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.about import Better, Directed, Purpose, Unit
from sfumato.arguments import require
from sfumato.compare.rows import NO_NUMBER, half_width
from sfumato.display import Preformatted
from sfumato.errors import ParameterError
from sfumato.outcome import Reason

if TYPE_CHECKING:
    from sfumato.compare.results import Results, Which
    from sfumato.compare.rows import Row


Floats = NDArray[np.float64]
COMPARED_AT_A_TIME = 1_000_000  # figures compared at a time


@dataclass(frozen=True)
class Axis(Directed):
    """One measure of a frontier: what it is called and which way is better."""

    key: str
    title: str
    better: Better
    unit: Unit
    purpose: Purpose


@dataclass(frozen=True, kw_only=True)
class Frontier(Preformatted):
    """Who is on the frontier, who is beaten by whom, and who was left out and why."""

    axes: tuple[Axis, ...]
    on: tuple[str, ...]  # from the best to the worst of the first risk
    dominated_by: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # the others: who on the frontier beats them
    doubtful: tuple[str, ...] = ()  # membership that the standard errors leave open
    unknown: tuple[str, ...] = ()  # random, and one replicate does not tell how much
    left_out: Mapping[str, Reason] = field(default_factory=dict)
    knee: str | None = None  # None where there is no bend, or not one risk and one utility

    def __repr__(self) -> str:
        best = ", ".join(f"{'less' if axis.lower_is_better else 'more'} {axis.key}" for axis in self.axes)
        total = len(self.on) + len(self.dominated_by)
        lines = [f"Frontier of {best}: {len(self.on)} of {total} candidates"]
        marks = dict.fromkeys(self.doubtful, " (doubtful)")
        lines += [f"  {name}{marks.get(name, '')}{' (knee)' if name == self.knee else ''}" for name in self.on]
        off = [name for name in self.doubtful if name in self.dominated_by]
        if off:
            lines.append(f"doubtful, off it by less than chance may do: {', '.join(off)}")
        if self.unknown:
            lines.append(f"one replicate, so the spread is unknown: {len(self.unknown)} candidates")
        return "\n".join([*lines, *(f"left out: {name}: {reason}" for name, reason in self.left_out.items())])


def frontier(results: "Results", *, risk: "Which | Iterable[Which]", utility: "Which | Iterable[Which]") -> Frontier:
    """Find the candidates that no other beats in these measures of risk and of utility."""
    require_results("frontier", results)
    axes = (*_axes(results, risk, "risk"), *_axes(results, utility, "utility"))
    rows, left_out = complete(results.rows, [axis.key for axis in axes])
    signs = np.array([axis.sign for axis in axes])
    costs = np.array([[row.means[axis.key] for axis in axes] for row in rows]).reshape(len(rows), len(axes)) * signs
    errors = np.array([[row.errors[axis.key] for axis in axes] for row in rows]).reshape(costs.shape)
    widths = np.array([[half_width(row, axis.key) for axis in axes] for row in rows]).reshape(costs.shape)
    on, on_surely = undominated(costs), undominated(costs, widths)
    names = [row.candidate for row in rows]
    kept, off = np.flatnonzero(on), np.flatnonzero(~on)
    ordered = sorted(kept, key=lambda i: (*costs[i], names[i]))
    bend = knee(costs[ordered])
    return Frontier(
        axes=axes,
        on=tuple(names[i] for i in ordered),
        knee=None if bend is None else names[ordered[bend]],
        dominated_by={
            names[i]: tuple(names[j] for j in kept[beaten])
            for i, beaten in zip(off, _dominate(costs[kept], costs[off]), strict=True)
        },
        doubtful=tuple(names[i] for i in np.flatnonzero(on != on_surely)),
        unknown=tuple(name for name, error in zip(names, errors, strict=True) if np.isnan(error).any()),
        left_out=left_out,
    )


def require_results(who: str, results: object) -> None:
    """Require the results of an experiment."""
    from sfumato.compare.results import Results  # which themselves find their frontier

    require(who, Results, "the results of an experiment", results=results)


def undominated(costs: Floats, widths: Floats | None = None) -> NDArray[np.bool_]:
    """Tell who is dominated by none, given one row of costs per candidate, lower better in every column.

    With half widths of intervals, differences within the root of the sum of their squares count as none.

    >>> undominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [1.0, 3.0]])).tolist()
    [True, True, False, True]
    """
    free = np.empty(len(costs), dtype=np.bool_)
    for some in _blocks(costs, len(costs)):
        each = costs[some, np.newaxis]
        margin = 0.0 if widths is None else np.hypot(widths, widths[some, np.newaxis])
        better, worse = np.any(costs < each - margin, axis=2), np.any(costs > each + margin, axis=2)
        free[some] = ~(better & ~worse).any(axis=1)
    return free


def knee(costs: Floats) -> int | None:
    """Return which row of a frontier of two costs lies farthest below the chord of its ends, each divided by its range.

    >>> knee(np.array([[0.0, 1.0], [0.2, 0.3], [0.6, 0.2], [1.0, 0.0]]))  # x + y: 1, 0.5, 0.8, 1
    1
    """
    if len(costs) < 3 or costs.shape[1] != 2 or not np.isfinite(costs).all():
        return None
    ranges = np.ptp(costs, axis=0)
    if not ranges.all():
        return None
    # the ends of a frontier are best in one measure and worst in the other: (0, 1) and (1, 0), the chord x + y = 1
    sums = ((costs - costs.min(axis=0)) / ranges).sum(axis=1)
    best = int(np.argmin(sums))
    return best if sums[best] < 1 - 1e-9 else None


def _dominate(costs: Floats, others: Floats) -> Iterator[NDArray[np.bool_]]:
    """Tell of each of the others which candidates of these costs dominate it."""
    for some in _blocks(others, len(costs)):
        each = others[some, np.newaxis]
        yield from np.asarray(np.all(costs <= each, axis=2) & np.any(costs < each, axis=2))


def _blocks(costs: Floats, others: int) -> Iterator[slice]:
    """Part the candidates so that comparing a part with all the others takes little memory."""
    size = max(COMPARED_AT_A_TIME // max(others * costs.shape[1], 1), 1)
    return (slice(start, start + size) for start in range(0, len(costs), size))


def complete(rows: Sequence["Row"], keys: Sequence[str]) -> tuple[list["Row"], dict[str, Reason]]:
    """Part the rows that have all these figures from those that lack one, and say why."""
    kept: list[Row] = []
    left_out: dict[str, Reason] = {}
    for row in rows:
        lacking = [key for key in keys if math.isnan(row.means.get(key, math.nan))]
        if lacking:
            left_out[row.candidate] = row.reasons.get(lacking[0], NO_NUMBER).needed(lacking[0])
        else:
            kept.append(row)
    return kept, left_out


def _axes(results: "Results", given: Any, purpose: Purpose) -> tuple[Axis, ...]:
    several = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    if not several:
        raise ParameterError(f"frontier: {purpose} names no measure")
    axes = []
    for key in dict.fromkeys(results.key(which) for which in several):
        about = results.figures[key]
        if about.purpose != purpose:
            raise ParameterError(f"frontier: {key} is a measure of {about.purpose}; it cannot stand for {purpose}")
        axes.append(Axis(key, about.title, about.better, about.unit, about.purpose))
    return tuple(axes)


# Joint frontiers: who is on the frontier of each measure of utility, and of all of them at once.


@dataclass(frozen=True, kw_only=True)
class JointFrontiers(Preformatted):
    """The frontier of each utility by itself, and the joint one, as in Table 3 of Karr et al. (2006)."""

    single: Mapping[str, Frontier]  # by the key of the utility
    joint: Frontier  # by (11): dominated only by who is at least as good in all of them and better in one
    counts: Mapping[str, int]  # on how many of the single frontiers each candidate lies, most first

    def __repr__(self) -> str:
        width = max(map(len, self.counts), default=0)
        lines = [f"On how many of the {len(self.single)} single frontiers, and whether on the joint one:"]
        for name, count in self.counts.items():
            lines.append(f"  {name.ljust(width)}  {count}  {'joint' if name in self.joint.on else '-'}")
        return "\n".join(lines)


def joint_frontiers(
    results: "Results", *, risk: "Which | Iterable[Which]", utilities: "Iterable[Which]"
) -> JointFrontiers:
    """Find the frontier for each of several measures of utility and for all of them together.

    The more measures, the more candidates are on the joint frontier, and the less it helps to choose. A candidate that
    is on a single frontier may be off the joint one only where it ties there with one that is better otherwise. A
    candidate that lacks a figure is left out of the joint frontier, and of the single ones that need it.
    """
    require_results("joint_frontiers", results)
    several = list(utilities) if isinstance(utilities, list | tuple | set | frozenset) else []
    keys = list(dict.fromkeys(results.key(which) for which in several))
    if len(keys) < 2:
        raise ParameterError(f"joint_frontiers: give a list of two measures of utility or more; got {utilities!r}")
    single = {key: frontier(results, risk=risk, utility=key) for key in keys}
    counts = {row.candidate: sum(row.candidate in found.on for found in single.values()) for row in results.rows}
    return JointFrontiers(
        single=single,
        joint=frontier(results, risk=risk, utility=keys),
        counts=dict(sorted(counts.items(), key=lambda entry: -entry[1])),
    )
