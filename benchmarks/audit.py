"""The restoration audit: processor seconds and growth as the records double.

A survey of 50 columns: 25 categories with 3 to 27 values, 15 amounts, 8 small numbers, a weight and households of two.
Half of the categories have 5 % of their values blanked, ten amounts have noise, one number is rounded, one is gone: 25
protected variables, 1.25 million protected values at 100,000 records. The columns are independent, so that nothing is
found early and every route is gone through; a planted copy of an amount must be found.

    python benchmarks/audit.py [--full]

Measured on two cores that other work kept busy (load 10), with 6,000 pairs tried in all where it is 4,500 now:

    25,000 x 50     17.7 s cpu
    50,000 x 50     18.0 s cpu    x 1.02
    100,000 x 50    23.6 s cpu    x 1.31

Most of it is the search through combinations, on samples whose size does not grow; 100,000 must stay below 30 s.
"""

import argparse
import json
import subprocess
import sys
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Microdata, Schema, Variable, audit


def survey(records: int, *, planted: bool = False) -> tuple[Microdata, pa.Table]:
    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {}
    for j in range(25):
        columns[f"c{j}"] = np.array([f"v{k}" for k in range(3 + j)], dtype=object)[rng.integers(0, 3 + j, records)]
    for j in range(15):
        columns[f"x{j}"] = rng.lognormal(8, 1, records).round(j % 3)
    for j in range(8):
        columns[f"d{j}"] = rng.integers(0, 10 * (j + 1), records).astype(float)
    if planted:
        columns["x14"] = np.sqrt(columns["x0"])
    columns["w"], columns["h"] = rng.uniform(5, 50, records), (np.arange(records) // 2).astype(float)
    masked = dict(columns)
    for j in range(0, 25, 2):
        masked[f"c{j}"] = np.where(rng.random(records) < 0.05, None, columns[f"c{j}"])
    for j in range(10):
        masked[f"x{j}"] = columns[f"x{j}"] * (1 + 0.2 * rng.normal(size=records))
    masked["d7"] = columns["d7"] // 10 * 10
    del masked["d3"]
    schema = Schema((Variable("w"), Variable("h")), weight="w", household="h")
    return Microdata.from_frame(pa.table(columns), schema), pa.table(masked)


def measure(records: int) -> dict[str, float]:
    audit(*survey(500))  # loads what is compiled
    original, protected = survey(records)
    start = time.process_time()
    found = audit(original, protected)
    took = time.process_time() - start
    assert found.passed, found
    return {"cpu": took}


def in_fresh_process(records: int) -> float:
    command = [sys.executable, __file__, "--measure", str(records)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu = float(json.loads(output)["cpu"])
    print(f"  {records:10,} x 50 {cpu:7.2f} s cpu", flush=True)
    return cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 400,000 records")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    times = [in_fresh_process(n) for n in (25_000, 50_000, 100_000, *((200_000, 400_000) if options.full else ()))]
    print("  " + ", ".join(f"x {b / a:.2f}" for a, b in pairwise(times)))
    assert times[2] < 30
    found = audit(*survey(20_000, planted=True))["columns"].worst
    assert found is not None and found.alarm and found.evidence == ("x14",)


if __name__ == "__main__":
    main()
