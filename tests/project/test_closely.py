"""Candidates of a folder looked at closely: what is found is right, kept, told, and refused where it cannot be."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato.cli.app import app
from sfumato.compare.examine import ProtectedTable, examined
from sfumato.compare.experiment import Experiment
from sfumato.compare.progress import Progress
from sfumato.compare.seeds import generator
from sfumato.errors import DataError, FileError, ParameterError
from sfumato.project.closely import look, swept
from sfumato.project.folder import held
from sfumato.project.plan import planned
from sfumato.project.progress import read_progress
from sfumato.project.record import STORE, Record
from sfumato.report.side_by_side import PIECES

K2, SWAPPED = "LocalSuppression(k=2)", "RankSwapping(p=0.2)"
SEED = 11


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which candidates were measured, and none was looked at."""
    folder = tmp_path_factory.mktemp("swept") / "sweep"
    folder.mkdir()
    data = sfumato.household_survey(50)
    sfumato.write(data, folder / "survey.csv")
    sfumato.write_schema(data, folder / "schema.toml")
    plan = planned(
        folder / "survey.csv",
        folder / "schema.toml",
        methods=[K2, SWAPPED],
        measures=["Reidentification", "InformationLoss", "TableUtility(variables=['sex', 'region'])"],
        risk="Reidentification",
        utility="InformationLoss",
        replicates=1,
        seed=SEED,
        out=folder,
    )
    Record.of(plan).save(folder)
    experiment = Experiment(plan.data, methods=plan.methods, measures=plan.measures, seed=plan.seed, rounded=True)
    experiment.run(store=folder / STORE, original=True)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "sweep")
    return tmp_path / "sweep"


def test_what_is_found_is_what_the_tables_say(folder: Path) -> None:
    found = look(folder, [K2, SWAPPED])
    original = sfumato.read(folder / "survey.csv", folder / "schema.toml")
    method = sfumato.LocalSuppression(2)
    suppressed = method.protect(original, rng=generator(SEED, method, 0))
    assert [line.label for line in found.candidates] == [K2, SWAPPED]
    rows = {row[0].name: row for row in found.variables}
    for name in ("age", "region", "sex"):
        before, after = original.missing(name), suppressed.missing(name)
        assert rows[name][0].suppressed == pytest.approx((~before & after).mean())
    women = original.schema["sex"].categories.index(rows["sex"][0].categories[0])
    share = (original.columns["sex"] == women).sum() / (~original.missing("sex")).sum()
    assert rows["sex"][0].shares_before[0] == pytest.approx(share)
    swap = sfumato.RankSwapping(0.2)
    swapped = swap.protect(original, rng=generator(SEED, swap, 0))
    was, now = original.columns["earnings"], swapped.columns["earnings"]
    differ = np.mean((was != now) & ~(np.isnan(was) & np.isnan(now)))
    assert rows["earnings"][1].changed == pytest.approx(differ) and rows["earnings"][0].changed == 0
    shifts = [max(one.shifted for one in row) for row in found.variables]
    assert shifts == sorted(shifts, reverse=True)


def test_own_tables_stand_side_by_side(folder: Path) -> None:
    (tables,) = look(folder, [K2, SWAPPED]).tables
    original = sfumato.read(folder / "survey.csv", folder / "schema.toml")
    measure = sfumato.TableUtility(variables=("sex", "region"))
    swap = sfumato.RankSwapping(0.2)
    (row,) = measure.evaluate(original, swap.protect(original, rng=generator(SEED, swap, 0))).tables["tables"]
    ((names, each),) = tables.rows
    assert names == ("sex", "region")
    assert each[1] == pytest.approx(row[tables.figure])


def test_a_coefficient_that_one_candidate_left_alone_is_told_of_the_other(folder: Path) -> None:
    found = look(folder, [K2, SWAPPED])
    assert found.coefficients
    alone = [c for c in found.coefficients if c.name == "wealth" and c.model.startswith("earnings")]
    assert all(c.after[0] is None and c.after[1] is not None for c in alone)  # suppression leaves amounts alone
    least = [min(o for o in c.overlap if o is not None) for c in found.coefficients]
    assert least == sorted(least)


def test_a_second_look_computes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = swept(folder)
    assert examined(results, K2, what=PIECES) is None
    first = look(folder, [K2, SWAPPED])
    assert examined(results, K2, what=PIECES) is not None
    monkeypatch.setattr(ProtectedTable, "made", property(lambda self: pytest.fail("the table was made again")))
    assert look(folder, [K2, SWAPPED]) == first


def test_how_far_it_is_stands_in_the_folder(folder: Path) -> None:
    heard: list[Progress] = []
    look(folder, [K2, SWAPPED], watch=heard.append)
    told = [(one.phase, one.candidate, one.done, one.total) for one in heard if one.phase == "examination"]
    for candidate in (K2, SWAPPED):
        assert ("examination", candidate, 0, 4) in told and ("examination", candidate, 4, 4) in told
    ended = read_progress(folder)
    assert ended is not None and ended.state == "done"


def test_candidates_by_other_names_and_unknown_ones(folder: Path) -> None:
    assert look(folder, ["LocalSuppression(2)"]).candidates[0].label == K2
    with pytest.raises(ParameterError, match="--candidate: there is no candidate 'LocalSuppression\\(k=9\\)'"):
        look(folder, ["LocalSuppression(k=9)"])
    with pytest.raises(ParameterError, match="one to 3 candidates"):
        look(folder, [])


def test_a_table_that_is_another_by_now_is_refused(folder: Path) -> None:
    record = Record.read(folder)
    assert record is not None
    place = Path(record.file)
    text = place.read_text()
    try:
        place.write_text("\n".join(text.splitlines()[:-1]) + "\n")
        with pytest.raises(DataError, match="is not the table that was swept"):
            look(folder, [K2])
    finally:
        place.write_text(text)


def test_a_schema_that_was_edited_since_does_not_matter_to_what_was_swept(folder: Path) -> None:
    edited = (folder / "schema.toml").read_text().replace('role = "key"', 'role = "other"', 1)
    (folder / "schema.toml").write_text(edited)
    assert swept(folder).original.fingerprint == Record.read(folder).fingerprint  # type: ignore[union-attr]
    with pytest.raises(DataError, match="is not the table"):
        look(folder, [K2], schema=folder / "schema.toml")


def test_folders_that_hold_no_sweep_or_are_in_use(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds no sweep"):
        look(tmp_path / "empty", [K2])
    with held(folder), pytest.raises(FileError, match="is in use"):
        look(folder, [K2])


def test_the_command_prints_a_column_for_each(folder: Path) -> None:
    run = CliRunner().invoke(app, ["look", str(folder), "--candidate", K2, "--candidate", SWAPPED])
    assert run.exit_code == 0, run.output
    assert K2 in run.output and "figures" in run.output and "InformationLoss" in run.output
    told = CliRunner().invoke(app, ["look", str(folder), "--candidate", K2, "--json"])
    assert [line["label"] for line in json.loads(told.stdout)["candidates"]] == [K2]
    assert CliRunner().invoke(app, ["look", str(folder), "--candidate", "nobody"]).exit_code == 2
