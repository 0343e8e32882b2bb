from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import DistanceLinkage, Experiment, InformationLoss, Microdata, RankSwapping, Results, Schema, Variable
from sfumato.auditing.findings import Checked
from sfumato.compare.examine.facts import caution_facts
from sfumato.compare.examine.findings import CautionFacts, Gap, SpecialColumn
from sfumato.report.cautions import _gone, _of_worst_cases, by_position, cautions

RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "person": [f"p{i}" for i in range(60)],
        "sex": ["f", "m"] * 30,
        "region": ["alone"] + ["north"] * 59,
        "age": RNG.integers(20, 80, 60).astype(float),
        "income": RNG.lognormal(9, 1, 60),
    }
)


def results(**roles: str) -> Results:
    schema = Schema(
        (
            Variable("person", kind="nominal"),
            *(Variable(n, kind="nominal", role=roles.get(n, "other")) for n in ("sex", "region")),  # type: ignore[arg-type]
            *(Variable(n, role=roles.get(n, "other")) for n in ("age", "income")),  # type: ignore[arg-type]
        ),
        id="person",
    )
    data = Microdata.from_frame(TABLE, schema)
    return Experiment(data, [RankSwapping(0.1)], [InformationLoss(), DistanceLinkage()], replicates=3).run()


def told(found: Results, bounds: dict[str, float] | None = None) -> str:
    (row,) = found.rows
    facts = caution_facts(found.original, found.protect(row.candidate))
    return "\n".join(cautions(found, row, facts, bounds or {}))


def test_keys_that_are_neither_masked_nor_counted_are_named_with_how_many_records_they_single_out() -> None:
    said = told(results(sex="key", region="key", age="key"))
    # by hand: only the record in the region "alone" is unique in sex and region: 1 of 60 = 1.7 %
    assert "2 of 3 keys are released as they are" in said and "sex and region" in said
    assert "1.7 % of the records are unique" in said
    assert "person (id)" in said


def test_a_schema_that_does_not_say_what_an_intruder_knows_is_pointed_out() -> None:
    assert "it names no key" in told(results())
    assert "none of its keys is numeric" in told(results(sex="key"))
    assert "does not say" not in told(results(age="key"))


def test_a_mean_within_the_bound_does_not_hide_the_worst_case_nor_the_table_written() -> None:
    found = results(age="key", income="key")
    (row,) = found.rows
    key = found.key("DistanceLinkage")
    parts = row.parts[key]
    assert parts["knows age, income"] > row.means[key]  # more is known, more is linked
    said = told(found, {key: row.means[key]})
    assert "One who knows age, income links" in said
    assert "One who" not in told(found, {key: 1.0})


def test_a_release_leaves_out_what_names_the_units() -> None:
    found = results(age="key")
    (row,) = found.rows
    facts = caution_facts(found.original, found.protect(row.candidate))
    assert "person (id)" in "\n".join(cautions(found, row, facts, {}))
    assert "person" not in "\n".join(cautions(found, row, facts, {}, released=Checked()))


def test_without_the_tables_only_what_the_figures_tell_is_said() -> None:
    found = results(age="key", income="key")
    (row,) = found.rows
    key = found.key("DistanceLinkage")
    said = "\n".join(cautions(found, row, None, {key: row.means[key]}))
    assert "One who knows age, income links" in said and "person" not in said


def test_the_methods_own_caveat_is_told() -> None:
    assert "RankSwapping: an intruder who knows p" in told(results())


def test_much_that_is_missing_and_what_a_measure_of_numbers_does_not_see_is_said() -> None:
    import sfumato

    found = results(sex="key", region="key", age="key")
    protected = (
        sfumato.GlobalRecoding(bins={"age": 20}) + sfumato.LocalSuppression(40, variables=("sex", "region"))
    ).protect(found.original)
    said = "\n".join(cautions(found, found.rows[0], caution_facts(found.original, protected), {}))
    assert "Much is missing in the protected table: sex" in said
    assert "InformationLoss looks at numbers only" in said and "age" in said


def test_a_key_that_was_recoded_is_not_replaced_by_what_nobody_knows() -> None:
    import sfumato

    found = results(age="key")
    recoded = sfumato.GlobalRecoding(bins={"age": 20}).protect(found.original)
    with pytest.raises(sfumato.NotApplicable, match="no key is left that it can compare, for age was recoded"):
        DistanceLinkage().evaluate(found.original, recoded)


def test_a_household_that_a_release_leaves_out_is_not_said_to_be_in_it() -> None:
    home = SpecialColumn("home", "household", names_units=False)
    assert _gone(home, Checked(missing={"sex": 0.0}))
    assert not _gone(home, Checked(missing={"sex": 0.0, "home": 0.0}))
    assert not _gone(home, None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, True),
        ({"paired": False}, False),  # no figure compares record by record
        ({"placed": True}, False),  # its records were found in the original
        ({"method": RankSwapping(0.1)}, False),  # it was made here, record by record
        ({"id": "person"}, False),
        ({"table": False}, True),
    ],
)
def test_records_of_another_hand_are_compared_row_by_row_and_that_is_said(changed: dict[str, Any], said: bool) -> None:
    tables = {"theirs": SimpleNamespace(placed=changed.get("placed", False))} if changed.get("table", True) else {}
    found: Any = SimpleNamespace(
        figures={"one": SimpleNamespace(paired=False), "two": SimpleNamespace(paired=changed.get("paired", True))},
        tables=tables,
        original=SimpleNamespace(schema=SimpleNamespace(id=changed.get("id"))),
    )
    row: Any = SimpleNamespace(candidate="theirs", method=changed.get("method"))
    assert bool(by_position(found, row)) == said


def test_the_worst_case_is_told_if_it_is_beyond_a_bound_that_the_mean_keeps() -> None:
    """A mean of .1 within a bound of .1, and one who knows b, with .3, beyond it; of utility no case is the worst."""

    cases = {"knows a": 0.2, "knows b": 0.3, "other": 0.9}

    def said(limit: float, mean: float | None = 0.1, *, better: str = "lower", of: Any = cases) -> list[str]:
        about = SimpleNamespace(
            lower_is_better=better == "lower", unit="share", is_case=lambda name: name.startswith("knows")
        )
        found: Any = SimpleNamespace(figures={"R": about})
        row: Any = SimpleNamespace(means={} if mean is None else {"R": mean}, parts={"R": of})
        return _of_worst_cases(found, row, {"R": limit})

    (told,) = said(0.1)
    assert "One who knows b links 30 % of the records, beyond 10 %." in told
    assert said(0.3) == []  # the bound itself is no breach
    assert said(0.09) == []  # the mean is beyond: that is said elsewhere
    assert said(0.1, None) == []
    assert said(0.1, better="higher") == []
    assert said(0.1, of={"other": 0.9}) == []


def test_what_is_known_besides_the_keys_is_told_of_what_goes_out() -> None:
    facts = CautionFacts(known_too=(("age", "born"), ("town", "zip")))
    found = results(age="key", income="key")
    (row,) = found.rows

    def told(released: Checked | None) -> str:
        return "".join(line for line in cautions(found, row, facts, {}, released=released) if "knows as well" in line)

    assert "no figure here counts it: age (from born) and town (from zip)." in told(None)
    assert "age" not in told(Checked(missing={"town": 0.0}))
    assert "town (from zip)" in told(Checked(missing={"town": 0.0}))
    assert told(Checked(missing={"sex": 0.0})) == ""


def test_a_column_that_a_release_changed_is_not_the_original_s() -> None:
    plain, name = SpecialColumn("w", "weight", names_units=False), SpecialColumn("id", "id", names_units=True)
    assert not _gone(plain, Checked())
    assert _gone(plain, Checked(renewed=("w",)))
    assert _gone(name, Checked())


def test_cautions_name_eight_columns_and_count_the_others() -> None:
    found = results(age="key", income="key")
    (row,) = found.rows

    def told(number: int) -> list[str]:
        names = [f"v{i}" for i in range(number)]
        facts = CautionFacts(
            gaps=tuple(Gap(name, 0.0, 0.5) for name in names),
            recoded=tuple(names),
            special=tuple(SpecialColumn(name, "id", names_units=True) for name in names),
            known_too=tuple((name, "age") for name in names),
        )
        return [line for line in cautions(found, row, facts, {}) if "v0" in line]

    assert len(told(8)) == len(told(9)) == 4
    assert all("v7" in line and "other" not in line.replace("or another", "") for line in told(8))
    assert all("v7" in line and "and 1 other" in line for line in told(9))
