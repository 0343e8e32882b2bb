"""Distance linkage of all kinds of variables: Gower's distance."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from single_attacks import own_is_nearest_mixed

from sfumato import DistanceLinkage, Microdata, NotApplicable, ParameterError, Schema, Variable, catalogue
from sfumato.table.treatment import Treatment
from tables import incomes, numbers, persons

LEVELS = ("low", "middle", "high")


def table(**columns: list[object]) -> Microdata:
    known = [Variable("level", kind="ordinal", categories=LEVELS)] if "level" in columns else []
    return Microdata.from_frame(pa.table(columns), Schema(tuple(known)))


def gower(
    original: list[tuple[object, ...]], protected: list[tuple[object, ...]]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """All distances of (number, level, town) records, plainly."""
    present = [r[0] for r in (*original, *protected) if r[0] is not None]
    width = (max(present) - min(present)) if present else 0  # type: ignore[type-var, operator]

    def one(a: object, b: object, place: int) -> float:
        if a is None or b is None:
            return float(a is not b)
        if place == 0:
            return abs(a - b) / width if width else 0.0  # type: ignore[operator]
        if place == 1:
            return abs(LEVELS.index(a) - LEVELS.index(b)) / 2
        return float(a != b)

    return np.array(
        [[sum(one(x, y, j) for j, (x, y) in enumerate(zip(a, b, strict=True))) for b in protected] for a in original]
    )


def test_by_hand_numbers_places_categories_and_gaps() -> None:
    original = table(x=[0.0, 4.0, 10.0, None], level=["low", "low", "high", "high"], town=["a", "b", "b", None])
    protected = table(x=[2.0, 10.0, 4.0, None], level=["low", "middle", "high", "low"], town=["a", "b", "a", None])
    # numbers over the range 10, levels over 2 places:
    # 1: .2+0+0 = .2 (own), 1+.5+1 = 2.5, .4+1+0 = 1.4, 1+0+1 = 2               -> own nearest
    # 2: .2+0+1 = 1.2, .6+.5+0 = 1.1 (own), 0+1+1 = 2, 1+0+1 = 2                 -> own nearest
    # 3: .8+1+1 = 2.8, 0+.5+0 = .5, .6+0+1 = 1.6 (own), 1+1+1 = 3                -> second nearest
    # 4: 1+1+1 = 3, 1+.5+1 = 2.5, 1+0+1 = 2, 0+1+0 = 1 (own)                     -> own nearest
    found = DistanceLinkage(known=(("x", "level", "town"),), distance="gower").evaluate(original, protected)
    assert found.by_record is not None and found.by_record.tolist() == [1, 1, 0, 1]
    assert found.parts["linked to the second nearest"] == 0.25
    assert found.value == 0.75


record = st.tuples(
    st.one_of(st.none(), st.integers(0, 4).map(float)),
    st.one_of(st.none(), st.sampled_from(LEVELS)),
    st.one_of(st.none(), st.sampled_from("abc")),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(record, record), min_size=1, max_size=12))
def test_by_reference_all_distances(pairs: list[tuple[tuple[object, ...], tuple[object, ...]]]) -> None:
    before, after = [list(side) for side in zip(*pairs, strict=True)]
    schema = Schema(
        (
            Variable("x"),
            Variable("level", kind="ordinal", categories=LEVELS),
            Variable("town", kind="nominal", categories=("a", "b", "c")),
        )
    )
    types = {"x": pa.float64(), "level": pa.string(), "town": pa.string()}
    tables = [
        Microdata.from_frame(
            pa.table({n: pa.array([r[j] for r in rows], t) for j, (n, t) in enumerate(types.items())}), schema
        )
        for rows in (before, after)
    ]
    stated = replace(
        tables[1], schema=tables[1].schema.replace(*(v.treated(Treatment(perturbed=True)) for v in schema))
    )
    found = DistanceLinkage(known=(("x", "level", "town"),), distance="gower").evaluate(tables[0], stated)
    apart = gower(before, after)
    own = np.diag(apart)[:, None]
    nearer, tied = (apart < own - 1e-9).sum(axis=1), (np.abs(apart - own) <= 1e-9).sum(axis=1)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, np.where(nearer == 0, 1 / tied, 0))


def test_large_tables_take_the_tree_and_agree_with_all_distances() -> None:
    rng = np.random.default_rng(1)
    n = 5_500
    here = np.column_stack([rng.random((n, 2)), rng.integers(0, 5, n) / 4, rng.integers(0, 8, (n, 3)) * 2.0])
    there = here + np.column_stack([rng.normal(scale=0.05, size=(n, 2)), np.zeros((n, 4))])
    there[:, 5] = rng.permutation(there[:, 5])
    for share in (True, False):
        first, second = own_is_nearest_mixed(here, there, share=share)
        rows = rng.choice(n, 200, replace=False)
        apart = np.minimum(np.abs(here[rows, None] - there[None]), 1).sum(axis=2)
        own = apart[np.arange(200), rows][:, None]
        nearer, tied = (apart < own - 1e-9).sum(axis=1), (np.abs(apart - own) <= 1e-9).sum(axis=1)
        part = 1 / tied if share else np.ones(200)
        np.testing.assert_allclose(first[rows], np.where(nearer == 0, part, 0))
        np.testing.assert_allclose(
            second[rows], np.where((nearer == 1) | ((nearer == 0) & (tied > 1) & share), part, 0)
        )


def test_keys_of_all_kinds_are_known_one_after_the_other() -> None:
    data = persons()
    found = DistanceLinkage(distance="gower").evaluate(data, data)
    sets = [name for name in found.parts if name.startswith("knows")]
    assert sets[-1] == "knows region, sex, education, age"
    assert found.parts[sets[-1]] > found.parts[sets[0]]
    assert DistanceLinkage().evaluate(data, data).parts.keys() == {"knows age", "linked to the second nearest"}


def test_one_numeric_variable_gives_the_same_links_by_both_distances() -> None:
    # by one variable the nearest is the nearest however it is scaled, where both tables are scaled alike
    data = incomes()
    noisy = data.replace({"tax": data.columns["tax"] + np.random.default_rng(0).normal(size=200)})
    euclidean = DistanceLinkage(known=("tax",), standardise="original").evaluate(data, noisy)
    assert DistanceLinkage(known=("tax",), distance="gower").evaluate(data, noisy).value == euclidean.value


def test_what_is_known_is_recoded_as_the_protected_table_was() -> None:
    original = table(town=["Aix", "Bonn", "Cork", "Dax"])
    merged = table(town=["south", "north", "north", "south"])
    found = DistanceLinkage(distance="gower").evaluate(original, merged)
    assert found.value == 0.5  # two of each: a guess among two
    ages = numbers(age=[21.0, 35.0, 38.0, 64.0])
    banded = table(age=["20-29", "30-39", "30-39", "60-69"])
    assert DistanceLinkage(distance="gower").evaluate(ages, banded).value == 0.75
    strangers = table(age=["odd", "even", "odd", "even"])
    with pytest.raises(NotApplicable, match="DistanceLinkage: the protected table has no comparable age"):
        DistanceLinkage(distance="gower").evaluate(ages, strangers)


def test_parameters_are_checked_and_read_back() -> None:
    with pytest.raises(ParameterError, match="DistanceLinkage: standardise is for the Euclidean distance"):
        DistanceLinkage(distance="gower", standardise="original")
    with pytest.raises(ParameterError, match="DistanceLinkage: distance must be one of 'euclidean', 'gower'"):
        DistanceLinkage(distance="manhattan")  # type: ignore[arg-type]
    measure = DistanceLinkage(distance="gower", known=3)
    assert catalogue.parse(repr(measure)) == [measure]
    assert measure.about.kinds == ("numeric", "ordinal", "nominal", "date")
    assert DistanceLinkage().about.kinds == ("numeric",)
