"""The checks of a method."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.core import Method
from sfumato.errors import SfumatoError
from sfumato.table.microdata import Microdata
from sfumato.testing.of_both import CHECKS_OF_BOTH, names_itself
from sfumato.testing.tables import in_households, with_gaps


def protected(method: Method, data: Microdata, rng: int = 0) -> Microdata | None:
    """Protect with a fixed seed; None for a refusal, which must name the class."""
    try:
        return method.protect(data, rng=rng)
    except SfumatoError as refusal:
        names_itself(method, refusal)
        return None


def spelled(data: Microdata) -> dict[str, list[Any]]:
    """The values of every variable, None for missing, whatever their codes."""
    return {
        v.name: [None if value != value else value for value in data.columns[v.name].tolist()]
        if v.quantitative
        else [None if code < 0 else v.categories[code] for code in data.columns[v.name].tolist()]
        for v in data.schema
    }


def the_same_seed_gives_the_same_table(method: Method, data: Microdata) -> None:
    """The same seed gives the same table, another one another if it is random, and the input is not touched."""
    before = spelled(data)
    one, two, other = (protected(method, data, rng) for rng in (5, 5, 6))
    if one is None or two is None or other is None:
        return
    assert spelled(one) == spelled(two), "the same seed gives two tables"
    assert spelled(data) == before, "the table given was changed"
    assert (spelled(one) != spelled(other)) <= method.about.random, "it is random, but About does not say so"


def missing_values_stay_missing(method: Method, data: Microdata) -> None:
    """A value that was missing stays so where records are kept."""
    holed = with_gaps(data, 0.1)
    masked = protected(method, holed)
    if masked is None or not method.about.keeps_records:
        return
    before, after = spelled(holed), spelled(masked)
    for name in masked.names:
        assert all(now is None for then, now in zip(before[name], after[name], strict=True) if then is None), name


def the_schema_tells_what_was_done(method: Method, data: Microdata) -> None:
    """A variable that changed carries its treatment."""
    masked = protected(method, data)
    if masked is None or not method.about.keeps_records:
        return
    before, after = spelled(data), spelled(masked)
    for name in masked.names:
        assert (before[name] != after[name]) <= bool(masked.schema[name].treatment), f"{name} has no treatment"


def records_are_kept_or_said_not_to_be(method: Method, data: Microdata) -> None:
    """Record i stays record i, or About and the table say that it does not."""
    masked = protected(method, data)
    if masked is not None:
        kept = masked.matched and len(masked) == len(data)
        assert kept or not method.about.keeps_records, "records were added, dropped or mixed: say keeps_records=False"


def households_keep_in_common_what_they_had(method: Method, data: Microdata) -> None:
    """What the members of a household share, they share after it; what one lost, no other shows."""
    for number in (1, 2):
        lived_in = in_households(data, every=number)
        masked = protected(method, lived_in)
        if masked is None or not method.about.keeps_records:
            return
        home = np.arange(len(data)) // 3
        first = np.flatnonzero(np.diff(home, prepend=-1))[home]
        after = spelled(masked)
        for name in (name for name in data.schema.analysed()[::number] if name in masked.schema):
            apart = [row for row, one in enumerate(first.tolist()) if after[name][row] != after[name][one]]
            assert not apart, f"{name} differs within the household of record {apart[0] + 1}"


def frames_come_back_as_they_went_in(method: Method, data: Microdata) -> None:
    """An arrow table comes back as one."""
    table = data.to_arrow()
    try:
        masked = method.protect(table, rng=3)
    except SfumatoError:
        return
    assert type(masked) is type(table)


def tiny_tables_give_a_table_or_a_refusal(method: Method, data: Microdata) -> None:
    """One record, two records, seven records."""
    for rows in (1, 2, 7):
        protected(method, data.take(np.arange(rows)))


METHOD_CHECKS: tuple[Callable[[Any, Microdata], None], ...] = (
    *CHECKS_OF_BOTH,
    the_same_seed_gives_the_same_table,
    missing_values_stay_missing,
    the_schema_tells_what_was_done,
    records_are_kept_or_said_not_to_be,
    households_keep_in_common_what_they_had,
    frames_come_back_as_they_went_in,
    tiny_tables_give_a_table_or_a_refusal,
)
