from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato import PRAM, Microdata, NotApplicable, ParameterError, Schema, Variable, catalogue
from sfumato.methods.pram import invariant_change, kept_share, spread_change, two_stage
from tables import persons

Floats = NDArray[np.float64]
counts = st.lists(st.integers(1, 500), min_size=2, max_size=8).map(lambda t: np.array(t, dtype=float))
SMOKER = {"yes": {"yes": 0.8, "no": 0.2}, "no": {"no": 1.0}}


def table(**columns: Any) -> Microdata:
    return Microdata.from_frame(pa.table(columns))


# the matrices


def test_by_hand_matrices() -> None:
    # frequencies 2, 1, 1: of the change of the second, two thirds go to the first
    spread = spread_change(np.array([2.0, 1.0, 1.0]), 0.7, uniform=False)
    np.testing.assert_allclose(spread, [[0.7, 0.15, 0.15], [0.2, 0.7, 0.1], [0.2, 0.1, 0.7]])
    np.testing.assert_allclose(spread_change(np.array([9.0, 1.0, 5.0]), 0.8, uniform=True)[0], [0.8, 0.1, 0.1])
    # t = (90, 10), P = [[.8, .2], [.2, .8]]: reached (74, 26), back [[72/74, 2/74], [18/26, 8/26]]
    back = np.array([[72 / 74, 2 / 74], [18 / 26, 8 / 26]])
    p = np.array([[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(two_stage(p, np.array([90.0, 10.0])), p @ back)


@given(counts, st.floats(0.05, 1), st.booleans(), st.integers(0, 99))
def test_by_theory_two_stages_leave_the_frequencies(t: Floats, retention: float, uniform: bool, seed: int) -> None:
    any_matrix = np.random.default_rng(seed).dirichlet(np.ones(len(t)), size=len(t))
    for matrix in (
        two_stage(any_matrix, t),
        two_stage(spread_change(t, retention, uniform=uniform), t),
        invariant_change(t, retention, uniform=uniform),
    ):
        np.testing.assert_allclose(matrix.T @ t, t, rtol=1e-12)
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
        assert (matrix >= 0).all()


@given(counts, st.floats(0.05, 1), st.booleans())
def test_the_invariant_change_keeps_the_share_asked_for_or_the_least_the_stages_can(
    t: Floats, retention: float, uniform: bool
) -> None:
    kept = kept_share(invariant_change(t, retention, uniform=uniform), t)
    stages = kept_share(two_stage(spread_change(t, retention, uniform=uniform), t), t)
    assert kept == pytest.approx(max(retention, stages), abs=1e-9)


def test_no_weight_in_a_category_does_no_harm() -> None:
    t = np.array([3.0, 0.0, 2.0])
    for matrix in (spread_change(t, 0.6, uniform=False), invariant_change(t, 0.6, uniform=False)):
        np.testing.assert_allclose(matrix.sum(axis=1), 1)
    np.testing.assert_allclose(invariant_change(t, 0.6, uniform=True).T @ t, t, atol=1e-12)
    assert np.isfinite(spread_change(np.array([5.0, 0.0]), 0.9, uniform=False)).all()


# the draws


def test_by_theory_the_frequencies_after_are_those_expected() -> None:
    n = 60_000
    rng = np.random.default_rng(0)
    data = table(region=rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05]))
    for method in (PRAM(0.7), PRAM(0.7, spread="uniform"), PRAM(0.7, invariant=True)):
        (made,) = method.transitions(data)["region"]
        done = method.protect(data, rng=1)
        after = np.bincount(done.columns["region"], minlength=4)
        # records change on their own: the count of l has variance sum_k t_k P_kl (1 - P_kl)
        error = np.sqrt(made.frequencies @ (made.matrix * (1 - made.matrix)))
        assert (np.abs(after - made.expected) < 4.5 * error).all()
        # and so has each cell of the table of before and after
        cells = np.zeros((4, 4))
        np.add.at(cells, (data.columns["region"], done.columns["region"]), 1)
        expected = made.frequencies[:, None] * made.matrix
        assert (np.abs(cells - expected) < 5 * np.sqrt(expected + 1)).all()
    (kept,) = PRAM(0.7, invariant=True).transitions(data)["region"]
    np.testing.assert_allclose(kept.expected, kept.frequencies, rtol=1e-12)
    assert kept.kept == pytest.approx(0.7)
    (plain,) = PRAM(0.7, spread="uniform").transitions(data)["region"]
    assert abs(plain.expected[0] - plain.frequencies[0]) > 0.09 * n  # to .7 * .5 + .1 * .5 = .4


def test_by_theory_weighted_frequencies_are_kept_on_average_over_many_draws() -> None:
    data = persons(400)
    weights, codes = data.weights(), data.columns["region"]
    before = np.bincount(codes, weights, minlength=4)
    method = PRAM(0.6, invariant=True, variables=("region",))
    (made,) = method.transitions(data)["region"]
    np.testing.assert_allclose(made.frequencies, before)
    np.testing.assert_allclose(made.expected, before, rtol=1e-12)
    draws = 300
    after = np.array(
        [np.bincount(method.protect(data, rng=i).columns["region"], weights, minlength=4) for i in range(draws)]
    )
    # record i moves w_i from or to l: the weighted count of l has variance sum_i w_i^2 P_kl (1 - P_kl)
    squares = np.bincount(codes, weights**2, minlength=4)
    error = np.sqrt(squares @ (made.matrix * (1 - made.matrix)) / draws)
    assert (np.abs(after.mean(axis=0) - before) < 4.5 * error).all()


def test_by_hand_a_stated_matrix_with_certain_outcomes() -> None:
    data = table(smoker=["yes", "no", None, "yes"])
    swap = {"yes": {"no": 1}, "no": {"yes": 1}}
    done = PRAM(transition={"smoker": swap}).protect(data, rng=1)
    assert done.to_arrow()["smoker"].to_pylist() == ["no", "yes", None, "no"]
    assert done.schema["smoker"].treatment.perturbed
    (made,) = PRAM(transition={"smoker": SMOKER}).transitions(data)["smoker"]
    assert made.categories == ("no", "yes") and made.matrix.tolist() == [[1, 0], [0.2, 0.8]]
    assert made.expected.tolist() == pytest.approx([1.4, 1.6])  # no: 1 + 0.2 * 2
    (kept,) = PRAM(transition={"smoker": SMOKER}, invariant=True).transitions(data)["smoker"]
    np.testing.assert_allclose(kept.expected, [1, 2], rtol=1e-12)


def test_strata_are_changed_within_and_keep_their_own_frequencies() -> None:
    data = table(region=["n"] * 60 + ["s"] * 40, job=["a", "b"] * 30 + ["c"] * 20 + ["a"] * 20)
    method = PRAM(0.5, invariant=True, strata=("region",))
    north, south = method.transitions(data)["job"]
    assert (north.stratum, north.categories) == ("n", ("a", "b")) and (south.stratum, south.categories) == (
        "s",
        ("a", "c"),
    )
    done = method.protect(data, rng=3).to_arrow()["job"].to_pylist()
    assert set(done[:60]) == {"a", "b"} and set(done[60:]) == {"a", "c"}  # c does not come up in the north
    assert method.masked(data) == ("job",)


def test_draws_are_shared_between_retentions_and_untouched_by_other_columns() -> None:
    data = persons()
    low, high = (PRAM(r).protect(data, rng=5).columns["region"] != data.columns["region"] for r in (0.6, 0.9))
    assert low.sum() > high.sum() and (low | ~high).all()  # what changes at 0.9 changes at 0.6 too
    fewer = data.without(["sex"])
    assert np.array_equal(
        PRAM(0.8).protect(fewer, rng=5).columns["region"], PRAM(0.8).protect(data, rng=5).columns["region"]
    )
    same = PRAM(1.0).protect(data, rng=5)
    assert all(np.array_equal(same.columns[name], data.columns[name]) for name in data.names)
    assert not same.schema["region"].treatment


def test_it_works_on_keys_or_everything_and_says_what_is_expected_to_stay() -> None:
    data = persons()
    done = PRAM(0.5).protect(data, rng=1)
    assert not np.array_equal(done.columns["education"], data.columns["education"])
    assert np.array_equal(done.columns["health"], data.columns["health"])
    assert "region 50.0%" in done.notes[-1]
    bare = Microdata.from_frame(data.without(["id"]).to_arrow())
    assert "health" in PRAM(0.5).masked(bare)


# what is refused


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"yes": {"yes": 0.8, "no": 0.1}, "no": {"no": 1}},
            "row 'yes': probabilities must add up to one; they add up to 0.9",
        ),
        ({"yes": {"yes": 1.2, "no": -0.2}, "no": {"no": 1}}, r"the probability of 'yes' must be in \[0, 1\]; got 1\.2"),
        ({"yes": {"yes": "all"}}, "must be in"),
        ({"yes": 0.8}, "must be a dict from category to probability"),
        ({}, "must be a dict of rows"),
    ],
)
def test_matrices_that_are_none_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=f"PRAM: transition of 'smoker'.*{message}"):
        PRAM(transition={"smoker": rows})


def test_matrices_that_do_not_fit_the_variable_are_refused() -> None:
    data = table(smoker=["yes", "no", "never"])
    with pytest.raises(NotApplicable, match="PRAM: transition of 'smoker' has no row for 'never'"):
        PRAM(transition={"smoker": SMOKER}).protect(data)
    with pytest.raises(NotApplicable, match=r"PRAM: transition names 'maybe', .* 'smoker'"):
        PRAM(transition={"smoker": {**SMOKER, "maybe": {"no": 1}}}).protect(data)
    with pytest.raises(NotApplicable, match=r"PRAM: transition, row 'yes', names 'on'"):
        PRAM(transition={"smoker": {"yes": {"on": 1}}}).protect(data)
    with pytest.raises(NotApplicable, match="PRAM: variable 'age' is numeric"):
        PRAM(transition={"age": SMOKER}).protect(persons())


def test_parameters_that_cannot_be_are_refused() -> None:
    for make, message in [
        (lambda: PRAM(), "give a retention"),
        (lambda: PRAM(90), r"retention must be in \(0, 1\]; got 90 \(did you mean 0\.9\?\)"),
        (lambda: PRAM(0.9, spread="far"), "spread must be one of"),  # type: ignore[arg-type]
        (lambda: PRAM(0.9, strata=("region",), variables=("region",)), "region cannot make strata and be changed"),
        (lambda: PRAM(transition={"smoker": SMOKER}, variables=("smoker",)), "variables goes with a retention"),
    ]:
        with pytest.raises(ParameterError, match=f"PRAM: {message}"):
            make()  # type: ignore[no-untyped-call]
    with pytest.raises(NotApplicable, match="PRAM: there is no variable 'regoin'"):
        PRAM(0.9, strata=("regoin",)).protect(persons())
    with pytest.raises(NotApplicable, match="PRAM: strata: key 'income' is continuous"):
        PRAM(0.9, strata=("income",)).protect(persons())
    many = table(place=[f"p{i}" for i in range(3_500)])
    with pytest.raises(NotApplicable, match="has 3,500 categories; a transition matrix is made for up to 3,000"):
        PRAM(0.9).protect(many)
    made = PRAM(transition={"smoker": SMOKER}, invariant=True, strata=("region",))
    assert catalogue.parse(repr(made)) == [made] and hash(made) == hash(catalogue.parse(repr(made))[0])


def test_ordinal_categories_stay_ordered_and_unused_ones_are_not_drawn() -> None:
    schema = Schema((Variable("level", kind="ordinal", categories=("low", "middle", "high")),))
    data = Microdata.from_frame(pa.table({"level": ["low", "high"] * 50}), schema)
    done = PRAM(0.5, spread="uniform").protect(data, rng=1)
    assert done.schema["level"].categories == ("low", "middle", "high")
    assert set(done.columns["level"]) == {0, 2}


@pytest.mark.parametrize("invariant", [True, False])
def test_a_stratum_without_weight_is_treated_like_any_other(invariant: bool) -> None:
    table = pa.table({"r": ["a"] * 20 + ["b"] * 20, "x": ["u", "v"] * 20, "w": [1.0] * 20 + [0.0] * 20})
    data = Microdata.from_frame(table, Schema(weight="w"))
    masked = PRAM(0.8, strata=("r",), variables=("x",), invariant=invariant).protect(data, rng=1)
    assert "nan" not in masked.notes[-1]
