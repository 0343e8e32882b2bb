"""Who took part: what records drawn by trees tell, and what larger leaves cost.

Run ``python benchmarks/membership.py`` (the demo survey, its persons without weights and numbers), or with a CSV file:
``python benchmarks/membership.py adult.csv``. Four samples are drawn from a table: members, of whom a synthetic table
as long is drawn, outsiders, a reference and fresh records. The attacks know a record and the synthetic table and guess
whether the record was a member by

- ``near``: how near its nearest synthetic record is, in Gower's distance over all variables;
- ``nearer``: how much nearer than its nearest record of the reference, which allows for those who live in a crowd.

Printed are the areas under the ROC curve of both (.50: the file tells nothing; their standard error is about .006 at
5,000 members), the share of members found at 1 % false alarms and the area for the 5 % of most isolated records, both
by the better of the two; and the price: global data utility (the share of
associations kept) and the pMSE ratio of main effects (1: as near as another sample).

``FRESH`` has the fresh records in place of a synthetic table: what an attack shows where there is nothing to find.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyarrow import csv

from sfumato import CARTSynthesis, GlobalDataUtility, Microdata, PropensityUtility, household_survey

Floats = NDArray[np.float64]
LEAVES = (5, 10, 15, 20, 30, 50, 100)
BLOCK = 250
RATIO = "ratio, fitted model"


def places(tables: list[Microdata]) -> list[tuple[Floats, NDArray[np.int32]]]:
    """Return numbers and ordered categories of each table on a scale of one over their range, and the other codes."""
    schema = tables[0].schema
    scaled = [v.name for v in schema if v.kind != "nominal"]
    other = [v.name for v in schema if v.kind == "nominal"]
    columns = {name: [table.columns[name].astype(float) for table in tables] for name in scaled}
    ends = {name: (np.nanmin(np.concatenate(c)), np.nanmax(np.concatenate(c))) for name, c in columns.items()}
    width = {name: max(high - low, 1e-300) for name, (low, high) in ends.items()}
    return [
        (
            np.column_stack([np.nan_to_num(columns[name][i] / width[name], nan=1e3) for name in scaled] or [[]]),
            np.column_stack([table.columns[name] for name in other] or [np.zeros((len(table), 0), np.int32)]),
        )
        for i, table in enumerate(tables)
    ]


def nearest(here: tuple[Floats, NDArray[np.int32]], there: tuple[Floats, NDArray[np.int32]]) -> Floats:
    """Return Gower's distance of each record to the nearest of the other table; a missing number is far from others."""
    found = []
    for start in range(0, len(here[0]), BLOCK):
        numbers, codes = (side[start : start + BLOCK] for side in here)
        apart = np.zeros((len(numbers), len(there[0])))
        for j in range(numbers.shape[1]):
            apart += np.minimum(np.abs(numbers[:, j, None] - there[0][None, :, j]), 1.0)
        for j in range(codes.shape[1]):
            apart += codes[:, j, None] != there[1][None, :, j]
        found.append(apart.min(axis=1))
    return np.concatenate(found)


def area(members: Floats, outsiders: Floats) -> float:
    """Return the chance that a member scores higher than an outsider; ties count half."""
    both = np.sort(outsiders)
    below = np.searchsorted(both, members, "left") + np.searchsorted(both, members, "right")
    return float(below.mean() / 2 / len(both))


def found_at(members: Floats, outsiders: Floats, alarms: float = 0.01) -> float:
    """Return the share of members above the score that so many of the outsiders reach."""
    return float((members > np.quantile(outsiders, 1 - alarms)).mean())


def quarters(data: Microdata, size: int, seed: int) -> list[Microdata]:
    """Draw four samples without a common record."""
    rows = np.random.default_rng(seed).permutation(len(data))[: 4 * min(size, len(data) // 4)]
    return [
        replace(data, columns={n: np.ascontiguousarray(c[part]) for n, c in data.columns.items()})
        for part in np.split(rows, 4)
    ]


def told(parts: list[Microdata], synthetic: Microdata) -> dict[str, float]:
    """Attack a synthetic table of the first of three parts."""
    members, outsiders, reference, drawn = places([*parts, synthetic])
    near = [-nearest(side, drawn) for side in (members, outsiders)]
    alone = [nearest(side, reference) for side in (members, outsiders)]
    nearer = [distance + score for distance, score in zip(alone, near, strict=True)]
    best = max((near, nearer), key=lambda scores: area(*scores))
    limit = np.quantile(np.concatenate(alone), 0.95)
    isolated = [scores[distance >= limit] for scores, distance in zip(best, alone, strict=True)]
    return {
        "near": area(*near),
        "nearer": area(*nearer),
        "found at 1 %": found_at(best[0], best[1]),
        "isolated": area(isolated[0], isolated[1]),
        "GDU": GlobalDataUtility().evaluate(parts[0], synthetic).value,
        "pMSE ratio": float(PropensityUtility("main effects").evaluate(parts[0], synthetic).parts[RATIO]),
    }


def lines(data: Microdata, size: int, runs: int, leaves: Sequence[int]) -> Iterator[tuple[str, dict[str, float]]]:
    """Attack leaves of each size, and fresh draws."""
    for leaf in (0, *leaves):
        found = []
        for run in range(runs):
            *parts, fresh = quarters(data, size, run)
            if leaf:
                synthetic = CARTSynthesis(leaf).protect(parts[0], rng=run)
                found.append(told(parts, synthetic))
            else:
                found.append(told(parts, replace(fresh, matched=False)))
        yield (
            ("FRESH" if not leaf else f"leaves of {leaf}"),
            {name: float(np.mean([one[name] for one in found])) for name in found[0]},
        )


def survey(size: int) -> Microdata:
    """Return the demo survey's persons, without what names or weighs them."""
    data = household_survey(4 * size)
    return data.without([name for name in ("person", "household", "weight", "tax", "rent") if name in data.names])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--size", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--leaves", type=int, nargs="+", default=LEAVES)
    asked = parser.parse_args()
    table = survey(asked.size) if asked.file is None else Microdata.from_frame(csv.read_csv(asked.file))
    for what, figures in lines(table, asked.size, asked.runs, asked.leaves):
        print(f"{what:15}", *(f"{name} {value:.3f}" for name, value in figures.items()), sep="  ", flush=True)
