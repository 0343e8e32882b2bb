"""The screen Bounds: what is typed, what is usual, when it was stated, and what users do with the file."""

from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from forms import filled
from pages import Bench, said

import sfumato
from sfumato.project.reading import read_bounds, read_measures
from sfumato.project.record import Record
from sfumato.table.microdata import Microdata
from sfumato.workbench import bounding
from sfumato.workbench.commands import sweep_words
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.bounds import SCREEN
from sfumato.workbench.screens.screen import Refused


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The demo survey with its roles."""
    data = sfumato.household_survey(120)
    made = Bench(Desk(tmp_path_factory.mktemp("survey") / "project"))
    sfumato.write(data, made.desk.folder / "t.csv")
    made.post("open", "choose", name="t.csv")
    made.post("open", "confirm")
    made.desk.change(lambda draft: draft.but(schema=made.desk.restated(data.schema)), screen="variables", what="roles")
    return made


@pytest.fixture
def fresh(survey: Bench) -> Bench:
    """The survey without any bound or result."""
    for name in ("results.json", "plan.json"):
        (survey.desk.folder / name).unlink(missing_ok=True)
    survey.desk.change(
        lambda old: Draft(source=old.source, confirmed=True, schema=old.schema), screen="open", what="anew"
    )
    return survey


def field_of(page: str, measure: str) -> str:
    """Return the name of the field in which a measure is bounded."""
    sent = filled(page, "bounds/state")
    return next(n.replace("measure.", "bound.") for n, text in sent.items() if text == measure and "measure." in n)


def state(bench: Bench, **typed: str) -> httpx.Response:
    """Type bounds by measure, as the page has them, and send them."""
    page = bench.get("bounds").text
    fields = {field_of(page, measure): text for measure, text in typed.items()}
    return bench.post("bounds", "state", **{**filled(page, "bounds/state"), **fields})


def test_what_is_typed_is_read_as_on_the_command_line(fresh: Bench) -> None:
    typed = {
        "Reidentification()": "5",
        "KAnonymity()": "0",
        "Suppressed()": "0,7 %",
        "InformationLoss()": "20",
        "GlobalDataUtility(deletion='charged')": "60",
    }
    assert state(fresh, **typed).status_code == 200
    assert fresh.draft.at_most == {
        "Reidentification()": 0.05,
        "KAnonymity()": 0.0,
        "Suppressed()": 0.007,
        "InformationLoss()": 20.0,
    }
    assert fresh.draft.at_least == {"GlobalDataUtility(deletion='charged')": 0.6}
    words = sweep_words(fresh.desk, fresh.draft)
    told = [words[place + 1] for place, word in enumerate(words) if word == "--at-most"]
    assert told == ["Reidentification=5%", "KAnonymity=0", "Suppressed=0.7%", "InformationLoss=20"]
    assert list(read_bounds("--at-most", told).values()) == list(fresh.draft.at_most.values())
    # the page as it now stands, sent once more, changes nothing: neither figures nor the time
    before = fresh.draft
    assert fresh.post("bounds", "state", **filled(fresh.get("bounds").text, "bounds/state")).status_code == 200
    assert fresh.draft == before
    # an empty field takes a bound away
    state(fresh, **{"KAnonymity()": ""})
    assert "KAnonymity()" not in fresh.draft.at_most and len(fresh.draft.at_most) == 3


def test_a_bound_that_percent_cannot_write_stays_to_the_last_digit(fresh: Bench) -> None:
    odd = {"Reidentification()": 1 / 3, "KAnonymity()": 0.07}
    fresh.desk.change(lambda draft: draft.but(at_most=odd), screen="bounds", what="set up")
    fresh.post("bounds", "state", **filled(fresh.get("bounds").text, "bounds/state"))
    assert fresh.draft.at_most == odd


def test_bounds_by_the_name_of_a_class_are_shown_and_kept(fresh: Bench) -> None:
    at_most, at_least = {"Reidentification": 0.05, "Suppressed(variables=('sex',))": 0.0}, {"GlobalDataUtility": 0.5}
    fresh.desk.change(lambda draft: draft.but(at_most=at_most, at_least=at_least), screen="bounds", what="set up")
    fresh.post("bounds", "state", **filled(fresh.get("bounds").text, "bounds/state"))
    assert fresh.draft.at_most == {"Reidentification()": 0.05, "Suppressed(variables=('sex',))": 0.0}
    assert fresh.draft.at_least == {"GlobalDataUtility(deletion='charged')": 0.5}


@pytest.mark.parametrize(
    ("measure", "text", "words"),
    [
        ("Reidentification()", "500", "a percentage from 0 to 100"),
        ("Reidentification()", "-1", "a percentage from 0 to 100"),
        ("Reidentification()", "few", "a number is needed"),
        ("Reidentification()", "nan", "a number is needed"),
        ("InformationLoss()", "-3", "this figure runs from 0 %"),
    ],
)
def test_a_wrong_bound_is_refused_at_its_field(fresh: Bench, measure: str, text: str, words: str) -> None:
    answer = state(fresh, **{measure: text})
    field = field_of(answer.text, measure)
    assert answer.status_code == 422 and f'id="problem-{field}"' in answer.text
    assert words in said(answer) and f'value="{text}"' in answer.text
    assert not fresh.draft.at_most


def test_no_bound_at_all_is_refused(fresh: Bench) -> None:
    answer = state(fresh)
    assert answer.status_code == 422 and "state one bound at least" in said(answer)


def test_when_bounds_were_stated_is_written_down(fresh: Bench) -> None:
    assert "stated before results are seen" in fresh.text("bounds")
    state(fresh, **{"Reidentification()": "5"})
    first = fresh.draft.bounds_stated
    assert first.endswith("+00:00 before results were seen")
    state(fresh, **{"Reidentification()": "4"})
    assert fresh.draft.bounds_stated == first  # still before
    assert "before results were seen" in fresh.text("bounds")
    (fresh.desk.folder / "results.json").write_text("{}")
    state(fresh, **{"Reidentification()": "3"})
    assert fresh.draft.bounds_stated.startswith(f"{first}; changed ")
    assert fresh.draft.bounds_stated.endswith("after results were seen")
    assert "Stated after results were seen : the record says so" in fresh.text("bounds")


@pytest.mark.parametrize(("file", "word"), [("t.csv", "after"), ("another.csv", "before")])
def test_a_run_that_was_cancelled_has_shown_results_and_one_of_another_file_has_not(
    fresh: Bench, file: str, word: str
) -> None:
    record = Record(
        fingerprint="", methods=(), measures=(), replicates=1, seed=1, risk="", utility="", file=f"/somewhere/{file}"
    )
    record.save(fresh.desk.folder)
    state(fresh, **{"Reidentification()": "5"})
    assert fresh.draft.bounds_stated.endswith(f"{word} results were seen")


def test_bounds_first_stated_after_results_say_so(fresh: Bench) -> None:
    (fresh.desk.folder / "results.json").write_text("{}")
    assert "Results have been seen already." in fresh.text("bounds")
    state(fresh, **{"Reidentification()": "5"})
    assert fresh.draft.bounds_stated.endswith("+00:00 after results were seen")


def test_what_is_usual_for_each_release_by_hand(fresh: Bench) -> None:
    fresh.post("bounds", "add_bound", what="blank", **{"blank.variable": "sex", "blank.bound": "0"})
    before = fresh.draft
    page = fresh.post("bounds", "typical", release="public")
    assert fresh.draft == before and "Nothing of it is stated yet" in said(page)
    fresh.post("bounds", "state", **filled(page.text, "bounds/state"))
    sex = "Suppressed(variables=('sex',))"
    assert fresh.draft.at_most == {
        sex: 0.0,
        "Reidentification()": 0.01,
        "IndividualRisk()": 0.001,
        "KAnonymity(k=5)": 0.0,
        "Reidentification(above=0.2)": 0.0,
        "ExposedAmounts()": 0.0,
        "Suppressed()": 0.05,
    }
    page = fresh.post("bounds", "typical", release="scientific")  # in place of those of the public file
    fresh.post("bounds", "state", **filled(page.text, "bounds/state"))
    assert fresh.draft.at_most == {
        sex: 0.0,
        "Reidentification()": 0.05,
        "IndividualRisk()": 0.01,
        "KAnonymity()": 0.0,
        "Reidentification(above=0.34)": 0.0,
        "Suppressed()": 0.05,
    }
    page = fresh.post("bounds", "typical", release="centre")
    fresh.post("bounds", "state", **filled(page.text, "bounds/state"))
    assert fresh.draft.at_most["Reidentification()"] == 0.2 and "KAnonymity()" not in fresh.draft.at_most
    assert fresh.post("bounds", "typical", release="other").status_code == 422


def test_every_rule_of_a_preset_is_said_and_what_is_not_asked_too(fresh: Bench) -> None:
    page = fresh.text("bounds")
    for words in ("five records alike in all keys", "0.1 % found in expectation", "nobody with a chance above"):
        assert f"✓ {words}" in page
    assert "Counted over" in page
    stated = fresh.desk.stated(fresh.draft)
    scenario = sfumato.Scenario("neighbour", ("region", "sex", "age"), k=3)
    draft = fresh.draft.but(schema=fresh.desk.restated(replace(stated, scenarios=(scenario,))))
    rules = {one.words: one.not_here for one in bounding.rules(fresh.desk, draft, "public")}
    assert rules["five records alike in all keys"].endswith("set on Scenarios: neighbour 3")
    assert rules["nobody with a chance above one in five"] == ""


def test_scenarios_have_their_own_k_so_that_none_is_filled_in(fresh: Bench) -> None:
    stated = fresh.desk.stated(fresh.draft)
    scenario = sfumato.Scenario("neighbour", ("region", "sex", "age"), k=5)
    text = fresh.desk.restated(replace(stated, scenarios=(scenario,)))
    draft = fresh.draft.but(schema=text)
    assert bounding.typical(fresh.desk, draft, "public") == {
        "Reidentification()": 0.01,
        "Reidentification(above=0.2)": 0.0,
        "ExposedAmounts()": 0.0,
        "Suppressed()": 0.05,
    }


def test_every_usual_bound_is_one_that_its_measure_can_have() -> None:
    for release in bounding.RELEASES.values():
        for name, bound in release.bounds.items():
            (measure,) = read_measures([name])
            assert bounding.read_bound(measure, bounding.typed(bound, measure.about), "x") == bound


def test_the_original_is_measured_and_what_it_keeps_asks_for_nothing(tmp_path: Path) -> None:
    # six people, of whom only the first is alone in town and job: 1 / 6 violates 2-anonymity
    people = pa.table({"town": ["A", "B", "B", "B", "C", "C"], "job": ["x", "y", "y", "y", "x", "x"]})
    bench = Bench(Desk(tmp_path / "project"))
    sfumato.write(Microdata.from_frame(people), bench.desk.folder / "t.csv")
    bench.post("open", "choose", name="t.csv")
    bench.post("open", "confirm")
    stated = bench.desk.stated(bench.draft)
    text = bench.desk.restated(stated.replace(*(replace(v, role="key") for v in stated)))
    bench.desk.change(lambda draft: draft.but(schema=text), screen="variables", what="roles")
    bench.post("bounds", "add_bound", what="alike", **{"alike.k": "2", "alike.bound": "16"})
    assert "the original: …" in bench.text("bounds")
    words = bench.text("bounds?show=original")
    assert "the original: 16.67 %" in words
    assert "KAnonymity(k=2) the original: 16.67 % at most" in words  # 16 % is less, so it asks for something
    state(bench, **{"KAnonymity(k=2)": "17"})
    assert "the original: 16.67 % kept already: this bound asks for nothing" in bench.text("bounds")
    # 1/1 + 3/3 + 2/2 = 3 of 6 are found by who knows both
    assert "the original: 50 %" in words


def test_the_originals_figures_are_where_a_sweep_finds_them(fresh: Bench) -> None:
    from sfumato.compare.experiment import Experiment
    from sfumato.project.folder import remembered_seed
    from sfumato.project.options import unheard

    found = bounding.original(fresh.desk, fresh.draft)
    data = fresh.desk.table(fresh.draft)
    seed = remembered_seed(fresh.desk.folder, None, unheard)
    measures = bounding.original_asked(fresh.desk, fresh.draft)
    again = Experiment(data, measures=measures, candidates={"x": data}, seed=seed)
    kept = again.finished(store=fresh.desk.folder / "results.sqlite").unprotected
    assert kept is not None and kept.means == found.means


def test_models_that_users_fit(fresh: Bench) -> None:
    for formula, words in (
        ("", "write a model"),
        ("income ~ age + sexx", "did you mean 'sex'?"),
        ("income ~ age +", "cannot read the model"),
        ("income", "cannot read the model"),
        ("region ~ age", "the response 'region' is nominal"),
        ("__import__('os') ~ age", ""),
    ):
        answer = fresh.post("bounds", "add_model", **{"model.formula": formula})
        assert answer.status_code == 422 and 'id="problem-model.formula"' in answer.text, formula
        assert words in said(answer), formula
    sent = {"model.formula": "income ~ age + sex", "model.bound": "0.7"}
    assert fresh.post("bounds", "add_model", **{**sent, "model.bound": "0.99"}).status_code == 422  # 0.95 is the best
    fresh.post("bounds", "add_model", **sent)
    use = "IntervalOverlap(model='income ~ age + sex')"
    assert fresh.draft.uses == (use,) and fresh.draft.at_least == {use: 0.7}
    assert fresh.post("bounds", "add_model", **sent).status_code == 422  # twice
    fresh.post("bounds", "add_model", **{"model.formula": "income ~ age", "model.judge": "ConclusionChanges"})
    fresh.post("bounds", "drop", measure=use)
    assert fresh.draft.uses == ("ConclusionChanges(model='income ~ age')",) and not fresh.draft.at_least


def test_a_model_of_another_family_is_kept_with_it(fresh: Bench) -> None:
    fresh.post("bounds", "add_model", **{"model.formula": "household_size ~ age", "model.family": "poisson"})
    (use,) = fresh.draft.uses
    assert use == "IntervalOverlap(model=Model('household_size ~ age', family='poisson'))"
    assert use in sweep_words(fresh.desk, fresh.draft)


def test_tables_that_users_make(fresh: Bench) -> None:
    ticks = {"table.variable.0": "region", "table.variable.2": "sex", "table.variable.4": "marital"}
    fresh.post("bounds", "add_table", **ticks, **{"table.ways": "two", "table.bound": "3"})
    fresh.post("bounds", "add_table", **ticks, **{"table.ways": "all"})
    names = "variables=('region', 'sex', 'marital')"
    assert fresh.draft.uses == (f"TableUtility({names})", f"TableUtility(ways=3, {names})")
    assert fresh.draft.at_most == {f"TableUtility({names})": 3.0}
    one = fresh.post("bounds", "add_table", **{"table.variable.0": "region"})
    assert one.status_code == 422 and "tick two variables" in said(one)


def test_further_measures(fresh: Bench) -> None:
    add = {"what": "any", "any.text": "Suppressed(region)", "any.bound": "5"}
    fresh.post("bounds", "add_bound", **add)
    fresh.post("bounds", "add_bound", what="single", **{"single.above": "20", "single.bound": "0"})
    fresh.post("bounds", "add_bound", **{**add, "any.text": "Precision", "any.bound": "70"})
    assert fresh.draft.at_most == {"Suppressed(variables=('region',))": 0.05, "Reidentification(above=0.2)": 0.0}
    assert fresh.draft.at_least == {"Precision()": 0.7}
    for changes, field in (
        ({"any.text": "Supressed(region)"}, "any.text"),
        ({"any.text": "Suppressed(regin)"}, "any.text"),
        ({"any.text": "MDAV(3)"}, "any.text"),
        ({"any.bound": "lots"}, "any.bound"),
    ):
        answer = fresh.post("bounds", "add_bound", **{**add, **changes})
        assert answer.status_code == 422 and f'id="problem-{field}"' in answer.text, changes


def test_bounds_go_with_the_size_of_the_population(fresh: Bench) -> None:
    state(fresh, **{"IndividualRisk()": "1", "Reidentification()": "5"})
    fresh.post("bounds", "settings", replicates="5", population="1000000")
    assert (fresh.draft.replicates, fresh.draft.population) == (5, 1e6)
    assert fresh.draft.at_most == {"IndividualRisk(population=1000000.0)": 0.01, "Reidentification()": 0.05}
    fresh.post("bounds", "settings", replicates="5", population="")
    assert fresh.draft.at_most == {"IndividualRisk()": 0.01, "Reidentification()": 0.05}
    assert fresh.post("bounds", "settings", replicates="0", population="").status_code == 422
    assert fresh.post("bounds", "settings", replicates="3", population="5").status_code == 422  # fewer than records


def test_rescaled_weights_ask_for_the_population(tmp_path: Path) -> None:
    table = pa.table({"town": ["A", "B"] * 10, "w": [0.5, 1.5] * 10})
    bench = Bench(Desk(tmp_path / "project"))
    sfumato.write(Microdata.from_frame(table), bench.desk.folder / "t.csv")
    bench.post("open", "choose", name="t.csv")
    bench.post("open", "confirm")
    stated = bench.desk.stated(bench.draft)
    text = bench.desk.restated(replace(stated.replace(replace(stated["town"], role="key")), weight="w"))
    bench.desk.change(lambda draft: draft.but(schema=text), screen="variables", what="roles")
    assert "The weights w fall below one" in bench.text("bounds")


def test_hostile_names_are_escaped_and_come_back(tmp_path: Path) -> None:
    name = """<script>alert(1)</script>"'&amp; ~ x"""
    table = pa.table({name: ["a", "b"] * 15, "other": ["c", "d", "e"] * 10})
    bench = Bench(Desk(tmp_path / "project"))
    sfumato.write(Microdata.from_frame(table), bench.desk.folder / "t.csv")
    bench.post("open", "choose", name="t.csv")
    bench.post("open", "confirm")
    bench.post("bounds", "add_bound", what="blank", **{"blank.variable": name, "blank.bound": "3"})
    bench.post("bounds", "add_table", **{"table.variable.0": name, "table.variable.1": "other"})
    assert bench.draft.at_most == {repr(sfumato.Suppressed(variables=(name,))): 0.03}
    page = bench.get("bounds")
    assert page.status_code == 200 and "<script>alert" not in page.text
    before = bench.draft
    assert bench.post("bounds", "state", **filled(page.text, "bounds/state")).status_code == 200
    assert bench.draft == before
    bench.post("bounds", "drop", measure=repr(sfumato.Suppressed(variables=(name,))))
    assert bench.draft.at_most == {}


def test_bounds_wait_for_a_file() -> None:
    assert SCREEN.ready(None, Draft()) and not SCREEN.ready(None, Draft(confirmed=True))  # type: ignore[arg-type]
    assert not SCREEN.done(None, Draft()) and SCREEN.done(None, Draft(at_least={"Precision()": 0.5}))  # type: ignore[arg-type]
    with pytest.raises(Refused):
        bounding.read_bound(sfumato.KAnonymity(), "", "x")
