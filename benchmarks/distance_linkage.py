"""Distance linkage side by side with blocked brute force: time, memory and growth.

Run ``python benchmarks/distance_linkage.py``. Brute force compares every pair of records block by block with scipy's
``cdist``; its cost is proportional to the number of searching records, so by default it is timed on a share of them and
scaled up, which is said in the output; ``--full`` times all of them.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from memory import peak_memory
from sfumato import MDAV, DistanceLinkage, Method, Microdata, Noise, RankSwapping

Floats = NDArray[np.float64]
NAMES = tuple("abcdefg")
METHODS: dict[str, Method] = {"noise": Noise(0.1), "swapping": RankSwapping(0.15), "mdav": MDAV(3)}


def incomes(n: int, seed: int = 1) -> Microdata:
    """Seven skewed, correlated amounts."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return Microdata.from_frame(
        pa.table({name: np.exp(8 + 0.8 * (0.6 * common + 0.8 * rng.normal(size=n))) for name in NAMES})
    )


def blocked(before: Floats, after: Floats, searching: int, block: int = 500) -> float:
    """Share of the first ``searching`` records whose own is nearest: all distances, block by block."""
    hits = 0
    for start in range(0, searching, block):
        rows = slice(start, min(start + block, searching))
        apart = cdist(before[rows], after)
        own = apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)]
        hits += int((apart.min(axis=1) >= own * (1 - 1e-9)).sum())
    return hits / searching


def measure(n: int, method: str) -> tuple[float, float, float]:
    """Seconds of wall clock and of processor, and peak memory in MB, of DistanceLinkage in this process."""
    data = incomes(n)
    masked = METHODS[method].protect(data, rng=2)
    wall, cpu = time.perf_counter(), time.process_time()
    DistanceLinkage(ties="linked").evaluate(data, masked)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return *seconds, peak_memory()


def in_fresh_process(n: int, method: str) -> tuple[float, float, float]:
    output = subprocess.run(
        [sys.executable, __file__, "--measure", str(n), method], capture_output=True, text=True, check=True
    ).stdout
    wall, cpu, memory = map(float, output.split())
    return wall, cpu, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--full", action="store_true", help="time brute force on all records")
    parser.add_argument("--measure", nargs=2, metavar=("N", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*measure(int(options.measure[0]), options.measure[1]))
        return
    n = options.records
    searching = n if options.full else min(n, 4_000)
    print(f"DistanceLinkage, known variables 1..7, {n:,} records")
    for method in METHODS:
        data = incomes(n)
        masked = METHODS[method].protect(data, rng=2)
        scaled = []
        for table in (data, masked):
            values = table.numeric()
            scaled.append((values - values.mean(axis=0)) / values.std(axis=0, ddof=1))
        wall, cpu = time.perf_counter(), time.process_time()
        shares = [blocked(scaled[0][:, :known], scaled[1][:, :known], searching) for known in range(1, 8)]
        brute_wall = (time.perf_counter() - wall) * n / searching
        brute_cpu = (time.process_time() - cpu) * n / searching
        wall, cpu, memory = in_fresh_process(n, method)
        found = DistanceLinkage(ties="linked").evaluate(data, masked)
        assert found.by_record is not None
        if options.full:
            assert abs(found.value - float(np.mean(shares))) < 1e-9
        how = "all records" if options.full else f"{searching:,} of the searching records, scaled up"
        print(
            f"  {method:9s} k-d tree {wall:7.1f} s wall {cpu:7.1f} s cpu, peak {memory:5.0f} MB; "
            f"brute force {brute_wall:8.1f} s wall {brute_cpu:8.1f} s cpu ({how}); "
            f"ratio {brute_wall / wall:6.0f} wall {brute_cpu / cpu:6.0f} cpu"
        )
    print("growth as n doubles (noise)")
    before = None
    for size in (25_000, 50_000, 100_000, 200_000, 400_000):
        wall, cpu, memory = in_fresh_process(size, "noise")
        growth = f"x {cpu / before:.2f}" if before else ""
        print(f"  {size:8,} records {wall:7.1f} s wall {cpu:7.1f} s cpu {memory:6.0f} MB {growth}")
        before = cpu


if __name__ == "__main__":
    main()
