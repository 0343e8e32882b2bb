"""Cluster utility side by side with SciPy's average linkage: time, memory and growth.

Run ``python benchmarks/cluster.py``. SciPy's ``linkage(method="average", metric="sqeuclidean")`` is given the same
standardised pooled rows and cut at the same number of clusters; ours is the whole measure, from tables to figure. Each
runs in a fresh process, after one small run that loads what is compiled; memory is the peak of that process.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

from memory import peak_memory
from sfumato import ClusterUtility, Microdata, Noise

Floats = NDArray[np.float64]
G = 0.025


def tables(pooled: int, variables: int) -> tuple[Microdata, Microdata]:
    """Skewed, correlated amounts and their noisy version."""
    import pyarrow as pa

    rng = np.random.default_rng(1)
    common = rng.normal(size=pooled // 2)
    columns = {f"v{j}": np.exp(0.8 * (0.6 * common + 0.8 * rng.normal(size=pooled // 2))) for j in range(variables)}
    original = Microdata.from_frame(pa.table(columns))
    return original, Noise(0.2).protect(original, rng=2)


def ours(original: Microdata, protected: Microdata) -> float:
    return ClusterUtility(G).evaluate(original, protected).value


def scipys(original: Microdata, protected: Microdata) -> float:
    from scipy.cluster.hierarchy import fcluster, linkage

    before, after = original.numeric(), protected.numeric()
    pooled = np.concatenate([before, after])
    points = (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)
    tree = linkage(points, method="average", metric="sqeuclidean")
    labels = fcluster(tree, round(G * len(pooled)), criterion="maxclust")
    size = np.bincount(labels)[1:]
    share = np.bincount(labels, np.repeat([0, 1], [len(before), len(after)]))[1:] / size
    return float((size * (share - len(after) / len(pooled)) ** 2).sum())


def measure(who: str, pooled: int, variables: int) -> tuple[float, float, float, float]:
    """Wall and processor seconds, peak memory in MB, and the figure, in this process."""
    run = ours if who == "ours" else scipys
    run(*tables(6_000 if who == "ours" else 200, variables))
    data = tables(pooled, variables)
    wall, cpu = time.perf_counter(), time.process_time()
    value = run(*data)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return *seconds, peak_memory(), value


def in_fresh_process(who: str, pooled: int, variables: int) -> tuple[float, float, float, float]:
    command = [sys.executable, __file__, "--measure", who, str(pooled), str(variables)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wall, cpu, memory, value = map(float, output.split())
    print(f"  {who:5} {pooled:>9,} x {variables}: {wall:7.2f} s, CPU {cpu:7.2f} s, {memory:6,.0f} MB, {value:.6g}")
    return wall, cpu, memory, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pooled", type=int, default=20_000, help="pooled rows of the comparison with SciPy")
    parser.add_argument("--largest", type=int, default=2_000_000, help="pooled rows of the largest run")
    parser.add_argument("--measure", nargs=3, metavar=("WHO", "POOLED", "VARIABLES"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        who, pooled, variables = options.measure
        print(*measure(who, int(pooled), int(variables)))
        return
    print(f"ClusterUtility({G}), side by side")
    mine = in_fresh_process("ours", options.pooled, 2)
    theirs = in_fresh_process("scipy", options.pooled, 2)
    print(
        f"  SciPy takes {theirs[1] / mine[1]:.0f} times the CPU, {theirs[2] / mine[2]:.1f} times the memory; "
        f"figures differ by {abs(theirs[3] - mine[3]) / theirs[3]:.1e} of their size"
    )
    print("growth with the rows")
    rows = options.largest // 8
    before = in_fresh_process("ours", rows, 2)
    while rows < options.largest:
        rows *= 2
        after = in_fresh_process("ours", rows, 2)
        print(f"        twice the rows: {after[1] / before[1]:.2f} times the CPU (quadratic would be 4)")
        before = after
    print("growth with the variables")
    for variables in (1, 2, 3, 4, 6, 10):
        in_fresh_process("ours", 5 * options.pooled, variables)


if __name__ == "__main__":
    main()
