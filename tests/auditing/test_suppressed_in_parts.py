"""Which records of tables in parts are audited: those with suppressed values, others alike, and a random sample."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from towns import towns

from how_often import TABLES
from scanned import scanned
from sfumato import Engine, Microdata, Schema, TableInParts, Variable
from sfumato.auditing.audit import audit
from sfumato.auditing.of_parts import (
    AtHand,
    SampleDesign,
    _sought,
    _SoughtValues,
    at_hand_of_both,
    records_at_hand,
)
from sfumato.errors import DataError
from sfumato.pair.random_order import RandomOrder, write_in_random_order
from sfumato.table.present import made_missing
from sfumato.table.treatment import Treatment

N = 12_000


def design(both: AtHand) -> SampleDesign:
    assert both.seen is not None
    return both.seen


def cut(data: Microdata, number: int = 3) -> TableInParts:
    """Return a table in memory as one in parts."""
    return TableInParts(tuple(data.take(rows) for rows in np.array_split(np.arange(len(data)), number)))


def gaps(data: Microdata, number: int, name: str = "town", seed: int = 5) -> Microdata:
    """Return a table in which so many values are missing."""
    hidden = np.zeros(len(data), dtype=bool)
    hidden[np.random.default_rng(seed).choice(len(data), number, replace=False)] = True
    return made_missing(data, {name: hidden})


@pytest.fixture(scope="module")
def register() -> Microdata:
    return towns(N).without(["file_no"])


@pytest.fixture(scope="module")
def masked(register: Microdata) -> Microdata:
    return gaps(register, 30)


def test_all_suppressed_values_are_looked_at_however_the_records_stand(
    register: Microdata, masked: Microdata, tmp_path: Path
) -> None:
    original, release = scanned(register, tmp_path / "a", 3), scanned(masked, tmp_path / "b", 4)
    order = np.random.default_rng(3).permutation(N)
    mixed = scanned(masked.take(order), tmp_path / "c", 2)
    told = RandomOrder(11, "a release")
    with Engine("here"):
        write_in_random_order(release, tmp_path / "d", told)
        drawn = scanned(masked.take(np.argsort(told.draws(0, N), kind="stable")), tmp_path / "e", 2)
        for protected, way in ((release, None), (mixed, order), (drawn, told)):
            seen = records_at_hand(original, protected, way, None, 300)
            beside = seen.original.take(seen.order)
            assert np.array_equal(beside.columns["id"], seen.protected.columns["id"])
            assert seen.protected.missing("town").sum() == 30 and 290 <= len(seen.protected) <= 300
            assert (
                design(seen)
                .notes[0]
                .startswith(f"audited in {len(beside)} of 12,000 records: all 30 with suppressed values, ")
            )
            found = audit(original, protected, order=way, sample=300)
            assert {r.variable for r in found["columns"].by_variable if r.alarm} == {"town"}
            assert found.notes[0] == design(seen).notes[0]


def test_an_order_names_each_record_once(register: Microdata) -> None:
    with pytest.raises(DataError, match="must name each of the 12,000 records"):
        records_at_hand(cut(register), cut(register), np.zeros(N, dtype=int), None, 300)


def test_gaps_of_the_original_are_not_taken_for_suppressed_values(register: Microdata) -> None:
    gappy = gaps(register, 2_000, seed=8)
    treated = gappy.schema.replace(replace(gappy.schema["town"], treatment=register.schema["town"].treatment))
    gappy = replace(gappy, schema=treated)
    protected = gaps(gappy, 25, seed=9)
    number = int((protected.missing("town") & ~gappy.missing("town")).sum())
    for way in (None, np.arange(N)):
        seen = records_at_hand(cut(gappy), cut(protected), way, None, 600)
        assert f"all {number} with suppressed values" in design(seen).notes[0]
        gone = seen.protected.missing("town") & ~seen.original.missing("town")
        assert gone.sum() == number and seen.original.missing("town").sum() < 200


def test_no_cut_changes_which_records_are_looked_at(register: Microdata) -> None:
    protected = gaps(gaps(register, 900), 700, "age", seed=6)
    seen = [at_hand_of_both(cut(register, k), cut(protected, k), 400) for k in (1, 3, 8)]
    for other in seen[1:]:
        assert np.array_equal(seen[0].protected.columns["id"], other.protected.columns["id"])
        assert design(seen[0]).notes == design(other).notes


def test_what_is_rarely_suppressed_is_not_lost_among_what_often_is(register: Microdata) -> None:
    protected = gaps(gaps(register, 5_000), 20, "age", seed=6)
    seen = at_hand_of_both(cut(register), cut(protected), 400).protected
    assert seen.missing("age").sum() == 20
    assert 180 <= seen.missing("town").sum() <= 200 + 0.5 * 200


def test_more_variables_than_records_to_draw() -> None:
    rng = np.random.default_rng(4)
    data = Microdata.from_frame(pd.DataFrame({f"c{place}": rng.choice(list("ab"), 500) for place in range(60)}))
    protected = made_missing(data, {name: rng.random(500) < 0.1 for name in data.names})
    seen = at_hand_of_both(cut(data), cut(protected), 100)
    assert 50 < len(seen.protected) <= 100 and len(design(seen).of) == 50


def test_where_nothing_is_suppressed_the_sample_is_the_random_one(register: Microdata) -> None:
    from sfumato.pair.sample import sampled

    seen = at_hand_of_both(cut(register), cut(register), 400)
    assert np.array_equal(seen.protected.columns["id"], sampled(cut(register), 400).columns["id"])
    assert design(seen).notes == ("audited in a random sample of 400 of 12,000 records",)


def test_who_still_shows_the_town_teaches_what_goes_with_it() -> None:
    """In each of 1,000 villages one value is suppressed; a random sample has hardly anyone else of the village."""
    n = 40_000
    village = np.where(np.arange(n) < 10_000, np.arange(n) % 1_000, 5_000)
    area = (village * 7_919) % 10_007
    table = pd.DataFrame({"village": [f"v{i}" for i in village], "area": [f"z{i}" for i in area]})
    table["sex"] = np.random.default_rng(1).choice(["f", "m"], n)
    data = Microdata.from_frame(table)
    hidden = np.arange(n) < 1_000
    found = audit(cut(data), cut(made_missing(data, {"village": hidden})), order=np.arange(n), sample=1_000)
    assert not found.passed and "that show the same categories" in found.notes[0]


def without_a_leak(seed: int, records: int = 3_000) -> tuple[Microdata, Microdata]:
    """Columns that have nothing to do with each other, suppressed at random or where two together are rare."""
    rng = np.random.default_rng(seed)
    columns: dict[str, np.ndarray[Any, Any]] = {"x": rng.lognormal(8, 1, records).round(1)}
    for place in range(rng.integers(3, 6)):
        shares = rng.dirichlet(np.full(int(rng.integers(2, 40)), 0.3))
        columns[f"c{place}"] = np.array([f"v{code}" for code in rng.choice(len(shares), records, p=shares)])
    table = pd.DataFrame(columns)
    together = table.groupby(["c0", "c1"])["x"].transform("size").to_numpy()
    rare, data = together <= np.quantile(together, 0.02), Microdata.from_frame(table)
    hidden = {}
    for name in columns:
        chance = np.where(rare, 0.6, 0.0) if rng.random() < 0.6 else np.full(records, rng.uniform(0, 0.02))
        hidden[name] = rng.random(records) < chance
    return data, made_missing(data, hidden)


def test_tables_without_a_leak_raise_no_alarm() -> None:
    """Values suppressed where two together are rare must not seem to go together among the records looked at."""
    alarms = 0
    for seed in range(TABLES):
        original, protected = without_a_leak(seed)
        found = audit(cut(original), cut(protected), order=np.arange(len(original)), sample=300)
        assert "with suppressed values" in found.notes[0]
        alarms += not found.passed
    assert alarms <= TABLES // 100


@pytest.mark.parametrize("seed", range(8))
def test_who_is_drawn_for_one_variable_is_no_witness_of_another(seed: int) -> None:
    """Of those in town a who do job a something is suppressed: they are many among those drawn, few in the table."""
    rng, n = np.random.default_rng(seed), 20_000
    town, job = rng.choice(["a", "b"], n, p=[0.05, 0.95]), rng.choice(["a", "b"], n, p=[0.3, 0.7])
    others = {name: rng.choice(list("klmn"), n) for name in ("sex", "age", "tenure")}
    data = Microdata.from_frame(pd.DataFrame({"town": town, "job": job, **others}))
    rare = (town == "a") & (job == "a")
    hidden = {"job": rare & (rng.random(n) < 0.3)}
    hidden |= {name: rare & ~hidden["job"] & (rng.random(n) < 0.5) for name in others}
    found = audit(cut(data), cut(made_missing(data, hidden)), order=np.arange(n), sample=800)
    assert found.passed and found.protected["job"] > 40, found


@pytest.mark.parametrize("told", [True, False])
def test_processes_draw_the_same(register: Microdata, masked: Microdata, tmp_path: Path, *, told: bool) -> None:
    original, release = scanned(register, tmp_path / "a", 3), scanned(masked, tmp_path / "b", 3)
    order = np.arange(N) if told else None
    with Engine("local", processes=2):
        there = records_at_hand(original, release, order, None, 300)
    here = records_at_hand(cut(register), cut(masked), order, None, 300)
    assert design(there).notes == design(here).notes
    assert np.array_equal(there.original.columns["id"], here.original.columns["id"])


def test_values_that_a_limit_may_have_replaced_are_looked_for_where_the_limit_is_new() -> None:
    """The top of pay was 90 and is 50; that of rent was 90 before, and age has none."""
    names = ("pay", "rent", "age")
    columns = {name: np.arange(20.0) for name in names}

    def limited(**tops: float) -> TableInParts:
        variables = (Variable(name).treated(Treatment(top=tops.get(name))) for name in names)
        return cut(Microdata(Schema(tuple(variables)), columns))

    found = _sought(limited(pay=90.0, rent=90.0), limited(pay=50.0, rent=90.0))
    assert found == {"pay": _SoughtValues(False, top=50.0)}
