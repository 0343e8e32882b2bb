"""A survey of every kind of variable, and how to find a row of a result."""

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Measurement, Microdata, Schema, Variable


def survey(n: int = 1500, seed: int = 0) -> Microdata:
    """Variables of every kind that hang together."""
    rng = np.random.default_rng(seed)
    levels = ("primary", "secondary", "tertiary")
    region = rng.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    education = np.digitize(rng.normal(size=n) + 0.8 * (region == "north"), [-0.3, 0.9])
    age = rng.integers(18, 90, n).astype(float)
    income = np.exp(7 + 0.5 * education + 0.015 * (age - 50) + rng.normal(scale=0.5, size=n))
    rent = 0.3 * income * np.exp(rng.normal(scale=0.3, size=n))
    height = 170 + 8 * rng.normal(size=n)
    owner = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 50) / 15)), "owner", "tenant")
    columns = {"region": region, "education": [levels[e] for e in education], "age": age, "income": income}
    table = pa.table({**columns, "rent": rent, "height": height, "owner": owner})
    schema = Schema(
        (
            Variable("education", kind="ordinal", categories=levels),
            Variable("income", label="monthly income"),
            Variable("owner", kind="nominal", label="tenure"),
        )
    )
    return Microdata.from_frame(table, schema)


def row(found: Measurement, name: str) -> dict[str, Any]:
    (match,) = [dict(row) for row in found.tables["variables"] if row["variable"] == name]
    return match
