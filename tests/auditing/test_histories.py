"""Persons with several records: what the others tell of a number that is blank in one does not go out."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from scanned import scanned
from sfumato import LocalSuppression, Microdata, Schema, Variable
from sfumato.auditing.belonging import told_by_others
from sfumato.auditing.of_parts import SampleDesign
from sfumato.auditing.repairs import prepare
from sfumato.table.present import made_missing
from small_survey import run


def panel(wave: bool = True) -> Microdata:
    """Persons in four waves, a year apart, each with a weight of its own."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(400), 4)
    when = np.tile(np.arange(4), 400)
    table = {"person": who, "sex": rng.choice(["f", "m"], 400)[who], "age": rng.integers(18, 80, 400)[who] + when}
    table |= {"pay": np.round(rng.lognormal(8, 1, 1600)), "region": rng.choice(list("ABCDEF"), 400)[who]}
    table |= {"wave": when} if wave else {}
    keys = (Variable("region", "nominal", role="key"), Variable("sex", "nominal", role="key"))
    table |= {"w": rng.uniform(10, 90, 400).round(3)[who]}
    schema = Schema((*keys, Variable("age", role="key"), Variable("w")), household="person", weight="w")
    return Microdata.from_frame(pa.table(table), schema)


@pytest.mark.parametrize("wave", [True, False])
def test_an_age_that_other_waves_tell_is_blank_in_all(wave: bool) -> None:
    data = panel(wave)
    made = LocalSuppression(3).protect(data)
    lost = made.missing("age")
    who = data.columns["person"].astype(int)
    shown = np.bincount(who[~lost], minlength=400)
    assert (shown[who[lost]] > 0).any(), "another wave shows it"
    assert told_by_others(data, made) == ["age"]
    ready = prepare(data, made, seed=1)
    assert ready.order is not None
    blank = ready.table.take(np.argsort(ready.order)).missing("age")
    np.testing.assert_array_equal(blank, np.isin(who, who[lost]))
    assert not ready.table.missing("pay").any()


def test_a_number_that_moves_freely_is_blank_only_where_it_was() -> None:
    data = panel(wave=True)
    blank = np.random.default_rng(1).random(len(data)) < 0.1
    assert told_by_others(data, made_missing(data, {"pay": blank})) == []
    ready = prepare(data, made_missing(data, {"pay": blank}), seed=1)
    assert ready.table.missing("pay").sum() == blank.sum()


def test_the_ages_of_a_family_lie_apart() -> None:
    rng = np.random.default_rng(0)
    table = {"home": np.repeat(np.arange(300), 3), "sex": rng.choice(["f", "m"], 900), "age": rng.integers(0, 90, 900)}
    keys = (Variable("sex", "nominal", role="key"), Variable("age", role="key"))
    data = Microdata.from_frame(pa.table(table), Schema(keys, household="home"))
    assert told_by_others(data, LocalSuppression(3).protect(data)) == []


def test_persons_without_a_number_are_judged_if_they_can_be_put_together() -> None:
    data = panel()
    made = LocalSuppression(3).protect(data).without(["person"])
    assert told_by_others(data, made) == ["age"]
    assert told_by_others(data, made.replace({"w": np.full(1600, 5.0)})) == []
    ready = prepare(data, made, seed=1, keep_weights=True)
    assert ready.order is not None
    blank = ready.table.take(np.argsort(ready.order)).missing("age")
    who = data.columns["person"].astype(int)
    np.testing.assert_array_equal(blank, np.isin(who, who[made.missing("age")]))


@pytest.mark.parametrize("wave", [True, False])
def test_in_parts_such_an_age_is_an_alarm(wave: bool) -> None:
    data = panel(wave)
    made = LocalSuppression(3).protect(data)
    for seen in (
        SampleDesign(),
        SampleDesign(("audited in a random sample",)),
    ):  # of a sample persons may be incomplete
        checked = prepare(data, made, seed=1, of_parts=seen).checked
        assert checked.audit is not None and not checked.passed
        worst = checked.audit["household"].worst
        assert worst is not None and worst.variable == "age" and worst.restored > worst.guess + 0.2
        assert ("wave" in worst.evidence) == wave and "region" in worst.evidence[0]
        assert "suppress age in all records of a person" in checked.audit.repairs[-1]
        alike = data.replace({"w": np.full(1600, 5.0)})
        again = prepare(alike, LocalSuppression(3).protect(alike), seed=1, of_parts=seen).checked
        assert again.passed, "nobody can put them together"


def test_in_parts_a_blank_person_is_no_alarm_and_too_few_records_are_told() -> None:
    data = panel()
    who = data.columns["person"].astype(int)
    gone = made_missing(data, {"age": np.isin(who, np.arange(0, 400, 9))})
    assert prepare(data, gone, seed=1, of_parts=SampleDesign()).checked.passed
    one = np.flatnonzero(data.columns["wave"] == np.arange(1600) // 4 % 4)  # a wave of each person
    checked = prepare(data.take(one), gone.take(one), seed=1, of_parts=SampleDesign(("a sample",))).checked
    assert checked.audit is not None and any("was not judged" in note for note in checked.audit.notes)


def test_a_panel_in_parts_that_tells_ages_is_not_written(tmp_path: Path) -> None:
    data = panel()
    scanned(data, tmp_path / "waves", 4)
    sfumato.write_schema(data, tmp_path / "schema.toml")
    words = [
        "protect",
        tmp_path / "waves",
        "--on-undeclared",
        "accept",
        "--schema",
        tmp_path / "schema.toml",
        "--method",
        "LocalSuppression(3)",
    ]
    done = run(*words, "--engine", "here", "--memory", "1 GB", "--seed", "12345678901", "--out", tmp_path / "out")
    assert done.exit_code == 1 and not (tmp_path / "out").exists()
    assert "suppress age in all records of a person" in done.output
