"""What the classes of a recoded table must keep: records alike, and confidential values of more than one kind."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.lattice import Alike, Values
from sfumato.methods.suppression_sets import KeysAlike, places

Diversity = Literal["distinct", "entropy"]


def alike(names: tuple[str, ...], asked: Sequence[KeysAlike], risk: float | None) -> tuple[Alike, ...]:
    """Return the sets of keys by the places of their names."""
    return tuple(Alike(tuple(sorted(places(names, one.keys))), one.k, risk) for one in asked)


def confidential(data: Microdata, stated: tuple[str, ...] | None, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Name the confidential variables: those stated, or of that role, that are no keys."""
    schema = data.schema
    named = stated if stated is not None else schema.analysed(role="confidential")
    for name in named:
        if name not in schema:
            raise NotApplicable(schema.unknown(name))
    names = tuple(name for name in named if name not in keys)
    if not names:
        raise NotApplicable(
            "l and t are about confidential variables, and besides the keys there is none; give confidential=[...], or "
            'role = "confidential" in the schema'
        )
    return names


def bounds(
    data: Microdata, names: Sequence[str], *, different: int | None, diversity: Diversity, close: float | None
) -> tuple[Values, ...]:
    """Return the bounds on what a class tells of each confidential variable."""
    found = []
    for name in names:
        column, kind = data.columns[name], data.schema[name].kind
        gaps = data.missing(name)
        values, codes = np.unique(column[~gaps], return_inverse=True)
        told = np.full(len(column), -1, dtype=np.int32)
        told[~gaps] = codes
        if different is not None:
            found.append(Values(told, len(values), diversity, float(different)))
        if close is not None:
            distance: Literal["equal distance", "ordered distance"] = (
                "equal distance" if kind == "nominal" else "ordered distance"
            )
            found.append(Values(told, len(values), distance, close))
    return tuple(found)
