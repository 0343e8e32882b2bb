"""The changes that can be made on the screen of variables."""

import re
from dataclasses import replace
from typing import Any, Literal, get_args

from sfumato.data.schema import Kind, Level, Role, Special
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Done, Form, Refused
from sfumato.workbench.screens.variable_cards import cards, latest_look, unconfirmed
from sfumato.workbench.screens.variable_wishes import Wish, codes_of, granted


def say(desk: Desk, draft: Draft, form: Form) -> Done:
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


def say_of_many(desk: Desk, draft: Draft, form: Form) -> Done:
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


def confirm(desk: Desk, draft: Draft, form: Form) -> Done:
    """Confirm the roles that are proposed for some variables."""
    proposed = unconfirmed(desk, draft)
    wanted = [proposed[name] for name in dict.fromkeys(form.texts("names")) if name in proposed]
    if not wanted:
        raise Refused("", "these roles are confirmed already; the page shows those that are not")
    text = granted(desk, draft, [Wish(one.name, role=one.role) for one in wanted], at="roles")
    shown = ", ".join(f"{one.name} is {one.role}" for one in wanted[:4])
    more = f" and {len(wanted) - 4} more" if len(wanted) > 4 else ""
    return _done(text, f"confirmed: {shown}{more}", said=f"{len(wanted)} roles confirmed." if len(wanted) > 1 else "")


def choose(desk: Desk, draft: Draft, form: Form) -> Done:
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


def accept(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take proposals: the answer chosen, or the first of each of several."""
    open_cards = {card.key: card for card in cards(desk, draft, latest_look(desk, draft))}
    wanted = [open_cards[key] for key in form.texts("card") if key in open_cards and open_cards[key].answers]
    if not wanted:
        raise Refused("", "this proposal no longer holds; the page shows those that do")
    chosen = form.whole("answer", least=0) if form.has("answer") else 0
    answers = [card.answers[min(chosen, len(card.answers) - 1)] for card in wanted]
    text = granted(desk, draft, [answer.wish for answer in answers], at=f"card {wanted[0].key}")
    return _done(text, "; ".join(_told(answer.wish) for answer in answers))


def dismiss(desk: Desk, draft: Draft, form: Form) -> Done:
    """Decline proposals, so that they are not made again."""
    keys = form.texts("card")
    what = f"declined: {', '.join(keys)}"
    return Done(lambda old: old.but(dismissed=tuple(dict.fromkeys((*old.dismissed, *keys)))), what)


def ask_again(desk: Desk, draft: Draft, form: Form) -> Done:
    """Make the proposals again that were declined."""
    return Done(lambda old: old.but(dismissed=()), "proposals that were declined are shown again")


def _done(text: str, what: str, said: str = "") -> Done:
    return Done(lambda old: old.but(schema=text), what, said=said)


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
