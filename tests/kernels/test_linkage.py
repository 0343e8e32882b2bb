"""Probabilistic linkage: bins, counts, assignment and probabilities against brute force and by hand."""

from itertools import product

import numpy as np
import pytest
from bin_codes import Codes, files
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sfumato.kernels import assignment
from sfumato.kernels.assignment import agreement_patterns, compiled
from sfumato.kernels.assignment.compiled import positive_pairs
from sfumato.kernels.probabilistic_linkage import (
    LinkageResult,
    agreeing_pairs,
    agreeing_within,
    agreement_bins,
    bin_cuts,
    graded_assignment,
    graded_linkage,
    likeness,
    nested_linkage,
    pattern_counts,
    raked,
)

Floats = NDArray[np.float64]


def codes(*rows: tuple[int, ...]) -> Codes:
    return np.array(rows, dtype=np.int32)


def agree(mine: Codes, theirs: Codes) -> int:
    """The pattern of one pair, as a reader of the definition would have it."""
    return sum(1 << j for j in range(len(mine)) if mine[j] == theirs[j] and mine[j] >= 0)


# --- bins ---------------------------------------------------------------------------------------------


def test_bins_by_hand() -> None:
    # Halves of 1 2 3 4 are cut at 2.5; both files are cut there, and a value on the cut goes above it.
    original = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    protected = np.array([[2.4], [2.5], [9.0], [np.nan], [-9.0]])
    cuts = bin_cuts(original, 2)
    left, right = (agreement_bins(file, cuts) for file in (original, protected))
    assert left.ravel().tolist() == [0, 0, 1, 1, -1]
    assert right.ravel().tolist() == [0, 1, 1, -1, 0]


def test_bins_of_a_variable_without_values() -> None:
    empty = np.full((3, 1), np.nan)
    left, right = (agreement_bins(file, bin_cuts(empty, 4)) for file in (empty, np.ones((3, 1))))
    assert left.ravel().tolist() == [-1, -1, -1]
    assert right.ravel().tolist() == [0, 0, 0]


# --- pattern counts -----------------------------------------------------------------------------------


def test_counts_by_hand() -> None:
    # Pairs: (0,0)-(0,0) both; (0,0)-(0,1) first; (0,1)-(0,0) first; (0,1)-(0,1) both; (1,-1) with none.
    left = codes((0, 0), (0, 1), (1, -1))
    right = codes((0, 0), (0, 1))
    assert agreeing_pairs(left, right).tolist() == [6, 4, 2, 2]
    assert pattern_counts(agreeing_pairs(left, right)).tolist() == [2, 2, 0, 2]


@given(files())
def test_counts_are_those_of_all_pairs(pair: tuple[Codes, Codes]) -> None:
    left, right = pair
    brute = np.bincount([agree(a, b) for a, b in product(left, right)], minlength=2 ** left.shape[1])
    np.testing.assert_array_equal(pattern_counts(agreeing_pairs(left, right)), brute)
    patterns = agreement_patterns(left, right)
    np.testing.assert_array_equal(np.bincount(patterns.ravel(), minlength=len(brute)), brute)


@given(files())
def test_counts_within_a_file_leave_out_the_record_itself(pair: tuple[Codes, Codes]) -> None:
    left, _ = pair
    patterns = [agree(a, b) for i, a in enumerate(left) for k, b in enumerate(left) if i != k]
    brute = np.bincount(np.array(patterns, dtype=np.int64), minlength=2 ** left.shape[1])
    np.testing.assert_array_equal(pattern_counts(agreeing_within(left)), brute)


def test_counts_of_the_largest_codes_do_not_overflow() -> None:
    largest = np.iinfo(np.int32).max
    left = np.array([[largest] * 6, [largest - 1] * 6], dtype=np.int32)
    assert pattern_counts(agreeing_pairs(left, left)).tolist() == [2] + [0] * 62 + [2]


def test_counts_beyond_32_bits_by_theory() -> None:
    # 70,000 records in one bin: 4.9e9 pairs, more than 2^32.
    same = np.zeros((70_000, 1), dtype=np.int32)
    assert agreeing_pairs(same, same).tolist() == [4_900_000_000, 4_900_000_000]


def test_too_many_variables_are_refused() -> None:
    many = np.zeros((2, 17), dtype=np.int32)
    with pytest.raises(ValueError, match="at most 16 variables; got 17"):
        agreeing_pairs(many, many)


# --- assignment ---------------------------------------------------------------------------------------


@given(files(most=25), st.integers(0, 2**32), st.integers(0, 3))
@settings(deadline=None, max_examples=200)
def test_assignment_is_as_heavy_as_the_dense_optimum(pair: tuple[Codes, Codes], seed: int, decimals: int) -> None:
    left, right = pair
    rng = np.random.default_rng(seed)
    # Few decimals make ties; the pattern of no agreement may not be linked whatever it weighs.
    weights = np.round(rng.normal(size=2 ** left.shape[1]), decimals)
    allowed = np.maximum(weights, 0.0)
    allowed[0] = 0.0
    matrix = allowed[agreement_patterns(left, right)]
    best = matrix[linear_sum_assignment(-matrix)].sum()
    for partner in (
        assignment.assign(left, right, weights, rng),
        compiled.heaviest_assignment(left, right, allowed),
    ):
        linked = np.flatnonzero(partner >= 0)
        assert len(set(partner[linked])) == len(linked)
        assert (matrix[linked, partner[linked]] > 0).all()
        assert matrix[linked, partner[linked]].sum() == pytest.approx(best, abs=1e-6)


def test_prices_certify_a_larger_matching() -> None:
    # By theory (duality): profits + prices cover every weight and sum to the value, so none is heavier.
    rng = np.random.default_rng(8)
    left = rng.integers(0, 6, (400, 3)).astype(np.int32)
    right = rng.integers(0, 6, (380, 3)).astype(np.int32)
    weights = np.array([0, 3, 2, 7, 2, 6, 5, 11])
    edges = positive_pairs(left, right, weights)
    partner, profit, price = compiled.heaviest_matching(np.arange(400), edges, 380)
    matrix = weights[agreement_patterns(left, right)]
    linked = partner >= 0
    assert profit.min() >= 0
    assert price.min() >= 0
    assert (profit[:, np.newaxis] + price >= matrix).all()
    assert matrix[linked, partner[linked]].sum() == profit.sum() + price.sum()


@given(files(most=15), st.integers(0, 2**32), st.booleans())
@settings(deadline=None, max_examples=100)
def test_pairs_are_listed_by_weight_the_heaviest_first(pair: tuple[Codes, Codes], seed: int, monotone: bool) -> None:
    left, right = pair
    weights = np.random.default_rng(seed).integers(-2, 4, 2 ** left.shape[1])  # patterns that share a weight among them
    weights[0] = 0
    if monotone:  # as linkage has them: bins of one variable then serve as groups
        for j in range(left.shape[1]):
            by_bit = weights.reshape(-1, 2, 2**j)
            np.maximum(by_bit[:, 1], by_bit[:, 0] + 1, out=by_bit[:, 1])
    edges = positive_pairs(left, right, weights)
    for i, mine in enumerate(left):
        groups = range(edges.kinds[i], edges.kinds[i + 1])
        assert (np.diff(edges.weights[edges.kinds[i] : edges.kinds[i + 1]]) <= 0).all()
        heaviest: dict[int, int] = {}
        for group in groups:
            listed = edges.columns[edges.starts[group] : edges.ends[group]].tolist()
            assert listed == sorted(set(listed))
            for j in listed:
                heaviest.setdefault(j, int(edges.weights[group]))
        every = {j: int(weights[agree(mine, theirs)]) for j, theirs in enumerate(right)}
        assert heaviest == {j: weight for j, weight in every.items() if weight > 0}


def test_assignment_by_hand() -> None:
    rng = np.random.default_rng(1)
    # 0-0 agree on both (4), 0-1 on the first (3), 1-0 on the second (3), 1-1 on nothing.
    # Greedy takes 0-0 and leaves 1 alone: 4. Best: 0-1 and 1-0, 3 + 3 = 6.
    left, right = codes((0, 0), (1, 0)), codes((0, 0), (0, 2))
    assert assignment.assign(left, right, np.array([-1.0, 3.0, 3.0, 4.0]), rng).tolist() == [1, 0]
    # Where the second alone weighs less than nothing, 0-0 (4) is best and record 1 stays unlinked.
    assert assignment.assign(left, right, np.array([-1.0, 3.0, -1.0, 4.0]), rng).tolist() == [0, -1]


@pytest.mark.parametrize("way", ["plain", "compiled"])
@pytest.mark.parametrize("reverse", [False, True])
def test_file_order_does_not_decide_ties(way: str, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every pair agrees on the first variable only: all one-to-one assignments tie, whichever the file order,
    # and each record meets its own with probability 1/10. 300 draws of 10: sd of the mean .0058.
    monkeypatch.setattr(assignment, "worth_compiling", lambda *_: way == "compiled")
    place = np.arange(10)[::-1] if reverse else np.arange(10)
    left = np.column_stack([np.zeros(10), np.arange(10)]).astype(np.int32)
    right = np.column_stack([np.zeros(10), 10 + place]).astype(np.int32)
    rng = np.random.default_rng(5)
    weights = np.array([-1.0, 1.0, 1.0, 2.0])
    hits = [(place[assignment.assign(left, right, weights, rng)] == np.arange(10)).mean() for _ in range(300)]
    assert np.mean(hits) == pytest.approx(0.1, abs=0.024)


# --- probabilities ------------------------------------------------------------------------------------


def test_probability_by_hand() -> None:
    # Kinds left: a a b; right: a a a. Two a are linked to two of the three a, b to none.
    # Records 0 and 1: f = 2 spread over 2 x 3 places = 1/3 each; record 2: 0.
    left, right = codes((0,), (0,), (1,)), codes((0,), (0,), (0,))
    partner = assignment.assign(left, right, np.array([-1.0, 1.0]), np.random.default_rng(0))
    probability = assignment.own_link_probability(left, right, partner)
    np.testing.assert_allclose(probability, [1 / 3, 1 / 3, 0])


def test_probability_is_the_mean_over_random_ties() -> None:
    # Weights make the flow between kinds unique; drawing orders 3,000 times pairs equals at random.
    left = codes((0, 0), (0, 0), (0, 1), (1, 1), (1, 1), (2, 0))
    right = codes((0, 0), (0, 0), (0, 0), (1, 1), (1, 0), (2, 0))
    weights = np.array([-4.0, 1.0, -1.0, 5.0])
    rng = np.random.default_rng(2)
    draws = [assignment.assign(left, right, weights, rng) for _ in range(3_000)]
    brute = np.mean([partner == np.arange(6) for partner in draws], axis=0)
    for partner in draws[:20]:
        probability = assignment.own_link_probability(left, right, partner)
        # sd of a share over 3,000 draws: at most .0092
        np.testing.assert_allclose(probability, brute, atol=0.035)


def lognormal(rng: np.random.Generator, records: int, variables: int) -> Floats:
    common = rng.normal(size=(records, 1))
    return np.asarray(np.exp(0.6 * common + 0.8 * rng.normal(size=(records, variables))))


def links(original: Floats, protected: Floats, bins: int, rng: np.random.Generator) -> list[LinkageResult]:
    cuts = bin_cuts(original, bins)
    left, right = (agreement_bins(file, cuts) for file in (original, protected))
    return nested_linkage(left, right, agreeing_within(left), rng)


def test_a_copy_is_linked_as_often_as_its_bins_allow() -> None:
    # By theory: a copy is found with probability 1 / (number of records in the same bins): 1 if alone.
    original = lognormal(np.random.default_rng(4), 300, 4)
    results = links(original, original, 20, np.random.default_rng(0))
    left = agreement_bins(original, bin_cuts(original, 20))
    assert [result.variables for result in results] == [1, 2, 3, 4]
    for known, result in enumerate(results, start=1):
        _, kind, size = np.unique(left[:, :known], axis=0, return_inverse=True, return_counts=True)
        np.testing.assert_allclose(result.probability, 1 / size[kind.ravel()])
    assert results[-1].share > 0.98


def test_unrelated_draws_are_linked_by_chance_only() -> None:
    rng = np.random.default_rng(6)
    shares = [[r.share for r in links(lognormal(rng, 100, 3), lognormal(rng, 100, 3), 10, rng)] for _ in range(40)]
    # 1/n = .01; 4,000 records, at most one link each: sd of a mean share about .0016.
    assert (np.mean(shares, axis=0) < 0.016).all()
    assert np.mean(shares, axis=0)[0] == pytest.approx(0.01, abs=0.006)


def test_noise_lowers_the_share_and_missing_values_are_harmless() -> None:
    rng = np.random.default_rng(7)
    original = lognormal(rng, 300, 5)
    logs = np.log(original)
    light, heavy = (np.exp(logs + s * rng.normal(size=logs.shape)) for s in (0.05, 0.5))
    light[::7, 2] = np.nan
    shares = [links(original, p, 20, rng)[-1].share for p in (original, light, heavy)]
    assert shares[0] > shares[1] > 0.5 > shares[2]


@pytest.mark.parametrize("records", [1, 2])
def test_very_small_files(records: int) -> None:
    original = np.arange(2.0 * records).reshape(records, 2)
    for result in links(original, original, 20, np.random.default_rng(0)):
        assert np.isfinite(result.probability).all()
        assert ((result.probability >= 0) & (result.probability <= 1)).all()


def test_files_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got \(3, 1\) and \(2, 1\)"):
        links(np.ones((3, 1)), np.ones((2, 1)), 2, np.random.default_rng(0))


def test_by_theory_raking_meets_the_rates_and_keeps_the_odds_ratios() -> None:
    counts = np.array([900, 60, 30, 10])  # odds ratio 900 * 10 / (60 * 30) = 5
    found = raked(counts, np.array([0.2, 0.3]))
    shares = found / found.sum()
    assert shares[1] + shares[3] == pytest.approx(0.2) and shares[2] + shares[3] == pytest.approx(0.3)
    smooth = counts + 0.5
    assert shares[0] * shares[3] / (shares[1] * shares[2]) == pytest.approx(
        smooth[0] * smooth[3] / (smooth[1] * smooth[2])
    )


def test_values_missing_in_the_release_only_do_not_hide_the_matches() -> None:
    rng = np.random.default_rng(0)
    original = np.exp(rng.normal(size=(800, 4)))
    protected = np.where(rng.random(original.shape) < 0.4, np.nan, original)
    last = links(original, protected, 20, rng)[-1]
    np.testing.assert_allclose(last.model.match_agreement, 0.6, atol=0.1)  # what is not missing agrees


# --- graded comparison --------------------------------------------------------------------------------


def test_likeness_by_hand() -> None:
    left, right = np.array([0.0, 10.0, np.nan]), np.array([1.0, 10.0, np.nan, 14.0])
    expected = [[0.75, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    np.testing.assert_allclose(likeness(left, right, 4.0), expected)
    # no width: alike if equal
    np.testing.assert_allclose(likeness(left, right, 0.0), [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@given(st.integers(0, 2**32), st.integers(2, 25), st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_graded_links_are_the_heaviest_by_the_formula(seed: int, records: int, variables: int) -> None:
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 12, (records, variables)).astype(float)
    right = np.where(rng.random(left.shape) < 0.1, np.nan, left + rng.integers(-1, 2, left.shape))
    widths = np.full(variables, 3.0)
    results = graded_linkage(left, right, widths, np.random.default_rng(1))
    assert [result.variables for result in results] == list(range(1, variables + 1))
    for result in results:
        known, m, u = result.variables, result.model.match_agreement, result.model.non_match_agreement
        weight = np.zeros((records, records))
        for i, k, j in product(range(records), range(records), range(known)):
            s = max(0.0, 1 - abs(left[i, j] - right[k, j]) / 3) if not np.isnan(right[k, j]) else 0.0
            if m[j] != u[j]:
                weight[i, k] += s * np.log2(m[j] / u[j]) + (1 - s) * np.log2((1 - m[j]) / (1 - u[j]))
        weight = np.maximum(weight, 0)
        best = weight[linear_sum_assignment(-weight)].sum()
        partner = graded_assignment(left[:, :known], right[:, :known], widths, result.model)
        linked = np.flatnonzero(partner >= 0)
        assert len(set(partner[linked])) == len(linked)
        assert weight[linked, partner[linked]].sum() == pytest.approx(best, abs=1e-9)
        assert ((result.probability >= 0) & (result.probability <= 1)).all()


def test_graded_agreement_is_counted_at_half_the_width() -> None:
    # by hand: 0 and 2 are alike by 1/2 with width 4 and agree, 0 and 3 by 1/4 and do not. Of the nine pairs of (0, 2,
    # 50) and (2, 3, 50) agree 0-2, 2-2, 2-3 and 50-50: u_1 = 4/9 before EM, which one variable leaves at its start
    left, right = np.array([[0.0], [2.0], [50.0]]), np.array([[2.0], [3.0], [50.0]])
    (result,) = graded_linkage(left, right, np.array([4.0]), np.random.default_rng(0))
    assert result.model.match_agreement[0] == pytest.approx(1 - 1 / 8)  # 0.9, no nearer to 1 than 1 / (2 * 3 + 2)
    assert result.model.non_match_agreement[0] == pytest.approx(4 / 9, abs=0.01)  # half a pair is added to each pattern
