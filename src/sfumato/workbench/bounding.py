"""Bounds on measures: how they are typed, what is usual, when they were stated, and what the original keeps already."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sfumato.about import MeasureAbout
from sfumato.errors import SfumatoError
from sfumato.project.plan import check_bounds
from sfumato.project.reading import read_bounds, read_measures, share_in
from sfumato.workbench.commands import judging, of_table, usual_measures
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import seen_before
from sfumato.workbench.method_forms import percent
from sfumato.workbench.screens.screen import Refused

if TYPE_CHECKING:
    from sfumato.compare.rows import Row
    from sfumato.core import Measure

BEFORE, AFTER = "before results were seen", "after results were seen"


@dataclass(frozen=True)
class Release:
    """Who will have the file, and the rules that are usual then: each in words, with the measure and its bound."""

    title: str
    sentence: str
    rules: tuple[tuple[str, str, float], ...]

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bounds by measure; what a table has no use for is left out."""
        return {measure: bound for _, measure, bound in self.rules}


@dataclass(frozen=True)
class Rule:
    """A rule of a release: what it asks, and why it cannot be asked of this table, if so."""

    words: str
    not_here: str = ""


# the figures that stewards use
RELEASES: Mapping[str, Release] = {
    "public": Release(
        "A public file",
        "Anybody may have it, and nobody can call it back.",
        (
            ("at most 1 % found by the worst intruder", "Reidentification", 0.01),
            ("at most 1 % found by the nearest record", "DistanceLinkage", 0.01),
            ("nobody with a chance above one in five", "Reidentification(above=0.2)", 0.0),
            ("five records alike in all keys", "KAnonymity(k=5)", 0.0),
            ("0.1 % found in expectation, by a register of the whole population", "IndividualRisk", 0.001),
            ("no extreme amount as it was", "ExposedAmounts", 0.0),
            ("under 5 % of the values blank", "Suppressed", 0.05),
        ),
    ),
    "scientific": Release(
        "A scientific file under contract",
        "Researchers have signed not to look for anybody.",
        (
            ("at most 5 % found by the worst intruder", "Reidentification", 0.05),
            ("at most 5 % found by the nearest record", "DistanceLinkage", 0.05),
            ("nobody with a chance above one in three", "Reidentification(above=0.34)", 0.0),
            ("three records alike in all keys", "KAnonymity", 0.0),
            ("1 % found in expectation, by a register of the whole population", "IndividualRisk", 0.01),
            ("under 5 % of the values blank", "Suppressed", 0.05),
        ),
    ),
    "centre": Release(
        "A data centre",
        "The file stays inside and what leaves is checked: a wide bound keeps the most for research.",
        (
            ("at most 20 % found by the worst intruder", "Reidentification", 0.2),
            ("at most 20 % found by the nearest record", "DistanceLinkage", 0.2),
            ("5 % found in expectation, by a register of the whole population", "IndividualRisk", 0.05),
            ("under 5 % of the values blank", "Suppressed", 0.05),
        ),
    ),
}
MEANINGS: Mapping[str, str] = {
    "Reidentification": "The share of records that the intruder with the most to gain finds again.",
    "DistanceLinkage": "The share of records found by somebody who knows true values and takes the nearest record.",
    "IndividualRisk": "The share of records found by somebody with a register of the whole population, in expectation.",
    "KAnonymity": "The share of records that fewer than k share all keys with; 0 means that nobody stands out.",
    "LDiversity": "The share of records in groups of equal keys that all have the same confidential value.",
    "RankInterval": "How near published numbers are to the true ones; unrelated numbers have about 11 %.",
    "ExposedAmounts": "The share of extreme amounts that are published as they were.",
    "GlobalDataUtility": "How far every variable and every pair can still be relied on; 100 % is the file as it was.",
    "Suppressed": "The share of values that are blank now, in the mean over the variables.",
    "InformationLoss": "How much values, means and covariances moved; a few percent is light, 20 and more is heavy.",
    "TableUtility": "How far the cells of tables lie apart; 1 is what chance gives, below 3 is good, above 10 is bad.",
    "IntervalOverlap": "How far confidence intervals overlap; 0.95 is the best, 0.74 as good as another survey.",
    "ConclusionChanges": "The share of coefficients of which a reader would conclude something else.",
}


def named(desk: Desk, draft: Draft) -> Draft:
    """Return the draft with its bounds under the names of single measures, as they are bounded on the page.

    A class alone, as the command line may say it, is the measure of that class which fits the table, or its usual one.
    """
    usual = _by_class(desk, draft)
    sides = {
        side: {usual.get(name) or repr(read_measures([name])[0]): bound for name, bound in getattr(draft, side).items()}
        for side in ("at_most", "at_least")
    }
    return draft.but(**sides)


def _by_class(desk: Desk, draft: Draft) -> dict[str, str]:
    """Name the usual measures by their class; of several of one class the first, which the others go beside."""
    return {type(one.measure).__name__: repr(one.measure) for one in reversed(usual_measures(desk, draft))}


def meaning(measure: "Measure") -> str:
    """Say in one sentence what a measure's figure is."""
    known = MEANINGS.get(type(measure).__name__)
    return known or f"{measure.about.reading.replace('``', '').partition('. ')[0].rstrip('.')}."


def typical(desk: Desk, draft: Draft, release: str) -> dict[str, float]:
    """Return the bounds that are usual for a release, by the measures that fit this table."""
    usual = _by_class(desk, draft)
    bounds = RELEASES[release].bounds
    return {usual.get(name, name): bound for name, bound in bounds.items() if name.partition("(")[0] in usual}


def rules(desk: Desk, draft: Draft, release: str) -> list[Rule]:
    """Return the rules of a release, each with the reason why this table's figures cannot be held to it."""
    usual, schema = _by_class(desk, draft), desk.table(draft).schema
    found = []
    for words, measure, _ in RELEASES[release].rules:
        name = measure.partition("(")[0]
        if name in usual:
            found.append(Rule(words))
        elif name == "DistanceLinkage" or (name == "Reidentification" and "DistanceLinkage" in usual):
            continue  # the one is measured where keys are named, the other where none is
        elif name == "KAnonymity" and schema.scenarios:
            own = ", ".join(f"{one.name} {one.k}" for one in schema.scenarios)
            found.append(Rule(words, f"each of your intruders has a k of its own, which is set on Scenarios: {own}"))
        elif name == "IndividualRisk" and schema.scenarios:
            found.append(Rule(words, "your intruders are asked one by one, by the rules above"))
        elif name == "ExposedAmounts":
            found.append(Rule(words, "no variable is an amount that may be extreme"))
        else:
            found.append(Rule(words, "there are no keys that records can be counted over, or no weights that fit"))
    return found


def usual_bounds(measure: "Measure") -> dict[str, str]:
    """Return what is usual for a measure, by release, as it is written."""
    given = {name: None for name in ("variables", "population") if hasattr(measure, name)}
    plain = repr(replace(measure, **given))
    return {
        release.title: written(bound, measure.about)
        for release in RELEASES.values()
        for name, bound in release.bounds.items()
        if repr(read_measures([name])[0]) == plain
    }


def written(bound: float, about: MeasureAbout) -> str:
    """Write a bound with its unit."""
    return f"{typed(bound, about)}{' %' if about.unit in ('share', 'percent') else ''}"


def typed(bound: float, about: MeasureAbout) -> str:
    """Write a bound as it stands in its field: shares in percent, such that the command line reads the same."""
    if about.unit != "share":
        return f"{bound:.15g}"
    short = f"{100 * bound:.12g}"
    return short if share_in(short) == bound else percent(bound)


def read_bound(measure: "Measure", said: str, field: str) -> float:
    """Read what was typed, as the command line reads it; refuse what the measure cannot reach."""
    about, text = measure.about, said.replace("%", "").strip()
    text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    option = f"--{about.side.replace(' ', '-')}"
    try:
        (bound,) = read_bounds(option, [f"{measure!r}={text}{'%' if about.unit == 'share' else ''}"]).values()
    except SfumatoError:
        raise Refused(field, f"a number is needed here, such as 5; got {said!r}") from None
    sides = ({repr(measure): bound}, {}) if about.lower_is_better else ({}, {repr(measure): bound})
    try:
        check_bounds([measure], *sides)
    except SfumatoError:
        raise Refused(field, f"a percentage from 0 to 100 is needed here; got {said}") from None
    low, high = about.range
    if not low <= bound <= high:
        span = f"from {written(low, about)}" + (f" to {written(high, about)}" if high < float("inf") else "")
        raise Refused(field, f"this figure runs {span}; got {said}")
    return bound


def with_bounds(desk: Desk, at_most: Mapping[str, float], at_least: Mapping[str, float]) -> Callable[[Draft], Draft]:
    """Return the change that states these bounds, and notes when: before or after results were seen."""

    def make(old: Draft) -> Draft:
        if (dict(old.at_most), dict(old.at_least)) == (dict(at_most), dict(at_least)):
            return old
        return old.but(
            at_most=dict(at_most), at_least=dict(at_least), bounds_stated=stated(old, seen=seen_before(desk, old))
        )

    return make


def stated(old: Draft, *, seen: bool) -> str:
    """Return when the bounds were stated first and, if they were changed after results were seen, when last."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if not old.bounds_stated:
        return f"{now} {AFTER if seen else BEFORE}"
    first = old.bounds_stated.partition("; ")[0]
    return f"{first}; changed {now} {AFTER}" if seen else first


def original_asked(desk: Desk, draft: Draft) -> "list[Measure]":
    """Return the measures of which the original's figure says something: of risk, and of what users do."""
    uses = {repr(measure) for measure in read_measures(draft.uses)}
    return [one for one in judging(desk, draft) if one.about.purpose == "risk" or repr(one) in uses]


def original_from(desk: Desk, draft: Draft) -> str:
    """Name all that the original's figures depend on."""
    return f"{of_table(desk, draft)} {list(map(repr, original_asked(desk, draft)))}"


def original(desk: Desk, draft: Draft) -> "Row":
    """Measure the original as if it were released unprotected; a sweep finds the figures in the store."""
    return desk.kept("original", original_from(desk, draft), lambda: _original(desk, draft))


def _original(desk: Desk, draft: Draft) -> "Row":
    from sfumato.compare.experiment import Experiment
    from sfumato.project.folder import remembered_seed
    from sfumato.project.options import unheard
    from sfumato.project.record import STORE

    data = desk.table(draft)
    experiment = Experiment(
        data,
        measures=original_asked(desk, draft),
        candidates={"the original": data},
        seed=remembered_seed(desk.folder, None, unheard),
    )
    return experiment.measure_original(store=desk.folder / STORE)
