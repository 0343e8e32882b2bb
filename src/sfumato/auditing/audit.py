"""The restoration audit: what an intruder can read off the rest of a protected file.

A weight of zero is looked at apart: who is out of scope, or of a stratum that was not drawn, is so for a reason, and
raking leaves such weights as they are. Among all protected values those of such records are few, so that the audit,
which looks at all of them, may not see that theirs are given back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import require
from sfumato.auditing.findings import Audit, Example, Name, Restored, Route, listed, overall, repair, verdict
from sfumato.auditing.matching import Matching, match
from sfumato.auditing.of_parts import SampleDesign, records_at_hand, with_how_drawn
from sfumato.auditing.releases import Release, columns_beside, releases_beside, together
from sfumato.auditing.routes import ROUTES, RouteResult, Setting
from sfumato.auditing.targets import (
    MAX_TRIED_VALUES,
    MIN_IN_BAND,
    SCREENED,
    Floats,
    Integers,
    Mask,
    Rows,
    Target,
    luck,
    spelled,
    targets_of,
)
from sfumato.auditing.trials import DEPENDENCE, Trial, judged_by
from sfumato.errors import DataError, ParameterError
from sfumato.pair.random_order import RandomOrder
from sfumato.parameters import random_generator
from sfumato.table import dates
from sfumato.table.households import units as numbered_units
from sfumato.table.microdata import Microdata
from sfumato.table.sample_size import SAMPLED, check_sample

if TYPE_CHECKING:
    from sfumato.table.schema import Kind

FALSE_ALARMS = 0.01  # the chance of any alarm in a file that gives nothing back, over all routes and columns tried

SHOWN = 3  # examples of a route


def audit(
    original: Any,
    protected: Any,
    *,
    order: Sequence[int] | NDArray[np.integer] | RandomOrder | None = None,
    beside: Mapping[str, Any] | None = None,
    near: float = 0.01,
    margin: float = 0.1,
    rng: np.random.Generator | int | None = 0,
    sample: int = SAMPLED,
) -> Audit:
    """Try to restore the protected values of a table from what it still holds.

    A protected value is one of an analysed variable that the protected table does not show as it was: blank, changed,
    coarsened, or its variable removed. Each route back (weight, order of the records, household members, ids, other
    columns alone and together, sums, the tables ``beside``) is compared with the best guess from the published value
    alone. A route is an alarm if it gets right more than ``margin`` above the guess, and more than luck, with a chance
    of 1 % of any false alarm in the audit. docs/how-to/audit.md says how else it is judged: few values, associations,
    an intruder with the file alone, numbers met exactly. A category is right if it is the true one, a number if its
    rank is off by at most ``near`` of the records.

    ``order`` names, for each protected record, the record of the original (from 0); without it records are matched by
    id, by position, or by the variables that were not touched. ``rng`` draws the sample that large tables are looked
    through with. Of tables in parts a ``sample`` of the records is audited, the same in both.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema, Variable
    >>> towns = ["Aix", "Bonn", "Cork", "Dole"] * 15
    >>> table = pa.table({"town": towns, "weight": [float(len(towns) + ord(town[0])) for town in towns]})
    >>> data = Microdata.from_frame(table, Schema((Variable("weight"),), weight="weight"))
    >>> blank = pa.array([None if i % 5 == 0 else town for i, town in enumerate(towns)])
    >>> found = audit(data, table.set_column(0, "town", blank))
    >>> found["weight"].worst.restored, found["weight"].worst.guess
    (1.0, 0.25)
    """
    for name, value in (("near", near), ("margin", margin)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
            raise ParameterError(f"audit: {name} must be a share from 0 to below 1; got {value!r}")
    require("audit", Mapping | None, "tables by name", beside=beside)
    both = records_at_hand(original, protected, order, beside, check_sample(sample))
    tables = both.original, both.protected
    found = audit_of(*tables, order=both.order, beside=beside, near=near, margin=margin, rng=rng, seen=both.seen)
    return replace(with_how_drawn(found, *tables, both.seen), matched=both.matched or found.matched)


def audit_of(
    original: Any,
    protected: Any,
    *,
    order: Sequence[int] | NDArray[np.integer] | None = None,
    beside: Mapping[str, Any] | None = None,
    near: float = 0.01,
    margin: float = 0.1,
    rng: np.random.Generator | int | None = 0,
    seen: SampleDesign | None = None,
) -> Audit:
    """Audit tables in memory; ``seen`` says how their records were drawn, if they are some of a table in parts."""
    before = Microdata.from_frame(original)
    after = Microdata.beside(before, protected)
    matching = match(before, after, order)
    generator = random_generator(rng)
    notes = [matching.note] if matching.note else []
    setting = _setting(before, after, matching, near, generator, notes, seen or SampleDesign())
    others: tuple[Release, ...] = ()
    if beside is not None:
        others = releases_beside(before, beside, notes)
        setting = replace(setting, beside=columns_beside(before, matching, others))
    counted: dict[str, int] = {}
    for target in setting.targets:
        counted[target.name] = counted.get(target.name, 0) + len(target.cells)
    routes = _judged(setting, matching, margin)
    released = Release("this release", after.take(matching.rows), matching.records)
    return Audit(
        records=len(matching.rows),
        protected=counted,
        routes=routes,
        near=float(near),
        margin=float(margin),
        matched=matching.how,
        verdict=overall(routes, counted),
        notes=(*notes, *_sampled(setting)),
        together=together(before, released, others, near, generator) if others else None,
    )


def _setting(
    original: Microdata,
    protected: Microdata,
    matching: Matching,
    near: float,
    rng: np.random.Generator,
    notes: list[str],
    seen: SampleDesign,
) -> Setting:
    """Put both tables into the order of the protected one, and collect what is protected."""
    if not len(matching.rows):
        raise DataError("no record of the protected table could be matched")
    before, after = original.take(matching.records), protected.take(matching.rows)
    units = numbered_units(before) if before.schema.household is not None else None
    order = rng.permutation(len(after))
    truth, told = (seen.asked(table, matching.records) for table in (before, after))
    targets = tuple(replace(target, order=order, units=units) for target in targets_of(truth, told, near))
    return Setting(before, after, targets, units, near, None, notes)


def _judged(setting: Setting, matching: Matching, margin: float) -> tuple[Route, ...]:
    found = {name: route(setting) if setting.targets else "no value is protected" for name, route in ROUTES.items()}
    alpha = FALSE_ALARMS / max(sum(not isinstance(trials, str) for trials in found.values()), 1)
    return tuple(_route(name, trials, setting, matching, margin, alpha) for name, trials in found.items())


def _route(name: Name, found: RouteResult, setting: Setting, matching: Matching, margin: float, alpha: float) -> Route:
    """Judge a route: its variables, the worst first."""
    if isinstance(found, str):
        return Route(name, untried=found)
    level = alpha / max(sum(trial.tests for trial in found), 1)
    judged = [(judged_by(name, trial, level, margin), trial) for trial in found]
    judged.sort(key=lambda one: _severity(one[0]))
    alarms = [restored for restored, _ in judged if restored.alarm]
    worst = judged[0][0]
    return Route(
        name,
        worst=worst,
        by_variable=tuple(restored for restored, _ in judged),
        examples=examples(name, [one for one in judged if one[0].alarm], setting, matching.records),
        verdict=verdict(worst),
        repair=repair(name, alarms, setting.original.schema) if alarms else "",
    )


def _severity(found: Restored) -> tuple[bool, float, str, str]:
    """Put what restores first, and what exceeds the guess most in terms of chance."""
    return not found.alarm, -found.excess * float(np.sqrt(found.values)), found.variable, found.level


def _sampled(setting: Setting) -> list[str]:
    """Say what was done on a sample, and what was taken as known."""
    targets = setting.targets
    told = {
        f"of a variable with more protected values, a random {MAX_TRIED_VALUES:,} were tried": any(
            len(target.cells) > MAX_TRIED_VALUES for target in targets
        ),
        f"other columns were looked through on a random {SCREENED[0]:,} records and {SCREENED[1]:,} protected "
        "values; the best three were then tried on all": any(target.screened for target in targets),
        "where too few values of a variable stand as they were, its relations are taken as known from the "
        "original": not all(target.taught for target in targets),
        "where no record shows a category any more, what goes with it is taken as known from the original": any(
            target.hidden is not None for target in targets
        ),
    }
    return [note for note, holds in told.items() if holds]


def with_alarms(found: Audit, name: Name, alarms: Sequence[Restored], closes: Callable[[str], str]) -> Audit:
    """Return an audit with further alarms of a route; ``closes`` says of the variables what closes it."""
    alarms = sorted(alarms, key=lambda one: (-one.excess * one.values**0.5, one.variable))
    before, closing = found[name], closes(listed(list(dict.fromkeys(one.variable for one in alarms))))
    route = replace(
        before,
        worst=before.worst if before.alarm else alarms[0],
        by_variable=(*alarms, *before.by_variable),
        untried="",
        verdict=before.verdict if before.alarm else verdict(alarms[0]),
        repair=f"{before.repair}; {closing}" if before.alarm else closing,
    )
    routes = tuple(route if one.name == name else one for one in found.routes)
    return replace(found, routes=routes, verdict=overall(routes, dict(found.protected)))


def with_zero_weights(found: Audit, original: Microdata, table: Microdata) -> Audit:
    """Return the audit with an alarm of the weight where a weight of zero gives values back; records are in one order.

    The intruder knows why records have none, so he is granted what most of those have whose value is published alike.
    That is an alarm if it gives back two thirds of what the best guess leaves open, by more than the audit's margin and
    by more than luck, in ten records at least.
    """
    weight = table.schema.weight
    if weight is None or found["weight"].alarm:
        return found
    zero = table.weights() == 0
    if not zero.any() or zero.all():
        return found
    tried = [one for target in targets_of(original, table, found.near) if (one := _told(target, zero, weight))]
    level = FALSE_ALARMS / max(len(tried), 1)
    alarms = [one for one, by_luck in tried if one.excess > found.margin and by_luck < level and _depends(one)]
    if not alarms:
        return found
    return with_alarms(
        found,
        "weight",
        alarms,
        lambda names: (
            f"leave out the records whose {weight} is 0, or give them a weight, or suppress {names} in no way "
            "that goes with it: raking leaves a weight of 0 as it is"
        ),
    )


def _depends(one: Restored) -> bool:
    return one.excess >= DEPENDENCE * (1 - one.guess)


def _told(target: Target, zero: Mask, weight: str) -> tuple[Restored, float] | None:
    """Return what a weight of zero gives back of a variable, and the chance that luck does; None for few values."""
    asked = zero[target.cells]
    cells = target.cells[asked]
    if len(cells) < MIN_IN_BAND:
        return None
    guess = target.guess
    right, exact = guess.right[asked].copy(), target.guessed_exactly[asked].copy()
    guessed = float(right.mean())
    for band in np.unique(target.band[cells]):
        mine = target.band[cells] == band
        if np.count_nonzero(mine) >= MIN_IN_BAND:
            right[mine], exact[mine] = target.right(cells[mine], _usual(target, cells[mine]))
    told = Restored(
        variable=target.name,
        level=target.level,
        evidence=(f"{weight} = 0",),
        values=len(cells),
        restored=float(right.mean()),
        exactly=float(exact.mean()),
        guess=guessed,
        holds=None,
        learnt="the original",
        reading="restores",
        columns=(weight,),
    )
    return told, luck(told.restored, len(cells), max(guessed, guess.chance))


def _usual(target: Target, cells: Rows) -> Integers | Floats:
    """Return one answer for all: the most common category, or the median number."""
    true = target.truth.codes[cells]
    if target.number:
        return np.full(len(cells), float(np.median(target.truth.levels[true])))
    return np.full(len(cells), np.bincount(true).argmax())


def examples(
    name: Name, judged: Sequence[tuple[Restored, Trial]], setting: Setting, records: Rows
) -> tuple[Example, ...]:
    """Return values given back that the guess misses."""
    told = []
    for found, trial in judged:
        for at in np.flatnonzero(_given_back(found, trial) & trial.answered)[:SHOWN]:
            row = trial.rows[[at]]
            target = trial.target
            level = target.truth.levels[target.truth.codes[row[0]]]
            true = _written(level, setting.original.schema[target.name].kind)
            gone = target.name not in setting.protected.columns
            published = "not published" if gone else spelled(setting.protected, target.name, row)[0]
            how = _how(name, trial, setting.protected, int(row[0]))
            told.append(
                Example(int(records[row[0]]) + 1, target.name, published, true, how, exact=bool(trial.exact[at]))
            )
    return tuple(told[:SHOWN])


def _given_back(found: Restored, trial: Trial) -> Mask:
    """Tell which values are right that the guess misses."""
    target = trial.target
    if found.basis == "exactly":
        return trial.exact & ~target.guessed_exactly[np.searchsorted(target.cells, trial.rows)]
    if found.basis == "the file alone" and target.unaware is not None:
        return trial.right & (target.unaware[trial.rows] < 1)
    return trial.right & ~target.guessed(trial.rows)[1]


def _written(level: Any, kind: "Kind") -> str:
    if isinstance(level, str):  # a class of a number or date, which is what is published of it
        return level
    if kind == "date":
        return dates.spelled(float(level))
    return f"{level:.15g}" if kind == "numeric" else str(level)


def _how(name: Name, trial: Trial, protected: Microdata, row: int) -> str:
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
