"""Made-up tables to check methods and measures on."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind, Schema, Variable

HOME = "lives in"


def amounts(n: int = 200, seed: int = 0) -> Microdata:
    """Skewed, correlated amounts with distinct values, and a nominal variable that no numeric method may touch."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    columns = {
        name: np.exp(3 + 0.5 * (load * base + np.sqrt(1 - load**2) * rng.normal(size=n)))
        for name, load in (("earnings", 0.9), ("tax", 0.7), ("rent", 0.4), ("savings", 0.2))
    }
    return Microdata.from_frame(pa.table({**columns, "region": rng.choice(["north", "south"], n)}))


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


def with_gaps(data: Microdata, share: float = 0.05, seed: int = 3) -> Microdata:
    """The same table with values of every variable missing at random."""
    rng = np.random.default_rng(seed)
    return data.replace({name: _holed(data.columns[name], share, rng) for name in data.schema.analysed()})


def in_households(data: Microdata, *, every: int = 1, size: int = 3) -> Microdata:
    """The same table in households of three, whose members share the first analysed variable and every so many more."""
    home = np.arange(len(data)) // size
    first = home * size
    shared = {name: data.columns[name][first] for name in data.schema.analysed()[::every]}
    columns = {**data.columns, **shared, HOME: home.astype(np.float64)}
    variables = tuple(variable for variable in data.schema if variable.name != HOME)
    schema = replace(data.schema, variables=(*variables, Variable(HOME, role="identifier")), household=HOME)
    return replace(data, schema=schema, columns=columns)


def shuffled(data: Microdata, seed: int = 1) -> Microdata:
    """Every variable shuffled by itself, in the records that have it: nobody in it exists."""
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed()})


def cut(table: Microdata, ends: list[int]) -> list[Microdata]:
    """A table cut into parts at these places, empty parts too."""
    places = [0, *sorted(ends), len(table)]
    return [table.take(np.arange(low, high, dtype=np.intp)) for low, high in pairwise(places)]


def odd_tables(data: Microdata, kinds: tuple[Kind, ...]) -> Iterator[Microdata]:
    """One record, a few, equal records; a constant, a variable of these kinds without values, with one value alone."""
    for rows in (1, 2, 7):
        yield data.take(np.arange(rows))
    alike = data.take(np.zeros(20, dtype=np.intp))
    yield replace(alike, schema=replace(alike.schema, id=None))  # an id would not tell its records apart
    for name in data.schema.analysed(*kinds)[:1]:
        column = data.columns[name]
        present = np.flatnonzero(~data.missing(name))
        constant, gone = np.full_like(column, column[present[0]]), np.nan if column.dtype.kind == "f" else -1
        yield data.replace({name: constant})
        yield data.replace({name: np.full_like(column, gone)})
        yield data.replace({name: np.where(np.arange(len(data)) == present[0], column, gone).astype(column.dtype)})


def _holed(column: NDArray[np.generic], share: float, rng: np.random.Generator) -> NDArray[np.generic]:
    missing = np.nan if column.dtype.kind == "f" else -1
    return np.where(rng.random(len(column)) < share, missing, column).astype(column.dtype)
