from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata, NotApplicable, ParameterError, Schema, TopBottomCoding, Treatment, Variable, catalogue
from sfumato.methods.top_bottom import upper_limit
from tables import numbers, persons, weighted

LEVELS = ("primary", "secondary", "bachelor", "master", "doctorate")
amounts = st.lists(st.integers(-50, 50), min_size=1, max_size=60)
shares = st.floats(0.01, 0.49)


def test_by_hand_stated_limits_and_what_replaces_the_values_beyond() -> None:
    data = numbers(x=[5.0, 1.0, float("nan"), 20.0, 30.0, 40.0, 2.0])
    limit = TopBottomCoding(top={"x": 15}, bottom={"x": 2}).protect(data)
    np.testing.assert_array_equal(limit.columns["x"], [5, 2, np.nan, 15, 15, 15, 2])
    assert limit.schema["x"].treatment == Treatment(bottom=2.0, top=15.0)
    mean = TopBottomCoding(top={"x": 15}, by="mean").protect(data)
    np.testing.assert_array_equal(mean.columns["x"], [5, 1, np.nan, 30, 30, 30, 2])
    median = TopBottomCoding(top={"x": 15}, by="median").protect(numbers(x=[1.0, 20.0, 30.0, 100.0]))
    np.testing.assert_array_equal(median.columns["x"], [1, 30, 30, 30])
    with pytest.raises(NotApplicable, match=r"1 of the values of 'x' lie beyond 2, and their mean would tell them"):
        TopBottomCoding(bottom={"x": 2}, by="mean").protect(data)


def test_beyond_a_limit_by_share_too_few_for_a_mean_get_the_limit_and_it_is_said() -> None:
    x = [1.0] * 15 + [2.0, 3.0, 4.0, 5.0, 90.0]
    done = TopBottomCoding(0.05, ends="top", by="mean").protect(numbers(x=x, y=[*range(20)]))
    assert done.columns["x"][-2:].tolist() == [5, 5] and done.columns["y"][-2:].tolist() == [18, 18]
    assert "x above 5 (by the limit, too few for a mean)" in done.notes[-1]
    more = TopBottomCoding(0.15, ends="top", by="mean").protect(numbers(x=x))  # 4, 5 and 90
    assert more.columns["x"][-3:].tolist() == [33, 33, 33] and "too few" not in more.notes[-1]


def test_by_hand_limits_by_share_follow_the_weights() -> None:
    # ten values of weight one: at most a tenth above 9, at most a tenth below 2
    x = np.arange(1.0, 11.0)
    done = TopBottomCoding(0.1).protect(numbers(x=x))
    assert done.columns["x"].tolist() == [2, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    # with weights 1 ... 1, 11 of 20 in the last: the share above 9 is 0.55, so 10 itself is the limit
    heavy = weighted(numbers(x=x), np.array([1.0] * 9 + [11.0]))
    assert TopBottomCoding(0.1, ends="top").protect(heavy).columns["x"].tolist() == x.tolist()
    # and of 20 at most 2 lie below 3
    assert TopBottomCoding(0.1, ends="bottom").protect(heavy).columns["x"][:4].tolist() == [3, 3, 3, 4]
    only = TopBottomCoding({"x": 0.3}).protect(numbers(x=x, y=x))
    assert only.columns["y"].tolist() == x.tolist() and only.columns["x"].max() == 7


@given(amounts, shares, st.sampled_from(["both", "top", "bottom"]))
def test_at_most_the_share_is_coded_and_again_changes_nothing(values: list[int], share: float, ends: str) -> None:
    x = np.array(values, dtype=float)
    method = TopBottomCoding(share, ends=ends)  # type: ignore[arg-type]
    done = method.protect(numbers(x=x)).columns["x"]
    assert (done < x).sum() <= share * len(x) + 1e-9 and (done > x).sum() <= share * len(x) + 1e-9
    assert ends != "top" or (done <= x).all()
    assert set(done) <= set(x)
    np.testing.assert_array_equal(method.protect(numbers(x=done)).columns["x"], done)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), min_size=1, max_size=30), shares)
def test_the_limit_is_the_least_value_with_enough_weight_below(pairs: list[tuple[int, int]], share: float) -> None:
    values, weights = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    fit = [v for v in values if weights[values > v].sum() <= share * weights.sum() + 1e-9]
    assert upper_limit(values, weights, share) == min(fit)


def test_the_mean_keeps_the_weighted_total() -> None:
    rng = np.random.default_rng(3)
    data = weighted(numbers(x=rng.lognormal(size=400)), rng.uniform(1, 9, 400))
    done = TopBottomCoding(0.05, by="mean").protect(data)
    assert done.weights() @ done.columns["x"] == pytest.approx(data.weights() @ data.columns["x"], rel=1e-12)
    assert len(np.unique(done.columns["x"])) < 380


def education(values: Sequence[str | None]) -> Microdata:
    schema = Schema((Variable("level", kind="ordinal", categories=LEVELS, labels=(("bachelor", "BA or BSc"),)),))
    return Microdata.from_frame(pa.table({"level": values}), schema)


def test_ordinal_categories_beyond_are_merged_with_the_limit_under_a_true_name() -> None:
    data = education(["primary", "master", None, "bachelor", "doctorate", "secondary"])
    done = TopBottomCoding(top={"level": "bachelor"}, bottom={"level": "secondary"}).protect(data)
    variable = done.schema["level"]
    assert variable.kind == "ordinal" and variable.categories == ("secondary or lower", "bachelor or higher")
    assert done.columns["level"].tolist() == [0, 1, -1, 1, 1, 0]
    assert variable.spelled("bachelor or higher") == "BA or BSc or higher"
    assert dict(variable.treatment.groups)["doctorate"] == "bachelor or higher"
    # by share: of 10, one doctorate and one master: at most 2 beyond bachelor
    shared = TopBottomCoding(0.2, ends="top").protect(education(["primary"] * 4 + ["bachelor"] * 4 + list(LEVELS[3:])))
    assert shared.schema["level"].categories == ("primary", "secondary", "bachelor or higher")
    same = TopBottomCoding(top={"level": "doctorate"}).protect(data)
    assert same.schema == data.schema


def test_what_cannot_be_is_refused() -> None:
    for make, message in [
        (lambda: TopBottomCoding(), "give a share, or limits"),
        (lambda: TopBottomCoding(0.5), r"share must be above 0 and below 0\.5; got 0\.5"),
        (lambda: TopBottomCoding({"x": 5}), "share must be above 0"),
        (lambda: TopBottomCoding(top={"x": 1}, bottom={"x": 2}), "the bottom of 'x', 2, must be below its top, 1"),
        (lambda: TopBottomCoding(top={"x": float("nan")}), "must be a finite number"),
        (lambda: TopBottomCoding({"x": 0.1}, top={"x": 3}), "'x' has a share and a stated limit"),
        (lambda: TopBottomCoding(top={"x": 3}, variables=("x",)), "variables goes with one share"),
        (lambda: TopBottomCoding(0.1, by="mode"), "by must be one of"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(ParameterError, match=rf"TopBottomCoding: .*{message}|TopBottomCoding: {message}"):
            make()  # type: ignore[no-untyped-call]
    data = education(["primary", "master"])
    with pytest.raises(NotApplicable, match="top names 'phd', which is no category of variable 'level'"):
        TopBottomCoding(top={"level": "phd"}).protect(data)
    with pytest.raises(NotApplicable, match="the bottom of 'level' must be below its top"):
        TopBottomCoding(top={"level": "primary"}, bottom={"level": "master"}).protect(data)
    with pytest.raises(NotApplicable, match="'region' is nominal: its categories have no top"):
        TopBottomCoding(top={"region": "north"}).protect(persons())
    with pytest.raises(NotApplicable, match="top of 'age' must be a number"):
        TopBottomCoding(top={"age": "old"}).protect(persons())
    made = TopBottomCoding(top={"age": 80, "education": "bachelor"}, bottom={"age": 20}, by="mean")
    assert catalogue.parse(repr(made)) == [made]


@pytest.mark.parametrize("by", ["mean", "median"])
def test_values_without_weight_do_not_hide_the_one_that_has_some(by: Literal["mean", "median"]) -> None:
    table = pa.table({"pay": [1.0, 2.0, 3.0, 900.0, 910.0, 987_654.0], "w": [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]})
    data = Microdata.from_frame(table, Schema(weight="w"))
    with pytest.raises(NotApplicable, match="1 of the values of 'pay'"):
        TopBottomCoding(top={"pay": 3}, by=by).protect(data)
    coded = TopBottomCoding(0.3, ends="top", by=by).protect(data)
    assert coded.columns["pay"].max() < 987_654 and "too few" in coded.notes[-1]
