"""What the screen of recodings shows: the variables to choose from, one of them to work on, and what it does."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.compare.exposure import Counts
from sfumato.compare.live import Effect, Live
from sfumato.compare.recodings import Recode, Recodings
from sfumato.data.bands import round_below
from sfumato.data.dates import spelled
from sfumato.data.describe import Thumbnail, thumbnail
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.hierarchy_file import KNOWN
from sfumato.data.hierarchy_proposal import Proposal, dated, propose
from sfumato.data.schema import Schema, Variable
from sfumato.show.wording import number
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.variable_rows import Bars, bars_of, drawn
from sfumato.workbench.uploads import OURS

BARS = 60  # of the histogram that is cut
WIDE, HIGH = 600, 150  # of it, in its own units
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
    most, wide = max(counted), WIDE / len(counted)
    path = "".join(
        f"M{place * wide:.5g} {HIGH}v-{max(HIGH * count / most, 1):.4g}h{wide - (wide > 4):.4g}V{HIGH}z"
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
    apart = {draft.source, SCHEMA, *OURS, *draft.elsewhere}
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
