import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import NotApplicable, ParameterError, ProbabilisticLinkage, RankSwapping
from sfumato.kernels.probabilistic_linkage import Bounds, Patterns, cutoffs
from tables import incomes, numbers


def test_by_hand_one_known_variable_links_one_record_per_bin() -> None:
    # eight distinct values in four bins of two: within a bin the own record is hit with probability 1/2
    data = numbers(x=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    found = ProbabilisticLinkage(known=1, bins=4).evaluate(data, data, rng=0)
    assert found.value == pytest.approx(0.5)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, 0.5)


def test_by_hand_records_whose_bins_are_their_own_are_all_found() -> None:
    # x in two bins, y in four: the eight pairs of bins differ
    data = numbers(x=[1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3], y=[10.0, 20.0, 30.0, 40.0, 11.0, 21.0, 31.0, 41.0])
    found = ProbabilisticLinkage(known=(("x", "y"),), bins=4).evaluate(data, data, rng=0)
    assert found.value == pytest.approx(1.0)


def test_sets_that_are_not_nested_are_each_linked_by_themselves() -> None:
    data = incomes()
    masked = RankSwapping(0.05).protect(data, rng=1)
    both = ProbabilisticLinkage(known=(("earnings", "tax"), ("rent", "savings"))).evaluate(data, masked, rng=0)
    alone = [
        ProbabilisticLinkage(known=((names),)).evaluate(data, masked, rng=0).value
        for names in (("earnings", "tax"), ("rent", "savings"))
    ]
    assert both.value == pytest.approx(np.mean(alone), abs=0.02)  # equal assignments are drawn
    assert len(both.parts) == 2


def test_the_order_of_the_files_is_no_help() -> None:
    data = incomes()
    masked = RankSwapping(0.3).protect(data, rng=1)
    found = np.mean([ProbabilisticLinkage().evaluate(data, masked, rng=r).value for r in range(5)])
    unrelated = np.mean([ProbabilisticLinkage().evaluate(data, incomes(seed=r + 9), rng=r).value for r in range(5)])
    assert found < 0.15 and unrelated < 0.03


def test_by_hand_numbers_nearer_than_the_width_agree_in_part() -> None:
    # eight records 1 apart, each moved by 0.2; sd = sqrt(6) = 2.449, the width 0.5 sd = 1.225. Own: likeness
    # 1 - 0.2 / 1.225 = 0.837; the next record up, 0.8 away, 0.347; down, 1.2 away, 0.020. Whatever the weights, its own
    # is the heaviest for each, and all are found.
    x = np.arange(1.0, 9.0)
    measure = ProbabilisticLinkage(known=1, comparator="graded", width=0.5)
    found = measure.evaluate(numbers(x=x), numbers(x=x + 0.2), rng=0)
    assert found.value == pytest.approx(1.0)
    # bins of two records cannot tell them apart
    assert ProbabilisticLinkage(known=1, bins=4).evaluate(numbers(x=x), numbers(x=x), rng=0).value == pytest.approx(0.5)


def test_by_hand_equal_records_share_their_link() -> None:
    # pairs of equal values: own is hit with probability 1/2
    data = numbers(x=[1.0, 1.0, 5.0, 5.0, 9.0, 9.0])
    found = ProbabilisticLinkage(known=1, comparator="graded").evaluate(data, data, rng=0)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, 0.5)


def test_graded_comparison_finds_copies_and_leaves_strangers_alone() -> None:
    data = incomes()
    copy = ProbabilisticLinkage(comparator="graded").evaluate(data, data, rng=0)
    unrelated = [
        ProbabilisticLinkage(comparator="graded").evaluate(data, incomes(seed=r + 9), rng=r).value for r in range(3)
    ]
    assert copy.value > 0.95 and np.mean(unrelated) < 0.03


def test_graded_comparison_is_refused_where_all_pairs_are_too_many() -> None:
    large = numbers(x=np.arange(5_001.0))
    with pytest.raises(NotApplicable, match=r"at most 5,000 records; there are 5,001. Take comparator='bins'"):
        ProbabilisticLinkage(comparator="graded").evaluate(large, large)
    with pytest.raises(ParameterError, match="comparator must be one of 'bins', 'graded'; got 'exact'"):
        ProbabilisticLinkage(comparator="exact")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="width must be a number above 0"):
        ProbabilisticLinkage(comparator="graded", width=0)


def test_graded_comparison_takes_as_many_records_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kernels.probabilistic_linkage.MAX_GRADED", 40)
    graded = ProbabilisticLinkage(comparator="graded")
    assert graded.evaluate(numbers(x=np.arange(40.0)), numbers(x=np.arange(40.0))).value > 0
    with pytest.raises(NotApplicable, match="at most 40 records; there are 41"):
        graded.evaluate(numbers(x=np.arange(41.0)), numbers(x=np.arange(41.0)))


def test_too_many_known_variables_and_bad_bins_are_refused() -> None:
    rng = np.random.default_rng(0)
    wide = numbers(**{f"v{i}": rng.normal(size=30) for i in range(17)})
    with pytest.raises(NotApplicable, match=r"17 variables known at once .* 16 is the most"):
        ProbabilisticLinkage(known=17).evaluate(wide, wide)
    with pytest.raises(ParameterError, match="ProbabilisticLinkage: bins must be a whole number of at least 2"):
        ProbabilisticLinkage(bins=1)


PATTERNS = Patterns(
    weights=np.array([-3.0, 1.0, 2.0, 6.0]),
    match=np.array([0.05, 0.15, 0.2, 0.6]),
    non_match=np.array([0.9, 0.06, 0.03, 0.01]),
)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        # non-matches of at least the weight 6, 2, 1, -3: 0.01, 0.04, 0.1, 1; matches below: 0.4, 0.2, 0.05, 0
        (Bounds(0.05, 0.1), (2, 1)),
        (Bounds(0.05, None), (2, 2)),
        (Bounds(None, 0.1), (1, 1)),
        (Bounds(0.005, None), (np.inf, np.inf)),
        (Bounds(0.005, 0.2), (np.inf, 2)),
        (Bounds(0.2, 0.3), (1, 1)),  # any cut from 1 to 2 keeps both
        (Bounds(1.0, 0.0), (-3, -3)),
    ],
)
def test_by_hand_cuts_from_the_two_error_bounds(bounds: Bounds, expected: tuple[float, float]) -> None:
    assert cutoffs(PATTERNS, bounds) == expected


def test_by_hand_patterns_of_equal_weight_are_not_parted() -> None:
    # the two of weight 2 have 0.04 of the non-matches together
    tied = Patterns(np.array([2.0, -1.0, 2.0]), np.array([0.4, 0.2, 0.4]), np.array([0.02, 0.96, 0.02]))
    assert cutoffs(tied, Bounds(0.03)) == (np.inf, np.inf)
    assert cutoffs(tied, Bounds(0.04)) == (2, 2)


def test_by_hand_error_bounds_decide_what_is_a_link() -> None:
    # four bins of two: 16 of the 64 pairs agree, so that U(agree) = 0.25; of one variable m stays at 0.9. Agreement is
    # the only positive weight, and each record has its own in its bin with probability 1/2
    data = numbers(x=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])

    def found(**bounds: float) -> tuple[float, float]:
        measure = ProbabilisticLinkage(known=1, bins=4, **bounds)  # type: ignore[arg-type]
        result = measure.evaluate(data, data, rng=0)
        return result.value, result.parts["possible links"]

    assert found(false_match=0.26) == (0.5, 0.0)
    assert found(false_match=0.24) == (0.0, 0.0)
    assert found(false_match=0.24, false_non_match=0.11) == (0.0, 0.5)  # left for somebody to look at
    assert found(false_non_match=0.11) == (0.5, 0.0)
    assert found(false_match=0.26, false_non_match=0.11) == (0.5, 0.0)


@settings(max_examples=10, deadline=None)
@given(st.floats(1e-6, 0.2), st.floats(1e-6, 0.2))
def test_a_stricter_bound_links_no_more(one: float, other: float) -> None:
    data = incomes()
    masked = RankSwapping(0.1).protect(data, rng=1)
    strict, loose = (
        ProbabilisticLinkage(known=3, false_match=bound).evaluate(data, masked, rng=0).by_record
        for bound in sorted((one, other))
    )
    whole = ProbabilisticLinkage(known=3).evaluate(data, masked, rng=0).by_record
    assert strict is not None and loose is not None and whole is not None
    assert (strict <= loose + 1e-12).all() and (loose <= whole + 1e-12).all()


def test_error_bounds_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="false_match"):
        ProbabilisticLinkage(false_match=1.5)
    with pytest.raises(ParameterError, match="error bounds are on patterns of agreement"):
        ProbabilisticLinkage(comparator="graded", false_non_match=0.1)
