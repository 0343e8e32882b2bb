"""Attacks on made tables whose columns tell keys, written with pandas and plain loops: no code of the package is used.

Each attack is given what the intruder has: the true keys of everybody, the published table, and, where he must learn
how a column goes with a key, half of the records as examples for the other half. It returns the share of records whose
own published record he picks, on average over guesses among records that look the same.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

Generator = np.random.Generator


def persons(records: int = 1_500, seed: int = 3) -> pd.DataFrame:
    """Persons with an age and bandings of it, a marital status that other columns depend on, and a sum of parts."""
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 90, records)
    status = np.where(age < 22, 0, np.where(age > 70, rng.choice([1, 2], records), rng.integers(0, 3, records)))
    married = status == 1
    wage, rent = rng.lognormal(9.5, 0.7, records).round(), rng.lognormal(7, 0.9, records).round()
    pension = np.where(rng.random(records) < 0.5, 0, rng.lognormal(8, 0.8, records).round())
    return pd.DataFrame(
        {
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, records)],
            "region": np.array(list("ABCDE"), dtype=object)[rng.choice(5, records, p=[0.35, 0.25, 0.2, 0.15, 0.05])],
            "age": age.astype(float),
            "five": bands(age, range(15, 95, 5)),
            "three": bands(age, (15, 30, 65)),
            "marital": np.array(["never", "married", "widowed"], dtype=object)[status],
            "partner_works": [
                ("yes" if works else "no") if one else None
                for one, works in zip(married, rng.random(records) < 0.6, strict=True)
            ],
            "cohort": bands(2020 - age - rng.integers(0, 2, records), range(1925, 2015, 10)),
            "wage": wage,
            "rent": rent,
            "pension": pension,
            "income": wage + rent + pension,
            "hobby": np.array(list("xyz"), dtype=object)[rng.integers(0, 3, records)],
        }
    )


def bands(values: Any, starts: Sequence[int]) -> Any:
    """Write each value as the band it lies in, by the bands' beginnings."""
    place = np.searchsorted(np.asarray(starts), np.asarray(values), side="right") - 1
    return np.array([f"from {starts[0] if at < 0 else starts[at]:04d}" for at in place], dtype=object)


def alike_in(known: pd.DataFrame, published: pd.DataFrame) -> float:
    """Pick one of the records that agree in every column; both tables have the same columns, record by record."""
    mine, theirs = (pd.Series([tuple(map(str, row)) for row in table.to_numpy()]) for table in (known, published))
    sizes = theirs.value_counts()
    return float(np.mean([1 / sizes[a] if a == b else 0.0 for a, b in zip(mine, theirs, strict=True)]))


def nearest_in(
    known: np.ndarray[Any, Any], published: np.ndarray[Any, Any], group: Sequence[Any], own: Sequence[Any]
) -> float:
    """Pick the nearest number among the published records of the same group; groups are told by true categories."""
    members = defaultdict(list)
    for row, one in enumerate(own):
        members[one].append(row)
    found = 0.0
    for row, one in enumerate(group):
        rows = np.array(members[one], dtype=int)
        if one != own[row]:
            continue
        apart = np.abs(published[rows] - known[row])
        mine = abs(published[row] - known[row])
        if mine <= apart.min() * (1 + 1e-12):
            found += 1 / np.count_nonzero(apart <= mine * (1 + 1e-12))
    return found / len(known)


def likeliest_in(known: pd.DataFrame, published: pd.DataFrame, told: Sequence[tuple[str, str]], seed: int = 0) -> float:
    """Among the records that agree, pick by how likely their other columns are for somebody with the known key.

    ``told`` pairs a published column with the key that tells it. How likely, is counted on one half of the records and
    used for those of the other. What is likely for everybody who agrees is worth less: a share is divided by the sum
    of the shares of all who agree.
    """
    agree = [name for name in known.columns if name in published.columns and name not in [column for column, _ in told]]
    mine, theirs = (table[agree].astype(str).apply("|".join, axis=1).to_numpy() for table in (known, published))
    half = np.random.default_rng(seed).permutation(len(known)) % 2
    shares = []
    for column, key in told:
        values, keys = published[column].astype(str).to_numpy(), known[key].astype(str).to_numpy()
        usual = pd.Series(values).value_counts(normalize=True)
        tables = []
        for part in (0, 1):
            taught = half != part
            counts = pd.crosstab(keys[taught], values[taught])
            tables.append((counts, counts.sum(axis=1)))
        shares.append((values, keys, usual, tables))
    found, members = 0.0, defaultdict(list)
    for row, one in enumerate(theirs):
        members[one].append(row)

    def likelihood(person: int, rows: list[int]) -> np.ndarray[Any, Any]:
        likely = np.ones(len(rows))
        for values, keys, usual, tables in shares:
            key = keys[person]
            for place, row in enumerate(rows):
                counts, sums = tables[half[row]]
                value = values[row]
                seen = counts.at[key, value] if key in counts.index and value in counts.columns else 0
                likely[place] *= (seen + usual[value]) / ((sums[key] if key in sums.index else 0) + 1)
        return likely

    for rows in members.values():
        who = [person for person in rows if mine[person] == theirs[person]]
        if not who:
            continue
        grid = np.stack([likelihood(person, rows) for person in who])
        grid = grid / grid.sum(axis=0)
        for person, line in zip(who, grid, strict=True):
            best = line >= line.max() * (1 - 1e-9)
            if best[rows.index(person)]:
                found += 1 / np.count_nonzero(best)
    return found / len(known)


def weighing_blanks(known: pd.DataFrame, published: pd.DataFrame) -> float:
    """Pick among the records that agree, blanks with everything, by how often values as rare as his were blanked.

    Of each value he counts how many persons have it and in how many records it is shown: the rest of them were blanked.
    """
    names = list(known.columns)
    blanked = {}
    for name in names:
        have, shown = known[name].value_counts(), published[name].value_counts()
        blanked[name] = {value: 1 - shown.get(value, 0) / times for value, times in have.items()}
    rows = published.astype(object).where(published.notna(), None).apply(tuple, axis=1)
    sizes = rows.value_counts()
    persons_of = known.astype(object).apply(tuple, axis=1)
    classes = persons_of.value_counts()

    def likely(person: tuple[Any, ...], row: tuple[Any, ...]) -> float:
        share = 1.0
        for name, mine, theirs in zip(names, person, row, strict=True):
            if theirs is not None and theirs != mine:
                return 0.0
            share *= blanked[name][mine] if theirs is None else 1 - blanked[name][mine]
        return share

    weights = {(p, r): likely(p, r) for p in classes.index for r in sizes.index}
    usual = {r: sum(weights[p, r] * classes[p] for p in classes.index) for r in sizes.index}
    found = 0.0
    for person, own in zip(persons_of, rows, strict=True):
        chances = {r: weights[person, r] / usual[r] if usual[r] > 0 else 0.0 for r in sizes.index}
        most = max(chances.values())
        best = [r for r, chance in chances.items() if chance >= most * (1 - 1e-9)]
        if own in best:
            found += 1 / sum(sizes[r] for r in best)
    return found / len(known)
