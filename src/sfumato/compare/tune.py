"""Tuning: the parameter value of best utility whose risk keeps its bounds, found instead of tried on a grid."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sfumato.about import MeasureAbout
from sfumato.compare.asked import check_counts, read_asked
from sfumato.compare.choose import limits
from sfumato.compare.curve import Curve
from sfumato.compare.dials import dial, turned
from sfumato.compare.figures import written
from sfumato.compare.in_parts import whole_table
from sfumato.compare.results import Results, Which
from sfumato.compare.rows import Row
from sfumato.compare.search import Finding, Search
from sfumato.compare.seeds import drawn_seed
from sfumato.compare.store import settled_seed
from sfumato.core import Method
from sfumato.display import Preformatted

LEADS = {"bound": "That is where the bound is met.", "peak": "It is best inside the range."}  # by why it is the best
LEAST = 10  # tables: five over the range and a few where the bound is met


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuning(Preformatted):
    """The value found, how sure it is, and every value tried on the way."""

    over: str  # the parameter
    value: float
    method: Method  # with that value
    keeps: bool  # whether its means keep all bounds; if not, no value tried does, and this one comes nearest
    interval: tuple[float, float]  # where the best value lies, 95 %, if utility too changes steadily with the parameter
    alike: tuple[float, float]  # values tried that keep the bounds and whose utility cannot be told from this one's
    beside: tuple[float | None, float | None]  # the values tried next to it, below and above; None at an end
    step: float  # how far apart values that may be tried lie
    known: bool  # whether there were replicates enough to tell how sure it is
    objective: str  # the key of the measure that was made as good as possible
    bounds: Mapping[str, float]
    monotone: Mapping[str, bool]  # whether each figure rises or falls all along, but for what chance may do
    tables: int  # masked tables, which is what it cost
    results: Results  # the values tried, each with its replicates
    sentence: str = ""

    @property
    def row(self) -> Row:
        """The figures at the value found, with their standard errors."""
        return self.results.row(repr(self.method))

    def __repr__(self) -> str:
        return f"Tuning: {self.sentence}"


def tune(
    method: Method | type[Method],
    data: Any,
    *,
    over: str | None = None,
    between: tuple[float, float] | None = None,
    utility: Which | None = None,
    risk: Which | None = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    replicates: int = 5,
    budget: int = 50,
    tolerance: float | None = None,
    seed: int | None = None,
    workers: int = 1,
    store: str | os.PathLike[str] | None = None,
    rounded: bool = False,
) -> Tuning:
    """Find the value of one parameter that makes ``utility`` best (or ``risk`` least) while the bounds are kept.

    ``over`` names the parameter of ``method``, whose other parameters stay as they are, and ``between`` the least and
    the greatest value to consider; without them they are those of the method's own grid. Of a chain ``over`` names the
    step too, ``"RankSwapping.p"``; several parameters at once are for :func:`tune_jointly`. A whole number is found
    exactly; of other parameters the multiples of ``tolerance`` are considered, a round number of about a 200th of the
    range unless given. Bounds hold for means over replicates, as in :func:`choose`: of a random method single tables
    scatter around them.

    At most ``budget`` tables are masked. Values near the bound are drawn ``replicates`` times at first and more
    often as the budget allows. Between a value that keeps the bounds and one of better utility that breaks them
    values are tried until the two are one step apart, ``beside`` tells which were tried next to the one found, and
    the sentence says so if the budget ended before. The value found was itself masked and measured and keeps every
    bound; ``interval`` tells where else the bound may be met, by Student's t over the replicates. That is where the
    best value lies if the bounded figures and utility rise or fall all along the range; the values tried are
    checked for that, and the sentence says what was seen. ``alike`` tells over which values utility differs by no
    more than chance: where it is wide, a safer value costs nothing that could be measured. ``seed``, ``workers``,
    ``store`` and ``rounded`` are those of :class:`Experiment`.

    >>> import sfumato
    >>> survey = sfumato.household_survey(households=150, seed=1)
    >>> found = tune(sfumato.MDAV, survey, utility="InformationLoss", at_most={"DistanceLinkage": 0.2})
    >>> found.over, found.keeps, found.tables <= 10
    ('k', True, True)
    """
    table = whole_table(data)
    seed = settled_seed(store, table.fingerprint, drawn_seed()) if seed is None else seed
    check_counts(replicates=(replicates, 1), budget=(budget, LEAST), seed=(seed, 0), workers=(workers, 1))
    turn = dial(method, over, between, tolerance)
    name, values = turn.text, turn.values
    asked = read_asked(table, utility=utility, risk=risk, at_most=at_most, at_least=at_least)
    curve = Curve(
        data=table,
        make=lambda value: turned(method, {turn: value}),
        values=values,
        measures=asked.measures,
        scores=asked.scores,
        seed=seed,
        workers=workers,
        store=store,
        budget=budget,
        rounded=rounded,
    )
    search = Search(curve, objective=asked.objective, bounds=asked.bounds, figures=asked.figures, draws=replicates)
    finding = search.run()
    value = curve.values[finding.place]
    ends = sorted(curve.values[place] for place in finding.open)
    beside = [None if place is None else curve.values[place] for place in search.tried.beside(finding.place)]
    below, above = beside if curve.values[0] < curve.values[-1] else beside[::-1]
    same = sorted(curve.values[place] for place in search.tried.alike(finding.place))
    tuning = Tuning(
        over=name,
        value=value,
        method=curve.make(value),
        keeps=search.tried.keeps(finding.place),
        interval=(ends[0], ends[1]),
        alike=(same[0], same[1]),
        beside=(below, above),
        step=_apart(values),
        known=finding.known,
        objective=asked.objective,
        bounds=asked.bounds,
        monotone={key: search.tried.monotone(key) for key in dict.fromkeys((asked.objective, *asked.bounds))},
        tables=curve.spent,
        results=curve.results(),
    )
    rows = {curve.values[place]: row for place, row in curve.rows.items()}
    return replace(tuning, sentence=_sentence(tuning, finding, values, rows, asked.figures))


def _apart(values: tuple[float, ...]) -> float:
    """Return the distance between two values inside a range, which its ends may cut short."""
    return max(float(f"{after - before:.6g}") for before, after in pairwise(values))


def _sentence(
    tuning: Tuning,
    finding: Finding,
    values: tuple[float, ...],
    rows: Mapping[float, Row],
    figures: Mapping[str, MeasureAbout],
) -> str:
    """Say what was found among these ``values``, how sure it is, and what it took for granted."""
    row, name, about = tuning.row, tuning.over, figures[tuning.objective]
    certain = not tuning.method.about.random and not any(m.about.random for m in tuning.results.measures)
    most = "lowest" if about.better == "lower" else "highest"
    has = "; ".join(
        f"{figures[key].title} {written(row.means[key], figures[key].unit, row.errors[key])}"
        for key in dict.fromkeys((tuning.objective, *tuning.bounds))
    )
    bent = [figures[key].title for key, fine in tuning.monotone.items() if not fine]
    whole = len(tuning.results) == len(values)
    limit, wide = limits(tuning.bounds, figures), f"{name} from {min(values):g} to {max(values):g}"
    if not tuning.keeps:
        said = [f"No value of {wide} was found with {limit}; {tuning.method!r} comes nearest ({has})."]
        said.append(f"Give a wider range of {name}, a looser bound, or another method.")
    elif finding.why == "free":
        said = [
            f"The bound bars no better value: of {wide}, {tuning.method!r} has the {most} {about.title}, with {limit} "
            f"({has})."
        ]
    else:
        said = [f"Of {wide} with {limit}, {tuning.method!r} has the {most} {about.title} ({has})."]
        said += [LEADS[finding.why]] if finding.why in LEADS else []
    if row.replicates > 1 and tuning.keeps and tuning.method.about.random:
        said.append(_single(row, tuning.bounds, figures))
    if tuning.keeps and finding.why != "free":
        said.append(_open(tuning, finding.why, certain=certain, whole=whole, bent=bool(bent)))
        said.append(_beside(tuning, rows, figures, certain=certain))
    if tuning.keeps and tuning.alike != (tuning.value, tuning.value):
        said.append(
            f"By standard errors, {about.title} from {name} = {tuning.alike[0]:g} to {tuning.alike[1]:g} "
            f"cannot be told from that at {tuning.value:g}."
        )
    if not tuning.known:
        said.append("It was drawn too seldom to tell how sure that is: raise the budget.")
    if bent:
        what = f"Not monotone in {name} over the values tried: {' and '.join(bent)}"
        doubt = "; another value may do better, so look at the values tried, or at a grid"
        said.append(f"{what}{'' if whole and certain else doubt}.")
    said.append(f"{tuning.tables} tables were masked, for {len(tuning.results)} values of {name}.")
    return " ".join(said)


def _open(tuning: Tuning, why: str, *, certain: bool, whole: bool, bent: bool) -> str:
    low, high = tuning.interval
    if certain and whole:
        return "Nothing in it is random, and every value was tried: it is exact."
    if certain and bent and low == high:
        return "Nothing in it is random."
    if low == high:
        return "Nothing in it is random: it is exact." if certain else "The standard errors leave no other value open."
    if certain:
        return f"The budget ended before it was exact: the best value lies from {low:g} to {high:g}."
    what = "the bound is met somewhere" if why == "bound" else "the best value lies"
    return f"By standard errors (95 %) {what} from {low:g} to {high:g}."


def _beside(tuning: Tuning, rows: Mapping[float, Row], figures: Mapping[str, MeasureAbout], *, certain: bool) -> str:
    """Say which values were tried next to the one found, what they did, and how fine the steps are."""
    about, told, wide = figures[tuning.objective], [], False
    for value in tuning.beside:
        if value is None:
            continue
        row = rows[value]
        breaks = not all(figures[key].keeps(row.means[key], bound) for key, bound in tuning.bounds.items())
        wide |= abs(value - tuning.value) > 1.001 * tuning.step and (breaks or certain)
        has = f"{about.title} {written(row.means[tuning.objective], about.unit)}"
        told.append(f"{value:g} ({'breaks the bound' if breaks else f'keeps it, {has}'})")
    ended = "; the budget ended before values between were tried, so raise it" if wide else ""
    were = "were" if len(told) > 1 else "was"
    return f"Next to it {' and '.join(told)} {were} tried, in steps of {tuning.step:g}{ended}."


def _single(row: Row, bounds: Mapping[str, float], figures: Mapping[str, MeasureAbout]) -> str:
    """Say how many of the tables drawn keep the bounds, for one of them is what will be released."""
    values = {key: row.values[key] * (row.replicates if len(row.values[key]) == 1 else 1) for key in bounds}
    kept = sum(
        all(figures[key].keeps(values[key][draw], bound) for key, bound in bounds.items())
        for draw in range(row.replicates)
    )
    return f"Of its {row.replicates} draws {kept} keep the bound each by itself: measure the one you release."
