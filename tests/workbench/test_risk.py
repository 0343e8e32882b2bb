"""Screen 4: what the file gives away as it is."""

import contextlib
import io
from pathlib import Path

import pytest
from pages import Bench, said
from tiny import SEX, TOWN, hostile, people

from sfumato.workbench.screens.risk import SCREEN


@pytest.fixture
def tiny(tmp_path: Path) -> Bench:
    return people(tmp_path / "tiny")


def test_the_page_comes_at_once_and_asks_for_the_figures(tiny: Bench) -> None:
    first = tiny.get("risk")
    assert 'hx-get="risk?now=yes"' in first.text
    assert "Looking at every combination of keys of 8 records" in said(first)
    assert "would be found" not in said(first)
    assert "would be found" in tiny.text("risk?now=yes")
    again = tiny.get("risk")  # what was found is kept
    assert "hx-get" not in again.text
    assert "would be found" in said(again)


def test_the_figures_are_those_counted_by_hand(tiny: Bench) -> None:
    page = tiny.text("risk?now=yes")
    # (A, f) 3, (A, m) 1, (B, f) 2, (C, m) 2: one of each class is found
    assert "4.0 of 8 persons would be found, 50.0 %." in page
    assert "1 alone with these values: fewer than 2 alike, 12.5 % of 8" in page
    assert "5 with fewer than 3 alike, 62.5 %" in page
    assert "8 with fewer than 5 alike, 100 %" in page
    assert "certain the largest chance of a single person" in page
    # without sex: A 4, B 2, C 2 leave four below 3; without town: f 5, m 3 leave none
    assert "town : without it 0 of 5 records would stay below 3" in page
    # record 4 is the only man of A; A alone and m alone are shared
    assert "Row The only one with 4 town A sex m" in page


def test_the_key_to_coarsen_first_leads_to_recode_at_that_key(tiny: Bench) -> None:
    answer = tiny.get("risk?now=yes")
    assert f'class="button first" href="recode?variable={TOWN}"' in answer.text
    assert "Cut points" not in tiny.text(f"recode?variable={TOWN}")
    assert "Put categories together" in tiny.text(f"recode?variable={TOWN}")


def test_households_are_found_with_their_members(tmp_path: Path) -> None:
    text = "home,town\n1,A\n1,B\n2,A\n2,A\n3,C\n"
    schema = 'household = "home"\n\n[variables.town]\nkind = "nominal"\nrole = "key"\n'
    page = people(tmp_path / "homes", text, schema).text("risk?now=yes")
    # A three records of 1/3, B and C certain: 3 of 5 found. Home 1: 1 - 2/3 * 0 = 1, home 2: 1 - (2/3)^2 = 5/9,
    # home 3: 1; the mean over records is (1 + 1 + 5/9 + 5/9 + 1) / 5 = 0.8222, of 5 records 4.1
    assert "3.0 of 5 persons would be found, 60.0 %; with the others of their households 4.1, 82.2 %." in page
    assert "1 households of two or more with a record below 3" in page


def test_after_recodings_the_risk_can_be_seen_too(tiny: Bench) -> None:
    assert "After your recodings" not in tiny.text("risk")
    tiny.post("recode", "merge", variable=TOWN, groups=[0, 1, 2], into="all")
    assert "After your recodings" in tiny.text("risk")
    page = tiny.text("risk?after=yes&now=yes")
    # f 5, m 3
    assert "2.0 of 8 persons would be found, 25.0 %." in page
    assert "No record is below 3" in page
    assert "4.0 of 8 persons" in tiny.text("risk?now=yes")


def test_another_intruder_is_counted_anew(tiny: Bench) -> None:
    tiny.text("risk?now=yes")
    tiny.post("scenarios", "add", preset="took part")
    tiny.post("scenarios", "keep", place="0", name="colleague", k="4", keys=[SEX], knows_membership="on")
    page = tiny.text("risk?now=yes")
    assert "Colleague knows sex; 4 records must look alike" in page
    assert "2.0 of 8 persons would be found, 25.0 %." in page
    assert "3 with fewer than 4 alike, 37.5 %" in page


def test_without_keys_it_says_who_is_assumed(tmp_path: Path) -> None:
    tiny = people(tmp_path / "none", schema='[variables.town]\nkind = "nominal"\n')
    page = tiny.text("risk?now=yes")
    assert "this is for somebody who knows all categories" in page


def test_the_same_elsewhere_does_the_same(tiny: Bench) -> None:
    same = SCREEN.same(tiny.desk, tiny.draft)
    assert same is not None
    assert same.command == "sfumato inspect people.csv --schema schema.toml --risk"
    out = io.StringIO()
    with contextlib.chdir(tiny.desk.folder), contextlib.redirect_stdout(out):
        exec(same.python, {})
    assert out.getvalue() == "all keys 1 5 4.0 ('town',)\n"


def test_values_that_would_break_the_page_are_only_text(tmp_path: Path) -> None:
    page = hostile(tmp_path / "nasty").get("risk?now=yes&after=<script>").text
    assert "<script>alert" not in page
    assert "<b>0" not in page
