"""What is told from a guess, from luck and from an association: trials made by hand, of which every figure is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from sfumato.auditing import trials
from sfumato.auditing.audit import _given_back, _written
from sfumato.auditing.evidence import Evidence
from sfumato.auditing.findings import Name
from sfumato.auditing.targets import Guess, Ranks, Target, Values, luck
from sfumato.auditing.trials import (
    Trial,
    _exactly,
    _independent,
    _only_associated,
    _restores,
    _with_the_file_alone,
    judged_by,
    restored_by,
)

LEVEL, MARGIN = 0.01, 0.1


def first(share: float, size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """So many of the first records."""
    return np.arange(size) < round(share * size)


def trial(
    restored: float,
    guess: float,
    size: int = 100,
    *,
    number: bool = False,
    chance: float = 0.2,
    pairs: bool = False,
    unaware: Any = None,
    exact: float | None = None,
    **more: Any,
) -> Trial:
    """A trial of all values of a variable, all protected, of which these shares are restored and guessed."""
    codes = np.arange(size) if number else np.arange(size) % 5
    levels: Any = np.arange(size, dtype=np.float64) if number else np.array(list("abcde"), dtype=object)
    ranks = Ranks.of(levels, 0.01) if number else None
    truth, told = Values(codes, levels), Values(np.full(size, -1), levels)
    aim = Target("x", "as published", number, truth, told, np.zeros(size, dtype=np.int64), np.arange(size), True, ranks)
    right = first(guess, size)[::-1]
    values = np.where(right, levels, -1.0) if number else np.where(right, codes, (codes + 1) % 5)
    units = np.arange(size) // 2 if pairs else None
    target = replace(aim, prior=Guess(values, right, chance), order=np.arange(size), units=units)
    target.__dict__["unaware"] = unaware
    was_right = first(restored, size)
    was_exact = was_right if exact is None else first(exact, size)
    answered = more.pop("answered", np.ones(size, dtype=bool))
    evidence = Evidence(("twin",), np.arange(size), ordered=False)
    return Trial(target, evidence, np.arange(size), was_right, was_exact, answered, **more)


@pytest.mark.parametrize(("restored", "associated"), [(0.45, True), (0.79, True), (0.81, False), (1.0, False)])
def test_an_association_gives_back_less_than_two_thirds_of_what_the_guess_leaves_open(
    restored: float, associated: bool
) -> None:
    """The guess is right for .4, so .6 are open: two thirds of them are .4, which .8 restored give back."""
    assert _only_associated("columns", trial(restored, 0.4)) == associated
    assert _only_associated("combinations", trial(restored, 0.4)) == associated
    assert _only_associated("sums", trial(restored, 0.4)) == associated
    ways_back: tuple[Name, ...] = ("weight", "order", "household", "ids", "beside")
    assert not any(_only_associated(name, trial(restored, 0.4)) for name in ways_back)


def test_an_association_is_judged_by_the_values_it_speaks_of() -> None:
    """It answers for the first 50, of which 45 are right; the guess is right for the last 60, of these for 10."""
    half = first(0.5, 100)
    # .9 against .2: .7 of the .8 open, more than two thirds; over all records it would be .45 against .6
    assert not _only_associated("columns", trial(0.45, 0.6, answered=half))
    assert _only_associated("columns", trial(0.35, 0.6, answered=half))  # .7 against .2: .5 of the .8
    assert not _only_associated("columns", trial(0.0, 0.6, answered=np.zeros(100, dtype=bool)))


@pytest.mark.parametrize(
    ("name", "chance", "associated"),
    [("columns", 0.09, False), ("columns", 0.1, False), ("columns", 0.11, True), ("sums", 0.05, True)],
)
def test_a_fine_number_is_met_by_no_mere_association_but_by_changed_parts(
    name: Name, chance: float, associated: bool
) -> None:
    assert _only_associated(name, trial(0.5, 0.1, number=True, chance=chance)) == associated


def test_readings_by_hand() -> None:
    def reading(one: Trial, *, associated: bool = False) -> str:
        return restored_by(one, LEVEL, MARGIN, associated=associated).reading

    assert reading(trial(0.5, 0.4)) == "nothing"  # no more than the margin
    assert reading(trial(0.3, 0.5)) == "nothing"
    assert reading(trial(0.7, 0.4)) == "restores"  # P(X >= 70 | 100, .4) is about 1e-9
    assert reading(trial(0.7, 0.4), associated=True) == "association"
    # of 10 values 6 right where .4 are guessed: P(X >= 6 | 10, .4) = .166
    assert reading(trial(0.6, 0.4, 10)) == "luck"
    assert reading(trial(0.6, 0.4, 10), associated=True) == "luck"
    assert reading(trial(0.5, 0.4, 10), associated=True) == "nothing"


def test_what_a_judgement_tells() -> None:
    told = restored_by(trial(0.7, 0.4, exact=0.3, holds=0.6, learnt_from_file=False), LEVEL, MARGIN, associated=False)
    assert (told.variable, told.level, told.evidence, told.columns) == ("x", "as published", ("twin",), ("twin",))
    assert (told.values, told.restored, told.exactly, told.guess) == (100, 0.7, 0.3, 0.4)
    assert (told.holds, told.learnt, told.basis) == (0.6, "the original", "the distribution")
    assert told.excess == pytest.approx(0.3)
    assert told.alarm
    assert restored_by(trial(0.7, 0.4), LEVEL, MARGIN, associated=False).learnt == "the file"


@pytest.mark.parametrize(
    ("holds", "usual", "checked", "share", "restores"),
    [
        (0.95, 0.3, 100, 0.8, True),
        (0.90, 0.3, 100, 0.8, True),
        (0.89, 0.3, 100, 0.8, False),  # not nine in ten
        (0.95, 0.84, 400, 0.8, True),
        (0.95, 0.86, 400, 0.8, False),  # nearly all are equal: no more than the margin above what is usual
        (0.95, 0.3, 3, 0.8, False),  # two of three is luck: P(X >= 2 | 3, .3) = .216
        (0.95, 0.3, 100, 0.7, False),  # .7 is less than three quarters of .95
        (0.92, 0.3, 100, 0.7, True),  # and more than three quarters of .92
        (None, 0.3, 100, 0.8, False),
    ],
)
def test_few_values_are_restored_if_the_relation_holds_elsewhere(
    holds: float | None, usual: float, checked: int, share: float, restores: bool
) -> None:
    """Of 10 values .7 or .8 are right where .4 are guessed: P(X >= 8 | 10, .4) = .012, beyond the level of .01."""
    few = trial(share, 0.4, 10, holds=holds, usual=usual, checked=checked)
    expected = "restores" if restores else "luck"
    assert restored_by(few, LEVEL, MARGIN, associated=False).reading == expected


def test_members_of_a_household_count_as_one() -> None:
    """24 of 40 right where .4 are guessed is rarer than 1 in 100 (.0083); 12 of 20 households are not (.057)."""
    assert binom.sf(23, 40, 0.4) < LEVEL < binom.sf(11, 20, 0.4)
    assert restored_by(trial(0.6, 0.4, 40), LEVEL, MARGIN, associated=False).reading == "restores"
    assert restored_by(trial(0.6, 0.4, 40, pairs=True), LEVEL, MARGIN, associated=False).reading == "luck"
    assert _independent(trial(0.6, 0.4, 40, pairs=True), np.array([0, 1, 2, 6])) == 3
    assert _independent(trial(0.6, 0.4, 40), np.array([0, 1, 2, 6])) == 4


@pytest.mark.parametrize(("share", "values", "p"), [(0.6, 10, 0.4), (0.3, 10, 0.25), (1.0, 7, 0.5), (0.58, 100, 0.5)])
def test_luck_is_a_binomial_tail(share: float, values: int, p: float) -> None:
    assert luck(share, values, p) == pytest.approx(binom.sf(round(share * values) - 1, values, p))


def test_luck_of_none_is_certain_and_parts_of_a_value_do_not_count() -> None:
    assert luck(0.0, 10, 0.4) == 1.0
    assert luck(0.09, 10, 0.4) == 1.0  # not one
    assert luck(0.1, 10, 0.05) == pytest.approx(1 - 0.95**10)  # one of ten
    assert luck(0.69, 10, 0.4) == pytest.approx(binom.sf(5, 10, 0.4))  # six, not seven


def test_surprise_of_few_values_is_granted_what_is_common() -> None:
    few = Guess(np.zeros(29), first(0.1, 29), 0.5)
    assert few.granted == 0.5
    assert luck(20 / 29, 29, few.granted) == pytest.approx(binom.sf(19, 29, 0.5))
    several = Guess(np.zeros(30), first(0.1, 30), 0.5)
    assert several.share == pytest.approx(0.1)
    assert several.granted == pytest.approx(0.1)
    assert luck(1 / 29, 29, few.granted) == pytest.approx(1 - 0.5**29)


def test_what_is_met_exactly_by_hand() -> None:
    """Numbers of which .9 are near by a guess, none exactly: 40 of 100 met to the last digit are a way back."""
    one = trial(0.9, 0.9, number=True, exact=0.4, chance=0.05)
    one.target.__dict__["guessable_exactly"] = first(0.1, 100)
    met = _exactly(one)
    assert met[0] == 0.4
    assert met[1] == pytest.approx(0.1)
    assert met[2] == pytest.approx(binom.sf(39, 100, 0.1))
    judged = judged_by("weight", one, LEVEL, MARGIN)
    assert (judged.reading, judged.basis, judged.restored, judged.guess) == ("restores", "exactly", 0.4, 0.1)
    # another column would have to give two thirds of the .9 open
    assert judged_by("columns", one, LEVEL, MARGIN).reading == "nothing"
    one = replace(one, exact=first(0.75, 100))
    assert judged_by("columns", one, LEVEL, MARGIN).basis == "exactly"
    # of categories nothing is nearly met
    assert judged_by("weight", trial(0.9, 0.9, exact=0.4), LEVEL, MARGIN).reading == "nothing"


def test_luck_with_few_numbers_is_granted_the_commonest() -> None:
    """Of ten numbers eight are the same: whoever says that one is right for .8 of them."""
    one = trial(0.9, 0.9, 10, number=True, exact=0.9, chance=0.05)
    codes = np.array([3] * 8 + [4, 5])
    truth = Values(codes, one.target.truth.levels)
    target = replace(one.target, truth=truth)
    target.__dict__["guessable_exactly"] = first(0.1, 10)
    met = _exactly(replace(one, target=target))
    assert met[2] == pytest.approx(binom.sf(8, 10, 0.8))
    assert met[1] == pytest.approx(0.1)
    # of nine that are there the least one is in six
    codes = np.array([0] * 6 + [4, 5, 6, -1])
    truth = Values(codes, one.target.truth.levels)
    target = replace(one.target, truth=truth)
    target.__dict__["guessable_exactly"] = first(0.1, 10)
    assert _exactly(replace(one, target=target))[2] == pytest.approx(binom.sf(8, 10, 6 / 9))


@pytest.mark.parametrize(("size", "granted"), [(29, True), (30, False)])
def test_below_thirty_values_luck_is_granted_what_is_common(size: int, granted: bool) -> None:
    """A tenth is guessed and .8 of the values are the same: of 29 luck is granted these .8, of 30 a tenth."""
    one = trial(0.9, 0.1, size, number=True, exact=0.9, chance=0.8, unaware=np.full(size, 0.1))
    often = round(0.8 * size)
    codes = np.where(np.arange(size) < often, 0, np.arange(size))
    target = replace(one.target, truth=Values(codes, one.target.truth.levels))
    target.__dict__.update(guessable_exactly=first(0.1, size), unaware=np.full(size, 0.1))
    least = first(0.1, size).mean()
    met, alone = _exactly(replace(one, target=target)), _with_the_file_alone(replace(one, target=target))
    right = round(0.9 * size)
    assert met[2] == pytest.approx(binom.sf(right - 1, size, often / size if granted else least))
    assert alone is not None
    assert alone[2] == pytest.approx(binom.sf(right - 1, size, 0.8 if granted else 0.1))


def with_unchanged(changed: int, unchanged: int, right: float, elsewhere: float, likely: float) -> Trial:
    """A category of which some values were changed; of the others it is not known that they were not."""
    size = changed + unchanged
    one = trial(1.0, 0.5, size, unaware=np.full(size, likely))
    cells = np.arange(changed)
    guess = Guess(np.zeros(changed), first(0.5, changed), 0.2)
    target = replace(one.target, cells=cells, prior=guess, units=None)
    target.__dict__["unaware"] = np.full(size, likely)
    rows = np.arange(changed, size)
    return replace(
        one,
        target=target,
        rows=cells,
        right=first(right, changed),
        exact=first(right, changed),
        answered=np.ones(changed, dtype=bool),
        unchanged=rows,
        elsewhere=first(elsewhere, unchanged).astype(np.float64),
    )


def test_whoever_has_the_file_alone_is_judged_over_all_records() -> None:
    """Of 40 changed values 36 come back, and of 160 unchanged ones 152 stay: 4 + 8 wrong. A guess misses half of 200.

    Per changed value: 1 - 12/40 = .7 are restored; the guess is wrong for 100, more than there are, so it gets none.
    """
    found = _with_the_file_alone(with_unchanged(40, 160, 0.9, 0.95, 0.5))
    assert found is not None
    assert found[0] == pytest.approx(0.7)
    assert found[1] == 0.0
    assert found[2] == pytest.approx(binom.sf(187, 200, 0.5), rel=1e-6, abs=1e-300)
    # a guess right for 9 in 10 misses 4 and 16, half of the changed ones
    better = _with_the_file_alone(with_unchanged(40, 160, 1.0, 0.95, 0.9))
    assert better is not None
    assert better[0] == pytest.approx(1 - 8 / 40)
    assert better[1] == pytest.approx(1 - 20 / 40)
    assert better[2] == pytest.approx(binom.sf(191, 200, 0.9), rel=1e-6)


def test_evidence_that_is_blank_itself_says_nothing() -> None:
    one = with_unchanged(40, 160, 1.0, 1.0, 0.5)
    blank = np.zeros(200, dtype=bool)
    blank[:20] = True  # of the 40 changed values half have evidence, the others are guessed: 10 of 20 wrong
    found = _with_the_file_alone(replace(one, evidence=replace(one.evidence, blank=blank)))
    assert found is not None
    assert found[0] == pytest.approx(1 - 10 / 40)
    assert _with_the_file_alone(trial(0.9, 0.5)) is None  # not asked


@pytest.mark.parametrize(
    ("restored", "guess", "luck", "dependent", "expected"),
    [
        (0.75, 0.4, 0.0001, False, True),
        (0.75, 0.4, 0.0001, True, False),  # .35 of the .6 open, less than two thirds
        (0.85, 0.4, 0.0001, True, True),
        (0.85, 0.4, 0.5, True, False),  # luck
        (0.45, 0.4, 0.0001, False, False),  # no more than the margin
    ],
)
def test_what_restores_besides_the_distribution(
    restored: float, guess: float, luck: float, dependent: bool, expected: bool
) -> None:
    one = trial(0.5, 0.5)
    assert _restores((restored, guess, luck), one, LEVEL, MARGIN, dependent=dependent) == expected


@pytest.mark.parametrize("kind", ["the file alone", "exactly"])
@pytest.mark.parametrize(("luck", "restores"), [(0.0009, True), (0.0011, False), (0.0039, False)])
def test_the_further_comparisons_share_a_fifth_of_the_chance_of_a_false_alarm(
    kind: str, luck: float, restores: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a chance of .01 in all, .008 are for the first comparison, and .001 for each of the other two."""
    figures = (0.9, 0.1, luck)
    monkeypatch.setattr(trials, "_with_the_file_alone", lambda one: figures if kind == "the file alone" else None)
    monkeypatch.setattr(trials, "_exactly", lambda one: figures if kind == "exactly" else (0.0, 0.0, 1.0))
    one = trial(0.45, 0.4, number=True, chance=0.2)  # no more than the margin at first
    found = judged_by("weight", one, LEVEL, MARGIN)
    assert found.alarm == restores
    assert found.basis == (kind if restores else "the distribution")
    assert found.restored == (0.9 if restores else 0.45)


def test_the_first_comparison_has_four_fifths_of_the_chance_of_a_false_alarm() -> None:
    """Of 40 values 24 right where .4 are guessed: .0083 is below .01 and above .008; 25 right are rarer, .0034."""
    assert 0.8 * LEVEL < binom.sf(23, 40, 0.4) < LEVEL
    assert binom.sf(24, 40, 0.4) < 0.8 * LEVEL
    assert judged_by("weight", trial(24 / 40, 0.4, 40), LEVEL, MARGIN).reading == "luck"
    assert judged_by("weight", trial(25 / 40, 0.4, 40), LEVEL, MARGIN).reading == "restores"


def test_examples_are_what_an_intruder_without_the_distribution_does_not_know() -> None:
    """Of four values all are given back; of the last two he is sure without it."""
    one = trial(1.0, 0.0, 4, unaware=np.array([0.2, np.nan, 1.0, 1.0]))
    usual = restored_by(one, LEVEL, MARGIN, associated=False)
    found = replace(usual, basis="the file alone")
    assert _given_back(found, one).tolist() == [True, False, False, False]
    assert _given_back(usual, one).tolist() == [True] * 4


def test_true_values_are_written_as_in_a_table() -> None:
    assert _written(0.1 + 0.2, "numeric") == "0.3"
    assert _written(0.0, "date") == "1970-01-01"
    assert _written("20-29", "numeric") == "20-29"  # a class, which is what is published of it
    assert _written(7, "nominal") == _written(7, "ordinal") == "7"
    assert _written(True, "nominal") == "True"  # no number
