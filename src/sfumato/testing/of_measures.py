"""The checks of a measure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.core import Measure
from sfumato.errors import NotApplicable, SfumatoError
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.table.microdata import Microdata
from sfumato.testing.of_both import CHECKS_OF_BOTH, names_itself
from sfumato.testing.tables import cut, odd_tables, shuffled, with_gaps

RELATIVE = 1e-12  # sums may be added in another order
ROUNDING = 1e-15  # what is left of a zero
SAME_FIGURE = 1e-9


def measured(measure: Measure, original: Microdata, protected: Microdata) -> Measurement | None:
    """Evaluate with a fixed seed; None for a refusal, which must name the class."""
    try:
        return measure.evaluate(original, protected, rng=0)
    except SfumatoError as refusal:
        names_itself(measure, refusal)
        return None


def the_figure_is_in_its_range(measure: Measure, data: Microdata) -> None:
    """A copy, shuffled columns and tables with gaps give a figure in range, or a refusal that names the class."""
    low, high = measure.about.range
    for original, protected in ((data, data), (data, shuffled(data)), (with_gaps(data), shuffled(with_gaps(data)))):
        measurement = measured(measure, original, protected)
        if measurement is not None:
            assert low <= measurement.value <= high, f"{measurement.value} is outside [{low}, {high}]"
            assert repr(measurement) and measurement._repr_html_()


def a_copy_is_best_or_riskiest(measure: Measure, data: Microdata) -> None:
    """A copy has the best utility, and no less risk than shuffled columns; counts over keys see only one table."""
    if measure.about.keys:
        return
    copy, other = measured(measure, data, data), measured(measure, data, shuffled(data))
    if copy is None or other is None:
        return
    lower_expected = measure.about.purpose == "risk" or measure.about.better == "higher"
    slack = 0.05 if measure.about.random else 1e-9
    gap = copy.value - other.value if lower_expected else other.value - copy.value
    assert gap >= -slack, f"a copy gives {copy.value}, shuffled columns {other.value}"


def the_same_seed_gives_the_same_figure(measure: Measure, data: Microdata) -> None:
    """Evaluating again with the same seed changes nothing, and the tables are not touched."""
    protected = shuffled(data)
    before = {name: column.copy() for name, column in data.columns.items()}
    first, second = measured(measure, data, protected), measured(measure, data, protected)
    if first is not None and second is not None:
        assert first.value == second.value, "the same seed gives two figures"
    for name, column in before.items():
        assert np.array_equal(column, data.columns[name], equal_nan=column.dtype.kind == "f"), f"{name} was changed"


def permuting_both_tables_alike_changes_nothing(measure: Measure, data: Microdata) -> None:
    """The order of the records has no meaning."""
    protected = shuffled(data)
    order = np.random.default_rng(4).permutation(len(data))
    straight = measured(measure, data, protected)
    turned = measured(measure, data.take(order), protected.take(order))
    if straight is None or turned is None:
        return
    slack = 0.05 if measure.about.random else SAME_FIGURE
    assert np.isclose(turned.value, straight.value, rtol=SAME_FIGURE, atol=slack), "the order of records counts"
    if straight.by_record is not None and turned.by_record is not None and not measure.about.random:
        assert np.allclose(turned.by_record, straight.by_record[order], rtol=SAME_FIGURE, atol=1e-12, equal_nan=True)


def records_are_matched_where_they_must_be(measure: Measure, data: Microdata) -> None:
    """The order of one table alone has no meaning, unless record i of both is one person and there is no id."""
    protected = shuffled(data)
    turned = protected.take(np.random.default_rng(4).permutation(len(data)))
    if measure.about.paired and data.schema.id is None:
        return
    straight, again = measured(measure, data, protected), measured(measure, data, turned)
    if straight is None or again is None:
        return
    slack = 0.05 if measure.about.random else SAME_FIGURE
    assert np.isclose(again.value, straight.value, rtol=SAME_FIGURE, atol=slack), (
        "the order of the protected records counts: say paired=True, or match records by their id"
    )


def one_value_per_record(measure: Measure, data: Microdata) -> None:
    """``by_record`` has one value per record of the table that About names."""
    half = replace(data.take(np.arange(len(data) // 2)), matched=False)
    for protected in (data, half):
        measurement = measured(measure, data, protected)
        if measurement is not None and measurement.by_record is not None:
            assert measurement.by_record.shape == (len(protected if measure.about.records == "protected" else data),)
    if measure.about.paired:
        assert measured(measure, data, half) is None, "records that match none must be refused"


def weights_count_where_declared(measure: Measure, data: Microdata) -> None:
    """Absent weights are ones, and other weights change nothing where About does not say that they count."""
    name = data.schema.weight
    if name is None:
        return
    ones = replace(data, columns={**data.columns, name: np.ones(len(data))})
    with_own, with_ones, without = (
        measured(measure, table, shuffled(table)) for table in (data, ones, data.without([name]))
    )
    if with_ones is not None and without is not None and not measure.about.keys:  # there ones say: a census
        assert np.isclose(with_ones.value, without.value, rtol=1e-12), "weights of one are not no weights"
    if with_own is not None and without is not None and not measure.about.weights:
        assert np.isclose(with_own.value, without.value, rtol=1e-12), "weights count: say weights=True"


def a_variable_that_is_gone_is_said(measure: Measure, data: Microdata) -> None:
    """A variable that the protected table lacks is noted, unless the figure is none of it."""
    names = data.schema.analysed(*measure.about.kinds, role="key" if measure.about.keys else None)
    whole = measured(measure, data, data)
    if len(names) < 2 or whole is None:
        return
    measurement = measured(measure, data, data.without(names[-1:]))
    if measurement is not None and measurement.value != whole.value:
        assert any(names[-1] in note for note in measurement.notes), f"nothing is said of {names[-1]!r}, which is gone"


def fewer_keys_are_never_riskier(measure: Measure, data: Microdata) -> None:
    """Of a copy, whoever knows fewer keys finds no more; without keys there is nothing to count."""
    keys = data.schema.analysed(role="key")
    if not measure.about.keys or measure.about.purpose != "risk" or len(keys) < 3:
        return
    few, many = (measured(replace(measure, variables=names), data, data) for names in (keys[:2], keys))
    if few is not None and many is not None:
        slack = 0.05 if measure.about.random else 1e-12
        assert few.value <= many.value + slack, f"{keys[:2]} give {few.value}, {keys} {many.value}"
    plain = Microdata.from_frame(data.to_arrow())
    if measure.variables is None:
        assert measured(measure, plain, plain) is None, "no variable has the role key, yet there is a figure"


def odd_tables_give_a_figure_or_a_refusal(measure: Measure, data: Microdata) -> None:
    """One record, a few, equal records, a constant, a variable without values or with one."""
    for table in odd_tables(data, measure.about.kinds):
        measurement = measured(measure, table, table)
        if measurement is not None:
            undefined = np.isnan(measurement.value) and measurement.notes
            assert undefined or measure.about.range[0] <= measurement.value <= measure.about.range[1]
            assert repr(measurement) and measurement._repr_html_()


def any_cut_gives_the_figure_of_the_whole(measure: Measure, data: Microdata) -> None:
    """A measure that takes tables in parts gives the same figure however the records are cut; others refuse parts."""
    original, protected = with_gaps(data), shuffled(with_gaps(data))
    whole = measured(measure, original, protected)
    if whole is None:
        return
    n = len(original)
    for ends in ([n // 3], [0, n // 5, n // 5, n // 2, n]):
        before, after = cut(original, ends), cut(protected, ends)
        for order in (slice(None), slice(None, None, -1)):
            try:
                measurement = measure.evaluate_pair(Pair.of(before[order], after[order]), rng=0)
            except NotApplicable as refusal:
                assert measure.about.parts == "memory", f"About promises parts, but it refused: {refusal}"
                return
            assert measure.about.parts != "memory", "it takes parts, but About does not say so"
            agree(whole, measurement)


def agree(one: Measurement, two: Measurement) -> None:
    """Require two measurements to say the same, sums to 1e-12 relative; what is said of records is left aside."""
    for field in ("value", "parts", "by_variable", "by_pair", "tables", "statement", "notes"):
        _agree(getattr(one, field), getattr(two, field), field)


def _agree(one: Any, two: Any, where: str) -> None:
    if hasattr(one, "items"):
        assert list(one) == list(two), f"{where}: {list(one)} and {list(two)}"
        for name in one:
            _agree(one[name], two[name], f"{where}: {name}")
    elif isinstance(one, tuple | list):
        assert len(one) == len(two), f"{where}: {len(one)} and {len(two)} entries"
        for place, (a, b) in enumerate(zip(one, two, strict=True)):
            _agree(a, b, f"{where}: {place}")
    elif isinstance(one, float) and isinstance(two, float):
        apart = RELATIVE * max(abs(one), abs(two)) + ROUNDING
        same = one == two or (one != one and two != two) or abs(one - two) <= apart
        assert same, f"{where}: {one!r} and {two!r}"
    else:
        assert one == two, f"{where}: {one!r} and {two!r}"


MEASURE_CHECKS: tuple[Callable[[Any, Microdata], None], ...] = (
    *CHECKS_OF_BOTH,
    the_figure_is_in_its_range,
    a_copy_is_best_or_riskiest,
    the_same_seed_gives_the_same_figure,
    permuting_both_tables_alike_changes_nothing,
    records_are_matched_where_they_must_be,
    one_value_per_record,
    weights_count_where_declared,
    a_variable_that_is_gone_is_said,
    fewer_keys_are_never_riskier,
    odd_tables_give_a_figure_or_a_refusal,
    any_cut_gives_the_figure_of_the_whole,
)
