"""Measures that the steward adds: bounds on further ones, and what users do with the file."""

from collections.abc import Mapping

from sfumato import catalogue
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.errors import SfumatoError
from sfumato.project.reading import of_population as with_population
from sfumato.project.reading import read_measures, refuse_unknown
from sfumato.risk import KAnonymity, Reidentification
from sfumato.utility import ConclusionChanges, IntervalOverlap, Suppressed, TableUtility
from sfumato.utility.models import Model
from sfumato.workbench import bounding
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Done, Form, Refused
from sfumato.workbench.suppression_form import share
from sfumato.workbench.typed_values import variable

FAMILIES: Mapping[str, str] = {"linear": "a number", "logistic": "yes or no (0 and 1)", "poisson": "a count"}
JUDGES: Mapping[str, str] = {
    "IntervalOverlap": "estimates and their intervals",
    "ConclusionChanges": "signs and significance",
}
TRIED = 20_000  # records up to which a model is fitted as soon as it is added
MOST_IN_A_TABLE = 4


def listed_measures() -> dict[str, list[tuple[str, str]]]:
    """Return the names and titles of all measures, by purpose."""
    found = catalogue.measures()
    return {
        purpose: [(name, cls.about.title) for name, cls in found.items() if cls.about.purpose == purpose]
        for purpose in ("risk", "utility")
    }


def add_bound(desk: Desk, draft: Draft, form: Form) -> Done:
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
    higher = measure.about.better == "higher"
    at_most = {**draft.at_most, **({} if higher else {repr(measure): bound})}
    at_least = {**draft.at_least, **({repr(measure): bound} if higher else {})}
    side = "at least" if higher else "at most"
    return Done(bounding.with_bounds(desk, at_most, at_least), f"bound: {measure!r} {side} {bound:g}")


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


def drop(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a measure out that was added here, and its bound."""
    gone, draft = form.text("measure"), bounding.named(desk, draft)
    at_most = {key: bound for key, bound in draft.at_most.items() if key != gone}
    at_least = {key: bound for key, bound in draft.at_least.items() if key != gone}
    make = bounding.with_bounds(desk, at_most, at_least)
    return Done(lambda old: make(old).but(uses=tuple(text for text in old.uses if text != gone)), f"taken out: {gone}")


def add_table(desk: Desk, draft: Draft, form: Form) -> Done:
    """Add tables that users make: one of all variables ticked, or all of two of them."""
    data = desk.table(draft)
    ticked = [form.texts(name)[-1] for name in form.names() if name.startswith("table.variable.")]
    names = tuple(variable(name, data.names) for name in ticked)
    whole = form.text("table.ways") == "all"
    if len(names) < 2:
        raise Refused("table", "tick two variables or more")
    if whole and len(names) > MOST_IN_A_TABLE:
        raise Refused(
            "table", f"one table can have {MOST_IN_A_TABLE} variables at most; take all tables of two instead"
        )
    try:
        measure = TableUtility(ways=len(names) if whole else 2, variables=names)
        refuse_unknown([measure], data)
    except SfumatoError as error:
        raise Refused("table", str(error)) from None
    return _used(desk, draft, form, measure, "table")


def add_model(desk: Desk, draft: Draft, form: Form) -> Done:
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
        if len(data) <= TRIED:
            measure.evaluate(data, data)
    except SfumatoError as error:
        raise Refused("model.formula", str(error)) from None
    return _used(desk, draft, form, measure, "model")


def _used(desk: Desk, draft: Draft, form: Form, measure: Measure, what: str) -> Done:
    """Add a measure of what users do, with its bound if one was typed."""
    key, field, draft = repr(measure), f"{what}.bound", bounding.named(desk, draft)
    if key in draft.uses:
        raise Refused("table" if what == "table" else "model.formula", "this is in the list already")
    uses, at_most, at_least = (*draft.uses, key), dict(draft.at_most), dict(draft.at_least)
    if form.text(field):
        side = at_least if measure.about.better == "higher" else at_most
        side[key] = bounding.read_bound(measure, form.text(field), field)
    make = bounding.with_bounds(desk, at_most, at_least)
    return Done(lambda old: make(old).but(uses=uses), f"what users do: {key}")


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
