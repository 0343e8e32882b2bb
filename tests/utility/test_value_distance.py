"""Distances of values: sdcMicro's formula in R and by hand."""

from math import atan, pi

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Microdata, NotApplicable, Schema, ValueDistance, Variable

LEVELS = ("low", "mid", "high", "top")


def files() -> tuple[Microdata, Microdata]:
    """The files of the R script below: a number, an unordered and an ordered variable, with gaps."""
    i = np.arange(1, 301)
    a = i * 7919 % 10007 / 1000
    b, c = i % 3, i * 7 % 4
    numbers = [
        np.where(i % 17 == 0, np.nan, a),
        np.where(i % 19 == 0, np.nan, a + (i * 37 % 101 - 50) / 10),
    ]
    labels = [b, np.where(i % 11 == 0, 0, b)]
    places = [np.where(i % 29 == 0, -1, c), np.where((i % 29 == 0) | (i % 31 == 0), -1, np.where(i % 13 == 0, 3, c))]
    gone = [np.zeros(300, dtype=bool), i % 23 == 0]
    schema = Schema((Variable("a"), Variable("b", kind="nominal"), Variable("c", kind="ordinal", categories=LEVELS)))
    made = []
    for number, label, place, blank in zip(numbers, labels, places, gone, strict=True):
        frame = pa.table(
            {
                "a": pa.array(number, from_pandas=True),
                "b": [None if hole else "uvw"[code] for code, hole in zip(label, blank, strict=True)],
                "c": [None if code < 0 else LEVELS[code] for code in place],
            }
        )
        made.append(Microdata.from_frame(frame, schema))
    return made[0], made[1]


def test_the_figures_of_il_variables() -> None:
    """By reference: R 4.2, the formula of ``IL_variables`` (sdcMicro, R/dUtility.R).

    The same script gives 0.223034535696 for the data of sdcMicro's own test (tests/testthat/test_il_variables.R).
    i <- 1:300; l <- c("low", "mid", "high", "top")
    x <- data.frame(a = (i * 7919) %% 10007 / 1000, b = factor(c("u", "v", "w")[i %% 3 + 1]),
                    c = ordered(l[(i * 7) %% 4 + 1], levels = l))
    y <- x; y$a <- x$a + ((i * 37) %% 101 - 50) / 10; y$b[i %% 11 == 0] <- "u"; y$c[i %% 13 == 0] <- "top"
    x$a[i %% 17 == 0] <- NA; y$a[i %% 19 == 0] <- NA; y$b[i %% 23 == 0] <- NA
    x$c[i %% 29 == 0] <- NA; y$c[i %% 29 == 0 | i %% 31 == 0] <- NA
    gap <- function(d, x, p, m) { d[is.na(x) | is.na(p)] <- m; d[is.na(x) & is.na(p)] <- 0; d }
    num <- function(x, p) { m <- max(abs(range(p, na.rm = TRUE) - rev(range(x, na.rm = TRUE))))
      sum(2 / pi * atan(gap(abs(x - p), x, p, m))) }
    ord <- function(x, p) { m <- nlevels(x) - 1; sum(gap(abs(as.numeric(x) - as.numeric(p)), x, p, m) / m) }
    nom <- function(x, p) sum(gap(1 * (as.character(x) != as.character(p)), x, p, 1))
    c(num(x$a, y$a), nom(x$b, y$b), ord(x$c, y$c)) / 300 # 0.702862013040194 0.1 0.066666666666667
    s <- sd(x$a, na.rm = TRUE); num(x$a / s, y$a / s) / 300 # 0.466154500970317
    """
    found = ValueDistance(units="own").evaluate(*files())
    assert found.by_variable == pytest.approx({"a": 0.702862013040194, "b": 0.1, "c": 0.066666666666667}, rel=1e-12)
    assert found.value == pytest.approx(0.28984289323562, rel=1e-12)
    scaled = ValueDistance().evaluate(*files())
    assert scaled.by_variable["a"] == pytest.approx(0.466154500970317, rel=1e-12)
    assert scaled.value == pytest.approx(0.21094038921233, rel=1e-12)


def test_by_hand() -> None:
    """Numbers 0, 2 (sd sqrt 2) and 0, 3: one moved by 1. Places 0 and 3 of four: a third of the way each."""
    schema = Schema((Variable("a"), Variable("c", kind="ordinal", categories=LEVELS)))
    before, after = (
        Microdata.from_frame(pa.table({"a": a, "c": c}), schema)
        for a, c in (([0.0, 2.0], ["low", "top"]), ([0.0, 3.0], ["mid", "high"]))
    )
    found = ValueDistance().evaluate(before, after)
    assert found.by_variable == pytest.approx({"a": 2 / pi * atan(1 / 2**0.5) / 2, "c": 1 / 3})
    assert ValueDistance(units="own").evaluate(before, after).by_variable["a"] == pytest.approx(0.25)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_between_nothing_and_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    one, two = (
        pa.table({"a": rng.normal(size=n), "b": rng.choice(list("uvw"), n), "c": rng.choice(list("xy"), n)})
        for _ in range(2)
    )
    found = ValueDistance().evaluate(one, two)
    assert 0 <= found.value <= 1 and ValueDistance().evaluate(one, one).value == 0
    changed = np.mean([a != b for a, b in zip(one["b"].to_pylist(), two["b"].to_pylist(), strict=True)])
    assert found.by_variable["b"] == pytest.approx(changed)
    assert found.value == pytest.approx(np.mean(list(found.by_variable.values())))


def test_constants_lost_columns_and_other_kinds() -> None:
    before, after = pa.table({"a": [1.0, 1.0]}), pa.table({"a": [1.0, 2.0]})
    assert ValueDistance().evaluate(before, after).value == pytest.approx(0.25)  # a constant, in its own unit
    empty = Microdata.from_frame(pa.table({"a": pa.array([None, None], pa.float64())}))
    assert ValueDistance().evaluate(before, empty).value == pytest.approx(1.0)
    labels = Microdata.from_frame(pa.table({"a": ["x", "y"]}))
    with pytest.raises(NotApplicable, match="no variable is of one kind in both tables"):
        ValueDistance().evaluate(before, labels)
    renamed = pa.table({"b": ["w", "w"]}), pa.table({"b": ["z", "w"]})
    assert ValueDistance().evaluate(*renamed).value == 0.5
