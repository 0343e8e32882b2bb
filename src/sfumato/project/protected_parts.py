"""Protected tables in parts: looked through, and put beside the original record by record, where anything tells how."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.data.parts import is_in_parts, scan
from sfumato.project.in_parts import executor
from sfumato.project.tables import made_of, order_of, order_told, schema_beside
from sfumato.project.tell import Tell, unheard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.data.parts import TableInParts


def place_of(path: Path) -> Path:
    """Return the folder of a table in parts, which its note is about; of one file the file."""
    return path.parent if is_in_parts(path) and not path.is_dir() else path


def scan_protected(
    path: Path, original: "TableInParts", schema: Path | None = None, tell: Tell = unheard
) -> "TableInParts":
    """Look through a protected table as its records stand, by the schema that was written with it, if there is one."""
    stated = schema or schema_beside(place_of(path), tell)
    if stated is not None:
        return scan(path, stated, executor=executor())
    return scan(path, beside=original, executor=executor())


def beside_original(
    protected: "TableInParts", path: Path, original: "TableInParts", tell: Tell = unheard
) -> "TableInParts":
    """Return a protected table of which record i is record i of the original, or one that matches none.

    A release of ours is put in order by its note. Otherwise records without an id are in place only if columns that
    were not touched agree row by row, for a release may stand in any order.
    """
    from sfumato.pair.matching import put_in_order
    from sfumato.pair.sampled import sampled
    from sfumato.restoration.of_parts import in_place

    key, place = original.schema.id, place_of(path)
    if len(protected) != len(original) or (key is not None and key == protected.schema.id):
        return protected
    order = _noted(path, len(protected), tell)
    placed = protected if order is None else put_in_order(protected, order, original.sizes)
    if made_of(place, original.fingerprint):
        return placed
    how = in_place(sampled(original), sampled(placed))
    named = [name for name in (key, original.schema.household) if name and name not in protected.schema.names]
    if how or (how is None and order is None and not named):
        return placed
    lacking = f"it has no {' and no '.join(map(repr, named))}, " if named else ""
    tell(
        f"{place.name} is not matched record by record: {lacking}its rows do not agree with those of the original, and "
        "no note tells which is which; give both tables an id, or of a release of ours put the note back that was "
        "written with it"
    )
    return protected.unmatched()


def _noted(path: Path, records: int, tell: Tell) -> "Iterable[NDArray[np.int64]] | None":
    """Return which record of the original each record of a release is, in stretches, by the note on it."""
    from sfumato.pair.random_order import RandomOrder

    if not is_in_parts(path):
        whole = order_of(path, records, tell)
        return None if whole is None else [whole.astype("int64")]
    found = order_told(place_of(path), tell)
    return None if found is None else RandomOrder(*found).records(records)
