"""Households found again: by hand, against every pairing of members tried, and beside the risk of single persons."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from single_attacks import alike

import sfumato
from sfumato import (
    IndividualRisk,
    KAnonymity,
    Microdata,
    NotApplicable,
    ParameterError,
    Reidentification,
    Scenario,
    Schema,
    Variable,
)
from sfumato.risk import household_attack
from sfumato.risk.attacks import agree
from sfumato.risk.household_attack import (
    Members,
    _paired_by_subsets,
    _paired_one_by_one,
    alike_households,
    nearest_households,
)


def table(town: Sequence[str | None], sex: Sequence[str | None], home: Sequence[float | None]) -> Microdata:
    schema = Schema(
        (
            Variable("town", "nominal", "key", categories=("A", "B")),
            Variable("sex", "nominal", "key", categories=("f", "m")),
        ),
        household="home",
    )
    return Microdata.from_frame(pa.table({"town": town, "sex": sex, "home": pa.array(home, pa.float64())}), schema)


# four homes in town A: two couples f + m, one of two women, one woman alone; and a man alone in B
HOMES = table(
    ["A", "A", "A", "A", "A", "A", "A", "B"],
    ["f", "m", "m", "f", "f", "f", "f", "m"],
    [1, 1, 2, 2, 3, 3, 4, None],
)


HOMES_OF = np.array([0, 0, 1, 1, 2, 2, 3, 4])


def _codes(before: Microdata, after: Microdata) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    both = [np.column_stack([side.columns[name] for name in ("town", "sex")]) for side in (before, after)]
    return both[0].astype(np.int32), both[1].astype(np.int32)


def test_by_hand() -> None:
    persons = Reidentification().evaluate(HOMES, HOMES)
    assert persons.by_record is not None
    assert persons.by_record.tolist() == [1 / 5, 1 / 2, 1 / 2, 1 / 5, 1 / 5, 1 / 5, 1 / 5, 1]
    couple, women = 1 - (1 - 1 / 5) * (1 - 1 / 2), 1 - (1 - 1 / 5) ** 2
    together = (4 * couple + 2 * women + 1 / 5 + 1) / 8
    assert persons.parts["records, with their household"] == pytest.approx(together)
    assert persons.parts["largest of a household"] == 1
    # known together: the couples are two alike, the women and those alone are the only ones of their kind
    found = Reidentification(unit="household").evaluate(HOMES, HOMES)
    assert found.value == pytest.approx((1 / 2 + 1 / 2 + 1 + 1 + 1) / 5)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1 / 2] * 4 + [1] * 4
    assert found.parts["expected re-identifications"] == pytest.approx(4)
    assert found.parts["largest chance of a household"] == found.parts["households above 0.1"] == 1
    assert found.tables["scenarios"][0]["attack"] == "all members alike"
    assert "all keys: violating k" not in found.parts


def test_a_missing_value_agrees_but_nobody_is_paired_twice() -> None:
    # the man of the second couple is blank: to a couple f + m and ? + f are alike, and to two women f + f and ? + f:
    # (1/2 + 1/2 + 1/2 + 1 + 1) / 5 = .7; who takes a household that shows all before one with a blank finds the first
    # couple, the women and who lives alone, and not the second couple: 4 / 5
    after = HOMES.replace({"sex": np.array([0, 1, -1, 0, 0, 0, 0, 1], dtype=np.int32)})
    alike_them = alike_households(*_codes(HOMES, after), HOMES_OF)
    assert alike_them.tolist() == [1 / 2, 1 / 2, 1 / 2, 1, 1]
    found = Reidentification(unit="household").evaluate(HOMES, after)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1, 1, 0, 0, 1, 1, 1, 1]
    # the woman of that couple is blank: m + ? cannot be two women, though each of them agrees with somebody there
    after = HOMES.replace({"sex": np.array([0, 1, 1, -1, 0, 0, 0, 1], dtype=np.int32)})
    found = Reidentification(unit="household").evaluate(HOMES, after)
    assert found.by_record is not None
    assert found.by_record.tolist() == [1 / 2, 1 / 2, 1 / 2, 1 / 2, 1, 1, 1, 1]


def test_households_whose_members_changed_are_found_by_the_nearest() -> None:
    # every man is published as a woman: no couple has its members in the file, but three homes of two are as near to a
    # couple as can be, and who lives alone is the nearest of two: 1/3 + 1/3 + 1/3 + 1 + 1
    after = HOMES.replace({"sex": np.zeros(8, dtype=np.int32)})
    found = Reidentification(unit="household").evaluate(HOMES, after)
    assert found.tables["scenarios"][0]["attack"] == "nearest household, all members"
    assert found.parts["expected re-identifications"] == pytest.approx(3)


def test_it_needs_the_same_households_in_both_tables() -> None:
    by_household = Reidentification(unit="household")
    alone = replace(HOMES, schema=replace(HOMES.schema, household=None))
    with pytest.raises(NotApplicable, match="the original table does not tell"):
        by_household.evaluate(alone, alone)
    others = HOMES.replace({"home": np.array([1.0, 2, 2, 1, 3, 3, 4, 5])})
    with pytest.raises(NotApplicable, match="are not those of the original"):
        by_household.evaluate(HOMES, others)
    renumbered = HOMES.replace({"home": np.array([9.0, 9, 4, 4, 1, 1, 7, 8])})
    assert by_household.evaluate(HOMES, renumbered).value == by_household.evaluate(HOMES, HOMES).value
    with pytest.raises(ParameterError, match="unit must be one of"):
        Reidentification(unit="family")  # type: ignore[arg-type]


def test_a_file_without_the_household_is_judged_with_the_original_s() -> None:
    gone = HOMES.without(["home"])
    for measure in (
        Reidentification(),
        IndividualRisk(),
        KAnonymity(unit="household"),
    ):
        there, left = measure.evaluate(HOMES, HOMES), measure.evaluate(HOMES, gone)
        assert left.value == there.value and left.parts == there.parts
        assert any("the original's household 'home' is used" in note for note in left.notes)
        assert not any("household 'home'" in note for note in there.notes)
    assert "records, with their household" not in IndividualRisk().evaluate(HOMES, replace(gone, matched=False)).parts
    with pytest.raises(NotApplicable, match="KAnonymity: neither table tells who lives together"):
        KAnonymity(unit="household").evaluate(gone, gone)


def test_the_original_s_household_finds_its_records_by_id() -> None:
    schema = replace(HOMES.schema, variables=(*HOMES.schema.variables, Variable("id")), id="id")
    data = replace(HOMES, schema=schema, columns={**HOMES.columns, "id": np.arange(8.0)})
    turned = data.without(["home"]).take(np.array([5, 0, 7, 3, 1, 6, 2, 4]))
    for measure in (IndividualRisk(), KAnonymity(unit="household")):
        straight, found = measure.evaluate(data, data), measure.evaluate(data, turned)
        assert found.parts == pytest.approx(dict(straight.parts))
        assert straight.by_record is not None and found.by_record is not None
        assert found.by_record.tolist() == straight.by_record[[5, 0, 7, 3, 1, 6, 2, 4]].tolist()


def test_k_anonymity_of_households_by_hand() -> None:
    # two couples f + m are alike; two women, a woman alone and a man alone are each the only ones of their kind
    found = KAnonymity(2, unit="household").evaluate(HOMES, HOMES)
    assert found.value == 3 / 5
    assert found.by_record is not None and found.by_record.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found.parts["violating 3"] == 1 and found.parts["smallest class"] == 1
    assert found.parts["households of 1"] == 1 and found.parts["households of 2"] == pytest.approx(1 / 3)
    assert KAnonymity(2).evaluate(HOMES, HOMES).value == 1 / 8  # of records only the man in B is alone
    assert KAnonymity(unit="household") != KAnonymity() and repr(KAnonymity(unit="household")).endswith("'household')")


def test_without_its_number_a_household_is_as_sure_as_what_its_members_share() -> None:
    """Two towns are all that is shared: seven records in A, one in B."""
    found = Reidentification(unit="household").evaluate(HOMES, HOMES.without(["home"]))
    # among the seven of A there are 5 women and 2 men: a couple is found as one of 5 and one of 2, and B has no woman.
    # of the own couple's members 1 of 5 and 1 of 2 are found: (1/5 + 1/2) / 2 = .35. two women: 2 of the 5 are theirs,
    # 2/5. a woman alone: 1/5. the man alone is the only one of B
    by_groups = [0.35, 0.35, 0.4, 0.2, 1]
    group = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    assert Members.of(*_codes(HOMES, HOMES)).in_groups(HOMES_OF, group).tolist() == pytest.approx(by_groups)
    # the man of B is a group of one, as he is a household of one; nobody else is a whole group
    assert alike_households(*_codes(HOMES, HOMES), HOMES_OF, group).tolist() == [0, 0, 0, 0, 1]
    # one member alone finds less: a woman of A 1/5, a man 1/2, he of B for sure: .35, .35, 1/5, 1/5, 1
    assert found.value == pytest.approx(sum(by_groups) / 5)
    assert found.parts["if the file told who lives together"] == pytest.approx((1 / 2 + 1 / 2 + 3) / 5)
    assert any("put together by town, which makes the households of 0.0%" in note for note in found.notes)
    named = replace(HOMES.schema, variables=(*HOMES.schema.variables[:2], Variable("home", role="identifier")))
    left_out = Reidentification(unit="household").evaluate(HOMES, replace(HOMES, schema=named))
    assert left_out.value == found.value  # what names the units does not go out


def test_a_column_that_parts_households_makes_them_found_by_all_members() -> None:
    rent = np.array([700.0, 700, 500, 500, 600, 600, 500, 400])
    table = HOMES.to_arrow().append_column("rent", pa.array(rent))
    data = Microdata.from_frame(table, HOMES.schema)
    found = Reidentification(unit="household").evaluate(data, data.without(["home"]))
    # rent and town part all but the second couple from the woman alone, who pay 500 in A: m + f + f. groups: f + m
    # (700), f + f (600), m + f + f, m in B. a couple is in two of these: the first is found with 1/2; of the second the
    # man is the only one, the woman one of two: (1 + 1/2) / 2 / 2. two women are in f + f and m + f + f: 1/2.
    # a woman alone in three, one of two there: 1/6; the man alone is the only one of B
    group = np.array([0, 0, 1, 1, 2, 2, 1, 3])
    expected = [1 / 2, 3 / 8, 1 / 2, 1 / 6, 1]
    assert Members.of(*_codes(data, data)).in_groups(HOMES_OF, group).tolist() == pytest.approx(expected)
    # taking groups for households: the first couple, the two women and the man are the only ones of their kind
    assert alike_households(*_codes(data, data), HOMES_OF, group).tolist() == [1, 0, 1, 0, 1]
    assert found.value == pytest.approx(3 / 5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_the_nearest_household_is_that_of_all_pairings(seed: int, homes: int, grouped: bool) -> None:
    """Against every order of the members of every household, or group of its size."""
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(homes), rng.integers(1, 5, homes))).astype(np.int64)
    here, there = (rng.integers(0, 4, (len(unit), 2)) / 4.0 for _ in range(2))
    there = np.where(rng.random(here.shape) < 0.6, here, there)
    group = rng.integers(0, max(homes // 2, 1), homes)[unit] if grouped else unit
    group = np.unique(group, return_inverse=True)[1]

    def apart(one: NDArray[np.intp], other: NDArray[np.intp]) -> float:
        ways = (np.minimum(np.abs(here[one] - there[list(order)]), 1).sum() for order in permutations(other))
        return float(min(ways))

    shown = [np.flatnonzero(group == number) for number in range(group.max() + 1)]
    expected = []
    for number in range(homes):
        mine = np.flatnonzero(unit == number)
        own = next((found for found in shown if set(found) == set(mine)), None)
        if own is None:
            expected.append(0.0)
            continue
        reach = [apart(mine, found) for found in shown if len(found) == len(mine)]
        first = apart(mine, own) <= min(reach) + 1e-9
        expected.append(1 / sum(one <= min(reach) + 1e-9 for one in reach) if first else 0.0)
    found = nearest_households(here, there, unit, group if grouped else None)
    assert found.tolist() == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_households_in_groups_are_those_counted_one_by_one(seed: int, homes: int, groups: int) -> None:
    """Without gaps: a group holds a family if it has as many records of each kind as the family has."""
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(homes), rng.integers(1, 4, homes))).astype(np.int64)
    before = rng.integers(0, 2, (len(unit), 2)).astype(np.int32)
    after = np.where(rng.random(before.shape) < 0.1, rng.integers(0, 2, before.shape), before).astype(np.int32)
    group = np.unique(rng.integers(0, groups, homes)[unit], return_inverse=True)[1]
    expected = []
    for number in range(homes):
        mine = np.flatnonzero(unit == number)
        kinds = [tuple(before[record]) for record in mine]
        holding, own = 0, False
        for place in range(group.max() + 1):
            there = [tuple(row) for row in after[group == place]]
            holds = all(there.count(kind) >= kinds.count(kind) for kind in kinds)
            holding, own = holding + holds, own or (holds and place == group[mine[0]])
        shares = []
        for kind in kinds:
            like = (after == kind).all(axis=1) & (group == group[mine[0]])
            shares.append((like & (unit == number)).sum() / max(like.sum(), 1))
        expected.append(float(np.mean(shares)) / holding if own else 0.0)
    assert Members.of(before, after).in_groups(unit, group).tolist() == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from((0.0, 0.3)))
def test_what_is_too_large_to_lay_side_by_side_is_found_alike(seed: int, homes: int, blank: float) -> None:
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(homes), rng.integers(1, 5, homes))).astype(np.int64)
    before = rng.integers(0, 3, (len(unit), 2)).astype(np.int32)
    after = np.where(rng.random(before.shape) < blank, -1, before).astype(np.int32)
    group = np.unique(rng.integers(0, 3, homes)[unit], return_inverse=True)[1]

    def found() -> list[list[float]]:
        several = alike_households(before, after, unit), alike_households(before, after, unit, group)
        return [one.tolist() for one in (*several, Members.of(before, after).in_groups(unit, group))]

    side_by_side = found()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sfumato.risk.household_attack.CELLS", 0)
        assert found() == [pytest.approx(one) for one in side_by_side]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.sampled_from((0.0, 0.2)))
def test_k_anonymity_of_households_is_that_of_all_pairings(seed: int, homes: int, blank: float) -> None:
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(homes), rng.integers(1, 4, homes))).astype(np.int64)
    codes = rng.integers(0, 2, (len(unit), 2)).astype(np.int32)
    codes = np.where(rng.random(codes.shape) < blank, -1, codes).astype(np.int32)
    town, sex = (
        [None if code < 0 else letters[code] for code in column.tolist()]
        for column, letters in zip(codes.T, ("AB", "fm"), strict=True)
    )
    data = table(town, sex, unit.tolist())
    alike = np.rint(1 / np.array(_brute(codes, codes, unit)))
    for k in (2, 3):
        found = KAnonymity(k, unit="household").evaluate(data, data)
        assert found.value == pytest.approx((alike < k).mean())
        assert found.by_record is not None and found.by_record.tolist() == (alike < k)[unit].tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 10))
def test_one_member_found_finds_all_as_in_an_attack_that_is_tried(seed: int, homes: int) -> None:
    """The risk of a household is the share of all ways to guess in which at least one member is hit."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(homes), rng.integers(1, 3, homes))
    codes = rng.integers(0, 2, (len(unit), 2)).astype(np.int32)
    data = table([("A", "B")[c] for c in codes[:, 0]], [("f", "m")[c] for c in codes[:, 1]], unit.tolist())
    expected = []
    for home in range(homes):
        members = np.flatnonzero(unit == home)
        crowds = [np.flatnonzero((codes == codes[member]).all(axis=1)) for member in members]
        hits = [any(g == m for g, m in zip(guess, members, strict=True)) for guess in product(*crowds)]
        expected += [np.mean(hits)] * len(members)
    parts = Reidentification().evaluate(data, data.without(["home"])).parts
    assert parts["records, with their household"] == pytest.approx(np.mean(expected))
    assert parts["largest of a household"] == pytest.approx(np.max(expected))


def _brute(before: NDArray[np.int32], after: NDArray[np.int32], unit: NDArray[np.int64]) -> list[float]:
    """Compare every household with every other, in every order of the members."""
    homes = [np.flatnonzero(unit == number) for number in range(unit.max() + 1)]

    def same(one: NDArray[np.intp], other: NDArray[np.intp]) -> bool:
        if len(one) != len(other):
            return False
        return any(agree(before[one], after[list(order)]).all() for order in permutations(other))

    found = []
    for home in homes:
        number = sum(same(home, other) for other in homes)
        found.append(1 / number if same(home, home) else 0.0)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 3), st.sampled_from((0.0, 0.15, 0.4)))
def test_the_attack_is_that_of_all_pairings(seed: int, homes: int, keys: int, blank: float) -> None:
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(homes), rng.integers(1, 5, homes))).astype(np.int64)
    before = rng.integers(0, 2, (len(unit), keys)).astype(np.int32)
    after = np.where(rng.random(before.shape) < blank, -1, before).astype(np.int32)
    after = np.where(rng.random(before.shape) < 0.05, rng.integers(0, 2, before.shape), after).astype(np.int32)
    before = np.where(rng.random(before.shape) < blank / 4, -1, before).astype(np.int32)
    found = alike_households(before, after, unit)
    assert found.tolist() == pytest.approx(_brute(before, after, unit))
    # who knows all members finds the household at least as surely as who knows one, if its values are true
    single = alike(before, after)[0]
    for number, chance in enumerate(found):
        members = unit == number
        if agree(before[members], after[members]).all():
            assert chance >= single[members].max() - 1e-12


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_pairings_over_subsets_are_those_of_a_maximum_matching(seed: int, members: int) -> None:
    squares = np.random.default_rng(seed).random((30, members, members)) < 0.45
    assert _paired_by_subsets(squares).tolist() == _paired_one_by_one(squares).tolist()


def test_large_households_are_paired_too() -> None:
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(4), 12)
    before = rng.integers(0, 3, (48, 2)).astype(np.int32)
    before[12:24] = rng.permutation(before[:12])  # the second is the first in another order
    after = before.copy()
    after[0] = -1
    assert alike_households(before, after, unit).tolist() == [1 / 2, 1 / 2, 1, 1]


def test_three_alike_do_not_hide_families() -> None:
    survey = sfumato.household_survey(300)
    keys = ("region", "sex", "age")
    survey = replace(survey, schema=replace(survey.schema, scenarios=(Scenario("neighbour", keys),)))
    method = sfumato.GlobalRecoding(3, rare=0.1, variables=keys) + sfumato.LocalSuppression(3, variables=keys)
    made = method.protect(survey)
    persons = Reidentification().evaluate(survey, made)
    families = Reidentification(unit="household").evaluate(survey, made)
    assert persons.value < persons.parts["records, with their household"]
    assert families.value > 2 * persons.value
    away = Scenario("stranger", keys, knows_membership=False)
    stranger = replace(survey, schema=replace(survey.schema, scenarios=(away,)))
    assert Reidentification(unit="household").evaluate(stranger, made).value < families.value / 10


def test_households_of_more_than_eight_are_not_looked_for_by_distance() -> None:
    eight, nine = np.zeros(8, dtype=np.int64), np.zeros(9, dtype=np.int64)
    assert nearest_households(np.zeros((8, 1)), np.zeros((8, 1)), eight).tolist() == [1]
    assert nearest_households(np.zeros((9, 1)), np.zeros((9, 1)), nine).tolist() == [0]


def test_a_household_whose_members_are_in_two_groups_is_not_found() -> None:
    """Group 0 has two records like either member, of which one is a stranger's: who looks there finds one, not both."""
    keys, home = np.zeros((3, 1), dtype=np.int32), np.array([0, 0, 1])
    assert Members.of(keys, keys).in_groups(home, np.array([0, 1, 0])).tolist() == [0.0, 0.25]
    assert Members.of(keys, keys).in_groups(home, np.array([0, 0, 1]))[0] == 1.0


def test_how_many_households_are_compared_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    before, home = rng.integers(0, 3, (60, 2)).astype(np.int32), np.repeat(np.arange(20), 3)
    after = np.where(rng.random((60, 2)) < 0.2, -1, before).astype(np.int32)
    group, points = home // 2, before / 3.0
    moved = points + rng.normal(scale=0.1, size=points.shape)

    def figures() -> list[list[float]]:
        return [
            alike_households(before, after, home).tolist(),
            Members.of(before, after).in_groups(home, group).tolist(),
            nearest_households(points, moved, home).tolist(),
        ]

    expected = figures()
    assert all(0 < sum(one) < 20 for one in expected)
    monkeypatch.setattr(household_attack, "AT_ONCE", 3)
    monkeypatch.setattr(household_attack, "CELLS", 1)
    for one, other in zip(figures(), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_member_is_at_most_one_away_in_each_key() -> None:
    """The own record moved by five in one key, which counts as 1; the other one is .9 away in both, 1.8 in all."""
    here, there = np.array([[0.0, 0.0], [9.0, 9.0]]), np.array([[5.0, 0.0], [0.9, 0.9]])
    assert nearest_households(here, there, np.array([0, 1])).tolist() == [1.0, 0.5]  # two away from both, all in all
