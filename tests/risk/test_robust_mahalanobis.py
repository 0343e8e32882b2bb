"""Robust distances against robustbase, the risk against sdcMicro's formulas in R and by hand."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato import Microdata, Noise, NotApplicable, ParameterError, RobustMahalanobisRisk
from sfumato.kernels import robust_covariance
from sfumato.kernels.robust_covariance import minimum_covariance_determinant, squared_distances
from tables import incomes

Floats = NDArray[np.float64]


def files() -> tuple[pa.Table, pa.Table]:
    """The files of the R scripts below."""
    i = np.arange(1, 301)
    x, y = i * 7919 % 10007 / 100, i * i % 9973 / 100
    z = i * 31 % 17 + x / 10
    x = np.where(i % 29 == 0, x + 400, x)
    moved = x + (i * 37 % 101 - 50) / 50, y + (i * 41 % 103 - 51) / 50, z + (i * 43 % 7 - 3) / 50
    return pa.table({"x": x, "y": y, "z": z}), pa.table(dict(zip("xyz", moved, strict=True)))


@pytest.mark.parametrize(
    ("names", "centre", "covariance"),
    [
        ("x", (49.371620689655,), (1023.4411228429,)),
        ("xy", (48.854618473896, 35.696104417671), (1319.740125818947, -10.176980573099, 972.714601660615)),
        (
            "xyz",
            (49.189392712551, 42.492186234818, 12.866307692308),
            (
                1092.633019587035,
                -239.91750307316,
                1169.170822055055,
                139.095601643162,
                18.091811762172,
                49.087134939767,
            ),
        ),
    ],
)
def test_the_covariance_equals_robustbase(names: str, centre: tuple[float, ...], covariance: tuple[float, ...]) -> None:
    """By reference: R 4.2, robustbase 0.95.

    i <- 1:300; x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100; z <- (i * 31) %% 17 + x / 10
    x[i %% 29 == 0] <- x[i %% 29 == 0] + 400
    m <- covMcd(cbind(x, y, z)); m$center; m$cov[upper.tri(m$cov, TRUE)]
    """
    table = files()[0]
    values = np.column_stack([table[name].to_numpy() for name in names])
    found = minimum_covariance_determinant(values)
    assert found is not None
    upper = [found.covariance[a, b] for b in range(len(names)) for a in range(b + 1)]
    assert found.centre.tolist() == pytest.approx(centre, rel=1e-11)
    assert upper == pytest.approx(covariance, rel=1e-11)
    turned = minimum_covariance_determinant(values[np.random.default_rng(0).permutation(300)])
    assert turned is not None and np.array_equal(turned.covariance, found.covariance)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_estimate_is_affine_equivariant_and_outliers_do_not_move_it(seed: int, p: int) -> None:
    """By theory: A x + b has the covariance A C A'; a fifth of the records sent away leaves nearly the normal's."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(200, p))
    values[:40] += 1_000
    matrix, shift = rng.normal(size=(p, p)) + 3 * np.eye(p), rng.normal(size=p)
    one = minimum_covariance_determinant(values)
    two = minimum_covariance_determinant(values @ matrix.T + shift)
    assert one is not None and two is not None
    assert np.abs(one.covariance).max() < 4 and np.abs(one.centre).max() < 1
    assert np.linalg.det(two.covariance) == pytest.approx(
        np.linalg.det(one.covariance) * np.linalg.det(matrix) ** 2, rel=0.25
    )


def test_other_starts_end_at_the_same_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six skewed variables, of which many halves are nearly as dense: with ten starts followed no two seeds agree."""
    values = np.exp(1.5 * np.random.default_rng(1).normal(size=(300, 6)) @ (np.eye(6) + 0.4))
    found = []
    for seed in range(4):
        monkeypatch.setattr(robust_covariance, "SEED", seed)
        estimate = minimum_covariance_determinant(values)
        assert estimate is not None
        found.append(estimate.covariance.tolist())
    assert found[1:] == found[:-1]


def test_one_variable_by_hand() -> None:
    """Six numbers, p = 1: the densest four are 1, 2, 3, 4 of 1 .. 5 and 99; 5 is kept when weighed again."""
    found = minimum_covariance_determinant(np.array([[99.0], [1.0], [5.0], [2.0], [4.0], [3.0]]))
    assert found is not None and found.centre[0] == 3.0
    assert squared_distances(np.array([[1.0], [3.0]]), np.array([3.0]), np.array([[2.0]])).tolist() == [2.0, 0.0]  # type: ignore[union-attr]
    assert minimum_covariance_determinant(np.array([[0.0]] * 5 + [[1.0], [2.0], [3.0]])) is None  # a heap


@pytest.mark.parametrize(
    ("k", "k2", "names", "expected"),
    [
        (0.01, 0.05, "xyz", (0.26, 0.26, 3.5052992744734, 3.5052992744734)),
        (0.05, 0.2, "xyz", (0.58, 0.36333333333333, 12.84732635930511, 6.03325120533131)),
        (0.03, 0.1, "xy", (0.226666666666667, 0.056666666666667, 2.193758764905186, 0.349588508280295)),
    ],
)
def test_the_figures_of_driskrmd(k: float, k2: float, names: str, expected: tuple[float, ...]) -> None:
    """By reference: the formulas of ``dRiskRMD`` (sdcMicro, R/dRiskRMD.R) in R 4.2 with robustbase 0.95.

    X <- cbind(x, y, z) # as above
    M <- X + cbind((i * 37) %% 101 - 50, (i * 41) %% 103 - 51, (i * 43) %% 7 - 3) / 50
    rmdrisk <- function(x, xm, k = 0.01, k2 = 0.05) { x <- scale(x); xm <- scale(xm); n <- nrow(x)
      rmd <- 0.05 * sqrt(mahalanobis(x, colMeans(x), covMcd(x)$cov))
      w <- which(apply(xm < x + k * rmd & xm > x - k * rmd, 1, any)); xd <- as.matrix(dist(xm)); diag(xd) <- NA
      w2 <- w[apply(xd[w, , drop = FALSE], 1, min, na.rm = TRUE) > k2]
      c(length(w) / n, length(w2) / n, length(w) * sum(rmd[w]) / n, length(w2) * sum(rmd[w2]) / n) }
    rmdrisk(X, M); rmdrisk(X, M, 0.05, 0.2); rmdrisk(X[, 1:2], M[, 1:2], 0.03, 0.1)
    """
    measure = RobustMahalanobisRisk(k, k2, variables=tuple(names))
    found = measure.evaluate(*files())
    assert list(found.parts.values()) == pytest.approx(expected, rel=1e-10)
    assert found.value == pytest.approx(expected[1])
    assert RobustMahalanobisRisk(k, k2, "RMDID1", variables=tuple(names)).evaluate(*files()).value == pytest.approx(
        expected[0]
    )
    assert found.by_record is not None and found.by_record.mean() == pytest.approx(found.value)


def test_a_copy_is_unsafe_and_a_crowd_is_not_alone() -> None:
    data = incomes()
    found = RobustMahalanobisRisk(method="RMDID1").evaluate(data, data)
    assert found.value == 1.0
    assert RobustMahalanobisRisk(k2=100.0).evaluate(data, data).value == 0.0
    noisy = RobustMahalanobisRisk().evaluate(data, Noise(1.0).protect(data, rng=1))
    assert noisy.value < RobustMahalanobisRisk().evaluate(data, data).value


def test_gaps_constants_and_planes() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 2))
    plain = pa.table({"a": values[:, 0], "b": values[:, 1]})
    gaps = pa.table({"a": np.where(np.arange(60) < 5, np.nan, values[:, 0]), "b": values[:, 1]})
    found = RobustMahalanobisRisk(method="RMDID1").evaluate(plain, Microdata.from_frame(gaps))
    assert found.value == 1.0 and any("5 of 60 records left out" in note for note in found.notes)
    assert found.by_record is not None and np.isnan(found.by_record[:5]).all()
    constant = plain.append_column("c", pa.array([1.0] * 60))
    assert any("left out: c" in note for note in RobustMahalanobisRisk().evaluate(constant, constant).notes)
    heap = pa.table({"a": values[:, 0], "b": np.where(np.arange(60) < 40, 0.0, values[:, 1])})
    with pytest.raises(NotApplicable, match="more than half of the values of b are equal"):
        RobustMahalanobisRisk().evaluate(heap, heap)
    tied = plain.append_column("c", pa.array(values.sum(axis=1)))
    with pytest.raises(NotApplicable, match="tied exactly"):
        RobustMahalanobisRisk().evaluate(tied, tied)
    few = plain.slice(0, 5)
    with pytest.raises(NotApplicable, match="needs 6 records or more"):
        RobustMahalanobisRisk().evaluate(few, few)
    with pytest.raises(ParameterError, match="k must be a number above 0"):
        RobustMahalanobisRisk(k=0)
