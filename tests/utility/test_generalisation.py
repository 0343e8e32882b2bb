"""The measures of generalisation: discernibility, average class size, entropy, precision, and ARX's loss."""

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
    GlobalRecoding,
    Hierarchy,
    LocalSuppression,
    Measure,
    Microdata,
    NonUniformEntropy,
    NotApplicable,
    ParameterError,
    Precision,
    Schema,
    Treatment,
    Variable,
)
from tables import persons

Cells = Sequence[Sequence[str | None]]
CLASSES: tuple[type[Measure], ...] = (Discernibility, AverageClassSize, NonUniformEntropy, Precision)


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
    )
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


# precision

TREE = Hierarchy.of({f"a{i}": [f"pair {i // 2}", f"half {i // 4}", "all"] for i in range(8)})


def towns(codes: Sequence[int], *gone: int) -> Microdata:
    values = [None if place in gone else f"a{code}" for place, code in enumerate(codes)]
    schema = Schema((Variable("town", kind="nominal", hierarchy=TREE),))
    return table(schema, town=pa.array(values, pa.string()))


def test_precision_as_sweeney_defines_it() -> None:
    # her table of one attribute: heights 3; levels 1, 1, 2, 0, and one value gone: 1 - (1 + 1 + 2 + 0 + 3) / (3 x 5)
    before = towns([0, 1, 2, 3, 4])
    after = table(town=["pair 0", "pair 0", "half 0", "a3", None])
    found = Precision().evaluate(before, after)
    assert found.value == pytest.approx(1 - (1 + 1 + 2 + 0 + 3) / (3 * 5))
    (row,) = found.tables["variables"]
    assert (row["height"], row["lowest_level"], row["highest_level"], row["gone"]) == (3, 0, 2, pytest.approx(0.2))
    assert Precision().evaluate(before, table(town=["all"] * 5)).value == 0
    strange = table(town=["pair 0", "pair 0", "Hull", "a3", None])
    with pytest.raises(NotApplicable, match=r"Precision: at which level .* no level of its hierarchy has 'Hull'"):
        Precision().evaluate(before, strange)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=12), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_precision_is_one_less_level_over_height_of_what_is_there(
    codes: list[int], lacking: set[int], suppressed: set[int]
) -> None:
    before = towns(codes, *lacking)
    there = [place for place in range(len(codes)) if place not in lacking]
    if not there:
        return
    gone = sum(place in suppressed for place in there)
    last = 1.0
    for level in range(4):
        names = [TREE.rows[code][level] for code in codes]
        values = [None if p in lacking | suppressed else name for p, name in enumerate(names)]
        after = table(Schema((Variable("town", kind="nominal"),)), town=pa.array(values, pa.string()))
        found = Precision().evaluate(before, after).value
        assert found == pytest.approx(1 - (gone * 3 + (len(there) - gone) * level) / (3 * len(there)), abs=1e-12)
        assert 0 <= found <= last + 1e-12
        last = found


def test_precision_of_numbers_and_of_variables_without_a_hierarchy() -> None:
    ages = Hierarchy.of([5, 10, 20])
    schema = Schema((Variable("age", hierarchy=ages), Variable("sex", kind="nominal")))
    before = table(schema, age=[20, 24, 31, 47], sex=["f", "m", "f", "m"])
    for level in range(4):
        variable, column = ages.at(before.schema["age"], before.columns["age"], level)
        after = before.recast({"age": (variable, column)}) if level else before
        assert Precision().evaluate(before, after).by_variable == pytest.approx({"age": 1 - level / 3, "sex": 1})
    recoded = GlobalRecoding(bins={"age": (30,)}).protect(before)
    found = Precision().evaluate(before, recoded)
    assert list(found.by_variable) == ["sex"] and "left out, age: no level of its hierarchy has" in found.notes[0]
    plain = table(age=[20, 24, 31, 47], sex=["f", "m", "f", "m"])
    found = Precision().evaluate(plain, GlobalRecoding(bins={"age": (30,)}).protect(plain))
    assert "its schema has no hierarchy" in found.notes[0]


def test_entropy_of_records_put_together_one_by_one_is_never_below_zero() -> None:
    # of four records of a two keep their value and two are "any" together with both of b: 2/4 each, a bit each of four
    before = Microdata.from_frame(pa.table({"x": ["a", "a", "a", "a", "b", "b"]}))
    after = Microdata.from_frame(pa.table({"x": ["a", "a", "any", "any", "any", "any"]}))
    local = replace(after.schema["x"], treatment=Treatment(local=True))
    found = NonUniformEntropy().evaluate(before, replace(after, schema=after.schema.replace(local)))
    assert found.parts["bits lost"] == pytest.approx(4.0)
    assert found.value == pytest.approx(4 / (4 * np.log2(6 / 4) + 2 * np.log2(6 / 2)))
