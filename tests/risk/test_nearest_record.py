from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import Microdata, NearestRecord, Noise, NotApplicable, ParameterError, household_survey, write
from sfumato.risk.nearest_record import too_near
from tables import incomes, numbers, persons


def test_by_hand_nearer_than_people_are_to_each_other() -> None:
    people = numbers(x=[0.0, 10.0, 30.0, 60.0, 100.0])
    found = NearestRecord().evaluate(people, numbers(x=[1.0, 50.0, 43.0, 100.0]))
    # nearest others: 10, 10, 20, 30, 40. Distances 1, 10, 13, 0: nearer than all; than 3, and 2 tie; than 3; than all
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [1, 0.8, 0.6, 1])
    assert found.value == pytest.approx(2 * 3.4 / 4 - 1)
    assert found.parts["copies of an original"] == 0.25
    assert found.parts["median distance"] == pytest.approx(5.5 / 100)
    assert found.parts["median distance of others"] == pytest.approx(20 / 100)
    # below 10, the limit of 5 percent: 1 and 0; at it 10, of whose two records 5 percent of five are meant: 1/8
    assert found.parts["nearer than all but 5 % of people"] == pytest.approx((1 + 1 / 8 + 0 + 1) / 4)
    assert any("weak evidence" in note for note in found.notes)


def test_a_distance_is_the_mean_over_the_variables() -> None:
    """The same variable twice, and one that is constant besides: distances are as before, and two thirds of that."""
    before, after = [0.0, 10.0, 30.0, 60.0, 100.0], [1.0, 50.0, 43.0, 100.0]

    def medians(variables: int, constants: int) -> list[float]:
        def table(x: list[float]) -> Microdata:
            columns = {f"x{i}": x for i in range(variables)} | {f"c{i}": [7.0] * len(x) for i in range(constants)}
            return numbers(**columns)

        parts = NearestRecord().evaluate(table(before), table(after)).parts
        return [parts["median distance"], parts["median distance of others"]]

    assert medians(1, 0) == medians(2, 0) == pytest.approx([5.5 / 100, 20 / 100])
    assert medians(2, 1) == pytest.approx([5.5 / 150, 20 / 150])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_by_theory_the_same_distances_score_what_is_expected(distances: list[int], closest: float) -> None:
    others = np.array(distances, dtype=float)
    assert too_near(others, others, closest, np.zeros(len(others))).mean() == pytest.approx(closest)


def test_by_theory_fresh_draws_score_nothing_a_copy_all_and_a_mixture_its_share() -> None:
    near, tail, mixed = [], [], []
    for seed in range(12):
        original, fresh = incomes(400, seed=seed), incomes(400, seed=seed + 100)
        found = NearestRecord().evaluate(original, fresh)
        assert found.by_record is not None
        near.append(found.by_record.mean())
        tail.append(found.parts["nearer than all but 5 % of people"])
        half = {n: np.where(np.arange(400) % 4 > 0, fresh.columns[n], original.columns[n]) for n in original.names}
        mixed.append(NearestRecord().evaluate(original, original.replace(half)).value)
    # the variance of u is (n + m + 1) / (12 n m), that of the tail twice 0.05 x 0.95 / n: 12 tables, 4 standard errors
    assert np.mean(near) == pytest.approx(0.5, abs=4 * np.sqrt(801 / (12 * 400**2) / 12))
    assert np.mean(tail) == pytest.approx(0.05, abs=4 * np.sqrt(2 * 0.05 * 0.95 / 400 / 12))
    assert np.mean(mixed) == pytest.approx(0.25, abs=2 * 4 * np.sqrt(801 / (12 * 400**2) / 12))
    assert NearestRecord().evaluate(original, original).value == 1


def test_members_of_a_household_are_not_other_people() -> None:
    survey = household_survey(150)
    noisy = Noise(0.1).protect(survey, rng=1)
    apart = NearestRecord().evaluate(survey, noisy)
    one_by_one = replace(survey, schema=replace(survey.schema, household=None))
    together = NearestRecord(variables=survey.schema.analysed()).evaluate(one_by_one, noisy)
    # relatives share region, tenure and rent: measured against them a noisy copy looks far away
    assert apart.parts["median distance of others"] > together.parts["median distance of others"]
    assert apart.value > together.value


def test_a_file_where_people_coincide_is_not_called_copied() -> None:
    coarse = Microdata.from_frame(pa.table({"sex": ["f", "m"] * 50, "town": ["a", "a", "b", "b"] * 25}))
    found = NearestRecord().evaluate(coarse, coarse)
    assert found.value == 0
    assert found.parts["nearer than all but 5 % of people"] == pytest.approx(0.05)
    assert found.parts["originals with a twin"] == 1


def test_a_holdout_is_the_yardstick_where_there_is_one(tmp_path: Path) -> None:
    everyone = incomes(900, seed=4)
    original, held = everyone.take(np.arange(600)), everyone.take(np.arange(600, 900))
    write(held, tmp_path / "held.csv")
    measure = NearestRecord(holdout=str(tmp_path / "held.csv"))
    copy = measure.evaluate(original, original)
    assert copy.value == 1
    assert copy.parts["nearer to an original than to the holdout"] == 1
    fresh = measure.evaluate(original, incomes(600, seed=8))
    assert fresh.value < 0.2
    # a stranger is nearest to any of the 900 alike, so to one of the 600 with a chance of 2/3: 4 standard errors
    assert fresh.parts["expected so"] == pytest.approx(2 / 3)
    near = fresh.parts["nearer to an original than to the holdout"]
    assert near == pytest.approx(2 / 3, abs=4 * np.sqrt(2 / 9 / 600 + 2 / 9 / 900))


def test_by_hand_the_holdout_against_the_original(tmp_path: Path) -> None:
    write(numbers(x=[2.0, 11.0, 50.0]), tmp_path / "held.csv")
    found = NearestRecord(str(tmp_path / "held.csv")).evaluate(
        numbers(x=[0.0, 10.0, 100.0]), numbers(x=[1.0, 30.5, 60.0, 98.0])
    )
    # held out: 2, 1 and 40 from the nearest original. Distances to an original: 1, 20.5, 40, 2, nearer than 2.5 of
    # three, 1, 0.5, 1.5; to the holdout: 1, 19.5, 10, 48: a tie, no, no, yes
    assert found.by_record is not None
    np.testing.assert_allclose(found.by_record, [2.5 / 3, 1 / 3, 0.5 / 3, 1.5 / 3])
    assert found.value == 0
    assert found.parts["nearer to an original than to the holdout"] == pytest.approx((0.5 + 0 + 0 + 1) / 4)


def test_a_holdout_that_was_released_is_refused_or_said(tmp_path: Path) -> None:
    data = persons()
    write(data.take(np.arange(40)), tmp_path / "part.csv")
    with pytest.raises(NotApplicable, match="NearestRecord: 40 of the 40 held-out records have the id of an original"):
        NearestRecord(holdout=str(tmp_path / "part.csv")).evaluate(data, data)
    unnamed = data.without(["id"])
    write(unnamed.take(np.arange(40)), tmp_path / "unnamed.csv")
    found = NearestRecord(holdout=str(tmp_path / "unnamed.csv")).evaluate(data, data)
    assert any("40 of 40 held-out records equal an original" in note for note in found.notes)
    write(unnamed.without(["age"]), tmp_path / "short.csv")
    with pytest.raises(NotApplicable, match=r"the holdout '.*short.csv' has no age"):
        NearestRecord(holdout=str(tmp_path / "short.csv")).evaluate(data, data)


def test_held_out_values_are_recoded_as_the_originals_were(tmp_path: Path) -> None:
    original = Microdata.from_frame(pa.table({"town": ["Aix", "Bonn", "Cork", "Dax"], "age": [21.0, 34.0, 38.0, 64.0]}))
    protected = Microdata.from_frame(
        pa.table({"town": ["south", "north", "north", "south"], "age": ["20s", "30s", "30s", "60s"]})
    )
    write(
        Microdata.from_frame(pa.table({"town": ["Bonn", "Dax", "Ulm"], "age": [36.0, 25.0, 61.0]})), tmp_path / "h.csv"
    )
    found = NearestRecord(holdout=str(tmp_path / "h.csv")).evaluate(original, protected)
    # (north, 30s) equals two originals; (south, 20s) equals one, Aix; (strange, 60s) differs from Dax in the town: 1
    assert found.parts["median distance of others"] == 0
    assert any("2 of 3 held-out records equal an original" in note for note in found.notes)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="NearestRecord: holdout must be the path of a file"):
        NearestRecord(holdout=3)  # type: ignore[arg-type]
    with pytest.raises(NotApplicable, match="NearestRecord: with one original record"):
        NearestRecord().evaluate(numbers(x=[1.0]), numbers(x=[1.0]))
