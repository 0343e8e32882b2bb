"""Kullback-Leibler divergence: by hand, by theory, and singular covariances."""

import math

import numpy as np
import pytest

from sfumato import KullbackLeibler, Microdata, NotApplicable, ParameterError
from tables import census, numbers, weighted

BOTH = ("original to protected", "protected to original")


def exactly(p: int, covariance: np.ndarray, n: int = 400, seed: int = 0, mean: float = 0.0) -> Microdata:
    """A table whose maximum likelihood covariance is the one given, to rounding."""
    draws = np.random.default_rng(seed).normal(size=(n, p))
    draws -= draws.mean(axis=0)
    white = draws @ np.linalg.inv(np.linalg.cholesky(draws.T @ draws / n)).T
    values = white @ np.linalg.cholesky(covariance).T + mean
    return numbers(**{f"v{j}": values[:, j] for j in range(p)})


def spread(p: int) -> np.ndarray:
    return 50.0 * (0.4 * np.ones((p, p)) + 0.6 * np.eye(p))


@pytest.mark.parametrize("direction", BOTH)
def test_one_variable_by_hand(direction: str) -> None:
    # means 1 and 3, variances 1 and 4
    before, after = numbers(a=[0.0, 2.0]), numbers(a=[1.0, 5.0])
    # to the protected: (2^2 / 4 - (1 - 1/4 + log 1/4)) / 2; back: (2^2 / 1 - (1 - 4 + log 4)) / 2
    expected = (1 - 0.75 + math.log(4)) / 2 if direction == BOTH[0] else (4 + 3 - math.log(4)) / 2
    found = KullbackLeibler(direction).evaluate(before, after)  # type: ignore[arg-type]
    assert found.value == pytest.approx(expected, rel=1e-12)
    assert found.parts["means"] == pytest.approx(0.5 if direction == BOTH[0] else 2.0)
    assert found.by_variable == {"a": pytest.approx(expected)}


@pytest.mark.parametrize("direction", BOTH)
def test_two_variables_by_hand(direction: str) -> None:
    # covariances [[1, 0], [0, 4]] and [[2, 0], [0, 2]], means 0 and 1
    before = exactly(2, np.diag([1.0, 4.0]))
    after = exactly(2, np.diag([2.0, 2.0]), seed=1, mean=1.0)
    # l = 1/2 and 2, or the other way round: 1 - l + log l sum to 2 - 2.5 + 0; means: 1/2 + 1/2, or 1 + 1/4
    expected = ((1 if direction == BOTH[0] else 1.25) + 0.5) / 2
    assert KullbackLeibler(direction).evaluate(before, after).value == pytest.approx(expected, rel=1e-10)  # type: ignore[arg-type]


@pytest.mark.parametrize(("p", "printed"), [(3, 0.0157), (6, 0.0315), (10, 0.0525)])
def test_noise_with_a_share_of_the_covariance(p: int, printed: float) -> None:
    # KL(original || released) with 1.16 Sigma is p/2 (1/1.16 - 1 + ln 1.16); the paper prints .016, .031, .053
    before, after = exactly(p, spread(p)), exactly(p, 1.16 * spread(p), seed=1)
    found = KullbackLeibler().evaluate(before, after).value
    assert found == pytest.approx(p / 2 * (1 / 1.16 - 1 + math.log(1.16)), rel=1e-9)
    assert found == pytest.approx(printed, abs=1e-4)


@pytest.mark.parametrize(("p", "printed"), [(3, 0.902), (6, 2.237), (10, 4.067)])
def test_projection_microaggregation_in_theory(p: int, printed: float) -> None:
    # groups of three leave the axis alone and a third of the variance across it: (p - 1)/2 (3 - 1 - ln 3)
    released = np.diag([1.0] + [1 / 3] * (p - 1))
    found = KullbackLeibler().evaluate(exactly(p, np.eye(p)), exactly(p, released, seed=1)).value
    assert found == pytest.approx((p - 1) / 2 * (2 - math.log(3)), rel=1e-9)
    assert found == pytest.approx(printed, rel=0.01)


def test_units_do_not_matter() -> None:
    before, after = exactly(3, spread(3)), exactly(3, 1.3 * spread(3), seed=1, mean=2.0)
    plain = KullbackLeibler().evaluate(before, after).value
    scaled = [t.replace({"v1": 1e7 * t.columns["v1"] + 1e9}) for t in (before, after)]
    assert KullbackLeibler().evaluate(*scaled).value == pytest.approx(plain, rel=1e-6)


def test_weights_stand_for_records() -> None:
    a, b = np.array([0.0, 1.0, 5.0, 7.0]), np.array([1.0, 1.0, 2.0, 9.0])
    counts = np.array([1, 3, 2, 1])
    many = [numbers(x=np.repeat(column, counts)) for column in (a, b)]
    few = [weighted(numbers(x=column), counts * 1.0) for column in (a, b)]
    expected = KullbackLeibler().evaluate(*many).value
    assert KullbackLeibler().evaluate(*few).value == pytest.approx(expected, rel=1e-12)


def with_total(seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(1e3, 200, 300), rng.normal(2e3, 400, 300)
    return numbers(a=a, b=b, total=a + b)


def test_a_total_and_its_parts_are_compared_in_what_is_free() -> None:
    before, after = with_total(0), with_total(1)
    found = KullbackLeibler().evaluate(before, after)
    free = KullbackLeibler(variables=("a", "b")).evaluate(before, after)
    assert found.value == pytest.approx(free.value, rel=1e-9)
    assert any("2 of 3 dimensions" in note and "a, b, total" in note for note in found.notes)


def test_a_relation_that_only_one_table_keeps_is_refused() -> None:
    before = with_total(0)
    noisy = before.replace({"total": before.columns["total"] + np.random.default_rng(1).normal(size=300)})
    for pair, label in (((before, noisy), "original"), ((noisy, before), "protected")):
        with pytest.raises(
            NotApplicable, match=f"a, b, total are tied by an exact linear relation in the {label} table"
        ):
            KullbackLeibler().evaluate(*pair)
    moved = before.replace({"total": before.columns["total"] + 500.0})
    with pytest.raises(NotApplicable, match="another constant"):
        KullbackLeibler().evaluate(before, moved)


def test_the_census_covariance_is_singular() -> None:
    data = census()
    found = KullbackLeibler().evaluate(data, data)
    assert found.value == pytest.approx(0, abs=1e-12)
    assert any("PEARNVAL" in note and "PTOTVAL" in note and "12 of 13" in note for note in found.notes)


def test_constants() -> None:
    x = np.arange(10.0)
    same = numbers(a=x, c=np.full(10, 0.1))
    assert any("same constant in both tables: c" in note for note in KullbackLeibler().evaluate(same, same).notes)
    with pytest.raises(NotApplicable, match="'a' is constant in the protected table only"):
        KullbackLeibler().evaluate(numbers(a=x), numbers(a=0 * x))
    with pytest.raises(NotApplicable, match="'a' is constant in the original"):
        KullbackLeibler().evaluate(numbers(a=0 * x), numbers(a=x))


def test_an_unknown_direction_is_refused() -> None:
    with pytest.raises(ParameterError, match="KullbackLeibler: direction must be one of 'original to protected'"):
        KullbackLeibler("forwards")  # type: ignore[arg-type]


def test_records_in_another_order_diverge_by_nothing() -> None:
    rng = np.random.default_rng(1)
    x = rng.lognormal(size=(400, 3)) @ rng.normal(size=(3, 3)) + 50
    names = ("a", "b", "c")
    found = KullbackLeibler().evaluate(
        numbers(**dict(zip(names, x.T, strict=True))), numbers(**dict(zip(names, rng.permutation(x).T, strict=True)))
    )
    assert found.value == 0 and set(found.by_variable.values()) == {0.0}


def test_several_relations_name_all_that_they_tie() -> None:
    rng = np.random.default_rng(2)
    a, b, c, d = rng.normal(size=(4, 200))
    data = numbers(a=a, b=b, sum=a + b, c=c, twice=2 * c, d=d)
    (note,) = KullbackLeibler().evaluate(data, data).notes
    assert note == (
        "both covariances are singular (a, b, sum, c, twice are tied by exact linear relations): computed in the 4 of "
        "6 dimensions in which the tables spread"
    )
