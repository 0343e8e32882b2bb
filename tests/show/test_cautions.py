import numpy as np
import pyarrow as pa

from sfumato import DistanceLinkage, Experiment, InformationLoss, Microdata, RankSwapping, Results, Schema, Variable
from sfumato.compare.examine.facts import caution_facts
from sfumato.compare.examine.findings import SpecialColumn
from sfumato.restoration.findings import Checked
from sfumato.show.cautions import _gone, cautions

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
    import pytest

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
