"""Screen 3: the intruders, what they know, and what they would find."""

import contextlib
import io
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pages import Bench, bench, said
from tiny import AGE, SEX, TOWN, hostile, people

from sfumato.table.schema import Schema, Variable
from sfumato.workbench.screens.scenarios import PRESETS, SCREEN, proposed

__all__ = ["bench"]


@pytest.fixture
def tiny(tmp_path: Path) -> Bench:
    return people(tmp_path / "tiny")


def kept(tiny: Bench, **changes: Any) -> str:
    """Send the open card, as the page would, with some fields changed."""
    fields: dict[str, Any] = {
        "place": "0",
        "name": "neighbour",
        "k": "3",
        "keys": [TOWN, SEX],
        "knows_membership": "on",
    }
    return said(tiny.post("scenarios", "keep", **{**fields, **changes}))


def test_without_an_intruder_one_is_assumed_who_knows_all_keys(tiny: Bench) -> None:
    page = tiny.text("scenarios")
    assert "No intruder is named yet" in page
    assert "knows all 2 variables with the role key" in page
    # town and sex: (A, m) is alone; below 3: 1 + 2 + 2; found 1 + 1 + 1 + 1, one of each class
    assert "alone with what they know 1 12.5 %" in page
    assert "with fewer than 3 alike 5 62.5 %" in page
    assert "would be found, in expectation 4 50.0 %" in page
    assert not SCREEN.done(tiny.desk, tiny.draft)


def test_a_named_intruder_is_in_the_schema_at_once(tiny: Bench) -> None:
    page = said(tiny.post("scenarios", "add", preset="took part"))
    assert "knows who took part" in page
    written = tomllib.loads((tiny.desk.folder / "schema.toml").read_text())
    assert written["scenarios"]["knows who took part"]["keys"] == ["town", "sex"]
    assert SCREEN.done(tiny.desk, tiny.draft)


def test_ticking_a_key_counts_anew_and_tells_the_change(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    page = kept(tiny, keys=[TOWN])
    # town alone: A 4, B 2, C 2; nobody alone, 4 below 3, three found
    assert "with fewer than 3 alike 4 50.0 % −1 by the last change" in page
    page = kept(tiny, keys=[TOWN, SEX])
    assert "alone with what they know 1 12.5 % +1 by the last change" in page
    assert "would be found, in expectation 4 50.0 % +1 by the last change" in page


def test_k_and_membership_and_the_name_are_kept(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    fields: dict[str, Any] = {
        "place": "0",
        "name": 'the "neighbour" <b>',
        "k": "2",
        "keys": [SEX, AGE],
        "about": [AGE, TOWN],
    }
    tiny.post("scenarios", "keep", **fields)
    (scenario,) = tiny.desk.stated(tiny.draft).scenarios
    assert scenario.name == 'the "neighbour" <b>'
    assert (scenario.keys, scenario.about, scenario.k, scenario.knows_membership) == (
        ("sex", "age"),
        ("age",),
        2,
        False,
    )
    assert '<input id="name" name="name" maxlength="100" required value="the &#34;neighbour&#34; &lt;b&gt;"' in (
        tiny.get("scenarios").text
    )
    assert "knows age; no longer knows town" in tiny.text("journal")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"keys": []}, "tick at least one key"),
        ({"name": " "}, "give this intruder a name"),
        ({"name": "other"}, "another intruder is called other already"),
        ({"k": "1"}, "at least 2"),
        ({"k": "2.5"}, "a whole number is needed here"),
        ({"k": "many"}, "a number is needed here"),
        ({"place": "7"}, "at most 1"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(tiny: Bench, changes: dict[str, Any], told: str) -> None:
    tiny.post("scenarios", "add", preset="took part")
    tiny.post("scenarios", "add", preset="took part")
    kept(tiny, place="1", name="other")
    before = tiny.draft
    assert told in kept(tiny, **changes)
    assert tiny.draft == before


def test_copies_get_names_of_their_own_and_can_be_removed(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    tiny.post("scenarios", "duplicate", place="0")
    names = [one.name for one in tiny.desk.stated(tiny.draft).scenarios]
    assert names == ["knows who took part", "knows who took part 2"]
    tiny.post("scenarios", "remove", place="0")
    tiny.post("scenarios", "remove", place="0")
    assert tiny.desk.stated(tiny.draft).scenarios == ()
    assert "No intruder is named yet" in tiny.text("scenarios")


def test_an_old_page_and_a_double_click_change_nothing_twice(tiny: Bench) -> None:
    old = str(tiny.desk.now().revision)
    tiny.post("scenarios", "add", preset="took part", once="abc")
    tiny.post("scenarios", "add", preset="took part", once="abc")
    assert len(tiny.desk.stated(tiny.draft).scenarios) == 1
    answer = tiny.post("scenarios", "add", preset="firm", revision=old)
    assert answer.status_code == 409
    assert "changed in another tab" in said(answer)
    assert len(tiny.desk.stated(tiny.draft).scenarios) == 1


def test_undo_brings_the_tick_back_and_stays_on_the_card(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    tiny.post("scenarios", "duplicate", place="0")
    kept(tiny, place="1", name="two", keys=[TOWN])
    answer = tiny.post("", "undo?at=1", screen="scenarios")
    assert answer.status_code == 200
    assert tiny.desk.stated(tiny.draft).scenarios[1].keys == ("town", "sex")
    assert 'value="knows who took part 2"' in answer.text


def test_a_continuous_key_is_left_out_with_advice(bench: Bench) -> None:
    place = bench.desk.table(bench.draft).names.index("person")
    bench.post("scenarios", "add", preset="register")
    keys = [place, place + 3]
    page = said(bench.post("scenarios", "keep", place="0", name="x", k="3", keys=keys))
    assert "person: nearly every record has a value of its own" in page


def test_many_keys_bring_advice(bench: Bench) -> None:
    bench.post("scenarios", "add", preset="neighbour")
    answer = bench.get("scenarios")
    assert "of the records are alone with them" in said(answer)
    assert '<a href="risk">Which key to coarsen first' in answer.text


def test_presets_tick_what_such_a_person_is_likely_to_know() -> None:
    schema = Schema(
        (
            Variable("sexHead", "nominal", "key"),
            Variable("v12", "nominal", "key", label="Region of residence"),
            Variable("occupation", "nominal"),
            Variable("income", role="confidential"),
            Variable("illness", "nominal", role="confidential"),
            Variable("essex", "nominal"),
        )
    )
    register, neighbour = (proposed(PRESETS[name], schema) for name in ("register", "neighbour"))
    assert register is not None and neighbour is not None
    assert register.keys == ("sexHead", "v12")
    assert not register.knows_membership
    assert neighbour.keys == ("sexHead", "v12", "occupation", "income")
    assert neighbour.about == ("income",)


def test_a_preset_finds_something_in_a_table_without_telling_names() -> None:
    unknown = Schema((Variable("q1"), Variable("q2", "nominal"), Variable("q3", "nominal", "identifier")))
    for preset in PRESETS.values():
        made = proposed(preset, unknown)
        assert made is not None
        assert made.keys == ("q2",)
    assert proposed(PRESETS["firm"], Schema()) is None


def test_after_recodings_both_figures_stand_there(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    kept(tiny, keys=[TOWN])
    tiny.post("recode", "merge", variable=TOWN, groups=[1, 2], into="B or C")
    # A 4, B or C 4: nobody below 3
    assert "with fewer than 3 alike 4 50.0 % 0 after your recodings" in tiny.text("scenarios")


def test_the_same_elsewhere_does_the_same(tiny: Bench) -> None:
    tiny.post("scenarios", "add", preset="took part")
    same = SCREEN.same(tiny.desk, tiny.draft)
    assert same is not None
    assert same.command == "sfumato inspect people.csv --schema schema.toml --risk"
    out = io.StringIO()
    with contextlib.chdir(tiny.desk.folder), contextlib.redirect_stdout(out):
        exec(same.python, {})
    assert "unique=1, below=5" in out.getvalue()


def test_names_that_would_break_the_page_are_only_text(tmp_path: Path) -> None:
    nasty = hostile(tmp_path / "nasty")
    nasty.post("scenarios", "add", preset="took part")
    nasty.post("scenarios", "keep", place="0", name="<img src=x onerror=alert(1)>", k="2", keys=[0, 1, 2])
    assert len(nasty.desk.stated(nasty.draft).scenarios[0].keys) == 3
    for screen in ("scenarios", "scenarios?at=999999999999", "scenarios?at=-1&was=1,2", "scenarios?was=nan,nan,nan"):
        page = nasty.get(screen)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "<b>0" not in page.text


def test_with_weights_it_asks_whether_the_intruder_knows_who_took_part(bench: Bench) -> None:
    page = bench.text("scenarios")
    assert ("Does the intruder know who took part?" in page) is (
        bench.desk.table(bench.draft).schema.weight is not None
    )
    added = said(bench.post("scenarios", "add", preset="all of a register"))
    assert "all of a register" in added
    assert not bench.desk.stated(bench.draft).scenarios[-1].knows_membership


def test_without_weights_it_does_not_ask(tiny: Bench) -> None:
    assert "Does the intruder know who took part?" not in tiny.text("scenarios")
