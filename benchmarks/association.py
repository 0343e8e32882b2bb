"""All pair tests of two files of mixed scales, side by side with a double loop over scipy.stats: time, memory, growth.

Run ``python benchmarks/association.py``. The loop calls ``chi2_contingency``, ``kruskal``, ``f_oneway``, ``spearmanr``
and ``pearsonr`` on the records that have both, as users do it today; it is timed on a random sample of the pairs and
scaled up, which is said in the output; the statistics of that sample must agree. Ours is ``pair_tests`` whole, from
columns to P values, in a process of its own whose kernels were compiled before; memory is what the process held at its
peak and, in brackets, what the columns themselves take.

On two cores of a busy machine, 200 variables x 100,000 records, two files: 4.9 s of processor time (2.5 a file) and
0.8 GB without missing values, 160 times scipy's loop; 12.3 s with 5 % missing in every variable, 57 times; twice the
records cost twice the time, twice the variables 2.4 times (3.6 with missing values). With the threads that the linear
algebra takes of itself, which wait busily where other processes have the cores: 8.9 s, 89 times.
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from memory import peak_memory
from sfumato.utility.association import TESTS, Column, PairTests, Scale, pair_tests, turned

Floats = NDArray[np.float64]
SCALES: tuple[Scale, ...] = ("nominal", "ordinal", "skewed", "normal")


def mixed(records: int, variables: int, missing: float, seed: int) -> list[Column]:
    """Variables of the four scales in turn with a common factor; 2 to 12 categories."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=records)
    columns = []
    for j in range(variables):
        scale = SCALES[j % 4]
        x = rng.uniform(-0.4, 0.4) * common + rng.normal(size=records)
        gone = rng.random(records) < missing
        if scale in ("nominal", "ordinal"):
            count = 2 + 7 * j % 11
            codes = np.digitize(x, np.linspace(-1.5, 1.5, count - 1)).astype(np.int32)
            if scale == "nominal":
                codes = rng.permutation(count).astype(np.int32)[codes]
            columns.append(Column(f"v{j}", scale, np.where(gone, -1, codes).astype(np.int32), count))
        else:
            columns.append(Column(f"v{j}", scale, np.where(gone, np.nan, np.exp(x) if scale == "skewed" else x)))
    return columns


def one_pair(first: Column, second: Column, test: str) -> float:
    """The statistic of one pair by scipy."""
    if second.scale == "nominal" and first.scale != "nominal":
        first, second = second, first
    x, y = first.numbers(), second.numbers()
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if test == "chi-squared":
        table = stats.contingency.crosstab(x, y).count
        return float(stats.chi2_contingency(table, correction=False).statistic)
    if test in ("Kruskal-Wallis", "ANOVA"):
        groups = [y[x == category] for category in np.unique(x)]
        return float((stats.kruskal(*groups) if test == "Kruskal-Wallis" else stats.f_oneway(*groups)).statistic)
    return float((stats.spearmanr(x, y) if test == "Spearman" else stats.pearsonr(x, y)).statistic)


def files(records: int, variables: int, missing: float) -> tuple[list[Column], list[Column]]:
    """A file, and another of the same variables."""
    return mixed(records, variables, missing, 1), mixed(records, variables, missing, 1_000_001)


def clocked(records: int, variables: int, missing: float) -> tuple[float, float, float, float]:
    """Wall and processor seconds for two files, processor seconds of the directions, and peak memory in MB."""
    small = mixed(6_000, 8, 0.1, 0)
    pair_tests(small)  # loads what is compiled
    made = files(records, variables, missing)
    wall, cpu = time.perf_counter(), time.process_time()
    found = [pair_tests(columns) for columns in made]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = peak_memory()
    nominal = found[0].test < TESTS.index("Spearman")
    start = time.process_time()
    turned(*made, np.column_stack([found[0].first[nominal], found[0].second[nominal]]))
    return wall, cpu, time.process_time() - start, memory


def in_fresh_process(
    records: int, variables: int, missing: float, *, threads: bool
) -> tuple[float, float, float, float]:
    """Measure apart; with one thread for the linear algebra, its threads do not wait busily for each other."""
    environment = dict(os.environ) if threads else {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.run(
        [sys.executable, __file__, "--measure", str(records), str(variables), str(missing)],
        capture_output=True, text=True, check=True, env=environment,
    ).stdout  # fmt: skip
    wall, cpu, direction, memory = map(float, output.split())
    return wall, cpu, direction, memory


def report(records: int, variables: int, missing: float, *, threads: bool = False) -> tuple[float, float]:
    wall, cpu, direction, memory = in_fresh_process(records, variables, missing, threads=threads)
    held = sum(column.values.nbytes for column in mixed(records, variables, missing, 1)) * 2 / 2**20
    print(
        f"  {records:9,} records x {variables:4d} variables, {missing:4.0%} missing: two files {wall:6.2f} s wall "
        f"{cpu:6.2f} s cpu; direction {direction:5.2f} s cpu; {memory:5.0f} MB ({held:.0f})",
        flush=True,
    )
    return wall, cpu


def by_the_loop(columns: list[Column], found: PairTests, sample: int) -> tuple[float, float]:
    """Wall and processor seconds of scipy for all pairs of a file, from a sample of them; checks the statistics."""
    pairs = np.random.default_rng(2).choice(len(found.first), min(sample, len(found.first)), replace=False)
    wall, cpu = time.perf_counter(), time.process_time()
    theirs = [one_pair(columns[found.first[k]], columns[found.second[k]], TESTS[found.test[k]]) for k in pairs]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    np.testing.assert_allclose(found.statistic[pairs], theirs, rtol=1e-8, atol=1e-12)
    return wall * len(found.first) / len(pairs), cpu * len(found.first) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--variables", type=int, default=200)
    parser.add_argument("--sample", type=int, default=300, help="pairs on which scipy is timed")
    parser.add_argument("--measure", nargs=3, metavar=("RECORDS", "VARIABLES", "MISSING"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        records, variables, missing = options.measure
        print(*clocked(int(records), int(variables), float(missing)))
        return
    n, p = options.records, options.variables
    print(f"{p * (p - 1) // 2:,} pairs, two files, beside scipy.stats on {options.sample} pairs, scaled up")
    for missing, threads in ((0.0, False), (0.0, True), (0.05, False)):
        print("  linear algebra with its own threads" if threads else "  linear algebra with one thread")
        wall, cpu = report(n, p, missing, threads=threads)
        columns = mixed(n, p, missing, 1)
        loop_wall, loop_cpu = (2 * s for s in by_the_loop(columns, pair_tests(columns), options.sample))
        print(
            f"    scipy {loop_wall:.0f} s wall {loop_cpu:.0f} s cpu: ratio {loop_wall / wall:.0f} wall, "
            f"{loop_cpu / cpu:.0f} cpu; every statistic of the sample equal",
            flush=True,
        )
    for missing in (0.0, 0.05):
        print(f"growth, {missing:.0%} missing")
        for records, variables in ((n // 4, p // 2), (n // 2, p // 2), (n, p // 2), (n, p)):
            report(records, variables, missing)


if __name__ == "__main__":
    main()
