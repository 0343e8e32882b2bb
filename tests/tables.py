"""Tables that many tests share."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, Schema, Variable

SHARED = Path(__file__).parents[2] / "shared" / "data"


def census() -> Microdata:
    """The 1080 x 13 file of the paper; the test is skipped where it is absent."""
    path = SHARED / "casc_census.csv"
    if not path.exists():
        pytest.skip("the Census reference file is not beside the project")
    from pyarrow import csv

    return Microdata.from_frame(csv.read_csv(path))


def printed_table(name: str) -> dict[str, dict[str, float]]:
    """A table printed in a paper, by its first column; the test is skipped where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip("the paper's table is not beside the project")
    from pyarrow import csv

    table = csv.read_csv(path)
    first = table.column_names[0]
    return {row.pop(first): row for row in table.to_pylist()}


def incomes(n: int = 200, seed: int = 0) -> Microdata:
    """Skewed, correlated amounts with distinct values, and a nominal variable that no numeric method may touch."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    amounts = {
        name: np.exp(3 + 0.5 * (load * base + np.sqrt(1 - load**2) * rng.normal(size=n)))
        for name, load in (("earnings", 0.9), ("tax", 0.7), ("rent", 0.4), ("savings", 0.2))
    }
    return Microdata.from_frame(pa.table({**amounts, "region": rng.choice(["north", "south"], n)}))


def numbers(**columns: list[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> Microdata:
    """A table of numeric columns."""
    return Microdata.from_frame(pa.table(columns))


def weighted(data: Microdata, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Microdata:
    """The same table with a survey weight."""
    table = data.to_arrow().append_column("weight", pa.array(weights))
    return Microdata.from_frame(table, Schema((Variable("weight"),), weight="weight"))


def persons(n: int = 240, seed: int = 0) -> Microdata:
    """Keys of every kind, confidential variables that depend on them, a weight, a household and an id."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    sex = rng.choice(["female", "male"], n)
    education = rng.choice(4, n, p=[0.2, 0.4, 0.3, 0.1])
    age = rng.integers(18, 90, n)
    income = np.round(np.exp(7 + 0.3 * education + 0.01 * (age - 50) + rng.normal(scale=0.4, size=n)), 2)
    levels = ("primary", "secondary", "bachelor", "master")
    health = np.where(rng.random(n) < age / 120, "poor", "good")
    table = pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "household": np.arange(n) // 2,
            "weight": rng.uniform(2, 30, n).round(1),
            "region": region,
            "sex": sex,
            "education": [levels[level] for level in education],
            "age": age,
            "income": income,
            "health": health,
        }
    )
    schema = Schema(
        (
            Variable("id", kind="nominal", role="identifier"),
            Variable("region", kind="nominal", role="key"),
            Variable("sex", kind="nominal", role="key"),
            Variable("education", kind="ordinal", role="key", categories=levels),
            Variable("age", role="key"),
            Variable("income", role="confidential"),
            Variable("health", kind="nominal", role="confidential"),
        ),
        weight="weight",
        household="household",
        id="id",
    )
    return Microdata.from_frame(table, schema)
