"""A made survey in which every way back to protected values can be built, and shares counted by plain loops."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sfumato import Microdata, Schema, Variable

REGIONS = np.array(["North", "East", "South", "West", "Isles"], dtype=object)
SCHEMA = Schema((Variable("weight"), Variable("household")), weight="weight", household="household")


def survey(households: int = 400, seed: int = 5) -> pd.DataFrame:
    """Persons in households of one to four, regions in blocks of rows, amounts, and columns that tell nothing."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, households)
    household = np.repeat(np.arange(households), size)
    region = np.sort(rng.choice(5, households, p=[0.3, 0.25, 0.2, 0.15, 0.1]))
    n = len(household)
    wages, rest = rng.lognormal(9, 1, n).round(), rng.lognormal(7, 1, n).round()
    return pd.DataFrame(
        {
            "household": household.astype(float),
            "weight": rng.uniform(5, 50, n).round(4),
            "region": REGIONS[region][household],
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, n)],
            "job": np.array(list("abcdefgh"), dtype=object)[rng.integers(0, 8, n)],
            "age": rng.integers(18, 90, n).astype(float),
            "wages": wages,
            "rest": rest,
            "income": wages + rest,
            "noise": rng.normal(size=n),
        }
    )


def shuffled(table: pd.DataFrame, seed: int = 8) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.intp]]]:
    """The records in random order, and which record each is."""
    order = np.random.default_rng(seed).permutation(len(table))
    return table.iloc[order].reset_index(drop=True), order


def data(table: pd.DataFrame, schema: Schema = SCHEMA) -> Microdata:
    return Microdata.from_frame(table, schema.only(table.columns))


def blanked(table: pd.DataFrame, name: str, share: float = 0.1, seed: int = 1) -> pd.DataFrame:
    """The table with some values of a variable made missing."""
    out = table.copy()
    hit = np.random.default_rng(seed).random(len(table)) < share
    out.loc[hit, name] = np.nan if out[name].dtype.kind == "f" else None
    return out


def restored_by_groups(evidence: Sequence[Hashable], published: Sequence[Any], true: Sequence[Any]) -> float:
    """Share of the blanks that the most common value of those with the same evidence gives back, by a plain loop."""
    right = total = 0
    for i, value in enumerate(published):
        if not pd.isna(value):
            continue
        others = [v for j, v in enumerate(published) if j != i and evidence[j] == evidence[i] and not pd.isna(v)]
        total += 1
        right += bool(others) and Counter(others).most_common(1)[0][0] == true[i]
    return right / total


def guessed(published: Sequence[Any], true: Sequence[Any]) -> float:
    """Share of the blanks that their most common true value gives."""
    blanks = [t for p, t in zip(published, true, strict=True) if pd.isna(p)]
    return Counter(blanks).most_common(1)[0][1] / len(blanks)
