"""What every method for categories and records, and every measure over keys, must do."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Measure, Method, Microdata, NotApplicable, SfumatoError, catalogue
from tables import persons

METHODS = [
    (name, cls)
    for name, cls in sorted(catalogue.methods().items())
    if {"ordinal", "nominal"} & {*cls.about.kinds} or not cls.about.keeps_records
]
MEASURES = [(name, cls) for name, cls in sorted(catalogue.measures().items()) if cls.about.keys]
every_method = pytest.mark.parametrize("cls", [cls for _, cls in METHODS], ids=[name for name, _ in METHODS])
every_measure = pytest.mark.parametrize("cls", [cls for _, cls in MEASURES], ids=[name for name, _ in MEASURES])


def example(cls: type[Method]) -> Method:
    return catalogue.default_grid(cls)[-1]


def values(data: Microdata) -> dict[str, list[Any]]:
    return {
        v.name: [None if np.isnan(x) else x for x in data.columns[v.name].tolist()]
        if v.kind == "numeric"
        else [None if code < 0 else v.categories[code] for code in data.columns[v.name].tolist()]
        for v in data.schema
    }


# methods


@every_method
def test_same_seed_same_table_and_input_untouched(cls: type[Method]) -> None:
    data = persons()
    before = values(data)
    first, second = (values(example(cls).protect(data, rng=5)) for _ in range(2))
    assert first == second
    assert values(data) == before
    assert first != before
    assert (values(example(cls).protect(data, rng=6)) == first) is not cls.about.random


@every_method
def test_frames_come_back_as_they_went_in(cls: type[Method]) -> None:
    polars = pytest.importorskip("polars")
    data = persons()
    table = data.to_arrow()
    assert isinstance(example(cls).protect(table, rng=3), pa.Table)
    for frame in (table.to_pandas(), polars.from_arrow(table)):
        assert type(example(cls).protect(frame, rng=3)) is type(frame)


@every_method
def test_what_was_missing_stays_missing_where_records_are_kept(cls: type[Method]) -> None:
    data = persons()
    rng = np.random.default_rng(8)
    holes = {
        name: np.where(rng.random(len(data)) < 0.1, np.nan if data.schema[name].kind == "numeric" else -1, column)
        for name, column in data.columns.items()
        if name in data.schema.analysed()
    }
    holed = data.replace({name: column.astype(data.columns[name].dtype) for name, column in holes.items()})
    masked = example(cls).protect(holed, rng=1)
    if not cls.about.keeps_records:
        assert not masked.matched or len(masked) != len(holed)
        return
    before, after = values(holed), values(masked)
    for name in masked.names:
        assert all(now is None for then, now in zip(before[name], after[name], strict=True) if then is None)


@every_method
def test_the_schema_tells_what_was_done_to_every_variable_that_changed(cls: type[Method]) -> None:
    data = persons()
    masked = example(cls).protect(data, rng=1)
    if not cls.about.keeps_records:
        return
    before, after = values(data), values(masked)
    for name in masked.names:
        assert (before[name] != after[name]) <= bool(masked.schema[name].treatment)


@every_method
def test_unknown_variables_are_refused_by_name(cls: type[Method]) -> None:
    with pytest.raises(NotApplicable, match=rf"{cls.__name__}: there is no variable 'regoin'"):
        replace(example(cls), variables=("regoin",)).protect(persons())


@every_method
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_small_tables_give_a_table_or_a_clear_error(cls: type[Method], rows: int) -> None:
    data = persons().take(np.arange(rows))
    try:
        masked = example(cls).protect(data, rng=1)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    assert len(masked) <= len(data) or not cls.about.keeps_records


@every_method
def test_an_all_missing_variable_gives_a_table_or_a_clear_error(cls: type[Method]) -> None:
    data = persons()
    empty = data.replace({"region": np.full(len(data), -1, dtype=np.int32)})
    try:
        masked = example(cls).protect(empty, rng=1)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    assert "region" not in masked.names or (masked.columns["region"] < 0).all()


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
def test_fewer_keys_are_never_riskier_for_a_copy(cls: type[Measure]) -> None:
    data = persons()
    few = cls(variables=("region", "sex")).evaluate(data, data, rng=0).value
    many = cls(variables=("region", "sex", "education", "age")).evaluate(data, data, rng=0).value
    assert few <= many + (0.05 if cls.about.random else 1e-12)


@every_measure
def test_permuting_both_tables_alike_changes_nothing(cls: type[Measure]) -> None:
    data = persons()
    order = np.random.default_rng(4).permutation(len(data))
    straight = cls().evaluate(data, data, rng=0)
    turned = cls().evaluate(data.take(order), data.take(order), rng=0)
    assert turned.value == pytest.approx(straight.value, rel=1e-9, abs=0.05 if cls.about.random else 1e-12)
    if straight.by_record is not None and turned.by_record is not None and not cls.about.random:
        np.testing.assert_allclose(turned.by_record, straight.by_record[order], rtol=1e-9, atol=1e-12)


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
@pytest.mark.parametrize("rows", [1, 2])
def test_tiny_tables_give_a_figure_or_a_clear_error(cls: type[Measure], rows: int) -> None:
    data = persons().take(np.arange(rows))
    try:
        found = cls().evaluate(data, data, rng=0)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    assert cls.about.range[0] <= found.value <= cls.about.range[1]


@every_measure
def test_missing_keys_are_measured_never_a_silent_nan(cls: type[Measure]) -> None:
    data = persons()
    holes = np.random.default_rng(3).random(len(data)) < 0.2
    holed = data.replace({"region": np.where(holes, -1, data.columns["region"]).astype(np.int32)})
    assert np.isfinite(cls().evaluate(data, holed, rng=0).value)
