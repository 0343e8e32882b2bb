"""Sorting beyond memory: numpy's stable order, whatever the values, the parts and the memory; no file is left."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanned import scanned
from sfumato import Engine, FileError, Microdata, Schema, Variable
from sfumato.pair import Half, sorting
from sfumato.pair.files import NumbersInFile, Workspace
from sfumato.pair.sorting import Runs, by_record, sorted_column, ties

A_RECORD = sorting.SHARE * sorting.BYTES  # bytes of memory for each record that is sorted at a time

FEW = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, 2.0, 1e300, np.inf, np.nan])
ANY = st.floats(allow_nan=True, allow_infinity=True)
TABLES = st.lists(st.lists(st.one_of(FEW, ANY), max_size=60), min_size=1, max_size=8)


def room(folder: Path, records: int) -> Workspace:
    return Workspace(records * A_RECORD, folder)


def by_numpy(parts: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The values present in ascending order, and the numbers of their records."""
    whole = np.array([value for part in parts for value in part], dtype=np.float64)
    order = np.argsort(whole, kind="stable")[: np.count_nonzero(~np.isnan(whole))]
    return whole[order], order


@settings(max_examples=80, deadline=None)
@given(parts=TABLES, most=st.integers(1, 80), carrying=st.booleans())
def test_runs_are_merged_to_the_stable_order(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[float]], most: int, carrying: bool
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    total = sum(map(len, parts))
    runs = Runs(room(folder, most), "x", total, np.int64 if carrying else None)
    first = 0
    for part in parts:
        runs.add(np.array(part, dtype=np.float64), np.arange(first, first + len(part)) if carrying else None)
        first += len(part)
    values, order = by_numpy(parts)
    assert len(runs) == len(values) and runs.missing == total - len(values)
    for _ in range(2):  # merged as often as one likes
        pieces = list(runs.merged())
        found = np.concatenate([piece for piece, _ in pieces] or [np.empty(0)])
        np.testing.assert_array_equal(found, values)
        if carrying:
            along = np.concatenate([beside for _, beside in pieces if beside is not None] or [np.empty(0, int)])
            np.testing.assert_array_equal(along, order)
        else:
            assert all(beside is None for _, beside in pieces)
        # a range holds what memory does, or, of many runs in little memory, a step of each
        assert max((len(piece) for piece, _ in pieces), default=0) <= max(most, runs._step * (len(runs._marks) + 1))
    assert not any(folder.iterdir())


def test_pieces_fit_into_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.lognormal(size=60_000), np.full(30_000, 1.0), np.arange(10_000) / 1e4])
    rng.shuffle(values)
    runs = Runs(room(tmp_path, 9_000), "x", len(values), np.int64)
    for rows in np.array_split(np.arange(len(values)), 7):
        runs.add(values[rows], rows)
    pieces = list(runs.merged())
    assert max(len(piece) for piece, _ in pieces) <= 9_000
    assert len(pieces) < 60  # and no range is cut finer than need be
    np.testing.assert_array_equal(np.concatenate([piece for piece, _ in pieces]), np.sort(values))
    order = np.concatenate([beside for _, beside in pieces])
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))


@settings(max_examples=40, deadline=None)
@given(parts=TABLES, most=st.integers(1, 80))
def test_ties_are_counted_over_pieces(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[float]], most: int
) -> None:
    runs = Runs(room(tmp_path_factory.mktemp("runs"), most), "x", sum(map(len, parts)), np.int64)
    first = 0
    for part in parts:
        runs.add(np.array(part, dtype=np.float64), np.arange(first, first + len(part)))
        first += len(part)
    found = list(ties(runs.merged(), lambda numbers: np.column_stack([numbers, numbers % 2])))
    ordered, order = by_numpy(parts)
    values, counts = np.unique(ordered, return_counts=True)
    assert [value for some in found for value in some.values] == values.tolist()
    assert [count for some in found for count in some.counts] == counts.tolist()
    expected = [[order[ordered == value].sum(), (order[ordered == value] % 2).sum()] for value in values]
    assert [row for some in found for row in some.sums.tolist()] == expected


@settings(max_examples=60, deadline=None)
@given(data=st.data(), records=st.integers(1, 120), most=st.integers(1, 50))
def test_what_is_told_in_any_order_comes_back_in_that_of_records(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, records: int, most: int
) -> None:
    folder = tmp_path_factory.mktemp("records")
    told = data.draw(st.lists(st.integers(0, records - 1), unique=True), label="told")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(told)), max_size=5), label="cuts"))
    pieces = [(piece, piece * 0.5) for piece in np.split(np.array(told, dtype=np.int64), cuts)]
    found = list(by_record(pieces, records, np.array([-1.0]), room(folder, most), "x"))
    assert max(map(len, found)) <= most
    expected = [number * 0.5 if number in told else -1.0 for number in range(records)]
    assert np.concatenate(found).tolist() == expected
    assert not any(folder.iterdir())


def table(**columns: Any) -> Microdata:
    variables = [Variable(name, kind="numeric") for name in columns]
    return Microdata(Schema(tuple(variables)), {name: np.asarray(values) for name, values in columns.items()})


@pytest.mark.parametrize("number", [1, 4])
def test_a_variable_of_a_table_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(sorting, "SHARE", 64 * 2**20 // sorting.BYTES // 50)  # of 64 MiB: fifty records at a time
    rng = np.random.default_rng(5)
    income = np.round(rng.lognormal(size=1000), 2)
    income[rng.random(1000) < 0.1] = np.nan
    parts = scanned(table(income=income), tmp_path / "table", number)
    with Engine("here", memory="64 MiB", folder=tmp_path / "work"):
        found = sorted_column(Half.of(parts), "income")
        values, records = (np.concatenate(side) for side in zip(*found.pieces(), strict=True))
        order = np.argsort(income, kind="stable")[: len(found)]
        np.testing.assert_array_equal(records, order)
        np.testing.assert_array_equal(values, income[order])
        np.testing.assert_array_equal(found.values.mapped(), income[order])
        assert max(len(piece) for piece, _ in found.pieces()) <= 50
        assert found.missing == np.isnan(income).sum()
        counted = np.concatenate([counts for _, counts in found.counts()])
        np.testing.assert_array_equal(counted, np.unique(values, return_counts=True)[1])
        # the place of each value in the order, given back to the records
        ranks = np.concatenate(list(found.by_record(iter(np.array_split(np.arange(len(found)) * 1.0, 13)))))
        expected = np.full(1000, np.nan)
        expected[order] = np.arange(len(found))
        np.testing.assert_array_equal(ranks, expected)
        found.close()
        assert not [file for file in (tmp_path / "work").rglob("*") if file.is_file()]


def test_categories_are_sorted_by_their_codes(tmp_path: Path) -> None:
    data = Microdata(
        Schema((Variable("size", kind="ordinal", categories=("s", "m", "l")),)),
        {"size": np.array([2, 0, -1, 1, 0], dtype=np.int32)},
    )
    with Engine("here", memory="64 MiB", folder=tmp_path):
        ((values, records),) = sorted_column(Half.of(data), "size").pieces()
    assert values.tolist() == [0, 0, 1, 2] and records.tolist() == [1, 4, 3, 0]


def test_a_full_disk_is_said_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = scanned(table(x=np.arange(100.0)), tmp_path / "table", 2)

    def full(**_: Any) -> Any:
        return Path("/dev/full").open("r+b", buffering=0)  # whatever is written to it finds no space

    with Engine("here", memory="64 MiB", folder=tmp_path / "work"):
        monkeypatch.setattr(tempfile, "TemporaryFile", full)
        with pytest.raises(FileError, match=r"variable 'x' in order cannot be put into .*: the disk is full"):
            sorted_column(Half.of(parts), "x")
        assert not [file for file in (tmp_path / "work").rglob("*") if file.is_file()]


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"x cannot be put into .*: there is no such file or folder"):
        NumbersInFile(tmp_path / "gone", np.float64, "x")


def test_numbers_are_read_as_they_were_written(tmp_path: Path) -> None:
    numbers = NumbersInFile(tmp_path, np.int64, "x")
    assert not len(numbers.mapped()) and not len(numbers.read(0, 3))
    numbers.append(np.arange(3))
    numbers.write(5, np.array([9]))  # places that were left out hold zeros
    numbers.append(np.empty(0, dtype=np.int64))
    assert numbers.read(1, 99).tolist() == [1, 2, 0, 0, 9] == numbers.mapped()[1:].tolist()
    assert len(numbers) == 6
    numbers._file.truncate(20)
    with pytest.raises(FileError, match="is shorter than what was written to it"):
        numbers.read(0, 6)
