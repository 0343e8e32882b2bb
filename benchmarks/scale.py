"""Tables in parts: CPU time, memory and growth of measures of tables that lie on disk, beside DuckDB and Polars.

Records of 5 keys and 5 amounts, original and protected, in Parquet files of 500,000 records each. Every line is a run
of its own process; CPU seconds are those of it and of all processes it started, their start and the scan of both tables
included, and memory is the most that one process had: resident, and of that what is no mapped file ("own"), which the
system cannot simply drop. The group-by of DuckDB and Polars counts the combinations of the 5 keys of the protected
table, which is the core of KAnonymity; KAnonymity also reads the original's keys to tell whether they were perturbed.

Measured (docs/how-to/larger-than-memory.md), beside other work: at 10^7 records KAnonymity 2.5 CPU s and 290 MB, of
which the scan 1.7 CPU s, 2.3 to 2.9 times DuckDB's group-by in the same runs; with IndividualRisk, InformationLoss and
IntervalOverlap ("four") 4.8 CPU s and 370 MB; with GlobalDataUtility ("all five") 36 CPU s and 730 MB, 490 of them no
mapped file. At 10^8 "four" 50 CPU s and 310 MB, "all five" 526 CPU s.

    python benchmarks/scale.py [--records 1e6] [--growth] [--folder FOLDER]

``--growth`` runs a tenth of the records too and prints by what factor the CPU time grows. The files are made in FOLDER
and stay there, so that the next run finds them.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

PER_FILE = 500_000
KEYS = ("region", "sex", "education", "age", "household")
RUNS = ("scan", "KAnonymity", "four", "all five", "duckdb", "polars")


def make(folder: Path, records: int) -> None:
    """Write both tables, unless they are there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    regions = np.array([f"region {code:02d}" for code in range(40)])
    for place, start in enumerate(range(0, records, PER_FILE)):
        name = f"part-{place:04d}.parquet"
        if (folder / "protected" / name).exists():
            continue
        n, rng = min(PER_FILE, records - start), np.random.default_rng([7, place])
        income = rng.lognormal(10, 1, n)
        keys = {
            "region": pa.array(regions[rng.integers(0, 40, n)]),
            "sex": pa.array(np.array(["f", "m"])[rng.integers(0, 2, n)]),
            "education": pa.array(np.array(["low", "middle", "high", "higher"])[rng.integers(0, 4, n)]),
            "age": pa.array(rng.integers(0, 100, n)),
            "household": pa.array(np.minimum(rng.poisson(2.0, n) + 1, 8)),
        }
        amounts = {
            "income": income,
            "tax": 0.2 * income + rng.lognormal(6, 1, n),
            "rent": rng.lognormal(6, 0.5, n),
            "wealth": 1000 * rng.normal(size=n) + income,
            "pension": rng.gamma(2.0, 500.0, n),
        }
        noisy = {name: values + rng.normal(0, 0.1 * values.std(), n) for name, values in amounts.items()}
        for which, numbers in (("original", amounts), ("protected", noisy)):
            (folder / which).mkdir(parents=True, exist_ok=True)
            table = pa.table({**keys, **{key: pa.array(values) for key, values in numbers.items()}})
            pq.write_table(table, folder / which / name)


def measure(folder: Path, what: str, memory: str) -> dict[str, object]:
    """Carry out one line in this process, and return its figures."""
    watched = Watched()
    started = time.perf_counter()
    if what in ("duckdb", "polars"):
        said = grouped(folder / "protected", what)
    else:
        said = sfumato_figures(folder, what, memory)
    return {"what": what, **watched.figures(), "wall": time.perf_counter() - started, "said": said}


def grouped(folder: Path, what: str) -> str:
    """Count the combinations of the keys with another program."""
    if what == "duckdb":
        import duckdb

        names = ", ".join(KEYS)
        query = f"SELECT count(*), min(n) FROM (SELECT count(*) AS n FROM '{folder}/*.parquet' GROUP BY {names})"
        ((number, smallest),) = duckdb.connect().execute(query).fetchall()
        return f"{number:,} classes, the smallest of {smallest}"
    import polars as pl

    sizes = pl.scan_parquet(folder / "*.parquet").group_by(KEYS).len().collect()["len"]
    return f"{len(sizes):,} classes, the smallest of {int(sizes.to_numpy().min())}"


def sfumato_figures(folder: Path, what: str, memory: str) -> str:
    """Scan both tables and measure."""
    import sfumato
    from sfumato.pair import Pair

    nominal = KEYS[:3]
    schema = sfumato.Schema(
        tuple(sfumato.Variable(key, kind="nominal" if key in nominal else "numeric", role="key") for key in KEYS)
    )
    measures = {
        "scan": (),
        "KAnonymity": (sfumato.KAnonymity(3),),
        "four": (
            sfumato.KAnonymity(3),
            sfumato.IndividualRisk(),
            sfumato.InformationLoss(),
            sfumato.IntervalOverlap("income ~ age + C(sex) + rent"),
        ),
        "all five": (
            sfumato.KAnonymity(3),
            sfumato.IndividualRisk(),
            sfumato.InformationLoss(),
            sfumato.GlobalDataUtility(),
            sfumato.IntervalOverlap("income ~ age + C(sex) + rent"),
        ),
    }[what]
    with sfumato.Engine("local", memory=memory) as engine:
        original = sfumato.scan(folder / "original", schema, executor=engine.executor)
        pair = Pair.of(original, sfumato.scan(folder / "protected", beside=original, executor=engine.executor))
        return ", ".join(f"{m.evaluate_pair(pair, rng=1).value:.6g}" for m in measures)


class Watched:
    """CPU time and memory of this process and of those it starts."""

    def __init__(self) -> None:
        self._resident: dict[int, int] = {}
        self._own: dict[int, int] = {}
        self._watching = 0.0  # CPU seconds of looking, which are nobody's
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while True:
            for process in (me, *me.children(recursive=True)):
                try:
                    told = Path(f"/proc/{process.pid}/status").read_text()
                except OSError:
                    continue
                for name, most in (("VmRSS", self._resident), ("RssAnon", self._own)):
                    found = re.search(rf"{name}:\s+(\d+)", told)
                    if found:
                        most[process.pid] = max(most.get(process.pid, 0), int(found[1]) >> 10)
            self._watching = time.thread_time()
            time.sleep(0.25)

    def figures(self) -> dict[str, object]:
        """Return the CPU seconds so far, and the megabytes that one process had at most."""
        import resource

        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return {
            "cpu": sum(usage.ru_utime + usage.ru_stime for usage in used) - self._watching,
            "resident": max(self._resident.values(), default=0),
            "own": max(self._own.values(), default=0),
        }


def run(folder: Path, what: str, memory: str) -> dict[str, float]:
    """Carry out one line in a process of its own."""
    command = [sys.executable, __file__, "--folder", str(folder), "--line", what, "--memory", memory]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=float, default=1e6)
    options.add_argument("--growth", action="store_true")
    options.add_argument("--folder", type=Path)
    options.add_argument("--memory", default="256 MB")
    options.add_argument("--line", choices=RUNS)
    options.add_argument("--only", choices=RUNS, action="append")
    asked = options.parse_args()
    if asked.line:
        print(json.dumps(measure(asked.folder, asked.line, asked.memory)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        sizes = [int(asked.records // 10)] * asked.growth + [int(asked.records)]
        cpu: dict[str, float] = {}
        print(f"{'records':>12} {'':12} {'CPU s':>8} {'wall s':>8} {'MB':>7} {'own MB':>7}  growth")
        for records in sizes:
            here = folder / f"{records}"
            make(here, records)
            for what in asked.only or RUNS:
                found = run(here, what, asked.memory)
                growth = f"x {found['cpu'] / cpu[what]:.1f}" if what in cpu else ""
                cpu[what] = found["cpu"]
                print(
                    f"{records:>12,} {what:12} {found['cpu']:>8.1f} {found['wall']:>8.1f} {found['resident']:>7} "
                    f"{found['own']:>7}  {growth:8}{found['said']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
