"""NCP of each variable, and GCP of a file."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import (
    CertaintyPenalty,
    GlobalRecoding,
    Microdata,
    NotApplicable,
    ParameterError,
    Schema,
    Treatment,
    Variable,
)
from tables import persons

TOWNS = [f"town {i}" for i in range(8)]


def table(schema: Schema | None = None, **columns: Sequence[object]) -> Microdata:
    return Microdata.from_frame(pa.table(columns), schema)


def ncp(before: Microdata, after: Microdata) -> dict[str, float]:
    return dict(CertaintyPenalty().evaluate(before, after).by_variable)


def test_ghinitas_definitions_by_hand() -> None:
    # six records; age 20 to 70, range 50: class 20-29 holds 20, 25, 29 (width 9), class 40-70 holds 40, 60, 70 (30)
    # towns: a, b, c, d; a and b are north (2 of 4), c is itself (0), d is itself (0)
    before = table(age=[20.0, 25, 29, 40, 60, 70], town=["a", "a", "b", "b", "c", "d"])
    after = table(age=["young"] * 3 + ["old"] * 3, town=["north"] * 4 + ["c", "d"])
    found = CertaintyPenalty().evaluate(before, after)
    age, town = (3 * 9 / 50 + 3 * 30 / 50) / 6, 4 * 0.5 / 6
    assert found.by_variable == pytest.approx({"age": age, "town": town})
    # GCP = sum over the classes G of |G| NCP(G) / (d N): G are the records alike in both
    groups = [(3, 9 / 50 + 2 / 4), (1, 30 / 50 + 2 / 4), (1, 30 / 50 + 0), (1, 30 / 50 + 0)]
    assert found.value == pytest.approx(sum(size * penalty for size, penalty in groups) / (2 * 6))
    assert found.parts == pytest.approx({"largest of a variable": age, "values gone": 0})
    rows = {row["variable"]: row for row in found.tables["variables"]}
    assert (rows["age"]["classes"], rows["age"]["broadest"]) == (2, pytest.approx(0.6))
    assert (rows["town"]["classes"], rows["town"]["broadest"], rows["town"]["found_in"]) == (3, 0.5, "records")


def test_values_gone_and_variables_removed_cost_all() -> None:
    before = table(age=[20.0, 30, 40, None], town=["a", "b", "c", "d"])
    after = table(age=[20.0, None, 40, 50], town=[None, "b", None, "d"])
    assert ncp(before, after) == pytest.approx({"age": 1 / 3, "town": 2 / 4})  # a value that was missing is no loss
    gone = CertaintyPenalty().evaluate(before, before.without(["town"]))
    assert gone.by_variable == {"age": 0, "town": 1} and gone.value == 0.5
    assert "removed, so nothing is known of it: town" in gone.notes
    half = replace(after.take(np.array([0, 1])), matched=False)  # present: age 3/4 and 1/2, town 1 and 1/2
    assert ncp(before, half) == pytest.approx({"age": 1 - (1 / 2) / (3 / 4), "town": 1 / 2})


def test_ends_cut_off_and_rounding() -> None:
    x = [0.0, 10, 20, 30, 90, 100]
    top = table(x=[0.0, 10, 20, 30, 40, 40])
    assert ncp(table(x=x), top) == pytest.approx({"x": 2 * (100 - 90) / 100 / 6})
    stated = table(Schema((Variable("x", treatment=Treatment(top=40.0)),)), x=[0.0, 10, 20, 30, 40, 40])
    assert ncp(table(x=x), stated) == pytest.approx({"x": 2 * 10 / 100 / 6})
    fine = [0.0, 4, 13, 17, 96, 100]
    rounded = table(x=[0.0, 0, 10, 20, 100, 100])
    # to 10: 0 and 4, 13 alone, 17 alone, 96 and 100
    assert ncp(table(x=fine), rounded) == pytest.approx({"x": (4 * 4) / 100 / 6})


def test_stated_groups_serve_synthetic_records() -> None:
    before = table(town=TOWNS)
    groups = tuple((town, "north" if int(town[-1]) < 6 else town) for town in TOWNS)
    variable = Variable(
        "town", kind="nominal", categories=("north", "town 6", "town 7"), treatment=Treatment(groups=groups)
    )
    synthetic = replace(table(Schema((variable,)), town=["north", "town 6", "town 7", "north"]), matched=False)
    assert ncp(before, synthetic) == pytest.approx({"town": 2 * (6 / 8) / 4})
    untraced = replace(table(town=["N", "S"] * 4, sex=["f", "m"] * 4), matched=False)
    found = CertaintyPenalty().evaluate(table(town=TOWNS, sex=["f", "m"] * 4), untraced)
    assert list(found.by_variable) == ["sex"] and any(note.startswith("left out, town: ") for note in found.notes)
    with pytest.raises(NotApplicable, match="CertaintyPenalty: how broad the values of town are cannot be told"):
        CertaintyPenalty(variables=("town",)).evaluate(before, untraced)


def test_keys_are_the_default_and_importance_weighs() -> None:
    data = persons()
    recoded = GlobalRecoding(groups=4, rare=0.1).protect(data)
    plain = CertaintyPenalty().evaluate(data, recoded)
    keys = data.schema.analysed(role="key")
    assert tuple(plain.by_variable) == (keys or data.schema.analysed())
    first = next(iter(plain.by_variable))
    weighed = CertaintyPenalty(importance={first: 5}).evaluate(data, recoded)
    weights = [5 if name == first else 1 for name in plain.by_variable]
    assert weighed.value == pytest.approx(np.average(list(plain.by_variable.values()), weights=weights))
    assert sfumato.catalogue.parse(repr(weighed.measure)[1:-1]) == [CertaintyPenalty(importance={first: 5})]
    with pytest.raises(ParameterError, match="the importance of 'age' must be a number above 0"):
        CertaintyPenalty(importance={"age": -1})
    with pytest.raises(NotApplicable, match="importance names 'agee'"):
        CertaintyPenalty(importance={"agee": 2}).evaluate(data, recoded)


def test_false_values_cost_nothing_and_strange_ones_are_said() -> None:
    data = persons()
    assert CertaintyPenalty().evaluate(data, sfumato.PRAM(0.5).protect(data, rng=1)).value == 0
    before = table(x=[0.0, 10, 20, 30, 90, 100])
    schema = Schema((Variable("x", treatment=Treatment(top=40.0)),))
    odd = table(schema, x=[0.0, 10, 21, 30, 40, 40])
    found = CertaintyPenalty().evaluate(before, odd)
    assert any("taken as exact: x (1)" in note for note in found.notes)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_it_equals_a_loop_over_records_and_grows_with_merging(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 40))
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    codes = rng.integers(0, 8, n)
    groups = rng.integers(0, data.draw(st.integers(1, 4)), 8)
    coarser = groups // 2
    values = np.round(rng.normal(size=n), 1)
    before = table(town=[TOWNS[c] for c in codes], x=values.tolist())
    figures = []
    for level in (groups, coarser):
        labels = [f"group {level[c]}" for c in codes]
        bands = np.floor(values / (1 if level is groups else 2)) * 10 + 0.0  # no -0
        mapping = tuple((TOWNS[c], f"group {level[c]}") for c in np.unique(codes))
        town = Variable(
            "town", kind="nominal", categories=tuple(sorted(set(labels))), treatment=Treatment(groups=mapping)
        )
        inner = tuple(float(b) * (1 if level is groups else 2) / 10 for b in np.unique(bands)[1:])
        names = tuple(f"band {b:g}" for b in np.unique(bands))
        x = Variable("x", kind="ordinal", categories=names, treatment=Treatment(cuts=inner))
        after = table(Schema((town, x)), town=labels, x=[f"band {b:g}" for b in bands])
        found = ncp(before, after)
        # by the definition, record by record
        different, span = len(set(codes.tolist())), values.max() - values.min()
        of_town, of_x = [], []
        for i in range(n):
            members = len({c for c, label in zip(codes.tolist(), labels, strict=True) if label == labels[i]})
            of_town.append(members / different if members > 1 else 0)
            inside = values[bands == bands[i]]
            of_x.append((inside.max() - inside.min()) / span if span > 0 else 0)
        assert found["town"] == pytest.approx(np.mean(of_town))
        assert found["x"] == pytest.approx(np.mean(of_x))
        figures.append(found)
    for name in ("town", "x"):
        assert figures[1][name] >= figures[0][name] - 1e-12
