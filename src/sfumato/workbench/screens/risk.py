"""Screen 4, Risk now: what the file gives away as it is, by which values, and which key makes it so."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.compare.exposure import ASSUMED, Exposure, ScenarioExposure, coarsen_first, exposure
from sfumato.report.wording import percentage
from sfumato.table.microdata import Microdata
from sfumato.table.schema import ALL_KEYS, Scenario
from sfumato.workbench.commands import read_call, reading, recoded_first
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens import records_at_risk
from sfumato.workbench.screens.records_at_risk import RecordLine
from sfumato.workbench.screens.screen import SameCommand, Screen, place_of

Chances = tuple[tuple[str, ...], NDArray[np.float64]]  # the keys, and a chance for each record
RiskList = tuple[tuple[str, ...], tuple[RecordLine, ...]]

BEHAVES = {
    "id": "behaves like an id",
    "household": "behaves like the number of a household",
    "weight": "behaves like a survey weight",
    "labelled codes": "is read as a number, but may be codes",
}
NUMBERS = ("one value", "two values together", "three values together")


@dataclass(frozen=True)
class Bar:
    """The share of one key in what makes records special, and what would be left below k without it."""

    name: str
    place: int  # in the table; -1 if it is there no longer
    share: float  # of the SUDA scores
    width: float  # of its bar, of 100 for the greatest
    without: int
    saves: int
    first: bool  # whether it is one of those to coarsen first


@dataclass(frozen=True)
class IntruderView:
    """What one intruder finds, in words and bars."""

    found: ScenarioExposure
    name: str
    sentence: str
    largest: str
    bars: tuple[Bar, ...]
    first: tuple[Bar, ...]
    alone_on: tuple[tuple[str, int], ...]


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the risk if it is known already or asked for (now); else leave its place, from which it is asked for."""
    recoded = recoded_first(draft) is not None
    after = recoded and "after" in query
    schema = desk.table(draft).schema
    shown = "now" in query or desk.is_kept("exposure", _of(desk, draft, after=after))
    found = _exposure(desk, draft, after=after) if shown else None
    intruders = schema.intruders()
    above, upto = records_at_risk.between(query)
    keys, lines = _listed(desk, draft, query, records_at_risk.MAX_LISTED) if shown else ((), ())
    return {
        "found": found,
        "pictures": [
            records_at_risk.picture(_chances(desk, draft, one, after=after)[1])
            for one in (() if found is None else found.scenarios)
        ],
        "listed": place_of(query.get("list", "")),
        "above": above,
        "upto": upto,
        "list_keys": keys,
        "lines": lines,
        "seen": [] if found is None else _seen(schema.names, found),
        "places": max(len(intruders), 1),
        "declared": bool(schema.scenarios),
        "keys": schema.analysed(role="key"),
        "records": len(desk.table(draft)),
        "recoded": recoded,
        "changed": after,
        "behaves": BEHAVES,
    }


def _chances(desk: Desk, draft: Draft, seen: ScenarioExposure, *, after: bool) -> Chances:
    """Return the keys that an intruder of the page counts over, and the chance of each record."""
    data = _table(desk, draft, after=after)
    categories = data.schema.analysed("ordinal", "nominal", "date")
    every = (*data.schema.intruders(), Scenario(ASSUMED, categories))
    intruder = next(one for one in every if one.name == seen.name)
    of = f"{data.fingerprint} {intruder!r}"
    return desk.kept("chances", of, lambda: records_at_risk.record_chances(data, intruder))


def _listed(desk: Desk, draft: Draft, query: Mapping[str, str], most: int | None) -> RiskList:
    """Return the keys and the records at risk of the intruder that an address names."""
    after = recoded_first(draft) is not None and "after" in query
    scenarios = _exposure(desk, draft, after=after).scenarios
    place = place_of(query.get("list", ""))
    if place is None or place >= len(scenarios):
        return (), ()
    keys, chance = _chances(desk, draft, scenarios[place], after=after)
    return keys, records_at_risk.lines(
        _table(desk, draft, after=after), keys, chance, *records_at_risk.between(query), most
    )


def download(desk: Desk, draft: Draft, query: Mapping[str, str]) -> tuple[str, str]:
    """Return the name and the content of a file with all records at risk of a list."""
    return "records-at-risk.csv", records_at_risk.exported(*_listed(desk, draft, query, None))


def _of(desk: Desk, draft: Draft, *, after: bool) -> str:
    return f"{desk.form(draft)} {draft.schema} {repr(recoded_first(draft)) if after else ''}"


def _exposure(desk: Desk, draft: Draft, *, after: bool) -> Exposure:
    return desk.kept("exposure", _of(desk, draft, after=after), lambda: exposure(_table(desk, draft, after=after)))


def _table(desk: Desk, draft: Draft, *, after: bool) -> Microdata:
    """Return the file as it is, or after what every candidate begins with."""
    data, first = desk.table(draft), recoded_first(draft)
    return first.protect(data) if after and first is not None else data


def _seen(names: tuple[str, ...], found: Exposure) -> list[IntruderView]:
    return [_one(names, one, found.records) for one in found.scenarios]


def _one(names: tuple[str, ...], seen: ScenarioExposure, records: int) -> IntruderView:
    bars = _bars(names, seen)
    alone = tuple((words, number) for words, number in zip(NUMBERS, seen.alone_on, strict=False) if number)
    name = {ALL_KEYS: "somebody who knows all keys", ASSUMED: "somebody who knows all categories"}.get(
        seen.name, seen.name
    )
    first = coarsen_first(seen)
    ranked = sorted((bar for bar in bars if bar.name in first), key=lambda bar: first.index(bar.name))
    return IntruderView(seen, name, _sentence(seen, records), _one_in(seen.largest), bars, tuple(ranked), alone)


def _bars(names: tuple[str, ...], seen: ScenarioExposure) -> tuple[Bar, ...]:
    """Return the keys, those that contribute most first; without special uniques, those that save most."""
    first = coarsen_first(seen)
    shares = seen.contributions or dict.fromkeys(seen.keys, 0.0)
    most = max(shares.values(), default=0.0)
    return tuple(
        Bar(
            name=name,
            place=names.index(name) if name in names else -1,
            share=share,
            width=100 * share / most if most else 0.0,
            without=seen.without[name],
            saves=seen.below - seen.without[name],
            first=name in first,
        )
        for name, share in shares.items()
    )


def _sentence(seen: ScenarioExposure, records: int) -> str:
    """Say in one sentence what such an intruder would find."""
    expected = f"{seen.expected:,.0f}" if seen.expected >= 10 else f"{seen.expected:,.1f}"
    said = f"{expected} of {records:,} persons would be found, {percentage(seen.expected / records)}"
    if seen.with_household is not None:
        together = seen.with_household * records
        number = f"{together:,.0f}" if together >= 10 else f"{together:,.1f}"
        said += f"; with the others of their households {number}, {percentage(seen.with_household)}"
    return f"{said}."


def _one_in(chance: float) -> str:
    """Say a chance as one in so many.

    >>> _one_in(1.0), _one_in(0.5), _one_in(0.0004)
    ('certain', '1 in 2', '1 in 2,500')
    """
    return "certain" if chance > 0.999 else f"1 in {1 / chance:,.0f}" if chance > 0 else "none"


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how the risk is looked at elsewhere."""
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--schema", SCHEMA, "--risk"])
    code = (
        "import sfumato\nfrom sfumato.compare.exposure import coarsen_first, exposure\n\n"
        f"data = {read_call(draft)}\nfor seen in exposure(data).scenarios:\n"
        "    print(seen.name, seen.unique, seen.below, seen.expected, coarsen_first(seen))"
    )
    return SameCommand(command, code)


SCREEN = Screen(
    slug="risk",
    title="Risk now",
    why="This is what the file gives away as it is: the risk that protection has to take away.",
    practice="look at the rarest combinations one by one, and see which key makes most records rare: that is the one "
    "to coarsen first. Report the largest risk and the number of records beside the expectation: a mean hides.",
    view=view,
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    same=same,
    download=download,
    optional=True,
)
