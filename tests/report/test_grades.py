"""One grade for each variable of a release: what the page says of a variable never contradicts itself."""

import re
from dataclasses import replace
from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.about import Effect
from sfumato.compare.examine.findings import Deed, FewLeft, PairUtility, ReleasedVariable, ReleaseFacts, VariableUtility
from sfumato.compare.examine.variables import utility_found
from sfumato.report.advice import TEXTS, TOPICS, advice_on
from sfumato.report.grades import (
    CHANGED,
    MAX_DISTANCE_AS_BEFORE,
    MIN_DISTANCE_APART,
    MUCH,
    SOME,
    changed_pairs,
    graded,
    is_untold,
)
from sfumato.report.page import render_markdown
from sfumato.report.release import NAMED, POINTS, release_of
from sfumato.report.summary import Release, Usefulness
from sfumato.utility.global_utility.bivariate import OUTCOMES

DEEDS: tuple[Deed, ...] = ("grouped", "ends coded", "rounded", "suppressed", "perturbed")


def released(name: str, missing: float = 0.0, **more: object) -> ReleasedVariable:
    return replace(ReleasedVariable(name, "", "nominal", (), missing, was="nominal"), **more)  # type: ignore[arg-type]


def useful(name: str, distance: float | None = 0.0) -> VariableUtility:
    return VariableUtility(name, name, "chi-squared", 0.5, 1.0, 1.0, distance, (0.0, 0.0))


def pair(first: str, second: str, outcome: str, effect: float | None = 0.2, **more: object) -> PairUtility:
    kept = outcome in ("as before", "no association in either")
    found = PairUtility(
        first, second, (first, second), "", 0.5, 0.5, (0.0, 0.0), float(kept), effect, reason=outcome, outcome=outcome
    )
    return replace(found, **more)  # type: ignore[arg-type]


def usefulness(variables: list[VariableUtility], pairs: list[PairUtility]) -> Usefulness:
    return Usefulness(
        0.5, {}, "The distributions of all are close to the original.", tuple(variables), tuple(pairs), (), (), ()
    )


@st.composite
def releases(draw: st.DrawFn) -> Release:
    names = [f"v{i}_" for i in range(draw(st.integers(1, 7)))]
    share = st.sampled_from([0.0, 0.01, SOME, 0.1, MUCH, 0.7, 1.0])
    variables = tuple(
        released(
            name,
            draw(share),
            done=tuple(draw(st.lists(st.sampled_from(DEEDS), unique=True, max_size=3))),
            missing_before=draw(share),
            same=draw(st.booleans()),
            was=draw(st.sampled_from(["numeric", "nominal"])),
        )
        for name in names
    )
    distances = st.sampled_from([None, 0.0, 0.01, MAX_DISTANCE_AS_BEFORE, 0.05, MIN_DISTANCE_APART, 0.9])
    figures = [useful(name, draw(distances)) for name in names if draw(st.booleans())]
    outcomes = st.sampled_from(OUTCOMES[:-1])
    pairs = [
        pair(
            a,
            b,
            draw(outcomes),
            draw(st.sampled_from([None, 0.0, 0.3])),
            utility=draw(st.sampled_from([None, 0.0, 0.3, 1.0])),
            left=draw(st.sampled_from([None, 0.5, 1.0])),
        )
        for a, b in combinations(names, 2)
    ]
    return release_of(None, ReleaseFacts(100, variables, ()), usefulness(figures, pairs))


@given(releases())
def test_a_page_never_says_of_one_variable_that_it_is_as_before_and_to_be_avoided(release: Release) -> None:
    grades = {v.name: v for v in release.variables}
    avoided = {name for point in release.avoid for name in point.variables}
    assert avoided == {name for name, v in grades.items() if v.grade == "not for"}
    for name in avoided:
        assert grades[name].use.startswith("not for ")
    for v in grades.values():
        if v.grade in ("as before", "coarser"):
            assert v.use.startswith("use ") and "not for" not in v.use and "care" not in v.use
    for (
        changed
    ) in release.changed:  # the one that suffered is avoided; the other one says so, or the first is all alone
        ends = {changed.first, changed.second}
        guilty = [name for name in ends if name in avoided]
        assert guilty
        for name in ends - avoided:
            (other,) = guilty
            assert "any association" in grades[other].use or other in grades[name].use or "others" in grades[name].use


@given(releases())
def test_a_page_uses_one_set_of_words_and_is_short(release: Release) -> None:
    text = render_markdown("external.md.j2", name="x", release=release)
    for banned in ("close to the original", "as in the original", "relied on and", "should not be relied on", "None"):
        assert banned not in text
    assert len(release.avoid) <= POINTS
    rows = [line for line in text.splitlines() if re.match(r"\| v\d", line)]
    assert len(rows) == len(release.variables)
    grades = [v.grade for v in release.worst_first]
    assert grades == sorted(grades, key=["not for", "with care", "coarser", "as before", "not compared"].index)


@given(releases())
def test_unordered_categories_never_point_anywhere(release: Release) -> None:
    text = render_markdown("external.md.j2", name="x", release=release)
    assert "reversed" not in text and "points the other way" not in text and "direction" not in text


@pytest.mark.parametrize(
    ("variable", "distance", "grade", "use"),
    [
        (released("x", same=True), None, "as before", "use as before"),
        (released("x"), 0.019, "as before", "use as before"),
        (released("x", done=("grouped",)), 0.0, "coarser", "use in classes"),
        (released("x", done=("ends coded",)), 0.0, "coarser", "use as before, without the extremes"),
        (released("x"), 0.02, "with care", "use with care: its shares and quantiles are a little off"),
        (released("x", 0.05), 0.0, "with care", "use with care: some of its values are blank"),
        (released("x", 0.30, missing_before=0.26), 0.0, "as before", "use as before"),  # was so in the data
        (released("x", 0.20), 0.0, "not for", "not for its distribution, because much of it is missing"),
        (released("x", done=("grouped",)), 0.1, "not for", "not for its distribution; otherwise in classes"),
        (released("x"), None, "not compared", "could not be compared with the original"),
    ],
)
def test_grades_by_hand(variable: ReleasedVariable, distance: float | None, grade: str, use: str) -> None:
    (one,) = graded([variable], {"x": useful("x", distance)}, [])
    assert (one.grade, one.use) == (grade, use)


def test_many_pairs_are_one_point_and_the_one_that_was_changed_is_named() -> None:
    names = [f"v{i}" for i in range(15)]
    variables = [released("region"), *(released(name, same=True) for name in names)]
    lost = [pair("region", name, "association lost") for name in names]
    kept = [pair(a, b, "as before") for a, b in combinations(names, 2)]
    figures = [useful(v.name) for v in variables]
    facts = ReleaseFacts(100, tuple(variables), ())
    release = release_of(None, facts, usefulness(figures, lost + kept))
    assert [point.text for point in release.avoid] == ["Associations of region with any other variable."]
    assert {v.grade for v in release.variables[1:]} == {"as before"} and len(release.changed) == 15
    assert release.statement.endswith("105 of 120 pairs of variables hang together much as they did.")
    single = release_of(
        None, facts, usefulness(figures, [*lost[:1], *(replace(p, outcome="as before") for p in lost[1:]), *kept])
    )
    assert [point.text for point in single.avoid] == ["Associations of region with v0."]
    assert single.variables[1].use == "use as before, but not together with region"


def test_points_beyond_the_sixth_are_one() -> None:
    names = [f"v{i}" for i in range(20)]
    pairs = [
        pair(a, b, "pattern changed" if b == f"v{int(a[1:]) + 10}" else "as before") for a, b in combinations(names, 2)
    ]
    release = release_of(
        None, ReleaseFacts(9, tuple(map(released, names)), ()), usefulness([useful(n) for n in names], pairs)
    )
    assert len(release.avoid) == POINTS and len(release.changed) == 10
    assert len(release.avoid[-1].variables) == 5 and "which the list of pairs names" in release.avoid[-1].text
    assert len(release.avoid[-1].variables) <= NAMED


def test_a_pair_that_lost_records_alone_is_not_changed() -> None:
    # half of its records are gone, so that the utility is halved; the strength is nine tenths of what it was
    assert changed_pairs([pair("a", "b", "weaker", utility=0.45, left=0.5)]) == ()
    assert changed_pairs([pair("a", "b", "weaker", utility=0.45)])[0].what == "much weaker"
    assert changed_pairs([pair("a", "b", "weaker", 0.005, utility=0.1)]) == ()
    assert changed_pairs([pair("a", "b", "no longer testable", None)])[0].what == "cannot be analysed"


def test_what_is_not_known_of_a_pair_is_neither_kept_nor_changed() -> None:
    # classes beside a nominal variable take another test than the numbers did: how far apart is not known
    untold = [pair("a", "b", "association introduced", None), pair("a", "c", "pattern unknown", None, utility=0.4)]
    known = pair("b", "c", "as before")
    assert [is_untold(p) for p in (*untold, known)] == [True, True, False] and changed_pairs(untold) == ()
    facts = ReleaseFacts(9, tuple(map(released, "abc")), ())
    release = release_of(None, facts, usefulness([useful(n) for n in "abc"], [*untold, known]))
    assert release.statement.endswith(
        "1 of 3 pairs of variables hang together much as they did; 2 could not be compared."
    )


def test_words_for_every_outcome_that_is_a_loss() -> None:
    fine = {"as before", "no association in either", "not comparable", "pattern unknown", "removed"}
    assert set(CHANGED) == set(OUTCOMES) - fine


def test_every_effect_of_a_method_has_its_advice() -> None:
    from sfumato.catalogue import methods

    effects = {cls.about.effect for cls in methods().values()} - {None}
    assert effects == set(TEXTS) == set(TOPICS) == set(get_args(Effect))


def test_advice_only_where_it_applies() -> None:
    assert advice_on([released("x", same=True)], ()) == ()
    (gaps,) = advice_on([released("x", 0.1, done=("suppressed",))], ())
    assert gaps.topic == "Missing values" and "not missing at random" in gaps.text and "collected" not in gaps.text
    # of records drawn anew more may be missing, though nothing was left blank
    made = advice_on([released("x", 0.1, done=())], (sfumato.NormalSynthesis(),))
    assert [one.topic for one in made] == ["Made-up records"]
    (both,) = advice_on([released("x", 0.3, done=("suppressed",), missing_before=0.1)], ())
    assert "blank in the data as they were collected" in both.text
    topics = [a.topic for a in advice_on([released("x", done=DEEDS, was="numeric", missing=0.1)], (sfumato.PRAM(0.9),))]
    assert topics == [
        "Missing values",
        "Bands",
        "Extreme values",
        "Rounded values",
        "Changed values",
        "Categories changed at random",
    ]


def test_weights_are_spoken_of_only_where_the_file_has_them() -> None:
    blank, steps = [released("x", 0.1, done=("suppressed",))], (sfumato.Sampling(0.5), sfumato.WeightMasking("classes"))
    without, with_them = advice_on(blank, steps), advice_on(blank, steps, weighted=True)
    assert [advice.topic for advice in without] == ["Missing values", "A part of the records"]
    assert "Weighted" not in without[0].text and "Use the weights" not in without[1].text
    assert [advice.topic for advice in with_them] == [
        "Missing values",
        "A part of the records",
        "Survey weights changed",
    ]
    assert "Weighted counts" in with_them[0].text and "Use the weights" in with_them[1].text


def test_weights_that_are_all_equal_now_are_said_to_weigh_nothing() -> None:
    steps = (sfumato.WeightMasking("margins"),)
    for one_left, said in ((False, "differ a little"), (True, "All records have the same survey weight")):
        weight = replace(released("w", done=("perturbed",)), one_left=one_left)
        texts = [advice.text for advice in advice_on([weight], steps, weighted=True, weight="w")]
        assert said in texts[-1]


def test_a_real_release_says_nothing_twice() -> None:
    data = sfumato.household_survey(150)
    method = sfumato.GlobalRecoding(groups=5, rare=0.05) + sfumato.LocalSuppression(3) + sfumato.RankSwapping(0.2)
    protected = method.protect(data, rng=1)
    from sfumato.compare.examine.facts import release_facts
    from sfumato.report.grades import arranged

    told = utility_found(sfumato.GlobalDataUtility(deletion="charged").evaluate(data, protected))
    assert told is not None
    release = release_of(method, release_facts(data, protected), arranged(told))
    avoided = {name for point in release.avoid for name in point.variables}
    assert avoided and {v.name for v in release.variables if v.use.startswith("use ")} & avoided == set()
    assert release.advice[0].topic == "Missing values"
    assert "Values exchanged between records" in {a.topic for a in release.advice}


def test_a_variable_with_few_classes_left_is_told_so_to_its_users() -> None:
    few = FewLeft(16, 2, 0.2, ("Mazowieckie", "other"))
    found = VariableUtility("region", "region", "", 0.5, 1.0, None, 0.0, (0.0, 0.0))
    known = replace(ReleasedVariable("region", "", "nominal", ("grouped",), 0.0), few_left=few)
    (one,) = graded((known,), {"region": found}, ())
    assert one.use == "use in its 2 broad classes only"
