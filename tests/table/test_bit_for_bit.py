"""What is not masked comes back bit for bit, whatever the frame or file and the type of its columns."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from sfumato.errors import DataError
from sfumato.methods import RankSwapping
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

LONG = ["12345678901234567891", "12345678901234567892", "12345678901234567893"]


def finite(width: Literal[16, 32, 64]) -> Any:
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


def whole(bits: int, *, signed: bool) -> Any:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def decimals(precision: int, scale: int) -> Any:
    most = 10**precision - 1
    return st.integers(-most, most).map(lambda digits: Decimal(f"{digits}e-{scale}"))


DAYS = st.dates(date(1800, 1, 1), date(2199, 12, 31))
MOMENTS = st.datetimes(datetime(1800, 1, 1), datetime(2199, 12, 31))
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
KINDS: list[tuple[pa.DataType, Any]] = [
    *((getattr(pa, f"int{bits}")(), whole(bits, signed=True)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), whole(bits, signed=False)) for bits in (8, 16, 32, 64)),
    (pa.float32(), finite(32)),
    (pa.float64(), finite(64)),
    (pa.decimal32(6, 2), decimals(6, 2)),
    (pa.decimal64(18, 0), decimals(18, 0)),
    (pa.decimal64(12, 4), decimals(12, 4)),
    (pa.decimal128(5, 2), decimals(5, 2)),
    (pa.decimal128(20, 0), decimals(20, 0)),
    (pa.decimal128(38, 18), decimals(38, 18)),
    (pa.decimal256(60, 8), decimals(60, 8)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
    (pa.date32(), DAYS),
    (pa.timestamp("s"), MOMENTS.map(lambda moment: moment.replace(microsecond=0))),
    (pa.timestamp("us"), MOMENTS),
    (pa.timestamp("ns"), st.integers(-(2**62), 2**62)),
    (pa.timestamp("us", "Europe/Ljubljana"), st.integers(-(2**50), 2**50)),
    (pa.duration("us"), st.timedeltas(timedelta(-9999), timedelta(9999))),
    (pa.time64("us"), st.times()),
    (pa.time32("s"), st.times().map(lambda time: time.replace(microsecond=0))),
    (pa.time64("ns"), st.integers(0, 86_399_999_999).map(lambda microseconds: 1000 * microseconds)),
    (pa.binary(), st.binary(max_size=4)),
    (pa.float16(), finite(16)),
    (pa.null(), st.none()),
    (pa.dictionary(pa.int8(), pa.string()), TEXT),
    (pa.dictionary(pa.int32(), pa.large_string()), TEXT),
    (pa.dictionary(pa.int32(), pa.int64()), whole(64, signed=True)),
    (pa.dictionary(pa.int16(), pa.string(), ordered=True), TEXT),
]


def can(do: Callable[[], Any]) -> bool:
    """Tell whether this pyarrow does something; 21 neither writes short decimals nor codes large text."""
    try:
        do()
    except pa.ArrowNotImplementedError:
        return False
    return True


def in_parquet(kind: pa.DataType) -> bool:
    return can(lambda: pq.write_table(pa.table({"x": pa.nulls(1, kind)}), pa.BufferOutputStream()))


KINDS = [(kind, values) for kind, values in KINDS if can(partial(pa.array, [None], kind))]


@st.composite
def tables(draw: Any, kinds: list[tuple[pa.DataType, Any]] = KINDS) -> pa.Table:
    records = draw(st.integers(1, 8))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    columns = {}
    for number, (kind, values) in enumerate(chosen):
        column = draw(st.lists(st.none() | values, min_size=records, max_size=records))
        columns[f"v{number}"] = pa.array(column, kind)
    return pa.table(columns)


@given(tables())
@settings(max_examples=300)
def test_arrow_tables_come_back(table: pa.Table) -> None:
    back = Microdata.from_frame(table).to_frame()
    assert back.schema.types == table.schema.types
    assert back.equals(table)


@given(tables())
@settings(max_examples=200)
def test_polars_tables_come_back(table: pa.Table) -> None:
    frame = pl.DataFrame(pl.from_arrow(table.select([n for n in table.column_names if _in_polars(table, n)])))
    if frame.width:
        assert_frame_equal(Microdata.from_frame(frame).to_frame(), frame, check_exact=True)


def _in_polars(table: pa.Table, name: str) -> bool:
    kind = table[name].type
    return not pa.types.is_decimal(kind) or pa.types.is_decimal128(kind)


@given(tables())
@settings(max_examples=200)
def test_pandas_tables_come_back(table: pa.Table) -> None:
    for frame in (table.to_pandas(date_as_object=False), table.to_pandas(types_mapper=pd.ArrowDtype)):
        pd.testing.assert_frame_equal(Microdata.from_frame(frame).to_frame(), frame, check_exact=True)


PARQUET = [(kind, values) for kind, values in KINDS if in_parquet(kind)]


@given(tables(PARQUET))
@settings(max_examples=100)
def test_parquet_files_come_back(tmp_path_factory: pytest.TempPathFactory, table: pa.Table) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    pq.write_table(table, folder / "in.parquet")
    write(read(folder / "in.parquet"), folder / "out.parquet")
    came = pq.read_table(folder / "in.parquet")
    assert pq.read_table(folder / "out.parquet").equals(came)


CELLS = st.one_of(
    st.integers(-(10**25), 10**25).map(str),
    st.integers(-(2**54), 2**54).map(str),
    finite(64).map(repr),
    decimals(25, 12).map(lambda number: format(number, "f")),
    decimals(6, 2).map(lambda number: format(number, "f")),
)


@given(st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=4))
@settings(max_examples=300)
def test_numbers_of_text_files_come_back(tmp_path_factory: pytest.TempPathFactory, columns: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("csv")
    lines = [";".join(f"v{i}" for i in range(len(columns))), *(";".join(cells) for cells in zip(*columns, strict=True))]
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    write(read(folder / "in.csv"), folder / "out.csv")
    back = [line.split(";") for line in (folder / "out.csv").read_text().splitlines()]
    assert back[0] == lines[0].split(";")
    for column, written in zip(columns, zip(*back[1:], strict=True), strict=True):
        assert [Decimal(cell) for cell in written] == [Decimal(cell) for cell in column]


LABELLED: list[tuple[pa.DataType, Any]] = [
    (pa.float64(), finite(64).filter(lambda x: abs(x) < 1e300 and (x == 0 or abs(x) > 1e-300))),
    (pa.int32(), st.integers(-(10**6), 10**6)),
    (pa.string(), st.text("abcxyz ", max_size=6).map(str.strip).filter(bool)),
]


@pytest.mark.parametrize("suffix", ["sav", "dta"])
@given(table=tables(LABELLED))
@settings(max_examples=40)
def test_labelled_files_come_back(tmp_path_factory: pytest.TempPathFactory, suffix: str, table: pa.Table) -> None:
    import pyreadstat

    folder = tmp_path_factory.mktemp(suffix)
    made = pl.DataFrame(pl.from_arrow(table)).to_pandas()
    getattr(pyreadstat, f"write_{suffix}")(made, folder / f"in.{suffix}")
    write(read(folder / f"in.{suffix}"), folder / f"out.{suffix}")
    frames = [getattr(pyreadstat, f"read_{suffix}")(folder / f"{name}.{suffix}")[0] for name in ("in", "out")]
    pd.testing.assert_frame_equal(frames[1], frames[0], check_exact=True)


def test_ids_of_twenty_digits_stay_three() -> None:
    table = pa.table({"id": pa.array([Decimal(text) for text in LONG]), "x": [1.0, 2.0, 3.0]})
    data = Microdata.from_frame(table)
    assert data.schema["id"].kind == "nominal"
    masked = RankSwapping(p=1.0, variables=("x",)).protect(data, rng=1)
    assert masked.to_frame()["id"].equals(table["id"])


def test_decimals_are_read_to_the_nearest_float() -> None:
    cents = [Decimal(number).scaleb(-2) for number in range(-3000, 3000)]
    for kind in (pa.decimal128(10, 2), pa.decimal256(40, 2)):
        found = Microdata.from_frame(pa.table({"x": pa.array(cents, kind)})).columns["x"]
        assert found.tolist() == [float(number) for number in cents]  # Python rounds correctly


def test_a_masked_decimal_keeps_its_type_and_the_digits_of_others() -> None:
    table = pa.table({"x": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("0.70")], pa.decimal128(38, 18))})
    data = Microdata.from_frame(table)
    changed = data.replace({"x": np.array([0.1, np.nan, 0.7])}).to_frame()["x"]
    assert changed.type == table.schema.field("x").type
    assert changed.to_pylist() == [Decimal("0.10"), None, Decimal("0.70")]


def test_records_in_another_order_keep_their_digits() -> None:
    digits = [Decimal("0.123456789012345678"), Decimal("0.123456789012345679"), Decimal("7")]
    table = pa.table({"x": pa.array(digits, pa.decimal128(38, 18))})
    turned = Microdata.from_frame(table).take(np.array([2, 0]))
    assert turned.to_frame()["x"].to_pylist() == [digits[2], digits[0]]


def test_a_wide_decimal_that_a_schema_says_is_numeric_is_refused() -> None:
    table = pa.table({"id": pa.array([Decimal(text) for text in LONG])})
    with pytest.raises(DataError, match="lose digits"):
        Microdata.from_frame(table, Schema((Variable("id", kind="numeric"),)))


@pytest.mark.parametrize("kind", [pa.float16(), pa.decimal32(6, 2), pa.decimal64(12, 2)], ids=str)
@pytest.mark.parametrize("stated", ["numeric", "nominal"])
def test_short_numbers_have_missing_codes_and_keep_their_type(kind: pa.DataType, stated: Any) -> None:
    values = [Decimal("1.5"), None, Decimal(-3), Decimal(99)]
    column = pa.array(np.array([1.5, 0, -3, 99], "f2"), mask=np.array([False, True, False, False]))
    column = column if pa.types.is_float16(kind) else pa.array(values, kind)
    data = Microdata.from_frame(pa.table({"x": column}), Schema((Variable("x", kind=stated, missing=(99,)),)))
    back = data.to_frame()["x"]
    assert back.type == kind and back.to_pylist() == [1.5, None, -3.0, None]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.sav", "t.parquet"])
def test_short_decimals_go_into_every_file_or_are_refused_by_name(name: str, tmp_path: Path) -> None:
    column = pa.array([Decimal("1.50"), None, Decimal("0.25")], pa.decimal64(12, 2))
    table = pa.table({"x": column, "y": [1, 2, 3]})
    if name.endswith("parquet") and not in_parquet(pa.decimal64(12, 2)):
        with pytest.raises(DataError, match=r"'x' is of type decimal64\(12, 2\).*decimal128\(12, 2\)"):
            write(table, tmp_path / name)
        return
    write(table, tmp_path / name)
    assert read(tmp_path / name).columns["x"].tolist() == pytest.approx([1.5, np.nan, 0.25], rel=0, abs=0, nan_ok=True)


def test_times_finer_than_a_microsecond_are_refused_by_name() -> None:
    table = pa.table({"x": pa.array([1, 2000], pa.time64("ns"))})
    for frame in (table, table.to_pandas(types_mapper=pd.ArrowDtype)):
        with pytest.raises(DataError, match=r"'x' is of type time64\[ns\].*round them to microseconds"):
            Microdata.from_frame(frame)


def test_zero_and_minus_zero_are_one_category_and_come_back() -> None:
    table = pa.table({"x": pa.array([0.5, -0.0, 0.0])})
    data = Microdata.from_frame(table, Schema((Variable("x", kind="nominal"),)))
    assert data.columns["x"].tolist() == [1, 0, 0]
    assert np.signbit(data.to_frame()["x"].to_numpy()).tolist() == [False, True, False]


def test_missing_values_and_not_a_number_stay_apart() -> None:
    table = pa.table({"x": pa.array([1.0, None, float("nan")])})
    back = Microdata.from_frame(table).to_frame()["x"]
    assert back.null_count == 1 and np.isnan(back[2].as_py())
    frame = pl.DataFrame({"x": [1.0, None, float("nan")]})
    assert_frame_equal(Microdata.from_frame(frame).to_frame(), frame)
