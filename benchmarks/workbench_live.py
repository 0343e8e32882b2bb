"""The workbench while one works: processor milliseconds of whole answers over HTTP, 100,000 records.

The table is that of ``benchmarks/live.py``. Each answer is a change through the guard, the journal on disk, and the
page that follows, as the browser asks for it. "First" is asked once after the server starts.

    python benchmarks/workbench_live.py [--gaps 0.03] [--wide]

Processor milliseconds on two cores that other work kept busy, machine code compiled before:

                                            20 variables   3 % of keys missing   200 variables
    first intruder, first count                      500                   590             520
    a key ticked                                      30                   110              50
    recode, first page                                85                    60              85
    a cut moved                                      100                   210             100
    two categories merged                            115                   210              90
    an amount cut                                    125                    90             115
    what each key saves (asked after a page)          95                 1,000              95
    risk now, first (asked after a page)             240                 1,300           1,300
    risk now, again                                    3                     4               4
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "workbench"))  # the pages as tests use them

from pages import Bench

from live import KEYS, survey  # the benchmark beside this one
from sfumato import write_schema
from sfumato.workbench.desk import Desk

AGAIN = 5


def told(what: str, ask: Callable[[int], Any], times: int = AGAIN) -> None:
    """Ask several times, each another question, and print the processor time of the median."""
    spent = []
    for number in range(times):
        began = time.process_time()
        answer = ask(number)
        spent.append(1000 * (time.process_time() - began))
        assert answer.status_code == 200, answer.text[:2000]
    print(f"  {what:<58}{sorted(spent)[len(spent) // 2]:>9.0f} ms", flush=True)


def opened(folder: Path, gaps: float, times: int) -> Bench:
    """Put the table into a project and take it as it is read."""
    data = survey(gaps, times)
    bench = Bench(Desk(folder))
    pq.write_table(data.to_arrow(), bench.desk.folder / "survey.parquet")
    write_schema(data, bench.desk.folder / "schema.toml")
    bench.post("open", "choose", name="survey.parquet")
    bench.post("open", "confirm")
    print(f"{len(data):,} records x {len(data.names)} variables, {gaps:.0%} of every key missing")
    return bench


def questions(bench: Bench) -> None:
    """Ask what a steward asks."""
    names = bench.desk.table(bench.draft).names
    place = {name: names.index(name) for name in (*KEYS, "c8", "age", "c0", "x0")}
    keys = [place[name] for name in KEYS] + [place["age"]]

    def tick(number: int) -> Any:
        chosen = keys[number + 1 :] if number else [*keys, place["c8"]]
        return bench.post("scenarios", "keep?at=0", place="0", name="n", k="3", keys=chosen, knows_membership="on")

    def cut(number: int) -> Any:
        points = f"18, {31 + number}, 65"
        return bench.post("recode", f"cuts?variable={place['age']}", variable=place["age"], cuts=points)

    def merged(number: int) -> Any:
        groups, into = [0, number + 1], f"group {number}"
        return bench.post("recode", f"merge?variable={place['c0']}", variable=place["c0"], groups=groups, into=into)

    told("first intruder, first count", lambda _: bench.post("scenarios", "add", preset="took part"), 1)
    told("all keys ticked", lambda _: bench.post("scenarios", "keep?at=0", place="0", name="n", k="3", keys=keys), 1)
    told("a key ticked", tick)
    bench.post("scenarios", "keep?at=0", place="0", name="n", k="3", keys=keys, knows_membership="on")
    told("recode, first page", lambda _: bench.get(f"recode?variable={place['age']}"), 1)
    told("what each key saves, after a page is shown", lambda _: bench.get("recode?saves=yes"), 1)
    told("a cut moved", cut)
    told("two categories merged", merged)
    told(
        "an amount cut",
        lambda number: bench.post(
            "recode", f"cuts?variable={place['x0']}", variable=place["x0"], cuts=f"500, {1000 + number}, 5000"
        ),
    )
    told("what each key saves, after a change", lambda _: bench.get("recode?saves=yes"), 1)
    told("risk now, first", lambda _: bench.get("risk?now=yes"), 1)
    told("risk now, again", lambda _: bench.get("risk"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gaps", type=float, default=0.0, help="share of missing values in every key")
    parser.add_argument("--wide", action="store_true", help="200 variables instead of 20")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        questions(opened(Path(folder) / "project", asked.gaps, 11 if asked.wide else 1))


if __name__ == "__main__":
    main()
