"""The screen Mask: proposals, one's own chains of steps, and the command that says the whole draft."""

import datetime as dt
import json
from html import unescape
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
import typer
from forms import filled
from pages import Bench, said

import sfumato
from sfumato import catalogue
from sfumato.cli.app import app
from sfumato.compare.candidates import compose
from sfumato.core import Method
from sfumato.data.microdata import Microdata
from sfumato.workbench.commands import judging, sweep_asked, sweep_call, sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.method_forms import fields_of, usual
from sfumato.workbench.method_words import GROUPS, LABELS, group_of
from sfumato.workbench.screens.mask import SCREEN
from sfumato.workbench.tries import step_tried, tried

KEYS = ("region", "sex", "age", "education")
HOSTILE = (
    """a"b'c</script><script>alert(1)</script>""",
    "x, y = {'z': 1}",
    "net\nincome",
    "&lt;b&gt; &amp;",
    "two  blanks",
    "ключ.value",
)


def on(folder: Path, table: pa.Table | Microdata, file: str = "t.csv", **said_: object) -> Bench:
    """Put a table on a desk, confirmed."""
    made = Bench(Desk(folder / "project"))
    sfumato.write(table if isinstance(table, Microdata) else Microdata.from_frame(table), made.desk.folder / file)
    made.post("open", "choose", name=file)
    made.post("open", "confirm")
    made.desk.change(lambda draft: draft.but(**said_), screen="mask", what="set up")
    return made


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The demo survey with its roles."""
    data = sfumato.household_survey(120)
    made = on(tmp_path_factory.mktemp("survey"), data)
    made.desk.change(lambda draft: draft.but(schema=made.desk.restated(data.schema)), screen="variables", what="roles")
    return made


@pytest.fixture
def fresh(survey: Bench) -> Bench:
    """The survey without any candidate."""
    survey.desk.change(
        lambda old: Draft(source=old.source, confirmed=True, schema=old.schema), screen="open", what="anew"
    )
    return survey


def refusal(answer: httpx.Response) -> str:
    """Return what a page says at the field that was refused."""
    return answer.text.partition('class="problem"')[2][:400]


def put(bench: Bench, *own: str) -> None:
    bench.desk.change(lambda draft: draft.but(own=own), screen="mask", what="set up")


# the command of the whole draft


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
    assert list(read["measure"]) == called["measures"]
    assert "Reidentification()" in read["measure"] and read["measure"][-1] == draft.uses[0]
    assert list(read["method"]) == ["MDAV(k=3)"] and read["also_composed"] and read["replicates"] == 2


@pytest.mark.parametrize(
    ("said_", "expected"),
    [
        ({}, []),
        ({"breadth": 3}, ["--breadth", "3"]),
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


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A table with variables of every kind, and a weight."""
    number = range(60)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * i % 400) for i in number]
    table = pa.table(
        {
            "age": [20.0 + 7 * i % 50 for i in number],
            "pay": [1000.5 + 37 * i % 997 for i in number],
            "town": [("A", "B", "C")[i % 3] for i in number],
            "sex": [("f", "m")[i % 2] for i in number],
            "seen": days,
            "w": [1.5 + i % 4 for i in number],
        }
    )
    made = on(tmp_path_factory.mktemp("mixed"), table, "t.parquet")
    stated = made.desk.stated(made.draft)
    from dataclasses import replace

    roles = [replace(stated[name], role="key") for name in ("age", "town", "sex")]
    text = made.desk.restated(replace(stated.replace(*roles), weight="w"))
    made.desk.change(lambda draft: draft.but(schema=text), screen="variables", what="roles")
    return made


@pytest.mark.parametrize("name", list(catalogue.methods()))
def test_every_method_comes_back_from_its_form(mixed: Bench, name: str) -> None:
    method = usual(catalogue.methods()[name])
    put(mixed, repr(method))
    page = mixed.get("mask?edit=0.0")
    sent = filled(page.text, "mask/change_step")
    answer = mixed.post("mask", "change_step?edit=0.0", **sent)
    assert answer.status_code == 200, refusal(answer)
    assert mixed.draft.own == (repr(method),)


@pytest.mark.parametrize(
    "text",
    [
        "TopBottomCoding(share={'age': 0.01, 'pay': 0.05}, ends='top', by='mean')",
        "TopBottomCoding(top={'age': 65}, bottom={'pay': 1010.5})",
        "GlobalRecoding(bins={'age': (30, 50), 'pay': 100.0, 'seen': '1 months'}, map={'town': {'A': 'x', 'B': 'x'}})",
        "PRAM(retention=0.8, spread='uniform', strata=('sex',), variables=('town',))",
        "PRAM(transition={'sex': {'f': {'f': 0.9, 'm': 0.1}, 'm': {'m': 1.0}}})",
        "Rounding(base={'pay': 10.0}, random=True)",
        "Rounding(base=5.0, variables=('pay', 'age'))",
        "Sampling(fraction={'A': 0.5, 'B': 1.0, 'C': 1.0}, strata=('town',))",
        "CARTSynthesis(order=('pay', 'sex', 'age'), smoothing=True, min_leaf=7, cp=1e-06)",
        "ResidualNoise(of=MDAV(k=5, variables=('pay',)))",
        "MDAV(k=3, at_a_time=1, variables=('pay', 'age')).within('sex')",
        "LocalSuppression(k=3, importance={'age': 2.5}, caps={'sex': 0, 'town': 0.07})",
        "LocalSuppression(k=2, variables=('sex', 'town'))",
        "LocalSuppression(k=2, sets=(('town', 'sex'), 3), (('age',), 2)))".replace("sets=((", "sets=(((", 1),
        "LocalSuppression(k=2, subsets=2, risk=0.5)",
        "LocalSuppression(k=3).within('sex')",
        "WeightMasking(how='noise', scale=0.2)",
    ],
)
def test_parameters_of_every_shape_come_back(mixed: Bench, text: str) -> None:
    (method,) = catalogue.parse(text)
    put(mixed, repr(method))
    sent = filled(mixed.get("mask?edit=0.0").text, "mask/change_step")
    answer = mixed.post("mask", "change_step?edit=0.0", **sent)
    assert answer.status_code == 200, refusal(answer)
    assert mixed.draft.own == (repr(method),)
    assert catalogue.parse(mixed.draft.own[0]) == [method]


def test_hostile_names_come_back_and_are_escaped(tmp_path: Path) -> None:
    number = range(40)
    table = pa.table({name: [(i * (place + 3)) % 11 + 0.5 for i in number] for place, name in enumerate(HOSTILE)})
    bench = on(tmp_path, table)
    every = bench.desk.table(bench.draft).names
    assert set(every) == set(HOSTILE)
    for method in (
        sfumato.MDAV(3, variables=HOSTILE[::-1]),
        sfumato.TopBottomCoding(dict.fromkeys(HOSTILE, 0.1)),
        sfumato.LocalSuppression(2, variables=HOSTILE, importance=dict.fromkeys(HOSTILE, 2), caps={HOSTILE[0]: 0}),
        sfumato.CARTSynthesis(order=HOSTILE[1:3]),
    ):
        put(bench, repr(method))
        page = bench.get("mask?edit=0.0")
        assert "<script>alert" not in page.text and "<b>" not in page.text
        answer = bench.post("mask", "change_step?edit=0.0", **filled(page.text, "mask/change_step"))
        assert answer.status_code == 200, refusal(answer)
        assert bench.draft.own == (repr(method),)
        assert catalogue.parse(bench.draft.own[0]) == [method]


def test_every_parameter_has_words_and_every_method_a_group() -> None:
    from dataclasses import fields

    for name, cls in catalogue.methods().items():
        assert name in GROUPS[group_of(cls)]
        for entry in fields(cls):
            assert entry.name in LABELS or f"{name}.{entry.name}" in LABELS, (name, entry.name)


@pytest.mark.parametrize(
    ("text", "changes", "field", "words"),
    [
        ("MDAV(k=3)", {"parameter.k": "0"}, "parameter.k", "whole number of at least 1"),
        ("MDAV(k=3)", {"parameter.k": "many"}, "parameter.k", "a number is needed"),
        ("MDAV(k=3)", {"parameter.k": ""}, "parameter.k", "needed"),
        ("RankSwapping(p=0.05)", {"parameter.p": "15"}, "parameter.p", "did you mean 0.15?"),
        ("PRAM(retention=0.9)", {"parameter.retention": "2"}, "parameter.retention", "retention"),
        ("Rounding(base=5.0)", {"parameter.base.0.variable": "pay"}, "parameter.base", "a value for pay"),
        ("ResidualNoise(of=MDAV(k=3))", {"parameter.of": "MDAV(k=[3, 5])"}, "parameter.of", ""),
        ("LocalSuppression(k=3)", {"key.0.cap": "120"}, "parameter.caps", "from 0 to 100"),
        ("LocalSuppression(k=3)", {"key.0.importance": "-1"}, "parameter.importance", "above 0"),
        ("LocalSuppression(k=3)", {"parameter.k": ""}, "parameter.k", "say how many records"),
        ("MDAV(k=3)", {"parameter.variables.9": "nothing"}, "parameter.variables", "no variable 'nothing'"),
    ],
)
def test_a_refusal_is_shown_at_its_field(
    mixed: Bench, text: str, changes: dict[str, str], field: str, words: str
) -> None:
    put(mixed, text)
    sent = {**filled(mixed.get("mask?edit=0.0").text, "mask/change_step"), **changes}
    answer = mixed.post("mask", "change_step?edit=0.0", **sent)
    assert answer.status_code == 422
    shown = answer.text.partition(f'id="problem-{field}"')[2].partition("</p>")[0]
    assert shown and words in unescape(shown), refusal(answer)
    assert mixed.draft.own == (text,)
    typed = next(iter(changes.values()))
    assert typed in answer.text  # what was typed is kept


# chains


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
    monkeypatch.setattr("sfumato.workbench.tries.MOST_RECORDS", 10)
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


def test_fields_say_what_is_taken_if_nothing_is_named(fresh: Bench) -> None:
    data = fresh.desk.table(fresh.draft)
    (variables,) = [one for one in fields_of(sfumato.PRAM(0.9), data) if one.name == "variables"]
    assert variables.default == "region, urbanity, sex, marital, education and occupation"
    assert set(KEYS) - {"age"} <= set(variables.variables) and "income" not in variables.variables
