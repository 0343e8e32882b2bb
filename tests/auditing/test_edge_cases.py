"""Tables at the edge: one row, constant columns, nothing protected, variables gone, wide tables, missing values."""

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from leaky import blanked, data, shuffled, survey

from sfumato import DataError, LocalSuppression, Noise, ParameterError, audit, household_survey
from sfumato.auditing import audit as module
from sfumato.auditing import routes, targets
from sfumato.auditing.findings import Restored
from sfumato.auditing.matching import match


def test_nothing_is_protected() -> None:
    table = survey(30)
    found = audit(data(table), table)
    assert found.passed and found.protected == {}
    assert "Nothing to restore" in found.verdict
    assert all(route.untried == "no value is protected" for route in found.routes)


def test_one_record() -> None:
    found = audit(pa.table({"a": ["x"], "b": [1.0]}), pa.table({"a": pa.array([None], pa.string()), "b": [1.0]}))
    assert found.passed and found.protected == {"a": 1}


def test_two_records_and_columns_with_one_value() -> None:
    before = pa.table({"a": ["x", "x"], "b": [1.0, 1.0], "c": ["u", "v"]})
    found = audit(before, before.set_column(0, "a", pa.array(["x", None])))
    assert found.passed and found["columns"].worst is not None


def test_a_column_with_no_value_left() -> None:
    table = survey(60)
    masked = table.assign(region=pd.Series([None] * len(table), dtype=object), age=np.nan)
    found = audit(data(table), masked)
    assert found.protected["region"] == found.protected["age"] == len(table)
    assert found["household"].worst is None  # nobody publishes anything that others could share


def test_missing_values_of_the_original_are_not_protected() -> None:
    table = blanked(survey(100), "age", 0.3, seed=4)
    masked = blanked(table, "age", 0.2, seed=5)
    found = audit(data(table), masked)
    assert found.protected == {"age": int((table["age"].notna() & masked["age"].isna()).sum())}


def test_values_written_with_fewer_digits_are_not_protected() -> None:
    table = pa.table({"a": [0.1 + 0.2, 1 / 3, 2.0], "b": ["x", "y", "z"]})
    assert audit(table, pa.table({"a": [0.3, 0.333333333333, 2.0], "b": ["x", "y", "z"]})).protected == {}


def test_a_blank_below_a_coarser_class_counts_once_and_is_read_off_the_household() -> None:
    """Recoded, then suppressed: what is restored is the class, as others publish it."""
    table, _ = shuffled(survey())
    masked = table.assign(region=table["region"].map({"North": "N", "East": "N"}).fillna("S"))
    masked = blanked(masked, "region", 0.1)
    found = audit(data(table), masked)
    levels = {(f.variable, f.level): f for f in found["household"].by_variable}
    level = levels["region", "as published"]
    assert level.alarm and level.values == int(masked["region"].isna().sum())


def test_a_wide_table() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"v{j}": np.array(list("abcd"), dtype=object)[rng.integers(0, 4, 300)] for j in range(150)})
    found = audit(table, blanked(table, "v7", 0.2))
    assert found.passed
    assert any("were combined" in note for note in found.notes)


def test_large_tables_are_sampled_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = shuffled(survey(400))
    kept = table.assign(copy=np.log(table["wages"]))
    masked = kept.drop(columns="wages")
    whole = audit(data(kept), masked, rng=1)
    for place in (targets, module):
        monkeypatch.setattr(place, "MAX_TRIED_VALUES", 300)
        monkeypatch.setattr(place, "SCREENED", (400, 100))
    monkeypatch.setattr(routes, "PAIRED", (300, 50))
    sampled = audit(data(kept), masked, rng=1)
    assert sum("random" in note or "sample" in note for note in sampled.notes) == 3
    for found in (whole, sampled):
        worst = found["columns"].worst
        assert worst is not None and worst.alarm and worst.evidence == ("copy",) and worst.restored > 0.98


def test_records_are_matched_by_id_position_order_or_values() -> None:
    table = household_survey(120)
    masked = LocalSuppression(k=3).protect(table, rng=1)
    order = np.random.default_rng(0).permutation(len(table))
    assert audit(table, masked).matched == "id"
    assert audit(table, masked.take(order)).matched == "id"
    bare = masked.without(["person", "household"])
    assert audit(table, bare).matched == "position"
    mixed = bare.take(order)
    by_values = audit(table, mixed.to_frame("pyarrow"))
    assert by_values.matched == "values" and any("matched by" in note for note in by_values.notes)
    given = audit(table, mixed, order=order)
    assert given.matched == "the order given"
    assert given["weight"].worst is not None and by_values["weight"].worst is not None
    assert 0.8 * given.records < by_values.records < given.records  # some persons differ in what was blanked alone


def test_records_matched_by_values_are_the_same_though_a_variable_was_swapped() -> None:
    table = survey(200)
    swapped = table.assign(wages=np.random.default_rng(0).permutation(table["wages"])).drop(columns="household")
    mixed, order = shuffled(swapped)
    found = match(data(table), data(mixed))
    assert found.how == "values" and len(found.rows) == len(table)
    assert np.array_equal(found.records, order[found.rows])


def test_a_table_in_which_everything_was_changed_is_matched_by_position() -> None:
    table = survey(100)[["wages", "rest", "age"]]
    assert audit(table, Noise(0.1).protect(table, rng=1)).matched == "position"


def test_a_sample_is_matched_by_id() -> None:
    table = household_survey(100)
    part = table.take(np.arange(0, len(table), 3))
    found = audit(table, part.without(["region"]))
    assert found.records == len(part) and found.protected == {"region": len(part)}


def test_records_that_cannot_be_matched_are_refused() -> None:
    table = survey(50)[["sex", "job"]]
    mixed, order = shuffled(table)
    with pytest.raises(DataError, match=r"cannot be told.*order=.* or an id"):
        audit(table, mixed.iloc[:40])
    with pytest.raises(DataError, match="no variable of the original"):
        audit(table, pa.table({"other": [1.0] * len(table)}))
    with pytest.raises(DataError, match="different whole numbers"):
        audit(table, mixed, order=np.zeros(len(table), dtype=int))
    with pytest.raises(DataError, match="for each of the"):
        audit(table, mixed, order=order[:10])


@pytest.mark.parametrize("wrong", [{"near": -0.1}, {"near": 1.0}, {"margin": True}, {"margin": "much"}])
def test_parameters_are_checked(wrong: dict[str, object]) -> None:
    table = survey(20)
    with pytest.raises(ParameterError, match="must be a share"):
        audit(table, table, **wrong)  # type: ignore[arg-type]


def test_what_an_audit_says() -> None:
    table = survey()
    found = audit(data(table), blanked(table, "region", 0.1))
    assert repr(found).splitlines()[0] == found.verdict
    assert "repair: write the records in random order" in repr(found)
    assert "<table>" in found._repr_html_() and not found.passed and len(found.repairs) >= 2


def test_defaults_are_those_of_the_page() -> None:
    defaults = {"order": None, "beside": None, "near": 0.01, "margin": 0.1, "rng": 0}
    for function, more in ((audit, {"sample": 100_000}), (module.audit_of, {"seen": None})):
        parameters = inspect.signature(function).parameters
        assert {name: one.default for name, one in parameters.items() if name not in ("original", "protected")} == {
            **defaults,
            **more,
        }


def test_a_chance_of_a_false_alarm_is_shared_by_routes_and_by_what_each_of_them_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of three routes were tried: .005 for each; of these one tried 2 and 3 columns, .001 for each of five."""
    levels: list[float] = []
    restored = Restored("x", "as published", ("y",), 9, 0.5, 0.5, 0.4, None, "the file", "nothing")

    def judged(name: str, trial: Any, level: float, margin: float) -> Restored:
        levels.append(level)
        return restored

    monkeypatch.setattr(module, "judged_by", judged)
    tries = [SimpleNamespace(tests=tests) for tests in (2, 3, 1)]
    found = [("columns", tries[:2]), ("order", tries[2:]), ("ids", "no id")]
    monkeypatch.setattr(module, "ROUTES", {name: lambda _, trials=trials: trials for name, trials in found})
    monkeypatch.setattr("sfumato.auditing.audit.examples", lambda *_: ())
    matching: Any = SimpleNamespace(records=np.arange(3))
    setting: Any = SimpleNamespace(original=None, targets=(1,))
    routes = module._judged(setting, matching, 0.1)
    assert levels == pytest.approx([0.001, 0.001, 0.005])
    assert [route.untried for route in routes] == ["", "", "no id"]


def test_the_worst_of_a_route_is_an_alarm_and_exceeds_the_guess_most_in_terms_of_chance() -> None:
    def told(name: str, excess: float, values: int, reading: Any = "restores") -> Restored:
        return Restored(name, "as published", ("y",), values, excess, excess, 0.0, None, "the file", reading)

    # .5 of 16 values are worth .5 x 4 = 2, .3 of 36 are worth .3 x 6 = 1.8; an association is no alarm
    few, many, no = told("few", 0.5, 16), told("many", 0.3, 36), told("no", 0.9, 400, "association")
    assert sorted([no, many, few], key=module._severity) == [few, many, no]
    assert sorted([told("b", 0.5, 9), told("a", 0.5, 9)], key=module._severity)[0].variable == "a"


def test_what_was_done_for_one_variable_on_a_sample_is_said() -> None:
    def said(*offered: dict[str, Any]) -> list[str]:
        made = []
        for one in offered:
            made.append(SimpleNamespace(**{"taught": True, "hidden": None, "screened": False, **one}))
            made[-1].cells = np.arange(one.get("cells", 9))
        return module._sampled(SimpleNamespace(targets=made))  # type: ignore[arg-type]

    plain: dict[str, Any] = {}
    assert said() == said(plain, plain) == []
    changed: list[tuple[dict[str, Any], str]] = [
        ({"cells": targets.MAX_TRIED_VALUES + 1}, "of a variable with more protected values"),
        ({"screened": True}, "other columns were looked through"),
        ({"taught": False}, "where too few values of a variable stand as they were"),
        ({"hidden": np.ones(3, dtype=bool)}, "where no record shows a category any more"),
    ]
    for one, beginning in changed:
        (line,) = said(plain, one)
        assert line.startswith(beginning)
    assert said({"cells": targets.MAX_TRIED_VALUES}) == []
