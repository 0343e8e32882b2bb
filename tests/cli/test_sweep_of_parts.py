"""``sfumato sweep`` of a table in parts, from its files to the folder that goes out."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from register import write_register
from scanned import scanned
from sfumato import Engine, Experiment, Microdata
from sfumato.compare.work import protected_parts
from sfumato.pair.sample import sampled
from sfumato.project.candidates import composed_candidates
from sfumato.project.progress import read_progress
from small_survey import run

METHODS = (
    sfumato.GlobalRecoding(bins={"age": (20, 40, 60)}),
    sfumato.GlobalRecoding(bins={"age": (30, 60)}) + sfumato.Rounding(1000, variables=("wealth",)),
    sfumato.PRAM(0.8),
)
MEASURES = (sfumato.IndividualRisk(), sfumato.KAnonymity(), sfumato.InformationLoss())
WISH = ["--at-most", "IndividualRisk=0.1%", "--utility", "InformationLoss", "--replicates", "2", "--no-bootstrap"]


def words(file: Path | str, schema: Path, out: Path, *more: object) -> list[object]:
    named = [word for method in METHODS for word in ("--method", repr(method))]
    named += [word for measure in MEASURES for word in ("--measure", repr(measure))]
    where = ["--engine", "here", "--memory", "1 GB", "--sample", "700", "--seed", "5000000000000"]
    return ["sweep", file, "--schema", schema, *named, *WISH, *where, "--out", out, *more]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Microdata, Any]:
    folder = tmp_path_factory.mktemp("sweep of parts")
    register, schema, data = write_register(folder)
    done = run(*words(f"{register}/*.parquet", schema, folder / "sweep", "--json"))
    assert done.exit_code == 0, done.output
    return folder, schema, data, done


def released(folder: Path) -> pa.Table:
    files = sorted((folder / "sweep" / "release" / "register.protected").iterdir())
    return pa.concat_tables(pq.read_table(file) for file in files)


def test_figures_are_those_in_memory(swept: tuple[Path, Path, Microdata, Any]) -> None:
    _, _, data, done = swept
    told = json.loads(done.stdout)
    there = Experiment(data, METHODS[:2], MEASURES, seed=1).run()
    assert told["records"] == len(data)
    by_label = {line["label"]: line["figures"] for line in told["candidates"]}
    for row in there.rows:
        for key, mean in row.means.items():
            assert by_label[row.candidate][key]["value"] == pytest.approx(mean, rel=1e-12)


def test_it_says_which_records_it_tells_of(swept: tuple[Path, Path, Microdata, Any]) -> None:
    folder, _, data, done = swept
    said = f"Figures are of all {len(data):,} records; details and pictures are of a random sample of 700, "
    said += "the audit of as many, with suppressed values first."
    assert json.loads(done.stdout)["verdict"]["basis"] == said
    assert said in (folder / "sweep" / "report.md").read_text()
    public = (folder / "sweep" / "release" / "about.md").read_text()
    assert f"{len(data):,} records" in public and "a random sample of 700 of the records" in public
    assert "memory: 1.0 GB allowed" in done.stderr
    audit = json.loads(done.stdout)["checked"]["audit"]
    assert f"audited in a random sample of 700 of {len(data):,} records" in audit["notes"]


def test_what_is_of_a_sample_says_so_and_blanks_are_counted_in_all_records(tmp_path: Path) -> None:
    register, schema, data = write_register(tmp_path)
    where = ["--engine", "here", "--memory", "1 GB", "--sample", "200", "--seed", "5000000000000"]
    wish = ["--at-most", "KAnonymity(2)=0%", "--utility", "Suppressed", "--no-bootstrap", "--despite-audit"]
    out = tmp_path / "sweep"
    done = run(
        "sweep", register, "--schema", schema, "--method", "LocalSuppression(2)", *wish, *where, "--out", out, "--json"
    )
    assert done.exit_code == 0, done.output
    told, found = json.loads(done.stdout), released(tmp_path)
    names = [name for name in data.schema.analysed() if name in found.column_names]
    lost = {name: found[name].null_count - int(data.missing(name).sum()) for name in names}
    total = sum(lost.values())
    assert total > 0 and len(names) == len(data.schema.analysed())
    assert f"of the values made blank ({total:,})" in told["verdict"]["price"][0]
    detail = {v["name"]: v["blank"][1] - v["blank"][0] for v in told["detail"]["variables"]}
    assert detail == lost
    shares = {v["name"]: v["missing"] for v in told["detail"]["release"]["variables"]}
    assert all(shares[name] == pytest.approx(found[name].null_count / len(data)) for name in names)
    seen = f", of a random sample of 200 of {len(data):,} records"
    for name in ("report.md", "report.html"):
        text = (out / name).read_text()
        assert all(f"{head}{seen}" in text for head in ("The chosen one", "The data", "gives back")), name
        assert "Missing values are counted in all records" in text


def test_the_release_holds_the_records_and_nothing_that_names_them(swept: tuple[Path, Path, Microdata, Any]) -> None:
    folder, schema, _, done = swept
    found = released(folder)
    assert "person" not in found.column_names
    chosen = next(line["label"] for line in json.loads(done.stdout)["candidates"] if line["chosen"])
    method = next(method for method in METHODS if repr(method) == chosen)
    table = sfumato.scan(folder / "register", schema)
    made = method.protect(table, rng=1, folder=folder / "again").loaded().to_arrow()  # nothing random in it
    rows, again = (
        sorted(zip(*(map(str, t[name].to_pylist()) for name in found.column_names), strict=True)) for t in (found, made)
    )
    assert rows == again
    inside = {path.name for path in (folder / "sweep" / "release").rglob("*")}
    assert inside == {"about.html", "about.md", "about.json", "register.protected", "part-00000.parquet"}
    note = json.loads((folder / "sweep" / "register.protected.provenance.json").read_text())
    assert note["order"] == "random" and note["records"] == len(found)


def test_nothing_else_is_left_and_only_the_owner_reads_it(swept: tuple[Path, Path, Microdata, Any]) -> None:
    out = swept[0] / "sweep"
    assert not (out / "aside").exists() and not list(out.rglob("*.part"))
    for name in ("summaries.sqlite", "results.sqlite", "plan.json", "register.protected.provenance.json"):
        assert (out / name).stat().st_mode & 0o077 == 0, name
    progress = read_progress(out)
    assert progress is not None and progress.state == "done" and progress.parts >= 1


def test_a_folder_that_an_engine_makes_is_for_the_owner(tmp_path: Path) -> None:
    with Engine("here", folder=tmp_path / "aside") as engine:
        assert engine.folder.parent.stat().st_mode & 0o077 == 0
    (tmp_path / "there").mkdir(mode=0o755)
    with Engine("here", folder=tmp_path / "there") as engine:
        assert engine.folder.parent.stat().st_mode & 0o777 == 0o755  # what somebody else made stays as it is


def test_the_same_again_computes_nothing_and_can_be_signed(swept: tuple[Path, Path, Microdata, Any]) -> None:
    folder, schema, _, _ = swept
    place = folder / "sweep" / "release" / "register.protected" / "part-00000.parquet"
    before = place.stat().st_mtime_ns
    done = run(*words(f"{folder / 'register'}/*.parquet", schema, folder / "sweep"))
    assert done.exit_code == 0 and place.stat().st_mtime_ns == before
    signed = run("sign", folder / "sweep", "--by", "A. Steward", "--reason", "as agreed")
    assert signed.exit_code == 0, signed.output
    look = run("look", folder / "sweep", "--candidate", repr(METHODS[0]), "--candidate", repr(METHODS[1]))
    assert look.exit_code == 0, look.output


def test_the_script_makes_the_release_again(swept: tuple[Path, Path, Microdata, Any]) -> None:
    folder, _, _, _ = swept
    script = (folder / "sweep" / "reproduce.sh").read_text()
    assert "sweep './register/*.parquet'" in script and "--sample 700" in script


def test_a_killed_sweep_goes_on(swept: tuple[Path, Path, Microdata, Any], tmp_path: Path) -> None:
    folder, schema, _, done = swept
    asked = words(f"{folder / 'register'}/*.parquet", schema, tmp_path / "sweep", "--json")
    started = subprocess.Popen(
        [sys.executable, "-m", "sfumato", *map(str, asked)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    store = tmp_path / "sweep" / "summaries.sqlite"
    try:
        while started.poll() is None and _rows(store) < 12:
            time.sleep(0.01)
    finally:
        os.kill(started.pid, signal.SIGKILL)
        started.communicate()
    assert _rows(store) >= 12 and not (tmp_path / "sweep" / "release" / "register.protected").exists()
    again = run(*asked)
    assert again.exit_code == 0, again.output
    first, second = (json.loads(one.stdout)["candidates"] for one in (done, again))
    assert [(line["label"], line["figures"]) for line in first] == [(line["label"], line["figures"]) for line in second]
    ours, theirs = released(folder), pq.read_table(next((tmp_path / "sweep" / "release").rglob("*.parquet")))
    assert ours.equals(theirs)  # of one seed, byte for byte the same records in the same order
    assert not (tmp_path / "sweep" / "aside").exists()


def _rows(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as reading:
            return int(reading.execute("SELECT count(*) FROM summaries").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_a_copy_that_tells_values_is_left_out_of_all_files(tmp_path: Path) -> None:
    from register import register
    from scanned import scanned

    data = register(600)
    copied = replace(data.schema["rent"], name="paid", role="other")
    wide = replace(data.schema, variables=(*data.schema.variables, copied))
    data = replace(data, schema=wide, columns={**data.columns, "paid": data.columns["rent"]})
    scanned(data, tmp_path / "register", 3)
    sfumato.write_schema(data, tmp_path / "schema.toml")
    wish = ["--measure", "KAnonymity", "--at-most", "KAnonymity=100%", "--utility", "InformationLoss"]
    method = ["--method", "Rounding(base=5000, variables=('rent',))"]
    where = ["--engine", "here", "--sample", "700", "--out", tmp_path / "sweep"]
    done = run("sweep", tmp_path / "register", "--schema", tmp_path / "schema.toml", *method, *wish, *where)
    assert done.exit_code == 0, done.output
    assert "paid is left out, because it tells rent" in done.stderr
    (file,) = (tmp_path / "sweep" / "release" / "register.protected").iterdir()
    assert "paid" not in pq.read_schema(file).names and "rent" in pq.read_schema(file).names


def test_candidates_composed_of_a_sample_range_from_the_keys_as_they_came(tmp_path: Path) -> None:
    """Classes are larger in the whole table than in a sample: what does without coarser keys must be tried too."""
    register, schema, _ = write_register(tmp_path, households=300)
    table = sfumato.scan(register, schema)
    drawn = sampled(table, 200)
    told: list[str] = []
    found = composed_candidates(
        drawn, MEASURES[1:2], {"KAnonymity": 0.05}, 1, first=None, seed=1, tell=told.append, whole=len(table)
    )
    coarser = ["GlobalRecoding" in repr(one.method) for one in found]
    assert any(coarser) and not all(coarser)
    with Engine("here"):
        for one in found[:6]:  # none that cannot mask parts
            assert len(protected_parts(one.method, table, np.random.default_rng(1))) == len(table)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--engine", "nonsense"], "there is no engine 'nonsense'"),
        (["--memory", "much"], "memory must be a number of bytes"),
        (["--memory", "3 MB"], "at least 64 MB"),
        (["--encoding", "cp1252"], "read as UTF-8"),
    ],
)
def test_what_cannot_be_is_said(
    swept: tuple[Path, Path, Microdata, Any], tmp_path: Path, wrong: list[str], said: str
) -> None:
    folder, schema, _, _ = swept
    done = run("sweep", folder / "register", "--schema", schema, "--out", tmp_path / "x", *wrong)
    assert done.exit_code == 2 and said in done.stderr, done.output


def test_files_that_make_no_table_are_refused(swept: tuple[Path, Path, Microdata, Any], tmp_path: Path) -> None:
    folder, schema, _, _ = swept
    empty, mixed, odd = (tmp_path / name for name in ("empty", "mixed", "odd"))
    for place in (empty, mixed, odd):
        place.mkdir()
    first = pq.read_table(folder / "register" / "part-000.parquet")
    for place in (mixed, odd):
        pq.write_table(first, place / "a.parquet")
    (mixed / "b.csv").write_text("person,weight\n1,2\n")
    pq.write_table(first.drop_columns(["age"]), odd / "b.parquet")
    refusals = {f"{empty}": "holds no Parquet files", f"{mixed}/*": "files of one kind", f"{odd}": "b.parquet"}
    refusals[f"{tmp_path}/none-*.parquet"] = "no file is called"
    for file, said in refusals.items():
        done = run("sweep", file, "--schema", schema, "--engine", "here", "--out", tmp_path / "x")
        assert done.exit_code == 2 and said in done.stderr, done.output
    done = run("sweep", folder / "register" / "part-000.parquet", "--engine", "here", "--out", tmp_path / "x")
    assert done.exit_code == 2 and "are for tables in parts" in done.stderr


@pytest.mark.parametrize("method", [None, "Noise(0.1)"])
def test_scattered_households_are_refused_before_anything_is_measured(method: str | None, tmp_path: Path) -> None:
    survey = sfumato.household_survey(300)
    scanned(survey.take(np.random.default_rng(1).permutation(len(survey))), tmp_path / "scattered", 3)
    sfumato.write_schema(survey, tmp_path / "schema.toml")
    named = [] if method is None else ["--method", method]
    where = ["--engine", "here", "--sample", "300", "--out", tmp_path / "sweep"]
    done = run("sweep", tmp_path / "scattered", "--schema", tmp_path / "schema.toml", *WISH, *named, *where)
    assert done.exit_code == 2 and "lie in several parts of the table" in done.output
    assert "sort the table by 'household'" in done.output
    assert not (tmp_path / "sweep" / "plan.json").exists() and not (tmp_path / "sweep" / "report.html").exists()


def test_a_method_that_heeds_no_household_masks_scattered_ones(tmp_path: Path) -> None:
    survey = sfumato.household_survey(300)
    scanned(survey.take(np.random.default_rng(1).permutation(len(survey))), tmp_path / "scattered", 3)
    sfumato.write_schema(survey, tmp_path / "schema.toml")
    named = ["--method", "GlobalRecoding(bins={'age': (30, 60)})", "--method", "Noise(0.1)"]
    named += ["--measure", "KAnonymity()", "--measure", "InformationLoss()"]
    where = ["--engine", "here", "--sample", "300", "--replicates", "1", "--no-bootstrap", "--out", tmp_path / "sweep"]
    done = run("sweep", tmp_path / "scattered", "--schema", tmp_path / "schema.toml", *named, *where, "--json")
    rows = json.loads(done.stdout)["candidates"]
    assert [bool(row["figures"]) for row in rows] == [True, False]  # the other is a row with its reason


def test_a_sweep_none_of_whose_candidates_masks_parts_is_refused(tmp_path: Path) -> None:
    register, schema, _ = write_register(tmp_path)
    done = run("sweep", register, "--schema", schema, *WISH, "--method", "MDAV(3)", "--out", tmp_path / "sweep")
    assert done.exit_code == 2 and "no candidate can mask a table in parts: MDAV(k=3) needs all" in done.output
    assert not (tmp_path / "sweep" / "plan.json").exists()
