"""Columns, ids and households as evidence, and trials of evidence, by hand."""

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato import Microdata, Schema, Variable, audit
from sfumato.auditing import proposals, targets
from sfumato.auditing.evidence import (
    Evidence,
    _constant,
    column,
    counting,
    household,
    id_names,
    ids,
    informative,
    rows,
)
from sfumato.auditing.matching import match
from sfumato.auditing.proposals import likely_sources
from sfumato.auditing.releases import columns_beside, releases_beside
from sfumato.auditing.targets import Ranks, Target, Values, categories, published_lesson, targets_of
from sfumato.auditing.trials import (
    best_of,
    read_off,
    screened,
    tried,
)


def table(columns: dict[str, Any], **special: Any) -> Microdata:
    return Microdata.from_frame(pd.DataFrame(columns), Schema(**special))


def test_a_column_is_codes_in_order_with_blanks_first() -> None:
    data = table({"pay": [30.0, np.nan, 10.0, 30.0], "town": ["B", "A", None, "B"]})
    pay = column(data, "pay")
    assert pay.codes.tolist() == [2, 0, 1, 2]
    assert pay.ordered
    assert pay.blank is not None
    assert pay.blank.tolist() == [False, True, False, False]
    town = column(data, "town", "where")
    assert not town.ordered
    assert town.shown == ("where",)
    assert town.codes[2] == 0
    assert town.codes.min() == 0
    assert len(set(town.codes.tolist())) == 3
    assert column(table({"pay": [1.0, 2.0]}), "pay").blank is None
    assert column(table({"pay": [1.0, 2.0]}), "pay").codes.tolist() == [1, 2]


def test_texts_that_are_written_as_dates_have_their_order() -> None:
    days = ["2020-03-01", "2019-12-24", "2020-01-15"]
    found = column(table({"day": [*days, None]}), "day")
    assert found.ordered
    assert found.codes.tolist() == [3, 1, 2, 0]
    assert not column(table({"day": [*days, "unknown"]}), "day").ordered
    late = [f"2020-01-{day:02}" for day in range(1, 25)]
    assert column(table({"day": late}), "day").ordered
    assert not column(table({"day": [*late, "zz"]}), "day").ordered  # the twenty looked at first are dates, not all


def test_what_varies_is_informative() -> None:
    assert informative(column(table({"x": [1.0, 1.0, 2.0]}), "x"))
    assert not informative(column(table({"x": [1.0, 1.0, 1.0]}), "x"))
    assert rows(table({"x": [5.0, 4.0]}), 3).codes.tolist() == [0, 1]
    assert rows(table({"x": [5.0, 4.0]}), 3).ordered


def test_columns_that_name_units() -> None:
    schema = Schema((Variable("name", "nominal", role="identifier"),), id="id", household="home", weight="w")
    data = Microdata.from_frame(
        pd.DataFrame({"id": ["a", "b"], "home": [1.0, 2.0], "name": ["x", "y"], "w": [1.0, 2.0], "pay": [1.0, 2.0]}),
        schema,
    )
    plain = table({"id": ["a", "b"], "pay": [1.0, 2.0], "home": [1.0, 2.0]})
    assert id_names(data, data) == ["id", "home", "name"]
    assert id_names(data, plain) == ["id", "home"]
    assert id_names(plain, data) == ["id", "home", "name"]
    assert id_names(plain, plain) == []


def test_an_id_tells_by_its_order_its_figures_and_its_first_characters() -> None:
    texts = ["A-10", "A-9", "B-2", "B-11"]
    found = list(ids(table({"id": texts}), "id", 3))
    assert [(one.shown[0], one.ties) for one in found] == [
        ("figures of id", False),
        ("first character of id", True),
        ("first 2 characters of id", True),
        ("id in alphabetical order", False),
    ]  # B-2, B-1 are four, more than half of the records
    assert found[0].codes.tolist() == [3, 2, 1, 4]
    assert found[1].codes.tolist() == [1, 1, 2, 2]
    assert found[3].codes.tolist() == [1, 2, 4, 3]
    assert [one.ordered for one in found] == [True, False, False, True]
    assert found[0].columns == ("id",)
    words = list(ids(table({"id": ["xa", "xb", None]}), "id", 3))
    assert [one.shown[0] for one in words] == ["id in alphabetical order"]
    assert words[0].blank is not None
    assert words[0].codes.tolist() == [1, 2, 0]
    numbers = list(ids(table({"id": [7.0, 3.0]}), "id", 3))
    assert [(one.shown, one.ties, one.apart) for one in numbers] == [(("id",), False, 3)]
    same = list(ids(table({"id": ["1", "2", "3", "4"]}), "id", 3))
    assert [one.shown[0] for one in same] == ["figures of id"]  # alphabetical order is the same


def test_a_text_of_which_most_records_have_their_own_is_looked_at_as_an_id() -> None:
    assert counting(table({"t": ["a", "b", "c", "c"]}), "t")
    assert not counting(table({"t": ["a", "a", "c", "c"]}), "t")  # half are no more than half
    assert counting(table({"t": ["a", "b", None, None]}), "t")
    assert not counting(table({"t": [1.0, 2.0, 3.0]}), "t")
    assert not counting(table({"t": ["2020-03-01", "2019-12-24", "2020-01-15"]}), "t")


def test_members_are_told_by_the_number_of_the_household_or_by_neighbouring_rows() -> None:
    home = [4.0, 4.0, np.nan, 7.0, np.nan]
    data = table({"home": home, "pay": [1.0, 2, 3, 4, 5]}, household="home")
    found, how = household(data, data, None) or (None, "")
    assert found is not None
    assert how == "the household id 'home'"
    assert found.codes[0] == found.codes[1]
    assert len(set(found.codes.tolist())) == 4  # who has no number is alone
    weights = table({"w": [2.0, 2, 3, 3, 3], "pay": [1.0, 2, 3, 4, 5]}, weight="w")
    found, how = household(weights, weights, None) or (None, "")
    assert found is not None
    assert how == "neighbouring rows alike in w"
    assert found.codes.tolist() == [0, 0, 1, 1, 1]
    for alike in ([2.0] * 5, [1.0, 2, 3, 4, 5]):  # one household of all, or none of two
        assert household(*(table({"w": alike, "pay": [1.0] * 5}, weight="w"),) * 2, None) is None
    assert household(table({"pay": [1.0]}), table({"pay": [1.0]}), None) is None
    # what is constant within the households of the original and was kept puts rows together too
    before = table({"home": [1.0, 1, 2, 2, 3], "roof": list("aabba"), "pay": [1.0, 2, 3, 4, 5]}, household="home")
    after = before.without(["home"])
    found, how = household(before, after, np.array([0, 0, 1, 1, 2])) or (None, "")
    assert found is not None
    assert how == "neighbouring rows alike in roof"
    assert found.codes.tolist() == [0, 0, 1, 1, 2]


def test_what_is_constant_within_households_and_not_throughout() -> None:
    units = np.repeat(np.arange(100), 2)
    inside = units % 7
    assert _constant(inside, units)
    assert not _constant(np.zeros(200, dtype=np.int64), units)
    assert not _constant(inside, np.arange(200))  # nobody lives together
    assert not _constant(np.arange(200) // 199, np.zeros(200, dtype=np.int64))  # all live together, and one differs
    one, two = inside.copy(), inside.copy()
    one[0] = 3  # one of a hundred households differs
    two[[0, 2]] = 3
    assert _constant(one, units)
    assert not _constant(two, units)
    order = np.random.default_rng(1).permutation(200)
    assert _constant(inside[order], units[order])


def removed(codes: Any, units: Any = None, *, asked: Any = None, told: Any = None) -> Target:
    """A category of which some values were blanked: of the others it is seen."""
    truth = np.asarray(codes, dtype=np.int64)
    published = np.where(np.asarray(asked), -1, truth) if told is None else np.asarray(told, dtype=np.int64)
    levels = np.array(list("abcdefgh"), dtype=object)
    cells = np.flatnonzero(truth != published)
    bands = (published >= 0).astype(np.int64)
    aim = Target("x", "as published", False, Values(truth, levels), Values(published, levels), bands, cells, True)
    return replace(aim, order=np.arange(len(truth)), units=units)


def test_a_sample_is_drawn_in_the_order_of_the_file() -> None:
    target = replace(removed([0] * 5, asked=[True] * 5), order=np.array([4, 2, 0, 3, 1]))
    assert target.sampled(np.array([0, 1, 3, 4]), 2).tolist() == [0, 4]
    assert target.sampled(np.array([0, 1, 3]), 3).tolist() == [0, 1, 3]


def test_a_twin_restores_all_and_a_constant_nothing() -> None:
    codes = np.tile([0, 1, 2, 3], 10)
    target = removed(codes, asked=np.arange(40) % 5 == 0)
    twin = tried(target, Evidence(("twin",), codes, ordered=False))
    assert twin.share == 1.0
    assert twin.answered.all()
    assert (twin.holds, twin.checked) == (1.0, 32)
    assert twin.usual == pytest.approx(8 / 32)  # each of four values for a quarter of the others
    assert twin.learnt_from_file
    wrong = tried(target, Evidence(("other",), np.zeros(40, dtype=np.int64), ordered=False))
    assert wrong.share == pytest.approx(0.25)
    silent = tried(target, Evidence(("own",), np.arange(40), ordered=False))  # shared by nobody: the guess is taken
    assert not silent.answered.any()
    assert silent.share == silent.guess
    assert silent.holds is None


def test_the_best_of_many_is_taken_and_its_competitors_counted() -> None:
    codes = np.tile([0, 1, 2, 3], 10)
    target = removed(codes, asked=np.arange(40) % 5 == 0)
    evidence = [
        Evidence(("half",), codes // 2, ordered=False),
        Evidence(("twin",), codes, ordered=False),
        Evidence(("none",), np.zeros(40, dtype=np.int64), ordered=False),
    ]
    best = best_of(target, evidence)
    assert best is not None
    assert (best.evidence.shown, best.tests, best.share) == (("twin",), 3, 1.0)
    assert [one.shown[0] for one, _ in screened(target, evidence)] == ["twin", "half", "none"]
    assert best_of(target, []) is None
    assert not target.screened


def test_large_tables_are_looked_through_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.tile([0, 1, 2, 3], 10)
    target = removed(codes, asked=np.arange(40) % 5 == 0)
    monkeypatch.setattr(targets, "SCREENED", (40, 8))
    assert not target.screened
    monkeypatch.setattr(targets, "SCREENED", (39, 8))
    assert target.screened
    monkeypatch.setattr(targets, "SCREENED", (40, 7))
    assert target.screened
    part, chosen = target.part(12, 5)
    cells = target.cells[:5].tolist()
    assert chosen.tolist() == sorted({*range(12), *cells})  # those first in random order, and five of those asked
    assert chosen[part.cells].tolist() == cells
    assert part.guess.values.tolist() == target.guess.values[:5].tolist()
    whole, everybody = target.part(40, 8)
    assert whole is target
    assert everybody.tolist() == list(range(40))
    fewer, everybody = target.part(40, 7)
    assert len(everybody) == 40
    assert len(fewer.cells) == 7
    with_units = removed(codes, np.repeat(np.arange(20), 2), asked=np.arange(40) % 5 == 0).part(12, 5)[0]
    assert with_units.units is not None
    assert with_units.units.tolist()[:4] == [0, 0, 1, 1]
    monkeypatch.setattr(targets, "MAX_TRIED_VALUES", 3)
    assert target.asked.tolist() == [0, 5, 10]


def test_answers_are_taken_as_they_stand() -> None:
    codes = np.tile([0, 1, 2, 3], 10)
    target = removed(codes, asked=np.arange(40) % 5 == 0)
    answers = np.where(np.arange(40) < 20, codes, -1)
    read = read_off(target, answers, "another release", parts=("x",))
    assert read.answered.tolist() == [True] * 4 + [False] * 4
    assert read.right[:4].all()
    assert read.evidence.columns == ("x",)
    assert read.evidence.shown == ("another release",)


def test_what_others_publish_teaches_and_ones_own_if_asked() -> None:
    aim = removed([0, 1, 2], told=[0, -1, 1])
    others = published_lesson(aim, own=False)
    assert others.learners.tolist() == [0, 2]
    assert others.own.tolist() == [0, 1, 2]
    assert published_lesson(aim, own=True).own.tolist() == [3, 3, 3]  # nobody is left out


def test_a_changed_category_is_judged_on_unchanged_ones_too() -> None:
    codes = np.tile([0, 1, 2, 3], 10)
    changed = codes.copy()
    changed[::5] = (codes[::5] + 1) % 4
    target = removed(codes, told=changed)
    assert target.unaware is not None
    assert target.unchanged.tolist() == [i for i in range(40) if i % 5]
    twin = tried(target, Evidence(("twin",), codes, ordered=False))
    assert twin.unchanged.tolist() == target.unchanged.tolist()
    assert twin.elsewhere.mean() == 1.0
    blank = replace(twin.evidence, blank=np.ones(40, dtype=bool))
    quiet = tried(target, blank)
    np.testing.assert_allclose(quiet.elsewhere, target.unaware[quiet.unchanged])


def test_numbers_met_exactly_by_the_commonest_ones() -> None:
    truth = np.array([5.0, 5.0, 6.0, 9.0, 7.0, 8.0])
    levels, codes = np.unique(truth, return_inverse=True)
    nothing = Values(np.full(6, -1), levels)
    ranks = Ranks.of(truth, 0.1)
    band = np.zeros(6, dtype=np.int64)
    target = Target("x", "as published", True, Values(codes, levels), nothing, band, np.arange(6), False, ranks)
    assert not target.guessed_exactly.any()  # a band of six is guessed by its median, 6.5
    assert target.guessable_exactly.tolist() == [True, True, False, False, False, False]


def test_categories_are_coded_by_how_common_they_are() -> None:
    found = categories(table({"t": ["B", "A", "C", "C", "C", "A", None]}), "t")
    assert [str(name) for name in found.levels] == ["C", "A", "B"]
    assert found.codes.tolist() == [2, 1, 0, 0, 0, 1, -1]
    tied = categories(table({"t": ["B", "A", "A", "B"]}), "t")
    assert tied.codes.tolist() == [0, 1, 1, 0]  # as common: which comes first in the file


def test_another_release_is_read_off_for_its_own_variables_alone() -> None:
    before = table({"id": list("wxyz"), "pay": [1.0, 2.0, 3.0, 4.0], "town": list("ABAB")}, id="id")
    here = before.take(np.array([2, 0, 1, 3]))
    matching = match(before, here)
    other = before.take(np.array([3, 2, 0])).replace({"pay": np.array([40.0, 30.0, 10.0])})
    notes: list[str] = []
    found = {one.name: one for one in columns_beside(before, matching, releases_beside(before, {"old": other}, notes))}
    assert set(found) == {"pay", "town"}
    assert not notes
    np.testing.assert_array_equal(found["pay"].values, [30.0, 10.0, np.nan, 40.0])  # in the order of this release
    assert found["town"].values.tolist() == ["A", "A", None, "B"]
    assert found["pay"].evidence.shown == ("pay of old",)
    assert found["pay"].evidence.codes[2] == 0
    assert 0 not in found["pay"].evidence.codes[[0, 1, 3]]
    changed = {"pay": np.full(4, np.nan), "town": np.full(4, -1, dtype=np.int32)}
    wanted = {aim.name: aim for aim in targets_of(here, here.replace(changed), 0.1)}
    pay = found["pay"].read_off(wanted["pay"])
    assert pay is not None
    np.testing.assert_array_equal(pay, [30.0, 10.0, np.nan, 40.0])
    town = found["town"].read_off(wanted["town"])
    assert town is not None
    assert [str(wanted["town"].truth.levels[code]) if code >= 0 else None for code in town] == ["A", "A", None, "B"]
    assert found["pay"].read_off(wanted["town"]) is None
    assert found["town"].read_off(wanted["pay"]) is None
    assert replace(found["pay"], name="town").read_off(wanted["town"]) is None  # a number is no category
    stranger = table({"pay": [5.0, 6.0]})
    assert columns_beside(before, matching, releases_beside(before, {"far": stranger}, notes)) == ()
    assert notes == ["far: its records cannot be linked to those of this release, so it tells nothing of them"]


def test_what_was_tried_on_a_sample_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("sfumato.auditing.audit")
    data = table({"a": np.arange(12.0), "t": list("ABCD") * 3})
    blank = data.replace({"t": np.where(np.arange(12) % 3 == 0, -1, data.columns["t"]).astype(np.int32)})
    monkeypatch.setattr(module, "MAX_TRIED_VALUES", 4)
    assert not any("were tried" in note for note in audit(data, blank).notes)
    monkeypatch.setattr(module, "MAX_TRIED_VALUES", 3)
    assert any("a random 3 were tried" in note for note in audit(data, blank).notes)


def test_likely_sources_are_columns_in_whose_order_neighbours_agree() -> None:
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 400)
    coin = rng.choice(list("ab"), 400)
    data = table({"age": age.astype(float), "cohort": [f"c{one // 25}" for one in age], "coin": coin})
    columns = {name: column(data, name) for name in data.names}
    found = likely_sources(data, columns, np.random.default_rng(1))
    assert found == {"age": [], "cohort": ["age"], "coin": []}
    twin = table({"age": age.astype(float), "born": 2020.0 - age})
    columns = {name: column(twin, name) for name in twin.names}
    assert likely_sources(twin, columns, np.random.default_rng(1)) == {"age": ["born"], "born": ["age"]}
    assert likely_sources(twin, {}, np.random.default_rng(1)) == {}


@pytest.mark.parametrize(("step", "likely"), [(9, True), (15, False)])
def test_numbers_agree_if_a_twentieth_of_the_records_at_most_lies_between(step: int, likely: bool) -> None:
    """Of 199 records that are 9.95. From each to the next in x, y goes on by the step, and begins anew at 199."""
    x = np.arange(199.0)
    data = table({"x": x, "y": x * step % 199})
    columns = {name: column(data, name) for name in data.names}
    found = likely_sources(data, columns, np.random.default_rng(1))
    assert found == {"x": [], "y": ["x"] if likely else []}  # in the order of y, x jumps by 22 or 53


def test_where_few_sources_are_tried_those_in_which_records_agree_most_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A band of eight: a copy tells it always, and a column in which a fifth is wrong less often."""
    band = np.arange(400) * 7 % 8
    wrong = np.where(np.arange(400) // 8 % 5 == 0, (band + 3) % 8, band)
    data = table({"nearly": [f"n{one}" for one in wrong], "band": band.astype(str), "copy": [f"c{b}" for b in band]})
    columns = {name: column(data, name) for name in data.names}
    monkeypatch.setattr(proposals, "MAX_PAIRS", 0)
    for fewest, sources in ((2, ["copy", "nearly"]), (1, ["copy"])):
        monkeypatch.setattr(proposals, "MIN_PAIRS_OF_COLUMN", fewest)
        assert likely_sources(data, columns, np.random.default_rng(1))["band"] == sources
    assert proposals.most_likely(5) == 1
    monkeypatch.setattr(proposals, "MAX_PAIRS", 12)
    assert [proposals.most_likely(number) for number in (0, 1, 5, 13)] == [12, 12, 2, 1]


def test_beginnings_of_ids_that_several_share_are_tried() -> None:
    """KA and KB have two of four each, half as many as there are records; K is shared by all, and KA1 by nobody."""
    found = [(one.shown[0], one.ties) for one in ids(table({"id": ["KA1", "KA2", "KB1", "KB2"]}), "id", 3)]
    assert found == [
        ("figures of id", False),
        ("first 2 characters of id", True),
        ("id in alphabetical order", False),
    ]
    longer = [one.shown[0] for one in ids(table({"id": [f"00000{i // 2}{i % 2}" for i in range(8)]}), "id", 3)]
    assert longer == ["figures of id", "first 6 characters of id"]  # six characters at most; the alphabet adds nothing
