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
from sfumato.testing.tables import cut, shuffled, with_gaps

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
        found = measured(measure, original, protected)
        if found is not None:
            assert low <= found.value <= high, f"{found.value} is outside [{low}, {high}]"
            assert repr(found) and found._repr_html_()


def a_copy_is_best_or_riskiest(measure: Measure, data: Microdata) -> None:
    """A copy has the best utility, and no less risk than shuffled columns; counts over keys see only one table."""
    if measure.about.keys:
        return
    copy, other = measured(measure, data, data), measured(measure, data, shuffled(data))
    if copy is None or other is None:
        return
    lower_expected = measure.about.purpose == "risk" or not measure.about.lower_is_better
    slack = 0.05 if measure.about.random else 1e-9
    gap = copy.value - other.value if lower_expected else other.value - copy.value
    assert gap >= -slack, f"a copy gives {copy.value}, shuffled columns {other.value}"


def the_same_seed_gives_the_same_figure(measure: Measure, data: Microdata) -> None:
    """Evaluating again with the same seed changes nothing, and the tables are not touched."""
    protected = shuffled(data)
    before = {name: column.copy() for name, column in data.columns.items()}
    one, two = measured(measure, data, protected), measured(measure, data, protected)
    if one is not None and two is not None:
        assert one.value == two.value, "the same seed gives two figures"
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


def one_value_per_record(measure: Measure, data: Microdata) -> None:
    """``by_record`` has one value per record of the table that About names."""
    found = measured(measure, data, data)
    if found is not None and found.by_record is not None:
        assert found.by_record.shape == (len(data),)
    if measure.about.paired:
        half = replace(data.take(np.arange(len(data) // 2)), matched=False)
        assert measured(measure, data, half) is None, "records that match none must be refused"


def unit_weights_equal_no_weights(measure: Measure, data: Microdata) -> None:
    """Absent weights are ones."""
    name = data.schema.weight
    if name is None or measure.about.keys:  # a design weight of one says that the file is a census
        return
    ones = replace(data, columns={**data.columns, name: np.ones(len(data))})
    bare = data.without([name])
    with_ones, without = (measured(measure, table, shuffled(table)) for table in (ones, bare))
    if with_ones is not None and without is not None:
        assert np.isclose(with_ones.value, without.value, rtol=1e-12), "weights of one are not no weights"


def tiny_tables_give_a_figure_or_a_refusal(measure: Measure, data: Microdata) -> None:
    """One record, two records, and records that are all alike."""
    alike = data.take(np.zeros(20, dtype=np.intp))
    alike = replace(alike, schema=replace(alike.schema, id=None))  # an id would not tell its records apart
    for table in (data.take(np.arange(1)), data.take(np.arange(2)), alike):
        found = measured(measure, table, table)
        if found is not None:
            assert measure.about.range[0] <= found.value <= measure.about.range[1]


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
                found = measure.evaluate_pair(Pair.of(before[order], after[order]), rng=0)
            except NotApplicable as refusal:
                assert measure.about.parts == "memory", f"About promises parts, but it refused: {refusal}"
                return
            assert measure.about.parts != "memory", "it takes parts, but About does not say so"
            agree(whole, found)


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
    one_value_per_record,
    unit_weights_equal_no_weights,
    tiny_tables_give_a_figure_or_a_refusal,
    any_cut_gives_the_figure_of_the_whole,
)
