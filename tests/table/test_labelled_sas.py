"""SAS files: data sets read with the catalogue beside them, transport files read and written."""

import base64
import datetime as dt
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from labelled_tables import raw, said
from sfumato.errors import FileError
from sfumato.table.files import read, write
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

# R 4.2, haven 2.5.1:
#   d <- data.frame(sex = c(1, 2, 1, 2, NA), inc = c(1.5, 2, NA, 4, 5),
#     day = as.Date(c("2020-01-05", "1955-06-07", NA, "1960-01-01", "2024-02-29")),
#     when = as.POSIXct(c("2020-01-05 10:20:30", "1960-01-01 00:00:00", NA, "1955-06-07 23:59:59",
#       "2024-02-29 12:00:00"), tz = "UTC"),
#     name = c("René", "b", "", "d", "e"))
#   attr(d$inc, "label") <- "Monthly income"; attr(d$sex, "format.sas") <- "SEXF"
#   d$miss <- tagged_na("A", "B", NA, "A", "B"); d$miss[3] <- 3
#   write_sas(d, "f.sas7bdat")
DATA_SET = zlib.decompress(
    base64.b85decode(
        "c-rmSKS&#K6bJB^G)injIUz$RLXXmdgOvnBh?70=L?HobGB{+Yn!^N}3p5oK1l!%oQCvE9?yRKk(6Klu9i)O|CnpW08t>09diTs#"
        "(JryyPlm^Pzu)iOAINb(IHF5me}8!WInw)MYduIk-{Wi1CsOYa(NpqKoc=1}%CbsU9-Bz3qe@Q6syW#UUBg^2<|Q}Y9w?6JX3mg^"
        "{H#1Y7>mc^nV1n1Mogwl`oa<c000000000000000008`tLdK8iXV}jAAGk+rq8??d3ZkBG6?|fzsHa(dGi1jVR?mz2OV+>7qrU&J"
        "eSOoTp7*HtdDH;_008c@vqsa>DeKb|ywmz|3jBlfPtl`Wu1~Pz|FM@hi)@~Gl>y@gImmK}<x!T)BJZ+tKRsvTPU6tb)a4s7*{}Yx"
        "h|fgq7iT>nVvJn{(W&S)?x^u^fUDXPmGoIEOfS=7QPcJ5vQ{ott66nwEK||n72hn&#(1TyS>FYl-xjO6iHv$|FxPjpW1bjpa?f8l"
        "?nyh{*ENvZmzxZpCeV?5&VR<yh#l)ztj+Bj+vE3*`P9DhO4Gl6vc|UStK{B0+cC0HYqgoVXt>pyEIRLqoJaAXa(5)jxjXlV2S0u("
        "T%_B)L&Ta~JKQtl<l})~igxuh000000002)rE}3m!wC"
    )
)


def data_set(folder: Path) -> Path:
    file = folder / "f.sas7bdat"
    file.write_bytes(DATA_SET)
    return file


def test_a_data_set(tmp_path: Path) -> None:
    data = read(data_set(tmp_path))
    kinds = {variable.name: variable.kind for variable in data.schema}
    assert kinds == {
        "sex": "numeric",
        "inc": "numeric",
        "day": "date",
        "when": "date",
        "name": "nominal",
        "miss": "numeric",
    }
    assert data.schema["inc"].label == "Monthly income"
    assert data.schema["miss"].missing == (".A", ".B")
    frame = data.to_frame()
    assert frame["day"].to_pylist()[1] == dt.date(1955, 6, 7)
    assert frame["when"].to_pylist()[0] == dt.datetime(2020, 1, 5, 10, 20, 30)
    assert frame["name"].to_pylist() == ["René", "b", None, "d", "e"]
    assert frame["miss"].to_pylist() == [None, None, 3.0, None, None]


@pytest.mark.parametrize("name", ["f.sas7bcat", "formats.sas7bcat"])
def test_the_catalogue_beside_it_has_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    read_from: list[str] = []

    def catalogue(path: str, **options: Any) -> tuple[dict[str, Any], SimpleNamespace]:
        read_from.append(Path(path).name)
        return {}, SimpleNamespace(value_labels={"SEXF": {1.0: "male", 2.0: "female"}, "$OTHER": {"x": "y"}})

    monkeypatch.setattr(pyreadstat, "read_sas7bcat", catalogue)
    (tmp_path / name).write_bytes(b"what pyreadstat would read")
    data = read(data_set(tmp_path))
    assert read_from == [name]
    assert data.schema["sex"].kind == "nominal"
    assert [data.schema["sex"].spelled(code) for code in (1, 2)] == ["male", "female"]
    assert data.schema["inc"].labels == ()


def test_a_broken_catalogue_is_named(tmp_path: Path) -> None:
    (tmp_path / "f.sas7bcat").write_bytes(b"nonsense" * 1000)
    with pytest.raises(FileError, match=r"f\.sas7bcat cannot be read"):
        read(data_set(tmp_path))


def transport(path: Path, version: Any) -> Path:
    frame = pl.DataFrame(
        {
            "SEX": [1.0, 2.0, None],
            "PAY": [0.1, -1e70, 3.25],
            "TOWN": ["Bonn".ljust(12), "", "Ulm"],
            "DAY": [21919.0, None, -1.0],
            "AT": [1_893_456_000.25, 0.0, None],
            "CLOCK": [0.0, 86_399.5, None],
            "SPAN": [90_000.0, 1.0, None],
        }
    )
    pyreadstat.write_xport(
        frame,
        str(path),
        file_label="A register",
        table_name="REG",
        file_format_version=version,
        column_labels={"PAY": "Monthly pay"},
        variable_format={
            "SEX": "SEXF8.",
            "DAY": "YYMMDD10.",
            "AT": "DATETIME22.2",
            "CLOCK": "TIME8.",
            "SPAN": "TIME8.",
        },
    )
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_says_all_it_said(tmp_path: Path, version: int) -> None:
    file, again = transport(tmp_path / "r.xpt", version), tmp_path / "again.xpt"
    data = read(file)
    assert data.schema["PAY"].label == "Monthly pay"
    frame = data.to_frame()
    assert frame["DAY"].to_pylist() == [dt.date(2020, 1, 5), None, dt.date(1959, 12, 31)]
    assert frame["AT"].to_pylist()[0] == dt.datetime(2020, 1, 1, 0, 0, 0, 250_000)
    assert frame["CLOCK"].to_pylist()[1] == dt.time(23, 59, 59, 500_000)
    assert data.schema["SPAN"].kind == "numeric", "25 hours are no time of day"
    assert write(data, again) == ()
    assert raw(again)[0] == raw(file)[0]
    assert said(again) == said(file)
    assert (b"LIBV8" in again.read_bytes()[:80]) == (version == 8)


def test_what_transport_files_cannot_hold(tmp_path: Path) -> None:
    data = read(data_set(tmp_path))
    named = Microdata.from_frame(data, Schema((Variable("sex", kind="ordinal", labels=((1, "m"),)),)))
    assert write(named, tmp_path / "f.xpt") == (
        "a SAS transport file holds no value labels: sex",
        "missing values lose their codes, for the format has no codes for them: miss",
        "SAS files do not say that a variable is ordinal: sex",
    )
    values = raw(tmp_path / "f.xpt")[0]
    assert values["miss"] == [None, None, 3.0, None, None]
    assert raw(tmp_path / "f.xpt")[1].original_variable_types["sex"] == "SEXF"
    with pytest.raises(FileError, match=r"\.sas7bdat files are read only; write one of \.sav, \.zsav, \.dta, \.xpt"):
        write(data, tmp_path / "g.sas7bdat")
    for wrong, why in (
        (pa.table({"x": [1e75]}), "'x' holds numbers too large or too near to zero for a SAS file"),
        (pa.table({"x": [1e-79]}), "too near to zero"),
        (pa.table({"ä": [1]}), "'ä' has a name SAS does not allow"),
        (pa.table({"x" * 33: [1]}), "has a name of 33 characters; SAS allows 32"),
        (pa.table({"Age": [1], "AGE": [2]}), "'Age' and 'AGE' are the same name to SAS"),
        (pa.table({"t": ["x" * 32_768]}), "'t' holds text of 32,768 bytes; SAS allows 32,767"),
    ):
        with pytest.raises(FileError, match=why):
            write(wrong, tmp_path / "g.xpt")
    assert not (tmp_path / "g.xpt").exists()


def test_version_5_is_narrower(tmp_path: Path) -> None:
    data = read(transport(tmp_path / "r.xpt", 5))
    long = Microdata.from_frame(pa.table({"a_long_name": [1.0]}))
    with pytest.raises(FileError, match="name of 11 characters; SAS allows 8 in transport files of version 5"):
        write(Microdata(long.schema, long.columns, data.origin), tmp_path / "s.xpt")
    texts = Microdata.from_frame(pa.table({"t": ["x" * 201]}))
    with pytest.raises(FileError, match="text of 201 bytes; SAS allows 200"):
        write(Microdata(texts.schema, texts.columns, data.origin), tmp_path / "s.xpt")
    label = Variable("SEX", label="l" * 50)
    labelled = data.recast({"SEX": (label, np.array(data.columns["SEX"]))})
    assert write(labelled, tmp_path / "s.xpt") == ("labels too long for the format are cut: SEX",)
    assert read(tmp_path / "s.xpt").schema["SEX"].label == "l" * 40


def test_special_missing_values_go_to_stata(tmp_path: Path) -> None:
    assert write(read(data_set(tmp_path)), tmp_path / "f.dta") == ()
    assert raw(tmp_path / "f.dta")[0]["miss"] == ["a", "b", 3.0, "a", "b"]
