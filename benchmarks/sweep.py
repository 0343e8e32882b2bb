"""Default sweeps and the figure that decides: this source tree beside another one, on made tables without relations.

Two promises are looked at in one run. The figure that decides, `Reidentification`, must not move where a table has no
relations between its columns that a new attack could use (attacks that know the method, or weigh blanks, are told
apart by what was done to the table); and a default sweep must not take much longer. The columns
of the made tables are drawn independently of one another, so that nothing but the keys tells the keys.

    git worktree add ../before COMMIT
    python benchmarks/sweep.py ../before/src [--tables 200] [--sweeps 3] [--records 2000]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "src"
TABLES = """
import numpy as np, pyarrow as pa, sfumato
from sfumato.table.schema import Schema, Variable

def made(seed, records):
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, 9, size=4)
    columns, variables = {}, []
    for place, count in enumerate(levels):
        shares = rng.dirichlet(np.full(count, 2.0))
        columns[f"key{place}"] = rng.choice([f"v{i}" for i in range(count)], size=records, p=shares)
        variables.append(Variable(f"key{place}", kind="nominal", role="key" if place < 3 else "other"))
    columns["age"] = rng.integers(16, 91, size=records).astype(float)
    variables.append(Variable("age", kind="numeric", role="key"))
    columns["income"] = np.exp(rng.normal(7, 0.8, size=records)).round()
    variables.append(Variable("income", kind="numeric", role="confidential"))
    columns["score"] = rng.normal(size=records).round(3)
    variables.append(Variable("score", kind="numeric", role="other"))
    return sfumato.Microdata.from_frame(pa.table(columns), Schema(tuple(variables)))
"""
WAYS = ("recoded", "recoded and blanked", "ranks swapped", "categories redrawn")
FIGURES = (
    TABLES
    + """
import json, sys
found = []
for seed in range(int(sys.argv[1])):
    data = made(seed, 300 + 17 * seed % 900)
    bands = sfumato.GlobalRecoding(bins={"age": 5})
    ways = bands, bands + sfumato.LocalSuppression(3), sfumato.RankSwapping(0.1, variables=("age",)), sfumato.PRAM(0.8)
    way = ways[seed % len(ways)]
    found.append(sfumato.Reidentification().evaluate(data, way.protect(data, rng=seed), rng=seed).value)
print(json.dumps(found))
"""
)
SWEEP = (
    TABLES
    + """
import json, sys, tempfile, time
from pathlib import Path
import pyarrow.csv
from sfumato.table.schema_file import schema_text
data = made(int(sys.argv[1]), int(sys.argv[2]))
with tempfile.TemporaryDirectory() as folder:
    file, schema = Path(folder, "table.csv"), Path(folder, "schema.toml")
    pyarrow.csv.write_csv(data.to_frame(), file)
    schema.write_text(schema_text(data.schema))
    def run(seed, out):
        start = time.process_time()
        asked = {"at_most": {"Reidentification": 0.05}, "workers": 1, "seed": seed, "out": Path(folder, out)}
        found = sfumato.sweep(file, schema=schema, **asked)
        return time.process_time() - start, bool(found.verdict.publish)
    run(98765432109876, "first")  # what has to be loaded and compiled
    print(json.dumps(run(12345678901234, "second")))
"""
)


def told(program: str, source: Path, *words: int) -> list[float]:
    """Run a program with one source tree in a process of its own, and return what it prints."""
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found: list[float] = json.loads(out.splitlines()[-1])
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("other", type=Path, help="the folder src of the other source tree")
    options.add_argument("--tables", type=int, default=200)
    options.add_argument("--sweeps", type=int, default=3)
    options.add_argument("--records", type=int, default=2_000)
    asked = options.parse_args()
    before, here = (told(FIGURES, source, asked.tables) for source in (asked.other, HERE))
    apart = [100 * (now - then) for then, now in zip(before, here, strict=True)]
    for place, way in enumerate(WAYS):
        some = apart[place :: len(WAYS)]
        if some:
            beyond = sum(abs(points) > 0.5 for points in some)
            ends = f"{min(some):+.2f} to {max(some):+.2f} points"
            print(f"the figure that decides, {len(some)} tables, {way}: {ends}, more than half a point in {beyond}")
    ratios = []
    for seed in range(asked.sweeps):
        (then, _), (now, published) = (told(SWEEP, source, seed, asked.records) for source in (asked.other, HERE))
        ratios.append(now / then)
        end = "published" if published else "not published"
        print(f"default sweep, table {seed}: {then:.1f} s there, {now:.1f} s here, ratio {now / then:.2f}, {end}")
    if ratios:
        print(f"median ratio of CPU time: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
