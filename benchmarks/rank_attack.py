"""The attack on rank swapping side by side with all pairs: time, memory, growth, and what it finds.

Run ``python benchmarks/rank_attack.py``. Seven variables become known one after the other, p = 0.1. All pairs are the
plain numpy search of the same module, on a share of the records and scaled up, which is said in the output.

On two cores, 10,000 records: 0.5 s of processor against 9 s for all pairs, 245 MB; as n doubles to 20,000 and 40,000,
processor time grows 2.5 and 2.3 times, memory by 12 and 18 MB. It finds 0.31 of 10,000 records, distance linkage 0.10.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

from memory import peak_memory
from sfumato import DistanceLinkage, Microdata, RankSwapping, RankSwappingAttack
from sfumato.kernels.rank_windows import plain_search_windows
from sfumato.pair.statistics import Values
from sfumato.risk import rank_attack


def incomes(n: int, seed: int = 1) -> Microdata:
    """Seven skewed, correlated amounts."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return Microdata.from_frame(
        pa.table({name: np.exp(8 + 0.8 * (0.6 * common + 0.8 * rng.normal(size=n))) for name in "abcdefg"})
    )


def measure(n: int) -> tuple[float, float, float, float, float]:
    """Seconds of wall clock and of processor, peak memory in MB, the attack's figure and distance linkage's."""
    data = incomes(n)
    masked = RankSwapping(0.1).protect(data, rng=2)
    small = incomes(5_001, seed=2)
    RankSwappingAttack(p=0.1).evaluate(
        small, RankSwapping(0.1).protect(small, rng=2)
    )  # compiled before the clock starts
    wall, cpu = time.perf_counter(), time.process_time()
    value = RankSwappingAttack(p=0.1).evaluate(data, masked).value
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    memory = peak_memory()
    return *seconds, memory, value, DistanceLinkage().evaluate(data, masked).value


def all_pairs(n: int, searching: int) -> float:
    """Seconds of processor of the plain search, of some of the records, scaled up."""
    data = incomes(n)
    masked = RankSwapping(0.1).protect(data, rng=2)
    columns = [(data.columns[name], masked.columns[name]) for name in data.names]
    windows = [rank_attack.window(Values.of(after), before, after, 0.1) for before, after in columns]
    steps = np.full(7, 1.0)
    cpu = time.process_time()
    for known in range(1, 8):
        table, low, high, centre = (
            np.column_stack([getattr(w, side) for w in windows[:known]])
            for side in ("protected", "low", "high", "centre")
        )
        own = np.abs(table - centre).sum(axis=1)
        part = slice(searching)
        plain_search_windows(table, low[part], high[part], centre[part], own[part], steps[:known])
    return (time.process_time() - cpu) * n / searching


def in_fresh_process(n: int) -> tuple[float, ...]:
    output = subprocess.run([sys.executable, __file__, "--measure", str(n)], capture_output=True, text=True, check=True)
    return tuple(map(float, output.stdout.split()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=80_000)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*measure(options.measure))
        return
    n, searching = options.records, min(options.records, 1_000)
    brute = all_pairs(n, searching)
    wall, cpu, memory, *_ = in_fresh_process(n)
    print(f"RankSwappingAttack(p=0.1), 1 to 7 known variables, {n:,} records")
    print(
        f"  tree {wall:.1f} s wall {cpu:.1f} s cpu, peak {memory:.0f} MB; all pairs {brute:.1f} s cpu "
        f"({searching:,} of the records, scaled up); ratio {brute / cpu:.0f}"
    )
    print("growth as n doubles")
    before = None
    size = n
    while size <= options.largest:
        wall, cpu, memory, value, distance = in_fresh_process(size)
        growth = f"x {cpu / before:.2f}" if before else ""
        print(
            f"  {size:8,} records {wall:7.1f} s wall {cpu:7.1f} s cpu {memory:6.0f} MB  found {value:.3f}, by distance "
            f"{distance:.3f} {growth}"
        )
        before = cpu
        size *= 2


if __name__ == "__main__":
    main()
