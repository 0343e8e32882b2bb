"""SUDA2 against brute force over all subsets, and its scores by hand."""

from math import factorial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato import SUDA2, NotApplicable, ParameterError, SampleUniques
from sfumato.risk.suda import dis, dis_suda, score_of
from special_uniques import brute_force
from tables import persons

Codes = np.ndarray[tuple[int, int], np.dtype[np.int32]]
tables = arrays(np.int32, st.tuples(st.integers(1, 14), st.integers(1, 5)), elements=st.integers(0, 3))


@settings(deadline=None, max_examples=40)
@given(tables)
def test_scores_and_contributions_are_sums_over_the_sets(codes: Codes) -> None:
    keys = codes.shape[1]
    table = pa.table({f"k{j}": [f"v{value}" for value in codes[:, j]] for j in range(keys)})
    found = SUDA2(variables=tuple(table.column_names), fraction=0.1).evaluate(table, table)
    sets = brute_force(codes, keys)
    assert found.parts["minimal sample uniques"] == len(sets)
    total = sum(factorial(keys - len(s)) for _, s in sets)
    for j in range(keys):
        with_key = sum(factorial(keys - len(s)) for _, s in sets if j in s)
        assert found.by_variable[f"k{j}"] == pytest.approx(with_key / total if total else 0.0)
    for row in found.tables["levels"]:
        j, value = int(row["variable"][1:]), int(row["level"][1:])
        with_level = sum(factorial(keys - len(s)) for i, s in sets if j in s and codes[i, j] == value)
        assert row["contribution"] == pytest.approx(with_level / total)
    for row in found.tables["riskiest records"]:
        mine = [s for i, s in sets if i == row["row"] - 1]
        assert row["score"] == sum(factorial(keys - len(s)) for s in mine)
        assert (row["minimal sample uniques"], row["smallest"]) == (len(mine), min(map(len, mine)))
    assert sum(row["minimal sample uniques"] for row in found.tables["sizes"]) == len(sets)


def test_scores_by_hand() -> None:
    # M = 5. sdcmicro, s = 2: 3 2 1 = 6; s = 5: empty product. handbook with sets of up to 3, s = 1: (5-1)(5-2)(5-3) =
    # 24, s = 3: 2. ihsn, s = 2: (2^3 - 1) 2! 3! / 5! = 0.7; s = 5: 0
    assert [score_of("sdcmicro", s, 5, 5) for s in (1, 2, 5)] == [24, 6, 1]
    assert [score_of("handbook", s, 5, 3) for s in (1, 3)] == [24, 2]
    # with sets of all five the handbook's are sdcmicro's: the one of all keys adds no factor
    assert [score_of("handbook", s, 5, 5) for s in (1, 2, 5)] == [24, 6, 1]
    assert [score_of("ihsn", s, 5, 5) for s in (2, 5)] == [pytest.approx(0.7), 0.0]


def test_in_a_census_the_value_is_the_share_of_uniques() -> None:
    data = persons()
    found = SUDA2(fraction=1).evaluate(data, data)
    assert found.value == pytest.approx(SampleUniques().evaluate(data, data).value)
    assert found.parts["DIS"] == 1.0
    few = SUDA2(2, fraction=1).evaluate(data, data)
    assert few.value < found.value and {row["size"] for row in few.tables["sizes"]} == {1, 2}


def test_dis_by_simulation() -> None:
    # Skinner and Elliot: the share of correct ones among unique matches of a person drawn from the population
    rng = np.random.default_rng(5)
    cell = rng.integers(0, 400, 2_000)
    fraction = 0.2
    right, matches, estimate = 0.0, 0.0, []
    for _ in range(300):
        taken = rng.random(len(cell)) < fraction
        sample, population = np.bincount(cell[taken], minlength=400), np.bincount(cell, minlength=400)
        unique = sample == 1
        right += unique.sum()
        matches += population[unique].sum()
        estimate.append(dis(int(unique.sum()), 2 * int((sample == 2).sum()), fraction))
    assert np.mean(estimate) == pytest.approx(right / matches, rel=0.03)


def test_dis_suda_keeps_the_order_of_the_scores() -> None:
    scores = np.array([0.0, 1.0, 5.0, 5.0, 24.0])
    spread = dis_suda(scores, uniques=4, file_risk=0.05, keys=5)
    assert spread[0] == 0.0 and spread[2] == spread[3]
    assert 0 < spread[1] < spread[2] < spread[4] < 1


def test_with_many_keys_a_higher_score_is_never_less_at_risk() -> None:
    spread = dis_suda(np.array([1.0, 5.0, 24.0]), uniques=3, file_risk=0.05, keys=40)
    assert spread[0] == spread[1] == spread[2] == pytest.approx(0.05)  # 1 / (1 + (3/0.05 - 3) / 3)
    table = pa.table({f"k{j}": ["x", "y", "y"] for j in range(62)})  # a set of keys in all 62 bits there are
    found = SUDA2(1, variables=tuple(table.column_names), fraction=0.1).evaluate(table, table)
    assert found.parts["minimal sample uniques"] == 62 and found.by_variable["k61"] == pytest.approx(1 / 62)
    assert any("rule of thumb does not hold" in note for note in found.notes)
    wider = table.append_column("more", pa.array(["x", "y", "y"]))
    with pytest.raises(NotApplicable, match="SUDA2: 63 keys are more than the 62 it takes"):
        SUDA2(1, variables=tuple(wider.column_names)).evaluate(wider, wider)


def test_no_pairs_leave_dis_without_evidence_and_it_says_so() -> None:
    table = pa.table({"a": ["x", "y", "z"]})
    found = SUDA2(variables=("a",), fraction=0.1).evaluate(table, table)
    assert found.value == 1.0 and any("no two records share their keys" in note for note in found.notes)


def test_too_many_sets_are_refused_with_a_way_out() -> None:
    table = pa.table({f"k{j}": ["x", "y"] for j in range(20)})
    with pytest.raises(NotApplicable, match=r"SUDA2: 20 keys have 1,048,575 sets of up to 20.*size=3"):
        SUDA2(variables=tuple(table.column_names)).evaluate(table, table)
    assert SUDA2(3, variables=tuple(table.column_names)).evaluate(table, table).value == 1.0
    with pytest.raises(ParameterError, match=r"SUDA2: fraction must be in \(0, 1\]; got 5 \(did you mean 0.05\?\)"):
        SUDA2(fraction=5)
    with pytest.raises(ParameterError, match="SUDA2: score must be one of 'sdcmicro', 'handbook', 'ihsn'"):
        SUDA2(score="argus")  # type: ignore[arg-type]
