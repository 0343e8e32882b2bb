"""The checks of a method."""

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from sfumato.core import Method
from sfumato.errors import SfumatoError
from sfumato.table.microdata import Microdata
from sfumato.testing.of_both import CHECKS_OF_BOTH, names_itself
from sfumato.testing.tables import in_households, odd_tables, with_gaps


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


def is_neutral(method: Method) -> bool:
    """Tell whether the method has the parameters with which it changes nothing."""
    neutral = method.about.neutral
    return neutral is not None and all(getattr(method, name, None) == value for name, value in neutral.items())


def the_same_seed_gives_the_same_table(method: Method, data: Microdata) -> None:
    """The same seed gives the same table, another one another if and only if it is random; the input is not touched."""
    before = spelled(data)
    first, second, other = (protected(method, data, rng) for rng in (5, 5, 6))
    if first is None or second is None or other is None:
        return
    assert spelled(first) == spelled(second), "the same seed gives two tables"
    assert spelled(data) == before, "the table given was changed"
    differs = spelled(first) != spelled(other)
    assert not differs or method.about.random, "it is random, but About does not say so"
    changes = spelled(first) != before and not is_neutral(method)
    assert differs or not method.about.random or not changes, "About says random, but two seeds give the same table"


def missing_values_stay_missing(method: Method, data: Microdata) -> None:
    """A value that was missing stays so where records are kept; none gets lost that the schema does not count."""
    for table in (data, with_gaps(data, 0.1)):
        masked = protected(method, table)
        if masked is not None:
            hold_gaps(method, table, masked)


def hold_gaps(method: Method, data: Microdata, masked: Microdata) -> None:
    """Require that gaps are those there were, and those that the schema counts as suppressed."""
    if not method.about.keeps_records:
        return
    assert len(masked) == len(data), "records were added or dropped"
    for name in masked.names:
        before, after = data.missing(name), masked.missing(name)
        assert not (before & ~after).any(), f"{name}: a missing value was filled in"
        lost, told = int((after & ~before).sum()), masked.schema[name].treatment.suppressed
        assert lost <= told, f"{name}: {lost} values are missing now, and the schema tells of {told}"


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
    """A frame of Arrow, pandas or polars comes back as one, with the same numbers."""
    table = data.to_arrow()
    try:
        expected = method.protect(table, rng=3)
    except SfumatoError:
        return
    assert type(expected) is type(table)
    frames = [table.to_pandas()] if find_spec("pandas") else []
    if find_spec("polars"):
        from polars import from_arrow

        frames.append(from_arrow(table))
    for frame in frames:
        masked = method.protect(frame, rng=3)
        assert type(masked) is type(frame)
        one, two = Microdata.from_frame(expected), Microdata.from_frame(masked)
        if [variable.kind for variable in one.schema] != [variable.kind for variable in two.schema]:
            continue  # a frame of this kind does not say which texts are in order
        for name in (variable.name for variable in one.schema if variable.kind == "numeric"):
            assert np.array_equal(one.columns[name], two.columns[name], equal_nan=True), f"{name} depends on the frame"


def only_the_chosen_variables_change(method: Method, data: Microdata) -> None:
    """A method that is told its variables leaves the others as they are, and refuses those of other kinds."""
    try:
        chosen = method.masked(data)  # of a table that has nothing for it, none
        several = len(chosen) > 1 and method.steps == (method,)
        told = (method, replace(method, variables=chosen[:1])) if several else (method,)
        tables = [(one.masked(data), one.protect(data, rng=1)) for one in told]
    except SfumatoError:  # its parameters name their variables, or it does not fit
        return
    if not method.about.keeps_records:
        return
    before = spelled(data)
    for names, masked in tables:
        after = spelled(masked)
        kept = [name for name in masked.names if name not in names]
        assert all(before[name] == after[name] for name in kept), "variables changed that were not chosen"
    strange = next((v for v in data.schema if v.kind not in method.about.kinds and v.role != "identifier"), None)
    if strange is None:
        return
    try:
        replace(method, variables=(strange.name,)).protect(data, rng=1)
    except SfumatoError as refusal:
        names_itself(method, refusal)
        assert repr(strange.name) in str(refusal) or "variables" in str(refusal), f"{refusal} does not say of which"
        return
    raise AssertionError(f"{strange.name!r} is {strange.kind}, which About does not name, but was not refused")


def the_order_of_columns_has_no_meaning_unless_declared(method: Method, data: Microdata) -> None:
    """The same table with its columns in another order gives the same, but where About says otherwise."""
    order = (*data.names[1::2], *data.names[::2])
    variables = tuple(data.schema[name] for name in order)
    turned = replace(
        data, schema=replace(data.schema, variables=variables), columns={name: data.columns[name] for name in order}
    )
    one, other = protected(method, data, 2), protected(method, turned, 2)
    if one is None or other is None or method.about.column_order:
        return
    assert {*one.names} == {*other.names}
    for name, values in spelled(one).items():
        if one.schema[name].quantitative:
            same = np.allclose(one.columns[name], other.columns[name], rtol=1e-9, equal_nan=True)
        else:
            same = values == spelled(other)[name]
        assert same, f"{name} depends on the order of the columns: say column_order=True"


def a_neutral_parameter_returns_the_table(method: Method, data: Microdata) -> None:
    """With the parameters that About calls neutral nothing changes."""
    if method.about.neutral is None:
        return
    masked = protected(replace(method, **method.about.neutral), data)
    if masked is None:
        return
    for name in data.names:
        before, after = data.columns[name], masked.columns[name]
        same = (
            np.allclose(before, after, rtol=1e-12, equal_nan=True)
            if before.dtype.kind == "f"
            else (spelled(data)[name] == spelled(masked)[name])
        )
        assert same, f"{name} changed with {method.about.neutral}"


def odd_tables_give_a_table_or_a_refusal(method: Method, data: Microdata) -> None:
    """One record, a few, equal records, a constant, a variable without values or with one: never a wrong table."""
    for table in odd_tables(data, method.about.kinds):
        masked = protected(method, table)
        if masked is not None:
            hold_gaps(method, table, masked)


METHOD_CHECKS: tuple[Callable[[Any, Microdata], None], ...] = (
    *CHECKS_OF_BOTH,
    the_same_seed_gives_the_same_table,
    missing_values_stay_missing,
    the_schema_tells_what_was_done,
    records_are_kept_or_said_not_to_be,
    households_keep_in_common_what_they_had,
    frames_come_back_as_they_went_in,
    only_the_chosen_variables_change,
    the_order_of_columns_has_no_meaning_unless_declared,
    a_neutral_parameter_returns_the_table,
    odd_tables_give_a_table_or_a_refusal,
)
