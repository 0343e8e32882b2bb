"""The share of values lost: by hand, removed variables, records that do not match, bounds on one variable."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import Microdata, NotApplicable, ParameterError, Suppressed, catalogue
from sfumato.project.reading import read_bounds
from tables import persons

BEFORE = pa.table(
    {"town": ["A", "B", "C", None, "A"], "age": [20.0, None, 30.0, 40.0, 50.0], "sex": ["f", "m", "f", "m", "f"]}
)


def test_of_the_values_that_were_there_those_that_are_gone() -> None:
    # town: 2 of 4 gone, and one that came does not make up for them; age: 1 of 4; sex: none of 5
    after = pa.table(
        {"town": ["A", None, None, "B", "A"], "age": [20.0, None, None, 40.0, 50.0], "sex": ["f", "f", "f", "f", "f"]}
    )
    found = Suppressed().evaluate(BEFORE, after)
    assert found.by_variable == {"town": 0.5, "age": 0.25, "sex": 0.0}
    assert found.value == 0.25
    assert found.parts == {"largest share of a variable": 0.5, "values lost": 3.0}
    assert not found.notes


def test_a_removed_variable_has_lost_every_value() -> None:
    found = Suppressed().evaluate(BEFORE, BEFORE.select(["age", "sex"]))
    assert found.by_variable == {"town": 1.0, "age": 0.0, "sex": 0.0}
    assert found.parts["values lost"] == 4
    assert "removed, so all values are lost: town" in found.notes
    assert Suppressed(variables=("town",)).evaluate(BEFORE, BEFORE.select(["age"])).value == 1


def test_records_that_do_not_match_are_judged_by_the_share_present() -> None:
    # town: 4 of 5 before, 1 of 2 after: 1 - (1/2) / (4/5) = 3/8; age: 4 of 5 and 2 of 2: more than before, no loss
    after = pa.table({"town": ["A", None], "age": [20.0, 21.0], "sex": ["f", "m"]})
    found = Suppressed().evaluate(BEFORE, after)
    assert found.by_variable == pytest.approx({"town": 0.375, "age": 0.0, "sex": 0.0})
    assert found.notes == ("the records do not match: counted by the change of the share of values present",)


def test_synthetic_records_of_the_same_number_are_not_compared_one_by_one() -> None:
    data = Microdata.from_frame(BEFORE)
    turned = replace(data.take(np.arange(len(data))[::-1]), matched=False)
    assert Suppressed().evaluate(data, turned).value == 0


def test_ids_put_the_records_side_by_side() -> None:
    table = persons(100)
    assert table.schema.id is not None
    masked = sfumato.LocalSuppression(3).protect(table, rng=1)
    order = np.random.default_rng(0).permutation(100)
    assert Suppressed().evaluate(table, masked.take(order)).by_variable == pytest.approx(
        Suppressed().evaluate(table, masked).by_variable
    )


def test_what_was_never_there_is_no_loss() -> None:
    empty = pa.table({"town": pa.array([None, None], pa.string()), "age": [1.0, 2.0]})
    found = Suppressed().evaluate(empty, empty)
    assert found.by_variable == {"age": 0.0}
    assert "left out, for the original has no value: town" in found.notes
    with pytest.raises(NotApplicable, match="the original has no value of town"):
        Suppressed(variables=("town",)).evaluate(empty, empty)


def test_recoding_and_noise_lose_no_value() -> None:
    data = persons(200)
    for method in (sfumato.GlobalRecoding(groups=3), sfumato.Noise(0.5)):
        assert Suppressed().evaluate(data, method.protect(data, rng=1)).value == 0


# on the command line


def test_a_variable_by_its_bare_name() -> None:
    assert catalogue.parse("Suppressed(region)") == [Suppressed(variables=("region",))]
    assert catalogue.parse("Suppressed('region', sex)") == [Suppressed(variables=("region", "sex"))]
    with pytest.raises(ParameterError, match=r"write the names of its variables, Suppressed\(region\)"):
        catalogue.parse("Suppressed(5)")
    with pytest.raises(ParameterError, match="names of variables stand in quotes"):
        catalogue.parse("KAnonymity(region)")  # which has a parameter in this place


def test_the_title_tells_variables_apart() -> None:
    assert Suppressed().about.title == "Values lost (suppressed)"
    assert Suppressed(variables=("region",)).about.title == "Values lost of region"
    assert Suppressed(variables=tuple("abcd")).about.title == "Values lost of a, b, c and 1 more"


def test_a_bound_on_one_variable() -> None:
    bounds = read_bounds("--at-most", ["Suppressed(region)=5%", "Suppressed = 1 %", "KAnonymity=0"])
    assert bounds == {"Suppressed(variables=('region',))": 0.05, "Suppressed()": 0.01, "KAnonymity": 0.0}
    with pytest.raises(ParameterError, match="is not a measure"):
        read_bounds("--at-most", ["MDAV(k=3)=5%"])
