"""What a look at a table proposes for its schema, by hand."""

import numpy as np
import pyarrow as pa

from sfumato import Microdata, Schema, household_survey
from sfumato.auditing.proposals import dependencies, proposals


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, 240)
    return pa.table(
        {
            "number": np.arange(240) + 1000,
            "hh": np.arange(240) // 3,
            "wgt": rng.uniform(2, 9, 240).round(2),
            "age": age,
            "cohort": 2020 - age,
            "stage": np.where(age < 30, "young", "old"),
            "sex": rng.choice(["f", "m"], 240),
        }
    )


def test_weight_household_id_copies_and_links() -> None:
    found = proposals(Microdata.from_frame(table()))
    assert [(one.special, one.name, one.by_name, one.by_behaviour) for one in found.specials] == [
        ("weight", "wgt", True, False),
        ("household", "hh", True, True),
        ("id", "number", True, True),
    ]
    assert "stand together" in found.specials[1].why and "counts the records" in found.specials[2].why
    assert found.copies == {"cohort": "age"}
    assert {one.name: one.sources for one in found.links.found} == {"cohort": ("age",), "stage": ("age",)}
    assert [one.name for one in found.findings] == table().column_names


def test_what_the_schema_names_is_not_proposed_again() -> None:
    schema = Schema(weight="wgt", household="hh", id="number")
    assert proposals(Microdata.from_frame(table(), schema)).specials == ()


def test_what_looks_like_a_weight_is_no_source() -> None:
    data = Microdata.from_frame(household_survey(120).to_frame())
    found = proposals(data)
    weights = {one.name for one in found.specials if one.special == "weight" and one.by_name}
    assert weights == {"weight"}
    assert not any("weight" in one.sources for one in found.links.found)
    others = [one for one in dependencies(data).found if "weight" not in one.sources]
    assert [*found.links.found] == others
