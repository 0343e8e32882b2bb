"""The restoration audit: what an intruder can read off the rest of a protected file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import require
from sfumato.data.households import units as numbered_units
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.data.sample_size import SAMPLED, check_sample
from sfumato.errors import DataError, ParameterError
from sfumato.pair.random_order import RandomOrder
from sfumato.parameters import random_generator
from sfumato.restoration import wording
from sfumato.restoration.aims import aims
from sfumato.restoration.beside import columns_beside, releases_beside
from sfumato.restoration.findings import Audit, Name, Restored, Route
from sfumato.restoration.guess import best_guess
from sfumato.restoration.judging import judged_by
from sfumato.restoration.matching import Matching, match
from sfumato.restoration.of_parts import Seen, sample_of_both, with_how_drawn
from sfumato.restoration.releases import Release, together
from sfumato.restoration.routes import ROUTES, Found, Setting, each
from sfumato.restoration.trials import ASKED, SCREENED, Sample, Target

FALSE_ALARMS = 0.01  # the chance of any alarm in a file that gives nothing back, over all routes and columns tried


@dataclass(frozen=True)
class _Checked:
    near: float
    margin: float

    def __post_init__(self) -> None:
        for name, least in (("near", 0.0), ("margin", 0.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1:
                raise ParameterError(f"audit: {name} must be a share from 0 to below 1; got {value!r}")


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
    alone. A route is an alarm if it gets right more than ``margin`` above the guess, and more than luck: with a chance
    of 1 % of any false alarm in the audit, corrected for all that was tried. Where protected values are few, it is
    enough that the relation holds for nine in ten unprotected values. Of a variable with few values other columns must
    moreover give back two thirds of what the guess leaves open: less is an association such as users of the file are
    after. The best guess is granted the distribution of the protected values. If that alone tells them, such as where
    one region was blanked or a variable of two values changed, a route is an alarm if it gives two thirds of what a
    guess from the file alone leaves open. Of a number that is published nearly as it was, it is an alarm if a route
    exceeds the guess by the ``margin`` in what is met exactly.

    A category is right if it is the true one, a number if its rank is off by at most ``near`` of the records.

    ``order`` names, for each protected record, the record of the original (from 0); without it records are matched by
    id, by position, or by the variables that were not touched. ``rng`` draws the sample that large tables are looked
    through with.

    Of tables in parts a ``sample`` of the records is audited, the same in both: by position, or by ``order``, which may
    be the random one of a release in parts. Up to half of it are records with suppressed values, and up to a quarter
    others that show the same categories; the rest is drawn at random.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import Schema, Variable
    >>> towns = ["Aix", "Bonn", "Cork", "Dole"] * 15
    >>> table = pa.table({"town": towns, "weight": [float(len(towns) + ord(town[0])) for town in towns]})
    >>> data = Microdata.from_frame(table, Schema((Variable("weight"),), weight="weight"))
    >>> blank = pa.array([None if i % 5 == 0 else town for i, town in enumerate(towns)])
    >>> found = audit(data, table.set_column(0, "town", blank))
    >>> found["weight"].worst.restored, found["weight"].worst.guess
    (1.0, 0.25)
    """
    _Checked(near, margin)
    require("audit", Mapping | None, "tables by name", beside=beside)
    if isinstance(original, TableInParts) or isinstance(protected, TableInParts):
        both = sample_of_both(original, protected, order, beside, check_sample(sample))
        tables = both.original, both.protected
        found = audit_of(*tables, order=both.order, near=near, margin=margin, rng=rng, seen=both.seen)
        return replace(with_how_drawn(found, *tables, both.seen), matched=both.matched)
    if isinstance(order, RandomOrder):
        raise ParameterError("audit: a RandomOrder is that of a table in parts; give the numbers of the records")
    return audit_of(original, protected, order=order, beside=beside, near=near, margin=margin, rng=rng)


def audit_of(
    original: Any,
    protected: Any,
    *,
    order: Sequence[int] | NDArray[np.integer] | None = None,
    beside: Mapping[str, Any] | None = None,
    near: float = 0.01,
    margin: float = 0.1,
    rng: np.random.Generator | int | None = 0,
    seen: Seen | None = None,
) -> Audit:
    """Audit tables in memory; ``seen`` says how their records were drawn, if they are some of a table in parts."""
    before = Microdata.from_frame(original)
    after = Microdata.beside(before, protected)
    matching = match(before, after, order)
    generator = random_generator(rng)
    notes = [matching.note] if matching.note else []
    setting = _setting(before, after, matching, near, generator, notes, seen or Seen())
    others: tuple[Release, ...] = ()
    if beside is not None:
        others = releases_beside(before, beside, notes)
        setting = replace(setting, beside=columns_beside(before, matching, others))
    counted: dict[str, int] = {}
    for target in setting.targets:
        counted[target.aim.name] = counted.get(target.aim.name, 0) + len(target.aim.cells)
    routes = _judged(setting, matching, margin) if setting.targets else _idle()
    notes += _sampled(setting)
    released = Release("this release", after.take(matching.rows), matching.records)
    return Audit(
        records=len(matching.rows),
        protected=counted,
        routes=routes,
        near=float(near),
        margin=float(margin),
        matched=matching.how,
        verdict=wording.overall(routes, counted),
        notes=tuple(notes),
        together=together(before, released, others, near, generator) if others else None,
    )


def _setting(
    original: Microdata,
    protected: Microdata,
    matching: Matching,
    near: float,
    rng: np.random.Generator,
    notes: list[str],
    seen: Seen,
) -> Setting:
    """Put both tables into the order of the protected one, and collect what is protected."""
    if not len(matching.rows):
        raise DataError("no record of the protected table could be matched")
    before, after = original.take(matching.records), protected.take(matching.rows)
    units = numbered_units(before) if before.schema.household is not None else None
    sample = Sample(rng.permutation(len(after)))
    truth, told = (seen.asked(table, matching.records) for table in (before, after))
    targets = tuple(Target(aim, best_guess(aim), sample, units) for aim in aims(truth, told, near))
    return Setting(before, after, targets, units, near, None, notes)


def _idle() -> tuple[Route, ...]:
    return tuple(Route(name, untried="no value is protected") for name in ROUTES)


def _judged(setting: Setting, matching: Matching, margin: float) -> tuple[Route, ...]:
    found = list(each(setting))
    tried = sum(not isinstance(trials, str) for _, trials in found)
    return tuple(
        _route(name, trials, setting, matching, margin, FALSE_ALARMS / max(tried, 1)) for name, trials in found
    )


def _route(name: Name, found: Found, setting: Setting, matching: Matching, margin: float, alpha: float) -> Route:
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
        examples=wording.examples(name, [one for one in judged if one[0].alarm], setting, matching.records),
        verdict=wording.verdict(worst),
        repair=wording.repair(name, alarms, setting.original.schema) if alarms else "",
    )


def _severity(found: Restored) -> tuple[bool, float, str, str]:
    """Put what restores first, and what exceeds the guess most in terms of chance."""
    return not found.alarm, -found.excess * float(np.sqrt(found.values)), found.variable, found.level


def _sampled(setting: Setting) -> list[str]:
    """Say what was done on a sample."""
    told = []
    if any(len(target.aim.cells) > ASKED for target in setting.targets):
        told.append(f"of a variable with more protected values, a random {ASKED:,} were tried")
    if any(target.screened for target in setting.targets):
        told.append(
            f"other columns were looked through on a random {SCREENED[0]:,} records and {SCREENED[1]:,} protected "
            "values; the best three were then tried on all"
        )
    if any(not target.aim.taught for target in setting.targets):
        told.append(
            "where too few values of a variable stand as they were, its relations are taken as known from the original"
        )
    if any(target.aim.hidden is not None for target in setting.targets):
        told.append("where no record shows a category any more, what goes with it is taken as known from the original")
    return told
