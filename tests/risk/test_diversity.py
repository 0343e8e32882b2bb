"""l-diversity and t-closeness against plain loops, scipy's distance, and by hand."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import LDiversity, Microdata, NotApplicable, ParameterError, Schema, TCloseness, Variable
from tables import persons


def survey(seed: int, n: int | None = None, *, holes: bool = False) -> Microdata:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60)) if n is None else n
    keys = rng.integers(-1 if holes else 0, 3, (n, 2))
    illness = rng.integers(-1 if holes else 0, 4, n)
    income = rng.choice([10.0, 20.0, 20.5, 70.0, 1000.0], n)
    table = pa.table(
        {
            "a": [None if v < 0 else f"a{v}" for v in keys[:, 0]],
            "b": [None if v < 0 else f"b{v}" for v in keys[:, 1]],
            "illness": [None if v < 0 else f"i{v}" for v in illness],
            "income": np.where(rng.random(n) < 0.1, np.nan, income) if holes else income,
        }
    )
    schema = Schema(
        (
            Variable("a", kind="nominal", role="key"),
            Variable("b", kind="nominal", role="key"),
            Variable("illness", kind="nominal", role="confidential"),
            Variable("income", role="confidential"),
        )
    )
    return Microdata.from_frame(table, schema)


def neighbours(data: Microdata) -> list[np.ndarray]:
    """The records that agree with each one, spelled out."""
    keys = data.codes(("a", "b"))
    return [
        np.flatnonzero([all(x == y or x < 0 or y < 0 for x, y in zip(one, other, strict=True)) for other in keys])
        for one in keys
    ]


def values(data: Microdata, name: str, rows: np.ndarray) -> np.ndarray:
    column: np.ndarray = data.columns[name][rows]
    present: np.ndarray = column[~np.isnan(column)] if column.dtype.kind == "f" else column[column >= 0]
    return present


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 100_000), st.booleans(), st.sampled_from(["distinct", "entropy", "recursive"]))
def test_l_diversity_equals_a_plain_loop(seed: int, holes: bool, kind: str) -> None:
    data = survey(seed, holes=holes)
    measure = LDiversity(3, kind, 1.5)  # type: ignore[arg-type]
    expected = {}
    for name in ("illness", "income"):
        rows = []
        for near in neighbours(data):
            counts = np.sort(np.unique(values(data, name, near), return_counts=True)[1])[::-1]
            p = counts / counts.sum()
            if not counts.size:
                rows.append(False)
            elif kind == "distinct":
                rows.append(len(counts) < 3)
            elif kind == "entropy":
                rows.append(bool(-(p * np.log(p)).sum() < np.log(3) - 1e-9))
            else:
                rows.append(bool(counts[0] >= 1.5 * counts[2:].sum()))
        expected[name] = np.array(rows)
    found = measure.evaluate(data, data)
    assert found.by_record is not None
    np.testing.assert_array_equal(found.by_record, expected["illness"] | expected["income"])
    assert found.by_variable == pytest.approx({name: rows.mean() for name, rows in expected.items()})


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 100_000), st.booleans())
def test_t_closeness_equals_scipys_distance_on_ranks(seed: int, holes: bool) -> None:
    data = survey(seed, holes=holes)
    everybody = np.arange(len(data))
    distances = np.zeros((len(data), 2))
    income, illness = values(data, "income", everybody), values(data, "illness", everybody)
    if not income.size or not illness.size:
        return
    levels = np.unique(income)
    for i, near in enumerate(neighbours(data)):
        here = values(data, "income", near)
        if here.size and len(levels) > 1:
            ranks = (np.searchsorted(levels, here), np.searchsorted(levels, income))
            distances[i, 0] = stats.wasserstein_distance(*ranks) / (len(levels) - 1)
        here = values(data, "illness", near)
        if here.size:
            shares = [np.bincount(v.astype(int), minlength=4) / v.size for v in (here, illness)]
            distances[i, 1] = np.abs(shares[0] - shares[1]).sum() / 2
    found = TCloseness().evaluate(data, data)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, distances.max(axis=1), atol=1e-12)
    assert found.by_variable == pytest.approx({"income": distances[:, 0].max(), "illness": distances[:, 1].max()})


@pytest.mark.parametrize("at_a_time", [1, 7, 40])
def test_classes_with_missing_keys_come_in_parts_that_fit_into_memory(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = survey(3, 50, holes=True)
    measures = (LDiversity(3, "entropy"), TCloseness())
    at_once = [measure.evaluate(data, data) for measure in measures]
    monkeypatch.setattr("sfumato.risk.diversity.MAX_ENTRIES", at_a_time)
    for measure, whole in zip(measures, at_once, strict=True):
        found = measure.evaluate(data, data)
        assert found.by_record is not None and whole.by_record is not None
        assert found.by_record.tolist() == whole.by_record.tolist() and found.tables == whole.tables


def test_the_example_of_the_paper() -> None:
    # Li, Li and Venkatasubramanian, section 5: incomes 3k..11k; the classes {3k,4k,5k} and {6k,8k,11k} are at
    # distances 0.375 and 0.167 from the whole
    table = pa.table({"group": ["P1"] * 3 + ["P2"] * 3 + ["rest"] * 3, "income": [3.0, 4, 5, 6, 8, 11, 7, 9, 10]})
    found = TCloseness(variables=("group",), confidential=("income",)).evaluate(table, table)
    rows = {row["group"]: row["distance"] for row in found.tables["farthest classes"]}
    assert rows["P1"] == pytest.approx(0.375) and rows["P2"] == pytest.approx(1 / 6)
    assert found.value == pytest.approx(0.375)


def test_classes_that_mirror_the_file_are_at_distance_zero() -> None:
    rows = list(product(["x", "y"], ["ill", "ill", "well"]))
    table = pa.table({"key": [key for key, _ in rows], "health": [health for _, health in rows]})
    assert TCloseness(variables=("key",), confidential=("health",)).evaluate(table, table).value == pytest.approx(0.0)
    alike = pa.table({"key": ["x", "x", "y", "y"], "health": ["ill", "ill", "well", "well"]})
    assert TCloseness(variables=("key",), confidential=("health",)).evaluate(alike, alike).value == pytest.approx(0.5)


def test_an_ordinal_variable_is_ordered_by_its_categories() -> None:
    # shares of the file 1/2, 0, 1/2 of low < middle < high, of which two values occur: distance 1/2 by either rule;
    # with a middle record, low is nearer to the file than by the equal distance
    levels = ("low", "middle", "high")
    table = pa.table({"key": ["x", "y", "y"], "grade": ["low", "middle", "high"]})
    schema = Schema((Variable("grade", kind="ordinal", categories=levels),))
    data = Microdata.from_frame(table, schema)
    ordered = TCloseness(variables=("key",), confidential=("grade",)).evaluate(data, data)
    # cumulated shares of x: 1, 1; of the file: 1/3, 2/3: (2/3 + 1/3) / 2
    assert ordered.by_record is not None
    np.testing.assert_allclose(ordered.by_record, [0.5, 0.25, 0.25])
    nominal = TCloseness(variables=("key",), confidential=("grade",)).evaluate(table, table)
    assert nominal.value == pytest.approx(2 / 3)


def test_entropy_of_ln_l_exactly_is_enough() -> None:
    table = pa.table({"key": ["x"] * 3, "health": ["a", "b", "c"]})
    assert LDiversity(3, "entropy", variables=("key",), confidential=("health",)).evaluate(table, table).value == 0.0


def test_what_is_confidential_must_be_known_and_no_key() -> None:
    data = persons()
    for cls in (LDiversity, TCloseness):
        with pytest.raises(NotApplicable, match=f"{cls.__name__}: there is no variable 'helth'"):
            cls(confidential=("helth",)).evaluate(data, data)
        with pytest.raises(NotApplicable, match=f"{cls.__name__}: no variable besides the keys is confidential"):
            cls(confidential=("region",)).evaluate(data, data)
        with pytest.raises(NotApplicable, match="none of the confidential income, health"):
            cls().evaluate(data, data.without(["income", "health"]))
        left = cls().evaluate(data, data.without(["income"]))
        assert any("income" in note for note in left.notes) and list(left.by_variable) == ["health"]
    with pytest.raises(ParameterError, match="LDiversity: diversity must be one of"):
        LDiversity(diversity="most")  # type: ignore[arg-type]


def test_distinct_diversity_equals_pandas() -> None:
    data = persons()
    frame = data.to_arrow().to_pandas()
    found = LDiversity(variables=("region", "sex"), confidential=("health",)).evaluate(data, data)
    different = frame.groupby(["region", "sex"])["health"].transform("nunique")
    assert found.value == (different < 2).mean() and isinstance(different, pd.Series)
    assert found.parts["smallest, health"] == different.min()


def test_a_confidential_variable_that_is_missing_everywhere_tells_nothing() -> None:
    data = persons()
    empty = data.replace({"health": np.full(len(data), -1, dtype=np.int32)})
    for cls in (LDiversity, TCloseness):
        found = cls(confidential=("health",)).evaluate(data, empty)
        assert found.value == 0.0 and any("nothing can be learned" in note for note in found.notes)


def amounts(**classes: list[float]) -> pa.Table:
    """A key with the amounts of each of its classes."""
    return pa.table(
        {
            "key": [name for name, own in classes.items() for _ in own],
            "pay": [v for own in classes.values() for v in own],
        }
    )


def of_amounts(measure: LDiversity, table: pa.Table | Microdata) -> float:
    return measure.evaluate(table, table).value


KEY: dict[str, Any] = {"variables": ("key",), "confidential": ("pay",)}


def test_amounts_that_differ_by_a_millionth_are_one_value() -> None:
    table = amounts(a=[50_000 + i * 1e-6 for i in range(4)], b=[20_000.0, 30_000, 40_000, 60_000])
    assert of_amounts(LDiversity(**KEY), table) == 0.5  # class a has one value
    assert of_amounts(LDiversity(**KEY, near=0), table) == 0.0
    entropy = LDiversity(2, "entropy", **KEY).evaluate(table, table)
    assert entropy.value == 0.5 and entropy.parts["smallest, pay"] == pytest.approx(1.0)


def test_near_amounts_by_hand() -> None:
    # near = 0.01: 100 reaches to 100 / 0.99 = 101.01, so 101 is near to it and 102 is not; 102 reaches to 103.03, so
    # 103 is near to it: two values, {100, 101} and {102, 103}. Quartiles are 2 apart, which widens nothing
    table = amounts(a=[103.0, 101, 100, 102])
    found = LDiversity(3, **KEY, near=0.01).evaluate(table, table)
    assert (found.value, found.parts["smallest, pay"]) == (1.0, 2.0)
    # recursive: r_1 = 2 < c r_2 = 1.5 * 2 with l = 2, and not with c = 1
    assert of_amounts(LDiversity(2, "recursive", 1.5, **KEY, near=0.01), table) == 0.0
    assert of_amounts(LDiversity(2, "recursive", 1.0, **KEY, near=0.01), table) == 1.0
    # below nought the same: -100 and -101
    below = amounts(a=[-103.0, -101, -100, -102])
    assert LDiversity(**KEY, near=0.01).evaluate(below, below).parts["smallest, pay"] == 2.0
    # about nought the quartiles decide: 0 and 3 in a file with quartiles 0 and 400 are near, 0 and 5 are not
    small, large = amounts(a=[0.0, 3], b=[400.0, 500]), amounts(a=[0.0, 5], b=[400.0, 500])
    assert of_amounts(LDiversity(**KEY, near=0.01), small) == 0.5
    assert of_amounts(LDiversity(**KEY, near=0.01), large) == 0.0


def test_whole_numbers_and_dates_stay_apart() -> None:
    years = amounts(a=[1980.0, 1981], b=[9998.0, 9999])
    assert of_amounts(LDiversity(**KEY), years) == 0.0
    days = pd.DataFrame({"key": ["a", "a"], "day": pd.to_datetime(["2024-05-01", "2024-05-02"])})
    assert LDiversity(variables=("key",), confidential=("day",), near=0.5).evaluate(days, days).value == 0.0


def most_apart(values: list[float], near: float, spread: float) -> int:
    """The most values of which no two are near, by trying all sets of them."""
    different = sorted(set(values))
    for size in range(len(different), 0, -1):
        for some in combinations(different, size):
            if all(y - x > near * max(abs(x), abs(y), spread) for x, y in combinations(some, 2)):
                return size
    return 0


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 100_000), st.sampled_from([0.03, 0.3]), st.booleans())
def test_the_number_of_values_is_the_most_of_which_no_two_are_near(seed: int, near: float, holes: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 24
    pay = np.round(rng.normal(size=n) * rng.choice([1.0, 30.0, 400.0], n), 3) + rng.choice([0.0, 0.1234], n)
    key = rng.integers(0, 4, n)
    names = [None if holes and k == 3 else f"k{k}" for k in key]
    table = Microdata.from_frame(pa.table({"key": pa.array(names, pa.string()), "pay": pay}))
    found = LDiversity(4, **KEY, near=near).evaluate(table, table)
    order = np.sort(pay)
    spread = order[np.ceil(0.75 * n).astype(int) - 1] - order[np.ceil(0.25 * n).astype(int) - 1]
    expected = []
    for own in names:
        alike = [
            v for v, other in zip(pay.tolist(), names, strict=True) if own is None or other is None or own == other
        ]
        expected.append(most_apart(alike, near, spread) if len(set(alike)) < 13 else None)
    assert found.by_record is not None
    for violates, most in zip(found.by_record, expected, strict=True):
        assert most is None or bool(violates) == (most < 4)


def test_of_classes_as_far_from_the_file_the_larger_are_named_first() -> None:
    """One illness in each class, x in those of one and of three, y in that of four: each is half a file away."""
    table = pa.table({"key": list("abbbcccc"), "ill": list("xxxxyyyy")})
    found = TCloseness(variables=("key",), confidential=("ill",)).evaluate(table, table)
    listed = found.tables["farthest classes"]
    assert [row["distance"] for row in listed] == pytest.approx([0.5] * 3)
    assert [row["key"] for row in listed] == ["c", "b", "a"]


def test_with_a_share_of_one_nought_is_near_to_every_amount_above() -> None:
    """|0 - y| is y, all of the larger; -3 and 5 are 8 apart, more than either."""
    above, both = amounts(a=[0.0, 5, 900], b=[1.0, 2, 3]), amounts(a=[-3.0, 5], b=[1.0, 2])
    assert LDiversity(**KEY, near=1.0).evaluate(above, above).parts["smallest, pay"] == 1.0
    assert LDiversity(**KEY, near=1.0).evaluate(above, above).value == 1.0
    found = LDiversity(**KEY, near=1.0).evaluate(both, both)
    assert found.value == 0.5  # of class b alone
