"""The measures of generalisation: discernibility, average class size, non-uniform entropy, and ARX's loss."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy

from sfumato import (
    PRAM,
    AverageClassSize,
    CertaintyPenalty,
    Discernibility,
    LocalSuppression,
    Measure,
    Microdata,
    NonUniformEntropy,
    NotApplicable,
    ParameterError,
    Schema,
    Treatment,
    Variable,
)
from tables import persons

Cells = Sequence[Sequence[str | None]]
CLASSES: tuple[type[Measure], ...] = (Discernibility, AverageClassSize, NonUniformEntropy)


def table(schema: Schema | None = None, **columns: Sequence[object]) -> Microdata:
    return Microdata.from_frame(pa.table(columns), schema)


def merged(codes: Cells, level: Sequence[int]) -> Microdata:
    """Columns of texts such as "a3", each category merged as ``level`` says, with the groups in the schema."""
    variables, columns = [], {}
    for place, column in enumerate(codes):
        name = f"v{place}"
        known = {value: f"group {level[int(value[1:])]}" for value in column if value is not None}
        columns[name] = [None if value is None else known[value] for value in column]
        groups = tuple(sorted(known.items()))
        variables.append(
            Variable(
                name, kind="nominal", categories=tuple(sorted(set(known.values()))), treatment=Treatment(groups=groups)
            )
        )
    return table(Schema(tuple(variables)), **columns)


def loop_penalty(rows: Sequence[Sequence[object]]) -> int:
    """The discernibility metric by the definition, over all pairs of records."""
    total = 0
    for row in rows:
        if None in row:
            total += sum(all(a is None or b is None or a == b for a, b in zip(row, r, strict=True)) for r in rows)
        else:
            total += sum(tuple(row) == tuple(r) for r in rows)
    return total


# by hand


def test_discernibility_as_bayardo_and_agrawal_define_it() -> None:
    # classes of 3 and 2 and two records suppressed of seven: 9 + 4 + 2 x 7 = 27; the original's: all alone but two, 9
    before = table(age=[1, 2, 3, 4, 4, 5, 6], town=["a", "a", "a", "b", "b", "c", "d"])
    after = table(age=["1-3"] * 3 + ["4"] * 2 + [None] * 2, town=["a"] * 3 + ["b"] * 2 + [None] * 2)
    found = Discernibility().evaluate(before, after)
    assert found.parts == {"penalty": 27, "penalty of the original": 9, "classes": 3}
    assert found.value == pytest.approx((27 - 9) / (49 - 9))
    assert found.by_record is not None
    assert found.by_record * 7 == pytest.approx([3, 3, 3, 2, 2, 7, 7])
    assert [row["class_size"] for row in found.tables["largest classes"]] == [3, 2, 2]
    assert Discernibility().evaluate(before, before).value == 0
    one = table(age=["all"] * 7, town=["all"] * 7)
    assert Discernibility().evaluate(before, one).value == 1


def test_a_record_with_some_values_gone_pays_for_those_it_may_be() -> None:
    before = table(age=["1", "2", "2", "3"], town=["a", "a", "b", "b"])
    after = table(age=["1", None, "2", "3"], town=["a", "a", "b", "b"])
    # the second may be itself or the first; the first is (1, a) alone: 1 + 2 + 1 + 1
    assert Discernibility().evaluate(before, after).parts["penalty"] == 5


def test_class_size_as_lefevre_define_it() -> None:
    before = table(town=list("aabcde"))
    after = table(town=["A"] * 3 + ["B"] * 3)
    found = AverageClassSize(2).evaluate(before, after)
    assert found.value == (6 / 2) / 2
    assert found.parts == pytest.approx(
        {"classes": 2, "classes of the original": 5, "largest class": 3, "loss": (3 - 6 / 5) / (6 - 6 / 5)}
    )
    assert AverageClassSize().evaluate(before, after).value == 3
    assert AverageClassSize(3).about.range == (1 / 3, math.inf)
    finer = AverageClassSize().evaluate(before, table(town=list("abcdef")))  # tells more apart than the original
    assert finer.value == 6 / 5 and any("whose figure is given" in note for note in finer.notes)
    with pytest.raises(ParameterError, match="AverageClassSize"):
        AverageClassSize(0)


def test_non_uniform_entropy_by_hand() -> None:
    # town: a 4, b 2, c 1, d 1; b, c and d become north: b costs log2(4/2), c and d log2(4/1); a nothing
    before = table(town=list("aaaabbcd"))
    after = table(town=["a"] * 4 + ["north"] * 4)
    found = NonUniformEntropy().evaluate(before, after)
    bits, there = 2 * 1 + 2 * 2, 4 * 1 + 2 * 2 + 2 * 3
    assert found.parts["bits lost"] == pytest.approx(bits)
    assert found.value == pytest.approx(bits / there)
    # with the first b gone: log2(8/2) for it in place of log2(4/2)
    gone = table(town=["a"] * 4 + [None, "north", "north", "north"])
    assert NonUniformEntropy().evaluate(before, gone).value == pytest.approx((bits + 1) / there)
    assert NonUniformEntropy().evaluate(before, table(town=[None] * 7 + ["d"])).value == pytest.approx(
        (there - 3) / there
    )


def test_the_loss_of_arx_counts_the_others() -> None:
    before = table(town=list("abcd"), age=[20.0, 29.0, 30.0, 60.0])
    after = table(town=["n", "n", "n", "d"], age=["20-29", "20-29", "30-60", "30-60"])
    xu, iyengar = (
        CertaintyPenalty(categories=which).evaluate(before, after).by_variable for which in ("share", "others")
    )  # type: ignore[arg-type]
    assert xu["town"] == pytest.approx(3 * (3 / 4) / 4)
    assert iyengar["town"] == pytest.approx(3 * ((3 - 1) / (4 - 1)) / 4)
    assert xu["age"] == iyengar["age"]
    with pytest.raises(ParameterError, match="categories must be one of"):
        CertaintyPenalty(categories="all")  # type: ignore[arg-type]


# properties


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_they_equal_loops_over_records_stay_in_bounds_and_grow_with_merging(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 25))
    value = st.sampled_from([None, *(f"a{i}" for i in range(6))])
    codes = [data.draw(st.lists(value, min_size=n, max_size=n)) for _ in range(2)]
    before = table(Schema(tuple(Variable(f"v{p}", kind="nominal") for p in range(2))),
                   v0=pa.array(codes[0], pa.string()), v1=pa.array(codes[1], pa.string()))  # fmt: skip
    fine = data.draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    figures = []
    for level in (fine, [group // 2 for group in fine], [0] * 6):
        if any(all(cell is None for cell in column) for column in codes):
            return  # a column without any value has no categories to merge
        after = merged(codes, level)
        rows = list(zip(*([None if v is None else level[int(v[1:])] for v in column] for column in codes), strict=True))
        dm = Discernibility().evaluate(before, after)
        assert dm.parts["penalty"] == loop_penalty(rows)
        size = AverageClassSize(2).evaluate(before, after)
        assert size.value == pytest.approx(n / len(set(rows)) / 2)
        figures.append([dm.parts["penalty"], dm.value, size.value])
        shares = {}
        for place, column in enumerate(codes):
            there = [v for v in column if v is not None]
            often = Counter(there)
            inside = Counter(level[int(v[1:])] for v in there)
            lost = sum(-math.log2(often[v] / inside[level[int(v[1:])]]) for v in there)
            most = sum(-math.log2(often[v] / len(there)) for v in there)
            assert most == pytest.approx(len(there) * entropy(list(often.values()), base=2))
            if most > 0:
                shares[f"v{place}"] = lost / most
        if shares:
            found = NonUniformEntropy().evaluate(before, after)
            assert found.by_variable == pytest.approx(shares, abs=1e-12)
            assert 0 <= found.value <= 1
            figures[-1].append(found.value)
        else:
            with pytest.raises(NotApplicable, match="nothing to lose"):
                NonUniformEntropy().evaluate(before, after)
    for finer, coarser in pairwise(figures):
        assert all(b >= a - 1e-12 for a, b in zip(finer, coarser, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20), st.integers(0, 2**20))
def test_whole_records_suppressed_give_the_sum_of_squares_and_n_for_each(
    rows: list[tuple[int, int]], flags: int
) -> None:
    gone = [bool(flags >> i & 1) for i in range(len(rows))]
    columns = [[None if g else f"a{row[p]}" for g, row in zip(gone, rows, strict=True)] for p in range(2)]
    kinds = Schema(tuple(Variable(f"v{p}", kind="nominal") for p in range(2)))
    before = table(kinds, **{f"v{p}": [f"a{row[p]}" for row in rows] for p in range(2)})
    after = table(kinds, **{f"v{p}": pa.array(column, pa.string()) for p, column in enumerate(columns)})
    kept = Counter(row for g, row in zip(gone, rows, strict=True) if not g)
    expected = sum(size**2 for size in kept.values()) + sum(gone) * len(rows)
    assert Discernibility().evaluate(before, after).parts["penalty"] == expected


# tables of every kind


def test_the_keys_are_looked_at_and_a_key_removed_is_lost() -> None:
    data = persons()
    keys = data.schema.analysed(role="key")
    found = NonUniformEntropy().evaluate(data, data.without(["age"]))
    assert tuple(found.by_variable) == keys and found.by_variable["age"] == 1 and found.value == 1 / len(keys)
    for cls, most in product((Discernibility, AverageClassSize), (0, 1)):
        few = cls(variables=keys[: most + 1]).evaluate(data, data)
        named = cls().evaluate(data, data.without(keys[most + 1 :]))
        assert any(keys[-1] in note for note in named.notes)
        assert named.parts["classes"] == few.parts["classes"]


def test_samples_false_values_and_constants() -> None:
    data = persons()
    half = replace(data.take(np.arange(120)), matched=False)
    for cls in CLASSES:
        low, high = cls.about.range
        assert low <= cls().evaluate(data, half).value <= high
    assert NonUniformEntropy().evaluate(data, PRAM(0.5).protect(data, rng=1)).value == 0
    suppressed = LocalSuppression(3).protect(data)
    assert 0 < NonUniformEntropy().evaluate(data, suppressed).value < 1
    assert 0 < Discernibility().evaluate(data, suppressed).value < 1
    same = table(x=["a"] * 5)
    assert Discernibility().evaluate(same, same).value == 0
    assert "nothing to lose" in Discernibility().evaluate(same, same).notes[-1]
    with pytest.raises(NotApplicable, match="NonUniformEntropy: x is the same in all records"):
        NonUniformEntropy().evaluate(same, same)
    mixed = NonUniformEntropy().evaluate(table(x=["a"] * 4, y=list("aabb")), table(x=["a"] * 4, y=list("aabb")))
    assert list(mixed.by_variable) == ["y"] and "left out, for it is the same in all records" in mixed.notes[0]
