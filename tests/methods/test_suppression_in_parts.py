"""Local suppression of a table in parts: the table of memory, whatever the cut; promises hold for the whole."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sfumato
from scanned import scanned
from sfumato import Engine, LocalSuppression, Microdata, NotApplicable, Scenario
from sfumato.kernels.suppression import Answer, NeedsRecords, RowCounts, SharedKeys, cheapest_shown
from tables import persons
from test_contract_parts import with_gaps

KEYS = ("region", "sex", "age", "education")


def table(records: int) -> Microdata:
    """Persons with gaps, and without the household, whose members may lie in several parts."""
    return with_gaps(persons(records).without(["household"]), 0.05, seed=3)


@pytest.mark.parametrize(
    "method",
    [
        LocalSuppression(3, variables=KEYS),
        LocalSuppression(5, variables=KEYS, importance={"age": 3, "sex": 2}),
        LocalSuppression(3, subsets=2, variables=KEYS),
        LocalSuppression(sets=((("region", "sex", "age"), 3), (("education", "health"), 5))),
        LocalSuppression(risk=0.2, variables=("region", "sex", "education")),
        LocalSuppression(2, variables=KEYS, caps={"age": 0.1}),
        LocalSuppression(3, variables=KEYS, caps={"age": 0.4, "region": 0.2, "education": 0.4}),
        LocalSuppression(3, risk=0.3, caps={"region": 0.02}, variables=("region", "sex", "education")),
        LocalSuppression(3, missing="category", variables=KEYS),
        LocalSuppression(2, missing="category", variables=("sex", "region")),
    ],
    ids=repr,
)
def test_it_is_the_table_in_memory(method: LocalSuppression, tmp_path: Path) -> None:
    data = table(300)
    whole = method.protect(data)
    lost = sum(int(whole.missing(name).sum() - data.missing(name).sum()) for name in data.names)
    assert lost > 0  # else nothing is tested
    for number in (1, 3, 17):
        parts = scanned(data, tmp_path / f"original-{number}", number)
        with Engine("here"):
            made = method.protect(parts, folder=tmp_path / f"protected-{number}")
        assert len(made.parts) == number
        after = made.loaded()
        assert after.schema == whole.schema
        for name in whole.names:
            np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)
        told = whole.notes[-1].removeprefix(f"{method!r}: ")
        assert made.parts[0].notes[-1] == f"{method!r}: in parts: {told}"


def test_scenarios_and_what_the_measures_find_in_the_written_table(tmp_path: Path) -> None:
    data = table(400)
    known = (Scenario("neighbour", ("region", "sex", "age"), 3), Scenario("colleague", ("education", "age"), 5))
    data = replace(data, schema=replace(data.schema, scenarios=known))
    parts = scanned(data, tmp_path / "original", 4)
    with Engine("local", processes=2):
        made = LocalSuppression(sets="scenarios", importance={"sex": 2}).protect(parts, folder=tmp_path / "protected")
        for one in known:
            found = sfumato.KAnonymity(one.k, variables=one.keys).evaluate(parts, made)
            assert found.value == 0  # no record that fewer than k agree with
            assert sfumato.KAnonymity(one.k, variables=one.keys).evaluate(parts, parts).value > 0


@st.composite
def problems(draw: st.DrawFn) -> tuple[NDArray[np.int32], list[SharedKeys], dict[int, int]]:
    """Keys of records, what is asked of them, and how many values of a key may go."""
    records, keys = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    rows = draw(
        st.lists(st.lists(st.integers(-1, 2), min_size=keys, max_size=keys), min_size=records, max_size=records)
    )
    ks = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    subset = st.sets(st.integers(0, keys - 1), min_size=1)
    sets = [SharedKeys(tuple(sorted(chosen)), k, len(chosen)) for k in ks for chosen in (draw(subset),)]
    limits = draw(st.dictionaries(st.integers(0, keys - 1), st.integers(0, 6), max_size=2))
    return np.array(rows, dtype=np.int32), sets, limits


@settings(max_examples=150, deadline=None)
@given(problems())
def test_rows_that_stand_for_records_lose_what_the_records_lose(
    problem: tuple[NDArray[np.int32], list[SharedKeys], dict[int, int]],
) -> None:
    codes, sets, limits = problem
    costs, preference = np.ones(codes.shape[1]), [0] * codes.shape[1]
    whole = cheapest_shown(codes, sets, costs, preference, None, limits)
    cells, place, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    told = np.zeros(len(cells), dtype=bool)
    while True:
        # classes that need not be told apart first, then the records of the others in their order
        single = np.flatnonzero(told[place.ravel()])
        rows = np.concatenate([cells[~told], codes[single]])
        standing = RowCounts(
            np.concatenate([counts[~told], np.ones(len(single), dtype=np.int64)]),
            np.arange(len(rows)) >= (~told).sum(),
        )
        try:
            found: Answer = cheapest_shown(rows, sets, costs, preference, None, limits, None, standing)
        except NeedsRecords as coarse:
            asked = coarse.rows[coarse.rows < (~told).sum()]
            assert len(asked)
            told[np.flatnonzero(~told)[asked]] = True
            continue
        break
    shown = np.empty(codes.shape, dtype=bool)
    shown[single] = found.shown[(~told).sum() :]
    of_class = np.cumsum(~told) - 1
    alike = np.flatnonzero(~told[place.ravel()])
    shown[alike] = found.shown[of_class[place.ravel()[alike]]]
    assert found.stuck == whole.stuck
    np.testing.assert_array_equal(shown, whole.shown)


def test_refusals(tmp_path: Path) -> None:
    data = table(60)
    parts = scanned(data, tmp_path / "original", 2)
    with pytest.raises(NotApplicable, match="LocalSuppression: key 'income' is continuous"):
        LocalSuppression(3, variables=("income", "sex")).protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match="fewer than k=61"):
        LocalSuppression(61, variables=("sex",)).protect(parts, folder=tmp_path / "b")
    with pytest.raises(NotApplicable, match="caps lets 0 % of 'age' be suppressed"):
        LocalSuppression(20, variables=("age",), caps={"age": 0}).protect(parts, folder=tmp_path / "c")
    assert not any((tmp_path / name).exists() for name in "abc")
