"""The forms of methods on the screen Mask: every parameter of every method goes to its field and comes back."""

import datetime as dt
from html import unescape
from pathlib import Path

import pyarrow as pa
import pytest
from forms import filled
from mask_desk import KEYS, fresh, on, put, refusal, survey
from pages import Bench

import sfumato
from sfumato import catalogue
from sfumato.workbench.method_forms import fields_of, label_of, usual

HOSTILE = (
    """a"b'c</script><script>alert(1)</script>""",
    "x, y = {'z': 1}",
    "net\nincome",
    "&lt;b&gt; &amp;",
    "two  blanks",
    "ключ.value",
)


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
        assert cls.about.group is not None, name
        assert set(cls.about.labels) <= {entry.name for entry in fields(cls)}
        for entry in fields(cls):
            assert label_of(cls, entry.name)[0].isupper(), (name, entry.name)


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


def test_fields_say_what_is_taken_if_nothing_is_named(fresh: Bench) -> None:
    data = fresh.desk.table(fresh.draft)
    (variables,) = [one for one in fields_of(sfumato.PRAM(0.9), data) if one.name == "variables"]
    assert variables.default == "region, urbanity, sex, marital, education and occupation"
    assert set(KEYS) - {"age"} <= set(variables.variables) and "income" not in variables.variables
