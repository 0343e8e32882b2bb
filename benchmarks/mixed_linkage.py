"""Distance linkage of all kinds of variables side by side with all distances: time, memory and growth.

Run ``python benchmarks/mixed_linkage.py``. Eight keys (three numbers, an ordinal, four categories) become known one
after the other; the numbers are noisy and one category is exchanged in a tenth of the records. All distances are
computed block by block with numpy, on a share of the searching records, and scaled up, which is said in the output.

On two cores, 10,000 records: 0.5 s of processor against 16 s for all distances, 250 MB; as n doubles to 20,000 and
40,000, processor time grows 2.1 and 2.6 times, memory by 10 and 16 MB.

``--nearest RECORDS COLUMNS`` has NearestRecord beside scipy's k-d tree under the same distance, on normal numbers. On
two busy cores 100,000 x 6 took 3.1 s of processor (13.5 with a node's two children compared one after the other),
50,000 x 10 took 6.4 (39.7); scikit-learn's KDTree took 9.0 and 24.4.
"""

import argparse
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from memory import peak_memory
from sfumato import DistanceLinkage, Microdata, Schema, Variable

Floats = NDArray[np.float64]
LEVELS = tuple(f"level {i}" for i in range(6))
SCHEMA = Schema((Variable("education", kind="ordinal", categories=LEVELS),))


def persons(n: int, seed: int = 1) -> tuple[Microdata, Microdata]:
    """A table with keys of all kinds, and a perturbed copy."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 16, n)
    numbers = {"age": rng.integers(18, 95, n).astype(float), "income": np.exp(7 + rng.normal(size=n))}
    numbers["rent"] = np.round(200 + 0.2 * numbers["income"] * np.exp(rng.normal(scale=0.3, size=n)))
    columns = {
        "region": [f"region {i:02d}" for i in region],
        "sex": rng.choice(["female", "male"], n).tolist(),
        "education": [LEVELS[i] for i in rng.integers(0, 6, n)],
        "occupation": [f"{i:02d}" for i in rng.integers(0, 40, n)],
        "marital": rng.choice(["single", "married", "other"], n).tolist(),
    }
    order = ["region", "sex", "age", "education", "occupation", "marital", "income", "rent"]
    original = Microdata.from_frame(pa.table({name: {**numbers, **columns}[name] for name in order}), SCHEMA)
    noisy = {name: column + rng.normal(scale=0.05 * column.std(), size=n) for name, column in numbers.items()}
    moved = np.where(
        rng.random(n) < 0.1, rng.permutation(original.columns["occupation"]), original.columns["occupation"]
    )
    return original, original.replace({**noisy, "occupation": moved})


def all_distances(original: Microdata, protected: Microdata, known: tuple[str, ...], searching: int) -> float:
    """Share of the first ``searching`` records whose own is nearest, by every distance."""
    pairs = []
    for name in known:
        x, y = (t.columns[name].astype(float) for t in (original, protected))
        kind = original.schema[name].kind
        width = max(x.max(), y.max()) - min(x.min(), y.min()) if kind == "numeric" else len(LEVELS) - 1
        pairs.append((x, y, kind == "nominal", width))
    hits = 0
    for start in range(0, searching, 50):
        rows = slice(start, min(start + 50, searching))
        apart = np.zeros((rows.stop - rows.start, len(protected)))
        for x, y, nominal, width in pairs:
            apart += x[rows, None] != y if nominal else np.abs(x[rows, None] - y) / width
        own = apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)]
        hits += int((apart.min(axis=1) >= own - 1e-9).sum())
    return hits / searching


def measure(n: int) -> tuple[float, float, float, float]:
    """Seconds of wall clock and of processor, peak memory in MB, and the figure."""
    original, protected = persons(n)
    linkage = DistanceLinkage(known=8, distance="gower", ties="linked")
    linkage.evaluate(*persons(5_001, seed=2))  # compiled before the clock starts
    wall, cpu = time.perf_counter(), time.process_time()
    value = linkage.evaluate(original, protected).value
    return time.perf_counter() - wall, time.process_time() - cpu, peak_memory(), value


def in_fresh_process(n: int) -> tuple[float, ...]:
    output = subprocess.run([sys.executable, __file__, "--measure", str(n)], capture_output=True, text=True, check=True)
    return tuple(map(float, output.stdout.split()))


def beside_a_tree(records: int, columns: int) -> None:
    """Print what NearestRecord costs, and scipy's tree for the same distances; both must find the same."""
    from scipy.spatial import cKDTree

    from sfumato import NearestRecord

    rng = np.random.default_rng(5)
    before = rng.normal(size=(records, columns))
    after = before + 0.1 * rng.normal(size=before.shape)
    tables = [
        Microdata.from_frame(pa.table({f"v{j}": column for j, column in enumerate(side.T)})) for side in (before, after)
    ]
    NearestRecord().evaluate(*(table.take(np.arange(6_000)) for table in tables))  # loads the compiled kernel
    cpu = time.process_time()
    found = NearestRecord().evaluate(*tables)
    ours = time.process_time() - cpu
    low = np.minimum(before.min(axis=0), after.min(axis=0))
    width = np.maximum(before.max(axis=0), after.max(axis=0)) - low
    here, there = (before - low) / width, (after - low) / width
    cpu = time.process_time()
    tree = cKDTree(here)
    near, others = tree.query(there, p=1)[0], tree.query(here, k=2, p=1)[0][:, 1]
    peer = time.process_time() - cpu
    assert abs(np.median(near) / columns - found.parts["median distance"]) < 1e-12
    assert abs(np.median(others) / columns - found.parts["median distance of others"]) < 1e-12
    print(f"NearestRecord {records:,} x {columns}: {ours:.2f} s cpu; k-d tree {peer:.2f}; ratio {ours / peer:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--largest", type=int, default=80_000)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--nearest", type=int, nargs=2, metavar=("RECORDS", "COLUMNS"))
    options = parser.parse_args()
    if options.nearest:
        beside_a_tree(*options.nearest)
        return
    if options.measure:
        print(*measure(options.measure))
        return
    n = options.records
    original, protected = persons(n)
    searching = min(n, 1_000)
    sets = [original.names[:size] for size in range(1, 9)]
    cpu = time.process_time()
    for known in sets:
        all_distances(original, protected, known, searching)
    brute = (time.process_time() - cpu) * n / searching
    wall, cpu, memory, _ = in_fresh_process(n)
    print(f"DistanceLinkage(distance='gower'), 1 to 8 known keys of all kinds, {n:,} records")
    print(
        f"  tree {wall:.1f} s wall {cpu:.1f} s cpu, peak {memory:.0f} MB; all distances {brute:.1f} s cpu "
        f"({searching:,} of the searching records, scaled up); ratio {brute / cpu:.0f}"
    )
    print("growth as n doubles")
    before = None
    size = n
    while size <= options.largest:
        wall, cpu, memory, value = in_fresh_process(size)
        growth = f"x {cpu / before:.2f}" if before else ""
        print(f"  {size:8,} records {wall:7.1f} s wall {cpu:7.1f} s cpu {memory:6.0f} MB  linked {value:.3f} {growth}")
        before = cpu
        size *= 2


if __name__ == "__main__":
    main()
