"""What the classes of a recoded table must keep: records alike, and confidential values of more than one kind."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.lattice import Alike, Values, worst
from sfumato.methods.suppression_sets import KeysAlike, places
from sfumato.pair import Half

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


def refuse_broken(protected: Microdata, asked: Sequence[KeysAlike], values: Sequence[Values]) -> None:
    """Refuse a table of which a measure of risk would find that a class breaks a bound on its values.

    The number alike and the risk need no such look: a value made missing agrees with more records than before.
    """
    half = Half.of(protected)
    for one in asked:
        codes = half.codes(protected, one.keys)
        for bound in values:
            found = worst(codes, bound)
            if found is None:
                continue
            if bound.figure in ("distinct", "entropy"):
                broken = f"of l={bound.bound:g} a class keeps {found:.4g}"
            else:
                broken = f"of t={bound.bound:g} a class is {found:.4g} from the file"
            raise NotApplicable(
                f"{broken}, once suppressed keys agree with every value and the members of a household lose what one "
                f"of them lost (keys {', '.join(one.keys)}); give suppression=0, ask for less, or name fewer keys"
            )
