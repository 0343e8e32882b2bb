"""Odd encodings, delimiters, names, paths and column types: refused by Sfumato, in its own words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.errors import SfumatoError
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Variable

HALF = "x\ud800"  # half of a surrogate pair, which no file can hold


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n3,z\n")
    return path


@pytest.mark.parametrize(
    "options",
    [
        *({"encoding": one} for one in ("base64", "hex", "punycode", "undefined", "a\0b", HALF, "", "no such", 5)),
        *({"delimiter": one} for one in ("\0", "§", "é", HALF, "", "ab", 5)),
        {"missing": [HALF]},
        {"table": HALF},
    ],
    ids=str,
)
def test_an_odd_option_is_refused(table: Path, options: dict[str, Any]) -> None:
    with pytest.raises(SfumatoError):
        read(table, **options)


@pytest.mark.parametrize("path", ["/no\0where.csv", f"/{HALF}.csv", None, 5, b"t.csv"], ids=repr)
def test_an_odd_path_is_refused(table: Path, path: Any) -> None:
    with pytest.raises(SfumatoError):
        read(path)
    with pytest.raises(SfumatoError):
        write(read(table), path)


def bad_utf8() -> Any:
    offsets = pa.py_buffer(np.array([0, 2], np.int32))
    return pa.table({"a": pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])})


@pytest.mark.parametrize(
    "make",
    [
        lambda: pa.table({"m": pa.array([(1, 2, 3)], pa.month_day_nano_interval())}),
        bad_utf8,
        lambda: pd.DataFrame({"a": pd.Series([HALF, "y"], dtype=object)}),
        lambda: pd.DataFrame([["x"], ["y"]], columns=pd.Index([HALF], dtype=object)),
        lambda: pd.DataFrame({"a": [1j, 2j]}),
        lambda: pa.table({}),
    ],
    ids=["month interval", "bad utf-8", "half a pair", "in a name", "complex", "no columns"],
)
def test_an_odd_column_is_refused(make: Callable[[], Any]) -> None:
    frame = make()
    with pytest.raises(SfumatoError):
        Microdata.from_frame(frame).to_frame()


def test_views_are_read() -> None:
    found = Microdata.from_frame(pa.table({"a": pa.array([b"x", b"y"], pa.binary_view()), "b": [1, 2]}))
    assert found.schema["a"].kind == "nominal" and len(found) == 2


@pytest.mark.parametrize("field", ["name", "label"])
def test_a_name_or_label_that_no_file_can_hold_is_refused(field: str) -> None:
    with pytest.raises(SfumatoError, match="no file can hold"):
        Variable(**{"name": "x", field: HALF})  # type: ignore[arg-type]
