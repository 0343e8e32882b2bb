"""Probabilistic linkage of a masked file, beside the usual way: all pairs compared, one dense assignment.

Seven nested sets of known variables, 20 bins, correlated lognormal variables masked by noise. Each measurement
runs in a fresh process, after the machine code has been loaded on a file of two records. Both ways share bins,
EM and the weights; they differ in how pairs are counted and how the assignment is solved, and must find
the same total weight.

    python benchmarks/probabilistic_linkage.py [--full] [--noise 0.3]
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory import peak_memory
from sfumato.kernels import assignment
from sfumato.kernels.assignment import agreement_patterns, compiled
from sfumato.kernels.probabilistic_linkage import (
    agreeing_pairs,
    agreeing_within,
    agreement_bins,
    bin_cuts,
    fit_matches,
    nested_linkage,
    pattern_counts,
)

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

BINS = 20
VARIABLES = 7
DENSE_TO = 5_000  # beyond, the cost matrix alone takes 0.8 GB at 10,000 records and 3.2 GB at 20,000


@dataclass(frozen=True)
class Measured:
    """One way at one size: seconds, peak memory, and what was found."""

    wall: float
    cpu: float
    megabytes: float
    share: float
    weight: float


def masked_file(records: int, noise: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(20_240_601)
    common = rng.normal(size=(records, 1))
    logs = 0.7 * common + 0.7 * rng.normal(size=(records, VARIABLES))
    return np.exp(logs), np.exp(logs + noise * rng.normal(size=logs.shape))


def binned(original: Floats, protected: Floats) -> tuple[Codes, Codes]:
    """Both files in agreement bins."""
    cuts = bin_cuts(original, BINS)
    return agreement_bins(original, cuts), agreement_bins(protected, cuts)


def by_sorting(original: Floats, protected: Floats) -> tuple[float, float]:
    """The package: counts by sorting, assignment over the pairs of positive weight (from 5,000 records)."""
    left, right = binned(original, protected)
    results = nested_linkage(left, right, agreeing_within(left), np.random.default_rng(1))
    return float(np.mean([result.share for result in results])), 0.0


def by_all_pairs(original: Floats, protected: Floats) -> tuple[float, float]:
    """The usual way: every pair compared, a matrix of weights, scipy's linear_sum_assignment."""
    from scipy.optimize import linear_sum_assignment

    left, right = binned(original, protected)
    order = np.random.default_rng(1).permutation(len(right))
    shares, total = [], 0.0
    for known in range(1, VARIABLES + 1):
        mine, theirs = left[:, :known], right[order, :known]
        within = np.bincount(agreement_patterns(mine, mine).ravel(), minlength=2**known)
        within[-1] -= len(mine)
        patterns = agreement_patterns(mine, theirs)
        counts = np.bincount(patterns.ravel(), minlength=2**known)
        model = fit_matches(counts, len(left), within)
        cost = np.minimum(-model.weights, 0.0)[patterns]
        del patterns
        rows, columns = linear_sum_assignment(cost)
        linked = cost[rows, columns] < 0
        total -= float(cost[rows, columns].sum())
        partner = np.where(linked, order[columns], -1)
        shares.append(assignment.own_link_probability(mine, right[:, :known], partner).mean())
    return float(np.mean(shares)), total


def total_weight(original: Floats, protected: Floats) -> float:
    """What the package's assignments weigh together, for comparison with the dense optimum (not timed)."""
    left, right = binned(original, protected)
    agreeing, apart = agreeing_pairs(left, right), agreeing_within(left)
    rng, total = np.random.default_rng(1), 0.0
    for known in range(1, VARIABLES + 1):
        mine, theirs = left[:, :known], right[:, :known]
        counts, within = (pattern_counts(pairs[: 2**known]) for pairs in (agreeing, apart))
        weights = fit_matches(counts, len(left), within).weights
        partner = assignment.assign(mine, theirs, weights, rng)
        linked = np.flatnonzero(partner >= 0)
        agree = mine[linked] == theirs[partner[linked]]
        total += float(weights[agree @ (1 << np.arange(known))].sum())
    return total


WAYS = {"sorting": by_sorting, "all pairs": by_all_pairs}


def measure_here(way: str, records: int, noise: float) -> Measured:
    original, protected = masked_file(records, noise)
    compiled.heaviest_assignment(np.zeros((2, 1), np.int32), np.zeros((2, 1), np.int32), np.array([0.0, 1.0]))
    wall, cpu = time.perf_counter(), time.process_time()
    share, weight = WAYS[way](original, protected)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = peak_memory()
    return Measured(wall, cpu, peak, share, weight or total_weight(original, protected))


def measure(way: str, records: int, noise: float) -> Measured:
    """As ``measure_here``, in a process of its own, so that the peak of memory is its own too."""
    command = [sys.executable, __file__, "--one", way, str(records), "--noise", str(noise)]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return Measured(**json.loads(finished.stdout))


def report(sizes: list[int], noise: float, dense_to: int) -> None:
    print(f"noise {noise}; seconds are of all seven sets; growth is of cpu time, on the row above of that way")
    print(f"{'records':>8} {'way':<10} {'wall s':>8} {'cpu s':>8} {'peak MB':>8} {'share':>7}   growth")
    before: dict[str, Measured] = {}
    for records in sizes:
        now: dict[str, Measured] = {}
        for way in WAYS:
            if way == "all pairs" and records > dense_to:
                continue
            found = now[way] = measure(way, records, noise)
            growth = f"x {found.cpu / before[way].cpu:.1f}" if way in before else ""
            line = f"{found.wall:8.2f} {found.cpu:8.2f} {found.megabytes:8.0f} {found.share:7.4f}"
            print(f"{records:>8} {way:<10} {line}   {growth}", flush=True)
        if len(now) == 2:
            ours, dense = now["sorting"], now["all pairs"]
            print(
                f"{'':>8} ratio      cpu time {dense.cpu / ours.cpu:.1f}, memory "
                f"{dense.megabytes / ours.megabytes:.1f}, total weight {dense.weight / ours.weight:.9f}"
            )
        before = now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also 20,000 records")
    parser.add_argument("--noise", type=float, default=0.3, help="standard deviation of the noise on logs")
    parser.add_argument("--dense-to", type=int, default=DENSE_TO, help="largest file for the usual way")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "RECORDS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        way, records = arguments.one
        print(json.dumps(vars(measure_here(way, int(records), arguments.noise))))
        return
    sizes = [1_080, 2_500, 5_000, 10_000] + ([20_000] if arguments.full else [])
    report(sizes, arguments.noise, arguments.dense_to)


if __name__ == "__main__":
    main()
