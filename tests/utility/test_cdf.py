"""CDFMaximum and CDFSquares: by hand, against the definition, against scipy, and on bad input."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato import CDFMaximum, CDFSquares, Microdata, NotApplicable, ParameterError, Schema, Variable
from tables import incomes, numbers, weighted

Floats = NDArray[np.float64]


def frame(values: Floats, weights: Floats | None = None) -> Microdata:
    data = numbers(**{f"v{j}": column for j, column in enumerate(values.T)})
    return data if weights is None else weighted(data, weights)


def definition(x: Floats, y: Floats, w: Floats, u: Floats) -> Floats:
    """Kim's (6) at every pooled record of (8): two weighted distribution functions, one record at a time."""
    pooled = np.concatenate([x, y])
    first = [w[(x <= z).all(axis=1)].sum() / w.sum() for z in pooled]
    second = [u[(y <= z).all(axis=1)].sum() / u.sum() for z in pooled]
    gaps: Floats = np.array(first) - np.array(second)
    return gaps


def levels(values: list[str | None], categories: tuple[str, ...]) -> Microdata:
    schema = Schema((Variable("school", kind="ordinal", categories=categories),))
    return Microdata.from_frame(pa.table({"school": pa.array(values, pa.string())}), schema)


# by hand


def test_two_variables_by_hand() -> None:
    x, y = numbers(a=[1, 2, 3.0], b=[1, 3, 2.0]), numbers(a=[1, 2, 3.0], b=[2, 2, 3.0])
    # at (1, 1): 1/3 - 0; (2, 3): 2/3 - 2/3; (3, 2): 2/3 - 2/3; (1, 2): 1/3 - 1/3; (2, 2): 1/3 - 2/3; (3, 3): 0
    largest, squares = CDFMaximum().evaluate(x, y), CDFSquares().evaluate(x, y)
    assert largest.value == pytest.approx(1 / 3, abs=1e-15)
    assert squares.value == pytest.approx((1 / 9 + 1 / 9) / 6, abs=1e-15)
    assert CDFSquares(total=True).evaluate(x, y).value == pytest.approx(2 / 9, abs=1e-15)
    # b alone: 1/3 - 0 at 1, 2/3 - 2/3 at 2, 0 at 3; a is unchanged
    assert largest.by_variable == pytest.approx({"a": 0.0, "b": 1 / 3})
    assert squares.by_variable == pytest.approx({"a": 0.0, "b": 1 / 9 / 6})
    assert largest.parts["mean of squares"] == squares.value
    assert squares.parts["largest difference"] == largest.value
    assert any(
        "largest at a 1, b 1: at or below it lies 0.3333 of the original and 0 of the" in n for n in largest.notes
    )


def test_weights_by_hand() -> None:
    x = weighted(numbers(a=[1.0, 2.0]), np.array([3.0, 1.0]))
    y = weighted(numbers(a=[1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    # at 1: 3/4 - 1/4; at 2: 1 - 2/4; at 3: 0; two records at 1, two at 2, one at 3
    assert CDFMaximum().evaluate(x, y).value == 0.5
    assert CDFSquares().evaluate(x, y).value == pytest.approx((2 * 0.25 + 2 * 0.25) / 5)


def test_one_table_below_the_other_reaches_the_printed_bound() -> None:
    x, y = np.arange(4.0)[:, None], np.arange(4.0, 11.0)[:, None]
    n, m = len(x), len(y)
    bound = (n + m) * (2 * n * m + 1) / (6 * n * m)
    assert CDFMaximum().evaluate(frame(x), frame(y)).value == 1.0
    assert CDFMaximum().evaluate(frame(y), frame(x)).value == 1.0
    assert CDFSquares(total=True).evaluate(frame(x), frame(y)).value == pytest.approx(bound, rel=1e-14)
    assert CDFMaximum().evaluate(frame(np.hstack([x, x])), frame(np.hstack([y, y]))).value == 1.0


# against the definition and scipy


@settings(max_examples=120, deadline=None)
@given(
    n=st.integers(1, 40),
    m=st.integers(1, 40),
    p=st.integers(1, 6),
    values=st.sampled_from([2, 5, 10**6]),
    uneven=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_equal_to_the_definition(n: int, m: int, p: int, values: int, uneven: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, values, (size, p)).astype(np.float64) for size in (n, m))
    w, u = (rng.uniform(0.1, 9, size) if uneven else np.ones(size) for size in (n, m))
    gaps = definition(x, y, w, u)
    data = (frame(x, w), frame(y, u)) if uneven else (frame(x), frame(y))
    assert CDFMaximum().evaluate(*data).value == pytest.approx(np.abs(gaps).max(), abs=1e-12)
    assert CDFSquares().evaluate(*data).value == pytest.approx(np.mean(gaps**2), abs=1e-12)
    assert CDFSquares(total=True).evaluate(*data).value == pytest.approx(np.sum(gaps**2), abs=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_large_tables_equal_the_definition(p: int) -> None:
    rng = np.random.default_rng(p)
    x = np.round(rng.normal(size=(3000, 1)) + rng.normal(size=(3000, p)), 2)
    y = np.round(rng.normal(size=(2700, 1)) + 1.2 * rng.normal(size=(2700, p)), 2)
    w, u = rng.uniform(1, 5, 3000), rng.uniform(1, 5, 2700)
    gaps = definition(x, y, w, u)
    found = CDFSquares().evaluate(frame(x, w), frame(y, u))
    assert found.value == pytest.approx(np.mean(gaps**2), abs=1e-12)
    assert found.parts["largest difference"] == pytest.approx(np.abs(gaps).max(), abs=1e-12)
    point = {"original": 0.0, "protected": 0.0}
    for table in point:
        point[table] = found.parts[f"{table} at or below the point"]
    assert abs(point["original"] - point["protected"]) == pytest.approx(np.abs(gaps).max(), abs=1e-12)


def test_each_variable_has_its_kolmogorov_smirnov_statistic() -> None:
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(3)
    x, y = np.round(rng.normal(size=(300, 3)), 1), np.round(rng.normal(size=(170, 3)) * [1, 1.3, 2], 1)
    found = CDFMaximum().evaluate(frame(x), frame(y)).by_variable
    for j in range(3):
        assert found[f"v{j}"] == pytest.approx(ks_2samp(x[:, j], y[:, j]).statistic, abs=1e-14)
    assert CDFMaximum(variables=("v2",)).evaluate(frame(x), frame(y)).value == found["v2"]


def test_each_variable_has_its_cramer_von_mises_figure() -> None:
    from scipy.stats import cramervonmises_2samp

    rng = np.random.default_rng(3)
    n, m = 60, 45
    x, y = rng.normal(size=(n, 1)), rng.normal(size=(m, 1)) + 0.3
    # Anderson (1962): without ties T = n m / (n + m)^2 times the sum of squares over the pooled records
    statistic = cramervonmises_2samp(x[:, 0], y[:, 0], method="asymptotic").statistic
    total = CDFSquares(total=True).evaluate(frame(x), frame(y))
    assert n * m / (n + m) ** 2 * total.value == pytest.approx(statistic, rel=1e-12)
    assert total.by_variable["v0"] == pytest.approx(total.value, rel=1e-14)


# properties


@pytest.mark.parametrize("weight", [1.0, 0.1, 7.3e200, 3e-200])
def test_equal_weights_are_no_weights(weight: float) -> None:
    data, other = incomes(), incomes(150, seed=1)
    plain = CDFSquares().evaluate(data, other)
    even = CDFSquares().evaluate(weighted(data, np.full(200, weight)), weighted(other, np.full(150, weight)))
    assert even.value == pytest.approx(plain.value, abs=1e-12)
    assert even.parts["largest difference"] == pytest.approx(plain.parts["largest difference"], abs=1e-12)


def test_the_same_records_in_any_order_are_no_difference() -> None:
    data = incomes(6000)
    order = np.random.default_rng(0).permutation(6000)
    assert CDFMaximum().evaluate(data, data.take(order)).value == 0.0
    assert CDFSquares(total=True).evaluate(data, data.take(order)).value == 0.0
    assert CDFMaximum().evaluate(data, data.take(np.repeat(order, 3))).value == 0.0  # each three times as often
    assert not any("largest" in note for note in CDFMaximum().evaluate(data, data).notes)
    heavy = weighted(data, np.random.default_rng(1).uniform(1, 9, 6000))
    assert CDFMaximum().evaluate(heavy, heavy.take(order)).value < 1e-14


def test_shuffled_columns_keep_each_variable_and_are_seen_jointly() -> None:
    data = incomes(500)
    rng = np.random.default_rng(2)
    shuffled = data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed("numeric")})
    found = CDFMaximum().evaluate(data, shuffled)
    assert max(found.by_variable.values()) == 0.0
    assert found.value > 0.1


def test_records_of_weight_zero_change_nothing_and_are_noted() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    w, u = rng.uniform(1, 3, 30), rng.uniform(1, 3, 20)
    strangers = rng.normal(size=(9, 2)) * 3
    more = frame(np.vstack([x, strangers]), np.append(w, np.zeros(9)))
    for measure in (CDFMaximum(), CDFSquares(), CDFSquares(total=True)):
        found = measure.evaluate(more, frame(y, u))
        assert found.value == measure.evaluate(frame(x, w), frame(y, u)).value
        assert "9 records of weight zero left out" in found.notes


def test_one_table_without_weights_is_said() -> None:
    x = weighted(numbers(a=[1.0, 2.0]), np.array([3.0, 1.0]))
    found = CDFMaximum().evaluate(x, numbers(a=[1.0, 2.0]))
    assert found.value == 0.25  # at 1: 3/4 - 1/2
    assert any("the protected table has no weight" in note for note in found.notes)


def test_constant_columns_change_nothing() -> None:
    x, y = incomes(300), incomes(250, seed=1)
    names = x.schema.analysed("numeric")[:2]
    one = {name: x.columns[name] for name in names}, {name: y.columns[name] for name in names}
    plain = CDFSquares().evaluate(numbers(**one[0]), numbers(**one[1]))
    more = CDFSquares().evaluate(numbers(c=np.ones(300), **one[0]), numbers(c=np.ones(250), **one[1]))
    assert more.value == plain.value
    assert more.by_variable["c"] == 0.0


# missing values and categories


def test_missing_values_lie_below_all_others_in_both_tables() -> None:
    nan = float("nan")
    x, y = numbers(a=[nan, 1.0, 2.0, 3.0]), numbers(a=[nan, nan, 2.0, 3.0])
    found = CDFMaximum().evaluate(x, y)  # at missing: 1/4 - 2/4; at 1: 2/4 - 2/4; at 2: 3/4 - 3/4
    assert found.value == 0.25
    assert any("largest at a missing" in note for note in found.notes)
    assert any("taken as below all others: 1 before, 2 after" in note for note in found.notes)
    assert CDFMaximum().evaluate(x, x).value == 0.0


def test_ordinal_by_the_order_of_categories_matched_by_value() -> None:
    order = ("none", "primary", "secondary", "tertiary")
    x = levels(["none", "primary", "secondary", "tertiary"], order)
    y = levels(["primary", "primary", "tertiary", None], ("primary", "secondary", "tertiary"))
    # missing: 0 - 1/4; none: 1/4 - 1/4; primary: 2/4 - 3/4; secondary: 3/4 - 3/4; tertiary: 0
    # at none one record, primary three, secondary one, tertiary two, missing one
    assert CDFMaximum().evaluate(x, y).value == 0.25
    assert CDFSquares(total=True).evaluate(x, y).value == pytest.approx((1 + 3) / 16)


def test_categories_of_both_tables_are_merged_where_their_order_is_known() -> None:
    x = levels(["a", "b", "c"], ("a", "b", "c"))
    y = levels(["a", "c", "d"], ("a", "c", "d"))  # b between a and c, d after c
    # a: 1/3 - 1/3; b: 2/3 - 1/3; c: 1 - 2/3; d: 0
    assert CDFSquares(total=True).evaluate(x, y).value == pytest.approx((1 + 2) / 9)
    unused = levels(["a", "c", "c"], ("a", "x", "c"))  # x has no record, so its place does not matter
    assert CDFMaximum().evaluate(x, unused).value == pytest.approx(1 / 3)


def test_categories_of_unknown_order_are_refused() -> None:
    x = levels(["a", "b", "c"], ("a", "b", "c"))
    with pytest.raises(NotApplicable, match="CDFMaximum: the order of 'school' is unknown: only the original has 'b'"):
        CDFMaximum().evaluate(x, levels(["a", "x", "c"], ("a", "x", "c")))
    with pytest.raises(NotApplicable, match="CDFSquares: the two tables list the categories of 'school' in different"):
        CDFSquares().evaluate(x, levels(["a", "b", "c"], ("c", "b", "a")))


def test_a_variable_of_another_kind_is_left_out_and_said() -> None:
    x = numbers(age=[20.0, 30.0], income=[1.0, 2.0])
    table = pa.table({"age": ["young", "old"], "income": [1.0, 2.0]})
    bands = Schema((Variable("age", kind="ordinal", categories=("young", "old")),))
    y = Microdata.from_frame(table, bands)
    found = CDFMaximum().evaluate(x, y)
    assert tuple(found.by_variable) == ("income",)
    assert "left out, of another kind in the protected table: age" in found.notes
    with pytest.raises(NotApplicable, match="'age' is numeric in the original and ordinal in the protected"):
        CDFMaximum(variables=("age",)).evaluate(x, y)


# a sample of the points


def test_points_estimate_the_mean_within_their_standard_error() -> None:
    x, y = incomes(400), incomes(300, seed=1)
    exact = CDFSquares().evaluate(x, y).value
    drawn = [CDFSquares(points=100).evaluate(x, y, rng=seed) for seed in range(200)]
    values = np.array([found.value for found in drawn])
    errors = np.array([found.parts["standard error"] for found in drawn])
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(200)  # unbiased
    assert values.std() == pytest.approx(np.sqrt((errors**2).mean()), rel=0.2)  # and as uncertain as it says
    assert all("estimated from 100 of 700 records" in found.notes[-1] for found in drawn)
    total = CDFSquares(points=100, total=True).evaluate(x, y, rng=0)
    assert total.value == pytest.approx(700 * values[0])
    assert total.parts["standard error"] == pytest.approx(700 * errors[0])


def test_points_give_a_lower_bound_of_the_maximum_and_the_share_that_may_exceed_it() -> None:
    x, y = incomes(400), incomes(300, seed=1)
    gaps = np.abs(definition(x.numeric(), y.numeric(), np.ones(400), np.ones(300)))
    held = 0
    for seed in range(200):
        found = CDFMaximum(points=60).evaluate(x, y, rng=seed)
        assert found.value <= gaps.max() + 1e-15
        held += bool(np.mean(gaps > found.value + 1e-15) <= found.parts["share that may exceed it"])
    assert held >= 0.95 * 200
    assert found.parts["share that may exceed it"] == pytest.approx(1 - 0.05 ** (1 / 60))
    assert "a lower bound, from 60 of 700 records" in found.notes[-1]


def test_points_beyond_the_records_are_all_of_them() -> None:
    x, y = incomes(40), incomes(30, seed=1)
    assert CDFSquares(points=70).evaluate(x, y).value == CDFSquares().evaluate(x, y).value
    assert CDFMaximum(points=10**6).evaluate(x, y).notes == CDFMaximum().evaluate(x, y).notes


def test_points_of_large_tables_are_those_of_the_definition() -> None:
    x, y = incomes(4000), incomes(3000, seed=1)
    gaps = np.abs(definition(x.numeric(), y.numeric(), np.ones(4000), np.ones(3000)))
    found = CDFMaximum(points=50).evaluate(x, y, rng=1)
    assert np.abs(gaps - found.value).min() < 1e-14
    assert found.value < gaps.max()


# parameters and what is said of the measure


def test_what_is_said_of_an_instance_follows_its_parameters() -> None:
    assert not CDFMaximum().about.random and CDFMaximum(points=10).about.random
    assert CDFSquares().about.range == (0.0, 1.0)
    assert CDFSquares(total=True).about.range == (0.0, np.inf)
    assert "MCM" in CDFSquares(total=True).about.title
    assert not CDFSquares.about.random
    both = CDFSquares(total=True, points=10)
    for other in (pickle.loads(pickle.dumps(both)), replace(both)):
        assert other == both and other.about == both.about
    assert replace(both, total=False, points=None).about == CDFSquares.about
    assert CDFSquares.about.parts == CDFSquares(points=10, variables=("a",)).about.parts == "sample"
    assert CDFSquares(variables=("a",)).about.parts == "summaries"


@pytest.mark.parametrize("points", [0, 1, -5, 2.5, True, "all"])
def test_points_must_be_a_whole_number(points: object) -> None:
    with pytest.raises(ParameterError, match="points must be a whole number of at least 2"):
        CDFMaximum(points=points)  # type: ignore[arg-type]
