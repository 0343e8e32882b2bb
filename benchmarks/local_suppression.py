"""Local suppression at 100,000 x 7 for k = 3: time, memory, growth with records, keys and missing values.

Each measurement runs in a fresh process, after the machine code has been loaded on a small table; "extra MB" is the
peak of memory above that of the process with the table made. The result is checked: fewer than k records may share
what a record shows in none of the tables.

Measured on two cores of which others used more than one, 100,000 x 7, k = 3, 42 % of the records violating: 0.1 s CPU
(optimal, 7 MB), 0.2 s for three sets of keys with k = 3, 5 and 10 together, 0.7 s with 5 % of the values missing
(1.3 s for the three sets), 1.4 s for 10 keys; with missing='category' 12 s CPU and 140 MB, at 3.7 % more values than
the optimum of the first rule, which bounds it from below.

    python benchmarks/local_suppression.py
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

from memory import peak_memory
from sfumato import LocalSuppression, Microdata, Schema, Variable
from sfumato.kernels.agreement import frequencies
from sfumato.kernels.groups import class_sizes

SETS = (
    (("key0", "key1", "key2", "key3", "key4", "key5", "key6"), 3),
    (("key0", "key2", "key4", "key6"), 5),
    (("key1", "key2", "key3"), 10),
)
CATEGORIES = (16, 2, 18, 7, 4, 6, 9, 3, 5, 12)
K = 3


def survey(records: int, keys: int, missing: float) -> Microdata:
    """Keys that hang together and have rare categories, as those of a survey do."""
    rng = np.random.default_rng(20_240_601)
    common = rng.normal(size=records)
    columns, variables = {}, []
    for j, categories in enumerate(CATEGORIES[:keys]):
        score = 0.6 * common + 0.8 * rng.normal(size=records)
        codes = np.minimum((np.exp(score) * categories / 6).astype(np.int64), categories - 1)
        columns[f"key{j}"] = pa.array([str(code) for code in codes], mask=rng.random(records) < missing)
        variables.append(Variable(f"key{j}", kind="nominal", role="key"))
    return Microdata.from_frame(pa.table(columns), Schema(tuple(variables)))


def measure_here(text: str, records: int, keys: int, missing: float) -> dict[str, float]:
    method = eval(text, {"LocalSuppression": LocalSuppression})
    method.protect(survey(12_000, keys, missing))
    data = survey(records, keys, missing)
    before, wall, cpu = peak_memory(), time.perf_counter(), time.process_time()
    masked = method.protect(data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    extra = peak_memory() - before
    codes = masked.codes()
    shared = class_sizes(codes) if method.missing == "category" else frequencies(codes)
    if method.subsets is None and method.k == K and shared.min() < K:
        raise SystemExit("a violation is left")
    for names, k in method.sets or ():
        if frequencies(masked.codes(names)).min() < k:
            raise SystemExit(f"a violation is left in {names}")
    lost = sum(masked.schema[name].treatment.suppressed for name in masked.names)
    violating = float((frequencies(data.codes()) < K).mean())
    return {"wall": wall, "cpu": cpu, "extra": extra, "violating": violating, "lost": lost / codes.size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        text, records, keys, missing = arguments.one
        print(json.dumps(measure_here(text, int(records), int(keys), float(missing))))
        return
    plain = f"LocalSuppression({K})"
    runs: list[tuple[str, int, int, float]] = [(plain, records, 7, 0.0) for records in (50_000, 100_000, 200_000)]
    runs += [(plain, 1_000_000, 7, 0.0), (f"LocalSuppression({K}, subsets=3)", 100_000, 7, 0.0)]
    runs += [(plain, 100_000, 7, missing) for missing in (0.005, 0.05)]
    runs += [(plain, 100_000, keys, 0.0) for keys in (8, 9, 10)]
    runs += [(f"LocalSuppression(sets={SETS})", 100_000, 7, missing) for missing in (0.0, 0.05)]
    runs += [
        (f"LocalSuppression({K}, caps={{'key0': 0.02}})", 100_000, 7, 0.0),
        ("LocalSuppression(risk=0.4)", 100_000, 7, 0.0),
    ]
    runs += [(f"LocalSuppression({K}, missing='category')", records, 7, 0.0) for records in (50_000, 100_000)]
    print("  records keys missing    wall s    cpu s  extra MB   violating   suppressed")
    for run in runs:
        command = [sys.executable, __file__, "--one", *map(str, run)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        line = f"{found['wall']:8.2f} {found['cpu']:8.2f} {found['extra']:9.0f}"
        shares = f"{found['violating']:10.1%} {found['lost']:11.2%}"
        print(f"{run[1]:>9,} {run[2]:>4} {run[3]:7.1%}  {line}  {shares}   {run[0]}", flush=True)


if __name__ == "__main__":
    main()
