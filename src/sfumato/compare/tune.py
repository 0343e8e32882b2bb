"""Tuning: the parameter values of best utility whose risk keeps its bounds, found instead of tried on a grid.

``tune`` searches one parameter, ``tune_jointly`` several at once, of a method or a chain.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, get_type_hints

from sfumato.about import MeasureAbout
from sfumato.arguments import is_number, require, require_bounds
from sfumato.compare.choose import limits, reached, wishes
from sfumato.compare.experiment import grid, whole_table
from sfumato.compare.figures import written
from sfumato.compare.frontier import Frontier
from sfumato.compare.results import Results, Which
from sfumato.compare.rows import Row, half_width
from sfumato.compare.score import Recipe
from sfumato.compare.search import Curve, Finding, Goal, Search, lattice
from sfumato.compare.seeds import drawn_seed
from sfumato.compare.store import settled_seed
from sfumato.compare.surface import JointSearch, Point, Surface
from sfumato.composition import Chain, Within
from sfumato.core import Measure, Method
from sfumato.display import Preformatted
from sfumato.errors import NotApplicable, ParameterError
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

MAX_TABLES = 100_000  # tables that are masked, draws, or processes
Range = tuple[float, float] | None  # None: from the least to the greatest value of the method's own grid
LEADS = {"bound": "That is where the bound is met.", "peak": "It is best inside the range."}  # by why it is the best
MIN_TABLES = 10  # tables: five over the range and a few where the bound is met
MIN_TABLES_JOINTLY = 20  # tables


# What a search is asked for: the measure to make best, the bounds, and the measures and scores these need.


def _read_goal(
    data: Microdata | TableInParts,
    *,
    utility: Which | None,
    risk: Which | None,
    at_most: Mapping[Any, float] | None,
    at_least: Mapping[Any, float] | None,
) -> Goal:
    """Read what is wished for: instances, classes, or texts such as ``DistanceLinkage(ties='linked')``."""
    require_bounds("tune", at_most=at_most, at_least=at_least)
    named = {}  # each wish is read once: what it names, then the measure or recipe itself
    for which in (utility, risk, *(at_most or {}), *(at_least or {})):
        if which is not None and _text(which) not in named:
            named[_text(which)] = _figure(which)
    wished = {repr(figure): figure for figure in named.values()}
    scores = tuple(figure for figure in wished.values() if isinstance(figure, Recipe))
    measures = {repr(f): f for f in wished.values() if isinstance(f, Measure)}
    measures |= {repr(part): part for score in scores for part in score.measures}
    empty = Results(
        original=data.parts[0],
        measures=(*measures.values(), *scores),
        rows=(),
        seed=0,
        replicates=1,
        seconds=0.0,
        versions={},
    )

    def bounded(bounds: Mapping[Any, float] | None) -> dict[Any, float]:
        return {named[_text(which)]: bound for which, bound in (bounds or {}).items()}

    objective, bounds = wishes(
        empty,
        "tune",
        utility=None if utility is None else named[_text(utility)],
        risk=None if risk is None else named[_text(risk)],
        at_most=bounded(at_most),
        at_least=bounded(at_least),
    )
    return Goal(
        objective=objective,
        bounds=bounds,
        measures=tuple(measures.values()),
        scores=scores,
        figures=empty.figures,
    )


def _check_counts(**given: tuple[Any, int]) -> None:
    """Require whole numbers of at least so much, and of no more tables or processes than anybody waits for."""
    for name, (value, least) in given.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ParameterError(f"tune: {name} must be a whole number of at least {least}; got {value!r}")
        if name != "seed" and int(value) > MAX_TABLES:
            raise ParameterError(f"tune: {name} must be at most {MAX_TABLES:,}; got {value!r}")


def _text(which: Which) -> str:
    return which.__name__ if isinstance(which, type) else which if isinstance(which, str) else repr(which)


def _figure(which: Which) -> "Measure | Recipe":
    """Read a measure or a score: an instance, a class, or a text."""
    from sfumato.catalogue import parse

    if isinstance(which, Measure | Recipe):
        return which
    made = which() if isinstance(which, type) else parse(which)[0] if isinstance(which, str) else which
    if not isinstance(made, Measure | Recipe):
        raise ParameterError(f"tune: {_text(which)} is not a measure; see sfumato.measures()")
    return made


# The parameters that a search may turn: of a method, or of a step of a chain, named such as ``RankSwapping.p``.


@dataclass(frozen=True)
class _TunableParameter:
    """One parameter and the values it may take."""

    text: str  # as it was named
    step: int  # of the chain; 0 where there is one method only
    name: str
    values: tuple[float, ...]


def steps(method: Method | type[Method]) -> tuple[Method | type[Method], ...]:
    """Return the steps of a chain, or the one method or class; what is done by blocks as it is done in each."""
    if isinstance(method, Method):
        return method.innermost
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise ParameterError(f"tune: {method!r} is not a method")
    return (method,)


def turned(method: Method | type[Method], values: Mapping[_TunableParameter, float]) -> Method:
    """Return the method with these values of its parameters."""
    made: list[Any] = list(steps(method))
    for place, step in enumerate(made):
        given: dict[str, Any] = {dial.name: value for dial, value in values.items() if dial.step == place}
        if given:
            made[place] = grid(step, **given)[0] if isinstance(step, type) else replace(step, **given)
    return _put_back(method, iter(made))


def _put_back(method: Method | type[Method], made: Iterator[Method]) -> Method:
    """Return the method with other steps, in chains and blocks as they were."""
    if isinstance(method, Within):
        return replace(method, method=_put_back(method.method, made))
    if isinstance(method, Chain):
        return Chain(tuple(_put_back(step, made) for step in method.steps))
    return next(made)


def dial(
    method: Method | type[Method], text: str | None, between: Range, tolerance: float | None = None
) -> _TunableParameter:
    """Find the parameter that a text names, and the values to consider.

    Of a chain, ``RankSwapping.p`` is p of the step RankSwapping, and ``GlobalRecoding[2].groups`` that of the second
    such step; ``p`` alone will do where one step only has it. Without a text it is the first parameter of a method's
    own grid.
    """
    require("tune", str | None, "the name of a parameter", over=text)
    place, name = _found(method, text)
    cls = _class(steps(method)[place])
    ends = _ends(cls, name, between)
    wrong = tolerance is not None and not (is_number(tolerance) and tolerance > 0)
    if wrong:
        raise ParameterError(f"tune: tolerance must be a number above 0; got {tolerance!r}")
    spoken = text or (name if len(steps(method)) == 1 else f"{cls.__name__}.{name}")
    found = _TunableParameter(
        spoken, place, name, lattice(ends[0], ends[1], whole=_whole(cls, name), tolerance=tolerance)
    )
    for end in ends:
        turned(method, {found: end})  # a value that cannot be is refused before anything is masked
    return found


def _found(method: Method | type[Method], text: str | None) -> tuple[int, str]:
    classes = [_class(step) for step in steps(method)]
    if text is None and len(classes) > 1:
        listed = ", ".join(f"{cls.__name__}.{name}" for cls in classes for name in _numeric(cls))
        raise ParameterError(f"tune: say which parameter of the chain to search, such as {listed}")
    owner, _, name = (text or "").rpartition(".")
    wanted = re.fullmatch(r"(\w*)(?:\[(\d+)\])?", owner)
    if wanted is None:
        raise ParameterError(f"tune: cannot read the parameter {text!r}; write for example RankSwapping.p")
    named = [place for place, cls in enumerate(classes) if not wanted[1] or cls.__name__ == wanted[1]]
    if text is None:
        name = next(iter(_numeric(classes[0])), "")
    having = [place for place in named if name in _names(classes[place])]
    if wanted[2] is not None:
        having = having[int(wanted[2]) - 1 : int(wanted[2])] if int(wanted[2]) else []
    if not having:
        who = " + ".join(cls.__name__ for cls in classes)
        known = ", ".join(
            f"{cls.__name__}.{entry}" if len(classes) > 1 else entry for cls in classes for entry in _names(cls)
        )
        given = f"got {text!r}" if text is not None else "say over which"
        raise ParameterError(f"tune: {who} has the parameters {known or 'none'}; {given}")
    if len(having) > 1:
        choices = " or ".join(
            f"{classes[place].__name__}[{1 + sum(c is classes[place] for c in classes[:place])}].{name}"
            for place in having
        )
        raise ParameterError(f"tune: several steps have a parameter {name}; write {choices}")
    return having[0], name


def _ends(cls: type[Method], name: str, between: Range) -> tuple[float, float]:
    numeric = _numeric(cls)
    if between is None and name not in numeric:
        raise ParameterError(f"tune: nothing says which values of {name} to consider; give between=(low, high)")
    ends = (min(numeric[name]), max(numeric[name])) if between is None else between
    whole = _whole(cls, name)
    good = isinstance(ends, tuple | list) and len(ends) == 2
    good = good and all(isinstance(e, Integral if whole else Real) and not isinstance(e, bool) for e in ends)
    if not good or not -float("inf") < ends[0] < ends[1] < float("inf"):
        kind = "two whole numbers" if whole else "two numbers"
        raise ParameterError(f"tune: between must be {kind}, the lower one first; got {between!r}")
    return ends[0], ends[1]


def _class(step: Method | type[Method]) -> type[Method]:
    return step if isinstance(step, type) else type(step)


def _names(cls: type[Method]) -> list[str]:
    return [entry.name for entry in fields(cls) if entry.name != "variables"]


def _whole(cls: type[Method], name: str) -> bool:
    return get_type_hints(cls).get(name) in (int, int | None)


def _numeric(cls: type[Method]) -> dict[str, tuple[Any, ...]]:
    """Return the numeric parameters of a class's own grid, with their values."""
    return {
        name: choices
        for name, choices in cls.about.grid.items()
        if all(isinstance(choice, Real) and not isinstance(choice, bool) for choice in choices)
    }


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
    _check_counts(replicates=(replicates, 1), budget=(budget, MIN_TABLES), seed=(seed, 0), workers=(workers, 1))
    turn = dial(method, over, between, tolerance)
    name, values = turn.text, turn.values
    goal = _read_goal(table, utility=utility, risk=risk, at_most=at_most, at_least=at_least)
    curve = Curve(
        data=table,
        make=lambda place: turned(method, {turn: curve.values[place]}),
        values=values,
        goal=goal,
        replicates=replicates,
        seed=seed,
        workers=workers,
        store=store,
        budget=budget,
        rounded=rounded,
    )
    search = Search(curve)
    finding = search.run()
    value = curve.values[finding.place]
    ends = sorted(curve.values[place] for place in finding.open)
    beside = [None if place is None else curve.values[place] for place in search.tried.beside(finding.place)]
    below, above = beside if curve.values[0] < curve.values[-1] else beside[::-1]
    same = sorted(curve.values[place] for place in search.tried.alike(finding.place))
    tuning = Tuning(
        over=name,
        value=value,
        method=curve.make(finding.place),
        keeps=search.tried.keeps(finding.place),
        interval=(ends[0], ends[1]),
        alike=(same[0], same[1]),
        beside=(below, above),
        step=_apart(values),
        known=finding.known,
        objective=goal.objective,
        bounds=goal.bounds,
        monotone={key: search.tried.monotone(key) for key in dict.fromkeys((goal.objective, *goal.bounds))},
        tables=curve.spent,
        results=curve.results(),
    )
    rows = {curve.values[place]: row for place, row in curve.rows.items()}
    return replace(tuning, sentence=_sentence(tuning, finding, values, rows, goal.figures))


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
    has = reached(row, (tuning.objective, *tuning.bounds), figures)
    bent = [figures[key].title for key, fine in tuning.monotone.items() if not fine]
    whole = len(tuning.results) == len(values)
    limit, wide = limits(tuning.bounds, figures), f"{name} from {min(values):g} to {max(values):g}"
    if not tuning.keeps:
        said = [f"No value of {wide} was found with {limit}; {tuning.method!r} comes nearest ({has})."]
        said.append(f"Give a wider range of {name}, a looser bound, or another method.")
    elif finding.why == "free":
        said = [
            f"The bound bars no better value: of {wide}, {tuning.method!r} has the {about.best} {about.title}, "
            f"with {limit} ({has})."
        ]
    else:
        said = [f"Of {wide} with {limit}, {tuning.method!r} has the {about.best} {about.title} ({has})."]
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


# Tuning of several parameters at once, of a method or a chain: the best point within the bounds, and a frontier.


@dataclass(frozen=True, kw_only=True, eq=False)
class JointTuning(Preformatted):
    """The best point found, the frontier, how sure it is, and every point tried on the way."""

    values: Mapping[str, float]  # by the name of the parameter
    method: Method  # with these values
    keeps: bool  # whether its means keep all bounds; if not, no point tried does, and this one comes nearest
    error: float  # of the objective: by chance (95 %), and by what the surface misses near the point, root of squares
    objective: str  # the key of the measure that was made as good as possible
    bounds: Mapping[str, float]
    frontier: Frontier | None  # in the bounded figures and the objective; None where all are risks, or all utilities
    tables: int  # masked tables, which is what it cost
    results: Results  # the points tried, each with its replicates
    sentence: str = ""

    @property
    def row(self) -> Row:
        """The figures at the point found, with their standard errors."""
        return self.results.row(repr(self.method))

    def __repr__(self) -> str:
        return f"JointTuning: {self.sentence}"


def tune_jointly(
    method: Method,
    data: Any,
    *,
    over: Mapping[str, Range],
    utility: Which | None = None,
    risk: Which | None = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    replicates: int = 3,
    budget: int = 60,
    seed: int | None = None,
    workers: int = 1,
    store: str | os.PathLike[str] | None = None,
    rounded: bool = False,
) -> JointTuning:
    """Find the values of several parameters that make ``utility`` best (or ``risk`` least) while the bounds are kept.

    ``over`` gives each parameter the least and the greatest value to consider, ``{"RankSwapping.p": (0.02, 0.3),
    "LocalSuppression.k": (2, 5)}``, or None for those of the method's own grid; the other parameters stay as they are.
    Whole numbers stay whole; of other parameters about 200 round values are considered.

    At most ``budget`` tables are masked, none twice. A third is spread over all ranges; then surfaces are fitted to the
    figures, and the next point is the best one they predict within the bounds, or one where they are known least. Of a
    random method the best points are drawn again, ``replicates`` times, and the best of those is returned. It was
    itself masked and measured. ``error`` says how much of its utility is uncertain: by the 95 % interval over
    replicates, and by how far the surfaces were off at the points near it. Nothing proves that no better point exists:
    where ``error`` is large, raise the budget. ``seed``, ``workers``, ``store`` and ``rounded`` are those of
    :class:`Experiment`.

    >>> import sfumato
    >>> survey = sfumato.household_survey(households=60, seed=1)
    >>> chain = sfumato.TopBottomCoding(0.05) + sfumato.RankSwapping(0.1)
    >>> ranges = {"TopBottomCoding.share": (0.01, 0.1), "RankSwapping.p": (0.02, 0.3)}
    >>> found = tune_jointly(
    ...     chain, survey, over=ranges, utility="InformationLoss", at_most={"RankInterval": 0.5}, budget=20
    ... )
    >>> found.keeps, found.tables <= 20, list(found.values)
    (True, True, ['TopBottomCoding.share', 'RankSwapping.p'])
    """
    table = whole_table(data)
    seed = settled_seed(store, table.fingerprint, drawn_seed()) if seed is None else seed
    _check_counts(replicates=(replicates, 1), budget=(budget, MIN_TABLES_JOINTLY), seed=(seed, 0), workers=(workers, 1))
    if not isinstance(over, Mapping) or not over:
        raise ParameterError(f"tune: over must give each parameter its range, such as {{'k': (2, 5)}}; got {over!r}")
    dials = tuple(dial(method, text, ends) for text, ends in over.items())
    twice = {d.text for d in dials if [(o.step, o.name) for o in dials].count((d.step, d.name)) > 1}
    if twice:
        raise ParameterError(f"tune: {' and '.join(sorted(twice))} are the same parameter; name it once")
    goal = _read_goal(table, utility=utility, risk=risk, at_most=at_most, at_least=at_least)
    surface = Surface(
        data=table,
        make=lambda point: turned(method, _values(dials, point)),
        sizes=tuple(len(d.values) for d in dials),
        goal=goal,
        replicates=replicates,
        seed=seed,
        workers=workers,
        store=store,
        budget=budget,
        rounded=rounded,
    )
    search = JointSearch(surface)
    best = search.run()
    results = surface.results()
    if best is None:
        reason = next(iter(results.rows[0].reasons.values()))
        raise NotApplicable(f"tune: no point tried has its figures ({reason}); give ranges of values that fit")
    row = surface.rows[best]
    chance, missed = half_width(row, goal.objective), search.doubt(best)
    tuning = JointTuning(
        values={d.text: value for d, value in _values(dials, best).items()},
        method=surface.make(best),
        keeps=search.excess(best) == 0,
        error=math.hypot(chance, missed),
        objective=goal.objective,
        bounds=goal.bounds,
        frontier=_frontier(results, goal),
        tables=surface.spent,
        results=results,
    )
    return replace(tuning, sentence=_joint_sentence(tuning, dials, goal.figures))


def _values(dials: tuple[_TunableParameter, ...], point: Point) -> dict[_TunableParameter, float]:
    return {d: d.values[place] for d, place in zip(dials, point, strict=True)}


def _frontier(results: Results, goal: Goal) -> Frontier | None:
    keys = dict.fromkeys((goal.objective, *goal.bounds))
    risks = [key for key in keys if goal.figures[key].purpose == "risk"]
    utilities = [key for key in keys if goal.figures[key].purpose == "utility"]
    return results.frontier(risk=risks, utility=utilities) if risks and utilities else None


def _joint_sentence(
    tuning: JointTuning, dials: tuple[_TunableParameter, ...], figures: Mapping[str, MeasureAbout]
) -> str:
    """Say what was found, how sure it is, and what it took."""
    row, about = tuning.row, figures[tuning.objective]
    has = reached(row, (tuning.objective, *tuning.bounds), figures)
    wide = ", ".join(f"{d.text} from {min(d.values):g} to {max(d.values):g}" for d in dials)
    limit = limits(tuning.bounds, figures)
    if tuning.keeps:
        said = [f"Of {wide} with {limit}, {tuning.method!r} has the {about.best} {about.title} found ({has})."]
        if not math.isnan(tuning.error):
            said.append(
                f"By chance and by the surface fitted, that is uncertain by {written(tuning.error, about.unit)}."
            )
    else:
        said = [f"No point of {wide} was found with {limit}; {tuning.method!r} comes nearest ({has})."]
        said.append("Give wider ranges, a looser bound, or another method.")
    if tuning.frontier is not None:
        said.append(f"{len(tuning.frontier.on)} of {len(tuning.results)} points are on the frontier.")
    said.append(f"{tuning.tables} tables were masked.")
    return " ".join(said)
