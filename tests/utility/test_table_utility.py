"""The utility of tables against synthpop's formulas in R, by hand, and its expected values by simulation."""

from math import log, sqrt
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from propensity_tables import by_formula, table

import sfumato
from sfumato import Microdata, NotApplicable, ParameterError, PropensityUtility, Schema, TableUtility, Variable
from sfumato.utility.table_utility import Cells, Effects, Null, Statistic, cuts_between

STATISTICS: tuple[Statistic, ...] = get_args(Statistic)


def files() -> tuple[Microdata, Microdata]:
    """The files of the R script below: x with gaps, z of five values."""
    made = []
    for data, numbers in zip(by_formula(), (np.arange(1, 1001), np.arange(1001, 2001)), strict=True):
        x = np.where(numbers % 11 == 0, np.nan, data.columns["x"])
        made.append(data.replace({"x": x, "z": np.minimum(data.columns["z"], 4.0)}))
    return made[0], made[1]


@pytest.mark.parametrize(
    ("variables", "records", "expected"),
    [
        (
            ("f",),
            1000,
            (
                167.5692806324574,
                27.9282134387429,
                172.5972158350019,
                28.7662026391670,
                190.6321291997782,
                31.7720215332964,
                0.0308144421156,
                0.1468831235349,
                0.344,
                33.2620767761990,
                0.0104730800395,
                0.172,
                8.6,
            ),
        ),
        (
            ("z",),
            1000,
            (
                20.30244895445061,
                5.07561223861265,
                20.87163989722823,
                5.21790997430706,
                18.77216916617726,
                4.69304229154432,
                0.00372890701144,
                0.05107793052928,
                0.058,
                7.04916331292442,
                0.00126890305965,
                0.029,
                1.45,
            ),
        ),
        (
            ("x", "y"),
            1000,
            (
                235.1867008334309,
                8.1098862356355,
                246.8219243389008,
                8.5111008392724,
                276.8393975580773,
                9.5461861226923,
                0.0437775317964,
                0.1756494820441,
                0.368,
                80.0809305055972,
                0.0146991688021,
                0.184,
                9.2,
            ),
        ),
        (
            ("x", "y", "f"),
            1000,
            (
                619.702333167349,
                2.965082933815,
                810.657163768865,
                3.878742410377,
                544.820297988154,
                2.765585268975,
                0.126953819136,
                0.318327104518,
                0.634,
                358.352319106958,
                0.038731395823,
                0.317,
                15.85,
            ),
        ),
        (
            ("x", "f"),
            400,
            (
                86.9899979090942,
                2.1217072660755,
                81.2395984791238,
                1.9814536214420,
                87.7212705531549,
                2.1395431842233,
                0.0362236921813,
                0.1593341599430,
                0.354,
                54.0309896477225,
                0.0090576840805,
                0.177,
                16.7142857142857,
            ),
        ),
    ],
)
def test_the_figures_of_utility_tab(variables: tuple[str, ...], records: int, expected: tuple[float, ...]) -> None:
    """By reference: the formulas of ``utility.tab`` (synthpop 1.8, R/utility.syn.r) in R 4.2.

    group <- function(x, both, n = 5) { u <- sort(unique(both[!is.na(both)])) # as classIntervals(style = "quantile")
      b <- if (length(u) <= n) c(u[1] - 1, u[-length(u)] + diff(u) / 2, u[length(u)] + 1) else
        unique(quantile(both, seq(0, 1, 1 / n), na.rm = TRUE, names = FALSE))
      addNA(cut(x, b, right = FALSE, include.lowest = TRUE), ifany = FALSE) }
    tab <- function(syn, orig, vars) {
      for (v in vars) if (is.numeric(orig[[v]])) { both <- c(orig[[v]], syn[[v]])
        orig[[v]] <- group(orig[[v]], both); syn[[v]] <- group(syn[[v]], both) }
      d <- table(orig[vars], useNA = "ifany"); s <- table(syn[vars], useNA = "ifany"); keep <- d + s > 0
      td <- d[keep]; ts <- s[keep]; df <- length(td) - 1; N <- sum(ts + td); cc <- sum(ts) / N
      expect <- (ts + td) * cc; diff <- ts - td * cc / (1 - cc); p <- td / sum(td); q <- ts / sum(ts); h <- (p + q) / 2
      VW <- sum(diff^2 / expect); FT <- 4 * sum((ts^0.5 - (cc / (1 - cc) * td)^0.5)^2)
      JSD <- sum((p * log2(p / h))[p > 0]) / 2 + sum((q * log2(q / h))[q > 0]) / 2
      ok <- ts > 0 & td > 0; sok <- ts[ok]; dok <- td[ok]; G <- 2 * sum(sok * log(sok / sum(sok) / dok * sum(dok)))
      c(VW, VW / df, FT, FT / df, G, G / (sum(ok) - 1), JSD, sqrt(1 - sum(sqrt(p * q))), sum(abs(diff)) / sum(ts),
        sum(abs(diff) / sqrt(expect)) / sqrt(2 / pi), VW * cc * (1 - cc)^2 / N,
        ks.test(rep(ts / (ts + td), ts), rep(ts / (ts + td), td))$statistic,
        (sum(ts[q > p]) + sum(td[q <= p])) / N * 100 - 50) }
    i <- 1:2000; r <- as.numeric(i > 1000); x <- (i * 7919) %% 10007 / 100; y <- (i * i) %% 9973 / 100 * (1 + 0.25 * r)
    z <- (i * 31) %% 17 + r * (i %% 2); f <- factor(ifelse(r == 1 & i %% 5 == 0, 1, i %% 7))
    x[i %% 11 == 0] <- NA; z[z > 3] <- 4; d <- data.frame(x, y, z, f)
    o <- d[1:1000, ]; tab(d[1000 + 1:1000, ], o, "f"); ...; tab(d[1000 + 1:400, ], o, c("x", "f"))
    """
    original, protected = files()
    measure = TableUtility(ways=len(variables), variables=variables)
    (found,) = measure.evaluate(original, protected.take(np.arange(records))).tables["tables"]
    names = ["VW", "VW, ratio", "FT", "FT, ratio", "G", "G, ratio", "JSD", "Bhattacharyya", "absolute difference"]
    names += ["weighted absolute difference", "pMSE"]
    assert [found[name] for name in names] == pytest.approx(expected[:-2], rel=1e-10)
    specks, po50 = expected[-2:]
    assert found["absolute difference"] / 2 == pytest.approx(specks, rel=1e-10)
    if records == 1000:
        assert 25 * found["absolute difference"] == pytest.approx(po50, rel=1e-10)


def test_a_table_by_hand() -> None:
    """Cells a, b, c: 6, 3, 1 originals and 2, 2, 1 of the 5 protected records, so that c / (1 - c) = 1/2."""
    original, protected = table(v=["a"] * 6 + ["b"] * 3 + ["c"]), table(v=["a", "a", "b", "b", "c"])
    measurement = TableUtility(ways=1).evaluate(original, protected)
    (found,) = measurement.tables["tables"]
    # differences 2 - 3, 2 - 1.5, 1 - 0.5; a third of 8, 5, 2 expected
    assert found["VW"] == pytest.approx(1 / (8 / 3) + 0.25 / (5 / 3) + 0.25 / (2 / 3))
    assert found["FT"] == pytest.approx(
        4 * ((sqrt(2) - sqrt(3)) ** 2 + (sqrt(2) - sqrt(1.5)) ** 2 + (1 - sqrt(0.5)) ** 2)
    )
    assert found["G"] == pytest.approx(2 * (2 * log(0.4 / 0.6) + 2 * log(0.4 / 0.3) + log(0.2 / 0.1)))
    halves = [(0.6, 0.4), (0.3, 0.4), (0.1, 0.2)]
    bits = sum(p * log(2 * p / (p + q), 2) + q * log(2 * q / (p + q), 2) for p, q in halves) / 2
    assert found["JSD"] == pytest.approx(bits)
    assert found["Bhattacharyya"] == pytest.approx(sqrt(1 - sum(sqrt(p * q) for p, q in halves)))
    assert found["absolute difference"] == pytest.approx(0.2 + 0.1 + 0.1)
    assert found["VW, expected"] == found["FT, expected"] == found["G, expected"] == 2
    assert found["JSD, expected"] == pytest.approx(2 / (8 * 5 * log(2)))
    assert measurement.value == pytest.approx(found["VW"] / 2)
    assert measurement.by_variable == {"v": measurement.value}
    two = TableUtility(ways=1, null="two samples").evaluate(original, protected)
    assert two.value == pytest.approx(measurement.value * 2 / 3)  # 1 - c


def test_bands_and_the_missing_are_synthpops() -> None:
    """Quantiles of both files together; a number that is a cut goes up; few values are bands of their own."""
    assert cuts_between(np.arange(1.0, 11.0), 5).tolist() == pytest.approx([2.8, 4.6, 6.4, 8.2])
    # seven of nine are at or below the second cut, a third of the way from 0 to 1; the first is the least value
    assert cuts_between(np.array([0.0] * 6 + [1.0, 2.0, 3.0]), 3).tolist() == pytest.approx([1 / 3])
    assert cuts_between(np.array([0.0] * 8 + [1.0, 2.0, 3.0]), 3).tolist() == []  # both cuts are the least value
    assert cuts_between(np.array([5.0, 1.0, 2.0, 5.0]), 5).tolist() == [1.5, 3.5]
    assert cuts_between(np.array([4.0, 4.0]), 5).tolist() == []
    original, protected = table(a=[1.0, 2, 3, 4, 5, 6, None]), table(a=[1.0, 1, 3, 4, 6, 6, 6])
    (found,) = TableUtility(ways=1, bands=2).evaluate(original, protected).tables["tables"]
    # the middle of both files' 13 numbers is 4: 1, 2, 3 | 4, 5, 6 | missing against 1, 1, 3 | 4, 6, 6, 6
    assert found["cells"] == 3
    assert found["absolute difference"] == pytest.approx((0 + 1 + 1) / 7)
    (own,) = TableUtility(ways=1, bands=2, cuts="original").evaluate(original, protected).tables["tables"]
    assert own["absolute difference"] == pytest.approx((0 + 1 + 1) / 7)  # cut at 3.5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000))
def test_what_holds_between_the_statistics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 30))
    counts = rng.poisson(rng.uniform(0.2, 20), (2, k)).astype(float)
    counts[:, 0] += 1
    cells = Cells(*counts[:, counts.sum(axis=0) > 0])
    found, size = cells.found, cells.protected.sum()
    assert found["FT"] == pytest.approx(8 * size * found["Bhattacharyya"] ** 2, abs=1e-9)
    assert 0 <= found["JSD"] <= 1 + 1e-12 and 0 <= found["Bhattacharyya"] <= 1
    assert 0 <= found["absolute difference"] <= 2 and found["G"] >= 0
    assert 0 <= cells.mean_square <= cells.share * (1 - cells.share) + 1e-12
    # half the absolute difference is the K-S distance of the scores, cells in the order of their protected share
    order = np.argsort(cells.protected / (cells.original + cells.protected))
    before, after = cells.shares
    distance = np.abs(np.cumsum((after - before)[order])).max()
    assert found["absolute difference"] / 2 == pytest.approx(distance, abs=1e-12)
    turned = Cells(cells.protected, cells.original)
    for name in ("JSD", "Bhattacharyya", "absolute difference"):
        assert turned.found[name] == pytest.approx(found[name], abs=1e-12)
    own = cells.original[cells.original > 0]
    assert all(value == pytest.approx(0, abs=1e-12) for value in Cells(own, 3 * own).found.values())


def test_vw_is_the_pmse_of_a_saturated_logistic_model() -> None:
    """By an independent implementation: with two categorical variables the model of products has a score per cell."""
    rng = np.random.default_rng(2)
    made = [
        table(a=rng.choice(list("xyz"), n, p=p).tolist(), b=rng.choice(list("uv"), n).tolist())
        for n, p in ((300, [0.5, 0.3, 0.2]), (200, [0.4, 0.4, 0.2]))
    ]
    expected = PropensityUtility("products").evaluate(*made).parts
    found = TableUtility().evaluate(*made)
    assert found.parts["pMSE"] == pytest.approx(expected["pMSE"], rel=1e-8)
    assert found.value == pytest.approx(expected["ratio, fitted model"], rel=1e-8)
    assert TableUtility(null="two samples").evaluate(*made).value == pytest.approx(
        expected["ratio, two samples"], rel=1e-8
    )
    (row,) = found.tables["tables"]
    assert row["absolute difference"] / 2 == pytest.approx(expected["SPECKS"], rel=1e-9)


@pytest.mark.parametrize("null", ["fitted model", "two samples"])
@pytest.mark.parametrize("weighted", ["equal", "unequal"])
def test_expected_values_are_the_means_of_files_drawn_by_chance(null: Null, weighted: str) -> None:
    """By simulation: a protected file drawn from the original's shares, or both from one population."""
    rng = np.random.default_rng(5)
    shares, sizes = np.array([0.25, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05]), (2_000, 3_000)
    draws: dict[Statistic, list[float]] = {name: [] for name in STATISTICS}
    expected: dict[Statistic, list[float]] = {name: [] for name in STATISTICS}
    for _ in range(400):
        sides, squares = [], []
        for size in sizes:
            w = rng.uniform(0.2, 1.8, size) if weighted == "unequal" else np.ones(size)
            w *= size / w.sum()
            cell = rng.choice(len(shares), size, p=shares)
            sides.append(np.bincount(cell, w, minlength=len(shares)).astype(np.float64))
            squares.append(float(np.mean(w**2)))
        if null == "fitted model":
            sides[0], squares[0] = sizes[0] * shares, 1.0
        cells = Cells(*sides)
        for name in STATISTICS:
            draws[name].append(cells.found[name])
            expected[name].append(cells.expected(null, Effects(*squares))[name])
    for name in STATISTICS:
        error, mean = float(np.std(draws[name])) / 20, float(np.mean(draws[name]))
        assert mean == pytest.approx(float(np.mean(expected[name])), abs=4 * error + 0.01 * mean)


def test_pairs_and_variables_have_the_means_of_their_tables() -> None:
    original, protected = files()
    two = TableUtility().evaluate(original, protected)
    assert list(two.by_pair) == [("x", "y"), ("x", "z"), ("x", "f"), ("y", "z"), ("y", "f"), ("z", "f")]
    assert two.value == pytest.approx(np.mean(list(two.by_pair.values())))
    assert two.by_variable["x"] == pytest.approx(np.mean([v for pair, v in two.by_pair.items() if "x" in pair]))
    rows = {(row["first"], row["second"]): row for row in two.tables["tables"]}
    assert {pair: row["VW, ratio"] for pair, row in rows.items()} == two.by_pair
    assert two.parts["largest ratio"] == max(two.by_pair.values()) and two.parts["tables"] == 6
    three = TableUtility(ways=3).evaluate(original, protected)
    ratios = {(r["first"], r["second"], r["third"]): r["VW, ratio"] for r in three.tables["tables"]}
    assert three.by_pair["x", "z"] == pytest.approx((ratios["x", "y", "z"] + ratios["x", "z", "f"]) / 2)
    assert not TableUtility(ways=1).evaluate(original, protected).by_pair


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_can_be_the_value(statistic: Statistic) -> None:
    original, protected = files()
    found = TableUtility(statistic).evaluate(original, protected)
    assert found.value == pytest.approx(found.parts[f"{statistic}, ratio"], rel=1e-12) and found.value > 1
    assert TableUtility(statistic).evaluate(original, original).value == 0


def test_weights_are_copies() -> None:
    original, protected = (data.replace({"w": np.arange(1000.0) % 3 + 1}) for data in by_formula(weights=True))
    copied = [
        data.take(np.repeat(np.arange(999), data.columns["w"][:999].astype(int))) for data in (original, protected)
    ]
    plain = [Microdata.from_frame(data.to_arrow().drop_columns(["w"])) for data in copied]
    few = [data.take(np.arange(999)) for data in (original, protected)]
    names: dict[str, Any] = {"variables": ("f", "z"), "bands": 40}  # of values of their own, which copies do not move
    weighted, as_copies = TableUtility(**names).evaluate(*few), TableUtility(**names).evaluate(*plain)
    # 999 records that weigh 2 on average: shares are the same, counts and expected JSD go with the records
    for name in ("absolute difference", "JSD", "Bhattacharyya", "pMSE"):
        assert weighted.parts[name] == pytest.approx(as_copies.parts[name], rel=1e-10)
    assert weighted.parts["VW"] == pytest.approx(as_copies.parts["VW"] / 2, rel=1e-10)
    assert weighted.parts["VW, expected"] == pytest.approx(as_copies.parts["VW, expected"] * (1 + 4 + 9) / 3 / 4)


def test_recoded_variables_and_those_of_another_kind() -> None:
    data = Microdata.from_frame(
        pa.table(
            {"age": [float(v) for v in range(100)], "town": [f"t{v % 4}" for v in range(100)], "b": list("uv") * 50}
        ),
        Schema((Variable("town", kind="nominal"),)),
    )
    recoded = sfumato.GlobalRecoding(map={"town": {"t0": "west", "t1": "west"}}).protect(data, rng=0)
    found = TableUtility().evaluate(data, recoded)
    assert found.value == 0 and any("town is compared in the protected table's" in note for note in found.notes)


def test_what_cannot_be_is_refused() -> None:
    one = table(a=[1.0, 2.0])
    with pytest.raises(NotApplicable, match="tables of 2 variables need as many; 1 can be compared"):
        TableUtility().evaluate(one, one)
    with pytest.raises(NotApplicable, match="tables of 3 variables need as many; 1 can be compared"):
        TableUtility(ways=3, variables=("a",)).evaluate(one, one)
    with pytest.raises(ParameterError, match="ways must be a whole number from 1 to 4"):
        TableUtility(ways=5)
    wide = table(**{f"v{j}": [0.0, 1.0] for j in range(70)})
    with pytest.raises(NotApplicable, match="54,740 tables of 3"):
        TableUtility(ways=3).evaluate(wide, wide)
    apart = table(a=[1.0, 2.0, 2.0], b=[1.0, 2.0, 2.0]), table(a=[1.0, 2.0], b=[2.0, 1.0])
    with pytest.raises(NotApplicable, match="G has nothing to compare"):
        TableUtility("G").evaluate(*apart)
    found = TableUtility().evaluate(*apart)
    assert "G" not in found.parts and found.tables["tables"][0]["G"] is None


def test_a_heap_of_equal_values_is_said() -> None:
    heap = table(a=[0.0] * 90 + list(range(1, 11)), b=["u", "v"] * 50)
    (note,) = TableUtility().evaluate(heap, heap).notes
    assert note == "in one band, for most records share a value: a"


def test_one_record_and_constants() -> None:
    one = table(a=[1.0], b=["u"])
    found = TableUtility().evaluate(one, one)
    assert found.value == 0 and found.parts["VW, expected"] == 0
    constant = table(a=[1.0] * 4, b=["u"] * 4)
    assert TableUtility().evaluate(constant, constant).value == 0
