"""The figures of synthpop's ``disclosure``: identity (UiO, UiS, UiOiS, repU), attributes (DiSCO and others), CAPs."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import DCAP, TCAP, DiSCO, Microdata, ParameterError, RepU, Schema, Variable
from sfumato.table.treatment import Treatment

NAMES = ("k1", "k2", "k3", "t")


def unrelated(frame: pa.Table, schema: Schema) -> Microdata:
    """Records that are nobody's, with nothing recoded."""
    data = Microdata.from_frame(frame, schema)
    changed = (variable.treated(Treatment(perturbed=True)) for variable in data.schema)
    return replace(data, matched=False, schema=data.schema.replace(*changed))


def files() -> tuple[Microdata, Microdata]:
    """The files of the R script below."""
    schema = Schema(tuple(Variable(name, kind="nominal") for name in NAMES))
    letters, few, values = (np.array(list(text)) for text in ("abcdef", "uvwx", "yns"))

    def made(i: np.ndarray) -> pa.Table:
        k1, k2 = letters[(i * i * 7 + i) % 101 % 6], few[i**3 % 103 % 4]
        k3, t = ((i * 31 + i // 3) % 107 % 9).astype(str), values[(i * i * 13 + i // 7) % 109 % 5 // 2]
        return pa.table(dict(zip(NAMES, (k1, k2, k3, t), strict=True)))

    return Microdata.from_frame(made(np.arange(1, 401)), schema), unrelated(made(np.arange(1001, 1351)), schema)


EXPECTED: dict[tuple[str, ...], tuple[float, ...]] = {
    ("k1", "k3"): (
        0.0,
        0.0,
        0.0,
        0.0,
        2.5,
        98.25,
        1.0,
        0.5,
        0.0,
        36.59375,
        45.9026959152,
        46.34698000412,
        35.67947330447,
        50.0,
    ),
    ("k1", "k2", "k3"): (
        16.0,
        19.71428571429,
        11.5,
        4.75,
        26.25,
        80.5,
        42.0,
        12.25,
        1.75,
        36.59375,
        63.38333333333,
        67.4,
        26.49583333333,
        29.16666666667,
    ),
}


@pytest.mark.parametrize("keys", EXPECTED)
def test_the_figures_of_disclosure(keys: tuple[str, ...]) -> None:
    """By reference: the formulas of ``disclosure`` (synthpop 1.9, R/disclosure.R) in R 4.2, in percent.

    made <- function(i) { i <- as.numeric(i); data.frame(k1 = letters[(i * i * 7 + i) %% 101 %% 6 + 1],
      k2 = c("u", "v", "w", "x")[i^3 %% 103 %% 4 + 1], k3 = (i * 31 + i %/% 3) %% 107 %% 9,
      t = c("y", "n", "s")[(i * i * 13 + i %/% 7) %% 109 %% 5 %/% 2 + 1]) }
    o <- made(1:400); s <- made(1001:1350)
    dis <- function(o, s, keys, target) {
      ko <- do.call(paste, o[keys]); ks <- do.call(paste, s[keys]); k <- union(ko, ks)
      tt <- union(o[[target]], s[[target]]); Nd <- nrow(o); Ns <- nrow(s)
      d <- table(factor(o[[target]], tt), factor(ko, k)); y <- table(factor(s[[target]], tt), factor(ks, k))
      p <- function(x) { x <- sweep(x, 2, colSums(x), "/"); x[is.na(x)] <- 0; x }
      dp <- p(d); yp <- p(y); kd <- colSums(d); ky <- colSums(y); did <- d; did[dp != 1] <- 0
      iS <- d; iS[, ky == 0] <- 0; DiS <- d; DiS[, !apply(yp, 2, function(x) any(x == 1))] <- 0
      co <- iS; co[yp < 1] <- 0; both <- co; both[dp < 1] <- 0; yU <- yp; yU[yp != 1] <- 0
      100 * c(UiO = sum(kd == 1) / Nd, UiS = sum(ky == 1) / Ns, UiOiS = sum(kd == 1 & ky > 0) / Nd,
        repU = sum(kd == 1 & ky == 1) / Nd, Dorig = sum(did) / Nd, iS = sum(iS) / Nd, DiS = sum(DiS) / Nd,
        DiSCO = sum(co) / Nd, DiSDiO = sum(both) / Nd, baseCAPd = sum((rowSums(d) / Nd)^2),
        CAPd = sum(colSums(dp^2) * kd) / Nd, CAPs = sum(colSums(yp^2) * ky) / Ns, DCAPd = sum(yp * d) / Nd,
        TCAP = sum(yU * d) / sum(kd * colSums(yU))) }
    dis(o, s, c("k1", "k3"), "t"); dis(o, s, c("k1", "k2", "k3"), "t")
    """
    unique, disco, dcap, tcap = (
        measure.evaluate(*files())
        for measure in (
            RepU(variables=keys),
            DiSCO(variables=keys, targets=("t",)),
            DCAP(variables=keys, targets=("t",)),
            TCAP(variables=keys, targets=("t",)),
        )
    )
    found = (
        unique.parts["unique in the original"],
        unique.parts["unique in the protected table"],
        unique.parts["unique in the original, keys found"],
        unique.value,
        disco.parts["disclosive in the original"],
        disco.parts["keys found"],
        disco.parts["disclosive in the protected table"],
        disco.value,
        disco.parts["right and disclosive in both"],
        dcap.parts["baseline"],
        dcap.parts["of the original"],
        dcap.parts["WEAP"],
        dcap.value,
        tcap.value,
    )
    assert [100 * figure for figure in found] == pytest.approx(EXPECTED[keys], rel=1e-10)
    assert tcap.parts["DCAP"] == pytest.approx(dcap.value)


def test_by_hand() -> None:
    """North: of two originals, yes and no, one record says yes. South: two noes, of three records two say so."""
    schema = Schema((Variable("region", kind="nominal"), Variable("ill", kind="nominal")))
    before = Microdata.from_frame(pa.table({"region": list("nnssw"), "ill": ["y", "n", "n", "n", "y"]}), schema)
    after = unrelated(pa.table({"region": list("nsss"), "ill": ["y", "n", "n", "y"]}), schema)
    measure = DCAP(variables=("region",), targets=("ill",))
    found = measure.evaluate(before, after)
    assert found.value == pytest.approx((1 + 0 + 2 / 3 + 2 / 3 + 0) / 5)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1, 0, 2 / 3, 2 / 3, 0])
    assert found.parts["baseline"] == pytest.approx(0.4**2 + 0.6**2)
    assert found.parts["of the original"] == pytest.approx((0.5 + 0.5 + 1 + 1 + 1) / 5)
    assert found.parts["WEAP"] == pytest.approx((1 + 2 / 3 + 2 / 3 + 1 / 3) / 4)
    assert found.parts["keys found"] == 0.8
    left = DCAP("left out", variables=("region",), targets=("ill",)).evaluate(before, after)
    assert left.value == pytest.approx((1 + 0 + 2 / 3 + 2 / 3) / 4)
    assert left.by_record is not None and np.isnan(left.by_record[4])
    with pytest.raises(ParameterError, match="unmatched must be one of"):
        DCAP("drop")  # type: ignore[arg-type]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_a_file_of_unrelated_targets_gives_the_baseline(seed: int) -> None:
    """By theory: targets dealt at random to records with the same keys are right as often as the baseline says."""
    rng = np.random.default_rng(seed)
    schema = Schema((Variable("k", kind="nominal"), Variable("t", kind="nominal")))
    keys, targets = rng.choice(list("abc"), 600), rng.choice(list("xyz"), 600, p=[0.6, 0.3, 0.1])
    before = Microdata.from_frame(pa.table({"k": keys, "t": targets}), schema)
    after = unrelated(pa.table({"k": keys, "t": rng.permutation(targets)}), schema)
    found = DCAP(variables=("k",), targets=("t",)).evaluate(before, after)
    assert found.value == pytest.approx(found.parts["baseline"], abs=0.08)
    copy = DCAP(variables=("k",), targets=("t",)).evaluate(before, before)
    assert copy.value == pytest.approx(copy.parts["of the original"]) == pytest.approx(copy.parts["WEAP"])
