"""Ids of a table in parts: what is delivered twice is refused, and the parts are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import DataError, Schema, TableInParts, Variable, scan
from sfumato.table import parts
from sfumato.table.formats.parquet import Place

SCHEMA = Schema((Variable("id", role="identifier"),), id="id")
TEXTS = Schema((Variable("id", kind="nominal", role="identifier"),), id="id")


def table(folder: Path, *ids: Any, schema: Schema | None = SCHEMA) -> TableInParts:
    """Scan a table of parts that have these ids."""
    folder.mkdir(exist_ok=True)
    for number, some in enumerate(ids):
        pq.write_table(pa.table({"id": some, "x": np.arange(len(some))}), folder / f"part-{number}.parquet")
    return scan(folder, schema)


@pytest.mark.parametrize("ids", [[3, 1, 9], [0.5, 7.0, 3.25], ["c", "a", "b"]])
def test_a_part_delivered_twice_is_refused_by_name(tmp_path: Path, ids: list[Any]) -> None:
    other = [type(ids[0])(value) * 2 for value in ids]
    schema = TEXTS if isinstance(ids[0], str) else SCHEMA
    with pytest.raises(DataError, match=r"part-0.parquet and \S+part-2.parquet hold the same ids in 'id'"):
        table(tmp_path / "ids", ids, [value * 100 for value in other], ids, schema=schema)
    assert len(table(tmp_path / "none", ids, ids, schema=None)) == 6  # without an id equal parts may be right


@pytest.mark.parametrize("ids", [([4, 1, 9], [5, 9, 2]), ([0.5, 9.0], [9.0, 0.25]), (["c", "a"], ["b", "c"])])
def test_ids_in_several_parts_are_refused(tmp_path: Path, ids: tuple[list[Any], list[Any]]) -> None:
    schema = TEXTS if isinstance(ids[0][0], str) else SCHEMA
    with pytest.raises(DataError, match=r"example (9|c) in \S+part-0.parquet and in \S+part-1.parquet"):
        table(tmp_path / "ids", *ids, schema=schema)


def test_a_protected_table_is_checked_as_the_original(tmp_path: Path) -> None:
    original = table(tmp_path / "before", [1, 2], [3, 4])
    folder = tmp_path / "after"
    table(folder, [1, 2], [2, 3], schema=None)
    with pytest.raises(DataError, match="must tell records apart"):
        scan(folder, beside=original)


def test_ids_are_read_only_if_nothing_else_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    real = parts._ids

    def noted(variable: Variable, place: Place) -> Any:
        read.append(place.path)
        return real(variable, place)

    monkeypatch.setattr(parts, "_ids", noted)
    assert len(table(tmp_path / "ranges", [3, 1, 2], [9, 7])) == 5
    assert len(table(tmp_path / "texts", ["d", "a"], ["c", "b"], schema=TEXTS)) == 4
    assert not read
    assert len(table(tmp_path / "across", [1, 9], [2, 8])) == 4
    assert len(read) == 2
    monkeypatch.setattr(parts, "MAX_IDS_AT_ONCE", 3)
    assert len(table(tmp_path / "long", [1, 9], [2, 9])) == 4  # told when records are matched by id
    assert len(read) == 2
