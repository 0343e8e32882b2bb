"""Changes of the intruders: a new one, what one knows, a copy, and none."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite

from sfumato.compare.live import Live
from sfumato.data.schema import ALL_KEYS, Scenario, Schema
from sfumato.errors import SfumatoError
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.living import live_of
from sfumato.workbench.screens.scenario_presets import PRESETS, proposed
from sfumato.workbench.screens.screen import Done, Form, Refused, place_of

LONGEST = 100  # characters of a name
MOST_K = 1000
MOST = 30  # intruders
SEARCHING = "all of a register"  # who knows all keys of everybody, but not who took part


def add(desk: Desk, draft: Draft, form: Form) -> Done:
    """Add an intruder: one of the presets, or the one who knows all keys, to be changed."""
    schema = desk.table(draft).schema
    there = desk.stated(draft).scenarios
    if len(there) >= MOST:
        raise Refused("preset", f"there are {MOST} intruders already; remove one first")
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


def keep(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take over what is ticked and typed of one intruder."""
    there = desk.stated(draft).scenarios
    place = form.whole("place", least=0, most=max(len(there) - 1, 0)) if there else 0
    if not there:
        raise Refused("", "this intruder was removed in another tab")
    old, names = there[place], desk.table(draft).names
    name = form.text("name")
    if not name or len(name) > LONGEST:
        raise Refused("name", f"give this intruder a name of at most {LONGEST} characters, such as: neighbour")
    if any(other.name == name for number, other in enumerate(there) if number != place):
        raise Refused("name", f"another intruder is called {name} already; give each a name of its own")
    ticked = _named(names, form.texts("keys"))
    if not ticked:
        raise Refused(
            "keys", "tick at least one key: who knows nothing finds nobody. Until then this intruder stays as it was"
        )
    about = tuple(one for one in _named(names, form.texts("about")) if one in ticked)
    k = form.whole("k", least=2, most=MOST_K)
    new = Scenario(name, ticked, k, about, form.has("knows_membership"))
    before = _figures(desk, draft, old)
    changed = (*there[:place], new, *there[place + 1 :])
    return _done(desk, draft, changed, _told(old, new), goto=f"scenarios?at={place}{before}")


def duplicate(desk: Desk, draft: Draft, form: Form) -> Done:
    """Add a copy of an intruder."""
    there = desk.stated(draft).scenarios
    place = form.whole("place", least=0, most=max(len(there) - 1, 0))
    if not there or len(there) >= MOST:
        raise Refused("", f"there are {len(there)} intruders; at most {MOST} can be kept")
    copy = replace(there[place], name=_free(there[place].name, there))
    changed = (*there[: place + 1], copy, *there[place + 1 :])
    return _done(desk, draft, changed, f"copied the intruder {there[place].name}", goto=f"scenarios?at={place + 1}")


def remove(desk: Desk, draft: Draft, form: Form) -> Done:
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


def _figures(desk: Desk, draft: Draft, scenario: Scenario) -> str:
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


def _done(desk: Desk, draft: Draft, scenarios: tuple[Scenario, ...], what: str, *, goto: str) -> Done:
    stated: Schema = desk.stated(draft)
    text = desk.restated(replace(stated, scenarios=scenarios)) if scenarios != stated.scenarios else draft.schema
    return Done(lambda old: old.but(schema=text), what, goto=goto)


ACTIONS: Mapping[str, Callable[[Desk, Draft, Form], Done]] = {
    "add": add,
    "keep": keep,
    "duplicate": duplicate,
    "remove": remove,
}
