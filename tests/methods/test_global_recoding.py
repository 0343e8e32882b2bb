import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import (
    PRAM,
    GlobalRecoding,
    Hierarchy,
    Microdata,
    NotApplicable,
    ParameterError,
    Schema,
    Treatment,
    Variable,
    catalogue,
    household_survey,
    read,
    write,
)
from sfumato.table import bands
from sfumato.table.bands import equal_counts, labels
from tables import numbers, persons

LEVELS = ("primary", "secondary", "bachelor", "master")


def nominal(values: Sequence[str | None], name: str = "region") -> Microdata:
    return Microdata.from_frame(pa.table({name: pa.array(values, pa.string())}))


def ordinal(values: Sequence[str | None], levels: tuple[str, ...] = LEVELS) -> Microdata:
    schema = Schema((Variable("education", kind="ordinal", categories=levels),))
    return Microdata.from_frame(pa.table({"education": values}), schema)


def spelled(data: Microdata, name: str) -> list[object]:
    categories = data.schema[name].categories
    return [None if code < 0 else categories[code] for code in data.columns[name]]


# maps


def test_by_hand_a_map_merges_categories_and_leaves_those_it_does_not_name() -> None:
    data = nominal(["north", "south", None, "east", "west"])
    done = GlobalRecoding(map={"region": {"north": "N", "east": "N"}}).protect(data)
    assert spelled(done, "region") == ["N", "south", None, "N", "west"]
    variable = done.schema["region"]
    assert variable.kind == "nominal" and set(variable.categories) == {"N", "south", "west"}
    # every category is recorded, merged or not, so that a later step finds its way
    assert dict(variable.treatment.groups) == {"north": "N", "east": "N", "south": "south", "west": "west"}
    assert not variable.treatment.perturbed and variable.treatment.recoded


def test_ordinal_stays_ordered_and_groups_must_be_neighbours() -> None:
    data = ordinal(["master", "primary", "secondary", None, "bachelor"])
    done = GlobalRecoding(map={"education": {"bachelor": "tertiary", "master": "tertiary"}}).protect(data)
    assert done.schema["education"].categories == ("primary", "secondary", "tertiary")
    assert done.schema["education"].kind == "ordinal"
    assert spelled(done, "education") == ["tertiary", "primary", "secondary", None, "tertiary"]
    with pytest.raises(NotApplicable, match=r"GlobalRecoding: variable 'education' is ordinal, but 'low' would hold"):
        GlobalRecoding(map={"education": {"primary": "low", "master": "low"}}).protect(data)


def test_numbers_and_texts_in_one_variable_all_become_text_and_codes_match_their_text() -> None:
    schema = Schema((Variable("status", kind="nominal", labels=((1, "single"), (2, "married"), (3, "widowed"))),))
    data = Microdata.from_frame(pa.table({"status": [1, 2, 3, 2]}), schema)
    done = GlobalRecoding(map={"status": {"3": "other", 1: "other"}}).protect(data)
    assert spelled(done, "status") == ["other", "2", "other", "2"]
    assert done.schema["status"].spelled("2") == "married"  # the label of what stayed
    whole = GlobalRecoding(map={"status": {1: 9, 3: 9}}).protect(data)
    assert spelled(whole, "status") == [9, 2, 9, 2]


def test_a_category_that_is_not_there_is_refused_with_the_nearest() -> None:
    data = nominal(["north", "south"])
    with pytest.raises(
        NotApplicable, match=r"GlobalRecoding: map names 'nort', .* of variable 'region' \(did you mean"
    ):
        GlobalRecoding(map={"region": {"nort": "N"}}).protect(data)
    with pytest.raises(NotApplicable, match="no variable 'regoin'"):
        GlobalRecoding(map={"regoin": {"north": "N"}}).protect(data)
    with pytest.raises(NotApplicable, match=r"'x' is numeric, so it has no categories to map; give bins"):
        GlobalRecoding(map={"x": {1: "a"}}).protect(numbers(x=[1.0, 2.0]))


names = st.sampled_from(["a", "b", "c", "d", "e"])
maps = st.dictionaries(names, st.sampled_from(["a", "b", "e", "p", "q"]), min_size=1)


@given(st.lists(st.none() | names, min_size=1, max_size=30), maps, st.data())
def test_a_chain_of_maps_is_their_composition(
    values: list[str | None], first: dict[str, str], draw: st.DataObject
) -> None:
    data = nominal([*values, "a", "b", "c", "d", "e"])  # so that every category is known
    between = sorted({first.get(name, name) for name in "abcde"})
    second = draw.draw(st.dictionaries(st.sampled_from(between), st.sampled_from(["a", "p", "z"]), min_size=1))
    composed = {name: second.get(first.get(name, name), first.get(name, name)) for name in "abcde"}
    chained = (GlobalRecoding(map={"region": first}) + GlobalRecoding(map={"region": second})).protect(data)
    at_once = GlobalRecoding(map={"region": composed}).protect(data)
    assert spelled(chained, "region") == spelled(at_once, "region")
    recorded = dict(chained.schema["region"].treatment.groups)
    assert {name: recorded.get(name, name) for name in "abcde"} == composed


# classes of numbers


def test_by_hand_cut_points_widths_and_named_classes() -> None:
    data = numbers(age=[17.0, 18.0, 24.0, float("nan"), 64.0, 65.0])
    cut = GlobalRecoding(bins={"age": [18, 65]}).protect(data)
    assert spelled(cut, "age") == ["<18", "18-64", "18-64", None, "18-64", "65+"]
    assert cut.schema["age"].kind == "ordinal" and cut.schema["age"].treatment == Treatment(cuts=(18.0, 65.0))
    wide = GlobalRecoding(bins={"age": 10}).protect(data)
    assert spelled(wide, "age") == ["10-19", "10-19", "20-29", None, "60-69", "60-69"]
    assert wide.schema["age"].categories == ("10-19", "20-29", "30-39", "40-49", "50-59", "60-69")
    assert wide.schema["age"].treatment.cuts == (20, 30, 40, 50, 60)
    named = GlobalRecoding(bins={"age": {"old": [25, None], "young": [None, 25]}}).protect(data)
    assert spelled(named, "age") == ["young", "young", "young", None, "old", "old"]
    assert named.schema["age"].categories == ("young", "old") and named.schema["age"].treatment.cuts == (25,)


def test_classes_that_overlap_miss_values_or_are_none_are_refused() -> None:
    for bins, message in [
        ({"age": {"a": [0, 30], "b": [29, 50]}}, "'a' and 'b' overlap"),
        ({"age": {"a": [None, 30], "b": [None, 50]}}, "overlap"),
        ({"age": {"a": [30, 20], "b": [30, 50]}}, "name each class by its two ends"),
        ({"age": {"a": [0, 30]}}, "one class leaves nothing"),
        ({"age": [30, 20]}, "cut points that rise"),
        ({"age": []}, "cut points that rise"),
        ({"age": 0}, "a width above 0"),
        ({"age": "ten"}, "a width above 0"),
        ([30], "must be a dict by variable"),
    ]:
        with pytest.raises(ParameterError, match=rf"GlobalRecoding: bins.*{message}"):
            GlobalRecoding(bins=bins)  # type: ignore[arg-type]
    # as people write whole years: 18-24 and 25-34; but 24 is in neither, for the upper end is not in its class
    with pytest.raises(NotApplicable, match=r"bins of 'age' miss 1 values, the first 24 in row 2; a class holds"):
        GlobalRecoding(bins={"age": {"18-24": [18, 24], "25-34": [25, 35]}}).protect(numbers(age=[18.0, 24.0, 30.0]))
    with pytest.raises(NotApplicable, match="region' is nominal; bins are for numbers"):
        GlobalRecoding(bins={"region": 5}).protect(nominal(["a"]))
    with pytest.raises(NotApplicable, match=r"1,000,000 from the least .* widen them"):
        GlobalRecoding(bins={"x": 1e-6}).protect(numbers(x=[0.0, 1.0]))


def test_by_hand_labels() -> None:
    inf = float("inf")
    assert labels([-inf, 0, 5, inf], whole=True) == ("<0", "0-4", "5+")
    assert labels([-5, 0, 1, inf], whole=True) == ("-5 to -1", "0", "1+")
    assert labels([17.5, 24.5, inf], whole=True) == ("18-24", "25+")
    assert labels([0, 0.1, 0.2], whole=False) == ("[0, 0.1)", "[0.1, 0.2)")
    assert labels([-inf, -3, inf], whole=True) == ("<-3", ">=-3")
    assert labels([17.2, 17.8, 18], whole=True) == ("[17.2, 17.8)", "[17.8, 18)")  # no whole number in either


def test_widths_are_decimals_not_binary_fractions() -> None:
    done = GlobalRecoding(bins={"x": 0.1}).protect(numbers(x=[0.05, 0.3, 0.35]))
    assert spelled(done, "x") == ["[0, 0.1)", "[0.3, 0.4)", "[0.3, 0.4)"]  # 3 * 0.1 is 0.30000000000000004


# groups


def test_by_hand_groups_of_the_same_frequency() -> None:
    # 12 records, 3 groups: ideal boundaries after 4 and 8. Counts 5 1 1 1 4 reach 5, 6, 7, 8: nearest 5 and 8
    assert equal_counts(np.array([5, 1, 1, 1, 4]), 3) == [1, 4]
    # zeros are in no group of their own: 0 0 3 0 3 0 into 2 is one boundary, before the fifth
    assert equal_counts(np.array([0, 0, 3, 0, 3, 0]), 2) == [4]
    assert equal_counts(np.array([7]), 3) == []
    ages = numbers(age=[20.0] * 5 + [30.0, 31.0, 37.0] + [52.0] * 4)
    # cuts in (20, 30] and (37, 52]: the roundest numbers there
    assert GlobalRecoding(3).protect(ages).schema["age"].categories == ("<30", "30-49", "50+")


@given(st.lists(st.integers(0, 40), min_size=1, max_size=80), st.integers(2, 8))
def test_groups_hold_about_as_many_and_never_part_equal_values(values: list[int], groups: int) -> None:
    x = np.array(values, dtype=float)
    done = GlobalRecoding(groups).protect(numbers(x=x))
    distinct, counts = np.unique(x, return_counts=True)
    if len(distinct) <= groups:
        assert done.schema["x"].kind == "numeric" and np.array_equal(done.columns["x"], x)
        return
    codes = done.columns["x"]
    assert 2 <= len(set(codes)) <= groups and codes.max() + 1 == len(done.schema["x"].categories)
    assert all(len(set(codes[x == value])) == 1 for value in distinct)
    order = np.argsort(x, kind="stable")
    assert (np.diff(codes[order]) >= 0).all()
    # each boundary is within half the largest count of an ideal one
    reached = np.cumsum(np.bincount(codes))[:-1]
    ideal = len(x) * np.arange(1, groups) / groups
    assert all(np.abs(ideal - place).min() <= counts.max() / 2 for place in reached)
    again = GlobalRecoding(groups).protect(done)
    assert again.schema["x"] == done.schema["x"] and np.array_equal(again.columns["x"], codes)  # nothing left to do


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=40, unique=True), st.integers(2, 5), st.booleans())
def test_the_cuts_recorded_are_the_classes_published(values: list[float], groups: int, width: bool) -> None:
    x = np.array(values)
    done = GlobalRecoding(groups, by="width" if width else "frequency").protect(numbers(x=x))
    if done.schema["x"].kind == "numeric":
        return
    cuts = np.array(done.schema["x"].treatment.cuts)
    assert np.array_equal(done.columns["x"], np.searchsorted(cuts, x, side="right"))
    assert len(set(done.schema["x"].categories)) == len(cuts) + 1


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6))
def test_the_roundest_number_lies_between(below: float, more: float) -> None:
    upto = below + more
    if upto > below:
        assert below < bands.roundest(below, upto) <= upto


def test_by_hand_groups_of_the_same_width() -> None:
    # 0 to 100 in 4: cuts at 25, 50, 75, rounded to multiples of 5, the largest of 1, 2, 5, ... not above 25 / 5
    done = GlobalRecoding(4, by="width").protect(numbers(x=[0.0, 1.0, 2.0, 24.0, 25.0, 80.0, 100.0]))
    assert done.schema["x"].categories == ("<25", "25-49", "50-74", "75+")
    assert done.columns["x"].tolist() == [0, 0, 0, 0, 1, 3, 3]
    levels = tuple("abcdef")
    data = ordinal(list("abcdef"), levels)
    assert GlobalRecoding(3, by="width").protect(data).schema["education"].categories == ("a to b", "c to d", "e to f")


def test_ordinal_groups_are_named_by_their_ends_and_carry_labels() -> None:
    schema = Schema((Variable("level", kind="ordinal", labels=((1, "none"), (2, "some"), (3, "much"), (4, "all"))),))
    data = Microdata.from_frame(pa.table({"level": [1, 1, 2, 2, 3, 4]}), schema)
    done = GlobalRecoding(3).protect(data)
    variable = done.schema["level"]
    assert variable.categories == ("1", "2", "3 to 4") and variable.spelled("3 to 4") == "much to all"
    assert dict(variable.treatment.groups) == {1: "1", 2: "2", 3: "3 to 4", 4: "3 to 4"}


def test_merged_classes_of_a_number_record_the_cuts_that_are_left() -> None:
    data = numbers(age=[5.0, 15.0, 25.0, 35.0])
    chain = GlobalRecoding(bins={"age": 10}) + GlobalRecoding(map={"age": {"10-19": "10-29", "20-29": "10-29"}})
    done = chain.protect(data)
    assert done.schema["age"].categories == ("0-9", "10-29", "30-39")
    assert done.schema["age"].treatment == Treatment(cuts=(10.0, 30.0), ends=(0.0, 40.0))


# rare categories


def test_by_hand_rare_categories_become_other_until_other_is_not_rare() -> None:
    data = nominal(["a"] * 50 + ["b"] * 35 + ["c"] * 9 + ["d"] * 4 + ["e"] * 2)
    # below 5 of 100: d and e, together 6
    done = GlobalRecoding(rare=0.05).protect(data)
    assert done.schema["region"].categories == ("a", "b", "c", "other")
    assert np.bincount(done.columns["region"]).tolist() == [50, 35, 9, 6]
    # below 8: d and e, together 6, so c joins them
    assert GlobalRecoding(rare=0.08).protect(data).schema["region"].categories == ("a", "b", "other")
    # exactly that share is enough
    assert GlobalRecoding(rare=0.02).protect(data).schema["region"] == data.schema["region"]
    # of two categories one would be left
    flag = nominal(["yes"] * 97 + ["no"] * 3)
    assert GlobalRecoding(rare=0.05).protect(flag).schema["region"] == flag.schema["region"]


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_after_it_no_category_is_rare_and_doing_it_again_changes_nothing(values: list[str], rare: float) -> None:
    done = GlobalRecoding(rare=rare).protect(nominal(list(values)))
    counts = np.bincount(done.columns["region"])
    if done.schema["region"].treatment:
        assert (counts[counts > 0] >= rare * len(values) * (1 - 1e-9)).all() and np.count_nonzero(counts) >= 2
    again = GlobalRecoding(rare=rare).protect(done)
    assert spelled(again, "region") == spelled(done, "region")


def test_other_that_is_there_takes_the_rare_ones() -> None:
    data = nominal(["other"] * 40 + ["a"] * 58 + ["b"] * 2)
    done = GlobalRecoding(rare=0.05).protect(data)
    assert np.bincount(done.columns["region"]).tolist() == [58, 42]


# the whole


def test_it_recodes_the_keys_or_everything_where_no_key_is_stated() -> None:
    data = persons()
    done = GlobalRecoding(3, rare=0.15).protect(data)
    assert (
        set(done.schema["region"].categories) == {"north", "south", "other"}
        or len(done.schema["region"].categories) < 4
    )
    assert done.schema["age"].kind == "ordinal" and done.schema["income"].kind == "numeric"
    assert done.schema["health"] == data.schema["health"] and done.schema["age"].role == "key"
    bare = Microdata.from_frame(data.to_arrow())
    assert GlobalRecoding(3).protect(bare).schema["income"].kind == "ordinal"
    chosen = GlobalRecoding(3, variables=("income",)).protect(data)
    assert chosen.schema["income"].kind == "ordinal" and chosen.schema["age"] == data.schema["age"]
    with pytest.raises(NotApplicable, match=r"'region' is nominal; recode it with rare=0\.05, a map or a hierarchy"):
        GlobalRecoding(3, variables=("region",)).protect(data)


def test_parameters_that_contradict_each_other_are_refused() -> None:
    for make, message in [
        (lambda: GlobalRecoding(), "say how"),
        (lambda: GlobalRecoding(1), "groups must be a whole number of at least 2"),
        (lambda: GlobalRecoding(rare=5), r"rare must be in \(0, 1\]; got 5 \(did you mean 0\.05"),
        (lambda: GlobalRecoding(3, by="size"), "by must be one of"),  # type: ignore[arg-type]
        (lambda: GlobalRecoding(map={"a": {"x": "y"}}, bins={"a": 5}), "a: give a map, bins, a hierarchy or a share"),
        (lambda: GlobalRecoding(map={"a": {"x": "y"}}, variables=("a",)), "variables goes with groups or rare"),
        (lambda: GlobalRecoding(map={"a": {"x": None}}), "map of 'a' must be a dict"),
        (lambda: GlobalRecoding(map={"a": "b"}), "map of 'a' must be a dict"),  # type: ignore[dict-item]
    ]:
        with pytest.raises(ParameterError, match=rf"GlobalRecoding: {message}"):
            make()  # type: ignore[no-untyped-call]


def test_every_form_is_hashable_and_its_text_reads_back() -> None:
    for made in (
        GlobalRecoding(map={"status": {1: "x", "b": 2}}),
        GlobalRecoding(bins={"age": np.float64(5)}),
        GlobalRecoding(5, bins={"age": [18, 65], "x": {"low": [None, 0.5], "high": [0.5, None]}}, rare=0.1),
        GlobalRecoding(hierarchy={"region": {"Aix": ["south"], "Lille": ["north"]}, "age": [5, 10]}, level={"age": 2}),
        GlobalRecoding(hierarchy={"age": Hierarchy(widths=(5, np.inf)), "x": [[0.5, 2], []]}, level=2),
        GlobalRecoding(level={"age": 2, "region": 1}),
    ):
        assert catalogue.parse(repr(made)) == [made] and eval(repr(made)) == made
        assert hash(made) == hash(replace(made)) and pickle.loads(pickle.dumps(made)) == made
    assert repr(GlobalRecoding(map={"region": {"north": "N"}})) == "GlobalRecoding(map={'region': {'north': 'N'}})"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_recoded_file_is_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    done = GlobalRecoding(5, rare=0.05, bins={"income": 20_000}).protect(household_survey(60))
    write(done, tmp_path / f"survey.{suffix}")
    back = read(tmp_path / f"survey.{suffix}", done.schema)
    for name in ("age", "income", "occupation", "education"):
        assert back.schema[name].categories == done.schema[name].categories
        assert np.array_equal(back.columns[name], done.columns[name])


def test_the_weight_the_household_and_the_id_are_not_recoded() -> None:
    for name in ("weight", "household"):
        with pytest.raises(NotApplicable, match=f"GlobalRecoding: '{name}' is the {name} of the records"):
            GlobalRecoding(bins={name: 5}).protect(persons())
    with pytest.raises(NotApplicable, match="PRAM: 'id' is the id of the records"):
        PRAM(0.9, variables=("id",)).protect(persons())


def test_a_dict_is_written_on_the_command_line_as_in_python(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sfumato.cli import app

    source, target = tmp_path / "people.csv", tmp_path / "out.csv"
    source.write_text("region,age\nnorth,17\nsouth,40\neast,70\n")
    method = 'GlobalRecoding(map={"region": {"north": "N", "east": "N"}}, bins={"age": [18, 65]})'
    words = ["protect", "--keep-order", "--on-undeclared", "accept", "--method", method, "--out", str(target)]
    done = CliRunner().invoke(app, [*words, str(source)])
    assert done.exit_code == 0
    assert target.read_text().splitlines() == ["region,age", "N,<18", "south,18-64", "N,65+"]
