"""Screen 3, Scenarios: who might look, what they know, and how many they would find."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.compare.exposure import Counts
from sfumato.data.schema import Scenario, Schema, Variable
from sfumato.errors import SfumatoError
from sfumato.workbench.commands import read_call, reading, recodings_of
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.living import live_of, still_known
from sfumato.workbench.screens.scenario_edits import ACTIONS, called
from sfumato.workbench.screens.scenario_presets import PRESETS
from sfumato.workbench.screens.screen import Same, Screen, place_of

FEW = 12  # variables that are found without a search
MANY_KEYS = 8  # from which on nearly everybody is alone
TOO_MANY_ALONE = 0.2  # of the records


@dataclass(frozen=True)
class Figure:
    """One number of a card: what it counts, the number, its share of the records, and the change by the last tick."""

    words: str
    number: float
    share: float
    change: str
    after: float | None  # the recodings, if there are any


@dataclass(frozen=True)
class Key:
    """A variable that may be ticked."""

    place: int  # in the table: names are no good as values of fields
    variable: Variable
    ticked: bool
    roughly: bool


@dataclass(frozen=True)
class Card:
    """One intruder as the page shows it."""

    place: int
    scenario: Scenario
    figures: tuple[Figure, ...]
    advice: tuple[str, ...]
    much: bool = False  # whether its keys tell so much that they should be coarser


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show all intruders with their numbers; one of them is open, to be changed (at)."""
    schema = desk.table(draft).schema
    live, recodings = live_of(desk, draft), recodings_of(draft)
    fitting = live.fitting(recodings)[0] if recodings else None
    declared = desk.stated(draft).scenarios
    at = _place(query.get("at", "0"), len(declared))
    before = called(query.get("was", ""))

    def card(place: int, scenario: Scenario) -> Card:
        try:
            counts = live.counts(scenario)
            known = still_known(scenario, draft)
            after = live.counts(known, fitting) if fitting and known is not None else None
        except SfumatoError as error:
            return Card(place, scenario, (), (str(error),))
        figures = () if counts is None else _figures(counts, after, before if place == at else None)
        advice = tuple(_advice(schema, counts))
        return Card(place, scenario, figures, advice, counts is not None and _is_much(counts))

    opened = declared[at] if declared else None
    assumed = [card(0, scenario) for scenario in schema.intruders()] if not declared else []
    weighed = schema.weight is not None
    searching = [card(0, replace(one.scenario, knows_membership=False)) for one in assumed if weighed]
    return {
        "cards": [card(place, scenario) for place, scenario in enumerate(declared)],
        "at": at,
        "assumed": assumed,
        "searching": searching,
        "keys": [] if opened is None else _keys(schema, opened, by_role=True),
        "others": [] if opened is None else _keys(schema, opened, by_role=False),
        "search": len(schema.analysed()) > FEW,
        "presets": PRESETS,
        "titles": {variable.name: variable.title for variable in schema},
        "records": len(live.data),
        "recoded": bool(fitting),
    }


def _place(said: str, number: int) -> int:
    """Return which card a query means; the last for one beyond."""
    return max(0, min(place_of(said) or 0, number - 1))


def _keys(schema: Schema, scenario: Scenario, *, by_role: bool) -> list[Key]:
    """Return the variables that may be ticked: those of the role key, or the others; what is ticked is always there."""
    usable = {*schema.analysed(), *scenario.keys}
    return [
        Key(place, variable, variable.name in scenario.keys, variable.name in scenario.about)
        for place, variable in enumerate(schema)
        if variable.name in usable and (variable.role == "key") is by_role
    ]


def _figures(counts: Counts, after: Counts | None, before: tuple[float, ...] | None) -> tuple[Figure, ...]:
    records = counts.records
    numbers = {
        "alone with what they know": [float(one.unique) for one in (counts, after) if one],
        f"with fewer than {counts.k} alike": [float(one.below) for one in (counts, after) if one],
        "would be found, in expectation": [one.expected for one in (counts, after) if one],
    }
    old = before if before and len(before) == len(numbers) else (None,) * len(numbers)
    made = []
    for (words, (number, *then)), was in zip(numbers.items(), old, strict=True):
        made.append(Figure(words, number, number / records, _change(was, number), then[0] if then else None))
    return tuple(made)


def _change(before: float | None, now: float) -> str:
    """Write how a number has changed, nothing if it has not.

    >>> _change(30.0, 242.0), _change(2.5, 2.0), _change(3.0, 3.0)
    ('+212', '−0.5', '')
    """
    if before is None or abs(now - before) < 0.05:
        return ""
    by = abs(now - before)
    return f"{'+' if now > before else '−'}{by:,.0f}" if by == int(by) else f"{'+' if now > before else '−'}{by:,.1f}"


def _advice(schema: Schema, counts: Counts | None) -> list[str]:
    if counts is None:
        return [
            "None of these keys can be counted over: nearly every record has a value of its own, or it is only known "
            "about. Tick another key, or cut this one into classes on Recode."
        ]
    said = []
    if counts.left_out:
        said.append(
            f"{_listed(schema, counts.left_out)}: nearly every record has a value of its own, so that counting says "
            "nothing. Say that it is only known about, or cut it into classes on Recode."
        )
    if counts.known_about:
        said.append(
            f"{_listed(schema, counts.known_about)}: known about and not exactly, so not counted over; how near a "
            "protected value may come to the true one is measured when candidates are compared."
        )
    if _is_much(counts):
        alone = counts.unique / counts.records
        many = f"{len(counts.keys)} keys are many" if len(counts.keys) > MANY_KEYS else "These keys tell much"
        said.append(
            f"{many}: {100 * alone:.0f} % of the records are alone with them. Leave out what such a person cannot "
            "know for sure, or coarsen the keys first; else protection would have to blank a large part of the file."
        )
    said += [f"Such a person does not know who took part: {note}." for note in counts.notes]
    return said


def _is_much(counts: Counts) -> bool:
    return len(counts.keys) > MANY_KEYS or counts.unique > TOO_MANY_ALONE * counts.records


def _listed(schema: Schema, names: tuple[str, ...]) -> str:
    return ", ".join(schema[name].title for name in names)


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say how scenarios are written and looked at elsewhere."""
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--schema", SCHEMA, "--risk"])
    code = ["import dataclasses", "", "import sfumato", "from sfumato.compare.live import Live", ""]
    code += [f"data = {read_call(draft)}"]
    declared = desk.stated(draft).scenarios
    if declared:
        said = "".join(f"    {scenario!r},\n" for scenario in declared)
        code[2:3] = ["import sfumato", "from sfumato import Scenario"]
        code += [
            f"scenarios = (\n{said})",
            f"sfumato.write_schema(dataclasses.replace(data.schema, scenarios=scenarios), {SCHEMA!r})",
        ]
    else:
        code = code[2:]
        code.append("scenarios = data.schema.intruders()")
    code += ["live = Live(data)", "for scenario in scenarios:", "    print(live.counts(scenario))"]
    return Same(command, "\n".join(code))


SCREEN = Screen(
    slug="scenarios",
    title="Scenarios",
    why="Nobody can be protected against everybody. A scenario says who might look, what that person knows, and how "
    "many records must look alike to them.",
    practice="name two to four intruders before any figure is seen: a register, an acquaintance, somebody who knows "
    "that a person took part. Few keys each; coarsen the others first.",
    view=view,
    actions=ACTIONS,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: draft.confirmed and bool(desk.stated(draft).scenarios),
    same=same,
)
