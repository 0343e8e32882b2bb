"""Losses in inverse correlations and eigenvalues: sdcMicro's formulas in R, by hand, by theory."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import EigenvalueLoss, InverseCorrelationLoss, Microdata, NotApplicable, Schema, Variable


def files() -> tuple[pa.Table, pa.Table, pa.Table]:
    """The original of the R script, a table with noise, and one whose z is turned round."""
    i = np.arange(1, 301)
    x, y = i * 7919 % 10007 / 100, i * i % 9973 / 100
    z = i * 31 % 17 + x / 10
    x = np.where(i % 29 == 0, x + 400, x)
    moved = x + (i * 37 % 101 - 50) / 50, y + (i * 41 % 103 - 51) / 50, z + (i * 43 % 7 - 3) / 50
    return (
        pa.table({"x": x, "y": y, "z": z}),
        pa.table(dict(zip("xyz", moved, strict=True))),
        pa.table({"x": x, "y": y, "z": z[::-1]}),
    )


def test_the_figures_of_sdcmicro() -> None:
    """By reference: the formulas of ``IL_correl`` and ``dUtility`` (sdcMicro, R/dUtility.R), R 4.2, robustbase 0.95.

    i <- 1:300; x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100; z <- (i * 31) %% 17 + x / 10
    x[i %% 29 == 0] <- x[i %% 29 == 0] + 400; X <- cbind(x, y, z); H <- cbind(x, y, rev(z))
    M <- X + cbind((i * 37) %% 101 - 50, (i * 41) %% 103 - 51, (i * 43) %% 7 - 3) / 50
    il <- function(x, y) { d <- diag(solve(cor(x))); e <- diag(solve(cor(y)))
      sqrt(sum((d / sqrt(sum(d^2)) - e / sqrt(sum(e^2)))^2)) / sqrt(2) }
    eigen. <- function(x, y, v = var) { a <- eigen(v(scale(x)))$values; b <- eigen(v(scale(y)))$values
      sum(abs(a - b) / a) }
    robust <- function(x) covMcd(x)$cov
    il(X, M); il(X, H); eigen.(X, M); eigen.(X, H); eigen.(X, M, robust); eigen.(X, H, robust)
    """
    original, noisy, turned = files()
    assert InverseCorrelationLoss().evaluate(original, noisy).value == pytest.approx(2.8712827600997e-05, rel=1e-8)
    assert InverseCorrelationLoss().evaluate(original, turned).value == pytest.approx(0.026277178994159, rel=1e-10)
    assert EigenvalueLoss().evaluate(original, noisy).value == pytest.approx(0.00060642941090113, rel=1e-9)
    assert EigenvalueLoss().evaluate(original, turned).value == pytest.approx(0.49558300727594, rel=1e-10)
    assert EigenvalueLoss(robust=True).evaluate(original, noisy).value == pytest.approx(0.0046717784242141, rel=1e-9)
    assert EigenvalueLoss(robust=True).evaluate(original, turned).value == pytest.approx(0.67988409792128, rel=1e-10)


def test_two_variables_by_hand() -> None:
    """Correlations 0.6 and 0.8: both diagonals are equal numbers, so IL_correl is blind; eigenvalues are 1 +- r."""
    u, v = np.array([1.0, -1, 1, -1]), np.array([1.0, 1, -1, -1])
    before = pa.table({"a": u, "b": 0.6 * u + 0.8 * v})
    after = pa.table({"a": u, "b": 0.8 * u + 0.6 * v})
    assert InverseCorrelationLoss().evaluate(before, after).value == pytest.approx(0, abs=1e-14)
    found = EigenvalueLoss().evaluate(before, after)
    assert found.value == pytest.approx(0.2 / 1.6 + 0.2 / 0.4)
    assert found.parts == pytest.approx({"eigenvalue 1": 0.125, "eigenvalue 2": 0.5})


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_units_and_the_order_of_records_do_not_matter(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(p, p))
    before, after = rng.normal(size=(80, p)) @ mixing, rng.normal(size=(60, p)) @ mixing
    scale, shift = np.exp(rng.normal(size=p)), rng.normal(size=p)

    def table(values: np.ndarray) -> pa.Table:
        return pa.table({f"v{j}": column for j, column in enumerate(values.T)})

    for measure in (InverseCorrelationLoss(), EigenvalueLoss()):
        found = measure.evaluate(table(before), table(after)).value
        other = measure.evaluate(table(before * scale + shift), table(after[::-1] * scale + shift)).value
        assert other == pytest.approx(found, rel=1e-6)
        assert measure.evaluate(table(before), table(before)).value == 0
    assert 0 <= InverseCorrelationLoss().evaluate(table(before), table(after)).value <= 1


def test_weights_are_copies() -> None:
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 4, 50)
    values = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    columns = dict(zip("abc", values.T, strict=True))
    schema = Schema((Variable("w"),), weight="w")
    weighted = Microdata.from_frame(pa.table({**columns, "w": weights.astype(float)}), schema)
    copied = pa.table({name: np.repeat(column, weights) for name, column in columns.items()})
    other = pa.table({name: rng.normal(size=40) for name in "abc"})
    for measure in (InverseCorrelationLoss(), EigenvalueLoss()):
        assert measure.evaluate(weighted, other).value == pytest.approx(measure.evaluate(copied, other).value, rel=1e-9)


def test_relations_constants_and_gaps() -> None:
    original, noisy, _ = files()
    tied = original.append_column("t", pa.array(original["x"].to_numpy() + original["y"].to_numpy()))
    with pytest.raises(NotApplicable, match="x, y, t are tied by an exact linear relation in the original table"):
        InverseCorrelationLoss().evaluate(tied, tied)
    found = EigenvalueLoss().evaluate(tied, tied)
    assert found.value == 0 and any("1 of 4 eigenvalues left out" in note for note in found.notes)
    with pytest.raises(NotApplicable, match="has no robust covariance"):
        EigenvalueLoss(robust=True).evaluate(tied, tied)
    flat = original.append_column("c", pa.array([2.0] * 300))
    still = noisy.append_column("c", pa.array([2.0] * 300))
    without = InverseCorrelationLoss().evaluate(flat, still)
    assert without.value == InverseCorrelationLoss().evaluate(original, noisy).value
    assert any("constant in one of the tables: c" in note for note in without.notes)
    one = original.select(["x"])
    with pytest.raises(NotApplicable, match="at least two variables"):
        InverseCorrelationLoss().evaluate(one, one)
    assert EigenvalueLoss().evaluate(one, one).value == 0
    holed = original.set_column(0, "x", pa.array([None, None, *original["x"].to_pylist()[2:]]))
    assert any(
        "2 records of the protected table left out" in n for n in EigenvalueLoss().evaluate(original, holed).notes
    )
