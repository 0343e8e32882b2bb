"""The screen Mask: proposals, one's own chains of steps, and the command that says the whole draft."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
import typer
from forms import filled
from mask_desk import fresh, on, put, survey
from pages import Bench, said

import sfumato
from sfumato import catalogue
from sfumato.cli.app import app
from sfumato.compare.candidates import compose
from sfumato.core import Method
from sfumato.workbench.commands import judging, sweep_asked, sweep_call, sweep_words
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.mask import SCREEN
from sfumato.workbench.tries import step_tried, tried


def test_the_draft_as_a_command_by_hand(fresh: Bench) -> None:
    draft = fresh.draft.but(
        recodings=json.dumps({"age": {"width": 10}}),
        own=("MDAV(k=3)", "LocalSuppression(k=3, importance={'age': 3})"),
        breadth=2,
        elsewhere=("other.csv",),
        at_most={"Reidentification()": 0.05, "InformationLoss()": 20.0, "Suppressed(variables=('sex',))": 0.0},
        at_least={"GlobalDataUtility(deletion='charged')": 0.6},
        replicates=5,
        population=1e6,
        keep_order=True,
        despite_audit=True,
        choose="MDAV(k=3)",
        delimiter=";",
    )
    draft = draft.but(delimiter=None)
    assert sweep_words(fresh.desk, draft) == [
        "sweep", "t.csv", "--schema", "schema.toml", "--first", "GlobalRecoding(bins={'age': 10})",
        "--method", "MDAV(k=3)", "--method", "LocalSuppression(k=3, importance={'age': 3})", "--also-composed",
        "--breadth", "2", "--at-most", "Reidentification=5%", "--at-most", "InformationLoss=20",
        "--at-most", "Suppressed(variables=('sex',))=0",
        "--at-least", "GlobalDataUtility(deletion='charged')=60%", "--population", "1000000",
        "--candidate", "other.csv", "--replicates", "5", "--keep-order", "--despite-audit", "--choose", "MDAV(k=3)",
        "--out", ".",
    ]  # fmt: skip


def test_the_command_and_the_call_ask_for_the_same(fresh: Bench) -> None:
    draft = fresh.draft.but(
        own=("MDAV(k=3)",),
        uses=("IntervalOverlap(model='income ~ age')",),
        at_most={"Reidentification()": 0.07, "Reidentification(above=0.2)": 0.0},
        replicates=2,
    )
    command = typer.main.get_command(app).commands["sweep"]  # type: ignore[attr-defined]
    words = sweep_words(fresh.desk, draft)
    read = command.make_context("sweep", words[1:]).params
    called: dict[str, object] = {}
    fake = type("sfumato", (), {"sweep": staticmethod(lambda *args, **more: called.update(more, file=args[0]))})
    exec(sweep_call(fresh.desk, draft), {"sfumato": fake})
    assert called == {"file": "t.csv", **sweep_asked(fresh.desk, draft)}
    from sfumato.project.reading import read_bounds

    assert read_bounds("--at-most", read["at_most"]) == called["at_most"] == dict(draft.at_most)
    assert list(read["measures"]) == called["measures"]
    assert "Reidentification()" in read["measures"] and read["measures"][-1] == draft.uses[0]
    assert list(read["methods"]) == ["MDAV(k=3)"] and read["also_composed"] and read["replicates"] == 2


@pytest.mark.parametrize(
    ("said_", "expected"),
    [
        ({}, []),
        ({"breadth": 3}, ["--breadth", "3"]),
        ({"bootstrap": False}, ["--no-bootstrap"]),
        ({"own": ("MDAV(k=3)",), "proposed": False, "breadth": 3}, ["--method", "MDAV(k=3)"]),
        ({"own": ("MDAV(k=3)",)}, ["--method", "MDAV(k=3)", "--also-composed"]),
        ({"recodings": '{"age": {"width": 5}}'}, ["--first", "GlobalRecoding(bins={'age': 5})"]),
        ({"recodings": '{"age": {"width": 5}}', "proposed": False}, ["--method", "GlobalRecoding(bins={'age': 5})"]),
    ],
)
def test_which_candidates_are_asked_for(fresh: Bench, said_: dict[str, object], expected: list[str]) -> None:
    words = sweep_words(fresh.desk, fresh.draft.but(**said_))
    assert words[4:-2] == expected


def test_a_file_that_looks_like_an_option_is_a_file(fresh: Bench) -> None:
    assert sweep_words(fresh.desk, Draft(source="-x.csv"))[:2] == ["sweep", "./-x.csv"]


# forms of methods


def test_steps_are_added_moved_and_taken_out(fresh: Bench) -> None:
    fresh.post("mask", "add", method="Rounding")
    assert fresh.draft.own == ("Rounding(scale=0.1)",)
    fresh.post("mask", "add_step", **{"candidate": "0", "method.0": "LocalSuppression"})
    fresh.post("mask", "add_step", **{"candidate": "0", "method.0": "Noise"})
    assert fresh.draft.own == ("Rounding(scale=0.1) + LocalSuppression(k=3) + Noise(scale=0.05)",)
    answer = fresh.post("mask", "move_step", candidate="0", step="2", to="1")
    assert fresh.draft.own == ("Rounding(scale=0.1) + Noise(scale=0.05) + LocalSuppression(k=3)",)
    assert "Noise is now step 2 of 3." in said(answer)
    fresh.post("mask", "move_step", candidate="0", step="0", to="2")
    assert fresh.draft.own == ("Noise(scale=0.05) + LocalSuppression(k=3) + Rounding(scale=0.1)",)
    fresh.post("mask", "remove_step", candidate="0", step="1")
    assert fresh.draft.own == ("Noise(scale=0.05) + Rounding(scale=0.1)",)
    assert fresh.post("mask", "move_step", candidate="0", step="0", to="2").status_code == 422
    fresh.post("mask", "remove_step", candidate="0", step="0")
    fresh.post("mask", "remove_step", candidate="0", step="0")
    assert fresh.draft.own == ()
    fresh.post("", "undo", screen="mask")
    assert fresh.draft.own == ("Rounding(scale=0.1)",)


def test_a_changed_step_can_be_a_further_candidate(fresh: Bench) -> None:
    put(fresh, "Noise(scale=0.1) + Rounding(scale=0.1)")
    sent = {**filled(fresh.get("mask?edit=0.1").text, "mask/change_step"), "parameter.scale": "0.5", "copy": "yes"}
    fresh.post("mask", "change_step?edit=0.1", **sent)
    assert fresh.draft.own == ("Noise(scale=0.1) + Rounding(scale=0.1)", "Noise(scale=0.1) + Rounding(scale=0.5)")


def test_a_text_gives_several_candidates_and_says_what_is_wrong_at_its_field(fresh: Bench) -> None:
    fresh.post("mask", "write", text="MDAV(k=[3, 5, 10])")
    assert fresh.draft.own == ("MDAV(k=3)", "MDAV(k=5)", "MDAV(k=10)")
    fresh.post("mask", "write", **{"candidate": "1", "text.1": "Noise(0.1) + Rounding(10, variables=['income'])"})
    assert fresh.draft.own[1] == "Noise(scale=0.1) + Rounding(base=10.0, variables=('income',))"
    for text, words in (
        ("MDVA(3)", "did you mean MDAV?"),
        ("MDAV(", "cannot read"),
        ("MDAV(k=3)", "in the list already"),
        ("KAnonymity", "is not a method"),
        ("Noise(0.1, variables=['incme'])", "did you mean 'income'?"),
        ("DateShift(7)", "no date variable"),
        ("", "write a method"),
    ):
        answer = fresh.post("mask", "write", text=text)
        assert answer.status_code == 422 and 'id="problem-text"' in answer.text, text
        assert words in said(answer), text
    assert len(fresh.draft.own) == 3


def test_names_and_sentences_are_those_of_the_report(fresh: Bench) -> None:
    from sfumato.compare.naming import in_words, short_names

    texts = ("GlobalRecoding(bins={'age': (30, 60)}) + LocalSuppression(k=3)", "MDAV(k=3)")
    put(fresh, *texts)
    words = fresh.text("mask")
    made = {text: catalogue.parse(text)[0] for text in texts}
    for text, name in short_names(made).items():  # type: ignore[arg-type]
        method = made[text]
        assert isinstance(method, Method)
        assert name in words and in_words(method, fresh.desk.table(fresh.draft).schema) in words


# tries


def test_what_suppression_would_blank_by_hand(tmp_path: Path) -> None:
    # of the five, only the third has a combination of its own; its job is the cheaper value to give
    people = pa.table({"region": ["N", "N", "N", "S", "S"], "job": ["a", "a", "b", "a", "a"]})
    bench = on(tmp_path, people, own=("LocalSuppression(k=2)",))
    found = tried(bench.desk, bench.draft, sfumato.LocalSuppression(2))
    assert [(one.name, one.blank, one.share, one.changed) for one in found.changes] == [("job", 1, 0.2, 0.0)]
    words = bench.text("mask?edit=0.0&estimate=yes")
    assert "1 value made missing; 1 variable as it was" in words
    # if no job may go, nothing helps: nobody else has the job b, whatever the region
    sent = {"parameter.form": "yes", "parameter.k": "2", "parameter.which": "role"}
    keys = {"key.0.name": "job", "key.0.never": "on"}
    page = bench.send("GET", bench.address("mask"), params={"edit": "0.0", "estimate": "yes", **sent, **keys})
    assert "caps lets 0 % of 'job' be suppressed, but 1 record more could not be protected" in said(page)


def test_a_step_is_tried_on_what_the_steps_before_leave(fresh: Bench) -> None:
    first = sfumato.VariableRemoval(variables=("age", "occupation"))
    found = step_tried(fresh.desk, fresh.draft, (first,), sfumato.LocalSuppression(2))
    alone = step_tried(fresh.desk, fresh.draft, (), sfumato.LocalSuppression(2))
    data = fresh.desk.table(fresh.draft)
    expected = sfumato.LocalSuppression(2).protect(first.protect(data))
    blank = sum(int((expected.missing(n) & ~data.missing(n)).sum()) for n in expected.names)
    assert found.blank == blank < alone.blank


def test_large_tables_are_not_tried_on_the_page(fresh: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.workbench.tries.MAX_RECORDS", 10)
    assert "tried out on the page up to 10" in step_tried(fresh.desk, fresh.draft, (), sfumato.Noise(0.123)).trouble


def test_proposals_are_those_of_a_sweep_and_can_be_taken_over(fresh: Bench) -> None:
    fresh.desk.change(lambda draft: draft.but(at_most={"Reidentification()": 0.2}), screen="bounds", what="a bound")
    page = fresh.get("mask?show=proposals")
    found = compose(fresh.desk.table(fresh.draft), judging(fresh.desk, fresh.draft), {"Reidentification()": 0.2})
    assert f"{len(found)} candidates would be proposed" in said(page)
    assert all(one.why in said(page) for one in found)
    fresh.post("mask", "take", proposal=repr(found[0].method))
    assert fresh.draft.own == (repr(found[0].method),)
    assert fresh.post("mask", "take", proposal=repr(found[0].method)).status_code == 422


def test_proposals_behind_recodings_are_taken_over_without_them(fresh: Bench) -> None:
    recodings = json.dumps({"age": {"width": 20}, "occupation": {"rare": 0.1}})
    fresh.desk.change(lambda draft: draft.but(recodings=recodings), screen="recode", what="recoded")
    page = fresh.get("mask?show=proposals")
    assert "Every candidate begins with what you said before: Age is given in bands" in said(page)
    texts = [part.partition('"')[0] for part in page.text.split('name="proposal" value="')[1:]]
    assert texts and not any("&#39;age&#39;: 20" in text for text in texts)


def test_nothing_is_left_to_try_if_nothing_is_proposed(fresh: Bench) -> None:
    answer = fresh.post("mask", "propose", breadth="1")
    assert answer.status_code == 422 and "nothing to try" in said(answer)
    put(fresh, "MDAV(k=3)")
    fresh.post("mask", "propose", breadth="3")
    assert (fresh.draft.proposed, fresh.draft.breadth) == (False, 3)
    fresh.post("mask", "propose", breadth="2", proposed="on")
    assert (fresh.draft.proposed, fresh.draft.breadth) == (True, 2)


# beside


def test_files_protected_elsewhere(fresh: Bench) -> None:
    data = fresh.desk.table(fresh.draft)
    sfumato.write(sfumato.Noise(0.1).protect(data, rng=1), fresh.desk.folder / "masked.csv")
    (fresh.desk.folder / "other.csv").write_text("a,b\n1,2\n")
    fresh.post("mask", "elsewhere", file=["masked.csv"])
    assert fresh.draft.elsewhere == ("masked.csv",)
    answer = fresh.post("mask", "elsewhere", file=["masked.csv", "other.csv"])
    assert answer.status_code == 422 and "no variable of the original" in said(answer)
    for name in ("../secret.csv", "t.csv", "none.csv"):
        assert fresh.post("mask", "elsewhere", file=[name]).status_code == 422
    fresh.post("mask", "elsewhere")
    assert fresh.draft.elsewhere == ()


def test_a_file_protected_elsewhere_is_dropped_on_the_page(fresh: Bench) -> None:
    data = fresh.desk.table(fresh.draft)
    sfumato.write(sfumato.Noise(0.1).protect(data, rng=1), fresh.desk.folder / "masked.csv")
    sfumato.write(sfumato.Noise(0.2).protect(data, rng=1), fresh.desk.folder / "more.csv")
    (fresh.desk.folder / "bare.csv").write_text("a,b\n")
    source = fresh.draft.source
    fresh.post("mask", "bring", name="masked.csv")
    fresh.post("mask", "bring", name="more.csv")
    assert fresh.draft.elsewhere == ("masked.csv", "more.csv") and fresh.draft.source == source
    answer = fresh.post("mask", "bring", name="bare.csv")
    assert answer.status_code == 422 and "bare.csv has a header but no records" in said(answer)
    assert str(fresh.desk.folder) not in said(answer)
    assert fresh.draft.elsewhere == ("masked.csv", "more.csv")


def test_copies_that_are_not_linked_are_warned_of(tmp_path: Path) -> None:
    ages = [18 + 7 * i % 60 for i in range(120)]
    table = pa.table({"age": ages, "cohort": [2020 - age for age in ages], "sex": ["f", "m", "m"] * 40})
    bench = on(tmp_path, table)
    assert "Looking for copies" in bench.text("mask")
    assert "cohort : age tells it in 100.0% of the records" in bench.text("mask?show=links")
    stated = bench.desk.stated(bench.draft)
    from dataclasses import replace

    text = bench.desk.restated(stated.replace(replace(stated["cohort"], linked=("age",))))
    bench.desk.change(lambda draft: draft.but(schema=text), screen="variables", what="linked")
    words = bench.text("mask?show=links")
    assert "cohort follows age" in words and "No further variable" in words


def test_methods_that_find_nothing_here_cannot_be_chosen(fresh: Bench) -> None:
    page = fresh.get("mask").text
    assert '<option value="DateShift" disabled>Date shifting (no date variable)</option>' in page
    assert '<option value="WeightMasking">' in page
    assert SCREEN.ready(fresh.desk, Draft()) != ""
