"""Tuning of several parameters at once, of a method or a chain: the best point within the bounds, and a frontier."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.about import MeasureAbout
from sfumato.compare.asked import Asked, check_counts, read_asked
from sfumato.compare.choose import limits
from sfumato.compare.dials import Dial, Range, dial, turned
from sfumato.compare.figures import written
from sfumato.compare.frontier import Frontier
from sfumato.compare.in_parts import whole_table
from sfumato.compare.results import Results, Which
from sfumato.compare.rows import Row, half_width
from sfumato.compare.seeds import drawn_seed
from sfumato.compare.store import settled_seed
from sfumato.compare.surface import JointSearch, Point, Surface
from sfumato.core import Method
from sfumato.display import Preformatted
from sfumato.errors import NotApplicable, ParameterError

LEAST = 20  # tables


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
    check_counts(replicates=(replicates, 1), budget=(budget, LEAST), seed=(seed, 0), workers=(workers, 1))
    if not isinstance(over, Mapping) or not over:
        raise ParameterError(f"tune: over must give each parameter its range, such as {{'k': (2, 5)}}; got {over!r}")
    dials = tuple(dial(method, text, ends) for text, ends in over.items())
    twice = {d.text for d in dials if [(o.step, o.name) for o in dials].count((d.step, d.name)) > 1}
    if twice:
        raise ParameterError(f"tune: {' and '.join(sorted(twice))} are the same parameter; name it once")
    asked = read_asked(table, utility=utility, risk=risk, at_most=at_most, at_least=at_least)
    surface = Surface(
        data=table,
        make=lambda point: turned(method, _values(dials, point)),
        sizes=tuple(len(d.values) for d in dials),
        measures=asked.measures,
        scores=asked.scores,
        seed=seed,
        workers=workers,
        store=store,
        budget=budget,
        rounded=rounded,
    )
    search = JointSearch(
        surface, objective=asked.objective, bounds=asked.bounds, figures=asked.figures, draws=replicates
    )
    best = search.run()
    results = surface.results()
    if best is None:
        reason = next(iter(results.rows[0].reasons.values()))
        raise NotApplicable(f"tune: no point tried has its figures ({reason}); give ranges of values that fit")
    row = surface.rows[best]
    chance, missed = half_width(row, asked.objective), search.doubt(best)
    tuning = JointTuning(
        values={d.text: value for d, value in _values(dials, best).items()},
        method=surface.make(best),
        keeps=search.excess(best) == 0,
        error=math.hypot(chance, missed),
        objective=asked.objective,
        bounds=asked.bounds,
        frontier=_frontier(results, asked),
        tables=surface.spent,
        results=results,
    )
    return replace(tuning, sentence=_sentence(tuning, dials, asked.figures))


def _values(dials: tuple[Dial, ...], point: Point) -> dict[Dial, float]:
    return {d: d.values[place] for d, place in zip(dials, point, strict=True)}


def _frontier(results: Results, asked: Asked) -> Frontier | None:
    keys = dict.fromkeys((asked.objective, *asked.bounds))
    risks = [key for key in keys if asked.figures[key].purpose == "risk"]
    utilities = [key for key in keys if asked.figures[key].purpose == "utility"]
    return results.frontier(risk=risks, utility=utilities) if risks and utilities else None


def _sentence(tuning: JointTuning, dials: tuple[Dial, ...], figures: Mapping[str, MeasureAbout]) -> str:
    """Say what was found, how sure it is, and what it took."""
    row, about = tuning.row, figures[tuning.objective]
    most = "lowest" if about.better == "lower" else "highest"
    has = "; ".join(
        f"{figures[key].title} {written(row.means[key], figures[key].unit, row.errors[key])}"
        for key in dict.fromkeys((tuning.objective, *tuning.bounds))
    )
    wide = ", ".join(f"{d.text} from {min(d.values):g} to {max(d.values):g}" for d in dials)
    limit = limits(tuning.bounds, figures)
    if tuning.keeps:
        said = [f"Of {wide} with {limit}, {tuning.method!r} has the {most} {about.title} found ({has})."]
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
