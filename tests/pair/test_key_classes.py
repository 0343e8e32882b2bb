"""Key classes, the units of records and tables by class: by hand, and merged parts against the whole."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sfumato import NotApplicable
from sfumato.pair import Keys, Pair, sampling_fraction
from sfumato.pair.statistics import Crosstab, KeyClasses, UnitSums, merged
from sfumato.table.households import units
from sfumato.testing import persons
from sfumato.testing.tables import cut

Codes = NDArray[np.int32]
tables = arrays(np.int32, st.tuples(st.integers(1, 25), st.integers(1, 3)), elements=st.integers(-1, 2))
cuts = st.lists(st.integers(0, 25), max_size=5)


def slices(size: int, ends: list[int]) -> list[slice]:
    """Where a table of this size is cut; no part is empty."""
    places = sorted({0, size, *(min(end, size) for end in ends)})
    return [slice(low, high) for low, high in pairwise(places)]


def by_cell(found: KeyClasses) -> dict[tuple[int, ...], tuple[int, int, float]]:
    """The size, the count and the weight of each combination."""
    assert found.weights is not None
    figures = zip(found.sizes.tolist(), found.counts.tolist(), found.weights.tolist(), strict=True)
    return dict(zip(map(tuple, found.cells.tolist()), figures, strict=True))


def test_classes_by_hand() -> None:
    # (0, 1) twice, (0, -1) once: the missing value agrees with 1; (2, 1) is alone
    codes = np.array([[0, 1], [2, 1], [0, 1], [0, -1]], dtype=np.int32)
    found = KeyClasses.of(codes, np.array([1.0, 2.0, 4.0, 8.0]))
    assert by_cell(found) == {(0, 1): (2, 3, 5.0), (2, 1): (1, 1, 2.0), (0, -1): (1, 3, 8.0)}
    assert found.weights is not None and found.agreeing(found.weights).tolist() == [13.0, 2.0, 13.0]
    assert (found.records, len(found), found.complete) == (4, 3, False)
    assert found.share(found.counts == 1) == 0.25
    assert found.mean(np.array([1.0, 2.0, 4.0])) == 2.0  # (1 + 1 + 2 + 4) / 4
    assert found.by_record(np.array([5, 6, 7])).tolist() == [5.0, 6.0, 5.0, 7.0]  # type: ignore[union-attr]
    assert found.rarest(2).tolist() == [1, 2]  # alone; then of those that three agree with the one with a missing value
    assert found.first((np.array([3, 1, 2]),), 2).tolist() == [1, 2]
    fewer = found.of_keys([1])
    assert fewer.cells.tolist() == [[1], [-1]] and fewer.sizes.tolist() == [3, 1]
    assert found.located(codes[[3, 0]]).tolist() == [2, 0]


@given(tables, cuts)
def test_classes_of_parts_are_those_of_the_whole(codes: Codes, ends: list[int]) -> None:
    weights = np.arange(1.0, len(codes) + 1)
    whole = KeyClasses.of(codes, weights)
    parts = merged(KeyClasses.of(codes[part], weights[part]) for part in slices(len(codes), ends))
    assert by_cell(parts) == by_cell(whole)
    assert np.array_equal(parts.cells[parts.located(codes)], codes)
    assert np.array_equal(parts.cells[parts.rarest(5)], whole.cells[whole.rarest(5)])


@given(st.lists(st.one_of(st.just(float("nan")), st.integers(0, 4).map(float)), min_size=1, max_size=25), cuts)
def test_sums_over_units_of_parts_are_those_of_the_whole(homes: list[float], ends: list[int]) -> None:
    household, figures = np.array(homes), np.arange(1.0, len(homes) + 1)
    data = replace(persons(len(homes)), columns={**persons(len(homes)).columns, "household": household})
    whole = UnitSums.of(units(data), household, figures)
    parts = merged(
        UnitSums.of(units(data.take(np.arange(*rows.indices(len(homes))))), household[rows], figures[rows])
        for rows in slices(len(homes), ends)
    )
    expected = {home: figures[household == home] for home in np.unique(household[~np.isnan(household)])}
    for found in (whole, parts):
        assert found.households.tolist() == list(expected)
        assert found.sums.tolist() == [float(of.sum()) for of in expected.values()]
        assert found.members.tolist() == [len(of) for of in expected.values()]
        assert found.alone.tolist() == figures[np.isnan(household)].tolist()


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 90_000), st.integers(1, 5)), min_size=1, max_size=20))
def test_a_table_of_many_values_is_counted_like_one_of_few(entries: list[tuple[int, int, int]]) -> None:
    rows, columns, counts = np.array(entries).T
    expected: dict[tuple[int, int], int] = {}
    for row, column, count in entries:
        expected[row, column] = expected.get((row, column), 0) + count
    for found in (Crosstab.of(rows, columns, counts), Crosstab.of(rows.repeat(counts), columns.repeat(counts))):
        listed = zip(found.rows.tolist(), found.columns.tolist(), found.counts.tolist(), strict=True)
        assert [((row, column), count) for row, column, count in listed] == sorted(expected.items())


# the keys of a pair in parts


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 240), max_size=4), st.booleans())
def test_weights_and_tables_by_class_in_parts_are_those_of_the_whole(ends: list[int], lost: bool) -> None:
    data = persons(240)
    protected = data.without(["weight"]) if lost else data  # the original's weights are then taken
    names = ("region", "sex")
    whole = Pair.of(data, protected)
    parts = Pair.of(cut(data, ends), cut(protected, ends))
    found = []
    for pair in (whole, parts):
        keys = Keys.of(pair, names)
        weights, notes = keys.weights(pair)
        assert weights is not None and any("original's 'weight'" in note for note in notes) is lost
        table = keys.crosstab("income")
        values = pair.protected.values("income").values
        cells = map(tuple, keys.classes.cells.tolist())
        by_class = {
            cell: sorted(zip(values[table.columns[table.rows == k]], table.counts[table.rows == k], strict=True))
            for k, cell in enumerate(cells)
        }
        found.append((dict(zip(by_class, weights, strict=True)), by_class, sampling_fraction(pair)))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-12)
    assert found[1][1] == found[0][1]
    assert found[1][2][0] == pytest.approx(found[0][2][0], rel=1e-12) and found[1][2][1] == found[0][2][1]


def test_the_fraction_by_hand_and_weights_that_were_rescaled() -> None:
    data = persons(240)
    heavy = replace(data, columns={**data.columns, "weight": np.full(240, 5.0)})
    assert sampling_fraction(Pair.of(heavy, heavy)) == (0.2, ())
    bare = data.without(["weight"])
    assert sampling_fraction(Pair.of(bare, bare))[0] == 1.0
    small = replace(data, columns={**data.columns, "weight": np.where(np.arange(240) == 7, 0.4, 2.0)})
    with pytest.raises(NotApplicable, match=r"below one in 1 record \(first in row 8: 0.4\)"):
        sampling_fraction(Pair.of(cut(small, [5]), cut(small, [5])))
