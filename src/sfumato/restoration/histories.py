"""What the other records of a person tell of a number that is blank in one: in a panel, age goes up with the wave.

A number follows a rule if it goes up or down by as much as another column does, or hardly moves, from record to record.
In memory it is then made missing in all records of a person. Repairs of a table in parts blank nothing: there it is an
alarm, wherever the records of a person can be put together, with a number of the person or without.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc
from scipy.stats import rankdata

from sfumato.data.households import units
from sfumato.data.microdata import Microdata
from sfumato.data.reassembly import Reassembled
from sfumato.restoration import wording
from sfumato.restoration.aims import Aim, aims
from sfumato.restoration.audit import FALSE_ALARMS
from sfumato.restoration.belonging import put_together
from sfumato.restoration.findings import Audit, Restored
from sfumato.restoration.guess import MANY, best_guess

PAIRS = 20  # of records of one unit, at least, to see a rule in how a number moves
RULED = 0.95  # of these must follow the rule
NEAR, MOSTLY = 0.05, 0.9  # a number hardly moves if so many pairs lie within so many of the records in rank
REACHED = 0.05  # of the blank values must be of units that can be put together, where these have no number

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class _Rule:
    """How a number moves within a unit: with another column, up or down, or, without one, hardly."""

    name: str
    beside: str = ""
    sign: int = 1


def told_by_others(original: Microdata, table: Microdata) -> list[str]:
    """Name the numbers that are blank in some records of a unit, and told by its other records though these differ.

    In a panel age goes up by as much as the wave does, so that one wave tells all; without the wave it still hardly
    moves. Among the members of a family it does neither. What members share is for the audit to see. Where the table
    has no number of the units, those count that can be put together by what their records share.
    """
    home = original.schema.household
    if home is None:
        return []
    names = [rule.name for rule in _rules(original, table)]
    if not names or home in table.columns:
        return names
    found = put_together(original, table)
    if found is None:
        return []
    lost = {name: table.missing(name) & ~original.missing(name) for name in names}
    return [name for name in names if found.whole[lost[name]].mean() >= REACHED]


def with_told_by_others(found: Audit, original: Microdata, table: Microdata, *, some: bool) -> Audit:
    """Return the audit with an alarm where the other records of a person tell a number that is blank in one.

    For tables whose units have no number. ``some``: these are some of the records, whose units are not complete. Then
    values are asked for only where another record of the unit is at hand, and where there are too few it is said. A
    number that hardly moves is right within ``NEAR`` of the records in rank.
    """
    home = original.schema.household
    if home is None or home in table.columns:
        return found
    unit = units(original)
    alone = np.bincount(unit)[unit] == 1
    lost = [
        name
        for name in table.schema.analysed("numeric", "date")
        if name in original.columns and (table.missing(name) & ~original.missing(name)).any()
    ]
    if some and lost and np.count_nonzero(~alone) < 2 * PAIRS:
        return replace(found, notes=(*found.notes, _unseen(lost)))
    together = put_together(original, table)
    if together is None:
        return found
    alarms, unseen = [], []
    rules = _rules(original, table)
    for rule in rules:
        near = found.near if rule.beside else max(found.near, NEAR)
        aim = next(
            (one for one in aims(original, table, near) if (one.name, one.level) == (rule.name, "as published")), None
        )
        if aim is None:
            continue
        asked = table.missing(rule.name)[aim.cells] & ~(alone[aim.cells] & some)
        if np.count_nonzero(asked) < MANY:
            unseen += [rule.name] if some else []
            continue
        told = _told(rule, aim, asked, unit, table, together)
        if told.excess > found.margin and _luck(told, unit[aim.cells[asked]]) < FALSE_ALARMS / len(rules):
            alarms.append(told)
    notes = (*found.notes, _unseen(unseen)) if unseen else found.notes
    return _with(replace(found, notes=notes), alarms) if alarms else replace(found, notes=notes)


def _with(found: Audit, alarms: list[Restored]) -> Audit:
    alarms = sorted(alarms, key=lambda one: (-one.excess * one.values**0.5, one.variable))
    names = wording.listed([one.variable for one in alarms])
    repair = (
        f"suppress {names} in all records of a person together or leave it out, or coarsen what puts them together, "
        "such as the weight with WeightMasking('classes')"
    )
    before = found["household"]
    repair = f"{before.repair}; {repair}" if before.alarm else repair
    route = replace(
        before,
        worst=before.worst if before.alarm else alarms[0],
        by_variable=(*alarms, *before.by_variable),
        untried="",
        verdict=before.verdict if before.alarm else wording.verdict(alarms[0]),
        repair=repair,
    )
    routes = tuple(route if one.name == "household" else one for one in found.routes)
    return replace(found, routes=routes, verdict=wording.overall(routes, dict(found.protected)))


def _told(rule: _Rule, aim: Aim, asked: Mask, unit: Rows, table: Microdata, together: Reassembled) -> Restored:
    """Return what an intruder gets right who puts the records of a person together and follows the rule."""
    cells = aim.cells[asked]
    shown = table.columns[rule.name]
    answers = _usual(shown, unit)
    if rule.beside:
        step = rule.sign * table.columns[rule.beside]
        by_rule = _usual(shown - step, unit) + step
        answers = np.where(np.isnan(by_rule), answers, by_rule)
    answers = np.where(together.whole, answers, np.nan)[cells]
    beside = (rule.beside,) if rule.beside else ()
    how = f"other records alike in {wording.listed(together.by)}"
    guess = best_guess(aim)
    right, exact = aim.right(cells, answers)
    answered = ~np.isnan(answers)
    guessed_exactly = aim.right(aim.cells, guess.values)[1][asked]
    return Restored(
        variable=aim.name,
        level=aim.level,
        evidence=(how if beside else f"{how}, within {NEAR:.0%} of the records", *beside),
        values=len(cells),
        restored=float(np.where(answered, right, guess.right[asked]).mean()),
        exactly=float(np.where(answered, exact, guessed_exactly).mean()),
        guess=float(guess.right[asked].mean()),
        holds=None,
        learnt="the file",
        reading="restores",
        columns=(*together.by, *beside),
    )


def _usual(values: Floats, unit: Rows) -> Floats:
    """Return for each record the median of its unit's values, the lower of two; NaN where the unit has none."""
    there = np.flatnonzero(~np.isnan(values))
    order = there[np.lexsort((values[there], unit[there]))]
    counts = np.bincount(unit[there], minlength=int(unit.max()) + 1)
    first = np.cumsum(counts) - counts
    middle = np.full(len(counts), np.nan)
    some = counts > 0
    middle[some] = values[order[first[some] + (counts[some] - 1) // 2]]
    return np.asarray(middle[unit])


def _luck(told: Restored, unit: Rows) -> float:
    """Return the probability that a guess gets so many right; the values of one unit count as one."""
    independent = len(np.unique(unit))
    return float(bdtrc(np.floor(told.restored * independent + 1e-9) - 1, independent, told.guess))


def _unseen(names: list[str]) -> str:
    return (
        f"whether other records of a person tell the blank values of {wording.listed(names)} was not judged: too few "
        "of the records audited are of one person"
    )


def _rules(original: Microdata, table: Microdata) -> list[_Rule]:
    """Return the numbers that are blank in some records and follow a rule within the units of the original."""
    unit = units(original)
    order = np.argsort(unit, kind="stable")
    later = np.flatnonzero(unit[order][1:] == unit[order][:-1]) + 1
    if len(later) < PAIRS:
        return []
    pairs = order[later - 1], order[later]
    shown = [name for name in table.schema.analysed("numeric", "date") if name in original.columns]
    shown = [name for name in shown if original.schema[name].quantitative]
    moves = {name: original.columns[name][pairs[1]] - original.columns[name][pairs[0]] for name in shown}
    found = []
    for name in shown:
        move = moves[name]
        if not (table.missing(name) & ~original.missing(name)).any() or not (np.nan_to_num(move) != 0).any():
            continue
        others = ((other, _goes_alike(move, moves[other])) for other in shown if other != name)
        rule = next((_Rule(name, other, sign) for other, sign in others if sign), None)
        if rule is None and _hardly_moves(original.columns[name], pairs):
            rule = _Rule(name)
        if rule is not None:
            found.append(rule)
    return found


def _goes_alike(move: Floats, other: Floats) -> int:
    """Return 1 if a number goes up by as much as another does, -1 if it goes down by it, 0 if neither."""
    there = ~np.isnan(move) & ~np.isnan(other) & (other != 0)
    if np.count_nonzero(there) < PAIRS:
        return 0
    return next((sign for sign in (1, -1) if np.isclose(move[there], sign * other[there]).mean() >= RULED), 0)


def _hardly_moves(column: Floats, pairs: tuple[Rows, Rows]) -> bool:
    there = ~np.isnan(column)
    rank = np.full(len(column), np.nan)
    rank[there] = rankdata(column[there]) / np.count_nonzero(there)
    apart = np.abs(rank[pairs[1]] - rank[pairs[0]])
    apart = apart[~np.isnan(apart)]
    return len(apart) >= PAIRS and float((apart <= NEAR).mean()) >= MOSTLY
