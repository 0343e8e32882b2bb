"""Risk over keys beside what people write today: seconds, memory and growth.

Eight keys of a survey (region, sex, age class, ...; 16, 2, 18, 7, 4, 5, 9 and 12 values, skewed), a weight, households
of two. Each measurement runs in a fresh process after the machine code has been loaded on a small table; "extra MB" is
the peak of memory above that of the process with the table made. Group counts alone are in ``benchmarks/groups.py``.

    python benchmarks/key_risk.py [--full]

Beside ``SUDA2`` stands a plain loop of pandas over all 255 sets of keys, smallest first, that asks in each which
records are alone and had no smaller set; beside ``IndividualRisk`` pandas sums the weights by group and scipy's
hypergeometric function gives the risk. Both must find the same.

Measured on two cores that other work kept busy (load 7), so processor seconds tell more than the clock:

    SUDA2, 100,000 x 8                     1.2 s cpu (5 s wall)    88 MB   453,293 sets; pandas 2.8 s cpu (9.9 s wall)
    SUDA2, 1,000,000 x 8                   6.6 s cpu (21 s wall)  291 MB   grows x 1.7 to 1.9 as n doubles
    IndividualRisk, 1,000,000 x 8          0.7 s cpu (2.4 s wall) 119 MB   pandas and scipy 1.5 s cpu, 202 MB
    IndividualRisk, 10,000,000 x 8         8.9 s cpu (33 s wall) 1126 MB
    KAnonymity, 10,000,000 x 8             4.1 s cpu (13 s wall)  480 MB
    SampleUniques, 1,000,000 x 8           1.0 s cpu, 44 sets of keys
    LDiversity and TCloseness, 1,000,000   1.2 and 1.7 s cpu, two confidential variables
    LogLinearRisk, 1,000,000 x 6           0.9 s cpu, two-way terms, 80,640 combinations
    Reidentification, 1,000,000 x 5        0.2 s cpu (3.2 before equal records were looked for once); of a file drawn
                                           by PRAM(0.9) 1.1 (4.0), with LocalSuppression(3) 0.5 (3.4)
    3 % of every key missing, 100,000 x 8  KAnonymity 1.8, IndividualRisk 3.5, LDiversity 4.5, SUDA2 4.3 s cpu
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import combinations, pairwise

import numpy as np

from sfumato import (
    PRAM,
    SUDA2,
    IndividualRisk,
    KAnonymity,
    LDiversity,
    LocalSuppression,
    LogLinearRisk,
    Measure,
    Measurement,
    Method,
    Microdata,
    Reidentification,
    SampleUniques,
    Schema,
    TCloseness,
    Variable,
)

SIZES = (16, 2, 18, 7, 4, 5, 9, 12)
TOGETHER = "all seven"
MEASURES: dict[str, Measure] = {
    "KAnonymity": KAnonymity(),
    "SampleUniques": SampleUniques(),
    "LDiversity": LDiversity(),
    "TCloseness": TCloseness(),
    "IndividualRisk": IndividualRisk(),
    "SUDA2": SUDA2(),
    "LogLinearRisk": LogLinearRisk(variables=tuple(f"k{j}" for j in range(6))),
}
FIVE_KEYS = tuple(f"k{j}" for j in range(5))
FILES: dict[str, Method | None] = {"a copy": None, "PRAM": PRAM(0.9), "suppressed": LocalSuppression(3)}


def survey(records: int, missing: float = 0.0) -> Microdata:
    rng = np.random.default_rng(20_240_601)
    columns: dict[str, np.ndarray] = {}
    variables = []
    for j, values in enumerate(SIZES):
        codes = np.minimum(rng.geometric(2.5 / values if values > 2 else 0.5, records), values) - 1
        columns[f"k{j}"] = np.where(rng.random(records) < missing, -1, codes).astype(np.int32)
        listed = tuple(f"c{i}" for i in range(values))
        variables.append(Variable(f"k{j}", kind="nominal", role="key", categories=listed))
    columns["weight"] = rng.uniform(5, 40, records)
    columns["household"] = (np.arange(records) // 2).astype(float)
    columns["income"] = np.round(np.exp(rng.normal(8, 1, records)))
    columns["illness"] = rng.integers(0, 10, records).astype(np.int32)
    illness = Variable("illness", kind="nominal", role="confidential", categories=tuple("abcdefghij"))
    variables += [Variable("weight"), Variable("household"), Variable("income", role="confidential"), illness]
    return Microdata(Schema(tuple(variables), weight="weight", household="household"), columns)


def evaluated(data: Microdata, measures: Mapping[str, Measure]) -> dict[str, Measurement]:
    """Measure a table against itself: on one pair, where the package has such, so that key classes are counted once."""
    try:
        from sfumato.pair import Pair
    except ImportError:
        return {name: measure.evaluate(data, data) for name, measure in measures.items()}
    pair = Pair.of(data, data)
    return {name: measure.evaluate_pair(pair) for name, measure in measures.items()}


def pandas_suda(data: Microdata) -> int:
    """Count the minimal sample uniques by a group-by for every set of keys."""
    import pandas as pd

    frame = pd.DataFrame({f"k{j}": data.columns[f"k{j}"] for j in range(len(SIZES))})
    alone: dict[tuple[str, ...], np.ndarray] = {}
    number = 0
    for size in range(1, len(SIZES) + 1):
        for keys in combinations(frame.columns, size):
            here = (frame.groupby(list(keys), sort=False)["k0"].transform("size") == 1).to_numpy()
            alone[keys] = here
            minimal = here.copy()
            for part in combinations(keys, size - 1):
                if part:
                    minimal &= ~alone[part]
            number += int(minimal.sum())
    return number


def pandas_individual(data: Microdata) -> float:
    import pandas as pd
    from scipy.special import hyp2f1

    keys = [f"k{j}" for j in range(len(SIZES))]
    frame = pd.DataFrame({key: data.columns[key] for key in keys} | {"w": data.columns["weight"]})
    grouped = frame.groupby(keys, sort=False)["w"]
    f, units = grouped.transform("size").to_numpy(), grouped.transform("sum").to_numpy()
    p = f / units
    return float((p**f / f * hyp2f1(f, f, f + 1, 1 - p)).mean())


def found_again(file: str, records: int) -> Callable[[], float]:
    """Return what finds the records of a file protected in some way by five of its keys."""
    whole = survey(records)
    data = Microdata(whole.schema.only(FIVE_KEYS), {name: whole.columns[name] for name in FIVE_KEYS})
    method = FILES[file]
    protected = data if method is None else method.protect(data, rng=1)
    return lambda: Reidentification(variables=FIVE_KEYS).evaluate(data, protected).value


def measure(who: str, records: int, missing: float) -> dict[str, float]:
    """Seconds of wall clock and of processor, extra megabytes, and the figure, in this process."""
    if who in FILES:
        found_again(who, 6_000)()
        work = found_again(who, records)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        wall, cpu = time.perf_counter(), time.process_time()
        took = {"value": work(), "wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        return took | {"extra": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}
    asked = MEASURES if who == TOGETHER else {who: MEASURES[who]} if who in MEASURES else {}
    evaluated(survey(6_000, missing), asked)  # loads the compiled kernels
    data = survey(records, missing)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    if who == "pandas SUDA":
        value = float(pandas_suda(data))
    elif who == "pandas individual":
        value = pandas_individual(data)
    else:
        found = evaluated(data, asked)
        value = found["SUDA2"].parts["minimal sample uniques"] if "SUDA2" in found else found[who].value
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "value": value}
    return took | {"extra": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}


def in_fresh_process(who: str, records: int, missing: float = 0.0) -> dict[str, float]:
    output = subprocess.run(
        [sys.executable, __file__, "--measure", who, str(records), str(missing)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = dict[str, float](json.loads(output))
    print(
        f"  {who:18} {records:10,}{f' {missing:.0%} missing' if missing else '':11} {found['wall']:7.2f} s wall "
        f"{found['cpu']:7.2f} s cpu {found['extra']:6.0f} extra MB   {found['value']:.6g}"
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also ten million records")
    parser.add_argument("--measure", nargs=3, metavar=("WHO", "RECORDS", "MISSING"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        who, records, missing = options.measure
        print(json.dumps(measure(who, int(records), float(missing))))
        return
    for ours, theirs, records in (
        ("SUDA2", "pandas SUDA", 100_000),
        ("IndividualRisk", "pandas individual", 1_000_000),
    ):
        print(f"{ours} beside pandas")
        mine, plain = in_fresh_process(ours, records), in_fresh_process(theirs, records)
        assert abs(mine["value"] - plain["value"]) <= 1e-9 * plain["value"]
        print(f"  ratio {plain['wall'] / mine['wall']:.1f} wall {plain['cpu'] / mine['cpu']:.1f} cpu")
    print("all on one pair")
    in_fresh_process(TOGETHER, 100_000)
    print("with missing keys, which agree with every value")
    for who in (TOGETHER, *MEASURES):
        in_fresh_process(who, 100_000, 0.03)
    print("growth as n doubles, by processor time")
    for who in MEASURES:
        times = [in_fresh_process(who, records)["cpu"] for records in (125_000, 250_000, 500_000, 1_000_000)]
        print("  " + ", ".join(f"x {b / a:.2f}" for a, b in pairwise(times)))
    print("Reidentification by five keys, of files protected in several ways")
    for file in FILES:
        in_fresh_process(file, 1_000_000)
    if options.full:
        print("ten million records")
        for who in ("KAnonymity", "IndividualRisk"):
            in_fresh_process(who, 10_000_000)


if __name__ == "__main__":
    main()
