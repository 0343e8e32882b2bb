"""Figures that answer at once: processor milliseconds of the first and of further answers, 100,000 records x 20.

Twelve categories (of 2 to 18 values, skewed), an age, a date, four amounts, a weight and households of two or three.
The intruder knows eight categories and the age. "First" loads machine code, codes every column it needs and counts;
further answers tick a key, change k, move a cut, merge two categories. The last lines look at what the screens list
beside: `exposure` of all eight keys, bars of every variable, and what is proposed for the schema.

    python benchmarks/live.py [--gaps 0.03] [--wide]

Processor milliseconds on two cores that other work kept busy, machine code compiled before:

                                              no gaps      3 % of every key missing
    first count over nine keys                    320           450
    k changed                                       2             3
    a key ticked                                   15           130
    membership not known, a key ticked             13           250
    a cut moved, counts and loss                   55           180
    two categories merged                          75           210
    an amount cut / with a limit by share    80 / 110      90 / 120
    exposure, eight keys                          160           860
    bars of 20 / 200 variables                 7 / 70
    proposals for the schema, 20 / 200   800 / 15,000   (on both cores, 7 s of the clock)

The counts with gaps took 1,300 to 1,700 ms before rows with gaps went down a sorted table.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Microdata, Scenario, Schema, Variable
from sfumato.auditing.proposals import proposals
from sfumato.compare.exposure import exposure
from sfumato.compare.live import Live
from sfumato.compare.recodings import NOTHING
from sfumato.table.describe import thumbnails

SIZES = (16, 2, 18, 7, 4, 5, 9, 12, 3, 6, 8, 10)
KEYS = tuple(f"c{place}" for place in range(8))
RECORDS = 100_000


def survey(gaps: float, times: int = 1) -> Microdata:
    """Make the table; ``times`` over, for a wide one."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {}
    for copy in range(times):
        suffix = f"_{copy}" if copy else ""
        for place, size in enumerate(SIZES):
            odds = 1 / np.arange(1, size + 1)
            codes = rng.choice(size, RECORDS, p=odds / odds.sum())
            values = np.array([f"v{code}" for code in range(size)])[codes]
            columns[f"c{place}{suffix}"] = pa.array(values, mask=rng.random(RECORDS) < gaps)
        ages = rng.integers(0, 95, RECORDS).astype(float)
        columns[f"age{suffix}"] = pa.array(ages, mask=rng.random(RECORDS) < gaps)
        for place in range(4):
            columns[f"x{place}{suffix}"] = rng.lognormal(7, 1, RECORDS).round(2)
        columns[f"born{suffix}"] = pa.array(rng.integers(0, 20_000, RECORDS).astype("datetime64[D]"))
    columns["home"] = np.floor(np.arange(RECORDS) / 2.5)
    columns["weight"] = rng.uniform(2, 40, RECORDS)
    keys = tuple(Variable(name, "nominal", "key") for name in KEYS)
    return Microdata.from_frame(pa.table(columns), Schema(keys, weight="weight", household="home"))


def told(what: str, ask: Callable[[], Any]) -> None:
    """Ask once, and print the processor time of it."""
    began = time.process_time()
    ask()
    print(f"  {what:<58}{1000 * (time.process_time() - began):>9.0f} ms")


def questions(data: Microdata) -> None:
    """Ask what a page asks."""
    live = Live(data)
    known = Scenario("neighbour", (*KEYS, "age"))
    stranger = replace(known, knows_membership=False)
    told("first count over nine keys", lambda: live.counts(known))
    told("k changed", lambda: live.counts(replace(known, k=5)))
    told("a key ticked", lambda: live.counts(replace(known, keys=(*known.keys, "c8"))))
    told("a key unticked", lambda: live.counts(replace(known, keys=known.keys[1:])))
    told("membership not known", lambda: live.counts(stranger))
    told("membership not known, a key ticked", lambda: live.counts(replace(stranger, keys=(*known.keys, "c9"))))
    cut = NOTHING.with_cuts("age", [18, 30, 65])
    region = data.schema["c0"]
    told("first recoding: an age cut", lambda: live.effect(cut, (known,)))
    told("the cut moved", lambda: live.effect(cut.with_cuts("age", [18, 35, 65]), (known,)))
    told("the cut moved back", lambda: live.effect(cut, (known,)))
    told("two categories merged", lambda: live.effect(cut.merged(region, ["v0", "v3"], "one"), (known,)))
    told("an amount cut", lambda: live.effect(cut.with_cuts("x0", [500, 1000, 5000]), (known,)))
    told("an amount with a limit by share", lambda: live.effect(cut.with_limits("x1", share=0.01), (known,)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gaps", type=float, default=0.0, help="share of missing values in every key")
    parser.add_argument("--wide", action="store_true", help="200 variables instead of 20 for bars and proposals")
    asked = parser.parse_args()
    data = survey(asked.gaps)
    print(f"{len(data):,} records x {len(data.names)} variables, {asked.gaps:.0%} of every key missing")
    questions(data)
    told("exposure, eight keys", lambda: exposure(data))
    wide = survey(asked.gaps, 11) if asked.wide else data
    print(f"{len(wide):,} records x {len(wide.names)} variables")
    told("bars of every variable", lambda: thumbnails(wide))
    told("proposals for the schema", lambda: proposals(wide))


if __name__ == "__main__":
    main()
