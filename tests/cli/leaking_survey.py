"""A made survey with every leak that was met in real releases, its files, and an intruder's attacks by plain loops."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sfumato.auditing.repairs import record_order
from sfumato.project.tables import provenance_path

REGIONS = np.array(["North", "East", "South", "West", "Isles"], dtype=object)
KEYS = ("region", "sex", "age", "job")


def survey(households: int = 300, seed: int = 5) -> pd.DataFrame:
    """Persons in households of one to four, in the order of their regions; no column tells another."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(households), rng.integers(1, 5, households))
    region = np.sort(rng.choice(5, households, p=[0.3, 0.25, 0.2, 0.15, 0.1]))
    n = len(home)
    return pd.DataFrame(
        {
            "home": home + 1000,
            "weight": rng.uniform(5, 50, n).round(3),
            "region": REGIONS[region][home],
            "sex": np.array(["f", "m"], dtype=object)[rng.integers(0, 2, n)],
            "age": rng.integers(20, 80, n),
            "job": np.array(list("abcdefgh"), dtype=object)[rng.integers(0, 8, n)],
            "hours": rng.integers(10, 60, n),
            "wages": rng.lognormal(9, 1, n).round(),
            "rest": rng.lognormal(7, 1, n).round(),
        }
    )


def write(folder: Path, table: pd.DataFrame, **special: str) -> tuple[Path, Path]:
    """Write a table, and a schema that declares the keys and nothing of the columns that leak."""
    lines = [f'{what} = "{name}"' for what, name in special.items()]
    for name in KEYS:
        kind = "numeric" if name == "age" else "nominal"
        lines.append(f'[variables.{name}]\nkind = "{kind}"\nrole = "key"')
    folder.mkdir(exist_ok=True)
    table.to_csv(folder / "survey.csv", index=False)
    (folder / "schema.toml").write_text("\n".join(lines) + "\n")
    return folder / "survey.csv", folder / "schema.toml"


def guess(true: Sequence[Any]) -> float:
    """The share that the commonest of the values sought gets right."""
    return Counter(true).most_common(1)[0][1] / len(true)


def by_equals(evidence: Sequence[Any], shown: Sequence[Any], sought: Sequence[int], true: Sequence[Any]) -> float:
    """The share of the values sought that the commonest value shown beside the same evidence gives, or else a guess."""
    usual = Counter(true[i] for i in sought).most_common(1)[0][0]
    right = 0
    for i in sought:
        others = [
            shown[j] for j in range(len(shown)) if j != i and evidence[j] == evidence[i] and not pd.isna(shown[j])
        ]
        said = min(Counter(others).items(), key=lambda entry: (-entry[1], str(entry[0])))[0] if others else usual
        right += said == true[i]
    return right / len(sought)


def by_neighbours(order: Sequence[float], shown: Sequence[Any], sought: Sequence[int], true: Sequence[Any]) -> float:
    """The share that the nearest record in some order gives: rows, ids, weights."""
    right = 0
    known = [j for j in range(len(shown)) if not pd.isna(shown[j])]
    places = np.array([order[j] for j in known], dtype=float)
    for i in sought:
        away = np.abs(places - order[i])
        away[[k for k, j in enumerate(known) if j == i]] = np.inf
        right += shown[known[int(away.argmin())]] == true[i]
    return right / len(sought)


def by_tree(columns: pd.DataFrame, shown: Sequence[Any], sought: Sequence[int], true: Sequence[Any]) -> float:
    """The share that a decision tree on all columns of the file gives, grown on the values that the file shows."""
    X = np.column_stack([pd.factorize(columns[name], sort=True)[0] for name in columns]).astype(float)
    values, y = np.unique(np.array([str(v) for v in shown], dtype=object), return_inverse=True)
    known = np.array([not pd.isna(v) for v in shown])
    known[list(sought)] = False
    said = _grown(X[known], y[known], X[list(sought)], len(values), depth=12)
    return float(np.mean([values[code] == str(true[i]) for code, i in zip(said, sought, strict=True)]))


def _grown(X: Any, y: Any, asked: Any, classes: int, depth: int) -> Any:
    """Split where Gini's impurity falls most, until a leaf is pure, has fewer than ten records or lies too deep."""
    counts = np.bincount(y, minlength=classes)
    out = np.full(len(asked), counts.argmax())
    if depth == 0 or len(y) < 10 or counts.max() == len(y) or not len(asked):
        return out
    best = (0.0, -1, 0.0)
    pure = 1 - ((counts / len(y)) ** 2).sum()
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        x, below = X[order, j], np.cumsum(np.eye(classes)[y[order]], axis=0)
        ends = np.flatnonzero(x[1:] > x[:-1])
        if not ends.size:
            continue
        left, n = below[ends], ends + 1.0
        right = counts - left
        impurity = len(y) - (left**2).sum(axis=1) / n - (right**2).sum(axis=1) / (len(y) - n)
        gain = pure - impurity.min() / len(y)
        if gain > best[0] + 1e-12:
            at = ends[int(impurity.argmin())]
            best = (gain, j, (x[at] + x[at + 1]) / 2)
    _, j, cut = best
    if j < 0:
        return out
    low, there = X[:, j] <= cut, asked[:, j] <= cut
    out[there] = _grown(X[low], y[low], asked[there], classes, depth - 1)
    out[~there] = _grown(X[~low], y[~low], asked[~there], classes, depth - 1)
    return out


def chance(share: float, values: int) -> float:
    """A share and three standard errors: what luck may reach."""
    return share + 3 * float(np.sqrt(max(share * (1 - share), 0.01) / values))


def near(keys: Sequence[Any], true: Sequence[float], share: float = 0.01) -> float:
    """The share of numbers that the median of the others with the same keys meets, within a share of the ranks.

    Who is alone with its keys is answered by nobody, and guessed by the band, the first of the keys.
    """
    place = pd.Series(true).rank().to_numpy()
    ordered = np.sort(np.asarray(true, dtype=float))
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    right = 0
    for rows in groups.values():
        for row in rows:
            others = sorted(true[i] for i in rows if i != row)
            if others:
                said = others[(len(others) - 1) // 2]
                low, high = np.searchsorted(ordered, said, "left"), np.searchsorted(ordered, said, "right")
                right += abs((low + high + 1) / 2 - place[row]) <= share * len(true)
    return right / len(true)


def nearest_amount(evidence: "pd.Series[float]", true: "pd.Series[float]", share: float = 0.01) -> float:
    """The share of numbers that the mean of the next lower and the next higher record gives, within ranks."""
    order = np.argsort(evidence.to_numpy(), kind="stable")
    values = true.to_numpy()[order].astype(float)
    place, ordered = true.rank().to_numpy()[order], np.sort(values)
    right = 0
    for i in range(len(values)):
        said = np.mean([values[j] for j in (i - 1, i + 1) if 0 <= j < len(values)])
        low, high = np.searchsorted(ordered, said, "left"), np.searchsorted(ordered, said, "right")
        right += abs((low + high + 1) / 2 - place[i]) <= share * len(values)
    return right / len(values)


def originals(folder: Path, records: int) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """The record of the original that each record written is, by the internal note; an intruder does not have it."""
    note = json.loads(provenance_path(folder / "release.csv").read_text())
    return record_order(records, note["seed"], note["order_key"])
