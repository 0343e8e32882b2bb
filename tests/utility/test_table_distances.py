"""Average absolute distance per cell, and the change of Cramér's V."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

import sfumato
from sfumato import AverageAbsoluteDistance, CramersVChange, GlobalRecoding, Microdata, NotApplicable, Schema, Variable
from tables import incomes, persons

LETTERS = st.sampled_from([None, "a", "b", "c"])


def table(**columns: Sequence[object]) -> Microdata:
    return Microdata.from_frame(pa.table(columns))


# average absolute distance


def test_a_two_way_table_by_hand() -> None:
    before = table(sex=["f"] * 3 + ["m"] * 2, town=["A", "A", "B", "A", "B"])
    after = table(sex=["f"] * 3 + ["m"] * 2, town=["A", "B", "B", "C", "B"])
    # f: A 2, 1; B 1, 2; C 0, 0.   m: A 1, 0; B 1, 1; C 0, 1: moved by 1, 1, 0, 1, 0, 1 over 2 x 3 cells
    found = AverageAbsoluteDistance().evaluate(before, after)
    assert found.value == pytest.approx(4 / 6) and found.by_pair == {("sex", "town"): pytest.approx(4 / 6)}
    assert found.parts["per cell that is not empty"] == pytest.approx(4 / 5)
    assert found.parts["share of records"] == pytest.approx(2 / 5)  # two of five records changed their cell
    (row,) = found.tables["tables"]
    assert (row["variables"], row["cells"], row["not empty"]) == ("sex, town", 6, 5)
    alone = AverageAbsoluteDistance(1).evaluate(before, after)
    assert alone.by_variable == pytest.approx({"sex": 0, "town": (2 + 1 + 1) / 3})  # A 3, 1; B 2, 3; C 0, 1
    assert not alone.about.joint and not alone.by_pair


def test_a_file_of_another_size_is_scaled_and_missing_is_a_category() -> None:
    before = table(town=["A", "A", None, "B"])
    after = replace(table(town=["A", "B"]), matched=False)
    # A 2, 2; missing 1, 0; B 1, 2
    assert AverageAbsoluteDistance(1).evaluate(before, after).value == pytest.approx(2 / 3)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(LETTERS, LETTERS, LETTERS), min_size=2, max_size=30),
    others=st.lists(st.tuples(LETTERS, LETTERS, LETTERS), min_size=2, max_size=30),
    ways=st.integers(1, 3),
)
def test_it_equals_a_count_of_tuples(
    rows: list[tuple[str | None, ...]], others: list[tuple[str | None, ...]], ways: int
) -> None:
    schema = Schema(tuple(Variable(name, kind="nominal", categories=("a", "b", "c")) for name in "xyz"))
    before_table, after_table = (
        Microdata.from_frame(
            pa.table({name: pa.array([row[j] for row in found], pa.string()) for j, name in enumerate("xyz")}), schema
        )
        for found in (rows, others)
    )
    values = []
    for chosen in combinations(range(3), ways):
        before, after = (Counter(tuple(row[j] for j in chosen) for row in found) for found in (rows, others))
        cells = np.prod([len({row[j] for row in [*rows, *others]}) for j in chosen])
        moved = sum(abs(before[c] - after[c] * len(rows) / len(others)) for c in {*before, *after})
        values.append(moved / cells)
    found = AverageAbsoluteDistance(ways).evaluate(before_table, replace(after_table, matched=False))
    assert found.value == pytest.approx(np.mean(values))


def test_recoded_variables_are_counted_in_the_protected_categories_and_numbers_in_bands() -> None:
    data = persons()
    recoded = GlobalRecoding(groups=4, rare=0.1).protect(data)
    assert AverageAbsoluteDistance().evaluate(data, recoded).value == 0
    numbers = incomes()
    swapped = sfumato.Shuffling().protect(numbers, rng=1)
    assert AverageAbsoluteDistance(1).evaluate(numbers, swapped).value == pytest.approx(0, abs=0.5)
    moved = [
        AverageAbsoluteDistance(1, bands=b).evaluate(numbers, sfumato.Noise(0.5).protect(numbers, rng=1)).value
        for b in (2, 10)
    ]
    assert all(found > 0 for found in moved)


def test_too_many_or_too_few_variables_are_refused() -> None:
    data = table(town=["A", "B"])
    with pytest.raises(NotApplicable, match="tables of 2 variables need as many that compare; there are 1"):
        AverageAbsoluteDistance().evaluate(data, data)
    wide = table(**{f"v{i}": ["A", "B"] for i in range(60)})
    with pytest.raises(NotApplicable, match="487,635 tables of 4 variables are more than the 50,000"):
        AverageAbsoluteDistance(4).evaluate(wide, wide)


# Cramér's V


def test_the_change_of_v_equals_scipys() -> None:
    rng = np.random.default_rng(0)
    n = 500
    a = rng.integers(0, 3, n)
    b, c = (a + rng.integers(0, 2, n)) % 4, rng.integers(0, 2, n)
    before = {"a": a, "b": b, "c": (a > 0).astype(int) * c}
    after = {"a": a, "b": rng.permutation(b), "c": before["c"]}
    tables = [
        Microdata.from_frame(pa.table({k: [f"{k}{code}" for code in v] for k, v in t.items()})) for t in (before, after)
    ]
    found = CramersVChange().evaluate(*tables)
    expected = {}
    for one, two in combinations("abc", 2):
        v, now = (
            association(
                np.array(
                    [[np.sum((t[one] == i) & (t[two] == j)) for j in np.unique(t[two])] for i in np.unique(t[one])]
                )
            )
            for t in (before, after)
        )
        expected[one, two] = 100 * (now - v) / v
    assert found.by_pair == pytest.approx(expected)
    assert found.value == pytest.approx(np.mean(np.abs(list(expected.values()))))
    assert found.parts["mean change"] == pytest.approx(np.mean(list(expected.values())))
    assert expected["a", "b"] < -50 and expected["a", "c"] == 0


def test_merged_categories_change_v_though_nothing_else_did() -> None:
    # V of 4 towns by 2 kinds is 1; of 2 regions, each with both kinds alike, 0
    before = table(town=["A", "B", "C", "D"] * 5, kind=["x", "y", "x", "y"] * 5)
    after = table(town=["AB", "AB", "CD", "CD"] * 5, kind=["x", "y", "x", "y"] * 5)
    assert CramersVChange().evaluate(before, after).by_pair == {("town", "kind"): pytest.approx(-100)}


def test_pairs_without_an_association_are_left_out_and_those_that_vanish_have_lost_all() -> None:
    before = table(a=["x", "x", "y", "y"], b=["p", "q", "p", "q"], c=["u", "u", "v", "v"])
    after = table(a=["x", "x", "y", "y"], b=["p", "q", "p", "q"], c=["u", "u", "u", "u"])
    found = CramersVChange().evaluate(before, after)
    assert found.by_pair == {("a", "c"): -100.0}  # a and b, b and c have V = 0
    assert "2 of 3 pairs left out: V is 0 or not defined before" in found.notes
    with pytest.raises(NotApplicable, match="no pair of variables has a Cramér's V above 0"):
        CramersVChange(variables=("a", "b")).evaluate(before, after)
    with pytest.raises(NotApplicable, match="pairs need two variables that both tables have; there is a"):
        CramersVChange(variables=("a",)).evaluate(before, after)


def test_shuffled_columns_lose_their_associations_and_swapping_few() -> None:
    data = sfumato.household_survey(400)
    rng = np.random.default_rng(1)
    scrambled = data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed()})
    swapped = sfumato.RankSwapping(0.02).protect(data, rng=1)
    assert CramersVChange().evaluate(data, scrambled).value > 3 * CramersVChange().evaluate(data, swapped).value
