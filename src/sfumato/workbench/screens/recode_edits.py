"""Changes of what becomes of the variables: groups, cuts, classes, open ends, hierarchies."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.compare.recodings import Recodings
from sfumato.data.dates import day_of, spelled
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.hierarchy_file import read_hierarchy
from sfumato.data.schema import Variable
from sfumato.errors import SfumatoError
from sfumato.show.wording import number
from sfumato.workbench.commands import recodings_of
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.living import live_of
from sfumato.workbench.screens.recode_shown import group_names, proposal, told
from sfumato.workbench.screens.screen import Done, Form, Refused, place_of
from sfumato.workbench.uploads import inside

LONGEST = 200  # characters of a group's name
MOST_CUTS = 200


def merge(desk: Desk, draft: Draft, form: Form) -> Done:
    """Put the ticked categories and groups together under a name."""
    variable, recodings = _asked(desk, draft, form, quantity=False), recodings_of(draft)
    names = group_names(variable, recodings[variable.name])
    ticked = [names[place] for place in _places(form.texts("groups"), len(names))]
    into = form.text("into")
    if not ticked or (len(ticked) < 2 and not into):
        raise Refused("into", "tick two or more categories to put together, or one to give it another name")
    if len(into) > LONGEST:
        raise Refused("into", f"a name of at most {LONGEST} characters, please")
    into = into or _joined(variable, ticked)
    if into in names and into not in ticked:
        raise Refused("into", f"there is {into} already; tick it too, or give the group another name")
    return _kept(desk, draft, variable, "into", lambda: recodings.merged(variable, ticked, into))


def split(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a group apart again."""
    variable, recodings = _asked(desk, draft, form, quantity=False), recodings_of(draft)
    names = group_names(variable, recodings[variable.name])
    places = _places(form.texts("group"), len(names))
    if not places:
        raise Refused("into", "there is no such group any more")
    return _kept(desk, draft, variable, "into", lambda: recodings.split(variable.name, names[places[0]]))


def rare(desk: Desk, draft: Draft, form: Form) -> Done:
    """Put all categories that are rare into one."""
    variable, share = _asked(desk, draft, form, quantity=False), form.number("rare", least=0, most=100) / 100
    if not share:
        raise Refused("rare", "say below which share of the records a category is rare, such as 2 %")
    return _kept(desk, draft, variable, "rare", lambda: recodings_of(draft).with_rare(variable.name, share))


def cuts(desk: Desk, draft: Draft, form: Form) -> Done:
    """Cut a number or a date at the points that are typed; at none, leave it as it is."""
    variable = _asked(desk, draft, form, quantity=True)
    points = _points(variable, form.text("cuts"))
    low, high = _span(desk, draft, variable)
    if points and not any(low < _at(point) <= high for point in points):
        ends = _told_span(variable, low, high)
        raise Refused("cuts", f"all values would be in one class: {variable.name} runs {ends}, so cut between these")
    return _kept(desk, draft, variable, "cuts", lambda: recodings_of(draft).with_cuts(variable.name, points))


def width(desk: Desk, draft: Draft, form: Form) -> Done:
    """Put a number into classes of one width, or a date into spans of the calendar."""
    variable = _asked(desk, draft, form, quantity=True)
    said: Any = form.text("width") if variable.kind == "date" else _whole(form.number("width"))
    if not said or (variable.kind != "date" and said <= 0):
        raise Refused("width", "say how wide each class is, such as 5 or 10")
    low, high = _span(desk, draft, variable)
    if variable.kind != "date" and low < high and low // said == high // said:
        ends = _told_span(variable, low, high)
        raise Refused("width", f"all values would be in one class: {variable.name} runs {ends}; take a smaller width")
    return _kept(desk, draft, variable, "width", lambda: recodings_of(draft).with_width(variable.name, said))


def limits(desk: Desk, draft: Draft, form: Form) -> Done:
    """Replace what lies beyond limits by them: at stated values, or at a share of the records."""
    variable, recodings = _asked(desk, draft, form, quantity=True), recodings_of(draft)
    bottom, top, share = (form.text(word) for word in ("bottom", "top", "share"))
    if share and (bottom or top):
        raise Refused("share", "give values, or a share of the records: not both")
    if not (share or bottom or top):
        raise Refused("top", "give a lowest value, a highest value, or a share of the records at the ends")
    if share:
        part = form.number("share", least=0, most=50) / 100
        if not 0 < part < 0.5:
            raise Refused("share", f"the share at an end must be above 0 % and below 50 %; got {share} %")
        ends: Any = form.text("ends", "both")
        return _kept(
            desk, draft, variable, "share", lambda: recodings.with_limits(variable.name, share=part, ends=ends)
        )
    ends_said = {word: _value(variable, text, word) for word, text in (("bottom", bottom), ("top", top)) if text}
    low, high = _span(desk, draft, variable)
    for word, said in ends_said.items():
        if _at(said) > high if word == "bottom" else _at(said) < low:
            ends = _told_span(variable, low, high)
            raise Refused(word, f"every value would become {said}: {variable.name} runs {ends}")
    return _kept(desk, draft, variable, "top", lambda: recodings.with_limits(variable.name, **ends_said))


def level(desk: Desk, draft: Draft, form: Form) -> Done:
    """Put a variable at a level of its hierarchy."""
    variable = _asked(desk, draft, form)
    chosen = form.whole("level", least=0, most=1000)
    return _kept(desk, draft, variable, "level", lambda: recodings_of(draft).with_level(variable.name, chosen))


def attach(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take the hierarchy of a variable from a file of the folder, and its first level."""
    variable, name = _asked(desk, draft, form), form.text("name")
    if not name:
        raise Refused("name", "choose a file of the folder that says what each value is part of")
    try:
        hierarchy = read_hierarchy(inside(desk.folder, name))
    except SfumatoError as error:
        raise Refused("name", str(error).replace(f"{desk.folder}/", "")) from None
    return _hierarchy(desk, draft, variable, hierarchy, f"hierarchy of {variable.name} from {name}")


def build(desk: Desk, draft: Draft, form: Form) -> Done:
    """Make the hierarchy that suits a variable, and take its first level."""
    variable = _asked(desk, draft, form)
    found = proposal(desk, draft, variable.name)
    if found is None:
        raise Refused("name", f"{variable.title} has too few values for a hierarchy; put them together by hand")
    return _hierarchy(
        desk, draft, variable, found.build(desk.table(draft)), f"hierarchy of {variable.name} by {found.way}"
    )


def detach(desk: Desk, draft: Draft, form: Form) -> Done:
    """Forget the hierarchy of a variable."""
    variable, recodings = _asked(desk, draft, form), recodings_of(draft)
    said = recodings[variable.name]
    left = recodings.without(variable.name) if said is not None and said.way == "level" else recodings
    stated = desk.stated(draft)
    text = desk.restated(stated.replace(replace(stated[variable.name], hierarchy=None)))
    changes = {"schema": text, "recodings": written(left)}
    return Done(lambda old: old.but(**changes), f"forgot the hierarchy of {variable.name}")


def leave(desk: Desk, draft: Draft, form: Form) -> Done:
    """Leave a variable as it is."""
    variable = _asked(desk, draft, form)
    text = written(recodings_of(draft).without(variable.name))
    return Done(lambda old: old.but(recodings=text), f"{variable.name} stays as it is")


def written(recodings: Recodings) -> str:
    """Write recodings as a draft holds them."""
    return json.dumps(recodings.plain(), ensure_ascii=False) if recodings else ""


def _asked(desk: Desk, draft: Draft, form: Form, *, quantity: bool | None = None) -> Variable:
    """Return the variable that a form is about: a quantity, or one of categories, where only that has such a form."""
    schema = desk.table(draft).schema
    place = form.whole("variable", least=0, most=len(schema) - 1)
    variable = schema.variables[place]
    if variable.name not in schema.analysed():
        raise Refused("", f"{variable.name} is an id, a weight, a household or an identifier: it is not recoded")
    if quantity is not None and variable.quantitative is not quantity:
        has = "a number or a date" if variable.quantitative else "a variable of categories"
        raise Refused("", f"{variable.name} is now {has}, so that this cannot be done to it; here it is as it is")
    return variable


def _kept(desk: Desk, draft: Draft, variable: Variable, field: str, make: Callable[[], Recodings]) -> Done:
    """Take over recodings after seeing that what they say of a variable fits the table."""
    try:
        recodings = make()
    except Refused:
        raise
    except SfumatoError as error:
        raise Refused(field, str(error)) from None
    refused = live_of(desk, draft).fitting(recodings.of_variables((variable.name,)))[1]
    if variable.name in refused:
        raise Refused(field, refused[variable.name])
    said = recodings[variable.name]
    text = written(recodings)
    what = f"{variable.name}: {told(said) if said is not None else 'as it is'}"
    return Done(lambda old: old.but(recodings=text), what)


def _hierarchy(desk: Desk, draft: Draft, variable: Variable, hierarchy: Hierarchy, what: str) -> Done:
    """Say in the schema what the values of a variable are part of, and recode it to the first level."""
    try:
        hierarchy.at(variable, desk.table(draft).columns[variable.name], 1)
    except SfumatoError as error:
        raise Refused("name", str(error)) from None
    stated = desk.stated(draft)
    if variable.name in stated:
        schema = stated.replace(replace(stated[variable.name], hierarchy=hierarchy))
    else:
        schema = replace(stated, variables=(*stated.variables, replace(variable, hierarchy=hierarchy)))
    changes = {
        "schema": desk.restated(schema),
        "recodings": written(recodings_of(draft).with_level(variable.name, 1)),
    }
    return Done(lambda old: old.but(**changes), f"{what}; level 1")


def _joined(variable: Variable, names: list[str]) -> str:
    """Name a group by what is in it.

    >>> _joined(Variable("a", "nominal", categories=("x", "y", "z")), ["x", "z"])
    'x or z'
    """
    words = {str(category): variable.spelled(category) for category in variable.categories}
    said = [words.get(name, name) for name in names]
    if variable.kind == "ordinal":
        return f"{said[0]} to {said[-1]}"[:LONGEST]
    whole = " or ".join(said)
    return whole if len(whole) <= 60 else f"{said[0]} or {len(said) - 1} others"[:LONGEST]


def _places(texts: list[str], number: int) -> list[int]:
    return sorted({place for place in map(place_of, texts) if place is not None and place < number})


def _points(variable: Variable, text: str) -> list[Any]:
    """Read cut points, parted by commas, semicolons or blanks."""
    parts = [part for part in re.split(r"[,;\s]+", text) if part]
    if len(parts) > MOST_CUTS:
        raise Refused("cuts", f"at most {MOST_CUTS} cuts, please; take classes of one width instead")
    values = {_value(variable, part, "cuts") for part in parts}
    return sorted(values, key=lambda value: day_of(value) if variable.kind == "date" else value)  # type: ignore[arg-type, return-value]


def _span(desk: Desk, draft: Draft, variable: Variable) -> tuple[float, float]:
    """Return the least and the greatest value; of dates, as days."""
    column = desk.table(draft).columns[variable.name]
    present = column[~np.isnan(column)]
    return (float(present.min()), float(present.max())) if present.size else (-math.inf, math.inf)


def _at(value: Any) -> float:
    """Return where a value lies on the axis of its variable."""
    day = day_of(value) if isinstance(value, str) else value
    return math.nan if day is None else float(day)


def _told_span(variable: Variable, low: float, high: float) -> str:
    """Say from where to where a variable runs."""
    say = spelled if variable.kind == "date" else number
    return f"from {say(low)} to {say(high)}"


def _value(variable: Variable, text: str, field: str) -> Any:
    """Read a value of a variable: a date as its ISO text, or a number."""
    if variable.kind == "date":
        if day_of(text) is None:
            raise Refused(field, f"write dates as year-month-day, such as 1990-12-31; got {text!r}")
        return text
    try:
        value = float(text)
    except ValueError:
        raise Refused(
            field, f"numbers are needed here, with a point for decimals, such as 18, 25, 65; got {text!r}"
        ) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise Refused(field, f"numbers are needed here; got {text!r}")
    return _whole(value)


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) and abs(value) < 2**53 else value


ACTIONS: Mapping[str, Callable[[Desk, Draft, Form], Done]] = {
    "merge": merge,
    "split": split,
    "rare": rare,
    "cuts": cuts,
    "width": width,
    "limits": limits,
    "level": level,
    "attach": attach,
    "build": build,
    "detach": detach,
    "leave": leave,
}
