"""Risk in the population: by hand, against the populations that samples were drawn from, registers, units, models."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from sfumato import (
    GlobalRecoding,
    IndividualRisk,
    LogLinearRisk,
    Microdata,
    NotApplicable,
    ParameterError,
    PopulationRisk,
    Reidentification,
    Scenario,
    Schema,
    Variable,
)
from sfumato.kernels.population import Spectrum, fitted, poisson_inverse
from sfumato.risk.population import matches
from tables import persons

KEYS = ("town", "job")


def people(town: list[Any], job: list[Any], weight: list[float] | None = None, **more: list[Any]) -> Microdata:
    columns = {"town": town, "job": job, **more}
    variables = [Variable("town", "nominal", "key"), Variable("job", "nominal", "key")]
    if weight is not None:
        columns["weight"] = weight
    special = {name: name for name in ("weight", "household") if name in columns}
    variables += [Variable(name) for name in special]
    schema = Schema(tuple(variables), weight=special.get("weight"), household=special.get("household"))
    return Microdata.from_frame(pa.table(columns), schema)


def drawn(records: int, share: float, seed: int) -> tuple[Microdata, np.ndarray[tuple[int], np.dtype[np.float64]], Any]:
    """A sample of a made population with its weights, the true 1/F of its records, and the whole population."""
    rng = np.random.default_rng(seed)
    town = np.minimum(rng.geometric(0.02, records), 150)
    job = np.minimum(rng.zipf(1.7, records), 60)
    taken = rng.choice(records, int(records * share), replace=False)
    _, cell = np.unique(np.column_stack([town, job]), axis=0, return_inverse=True)
    number = np.bincount(cell.ravel())
    data = people([f"t{t}" for t in town[taken]], [f"j{j}" for j in job[taken]], [records / len(taken)] * len(taken))
    whole = pa.table({"town": [f"t{t}" for t in town], "job": [f"j{j}" for j in job]})
    return data, 1 / number[cell.ravel()[taken]], whole


# by hand


def test_a_census_is_one_over_the_class() -> None:
    data = people(["A", "A", "B", "C"], ["x", "x", "x", "y"])
    found = PopulationRisk().evaluate(data, data)
    assert found.value == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)
    assert found.parts["expected matches"] == pytest.approx(3)
    assert found.parts["population uniques among the records"] == 2
    assert found.parts["prosecutor, above 0.33"] == found.parts["journalist, above 0.33"] == 1
    assert any("taken for a census" in note for note in found.notes)


def test_all_alone_are_taken_for_alone() -> None:
    data = people(["A", "B", "C"], ["x", "x", "y"], [10.0, 10.0, 10.0])
    found = PopulationRisk().evaluate(data, data)
    assert found.value == 1
    assert any("nothing tells how many are alike" in note for note in found.notes)
    assert "expected matches, at most" not in found.parts


def test_the_chances_of_two_records_and_one_by_hand() -> None:
    # two records alike and one alone, each for 2 people: N = 6. The likelihood of c_1 = c_2 = 1 is a (theta + a) /
    # ((theta + 1) (theta + 2)) times (1 - a): fitted, and then the urn draws three more
    data = people(["A", "A", "B"], ["x", "x", "x"], [2.0, 2.0, 2.0])
    fit = fitted(Spectrum.of(np.array([2, 1])))
    assert fit is not None
    expected = fit.model.expected_inverse(np.array([2.0, 1.0]), 3, 6)
    found = PopulationRisk().evaluate(data, data)
    assert found.parts["expected matches by Pitman-Yor"] == pytest.approx(2 * expected[0] + expected[1])
    # below 300 records the largest decides: three models, each computed
    by_weights = IndividualRisk().evaluate(data, data).parts["expected re-identifications"]
    assert found.parts["expected matches by Benedetti-Franconi"] == pytest.approx(by_weights)
    largest = max(value for name, value in found.parts.items() if name.startswith("expected matches by"))
    assert found.parts["expected matches"] == pytest.approx(largest)
    assert any("below 300 any model" in note for note in found.notes)


def test_a_missing_key_counts_all_it_may_be_and_the_fit_is_of_complete_records() -> None:
    town, job = ["A"] * 4 + ["B"] * 2 + ["C", "D", None], ["x"] * 4 + ["y"] * 2 + ["x", "y", "x"]
    data = people(town, job, [5.0] * 9)
    found = PopulationRisk(population_model="Pitman-Yor").evaluate(data, data)
    assert found.by_record is not None
    fit = fitted(Spectrum.of(np.array([4, 2, 1, 1])))
    assert fit is not None
    # of 45 people 40 are behind the 8 complete records; A x has 5 records that agree, C x two, and the last all of x
    for row, alike in ((0, 5), (4, 2), (6, 2), (7, 1), (8, 6)):
        chance = fit.model.expected_inverse(np.array([float(alike)]), 8, 40)[0]
        assert found.parts["prosecutor, largest"] == 1
        decided = next(name for name in found.notes if "decides" in name)
        if "Pitman-Yor decides" in decided:
            assert found.by_record[row] == pytest.approx(chance)


# against populations


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_matches_of_a_sample_are_those_counted_in_its_population(share: float) -> None:
    data, truth, _ = drawn(30_000, share, 4)
    found = PopulationRisk().evaluate(data, data)
    assert found.parts["expected matches"] == pytest.approx(truth.sum(), rel=0.3)
    assert found.parts["expected matches, at least"] <= truth.sum() <= found.parts["expected matches, at most"]
    assert found.parts["population uniques among the records"] == pytest.approx((truth == 1).sum(), rel=0.4)


def test_a_register_makes_it_exact(tmp_path: Path) -> None:
    data, truth, whole = drawn(30_000, 0.05, 5)
    path = tmp_path / "register.csv"
    pyarrow.csv.write_csv(whole, path)
    found = PopulationRisk(register=str(path)).evaluate(data, data)
    assert found.by_record is not None
    assert found.by_record == pytest.approx(truth)
    assert found.parts["population uniques among the records"] == (truth == 1).sum()
    assert found.parts["journalist, above 0.2"] == pytest.approx((truth > 0.2).mean())
    assert any("counted in the register" in note for note in found.notes)
    few = pa.table({"town": ["t1"], "job": ["j1"]})
    pyarrow.csv.write_csv(few, path)
    with pytest.raises(NotApplicable, match="it must hold everybody"):
        PopulationRisk(register=str(path)).evaluate(data, data)
    pyarrow.csv.write_csv(whole.drop_columns(["job"]), path)
    with pytest.raises(NotApplicable, match="has no job"):
        PopulationRisk(register=str(path)).evaluate(data, data)


def test_a_register_is_put_into_the_classes_of_the_file(tmp_path: Path) -> None:
    ages = np.repeat(np.arange(20.0, 60.0), 5)
    table = pa.table({"age": ages[::4].tolist()})
    data = Microdata.from_frame(table, Schema((Variable("age", role="key"),)))
    after = GlobalRecoding(bins={"age": [30, 50]}).protect(data)
    path = tmp_path / "register.csv"
    pyarrow.csv.write_csv(pa.table({"age": ages}), path)
    # ages 20-29: 50 people; 30-49: 100; 50-59: 50
    found = PopulationRisk(register=str(path)).evaluate(data, after)
    assert found.by_record is not None
    known = ages[::4]
    assert found.by_record.tolist() == [1 / 100 if 30 <= age < 50 else 1 / 50 for age in known]


def test_who_is_not_in_the_register_is_told(tmp_path: Path) -> None:
    data = people(["A", "B", "B"], ["x", "x", "x"])
    path = tmp_path / "register.csv"
    pyarrow.csv.write_csv(pa.table({"town": ["A", "A", "B"], "job": ["x", "x", "x"]}), path)
    found = PopulationRisk(register=str(path)).evaluate(data, data)
    # A: two in the register; of B one for two records, so that it lacks somebody: one of two
    assert found.by_record is not None and found.by_record.tolist() == [0.5, 0.5, 0.5]
    assert any("fewer records with the keys of 2 records" in note for note in found.notes)


def test_who_is_written_otherwise_in_the_register_is_not_safe(tmp_path: Path) -> None:
    data = people(["A", "B", "B", "B"], ["x", "x", "x", "y"])
    path = tmp_path / "register.csv"
    pyarrow.csv.write_csv(pa.table({"town": ["a", "A", "A", "b", "b"], "job": ["x", "x", "x", "x", "y"]}), path)
    found = PopulationRisk(register=str(path)).evaluate(data, data)
    # A: two in the register; of b, which is no B, nothing is known but the two and the one of the file
    assert found.by_record is not None and found.by_record.tolist() == [0.5, 0.5, 0.5, 1.0]
    assert any("fewer records with the keys of 3 records" in note for note in found.notes)


# units


def test_five_records_of_a_person_are_one_unit() -> None:
    rng = np.random.default_rng(8)
    town, job = rng.integers(0, 40, 400), rng.integers(0, 12, 400)
    once = people([f"t{t}" for t in town], [f"j{j}" for j in job], [50.0] * 400)
    five = people(
        [f"t{t}" for t in np.repeat(town, 5)],
        [f"j{j}" for j in np.repeat(job, 5)],
        [50.0] * 2000,
        household=np.repeat(np.arange(400.0), 5).tolist(),
    )
    persons = PopulationRisk().evaluate(once, once)
    records = PopulationRisk().evaluate(five, five)
    assert records.value == pytest.approx(persons.value, rel=1e-9)
    assert any("400 of them are counted, not 2,000 records" in note for note in records.notes)
    # and the same in Reidentification
    register = Scenario("register", KEYS, knows_membership=False)
    schema = Schema(tuple(five.schema), weight="weight", household="household", scenarios=(register,))
    declared = Microdata(schema, five.columns)
    assert Reidentification().evaluate(declared, declared).value == pytest.approx(persons.value, rel=1e-9)


# models


def test_the_models_by_name() -> None:
    data = persons()
    keys = ("region", "sex", "education")
    named = {
        name: PopulationRisk(population_model=name, variables=keys).evaluate(data, data)
        for name in ("Pitman-Yor", "log-linear", "Benedetti-Franconi")
    }
    assert named["Benedetti-Franconi"].value == pytest.approx(IndividualRisk(variables=keys).evaluate(data, data).value)
    # the log-linear one extended to all classes is LogLinearRisk on those of one record
    uniques = LogLinearRisk(variables=keys).evaluate(data, data)
    assert uniques.by_record is not None and named["log-linear"].by_record is not None
    alone = uniques.by_record > 0
    assert alone.any() and named["log-linear"].by_record[alone] == pytest.approx(uniques.by_record[alone])
    assert poisson_inverse(np.array([2.0]), np.array([0.0]))[0] == pytest.approx(0.5)


def test_the_larger_decides_where_models_differ() -> None:
    sizes, number = np.array([1.0, 2.0, 3.0, 50.0]), np.array([200.0, 60.0, 20.0, 10.0])
    found = matches(sizes, number, 20_000.0, "Pitman-Yor")
    assert found.decides == "Pitman-Yor"
    # a weight says that each class is as good as complete: 1/F is nearly 1/f
    sure = matches(sizes, number, 20_000.0, "Pitman-Yor", weights=sizes * 1.0001)
    assert sure.decides == "Benedetti-Franconi"
    assert any("differ by more than a factor of 2" in note for note in sure.notes)
    assert sure.expected["Benedetti-Franconi"] > 2 * sure.expected["Pitman-Yor"]
    asked = matches(sizes, number, 20_000.0, "Benedetti-Franconi")
    assert asked.decides == "Benedetti-Franconi", "who names a model gets it"


def test_it_refuses_what_makes_no_sense() -> None:
    data = people(["A", "A", "B"], ["x", "x", "x"], [1.0, 1.0, 1.0])
    with pytest.raises(NotApplicable, match="the whole population or more"):
        PopulationRisk().evaluate(data, data)
    with pytest.raises(NotApplicable, match="smaller than the file"):
        PopulationRisk(population=2).evaluate(data, data)
    with pytest.raises(ParameterError, match="population_model"):
        PopulationRisk(population_model="Zipf")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="leave population out"):
        PopulationRisk(register="people.csv", population=10)
    with pytest.raises(ParameterError, match="path of a file"):
        PopulationRisk(register="")
    scaled = PopulationRisk(population=30).evaluate(data, data)
    assert 0 < scaled.value < 1
