"""What cannot be traced counts with what is known of it at most, and the value becomes an interval."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from global_utility_tables import row, survey
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import GlobalDataUtility, Measurement, Microdata, Schema, Variable
from sfumato.utility.global_utility.coarsening import (
    heterogeneity,
    least_heterogeneous,
    most_kept,
    most_told_apart,
    told_apart,
)

CHARGED = GlobalDataUtility(deletion="charged")
REGIONS = {letter: ("north", "south", "east")["abcdef".index(letter) // 2] for letter in "abcdef"}


def halves(table: pa.Table, **given: Any) -> Microdata:
    """Every second record, as of a sample."""
    return replace(Microdata.from_frame(table, **given).take(np.arange(0, len(table), 2)), matched=False)


def towns(n: int = 600, effect: float = 0.0) -> tuple[pa.Table, pa.Table]:
    """Towns beside two numbers, and the same with three regions in their place; ``effect``: x differs by town."""
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdef"), n)
    x = rng.exponential(size=n) + effect * np.array(["abcdef".index(letter) // 2 for letter in town])
    before = pa.table({"town": town, "x": x, "y": rng.exponential(size=n)})
    return before, before.set_column(0, "town", pa.array([REGIONS[letter] for letter in town]))


def pair(found: Measurement, first: str, second: str) -> dict[str, Any]:
    (match,) = [dict(row) for row in found.tables["pairs"] if {row["first"], row["second"]} == {first, second}]
    return match


def ends(found: Measurement) -> tuple[float, float]:
    return found.parts["lowest possible"], found.parts["highest possible"]


def test_a_recoding_known_by_its_two_numbers_of_categories_counts_as_the_formula_says() -> None:
    before, after = towns(effect=3.0)
    found = GlobalDataUtility().evaluate(Microdata.from_frame(before), halves(after))
    bound = 3 * 2 / (6 * 5)  # three of six categories: 3 of 15 comparisons
    assert row(found, "town")["utility"] == row(found, "town")["recoding_utility"] == pytest.approx(bound)
    alone = [bound, row(found, "x")["utility"], row(found, "y")["utility"]]
    # town and x: Kruskal-Wallis in both, seen in both; only the pattern is not known
    told = pair(found, "town", "x")
    assert told["test"] == "Kruskal-Wallis" and told["p_before"] < 0.05 and told["p_after"] < 0.05
    strength = min(told["before"], told["after"]) / max(told["before"], told["after"])
    assert told["utility"] == pytest.approx(strength) and told["outcome"] == "pattern unknown"
    assert told["reason"] == "pattern unknown: which value of town became which cannot be told"
    # town and y: seen in neither, which no recoding changes
    assert (pair(found, "town", "y")["utility"], pair(found, "town", "y")["reason"]) == (1, "no association in either")
    of_numbers = pair(found, "x", "y")["utility"]

    def value(town: float, with_x: float) -> float:
        pairs = [np.mean([with_x, 1]), np.mean([with_x, of_numbers]), np.mean([1, of_numbers])]
        return float((np.mean([town, *alone[1:]]) + np.mean(pairs)) / 2)

    assert found.value == pytest.approx(value(bound, strength))
    assert ends(found) == pytest.approx((value(0, 0), value(bound, strength)))
    (said,) = [note for note in found.notes if note.startswith("between")]
    assert "of variable town and 1 pair it cannot be told" in said and "beyond" not in said
    assert "The distribution of town could not be compared" in found.statement
    assert "The association of town with x could not be compared" in found.statement


def test_to_be_untraceable_never_helps() -> None:
    # the same recoding, told by the records or stated by nobody: what is not known is at least what it would be
    before, after = towns(effect=3.0)
    data = Microdata.from_frame(before)
    traced = GlobalDataUtility().evaluate(data, Microdata.from_frame(after))
    untraced = GlobalDataUtility().evaluate(data, replace(Microdata.from_frame(after), matched=False))
    assert traced.value == pytest.approx(untraced.value, abs=1e-5)  # nothing else was done, so the bounds are reached
    low, high = ends(untraced)
    assert low < traced.value <= high + 1e-9
    assert row(untraced, "town")["utility"] < 0.3 < traced.parts["univariate"]


def test_an_association_lost_is_lost_whichever_category_became_which() -> None:
    before, after = towns(effect=3.0)
    scrambled = after.set_column(1, "x", pa.array(np.random.default_rng(1).permutation(after["x"].to_numpy())))
    found = GlobalDataUtility().evaluate(Microdata.from_frame(before), halves(scrambled))
    assert (pair(found, "town", "x")["utility"], pair(found, "town", "x")["reason"]) == (0, "association lost")


def test_numbers_in_classes_that_nobody_states_count_with_the_best_classes_of_that_number() -> None:
    before, _ = towns()
    x = before["x"].to_numpy()
    banded = before.set_column(1, "x", pa.array(np.array(["low", "high"])[(x > np.median(x)).astype(int)]))
    data = Microdata.from_frame(before)
    found = GlobalDataUtility().evaluate(data, halves(banded))
    most = least_heterogeneous(x, 2)
    assert row(found, "x")["utility"] == pytest.approx(most) and 0.3 < most < 0.7
    by_counts = GlobalDataUtility(recoding="comparisons").evaluate(data, halves(banded))
    assert row(by_counts, "x")["utility"] == pytest.approx(2 / (600 * 599))
    nothing = GlobalDataUtility(recoding="allocation").evaluate(data, halves(banded))
    assert row(nothing, "x")["utility"] is None and "x" in nothing.by_variable  # its pairs are told
    assert nothing.parts["highest possible"] > nothing.parts["lowest possible"]


def test_as_many_categories_under_other_names_say_nothing() -> None:
    before, _ = towns()
    renamed = before.set_column(0, "town", pa.array([f"new {letter}" for letter in before["town"].to_pylist()]))
    found = GlobalDataUtility().evaluate(Microdata.from_frame(before), halves(renamed))
    assert row(found, "town")["utility"] is None
    told = [row(found, name)["utility"] for name in ("x", "y")]
    assert found.parts["univariate"] == pytest.approx(np.mean(told))
    low, high = ends(found)
    assert high - low == pytest.approx(1 / 3 / 2)  # a third of one half; its pairs are seen in neither table


def test_coefficients_of_two_kinds_are_judged_by_significance_and_otherwise_left_open() -> None:
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b", "c"], 900)
    bell = rng.normal(size=900) + (group == "a")
    other = rng.normal(size=900)
    data = Microdata.from_frame(pa.table({"group": group, "bell": bell, "other": other}))
    masked = data
    for name in ("bell", "other"):
        variable = Variable(name, kind="ordinal", categories=("low", "middle", "high"))
        masked = masked.recast({name: (variable, np.digitize(data.columns[name], (-1, 1)).astype(np.int32))})
    found = GlobalDataUtility().evaluate(data, masked)
    seen, unseen = pair(found, "group", "bell"), pair(found, "group", "other")
    assert seen["test"] == unseen["test"] == "ANOVA, then Kruskal-Wallis"
    assert seen["utility"] is None and seen["reason"].startswith("not comparable: a variable changed its type")
    assert unseen["utility"] == 1 and unseen["effect"] is None and unseen["reason"] == "no association in either"
    assert any("1 of 3 pairs is not comparable and left out of the means" in note for note in found.notes)
    # the open pair counts 0 or 1 in the interval; group has it and one that is 1, bell has it and its correlation
    r = pair(found, "bell", "other")["utility"]
    alone = found.parts["univariate"]
    low, high = ((alone + np.mean([(w + 1) / 2, (w + r) / 2, (1 + r) / 2])) / 2 for w in (0, 1))
    assert ends(found) == pytest.approx((low, high))
    assert found.parts["bivariate"] == pytest.approx(np.mean([1, r, (1 + r) / 2]))
    # the effect-size view compares no eta squared with an epsilon squared
    assert found.parts["effect size, bivariate"] <= 1


def test_what_is_told_has_no_interval() -> None:
    data = survey()
    constant = Microdata.from_frame(data.to_arrow().append_column("same", pa.array(["a"] * len(data))), data.schema)
    for table in (data, constant):  # pairs with a constant are not testable in the original, where nothing is to lose
        for masked in (table, sfumato.Noise(0.1).protect(table, rng=1)):
            assert "lowest possible" not in GlobalDataUtility().evaluate(table, masked).parts


def test_counted_between_records_equal_classes_are_the_most_that_can_be_left() -> None:
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcd"), 400, p=[0.4, 0.3, 0.2, 0.1])
    before = pa.table({"town": town, "x": rng.normal(size=400)})
    after = before.set_column(0, "town", pa.array(["N" if t in "ab" else "S" for t in town]))
    found = CHARGED.evaluate(Microdata.from_frame(before), halves(after))
    p = np.unique(town, return_counts=True)[1] / 400
    most, x = 0.5 / (1 - p @ p), row(found, "x")["utility"]
    assert row(found, "town")["utility"] == pytest.approx(most)
    assert found.value == found.parts["highest possible"] == pytest.approx(((most + x) / 2 + most**0.5) / 2)
    assert found.parts["lowest possible"] == pytest.approx(x / 4)  # of the pair's comparisons nothing may be left


# the bounds themselves


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_classes_keep_more_than_the_bound_of_their_number(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n = data.draw(st.sampled_from([3, 20, 600]))
    x = np.round(rng.lognormal(size=n), data.draw(st.integers(0, 3)))
    weights = rng.integers(1, 5, n).astype(float) if data.draw(st.booleans()) else None
    number = data.draw(st.integers(1, 8))
    cuts = np.sort(rng.choice(x, number - 1)) if number > 1 else np.array([])
    for classes in (np.searchsorted(cuts, x, side="right"), rng.integers(0, number, n)):
        found = len(np.unique(classes))
        kept = heterogeneity(x, np.unique(classes, return_inverse=True)[1].astype(np.int32), weights)
        assert kept <= least_heterogeneous(x, found, weights) + 1e-9
        first, codes = np.unique(np.round(x), return_index=True, return_inverse=True)[1:]
        merged = classes[first][codes]
        assert told_apart(codes, merged) <= most_told_apart(codes, len(np.unique(merged))) + 1e-12


@pytest.mark.parametrize("classes", [1, 2, 3, 4])
def test_the_best_classes_by_trying_all(classes: int) -> None:
    from itertools import combinations

    x = np.array([0.0, 0.5, 1.0, 4.0, 4.5, 9.0, 20.0])
    best = 0.0
    for cuts in combinations(range(1, len(x)), classes - 1):
        codes = np.searchsorted(np.array(cuts, dtype=int), np.arange(len(x)), side="right")
        medians = np.array([np.median(x[codes == c]) for c in range(classes)])
        best = max(best, 1 - np.abs(x - medians[codes]).sum() / np.abs(x - x.mean()).sum())
    expected = 0.0 if classes == 1 else best  # one class has no median of its own to be near to, but the mean
    assert least_heterogeneous(x, classes) == pytest.approx(expected)


def test_constants_and_single_values_lose_nothing() -> None:
    assert most_kept("heterogeneity", np.array([2.0, 2.0]), 1) == 1
    assert most_kept("comparisons", np.array([0, 0], dtype=np.int32), 1) == 1
    assert most_kept("allocation", np.array([1.0, 2.0]), 1) == 1


# labels that mean what they say


def test_labels_passed_on_are_no_renaming() -> None:
    rng = np.random.default_rng(0)
    before = rng.choice(list("ABC"), 900, p=[0.6, 0.3, 0.1])
    passed_on = np.array([{"A": "B", "B": "C", "C": "D"}[label] for label in before])
    renamed = np.array([{"A": "E", "B": "F", "C": "D"}[label] for label in before])
    x = rng.normal(size=900)
    data = Microdata.from_frame(pa.table({"v": before, "x": x}), Schema((Variable("v", kind="nominal"),)))
    found, fair = (
        GlobalDataUtility().evaluate(data, Microdata.from_frame(pa.table({"v": labels, "x": x})))
        for labels in (passed_on, renamed)
    )
    assert row(fair, "v")["utility"] == pytest.approx(1, abs=1e-6)  # nobody reads an E as an A
    assert row(found, "v")["utility"] < 1e-6  # who reads B finds twice as many as there were
    assert row(found, "v")["recoding_utility"] is None
