"""What a protected file lists: its own values, names and labels, and nothing else of the original, in every format."""

import gzip
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from sfumato import PRAM, CARTSynthesis, LocalSuppression, Sampling, Schema, Variable, read, write
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing

RARE, WORDS, FILE, NOTE, TABLE = "Canaryville", "Canary words", "Canary survey", "Canary note", "CANARY"
N = 40
TOWNS = ["A town", "B town"] * (N // 2 - 1) + ["A town", RARE]
CODES = [1.0, 2.0] * (N // 2 - 1) + [1.0, 7.0]
ROWS = np.arange(N - 1)  # all records but the one that shows the rare values
FORMATS = ["csv", "csv.gz", "zip", "parquet", "xlsx", "sav", "zsav", "dta", "xpt"]


def original(tmp_path: Path, kind: str = "sav") -> Microdata:
    """A file with a rare value, a rare code that has a label, and texts of its own."""
    frame = pl.DataFrame({"town": TOWNS, "code": CODES, "x": [float(i % 9) for i in range(N)]})
    path = tmp_path / f"original.{kind}"
    labels: dict[str, Any] = {"code": {1: "one", 2: "two", 7: WORDS}}
    if kind == "sav":
        pyreadstat.write_sav(frame, path, file_label=FILE, note=[NOTE], variable_value_labels=labels)
    elif kind == "dta":
        pyreadstat.write_dta(frame, path, file_label=FILE, variable_value_labels=labels)
    else:
        pyreadstat.write_xport(frame, path, file_label=FILE, table_name=TABLE)
    schema = Schema((Variable("code", kind="nominal", role="key"), Variable("town", kind="nominal", role="key")))
    return read(path, schema)


def protected(data: Microdata) -> Iterator[tuple[str, Microdata]]:
    """Protect it in every way that takes values away."""
    taken = data.take(ROWS)
    yield "records taken", replace(taken, matched=False, drawn=ROWS, notes=("a sample",))
    yield "suppressed", LocalSuppression(2).protect(data, rng=1)
    yield "blanked", made_missing(data, {name: np.arange(N) == N - 1 for name in ("town", "code")})
    codes = {name: np.where(data.columns[name] == 2, 0, data.columns[name]) for name in ("town", "code")}
    yield "changed", data.replace({name: codes[name].astype(np.int32) for name in codes}, note="changed")


def everything(path: Path) -> str:
    """Return all text that a file holds, by readers that are not ours, and its bytes where it is not compressed."""
    name = path.name
    if name.endswith(".gz"):
        return gzip.decompress(path.read_bytes()).decode()
    if name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            return "".join(archive.namelist()) + "".join(archive.read(n).decode() for n in archive.namelist())
    if name.endswith(".xlsx"):
        with zipfile.ZipFile(path) as archive:
            return "".join(archive.read(n).decode("utf-8", "replace") for n in archive.namelist())
    if name.endswith(".parquet"):
        table = pq.read_table(path)
        kept = [c.combine_chunks().dictionary.to_pylist() for c in table.columns if pa.types.is_dictionary(c.type)]
        return str((table.to_pydict(), table.schema.metadata, kept))
    if name.endswith((".sav", ".zsav", ".dta", ".xpt")):
        readers: dict[str, Any] = {"dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}
        reader = readers.get(name.rpartition(".")[2], pyreadstat.read_sav)
        frame, meta = reader(path)
        told = {field: getattr(meta, field) for field in vars(meta)}
        return str((frame.to_dict(), told)) + path.read_bytes().decode("latin-1")
    return path.read_text()


@pytest.mark.parametrize("came", ["sav", "dta", "xpt"])
@pytest.mark.parametrize("kind", FORMATS)
def test_no_file_tells_what_no_record_has(kind: str, came: str, tmp_path: Path) -> None:
    data = original(tmp_path, came)
    for way, table in protected(data):
        out = tmp_path / f"{way.replace(' ', '-')}.{kind}"
        write(table, out)
        held = everything(out)
        for secret in (RARE, WORDS, FILE, NOTE, TABLE):
            assert secret not in held, (way, secret)
        back = read(out)
        assert len(back) == len(table)


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_file_that_was_not_protected_keeps_what_it_had(kind: str, tmp_path: Path) -> None:
    write(original(tmp_path, kind), tmp_path / f"copy.{kind}")
    held = everything(tmp_path / f"copy.{kind}")
    assert RARE in held and WORDS in held and FILE in held


def test_labels_of_values_that_are_there_stay(tmp_path: Path) -> None:
    table = dict(protected(original(tmp_path)))["blanked"]
    write(table, tmp_path / "out.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "out.sav")
    assert meta.variable_value_labels["code"] == {1.0: "one", 2.0: "two"}


def test_text_is_as_wide_as_what_is_left_of_it(tmp_path: Path) -> None:
    table = dict(protected(original(tmp_path)))["blanked"]
    write(table, tmp_path / "out.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "out.sav")
    assert meta.variable_storage_width["town"] <= 8  # "A town" has six characters, and widths go by eights


def frames() -> dict[str, Any]:
    return {
        "pandas": pd.DataFrame({"town": pd.Categorical(TOWNS), "x": np.arange(N) % 9}),
        "polars": pl.DataFrame({"town": pl.Series(TOWNS, dtype=pl.Enum(["A town", "B town", RARE])), "x": range(N)}),
        "pyarrow": pa.table({"town": pa.array(TOWNS).dictionary_encode(), "x": pa.array(range(N))}),
    }


def listed(frame: Any) -> list[Any]:
    if isinstance(frame, pd.DataFrame):
        return list(frame["town"].cat.categories)
    if isinstance(frame, pl.DataFrame):
        return pl.Series(frame["town"].dtype.categories).to_list()  # type: ignore[attr-defined]
    kept: list[Any] = frame["town"].combine_chunks().dictionary.to_pylist()
    return kept


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frames_type_lists_what_some_record_has(kind: str) -> None:
    frame = frames()[kind]
    methods = [Sampling(0.5), PRAM(0.5), CARTSynthesis()]
    checked = 0
    for method in methods:
        for seed in range(4):
            back = method.protect(frame, rng=seed)
            there = set(back["town"].to_list() if kind != "pyarrow" else back["town"].to_pylist())
            assert set(listed(back)) == there - {None}, method
            checked += RARE not in there
    assert checked


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_column_that_no_method_touched_keeps_its_list(kind: str) -> None:
    frame = frames()[kind]
    data = Microdata.from_frame(frame)
    kept = listed(data.replace({"x": data.columns["x"] + 1}).to_frame())
    assert kept == ["A town", "B town", RARE]
