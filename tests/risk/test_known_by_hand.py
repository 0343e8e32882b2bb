"""What an intruder is taken to know, by hand: columns that tell more, sizes of households, combinations of keys."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, NotApplicable, Reidentification, Scenario, Schema, Variable
from sfumato.pair import Pair
from sfumato.pair.consequences import Consequences
from sfumato.pair.sample import Sample
from sfumato.risk import household_attack, judged
from sfumato.risk.compared_variables import codes_among
from sfumato.risk.household_attack import alike_households
from sfumato.risk.intruder import IntruderKnowledge, comparable_keys
from sfumato.risk.judged import _cells, _different, _mean_of, _members, _with_sizes
from sfumato.risk.told_by_others import _functions, _gaps, _listed, _parts, _refining, _sums, told_by_others
from sfumato.table.recoding import Recoding
from tables import numbers
from test_contract_parts import cut

NAN = float("nan")


def table(columns: dict[str, Any], *variables: Variable, **special: Any) -> Microdata:
    return Microdata.from_frame(pa.table(columns), Schema(variables, **special))


def known_of(before: Microdata, after: Microdata, *keys: str, **more: Any) -> IntruderKnowledge:
    return IntruderKnowledge.of(Pair.of(before, after), Scenario("neighbour", keys, **more))


TOWNS = table(
    {
        "town": list("AABBAB"),
        "size": [1.0, 2.0, 2.0, 3.0, 3.0, 1.0],
        "other": [1.0, 2.0, 2.0, 3.0, 3.0, 1.0],
        "street": list("uvwwuw"),
    },
    Variable("town", "nominal", "key"),
    Variable("street", "nominal"),
)


def codes(*values: int) -> Recoding:
    column = np.array(values, dtype=np.int32)
    return Recoding("nominal", column, column, ("0", "1", "2"))


def test_columns_that_tell_records_apart_which_show_the_same_keys() -> None:
    """The towns are A, A, B, B, A, B: a column refines them if it differs within a town, and each after the other."""
    known = known_of(TOWNS, TOWNS, "town")
    same, within, both = codes(0, 0, 1, 1, 0, 1), codes(0, 1, 0, 0, 0, 0), codes(0, 1, 0, 0, 0, 1)
    assert _refining(known, {"same": same}) == set()
    assert _refining(known, {"within": within}) == {"within"}
    assert _refining(known, {"within": within, "again": within, "same": same}) == {"within"}
    assert _refining(known, {"within": within, "both": both}) == {"within", "both"}  # the last of B is told apart, too
    assert _refining(known, {"both": both, "within": within}) == {"both"}
    assert _refining(known, {"one": codes(0, 0, 0, 0, 0, 0)}) == set()


def consequences(**more: Any) -> Consequences:
    return replace(Consequences({}), **more)


def test_published_functions_of_the_keys_count_if_they_tell_more() -> None:
    """Street tells records of A apart, and size too; who shows the town knows as much of nothing else."""
    found = consequences(functions={"street": ("town",), "gone": ("town",), "town": ("town",)})
    assert _functions(known_of(TOWNS, TOWNS, "town"), found) == ["street"]
    assert _functions(known_of(TOWNS, TOWNS.without(["street"]), "town"), found) == []
    swapped = TOWNS.replace({"town": np.array([0, 1, 1, 1, 0, 0], dtype=np.int32)})
    assert _functions(known_of(TOWNS, swapped, "town"), found) == [
        "street",
        "town",
    ]  # what was changed may tell anything
    empty = TOWNS.replace({"street": np.full(6, -1, dtype=np.int32)})
    assert _functions(known_of(TOWNS, empty, "town"), found) == []


def test_in_parts_too_functions_count_if_they_are_published(monkeypatch: pytest.MonkeyPatch) -> None:
    found = consequences(functions={"street": ("town",), "gone": ("town",), "size": ("town",)})
    monkeypatch.setattr(Consequences, "of", lambda *_: found)
    ((wider, chances),) = (
        (one.known, one.chances)
        for one in told_by_others(known_of(TOWNS, TOWNS, "town", about=("town",)), at_hand=False)
    )
    assert chances == {}
    assert wider.keys == wider.scenario.keys == ("town", "street", "size")
    assert wider.scenario.about == ("town", "street", "size")  # he knows about the town only, so no more of the others
    exact = told_by_others(known_of(TOWNS, TOWNS, "town"), at_hand=False)[0].known
    assert exact.scenario.about == ()
    assert exact.notes == ("neighbour: who knows the keys knows as well street (from town), size (from town)",)
    blank = TOWNS.replace({"street": np.full(6, -1, dtype=np.int32)}).without(["size"])
    assert told_by_others(known_of(TOWNS, blank, "town"), at_hand=False) == []


def test_gaps_that_follow_from_the_keys_are_known() -> None:
    gap = TOWNS.replace({"size": np.array([NAN, 2.0, 2.0, 3.0, NAN, 1.0])})
    found = consequences(gaps={"size": ("town",), "gone": ("town",)})
    told = _gaps(known_of(gap, gap, "town"), found)
    assert list(told) == ["size missing"]  # one of A shows its size
    assert told["size missing"].original.tolist() == told["size missing"].protected.tolist() == [1, 0, 0, 0, 1, 0]
    assert _gaps(known_of(gap, TOWNS, "town"), found) == {}  # nothing is missing in the file
    all_of_a = TOWNS.replace({"size": np.array([NAN, NAN, 2.0, 3.0, NAN, 1.0])})
    assert _gaps(known_of(all_of_a, all_of_a, "town"), found) == {}  # the town tells it already


def test_what_keys_tell_in_part_counts_where_the_file_does_not_show_them_in_full() -> None:
    blank = TOWNS.replace({"town": np.array([0, 0, 1, -1, 0, 1], dtype=np.int32)})
    found = consequences(partly=(("street", "town"), ("street", "size"), ("gone", "town"), ("other", "town")))
    assert _parts(known_of(TOWNS, TOWNS, "town"), found, ()) == [("street", "size")]
    assert _parts(known_of(TOWNS, blank, "town"), found, ()) == [("street", "town"), ("other", "town")]
    assert _parts(known_of(TOWNS, blank, "town"), found, ("street",)) == [("other", "town")]
    swapped = TOWNS.replace({"town": np.array([0, 1, 1, 1, 0, 0], dtype=np.int32)})
    assert _parts(known_of(TOWNS, swapped, "town"), found, ()) == [("street", "town"), ("other", "town")]


def test_notes_name_six_columns() -> None:
    assert _listed(list("abcdef")) == "a, b, c, d, e, f"
    assert _listed(list("abcdefgh")) == "a, b, c, d, e, f and 2 more"


def test_sizes_of_households_are_known_if_they_are_published_as_they_were() -> None:
    keys = np.zeros((6, 1), dtype=np.int32), np.zeros((6, 1), dtype=np.int32)

    def columns(after: Microdata, *sizes: str) -> list[list[int]]:
        before, shown = _with_sizes(known_of(TOWNS, after, "town"), keys, sizes)
        assert before.shape == shown.shape
        assert before.dtype == shown.dtype == np.int32
        return [column.tolist() for column in before.T]

    size = [0, 1, 1, 2, 2, 0]
    assert columns(TOWNS, "size") == [[0] * 6, size]
    assert columns(TOWNS, "size", "other") == [[0] * 6, size, size]
    assert columns(TOWNS, "town") == [[0] * 6]  # a key already
    assert columns(TOWNS.without(["size"]), "size") == [[0] * 6]
    changed = TOWNS.replace({"size": np.array([1.0, 3.0, 2.0, 3.0, 1.0, 1.0])})
    assert columns(changed, "size", "other") == [[0] * 6, size]  # a 2 became 3 and 2: sizes need not be true


def test_the_chance_of_a_household_is_the_mean_of_its_members() -> None:
    assert _mean_of(np.array([1.0, 0.5, 0.2, 0.0]), np.array([1, 0, 1, 1])).tolist() == pytest.approx([0.5, 0.4])


def test_keys_that_tell_nothing_are_left_out_and_named() -> None:
    none = TOWNS.replace({"size": np.full(6, NAN)}).without(["other"])
    scenario = Scenario("neighbour", ("town", "size", "other"))
    kept, notes = comparable_keys(Pair.of(TOWNS, none), scenario)
    assert kept == ("town",)
    assert notes == (
        "left out, not in the protected table: other",
        "left out, size: it has no value in one of the tables",
    )
    assert comparable_keys(Pair.of(none, TOWNS), Scenario("x", ("size",)))[0] == ()
    nothing, said = comparable_keys(Pair.of(TOWNS, none), Scenario("x", ("other",)))
    assert nothing == ()
    assert said[-1] == "x: the protected table has none of the keys, so the intruder can only guess"


def test_how_many_kinds_of_households_are_compared_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three keys and blanks make 16 pairs of persons at most; 20 homes of three have 180 pairs of members."""
    rng = np.random.default_rng(6)
    before, home = rng.integers(0, 3, (60, 1)).astype(np.int32), np.repeat(np.arange(20), 3)
    after = np.where(rng.random((60, 1)) < 0.2, -1, before).astype(np.int32)
    expected = alike_households(before, after, home).tolist()
    assert 0 < sum(expected) < 20
    for cells in (16, 100, 250, 400):
        monkeypatch.setattr(household_attack, "CELLS", cells)
        assert alike_households(before, after, home).tolist() == expected


# ------------------------------------------------------------------------------------------------- tables in parts


def test_numbers_among_the_keys_are_counted_by_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenths and blanks: .1 twice, .6 and a blank, of which each may be the blank one; a town beside them."""
    data = table(
        {"x": [0.1, 0.1, 0.6, None], "town": ["A", "A", "A", None]},
        Variable("x", role="key"),
        Variable("town", "nominal", "key"),
    )
    pair = Pair.of(cut(data, [3]), cut(data, [3]))
    known = IntruderKnowledge.of(pair, Scenario("all", ("x", "town")))
    found = _cells(known, None)
    assert found is not None
    assert found.names == ("x", "town")
    assert found.values[1] is None
    assert found.values[0] is not None
    assert found.values[0].tolist() == [0.1, 0.6]
    # those alike: .1 meets both .1 and the blank, .6 meets itself and the blank, the blank meets all
    assert found.fewer_than(2) == 0
    assert found.fewer_than(3) == 1 / 4
    assert found.fewer_than(4) == 3 / 4
    assert codes_among(np.array([0.1, 0.6]), np.array([0.6, NAN, 0.1])).tolist() == [1, -1, 0]
    assert codes_among(None, np.array([2, -1])).tolist() == [2, -1]
    assert _different(np.array([0.6, NAN]), np.array([0.1])).tolist() == [0.1, 0.6]
    monkeypatch.setattr(judged, "MAX_VALUES", 2)
    assert _cells(known, None) is not None
    monkeypatch.setattr(judged, "MAX_VALUES", 1)
    assert _cells(known, None) is None
    monkeypatch.setattr(judged, "MAX_VALUES", 9)
    monkeypatch.setattr(judged, "MAX_CELLS", 3)
    assert _cells(known, None) is not None
    monkeypatch.setattr(judged, "MAX_CELLS", 2)
    assert _cells(known, None) is None


def test_parts_are_counted_together_whatever_is_looked_at_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    data = numbers(x=[0.1, 0.4, 0.1, 0.4, 0.7, 0.1], y=[1.0, 1.0, 1.0, 2.0, 2.0, 1.0])
    pair = Pair.of(cut(data, [2, 4]), cut(data, [2, 4]))
    measure = Reidentification(variables=("x", "y"))
    monkeypatch.setattr(judged, "CHUNK", 2)
    found = measure.evaluate_pair(pair)
    assert found.value == pytest.approx(4 / 6)  # three alike, and three alone
    with pytest.raises(NotApplicable, match="too large for a standard deviation"):
        huge = numbers(x=[1e308, -1e308, 1e308, -1e308, 0.0, 1.0])
        moved = numbers(x=[1e308, -1e308, 1e308, -1e308, 1.0, 0.0])
        Reidentification(variables=("x",)).evaluate_pair(Pair.of(cut(huge, [3]), cut(moved, [3])))


def test_sums_of_published_parts_stand_beside_what_is_known() -> None:
    rng = np.random.default_rng(1)
    wage, rent = (rng.integers(1, 999, 80).astype(float) for _ in range(2))
    data = numbers(wage=wage, rent=rent, all=wage + rent)
    found = Consequences.of(Pair.of(data, data).original, ("all",))
    assert [(name, relation.parts) for name, relation in found.sums] == [("all", ("rent", "wage"))]
    doubled = numbers(wage=2 * wage, rent=rent, all=np.zeros(80))
    (said,) = _sums(Pair.of(data, doubled), found).values()
    np.testing.assert_allclose(said.original, wage + rent)
    np.testing.assert_allclose(said.protected, 2 * wage + rent)
    assert _sums(Pair.of(data, doubled.without(["rent"])), found) == {}
    assert _sums(Pair.of(data, numbers(wage=np.full(80, NAN), rent=rent)), found) == {}


@pytest.mark.parametrize(("members", "told"), [(1, True), (20, True), (21, False)])
def test_up_to_twenty_times_as_many_may_live_with_those_drawn(members: int, told: bool) -> None:
    home = [1.0] * members + [2.0, 3.0, 3.0, NAN]
    data = Microdata.from_frame(
        pa.table({"home": home, "x": np.arange(len(home), dtype=float)}), Schema(household="home")
    )
    rows, unit = _members(Pair.of(data, data).original, Sample(np.array([0]), len(home)))
    assert (unit is not None) == told
    assert rows.tolist() == (list(range(members)) if told else [0])


def test_households_of_those_drawn_are_numbered() -> None:
    home = [5.0, 9.0, 5.0, NAN, 2.0, 9.0, NAN]
    data = Microdata.from_frame(pa.table({"home": home, "x": np.arange(7.0)}), Schema(household="home"))
    rows, unit = _members(Pair.of(data, data).original, Sample(np.array([1, 2, 3]), 7))
    assert rows.tolist() == [0, 1, 2, 3, 5]
    assert unit is not None
    assert unit.tolist() == [0, 1, 0, 2, 1]  # who has no number lives alone
