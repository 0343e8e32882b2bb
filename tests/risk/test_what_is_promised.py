"""Defaults, limits of parameters and of what fits, and corners of risk measures: each by hand."""

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    DCAP,
    SUDA2,
    TCAP,
    DiSCO,
    DistanceLinkage,
    ExposedAmounts,
    IndividualRisk,
    Inference,
    KAnonymity,
    LDiversity,
    Linkability,
    MatchProbability,
    Microdata,
    NearestRecord,
    NotApplicable,
    ParameterError,
    ProbabilisticLinkage,
    RankInterval,
    RankSwappingAttack,
    RobustMahalanobisRisk,
    SampleUniques,
    Schema,
    SinglingOut,
    SpreadInterval,
    TCloseness,
    Variable,
)
from sfumato.pair import Pair
from sfumato.pair.sample import Sample
from sfumato.risk import distance_linkage, sample_uniques
from sfumato.risk.attack_and_control import excess, wilson
from sfumato.risk.distance_linkage import Scale, own_links
from sfumato.risk.nearest_record import Units, less_near, too_near
from tables import incomes, numbers

ONE_TO_TEN = tuple(map(float, range(1, 11)))
DEFAULTS: dict[Any, dict[str, Any]] = {  # as the pages of the measures say them: another default is another figure
    DCAP: {"unmatched": "zero", "classes": 10},
    DiSCO: {"classes": 10},
    TCAP: {"tau": 1.0, "classes": 10},
    DistanceLinkage: {"known": 7, "second": False, "ties": "share", "links": "each"},
    ExposedAmounts: {"most": 10, "within": 0.01},
    IndividualRisk: {"above": 0.1, "population": None},
    Inference: {"classes": 10, "level": 0.95},
    KAnonymity: {"k": 3, "unit": "record"},
    LDiversity: {"l": 2, "c": 3.0, "diversity": "distinct"},
    Linkability: {"level": 0.95},
    MatchProbability: {"released": 1.0},
    ProbabilisticLinkage: {"known": 7, "bins": 20, "width": 0.1},
    RankInterval: {"percents": ONE_TO_TEN, "ties": "mean"},
    SpreadInterval: {"percents": ONE_TO_TEN},
    RankSwappingAttack: {"known": 7, "p": None},
    RobustMahalanobisRisk: {"k": 0.01, "k2": 0.05},
    SampleUniques: {"size": 2},
    SinglingOut: {"classes": 10, "orders": 10, "level": 0.95},
    SUDA2: {"size": None, "fraction": None},
    TCloseness: {"t": 0.2},
}


@pytest.mark.parametrize(("measure", "expected"), DEFAULTS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_defaults_are_those_of_the_page(measure: Any, expected: dict[str, Any]) -> None:
    parameters = inspect.signature(measure).parameters
    assert {name: parameters[name].default for name in expected} == expected
    assert {name: getattr(measure(), name) for name in expected} == expected


@pytest.mark.parametrize(
    ("measure", "name", "least"),
    [
        (Inference, "classes", 2),
        (DCAP, "classes", 2),
        (DiSCO, "classes", 2),
        (TCAP, "classes", 2),
        (SinglingOut, "classes", 2),
        (SinglingOut, "orders", 1),
        (LDiversity, "l", 2),
        (KAnonymity, "k", 2),
        (ExposedAmounts, "most", 1),
        (NearestRecord, "sample", 2),
        (SampleUniques, "size", 1),
        (ProbabilisticLinkage, "bins", 2),
    ],
)
def test_whole_numbers_begin_where_they_mean_something(measure: Any, name: str, least: int) -> None:
    assert getattr(measure(**{name: least}), name) == least
    with pytest.raises(ParameterError, match=name):
        measure(**{name: least - 1})


@pytest.mark.parametrize(
    ("measure", "name", "kept", "refused"),
    [
        (TCAP, "tau", (0.01, 1.0), (0.0, 1.01)),
        (ExposedAmounts, "within", (0.001, 1.0), (0.0, 1.5)),
        (IndividualRisk, "above", (0.001, 1.0), (0.0, 1.5)),
        (MatchProbability, "released", (0.001, 1.0), (0.0, 1.5)),
        (Inference, "level", (0.5, 0.999), (0.49, 1.0)),
        (Linkability, "level", (0.5, 0.999), (0.49, 1.0)),
        (LDiversity, "c", (0.001, 5.0), (0.0, -1.0)),
        (RankInterval, "percents", ((0.1,), (100,)), ((0,), (100.5,), ())),
    ],
)
def test_shares_end_where_they_mean_something(measure: Any, name: str, kept: Any, refused: Any) -> None:
    for value in kept:
        measure(**{name: value})
    for value in refused:
        with pytest.raises(ParameterError, match=name):
            measure(**{name: value})


def test_pairs_one_to_one_are_of_so_many_records_and_not_of_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance_linkage, "MAX_PAIRED", 4)
    five = numbers(a=[1.0, 2, 3, 4, 5])
    four = numbers(a=[1.0, 2, 3, 4])
    assert DistanceLinkage(links="one to one").evaluate(four, four).value == 1
    with pytest.raises(NotApplicable, match="5 records cannot be paired one to one, 4 is the most"):
        DistanceLinkage(links="one to one").evaluate(five, five)


def test_pairs_one_to_one_by_what_is_known() -> None:
    """Known b: every record is its own. Known a and b: a is reversed, and so is everything but b that is the same."""
    original = numbers(a=[0.0, 1, 2, 3], b=[0.0, 10, 20, 30])
    protected = numbers(a=[30.0, 20, 10, 0], b=[0.0, 10, 20, 30])
    found = DistanceLinkage(known=(("b",), ("a",)), links="one to one").evaluate(original, protected)
    assert found.parts["knows b"] == 1
    assert found.parts["knows a"] == 0
    assert found.by_record is not None
    assert found.by_record.tolist() == [0.5] * 4  # by record over what becomes known
    assert found.parts["fewest of the best pairings"] == pytest.approx(0.5)
    assert found.parts["most of the best pairings"] == pytest.approx(0.5)


def test_an_extreme_on_the_low_side_is_farther_from_the_median() -> None:
    """The median of 38 values from 100 to 137, a 0 and a 160 is 118.5: 0 is 118.5 away, 160 is 41.5, 137 is 18.5."""
    values = [*np.arange(100.0, 138.0), 0.0, 160.0]
    table = numbers(pay=values)
    found = ExposedAmounts().evaluate(table, table)  # one in twenty: two of forty
    assert found.by_record is not None
    assert np.flatnonzero(found.by_record).tolist() == [38, 39]
    assert found.parts["extreme values"] == 2
    one = ExposedAmounts(most=1).evaluate(table, numbers(pay=[*values[:38], 1.0, 160.0]))
    assert one.value == 0  # the 0 alone is looked at, and it became 1
    assert one.parts["variables whose farthest value stands"] == 0
    near = ExposedAmounts(most=1, within=0.01).evaluate(
        numbers(pay=[*values[:38], -900.0, 160.0]), numbers(pay=[*values[:38], -891.0, 160.0])
    )
    assert near.value == 1  # off by exactly 1 %


def test_the_smallest_diversity_is_one_where_all_of_a_class_share_a_value() -> None:
    table = pa.table({"town": list("AABB"), "ill": ["flu", "flu", "flu", "cold"]})
    schema = Schema((Variable("town", role="key", kind="nominal"), Variable("ill", "nominal", role="confidential")))
    data = Microdata.from_frame(table, schema)
    found = LDiversity(2).evaluate(data, data)
    assert found.value == 0.5
    assert found.parts == {"smallest, ill": 1.0}
    assert found.by_record is not None
    assert found.by_record.tolist() == [1, 1, 0, 0]
    assert LDiversity(3).evaluate(data, data).value == 1
    # entropy of one half and one half: worth two values
    assert LDiversity(2, "entropy").evaluate(data, data).parts["smallest, ill"] == pytest.approx(1.0)
    two = data.replace({"ill": np.array([0, 1, 0, 1], dtype=np.int32)})
    assert LDiversity(2, "entropy").evaluate(two, two).value == 0
    # recursive (3, 2): the largest count must be less than 3 times the others', 1 < 3 x 1
    assert LDiversity(2, "recursive").evaluate(two, two).value == 0
    assert LDiversity(2, "recursive", c=1.0).evaluate(two, two).value == 1  # 1 is not less than 1


def test_numbers_that_are_all_moved_by_the_same_are_as_unprotected_as_before() -> None:
    """A million and more, each plus a tenth: differences agree up to rounding, which hides nobody."""
    before = 1_000_000.0 + np.arange(20.0)
    found = MatchProbability(variables=("x",)).evaluate(numbers(x=before), numbers(x=before + 0.1))
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, 1.0)


def test_a_category_that_occurs_once_became_what_it_became() -> None:
    """One z became z, two a became a and b: who knows z finds it, and a is as likely of both."""
    before, after = pa.table({"t": ["z", "a", "a"]}), pa.table({"t": ["z", "a", "b"]})
    found = MatchProbability(variables=("t",)).evaluate(before, after)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1.0, 0.5, 0.5])


def test_wilson_by_hand() -> None:
    """Five of ten: z = 1.96, centre .5, half width 1.96 sqrt(.25 / 10 + 1.96^2 / 400) / (1 + 1.96^2 / 10)."""
    z = 1.959963984540054
    low, high = wilson(0.5, 10, 0.95)
    half = z * np.sqrt(0.25 / 10 + z * z / 400) / (1 + z * z / 10)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half))
    assert wilson(0.0, 10, 0.95)[0] == 0.0
    assert wilson(1.0, 10, 0.95)[1] == 1.0
    assert excess(0.6, 0.2) == pytest.approx(0.5)
    assert excess(0.1, 0.2) <= 0


def test_shares_of_farther_distances_by_hand() -> None:
    """0.5 is nearer than two of four, 1 ties with two of four: (0 + half of 2) + 1 of 4."""
    others, no_slack = np.array([1.0, 1.0, 3.0, 0.0]), np.zeros(2)
    assert less_near(np.array([0.5, 1.0]), others, no_slack).tolist() == [0.75, 0.5]
    # the smallest quarter of four is the 0; half of them reach into the tie of two at 1, of which one counts
    assert too_near(np.array([0.0, 1.0]), others, 0.25, no_slack).tolist() == [1.0, 0.0]
    assert too_near(np.array([0.5, 1.0]), others, 0.5, no_slack).tolist() == [1.0, 0.5]
    assert too_near(np.array([0.0]), np.array([0.0]), 0.05, np.zeros(1)).tolist() == [0.05]


def test_a_random_pick_of_a_sample_is_no_picture_by_record() -> None:
    data = numbers(x=np.arange(30.0).tolist())
    sampled = NearestRecord(sample=5).evaluate(data, data, rng=1)
    assert sampled.by_record is None
    assert NearestRecord(sample=30).evaluate(data, data, rng=1).by_record is None
    assert NearestRecord().evaluate(data, data).by_record is not None
    with pytest.raises(NotApplicable, match="one original record"):
        NearestRecord().evaluate(numbers(x=[1.0]), numbers(x=[1.0, 2.0]))
    two = numbers(x=[1.0, 2.0])
    assert NearestRecord().evaluate(two, two).value > 0


def test_the_rank_of_who_is_in_nobodys_window() -> None:
    """Protected values are all missing in x: who is missing in both is found among those, others are not found."""
    before = numbers(x=[1.0, float("nan"), 3.0], y=[1.0, 2.0, 3.0])
    after = numbers(x=[float("nan")] * 3, y=[1.0, 2.0, 3.0])
    found = RankSwappingAttack(known=(("x",),)).evaluate(before, after)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [0, 1 / 3, 0])


def test_sets_of_keys_are_counted_up_to_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pa.table({"a": [1, 1, 2], "b": [1, 2, 2], "c": [1, 1, 1]})
    monkeypatch.setattr(sample_uniques, "MAX_SETS", 6)  # three keys, three pairs
    SampleUniques(2, variables=("a", "b", "c")).evaluate(data, data)
    monkeypatch.setattr(sample_uniques, "MAX_SETS", 5)
    with pytest.raises(NotApplicable, match="6 sets of up to 2, more than the 5"):
        SampleUniques(2, variables=("a", "b", "c")).evaluate(data, data)


def test_best_of_pairings_by_hand() -> None:
    """0, 1 beside 0.4, 0.6 and 5 beside 5: own pairs are the best, each at .4; without ties all three are right."""
    here, there = np.array([[0.0], [1.0], [5.0]]), np.array([[0.4], [0.6], [5.0]])
    found = own_links(here, there, np.abs(here - there.T), share=True)
    assert found.by_record.tolist() == [1, 1, 1]
    assert (found.fewest, found.most) == (3, 3)
    crossed = own_links(here, there[[1, 0, 2]], np.abs(here - there[[1, 0, 2]].T), share=True)
    assert crossed.by_record.tolist() == [0, 0, 1]
    assert (crossed.fewest, crossed.most) == (1, 1)
    tied = own_links(np.array([[0.0], [0.0]]), np.array([[1.0], [1.0]]), np.ones((2, 2)), share=True)
    assert tied.by_record.tolist() == [0.5, 0.5]
    assert (tied.fewest, tied.most) == (0, 2)


def test_a_class_whose_values_are_all_missing_is_at_no_distance() -> None:
    """Of the file's 1 to 4 the class A has 1 and 2: (|.5 - .25| + |1 - .5| + |1 - .75|) / 3 = 1/3."""
    table = pa.table({"town": list("AABBCC"), "pay": [1.0, 2.0, 3.0, 4.0, None, None]})
    schema = Schema((Variable("town", "nominal", role="key"), Variable("pay", role="confidential")))
    data = Microdata.from_frame(table, schema)
    found = TCloseness(0.3).evaluate(data, data)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1 / 3, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    turned = Microdata.from_frame(pa.table({"town": list("CCAABB"), "pay": [1.0, 2.0, None, None, 3.0, 4.0]}), schema)
    again = TCloseness(0.3).evaluate(turned, turned)
    assert again.by_record is not None
    np.testing.assert_allclose(again.by_record, [1 / 3, 1 / 3, 0, 0, 1 / 3, 1 / 3])
    assert found.parts["beyond 0.3"] == pytest.approx(4 / 6)
    assert TCloseness(0.34).evaluate(data, data).parts["beyond 0.34"] == 0


def test_a_holdout_is_read_and_nothing_else() -> None:
    assert NearestRecord().reads == ()
    assert NearestRecord("kept.csv").reads == ("kept.csv",)


def test_windows_of_ranks_by_hand() -> None:
    """Before 10, 20, 30, missing; after 20, 10, missing, 30. Both are present for two, which moved by one rank."""
    nan = float("nan")
    original = numbers(x=[10.0, 20.0, 30.0, nan])
    protected = numbers(x=[20.0, 10.0, nan, 30.0])
    found = RankSwappingAttack(known=(("x",),)).evaluate(original, protected)
    assert "ranks a value may have moved: x 1" in found.notes[-1]
    assert found.by_record is not None
    # 10 may be 10 or 20, 20 any of three, 30 is 20 or 30; the farthest is taken: 20; 10 and 30; 20. Lost: the missing
    np.testing.assert_allclose(found.by_record, [1, 0.5, 0, 0])


def test_households_of_a_sample_are_told_apart_whatever_their_name() -> None:
    data = Microdata.from_frame(pa.table({"home": list("BAAB"), "x": [1.0, 2.0, 3.0, 4.0]}), Schema(household="home"))
    pair = Pair.of(data, data)
    units = Units.of(pair.original, Sample.drawn(4, 4, np.random.default_rng(0)))
    assert units(np.array([0, 3]))[0] == units(np.array([0, 3]))[1]
    assert units(np.array([0, 1]))[0] != units(np.array([0, 1]))[1]


def test_the_interval_of_a_share_is_one_of_shares() -> None:
    """At 0 and 1 rounding would put its end a digit beyond, or short of, the share itself."""
    for attacks in range(1, 60):
        low, high = wilson(1.0, attacks, 0.95)
        assert 0 < low < high == 1.0
        low, high = wilson(0.0, attacks, 0.95)
        assert 0.0 == low < high < 1


def test_violations_are_counted_at_two_three_and_five() -> None:
    """Classes of 1, 2, 4 and 5 records: 1 of 12 has fewer than two, 3 fewer than three, 7 fewer than five."""
    data = numbers(town=[1.0] + [2.0] * 2 + [3.0] * 4 + [4.0] * 5)
    found = KAnonymity(3, variables=("town",)).evaluate(data, data)
    assert found.value == 3 / 12
    shares = {name: value for name, value in found.parts.items() if name.startswith("violating")}
    assert shares == {"violating 2": 1 / 12, "violating 3": 3 / 12, "violating 5": 7 / 12}
    assert found.parts["smallest class"] == 1


@pytest.mark.parametrize(
    "measure", [NearestRecord, Linkability, MatchProbability, lambda **more: DistanceLinkage(distance="gower", **more)]
)
def test_a_variable_that_cannot_be_compared_is_left_out_unless_it_was_asked_for(measure: Any) -> None:
    """Pay became classes that lie across each other: what they stand for is not told."""
    x, y = np.arange(12.0), np.arange(12.0) % 5
    before = Microdata.from_frame(pa.table({"x": x, "y": y, "pay": x * 7 % 12}))
    after = Microdata.from_frame(pa.table({"x": x, "y": y, "pay": list("abbaaccbabca")}))
    assert not Pair.of(before, after).footing("pay").comparable
    found = measure().evaluate(before, after)
    assert any("left out, pay" in note for note in found.notes)
    with pytest.raises(NotApplicable, match="no comparable pay"):
        measure(variables=("x", "y", "pay")).evaluate(before, after)
    measure(variables=("x", "y")).evaluate(before, after)


def test_variables_without_a_scale_are_refused_by_name() -> None:
    names, nan = ("a", "b", "c"), float("nan")

    def scale(mean: list[float], spread: list[float]) -> Scale:
        return Scale.of(SimpleNamespace(mean=np.array(mean), spread=np.array(spread)), names, "original")  # type: ignore[arg-type]

    assert scale([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]).spread.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(NotApplicable, match="every value of 'b' is missing in the original table"):
        scale([1.0, nan, 2.0], [1.0, nan, 1.0])
    with pytest.raises(NotApplicable, match="'c' has values too large"):
        scale([1.0, 1.0, 1.0], [1.0, 2.0, np.inf])


def test_a_gap_is_linked_all_the_same_and_a_column_of_gaps_is_not() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    gap, gaps = numbers(x=[float("nan"), *values[1:]]), numbers(x=[float("nan")] * 8)
    whole = numbers(x=values)
    measure = ProbabilisticLinkage(known=1, bins=4)
    for before, after in ((gap, whole), (whole, gap), (gap, gap)):
        assert 0 < measure.evaluate(before, after, rng=0).value <= 0.5
    for before, after in ((gaps, whole), (whole, gaps)):
        with pytest.raises(NotApplicable, match="every value of 'x' is missing in one of the tables"):
            measure.evaluate(before, after, rng=0)


@pytest.mark.parametrize("measure", [Linkability(), Inference(), SinglingOut(), Linkability(level=0.8)])
def test_intervals_of_attack_and_control_are_those_of_their_counts(measure: Any) -> None:
    """The attacks are counted among those tried, the control among the original records; the value's ends are worst."""
    data = incomes(120, seed=3)
    moved = data.replace({"tax": np.where(np.arange(120) % 3 == 0, 1.0, data.columns["tax"])})
    parts = measure.evaluate(data, moved, rng=1).parts
    ends = {}
    for rate, number in (("attack", round(parts["attacks"])), ("control", 120)):
        low, high = wilson(parts[rate], number, measure.level)
        assert (parts[f"{rate} low"], parts[f"{rate} high"]) == (low, high)
        assert low < parts[rate] < high
        ends[rate] = low, high
    assert parts["low"] == excess(ends["attack"][0], ends["control"][1])
    assert parts["high"] == excess(ends["attack"][1], ends["control"][0])


def test_special_uniques_and_their_largest_score_by_hand() -> None:
    """Three keys: alone on one of them counts (3 - 1)! = 2. The third record is so on a, the fourth on a and on b."""
    data = numbers(a=[0.0, 0, 1, 2], b=[0.0, 0, 0, 2], c=[0.0, 0, 0, 0])
    found = SUDA2(variables=("a", "b", "c")).evaluate(data, data)
    assert found.parts["special uniques"] == 2 / 4
    assert found.parts["largest score"] == 4
    assert found.parts["minimal sample uniques"] == 3
    assert found.by_variable["a"] == pytest.approx(4 / 6)
    assert found.by_variable["c"] == 0


def test_one_in_ten_is_not_above_a_tenth() -> None:
    """Of ten a and nine b as they were, each is one of those alike: .1, which is not listed, and 1 in 9."""
    table = pa.table({"t": ["a"] * 10 + ["b"] * 9})
    found = MatchProbability(variables=("t",)).evaluate(table, table)
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1 / 10] * 10 + [1 / 9] * 9)
    assert found.parts["records above 0.1"] == pytest.approx(9 / 19)


def test_equal_records_share_their_link_one_to_one_unless_the_program_is_followed() -> None:
    """Two are alike: shared, each has its own with one half; otherwise a pairing is taken as it comes."""
    data = numbers(a=[1.0, 1.0, 5.0])
    shared = DistanceLinkage(links="one to one", ties="share").evaluate(data, data)
    taken = DistanceLinkage(links="one to one", ties="linked").evaluate(data, data)
    assert shared.by_record is not None
    assert taken.by_record is not None
    assert shared.by_record.tolist() == [0.5, 0.5, 1]
    assert set(taken.by_record.tolist()) <= {0.0, 1.0}


def test_a_key_is_not_confidential_besides() -> None:
    """Asked of town and pay, with the town as the key: the pay alone is looked at. Nothing but the key is nothing."""
    table = pa.table({"town": list("AABB"), "pay": [1.0, 2.0, 1.0, 1.0]})
    schema = Schema((Variable("town", "nominal", role="key"), Variable("pay")))
    data = Microdata.from_frame(table, schema)
    found = LDiversity(2, confidential=("town", "pay")).evaluate(data, data)
    assert found.parts == {"smallest, pay": 1.0}
    assert found.value == 0.5
    with pytest.raises(NotApplicable, match="to one of pay"):
        LDiversity(2, confidential=("town",)).evaluate(data, data)


@pytest.mark.parametrize(("keys", "said"), [(27, False), (28, True)])
def test_the_rule_of_thumb_of_suda_holds_for_up_to_27_keys(keys: int, said: bool) -> None:
    """1 + (8 - 28) / 20 is 0: from there on the exponent of the scores tells nothing."""
    columns = {f"k{i}": [0.0, 0.0, float(i == 0)] for i in range(keys)}
    data = numbers(**columns)
    found = SUDA2(size=1, variables=tuple(columns)).evaluate(data, data)
    assert any("does not hold for so many keys" in note for note in found.notes) == said
