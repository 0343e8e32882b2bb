"""Data shuffling by its theory: marginals exactly, rank correlations up to sampling error, nothing else told."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sfumato import Microdata, NotApplicable, ParameterError, Schema, Shuffling, Variable, household_survey
from sfumato.methods.shuffling import needed_correlations, normal_scores, spearman
from tables import incomes, numbers, persons

Floats = NDArray[np.float64]
N = 10_000


def shuffled(data: Microdata, seed: int = 1, **parameters: object) -> Microdata:
    return Shuffling(**parameters).protect(data, rng=seed)  # type: ignore[arg-type]


def copula(seed: int = 0, ties: bool = False) -> Microdata:
    """Two given and three confidential variables with normal scores of known correlation and odd marginals."""
    rng = np.random.default_rng(seed)
    load = np.array([[0.8, 0.1], [0.3, -0.7], [0.6, 0.2], [-0.5, 0.5], [0.2, 0.6]])
    z = rng.normal(size=(N, 2)) @ load.T + rng.normal(size=(N, 5)) * np.sqrt(1 - (load**2).sum(axis=1))
    s, t, x, y, w = z.T
    columns = {"s": np.exp(s), "t": t**3, "x": np.exp(2 * x), "y": y, "w": np.expm1(w)}
    if ties:  # a third zeros; whole numbers; four grades
        columns = {
            **columns,
            "x": np.maximum(columns["x"] - 0.4, 0),
            "y": np.round(2 * y),
            "t": np.digitize(t, [-1, 0, 1.2]),
        }
    return Microdata.from_frame(pa.table(columns))


def ranks(data: Microdata, names: tuple[str, ...]) -> Floats:
    return np.column_stack([stats.norm.ppf((stats.rankdata(data.columns[n]) - 0.5) / len(data)) for n in names])


CONFIDENTIAL, STAY = ("x", "y", "w"), ("s", "t")


@pytest.mark.parametrize("ties", [False, True])
def test_marginals_exactly_and_rank_correlations_within_sampling_error(ties: bool) -> None:
    data = copula(ties=ties)
    made = shuffled(data, variables=CONFIDENTIAL)
    for name in CONFIDENTIAL:
        assert np.array_equal(np.sort(made.columns[name]), np.sort(data.columns[name]))
    for name in STAY:
        assert np.array_equal(made.columns[name], data.columns[name])
    names = (*CONFIDENTIAL, *STAY)
    before, after = (stats.spearmanr(t.numeric(names)).statistic for t in (data, made))
    # each correlation of the new table varies by less than 1 / sqrt(n) about that of the old; there are nine
    assert np.abs(after - before).max() < 3.2 / np.sqrt(N)


def test_given_what_stays_a_new_value_tells_nothing_of_the_old_one() -> None:
    data = copula()
    made = shuffled(data, variables=CONFIDENTIAL)
    design = np.column_stack([np.ones(N), ranks(data, STAY)])
    old, new = (
        (scores := ranks(t, CONFIDENTIAL)) - design @ np.linalg.lstsq(design, scores, rcond=None)[0]
        for t in (data, made)
    )
    cross = np.corrcoef(old.T, new.T)[:3, 3:]
    assert np.abs(cross).max() < 3.5 / np.sqrt(N)
    assert np.corrcoef(ranks(data, CONFIDENTIAL).T, ranks(made, CONFIDENTIAL).T)[0, 3] > 0.2  # through what stays


def test_with_nothing_given_the_new_values_are_independent_of_all_old_ones() -> None:
    data = copula()
    made = shuffled(data, variables=CONFIDENTIAL, given=())
    everything = (*CONFIDENTIAL, *STAY)
    cross = np.corrcoef(ranks(data, everything).T, ranks(made, CONFIDENTIAL).T)[:5, 5:]
    assert np.abs(cross).max() < 3.5 / np.sqrt(N)
    within = [stats.spearmanr(t.numeric(CONFIDENTIAL)).statistic for t in (data, made)]
    assert np.abs(within[0] - within[1]).max() < 3.2 / np.sqrt(N)


def test_the_needed_correlation_is_two_sines_without_ties() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=5000)
    for load in (-0.95, -0.3, 0.0, 0.5, 0.99):
        y = load * x + np.sqrt(1 - load**2) * rng.normal(size=5000)
        rho = needed_correlations(np.column_stack([x, y]))
        assert rho[0, 1] == pytest.approx(2 * np.sin(np.pi / 6 * stats.spearmanr(x, y).statistic), abs=0.01)
    assert normal_scores(x, y) == pytest.approx(stats.norm.ppf((stats.rankdata(x) - 0.5) / 5000))


def test_normal_scores_by_hand() -> None:
    # three values present, at the quantiles 1/6, 1/2, 5/6; the tie goes by the draws
    found = normal_scores(np.array([5.0, np.nan, 5.0, 1.0]), np.array([0.9, 0.1, 0.2, 0.5]))
    third = stats.norm.ppf(5 / 6)
    assert found == pytest.approx(np.array([third, np.nan, 0.0, -third]), nan_ok=True)


def test_two_halves_need_the_tetrachoric_correlation() -> None:
    # split at the median, normal scores of correlation rho fall into the same half with probability
    # 1/2 + asin(rho) / pi (Sheppard), so that the correlation of the halves is 2 asin(rho) / pi
    x = np.repeat([0.0, 0.0, 1.0, 1.0], [40, 10, 10, 40])
    y = np.repeat([0.0, 1.0, 0.0, 1.0], [40, 10, 10, 40])
    assert spearman(x, y) == pytest.approx(0.6)
    rho = needed_correlations(np.column_stack([x, y]))
    assert rho[0, 1] == pytest.approx(np.sin(0.6 * np.pi / 2), abs=2e-3)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), gaps=st.floats(0, 0.9))
def test_spearman_equals_scipys_over_the_records_with_both(seed: int, n: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 8, (2, n)).astype(np.float64)
    x[rng.random(n) < gaps] = np.nan
    both = ~np.isnan(x)
    varied = both.sum() > 1 and np.ptp(x[both]) > 0 and np.ptp(y[both]) > 0
    expected = stats.spearmanr(x[both], y[both]).statistic if varied else 0.0
    assert spearman(x, y) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 80), gaps=st.floats(0, 0.6), given_some=st.booleans())
def test_any_table_keeps_its_marginals_and_its_gaps(seed: int, n: int, gaps: float, given_some: bool) -> None:
    data = incomes(n, seed)
    rng = np.random.default_rng(seed)
    names = data.schema.analysed("numeric")
    columns = {m: np.where(rng.random(n) < gaps, np.nan, np.round(data.columns[m], rng.integers(0, 3))) for m in names}
    holed = data.replace(columns)
    made = shuffled(holed, seed, given=("rent", "savings") if given_some else None)
    for name in names:
        assert np.array_equal(np.isnan(made.columns[name]), np.isnan(columns[name]))
        assert np.array_equal(np.sort(made.columns[name]), np.sort(columns[name]), equal_nan=True)
        if given_some and name in ("rent", "savings"):
            assert np.array_equal(made.columns[name], columns[name], equal_nan=True)


def test_gaps_in_what_stays_leave_the_other_relations() -> None:
    data = copula()
    rng = np.random.default_rng(3)
    holed = data.replace({"s": np.where(rng.random(N) < 0.3, np.nan, data.columns["s"])})
    made = shuffled(holed, variables=CONFIDENTIAL)
    for stay in STAY:
        for name in CONFIDENTIAL:
            assert spearman(holed.columns[stay], made.columns[name]) == pytest.approx(
                spearman(holed.columns[stay], data.columns[name]), abs=3.2 / np.sqrt(0.7 * N)
            )


def test_the_confidential_numbers_are_shuffled_given_the_other_numbers_and_grades() -> None:
    data = persons(n=3000)
    made = shuffled(data)
    for name in data.names:
        assert np.array_equal(made.columns[name], data.columns[name]) is (name != "income")
    assert made.schema["income"].treatment.perturbed and made.matched
    education = data.columns["education"].astype(np.float64)
    assert spearman(education, made.columns["income"]) == pytest.approx(
        spearman(education, data.columns["income"]), abs=3 / np.sqrt(3000)
    )
    assert Shuffling().masked(incomes()) == ("earnings", "tax", "rent", "savings")
    assert Shuffling(given=("rent",)).masked(incomes()) == ("earnings", "tax", "savings")


def test_the_surveys_rank_correlations_survive() -> None:
    data = household_survey()
    made = shuffled(data)
    changed = Shuffling().masked(data)
    for name in changed:
        for other in data.schema.analysed("numeric"):
            if name != other:
                before, after = (spearman(t.columns[name], t.columns[other]) for t in (data, made))
                # many zeros and sums that hold exactly are no normal scores: a limit, not a promise
                assert after == pytest.approx(before, abs=0.12)


def test_refusals() -> None:
    with pytest.raises(NotApplicable, match="Shuffling: given: variable 'region' is nominal"):
        shuffled(incomes(), given=("region",))
    with pytest.raises(NotApplicable, match="Shuffling: given: there is no variable 'rnet'"):
        shuffled(incomes(), given=("rnet",))
    with pytest.raises(NotApplicable, match="every numeric variable is given"):
        shuffled(numbers(a=[1.0, 2.0]), given=("a",))
    with pytest.raises(ParameterError, match="Shuffling: 'a' is both shuffled and given"):
        Shuffling(variables=("a",), given=("a",))


def test_an_ordinal_variable_can_be_given() -> None:
    schema = Schema((Variable("grade", kind="ordinal", categories=("low", "middle", "high")),))
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 3, 5000)
    pay = np.exp(grade + rng.normal(size=5000))
    table = pa.table({"grade": np.array(["low", "middle", "high"])[grade], "pay": pay})
    made = shuffled(Microdata.from_frame(table, schema), given=("grade",))
    # the mean by grade follows the ranks: the order of the grades stays
    means = [made.columns["pay"][grade == level].mean() for level in range(3)]
    assert means == sorted(means)
    assert spearman(grade.astype(float), made.columns["pay"]) == pytest.approx(
        spearman(grade.astype(float), pay), abs=0.04
    )
