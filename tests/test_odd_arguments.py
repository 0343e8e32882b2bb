"""Arguments of the wrong type, through the functions that users call: refused by Sfumato, in its own words."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import SfumatoError

X = np.random.default_rng(0).lognormal(size=(2, 40))
DATA = sfumato.Microdata.from_frame(pa.table({"x": X[0], "y": X[1], "g": ["a", "b"] * 20}))
MEASURES = [sfumato.InformationLoss()]
ITSELF: list[Any] = []
ITSELF.append(ITSELF)
NO_RNG = [
    ITSELF,
    [[1]],
    np.array(1.5),
    np.ones((2, 2)),
    [""],
    int,
    "x",
    0.5,
    -1,
    ("x",),
    object(),
    b"x",
    [None],
    np.array([1.5]),
    {"a": 1},
]
NO_PATH = [5, 0.5, None, b"x", object(), ["x"], {"x": 1}, "a\0b", "x\ud800", "a" * 10_000]
NO_LIST = [5, 0.5, object(), len, np.float64(2)]


@pytest.mark.parametrize("rng", NO_RNG, ids=lambda given: type(given).__name__)
def test_what_is_no_source_of_randomness(rng: Any) -> None:
    for call in (
        lambda: sfumato.Noise(0.1).protect(DATA, rng=rng),
        lambda: sfumato.GlobalDataUtility().evaluate(DATA, DATA, rng=rng),
        lambda: sfumato.audit(DATA, DATA, rng=rng),
        lambda: sfumato.bootstrap(DATA, DATA, MEASURES[0], rng=rng),
    ):
        with pytest.raises(SfumatoError, match="rng must be a whole number of at least 0, a Generator or None; got"):
            call()


@pytest.mark.parametrize("path", NO_PATH, ids=lambda given: type(given).__name__)
def test_what_is_no_path(path: Any, tmp_path: Path) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: sfumato.read(path),
        lambda: sfumato.read_schema(path),
        lambda: sfumato.write_schema(DATA, path),
        lambda: sfumato.read_hierarchy(path),
        lambda: sfumato.write_hierarchy(sfumato.Hierarchy(cuts=((1.0,),)), path),
        lambda: sfumato.sweep(path, out=tmp_path),
    ]
    if path is not None:
        calls.append(lambda: sfumato.Experiment(DATA, [sfumato.MDAV(3)], MEASURES).run(store=path))
        if not isinstance(path, dict | list):
            calls.append(lambda: sfumato.scan(path))
    for call in calls:
        with pytest.raises(SfumatoError):
            call()


@pytest.mark.parametrize("given", NO_LIST, ids=lambda given: type(given).__name__)
def test_what_is_no_list(given: Any) -> None:
    for call in (
        lambda: sfumato.Experiment(DATA, given, MEASURES),
        lambda: sfumato.Experiment(DATA, [sfumato.MDAV(3)], given),
        lambda: sfumato.Experiment(DATA, [sfumato.MDAV(3)], MEASURES, candidates=given),
        lambda: sfumato.Schema(given),
        lambda: sfumato.Schema((), scenarios=given),
        lambda: sfumato.Schema((), weight=given),
        lambda: sfumato.Recipe("r", given),
        lambda: sfumato.find(given),
    ):
        with pytest.raises(SfumatoError):
            call()


def odd_values() -> list[Any]:
    return [None, True, 0, -1, 3, 10**30, 0.5, float("nan"), float("inf"), "", "x", "nowhere", "x\ud800", (), [], {},
            ("x", "x"), {"x": 1}, {1: 2}, {"x": None}, set(), b"x", 3j, object(), np.float64(2), np.array([1.0, 2.0]),
            len, int, DATA, ["x", 3], (None,), [[1, 2], [3]], {"x": (3, 1)}, slice(1)]  # fmt: skip


@pytest.mark.parametrize("name", ["Variable", "Schema", "Scenario", "Hierarchy", "Recipe", "Experiment", "find"])
def test_every_argument_of_what_a_user_makes(name: str) -> None:
    import inspect

    rng = random.Random(name)
    made = getattr(sfumato, name)
    parameters = [one for one in inspect.signature(made).parameters.values() if one.kind is not one.VAR_KEYWORD]
    right = {"name": "x", "data": DATA, "methods": [sfumato.MDAV(3)], "measures": MEASURES, "terms": {MEASURES[0]: 1}}
    for parameter in parameters:
        for odd in rng.sample(odd_values(), 20):
            given = {one.name: right.get(one.name) for one in parameters if one.default is one.empty}
            try:
                made(**{**given, parameter.name: odd})
            except SfumatoError:
                pass
            except Exception as error:
                raise AssertionError(f"{name}({parameter.name}={odd!r}) ends in {error!r}") from error


MEASURED = sfumato.Experiment(DATA, [sfumato.MDAV(3)], [sfumato.RankInterval(), *MEASURES], seed=1).run()
AXES: dict[str, Any] = {"risk": "RankInterval", "utility": "InformationLoss"}
ASKED: dict[str, Any] = {"utility": "InformationLoss", "at_most": {"RankInterval": 0.5}}
SWEPT: dict[str, Any] = {"methods": [sfumato.MDAV(3)], "seed": 2**50}
NOWHERE = Path("nowhere.csv")
untyped: Any = sfumato  # as those call it who check no types
facts: Any = sfumato.SweepFacts


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: untyped.age_at(5, [18]), "age_at: reference must be a day such as '2020-12-31'; got 5"),
        (lambda: untyped.age_at("2020-12-31", 18), r"age_at: ages must be a list of whole numbers that rise"),
        (lambda: untyped.age_at("2020-12-31", [10**400]), "age_at: who is .* was born before the year 1"),
        (lambda: untyped.age_at("2020-12-31", [18, 3000]), "who is 3000 on 2020-12-31 was born before the year 1"),
        (lambda: untyped.choose(DATA, **ASKED), "choose: results must be the results of an experiment; got a Microd"),
        (lambda: untyped.choose(MEASURED, utility="InformationLoss", at_most=[0.5]), "at_most must be bounds by meas"),
        (lambda: untyped.choose(MEASURED, **ASKED, passed_over=5), "passed_over must be a list of names of candidates"),
        (lambda: untyped.choose(MEASURED, **ASKED, by_hand={}), "by_hand must be the name of a candidate; got {}"),
        (lambda: untyped.frontier([0.5], **AXES), r"frontier: results must be the results of an experiment; got \[0.5"),
        (lambda: untyped.joint_frontiers("x", risk="x", utilities=["x"]), "joint_frontiers: results must be the resul"),
        (lambda: untyped.compose([1], MEASURES, {}), r"compose: data must be a Microdata; got \[1\]"),
        (lambda: untyped.compose(DATA, 5, {}), "compose: measures must be a list of measures; got 5"),
        (lambda: untyped.compose(DATA, ["x"], {}), r"compose: measures must be a list of measures; got \['x'\]"),
        (lambda: untyped.compose(DATA, MEASURES, {"x": None}), "compose: a bound in bounds must be a number; got None"),
        (lambda: untyped.compose(DATA, MEASURES, {}, done=len), "compose: done must be a list of measures"),
        (lambda: untyped.compose(DATA, MEASURES, {}, whole="x"), "compose: whole must be a whole number of at least 0"),
        (lambda: untyped.default_measures(pa.table({"x": [1]})), "default_measures: data must be a Microdata; got a T"),
        (lambda: untyped.default_measures(DATA, 5), "default_measures: protected must be a Microdata; got 5"),
        (lambda: untyped.default_measures(DATA, population="x"), "population must be a number of at least 0; got 'x'"),
        (
            lambda: untyped.default_measures(DATA, population=10**400),
            "population must be a number of at least 0; got",
        ),
        (lambda: untyped.compose(DATA, MEASURES, {"x": 10**400}), "a bound in bounds must be a number; got 1000"),
        (
            lambda: untyped.bootstrap(DATA, DATA, MEASURES[0], matched=5),
            "matched must be True, False or None; got 5",
        ),
        (
            lambda: untyped.scan("x", records=2**63),
            "scan: records must be at most 1,000,000,000; got 9223372036854775808",
        ),
        (lambda: untyped.examine({}, "MDAV(k=3)"), "examine: results must be the results of an experiment; got {}"),
        (lambda: untyped.examine(MEASURED, 5), "examine: candidate must be the name of a candidate; got 5"),
        (lambda: untyped.examine(MEASURED, "MDAV(k=3)", what=5), "examine: what must be a list of names of pieces"),
        (lambda: untyped.examine(MEASURED, "MDAV(k=3)", what=np.array(0.5)), "what must be a list of names of pieces"),
        (lambda: untyped.examine(MEASURED, "MDAV(k=3)", listed=None), "listed must be a whole number of at least 0"),
        (
            lambda: untyped.examine(MEASURED, "MDAV(k=3)", seconds="x"),
            "seconds must be a number of at least 0; got 'x'",
        ),
        (lambda: untyped.examine(MEASURED, "MDAV(k=3)", table=DATA), "table must be a ProtectedTable; got a Microdata"),
        (lambda: untyped.plot(MEASURED, at_most="x"), "at_most must be bounds by measure, such as .*; got 'x'"),
        (lambda: untyped.plot(MEASURED, at_most=pa.table({"x": [1]})), "at_most must be bounds by measure.* a Table"),
        (lambda: untyped.summarise(MEASURED, 5, **AXES), "summarise: examination must be an Examination; got 5"),
        (
            lambda: untyped.summarise(MEASURED, **AXES, facts=untyped.SweepFacts(whys=True)),
            "summarise: whys must be sentences by candidate",
        ),
        (
            lambda: untyped.summarise(MEASURED, **AXES, facts=untyped.SweepFacts(checked=3)),
            "summarise: checked must be what prepare returned",
        ),
        (lambda: untyped.summarise(MEASURED, **AXES, file=None), "summarise: file must be a text; got None"),
        (lambda: untyped.write_report(DATA, "x"), "write_report: summary must be what summarise or sweep returned"),
        (lambda: untyped.look("x", False), "look: candidates must be a list of labels of candidates; got False"),
        (lambda: untyped.look(5, ["x"]), "a file must be named by text or a path; got 5"),
        (lambda: untyped.tune(sfumato.MDAV, DATA, over=0.5, **ASKED), "tune: over must be the name of a parameter"),
        (lambda: untyped.tune(sfumato.MDAV, DATA, **{**ASKED, "at_most": 5}), "tune: at_most must be bounds by measur"),
        (lambda: untyped.tune_jointly(sfumato.MDAV(3), DATA, over={5: None}, **ASKED), "over must be the name of a pa"),
        (lambda: untyped.tune_jointly(sfumato.MDAV(3), DATA, over={"k": None}, **{**ASKED, "at_most": "x"}), "at_most"),
        (lambda: untyped.Microdata([], {}), r"Microdata: schema must be a Schema; got \[\]"),
        (lambda: untyped.Microdata(DATA.schema, [3]), r"Microdata: columns must be arrays by name; got \[3\]"),
        (lambda: untyped.Microdata(DATA.schema, {"x": [1.0], "y": [1.0, 2.0]}), "arrays of one dimension, of as many"),
        (lambda: untyped.write_hierarchy(15.0, "h.json"), "write_hierarchy: hierarchy must be a Hierarchy; got 15.0"),
        (lambda: untyped.write_schema(["x"], "s.toml"), "write_schema: data must be a Microdata or a Schema"),
        (lambda: untyped.audit(DATA, DATA, beside=[-1]), r"audit: beside must be tables by name; got \[-1\]"),
        (lambda: untyped.household_survey(10**400), "household_survey: households must be at most 1,000,000,000"),
        (lambda: untyped.household_survey(10, seed="x"), "household_survey: seed must be a whole number of at least 0"),
        (lambda: untyped.sweep(NOWHERE, **SWEPT, at_most=5), "sweep: at_most must be bounds by measure"),
        (lambda: untyped.sweep(NOWHERE, **SWEPT, at_least={"x": "x"}), "sweep: a bound in at_least must be a number"),
        (lambda: untyped.sweep(NOWHERE, **SWEPT, utility=["x"]), "sweep: utility must be a text"),
        (lambda: untyped.sweep(NOWHERE, **SWEPT, bootstrap=5), "sweep: bootstrap must be True or False; got 5"),
        (lambda: untyped.sweep(NOWHERE, methods=5), "sweep: methods must be a list of methods; got 5"),
        (lambda: untyped.sweep(NOWHERE, candidates=[{}]), r"sweep: candidates must be a list of files; got \[{}\]"),
        (lambda: untyped.sweep(NOWHERE, replicates=None), "sweep: replicates must be a whole number of at least 1"),
        (lambda: untyped.sweep(NOWHERE, sample=None), "sweep: sample must be a whole number of at least 1; got None"),
        (lambda: untyped.sweep(NOWHERE, breadth=None), "sweep: breadth must be a whole number of at least 1; got None"),
        (lambda: untyped.sweep(NOWHERE, seed={}), "sweep: seed must be a whole number of at least 0; got {}"),
        (lambda: untyped.sweep(NOWHERE, workers="x"), "sweep: workers must be a whole number of at least 0; got 'x'"),
    ],
)
def test_what_is_of_another_type_is_named(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(SfumatoError, match=said):
        call()


@pytest.mark.parametrize(
    "given", [{"memory": 0.5}, {"memory": {"x": 1}}, {"progress": len}, {"original": None}], ids=str
)
def test_how_an_experiment_runs(given: dict[str, Any]) -> None:
    with pytest.raises(SfumatoError, match=f"Experiment: {next(iter(given))} must be"):
        sfumato.Experiment(DATA, [sfumato.MDAV(3)], MEASURES).run(**given)


@pytest.mark.parametrize(
    "given", [{"delimiter": [" "]}, {"decimal": len}, {"missing": range(3)}, {"missing": 5}], ids=str
)
def test_how_text_is_read(given: dict[str, Any], tmp_path: Path) -> None:
    sfumato.write(DATA, tmp_path / "t.csv")
    for called in (sfumato.read, sfumato.scan):
        with pytest.raises(SfumatoError, match=f"{called.__name__}: {next(iter(given))} must be"):
            called(tmp_path / "t.csv", **given)


def test_lists_that_hold_themselves_and_arrays_of_nothing() -> None:
    itself: list[Any] = []
    itself.append(itself)
    with pytest.raises(SfumatoError, match="order must hold a record of the original"):
        sfumato.audit(DATA, DATA, order=itself)
    with pytest.raises(SfumatoError, match="columns must be arrays of one dimension"):
        sfumato.Microdata(DATA.schema, {"x": itself})  # type: ignore[dict-item]
    with pytest.raises(SfumatoError):
        sfumato.scan(np.array(0.5))  # type: ignore[arg-type]


def test_more_tables_than_anybody_waits_for() -> None:
    with pytest.raises(SfumatoError, match="tune: budget must be at most 100,000"):
        sfumato.tune(sfumato.MDAV, DATA, utility="InformationLoss", at_most={"RankInterval": 0.5}, budget=2**63, seed=1)


@pytest.mark.parametrize("tolerance", [float("nan"), float("inf"), 0, -1, True, "x"])
def test_what_is_no_tolerance(tolerance: Any) -> None:
    with pytest.raises(SfumatoError, match="tune: tolerance must be a number above 0"):
        sfumato.tune(
            sfumato.MDAV, DATA, utility="InformationLoss", at_most={"RankInterval": 0.5}, tolerance=tolerance, seed=1
        )


def test_a_bound_with_more_digits_than_a_number_has() -> None:
    results = sfumato.Experiment(DATA, [sfumato.MDAV(3)], MEASURES[:1], seed=1).run()
    key = next(iter(results.figures))
    with pytest.raises(SfumatoError, match="must be a number"):
        results.choose(utility=key, at_most={key: 10**400})


def test_no_bounds_are_none() -> None:
    assert sfumato.compose(DATA, MEASURES, None) == sfumato.compose(DATA, MEASURES, {})
