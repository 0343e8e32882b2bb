"""What is judged once more after the repairs: the bounds, by the table that goes out."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato
from sfumato.about import MeasureAbout
from sfumato.auditing.findings import Checked
from sfumato.compare import examine
from sfumato.compare.search import Curve, TriedValues
from sfumato.core import Measure
from sfumato.errors import ParameterError
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.project import choosing
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Scenario

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0]}))


@dataclass(frozen=True, repr=False)
class Undefined(Measure):
    """A risk that is undefined wherever x is not as it was, as 0/0 is."""

    about: ClassVar[MeasureAbout] = MeasureAbout(
        title="toy", source="none", missing="ignored", purpose="risk", better="lower", range=(0.0, 1.0)
    )

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        same = np.array_equal(pair.original.column("x"), pair.protected.column("x"))
        return self.measurement(0.0 if same else np.nan, notes=("nothing is left to count",))


def broken(after: Microdata, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(choosing, "_repaired", lambda *_: after)
    results: Any = SimpleNamespace(measures=(Undefined(),), table=DATA, key=lambda which: "Undefined()")
    plan: Any = SimpleNamespace(at_most={"Undefined": 0.5}, at_least={}, seed=1)
    return choosing._broken_by_repairs(results, SimpleNamespace(), Checked(altered=("x",)), plan)  # type: ignore[arg-type]


def test_a_table_whose_risk_is_undefined_after_repairs_keeps_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(DATA, monkeypatch) == ""
    changed = DATA.replace({"x": np.array([1.0, np.nan])})
    assert broken(changed, monkeypatch) == "has no Undefined() once x was repaired (it is undefined there)"


def test_a_parameter_value_whose_risk_is_undefined_keeps_no_bound() -> None:
    values = {0: np.array([0.1]), 1: np.array([np.nan]), 2: np.array([0.9])}
    curve: Curve = SimpleNamespace(drawn=lambda place, _: values[place], certain=True)  # type: ignore[assignment]
    about = Undefined().about
    tried = TriedValues.on(curve, "Undefined()", {"Undefined()": 0.5}, {"Undefined()": about})
    assert [tried.keeps(place) for place in values] == [True, False, False]


def test_the_key_that_stands_in_the_way_is_named(tmp_path: Path) -> None:
    # 200 persons in 5 towns, each with a number of his own that nothing here masks: the number is in the way
    rng = np.random.default_rng(3)
    table = {
        "town": rng.choice(list("abcde"), 200),
        "number": [f"n{i}" for i in range(200)],
        "pay": rng.normal(size=200),
    }
    pa_csv.write_csv(pa.table(table), tmp_path / "t.csv")
    schema = [f'[variables.{name}]\nkind = "nominal"\nrole = "key"\n' for name in ("town", "number")]
    (tmp_path / "s.toml").write_text("".join(schema) + '[variables.pay]\nkind = "numeric"\nrole = "confidential"\n')
    summary = sfumato.sweep(
        tmp_path / "t.csv",
        tmp_path / "s.toml",
        methods=["RankSwapping(p=0.1, variables=['pay'])"],
        at_most={"Reidentification": 0.05},
        out=tmp_path / "out",
        seed=1,
        workers=1,
        bootstrap=False,
    )
    (said,) = [line for line in summary.verdict.advice if "stands in the way" in line]
    # without the number a person is one of those in the town: 5 of the 200 are found on average, 1 in each town
    assert "number stands in the way most: without it 2.5 %" in said and "not 100 %" in said


def chosen(
    monkeypatch: pytest.MonkeyPatch, *offered: tuple[str, float, float | None, str], **plan: Any
) -> tuple[str | None, tuple[str, ...], list[str], list[str]]:
    """Choose among candidates, each with its usefulness before and after repairs (None: as before), and a fate.

    Return the candidate, those that it comes after, those that were audited, and what was told.
    """
    audited: list[str] = []
    said: list[str] = []
    by_name = {name: (before, after, fate) for name, before, after, fate in offered}

    def release(results: Any, table: Any, plan: Any) -> Checked:
        audited.append(table.candidate)
        fate = by_name[table.candidate][2]
        return Checked(
            excused=fate != "leaks",
            unaudited="why",
            altered=("x",) if fate else (),
            lost=("x",) if fate == "loses" else (),
        )

    def after(results: Any, table: Any, checked: Checked, plan: Any) -> Checked:
        value = by_name[table.candidate][1]
        return (
            checked if value is None else replace(checked, after={"U()": value}, done=("first", "second", "said after"))
        )

    def breaks(results: Any, table: Any, checked: Checked, plan: Any) -> str:
        return "breaks the bound" if by_name[table.candidate][2] == "breaks" else ""

    monkeypatch.setattr(examine, "ProtectedTable", lambda results, candidate: SimpleNamespace(candidate=candidate))
    monkeypatch.setattr(choosing, "checked_release", release)
    monkeypatch.setattr(choosing, "_with_utility_after", after)
    monkeypatch.setattr(choosing, "_broken", breaks)
    choice = SimpleNamespace(feasible=tuple(by_name), objective="U()", names={})
    results: Any = SimpleNamespace(
        choose=lambda **_: choice,
        figures={"U()": SimpleNamespace(sign=1.0 if plan.pop("better", "higher") == "lower" else -1.0)},
        row=lambda name: SimpleNamespace(means={"U()": by_name[name][0]}),
    )
    recorder: Any = SimpleNamespace(phase=lambda *_, **__: None, step=lambda **_: None)
    asked = {"at_most": {"R": 0.1}, "at_least": {}, "least_risk": False, "choose": None, "despite_audit": False}
    wanted: Any = SimpleNamespace(**{**asked, "utility": "U", "risk": "R", **plan})
    table, _, before = choosing.chosen_table(results, wanted, said.append, recorder)
    return None if table is None else table.candidate, before, audited, said


def test_the_best_as_it_goes_out_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first falls from .9 to .7 by its repairs; the second keeps .8, which no later one can have."""
    found = chosen(
        monkeypatch, ("a", 0.9, 0.7, "loses"), ("b", 0.8, None, ""), ("c", 0.8, None, ""), ("d", 0.6, None, "")
    )
    assert found[:3] == ("b", ("a",), ["a", "b"])
    assert found[3] == ["a would lose x"]
    # of two that are as good the first is taken
    assert chosen(monkeypatch, ("a", 0.9, 0.8, "repaired"), ("b", 0.85, 0.8, "repaired"))[0] == "a"
    assert chosen(monkeypatch, ("a", 0.9, None, ""), ("b", 0.9, None, ""))[2] == ["a"]
    # of a loss the least is the best
    least = chosen(monkeypatch, ("a", 1.0, 3.0, "repaired"), ("b", 2.0, None, ""), ("c", 2.5, None, ""), better="lower")
    assert least[:3] == ("b", ("a",), ["a", "b"])


def test_what_gives_values_back_or_breaks_a_bound_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    found = chosen(monkeypatch, ("a", 0.9, None, "leaks"), ("b", 0.8, None, "breaks"), ("c", 0.7, None, ""))
    assert found[:3] == ("c", ("a", "b"), ["a", "b", "c"])
    assert found[3] == ["a was not audited: why", "b breaks the bound"]
    none = chosen(monkeypatch, ("a", 0.9, None, "leaks"), ("b", 0.8, None, "leaks"))
    assert none[:2] == ("a", ())  # the best of them is told of
    assert chosen(monkeypatch)[0] is None
    assert chosen(monkeypatch, ("a", 0.9, None, "leaks"), ("b", 0.8, None, ""), despite_audit=True)[2] == ["a"]
    assert chosen(monkeypatch, ("a", 0.9, None, ""), at_most={})[0] is None
    assert chosen(monkeypatch, ("a", 0.9, None, ""), at_most={}, at_least={"U": 0.1})[0] == "a"


def test_of_the_least_risk_the_first_that_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = chosen(
        monkeypatch,
        ("a", 0.01, None, "loses"),
        ("b", 0.02, 0.5, ""),
        ("c", 0.03, None, ""),
        least_risk=True,
        better="lower",
    )
    assert found[:3] == ("b", ("a",), ["a", "b"])
    assert found[3] == ["a would lose x", "release: said after"]
    all_lose = chosen(
        monkeypatch, ("a", 0.01, None, "loses"), ("b", 0.02, None, "loses"), least_risk=True, better="lower"
    )
    assert all_lose[0] == "a"


def test_what_a_person_chose_is_taken_unless_it_breaks_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    offered = ("a", 0.9, None, ""), ("b", 0.8, 0.7, "loses"), ("c", 0.7, None, "breaks"), ("d", 0.6, None, "leaks")
    found = chosen(monkeypatch, *offered, choose="b")
    assert found == ("b", (), ["b"], ["b loses x", "release: said after"])
    assert chosen(monkeypatch, *offered, choose="a")[3] == []
    assert chosen(monkeypatch, *offered, choose="d")[::3] == ("d", [])  # the verdict says that it is not published
    with pytest.raises(ParameterError, match="c cannot be chosen: it breaks the bound"):
        chosen(monkeypatch, *offered, choose="c")


def test_the_intruder_who_finds_most_is_asked_if_he_knows_who_took_part() -> None:
    def worst(*shares: float, knows: bool = True) -> str | None:
        names = "one", "two", "three"
        rows = [{"scenario": name, "share": share} for name, share in zip(names, shares, strict=False)]
        intruders = [Scenario(name, ("a", "b"), knows_membership=knows or name != "two") for name in names]
        results: Any = SimpleNamespace(
            measurement=lambda *_: SimpleNamespace(tables={"scenarios": rows}),
            original=SimpleNamespace(schema=SimpleNamespace(intruders=lambda: intruders)),
        )
        found = choosing._worst_scenario(results, "x", Undefined())
        return None if found is None else found.name

    assert worst(0.1, 0.3, 0.2) == "two"
    assert worst(0.1, 0.3, 0.2, knows=False) is None
    assert worst(0.4, 0.3, 0.2, knows=False) == "one"
