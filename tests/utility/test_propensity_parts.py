"""Logistic propensity models of tables in parts: the figures of memory, from sums over the parts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanned import scanned
from sfumato import Engine, Microdata, NotApplicable, PropensityUtility, Schema, Variable
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.testing.of_measures import agree as same
from sfumato.utility.propensity import both_files
from sfumato.utility.propensity.both_files import Scaled
from sfumato.utility.propensity.measure import Model
from test_contract_parts import cut

LEVELS = ("none", "some", "much")


def file(seed: int, records: int, *, shift: float = 0.0, towns: tuple[str, ...] = ("A", "B", "C")) -> Microdata:
    """A table with all that a model must treat specially: gaps, scores, two values, constants, weights of zero."""
    rng = np.random.default_rng(seed)
    gaps = rng.random((records, 3)) < 0.1
    columns: dict[str, Any] = {
        "income": np.where(gaps[:, 0], np.nan, rng.lognormal(10 + shift, 1, records)),
        "age": rng.integers(18, 90, records).astype(np.float64),
        "works": (rng.random(records) < 0.4 + shift / 2).astype(np.float64),
        "paid": np.where(gaps[:, 1], np.nan, 0.1),  # one value, and gaps
        "year": np.full(records, 2024.0),
        "school": np.where(gaps[:, 2], -1, rng.integers(0, 3, records)).astype(np.int32),
        "town": rng.integers(-1, len(towns), records).astype(np.int32),
        "weight": rng.integers(0, 4, records).astype(np.float64),
    }
    schema = Schema(
        (
            *(Variable(name, kind="numeric") for name in ("income", "age", "works", "paid", "year")),
            Variable("school", kind="ordinal", categories=LEVELS),
            Variable("town", kind="nominal", categories=towns),
            Variable("weight", kind="numeric"),
        ),
        weight="weight",
    )
    return Microdata(schema, columns, matched=False)


MODELS: tuple[Model, ...] = ("main effects", "products", "logistic I", "logistic II")


@pytest.mark.parametrize("model", MODELS)
def test_all_kinds_of_variables_on_disk(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(both_files, "STRETCH", 50)
    before, after = file(1, 600), file(2, 400, shift=0.1, towns=("C", "D", "A", "E"))
    parts = scanned(before, tmp_path / "original", 4), scanned(after, tmp_path / "protected", 3)
    chosen = ("income", "age", "town") if model == "logistic II" else None
    measure = PropensityUtility(model, variables=chosen)
    NESTED.clear()
    whole = measure.evaluate(before, after)
    with Engine("here", memory="64 MiB", folder=tmp_path / "work") as engine:
        found = measure.evaluate_pair(Pair.of(*parts))
        assert not any(engine.folder.iterdir())
    same(whole, found)
    assert not NESTED
    assert any("records of weight zero left out" in note for note in found.notes)
    if chosen is None:
        assert "constant, so they tell nothing: year" in found.notes  # 'paid' tells where it is missing


@settings(max_examples=8, deadline=None)
@given(data=st.data(), seed=st.integers(0, 99))
def test_any_cut_of_either_table(data: st.DataObject, seed: int) -> None:
    before, after = file(seed, 120), file(seed + 1, 90, shift=0.2)
    ends = [data.draw(st.lists(st.integers(0, 90), min_size=1, max_size=4)) for _ in range(2)]
    parts = Pair.of(cut(before, ends[0]), cut(after, ends[1]))
    for measure in (PropensityUtility("main effects"), PropensityUtility(variables=("income", "works", "school"))):
        same(measure.evaluate(before, after), measure.evaluate_pair(parts))


def test_equal_weights_are_no_weights() -> None:
    before, after = file(5, 200), file(6, 200)
    plain, equal = (
        [
            Microdata(
                table.schema if weight else table.schema.only([n for n in table.schema.names if n != "weight"]),
                {
                    name: np.full(200, weight) if name == "weight" else column
                    for name, column in table.columns.items()
                    if weight or name != "weight"
                },
                matched=False,
            )
            for table in (before, after)
        ]
        for weight in (0.0, 0.1)
    )
    measure = PropensityUtility("main effects")
    one, two = (measure.evaluate_pair(Pair.of(cut(a, [70]), cut(b, [30]))) for a, b in (plain, equal))
    assert one.value == two.value and one.parts == two.parts


def test_separable_files_and_files_that_are_alike() -> None:
    low, high = file(3, 80), file(4, 80)
    high = high.replace({"age": high.columns["age"] + 100})
    measure = PropensityUtility("main effects", variables=("age",))
    found = measure.evaluate_pair(Pair.of(cut(low, [40]), cut(high, [10])))
    assert found.value == pytest.approx(0.25, rel=0.02)  # c (1 - c); the records of weight zero are not the same number
    assert "the files are separable: every record's propensity is 0 or 1 in the limit" in found.notes
    alike = measure.evaluate_pair(Pair.of(cut(low, [40]), cut(low, [10])))
    assert alike.value < 1e-20 and alike.parts["SPECKS"] < 1e-12


def test_too_many_terms_are_refused_as_in_memory() -> None:
    towns = tuple(f"town {code}" for code in range(90))
    before, after = file(7, 150, towns=towns), file(8, 150, towns=towns)
    with pytest.raises(NotApplicable) as whole:
        PropensityUtility().evaluate(before, after)
    with pytest.raises(NotApplicable) as found:
        PropensityUtility().evaluate_pair(Pair.of(cut(before, [70]), cut(after, [70])))
    assert str(found.value) == str(whole.value)


def test_trees_and_clusters_say_that_they_need_all_records() -> None:
    before, after = file(3, 80), file(4, 80)
    for model in ("tree", "modified logistic I"):
        with pytest.raises(NotApplicable, match="needs all records at once"):
            PropensityUtility(model).evaluate_pair(Pair.of(cut(before, [40]), cut(after, [40])))


def test_means_and_squares_merge_by_hand() -> None:
    # values 1, 3 of weight 1 and 6 of weight 2: mean 4, squares about it 9 + 1 + 2 x 4 = 18
    known = both_files.Range("x", (None, None), 1.0, 6.0, 1)
    schema = Schema((Variable("x", kind="numeric"), Variable("w", kind="numeric")), weight="w")
    parts = [
        Microdata(schema, {"x": np.array(x), "w": np.array(w)})
        for x, w in (([1.0, np.nan], [1.0, 2.0]), ([np.nan], [0.0]), ([3.0, 6.0], [1.0, 2.0]))
    ]
    found = Scaled.together([Scaled.of((known,), 0, 2.0, part) for part in parts]).times(2.0)  # heaviest: 2
    assert (found.weight, found.squares, found.present[0], found.absent[0]) == (6.0, 10.0, 4.0, 2.0)
    assert found.means[0] * known.size == pytest.approx(4.0, rel=1e-15)
    assert found.deviations[0] * known.size**2 == pytest.approx(18.0, rel=1e-14)
    assert found.between[0] == 1
