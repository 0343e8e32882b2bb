from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Scenario, Schema, Variable
from sfumato.compare.examine.records import RiskByRecord, records_at_risk, same_records, with_keys
from sfumato.compare.examine.variables import BARS, bin_edges, distributions
from sfumato.table.microdata import Microdata


def _table(**columns: object) -> Microdata:
    return Microdata.from_frame(pa.table(columns))


def test_moments_and_changed_by_hand() -> None:
    before = _table(x=[1.0, 2.0, 3.0, None], y=[1.0, 2.0, 3.0, 4.0])
    after = _table(x=[1.0, 2.0, 6.0, None], y=[4.0, 3.0, 2.0, 1.0])
    detail = distributions(before, after)
    x, y = detail.variables
    assert x.after is not None
    assert (x.after.mean, x.after.median, x.after.maximum, x.after.missing) == (3.0, 2.0, 6.0, 1)
    assert x.after.sd == pytest.approx(7**0.5)  # ((1-3)^2 + (2-3)^2 + (6-3)^2) / 2 = 7
    assert x.changed == 0.25  # one record of four; missing stays missing
    assert y.changed == 1.0
    assert y.moved == 0.0  # the same values in another order


def test_correlation_before_and_after_by_hand() -> None:
    before = _table(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 3.0])
    after = _table(a=[1.0, 2.0, 3.0], b=[3.0, 2.0, 1.0])
    (change,) = distributions(before, after).correlations
    assert change.before == pytest.approx(1.0)
    assert change.after == pytest.approx(-1.0)


def test_correlations_use_the_records_that_have_both_values_and_skip_constants() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(40, 2))
    missing = values.copy()
    missing[:7, 0] = np.nan
    before = _table(a=missing[:, 0], b=values[:, 1], constant=np.ones(40))
    after = _table(a=-missing[:, 0], b=values[:, 1], constant=np.ones(40))
    (change,) = distributions(before, after).correlations  # pairs with the constant have no correlation
    assert distributions(before, before).correlations == ()  # what has not moved is not listed
    assert change.before == pytest.approx(np.asarray(np.corrcoef(values[7:].T))[0, 1])


def test_rare_categories_are_added_up_and_shares_sum_to_one() -> None:
    names = [f"c{i:02d}" for i in range(BARS + 5)]
    before = _table(k=names + ["c00"] * 3)
    after = _table(k=["new", *names[1:], "c00", "c00", "c00"])
    (variable,) = distributions(before, after).variables
    assert len(variable.categories) == BARS
    assert variable.categories[-1].endswith("others)")
    assert sum(variable.shares_before) == pytest.approx(1)
    assert sum(variable.shares_after) == pytest.approx(1)


def test_what_was_missing_and_what_was_suppressed_are_bars_of_their_own() -> None:
    before = _table(x=[1.0, 2.0, None, 4.0], k=["a", "b", None, "b"])
    after = _table(x=[1.0, None, None, 4.0], k=[None, "b", None, None])
    x, k = distributions(before, after).variables
    assert x.gaps == (("missing", 0.25, 0.25), ("suppressed", 0.0, 0.25))
    assert k.gaps == (("missing", 0.25, 0.25), ("suppressed", 0.0, 0.5))
    assert k.of_all_records[0] == pytest.approx((0.25, 0.5))  # one and two of four records
    assert k.of_all_records[1] == pytest.approx((0.0, 0.25))
    assert k.shifted == pytest.approx((0.25 + 0.25 + 0.5) / 2)  # those of a, of b, and the gaps
    (filled, _) = distributions(after, before).variables  # values that came back: nothing is suppressed
    assert filled.gaps == (("missing", 0.5, 0.25),)


def test_in_a_sample_what_is_missing_is_not_told_apart() -> None:
    before, after = _table(x=[1.0, 2.0, None, 4.0]), _table(x=[None, 4.0])
    (x,) = distributions(before, after).variables
    assert x.suppressed is None and x.gaps == (("missing", 0.25, 0.5),)


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from([None, "a", "b"])), min_size=1))
def test_with_their_gaps_the_bars_of_each_table_hold_all_records(values: list[tuple[str | None, str | None]]) -> None:
    kind = pa.string()
    one, two = (pa.array(column, kind) for column in zip(*values, strict=True))
    (v,) = distributions(_table(k=one), _table(k=two)).variables
    if v.gone:
        return
    assert sum(v.of_all_records[0]) + sum(gap[1] for gap in v.gaps) == pytest.approx(1)
    assert sum(v.of_all_records[1]) + sum(gap[2] for gap in v.gaps) == pytest.approx(1)
    assert 0 <= v.shifted <= 1 + 1e-12


def test_fewer_records_and_a_variable_that_is_gone() -> None:
    before, after = _table(x=[1.0, 2.0, 3.0], y=["a", "b", "a"]), _table(x=[1.0, 2.0])
    x, y = distributions(before, after).variables
    assert x.changed is None
    assert y.gone


def test_a_few_far_values_do_not_squeeze_the_bars() -> None:
    values = np.append(np.linspace(0, 1, 1000), 1e6)
    edges, clipped = bin_edges(values, values)
    assert clipped
    assert edges[-1] < 2


def test_constant_and_missing_columns_have_bins() -> None:
    for values in (np.full(5, 3.0), np.full(5, np.nan)):
        edges, _ = bin_edges(values, values)
        assert (np.diff(edges) > 0).all()


def test_records_are_numbered_from_one_and_ordered_by_the_first_risk() -> None:
    told = {
        "first": RiskByRecord(np.array([0.0, 0.5, 0.5]), "share"),
        "second": RiskByRecord(np.array([1.0, 0.0, 0.2]), "share"),
    }
    records = records_at_risk(told, listed=10, same=True).records
    assert [entry.record for entry in records] == [3, 2, 1]
    assert records[0].risks["first"].text == "50 %"
    assert [entry.record for entry in records_at_risk(told, listed=2, same=True).records] == [3, 2]
    assert records_at_risk({}, listed=2, same=True).records == ()


def test_a_record_comes_with_its_keys_and_what_singles_it_out() -> None:
    schema = Schema(
        (
            Variable("town", kind="nominal", role="key", labels=(("A", "Aachen"),)),
            Variable("sex", kind="nominal", role="key"),
            Variable("age", role="key"),
            Variable("pay"),
        ),
        scenarios=(Scenario("neighbour", ("town", "sex", "age")),),
    )
    frame = pa.table(
        {
            "town": ["A", "A", "B", "B", "A"],
            "sex": ["f", "m", "f", "f", "f"],
            "age": [30.0, 30.0, 30.0, None, 30.5],
            "pay": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )
    data = Microdata.from_frame(frame, schema)
    told = {
        "links": RiskByRecord(np.array([0.5, 0.6, 0.7, 0.0, 1.0]), "share", scenario="neighbour"),
        "counts": RiskByRecord(np.array([0.0, 0.0, 0.0, 1.0, 0.0]), "share"),
    }
    found = with_keys(records_at_risk(told, listed=9, same=True), data).records
    assert [entry.record for entry in found] == [5, 3, 2, 1, 4]
    assert found[0].keys == {"town": "Aachen", "sex": "f", "age": "30.5"} and found[0].alone_by == ("age",)
    assert found[1].alone_by == ("town", "age")  # one more is in B, two more are 30, nobody is both
    assert found[2].alone_by == ("sex",)
    assert found[3].alone_by == ("town", "sex", "age")
    assert found[4].keys["age"] == "–" and found[4].alone_by == ()  # another woman in B
    assert {entry.scenario for entry in found[:4]} == {"neighbour"} and found[4].scenario == ""
    assert [entry.by for entry in found] == ["links"] * 4 + ["counts"]


def test_risks_of_protected_records_are_listed_only_if_these_are_the_originals() -> None:
    ids = Schema((Variable("id", kind="nominal"),), id="id")
    data = Microdata.from_frame(pa.table({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]}), ids)
    told = {
        "theirs": RiskByRecord(np.array([0.9, 0.0, 0.0]), "share", "protected"),
        "ours": RiskByRecord(np.array([0.0, 0.0, 0.5]), "share"),
    }
    in_order = records_at_risk(told, listed=10, same=same_records(data, data)).records
    assert [(entry.record, tuple(entry.risks)) for entry in in_order] == [
        (1, ("theirs", "ours")),
        (3, ("theirs", "ours")),
    ]
    fewer = {**told, "theirs": RiskByRecord(np.array([0.9, 0.0]), "share", "protected")}
    half = replace(data.take(np.array([1, 2])), matched=False)
    for other, risks in (
        (replace(data, matched=False), told),  # synthetic: row 1 of it is nobody in row 1 of the original
        (half, fewer),
        (data.take(np.array([2, 0, 1])), told),  # the same records in another order
    ):
        (entry,) = records_at_risk(risks, listed=10, same=same_records(data, other)).records
        assert (entry.record, tuple(entry.risks)) == (3, ("ours",))
