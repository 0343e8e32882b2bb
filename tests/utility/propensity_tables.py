"""Tables that the tests of propensity utility share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato import Microdata, Schema, Variable
from sfumato.utility.propensity.measure import Model

MODELS: tuple[Model, ...] = (
    "logistic I",
    "logistic II",
    "main effects",
    "products",
    "tree",
    "modified logistic I",
    "modified logistic II",
)


def table(weight: Sequence[float] | NDArray[np.float64] | None = None, **columns: Any) -> Microdata:
    """A table of these columns, with a survey weight where one is given."""
    if weight is None:
        return Microdata.from_frame(pa.table(columns))
    return Microdata.from_frame(pa.table({**columns, "w": weight}), Schema((Variable("w"),), weight="w"))


def by_formula(weights: bool = False) -> tuple[Microdata, Microdata]:
    """Two files of 1,000 records that R makes as well; the script is above the numbers that use them."""
    i = np.arange(1, 2001)
    r = i > 1000
    columns = {
        "x": i * 7919 % 10007 / 100,
        "y": i * i % 9973 / 100 * (1 + 0.25 * r),
        "z": i * 31 % 17 + r * (i % 2) * 1.0,
        "f": np.where(r & (i % 5 == 0), 1, i % 7).astype(str),
    }
    w = (1 + i % 3).astype(float)
    halves = slice(0, 1000), slice(1000, 2000)
    first, second = (table(w[half] if weights else None, **{n: c[half] for n, c in columns.items()}) for half in halves)
    return first, second


def normals(n: int, seed: int, scale: float = 1.0) -> Microdata:
    """Three correlated normal variables."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 0.8, 0.3], [0.0, 0.0, 0.9]]) * scale
    return table(a=x[:, 0], b=x[:, 1], c=x[:, 2])
