import numpy as np
import pytest

from sfumato import NotApplicable, ParameterError, ProbabilisticLinkage, RankSwapping
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


def test_too_many_known_variables_and_bad_bins_are_refused() -> None:
    rng = np.random.default_rng(0)
    wide = numbers(**{f"v{i}": rng.normal(size=30) for i in range(17)})
    with pytest.raises(NotApplicable, match=r"17 variables known at once .* 16 is the most"):
        ProbabilisticLinkage(known=17).evaluate(wide, wide)
    with pytest.raises(ParameterError, match="ProbabilisticLinkage: bins must be a whole number of at least 2"):
        ProbabilisticLinkage(bins=1)
