"""The attack of an intruder who knows the method, beside attacks in plain numpy and cases counted by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from single_attacks import fewest_changed

from sfumato import (
    MDAV,
    IndividualRanking,
    LocalSuppression,
    Method,
    Microdata,
    Noise,
    RankSwapping,
    Reidentification,
    Resampling,
    Scenario,
    Schema,
    Variable,
)
from sfumato.table.schema_file import write_schema
from sfumato.table.treatment import BY_RANK, PERTURBED, Treatment
from tables import numbers

Floats = NDArray[np.float64]
BEST = "best attack: by who knows the method"


def found(original: Microdata, protected: Microdata, *keys: str) -> Floats:
    """The chance of each record, who must be found best by who knows the method."""
    measured = Reidentification(variables=keys).evaluate(original, protected)
    assert BEST in " ".join(measured.notes)
    assert measured.by_record is not None
    return measured.by_record


def without_method(original: Microdata, protected: Microdata, *keys: str) -> float:
    """The figure where nothing is known of the method, but that values need not be true."""
    bare = (replace(v, treatment=PERTURBED) if v.treatment else v for v in protected.schema)
    elsewhere = replace(protected, schema=protected.schema.replace(*bare))
    return float(Reidentification(variables=keys).evaluate(original, elsewhere).value)


def test_by_hand_who_knows_of_swapping_looks_in_windows() -> None:
    original = numbers(a=[1.0, 2.0, 3.0, 4.0], b=[1.0, 2.0, 3.0, 4.0])
    swapped = {"a": np.array([2.0, 1.0, 4.0, 3.0]), "b": np.array([1.0, 3.0, 2.0, 4.0])}
    # nearest: 1, 1 lies by 2, 1 (its own, at 1; 1, 3 is at 2); 2, 2 lies by 2, 1 of the first (1; its own at root 2);
    # 3, 3 by 3, 4 of the last (1; its own at root 2); 4, 4 by 3, 4, its own. Two of four are found.
    assert Reidentification(variables=("a", "b")).evaluate(original, original.replace(swapped)).value == 0.5
    # who knows that values moved by one rank at most: test_rank_attack counts the windows; all four are found
    protected = original.replace(swapped, treatment=BY_RANK)
    assert found(original, protected, "a", "b").tolist() == [1, 1, 1, 1]


def test_by_hand_a_town_that_is_true_narrows_the_windows() -> None:
    schema = Schema((Variable("town", "nominal", categories=("A", "B")), Variable("a", "numeric")))
    town = np.array([0, 0, 1, 1], dtype=np.int32)
    original = Microdata(schema, {"town": town, "a": np.array([1.0, 2.0, 3.0, 4.0])})
    protected = original.replace({"a": np.array([3.0, 1.0, 4.0, 2.0])}, treatment=BY_RANK)
    # moves are 2, 1, 1 and 2 ranks, so windows reach 2. 1: from 1 to 3, in town A both; 3 has moved farther: found.
    # 2: 1 to 4, in A both have moved by 1: 1/2. 3: 1 to 4, in B 4 and 2, both by 1: 1/2. 4: 2 to 4, in B 4 and 2: 2.
    assert found(original, protected, "town", "a").tolist() == [1, 0.5, 0.5, 1]


def test_by_hand_a_suppressed_town_agrees_with_both() -> None:
    schema = Schema((Variable("town", "nominal", categories=("A", "B")), Variable("a", "numeric")))
    original = Microdata(schema, {"town": np.array([0, 0, 1], dtype=np.int32), "a": np.array([1.0, 2.0, 3.0])})
    protected = original.replace({"a": np.array([2.0, 3.0, 1.0])}, treatment=BY_RANK).replace(
        {"town": np.array([0, -1, 1], dtype=np.int32)}, treatment=Treatment(suppressed=1)
    )
    # the largest move is 2 ranks, so all are in all windows. 1 of A: the first moved by 1, the second, whose town is
    # blank, by 2: taken, and wrong. 2 of A: the first has not moved, the second by 1: right. 3 of B: the second has not
    # moved, the third by 2: right.
    assert found(original, protected, "town", "a").tolist() == [0, 1, 1]


def test_by_hand_groups_of_several_variables_are_intersected() -> None:
    original = numbers(a=[1.0, 2.0, 3.0, 4.0], b=[1.0, 3.0, 2.0, 4.0])
    protected = IndividualRanking(2).protect(original)
    # a: 1, 2 | 3, 4; b: 1, 2 | 3, 4, that is records 1, 3 | 2, 4. Each record is alone in its two groups.
    assert Reidentification(variables=("a", "b")).evaluate(original, protected).value == 1
    # one variable alone: one of two
    assert Reidentification(variables=("a",)).evaluate(original, protected).value == 0.5


def test_by_hand_a_value_at_the_edge_of_its_group_lies_nearer_to_another() -> None:
    original = numbers(a=[0.0, 0.0, 6.0, 7.0, 8.0, 8.0])
    protected = IndividualRanking(3).protect(original)
    # means 2 and 23/3: the 6 of the first group is nearer to the second, so the nearest mean is wrong for it, and
    # right for five, one of three each
    assert without_method(original, protected, "a") == pytest.approx(5 / 18)
    # ranks tell the group of each: one of three
    np.testing.assert_allclose(found(original, protected, "a"), 1 / 3)


def test_by_hand_groups_over_two_variables_are_formed_again_if_both_are_known() -> None:
    original = numbers(a=[0.0, 0.0, 4.0, 9.0, 9.0, 9.0], b=[0.0] * 6)
    done = Treatment(perturbed=True, averaged=("a", "b"))
    protected = original.replace({"a": np.array([0.0, 0.0, 31 / 4, 31 / 4, 31 / 4, 31 / 4])}, treatment=done)
    # 4 is nearer to 31/4 than to 0: all are in the nearest group; 2 of 1/2 and 4 of 1/4 are 2 of 6
    assert Reidentification(variables=("a", "b")).evaluate(original, protected).value == pytest.approx(1 / 3)
    odd = original.replace({"a": np.array([0.0, 0.0, 9.0, 9.0, 9.0, 9.0])}, treatment=done)
    # 4 is nearer to 0 than to 9 now: nearest finds 2 of 1/2 and 3 of 1/4; who forms the groups anew one more 1/4.
    # b did not change, so its treatment is not recorded, and it is a key that all agree in.
    assert without_method(original, odd, "a", "b") == pytest.approx(1.75 / 6)
    assert found(original, original_of_blocks(original, odd), "a", "b").sum() == pytest.approx(2.0)


def original_of_blocks(original: Microdata, protected: Microdata) -> Microdata:
    """The protected table with a block of the one variable that changed."""
    return original.replace({"a": protected.columns["a"]}, treatment=Treatment(perturbed=True, averaged=("a",)))


def in_plain_numpy(original: Microdata, protected: Microdata, names: tuple[str, ...]) -> Floats:
    """Look for everybody in the windows that hold for the largest move of each variable; the farthest is taken."""
    n = len(original)
    inside, moved = np.ones((n, n), dtype=bool), np.zeros((n, n))
    for name in names:
        before, after = (table.columns[name].argsort().argsort() for table in (original, protected))
        apart = np.abs(before[:, None] - after[None, :])
        widest = int(np.abs(before - after).max())
        inside &= apart <= widest
        moved += np.round(2**20 / (widest + 1)) * apart
    moved = np.where(inside, moved, -1)
    best = moved.max(axis=1)
    chance: Floats = (np.diag(moved) == best) / (moved == best[:, None]).sum(axis=1)
    return chance


@pytest.mark.parametrize("method", [RankSwapping(0.05), RankSwapping(0.2), Resampling(1), Resampling(5)])
def test_the_windows_are_those_of_plain_numpy(method: Method) -> None:
    rng = np.random.default_rng(4)
    original = numbers(a=rng.normal(size=300), b=rng.normal(size=300), c=rng.normal(size=300))
    protected = method.protect(original, rng=2)
    keys = ("a", "b", "c")
    if isinstance(method, Resampling):  # bootstrap values tie; the order within ties is not the file's
        assert found(original, protected, *keys).mean() > without_method(original, protected, *keys)
    else:
        np.testing.assert_allclose(found(original, protected, *keys), in_plain_numpy(original, protected, keys))


def test_one_attack_finds_several_times_what_the_nearest_finds() -> None:
    rng = np.random.default_rng(1)
    original = numbers(a=rng.normal(size=600), b=rng.normal(size=600), c=rng.normal(size=600))
    protected = RankSwapping(0.15).protect(original, rng=1)
    keys = ("a", "b", "c")
    assert found(original, protected, *keys).mean() > 3 * without_method(original, protected, *keys)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_groups_formed_again_are_never_larger_than_what_is_found(seed: int, k: int) -> None:
    """Of two variables grouped together, who knows both finds one over the records that show the same means."""
    rng = np.random.default_rng(seed)
    original = numbers(a=rng.normal(size=40), b=rng.normal(size=40))
    protected = MDAV(k).protect(original)
    shown = np.column_stack([protected.columns[name] for name in ("a", "b")])
    same = (shown[:, None, :] == shown[None, :, :]).all(axis=2).sum(axis=1)
    measured = Reidentification(variables=("a", "b")).evaluate(original, protected)
    assert measured.value == pytest.approx((1 / same).mean())


def test_who_does_not_know_who_took_part_looks_for_the_nearest_group() -> None:
    original = numbers(a=[0.0, 0.0, 6.0, 7.0, 8.0, 8.0], b=[0.0, 0.0, 6.0, 7.0, 8.0, 8.0])
    schema = original.schema.replace(*(Variable(name, "numeric", role="key") for name in ("a", "b")))
    stranger = Scenario("stranger", ("a",), knows_membership=False)
    for scenario, share in (
        (Scenario("colleague", ("a", "b")), 1 / 3),
        (stranger, 5 / 18),
        (Scenario("half", ("a",)), 5 / 18),
    ):
        data = Microdata(replace(schema, scenarios=(scenario,)), original.columns)
        protected = MDAV(3).protect(data)
        # groups 0, 0, 6 and 7, 8, 8 as above; a alone does not tell how they were formed
        assert Reidentification().evaluate(data, protected).value == pytest.approx(share)


def test_what_is_done_later_makes_it_forget() -> None:
    original = numbers(a=np.arange(30.0), b=np.arange(30.0) ** 2)
    grouped = MDAV(3).protect(original)
    assert grouped.schema["a"].treatment.averaged == ("a", "b")
    assert Noise(0.1).protect(grouped, rng=1).schema["a"].treatment.averaged == ()
    assert MDAV(3).protect(Noise(0.1).protect(original, rng=1)).schema["a"].treatment.averaged == ()
    assert LocalSuppression(3, variables=("a",)).protect(grouped).schema["a"].treatment.averaged == ("a", "b")
    swapped = RankSwapping(0.2).protect(original, rng=1)
    assert Noise(0.1).protect(swapped, rng=1).schema["a"].treatment.by_rank
    assert RankSwapping(0.4).protect(original, rng=1).schema["a"].treatment == Treatment(perturbed=True)


def test_no_file_tells_it(tmp_path: Path) -> None:
    protected = RankSwapping(0.2).protect(numbers(a=np.arange(30.0), b=np.arange(30.0)), rng=1)
    write_schema(protected, tmp_path / "schema.toml")
    text = (tmp_path / "schema.toml").read_text()
    assert "perturbed = true" in text
    assert "rank" not in text and "averaged" not in text
    assert "rank" not in repr(protected.schema["a"].treatment)


def test_by_hand_of_those_alike_in_true_keys_he_takes_who_changed_least() -> None:
    schema = Schema(tuple(Variable(n, "nominal", categories=("0", "1", "2")) for n in ("town", "job", "sex")))
    rows = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 2, 1]], dtype=np.int32)
    original = Microdata(schema, {name: rows[:, j].copy() for j, name in enumerate(schema.names)})
    jobs = np.array([1, 0, 0, 2], dtype=np.int32)
    protected = original.replace({"job": jobs}, treatment=PERTURBED)
    # alike: 0, 0, 0 is shown by the second, 0, 1, 0 by the first, 1, 1, 0 by nobody, 1, 2, 1 by its own: 1 of 4.
    # nearest in Gower's distance: the third differs by one from three others, of which one is its own: 1/3.
    # the town and the sex are true: the third is alone in them, though its job changed; the first two take each other
    measured = Reidentification(variables=("town", "job", "sex")).evaluate(original, protected)
    assert "best attack: fewest changed keys" in " ".join(measured.notes)
    assert measured.by_record is not None and measured.by_record.tolist() == [0, 0, 1, 1]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.2]))
def test_fewest_changed_keys_by_comparing_all_pairs(seed: int, many: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    before, after = (rng.integers(0, 3, (25, 5)).astype(np.int32) for _ in range(2))
    after = np.where(rng.random(after.shape) < 0.6, before, after).astype(np.int32)
    after[rng.random(after.shape) < gaps] = -1
    before[rng.random(before.shape) < gaps / 2] = -1
    changed = sorted(rng.choice(5, many, replace=False).tolist())
    same = (before[:, None] == after[None]) | (before[:, None] < 0) | (after[None] < 0)
    rest = [j for j in range(5) if j not in changed]
    score = np.where(same[:, :, rest].all(axis=2), same[:, :, changed].sum(axis=2), -1)
    best = score.max(axis=1)
    expected = np.where(np.diag(score) >= 0, (np.diag(score) == best) / (score == best[:, None]).sum(axis=1), 0.0)
    np.testing.assert_allclose(fewest_changed(before, after, changed), expected)
