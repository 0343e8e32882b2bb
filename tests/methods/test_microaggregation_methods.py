import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import (
    MDAV,
    IndividualRanking,
    MaximumDistance,
    Method,
    NotApplicable,
    ParameterError,
    ProjectionMicroaggregation,
)
from sfumato.methods.microaggregation import consecutive_groups, group_means
from tables import census, incomes, numbers

KINDS = [
    IndividualRanking(3),
    ProjectionMicroaggregation(3),
    ProjectionMicroaggregation(3, axis="pca"),
    MDAV(3),
    MDAV(3, at_a_time=2),
    MaximumDistance(3),
    MaximumDistance(3, at_a_time=2),
]


def test_by_hand_the_middle_group_takes_the_remainder() -> None:
    # 11 = 3 groups of 3 and 2 left: sizes 3, 5, 3
    assert consecutive_groups(11, 3).tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    assert consecutive_groups(5, 3).tolist() == [0] * 5
    assert consecutive_groups(6, 3).tolist() == [0, 0, 0, 1, 1, 1]


def test_by_hand_individual_ranking() -> None:
    masked = IndividualRanking(3).protect(numbers(x=[7.0, 1.0, 100.0, 3.0, 8.0, 2.0, 9.0]))
    # sorted 1 2 3 | 7 8 9 100: two groups, the middle one (index 2 // 2 = 1) takes the seventh; means 2 and 31
    assert masked.columns["x"].tolist() == [31, 2, 31, 2, 31, 2, 31]


def test_by_hand_projection_on_the_sum_of_zscores() -> None:
    # both variables have sd sqrt(5/3) and 10 sqrt(5/3), so the sum of z-scores is proportional to a + b / 10
    data = numbers(a=[1.0, 2.0, 3.0, 4.0], b=[40.0, 10.0, 20.0, 30.0])  # sums 5, 3, 5, 7: order 1 | 0 2 | 3
    masked = ProjectionMicroaggregation(2).protect(data)
    # groups {1, 0} and {2, 3}: ties (records 0 and 2) in file order
    assert masked.columns["a"].tolist() == [1.5, 1.5, 3.5, 3.5]
    assert masked.columns["b"].tolist() == [25.0, 25.0, 25.0, 25.0]


@pytest.mark.parametrize("method", KINDS, ids=repr)
def test_by_theory_means_are_kept_and_variances_never_grow(method: Method) -> None:
    data = incomes(500)
    masked = method.protect(data)
    for name in data.schema.analysed("numeric"):
        before, after = data.columns[name], masked.columns[name]
        assert after.mean() == pytest.approx(before.mean(), rel=1e-12)
        assert after.var() < before.var()
        assert np.unique(after, return_counts=True)[1].min() >= 3


@pytest.mark.parametrize("method", [MDAV(4), MaximumDistance(4), MaximumDistance(7)], ids=repr)
def test_all_variables_at_once_leave_no_combination_shared_by_fewer_than_k(method: MDAV | MaximumDistance) -> None:
    masked = method.protect(incomes(500)).numeric()
    assert np.unique(masked, axis=0, return_counts=True)[1].min() >= method.k


def test_blocks_are_taken_as_they_stand_and_the_last_holds_what_is_left() -> None:
    data = incomes(60).replace({})
    masked = MDAV(3, at_a_time=3).protect(data)
    first = MDAV(3, variables=("earnings", "tax", "rent")).protect(data)
    rest = MDAV(3, variables=("savings",)).protect(data)
    for name in ("earnings", "tax", "rent"):
        np.testing.assert_array_equal(masked.columns[name], first.columns[name])
    np.testing.assert_array_equal(masked.columns["savings"], rest.columns["savings"])


def test_by_hand_the_two_most_distant_records_form_groups() -> None:
    # one variable, k = 2: 0 and 100 are the ends; 0 with 3 and 100 with 60, the rest is 10 and 20
    masked = MaximumDistance(2).protect(numbers(x=[10.0, 0.0, 100.0, 3.0, 60.0, 20.0]))
    assert masked.columns["x"].tolist() == [15, 1.5, 80, 1.5, 80, 15]


def test_variables_left_over_join_the_last_block() -> None:
    data = incomes(60)  # earnings, tax, rent, savings
    masked = MaximumDistance(3, at_a_time=3).protect(data)
    together = MaximumDistance(3).protect(data)
    pairs = MaximumDistance(3, at_a_time=2).protect(data)
    first = MaximumDistance(3, variables=("earnings", "tax")).protect(data)
    for name in ("earnings", "tax", "rent", "savings"):
        np.testing.assert_array_equal(masked.columns[name], together.columns[name])
    np.testing.assert_array_equal(pairs.columns["tax"], first.columns["tax"])


@pytest.mark.parametrize(("k", "published"), [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)])
def test_by_reference_mdav_on_the_census_file_has_the_published_error(k: int, published: float) -> None:
    data = census()
    x, y = data.numeric(), MDAV(k).protect(data).numeric()
    spread = x.std(axis=0, ddof=1)
    error = (((x - y) / spread) ** 2).sum() / (((x - x.mean(axis=0)) / spread) ** 2).sum()
    assert 100 * error == pytest.approx(published, abs=5e-5)


def test_by_hand_a_group_short_of_values_shares_the_mean_of_the_nearest_group() -> None:
    nan = np.nan
    values = np.array(
        [[0.0, 1.0], [1.0, nan], [2.0, nan], [10.0, 5.0], [11.0, 7.0], [12.0, 9.0], [99.0, 50.0], [98.0, 52.0]]
    )
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    means = group_means(values, labels, 2)
    # group 0 has one value of the second variable; group 1 is nearest and has three: (1 + 5 + 7 + 9) / 4 = 5.5
    np.testing.assert_allclose(means[:, 0], [1, 1, 1, 11, 11, 11, 98.5, 98.5])
    np.testing.assert_allclose(means[:, 1], [5.5, nan, nan, 5.5, 5.5, 5.5, 51, 51])


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_no_published_mean_rests_on_fewer_than_k_values(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, 3))
    values[rng.random(values.shape) < 0.4] = np.nan
    data = numbers(a=values[:, 0], b=values[:, 1], c=values[:, 2])
    for method in (MDAV(k), MaximumDistance(k), ProjectionMicroaggregation(k), IndividualRanking(k)):
        masked = method.protect(data).numeric()
        assert np.array_equal(np.isnan(masked), np.isnan(values))
        for column, original in zip(masked.T, values.T, strict=True):
            present = column[~np.isnan(column)]
            assert np.unique(np.round(present, 12), return_counts=True)[1].min() >= k
            assert present.mean() == pytest.approx(np.nanmean(original))


@pytest.mark.parametrize("method", KINDS, ids=repr)
def test_fewer_records_than_k_are_refused(method: Method) -> None:
    with pytest.raises(NotApplicable, match=r"variable 'x'.* 2 values present; groups of k=3 need at least 3"):
        method.protect(numbers(x=[1.0, 2.0]))


@pytest.mark.parametrize("k", [0, -3, 2.5, "3", None, True])
def test_a_k_that_cannot_be_right_is_refused(k: object) -> None:
    for cls in (MDAV, MaximumDistance, IndividualRanking, ProjectionMicroaggregation):
        with pytest.raises(ParameterError, match=rf"{cls.__name__}: k must be a whole number of at least 1"):
            cls(k)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="axis must be one of 'zscores', 'pca'; got 'x'"):
        ProjectionMicroaggregation(3, axis="x")  # type: ignore[arg-type]


def test_large_tables_take_the_kernel_and_give_the_textbook_groups() -> None:
    from sfumato.kernels.microaggregation import plain_mdav_groups

    data = incomes(5_200)
    x = data.numeric(("earnings", "tax"))
    z = np.ascontiguousarray((x - x.mean(axis=0)) / x.std(axis=0, ddof=1))
    expected = group_means(x, plain_mdav_groups(z, 4), 4)
    masked = MDAV(4, variables=("earnings", "tax")).protect(data).numeric(("earnings", "tax"))
    np.testing.assert_allclose(masked, expected, rtol=1e-12)


@pytest.mark.parametrize("method", [ProjectionMicroaggregation(3), ProjectionMicroaggregation(3, axis="pca"), MDAV(3)])
def test_a_constant_column_changes_no_group(method: Method) -> None:
    x = np.random.default_rng(0).lognormal(size=90)
    alone = method.protect(numbers(x=x)).columns["x"]
    beside = method.protect(numbers(x=x, c=np.full(90, 0.1))).columns["x"]
    np.testing.assert_allclose(beside, alone)
