"""Screen 6, Mask: candidates that the program proposes, and those that the steward puts together."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato import catalogue
from sfumato.compare.naming import in_words, short_names, steps_of
from sfumato.composition import Within
from sfumato.core import Method
from sfumato.data.formats import known_suffixes
from sfumato.data.microdata import Microdata
from sfumato.errors import SfumatoError
from sfumato.project.tables import read_protected
from sfumato.workbench import tries
from sfumato.workbench.commands import of_table, recoded_first, sweep_call, sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.method_forms import Field, fields_of, has_form
from sfumato.workbench.method_words import GROUPS, group_of
from sfumato.workbench.screens import mask_own
from sfumato.workbench.screens.screen import Done, Form, Refused, Same, Screen, place_of
from sfumato.workbench.suppression_form import SuppressionForm, inner_suppression, suppression_form
from sfumato.workbench.tries import Tried
from sfumato.workbench.uploads import inside

BREADTHS = {1: "some 10 to 25", 2: "about twice as many", 3: "all that may be worth trying"}


@dataclass(frozen=True)
class StepView:
    """One step of a chain."""

    name: str
    title: str
    sentence: str
    text: str
    has_form: bool


@dataclass(frozen=True)
class OwnView:
    """One candidate of the steward's own."""

    text: str
    name: str
    sentence: str
    steps: tuple[StepView, ...]
    trouble: str
    tried: Tried | None  # None: not asked for yet


@dataclass(frozen=True)
class Edited:
    """The step whose form is open."""

    candidate: int
    step: int
    name: str
    about: Any
    fields: tuple[Field, ...]
    suppression: SuppressionForm | None
    estimate: Tried | None
    refused: str  # what was typed so far and is no method


@dataclass(frozen=True)
class Choice:
    """One method in the list to choose from."""

    name: str
    title: str
    caveat: str
    reading: str
    not_here: str  # why it cannot be applied to this table


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show what every candidate begins with, the proposals if they were asked for, and one's own candidates."""
    data, first = desk.table(draft), recoded_first(draft)
    own = _own(desk, draft, data, query)
    shown = desk.is_kept("proposed", tries.proposed_from(desk, draft)) or query.get("show") == "proposals"
    proposals = tries.proposed(desk, draft) if shown and draft.proposed else None
    looked = desk.is_kept("dependencies", of_table(desk, draft)) or query.get("show") == "links"
    return {
        "records": len(data),
        "first": "" if first is None else in_words(first, data.schema),
        "breadths": BREADTHS,
        "proposals": None if proposals is None else _named(proposals),
        "own": own,
        "edited": _edited(desk, draft, data, query),
        "at": query.get("at", ""),
        "way": query.get("way", ""),
        "written": query.get("text", ""),
        "choices": _choices(data),
        "files": _files(desk, draft),
        "links": data.schema.links(),
        "found": tries.depends(desk, draft).found if looked else None,
        "most_records": tries.MOST_RECORDS,
    }


def _files(desk: Desk, draft: Draft) -> list[str]:
    """Name the files of the folder that may have been protected elsewhere, and those that were named already."""
    found = (path for path in desk.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    there = {path.name for path in found if path.suffix.lower() in known_suffixes()}
    return sorted((there | set(draft.elsewhere)) - {draft.source})


def _named(proposals: tuple[Any, ...]) -> list[dict[str, str]]:
    names = short_names({repr(one.method): one.method for one in proposals})
    return [{"text": repr(one.method), "name": names[repr(one.method)], "why": one.why} for one in proposals]


def _own(desk: Desk, draft: Draft, data: Microdata, query: Mapping[str, str]) -> list[OwnView]:
    methods = {text: mask_own.method_of(text) for text in draft.own}
    names, first = short_names(methods), recoded_first(draft)
    key = f"{of_table(desk, draft)} {draft.recodings} {draft.own}"
    troubles = desk.kept(
        "own that do not fit", key, lambda: [mask_own.unfit(data, first, steps_of(m)) for m in methods.values()]
    )
    shown = []
    for place, (text, method) in enumerate(methods.items()):
        asked = query.get("try") == str(place) or tries.is_tried(desk, draft, method)
        shown.append(
            OwnView(
                text,
                names[text],
                in_words(method, data.schema),
                tuple(_step(step, data) for step in steps_of(method)),
                troubles[place],
                tries.tried(desk, draft, method) if asked else None,
            )
        )
    return shown


def _step(step: Method, data: Microdata) -> StepView:
    inner = step.method if isinstance(step, Within) else step
    return StepView(type(inner).__name__, step.about.title, in_words(step, data.schema), repr(step), has_form(step))


def _edited(desk: Desk, draft: Draft, data: Microdata, query: Mapping[str, str]) -> Edited | None:
    """Return the form that is asked for, with an estimate if that is asked for too."""
    place, at = map(place_of, query.get("edit", "").partition(".")[::2])
    if place is None or at is None or place >= len(draft.own):
        return None
    steps = steps_of(mask_own.method_of(draft.own[place]))
    if at >= len(steps) or not has_form(steps[at]):
        return None
    step = steps[at]
    method = inner_suppression(step)
    estimate, refused, said = None, "", step
    if "parameter.form" in query:
        try:
            said = mask_own.read_changed(step, Form(list(query.items())), data)
        except SfumatoError as error:
            refused = str(error)
    if "estimate" in query and not refused:
        estimate = tries.step_tried(desk, draft, steps[:at], said)
    return Edited(
        place,
        at,
        type(step.method if isinstance(step, Within) else step).__name__,
        step.about,
        fields_of(step, data),
        None if method is None else suppression_form(step, method, data),
        estimate,
        refused,
    )


def _choices(data: Microdata) -> dict[str, list[Choice]]:
    """Return all methods by group; those that find nothing in this table say so."""
    groups: dict[str, list[Choice]] = {group: [] for group in GROUPS}
    for name, method in catalogue.methods().items():
        about = method.about
        lacks = "" if data.schema.analysed(*about.kinds) else f"no {' or '.join(about.kinds)} variable"
        if group_of(method) == "Weights" and data.schema.weight is None:
            lacks = "no weight is named"
        groups[group_of(method)].append(Choice(name, about.title, about.caveat, about.reading, lacks))
    order = {name: place for names in GROUPS.values() for place, name in enumerate(names)}
    return {group: sorted(found, key=lambda one: order.get(one.name, 99)) for group, found in groups.items()}


def propose(desk: Desk, draft: Draft, form: Form) -> Done:
    """Let the program propose candidates, or not, and how many."""
    breadth = form.whole("breadth", least=1, most=3)
    proposed = form.has("proposed")
    if not proposed and not draft.own and recoded_first(draft) is None:
        raise Refused("proposed", "without a candidate of your own there would be nothing to try; add one below first")
    said = f"candidates are proposed, {BREADTHS[breadth]}" if proposed else "only one's own candidates are tried"
    return Done(lambda old: old.but(proposed=proposed, breadth=breadth), said)


def elsewhere(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take files of the folder that were protected elsewhere as candidates."""
    chosen = tuple(dict.fromkeys(form.texts("file")))
    original = desk.table(draft)
    for name in chosen:
        path = inside(desk.folder, name)
        if not path.is_file() or name == draft.source:
            raise Refused("file", f"there is no other file {name} in the project's folder")
        if name in draft.elsewhere:
            continue
        try:
            read_protected(path, original, encoding=draft.encoding, delimiter=draft.delimiter, decimal=draft.decimal)
        except SfumatoError as error:
            raise Refused("file", f"{name}: {str(error).replace(str(path), name).removeprefix(f'{name}: ')}") from None
    said = f"protected elsewhere: {', '.join(chosen)}" if chosen else "no file protected elsewhere"
    return Done(lambda old: old.but(elsewhere=chosen), said)


def bring(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a file that was dropped on this page as a candidate, beside those that were named before."""
    name = form.text("name")
    if not name:
        raise Refused("file", "choose a file, or drop one here")
    return elsewhere(desk, draft, Form([*(("file", one) for one in draft.elsewhere), ("file", name)]))


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say the sweep of these candidates elsewhere."""
    command = shlex.join(["sfumato", *sweep_words(desk, draft)])
    return Same(command, f"import sfumato\n\n{sweep_call(desk, draft)}")


def _done(desk: Desk, draft: Draft) -> bool:
    return bool(draft.own or draft.elsewhere or replace(draft, proposed=True, breadth=1) != draft)


SCREEN = Screen(
    slug="mask",
    title="Mask",
    why="Where coarser values are not enough, values are blanked, changed or drawn anew. Every way costs something "
    "else.",
    practice="suppress a few percent of one or two variables, never of those that users group by; mask amounts by "
    "noise, swapping or groups of alike records; let the program propose, and add what your house uses.",
    view=view,
    actions={
        "propose": propose,
        "add": mask_own.add,
        "write": mask_own.write,
        "take": mask_own.take,
        "remove": mask_own.remove,
        "add_step": mask_own.add_step,
        "change_step": mask_own.change_step,
        "move_step": mask_own.move_step,
        "remove_step": mask_own.remove_step,
        "elsewhere": elsewhere,
        "bring": bring,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=_done,
    same=same,
    optional=True,
)
