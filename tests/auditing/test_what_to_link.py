"""What determines what: entropies, copies, questions asked of some, sources ranked, each by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.auditing import proposals as module
from sfumato.auditing.evidence import column
from sfumato.auditing.proposals import Dependency, _entropy, _naming, _Search, dependencies
from sfumato.auditing.routes import joined
from sfumato.auditing.trials import tried
from sfumato.table.describe import Behaviour


def table(columns: dict[str, Any], *variables: Variable, **special: Any) -> Microdata:
    return Microdata.from_frame(pd.DataFrame(columns), Schema(variables, **special))


def search(data: Microdata, *naming: str) -> _Search:
    return _Search(data, frozenset(naming), np.random.default_rng(1))


def proposed(data: Microdata, **more: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.name, one.sources) for one in dependencies(data, found=(), **more).found]


def ages(size: int = 240, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"age": rng.integers(18, 78, size).astype(float), "coin": rng.choice(list("ht"), size)}


def test_entropy_in_bits() -> None:
    assert _entropy(np.array([0, 0, 1, 1])) == 1.0
    assert _entropy(np.array([0, 1, 2, 3])) == 2.0
    assert _entropy(np.array([0, 0, 0, 1])) == pytest.approx(0.8112781)  # .75 log2(4/3) + .25 x 2
    assert _entropy(np.zeros(5, dtype=np.int64)) == 0.0


def test_a_dependency_in_words() -> None:
    band = Dependency("band", ("age",), holds=0.95, tells=0.4)
    assert not band.copy
    assert band.line == 'linked = "age"'
    assert band.sentence == "age tells it in 95.0% of the records, and it tells 40% of age"
    two = Dependency("stratum", ("sex", "town"), holds=1.0, tells=0.95)
    assert not two.copy
    assert two.sentence == "sex and town tell it in 100.0% of the records, and it tells them"
    assert Dependency("twin", ("age",), holds=0.95, tells=0.95).copy
    assert not Dependency("twin", ("age",), holds=0.95, tells=0.9).copy
    assert not Dependency("twin", ("age",), holds=0.9, tells=0.95).copy
    total = Dependency("sum", ("a", "b"), holds=0.99, tells=0.5, formula="a + b")
    assert total.sentence == "sum = a + b, in 99.0% of the records"


def test_a_band_follows_the_age_and_a_copy_the_first() -> None:
    columns = ages()
    banded = table({**columns, "band": [f"b{int(age) // 20}" for age in columns["age"]]})
    assert proposed(banded) == [("band", ("age",))]
    assert proposed(table({**columns, "born": 2020 - columns["age"]})) == [("born", ("age",))]
    keyed = table({**columns, "born": 2020 - columns["age"]}, Variable("born", role="key"))
    assert proposed(keyed) == [("age", ("born",))]  # a key is the source of what is none
    linked = table({**columns, "born": 2020 - columns["age"]}, Variable("born", linked=("age",)))
    assert proposed(linked) == []
    assert proposed(table(columns)) == []


def test_twenty_records_say_something_and_fewer_nothing() -> None:
    columns = {"age": np.arange(20.0) // 2, "born": 2020 - np.arange(20.0) // 2}
    data = table(columns)
    assert dependencies(data, found=()).looked == 20
    assert dependencies(data.take(np.arange(19)), found=()).looked == 0


def test_long_tables_are_looked_through_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ages()
    data = table({**columns, "born": 2020 - columns["age"]})
    monkeypatch.setattr(module, "MAX_RECORDS_READ", 100)
    found = dependencies(data, found=())
    assert (found.records, found.looked) == (240, 100)
    assert [one.name for one in found.found] == ["born"]


def test_columns_that_name_units_are_left_aside() -> None:
    home = np.repeat(np.arange(30.0), 4)
    data = table({"home": home, "loose": home[np.random.default_rng(2).permutation(120)], "no": np.arange(120.0)})
    said = [Behaviour("home", "household", ""), Behaviour("loose", "household", ""), Behaviour("no", "id", "")]
    assert _naming(data, said) == {"home", "no"}  # members of "loose" do not stand together
    assert set(search(data, "home", "no").columns) == {"loose"}
    apart = list(search(data, "home", "no").apart())
    assert apart == ["home, no: names records or households, so it determines what these have; not linked"]
    assert list(search(data).apart()) == []


def test_many_columns_are_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table({name: np.arange(30.0) % (3 + i) for i, name in enumerate("abcd")})
    monkeypatch.setattr(module, "MAX_VARIABLES", 4)
    whole = search(data)
    assert len(whole.columns) == 4
    assert whole.notes == []
    monkeypatch.setattr(module, "MAX_VARIABLES", 3)
    cut = search(data)
    assert list(cut.columns) == ["a", "b", "c"]
    assert cut.notes == ["looked through: the first 3 of 4 variables"]
    monkeypatch.setattr(module, "MAX_COMBINED_VARIABLES", 2)
    assert cut._first(["a", "b"], lambda name: name, "numbers") == ["a", "b"]
    assert cut._first(["c", "b", "a"], lambda name: name, "numbers") == ["b", "a"]
    assert cut.notes[-1] == "looked through: 2 of 3 numbers"


def test_sources_rank_by_role_and_place() -> None:
    roles = Variable("k", role="key"), Variable("c", role="confidential")
    data = table({name: [1.0] * 30 for name in "ock"}, *roles)
    made = search(data)
    assert sorted(["o", "c", "k"], key=made._rank) == ["k", "c", "o"]
    plain = search(table({"b": [1.0] * 30, "a": [1.0] * 30}))
    assert plain._rank("b") < plain._rank("a")  # as they stand


def test_what_tells_more_comes_before() -> None:
    columns = ages()
    data = table({"band": [f"b{int(age) // 20}" for age in columns["age"]], **columns, "twin": columns["age"] + 1})
    made = search(data)
    assert made._before("age", "band")  # finer
    assert not made._before("band", "age")
    assert made._before("age", "twin")  # as fine, and first
    assert not made._before("twin", "age")
    assert made._copies({"age": {"twin": 1.0}, "twin": {"age": 1.0}, "band": {}}) == {"twin": "age"}
    assert made._copies({"age": {"band": 1.0}, "twin": {}, "band": {}}) == {}


def test_how_much_of_its_sources_a_variable_tells() -> None:
    data = table({"four": list("abcd") * 10, "two": list("aabb") * 10, "one": list("abab") * 10})
    made = search(data)
    assert made._tells("two", ["four"]) == pytest.approx(0.5)  # one bit of two
    assert made._tells("four", ["two", "one"]) == 1.0
    assert made._tells("four", ["two"]) == 1.0  # at most all
    assert made._tells("two", ["two", "one"]) == pytest.approx(0.5)


def test_a_question_asked_of_some_determines_nothing() -> None:
    """Rent is missing for owners: that a rent is there tells that somebody rents, and nothing besides."""
    rng = np.random.default_rng(3)
    rents = np.arange(200) % 2 == 0
    rent = np.where(rents, rng.lognormal(6, 1, 200).round(2), np.nan)
    zero = np.where(rents, rng.lognormal(6, 1, 200).round(2), 0.0)
    data = table(
        {
            "rent": rent,
            "paid": zero,
            "tenure": np.where(rents, "rents", "owns"),
            "x": rng.integers(0, 4, 200).astype(float),
        }
    )
    made = search(data)
    for source in ("rent", "paid"):
        trial = tried(made.targets["tenure"], made.columns[source])
        assert made._asked_of_some(trial) == True  # noqa: E712
    told = table(
        {"town": [None if i < 20 else "ABCD"[i % 4] for i in range(200)], "area": [f"r{i % 4}" for i in range(200)]}
    )
    other = search(told)
    assert not other._asked_of_some(tried(other.targets["area"], other.columns["town"]))  # beyond having a value
    whole = search(table({"a": list("abcd") * 20, "b": list("wxyz") * 20}))
    assert not whole._asked_of_some(tried(whole.targets["b"], whole.columns["a"]))


def test_two_determine_what_none_does() -> None:
    rng = np.random.default_rng(5)
    town, sex = rng.choice(list("ABCD"), 300), rng.choice(list("fm"), 300)
    data = table({"town": town, "sex": sex, "stratum": np.char.add(town, sex), "coin": rng.choice(list("ht"), 300)})
    found = dict(proposed(data))
    assert set(found["stratum"]) == {"town", "sex"}
    assert "town" not in found
    assert "coin" not in found


def test_a_total_is_the_sum_of_its_parts() -> None:
    rng = np.random.default_rng(6)
    parts = {name: rng.integers(1, 9_999, 200).astype(float) for name in "abc"}
    total = table({**parts, "all": parts["a"] + parts["b"] + parts["c"]})
    assert proposed(total) == [("all", ("a", "b", "c"))]
    found = dependencies(total, found=()).found[0]
    assert found.formula == "a + b + c"
    assert found.holds == 1.0


@pytest.mark.parametrize(("number", "linked"), [(8, True), (9, False)])
def test_a_sum_of_up_to_eight_parts_is_proposed(number: int, linked: bool) -> None:
    rng = np.random.default_rng(8)
    parts = {f"p{i}": rng.integers(1, 9_999, 120).astype(float) for i in range(number)}
    found = proposed(table({**parts, "all": np.sum(list(parts.values()), axis=0)}))
    assert found == ([("all", tuple(parts))] if linked else [])


def test_the_coarsest_source_that_does_as_well() -> None:
    """Of month and town a season follows: quarter, which the month determines, does as well."""
    rng = np.random.default_rng(7)
    month, town = rng.integers(0, 12, 400), rng.integers(0, 4, 400)
    quarter = month // 3
    data = table(
        {
            "month": month.astype(float),
            "quarter": [f"q{q}" for q in quarter],
            "town": [f"t{t}" for t in town],
            "cell": [f"{(q * 7 + t * 5) % 16}" for q, t in zip(quarter, town, strict=True)],
        }
    )
    made = search(data)
    both = tried(made.targets["cell"], joined(made.columns["month"], made.columns["town"]))
    assert both.share == 1.0
    chosen = made._coarsest(both, {"quarter": {"month": 1.0}, "town": {}, "month": {}})
    assert chosen.evidence.shown == ("quarter", "town")


def test_no_circle_and_one_proposal_for_each() -> None:
    data = table({name: np.arange(30.0) for name in "abc"})
    ranked = [
        Dependency("a", ("b",), 1.0, 1.0),
        Dependency("b", ("a",), 1.0, 1.0),  # closes a circle
        Dependency("a", ("c",), 1.0, 1.0),  # a second one
        Dependency("b", ("c",), 1.0, 1.0),
    ]
    kept = search(data)._without_circles(ranked)
    assert [(one.name, one.sources) for one in kept] == [("a", ("b",)), ("b", ("c",))]


def test_what_the_weight_tells_is_said() -> None:
    rng = np.random.default_rng(8)
    region = rng.choice(list("ABCD"), 300)
    weight = np.array([{"A": 3.0, "B": 5.0, "C": 7.0, "D": 9.0}[one] for one in region])
    data = table({"region": region, "coin": rng.choice(list("ht"), 300), "w": weight}, weight="w")
    assert list(search(data).apart()) == [
        "w: the weight tells region; it is raked anew before a release if it gives values back, so nothing need be "
        "linked to it"
    ]
    assert list(search(data.replace({"w": np.full(300, 2.0)})).apart()) == []
    assert column(data, "w").ordered


def test_a_source_that_no_record_has_beside_the_variable_was_not_asked() -> None:
    """Rent is there only where the tenure is not: of the records that show a tenure none has a rent."""
    rng = np.random.default_rng(9)
    first = np.arange(200) < 100
    data = table(
        {
            "tenure": [None if one else "ro"[i % 2] for i, one in enumerate(first.tolist())],
            "rent": np.where(first, rng.lognormal(6, 1, 200).round(2), np.nan),
        }
    )
    made = search(data)
    trial = tried(made.targets["tenure"], made.columns["rent"])
    assert trial.rows.min() >= 100
    assert made._asked_of_some(trial)


@pytest.mark.parametrize("asked", [1, 3, 10])
def test_so_many_pairs_are_tried_in_all_and_luck_is_counted_over_all(
    asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of m columns m (m - 1) / 2 pairs are made for each variable asked: 1,500 in all, or nearly."""
    rng = np.random.default_rng(3)
    data = table({name: rng.choice(list("xyz"), 60) for name in "abcdefghijkl"})
    made, rooms, tests = search(data), [], []

    def combined(target: Any, few: Any, room: int) -> Any:
        rooms.append(room)
        return replace(tried(target, few[-1]), tests=7)

    def determines(self: Any, trial: Any, number: int) -> bool:
        tests.append(number)
        return False

    monkeypatch.setattr(module, "combined", combined)
    monkeypatch.setattr(_Search, "_determines", determines)
    once = list(data.names)
    known: dict[str, dict[str, float]] = {name: {} if i < asked else {"l": 1.0} for i, name in enumerate(once)}
    assert list(made._together(once, known)) == []
    assert tests == [7 * asked] * asked  # each variable has seven tries
    (room,) = set(rooms)
    assert asked * room**2 / 2 <= module.MAX_SETS < asked * (room + 1) ** 2 / 2
    monkeypatch.setattr(module, "MAX_SETS", 5)  # however few: six columns
    assert list(made._together(once, known)) == []
    assert rooms.pop() == 6
    del rooms[asked:]
    assert list(made._together(once[:2], known)) == []  # two columns make no set that could tell one of them
    assert len(rooms) == asked


def test_what_holds_but_for_a_tenth_of_what_a_guess_leaves_open_is_proposed() -> None:
    """A code of twenty, each as common: a guess is right for 1 in 20, of the .95 open nine tenths are .855.

    So .905 must be told. 7 in 100 exceptions leave .93, which a look at a sample may find too low by .05; 11 leave .89.
    """
    code = np.arange(1000) % 20
    place = np.arange(1000) // 20  # fifty of each code
    for exceptions, found in ((3, True), (4, True), (6, False)):  # of fifty: .06, .08, .12
        nearly = np.where(place < exceptions, (code + 1 + place) % 20, code)
        data = table({"code": [f"c{one}" for one in code], "nearly": [f"n{one}" for one in nearly]})
        assert (proposed(data) == [("nearly", ("code",))]) == found


def test_of_columns_that_make_up_a_constant_the_one_least_worth_as_a_source_is_linked() -> None:
    """Shares of a hundred: each is a hundred less the others, and none is their total. A key is the best source."""
    rng = np.random.default_rng(2)
    one, two = rng.integers(1, 40, 200).astype(float), rng.integers(1, 40, 200).astype(float)
    columns = {"one": one, "two": two, "rest": 100 - one - two}
    assert proposed(table(columns)) == [("rest", ("one", "two"))]  # the last
    assert proposed(table(columns, Variable("rest", role="key"))) == [("two", ("one", "rest"))]


def test_a_source_that_tells_little_beyond_having_a_value_was_asked_of_some() -> None:
    """Who has no town has no area. Of the others a town tells three of four areas, where a guess tells one of two."""
    half = np.arange(200) < 100
    area = np.where(half, "none", np.where(np.arange(200) % 2 == 0, "east", "west"))
    town = [None if one else "ABCD"[i % 2 + (2 if i % 8 == 0 else 0)] for i, one in enumerate(half.tolist())]
    wrong = np.where((np.arange(200) % 8 == 1) & ~half, "east", area)  # of the fifty with a B a quarter
    data = table({"town": town, "area": wrong.tolist()})
    made = search(data)
    trial = tried(made.targets["area"], made.columns["town"])
    assert trial.share > 0.85
    assert made._asked_of_some(trial)


def test_a_source_whose_having_a_value_tells_all_was_asked_of_some() -> None:
    """Whoever has a landlord rents, whichever it is; the others own."""
    landlord = [None if i < 100 else "ABCD"[i % 4] for i in range(200)]
    data = table({"landlord": landlord, "tenure": ["owns"] * 100 + ["rents"] * 100})
    made = search(data)
    trial = tried(made.targets["tenure"], made.columns["landlord"])
    assert trial.share == 1.0
    assert made._asked_of_some(trial)
