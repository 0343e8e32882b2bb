"""Cost of microaggregation, MDAV and by maximum distance: against numpy, in memory, in growth, and with ties.

Run ``python benchmarks/microaggregation.py``; ``--full`` doubles the table up to 1,000,000 records.
Times are CPU seconds and wall seconds, without compilation, which is printed first.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.microaggregation import plain_mdav_groups

Floats = NDArray[np.float64]

K = 3
COLUMNS = 6


def standardised(X: Floats) -> Floats:
    spread = X.std(axis=0, ddof=1)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def incomes(n: int, p: int = COLUMNS) -> Floats:
    """Skewed and correlated, as incomes are: log-normal, correlation 0.5 between the logarithms."""
    rng = np.random.default_rng(n)
    return standardised(np.exp(np.sqrt(0.5) * (rng.normal(size=(n, p)) + rng.normal(size=(n, 1)))))


def hard_tables(n: int) -> dict[str, Floats]:
    """Tables on which a tree of records degenerates if it does not expect ties."""
    rng = np.random.default_rng(n)
    table = incomes(n)
    repeated, half_zero = table.copy(), table.copy()
    repeated[n // 2 :] = table[rng.integers(0, 1000, size=n - n // 2)]
    half_zero[n // 2 :] = 0.0
    return {
        "no ties": table,
        "half the rows repeat 1,000 others": repeated,
        "half the rows are zero": half_zero,
        "half the entries of each column are zero": standardised(table * (rng.random(table.shape) < 0.5)),
        "digits 0 to 9": standardised(rng.integers(0, 10, size=(n, COLUMNS)).astype(np.float64)),
        "17 binary columns": rng.integers(0, 2, size=(n, 17)).astype(np.float64),
        "all rows equal": np.ones((n, COLUMNS)),
    }


def usual_numpy(X: Floats, k: int) -> NDArray[np.intp]:
    """MDAV as it is usually written with numpy, for 3k records or more."""
    labels = np.empty(len(X), dtype=np.intp)
    remaining, label = np.arange(len(X)), 0
    while len(remaining) >= 2 * k:
        pair = len(remaining) >= 3 * k
        centre = X[remaining].mean(axis=0)
        for _ in range(1 + pair):
            centre = X[remaining[((X[remaining] - centre) ** 2).sum(axis=1).argmax()]]
            group = np.argpartition(((X[remaining] - centre) ** 2).sum(axis=1), k - 1)[:k]
            labels[remaining[group]] = label
            remaining, label = np.delete(remaining, group), label + 1
    labels[remaining] = label
    return labels


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def doubling(sizes: list[int]) -> None:
    """Print what both heuristics cost as the table doubles, in 2, 6 and 13 variables."""
    from sfumato.kernels.microaggregation.compiled import maximum_distance_groups, mdav_groups

    maximum_distance_groups(incomes(100), K)
    print(f"\nlog-normal, k = {K}              MDAV    growth   maximum distance    growth   ratio   (CPU s)")
    for columns in (2, 6, 13):
        before: tuple[float, ...] = ()
        for n in sizes:
            table = incomes(n, columns)
            both = mdav_groups, maximum_distance_groups
            now = tuple(timed(partial(groups, table, K))[0] for groups in both)
            growth = [f"x {a / b:.1f}" for a, b in zip(now, before, strict=True)] if before else ["", ""]
            print(
                f"  {n:>8,} x {columns:<3}     {now[0]:10.2f}{growth[0]:>10}{now[1]:19.2f}{growth[1]:>10}"
                f"{now[1] / now[0]:8.1f}",
                flush=True,
            )
            before = now


def in_fresh_process(n: int) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak memory in GB of one run that shares its process with nothing else."""
    command = [sys.executable, __file__, "--one", str(n)]
    cpu, wall, memory = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(cpu), float(wall), float(memory)


def one_run(n: int) -> None:
    from sfumato.kernels.microaggregation.compiled import mdav_groups

    mdav_groups(incomes(100), K)
    table = incomes(n)
    cpu, wall = timed(lambda: mdav_groups(table, K))
    # Linux counts kibibytes, macOS bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    print(cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="go on to 1,000,000 records")
    parser.add_argument("--one", type=int, metavar="N", help="one run; prints CPU and wall seconds, and peak GB")
    arguments = parser.parse_args()
    if arguments.one:
        one_run(arguments.one)
        return

    def compile_kernel() -> None:
        from sfumato.kernels.microaggregation.compiled import mdav_groups

        mdav_groups(incomes(100), K)

    cpu, wall = timed(compile_kernel)
    print(f"compilation, or loading what an earlier run compiled: {cpu:.1f} s CPU, {wall:.1f} s wall")
    from sfumato.kernels.microaggregation.compiled import mdav_groups

    table = incomes(30_000)
    labels: list[NDArray[np.intp]] = []
    kernel = min(timed(lambda: labels.append(mdav_groups(table, K))) for _ in range(5))
    print(f"\n30,000 x {COLUMNS}, k = {K}                       CPU s    wall s   ratio of CPU")
    print(f"  {'kernel':<30}{kernel[0]:10.2f}{kernel[1]:10.2f}")
    for name, groups in [
        ("numpy, usual", usual_numpy),
        ("numpy, of small tables", plain_mdav_groups),
    ]:
        cpu, wall = timed(lambda groups=groups: labels.append(groups(table, K)))  # type: ignore[misc]
        same = "same groups" if np.array_equal(labels[0], labels[-1]) else "OTHER GROUPS"
        print(f"  {name:<30}{cpu:10.2f}{wall:10.2f}{cpu / kernel[0]:10.0f}   {same}", flush=True)

    print(f"\nlog-normal x {COLUMNS}, k = {K}       CPU s    wall s   peak GB   CPU growth")
    before = 0.0
    for n in [62_500, 125_000, 250_000] + [500_000, 1_000_000] * arguments.full:
        cpu, wall, memory = in_fresh_process(n)
        growth = f"{cpu / before:10.2f}" if before else ""
        print(f"  {n:>10,}          {cpu:10.2f}{wall:10.2f}{memory:10.2f}   {growth}", flush=True)
        before = cpu

    doubling([10_000, 20_000, 40_000, 80_000])

    from sfumato.kernels.microaggregation.compiled import maximum_distance_groups

    print("\n20,000 records with ties, maximum distance      CPU s    wall s")
    for name, table in hard_tables(20_000).items():
        cpu, wall = timed(lambda table=table: maximum_distance_groups(table, K))  # type: ignore[misc]
        print(f"  {name:<40}{cpu:10.2f}{wall:10.2f}", flush=True)

    print("\n200,000 records with ties                      CPU s    wall s")
    for name, table in hard_tables(200_000).items():
        cpu, wall = timed(lambda table=table: mdav_groups(table, K))  # type: ignore[misc]
        print(f"  {name:<40}{cpu:10.2f}{wall:10.2f}", flush=True)


if __name__ == "__main__":
    main()
