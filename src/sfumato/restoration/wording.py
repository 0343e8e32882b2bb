"""What an audit says in sentences: verdicts, examples, and the repair to take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data import dates, toml_text
from sfumato.restoration.aims import spelled
from sfumato.restoration.findings import Example, Name, Restored, Route
from sfumato.restoration.trials import Trial

if TYPE_CHECKING:
    from sfumato.data.microdata import Microdata
    from sfumato.data.schema import Kind, Schema
    from sfumato.restoration.routes import Setting

SHOWN = 3  # examples of a route


def verdict(worst: Restored) -> str:
    """Say what the worst variable of a route loses by it."""
    what = f"{worst.restored:.1%} of {_counted(worst.values, 'protected value')} of {worst.variable}"
    from_what = f" from {' and '.join(worst.evidence)}" if worst.evidence else ""
    exactly = " exactly" if worst.basis == "exactly" else ""
    guess = "a guess from the file alone" if worst.basis == "the file alone" else "the best guess"
    said = f"{what}{exactly}{from_what}, against {worst.guess:.1%} by {guess}"
    if worst.exactly < worst.restored and worst.basis != "exactly":
        said += f"; {worst.exactly:.1%} to the last digit, the others near"
    return {
        "restores": f"restores {said}",
        "association": f"gives {said}: an association, no way back",
        "luck": f"gives {said}: too few to tell from luck",
        "nothing": f"restores nothing ({said})",
    }[worst.reading]


def repair(name: Name, alarms: Sequence[Restored], schema: "Schema") -> str:
    """Say what closes a route."""
    variables = listed(list(dict.fromkeys(found.variable for found in alarms)))
    columns = listed(sorted({column for found in alarms for column in found.evidence}))
    telling = listed([f"{' with '.join(found.evidence)} tells {found.variable}" for found in alarms])
    equal = listed([f"{found.variable} = {' '.join(found.evidence)}" for found in alarms], most=2)
    return {
        "weight": f"coarsen the weight, add noise to it or rake it to margins, so that it no longer tells {variables}",
        "order": f"write the records in random order: their neighbours tell {variables}",
        "household": f"suppress or change {variables} for all members of a household together",
        "ids": f"give new ids in random order: {columns} tells {variables}",
        "columns": f"{_linking(alarms, schema)}drop one or treat both alike: {telling}",
        "combinations": f"declare linked = [...] for what is made of others, or drop or coarsen one of each: {telling}",
        "sums": f"declare linked = [...] for the total, or mask the parts as well, or drop one: {equal}",
        "text": f"leave the text out, or clear it of what it says of the record: {telling}",
        "beside": f"derive this release from the other one: the two together tell {variables}",
    }[name]


def _linking(alarms: Sequence[Restored], schema: "Schema") -> str:
    """Say which links to declare, as schema.toml has them, where they are not declared already."""
    pairs = dict.fromkeys((found.evidence[0], found.variable) for found in alarms if len(found.evidence) == 1)
    lines = [
        f"linked = {toml_text.quoted(source)} under [variables.{toml_text.key(name)}]"
        for name, source in pairs
        if name in schema and name not in schema.special().values() and not _linked(schema, name, source)
    ]
    return f"declare {listed(lines, most=2)}, so that it follows, or " if lines else ""


def _linked(schema: "Schema", name: str, source: str) -> bool:
    """Tell whether a variable is linked to another, straight or by others, in whichever direction."""
    links = {variable.name: variable.sources for variable in schema.links()}

    def reaches(start: str, end: str) -> bool:
        return any(step == end or reaches(step, end) for step in links.get(start, ()))

    return reaches(name, source) or reaches(source, name)


def examples(
    name: Name, judged: Sequence[tuple[Restored, Trial]], setting: "Setting", records: NDArray[np.intp]
) -> tuple[Example, ...]:
    """Return values given back that the guess misses."""
    told = []
    for found, trial in judged:
        for at in np.flatnonzero(_given_back(found, trial) & trial.answered)[:SHOWN]:
            row = trial.rows[[at]]
            aim = trial.target.aim
            level = aim.truth.levels[aim.truth.codes[row[0]]]
            true = _written(level, setting.original.schema[aim.name].kind)
            gone = aim.name not in setting.protected.columns
            published = "not published" if gone else spelled(setting.protected, aim.name, row)[0]
            how = _how(name, trial, setting.protected, int(row[0]))
            told.append(Example(int(records[row[0]]) + 1, aim.name, published, true, how, exact=bool(trial.exact[at])))
    return tuple(told[:SHOWN])


def _given_back(found: Restored, trial: Trial) -> NDArray[np.bool_]:
    """Tell which values are right that the guess misses."""
    target = trial.target
    if found.basis == "exactly":
        return trial.exact & ~target.guessed_exactly[np.searchsorted(target.aim.cells, trial.rows)]
    if found.basis == "the file alone" and target.unaware is not None:
        return trial.right & (target.unaware[trial.rows] < 1)
    return trial.right & ~target.guessed(trial.rows)[1]


def _written(level: Any, kind: "Kind") -> str:
    if isinstance(level, str):  # a class of a number or date, which is what is published of it
        return level
    if kind == "date":
        return dates.spelled(float(level))
    return f"{level:.15g}" if kind == "numeric" else str(level)


def _how(name: Name, trial: Trial, protected: "Microdata", row: int) -> str:
    if name == "order":
        return "the rows before and after it"
    if name == "household":
        shown = trial.evidence.shown[0]
        known = shown in protected.columns
        return f"others with {shown} = {spelled(protected, shown, np.array([row]))[0]}" if known else shown
    values = []
    for column in trial.evidence.shown:
        known = column in protected.columns
        values.append(f"{column} = {spelled(protected, column, np.array([row]))[0]}" if known else column)
    return ", ".join(values)


def overall(routes: Sequence[Route], protected: dict[str, int]) -> str:
    """Say in a sentence whether the file keeps what was protected."""
    values = sum(protected.values())
    if not values:
        return "Nothing to restore: no value of the file differs from the original."
    about = f"{_counted(values, 'protected value')} of {_counted(len(protected), 'variable')}"
    alarms = [route for route in routes if route.alarm]
    if not alarms:
        return f"The file keeps what was protected: {_beyond_guessing(routes, about)}."
    return f"The file gives protected values back by {_counted(len(alarms), 'route')}, of {about}: " + ", ".join(
        route.title for route in alarms
    )


def _beyond_guessing(routes: Sequence[Route], about: str) -> str:
    """Say of routes that restore nothing which of them tell more than a guess does, and how."""
    readings = [route.worst.reading for route in routes if route.worst is not None]
    hows = {"association": "association", "luck": "what may be luck"}
    said = [f"{readings.count(reading)} by {how}" for reading, how in hows.items() if reading in readings]
    if not said:
        return f"no route tells more of {about} than a guess does"
    more = sum(reading in hows for reading in readings)
    tell = "tells" if more == 1 else "tell"
    return f"no route leads back to {about}; {more} of {len(readings)} {tell} more than a guess does, {', '.join(said)}"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' if number != 1 else ''}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """List names in a sentence, the first few of them."""
    shown = list(names[:most])
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
