"""Seven statements of tables that do not fit into memory: ours in files beside DuckDB, in CPU time and memory.

Each line is a run of its own process that is fed the same numbers in stretches of 500,000 records, as the parts of a
table give them, and has the same memory to use. CPU seconds are user and system, memory is the most that was resident;
those of an empty run, which only makes the numbers, are taken off. A digest of what came out tells whether both agree.

Measured with 10^7 records and 256 MB to use, five runs beside other work: DuckDB takes of our CPU time x 1.1 to 1.3 for
the order of values with record numbers, 1.6 to 1.7 for a join by id, 2.3 to 3.9 for duplicate ids, 4 to 8 for
quantiles, 1.1 to 1.3 for random order, 0.8 to 1.0 for classes of five keys (nearly all apart), 0.7 to 1.1 for members
of households; 390 to 620 MB resident where ours are 110 to 230. The classes of 3 x 10^7 records took 900 MB with 128 MB
to use (ours 320), and were refused with 64 MB. See docs/decisions/2026-11-19-order-and-classes-stay-in-files.md.

    python benchmarks/by_sql.py [--records 1e7] [--memory 256e6] [--only STATEMENT]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRETCH = 500_000
THREADS = 1  # of DuckDB; two take 5 to 25 % more CPU time
RANKS = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)
Columns = dict[str, NDArray[Any]]


def stretches(what: str, records: int) -> Iterator[Columns]:
    """Make the numbers of a statement, a stretch at a time."""
    for place, first in enumerate(range(0, records, STRETCH)):
        rng, n = np.random.default_rng([3, place]), min(STRETCH, records - first)
        numbers = np.arange(first, first + n)
        if what in ("sort", "quantiles"):
            values = rng.lognormal(10, 1, n).round(2)
            values[rng.random(n) < 0.01] = np.nan
            yield {"value": values, "number": numbers}
        elif what in ("join", "duplicates"):
            yield {"id": (numbers * 7_368_787.0) % 1_000_000_007, "number": numbers}
        elif what == "random":
            yield {"value": rng.random(n), "number": numbers}
        elif what == "classes":
            keys = {
                f"key{one}": rng.integers(-1, top, n, dtype=np.int32) for one, top in enumerate((40, 90, 90, 30, 5))
            }
            yield {**keys, "size": np.ones(n, dtype=np.int64)}
        else:
            homes = (numbers // 3 * 7_368_787.0) % 1_000_000_007
            yield {"home": homes, "value": np.floor(homes % 97)}


def ours(what: str, records: int, memory: int, folder: Path) -> list[Any]:
    """Carry out a statement as this program does."""
    from sfumato.pair.files import Workspace
    from sfumato.pair.sorting import Runs, by_record
    from sfumato.pair.statistics import KeyClasses, merged

    room = Workspace(memory, folder)

    def runs(key: str, along: str | None, of: str = what) -> Runs:
        found = Runs(room, "values", records, None if along is None else np.float64 if along == "value" else np.int64)
        for some in stretches(of, records):
            found.add(some[key], None if along is None else some[along])
        return found

    if what in ("sort", "random"):
        return [digest(runs("value", "number").merged())]
    if what == "quantiles":
        one = runs("value", None)
        ranks, start, found = [int(share * (len(one) - 1)) for share in RANKS], 0, []
        for values, _ in one.merged():
            found += [float(values[rank - start]) for rank in ranks if start <= rank < start + len(values)]
            start += len(values)
        return found
    if what == "join":
        pairs = zip(runs("id", "number").merged(), runs("id", "number").merged(), strict=True)
        told = ((one[1], other[1]) for one, other in pairs if one[1] is not None and other[1] is not None)
        return [digest((some,) for some in by_record(told, records, np.array([-1]), room, "places"))]
    if what == "duplicates":
        last, twice = np.nan, 0
        for values, _ in runs("id", None).merged():
            twice += int((np.diff(values) == 0).sum()) + int(values[0] == last)
            last = values[-1]
        return [twice]
    if what == "classes":
        parts = (
            KeyClasses.of_part(np.stack([some[f"key{k}"] for k in range(5)], axis=1))
            for some in stretches(what, records)
        )
        classes = merged(parts, room)
        return [len(classes), int(classes.sizes.max()), int((classes.sizes == 1).sum())]
    different, before = 0, (np.empty(0), np.empty(0))
    for homes, along in runs("home", "value").merged():
        home, value = np.append(before[0], homes), np.append(before[1], np.empty(0) if along is None else along)
        different += int((value[1:] != value[:-1])[home[1:] == home[:-1]].sum())
        before = home[-1:], value[-1:]
    return [different]


class Statements:
    """DuckDB with a memory limit and a folder for what is more, fed with stretches and read in stretches."""

    def __init__(self, memory: int, folder: Path) -> None:
        import duckdb

        limits: dict[str, Any] = {"memory_limit": f"{memory}B", "temp_directory": str(folder), "threads": THREADS}
        self.connection = duckdb.connect(config=limits)

    def query(self, sql: str, **tables: Iterator[Columns]) -> Iterator[Columns]:
        """Carry out a statement over tables that come in stretches."""
        import pyarrow as pa

        for name, left in tables.items():
            first = pa.record_batch(next(left))
            rest = (pa.record_batch(columns) for columns in left)
            self.connection.register(name, pa.RecordBatchReader.from_batches(first.schema, chain([first], rest)))
        batches: Any = self.connection.execute(sql)
        for batch in batches.to_arrow_reader(STRETCH // 2):
            yield {
                name: column.to_numpy(zero_copy_only=False)
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }


def duckdb(what: str, records: int, memory: int, folder: Path) -> list[Any]:
    """Carry out a statement as SQL."""
    query, table = Statements(memory, folder).query, stretches(what, records)
    if what in ("sort", "random"):
        found = query("SELECT value, number FROM t WHERE NOT isnan(value) ORDER BY value, number", t=table)
        return [digest((some["value"], some["number"]) for some in found)]
    if what == "quantiles":
        count = sum(int((~np.isnan(some["value"])).sum()) for some in stretches(what, records))
        ranks, start, told = [int(share * (count - 1)) for share in RANKS], 0, []
        for some in query("SELECT value FROM t WHERE NOT isnan(value) ORDER BY value", t=table):
            values = some["value"]
            told += [float(values[rank - start]) for rank in ranks if start <= rank < start + len(values)]
            start += len(values)
        return told
    if what == "join":
        sql = "SELECT other.number FROM one JOIN other USING (id) ORDER BY one.number"
        return [digest((some["number"],) for some in query(sql, one=table, other=stretches(what, records)))]
    if what == "duplicates":
        (one,) = query("SELECT count(*) - count(DISTINCT id) AS twice FROM t", t=table)
        return [int(one["twice"][0])]
    if what == "classes":
        keys = "key0, key1, key2, key3, key4"
        columns = (
            some["size"] for some in query(f"SELECT {keys}, sum(size)::BIGINT AS size FROM t GROUP BY {keys}", t=table)
        )
        counted = [(len(size), int(size.max()), int((size == 1).sum())) for size in columns]
        return [sum(each[0] for each in counted), max(each[1] for each in counted), sum(each[2] for each in counted)]
    (one,) = query(
        "SELECT count(*) AS n FROM (SELECT home FROM t GROUP BY home HAVING min(value) <> max(value))", t=table
    )
    return [int(one["n"][0])]


def digest(pieces: Iterable[Iterable[NDArray[Any] | None]]) -> str:
    """Return a digest of columns, however they are cut into pieces."""
    each: list[Any] = []
    for piece in pieces:
        for place, column in enumerate(piece):
            each += [sha256()] if place == len(each) else []
            each[place].update(np.ascontiguousarray(column).data)
    return " ".join(one.hexdigest()[:12] for one in each)


def nothing(what: str, records: int, *_memory_and_folder: object) -> list[Any]:
    """Only make the numbers."""
    for _ in range(2 if what == "join" else 1):
        for _ in stretches(what, records):
            pass
    return []


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=float, default=1e7)
    options.add_argument("--memory", type=float, default=256e6)
    options.add_argument("--only", action="append")
    options.add_argument("--line")
    asked = options.parse_args()
    records, memory = int(asked.records), int(asked.memory)
    if asked.line:
        with tempfile.TemporaryDirectory() as folder:
            found = globals()[asked.line](asked.only[0], records, memory, Path(folder))
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, found]))
        return
    print(f"{'':12} {'ours, CPU s':>12} {'MB':>6} {'DuckDB, CPU s':>14} {'MB':>6} {'ratio':>6}")
    for what in asked.only or ("sort", "join", "duplicates", "quantiles", "random", "classes", "households"):
        rows: list[list[Any]] = []
        for line in ("nothing", "ours", "duckdb"):
            command = [sys.executable, __file__, "--records", str(records), "--memory", str(memory), "--only", what]
            told = subprocess.run([*command, "--line", line], capture_output=True, text=True, check=False)
            rows.append(json.loads(told.stdout) if told.returncode == 0 else [float("nan"), 0, told.stderr[-600:]])
        (none, _, _), (mine, peak, found), (theirs, other, same) = rows
        agree = "equal" if found == same else f"DIFFERENT: {found} {same}"
        ratio = (theirs - none) / (mine - none)
        print(
            f"{what:12} {mine - none:>12.1f} {peak:>6} {theirs - none:>14.1f} {other:>6} {ratio:>6.2f}  {agree}",
            flush=True,
        )


if __name__ == "__main__":
    main()
