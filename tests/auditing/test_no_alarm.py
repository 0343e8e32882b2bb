"""Columns that have nothing to do with each other raise no alarm, and what does not matter changes nothing."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky import blanked, data, survey

from how_often import TABLES
from sfumato import Audit, Microdata, Schema, Variable, audit
from sfumato.compare.plain import from_json, to_json

SCHEMA = Schema((Variable("w"), Variable("h"), Variable("id")), weight="w", household="h", id="id")


def independent(seed: int) -> tuple[Microdata, pd.DataFrame]:
    """A random table of independent columns with weight, household and id, and a masked one: every kind of masking."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 300))
    columns: dict[str, Any] = {}
    for j in range(rng.integers(2, 6)):
        k = int(rng.integers(2, 9))
        columns[f"c{j}"] = np.array(list("abcdefghi")[:k], dtype=object)[rng.choice(k, n, p=rng.dirichlet(np.ones(k)))]
    for j in range(rng.integers(1, 4)):
        columns[f"x{j}"] = rng.lognormal(8, 1, n).round(int(rng.integers(0, 3)))
    for j in range(rng.integers(0, 3)):
        columns[f"d{j}"] = rng.integers(0, 30, n).astype(float)
    masked = {name: _masked(rng, column) for name, column in columns.items()}
    special = {
        "w": rng.choice(rng.uniform(5, 50, n // 2 + 1), n),
        "h": np.sort(rng.integers(0, n // 2 + 1, n)).astype(float),
        "id": rng.permutation(n).astype(float),
    }
    kept = {name: column for name, column in masked.items() if column is not None} | special
    return Microdata.from_frame(pd.DataFrame(columns | special), SCHEMA), pd.DataFrame(kept)


def _masked(rng: np.random.Generator, column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    out, number = column.copy(), column.dtype.kind == "f"
    way = rng.integers(0, 6)
    if way == 0:
        out[rng.random(len(out)) < rng.uniform(0.01, 0.3)] = np.nan if number else None
    elif way == 1 and number:
        out = out * (1 + 0.2 * rng.normal(size=len(out)))
    elif way == 1:
        hit = rng.random(len(out)) < 0.3
        out[hit] = rng.permutation(column)[hit]
    elif way == 2:
        return None
    elif way == 3:
        out = np.round(out, -1) if number else np.where(np.isin(column, ["a", "b", "c"]), "abc", column)
    elif way == 4:
        out = rng.permutation(out)
    return out


def test_false_alarms_are_rarer_than_one_in_a_hundred_tables() -> None:
    """The audit promises at most 1 %; over 200 of these tables none was seen, nor over 400 others."""
    alarms = 0
    for seed in range(TABLES):
        original, protected = independent(seed)
        found = audit(original, protected, order=np.arange(len(original)))
        alarms += not found.passed
    assert alarms <= TABLES // 100


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), shuffle=st.randoms(use_true_random=False))
def test_the_order_of_columns_and_the_names_of_categories_change_nothing(seed: int, shuffle: Any) -> None:
    table = survey(60, seed).drop(columns=["noise", "income"])
    masked = blanked(table, "region", 0.2, seed).assign(
        job=np.where(table["job"].isin(["a", "b"]), "ab", table["job"]),
        wages=(table["wages"] / 1000).round() * 1000,
    )
    names = list(table.columns)
    shuffle.shuffle(names)
    letters = list("STUVWXYZ")
    shuffle.shuffle(letters)
    new = dict(zip("abcdefgh", letters, strict=True))
    region = dict(zip(["North", "East", "South", "West", "Isles"], shuffle.sample("vwxyz", 5), strict=True))
    relabelled = table.assign(job=table["job"].map(new), region=table["region"].map(region))[names]
    masked_too = masked.assign(
        job=masked["job"].map({**new, "ab": f"{new['a']} or {new['b']}"}), region=masked["region"].map(region)
    )[names]
    one, other = audit(data(table), masked), audit(data(relabelled), masked_too)
    assert {name: int(count) for name, count in one.protected.items()} == dict(other.protected)
    for before, after in zip(one.routes, other.routes, strict=True):
        assert set(before.by_variable) == set(after.by_variable)
        assert before.untried == after.untried


def test_an_audit_goes_to_json_and_back() -> None:
    table = survey(60)
    found = audit(data(table), blanked(table, "region", 0.2), rng=3)
    assert from_json(Audit, to_json(found, exact=True)) == found
