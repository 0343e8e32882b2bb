"""The keys of a pair: which records agree, the notes, the weights."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato import (
    IndividualRisk,
    KAnonymity,
    LogLinearRisk,
    Measure,
    Microdata,
    NotApplicable,
    Schema,
    Treatment,
    Variable,
    VariableRemoval,
)
from sfumato.kernels.agreement import agreeing_pairs
from sfumato.pair import Keys, Pair
from sfumato.pair.statistics import KeyClasses
from tables import persons

KEYS = ("region", "sex", "education", "age")
holed = arrays(np.int32, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(-1, 2))


def agree(one: np.ndarray, other: np.ndarray) -> bool:
    """The rule, spelled out."""
    return all(a == b or a < 0 or b < 0 for a, b in zip(one, other, strict=True))


@given(codes=holed)
def test_records_agree_where_values_are_equal_or_missing(codes: np.ndarray) -> None:
    n = len(codes)
    weights = np.linspace(1, 2, n)
    expected = np.array([[agree(codes[i], codes[j]) for j in range(n)] for i in range(n)])
    found = KeyClasses.of(codes, weights)
    assert found.cell_of is not None and found.weights is not None
    np.testing.assert_array_equal(found.counts[found.cell_of], expected.sum(axis=1))
    np.testing.assert_allclose(found.agreeing(found.weights)[found.cell_of], expected @ weights)
    one, other = agreeing_pairs(codes)
    assert set(zip(one.tolist(), other.tolist(), strict=True)) == {(i, j) for i, j in np.argwhere(expected).tolist()}


def test_a_suppressed_value_never_makes_anybody_rarer() -> None:
    data = persons()
    before = KAnonymity().evaluate(data, data)
    holes = np.random.default_rng(3).random(len(data)) < 0.3
    suppressed = data.replace(
        {"region": np.where(holes, -1, data.columns["region"]).astype(np.int32)}, treatment=Treatment(suppressed=1)
    )
    after = KAnonymity().evaluate(data, suppressed)
    assert after.by_record is not None and before.by_record is not None
    assert (after.by_record <= before.by_record).all()
    assert after.value < before.value and after.notes == ()


def test_a_perturbed_key_is_noted_whether_the_schema_says_so_or_the_records_show_it() -> None:
    data = persons()
    shuffled = data.replace({"region": np.random.default_rng(1).permutation(data.columns["region"])})
    for protected in (shuffled, shuffled.to_arrow()):
        assert any("region were perturbed" in note for note in KAnonymity().evaluate(data, protected).notes)
    frame = data.to_arrow().to_pandas()
    merged = frame.assign(region=frame["region"].replace({"west": "east"}), age=frame["age"] // 10 * 10)
    assert KAnonymity().evaluate(data, merged).notes == ()  # recoded: coarser, and true


def test_records_that_correspond_to_none_are_noted() -> None:
    data = persons()
    found = KAnonymity().evaluate(data, replace(data, matched=False))
    assert any("of synthetic records it says nothing" in note for note in found.notes)


def test_no_key_left_is_refused_for_a_renamed_key_would_look_safe() -> None:
    data = persons()
    with pytest.raises(NotApplicable, match="KAnonymity: the protected table has none of the keys region, sex"):
        KAnonymity(variables=("region", "sex")).evaluate(data, data.without(["region", "sex"]))


def test_weights_below_one_are_refused_and_a_lost_weight_is_taken_from_the_original() -> None:
    data = persons()
    small = replace(data, columns={**data.columns, "weight": np.where(np.arange(240) == 7, 0.4, 2.0)})
    with pytest.raises(NotApplicable, match=r"IndividualRisk: the weight 'weight' is below one in 1 record \(first in"):
        IndividualRisk().evaluate(small, small)
    whole = IndividualRisk().evaluate(data, data)
    without = IndividualRisk().evaluate(data, data.without(["weight"]))
    assert without.value == whole.value and any("the original's 'weight'" in note for note in without.notes)
    neither = IndividualRisk().evaluate(data.without(["weight"]), data.without(["weight"]))
    assert any("census" in note for note in neither.notes)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_counts_equal_a_plain_group_by(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(1, 400)), int(rng.integers(1, 6))
    table = pa.table({f"k{j}": rng.integers(0, rng.integers(1, 12), n).astype(str) for j in range(q)})
    keys = tuple(table.column_names)
    frame = table.to_pandas()
    sizes = frame.groupby(list(keys))[keys[0]].transform("size").to_numpy()
    k = int(rng.integers(2, 6))
    found = KAnonymity(k, variables=keys).evaluate(table, table)
    assert found.by_record is not None
    np.testing.assert_array_equal(found.by_record, sizes < k)
    assert found.parts["smallest class"] == sizes.min()
    assert found.parts["violating 5"] == pytest.approx((sizes < 5).mean())
    data = Microdata.from_frame(table, Schema(tuple(Variable(key, kind="nominal", role="key") for key in keys)))
    assert KAnonymity(k).evaluate(data, data).value == found.value


@pytest.mark.parametrize("measure", [IndividualRisk(), IndividualRisk(population=5000), LogLinearRisk()])
def test_lost_weights_are_those_of_the_same_records_in_whatever_order(measure: Measure) -> None:
    data = persons()
    lost = VariableRemoval(variables=("weight",)).protect(data)
    order = np.random.default_rng(4).permutation(len(data))
    in_place, mixed = (measure.evaluate(data, table) for table in (lost, lost.take(order)))
    assert mixed.value == pytest.approx(in_place.value, rel=1e-12)
    assert in_place.value == pytest.approx(measure.evaluate(data, data).value, rel=1e-12)
    assert mixed.notes == in_place.notes, "recoded or not is told record by record too"


def test_weights_by_id_by_hand() -> None:
    table = pa.table({"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "weight": [10.0, 20.0, 40.0]})
    variables = (Variable("id", "nominal"), Variable("sex", "nominal", "key"))
    data = Microdata.from_frame(table, Schema(variables, weight="weight", id="id"))
    mixed = data.without(["weight"]).take(np.array([1, 2, 0]))  # m f f
    pair = Pair.of(data, mixed)
    sums, _ = Keys.of(pair, None).weights(pair)
    assert sums is not None and sums.tolist() == [20.0, 50.0], "of m, then of f"
