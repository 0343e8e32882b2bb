"""Group counts over 8 keys: the package beside pandas and polars, memory, and growth.

Every record's class and the size of its class, over 8 keys of 32-bit codes. Each measurement runs in a fresh process,
after the machine code has been loaded on a small table; "extra MB" is the peak of memory above that of the process
with the table of keys read. All ways must find the same number of classes and the same sum of sizes.

Measured at 10,000,000 x 8 in one run, CPU seconds: survey keys 2.2 (pandas ngroup 4.1, transform size 3.0, polars 3.2
on two threads, numpy 3.0), nearly all records different 2.5 (pandas 6.6 and 4.2, polars 3.0, numpy 2.3); at 2,500,000
x 8 the memory beyond the keys is 61 and 102 MB (pandas 379 and 502, polars 404 and 600, numpy 109 and 140).

    python benchmarks/groups.py [--full]
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from memory import peak_memory

Codes = NDArray[np.int32]

KEYS = {
    "survey": (16, 2, 18, 7, 4, 5, 9, 12),  # region, sex, age class, ...: skewed, many records agree
    "all different": (20,) * 8,  # evenly spread: nearly every record alone, the worst case of a hash table
}


def table(records: int, kind: str) -> Codes:
    rng = np.random.default_rng(20_240_601)
    codes = np.empty((records, len(KEYS[kind])), dtype=np.int32, order="F")
    for j, categories in enumerate(KEYS[kind]):
        if kind == "survey":
            codes[:, j] = (
                np.minimum(rng.geometric(2.5 / categories if categories > 2 else 0.5, records), categories) - 1
            )
        else:
            codes[:, j] = rng.integers(0, categories, records)
    return codes


def sfumato_classes(codes: Codes) -> tuple[int, int]:
    from sfumato.kernels.groups import classes

    class_of, sizes = classes(codes)
    return len(sizes), int(sizes[class_of].sum())


def sfumato_sizes(codes: Codes) -> tuple[int, int]:
    from sfumato.kernels.groups import class_sizes

    sizes = class_sizes(codes)
    return round(float((1 / sizes).sum())), int(sizes.sum())


def pandas_ngroup(codes: Codes) -> tuple[int, int]:
    import pandas as pd

    frame = pd.DataFrame(codes)
    class_of = frame.groupby(list(frame.columns), sort=False).ngroup().to_numpy()
    sizes = np.bincount(class_of)
    return len(sizes), int(sizes[class_of].sum())


def pandas_transform(codes: Codes) -> tuple[int, int]:
    import pandas as pd

    frame = pd.DataFrame(codes)
    sizes = frame.groupby(list(frame.columns), sort=False)[0].transform("size").to_numpy()
    return round(float((1 / sizes).sum())), int(sizes.sum())


def polars_len_over(codes: Codes) -> tuple[int, int]:
    import polars as pl

    frame = pl.DataFrame({str(j): codes[:, j] for j in range(codes.shape[1])})
    sizes = frame.select(pl.len().over(frame.columns)).to_series().to_numpy()
    return round(float((1 / sizes).sum())), int(sizes.sum(dtype=np.int64))


def numpy_unique(codes: Codes) -> tuple[int, int]:
    packed = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        packed = packed * (int(column.max()) + 1) + column
    _, class_of, sizes = np.unique(packed, return_inverse=True, return_counts=True)
    return len(sizes), int(sizes[class_of].sum())


WAYS: dict[str, Callable[[Codes], tuple[int, int]]] = {
    "classes": sfumato_classes,
    "class_sizes": sfumato_sizes,
    "pandas ngroup": pandas_ngroup,
    "pandas transform size": pandas_transform,
    "polars len over": polars_len_over,
    "numpy unique": numpy_unique,
}


def measure_here(way: str, path: str) -> dict[str, float]:
    for warm in KEYS:
        WAYS[way](table(20_000, warm))
    codes = np.load(path)
    before, wall, cpu = peak_memory(), time.perf_counter(), time.process_time()
    found, total = WAYS[way](codes)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "extra": peak_memory() - before, "classes": found, "total": total}


def measure(way: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", way, str(path)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def side_by_side(path: Path) -> None:
    print(f"  {'':<30} {'wall s':>8} {'cpu s':>8} {'extra MB':>9}  cpu ratio")
    first: dict[str, float] = {}
    for way in WAYS:
        found = measure(way, path)
        first = first or found
        same = "" if (found["classes"], found["total"]) == (first["classes"], first["total"]) else "  OTHER CLASSES"
        line = f"{found['wall']:8.2f} {found['cpu']:8.2f} {found['extra']:9.0f} {found['cpu'] / first['cpu']:10.1f}"
        print(f"  {way:<30} {line}{same}", flush=True)
    print(f"  {first['classes']:,.0f} classes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="side by side at 10,000,000 records instead of 2,500,000")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "PATH"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure_here(*arguments.one)))
        return
    records = 10_000_000 if arguments.full else 2_500_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "keys.npy"
        for kind in KEYS:
            before = 0.0
            print(f"{kind}: classes as the table doubles    wall s    cpu s  extra MB  growth of cpu")
            for size in (records // 4, records // 2, records):
                np.save(path, table(size, kind))
                found = measure("classes", path)
                growth = f"{found['cpu'] / before:8.2f}" if before else ""
                line = f"{found['wall']:8.2f} {found['cpu']:8.2f} {found['extra']:9.0f}"
                print(f"  {size:>12,}                     {line}  {growth}", flush=True)
                before = found["cpu"]
            side_by_side(path)


if __name__ == "__main__":
    main()
