"""CDF measures side by side with blocked numpy: time, memory and growth.

Run ``python benchmarks/cdf.py``. Blocked numpy compares every pooled record with every other, a block of records and a
column at a time; its cost is proportional to the number of records it looks at, so by default it is timed on a share of
them and scaled up, which is said in the output; ``--full`` times all of them. ``CDFMaximum`` is measured whole, from
two tables to the value, in a process of its own whose kernels were compiled before.
"""

import argparse
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from memory import peak_memory
from sfumato import CDFMaximum, Microdata, Noise, Schema, Variable

Floats = NDArray[np.float64]


def tables(n: int, columns: int, *, weighted: bool = False) -> tuple[Microdata, Microdata]:
    """Skewed, correlated amounts, and the same with noise."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=n)
    values = {f"v{j}": np.exp(8 + 0.8 * (0.6 * common + 0.8 * rng.normal(size=n))) for j in range(columns)}
    if weighted:
        values["w"] = rng.uniform(1, 9, n)
    data = Microdata.from_frame(pa.table(values), Schema((Variable("w"),), weight="w") if weighted else None)
    return data, Noise(0.2).protect(data, rng=2)


def blocked(before: Floats, after: Floats, looking: int, cells: int = 2_000_000) -> float:
    """Largest difference at ``looking`` of the pooled records: all pairs, in blocks that fit the processor's cache."""
    pooled = np.concatenate([before, after])
    block = max(1, cells // len(before))
    rows = np.random.default_rng(0).permutation(len(pooled))[:looking]
    largest = 0.0
    for start in range(0, looking, block):
        at = pooled[rows[start : start + block]]
        shares = []
        for table in (before, after):
            below = table[:, 0] <= at[:, 0, None]
            for column in range(1, table.shape[1]):
                below &= table[:, column] <= at[:, column, None]
            shares.append(np.count_nonzero(below, axis=1) / len(table))
        largest = max(largest, float(np.abs(shares[0] - shares[1]).max()))
    return largest


def measure(n: int, columns: int, *, weighted: bool) -> tuple[float, float, float, float]:
    """Seconds of wall clock and of processor, peak memory in MB, and the value, in this process."""
    small = tables(5_000, columns)
    CDFMaximum().evaluate(*small)  # loads the compiled kernels
    data, masked = tables(n, columns, weighted=weighted)
    wall, cpu = time.perf_counter(), time.process_time()
    value = CDFMaximum().evaluate(data, masked).value
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    return *seconds, peak_memory(), value


def in_fresh_process(n: int, columns: int, *, weighted: bool = False) -> tuple[float, float, float, float]:
    output = subprocess.run(
        [sys.executable, __file__, "--measure", str(n), str(columns), str(int(weighted))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    wall, cpu, memory, value = map(float, output.split())
    return wall, cpu, memory, value


def side_by_side(n: int, columns: int, *, full: bool) -> None:
    data, masked = tables(n, columns)
    before, after = data.numeric(), masked.numeric()
    looking = 2 * n if full else min(2 * n, 40_000_000 // n)
    wall, cpu = time.perf_counter(), time.process_time()
    largest = blocked(before, after, looking)
    scale = 2 * n / looking
    slow_wall, slow_cpu = (time.perf_counter() - wall) * scale, (time.process_time() - cpu) * scale
    wall, cpu, memory, value = in_fresh_process(n, columns)
    assert largest <= value + 1e-12 and (looking < 2 * n or abs(largest - value) < 1e-12)
    how = "all records" if looking == 2 * n else f"{looking:,} of {2 * n:,} pooled records, scaled up"
    print(
        f"  {n:9,} + {n:9,} x {columns}: {wall:6.2f} s wall {cpu:6.2f} s cpu, peak {memory:5.0f} MB; "
        f"blocked numpy {slow_wall:8.1f} s wall {slow_cpu:8.1f} s cpu ({how}); "
        f"ratio {slow_wall / wall:7.0f} wall {slow_cpu / cpu:7.0f} cpu"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="time blocked numpy on all records")
    parser.add_argument("--measure", nargs=3, metavar=("N", "COLUMNS", "WEIGHTED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        n, columns, weighted = map(int, options.measure)
        print(*measure(n, columns, weighted=bool(weighted)))
        return
    print("CDFMaximum (CDFSquares comes from the same pass)")
    for n, columns in ((10_000, 2), (10_000, 3), (100_000, 3), (1_000_000, 3)):
        side_by_side(n, columns, full=options.full and n <= 100_000)
    wall, cpu, memory, _ = in_fresh_process(1_000_000, 3, weighted=True)
    print(f"  1,000,000 + 1,000,000 x 3, weighted: {wall:6.2f} s wall {cpu:6.2f} s cpu, peak {memory:5.0f} MB")
    print("growth as n doubles (4.00 is quadratic)")
    for columns in range(1, 7):
        times = [(size, in_fresh_process(size, columns)[1]) for size in (25_000, 50_000, 100_000, 200_000)]
        steps = ", ".join(f"x {b[1] / a[1]:.2f}" for a, b in pairwise(times))
        seconds = ", ".join(f"{size:,}: {cpu:.2f}" for size, cpu in times)
        print(f"  {columns} variables, cpu seconds by n = m: {seconds}; growth {steps}")


if __name__ == "__main__":
    main()
