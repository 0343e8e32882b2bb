"""Records weighed for each person, against plain loops over persons and records; groups of means by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from single_attacks import fewest_changed

from sfumato.risk import told_by_others as module
from sfumato.risk.attacks import nearest_group, own_group
from sfumato.risk.told_by_others import SCALINGS, Term, _half, weighed

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


def by_terms(i: int, j: int, terms: list[Term], half: NDArray[np.int64]) -> float:
    """How likely record j is for person i: learnt from the half to which the record does not belong."""
    likely = 1.0
    for term in terms:
        alike = (half != half[j]) & (term.known == term.known[i])
        shown = term.published == term.published[j]
        likely *= ((alike & shown).sum() + shown.mean()) / (alike.sum() + 1)
    return likely


def by_loops(before: Codes, after: Codes, terms: list[Term], half: NDArray[np.int64]) -> Floats:
    """Weigh every record for every person, scale until each has one of the other, and let each take the likeliest."""
    n = len(before)
    weight = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            agree = all(a == b or -1 in (a, b) for a, b in zip(before[i], after[j], strict=True))
            looks = np.column_stack([after, *(term.published for term in terms)])
            same = np.flatnonzero((looks == looks[j]).all(axis=1))
            for one in same if agree else ():
                weight[i, j] += by_terms(i, int(one), terms, half) / len(same)
    of_person, of_row = np.ones(n), np.ones(n)
    for _ in range(SCALINGS):
        column = (weight * of_person[:, None]).sum(axis=0)
        of_row = np.array([1 / x if x > 0 else 0.0 for x in column])
        line = (weight * of_row).sum(axis=1)
        of_person = np.array([1 / x if x > 0 else 0.0 for x in line])
    likely = weight * of_row
    found, steps = np.zeros(n), np.zeros(n)
    for i in range(n):
        picked = [j for j in range(n) if likely[i, j] >= likely[i].max() * (1 - 1e-9) and weight[i, j] > 0]
        found[i] = (i in picked) / max(len(picked), 1)
        steps[i] = int(likely[i].max() / max(likely[i].sum(), 1e-300) * 20 * (1 + 1e-9))
    # pools of persons he is as sure of, the surer the more is found: adjacent pools that fall are put together
    pools = [[i for i in range(n) if steps[i] == step] for step in sorted(set(steps))]
    place = 0
    while place + 1 < len(pools):
        if np.mean(found[pools[place]]) > np.mean(found[pools[place + 1]]):
            pools[place : place + 2] = [pools[place] + pools[place + 1]]
            place = max(place - 1, 0)
        else:
            place += 1
    return np.array([next(np.mean(found[pool]) for pool in pools if i in pool) for i in range(n)])


@st.composite
def files(draw: st.DrawFn) -> tuple[Codes, Codes, list[Term]]:
    n = draw(st.integers(1, 9))

    def column(least: int, most: int) -> list[int]:
        return draw(st.lists(st.integers(least, most), min_size=n, max_size=n))

    keys = draw(st.integers(1, 2))
    before = np.array([column(0, 2) for _ in range(keys)], dtype=np.int32).T
    hidden = np.array([column(0, 3) for _ in range(keys)]).T == 0
    after = np.where(hidden, -1, before).astype(np.int32)
    terms = [Term(np.array(column(0, 2)), np.array(column(0, 1))) for _ in range(draw(st.integers(0, 2)))]
    return before, after, terms


@given(files())
def test_weighing_classes_is_weighing_every_record(drawn: tuple[Codes, Codes, list[Term]]) -> None:
    before, after, terms = drawn
    found = weighed(before, after, terms)
    assert found is not None
    half = _half(np.column_stack([before, after, *(codes for one in terms for codes in (one.known, one.published))]))
    assert found[1] == len(terms)
    np.testing.assert_allclose(found[0], by_loops(before, after, terms, half), atol=1e-9)


def test_what_is_learnt_of_a_term_by_hand() -> None:
    """Published 0 for half of six. Of the first half's two persons known as 0 one is published as 0, one as 1."""
    term = Term(np.array([0, 0, 1, 0, 1, 1]), np.array([0, 1, 1, 0, 0, 1]))
    half = np.array([0, 0, 0, 1, 1, 1])
    learnt = term.likelihoods(half)
    # of half 0 from half 1: known 0: one published 0; known 1: one 0 and one 1; and half a record of each besides
    np.testing.assert_allclose(learnt[0], [[1.5 / 2, 0.5 / 2], [1.5 / 3, 1.5 / 3]])
    np.testing.assert_allclose(learnt[1], [[1.5 / 3, 1.5 / 3], [0.5 / 2, 1.5 / 2]])


def test_a_record_that_taught_is_not_preferred_to_the_own_one() -> None:
    """Ages 0 to 79, and six columns within a few years of them: as much is found as by who learnt of other people."""
    levels, people = 20, 800
    said, true = [], []

    def survey(rng: np.random.Generator) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        age = rng.integers(0, 80, people)
        shown = [((age + rng.normal(0, 3 * (1 + j / 2), people)) // 4).clip(0, levels - 1) for j in range(6)]
        return age // 4, [column.astype(np.int64) for column in shown]

    for seed in range(4):
        rng = np.random.default_rng(seed)
        (taught, lessons), (known, columns) = survey(rng), survey(rng)
        likely = np.ones((levels, people))  # of each record, for a person of each level
        for lesson, column in zip(lessons, columns, strict=True):
            counts = np.full((levels, levels), 1 / levels)
            np.add.at(counts, (taught, lesson), 1)
            likely *= (counts / counts.sum(axis=1, keepdims=True))[:, column]
        picked = (likely / likely.sum(axis=0)).argmax(axis=1)  # persons of one level pick the same record
        true.append((known[picked] == np.arange(levels)).sum() / people)
        alone = np.zeros((people, 1), dtype=np.int32)
        found = weighed(alone, alone, [Term(known, column) for column in columns])
        assert found is not None and found[1] == 6
        said.append(found[0].mean())
    assert 0.6 * np.mean(true) < np.mean(said) < 1.5 * np.mean(true)  # where records taught it was a tenth


def test_terms_are_dropped_where_pairs_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    before = np.zeros((6, 1), dtype=np.int32)
    term = Term(np.arange(6) % 2, np.arange(6) % 3)
    monkeypatch.setattr(module, "MAX_PAIRS", 1)
    assert weighed(before, before) is not None  # one class of persons with one of records
    assert weighed(before, before, [term]) is None  # no term would be left
    monkeypatch.setattr(module, "MAX_PAIRS", 0)
    assert weighed(before, before) is None
    monkeypatch.setattr(module, "MAX_PAIRS", 12)  # up to four kinds of persons by three of records
    finer = Term(np.arange(6), np.arange(6))
    found = weighed(before, before, [term, finer])
    assert found is not None
    assert found[1] == 1


def test_halves_follow_from_what_a_record_is() -> None:
    codes = np.arange(4000).reshape(2000, 2)
    half = _half(codes)
    assert set(half.tolist()) == {0, 1}
    assert 900 < half.sum() < 1100  # 4.5 standard errors
    order = np.random.default_rng(1).permutation(2000)
    assert np.array_equal(_half(codes[order]), half[order])


def test_groups_of_means_by_hand() -> None:
    """Six records in groups of means 2, 2, 8, 8, 5, 5: who knows 3 of a person comes to the group of 2."""
    after = np.array([[2.0], [2.0], [8.0], [8.0], [5.0], [5.0]])
    own = own_group(after)
    assert own.protected[0] == own.protected[1] != own.protected[2]
    assert own.low.tolist() == own.protected.tolist() == own.high.tolist()
    assert own.reach == 0
    found = nearest_group(np.array([[3.0], [1.0], [6.0], [9.0], [7.0], [4.0]]), after)
    place = dict(zip([2, 8, 5], own.protected[[0, 2, 4]].tolist(), strict=True))
    assert found.protected.tolist() == own.protected.tolist()
    assert found.centre.tolist() == [place[2], place[2], place[5], place[8], place[8], place[5]]
    gap = nearest_group(np.array([[np.nan], [1.0], [6.0], [9.0], [7.0], [4.0]]), np.array([[np.nan], *after[1:]]))
    assert gap.centre[0] == gap.protected[0] != gap.centre[1]  # a missing value is near missing ones alone


@given(files(), st.sets(st.integers(0, 1), max_size=2))
def test_who_changed_least_is_looked_for_by_loops(drawn: tuple[Codes, Codes, list[Term]], perturbed: set[int]) -> None:
    """Of the records that agree in all true keys he takes those that agree in most of the others; ties share."""
    before, after, _ = drawn
    changed = sorted(one for one in perturbed if one < before.shape[1])
    rest = [one for one in range(before.shape[1]) if one not in changed]
    after[::2, changed] = (after[::2, changed] + 1) % 3

    def agreed(i: int, j: int) -> int | None:
        same = [a == b or -1 in (a, b) for a, b in zip(before[i], after[j], strict=True)]
        return sum(same[one] for one in changed) if all(same[one] for one in rest) else None

    expected = []
    for i in range(len(before)):
        found = [(agreed(i, j), j) for j in range(len(after)) if agreed(i, j) is not None]
        most = max((number for number, _ in found if number is not None), default=0)
        picked = [j for number, j in found if number == most]
        expected.append(1 / len(picked) if i in picked else 0.0)
    np.testing.assert_allclose(fewest_changed(before, after, changed), expected, atol=1e-12)
