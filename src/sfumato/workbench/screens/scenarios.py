"""Screen 3, Scenarios: who might look, what they know, and how many they would find."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from sfumato.compare.exposure import Counts
from sfumato.compare.live import Live
from sfumato.errors import SfumatoError
from sfumato.table.schema import ALL_KEYS, Scenario, Schema, Variable
from sfumato.workbench.commands import read_call, reading, recodings_of
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of
from sfumato.workbench.tries import live_of, still_known

# Intruders to begin with: who they are, and which variables of a table they are likely to know

# words of names and labels, by what they speak of; each is the beginning of a word, as in "age", "agegroup", "age_head"
WORDS = {
    "sex": "sex gender geschlecht sexe sexo genre",
    "age": "age birth born yob dob alter geburt edad naissance nacimiento",
    "place": "region town city county district municip province state zip postal postcode postcod plz urban rural "
    "village commune gemeinde kreis ort comuna department canton area country land",
    "family": "marital married civil relation hhsize size children child kids family famil kinder menage hogar",
    "origin": "nation citizen ethnic race origin birthplace migra religion language herkunft",
    "schooling": "edu school degree diploma qualif bildung schul etude",
    "work": "occup job profession industry isco nace sector employ work labour labor beruf branche metier",
    "money": "income earn wage salar pay rent turnover expend spend wealth einkommen lohn revenu ingreso",
    "home": "tenure owner dwelling house home rooms car vehicle wohn",
}
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Preset:
    """An intruder in plain words, and what such a person is likely to know."""

    name: str
    about: str
    topics: tuple[str, ...]  # none: whatever has the role key
    roughly: tuple[str, ...] = ()  # numbers known about, but not exactly
    knows_membership: bool = True


PRESETS = {
    "register": Preset(
        "register match",
        "has a register of the whole population and matches it with the file; does not know who took part",
        ("sex", "age", "place", "family", "origin"),
        knows_membership=False,
    ),
    "neighbour": Preset(
        "neighbour or colleague",
        "recognises a person by what one sees and hears of them; knows amounts only about",
        ("sex", "age", "place", "family", "schooling", "work", "home", "money"),
        roughly=("money",),
    ),
    "took part": Preset(
        "knows who took part",
        "knows that a person is in the file, and all that your keys say of that person",
        (),
    ),
    "firm": Preset(
        "firm with customer data",
        "has addresses, ages and means of its customers, but does not know which of them took part",
        ("sex", "age", "place", "family", "home", "money"),
        roughly=("money",),
        knows_membership=False,
    ),
}


def proposed(preset: Preset, schema: Schema) -> Scenario | None:
    """Return the intruder with the keys such a person is likely to know; None where nothing could be a key at all.

    Variables are told by the words of their names and labels; where these tell nothing, the keys by role are taken.
    What is confidential is only known about, if at all.

    >>> schema = Schema((Variable("Sex", "nominal", "key"), Variable("region", "nominal", "key"), Variable("income")))
    >>> proposed(PRESETS["register"], schema).keys
    ('Sex', 'region')
    """
    usable = [schema[name] for name in schema.analysed()]
    keys = [variable for variable in usable if variable.role == "key"]
    known = _speaking_of(keys, preset.topics)
    known += _speaking_of((v for v in usable if v not in keys and v.role != "confidential"), preset.topics)
    known += _speaking_of((v for v in usable if v.role == "confidential"), preset.roughly)
    chosen = known or keys or [v for v in usable if not v.quantitative][:1] or usable[:1]
    names = [name for name in schema.names if any(variable.name == name for variable in chosen)]
    if not names:
        return None
    roughly = {v.name for v in _speaking_of(usable, preset.roughly) if v.quantitative}
    about = tuple(name for name in names if name in roughly)
    return Scenario(preset.name, tuple(names), about=about, knows_membership=preset.knows_membership)


def _speaking_of(variables: Iterable[Variable], topics: tuple[str, ...]) -> list[Variable]:
    begins = tuple(word for topic in topics for word in WORDS[topic].split())
    return [variable for variable in variables if begins and any(word.startswith(begins) for word in _words(variable))]


def _words(variable: Variable) -> list[str]:
    """Return the words of a name and a label, in small letters."""
    told = CAMEL.sub(" ", f"{variable.name} {variable.label}").lower()
    return re.findall(r"[^\W\d_]+", told)


# Changes of the intruders: a new one, what one knows, a copy, and none

MAX_NAME_LENGTH = 100  # characters of a name
MAX_K = 1000
MAX_INTRUDERS = 30  # intruders
SEARCHING = "all of a register"  # who knows all keys of everybody, but not who took part


def add(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Add an intruder: one of the presets, or the one who knows all keys, to be changed."""
    schema = desk.table(draft).schema
    there = desk.stated(draft).scenarios
    if len(there) >= MAX_INTRUDERS:
        raise Refused("preset", f"there are {MAX_INTRUDERS} intruders already; remove one first")
    preset = PRESETS.get(form.text("preset"))
    if preset is not None:
        made = _countable(live_of(desk, draft), proposed(preset, schema))
    else:
        keys = schema.analysed(role="key") or schema.analysed()[:1]
        knows = form.text("preset") != SEARCHING
        named = ("an intruder" if there else ALL_KEYS) if knows else SEARCHING
        made = Scenario(named, keys, knows_membership=knows) if keys else None
    if made is None:
        raise Refused("preset", "no variable is left that anybody could know: on Variables, give some the role key")
    made = replace(made, name=_free(made.name, there))
    return _done(desk, draft, (*there, made), f"added the intruder {made.name}", goto=f"scenarios?at={len(there)}")


def _countable(live: Live, scenario: Scenario | None) -> Scenario | None:
    """Leave out of a proposal what nearly every record has a value of its own in, unless nothing else is in it."""
    counts = None if scenario is None else live.counts(scenario)
    if scenario is None or counts is None:
        return scenario
    return scenario.only(name for name in scenario.keys if name not in counts.left_out)


def keep(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take over what is ticked and typed of one intruder."""
    there = desk.stated(draft).scenarios
    place = form.whole("place", least=0, most=max(len(there) - 1, 0)) if there else 0
    if not there:
        raise Refused("", "this intruder was removed in another tab")
    old, names = there[place], desk.table(draft).names
    name = form.text("name")
    if not name or len(name) > MAX_NAME_LENGTH:
        raise Refused("name", f"give this intruder a name of at most {MAX_NAME_LENGTH} characters, such as: neighbour")
    if any(other.name == name for number, other in enumerate(there) if number != place):
        raise Refused("name", f"another intruder is called {name} already; give each a name of its own")
    ticked = _named(names, form.texts("keys"))
    if not ticked:
        raise Refused(
            "keys", "tick at least one key: who knows nothing finds nobody. Until then this intruder stays as it was"
        )
    about = tuple(one for one in _named(names, form.texts("about")) if one in ticked)
    k = form.whole("k", least=2, most=MAX_K)
    new = Scenario(name, ticked, k, about, form.has("knows_membership"))
    before = _figures_before(desk, draft, old)
    changed = (*there[:place], new, *there[place + 1 :])
    return _done(desk, draft, changed, _told(old, new), goto=f"scenarios?at={place}{before}")


def duplicate(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Add a copy of an intruder."""
    there = desk.stated(draft).scenarios
    place = form.whole("place", least=0, most=max(len(there) - 1, 0))
    if not there or len(there) >= MAX_INTRUDERS:
        raise Refused("", f"there are {len(there)} intruders; at most {MAX_INTRUDERS} can be kept")
    copy = replace(there[place], name=_free(there[place].name, there))
    changed = (*there[: place + 1], copy, *there[place + 1 :])
    return _done(desk, draft, changed, f"copied the intruder {there[place].name}", goto=f"scenarios?at={place + 1}")


def remove(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Remove an intruder."""
    there = desk.stated(draft).scenarios
    place = form.whole("place", least=0, most=max(len(there) - 1, 0))
    gone = there[place : place + 1]
    changed = (*there[:place], *there[place + 1 :])
    told = f"removed the intruder {gone[0].name}" if gone else ""
    return _done(desk, draft, changed, told, goto=f"scenarios?at={max(place - 1, 0)}")


def called(said: str) -> tuple[float, ...] | None:
    """Return the numbers that a card had before the last tick; None for what is none.

    >>> called("3,41,5.25"), called("3,x"), called("nan,1,1")
    ((3.0, 41.0, 5.25), None, None)
    """
    try:
        numbers = tuple(float(part) for part in said.split(",")) if len(said) < 200 else ()
    except ValueError:
        return None
    return numbers if numbers and all(map(isfinite, numbers)) else None


def _figures_before(desk: Desk, draft: Draft, scenario: Scenario) -> str:
    """Return the numbers of an intruder as a part of an address, so that the next page tells the change."""
    try:
        counts = live_of(desk, draft).counts(scenario)
    except SfumatoError:
        return ""
    return "" if counts is None else f"&was={counts.unique},{counts.below},{counts.expected!r}"


def _named(names: tuple[str, ...], places: list[str]) -> tuple[str, ...]:
    """Return the variables at these places, in the order of the table."""
    wanted = set(map(place_of, places))
    return tuple(name for place, name in enumerate(names) if place in wanted)


def _free(name: str, there: tuple[Scenario, ...]) -> str:
    """Return a name that no other intruder has.

    >>> _free("firm", (Scenario("firm", ("a",)), Scenario("firm 2", ("a",))))
    'firm 3'
    """
    taken = {scenario.name for scenario in there}
    base, number = name, 1
    while name in taken:
        number += 1
        name = f"{base} {number}"
    return name


def _told(old: Scenario, new: Scenario) -> str:
    """Say what has changed of an intruder, for the journal."""
    said = []
    if new.name != old.name:
        said.append(f"was {old.name}")
    more, fewer = [n for n in new.keys if n not in old.keys], [n for n in old.keys if n not in new.keys]
    said += [f"knows {', '.join(more)}"] if more else []
    said += [f"no longer knows {', '.join(fewer)}"] if fewer else []
    if new.k != old.k:
        said.append(f"k = {new.k}")
    roughly = [name for name in new.about if name not in old.about]
    exactly = [name for name in old.about if name not in new.about and name in new.keys]
    said += [f"knows {', '.join(roughly)} only about"] if roughly else []
    said += [f"knows {', '.join(exactly)} exactly"] if exactly else []
    if new.knows_membership != old.knows_membership:
        said.append("knows who took part" if new.knows_membership else "does not know who took part")
    return f"{new.name}: {'; '.join(said) or 'as it was'}"


def _done(desk: Desk, draft: Draft, scenarios: tuple[Scenario, ...], what: str, *, goto: str) -> ActionResult:
    stated: Schema = desk.stated(draft)
    text = desk.restated(replace(stated, scenarios=scenarios)) if scenarios != stated.scenarios else draft.schema
    return ActionResult(lambda old: old.but(schema=text), what, goto=goto)


ACTIONS: Mapping[str, Callable[[Desk, Draft, Form], ActionResult]] = {
    "add": add,
    "keep": keep,
    "duplicate": duplicate,
    "remove": remove,
}


# the screen

MAX_WITHOUT_SEARCH = 12  # variables that are found without a search
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
        "search": len(schema.analysed()) > MAX_WITHOUT_SEARCH,
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


def same(desk: Desk, draft: Draft) -> SameCommand | None:
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
    return SameCommand(command, "\n".join(code))


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
