"""Interval overlap and divergence on 1,000,000 x 10 records, beside the cost of reading the data once.

Run ``python benchmarks/overlap.py``. "Reading" is pyarrow reading the two files from disk (CSV, then Parquet) and, as a
floor, summing every value of both tables in memory. Fits are measured whole, from two tables to the value, in processor
seconds as well as by the clock; statsmodels fits the same model to both tables as users do it today. Memory is the most
that Python and numpy hold at once during a second, untimed run (tracemalloc); arrow's own memory is not in it.
"""

import argparse
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from sfumato import IntervalOverlap, KullbackLeibler, Microdata, Model, Noise


def tables(n: int) -> tuple[Microdata, Microdata]:
    """Nine correlated amounts and a category, and the same with noise."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=n)
    values: dict[str, Any] = {f"v{j}": np.exp(8 + 0.5 * (0.6 * common + 0.8 * rng.normal(size=n))) for j in range(9)}
    values["region"] = rng.choice(["east", "north", "south", "west"], n)
    data = Microdata.from_frame(pa.table(values))
    return data, Noise(0.05).protect(data, rng=2)


def peak(call: Callable[[], Any]) -> float:
    """Megabytes held at once during a call."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def timed(what: str, call: Callable[[], Any], floor: float | None = None) -> float:
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ratio = "" if floor is None else f"  {cpu / floor:5.2f} x reading CSV"
    print(f"{what:52s} {seconds:7.2f} s  {cpu:7.2f} s cpu  {peak(call):6.1f} MB{ratio}", flush=True)
    return cpu


def fifty() -> tuple[Model, ...]:
    """Fifty linear models among the same variables: two predictors and a category each."""
    pairs = [(y, a, b) for y in range(9) for a, b in combinations([j for j in range(9) if j != y], 2)]
    return tuple(Model(f"v{y} ~ v{a} + v{b} + C(region)") for y, a, b in pairs[:: len(pairs) // 50][:50])


def with_statsmodels(data: Microdata, masked: Microdata, formula: str) -> None:
    import statsmodels.formula.api as smf

    for table in (data, masked):
        smf.ols(formula, table.to_frame("pandas")).fit().conf_int()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--without-statsmodels", action="store_true")
    options = parser.parse_args()
    data, masked = tables(options.records)
    small = tables(1_000)
    model = "v0 ~ v1 + v2 + v3 + v4 + v5 + C(region)"
    for measure in (IntervalOverlap(model), KullbackLeibler()):
        measure.evaluate(*small)  # loads the libraries
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.csv" for name in ("original", "protected")]
        for table, path in zip((data, masked), paths, strict=True):
            csv.write_csv(table.to_arrow(), path)
            parquet.write_table(table.to_arrow(), path.with_suffix(".parquet"))
        floor = timed("reading both files, CSV", lambda: [csv.read_csv(path) for path in paths])
        timed(
            "reading both files, Parquet",
            lambda: [parquet.read_table(path.with_suffix(".parquet")) for path in paths],
            floor,
        )
    sums = lambda: [column.sum() for table in (data, masked) for column in table.columns.values()]  # noqa: E731
    timed("summing both tables in memory", sums, floor)
    timed(
        "IntervalOverlap, one linear model, 9 coefficients",
        lambda: IntervalOverlap(model).evaluate(data, masked),
        floor,
    )
    timed("KullbackLeibler, 9 variables", lambda: KullbackLeibler().evaluate(data, masked), floor)
    many = IntervalOverlap(fifty())
    timed("IntervalOverlap, 50 linear models", lambda: many.evaluate(data, masked), floor)
    timed("IntervalOverlap, default: 72 simple regressions", lambda: IntervalOverlap().evaluate(data, masked), floor)
    logistic = Model("I(v0 > 3000) ~ v1 + v2 + C(region)", family="logistic")
    timed("IntervalOverlap, one logistic model", lambda: IntervalOverlap(logistic).evaluate(data, masked), floor)
    if not options.without_statsmodels:
        timed("statsmodels, the same linear model twice", lambda: with_statsmodels(data, masked, model), floor)


if __name__ == "__main__":
    main()
