"""Categories that no record has: off the list where they would tell what was taken away."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato import (
    GlobalRecoding,
    Hierarchy,
    LocalSuppression,
    Microdata,
    OptimalRecoding,
    Schema,
    Variable,
    Within,
    read,
    write,
)
from sfumato.table.present import made_missing
from sfumato.table.recoding import recoding

AGES = np.array([20.0, 22, 31, 33, 34, 41, 44, 117])


def recoded(hierarchy: object, level: int = 1) -> Microdata:
    """The ages at a level, and the oldest suppressed."""
    data = Microdata.from_frame(pa.table({"age": AGES}))
    variable, codes = Hierarchy.of(hierarchy).at(data.schema["age"], data.columns["age"], level)
    return made_missing(data.recast({"age": (variable, codes)}), {"age": AGES > 100})


def test_the_class_of_a_suppressed_record_is_not_listed() -> None:
    """Tens from 20 to 119: the class 110-119, and the empty ones from 50 on, go with their cuts."""
    done = recoded([10])
    variable = done.schema["age"]
    assert variable.categories == ("20-29", "30-39", "40-49")
    assert variable.treatment.cuts == (30, 40) and variable.treatment.ends == (20, 50)
    assert done.columns["age"].tolist() == [0, 0, 1, 1, 1, 2, 2, -1]
    assert list(done.to_frame()["age"].chunk(0).dictionary.to_pylist()) == ["20-29", "30-39", "40-49"]


def test_it_is_listed_as_if_the_record_had_never_been_there() -> None:
    without = Microdata.from_frame(pa.table({"age": AGES[:-1]}))
    variable, _ = Hierarchy.of([10]).at(without.schema["age"], without.columns["age"], 1)
    done = recoded([10]).schema["age"]
    assert done.categories == variable.categories
    assert (done.treatment.cuts, done.treatment.ends) == (variable.treatment.cuts, variable.treatment.ends)


def test_empty_classes_between_others_stay_and_so_do_all_of_stated_cuts() -> None:
    data = Microdata.from_frame(pa.table({"age": AGES}))
    variable, codes = Hierarchy.of([10]).at(data.schema["age"], data.columns["age"], 1)
    inner = made_missing(data.recast({"age": (variable, codes)}), {"age": (AGES > 30) & (AGES < 40)})
    assert inner.schema["age"].categories == variable.categories
    assert recoded([[30, 100]]).schema["age"].categories == ("<30", "30-99", "100+")


def test_the_lowest_goes_too_and_what_is_left_may_be_one_class_or_none() -> None:
    data = Microdata.from_frame(pa.table({"x": [1.0, 55.0, 58.0]}))
    variable, codes = Hierarchy.of([10]).at(data.schema["x"], data.columns["x"], 1)
    classed = data.recast({"x": (variable, codes)})
    one = made_missing(classed, {"x": np.array([True, False, False])})
    assert one.schema["x"].categories == ("50-59",) and one.columns["x"].tolist() == [-1, 0, 0]
    assert one.schema["x"].treatment.cuts == (50,) and one.schema["x"].treatment.ends == (50, 60)
    none = made_missing(classed, {"x": np.array([True, True, True])})
    assert none.schema["x"].categories == ("*",) and none.schema["x"].treatment.recoded
    assert none.schema["x"].treatment.cuts == (0,)
    assert recoding(data, none, "x", matched=True).original.tolist() == [0, 0, 0]


def test_rows_that_list_the_records_values_tell_no_more() -> None:
    rows = {str(int(age)): [f"{int(age) // 10}x"] for age in AGES}
    assert recoded(rows).schema["age"].categories == ("2x", "3x", "4x")


def test_spans_of_dates_are_taken_off_as_well() -> None:
    born = [dt.date(1990, 1, 2), dt.date(1991, 3, 4), dt.date(1880, 5, 6)]
    data = Microdata.from_frame(pa.table({"born": born}))
    variable, codes = Hierarchy.of(["year"]).at(data.schema["born"], data.columns["born"], 1)
    done = made_missing(data.recast({"born": (variable, codes)}), {"born": np.array([False, False, True])})
    assert done.schema["born"].categories == ("1990", "1991")


def test_the_original_is_traced_into_the_same_classes_and_what_went_into_one_of_its_own() -> None:
    """117 is no 40-49: it must not look like one of them to a measure."""
    data = Microdata.from_frame(pa.table({"age": AGES}))
    found = recoding(data, recoded([10]), "age", matched=True)
    assert found.source == "stated"
    assert [found.categories[code] for code in found.original] == [
        *("20-29", "20-29", "30-39", "30-39", "30-39", "40-49", "40-49"),
        "above",
    ]
    assert found.protected.tolist() == [0, 0, 1, 1, 1, 2, 2, -1]


@pytest.mark.parametrize("suffix", [".parquet", ".sav", ".dta"])
def test_no_file_names_it(tmp_path: Path, suffix: str) -> None:
    if suffix != ".parquet":
        pytest.importorskip("pyreadstat")
    method = OptimalRecoding(2, suppression=0.2, hierarchy={"x": [10]}, variables=("x",))
    done = method.protect(Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0, 15.0, 16.0, 1000.0]})))
    write(done, tmp_path / f"out{suffix}")
    again = read(tmp_path / f"out{suffix}").schema["x"]
    assert "1000" not in str((again.categories, again.labels)) and len(again.categories) == 2


def test_a_frame_names_it_no_more_after_bands_and_suppression() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 60, 400).astype(float)
    age[7] = 117
    frame = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 400)})
    for method in (
        GlobalRecoding(bins={"age": 5}) + LocalSuppression(3, variables=("age", "sex")),
        GlobalRecoding(groups=5, by="width", variables=("age",)) + LocalSuppression(3, variables=("age", "sex")),
    ):
        done = method.protect(frame, rng=1)
        assert not any(done["age"].cat.categories.str.contains("1[01]")), done["age"].cat.categories
        assert set(done["age"].cat.categories) >= set(done["age"].dropna())


def test_blocks_that_suppress_by_themselves_keep_one_list() -> None:
    """In the block b nobody is 40 or more; the classes of both blocks are the same all the same."""
    table = pa.table({"part": ["a"] * 5 + ["b"] * 5, "age": [21.0, 22, 41, 42, 117, 21, 22, 31, 32, 25]})
    schema = Schema((Variable("part", kind="nominal"), Variable("age", role="key")))
    data = GlobalRecoding(bins={"age": 10}).protect(Microdata.from_frame(table, schema))
    done = Within(LocalSuppression(2, variables=("age",)), by=("part",)).protect(data, rng=1)
    assert done.schema["age"].categories == ("20-29", "30-39", "40-49")
    shown = [None if code < 0 else done.schema["age"].categories[code] for code in done.columns["age"]]
    assert shown[:5] == ["20-29", "20-29", "40-49", "40-49", None]
    alone = Within(LocalSuppression(5, variables=("age",)), by=("part",)).protect(data, rng=1)
    assert (alone.columns["age"] < 0).all() and alone.schema["age"].categories == ("*",)
