"""Short names of candidates and what a method does in words."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato import (
    MDAV,
    PRAM,
    GlobalRecoding,
    LocalSuppression,
    Noise,
    RankSwapping,
    Rounding,
    TopBottomCoding,
    WeightMasking,
)
from sfumato.about import MethodAbout
from sfumato.catalogue import default_grid, methods
from sfumato.compare.candidates import compose
from sfumato.compare.naming import MAX_NAME_LENGTH, in_words, short_names
from sfumato.core import Method
from sfumato.table.microdata import Microdata

NAMES = ("age", "region", "income", "a_variable_with_quite_a_long_name", "another_variable_with_a_long_name", "x")


def _names(candidates: Sequence[Method]) -> dict[str, str]:
    return short_names({repr(method): method for method in candidates})


class Blur(Method):
    """A method that no catalogue knows."""

    about = MethodAbout(title="Blurring of pictures", source="none", missing="stays", random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        return data


variables = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True).map(tuple)
shares = st.sampled_from((0.01, 0.05, 0.1, 0.25))
single = st.one_of(
    st.sampled_from([method for cls in methods().values() for method in default_grid(cls)]),
    st.builds(MDAV, st.integers(2, 12), variables=variables),
    st.builds(Noise, shares, variables=variables),
    st.builds(RankSwapping, shares, variables=variables),
    st.builds(Rounding, st.one_of(shares, st.dictionaries(st.sampled_from(NAMES), shares, min_size=1))),
    st.builds(TopBottomCoding, shares, ends=st.sampled_from(("top", "both")), variables=variables),
    st.builds(PRAM, shares, variables=variables),
    st.builds(GlobalRecoding, st.integers(2, 9), rare=st.none() | shares, variables=st.none() | variables),
    st.builds(GlobalRecoding, bins=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(((3, 9), 5)), min_size=1)),
    st.builds(LocalSuppression, st.integers(2, 9), variables=st.none() | variables),
    st.builds(
        LocalSuppression, st.integers(2, 9), importance=st.dictionaries(st.sampled_from(NAMES), shares, min_size=1)
    ),
    st.builds(Blur, variables=variables),
)


def _chained(steps: Sequence[Method]) -> Method:
    made = steps[0]
    for step in steps[1:]:
        made = made + step
    return made


candidates = st.lists(st.lists(single, min_size=1, max_size=6).map(_chained), max_size=12, unique_by=repr)


@given(candidates, st.randoms(use_true_random=False))
def test_names_are_short_and_unique_and_the_order_does_not_matter(found: list[Method], shuffle: random.Random) -> None:
    names = _names(found)
    assert list(names) == [repr(method) for method in found]
    assert len(set(names.values())) == len(found)
    assert all(0 < len(name) <= MAX_NAME_LENGTH for name in names.values())
    for method in found:
        assert names[repr(method)] == repr(method) or len(repr(method)) > MAX_NAME_LENGTH
    shuffle.shuffle(found)
    assert _names(found) == names


@given(st.lists(single, min_size=1, max_size=6).map(_chained))
def test_one_sentence_says_what_any_method_does(method: Method) -> None:
    told = in_words(method)
    assert told[0] == told[0].upper() and told.endswith(".") and ".." not in told
    assert "None" not in told and "{" not in told and "(variables" not in told


def test_names_tell_candidates_apart_by_what_differs() -> None:
    keys, amounts = ("age", "education", "household_size"), ("income", "wealth", "rent", "savings")
    fine = GlobalRecoding(7, variables=keys)
    coarse = GlobalRecoding(3, variables=keys)
    found = [
        recoding + LocalSuppression(k) + then
        for recoding in (coarse, fine)
        for k in (3, 5)
        for then in (MDAV(5, variables=amounts), RankSwapping(0.05, variables=amounts))
    ]
    assert list(_names(found).values()) == [
        "coarse 2 · suppress k=3 · MDAV 5",
        "coarse 2 · suppress k=3 · rank swap 5 %",
        "coarse 2 · suppress k=5 · MDAV 5",
        "coarse 2 · suppress k=5 · rank swap 5 %",
        "coarse 1 · suppress k=3 · MDAV 5",
        "coarse 1 · suppress k=3 · rank swap 5 %",
        "coarse 1 · suppress k=5 · MDAV 5",
        "coarse 1 · suppress k=5 · rank swap 5 %",
    ]


def test_what_two_names_would_hide_is_added() -> None:
    amounts = ("income", "wealth", "rent", "savings")
    found = [MDAV(5, variables=amounts), MDAV(5, variables=amounts[:3]), MDAV(5, variables=("household_income",))]
    told = ["MDAV 5 (4 variables)", "MDAV 5 (3 variables)", "MDAV 5 (household_income)"]
    assert list(_names(found).values()) == told
    alike = [MDAV(5, variables=(letter * 50,)) for letter in "ab"]
    assert list(_names(alike).values()) == ["MDAV 5", "MDAV 5 (2)"]


def test_short_reprs_and_labels_of_tables_stay() -> None:
    swapped = RankSwapping(0.05, variables=("income", "wealth", "savings"))
    told = short_names({"MDAV(k=3)": MDAV(3), "theirs.csv": None, "rank swap 5 %": None, repr(swapped): swapped})
    assert told["MDAV(k=3)"] == "MDAV(k=3)"
    assert told["theirs.csv"] == "theirs.csv"
    assert told["rank swap 5 %"] == "rank swap 5 %"  # a file by that name: the method gives way
    assert told[repr(swapped)] == "rank swap 5 % (3 variables)"
    assert short_names({"one": MDAV(3), "two": MDAV(3)}) == {"one": "MDAV(k=3)", "two": "MDAV(k=3) (2)"}
    assert short_names({}) == {}


@pytest.mark.parametrize("bound", ["KAnonymity", "Linkability"])
def test_composed_candidates_have_names_without_numbers_in_brackets(bound: str) -> None:
    survey = sfumato.household_survey(700)
    measure = {"KAnonymity": sfumato.KAnonymity(), "Linkability": sfumato.Linkability()}[bound]
    names = _names([one.method for one in compose(survey, [measure], {bound: 0.0})])
    assert not any("(" in name or "…" in name for name in names.values()), names


def test_a_sentence_names_variables_and_how_coarse_they_become() -> None:
    chain = (
        GlobalRecoding(bins={"age": (20, 30, 40, 50, 60)})
        + GlobalRecoding(2, rare=0.1, variables=("urbanity", "region"))
        + LocalSuppression(3, importance={"sex": 3, "age": 3})
        + TopBottomCoding(0.01, ends="top", by="mean", variables=("income", "wealth"))
        + Rounding(100, variables=("income", "wealth"))
    )
    schema = sfumato.household_survey(20).schema
    rest = (
        "; key values are blanked where fewer than 3 records look alike, sex and age last; the largest 1 % of income "
        "and wealth are replaced by their mean; these are rounded to multiples of 100."
    )
    bands = "Age is given in 6 bands of 10 (<20 to 60+), urbanity "
    assert in_words(chain) == f"{bands}and region in fewer categories{rest}"
    assert in_words(chain, schema) == f"{bands}in 2 groups, region with the smallest categories merged{rest}"
    assert in_words(Blur(variables=("x",))) == "Blurring of pictures is applied to x."


def test_a_heading_has_the_name_that_a_column_cuts() -> None:
    first = GlobalRecoding(5, rare=0.1) + LocalSuppression(3) + TopBottomCoding(0.01, variables=("income", "age"))
    steps = first + RankSwapping(0.05) + PRAM(0.9) + WeightMasking("classes")
    several = {repr(one): one for one in (steps, steps + Noise(0.1), GlobalRecoding(3) + Noise(0.2))}
    cut, whole = short_names(several), short_names(several, whole=True)
    assert [name.partition("…")[0] for name in cut.values()] == [
        "coarse 1 · k=3 · ends · rank swap · PRA",
        "coarse 1 · k=3 · ends · rank swap ·",
        "coarse 2 · noise 0.2 sd",
    ]
    assert list(whole.values()) == [
        "coarse 1 · k=3 · ends · rank swap · PRAM · weights",
        "coarse 1 · k=3 · ends · rank swap · PRAM · weights · noise 0.1 sd",
        "coarse 2 · noise 0.2 sd",
    ]
