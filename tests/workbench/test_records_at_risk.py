"""The chance of each record on Risk now: bars, threshold, list and export, against pandas."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from pages import Bench, bench
from tiny import hostile, people

from sfumato.workbench.screens.records_at_risk import EDGES, exported, lines, picture, record_chances

KEYS = ("region", "sex", "age")


@pytest.fixture
def survey(bench: Bench) -> Bench:
    for name in KEYS:
        bench.post("variables", "say", name=name, role="key")
    return bench


def test_bars_threshold_and_list_are_those_of_pandas(survey: Bench) -> None:
    data = survey.desk.table(survey.draft)
    frame = pd.read_csv(survey.desk.folder / "survey.csv")
    expected = 100 / frame.groupby(list(KEYS))[KEYS[0]].transform("size")
    keys, chance = record_chances(data, data.schema.intruders()[0])
    assert set(keys) == set(KEYS) and list(100 * chance) == pytest.approx(list(expected))
    drawn = picture(chance)
    bars = pd.cut(expected, list(EDGES)).value_counts(sort=False)
    assert [bar.records for bar in drawn.bars] == list(bars)
    for above in (0, 20, 33.4, 50):
        assert drawn.above(above) == int((expected > above).sum())
    listed = lines(data, keys, chance, 20.0, 100.0, None)
    assert {one.row - 1 for one in listed} == set(expected.index[expected > 20])
    assert [one.chance for one in listed] == sorted((one.chance for one in listed), reverse=True)
    first = listed[0]
    assert first.values == tuple(str(frame.loc[first.row - 1, key]) for key in keys)


def test_the_page_shows_them_and_the_export_has_all(survey: Bench) -> None:
    frame = pd.read_csv(survey.desk.folder / "survey.csv")
    sizes = frame.groupby(list(KEYS))[KEYS[0]].transform("size")
    page = survey.text("risk?now=yes&list=0&above=40")
    assert f"{int((sizes <= 2).sum())} records" in page
    answer = survey.get("download/risk?list=0&above=40")
    assert answer.headers["content-disposition"].startswith("attachment")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {int(row["row"]) - 1 for row in rows} == set(frame.index[sizes <= 2])
    assert survey.get("download/variables").status_code == 404
    assert survey.get("download/risk?list=99").status_code == 200


def test_what_a_spreadsheet_would_compute_stands_behind_an_apostrophe(tmp_path: Path) -> None:
    bench = people(tmp_path / "project", "town,sex,age,grade\n=cmd|x,f,20,low\nB,f,21,low\n")
    data = bench.desk.table(bench.draft)
    keys, chance = record_chances(data, data.schema.intruders()[0])
    assert "'=cmd|x" in exported(keys, lines(data, keys, chance, 0.0, 100.0, None))


def test_a_hostile_file_is_text_here_too(tmp_path: Path) -> None:
    bench = hostile(tmp_path / "project")
    page = bench.get("risk?now=yes&list=0&above=0").text
    assert "<script>alert" not in page and "<b>" not in page
