"""Screen 7, Bounds: the largest risk and the least utility that would be signed, stated before results are seen."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato import catalogue
from sfumato.compare.choose import keeps
from sfumato.compare.defaults import rescaled
from sfumato.compare.figures import written as figure
from sfumato.core import Measure
from sfumato.errors import SfumatoError
from sfumato.project.reading import of_population as with_population
from sfumato.project.reading import read_measures, refuse_unknown
from sfumato.risk import KAnonymity, Reidentification
from sfumato.table.microdata import Microdata
from sfumato.utility import ConclusionChanges, IntervalOverlap, Suppressed, TableUtility
from sfumato.utility.models import Model
from sfumato.workbench import bounding
from sfumato.workbench.commands import sweep_call, sweep_words, usual_measures
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import seen_before
from sfumato.workbench.method_forms import share, variable
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen

# Measures that the steward adds: bounds on further ones, and what users do with the file

FAMILIES: Mapping[str, str] = {"linear": "a number", "logistic": "yes or no (0 and 1)", "poisson": "a count"}
JUDGES: Mapping[str, str] = {
    "IntervalOverlap": "estimates and their intervals",
    "ConclusionChanges": "signs and significance",
}
MAX_RECORDS_TO_FIT = 20_000  # records up to which a model is fitted as soon as it is added
MAX_VARIABLES_OF_TABLE = 4


def listed_measures() -> dict[str, list[tuple[str, str]]]:
    """Return the names and titles of all measures, by purpose."""
    found = catalogue.measures()
    return {
        purpose: [(name, cls.about.title) for name, cls in found.items() if cls.about.purpose == purpose]
        for purpose in ("risk", "utility")
    }


def add_bound(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Bound a further measure: values blank of a variable, records alike, single records, or any of the catalogue."""
    draft, data, what = bounding.named(desk, draft), desk.table(draft), form.text("what")
    field = f"{what}.bound"
    if what == "blank":
        measure: Measure = Suppressed(variables=(_variable(form, "blank.variable", data),))
    elif what == "alike":
        measure = KAnonymity(form.whole("alike.k", least=2))
    elif what == "single":
        above = float(share(form.text("single.above"), "single.above"))
        if not above:
            raise Refused("single.above", "a chance above 0 % is needed here, such as 20")
        measure = Reidentification(above=above)
    else:
        field, measure = "any.bound", _any(form, data)
    (measure,) = with_population([measure], draft.population)
    bound = bounding.read_bound(measure, form.text(field), field)
    at_most, at_least = dict(draft.at_most), dict(draft.at_least)
    (at_most if measure.about.lower_is_better else at_least)[repr(measure)] = bound
    words = f"bound: {measure!r} {measure.about.side} {bound:g}"
    return ActionResult(bounding.with_bounds(desk, at_most, at_least), words)


def _any(form: Form, data: Microdata) -> Measure:
    """Return the measure that was written as the command line takes it."""
    said = form.text("any.text")
    if not said:
        raise Refused("any.text", 'write a measure, such as "Suppressed(region)"')
    try:
        found = read_measures([said])
        refuse_unknown(found, data)
    except SfumatoError as error:
        raise Refused("any.text", str(error)) from None
    if len(found) != 1:
        raise Refused("any.text", "one measure is needed here")
    return found[0]


def _variable(form: Form, field: str, data: Microdata) -> str:
    name = variable((form.texts(field) or [""])[-1], data.names)
    if name not in data.schema:
        raise Refused(field, "choose a variable")
    return name


def drop(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a measure out that was added here, and its bound."""
    gone, draft = form.text("measure"), bounding.named(desk, draft)
    at_most = {key: bound for key, bound in draft.at_most.items() if key != gone}
    at_least = {key: bound for key, bound in draft.at_least.items() if key != gone}
    make = bounding.with_bounds(desk, at_most, at_least)
    return ActionResult(
        lambda old: make(old).but(uses=tuple(text for text in old.uses if text != gone)), f"taken out: {gone}"
    )


def add_table(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Add tables that users make: one of all variables ticked, or all of two of them."""
    data = desk.table(draft)
    ticked = [form.texts(name)[-1] for name in form.names() if name.startswith("table.variable.")]
    names = tuple(variable(name, data.names) for name in ticked)
    whole = form.text("table.ways") == "all"
    if len(names) < 2:
        raise Refused("table", "tick two variables or more")
    if whole and len(names) > MAX_VARIABLES_OF_TABLE:
        raise Refused(
            "table", f"one table can have {MAX_VARIABLES_OF_TABLE} variables at most; take all tables of two instead"
        )
    try:
        measure = TableUtility(ways=len(names) if whole else 2, variables=names)
        refuse_unknown([measure], data)
    except SfumatoError as error:
        raise Refused("table", str(error)) from None
    return _used(desk, draft, form, measure, "table")


def add_model(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Add a regression that users fit."""
    data, said = desk.table(draft), form.text("model.formula")
    if not said:
        raise Refused("model.formula", "write a model, such as income ~ age + sex")
    family, judge = form.text("model.family", "linear"), form.text("model.judge", "IntervalOverlap")
    if judge not in JUDGES or family not in FAMILIES:
        raise Refused("model.formula", "choose what is modelled, and what must stay")
    try:
        model = Model(said, family=family)  # type: ignore[arg-type]
        given = said if family == "linear" else model
        measure: Measure = IntervalOverlap(given) if judge == "IntervalOverlap" else ConclusionChanges(given)
        refuse_unknown([measure], data)
        if len(data) <= MAX_RECORDS_TO_FIT:
            measure.evaluate(data, data)
    except SfumatoError as error:
        raise Refused("model.formula", str(error)) from None
    return _used(desk, draft, form, measure, "model")


def _used(desk: Desk, draft: Draft, form: Form, measure: Measure, what: str) -> ActionResult:
    """Add a measure of what users do, with its bound if one was typed."""
    key, field, draft = repr(measure), f"{what}.bound", bounding.named(desk, draft)
    if key in draft.uses:
        raise Refused("table" if what == "table" else "model.formula", "this is in the list already")
    uses, at_most, at_least = (*draft.uses, key), dict(draft.at_most), dict(draft.at_least)
    if form.text(field):
        side = at_most if measure.about.lower_is_better else at_least
        side[key] = bounding.read_bound(measure, form.text(field), field)
    make = bounding.with_bounds(desk, at_most, at_least)
    return ActionResult(lambda old: make(old).but(uses=uses), f"what users do: {key}")


def of_population(draft: Draft, population: float | None) -> Draft:
    """Return the draft for a population of another size; bounds go with the measures, which are named by it."""

    def renamed(bounds: Mapping[str, float]) -> dict[str, float]:
        return {_of_population(text, draft.population, population): bound for text, bound in bounds.items()}

    return draft.but(population=population, at_most=renamed(draft.at_most), at_least=renamed(draft.at_least))


def _of_population(text: str, before: float | None, after: float | None) -> str:
    from dataclasses import replace

    (measure,) = read_measures([text])
    if not hasattr(measure, "population") or measure.population not in (None, before):
        return text
    return repr(replace(measure, population=after))  # type: ignore[call-arg]


# the screen


@dataclass(frozen=True)
class Line:
    """One measure that can be bounded."""

    text: str  # the measure as the command line takes it
    title: str
    meaning: str
    counted: str  # the keys that it counts by
    why: str
    risk: bool
    side: str  # "at most" or "at least"
    unit: str
    value: str  # the bound as it is typed; empty: none
    usual: Mapping[str, str]
    decides: bool
    use: bool  # one of what users do
    own: bool  # asked for here alone, so that it can be taken out
    original: str  # the original's figure
    idle: bool  # whether the original keeps the bound already
    trouble: str  # why it cannot be computed


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the measures with their bounds, what is usual, what users do, and when bounds were stated."""
    data, draft = desk.table(draft), bounding.named(desk, draft)
    measured = desk.is_kept("original", bounding.original_from(desk, draft)) or query.get("show") == "original"
    before = bounding.original(desk, draft) if measured else None
    release = query.get("fill", "")
    shown = _filled_in(desk, draft, release) if release in bounding.RELEASES else draft
    lines = [
        _line(shown, measure, decides, why, before, _keys_of(data, measure))
        for measure, decides, why in _measures(desk, shown)
    ]
    return {
        "lines": lines,
        "measured": measured,
        "releases": bounding.RELEASES,
        "rules": {name: bounding.rules(desk, draft, name) for name in bounding.RELEASES},
        "filled_in": bounding.RELEASES.get(release),
        "seen": seen_before(desk, draft),
        "stated": draft.bounds_stated.replace("T", " ").replace("+00:00", " UTC"),
        "stated_after": not draft.bounds_stated.endswith(bounding.BEFORE),
        "rescaled": rescaled(data),
        "weight": data.schema.weight,
        "records": len(data),
        "names": data.schema.analysed(),
        "keys": data.schema.intruders(),
        "families": FAMILIES,
        "judges": JUDGES,
        "catalogue": listed_measures(),
    }


def _measures(desk: Desk, draft: Draft) -> list[tuple[Measure, bool, str]]:
    """Return the measures that follow from the schema, those of uses, and further ones that are bounded."""
    found = {repr(one.measure): (one.measure, one.decides, one.why) for one in usual_measures(desk, draft)}
    for text in (*draft.uses, *draft.at_most, *draft.at_least):
        for measure in read_measures([text]):
            found.setdefault(repr(measure), (measure, False, ""))
    return list(found.values())


def _keys_of(data: Microdata, measure: Measure) -> str:
    """Name the keys that a measure counts by; nothing where it counts by none."""
    name, own = type(measure).__name__, getattr(measure, "keys", None) or getattr(measure, "variables", None)
    if name not in ("Reidentification", "KAnonymity", "LDiversity", "IndividualRisk"):
        return ""
    if own:
        return f"Counted over {', '.join(map(str, own))}."
    scenarios = data.schema.intruders() if name == "Reidentification" else ()
    each = [f"{one.name or 'who knows all keys'}: {', '.join(one.keys)}" for one in scenarios]
    keys = data.schema.analysed(role="key")
    return f"Counted over {'; '.join(each) or ', '.join(keys)}." if each or keys else ""


def _line(
    draft: Draft,
    measure: Measure,
    decides: bool,  # noqa: FBT001 - of _measures
    why: str,
    before: Any,
    counted: str,
) -> Line:
    text, about = repr(measure), measure.about
    bound = {**draft.at_most, **draft.at_least}.get(text)
    reason = None if before is None else before.reasons.get(text)
    known = before is not None and text in before.means
    return Line(
        text=text,
        title=about.title,
        meaning=bounding.meaning(measure),
        counted=counted,
        why=why,
        risk=about.purpose == "risk",
        side=about.side,
        unit="%" if about.unit in ("share", "percent") else "",
        value="" if bound is None else bounding.typed(bound, about),
        usual=bounding.usual_bounds(measure),
        decides=decides,
        use=text in draft.uses,
        own=not why,
        original=figure(before.means[text], about.unit) if known and about.purpose == "risk" else "",
        idle=known and about.purpose == "risk" and bound is not None and keeps(before, text, bound, about),
        trouble="" if reason is None else reason.why,
    )


def state(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """State the bounds that were typed; an empty field is none."""
    at_most: dict[str, float] = {}
    at_least: dict[str, float] = {}
    stated = bounding.named(desk, draft)
    held = {**stated.at_most, **stated.at_least}
    for name in (name for name in form.names() if name.startswith("measure.")):
        field = name.replace("measure.", "bound.")
        said = form.text(field)
        if not said:
            continue
        (measure,) = read_measures([form.text(name)])
        key, about = repr(measure), measure.about
        same = key in held and said == bounding.typed(held[key], about)
        bound = held[key] if same else bounding.read_bound(measure, said, field)
        (at_most if about.lower_is_better else at_least)[key] = bound
    if not at_most and not at_least:
        raise Refused("", "state one bound at least: without any there is nothing to decide by")
    told = [f"{key} at most {bound:g}" for key, bound in at_most.items()]
    told += [f"{key} at least {bound:g}" for key, bound in at_least.items()]
    said = "The bounds are stated. What they ask of the file is seen once the candidates are run."
    if seen_before(desk, draft):
        said = "The bounds are stated. Explore weighs the candidates under them; run again before you decide."
    return ActionResult(bounding.with_bounds(desk, at_most, at_least), f"bounds: {'; '.join(told)}", said=said)


def typical(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Fill in the bounds that are usual for a release, to be edited and then stated."""
    release = form.text("release")
    if release not in bounding.RELEASES:
        raise Refused("release", "choose who will have the file")
    return ActionResult(goto=f"bounds?fill={release}")


def _filled_in(desk: Desk, draft: Draft, release: str) -> Draft:
    """Return the draft as it were if the bounds that are usual for a release were stated."""
    kept = {key: bound for key, bound in draft.at_most.items() if not _typical_before(key)}
    return draft.but(at_most={**kept, **bounding.typical(desk, draft, release)})


def _typical_before(key: str) -> bool:
    """Tell whether a bound is one that a release fills in, so that another release takes its place."""
    every = {name for release in bounding.RELEASES.values() for name in release.bounds}
    return key in {repr(read_measures([name])[0]) for name in every} or key.startswith("IndividualRisk(population")


def settings(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Say how many draws there are of what is random, and how large the population is."""
    replicates = form.whole("replicates", least=1, most=100)
    population = form.number("population", least=len(desk.table(draft))) if form.text("population") else None
    return ActionResult(
        lambda old: of_population(old.but(replicates=replicates), population),
        f"{replicates} draws" + ("" if population is None else f", a population of {population:,.0f}"),
    )


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say the sweep with these bounds elsewhere."""
    command = shlex.join(["sfumato", *sweep_words(desk, draft)])
    return SameCommand(command, f"import sfumato\n\n{sweep_call(desk, draft)}")


SCREEN = Screen(
    slug="bounds",
    title="Bounds",
    why="A bound that is set after the figures were seen justifies whatever one wanted anyway.",
    practice="fix the largest risk you would sign before anything is run: 5 % found by the worst intruder is usual for "
    "a file under contract, far less for a public one. State too what users must still be able to do.",
    view=view,
    actions={
        "state": state,
        "typical": typical,
        "settings": settings,
        "add_bound": add_bound,
        "drop": drop,
        "add_table": add_table,
        "add_model": add_model,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: bool(draft.at_most or draft.at_least),
    same=same,
)
