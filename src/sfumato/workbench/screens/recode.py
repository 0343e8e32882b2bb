"""Screen 5, Recode: coarser values, and what they do to risk and to detail, at once."""

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.compare.exposure import Counts
from sfumato.compare.live import Effect, Live
from sfumato.compare.recodings import Recode, Recodings
from sfumato.errors import SfumatoError
from sfumato.report.wording import number
from sfumato.table.bands import round_below
from sfumato.table.dates import day_of, spelled
from sfumato.table.describe import Thumbnail, thumbnail
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.hierarchy_file import KNOWN, read_hierarchy
from sfumato.table.hierarchy_proposal import Proposal, dated, propose
from sfumato.table.schema import Schema, Variable
from sfumato.workbench.commands import read_call, recoded_first, recodings_of, sweep_words
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of
from sfumato.workbench.screens.variables import Bars, bars_of, drawn
from sfumato.workbench.tries import live_of, still_known
from sfumato.workbench.uploads import RESERVED_NAMES, inside

# What the screen of recodings shows: the variables to choose from, one of them to work on, and what it does

BARS = 60  # of the histogram that is cut
WIDTH, HEIGHT = 600, 150  # of it, in its own units
TAIL = 0.005  # of the records at each end that are not drawn where they would squeeze the others
STEPS = 200  # of an arrow key across the histogram
SPANS = ("month", "quarter", "year", "5 years", "10 years")


@dataclass(frozen=True)
class Line:
    """One variable of the list."""

    place: int
    variable: Variable
    bars: Bars
    known: bool  # whether an intruder knows it
    said: str  # what becomes of it; nothing: it stays as it is
    refused: str  # why that does not fit the table
    saves: int | None  # records that would no longer be below k if nobody knew it; None: not counted


@dataclass(frozen=True)
class Group:
    """Categories that go together, or one alone."""

    place: int
    name: str
    members: tuple[str, ...]  # if there are several
    records: int
    width: float  # of its bar, of 100 for the most frequent


@dataclass(frozen=True)
class Histogram:
    """A number or a date to be cut: bars as the path of an SVG, and the ends of its scale."""

    bars: str
    least: float
    greatest: float
    step: float
    date: bool
    shown: tuple[str, str]  # the ends in words
    beyond: int  # records that are not drawn


@dataclass(frozen=True)
class Result:
    """How a variable would be published: a name and a count for each class, or the bars of a number."""

    classes: tuple[Group, ...]
    bars: Bars | None
    others: int
    missing: int


@dataclass(frozen=True)
class Risk:
    """One figure of one intruder before and after."""

    name: str
    words: str
    before: float
    after: float


@dataclass(frozen=True)
class Step:
    """A level of a hierarchy, to choose from."""

    level: int
    words: str


def lines(desk: Desk, draft: Draft, recodings: Recodings, live: Live, effect: Effect, saves: Any) -> list[Line]:
    """Return the variables that may be recoded: those that intruders know first, then the others."""
    schema = desk.table(draft).schema
    known = {key for intruder in schema.intruders() for key in intruder.keys}
    usable = set(schema.analysed()) - set(draft.removed)
    small = small_bars(desk, draft)
    made = []
    for place, variable in enumerate(schema):
        name = variable.name
        if name in usable:
            recode, refused = recodings[name], effect.refused.get(name, "")
            after = live.thumbnail(name, recodings) if recode is not None and not refused else None
            bars = small[name] if after is None else drawn(variable, after)
            said = "" if recode is None else told(recode)
            saved = None if saves is None else saves.get(name)
            made.append(Line(place, variable, bars, name in known, said, refused, saved))
    return sorted(made, key=lambda line: (not line.known, line.place))


def small_bars(desk: Desk, draft: Draft) -> dict[str, Bars]:
    """Return a small histogram of every variable as it is."""
    return desk.kept("bars", desk.form(draft), lambda: bars_of(desk.table(draft)))


def told(recode: Recode) -> str:
    """Say in a few words what becomes of a variable.

    >>> told(Recode(cuts=(18, 65))), told(Recode(level=2)), told(Recode(share=0.01, ends="top"))
    ('cut at 18, 65', 'level 2 of its hierarchy', 'highest 1 % coded together')
    """
    if recode.way == "merge":
        groups = {str(into) for _, into in recode.merge}
        return f"{len(recode.merge)} categories into {len(groups)} {'group' if len(groups) == 1 else 'groups'}"
    if recode.way == "cuts":
        return f"cut at {', '.join(map(plain, recode.cuts))}"
    if recode.way == "width":
        return f"classes of {plain(recode.width)}"
    if recode.way == "level":
        return f"level {recode.level} of its hierarchy"
    if recode.way == "rare":
        return f"categories below {percent(recode.rare)} % into other"
    if recode.share is not None:
        ends = {"both": "lowest and highest", "top": "highest", "bottom": "lowest"}[recode.ends]
        return f"{ends} {percent(recode.share)} % coded together"
    limits = [
        f"{word} {plain(value)}"
        for word, value in (("below", recode.bottom), ("above", recode.top))
        if value is not None
    ]
    return f"{' and '.join(limits)} coded together"


def plain(value: Any) -> str:
    """Write a cut or a limit as it is typed."""
    return str(int(value)) if isinstance(value, float) and value == int(value) and abs(value) < 2**53 else str(value)


def percent(share: float | None) -> str:
    """Write a share in percent, as it is typed."""
    return "" if share is None else f"{100 * share:.6g}"


def groups(variable: Variable, codes: Any, recode: Recode | None) -> list[Group]:
    """Return the categories, those put together as one: in their order, or the most frequent first."""
    into = {str(one): str(group) for one, group in recode.merge} if recode is not None else {}
    counts = np.bincount(codes + 1, minlength=len(variable.categories) + 1)[1:].tolist()
    found: dict[str, list[int]] = {}
    for place, category in enumerate(variable.categories):
        found.setdefault(into.get(str(category), str(category)), []).append(place)
    most = max((sum(counts[one] for one in places) for places in found.values()), default=0) or 1
    made = []
    for place, (name, places) in enumerate(found.items()):
        records = sum(counts[one] for one in places)
        alone = len(places) == 1 and str(variable.categories[places[0]]) == name
        members = () if alone else tuple(variable.spelled(variable.categories[one]) for one in places)
        shown = variable.spelled(variable.categories[places[0]]) if alone else name
        made.append(Group(place, shown, members, records, 100 * records / most))
    return made if variable.kind == "ordinal" else sorted(made, key=lambda group: -group.records)


def group_names(variable: Variable, recode: Recode | None) -> list[str]:
    """Return the names of the groups, as recodings have them, by their places."""
    into = {str(one): str(group) for one, group in recode.merge} if recode is not None else {}
    return list(dict.fromkeys(into.get(str(category), str(category)) for category in variable.categories))


def histogram(variable: Variable, column: Any) -> Histogram | None:
    """Return the bars of a number or a date; None where there is hardly anything to cut."""
    present = column[~np.isnan(column)]
    if not present.size or present.min() == present.max():
        return None
    low, high = float(present.min()), float(present.max())
    first, last = (float(one) for one in np.quantile(present, [TAIL, 1 - TAIL]))
    if last > first and high - low > 3 * (last - first):  # a few would leave no room for the many
        low, high = first, last
    drawn_ones = present[(present >= low) & (present <= high)]
    counted = thumbnail(variable, drawn_ones, bars=BARS).counts
    whole = not np.mod(present, 1).any()
    if whole and len(counted) == high - low + 1:
        high += 1  # a bar for each value, which begins at it
    most, wide = max(counted), WIDTH / len(counted)
    path = "".join(
        f"M{place * wide:.5g} {HEIGHT}v-{max(HEIGHT * count / most, 1):.4g}h{wide - (wide > 4):.4g}V{HEIGHT}z"
        for place, count in enumerate(counted)
        if count
    )
    step = 1.0 if whole and high - low <= 3 * STEPS else max(round_below((high - low) / STEPS), 1.0 if whole else 0.0)
    date = variable.kind == "date"
    ends = (spelled(np.floor(low)), spelled(np.floor(high))) if date else (number(low), number(high))
    return Histogram(path, low, high, step, date, ends, int(present.size - drawn_ones.size))


def result(variable: Variable, found: Thumbnail | None) -> Result | None:
    """Return how a variable would be published."""
    if found is None:
        return None
    if not found.names:
        return Result((), drawn(variable, found), 0, found.missing)
    most = max(found.counts) or 1
    classes = [
        Group(place, name, (), count, 100 * count / most)
        for place, (name, count) in enumerate(zip(found.names, found.counts, strict=True))
    ]
    return Result(tuple(classes), None, found.others, found.missing)


def risks(live: Live, schema: Schema, effect: Effect) -> list[tuple[str, list[Risk], str]]:
    """Return, by intruder, the figures before and after, and what makes them hard to compare, if anything."""
    after: Mapping[str, Counts] = {one.name: one for one in effect.counts}
    told_of = []
    for intruder in schema.intruders():
        one, two = live.counts(intruder), after.get(intruder.name)
        if one is None and two is None:
            continue
        note = ""
        if one is None or (two is not None and set(two.keys) - set(one.keys)):
            newly = ", ".join(name for name in (two.keys if two else ()) if one is None or name not in one.keys)
            note = f"{newly} could not be counted over before, and now can: the figures before leave it out."
        made = [
            Risk(intruder.name, words, *(getattr(counts, name) if counts else 0.0 for counts in (one, two)))
            for words, name in (
                ("alone", "unique"),
                (f"below {intruder.k}", "below"),
                ("expected to be found", "expected"),
            )
        ]
        told_of.append((intruder.name, made, note))
    return told_of


def levels(hierarchy: Hierarchy | None) -> list[Step]:
    """Return the levels of a hierarchy in words."""
    if hierarchy is None:
        return []
    made = []
    for level in range(1, hierarchy.height + 1):
        place = level - 1
        if hierarchy.rows:
            words = f"{len({row[level] for row in hierarchy.rows})} groups"
        elif hierarchy.cuts:
            words = f"{len(hierarchy.cuts[place]) + 1} classes"
        else:
            words = f"{hierarchy.widths[place]:g} wide" if hierarchy.widths else hierarchy.spans[place]
        name = hierarchy.names[place] if hierarchy.names else ""
        made.append(Step(level, f"{name}: {words}" if name else words))
    return made


def hierarchy_files(desk: Desk, draft: Draft) -> list[str]:
    """Name the files of the folder that may hold a hierarchy."""
    apart = {draft.source, SCHEMA, *RESERVED_NAMES, *draft.elsewhere}
    found = (path for path in desk.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return sorted(path.name for path in found if path.suffix.lower() in KNOWN and path.name not in apart)


def proposal(desk: Desk, draft: Draft, name: str) -> Proposal | None:
    """Return the hierarchy that suits a variable."""
    return desk.kept(
        "hierarchy proposal", f"{desk.form(draft)} {json.dumps(name)}", lambda: propose(desk.table(draft), name)
    )


def in_dates(desk: Desk, draft: Draft, name: str) -> bool:
    """Tell whether all categories of a variable are dates, so that it had better be one."""
    of = f"{desk.form(draft)} {json.dumps(name)}"
    return desk.kept("dates in texts", of, lambda: dated(desk.table(draft), name) is not None)


def proposed(found: Proposal | None) -> str:
    """Say in words which hierarchy is proposed; nothing if none is.

    >>> proposed(Proposal("job", "rare", ("0.02", "0.05")))
    'rare ones together, below 2 %, then 5 %'
    """
    if found is None:
        return ""
    values = ", then ".join(found.values)
    shares = ", then ".join(f"{100 * float(value):g} %" for value in found.values) if found.way == "rare" else ""
    said = {
        "bands": f"bands of {values}",
        "dates": f"by {values}",
        "truncate": f"by the first {values} characters",
        "merge-neighbours": "neighbours put together",
        "rare": f"rare ones together, below {shares}",
    }
    return said.get(found.way, found.way)


# Changes of what becomes of the variables: groups, cuts, classes, open ends, hierarchies

MAX_NAME_LENGTH = 200  # characters of a group's name
MAX_CUTS = 200


def merge(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Put the ticked categories and groups together under a name."""
    variable, recodings = _asked(desk, draft, form, quantity=False), recodings_of(draft)
    names = group_names(variable, recodings[variable.name])
    ticked = [names[place] for place in _places(form.texts("groups"), len(names))]
    into = form.text("into")
    if not ticked or (len(ticked) < 2 and not into):
        raise Refused("into", "tick two or more categories to put together, or one to give it another name")
    if len(into) > MAX_NAME_LENGTH:
        raise Refused("into", f"a name of at most {MAX_NAME_LENGTH} characters, please")
    into = into or _joined(variable, ticked)
    if into in names and into not in ticked:
        raise Refused("into", f"there is {into} already; tick it too, or give the group another name")
    return _kept(desk, draft, variable, "into", lambda: recodings.merged(variable, ticked, into))


def split(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a group apart again."""
    variable, recodings = _asked(desk, draft, form, quantity=False), recodings_of(draft)
    names = group_names(variable, recodings[variable.name])
    places = _places(form.texts("group"), len(names))
    if not places:
        raise Refused("into", "there is no such group any more")
    return _kept(desk, draft, variable, "into", lambda: recodings.split(variable.name, names[places[0]]))


def rare(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Put all categories that are rare into one."""
    variable, share = _asked(desk, draft, form, quantity=False), form.number("rare", least=0, most=100) / 100
    if not share:
        raise Refused("rare", "say below which share of the records a category is rare, such as 2 %")
    return _kept(desk, draft, variable, "rare", lambda: recodings_of(draft).with_rare(variable.name, share))


def cuts(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Cut a number or a date at the points that are typed; at none, leave it as it is."""
    variable = _asked(desk, draft, form, quantity=True)
    points = _points(variable, form.text("cuts"))
    low, high = _span(desk, draft, variable)
    if points and not any(low < _at(point) <= high for point in points):
        ends = _told_span(variable, low, high)
        raise Refused("cuts", f"all values would be in one class: {variable.name} runs {ends}, so cut between these")
    return _kept(desk, draft, variable, "cuts", lambda: recodings_of(draft).with_cuts(variable.name, points))


def width(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Put a number into classes of one width, perhaps with an open last one, or a date into spans of the calendar."""
    variable = _asked(desk, draft, form, quantity=True)
    said: Any = form.text("width") if variable.kind == "date" else _whole(form.number("width"))
    if not said or (variable.kind != "date" and said <= 0):
        raise Refused("width", "say how wide each class is, such as 5 or 10")
    low, high = _span(desk, draft, variable)
    if variable.kind != "date" and low < high and low // said == high // said:
        ends = _told_span(variable, low, high)
        raise Refused("width", f"all values would be in one class: {variable.name} runs {ends}; take a smaller width")
    if variable.kind != "date" and form.text("over"):
        points = _cuts_up_to(_whole(form.number("over")), said, low, high)
        return _kept(desk, draft, variable, "over", lambda: recodings_of(draft).with_cuts(variable.name, points))
    return _kept(desk, draft, variable, "width", lambda: recodings_of(draft).with_width(variable.name, said))


def _cuts_up_to(over: float, width: float, low: float, high: float) -> tuple[float, ...]:
    """Return where classes of one width begin if the last one holds all values from a limit on.

    >>> _cuts_up_to(70, 10, 33.0, 95.0)
    (40, 50, 60, 70)
    """
    if not low < over <= high:
        raise Refused("over", f"the last class must begin above {low:g} and not above {high:g}; got {over:g}")
    first = math.floor(low / width) + 1
    steps = math.ceil(over / width) - first
    if steps > MAX_CUTS:
        raise Refused("width", f"these would be {steps + 2:,} classes; take a larger width")
    return (*(_whole(round((first + step) * width, 12)) for step in range(steps)), over)


def limits(desk: Desk, draft: Draft, form: Form) -> ActionResult:
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


def level(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Put a variable at a level of its hierarchy."""
    variable = _asked(desk, draft, form)
    chosen = form.whole("level", least=0, most=1000)
    return _kept(desk, draft, variable, "level", lambda: recodings_of(draft).with_level(variable.name, chosen))


def attach(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take the hierarchy of a variable from a file of the folder, and its first level."""
    variable, name = _asked(desk, draft, form), form.text("name")
    if not name:
        raise Refused("name", "choose a file of the folder that says what each value is part of")
    try:
        hierarchy = read_hierarchy(inside(desk.folder, name))
    except SfumatoError as error:
        raise Refused("name", str(error).replace(f"{desk.folder}/", "")) from None
    return _hierarchy(desk, draft, variable, hierarchy, f"hierarchy of {variable.name} from {name}")


def build(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Make the hierarchy that suits a variable, and take its first level."""
    variable = _asked(desk, draft, form)
    found = proposal(desk, draft, variable.name)
    if found is None:
        raise Refused("name", f"{variable.title} has too few values for a hierarchy; put them together by hand")
    return _hierarchy(
        desk, draft, variable, found.build(desk.table(draft)), f"hierarchy of {variable.name} by {found.way}"
    )


def detach(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Forget the hierarchy of a variable."""
    variable, recodings = _asked(desk, draft, form), recodings_of(draft)
    said = recodings[variable.name]
    left = recodings.without(variable.name) if said is not None and said.way == "level" else recodings
    stated = desk.stated(draft)
    text = desk.restated(stated.replace(replace(stated[variable.name], hierarchy=None)))
    changes = {"schema": text, "recodings": written(left)}
    return ActionResult(lambda old: old.but(**changes), f"forgot the hierarchy of {variable.name}")


def leave(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Leave a variable as it is."""
    variable = _asked(desk, draft, form)
    text = written(recodings_of(draft).without(variable.name))
    return ActionResult(lambda old: old.but(recodings=text), f"{variable.name} stays as it is")


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


def _kept(desk: Desk, draft: Draft, variable: Variable, field: str, make: Callable[[], Recodings]) -> ActionResult:
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
    return ActionResult(lambda old: old.but(recodings=text), what)


def _hierarchy(desk: Desk, draft: Draft, variable: Variable, hierarchy: Hierarchy, what: str) -> ActionResult:
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
    return ActionResult(lambda old: old.but(**changes), f"{what}; level 1")


def _joined(variable: Variable, names: list[str]) -> str:
    """Name a group by what is in it.

    >>> _joined(Variable("a", "nominal", categories=("x", "y", "z")), ["x", "z"])
    'x or z'
    """
    words = {str(category): variable.spelled(category) for category in variable.categories}
    said = [words.get(name, name) for name in names]
    if variable.kind == "ordinal":
        return f"{said[0]} to {said[-1]}"[:MAX_NAME_LENGTH]
    whole = " or ".join(said)
    return whole if len(whole) <= 60 else f"{said[0]} or {len(said) - 1} others"[:MAX_NAME_LENGTH]


def _places(texts: list[str], number: int) -> list[int]:
    return sorted({place for place in map(place_of, texts) if place is not None and place < number})


def _points(variable: Variable, text: str) -> list[Any]:
    """Read cut points, parted by commas, semicolons or blanks."""
    parts = [part for part in re.split(r"[,;\s]+", text) if part]
    if len(parts) > MAX_CUTS:
        raise Refused("cuts", f"at most {MAX_CUTS} cuts, please; take classes of one width instead")
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


ACTIONS: Mapping[str, Callable[[Desk, Draft, Form], ActionResult]] = {
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


# the screen

MAX_WITHOUT_SEARCH = 10  # variables that are found without a search
MANY_GROUPS = 15  # categories that are searched


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the variables, the one to work on (variable), and what all recodings do; saves: count for the list too."""
    data, recodings = desk.table(draft), recodings_of(draft)
    schema, live = data.schema, live_of(desk, draft)
    left = (still_known(intruder, draft) for intruder in schema.intruders())
    effect = live.effect(recodings, [intruder for intruder in left if intruder is not None])
    fitting = live.fitting(recodings)[0]
    of = f"{desk.form(draft)} {draft.schema} {fitting!r}"
    counted = "saves" in query or desk.is_kept("saves", of)
    saves = desk.kept("saves", of, lambda: _saves(live, schema, fitting)) if counted else None
    listed = lines(desk, draft, recodings, live, effect, saves)
    shown: dict[str, Any] = {
        "lines": listed,
        "search": len(listed) > MAX_WITHOUT_SEARCH,
        "counted": counted,
        "work": None,
        "risks": risks(live, schema, effect),
        "overall": effect.overall,
        "number_recoded": len(recodings),
    }
    at = _chosen(query.get("variable", ""), [line.place for line in listed])
    if at is None:
        return shown
    variable, column = schema.variables[at], data.columns[schema.names[at]]
    said = recodings[variable.name]
    own = said if said is not None and said.way == "merge" else None
    found = proposal(desk, draft, variable.name)
    shown["work"] = {
        "place": at,
        "variable": variable,
        "recode": said,
        "said": "" if said is None else told(said),
        "refused": effect.refused.get(variable.name, ""),
        "loss": effect.loss.get(variable.name),
        "groups": [] if variable.quantitative else groups(variable, column, own),
        "histogram": histogram(variable, column) if variable.quantitative else None,
        "before": small_bars(desk, draft)[variable.name],
        "after": result(variable, live.thumbnail(variable.name, fitting)),
        "cuts": ", ".join(map(plain, said.cuts)) if said is not None else "",
        "limits": {word: _typed(getattr(said, word, None)) for word in ("bottom", "top")},
        "share": percent(getattr(said, "share", None)),
        "ends": getattr(said, "ends", "both"),
        "width": _typed(getattr(said, "width", None)),
        "rare": percent(getattr(said, "rare", None)),
        "levels": levels(variable.hierarchy),
        "level": (said.level if said is not None else None) or 0,
        "files": hierarchy_files(desk, draft),
        "proposed": proposed(found) if variable.hierarchy is None else "",
        "widths": found.values if found is not None and found.way == "bands" else (),
        "dated": bool(variable.categories) and in_dates(desk, draft, variable.name),
    }
    return {**shown, "spans": SPANS, "many_groups": MANY_GROUPS}


def _typed(value: Any) -> str:
    return "" if value is None else plain(value)


def _chosen(said: str, places: list[int]) -> int | None:
    """Return which variable is worked on: the one that is asked for, or the first; None if there is none."""
    asked = place_of(said)
    return asked if asked in places else next(iter(places), None)


def _saves(live: Live, schema: Schema, recodings: Recodings) -> dict[str, int]:
    """Return, by key, how many records at most would no longer be below k of an intruder who did not know it."""
    saved: dict[str, int] = {}
    for intruder in schema.intruders():
        counts = live.counts(intruder, recodings)
        for name, left in live.without(intruder, recodings).items() if counts is not None else ():
            saved[name] = max(saved.get(name, 0), counts.below - left if counts is not None else 0)
    return saved


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how the recodings are done elsewhere."""
    first = recoded_first(draft)
    if first is None:  # the whole draft: without its bounds a sweep into this folder would take a release away
        words = ["sfumato", *sweep_words(desk, draft)]
        return SameCommand(
            f"{shlex.join(words)}    # nothing is recoded yet", f"import sfumato\n\ndata = {read_call(draft)}"
        )
    words = ["sfumato", *sweep_words(desk, draft)]
    used = [name for name in ("GlobalRecoding", "TopBottomCoding", "VariableRemoval") if f"{name}(" in repr(first)]
    code = (
        f"import sfumato\nfrom sfumato import {', '.join(used)}\n\n"
        f"data = {read_call(draft)}\nmethod = {first!r}\nrecoded = method.protect(data)"
    )
    return SameCommand(shlex.join(words), code)


SCREEN = Screen(
    slug="recode",
    title="Recode",
    why="Coarser values protect without making anything false, and users can see what was done.",
    practice="recode first, then suppress the few that are left: ages in bands of five or ten with an open end, "
    "regions merged, occupations in a few groups.",
    view=view,
    actions=ACTIONS,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: bool(draft.recodings),
    same=same,
    optional=True,
)
