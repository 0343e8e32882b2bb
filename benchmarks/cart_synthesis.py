"""Synthesis by trees: time, memory, growth, and side by side with what people use.

Run ``python benchmarks/cart_synthesis.py``. The table is the demo survey, made large: 15 variables, 2 ordinal and 5
nominal, gaps filled with zeros since not every peer models them. Peers are no dependency; where one is not installed
its line is left out. They are

- rpart in a loop, the fit that synthpop's default method makes for each variable (``minbucket = 5, cp = 1e-8``) and
  the same draw from the leaf; synthpop itself adds to that. It needs R (``Rscript`` on the path) with rpart;
- scikit-learn's trees in a loop, nominal predictors as indicators, donors from the leaf.

Each runs in a process of its own; compilation, once per machine, is printed first and left out of the times. Utility is
the pMSE ratio (1: as near as draws from the true model) of main effects, and of all pairs of ten of the variables.

Measured on a machine that others were using, so processor seconds are what counts (Python 3.11, numba 0.68, R 4.2.2
with rpart 4.1.19, scikit-learn 1.9); pMSE ratios of main effects and of pairs, one draw each:

| records x 15 | sfumato | scikit-learn | rpart |
|---|---|---|---|
| 20,000 | 0.38 s, 282 MB, 0.91 and 1.67 | 2.3 s, 243 MB, 0.81 and 1.78 | 10.9 s, 1.57 and 1.93 |
| 100,000 | 2.5 s, 379 MB, 1.57 and 2.46 | 7.6 s, 345 MB, 0.85 and 1.66 | 160 s, 1.54 and 13.8 |

At 100,000 records scikit-learn's splits by one category at a time came closer than sets of categories did. Part of
rpart's last figure are records with a category unseen on their way down, which the loop gives any value of the file.
50,000, 100,000, 200,000, 400,000 records: 1.1, 2.3, 6.0, 16.4 s; 313, 380, 490, 583 MB. The first call compiles for
about 13 s, once per machine.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from memory import peak_memory
from sfumato import CARTSynthesis, Microdata, PropensityUtility, household_survey

APART = ("person", "household", "weight", "tax", "rent")
SOME = ("sex", "age", "marital", "education", "hours", "earnings", "capital_income", "benefits", "income", "wealth")

RPART = """
library(rpart)
paths <- commandArgs(trailingOnly = TRUE)
data <- read.csv(paths[1], stringsAsFactors = TRUE)
started <- proc.time()
made <- data
first <- names(data)[1]
made[[first]] <- sample(data[[first]], nrow(data), replace = TRUE)
for (j in 2:ncol(data)) {
  y <- data[[j]]; x <- data[, 1:(j - 1), drop = FALSE]; new <- made[, 1:(j - 1), drop = FALSE]
  if (is.factor(y)) {
    f <- rpart(y ~ ., cbind(y = y, x), method = "class", minbucket = 5, cp = 1e-8)
    p <- predict(f, new)
    u <- runif(nrow(data))
    made[[j]] <- factor(levels(y)[1 + rowSums(u > t(apply(p, 1, cumsum))[, -ncol(p), drop = FALSE])], levels(y))
  } else {
    f <- rpart(y ~ ., cbind(y = y, x), method = "anova", minbucket = 5, cp = 1e-8)
    donors <- split(y, f$where)
    f$frame$yval <- seq_len(nrow(f$frame))
    leaf <- as.integer(predict(f, new))
    for (k in unique(leaf)) {
      d <- donors[[as.character(k)]]
      if (is.null(d)) d <- y  # a category unseen on the way: predict may stop above the leaves
      made[[j]][leaf == k] <- d[sample.int(length(d), sum(leaf == k), replace = TRUE)]
    }
  }
}
write.csv(made, paths[2], row.names = FALSE)
taken <- proc.time() - started
cat(taken[["elapsed"]], taken[["user.self"]] + taken[["sys.self"]], "\\n")
"""


def survey(n: int) -> Microdata:
    """The demo survey with n records and 15 variables, gaps filled."""
    made = household_survey(max(n // 2, 10)).take(np.arange(n)).without(APART)
    return made.replace({name: np.nan_to_num(made.columns[name]) for name in made.schema.analysed("numeric")})


def sklearn_loop(data: Microdata, seed: int) -> Microdata:
    """Sequential trees as they are usually written with scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    rng = np.random.default_rng(seed)
    made: dict[str, NDArray[Any]] = {}

    def encoded(variable: str, column: NDArray[Any]) -> NDArray[np.float32]:
        if data.schema[variable].kind != "nominal":
            return column.astype(np.float32)[:, None]
        return np.asarray(np.eye(len(data.schema[variable].categories), dtype=np.float32)[column])

    known: list[NDArray[np.float32]] = []
    drawn: list[NDArray[np.float32]] = []
    for name in data.names:
        column = data.columns[name]
        if not known:
            made[name] = rng.choice(column, len(data))
        else:
            tree = DecisionTreeClassifier if data.schema[name].kind == "nominal" else DecisionTreeRegressor
            fitted = tree(min_samples_leaf=5, min_samples_split=15, random_state=0).fit(np.hstack(known), column)
            leaf, place = fitted.apply(np.hstack(known)), fitted.apply(np.hstack(drawn))
            order = np.argsort(leaf, kind="stable")
            start = np.searchsorted(leaf[order], place)
            end = np.searchsorted(leaf[order], place, side="right")
            made[name] = column[order[start + (rng.random(len(data)) * (end - start)).astype(np.intp)]]
        known.append(encoded(name, column))
        drawn.append(encoded(name, made[name]))
    return Microdata(data.schema, made, matched=False)


def measure(what: str, n: int) -> tuple[float, ...]:
    """Wall and processor seconds, peak memory in MB with the table, and the pMSE ratios where they are asked for."""
    data = survey(n)
    if what != "sklearn":  # so that what is timed is the work, not the loading of the compiled kernel
        CARTSynthesis(5).protect(survey(5_000), rng=1)
    wall, cpu = time.perf_counter(), time.process_time()
    made = sklearn_loop(data, 1) if what == "sklearn" else CARTSynthesis(5).protect(data, rng=1)
    taken = time.perf_counter() - wall, time.process_time() - cpu, peak_memory()
    return taken if what == "growth" else (*taken, *ratios(data, made))


def ratios(data: Microdata, made: Microdata) -> tuple[float, float]:
    found = [
        measure.evaluate(data, made).parts["ratio, fitted model"]
        for measure in (PropensityUtility("main effects"), PropensityUtility("logistic I", variables=SOME))
    ]
    return found[0], found[1]


def in_fresh_process(what: str, n: int) -> tuple[float, ...]:
    output = subprocess.run(
        [sys.executable, __file__, "--measure", what, str(n)], capture_output=True, text=True, check=True
    ).stdout
    return tuple(map(float, output.split()))


def rpart_loop(n: int) -> tuple[float, float, float, float]:
    """Wall and processor seconds, and pMSE ratios, of rpart in a loop."""
    data = survey(n)
    with tempfile.TemporaryDirectory() as folder:
        script, before, after = (Path(folder) / name for name in ("loop.R", "before.csv", "after.csv"))
        script.write_text(RPART)
        csv.write_csv(pa.table({name: plain(data.to_arrow()[name]) for name in data.names}), before)
        command = ["Rscript", str(script), str(before), str(after)]
        wall, cpu = map(float, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
        made = Microdata.beside(data, csv.read_csv(after))
    return wall, cpu, *ratios(data, made)


def plain(column: Any) -> Any:
    return column.combine_chunks().dictionary_decode() if pa.types.is_dictionary(column.type) else column


def compare(n: int) -> None:
    print(f"{n:,} records x 15 variables")
    wall, cpu, memory, main, pairs = in_fresh_process("sfumato", n)
    line = "  {:22s} {:8.2f} s wall {:8.2f} s cpu{:>24s}; pMSE ratio {:.2f} main effects, {:.2f} pairs"
    print(line.format("sfumato", wall, cpu, f" {memory:.0f} MB", main, pairs))
    if find_spec("sklearn") is None:
        print("  scikit-learn: not installed")
    else:
        wall_other, cpu_other, memory, main, pairs = in_fresh_process("sklearn", n)
        said = f" {memory:.0f} MB, x {cpu_other / cpu:.1f} cpu"
        print(line.format("scikit-learn in a loop", wall_other, cpu_other, said, main, pairs))
    if shutil.which("Rscript") is None:
        print("  rpart: R is not installed")
    else:
        wall_other, cpu_other, main, pairs = rpart_loop(n)
        print(line.format("rpart in a loop", wall_other, cpu_other, f" x {cpu_other / cpu:.1f} cpu", main, pairs))


def growth(sizes: tuple[int, ...]) -> None:
    print("growth as n doubles, 15 variables")
    before = None
    for n in sizes:
        wall, cpu, memory = in_fresh_process("growth", n)
        times = f"x {cpu / before:.2f}" if before else ""
        print(f"  {n:9,} {wall:7.2f} s wall {cpu:7.2f} s cpu {memory:6.0f} MB {times}")
        before = cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*measure(options.measure[0], int(options.measure[1])))
        return
    started = time.perf_counter()
    CARTSynthesis(5).protect(survey(5_000), rng=1)
    print(f"first call, with compilation where nothing is cached: {time.perf_counter() - started:.1f} s")
    compare(20_000)
    compare(100_000)
    growth((50_000, 100_000, 200_000, 400_000))


if __name__ == "__main__":
    main()
