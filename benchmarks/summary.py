"""How long a summary takes that is chosen anew: 100 candidates, another bound each time.

    python benchmarks/summary.py [CANDIDATES] [RECORDS]

The first summary of results describes the original's variables and writes every figure; those that follow only choose
and rank. Nothing is masked or measured by any of them.
"""

import sys
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from sfumato import DistanceLinkage, Experiment, InformationLoss, RankInterval, RankSwapping, Results, grid, summarise

BOUNDS = np.linspace(0.05, 0.95, 40)


def results(candidates: int, records: int) -> Results:
    """Measure so many candidates of a table of four amounts, two draws of each."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=records)
    table = pa.table({name: np.exp(base + rng.normal(size=records)) for name in ("income", "rent", "taxes", "savings")})
    methods = grid(RankSwapping, p=np.linspace(0.01, 0.5, candidates).round(6).tolist())
    measures = [InformationLoss(), DistanceLinkage(known=2), RankInterval()]
    return Experiment(table, methods, measures, replicates=2, seed=1).run()


def chosen(found: Results, bound: float) -> None:
    summarise(found, risk="DistanceLinkage", utility="InformationLoss", at_most={"DistanceLinkage": bound})


def main() -> None:
    candidates, records = (int(word) for word in (*sys.argv[1:], "100", "300")[:2])
    found = results(candidates, records)
    start = perf_counter()
    chosen(found, 0.5)
    first = perf_counter() - start
    start, cpu = perf_counter(), process_time()
    for bound in BOUNDS:
        chosen(found, float(bound))
    took, cpu = (end / len(BOUNDS) for end in (perf_counter() - start, process_time() - cpu))
    print(f"{candidates} candidates: the first summary {1000 * first:.1f} ms, each that follows {1000 * took:.1f} ms")
    print(f"({1000 * cpu:.1f} ms of the processor)")


if __name__ == "__main__":
    main()
