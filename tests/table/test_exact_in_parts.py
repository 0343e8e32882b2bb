"""What is not masked comes back bit for bit from a table in parts too: part by part, in random order, from text."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import Engine, Noise, RankSwapping, Schema, TableInParts, Variable, read, scan
from sfumato.compare.work import protected_parts
from sfumato.pair.random_order import RandomOrder, write_in_random_order

RECORDS, CUT = 40, 25
NUMBERS = range(RECORDS)
NAN = float("nan")
COLUMNS = {
    "wide whole": pa.array([Decimal(12345678901234567891 + i) for i in NUMBERS], pa.decimal128(20, 0)),
    "wide": pa.array([Decimal(f"123456789012345678{i}.25") for i in NUMBERS], pa.decimal128(30, 2)),
    "wide later": pa.array([Decimal(f"{i}.5") if i < CUT else Decimal(10**18 + i) / 4 for i in NUMBERS]),
    "very wide": pa.array([Decimal(f"1234567890123456789{i}.5") for i in NUMBERS], pa.decimal256(50, 3)),
    "deep": pa.array([Decimal(f"0.1234567890123456{i:02d}") for i in NUMBERS], pa.decimal128(38, 18)),
    "short": pa.array([Decimal(f"{i}.07") for i in NUMBERS], pa.decimal128(9, 2)),
    "not a number": pa.array([NAN, None, 1.5, 2.0] * (RECORDS // 4)),
    "not a number later": pa.array([0.5] * CUT + [NAN, None, -0.0] * 5),
    "half": pa.array(np.append(np.arange(RECORDS - 1) / 7, np.nan).astype("f2")),
    "signed": pa.array([-0.0, 0.0] * (RECORDS // 2)),
    "whole": pa.array([2**53 + i for i in NUMBERS]),
}
TABLE = pa.table({"number": list(NUMBERS), "masked": np.arange(RECORDS) * 1.5, **COLUMNS})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableInParts]:
    folder = tmp_path_factory.mktemp("register")
    pq.write_table(TABLE.slice(0, CUT), folder / "a.parquet")
    pq.write_table(TABLE.slice(CUT), folder / "b.parquet")
    with Engine("here"):
        yield scan(folder)


def told(column: Any) -> list[str]:
    """Return values in a form that tells NaN from missing, and a zero from minus zero."""
    return [repr(value) for value in column.to_pylist()]


def test_part_by_part(table: TableInParts, tmp_path: Path) -> None:
    Noise(0.2, variables=("masked",)).protect(table, rng=1, folder=tmp_path / "out")
    back = pq.read_table(tmp_path / "out")
    assert told(back["masked"]) != told(TABLE["masked"])
    for name in COLUMNS:
        assert back[name].type == TABLE[name].type and told(back[name]) == told(TABLE[name]), name


@pytest.mark.parametrize("order", [None, RandomOrder(2**40 + 7, "a release")])
def test_in_random_order(table: TableInParts, order: RandomOrder | None, tmp_path: Path) -> None:
    masked = protected_parts(Noise(0.2, variables=("masked",)), table, np.random.default_rng(5))
    write_in_random_order(masked, tmp_path / "out", order)
    back = pq.read_table(tmp_path / "out")
    where = np.argsort(back["number"].to_numpy())
    assert (order is None) == (where == np.arange(RECORDS)).all()
    for name in COLUMNS:
        assert back[name].type == TABLE[name].type and told(back[name].take(pa.array(where))) == told(TABLE[name]), name


def test_loaded_into_memory(table: TableInParts) -> None:
    for name, column in zip(TABLE.column_names, table.loaded().to_frame().columns, strict=True):
        assert told(column) == told(TABLE[name]), name


def test_a_code_for_missing_is_taken_out(tmp_path: Path) -> None:
    digits = [Decimal("0.123456789012345678"), Decimal(-9), Decimal("0.123456789012345679")]
    pq.write_table(
        pa.table({"x": pa.array(digits, pa.decimal128(38, 18)), "m": [1.0, 2.0, 4.0]}), tmp_path / "a.parquet"
    )
    table = scan(tmp_path / "a.parquet", Schema((Variable("x", kind="numeric", missing=("-9",)),)))
    Noise(0.2, variables=("m",)).protect(table, rng=1, folder=tmp_path / "out")
    assert pq.read_table(tmp_path / "out")["x"].to_pylist() == [digits[0], None, digits[2]]


def test_masked_decimals_beyond_what_a_float_holds_can_be_read_again(tmp_path: Path) -> None:
    pq.write_table(TABLE.select(["wide"]), tmp_path / "a.parquet", row_group_size=CUT)
    table = scan(tmp_path / "a.parquet", records=CUT)
    made = RankSwapping(0.5, variables=("wide",)).protect(table, rng=1, folder=tmp_path / "out")
    before, after = table.loaded().columns["wide"], made.loaded().columns["wide"]
    assert sorted(after) == sorted(before) and (after != before).any()


@pytest.mark.parametrize("sign", [".", ","])
@pytest.mark.parametrize(
    "cells",
    [
        ["123456789.123456789", "1.5", "", "+2", "-.25", "3."],
        ["0.1000000000000000055511151231257827", "0.30000000000000004", "1", "NA", " 2 ", "-0.5"],
        ["1.5", "2", "9007199254740991.0123456789012345678901", "4", "", "5"],
    ],
)
def test_text_with_more_digits_than_a_float_holds(cells: list[str], sign: str, tmp_path: Path) -> None:
    lines = [f"{cell.replace('.', sign)};{place}.5".replace(".", sign) for place, cell in enumerate(cells)]
    (tmp_path / "in.csv").write_text("x;m\n" + "\n".join(lines) + "\n")
    table = scan(tmp_path / "in.csv", records=2, folder=tmp_path / "copy")
    Noise(0.2, variables=("m",)).protect(table, rng=1, folder=tmp_path / "out")
    wanted = [None if cell in ("", "NA") else Decimal(cell.strip()) for cell in cells]
    assert pq.read_table(tmp_path / "out")["x"].to_pylist() == wanted
    memory = read(tmp_path / "in.csv")
    assert np.array_equal(table.loaded().columns["x"], memory.columns["x"], equal_nan=True)


def test_text_files_of_which_one_has_more_digits_are_of_one_type(tmp_path: Path) -> None:
    cells = {"a": ["1", "2"], "b": ["0.5", "NA"], "c": ["123456789.123456789", "4"]}
    for name, listed in cells.items():
        (tmp_path / f"{name}.csv").write_text("x;m\n" + "".join(f"{cell};{len(cell)}\n" for cell in listed))
    table = scan([tmp_path / f"{name}.csv" for name in cells], folder=tmp_path / "copy")
    for masked, kind in (("m", pa.decimal128(38, 9)), ("x", pa.float64())):
        Noise(0.2, variables=(masked,)).protect(table, rng=1, folder=tmp_path / masked)
        assert {pq.read_schema(file).field("x").type for file in (tmp_path / masked).iterdir()} == {kind}
    wanted = [Decimal(cell) if cell != "NA" else None for listed in cells.values() for cell in listed]
    assert pq.read_table(tmp_path / "m")["x"].to_pylist() == wanted


@pytest.mark.parametrize("cells", [["0.1", "0.30000000000000004"], ["1e-05", "123456789.123456789"], ["1e300", "0.5"]])
def test_text_that_floats_or_no_decimals_hold_is_read_as_floats(cells: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x\n" + "\n".join(cells) + "\n")
    scan(tmp_path / "in.csv", folder=tmp_path / "copy")
    assert pq.read_schema(tmp_path / "copy" / "in.parquet").field("x").type == pa.float64()
