"""The choice: most utility with risk at most alpha, or least risk with enough utility, and how sure it is."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sfumato.about import MeasureAbout, Purpose
from sfumato.arguments import entries, is_number, require
from sfumato.compare.figures import listed, written
from sfumato.compare.frontier import complete, require_results
from sfumato.compare.naming import short_names
from sfumato.compare.rows import half_width
from sfumato.display import Preformatted
from sfumato.errors import NotApplicable, ParameterError
from sfumato.outcome import Reason

if TYPE_CHECKING:
    from sfumato.compare.results import Results, Which
    from sfumato.compare.rows import Row
    from sfumato.table.microdata import Microdata


@dataclass(frozen=True)
class Shortfall:
    """How near the candidates come to one bound: the best figure, of those that keep all other bounds if any does."""

    key: str
    limit: float
    nearest: float
    candidate: str
    others_kept: bool  # whether this candidate keeps every other bound
    reached: bool  # whether it keeps this one: then it is another bound that fails


@dataclass(frozen=True, kw_only=True)
class Choice(Preformatted):
    """The candidate chosen, those it had to beat, and a sentence that says how sure the choice is."""

    chosen: str | None  # None: no candidate keeps the bounds
    objective: str  # the key of the measure that was made as good as possible
    bounds: Mapping[str, float]
    feasible: tuple[str, ...] = ()  # whose means keep every bound, best first
    ties: tuple[str, ...] = ()  # feasible, and not to be told apart from the chosen one
    unsure: tuple[str, ...] = ()  # whose 95 % interval holds a bound
    unknown: tuple[str, ...] = ()  # random, and one replicate does not tell how much
    left_out: Mapping[str, Reason] = field(default_factory=dict)
    shortfalls: tuple[Shortfall, ...] = ()  # one for each bound if nothing is chosen
    passed_over: tuple[str, ...] = ()  # feasible, and not wanted for another reason
    idle: tuple[str, ...] = ()  # bounds on risk that the original keeps as it is: they ask for nothing
    best: str | None = None  # that the figures speak for: the chosen one, unless that was chosen by hand
    by_hand: bool = False
    names: Mapping[str, str] = field(default_factory=dict)  # short ones, by candidate
    sentence: str = ""
    results: "Results | None" = field(default=None, repr=False, compare=False)  # what was chosen from

    def protect(self) -> "Microdata":
        """Return the table of the chosen candidate, bit by bit the one that was measured and that a sweep would write.

        It is the first draw, of the seed of the experiment. What a release needs besides (ids left out, records in
        random order, weights raked anew, the audit) is not done here: `sfumato sweep` and `sfumato protect` do it, in
        Python ``sfumato.auditing.repairs.prepare``. A candidate protected elsewhere comes back as it was given.
        """
        if self.chosen is None:
            raise NotApplicable(f"nothing was chosen, so there is no table. {self.sentence}")
        if self.results is None:
            raise NotApplicable("this choice was put together by hand: call protect of the results it came from")
        return self.results.protect(self.chosen)

    @property
    def utility(self) -> str:
        """The key of the measure that was made as good as possible."""
        return self.objective

    def __repr__(self) -> str:
        return f"Choice: {self.sentence}"


def choose(
    results: "Results",
    *,
    utility: "Which | None" = None,
    risk: "Which | None" = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    passed_over: Collection[str] = (),
    by_hand: str | None = None,
) -> Choice:
    """Choose the best mean of one measure, ``utility`` or ``risk``, among the candidates that keep the bounds.

    ``at_most`` bounds measures that are better when lower, ``at_least`` those that are better when higher. A candidate
    keeps a bound if its mean over the replicates does and the table that would be written, the first, too. Candidates
    that are ``passed_over`` are not chosen, for a reason that no figure here tells. Of equal
    candidates the one with the lower figures in the bounded measures is chosen, in the order of the bounds, then the
    first by name. One chosen ``by_hand`` takes the place of the best if it keeps the bounds, and is refused if not.
    """
    require("choose", str | None, "the name of a candidate", by_hand=by_hand)
    passed_over = entries("choose", str, "names of candidates", passed_over=passed_over)
    objective, bounds = wishes(results, "choose", utility=utility, risk=risk, at_most=at_most, at_least=at_least)
    figures = results.figures
    rows, left_out = complete(results.rows, [objective, *bounds])

    def worth(row: "Row") -> tuple[Any, ...]:
        return (*(figures[key].sign * row.means[key] for key in (objective, *bounds)), row.candidate)

    feasible = sorted((row for row in rows if all(keeps(row, k, b, figures[k]) for k, b in bounds.items())), key=worth)
    best = leading = next((row for row in feasible if row.candidate not in passed_over), None)
    if by_hand is not None:
        best = _by_hand(results, by_hand, feasible, left_out, bounds)
    ties = [row for row in feasible if best not in (None, row) and _same(row, best, objective)]
    unsure = [row for row in rows if any(left_open(row, k, b, figures[k]) for k, b in bounds.items())]
    unknown = [row for row in rows if any(math.isnan(row.errors[key]) for key in (objective, *bounds))]
    choice = Choice(
        chosen=None if best is None else best.candidate,
        objective=objective,
        bounds=bounds,
        feasible=_names(feasible),
        ties=_names(ties),
        unsure=_names(unsure),
        unknown=_names(unknown),
        left_out=left_out,
        shortfalls=() if feasible else _shortfalls(rows, bounds, figures),
        passed_over=tuple(row.candidate for row in feasible if row.candidate in passed_over),
        idle=idle_bounds(results, bounds),
        best=None if leading is None else leading.candidate,
        by_hand=by_hand is not None,
    )
    names = short_names({row.candidate: row.method for row in results.rows})
    sentence = _nobody(choice, figures, names) if best is None else _somebody(choice, best, len(rows), figures, names)
    if choice.by_hand and leading is not None:
        sentence = f"{sentence} {_instead(choice, leading, figures, names)}"
    return replace(choice, names=names, sentence=sentence, results=results)


def _by_hand(
    results: "Results",
    candidate: str,
    feasible: list["Row"],
    left_out: Mapping[str, Reason],
    bounds: Mapping[str, float],
) -> "Row":
    """Return the candidate that was chosen by hand; refuse one that is unknown, not measured, or breaks a bound."""
    found = next((row for row in feasible if row.candidate == candidate), None)
    if found is not None:
        return found
    if candidate in left_out:
        raise ParameterError(f"{candidate} cannot be chosen, for it lacks a figure ({left_out[candidate]})")
    if candidate not in {row.candidate for row in results.rows}:
        known = listed(tuple(row.candidate for row in results.rows))
        raise ParameterError(f"there is no candidate {candidate!r} to choose; there are {known}")
    row, broken = results.row(candidate), []
    for key, limit in bounds.items():
        about = results.figures[key]
        if not keeps(row, key, limit, about):
            value = about.sign * _reached(row, key, about)
            over = abs(value - limit)
            off = f"{100 * over:.3g} percentage points" if about.unit == "share" else written(over, about.unit)
            broken.append(
                f"{about.title} is {written(value, about.unit)}, and {about.side} {written(limit, about.unit)} is "
                f"asked for ({off} {'too much' if about.lower_is_better else 'too little'})"
            )
    raise ParameterError(f"{candidate} cannot be chosen, for it breaks a bound: {'; '.join(broken)}")


def _instead(choice: Choice, best: "Row", figures: Mapping[str, MeasureAbout], names: Mapping[str, str]) -> str:
    """Say which candidate would have been taken if none had been chosen by hand."""
    if choice.chosen == best.candidate:
        return "It was chosen by hand, and would have been taken anyway."
    about, key = figures[choice.objective], choice.objective
    has = f"{about.title} {written(best.means[key], about.unit, best.errors[key])}"
    return f"It was chosen by hand; by its figures {names[best.candidate]} would have been taken ({has})."


def wishes(
    results: "Results",
    who: str,
    *,
    utility: "Which | None",
    risk: "Which | None",
    at_most: Mapping[Any, float] | None,
    at_least: Mapping[Any, float] | None,
) -> tuple[str, dict[str, float]]:
    """Check what is wished for; return the key of the measure to make as good as possible, and the bounds by key."""
    require_results(who, results)
    require(who, Mapping | None, "bounds by measure", at_most=at_most, at_least=at_least)
    if (utility is None) == (risk is None):
        raise ParameterError(f"{who}: name one measure to make as good as possible, utility=... or risk=...")
    purpose: Purpose = "risk" if utility is None else "utility"
    key = results.key(risk if utility is None else utility)
    if results.figures[key].purpose != purpose:
        raise ParameterError(f"{who}: {key} is a measure of {results.figures[key].purpose}, not of {purpose}")
    bounds = checked_bounds(results, who, at_most or {}, at_least or {})
    if not bounds:
        raise ParameterError(f"{who}: there is no bound; give for example at_most={{measure: 0.05}}")
    return key, bounds


def checked_bounds(
    results: "Results", who: str, at_most: Mapping[Any, float], at_least: Mapping[Any, float]
) -> dict[str, float]:
    """Return the bounds by the keys of their measures; refuse those that cannot be."""
    return _bounds(results, who, at_most, "lower") | _bounds(results, who, at_least, "higher")


def _bounds(results: "Results", who: str, given: Mapping[Any, float], better: str) -> dict[str, float]:
    word, other = ("at_most", "at_least") if better == "lower" else ("at_least", "at_most")
    bounds: dict[str, float] = {}
    for which, bound in given.items():
        key = results.key(which)
        about = results.figures[key]
        if about.better != better:
            raise ParameterError(f"{who}: {key} is better when {about.better}, so its bound goes into {other}")
        if not is_number(bound):
            raise ParameterError(f"{who}: the bound of {key} in {word} must be a number; got {bound!r}")
        if about.unit == "share" and not 0 <= bound <= 1:
            hint = f" (did you mean {bound / 100:g}?)" if 1 < bound <= 100 else ""
            raise ParameterError(f"{who}: {key} is a share from 0 to 1; its bound cannot be {bound:g}{hint}")
        bounds[key] = float(bound)
    return bounds


def keeps(row: "Row", key: str, bound: float, about: MeasureAbout) -> bool:
    """Tell whether a candidate keeps a bound, in the mean and with the table that would be written, the first.

    An undefined figure (NaN) keeps none.
    """
    return all(about.keeps(value, bound) for value in _counting(row, key))


def left_open(row: "Row", key: str, bound: float, about: MeasureAbout) -> bool:
    """Tell whether the 95 % interval of a figure holds a bound, so that chance may decide whether it is kept.

    A bound that asks for the best there is, such as 0 % found, is broken for sure by the first record that breaks it.
    """
    width = half_width(row, key)
    if row.means[key] != bound and asks_for_all(bound, about):
        return False
    return 0 < width >= abs(row.means[key] - bound)


def asks_for_all(bound: float, about: MeasureAbout) -> bool:
    """Tell whether a bound can be kept only if every record does, so no sample can show it: the end of a range."""
    return bound == about.range[0 if about.lower_is_better else 1]


def _counting(row: "Row", key: str) -> tuple[float, ...]:
    """Return the figures that must keep a bound: the mean, and that of the table that would be written."""
    return (row.means[key], *row.values.get(key, ())[:1])


def _reached(row: "Row", key: str, about: MeasureAbout) -> float:
    """Return the worse of the figures that must keep a bound, as a cost; an undefined one is the worst."""
    costs = [about.sign * value for value in _counting(row, key)]
    return math.nan if any(map(math.isnan, costs)) else max(costs)


def idle_bounds(results: "Results", bounds: Mapping[str, float]) -> tuple[str, ...]:
    """Name the bounds on risk that the original keeps without any protection, if it was measured."""
    before, figures = results.unprotected, results.figures
    if before is None:
        return ()
    return tuple(
        key
        for key, limit in bounds.items()
        if figures[key].purpose == "risk" and key in before.means and keeps(before, key, limit, figures[key])
        if not left_open(before, key, limit, figures[key])
    )


def _shortfalls(
    rows: list["Row"], bounds: Mapping[str, float], figures: Mapping[str, MeasureAbout]
) -> tuple[Shortfall, ...]:
    """Say for each bound how near the candidates come to it, those first that keep all the others."""
    found = []
    for key, limit in bounds.items():
        about = figures[key]
        fit = [row for row in rows if all(keeps(row, k, b, figures[k]) for k, b in bounds.items() if k != key)]
        best = min(fit or rows, key=lambda row: _rank(_reached(row, key, about), row.candidate), default=None)
        if best is not None:
            reached = _reached(best, key, about)
            found.append(
                Shortfall(key, limit, about.sign * reached, best.candidate, bool(fit), keeps(best, key, limit, about))
            )
    return tuple(found)


def _rank(reached: float, candidate: str) -> tuple[bool, float, str]:
    """Order by cost, undefined ones last."""
    return math.isnan(reached), 0.0 if math.isnan(reached) else reached, candidate


def _same(row: "Row", best: "Row", key: str) -> bool:
    """Tell whether two means differ by no more than chance may do; an unknown spread counts as none."""
    chance = math.hypot(half_width(row, key), half_width(best, key))
    return row.means[key] == best.means[key] or abs(row.means[key] - best.means[key]) <= chance


def _names(rows: list["Row"]) -> tuple[str, ...]:
    return tuple(row.candidate for row in rows)


def limits(bounds: Mapping[str, float], figures: Mapping[str, MeasureAbout]) -> str:
    """Write bounds as a sentence names them."""
    return " and ".join(
        f"{figures[key].title} {figures[key].side} {written(bound, figures[key].unit)}" for key, bound in bounds.items()
    )


def reached(row: "Row", keys: Iterable[str], figures: Mapping[str, MeasureAbout]) -> str:
    """Write the figures of a candidate as a sentence names them."""
    return "; ".join(
        f"{figures[key].title} {written(row.means[key], figures[key].unit, row.errors[key])}"
        for key in dict.fromkeys(keys)
    )


def _somebody(
    choice: Choice, best: "Row", total: int, figures: Mapping[str, MeasureAbout], names: Mapping[str, str]
) -> str:
    """Say what was chosen, why, and how sure that is."""
    about = figures[choice.objective]
    has = reached(best, (choice.objective, *choice.bounds), figures)
    count = len(choice.feasible)
    judged = f"{total} candidate{'s' if total != 1 else ''}{' that could be judged' if choice.left_out else ''}"
    among = f"the {count} of {judged}" if count > 1 else f"the only one of {judged}"
    lead = f"has the {about.best} {about.title} of" if count > 1 else "is"
    if choice.by_hand and count > 1:
        lead = "is one of"
    said = [f"{names[best.candidate]} {lead} {among} with {limits(choice.bounds, figures)} ({has})."]
    if choice.passed_over:
        said.append(
            "Passed over, because the rest of the file would give values back, or repairs would take more of them: "
            f"{_called(choice.passed_over, names)}."
        )
    if choice.ties:
        said.append(f"It cannot be told apart from {_called(choice.ties, names)}, by standard errors.")
    if best.candidate in choice.unsure:
        said.append("The 95 % interval of its figure holds the bound: whether it keeps it is not sure.")
        if any(k in best.sampling and asks_for_all(b, figures[k]) for k, b in choice.bounds.items()):
            said.append("A bound that no record may break is sure only where all records were looked for.")
    others = tuple(name for name in choice.unsure if name not in choice.feasible)
    if others:
        said.append(f"So near the bound that they may keep it as well: {_called(others, names)}.")
    if best.candidate in choice.unknown:
        said.append("It is random and was drawn once, so its spread is unknown: run several replicates to be sure.")
    elif choice.unknown:
        said.append("Some of the others were drawn once, so their spread is unknown.")
    if choice.left_out:
        said.append(f"Left out for lack of a figure: {_called(tuple(choice.left_out), names)} ({_why(choice)}).")
    return " ".join(said)


def _why(choice: Choice) -> str:
    """Say why the first candidate left out has no figure."""
    reason = next(iter(choice.left_out.values()))
    return f"{reason.needs}: {reason.status}: {reason.why}"


def _called(candidates: tuple[str, ...], names: Mapping[str, str]) -> str:
    return listed(tuple(names[candidate] for candidate in candidates))


def _nobody(choice: Choice, figures: Mapping[str, MeasureAbout], names: Mapping[str, str]) -> str:
    """Say that no candidate keeps the bounds, and which comes nearest to each."""
    if not choice.shortfalls:
        return f"No candidate has the figures to choose by ({_why(choice)})."
    said = [f"No candidate has {limits(choice.bounds, figures)}."]
    for short in choice.shortfalls:
        about = figures[short.key]
        others = " of those that keep the other bounds" if short.others_kept and len(choice.bounds) > 1 else ""
        said.append(
            f"The {about.best} {about.title}{others} is {written(short.nearest, about.unit)}, "
            f"of {names[short.candidate]}."
        )
    if choice.unsure:
        said.append(f"So near a bound that chance may decide: {_called(choice.unsure, names)}.")
    return " ".join(said)
