"""What every method for categories and records, and every measure over keys, must do."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato import Measure, Microdata, NotApplicable, catalogue
from tables import persons

MEASURES = [(name, cls) for name, cls in sorted(catalogue.measures().items()) if cls.about.keys]
every_measure = pytest.mark.parametrize("cls", [cls for _, cls in MEASURES], ids=[name for name, _ in MEASURES])


# measures


def scrambled(data: Microdata, seed: int = 1) -> Microdata:
    """Every variable shuffled by itself: nobody in it exists."""
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed()})


@every_measure
def test_a_figure_in_its_range_with_one_value_per_record(cls: type[Measure]) -> None:
    data = persons()
    half = replace(data.take(np.random.default_rng(3).permutation(len(data))[: len(data) // 2]), matched=False)
    for protected in (data, scrambled(data), *(() if cls.about.paired else (half,))):
        found = cls().evaluate(data, protected, rng=0)
        assert cls.about.range[0] <= found.value <= cls.about.range[1]
        assert repr(found) and found._repr_html_()
        assert found.by_record is not None
        assert found.by_record.shape == (len(protected if cls.about.records == "protected" else data),)


@every_measure
def test_weights_matter_only_where_declared(cls: type[Measure]) -> None:
    data = persons()
    bare = Microdata.from_frame(data.without(["weight"]).to_arrow(), data.without(["weight"]).schema)
    if not cls.about.weights:
        assert cls().evaluate(bare, bare, rng=0).value == pytest.approx(cls().evaluate(data, data, rng=0).value)
    else:
        heavy = replace(data, columns={**data.columns, "weight": data.columns["weight"] * 10})
        assert cls().evaluate(heavy, heavy, rng=0).value < cls().evaluate(data, data, rng=0).value


@every_measure
def test_no_keys_unknown_keys_and_continuous_keys_are_refused(cls: type[Measure]) -> None:
    data = persons()
    plain = Microdata.from_frame(data.to_arrow())
    with pytest.raises(NotApplicable, match=rf"{cls.__name__}: no variable has the role key"):
        cls().evaluate(plain, plain)
    with pytest.raises(NotApplicable, match=rf"{cls.__name__}: there is no variable 'regoin'"):
        cls(variables=("regoin",)).evaluate(data, data)
    if cls.about.paired:  # it looks for the own record, which it can do by the distance of numbers
        return
    with pytest.raises(NotApplicable, match=rf"{cls.__name__}: key 'income' is continuous"):
        cls(variables=("region", "income")).evaluate(data, data)


@every_measure
def test_a_key_gone_from_the_protected_table_is_said(cls: type[Measure]) -> None:
    data = persons()
    found = cls().evaluate(data, data.without(["age"]), rng=0)
    assert any("age" in note for note in found.notes)


@every_measure
def test_missing_keys_are_measured_never_a_silent_nan(cls: type[Measure]) -> None:
    data = persons()
    holes = np.random.default_rng(3).random(len(data)) < 0.2
    holed = data.replace({"region": np.where(holes, -1, data.columns["region"]).astype(np.int32)})
    assert np.isfinite(cls().evaluate(data, holed, rng=0).value)
