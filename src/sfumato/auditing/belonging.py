"""Who belongs together in a file, and what that tells: by the number of the unit, by a copy of it, or without it.

The audit asks the other members of a household for the value that a record lacks. The size of the household they tell
without having it: it can be counted, from the number or from what members share.

The other records of a person tell of a number that is blank in one: in a panel, age goes up with the wave. A number
follows a rule if it goes up or down by as much as another column does, or hardly moves, from record to record. In
memory it is then made missing in all records of a person. Repairs of a table in parts blank nothing: there it is an
alarm, wherever the records of a person can be put together, with a number of the person or without.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.audit import FALSE_ALARMS, with_alarms
from sfumato.auditing.findings import Audit, Restored, listed
from sfumato.auditing.targets import MIN_IN_BAND, Floats, Integers, Mask, Rows, Target, luck, targets_of
from sfumato.table.households import Reassembled, by_size, reassembled, shared_columns, sizes, units
from sfumato.table.microdata import Microdata

MANY_UNITS = 20  # from which a column with as many values is a number of them
# of the values that are there must agree with the id, so that a wrong or missing one hides no copy
MIN_AGREEMENT_WITH_ID = 0.99
DIGITS = 15  # of a number that a float holds

MIN_SHARE_REBUILT = 0.05  # of the persons who live with others: the share from which it is worth a word

MIN_PAIRS = 20  # of records of one unit, at least, to see a rule in how a number moves
MIN_SHARE_BY_RULE = 0.95  # of these must follow the rule
# a number hardly moves if so many pairs lie within so many of the records in rank
MAX_RANK_DISTANCE, MIN_SHARE_NEAR = 0.05, 0.9
MIN_SHARE_REACHED = 0.05  # of the blank values must be of units that can be put together, where these have no number


def copies_of_names(original: Microdata, table: Microdata) -> list[str]:
    """Name the columns of a table that are the id or the number of the household once more.

    Records are those of the original, in its order. An amount that happens to differ from unit to unit, such as income,
    is no copy: a number must go up or down with the id, or count the units without gaps, or consist of the ids; a text
    must hold the id, or go with it likewise. A text of which each household has its own is a copy of its number. Keys
    and confidential variables are what a release is for: they are no copies of the id, whatever they look like.
    """
    if len(table) != len(original):
        return []
    schema = original.schema
    offered = [name for name in table.names if name not in table.schema.special().values()]
    found = []
    if schema.id is not None:
        free = [name for name in offered if table.schema[name].role == "other"]
        found += [name for name in free if _is_id(original, schema.id, table, name)]
    if schema.household is not None:
        homes = units(original)
        there = ~original.missing(schema.household)
        found += [name for name in offered if name not in found and _numbers_homes(table, name, homes, there)]
    return found


def _is_id(original: Microdata, identity: str, table: Microdata, name: str) -> bool:
    there = ~original.missing(identity) & ~table.missing(name)
    if not _one_to_one(np.arange(len(table)), table.columns[name], there) or table.schema[name].kind == "date":
        return False
    ids, values = texts(original, identity, there), texts(table, name, there)
    numeric = table.schema[name].kind == "numeric"
    if numeric and not _whole(table.columns[name][there]):
        return False
    if np.isin(values, ids).mean() >= MIN_AGREEMENT_WITH_ID or (not numeric and _held(ids, values)):
        return True
    return _go_together(_number(ids), _number(values))


def _numbers_homes(table: Microdata, name: str, homes: Integers, there: Mask) -> bool:
    there = there & ~table.missing(name)
    column = table.columns[name]
    if not _one_to_one(homes, column, there):
        return False
    if table.schema[name].kind != "numeric":
        return True
    values, first = np.unique(column[there], return_index=True)
    return _go_together(homes[there][first].astype(np.float64), values) or float(np.ptp(values)) == len(values) - 1


def _one_to_one(unit: Integers, column: NDArray[Any], there: Mask) -> bool:
    """Tell whether the values that are there and the units go with each other one by one, but for a few."""
    values, codes = np.unique(column[there], return_inverse=True)
    number = len(np.unique(unit[there]))
    if min(len(values), number) < MANY_UNITS:
        return False
    pairs = len(np.unique(codes.astype(np.int64) * (int(unit.max()) + 1) + unit[there]))
    return min(len(values), number) >= MIN_AGREEMENT_WITH_ID * pairs


def _whole(values: Floats) -> bool:
    return bool((values == np.floor(values)).all())


def texts(table: Microdata, name: str, there: Mask) -> NDArray[Any]:
    """Return values as they are written."""
    column, variable = table.columns[name][there], table.schema[name]
    if variable.quantitative:
        return np.array([f"{value:.15g}" for value in column])
    return np.asarray(np.array([_written(category) for category in variable.categories])[column])


def _written(category: object) -> str:
    return f"{category:.15g}" if isinstance(category, float) else str(category)


def _held(ids: NDArray[Any], values: NDArray[Any]) -> bool:
    """Tell whether texts hold the id: a number as a number of its own, with or without zeros before it."""
    held = 0
    for one, text in zip(ids.tolist(), values.tolist(), strict=True):
        held += (
            one.lstrip("0") in (part.lstrip("0") for part in re.findall(r"\d+", text)) if one.isdigit() else one in text
        )
    return held >= MIN_AGREEMENT_WITH_ID * len(ids)


def _number(texts: NDArray[Any]) -> Floats | None:
    """Return the number that the digits of each text make; None where one has none or too many of them."""
    digits = ["".join(re.findall(r"\d", text)) for text in texts.tolist()]
    if not all(0 < len(one) <= DIGITS for one in digits):
        return None
    return np.array(
        [-float(one) if text.startswith("-") else float(one) for one, text in zip(digits, texts, strict=True)]
    )


def _go_together(one: Floats | None, other: Floats | None) -> bool:
    """Tell whether one goes up, or down, wherever the other goes up, but for a few."""
    if one is None or other is None:
        return False
    up = np.diff(other[np.argsort(one, kind="stable")]) > 0
    return max(float(up.mean()), 1 - float(up.mean())) >= MIN_AGREEMENT_WITH_ID


def sizes_to_count(original: Microdata, table: Microdata) -> dict[str, Mask]:
    """Return, by size of the household that is protected, the records whose households can be counted all the same.

    Records are those of the original, in its order. There are none if the table has no number of the household.
    """
    home = original.schema.household
    if home is None or home not in table.columns:
        return {}
    unit = units(original)
    found = {}
    for name in sizes(original):
        there = ~original.missing(name)
        hidden = there.copy()
        if name in table.columns:
            both = there & ~table.missing(name)
            hidden[both] = texts(original, name, both) != texts(table, name, both)
        if hidden.any():
            found[name] = np.isin(unit, unit[hidden]) & ~table.missing(home)
    return {name: rows for name, rows in found.items() if rows.any()}


def put_together(original: Microdata, table: Microdata) -> Reassembled | None:
    """Put households together whose numbers are gone; None where the table has them, or nothing that members share."""
    home = original.schema.household
    return None if home is None or home in table.columns else reassembled(original, table)


def told_of_households(original: Microdata, table: Microdata, near: float, margin: float, *, some: bool) -> list[str]:
    """Say whether households whose numbers are gone can be put together again, and a protected size counted by that.

    A size is told if counting gets right more than ``margin`` above the best guess. ``some``: these are some of the
    records, of which nothing can be said, because the other members of a household may be elsewhere.
    """
    home = original.schema.household
    if home is None or home in table.columns:
        return []
    if some:
        shared = shared_columns(original, table)
        untold = (
            f"whether households can be put together again by {listed(shared, most=6)} was not looked at: of a "
            "table in parts not all members are at hand; --sample with the number of all records has it looked at"
        )
        return [untold] if shared else []
    found = put_together(original, table)
    if found is None:
        return []
    counted = _counted(original, table, found, near, margin)
    if found.share < MIN_SHARE_REBUILT and not counted:
        return []
    return [
        f"households can still be put together by {listed(found.by, most=6)}: those of "
        f"{100 * found.share:.0f} % of the persons who live with others{''.join(counted)}; who knows a family finds it "
        "among them: coarsen the weight with WeightMasking('classes'), or what members share"
    ]


def _counted(original: Microdata, table: Microdata, found: Reassembled, near: float, margin: float) -> list[str]:
    """Say which protected sizes the groups tell, counted; a size in classes, or as a function of it, by its class."""
    members = np.bincount(found.group)[found.group]
    said = []
    for target in targets_of(original, table, near):
        value = by_size(original, target.name)
        if value is None:
            continue
        counted = value[np.minimum(members, len(value) - 1)]
        right = float((counted == original.columns[target.name])[target.cells].mean())
        guess = target.guess.share
        if right - guess > margin:
            said.append(
                f"; {target.name} can be counted so, right in {100 * right:.0f} % of {len(target.cells):,} protected "
                f"values, where the best guess is in {100 * guess:.0f} %"
            )
    return said


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
    return [name for name in names if found.whole[lost[name]].mean() >= MIN_SHARE_REACHED]


def with_told_by_others(found: Audit, original: Microdata, table: Microdata, *, some: bool) -> Audit:
    """Return the audit with an alarm where the other records of a person tell a number that is blank in one.

    For tables whose units have no number. ``some``: these are some of the records, whose units are not complete. Then
    values are asked for only where another record of the unit is at hand, and where there are too few it is said. A
    number that hardly moves is right within ``MAX_RANK_DISTANCE`` of the records in rank.
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
    if some and lost and np.count_nonzero(~alone) < 2 * MIN_PAIRS:
        return replace(found, notes=(*found.notes, _unseen(lost)))
    together = put_together(original, table)
    if together is None:
        return found
    alarms, unseen = [], []
    rules = _rules(original, table)
    for rule in rules:
        near = found.near if rule.beside else max(found.near, MAX_RANK_DISTANCE)
        target = next(
            (one for one in targets_of(original, table, near) if (one.name, one.level) == (rule.name, "as published")),
            None,
        )
        if target is None:
            continue
        asked = table.missing(rule.name)[target.cells] & ~(alone[target.cells] & some)
        if np.count_nonzero(asked) < MIN_IN_BAND:
            unseen += [rule.name] if some else []
            continue
        told = _told(rule, target, asked, unit, table, together)
        if told.excess > found.margin and _luck(told, unit[target.cells[asked]]) < FALSE_ALARMS / len(rules):
            alarms.append(told)
    notes = (*found.notes, _unseen(unseen)) if unseen else found.notes
    found = replace(found, notes=notes)
    if not alarms:
        return found
    return with_alarms(
        found,
        "household",
        alarms,
        lambda names: (
            f"suppress {names} in all records of a person together or leave it out, or coarsen what puts them "
            "together, such as the weight with WeightMasking('classes')"
        ),
    )


def _told(rule: _Rule, target: Target, asked: Mask, unit: Rows, table: Microdata, together: Reassembled) -> Restored:
    """Return what an intruder gets right who puts the records of a person together and follows the rule."""
    cells = target.cells[asked]
    shown = table.columns[rule.name]
    answers = _usual(shown, unit)
    if rule.beside:
        step = rule.sign * table.columns[rule.beside]
        by_rule = _usual(shown - step, unit) + step
        answers = np.where(np.isnan(by_rule), answers, by_rule)
    answers = np.where(together.whole, answers, np.nan)[cells]
    beside = (rule.beside,) if rule.beside else ()
    how = f"other records alike in {listed(together.by)}"
    right, exact = target.right(cells, answers)
    answered, guessed = ~np.isnan(answers), target.guess.right[asked]
    return Restored(
        variable=target.name,
        level=target.level,
        evidence=(how if beside else f"{how}, within {MAX_RANK_DISTANCE:.0%} of the records", *beside),
        values=len(cells),
        restored=float(np.where(answered, right, guessed).mean()),
        exactly=float(np.where(answered, exact, target.guessed_exactly[asked]).mean()),
        guess=float(guessed.mean()),
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
    return luck(told.restored, len(np.unique(unit)), told.guess)


def _unseen(names: list[str]) -> str:
    return (
        f"whether other records of a person tell the blank values of {listed(names)} was not judged: too few "
        "of the records audited are of one person"
    )


def _rules(original: Microdata, table: Microdata) -> list[_Rule]:
    """Return the numbers that are blank in some records and follow a rule within the units of the original."""
    unit = units(original)
    order = np.argsort(unit, kind="stable")
    later = np.flatnonzero(unit[order][1:] == unit[order][:-1]) + 1
    if len(later) < MIN_PAIRS:
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
    if np.count_nonzero(there) < MIN_PAIRS:
        return 0
    return next(
        (sign for sign in (1, -1) if np.isclose(move[there], sign * other[there]).mean() >= MIN_SHARE_BY_RULE), 0
    )


def _hardly_moves(column: Floats, pairs: tuple[Rows, Rows]) -> bool:
    from scipy.stats import rankdata  # whose module takes half a second to import

    there = ~np.isnan(column)
    rank = np.full(len(column), np.nan)
    rank[there] = rankdata(column[there]) / np.count_nonzero(there)
    apart = np.abs(rank[pairs[1]] - rank[pairs[0]])
    apart = apart[~np.isnan(apart)]
    return len(apart) >= MIN_PAIRS and float((apart <= MAX_RANK_DISTANCE).mean()) >= MIN_SHARE_NEAR
