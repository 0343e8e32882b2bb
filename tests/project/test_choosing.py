"""What is judged once more after the repairs: the bounds, by the table that goes out."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

import sfumato
from sfumato.about import MeasureAbout
from sfumato.compare.curve import Curve
from sfumato.compare.search.tried import Tried
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.project import choosing
from sfumato.restoration.findings import Checked

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
    tried = Tried.on(curve, "Undefined()", {"Undefined()": 0.5}, {"Undefined()": about})
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
