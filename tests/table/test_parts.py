"""Tables in parts: what all parts have in common, and refusals that name the part."""

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato import DataError, FileError, Microdata, ParameterError, Schema, SchemaError, Variable, scan
from sfumato.table.formats import parquet
from sfumato.table.formats.parquet import ParquetColumns
from tables import persons


def written(folder: Path, *tables: Any, row_group: int | None = None) -> Path:
    """Write tables as the Parquet files of a folder."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{number:02d}.parquet", row_group_size=row_group)
    return folder


def in_files(folder: Path, data: Microdata, number: int) -> Path:
    """Write a table cut into so many files."""
    rows = np.array_split(np.arange(len(data)), number)
    return written(folder, *(data.take(each).to_arrow() for each in rows))


def same(one: Microdata, two: Microdata) -> None:
    assert one.schema == two.schema
    for name in one.names:
        assert np.array_equal(one.columns[name], two.columns[name], equal_nan=one.columns[name].dtype.kind == "f"), name


@pytest.mark.parametrize("number", [1, 3, 17])
def test_parts_are_the_table(tmp_path: Path, number: int) -> None:
    data = persons(200)
    schema = Schema(
        tuple(replace(v, categories=() if v.kind == "nominal" else v.categories) for v in data.schema),
        weight="weight",
        household="household",
        id="id",
    )
    table = scan(in_files(tmp_path / "files", data, number), schema)
    assert len(table) == 200 and len(table.parts) == number
    same(table.loaded(), Microdata.from_frame(data.to_arrow(), schema))


def test_row_groups_are_put_together_to_parts(tmp_path: Path) -> None:
    folder = written(tmp_path / "files", pa.table({"x": np.arange(25.0)}), row_group=5)
    table = scan(folder / "*.parquet", records=12)
    assert table.sizes == (10, 10, 5)
    assert table.loaded().columns["x"].tolist() == list(range(25))
    assert scan(folder, records=3).sizes == (5,) * 5  # a row group is not cut


def test_categories_of_all_parts(tmp_path: Path) -> None:
    table = scan(written(tmp_path / "a", pa.table({"t": ["b", None, "d"]}), pa.table({"t": ["c", "a", "b"]})))
    assert table.schema["t"].categories == ("a", "b", "c", "d")
    assert [part.columns["t"].tolist() for part in table.parts] == [[1, -1, 3], [2, 0, 1]]


def test_a_part_without_values_agrees_with_any_kind(tmp_path: Path) -> None:
    empty = pa.table({"t": pa.nulls(2), "x": pa.nulls(2)})
    table = scan(written(tmp_path / "a", empty, pa.table({"t": ["u", "v"], "x": [1.5, 2.0]})))
    assert table.schema["t"].kind == "nominal" and table.schema["x"].kind == "numeric"
    assert table.parts[0].columns["t"].tolist() == [-1, -1]
    assert np.isnan(table.parts[0].columns["x"]).all()


def test_ordered_categories_and_dates(tmp_path: Path) -> None:
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), ["low", "high"], ordered=True)
    days = pa.array([0, 365], pa.date32())
    table = scan(written(tmp_path / "a", *[pa.table({"o": ordered, "d": days})] * 2))
    assert table.schema["o"].kind == "ordinal" and table.schema["o"].categories == ("low", "high")
    assert table.schema["d"].kind == "date" and table.parts[1].columns["d"].tolist() == [0.0, 365.0]
    other = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), ["high", "low"], ordered=True)
    with pytest.raises(SchemaError, match=r"part-01.*'o' has other ordered categories.*part-00"):
        scan(written(tmp_path / "b", pa.table({"o": ordered}), pa.table({"o": other})))


def refused(tmp_path: Path, one: Any, two: Any, match: str, schema: Schema | None = None) -> None:
    with pytest.raises(DataError, match=match):
        scan(written(tmp_path / "odd", one, two), schema)


def test_the_part_that_disagrees_is_named(tmp_path: Path) -> None:
    numbers, text = pa.table({"x": [1.0, 2.0]}), pa.table({"x": ["a", "b"]})
    refused(tmp_path, numbers, text, r"part-01\.parquet: variable 'x' is nominal.*numeric in .*part-00")
    refused(tmp_path, numbers, pa.table({"y": [1.0]}), r"part-01.*does not go with .*part-00.*differ in x, y")
    both = pa.table({"x": [1.0], "y": [2.0]})
    refused(tmp_path, both, both.select(["y", "x"]), "another order")
    stated = Schema((Variable("x", kind="nominal", categories=("a", "b")),))
    refused(tmp_path, text, pa.table({"x": ["a", "z"]}), r"part-01.*row 2 holds 'z'", stated)
    refused(tmp_path, text, pa.table({"x": [1, 2]}), "values of another type", Schema((Variable("x", kind="nominal"),)))
    slip = Schema((Variable("x"),))
    refused(tmp_path, pa.table({"x": ["1", "2"]}), pa.table({"x": ["3", "4o"]}), r"part-01.*row 2 .*'4o'", slip)


def test_weights_and_ids_are_checked_part_by_part(tmp_path: Path) -> None:
    good = pa.table({"w": [1.0, 0.0], "i": [1, 2]})
    weighted = Schema(weight="w", id="i")
    assert len(scan(written(tmp_path / "good", good, pa.table({"w": [0.0, 0.0], "i": [3, 4]})), weighted)) == 4
    refused(tmp_path, good, pa.table({"w": [1.0, -2.0], "i": [3, 4]}), r"part-01.*weight 'w' is negative", weighted)
    refused(tmp_path, good, pa.table({"w": [1.0, 2.0], "i": [3, 3]}), r"part-01.*id 'i' must tell", weighted)
    nothing = pa.table({"w": [0.0, 0.0], "i": [1, 2]})
    refused(tmp_path, nothing, pa.table({"w": [0.0], "i": [3]}), "zero in every record", weighted)
    with pytest.raises(SchemaError, match="names 'v', which the table does not have"):
        scan(tmp_path / "good", Schema(weight="v"))


def test_whole_numbers_beyond_floats(tmp_path: Path) -> None:
    wide = pa.table({"x": [2**60, 2**60 + 1]})
    table = scan(written(tmp_path / "wide", wide, wide))
    assert table.schema["x"].categories == (2**60, 2**60 + 1)
    refused(tmp_path, pa.table({"x": [1, 2]}), wide, r"part-01.*'x' is nominal.*state its kind")


def test_a_protected_table_beside_its_original(tmp_path: Path) -> None:
    before = scan(
        written(
            tmp_path / "a", pa.table({"age": [20.0, 30.0], "t": ["u", "v"]}), pa.table({"age": [40.0], "t": ["w"]})
        ),
        Schema((Variable("age", role="key"), Variable("t", kind="nominal", role="key"))),
    )
    banded = pa.table({"age": ["20-29", "30-39"], "t": ["u", "z"]}), pa.table({"age": ["40-49"], "t": ["w"]})
    after = scan(written(tmp_path / "b", *banded), beside=before)
    whole = Microdata.beside(before.loaded(), pa.concat_tables(banded))
    same(after.loaded(), whole)
    assert after.schema["t"].role == "key" and after.schema["t"].categories == ("u", "v", "w", "z")
    assert after.schema["age"].kind == "nominal"


def test_a_part_that_changed_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", pa.table({"x": [1.0, 2.0]}), pa.table({"x": [3.0, 4.0]}))
    table = scan(folder)
    file = folder / "part-01.parquet"
    os.utime(file, ns=(1, 1))  # touched, not changed
    assert table.parts[1].columns["x"].tolist() == [3.0, 4.0]
    pq.write_table(pa.table({"x": [3.0, 5.0]}), file)
    with pytest.raises(FileError, match=r"part-01\.parquet has changed"):
        table.parts[1].columns["x"]
    file.unlink()
    with pytest.raises(FileError, match="no such file"):
        table.parts[1].columns["x"]


def test_a_part_that_was_rewritten_in_the_same_size_and_time_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", pa.table({"x": [1.0, 2.0]}))
    table, file = scan(folder), folder / "part-00.parquet"
    state = file.stat()
    pq.write_table(pa.table({"x": [3.0, 2.0]}), file)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))  # as rsync and cp -p leave it
    assert file.stat().st_size == state.st_size
    with pytest.raises(FileError, match="has changed"):
        table.parts[0].columns["x"]


def test_a_part_that_was_touched_is_digested_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / "a", pa.table({f"x{number}": [1.0, 2.0] for number in range(20)}))
    table = scan(folder)
    os.utime(folder / "part-00.parquet", ns=(1, 1))
    digested: list[Path] = []
    digests = parquet.digests

    def counted(path: Path, groups: tuple[int, ...]) -> dict[str, str]:
        digested.append(path)
        return digests(path, groups)

    monkeypatch.setattr(parquet, "digests", counted)
    assert all(table.parts[0].columns[f"x{number}"].tolist() == [1.0, 2.0] for number in range(20))
    assert len(digested) == 1


def test_a_truncated_part_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", pa.table({"x": np.arange(1000.0)}), pa.table({"x": np.arange(1000.0)}))
    file = folder / "part-01.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    with pytest.raises(FileError, match=r"part-01\.parquet is a truncated Parquet file"):
        scan(folder)
    file.write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        scan(folder)
    file.write_bytes(b"no parquet at all")
    with pytest.raises(FileError, match="cannot be read"):
        scan(folder)


def test_a_part_goes_to_another_process_as_a_place(tmp_path: Path) -> None:
    table = scan(written(tmp_path / "a", pa.table({"x": np.arange(50_000.0)}), pa.table({"x": np.arange(3.0)})))
    sent = pickle.dumps(table.parts[0])
    assert len(sent) < 5000
    back = pickle.loads(sent)
    assert isinstance(back.columns, ParquetColumns) and back.fingerprint == table.parts[0].fingerprint
    assert back.columns["x"].tolist() == list(range(50_000))
    assert back.take(np.array([7, 3])).columns["x"].tolist() == [7.0, 3.0]


def test_what_cannot_be_scanned(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"part-00.*variable 'x' holds values of type list"):
        scan(written(tmp_path / "lists", pa.table({"x": [[1, 2], [3]]})))
    with pytest.raises(FileError, match="no file is called"):
        scan(tmp_path / "none" / "*.parquet")
    with pytest.raises(FileError, match="holds no Parquet files"):
        scan(tmp_path)
    with pytest.raises(ParameterError, match="records must be"):
        scan(tmp_path, records=0)
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(FileError, match="cannot be read in parts"):
        scan(tmp_path / "a.xlsx")


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_text_is_converted_as_it_is_read(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.table.formats import delimited_stream as streaming

    monkeypatch.setattr(streaming, "BLOCK", 200)  # many blocks of few records
    rows = [f'{i};{"NA" if i % 7 == 0 else i / 4};{"007" if i == 90 else i};"a;{i % 3}"' for i in range(100)]
    file = tmp_path / f"register.csv{ending}"
    content = ("n;x;code;t\n" + "\n".join(rows) + "\n").encode()
    if ending:
        import gzip

        content = gzip.compress(content)
    file.write_bytes(content)
    table = scan(file, records=30, folder=tmp_path / "work")
    assert table.sizes == (30, 30, 30, 10)
    same(table.loaded(), sfumato.read(file))
    assert (tmp_path / "work" / "register.parquet").stat().st_mode & 0o077 == 0
    assert (tmp_path / "work").stat().st_mode & 0o077 == 0


def test_text_with_decimal_commas(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x;y\n1,5;2\n2,25;3\n")
    assert scan(file).loaded().columns["x"].tolist() == [1.5, 2.25]
    file.write_text("x;y\n1;2\n2;3;4\n")
    with pytest.raises(FileError, match=r"a\.csv cannot be read"):
        scan(file)


def test_tables_in_other_parts_are_cut_alike(tmp_path: Path) -> None:
    from sfumato.pair import Pair

    data = persons(100).without(["id"])
    masked = sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)
    one = scan(in_files(tmp_path / "one", data, 3), data.schema)
    two = scan(in_files(tmp_path / "two", masked, 4), masked.schema)
    pair = Pair.of(one, two)
    assert [len(part) for part in pair.original.parts] == [25, 9, 16, 17, 8, 25]  # ends at 25, 34, 50, 67, 75, 100
    assert pair.matched
    for half, table in ((pair.original, data), (pair.protected, masked)):
        np.testing.assert_array_equal(half.column("income"), table.columns["income"])
    measure = sfumato.InformationLoss()
    assert measure.evaluate(one, two).value == pytest.approx(measure.evaluate(data, masked).value, rel=1e-12)


def test_weights_that_cannot_weigh_are_refused_in_a_part_that_weighs_nothing(tmp_path: Path) -> None:
    weighs = pa.table({"x": [1.0, 2.0], "w": [10.0, 20.0]})
    for bad in (-25.0, None):
        folder = written(tmp_path / f"{bad}", weighs, pa.table({"x": [3.0, 4.0], "w": [0.0, bad]}))
        with pytest.raises(DataError, match=r"part-01.*negative or missing in 1 record \(first in row 2\)"):
            scan(folder, Schema((), weight="w"))
    folder = written(tmp_path / "none", weighs, pa.table({"x": [3.0, 4.0], "w": [0.0, 0.0]}))
    assert scan(folder, Schema((), weight="w")).sizes == (2, 2)


def test_a_table_in_memory_is_a_table_of_one_part() -> None:
    data = Microdata.from_frame(pa.table({"a": [1, 2, 3]}))
    assert data.parts == (data,) and data.sizes == (3,)
