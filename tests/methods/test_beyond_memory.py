"""Limits and classes of numbers whose different values do not fit into memory: those of memory, from sorted files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from methods_in_parts import table
from scanned import scanned
from sfumato import Engine, Method, Microdata, NotApplicable, Schema, Variable
from sfumato.pair import Half, half, sorting
from sfumato.pair.sorting import Ordered, middle_of
from test_contract_parts import cut

METHODS: list[Method] = [
    sfumato.TopBottomCoding(0.05),
    sfumato.TopBottomCoding(0.3, ends="bottom"),
    sfumato.TopBottomCoding(top={"income": 2000.0}, bottom={"age": 20}),
    sfumato.TopBottomCoding(top={"income": 1e9}),
    sfumato.GlobalRecoding(groups=4),
    sfumato.GlobalRecoding(groups=150, variables=("age", "income", "born")),
    sfumato.GlobalRecoding(groups=3, by="width", variables=("age", "income", "born")),
    sfumato.GlobalRecoding(bins={"age": [18, 65], "income": 250, "born": "year"}),
    sfumato.GlobalRecoding(bins={"income": {"low": [0, 1500], "high": [1500, None]}}),
    sfumato.GlobalRecoding(hierarchy={"age": [5, 10, 20], "income": [[1000, 2000], [2000]]}, level=2),
]


def little(patch: pytest.MonkeyPatch, held: int = 40) -> None:
    """Of 64 MiB: no different value fits, and so many records are sorted at a time."""
    patch.setattr(half, "SHARE", 2**40)
    patch.setattr(sorting, "SHARE", 64 * 2**20 // sorting.BYTES // held)


def people() -> Microdata:
    """Persons with gaps, weights that are no whole numbers, and birth dates."""
    data = table(300)
    rng = np.random.default_rng(8)
    born = np.where(rng.random(300) < 0.1, np.nan, rng.integers(-9000, 9000, 300).astype(np.float64))
    schema = Schema((*data.schema, Variable("born", kind="date"), Variable("w", kind="numeric")), weight="w")
    weights = np.where(rng.random(300) < 0.2, 0.0, rng.uniform(0.1, 9, 300))
    return Microdata(schema, {**data.columns, "born": born, "w": weights})


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_table_of_memory(method: Method, weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = people() if weighted else people().without(["w"])
    whole = method.protect(data)
    little(monkeypatch)
    parts = scanned(data, tmp_path / "original", 5)
    with Engine("here", memory="64 MiB", folder=tmp_path / "work") as engine:
        after = method.protect(parts, folder=tmp_path / "protected").loaded()
        assert not any(engine.folder.iterdir())
    assert after.schema == whole.schema
    for name in whole.names:
        np.testing.assert_array_equal(after.columns[name], whole.columns[name], err_msg=name)


def test_a_value_between_named_classes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    little(monkeypatch)
    data = Microdata(Schema((Variable("x", kind="numeric"),)), {"x": np.array([*range(30), 35.0, *range(40, 70)])})
    method = sfumato.GlobalRecoding(bins={"x": {"low": [0, 30], "high": [40, None]}})
    with Engine("here", memory="64 MiB"), pytest.raises(NotApplicable, match="bins of 'x' miss 1 values, the first 35"):
        method.protect(scanned(data, tmp_path / "original", 3), folder=tmp_path / "protected")


VALUES = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0, 2.0, 3.0, 7.0, 11.0, np.nan]), min_size=3, max_size=60)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), values=VALUES, share=st.sampled_from([0.01, 0.1, 0.25, 0.4]), groups=st.integers(2, 6))
def test_any_values_weights_and_cut(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, values: list[float], share: float, groups: int
) -> None:
    number = len(values)
    weights = data.draw(st.lists(st.integers(0, 3), min_size=number, max_size=number).filter(any), label="weights")
    schema = Schema((Variable("x", kind="numeric"), Variable("w", kind="numeric")), weight="w")
    whole = Microdata(schema, {"x": np.array(values), "w": np.array(weights, dtype=np.float64)})
    places = st.lists(st.integers(1, number - 1), min_size=1, max_size=3, unique=True)
    parts = [part for part in cut(whole, data.draw(places, label="cuts")) if len(part)]
    folder = tmp_path_factory.mktemp("x")
    with pytest.MonkeyPatch.context() as patch, Engine("here", memory="64 MiB", folder=folder):
        little(patch, data.draw(st.integers(1, 40), label="held"))
        in_parts = scanned(whole, folder / "original", len(parts))
        for place, method in enumerate(
            (
                sfumato.TopBottomCoding(share, variables=("x",)),
                sfumato.GlobalRecoding(groups=groups, variables=("x",)),
                sfumato.GlobalRecoding(groups=groups, by="width", variables=("x",)),
            )
        ):
            expected = method.protect(whole)
            found = method.protect(in_parts, folder=folder / str(place)).loaded()
            assert found.schema["x"] == expected.schema["x"]
            np.testing.assert_array_equal(found.columns["x"], expected.columns["x"])


def test_middle_and_neighbours_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    little(monkeypatch, held=2)
    x = np.array([5.0, 1, 9, 1, np.nan, 2, 3, 4, 8, 7, 7.5])
    data = Microdata(Schema((Variable("x", kind="numeric"), Variable("w", kind="numeric"))), {"x": x, "w": x * 0 + 2})
    with Engine("here", memory="64 MiB"):
        both = Half.of(scanned(data, tmp_path / "original", 3))
        assert middle_of(both, "x") == (4.0, 5.0)  # 1 1 2 3 4 5 7 7.5 8 9
        ordered = Ordered.of(both, "x")
        found = ordered.around([])  # the ends and 7.5, with two beside each: 4 counts with 5
        assert found.values.tolist() == [1, 2, 3, 5, 7, 7.5, 8, 9]
        assert (found.counts.tolist(), found.missing, found.weights) == ([2, 1, 1, 2, 1, 1, 1, 1], 1, None)
        assert ordered.least(3) == [0, 2, 3] and [ordered.rank_of(x) for x in (0, 1.5, 9, 10)] == [0, 2, 9, 9]
