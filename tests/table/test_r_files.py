"""Files of R: factors, gaps, labels, dates, several objects; checked against R itself where it is installed."""

import datetime as dt
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sfumato import DataError, FileError, Microdata, ParameterError, Schema, SchemaError, Variable, read, write

rdata = pytest.importorskip("rdata")
pandas = pytest.importorskip("pandas")
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")


def by_r(folder: Path, script: str) -> None:
    """Run a script of R in a folder."""
    (folder / "script.R").write_text(script, encoding="utf-8")
    run = subprocess.run(
        ["Rscript", "--vanilla", "--encoding=UTF-8", "script.R"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def columns(data: Microdata) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = data.to_arrow().to_pydict()
    return found


SURVEY = """
d <- data.frame(
  id = 1:4,
  income = c(1500.25, NA, NaN, 7),
  region = factor(c("south", "north", NA, "south"), levels = c("west", "south", "north")),
  school = factor(c("low", "high", "low", NA), levels = c("low", "mid", "high"), ordered = TRUE),
  member = c(TRUE, NA, FALSE, TRUE),
  town = c("Zürich", NA, "", "Aix"),
  born = as.Date(c("1969-12-31", NA, "2000-02-29", "1950-01-01")),
  seen = as.POSIXct(c("2020-01-02 03:04:05", NA, "2020-01-02 03:04:06.5", "1969-12-31 23:59:59"), tz = "UTC"),
  stringsAsFactors = FALSE)
labelled <- function(x, ..., more = NULL) structure(x, ..., class = c(more, "haven_labelled", "vctrs_vctr", typeof(x)))
d$answer <- labelled(c(1, 2, NA, 1), labels = c(yes = 1, no = 2, "don't know" = 8), label = "Did you?")
d$amount <- labelled(c(10, 20.5, 99, NA), labels = c(refused = 99), label = "How much?")
d$spss <- labelled(c(1L, 2L, -9L, -7L), labels = c(yes = 1L, no = 2L, refused = -9L), na_values = -9L,
                   na_range = c(-8, -6), more = "haven_labelled_spss")
attr(d$income, "label") <- "income per month"
"""


@needs_r
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("compress", ["FALSE", "'gzip'", "'bzip2'", "'xz'"])
def test_a_data_frame_of_r(tmp_path: Path, version: int, compress: str) -> None:
    by_r(tmp_path, f"{SURVEY}saveRDS(d, 'd.rds', version = {version}, compress = {compress})")
    data = read(tmp_path / "d.rds")
    utc = dt.UTC
    assert columns(data) == {
        "id": [1, 2, 3, 4],
        "income": [1500.25, None, None, 7.0],
        "region": ["south", "north", None, "south"],
        "school": ["low", "high", "low", None],
        "member": [True, None, False, True],
        "town": ["Zürich", None, "", "Aix"],
        "born": [dt.date(1969, 12, 31), None, dt.date(2000, 2, 29), dt.date(1950, 1, 1)],
        "seen": [
            dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=utc),
            None,
            dt.datetime(2020, 1, 2, 3, 4, 6, 500_000, tzinfo=utc),
            dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=utc),
        ],
        "answer": [1, 2, None, 1],
        "amount": [10.0, 20.5, 99.0, None],
        "spss": [1, 2, None, None],
    }
    schema = data.schema
    assert (schema["region"].kind, schema["region"].categories) == ("nominal", ("west", "south", "north"))
    assert (schema["school"].kind, schema["school"].categories) == ("ordinal", ("low", "mid", "high"))
    assert schema["income"].kind == "numeric" and schema["income"].label == "income per month"
    answer = schema["answer"]
    assert (answer.kind, answer.label, answer.spelled(1)) == ("nominal", "Did you?", "yes")
    assert schema["amount"].kind == "numeric" and schema["amount"].labels == ((99, "refused"),)
    assert schema["spss"].kind == "nominal" and schema["spss"].missing == (-9,)
    assert data.origin.path == tmp_path / "d.rds"


@needs_r
def test_a_schema_goes_before_what_the_file_says(tmp_path: Path) -> None:
    by_r(tmp_path, f"{SURVEY}saveRDS(d, 'd.rds')")
    (tmp_path / "schema.toml").write_text(
        '[variables.region]\nrole = "key"\n[variables.answer]\nkind = "ordinal"\ncategories = [2, 1]\n'
        '[variables.amount]\nmissing = [99]\nrole = "confidential"\n[variables.school]\nkind = "nominal"\n'
    )
    schema = read(tmp_path / "d.rds", tmp_path / "schema.toml").schema
    assert (schema["region"].kind, schema["region"].role) == ("nominal", "key")
    assert schema["region"].categories == ("west", "south", "north")
    assert (schema["answer"].kind, schema["answer"].categories, schema["answer"].label) == (
        "ordinal", (2, 1), "Did you?"
    )  # fmt: skip
    assert schema["amount"].kind == "numeric" and schema["amount"].role == "confidential"
    assert (schema["school"].kind, schema["school"].categories) == ("nominal", ("low", "mid", "high"))
    with pytest.raises(SchemaError, match="the schema names 'incme', which the table does not have"):
        read(tmp_path / "d.rds", Schema((Variable("incme"),)))


@needs_r
def test_files_with_several_objects(tmp_path: Path) -> None:
    by_r(
        tmp_path,
        "persons <- data.frame(a = 1:3); homes <- data.frame(b = c('x', 'y'), row.names = c('r1', 'r2')); n <- 3;"
        "save(persons, homes, n, file = 'two.rda'); save(n, persons, file = 'one.RData'); l <- list(1, 'a');"
        "save(n, l, file = 'none.rda'); saveRDS(l, 'list.rds'); saveRDS(matrix(1:4, 2), 'matrix.rds')",
    )
    with pytest.raises(FileError, match="has several data frames: persons, homes; say which, for example table='per"):
        read(tmp_path / "two.rda")
    assert columns(read(tmp_path / "two.rda", table="persons")) == {"a": [1, 2, 3]}
    homes = read(f"{tmp_path / 'two.rda'}#homes")
    assert columns(homes) == {"b": ["x", "y"]} and homes.notes == ("the names of the rows are left out",)
    assert columns(read(tmp_path / "one.RData")) == {"a": [1, 2, 3]}
    with pytest.raises(FileError, match="has no object 'm'; it has persons, homes, n"):
        read(tmp_path / "two.rda", table="m")
    with pytest.raises(FileError, match="'n' is numbers, not a data frame"):
        read(tmp_path / "two.rda", table="n")
    with pytest.raises(FileError, match=r"has no data frame; it has n \(numbers\), l \(a list\)"):
        read(tmp_path / "none.rda")
    with pytest.raises(FileError, match="'list' is a list, not a data frame"):
        read(tmp_path / "list.rds")
    with pytest.raises(FileError, match="'matrix' is whole numbers, not a data frame"):
        read(tmp_path / "matrix.rds")


@needs_r
def test_columns_that_are_no_variables_and_texts_of_other_encodings(tmp_path: Path) -> None:
    by_r(
        tmp_path,
        "d <- data.frame(a = 1:2); d$l <- list(1, 'a'); saveRDS(d, 'list.rds'); d <- data.frame(a = 1:2);"
        "d$t <- as.POSIXlt(c('2020-01-01', '2020-01-02'), tz = 'UTC'); saveRDS(d, 'lt.rds');"
        "s <- 'Z\\xfcrich'; Encoding(s) <- 'latin1'; saveRDS(data.frame(s = c(s, 'x')), 'latin1.rds');"
        "saveRDS(data.frame(a = integer(0)), 'empty.rds'); names(d)[2] <- 'a'; saveRDS(d[c(1, 1)], 'wide.rds');"
        "saveRDS(data.frame(f = addNA(factor(c('u', NA)))), 'na.rds');"
        "b <- data.frame(a = c(4.9406564584124654e-324, 0)); class(b$a) <- 'integer64'; saveRDS(b, 'bit64.rds')",
    )
    with pytest.raises(FileError, match="column 'l' is a list, which is no column of a survey; turn it into"):
        read(tmp_path / "list.rds")
    with pytest.raises(FileError, match=r"column 't' is POSIXlt POSIXt.*as\.POSIXct makes it a moment"):
        read(tmp_path / "lt.rds")
    assert columns(read(tmp_path / "latin1.rds")) == {"s": ["Zürich", "x"]}
    assert columns(read(tmp_path / "bit64.rds")) == {"a": [1, 0]}
    assert columns(read(tmp_path / "na.rds")) == {"f": ["u", None]}
    with pytest.raises(DataError, match="the table has no records"):
        read(tmp_path / "empty.rds")
    assert list(columns(read(tmp_path / "wide.rds"))) == ["a", "a.1"]


@needs_r
def test_r_reads_what_goes_out(tmp_path: Path) -> None:
    by_r(tmp_path, f"{SURVEY}saveRDS(d, 'd.rds')")
    data = read(tmp_path / "d.rds")
    with pytest.raises(FileError, match=r"R files are only read; write \.csv or \.parquet"):
        write(data, tmp_path / "out.rds")
    write(data, tmp_path / "out.csv")
    by_r(tmp_path, "d <- readRDS('d.rds'); o <- read.csv('out.csv', na.strings = ''); stopifnot("
                   "identical(as.character(d$region), o$region), identical(d$id, o$id), all.equal(as.numeric(d$answer),"
                   "as.numeric(o$answer), check.attributes = FALSE))")  # fmt: skip


def test_files_written_without_r(tmp_path: Path) -> None:
    frame = pandas.DataFrame(
        {
            "a": [1, 2, 3],
            "x": [0.5, float("nan"), 2.0],
            "s": pandas.Series(["é", "b", "c"], dtype=object),
            "f": pandas.Categorical(["u", "v", "v"], categories=["w", "v", "u"]),
        }
    )
    rdata.write_rds(tmp_path / "d.rds", frame)
    data = read(tmp_path / "d.rds")
    assert columns(data) == {"a": [1, 2, 3], "x": [0.5, None, 2.0], "s": ["é", "b", "c"], "f": ["u", "v", "v"]}
    assert data.schema["f"].categories == ("w", "v", "u")
    rdata.write_rda(tmp_path / "d.rda", {"one": frame, "two": frame})
    with pytest.raises(FileError, match="several data frames: one, two"):
        read(tmp_path / "d.rda")
    assert len(read(tmp_path / "d.rda", table="two")) == 3


def test_damaged_files_and_wrong_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rdata.write_rds(tmp_path / "d.rds", pandas.DataFrame({"a": [1, 2]}))
    whole = (tmp_path / "d.rds").read_bytes()
    for content in (b"", b"a,b\n1,2\n", whole[: len(whole) // 2]):
        (tmp_path / "bad.rds").write_bytes(content)
        with pytest.raises(FileError, match=r"bad\.rds cannot be read as a file of R"):
            read(tmp_path / "bad.rds")
    with pytest.raises(ParameterError, match="are for text files, not R"):
        read(tmp_path / "d.rds", encoding="latin-1")
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(FileError, match=r"pip install 'sfumato\[r\]'"):
        read(tmp_path / "d.rds")
