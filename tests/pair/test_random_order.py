"""A table in parts in random order: the same records, and neither file nor place tells where they stood."""

import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from register import register
from scanned import scanned
from sfumato import Engine, Microdata, TableInParts
from sfumato.compare.work import protected_parts
from sfumato.errors import FileError
from sfumato.pair import random_order
from sfumato.pair.random_order import RandomOrder, write_in_random_order
from sfumato.table.formats import parquet

ORDER = RandomOrder(2**40 + 7, "a release")


@pytest.fixture
def survey() -> Microdata:
    return register(600)


def masked(table: TableInParts) -> TableInParts:
    method = sfumato.GlobalRecoding(bins={"age": 20}) + sfumato.Noise(0.1, variables=("wealth",))
    return protected_parts(method, table, np.random.default_rng(5))


def written(table: TableInParts, folder: Path, files: int, monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    monkeypatch.setattr(random_order, "RECORDS", -(-len(table) // files))
    with Engine("here"):
        write_in_random_order(masked(table), folder, ORDER)
    return [pq.read_table(file) for file in sorted(folder.iterdir())]


def test_the_same_records_whatever_the_cut(survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = [scanned(survey, tmp_path / f"cut {parts}", parts) for parts in (2, 7)]
    one, other = (written(cut, tmp_path / f"out {cut.sizes[0]}", 3, monkeypatch) for cut in cuts)
    assert len(one) == 3 and all(a.equals(b) for a, b in zip(one, other, strict=True))
    whole = pa.concat_tables(one)
    with Engine("here"):
        there = pa.table(dict(zip(survey.names, masked(cuts[0]).loaded().to_arrow().columns, strict=True)))
    order = np.argsort(ORDER.draws(0, len(survey)), kind="stable")
    for name in survey.names:  # all records, each whole, in the order of their draws
        assert whole[name].to_pylist() == there[name].take(pa.array(order)).to_pylist(), name


def test_places_are_those_in_the_file() -> None:
    rows = np.sort(np.random.default_rng(1).choice(5_000, 300, replace=False))
    order = np.argsort(ORDER.draws(0, 5_000))
    assert (order[ORDER.places(rows, 5_000)] == rows).all()


def test_neither_file_nor_place_tells_the_order(
    survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a record, here its id, is independent of its place and of its file: correlations of chance."""
    files = written(scanned(survey, tmp_path / "parts", 4), tmp_path / "out", 4, monkeypatch)
    ids = pa.concat_tables(files)["person"].to_numpy()
    n = len(ids)
    rank, place = np.argsort(np.argsort(ids)), np.arange(n)
    assert abs(np.corrcoef(rank, place)[0, 1]) < 4 / np.sqrt(n)
    assert abs(np.corrcoef(rank[1:], rank[:-1])[0, 1]) < 4 / np.sqrt(n)
    quarter = np.repeat(np.arange(4), [len(file) for file in files])
    counts = np.histogram2d(rank * 4 // n, quarter, bins=4)[0]
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / n
    assert ((counts - expected) ** 2 / expected).sum() < 27.9  # chi-squared of 9 degrees: once in a thousand
    assert [len(file) for file in files] != [len(part) for part in np.array_split(place, 4)]


def test_files_hold_values_of_the_release_and_nothing_else(
    survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = written(scanned(survey, tmp_path / "parts", 4), tmp_path / "out", 3, monkeypatch)
    for path, table in zip(sorted((tmp_path / "out").iterdir()), files, strict=True):
        found = pq.ParquetFile(path)
        assert not set(found.metadata.metadata or {}) - {b"ARROW:schema"}
        assert found.metadata.num_row_groups == 1
        assert not any(pa.types.is_dictionary(kind) for kind in found.schema_arrow.types)
        for place in range(found.metadata.num_columns):
            told = found.metadata.row_group(0).column(place).statistics
            values = {v for v in table.column(place).to_pylist() if v is not None}
            if told is not None and told.has_min_max:
                assert {told.min, told.max} <= values
    assert len({tuple(table.schema.types) for table in files}) == 1


def test_a_column_whole_in_one_part_only_has_one_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    amounts = pa.table({"amount": np.arange(300), "group": ["a", "b", "c"] * 100})
    data = Microdata.from_frame(amounts)
    table = scanned(data, tmp_path / "parts", 3)
    halved = sfumato.Rounding(0.5)
    monkeypatch.setattr(random_order, "RECORDS", 100)
    with Engine("here"):
        noisy = protected_parts(sfumato.Noise(0.1) + halved, table, np.random.default_rng(3))
        write_in_random_order(noisy, tmp_path / "out", ORDER)
    types = {pq.read_schema(file).field("amount").type for file in (tmp_path / "out").iterdir()}
    assert types == {pa.float64()}


def test_a_folder_is_there_whole_or_not_at_all(
    survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, out = scanned(survey, tmp_path / "parts", 3), tmp_path / "place" / "out"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    seen: list[int] = []
    plain = parquet.write_parquet

    def looked(*given: object) -> None:
        seen.append(stat.S_IMODE(next(out.parent.glob(".out.*.part")).stat().st_mode))
        plain(*given)  # type: ignore[arg-type]

    with Engine("here"):
        with monkeypatch.context() as broken:
            broken.setattr(random_order, "write_parquet", full)
            with pytest.raises(FileError, match="the disk is full"):
                write_in_random_order(masked(table), out, ORDER)
        assert not list(out.parent.iterdir())
        monkeypatch.setattr(random_order, "write_parquet", looked)
        write_in_random_order(masked(table), out, ORDER)
        write_in_random_order(masked(table), out, ORDER)  # an earlier one is replaced
    assert set(seen) == {0o700}
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    beside = tmp_path / "beside"
    beside.touch()
    assert {file.stat().st_mode for file in out.iterdir()} == {beside.stat().st_mode}


def test_the_order_is_kept_if_asked_for(survey: Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = scanned(survey, tmp_path / "parts", 3)
    monkeypatch.setattr(random_order, "RECORDS", 500)
    with Engine("here"):
        write_in_random_order(table, tmp_path / "out", None)
    found = pa.concat_tables(pq.read_table(file) for file in sorted((tmp_path / "out").iterdir()))
    assert found["person"].to_pylist() == survey.columns["person"].tolist()
