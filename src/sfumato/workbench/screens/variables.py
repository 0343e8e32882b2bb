"""Screen 2, Variables: what each variable is, who may know it, and what belongs together."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sfumato.table.describe import Thumbnail, thumbnails
from sfumato.table.households import household_level
from sfumato.table.microdata import Microdata
from sfumato.table.roles import ProposedRole
from sfumato.table.schema import Kind, Level, Role, Schema, Special, Variable
from sfumato.workbench.commands import read_call, reading
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of
from sfumato.workbench.screens.variable_cards import cards, findings, foremost, latest_look, look, unconfirmed
from sfumato.workbench.screens.variable_wishes import MAX_ORDERED, Wish, codes_of, codes_text, formats, granted

# The rows of the screen of variables: each variable at a glance, and all that can be said of one

WIDTH, HEIGHT = 120, 30  # of a small histogram, in its own units
MISSING_BAR_WIDTH = 8  # width of the bar of missing values
MAX_CATEGORY_LENGTH = 40  # characters of a category that are shown


@dataclass(frozen=True)
class Bars:
    """A small histogram, as the paths of an SVG, and what it shows in words."""

    present: str
    missing: str
    words: str


@dataclass(frozen=True)
class Row:
    """One variable as its row shows it."""

    place: int  # in the table, from 0; names are no good for the names of fields
    variable: Variable  # as the table has it
    special: str  # weight, household or id, if it is that
    distinct: int
    missing: int
    codes: str  # its missing codes
    shared: bool  # whether the members of a household have the same value
    alphabetical: bool  # whether its order is that of the alphabet, which hardly ever is the right one
    bars: Bars
    proposed: ProposedRole | None = None  # the role that nobody has confirmed


@dataclass(frozen=True)
class Editor:
    """What can be said of one variable beside its kind and role."""

    row: Row
    stated: Variable
    others: tuple[str, ...]  # that it may be linked to
    formats: tuple[str, ...]  # in which its texts are dates
    categories: tuple[tuple[int, str], ...]  # in their order: the place among the table's categories, and the words
    too_many: bool  # to be put in order here


def rows(desk: Desk, draft: Draft) -> list[Row]:
    """Return a row for each variable, in the order of the table."""
    data = desk.table(draft)
    form = desk.form(draft)
    bars = desk.kept("bars", form, lambda: bars_of(data))
    alike = desk.kept("shared", f"{form} {[v.level for v in data.schema]}", lambda: frozenset(household_level(data)))
    special = {name: word for word, name in data.schema.special().items()}
    proposed = unconfirmed(desk, draft)
    return [
        Row(
            place=place,
            variable=variable,
            special=special.get(variable.name, ""),
            distinct=finding.distinct,
            missing=finding.missing,
            codes=codes_text(variable.missing),
            shared=variable.name in alike,
            alphabetical=_alphabetical(variable),
            bars=bars[variable.name],
            proposed=proposed.get(variable.name),
        )
        for place, (variable, finding) in enumerate(zip(data.schema, findings(desk, draft), strict=True))
    ]


def _alphabetical(variable: Variable) -> bool:
    """Tell whether words are ordered by their letters: nobody has said their order."""
    words = [one for one in variable.categories if isinstance(one, str) and not one[:1].isdigit()]
    return variable.kind == "ordinal" and len(words) == len(variable.categories) > 2 and words == sorted(words)


def editor(desk: Desk, draft: Draft, row: Row) -> Editor:
    """Return what can be said of one variable."""
    schema, name = desk.table(draft).schema, row.variable.name
    stated: Schema = desk.stated(draft)
    ordinal = row.variable.kind == "ordinal"
    return Editor(
        row=row,
        stated=next((variable for variable in stated if variable.name == name), row.variable),
        others=tuple(other for other in schema.names if other != name),
        formats=(row.variable.format,) if row.variable.format else formats(row.variable),
        categories=tuple(
            (place, row.variable.spelled(category)) for place, category in enumerate(row.variable.categories)
        )
        if ordinal and len(row.variable.categories) <= MAX_ORDERED
        else (),
        too_many=ordinal and len(row.variable.categories) > MAX_ORDERED,
    )


def bars_of(data: Microdata) -> dict[str, Bars]:
    """Draw a small histogram of every variable."""
    return {name: drawn(data.schema[name], found) for name, found in thumbnails(data).items()}


def drawn(variable: Variable, found: Thumbnail) -> Bars:
    """Draw a thumbnail: one bar for each count, and one on the right for missing values.

    >>> drawn(Variable("age"), Thumbnail((1, 2), 0, 0, 1))
    Bars(present='M0 30v-15h59v15zM60 30v-30h59v30z', missing='', words='0 to 1')
    """
    counts = [*found.counts, found.others] if found.others else list(found.counts)
    most = max([*counts, found.missing], default=0) or 1
    room = WIDTH - (MISSING_BAR_WIDTH + 4 if found.missing else 0)
    wide = room / max(len(counts), 1)
    gap = 1 if wide > 3 else 0
    present = "".join(
        _bar(place * wide, min(wide, 60) - gap, count / most) for place, count in enumerate(counts) if count
    )
    missing = _bar(WIDTH - MISSING_BAR_WIDTH, MISSING_BAR_WIDTH, found.missing / most) if found.missing else ""
    return Bars(present, missing, _words(variable, found))


def _bar(left: float, wide: float, share: float) -> str:
    high = max(share * HEIGHT, 1.0)
    return f"M{left:.4g} {HEIGHT}v-{high:.3g}h{wide:.3g}v{high:.3g}z"


def _words(variable: Variable, found: Thumbnail) -> str:
    if variable.quantitative:
        return "no value" if found.least is None else f"{found.least} to {found.greatest}"
    if variable.kind == "ordinal" and len(found.names) > 1:
        return f"{_short(found.names[0])} to {_short(found.names[-1])}"
    return ", ".join(_short(name) for name in found.names[:3]) + (", ..." if len(found.names) > 3 else "")


def _short(text: Any) -> str:
    return str(text) if len(str(text)) <= MAX_CATEGORY_LENGTH else f"{str(text)[: MAX_CATEGORY_LENGTH - 3]}..."


# The changes that can be made on the screen of variables


def say(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Say something of one variable: whatever of kind, role, label, codes, level, links and format the form has."""
    name, place = _named(desk, draft, form.text("name"))
    wish = Wish(
        name,
        kind=_word(form, "kind", Kind),
        role=_word(form, "role", Role),
        label=form.text("label") if form.has("label") else None,
        missing=codes_of(form.text("missing")) if form.has("missing") else None,
        level=_level(form),
        linked=_linked(form),
        format=form.text("format") if form.has("format") else None,
        order=_order(desk, draft, name, form),
    )
    text = granted(desk, draft, [wish], at=f"row-{place}")
    return _done(text, _told(wish))


def say_of_many(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Give several variables one role, or one kind."""
    names = list(dict.fromkeys(_named(desk, draft, name)[0] for name in form.texts("names")))
    if not names:
        raise Refused("many", "tick the variables that this is for")
    kind, role = _word(form, "kind", Kind), _word(form, "role", Role)
    if kind is None and role is None:
        raise Refused("many", "choose a role or a kind that the ticked variables are to have")
    wishes = [Wish(name, kind=kind, role=role) for name in names]
    text = granted(desk, draft, wishes, at="many")
    said = " and ".join(word for word in (f"role {role}" if role else "", f"kind {kind}" if kind else "") if word)
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return _done(text, f"{said}: {shown}", said=f"{len(names)} variables: {said}.")


def confirm(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Confirm the roles that are proposed for some variables."""
    proposed = unconfirmed(desk, draft)
    wanted = [proposed[name] for name in dict.fromkeys(form.texts("names")) if name in proposed]
    if not wanted:
        raise Refused("", "these roles are confirmed already; the page shows those that are not")
    text = granted(desk, draft, [Wish(one.name, role=one.role) for one in wanted], at="roles")
    shown = ", ".join(f"{one.name} is {one.role}" for one in wanted[:4])
    more = f" and {len(wanted) - 4} more" if len(wanted) > 4 else ""
    return _done(text, f"confirmed: {shown}{more}", said=f"{len(wanted)} roles confirmed." if len(wanted) > 1 else "")


def choose(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Name the weight, the household or the id, or none."""
    special = next((word for word in get_args(Special) if form.has(word)), None)
    if special is None:
        raise Refused("", "say which: weight, household or id")
    name = form.text(special)
    if name:
        _named(desk, draft, name)
        text = granted(desk, draft, [Wish(name, special=special)], at=special)
        return _done(text, f"{name} is the {special}")
    nothing: dict[str, Any] = {special: None}
    text = desk.restated(replace(desk.stated(draft), **nothing))
    desk.table(draft.but(schema=text))
    return _done(text, f"no variable is the {special}")


def accept(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take proposals: the answer chosen, or the first of each of several."""
    open_cards = {card.key: card for card in cards(desk, draft, latest_look(desk, draft))}
    wanted = [open_cards[key] for key in form.texts("card") if key in open_cards and open_cards[key].answers]
    if not wanted:
        raise Refused("", "this proposal no longer holds; the page shows those that do")
    chosen = form.whole("answer", least=0) if form.has("answer") else 0
    answers = [card.answers[min(chosen, len(card.answers) - 1)] for card in wanted]
    text = granted(desk, draft, [answer.wish for answer in answers], at=f"card {wanted[0].key}")
    return _done(text, "; ".join(_told(answer.wish) for answer in answers))


def dismiss(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Decline proposals, so that they are not made again."""
    keys = form.texts("card")
    what = f"declined: {', '.join(keys)}"
    return ActionResult(lambda old: old.but(dismissed=tuple(dict.fromkeys((*old.dismissed, *keys)))), what)


def ask_again(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Make the proposals again that were declined."""
    return ActionResult(lambda old: old.but(dismissed=()), "proposals that were declined are shown again")


def _done(text: str, what: str, said: str = "") -> ActionResult:
    return ActionResult(lambda old: old.but(schema=text), what, said=said)


def _named(desk: Desk, draft: Draft, name: str) -> tuple[str, int]:
    """Return a variable of the table and its place in it; a form may come from a page of another file."""
    names = desk.table(draft).names
    known = next((one for one in names if one.strip() == name.strip()), None)
    if known is None:
        raise Refused("", f"there is no variable {name!r} in this file")
    return known, names.index(known)


def _word(form: Form, field: str, allowed: Any) -> Any:
    said = form.text(field)
    if not said:
        return None
    if said not in get_args(allowed):
        raise Refused(field, f"{field} is one of {', '.join(get_args(allowed))}; got {said!r}")
    return said


def _level(form: Form) -> Level | Literal["as found"] | None:
    if not form.has("level"):
        return None
    level: Level | None = _word(form, "level", Level)
    return level or "as found"


def _linked(form: Form) -> tuple[str, ...] | None:
    """Return the sources that are ticked or added; an editor without any says so by an empty one."""
    if not form.has("linked"):
        return None
    return tuple(dict.fromkeys(name for name in form.texts("linked") if name))


def _order(desk: Desk, draft: Draft, name: str, form: Form) -> tuple[Any, ...] | None:
    """Return the categories in the order of the form, after the move that a button asks for."""
    if not form.has("category"):
        return None
    categories = desk.table(draft).schema[name].categories
    places = [int(said) for said in form.texts("category") if re.fullmatch(r"\d{1,6}", said)]
    if sorted(places) != list(range(len(categories))):
        raise Refused("", "the categories have changed meanwhile; look, then put them in order again")
    move = re.fullmatch(r"(\d{1,6}) (up|down)", form.text("move"))
    if form.text("move") == "turn":
        places.reverse()
    elif move is not None:
        at = places.index(int(move[1])) if int(move[1]) in places else 0
        to = max(at - 1, 0) if move[2] == "up" else min(at + 1, len(places) - 1)
        places.insert(to, places.pop(at))
    order = tuple(categories[place] for place in places)
    return None if order == categories else order


def _told(wish: Wish) -> str:
    """Say in the journal what was said of a variable."""
    parts = [
        f"kind {wish.kind}" if wish.kind else "",
        f"role {wish.role}" if wish.role else "",
        f"the {wish.special}" if wish.special else "",
        f"label {wish.label!r}" if wish.label else "",
        f"missing codes {', '.join(map(str, wish.missing))}" if wish.missing else "",
        f"level {wish.level}" if wish.level and wish.level != "as found" else "",
        f"linked to {', '.join(wish.linked)}" if wish.linked else "",
        f"format {wish.format}" if wish.format else "",
        "another order" if wish.order else "",
    ]
    return f"{wish.name}: {', '.join(filter(None, parts)) or 'edited'}"


# the screen

ROLES = {
    "key": "an intruder may know it",
    "confidential": "an intruder would learn it",
    "other": "neither",
    "identifier": "names the person: left out of every release",
}
KINDS = {
    "numeric": "amounts, counts",
    "ordinal": "categories with an order",
    "nominal": "categories without one",
    "date": "days",
}


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show all variables, or the one that was changed (part), and the editor of one (edit)."""
    data = desk.table(draft)
    every = rows(desk, draft)
    part, edit = _place(query, "part", len(every)), _place(query, "edit", len(every))
    seen = look(desk, draft) if "look" in query else latest_look(desk, draft)
    open_cards = cards(desk, draft, seen)
    unsaid = [row.proposed for row in every if row.proposed is not None]
    roles = Counter(row.variable.role for row in every if not row.special)
    return {
        "rows": every if part is None else [every[part]],
        "number_of_rows": len(every),
        "records": len(data),
        "names": data.names,
        "special": {word: data.schema.special().get(word) for word in get_args(Special)},
        "roles": ROLES,
        "kinds": KINDS,
        "counts": {role: roles[role] for role in get_args(Role)},
        "cards": open_cards,
        "unconfirmed": {
            role: found for role in get_args(Role) if (found := [one for one in unsaid if one.role == role])
        },
        "all_special": foremost(open_cards),
        "dismissed": len(draft.dismissed),
        "closely": seen is not None,
        "look_is_old": seen is not None and seen.form != desk.form(draft),
        "not_tried": () if seen is None else seen.found.links.notes,
        "editor": editor(desk, draft, every[edit]) if edit is not None else None,
        "edited": edit,
        "identifiers": [row.variable.name for row in every if row.variable.role == "identifier"],
    }


def _place(query: Mapping[str, str], word: str, number: int) -> int | None:
    """Return which row a query means; None if it means none there is."""
    place = place_of(query.get(word, ""))
    return place if place is not None and place < number else None


def done(desk: Desk, draft: Draft) -> bool:
    """Tell whether any variable is a key, without which there is no intruder."""
    return draft.confirmed and any(variable.role == "key" for variable in desk.stated(draft))


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how a schema is written elsewhere."""
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--out", SCHEMA])
    code = (
        f"import sfumato\n\ndata = {read_call(draft, None)}\nsfumato.write_schema(data, {SCHEMA!r})\n"
        f"# edit {SCHEMA}, then\ndata = {read_call(draft)}"
    )
    return SameCommand(f"{command}    # then edit {SCHEMA}, which stands below", code)


SCREEN = Screen(
    slug="variables",
    title="Variables",
    why="What an intruder may know and what a value means decide everything: which variables are keys, which are "
    "amounts, which column is the weight, the household, the id.",
    practice="confirm or correct every proposed role, take direct identifiers out, name weight and household, and look "
    "at every proposed copy: a copy that is not protected gives the original back.",
    view=view,
    actions={
        "say": say,
        "many": say_of_many,
        "choose": choose,
        "confirm": confirm,
        "accept": accept,
        "dismiss": dismiss,
        "ask_again": ask_again,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=done,
    same=same,
)
