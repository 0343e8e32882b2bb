"""A table in parts as it goes out: a folder of Parquet files in random order, with the columns that were left in."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.data.parts import TableInParts
from sfumato.pair import Half
from sfumato.pair.masking import category_weights
from sfumato.pair.random_order import RandomOrder, write_in_random_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core import Method
    from sfumato.data.schema import Variable


def write_protected_parts(
    protected: TableInParts,
    path: Path,
    *,
    names: Iterable[str],
    order_key: str | None,
    note: Path | None = None,
    source: Path,
    original: TableInParts,
    method: "Method | None",
    seed: int,
    figures: Mapping[str, Any],
    notes: tuple[str, ...] = (),
    key: str = "",
    left_out: tuple[str, ...] = (),
    private: bool = False,
) -> Path:
    """Write a protected table in parts with these variables, and apart from it how it was made; return that note.

    Records stand in the random order that ``order_key`` names; None: as in the original. What is ``private`` can be
    read by its owner alone.
    """
    from sfumato.data.present import as_published
    from sfumato.data.schema_file import schema_text
    from sfumato.project.tables import INTERNAL, RANDOM, save_note

    out = protected.only(names)
    order = None if order_key is None else RandomOrder(seed, order_key)
    schema = INTERNAL + schema_text(as_published(out.schema, partial(_codes, out)))
    write_in_random_order(out, path, order, private=private)
    told = {
        "records": len(out),
        "made_from": {"file": source.name, "fingerprint": original.fingerprint, "records": len(original)},
        "method": repr(method) if method is not None else None,
        "seed": seed,
        "order": "as in the original" if order is None else RANDOM,
        "order_key": order_key,
        "left_out": left_out,
        "notes": [*out.parts[0].notes, *notes],
        "figures": figures,
        **({"key": key} if key else {}),
    }
    return save_note(path, note, told, schema)


def _codes(table: TableInParts, variable: "Variable") -> "NDArray[np.int32]":
    """Return the codes of the categories that some record of a table has."""
    found = Half.of(table).total(partial(category_weights, variable.name, len(variable.categories)))
    return np.flatnonzero(found["records"]).astype(np.int32)
