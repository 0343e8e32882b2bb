"""A date column through every format: inspected, recoded, shifted, swept, reported, and written back as it came."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, Schema, Variable, read, write
from sfumato.project.tables import protected_schema_path, provenance_path
from sfumato.table.dates import spelled
from small_survey import run

SUFFIXES = [".csv", ".parquet", ".sav", ".zsav", ".dta", ".xpt"]
KEYS = '[variables.sex]\nkind = "nominal"\nrole = "key"\n[variables.region]\nkind = "nominal"\nrole = "key"\n'


def people(n: int = 150) -> pa.Table:
    """Births over eighty years, two far out, some missing; admissions to the minute, and a constant day."""
    rng = np.random.default_rng(4)
    born = [dt.date(1930, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 29_000, n)]
    born[0], born[1] = dt.date(1898, 2, 28), dt.date(2101, 1, 1)
    came = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 500_000, n)]
    return pa.table(
        {
            "sex": rng.choice([1, 2], n).astype(float),
            "region": rng.choice([1, 2, 3], n).astype(float),
            "born": pa.array([None if i % 29 == 5 else day for i, day in enumerate(born)], pa.date32()),
            "came": pa.array(came, pa.timestamp("us")),
            "asked": pa.array([dt.date(2021, 5, 1)] * n, pa.date32()),
            "pay": np.round(np.exp(rng.normal(7, 1, n)), 2),
        }
    )


def written(folder: Path, suffix: str) -> tuple[Path, Path, Microdata]:
    """Write the people in a format, with a schema; text as in many files of Europe."""
    file, schema = folder / f"people{suffix}", folder / "schema.toml"
    kinds: list[Variable] = [Variable("sex", "nominal"), Variable("region", "nominal")]
    if suffix == ".csv":
        kinds += [Variable("born", "date", format="%d.%m.%Y"), Variable("came", "date", format="%Y-%m-%dT%H:%M")]
        kinds += [Variable("asked", "date", format="%Y-%m-%d")]
    table = people()
    data = Microdata.from_frame(table, Schema(tuple(v for v in kinds if v.kind != "date")))
    if suffix == ".csv":  # as text, so that the file holds it so
        named = {v.name: v.format for v in kinds if v.kind == "date"}
        for name, form in named.items():
            texts = [None if day is None else day.strftime(form) for day in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))
        data = Microdata.from_frame(table)
    write(data, file)
    dated = "".join(
        f'[variables.{v.name}]\nkind = "date"\n' + (f'format = "{v.format}"\n' if v.name == "born" else "")
        for v in kinds
        if v.kind == "date"
    )
    role = 'role = "key"\n'
    born = dated.replace('[variables.born]\nkind = "date"\n', f'[variables.born]\nkind = "date"\n{role}')
    if suffix != ".csv":
        born = f'[variables.born]\nkind = "date"\n{role}'
    schema.write_text(f'{KEYS}{born}[variables.pay]\nkind = "numeric"\nrole = "confidential"\n')
    return file, schema, read(file, schema)


def days(data: Microdata, name: str) -> list[Any]:
    return [None if np.isnan(day) else spelled(day) for day in data.columns[name]]


def raw(file: Path) -> Any:
    """The file's own words or numbers for its dates, and their formats."""
    if file.suffix == ".csv":
        lines = [line.split(",") for line in file.read_text().splitlines()]
        return {name: [line[place] for line in lines[1:]] for place, name in enumerate(lines[0])}, None
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        found = pq.read_table(file)
        return {name: found[name].to_pylist() for name in found.column_names}, dict(
            zip(found.column_names, map(str, found.schema.types), strict=True)
        )
    pyreadstat = pytest.importorskip("pyreadstat")
    reader = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}[file.suffix]
    frame, meta = getattr(pyreadstat, reader)(str(file), disable_datetime_conversion=True, output_format="dict")
    return {name: [str(value) for value in values] for name, values in frame.items()}, meta.original_variable_types


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_dates_comes_back_as_it_was(tmp_path: Path, suffix: str) -> None:
    file, _, data = written(tmp_path, suffix)
    assert [data.schema[name].kind for name in ("born", "came", "asked")] == ["date"] * 3
    table = people()
    assert days(data, "born") == [None if day is None else day.isoformat() for day in table["born"].to_pylist()]
    assert days(data, "came")[:3] == [m.isoformat(" ", "minutes") for m in table["came"].to_pylist()[:3]]
    write(data, tmp_path / f"again{suffix}")
    assert raw(tmp_path / f"again{suffix}") == raw(file)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_is_shifted_and_written_in_its_own_form(tmp_path: Path, suffix: str) -> None:
    file, schema, data = written(tmp_path, suffix)
    out = tmp_path / f"out{suffix}"
    refused = run(
        "protect",
        file,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        "DateShift(30)",
        "--out",
        out,
        "--seed",
        3,
    )
    assert refused.exit_code and "same day in 'asked'" in " ".join(refused.output.split())
    method = "DateShift(30, variables=['born', 'came'])"
    done = run(
        "protect", file, "--on-undeclared", "accept", "--schema", schema, "--method", method, "--out", out, "--seed", 3
    )
    assert done.exit_code == 0, done.output
    moved = read(out, protected_schema_path(provenance_path(out)))
    assert [moved.schema[name].kind for name in ("born", "came", "asked")] == ["date"] * 3
    assert moved.schema["born"].format == data.schema["born"].format
    assert raw(out)[1] == raw(file)[1], "the formats and types of the file"
    gaps = [int(np.isnan(table.columns["born"]).sum()) for table in (data, moved)]
    assert gaps[0] == gaps[1] > 0
    # records stand in another order; what a record's own dates lie apart is kept
    before, after = (np.sort(np.round(t.columns["came"] - t.columns["born"], 6)) for t in (data, moved))
    assert np.array_equal(before, after, equal_nan=True)
    assert np.array_equal(moved.columns["asked"], data.columns["asked"])
    assert np.abs(np.sort(moved.columns["came"]) - np.sort(data.columns["came"])).max() <= 30


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_sweep_recodes_reports_and_writes(tmp_path: Path, suffix: str) -> None:
    file, schema, data = written(tmp_path, suffix)
    out = tmp_path / "sweep"
    words: list[object] = [
        "sweep",
        file,
        "--schema",
        schema,
        "--out",
        out,
        "--replicates",
        1,
        "--no-bootstrap",
        "--workers",
        1,
    ]
    words += ["--method", "GlobalRecoding(bins={'born': '10 years', 'came': 'quarter'}) + LocalSuppression(2)"]
    words += ["--method", "VariableRemoval(variables=['born', 'came'])"]
    words += ["--measure", "Reidentification", "--measure", "CertaintyPenalty", "--at-most", "Reidentification=90%"]
    words += ["--on-undeclared", "accept"]  # the schema says only what some of the kinds and keys are
    done = run(*words)
    assert done.exit_code == 0, done.output
    (table,) = [path for path in (out / "release").iterdir() if path.name.startswith("people")]
    # classes are codes with labels in labelled files, which need no schema
    found = read(table, out / f"{table.name}.schema.toml" if suffix in (".csv", ".parquet") else None)
    report = (out / "report.md").read_text()
    assert "1898-02-28 to 2101-01-01" in report and "2021-05-01" in report
    assert "2101" not in (out / "release" / "about.md").read_text()
    assert found.schema["asked"].kind == "date"
    assert days(found, "asked") == days(data, "asked")
    if "born" in found.names:
        spoken = {found.schema["born"].spelled(category) for category in found.schema["born"].categories}
        assert "1970-1979" in spoken or suffix == ".xpt", "transport files hold no labels"
    assert json.loads((out / "release" / "about.json").read_text())


def test_text_is_inspected_and_a_date_from_text_is_one_elsewhere(tmp_path: Path) -> None:
    file, _, data = written(tmp_path, ".csv")
    shown = run("inspect", file, "--out", tmp_path / "found.toml")
    assert 'born: dates? kind = "date", format = "%d.%m.%Y"' in " ".join(shown.output.split())
    for suffix in SUFFIXES[1:]:
        write(data, tmp_path / f"else{suffix}")
        there = read(tmp_path / f"else{suffix}")
        assert there.schema["born"].kind == "date"
        assert days(there, "born") == days(data, "born") and days(there, "came") == days(data, "came")
