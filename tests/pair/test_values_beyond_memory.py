"""Measures of one variable whose different values do not fit into memory: the figures of memory, from sorted files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato
from scanned import scanned
from sfumato import Engine, Measure, Microdata, Schema, Variable
from sfumato.pair import Half, Pair, half, sorting
from sfumato.risk.interval import places
from sfumato.testing.of_measures import agree as same
from sfumato.utility.distribution_functions import sorted_differences
from test_contract_parts import TABLES, cut


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 MiB: no different value fits, and forty records are sorted at a time."""
    monkeypatch.setattr(half, "SHARE", 2**40)
    monkeypatch.setattr(sorting, "SHARE", 64 * 2**20 // sorting.BYTES // 40)


MEASURES = (
    sfumato.CDFMaximum(variables=("income",)),
    sfumato.CDFSquares(variables=("income",)),
    sfumato.CDFSquares(total=True, variables=("age",)),
    sfumato.CDFMaximum(variables=("education",)),
    sfumato.RankInterval(variables=("age", "income")),
    sfumato.RankInterval(percents=(0.5, 7.0, 100.0), ties="last", variables=("age", "income")),
    sfumato.ExposedAmounts(variables=("age", "income")),
    sfumato.ExposedAmounts(3, within=0.2),
)


@pytest.mark.parametrize("file", ["swapped", "noisy, with gaps"])
@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.usefixtures("little_memory")
def test_the_figures_of_memory(measure: Measure, file: str, tmp_path: Path) -> None:
    original, protected = TABLES[file]
    parts = scanned(original, tmp_path / "original", 5), scanned(protected, tmp_path / "protected", 5)
    with Engine("here", memory="64 MiB", folder=tmp_path / "work") as engine:
        same(measure.evaluate(original, protected, rng=1), measure.evaluate_pair(Pair.of(*parts), rng=1))
        assert not any(engine.folder.iterdir())


def weighed(rng: np.random.Generator, records: int, *, name: str = "x") -> Microdata:
    values = np.round(rng.normal(size=records), 1)
    values[rng.random(records) < 0.1] = np.nan
    weights = rng.integers(0, 5, records).astype(np.float64)
    schema = Schema((Variable(name, kind="numeric"), Variable("w", kind="numeric")), weight="w")
    return Microdata(schema, {name: values, "w": weights}, matched=False)


@pytest.mark.usefixtures("little_memory")
def test_weights_and_tables_of_different_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    before, after = weighed(rng, 300), weighed(rng, 170)
    parts = scanned(before, tmp_path / "original", 4), scanned(after, tmp_path / "protected", 3)
    with Engine("here", memory="64 MiB"):
        for measure in (sfumato.CDFMaximum(variables=("x",)), sfumato.CDFSquares(variables=("x",))):
            whole, found = measure.evaluate(before, after, rng=1), measure.evaluate_pair(Pair.of(*parts), rng=1)
            same(whole, found)
            assert any("of weight zero left out" in note for note in found.notes)
            assert any("taken as below all others" in note for note in found.notes)


@pytest.mark.usefixtures("little_memory")
def test_kolmogorov_and_smirnov_by_another_program(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.lognormal(size=500), rng.lognormal(0.1, 1.1, size=400)
    schema = Schema((Variable("x", kind="numeric"),))
    parts = [
        scanned(Microdata(schema, {"x": values}, matched=False), tmp_path / name, 3)
        for name, values in (("original", x), ("protected", y))
    ]
    with Engine("here", memory="64 MiB"):
        found = sorted_differences(Pair.of(*parts), "x", ())
    told = stats.ks_2samp(x, y)
    assert found.largest == pytest.approx(told.statistic, rel=1e-14)
    at = told.statistic_location
    assert found.shares == pytest.approx((np.mean(x <= at), np.mean(y <= at)), rel=1e-14)


def test_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half, "SHARE", 2**40)
    schema = Schema((Variable("x", kind="numeric"),))
    parts = [
        scanned(Microdata(schema, {"x": np.array(values)}, matched=False), tmp_path / str(place), 2)
        for place, values in enumerate(([1.0, 2.0], [3.0, 4.0]))
    ]
    with Engine("here", memory="64 MiB"):
        pair = Pair.of(*parts)
        assert sfumato.CDFSquares(total=True).evaluate_pair(pair).value == 1.5  # 1/4 + 1 + 1/4 + 0
        assert sfumato.CDFMaximum().evaluate_pair(pair).value == 1.0  # at 2: all, and none


VALUES = st.lists(st.sampled_from([-np.inf, -0.0, 0.0, 1.0, 2.5, 1e300, np.inf, np.nan]), min_size=1, max_size=50)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), before=VALUES, most=st.integers(1, 60))
def test_places_are_counted(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, before: list[float], most: int
) -> None:
    after = data.draw(st.permutations(before), label="protected")
    schema = Schema((Variable("x", kind="numeric"),))
    tables = [Microdata(schema, {"x": np.array(values)}) for values in (before, after)]
    ends = data.draw(st.lists(st.integers(0, len(before)), max_size=3), label="cuts")
    pair = Pair(*(Half(cut(table, ends)) for table in tables))
    with pytest.MonkeyPatch.context() as patch, Engine("here", memory="64 MiB", folder=tmp_path_factory.mktemp("x")):
        patch.setattr(sorting, "SHARE", 64 * 2**20 // sorting.BYTES // most)
        found = list(places(pair, "x"))
    there: Any = np.array([value for value in after if value == value])
    for side, values in enumerate((before, after)):
        below = np.concatenate([both[side].below for both in found]).tolist()
        upto = np.concatenate([both[side].upto for both in found]).tolist()
        assert below == [int((there < value).sum()) if value == value else -1 for value in values]
        assert upto == [int((there <= value).sum()) if value == value else -1 for value in values]


def test_few_values_are_held_and_many_are_not(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    schema = Schema((Variable("few", kind="numeric"), Variable("many", kind="numeric")))
    columns = {"few": rng.integers(0, 90, 600_000).astype(np.float64), "many": rng.normal(size=600_000)}
    table = scanned(Microdata(schema, columns), tmp_path / "table", 12)
    with Engine("here", memory="64 MiB"):  # an eighth: half a million values with their counts
        one = Half.of(table)
        few = one.values_if_they_fit("few")
        assert few is not None and len(few.values) == 90 and few.present == 600_000
        assert one.values("few") is few
        assert one.values_if_they_fit("many") is None
        assert one.values_if_they_fit("many") is None
