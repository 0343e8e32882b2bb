"""Values of types and sizes that no parameter was made for, and small tables that are odd themselves."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from adversary.attack import Rng, one_of
from sfumato import Microdata, Schema, SfumatoError, Variable


class Hostile:
    """An object that refuses to be looked at."""

    def __repr__(self) -> str:
        return "\x1b[31mhostile\x1b[0m"

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


def _loop() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**63, -(2**70), 10**400, 0.0, -0.0, 0.5, 1.5, 15.0, 1e-300, 1e308,
    float("nan"), float("inf"), -float("inf"), 1j, Decimal("0.1"), Decimal("NaN"), Fraction(1, 3),
    np.float32(0.25), np.int64(3), np.bool_(True), np.array([1, 2]), np.array(0.5), np.nan,
    "", " ", "x", "pay", "town", "no such", "0.1", "nan", "a" * 10_000, "\x1b[31m", "\0", "\ud800", "<script>",
    "%s{}%n", "../../etc/passwd", "__import__('os')", "y ~ x", "pay ~ size", "(" * 400, b"", b"pay",
    (), frozenset({"pay"}),
    ("pay", "size"), object(), Hostile(), int, len, range(3), slice(1), Ellipsis, NotImplemented,
    dt.date(2020, 2, 29), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.timedelta(days=-1), Path("nowhere.csv"), Path(),
    pd.NA, pd.NaT, pd.DataFrame({"pay": [1.0, 2.0]}), pl.DataFrame({"pay": [1]}), pa.table({"pay": [1]}),
    pd.DataFrame(), pd.Series([1.0]), pl.Series([1]), ValueError("no"), memoryview(b"x"),
]  # fmt: skip
MADE: list[Callable[[], Any]] = [  # anew each time, because who gets them may change or use them up
    list, dict, set, _loop, lambda: [None], lambda: [[]], lambda: ["pay"], lambda: ["pay", "pay"], lambda: [1, 2, 3],
    lambda: [0.1, "x"], lambda: ["pay", 3], lambda: {"pay": 1}, lambda: {"pay": None}, lambda: {"pay": [1, 2]},
    lambda: {"pay": -1.0}, lambda: {"town": {"north": "a"}}, lambda: {"no such": 1}, lambda: {1: 2},
    lambda: {None: None}, lambda: {"pay": {"pay": {}}}, lambda: {("pay", "size"): 0.5}, lambda: {"pay": float("nan")},
    lambda: {"town": "x"}, lambda: lambda x: x, lambda: iter([1, 2]), lambda: (name for name in ("pay", "size")),
    lambda: bytearray(b"x"), lambda: [0.1] * 300, lambda: {str(i): i for i in range(300)},
]  # fmt: skip


def odd(rng: Rng) -> Any:
    """Draw a value that fits nowhere, or only somewhere."""
    place = int(rng.integers(len(VALUES) + len(MADE)))
    return VALUES[place] if place < len(VALUES) else MADE[place - len(VALUES)]()


def shown(value: Any) -> str:
    """Write a value so that a finding can be read; no text of it is trusted."""
    try:
        return repr(value)[:120].encode("ascii", "backslashreplace").decode()
    except Exception:
        return f"a {type(value).__name__} without repr"


def _numbers(rng: Rng, n: int) -> Any:
    base = rng.normal(size=n)
    return one_of(
        rng,
        [
            base, np.round(base * 1000), np.zeros(n), np.full(n, 7.5), base * 1e307, base * 1e-310,
            np.sign(base) * 10.0 ** np.clip(base * 90, -300, 300),
            np.where(rng.random(n) < 0.5, np.nan, base), np.full(n, np.nan), np.where(base > 0, 1.7e308, -1.7e308),
            np.arange(n) + 2.0**53, np.round(base), -np.abs(base), np.where(np.arange(n) == 0, 1e300, base),
        ],
    )  # fmt: skip


def _texts(rng: Rng, n: int) -> list[Any]:
    words = one_of(
        rng,
        [["a"], ["a", "b"], ["", "x"], ["north", "south", "east"], ["\x1b[31m", "=1+1"], [None, "a"], [None],
         [f"v{i}" for i in range(40)], ["1", "2", "10"], ["ä", "日本", "🎈"], ["a" * 300, "b"]],
    )  # fmt: skip
    return [one_of(rng, words) for _ in range(n)]


def table(rng: Rng) -> Microdata | None:
    """Draw a small odd table with the schema of a survey, or an odd one; None if that is refused."""
    n = int(one_of(rng, [1, 2, 3, 5, 8, 13, 30]))
    days = [None if day < 0 else dt.date(1970, 1, 1) + dt.timedelta(int(day)) for day in rng.integers(-900, 20_000, n)]
    frame = {
        "pay": _numbers(rng, n), "size": _numbers(rng, n), "age": rng.integers(0, 99, n), "town": _texts(rng, n),
        "sex": _texts(rng, n), "born": pa.array(days, pa.date32()), "w": one_of(rng, [np.ones(n), rng.uniform(1, 9, n),
        np.zeros(n), np.full(n, 1e300)]), "home": rng.integers(0, max(n // 2, 1), n),
    }  # fmt: skip
    kept = [name for name in frame if name in ("w", "home") or rng.random() < 0.8]
    variables = []
    for name in kept:
        role = one_of(rng, ["key", "key", "confidential", "other"]) if rng.random() < 0.8 else None
        kind = {"town": "nominal", "sex": "nominal", "born": "date"}.get(name)
        told: dict[str, Any] = {key: value for key, value in (("role", role), ("kind", kind)) if value is not None}
        if told and name not in ("w", "home"):
            variables.append((name, told))
    try:
        schema = Schema(
            tuple(Variable(name, **told) for name, told in variables),
            weight="w" if rng.random() < 0.3 else None,
            household="home" if rng.random() < 0.2 else None,
        )
        return Microdata.from_frame(pa.table({name: frame[name] for name in kept}), schema)
    except SfumatoError:
        return None
