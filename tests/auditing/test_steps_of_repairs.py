"""Single steps of repairs and of the routes that lead to them, on small tables by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.auditing import repairs, routes
from sfumato.auditing.evidence import Evidence
from sfumato.auditing.findings import Audit, Restored, Route
from sfumato.auditing.of_parts import SampleDesign
from sfumato.auditing.repairs import (
    COPY,
    Repair,
    _blank_together,
    _copies_of_weight,
    _cut,
    _different,
    _new_households,
    _repaired,
    _without_counts,
    _without_names,
    _Work,
    prepare,
    record_order,
)
from sfumato.auditing.routes import Setting, combined, joined
from sfumato.auditing.targets import Target, Values, targets_of
from sfumato.auditing.trials import tried

ROLES = (Variable("key", "nominal", role="key"), Variable("pay", role="confidential"))


def table(columns: dict[str, Any], *variables: Variable, **special: Any) -> Microdata:
    return Microdata.from_frame(pd.DataFrame(columns), Schema(variables, **special))


def inside(made: _Work) -> list[str]:
    return [repair.inside for repair in made.repairs]


def work(before: Microdata, after: Microdata, seen: SampleDesign | None = None) -> _Work:
    return _Work(before, after, None, seen)


def hidden(data: Microdata, name: str, rows: Any) -> Microdata:
    column = data.columns[name].copy()
    column[np.asarray(rows)] = np.nan if column.dtype.kind == "f" else -1
    return data.replace({name: column})


def restored(variable: str, *columns: str, share: float = 1.0, level: Any = "as published") -> Restored:
    return Restored(variable, level, columns, 10, share, share, 0.1, None, "the file", "restores", columns)


def survey() -> Microdata:
    columns = {
        "key": list("ABCD") * 5,
        "pay": np.arange(20.0) * 10,
        "twin": np.arange(20.0),
        "few": np.arange(20.0) % 3,
        "w": np.arange(20.0) + 1,
        "home": np.repeat(np.arange(10.0), 2),
    }
    return table(columns, *ROLES, weight="w", household="home")


def test_a_column_is_blank_where_it_tells_a_blank_value() -> None:
    data = survey()
    made = work(data, hidden(data, "pay", [1, 4, 7]))
    assert _cut(made, restored("pay", "twin")) == {"twin"}
    assert np.flatnonzero(made.table.missing("twin")).tolist() == [1, 4, 7]
    assert made.repairs == [
        Repair("blank", ("twin",), 3, "twin is blank where pay is, because it tells pay (3 values)")
    ]
    assert not made.left_out


def test_a_column_that_tells_half_of_the_records_is_left_out() -> None:
    data = survey()
    nine, ten = (work(data, hidden(data, "pay", np.arange(number))) for number in (9, 10))
    _cut(nine, restored("pay", "twin"))
    assert "twin" in nine.table.columns
    _cut(ten, restored("pay", "twin"))
    assert "twin" not in ten.table.columns
    assert ten.left_out == ("twin",)
    assert ten.columns("lost") == ()  # a copy is no loss
    less = work(data, hidden(data, "pay", np.arange(10)))
    _cut(less, restored("pay", "twin", share=COPY - 0.01))
    assert less.repairs == [Repair("lost", ("twin",), inside="twin is left out, because it tells pay")]


def test_of_several_columns_the_finest_that_is_free_goes() -> None:
    data = survey()
    made = work(data, hidden(data, "pay", [1, 4]))
    assert _cut(made, restored("pay", "few", "twin", "key")) == {"twin"}
    assert inside(made) == ["twin is blank where pay is, because with others it tells pay (2 values)"]
    assert _different(data, "few") == 3
    assert _different(hidden(data, "few", [0, 3, 6, 9, 12, 15, 18]), "few") == 2  # nobody shows a 0


def test_a_key_goes_only_if_it_is_a_copy() -> None:
    data = survey()
    blank = hidden(data, "pay", [1, 4])
    assert _cut(work(data, blank), restored("pay", "key", share=COPY - 0.01)) == set()
    assert _cut(work(data, blank), restored("pay", "key", share=COPY)) == {"key"}
    assert _cut(work(data, blank), restored("pay", "key", "key")) == set()  # two columns are no copy
    assert _cut(work(data, blank), restored("pay", "w")) == set()  # the weight has a repair of its own
    assert _cut(work(data, blank), restored("pay", "pay")) == set()
    coarse = work(data, blank)
    _cut(coarse, restored("pay", "twin", level="in full"))
    assert coarse.left_out == ("twin",)  # what was coarsened is told in all records
    parts = work(data, blank, SampleDesign())
    _cut(parts, restored("pay", "twin"))
    assert parts.left_out == ("twin",)  # nothing is blanked in tables in parts


def test_a_value_blank_for_one_member_is_blank_for_all() -> None:
    data = survey()
    made = work(data, hidden(data, "few", [2, 5]))
    assert _blank_together(made, ["few", "gone"]) == {"few"}
    assert np.flatnonzero(made.table.missing("few")).tolist() == [2, 3, 4, 5]
    assert inside(made) == ["few is blank for all members of a household if for one (2 values)"]
    assert _blank_together(made, ["few"]) == set()
    assert _blank_together(work(data, hidden(data, "few", [2]), SampleDesign()), ["few"]) == set()
    before = hidden(data, "few", [2])
    assert _blank_together(work(before, before), ["few"]) == set()  # it was blank in the original


def test_the_weight_under_another_name_is_found() -> None:
    data = survey()
    both = work(data, data)
    assert _copies_of_weight(both) == ["pay", "twin"]  # in the order of the weight, whatever the unit
    assert _copies_of_weight(work(data, data.without(["twin"]))) == ["pay"]
    assert _copies_of_weight(work(data, data.without(["w"]))) == []
    equal = data.replace({"w": np.full(20, 3.0), "few": np.full(20, 1.0)})
    assert _copies_of_weight(work(equal, equal)) == []
    turned = data.replace({"twin": data.columns["twin"][::-1].copy()})
    assert "twin" not in _copies_of_weight(work(turned, turned))


def test_copies_of_names_are_left_out_and_told_as_variables_that_are_missing() -> None:
    """A column that the original does not have is left out with them, but it is no variable of it that is missing."""
    names = [f"p{i}" for i in range(30)]
    columns = {"id": names, "label": names, "pay": np.arange(30.0) % 7}
    data, more = table(columns, id="id"), table({**columns, "also": names}, id="id")
    made = work(data, more)
    _without_names(made)
    assert made.table.names == ("pay",)
    words = "left out, for they name the units: id, label and also"
    assert made.repairs == [Repair("left out", ("label",), inside=words)]
    plain = work(data, data.without(["id", "label"]))
    _without_names(plain)
    assert plain.repairs == []


def test_households_get_new_numbers() -> None:
    data = hidden(survey(), "home", [0, 1])
    made = work(data, data)
    _new_households(made, seed=1, key="")
    fresh = made.table.columns["home"]
    assert np.isnan(fresh[:2]).all()
    assert sorted(set(fresh[2:].tolist())) == list(range(1, 10))
    assert (fresh[2::2] == fresh[3::2]).all()
    assert made.renewed == ("home",)
    again = work(data, data)
    _new_households(again, seed=1, key="other")
    assert not np.array_equal(again.table.columns["home"], fresh, equal_nan=True)
    parts = work(data, data, SampleDesign())
    _new_households(parts, seed=1, key="")
    assert parts.left_out == ("home",)
    none = work(data, data.without(["home"]))
    _new_households(none, seed=1, key="")
    assert none.repairs == []


def test_orders_of_releases_differ_by_name_and_seed() -> None:
    one = record_order(50, 1)
    assert np.array_equal(one, record_order(50, 1))
    assert sorted(one.tolist()) == list(range(50))
    assert not np.array_equal(one, record_order(50, 1, "other"))
    assert not np.array_equal(one, record_order(50, 2))


@pytest.mark.parametrize(
    ("blank", "keep", "parts", "result"),
    [
        (9, False, False, "blank"),
        (10, False, False, "left out"),
        (9, False, True, "left out"),
        (9, True, False, "kept"),
    ],
)
def test_the_number_of_a_household_that_counts_a_protected_size(
    blank: int, keep: bool, parts: bool, result: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = survey()
    rows = np.arange(20) < blank
    monkeypatch.setattr(repairs, "sizes_to_count", lambda original, protected: {"size": rows})
    made = work(data, data, SampleDesign() if parts else None)
    first, last = Repair("in words", public="one"), Repair("in words", public="two")
    made.repairs += [first, Repair("renumbered", ("home",), inside="new", public="numbers"), last]
    _without_counts(made, keep_households=keep)
    public = made.prepared().checked.public
    if result == "left out":
        assert made.renewed == ()
        assert public == ("one", "two")
        assert inside(made)[1] == "new"
        assert "home" not in made.table.columns
        assert made.columns("withheld") == ("home",)
        assert made.prepared().checked.altered == ("home",)
        assert made.left_out == ()
        return
    assert made.renewed == ("home",)
    assert public[:3] == ("one", "numbers", "two")
    assert np.array_equal(made.table.missing("home"), rows if result == "blank" else np.zeros(20, dtype=bool))
    assert inside(made)[3].startswith("home is blank" if result == "blank" else "home is kept")
    skipped = work(data, data)
    skipped.repairs.append(Repair("left out", ("size",)))
    _without_counts(skipped, keep_households=False)
    assert len(skipped.repairs) == 1


def alarms(*found: tuple[Any, Restored]) -> Audit:
    made = tuple(Route(name, one, (one,), repair="do") for name, one in found)
    return Audit(20, {"pay": 3}, made, 0.01, 0.1, "id", "bad")


def test_a_weight_that_gives_values_back_is_raked_unless_it_is_kept() -> None:
    data = survey().without(["twin"]).replace({"pay": np.tile([5.0, 1, 8, 2, 9], 4)})
    blank = hidden(data, "key", [1, 4, 7])
    made = work(data, blank)
    assert _repaired(made, alarms(("weight", restored("key", "w"))), data.weights(), keep_weights=False)
    assert made.renewed == ("w",)
    assert "raked anew" in inside(made)[-1]
    assert not np.array_equal(made.table.weights(), data.weights())
    assert made.table.weights().sum() == pytest.approx(data.weights().sum(), rel=0.01)
    kept = work(data, blank)
    assert not _repaired(kept, alarms(("weight", restored("key", "w"))), data.weights(), keep_weights=True)
    assert kept.renewed == ()
    parts = work(data, blank, SampleDesign())
    assert _repaired(parts, alarms(("weight", restored("key", "w"))), data.weights(), keep_weights=False)
    assert parts.left_out == parts.columns("lost") == ("w",)
    quiet = replace(restored("key", "w"), reading="luck")
    assert not _repaired(work(data, blank), alarms(("weight", quiet)), data.weights(), keep_weights=False)


def test_what_hangs_on_a_column_that_went_waits_for_the_next_audit() -> None:
    data = survey()
    made = work(data, hidden(data, "pay", [1, 4]))
    found = alarms(("columns", restored("pay", "twin")), ("combinations", restored("pay", "few", "twin")))
    assert _repaired(made, found, data.weights(), keep_weights=True)
    assert made.columns("blank") == ("twin",)
    both = work(data, hidden(data, "pay", [1, 4]))
    found = alarms(("columns", restored("pay", "twin")), ("columns", restored("pay", "few")))
    _repaired(both, found, data.weights(), keep_weights=True)
    assert both.columns("blank") == ("twin", "few")
    members = work(data, hidden(data, "few", [2]))
    assert _repaired(members, alarms(("household", restored("few", "home"))), data.weights(), keep_weights=True)
    assert members.table.missing("few")[3]


def test_a_table_whose_records_are_not_those_of_the_original_is_not_audited() -> None:
    data = survey()
    other = replace(data, matched=False)
    ready = prepare(data, other, seed=1)
    assert ready.checked.unaudited == "its records are not those of the original one by one"
    assert ready.checked.excused
    assert ready.order is not None
    assert prepare(data, other, seed=1, keep_order=True).order is None
    drawn = replace(data.take(np.arange(0, 20, 2)), drawn=np.arange(0, 20, 2))
    assert prepare(data, drawn, seed=1).checked.audit is not None
    audited = prepare(data, data, seed=1).checked
    assert audited.audit is not None
    assert not audited.excused


# ------------------------------------------------------------------------------------------------------- routes


def setting(size: int, near: float = 0.01) -> Setting:
    data = table({"x": np.arange(float(size)), "t": ["a", "b"] * (size // 2) + ["a"] * (size % 2)})
    return Setting(data, data, (), None, near, None, [])


@pytest.mark.parametrize(
    ("size", "near", "apart"), [(2, 0.01, 1), (20, 0.01, 5), (100, 0.01, 10), (3000, 0.01, 15), (100, 0.5, 25)]
)
def test_neighbours_in_the_file_lie_beyond_any_household(size: int, near: float, apart: int) -> None:
    assert setting(size, near).apart == apart


def test_columns_that_tell_nothing_are_no_evidence() -> None:
    data = table({"x": [1.0, 2, 3], "same": [4.0] * 3, "w": [1.0, 2, 3], "id": list("abc")}, weight="w", id="id")
    made = Setting(data, data, (), None, 0.01, None, [])
    assert [one.shown for one in made.columns] == [("x",)]


def test_why_a_route_is_not_tried() -> None:
    small = setting(2)
    assert routes.weight(small) == "the file has no survey weight"
    assert routes.order(small) == "there are fewer than three records"
    assert routes.order(setting(3)) == []
    assert routes.household(small) == "the file shows no households"
    assert routes.ids(small) == "the file has no id"
    assert routes.beside(small) == "no other release was given"
    assert routes.combinations_of(small) == "there are fewer than three columns with few different values"
    assert routes.sums(small) == "no protected variable is a sum or a product of other columns"
    equal = table({"w": [3.0, 3, 3]}, weight="w")
    assert routes.weight(Setting(equal, equal, (), None, 0.01, None, [])) == "all weights are equal"


def test_households_that_were_found_without_their_number_are_noted() -> None:
    """Weights 2, 2, 3, 3: neighbouring rows are taken for households, which is said if there was a number of them."""
    columns = {"w": [2.0, 2, 3, 3], "home": [1.0, 1, 2, 2], "pay": [1.0, 2, 3, 4]}
    named = table(columns, weight="w", household="home")
    unnamed = table({"w": columns["w"], "pay": columns["pay"]}, weight="w")

    def notes(before: Microdata, after: Microdata) -> list[str]:
        made = Setting(before, after, (), None, 0.01, None, [])
        assert isinstance(routes.household(made), str)  # nothing is protected
        return made.notes

    assert notes(named, named) == []
    assert notes(named, unnamed) == [
        "the file has no household id; households were found as neighbouring rows alike in w"
    ]
    assert notes(unnamed, unnamed) == []


def test_columns_are_joined_whatever_their_order() -> None:
    one = Evidence(("b",), np.array([0, 1, 0, 1]), ordered=True, blank=np.array([False, False, False, True]))
    two = Evidence(("a",), np.array([0, 0, 2, 2]), ordered=False)
    both = joined(one, two)
    assert both.shown == ("a", "b")
    assert both.codes.tolist() == joined(two, one).codes.tolist() == [0, 1, 4, 5]
    assert not both.ordered
    assert both.blank is not None
    assert both.blank.tolist() == [False, False, False, True]
    assert joined(two).blank is None
    wide = joined(replace(two, codes=np.array([0, 9, 2, 9])), one)
    # a x 2 + b is 0, 19, 4, 19: beyond four for each record, so they are numbered anew and tables by number stay small
    assert wide.codes.tolist() == [0, 2, 1, 2]
    just = joined(replace(two, codes=np.array([8, 0, 2, 0])), one)
    assert just.codes.tolist() == [16, 1, 4, 1]  # 16 is four times four


def either(size: int = 200) -> tuple[Target, list[Evidence]]:
    """A category that two coins tell together and none alone, a third of the coins telling nothing."""
    rng = np.random.default_rng(4)
    coins = [rng.integers(0, 2, size) for _ in range(4)]
    truth = coins[0] ^ coins[1]
    told = np.where(np.arange(size) % 5 == 0, -1, truth)
    levels = np.array(["no", "yes"], dtype=object)
    band = (told >= 0).astype(np.int64)
    cells = np.flatnonzero(told < 0)
    aim = Target("x", "as published", False, Values(truth, levels), Values(told, levels), band, cells, True)
    return replace(aim, order=np.arange(size)), [
        Evidence((name,), codes, ordered=False) for name, codes in zip("abcd", coins, strict=True)
    ]


def test_two_columns_tell_together_what_none_tells_alone() -> None:
    target, coins = either()
    found = combined(target, coins, 6)
    assert found is not None
    assert found.evidence.shown == ("a", "b")
    assert found.share == 1.0
    assert found.tests >= 6  # six pairs at least, and sets of three
    assert all(tried(target, one).share < 0.8 for one in coins)
    assert combined(target, coins[:1], 6) is None
    itself = Evidence(("x",), target.truth.codes, ordered=False)
    assert combined(target, [itself, coins[0]], 6) is None


def test_a_set_grows_while_a_further_column_tells_a_twentieth_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three columns are always tried; a fourth must restore more than .05 beyond them, and so on up to six."""
    target, _ = either(20)
    none = np.zeros(20, dtype=np.int64)
    small: dict[tuple[str, ...], Evidence] = {(name,): Evidence((name,), none, ordered=False) for name in "abcdefgh"}

    def widest(*shares: float) -> tuple[list[int], int]:
        by_size = dict(zip((3, 4, 5, 6, 7), shares, strict=False))
        monkeypatch.setattr(routes, "share", lambda part, one: by_size[len(one.shown)])
        found, tests = routes._widened(target, small, (0.5, ("a", "b")))
        return [len(shown) for _, shown in found], tests

    assert 0.5 + 0.25 + routes.MIN_GAIN_OF_COMBINING == 0.8  # so that the next is exactly a twentieth more
    assert widest(0.75, 0.8) == ([3], 6 + 5)  # six columns beside two, five beside three
    assert widest(0.75, 0.81, 0.85) == ([3, 4], 6 + 5 + 4)
    assert widest(0.4, 0.5, 0.6, 0.7, 0.8) == ([3, 4, 5, 6], 6 + 5 + 4 + 3)
    monkeypatch.setattr(routes, "share", lambda part, one: 0.5 + ("h" in one.shown) / 4)
    found, _ = routes._widened(target, small, (0.5, ("a", "b")))
    assert found == [(0.75, ("a", "b", "h"))]  # the best of six


def test_sums_are_read_off_what_is_published() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.integers(1, 999, 60).astype(float), rng.integers(1, 999, 60).astype(float)
    data = table({"one": one, "two": two, "all": one + two})
    blank = hidden(data, "all", np.arange(0, 60, 6))
    targets = tuple(replace(one, order=np.arange(60)) for one in targets_of(data, blank, 0.01))
    found = routes.sums(Setting(data, blank, targets, None, 0.01, None, []))
    assert not isinstance(found, str)
    assert (found[0].share, found[0].holds, found[0].checked) == (1.0, 1.0, 60)
    assert found[0].evidence.columns == ("one", "two")
    without = blank.without(["one"])
    assert isinstance(routes.sums(Setting(data, without, targets, None, 0.01, None, [])), str)


def test_a_relation_of_numbers_is_checked_on_those_it_answers() -> None:
    """Thirty codes, each of one amount and two records; one of every sixth is blank. Ten codes stand alone."""
    code = np.append(np.repeat(np.arange(30), 2), np.arange(30, 40))
    data = table({"code": code, "pay": code * 100.0})
    blank = hidden(data, "pay", np.arange(0, 60, 6))
    (target,) = (one for one in targets_of(data, blank, 0.01) if one.name == "pay" and one.number)
    found = tried(replace(target, order=np.arange(70)), Evidence(("code",), code, ordered=False))
    assert found.share == 1
    # of the 60 that show their amount, 40 have another of their code; 10 have one that is blank, 10 have none
    assert (found.holds, found.checked) == (1.0, 40)
