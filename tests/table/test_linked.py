"""Linked variables: they follow what is done to their sources, and never tell more of them than these do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato import (
    PRAM,
    CARTSynthesis,
    GlobalRecoding,
    LocalSuppression,
    Method,
    Microdata,
    Noise,
    NotApplicable,
    RankSwapping,
    Rounding,
    Sampling,
    Schema,
    TopBottomCoding,
    Variable,
    VariableRemoval,
)
from sfumato.pair import Half
from sfumato.table.linked import followed, left_out_by_links
from sfumato.table.present import made_missing

LINKED = Schema(
    (
        Variable("group", "ordinal", categories=("10s", "20s", "30s", "40s", "50s"), linked="age"),
        Variable("cohort", linked="age"),
        Variable("place", "nominal", linked="region"),
        Variable("stratum", "nominal", linked=["region", "group"]),
        Variable("net", linked=["gross", "tax"]),
    )
)
PLACES = {"N": "North", "S": "South", "E": "East"}


def table(ages: Sequence[int], regions: Sequence[str], schema: Schema = LINKED) -> Microdata:
    """A survey of which five columns follow from four others; it was made in 2020."""
    groups = [f"{age // 10}0s" for age in ages]
    gross = [1000 + 37 * i % 901 for i in range(len(ages))]
    tax = [13 * i % 97 for i in range(len(ages))]
    return Microdata.from_frame(
        pa.table(
            {
                "age": ages,
                "group": groups,
                "cohort": [2020 - age for age in ages],
                "region": regions,
                "place": [PLACES[region] for region in regions],
                "stratum": [f"{region} {group}" for region, group in zip(regions, groups, strict=True)],
                "gross": gross,
                "tax": tax,
                "net": [g - t for g, t in zip(gross, tax, strict=True)],
            }
        ),
        schema,
    )


def values(data: Microdata, name: str) -> list[Any]:
    return list(data.to_arrow()[name].to_pylist())


AGES = [18, 22, 25, 29, 31, 34, 38, 41, 45, 52] * 2
SURVEY = table(AGES, ["N", "S", "E", "N", "S"] * 4)


def test_bands_of_the_source_put_linked_values_together() -> None:
    # 15-29 holds 10s and 20s; 30-44 holds 30s and 40s; 45-59 holds 40s and 50s, so 30s to 50s hang together
    found = GlobalRecoding(bins={"age": 15}).protect(SURVEY)
    assert found.schema["group"].categories == ("10s to 20s", "30s to 50s")
    assert values(found, "group")[:10] == ["10s to 20s"] * 4 + ["30s to 50s"] * 6
    # cohorts of 15-29, 30-44 and 45-59 as they occur: 1991-2002, 1979-1989, 1968-1975; cut at the roundest between
    assert found.schema["cohort"].kind == "ordinal"
    assert found.schema["cohort"].treatment.cuts == (1976.0, 1990.0)
    assert len({(a, c) for a, c in zip(values(found, "age"), values(found, "cohort"), strict=True)}) == 3
    # a stratum is a region and a group, and the group has become one of two
    strata = {(r, g, s) for r, g, s in zip(*(values(found, n) for n in ("region", "group", "stratum")), strict=True)}
    assert len(strata) == len({(r, g) for r, g, _ in strata}) == 6
    assert any(note.startswith("group follows age, to which it is linked: its 5 values") for note in found.notes)
    for name in ("region", "place", "gross", "tax", "net"):
        assert values(found, name) == values(SURVEY, name)


def test_a_copy_is_merged_as_its_source() -> None:
    found = GlobalRecoding(map={"region": {"N": "NE", "E": "NE"}}).protect(SURVEY)
    assert set(found.schema["place"].categories) == {"East or North", "South"}
    assert dict(zip(values(found, "region"), values(found, "place"), strict=True)) == {
        "NE": "East or North",
        "S": "South",
    }
    assert set(found.schema["stratum"].treatment.groups) >= {("N 20s", "E 20s or N 20s"), ("S 20s", "S 20s")}


def test_a_copy_keeps_the_words_for_its_codes() -> None:
    codes = {"N": 1, "S": 2, "E": 3}
    schema = Schema((Variable("c", "nominal", labels=((1, "north"), (2, "south"), (3, "east")), linked="region"),))
    rows = pa.table({"region": ["N", "S", "E", "N"], "c": [codes[r] for r in "NSEN"]})
    found = GlobalRecoding(map={"region": {"N": "NE", "E": "NE"}}).protect(Microdata.from_frame(rows, schema))
    assert values(found, "c") == ["1 or 3", "2", "1 or 3", "1 or 3"]
    assert dict(found.schema["c"].labels) == {"1 or 3": "north or east", "2": "south"}


def test_a_linked_value_is_missing_where_its_source_is() -> None:
    hidden = np.arange(20) % 7 == 0
    found = followed(SURVEY, made_missing(SURVEY, {"age": hidden, "region": np.arange(20) == 3}))
    assert found.missing("group").tolist() == found.missing("cohort").tolist() == hidden.tolist()
    assert found.missing("stratum").tolist() == (hidden | (np.arange(20) == 3)).tolist()
    assert found.missing("place").tolist() == (np.arange(20) == 3).tolist()
    assert found.schema["cohort"].treatment.suppressed == 3
    assert [v for v in values(found, "cohort") if v] == [2020 - v for v in values(found, "age") if v]
    assert not found.missing("net").any()


def test_what_goes_takes_along_what_is_linked_to_it() -> None:
    found = VariableRemoval(variables=("age",)).protect(SURVEY)
    assert found.names == ("region", "place", "gross", "tax", "net")
    assert "stratum is left out, because it is linked to group, which is left out" in found.notes
    with pytest.raises(NotApplicable, match="'place' is linked to 'region' and would go with it; nothing would be"):
        VariableRemoval(variables=("region",)).protect(SURVEY.without(set(SURVEY.names) - {"region", "place"}))


def test_what_links_take_away_is_told_from_what_is_removed_for_its_own_sake() -> None:
    gone = VariableRemoval(variables=("age",)).protect(SURVEY)
    assert set(left_out_by_links(SURVEY, gone)) == {"group", "cohort", "stratum"}
    assert left_out_by_links(SURVEY, VariableRemoval(variables=("cohort", "net")).protect(SURVEY)) == ()
    assert left_out_by_links(SURVEY, SURVEY) == ()
    data = Microdata.from_frame(
        pa.table({"age": [18, 18, 30, 41] * 10, "score": [1.0, 2.5, 2.0, 7.0] * 10}),
        Schema((Variable("score", linked="age"),)),
    )
    assert left_out_by_links(data, Noise(0.3).protect(data, rng=1)) == ("score",)


@pytest.mark.parametrize("method", [Noise(0.3), RankSwapping(0.5), Rounding(10, variables=("age", "gross"))], ids=repr)
def test_a_sum_is_computed_anew(method: Method) -> None:
    found = method.protect(SURVEY, rng=1)
    assert (found.columns["age"] != SURVEY.columns["age"]).any()
    np.testing.assert_allclose(found.columns["cohort"], 2020 - found.columns["age"], rtol=1e-12)
    np.testing.assert_allclose(found.columns["net"], found.columns["gross"] - found.columns["tax"], atol=1e-9)


def test_what_was_coded_at_the_top_is_coded_at_the_bottom_of_what_falls_with_it() -> None:
    found = TopBottomCoding(top={"age": 40}).protect(SURVEY)
    done = found.schema["cohort"].treatment
    assert (done.bottom, done.top, done.perturbed) == (1980, None, False)
    assert values(found, "cohort")[6:10] == [1982, 1980, 1980, 1980]
    # 41 and 45 are in the forties, 52 is not: what was coded together is named together
    assert values(found, "group")[6:10] == ["30s", *["40s to 50s"] * 3]


def test_swapped_categories_are_looked_up() -> None:
    found = PRAM(0.4, variables=("region",)).protect(SURVEY, rng=3)
    assert values(found, "place") == [PLACES[region] for region in values(found, "region")]
    assert found.schema["place"].treatment.perturbed


def test_what_cannot_be_computed_is_left_out() -> None:
    # 18 twice, with two scores: no function of age
    data = Microdata.from_frame(
        pa.table({"age": [18, 18, 30, 41] * 10, "score": [1.0, 2.5, 2.0, 7.0] * 10}),
        Schema((Variable("score", linked="age"),)),
    )
    found = Noise(0.3).protect(data, rng=1)
    assert found.names == ("age",)
    assert found.notes[-1] == "score is left out, because it is linked to age, whose values were changed"
    # put into tens, 18, 30 and 41 stay apart: the two scores of 18 go together, with the 2 that lies between them
    banded = GlobalRecoding(bins={"age": 10}).protect(data)
    assert values(banded, "score")[:4] == ["<5", "<5", "<5", ">=5"]


def test_exceptions_are_made_missing_and_do_not_put_all_together() -> None:
    ages = np.repeat(np.arange(20, 60), 25)
    groups = np.array([f"{age // 10}0s" for age in ages])
    groups[::100] = np.roll(groups, 500)[::100]  # one record in a hundred does not fit
    data = Microdata.from_frame(
        pa.table({"age": ages, "group": groups}), Schema((Variable("group", "nominal", linked="age"),))
    )
    found = GlobalRecoding(bins={"age": 20}).protect(data)
    assert set(found.schema["group"].categories) == {"20s or 30s", "40s or 50s"}
    assert int(found.missing("group").sum()) == 10
    assert "10 values that do not fit are missing" in found.notes[-1]


def test_a_chain_follows_once_at_its_end() -> None:
    method = GlobalRecoding(bins={"age": 5}) + GlobalRecoding(map={"region": {"N": "NE", "E": "NE"}})
    found = method.protect(SURVEY)
    follows = [note for note in found.notes if "linked" in note]
    assert len(follows) == len({note.split()[0] for note in follows})
    assert followed(SURVEY, found).notes == found.notes, "doing it twice is doing it once"


def test_a_variable_masked_by_name_follows_all_the_same() -> None:
    masked = GlobalRecoding(groups=2, variables=("age", "cohort")).protect(SURVEY)
    pairs = set(zip(values(masked, "age"), values(masked, "cohort"), strict=True))
    assert len(pairs) == len({age for age, _ in pairs}) == 2, "the cohort tells nothing that the age does not"


def test_a_sample_follows_by_what_was_done_to_its_sources() -> None:
    found = (Sampling(0.5) + GlobalRecoding(bins={"age": 15})).protect(SURVEY, rng=1)
    assert len(found) == 10
    for source, name in (("age", "group"), ("age", "cohort")):
        pairs = set(zip(values(found, source), values(found, name), strict=True))
        assert len(pairs) == len({one for one, _ in pairs})
    assert values(Sampling(0.5).protect(SURVEY, rng=1), "cohort") == [
        2020 - age for age in values(Sampling(0.5).protect(SURVEY, rng=1), "age")
    ]


def test_synthetic_records_follow_too() -> None:
    found = CARTSynthesis().protect(table(AGES * 10, ["N", "S", "E", "N", "S"] * 40), rng=1)
    assert values(found, "cohort") == [2020 - age for age in values(found, "age")]
    assert values(found, "place") == [PLACES[region] for region in values(found, "region")]


def test_no_member_of_a_household_shows_what_another_lost() -> None:
    # the district is one for the household, and the doctor of each member has it in the name
    rows = pa.table(
        {
            "home": [1, 1, 2, 2, 3, 3],
            "district": ["A", "A", "B", "B", "A", "A"],
            "doctor": ["A1", "A2", "B1", "B1", "A1", "A3"],
        }
    )
    schema = Schema((Variable("district", "nominal", linked="doctor"),), household="home")
    data = Microdata.from_frame(rows, schema)
    found = followed(data, made_missing(data, {"doctor": np.array([True, False, False, False, False, False])}))
    assert found.missing("district").tolist() == [True, True, False, False, False, False]


@pytest.mark.parametrize("method", [LocalSuppression(3), PRAM(0.5, variables=("region",)), Sampling(0.5)], ids=repr)
def test_what_follows_is_one_for_a_household_as_its_source_is(method: Method) -> None:
    survey = sfumato.household_survey(300)
    frame = survey.to_arrow().append_column("place", pa.array([r.upper() for r in values(survey, "region")]))
    place = Variable("place", "nominal", linked="region")
    data = Microdata.from_frame(frame, replace(survey.schema, variables=(*survey.schema.variables, place)))
    found = method.protect(data, rng=2)
    rows = list(zip(*(values(found, name) for name in ("household", "region", "place")), strict=True))
    assert all(place == (region and region.upper()) for _, region, place in rows)
    assert len({(home, place) for home, _, place in rows}) == len({home for home, _, _ in rows})


def test_a_table_that_links_nothing_is_the_same_object() -> None:
    data = table(AGES, ["N", "S", "E", "N", "S"] * 4, Schema())
    masked = made_missing(data, {"age": np.arange(20) == 1})
    assert followed(data, masked) is masked
    assert repr(Variable("age")).endswith("level=None)"), "the fingerprint of a table without links is as it was"
    assert SURVEY.fingerprint != Microdata.from_frame(SURVEY.to_arrow(), _unlinked(SURVEY.schema)).fingerprint


def _unlinked(schema: Schema) -> Schema:
    return replace(schema, variables=tuple(replace(variable, linked=()) for variable in schema))


# nobody can tell more


@st.composite
def surveys(draw: st.DrawFn) -> Microdata:
    """Two sources of few values, and linked variables that follow from them, for some records not."""
    n = draw(st.integers(6, 40))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    age, region = rng.integers(0, 12, n), rng.integers(0, 4, n)
    to_text, to_number = rng.integers(0, draw(st.integers(2, 6)), 12), rng.integers(0, draw(st.integers(2, 9)), 12)
    odd = rng.random(n) < draw(st.sampled_from([0.0, 0.1]))
    text = np.where(odd, rng.integers(0, 6, n), to_text[age])
    both = to_text[age] * 4 + region
    gaps = rng.random((3, n)) < draw(st.sampled_from([0.0, 0.15]))
    columns = {
        "age": [None if gap else int(a) for a, gap in zip(age, gaps[0], strict=True)],
        "region": [None if gap else "abcd"[r] for r, gap in zip(region, gaps[1], strict=True)],
        "text": ["uvwxyz"[t] for t in text],
        "number": [None if gap else float(to_number[a]) for a, gap in zip(age, gaps[2], strict=True)],
        "rank": [int(t) for t in text],
        "both": [f"k{b}" for b in both],
    }
    schema = Schema(
        (
            Variable("age", "numeric", "key"),
            Variable("region", "nominal", "key"),
            Variable("text", "nominal", linked="age"),
            Variable("number", linked="age"),
            Variable("rank", "ordinal", categories=tuple(range(6)), linked="age"),
            Variable("both", "nominal", linked=("region", "age")),
        )
    )
    frame = pa.table(
        {
            "age": pa.array(columns["age"], pa.int64()),
            "region": pa.array(columns["region"], pa.string()),
            "text": columns["text"],
            "number": pa.array(columns["number"], pa.float64()),
            "rank": columns["rank"],
            "both": columns["both"],
        }
    )
    return Microdata.from_frame(frame, schema)


MASKS: list[Method] = [
    GlobalRecoding(bins={"age": 5}),
    GlobalRecoding(bins={"age": [3, 4, 9]}),
    GlobalRecoding(map={"region": {"a": "ab", "b": "ab"}}),
    GlobalRecoding(groups=2),
    LocalSuppression(3),
    GlobalRecoding(bins={"age": 3}) + LocalSuppression(2),
    TopBottomCoding(top={"age": 8}),
    VariableRemoval(variables=("age",)),
    VariableRemoval(variables=("region",)) + GlobalRecoding(bins={"age": 4}),
    Rounding(4, variables=("age",)),
    Noise(0.5, variables=("age",)),
    PRAM(0.5, variables=("region",)),
]


@settings(max_examples=150, deadline=None)
@given(surveys(), st.sampled_from(MASKS))
def test_the_linked_value_tells_nothing_of_the_source_that_the_source_does_not_tell(
    data: Microdata, method: Method
) -> None:
    """By a plain loop over records: who knows the linked value too is left with the same original values."""
    try:
        found = method.protect(data, rng=0)
    except NotApplicable:
        return
    for variable in data.schema.links():
        gone = [source for source in variable.linked if source not in found.schema]
        if variable.name not in found.schema:
            continue
        assert not gone
        truth = list(zip(*(values(data, source) for source in variable.linked), strict=True))
        shown = list(zip(*(values(found, source) for source in variable.linked), strict=True))
        linked = values(found, variable.name)
        for record, published in enumerate(shown):
            lost = any(y is None and x is not None for x, y in zip(truth[record], published, strict=True))
            if linked[record] is None:
                continue
            assert not lost, "a linked value stands where its source was taken away"
            if not any(value is not None for value in published):
                continue  # the original has no value there, so there is nothing to tell
            alone = {truth[i] for i, other in enumerate(shown) if other == published}
            both = {
                truth[i] for i, other in enumerate(shown) if other == published and linked[i] in (linked[record], None)
            }
            if not method.about.random:
                assert both == alone, (variable.name, record)
            if any(other == published != truth[i] for i, other in enumerate(shown)):
                others = {linked[i] for i, other in enumerate(shown) if other == published} - {None}
                assert len(others) == 1, "the linked value can be told from the published one"


@settings(max_examples=50, deadline=None)
@given(surveys(), st.sampled_from(MASKS))
def test_following_twice_is_following_once_and_the_result_can_be_measured(data: Microdata, method: Method) -> None:
    try:
        found = method.protect(data, rng=0)
    except NotApplicable:
        return
    again = followed(data, found)
    assert again.schema == found.schema
    assert all(
        np.array_equal(again.columns[n], found.columns[n], equal_nan=n in ("age", "number")) for n in found.names
    )
    assert again.notes == found.notes
    Half.of(found)
