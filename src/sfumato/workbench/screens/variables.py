"""Screen 2, Variables: what each variable is, who may know it, and what belongs together."""

import shlex
from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from sfumato.data.schema import Role, Special
from sfumato.workbench.commands import read_call, reading
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens import variable_edits as edits
from sfumato.workbench.screens.screen import Same, Screen, place_of
from sfumato.workbench.screens.variable_cards import cards, foremost, latest_look, look
from sfumato.workbench.screens.variable_rows import editor, rows

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


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say how a schema is written elsewhere."""
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--out", SCHEMA])
    code = (
        f"import sfumato\n\ndata = {read_call(draft, None)}\nsfumato.write_schema(data, {SCHEMA!r})\n"
        f"# edit {SCHEMA}, then\ndata = {read_call(draft)}"
    )
    return Same(f"{command}    # then edit {SCHEMA}, which stands below", code)


SCREEN = Screen(
    slug="variables",
    title="Variables",
    why="What an intruder may know and what a value means decide everything: which variables are keys, which are "
    "amounts, which column is the weight, the household, the id.",
    practice="confirm or correct every proposed role, take direct identifiers out, name weight and household, and look "
    "at every proposed copy: a copy that is not protected gives the original back.",
    view=view,
    actions={
        "say": edits.say,
        "many": edits.say_of_many,
        "choose": edits.choose,
        "confirm": edits.confirm,
        "accept": edits.accept,
        "dismiss": edits.dismiss,
        "ask_again": edits.ask_again,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=done,
    same=same,
)
