"""What is measured and what decides by default, for every kind of schema and of protected table."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    CARTSynthesis,
    Chosen,
    GlobalRecoding,
    LocalSuppression,
    Microdata,
    Noise,
    Sampling,
    Scenario,
    Schema,
    Variable,
    default_measures,
)
from tables import incomes, persons


def names(found: tuple[Chosen, ...]) -> list[str]:
    return [type(chosen.measure).__name__ for chosen in found]


def deciding(found: tuple[Chosen, ...]) -> list[str]:
    return [repr(chosen.measure) for chosen in found if chosen.decides]


def keyed(data: Microdata, *keys: str) -> Microdata:
    """The same table with these keys, and no confidential variable."""
    variables = (replace(v, role="key" if v.name in keys else "other") for v in data.schema)
    return replace(data, schema=replace(data.schema, variables=tuple(variables)))


CHARGED = "GlobalDataUtility(deletion='charged')"
BOTH = ["Reidentification()", CHARGED]
HOMES = ["Reidentification()", "Reidentification(unit='household')", CHARGED]  # where households are named


@pytest.mark.parametrize(
    ("keys", "counted"),
    [
        (("earnings", "tax", "rent"), False),  # all numeric, and continuous: nothing to count over
        (("region",), True),  # one key, of categories
        (("region", "earnings"), False),  # mixed
        (("earnings",), False),  # one key, a number
    ],
)
def test_keys_of_any_kind_are_judged_together(keys: tuple[str, ...], counted: bool) -> None:
    found = default_measures(keyed(incomes(), *keys))
    assert deciding(found) == BOTH
    assert ("KAnonymity" in names(found)) is counted
    assert ("IndividualRisk" in names(found)) is counted
    assert all(chosen.why for chosen in found)


def test_all_categorical_and_mixed_keys_with_confidential_variables() -> None:
    data = persons()
    assert deciding(default_measures(data)) == HOMES
    assert names(default_measures(data)) == [
        "Reidentification",
        "Reidentification",
        "IndividualRisk",
        "KAnonymity",
        "LDiversity",
        "RankInterval",
        "ExposedAmounts",
        "GlobalDataUtility",
        "Suppressed",
        "InformationLoss",
    ]
    categories = keyed(data, "region", "sex", "education").without(["age", "income"])
    assert names(default_measures(categories)) == [
        "Reidentification",
        "Reidentification",
        "IndividualRisk",
        "KAnonymity",
        "GlobalDataUtility",
        "Suppressed",
    ]


def test_no_keys() -> None:
    assert deciding(default_measures(incomes().without(["region"]))) == ["DistanceLinkage()", CHARGED]
    mixed = default_measures(incomes())
    assert deciding(mixed) == ["DistanceLinkage(distance='gower')", CHARGED]
    assert "name the keys" in mixed[0].why


def test_scenarios_alone_are_keys_enough() -> None:
    data = incomes()
    stated = replace(data, schema=replace(data.schema, scenarios=(Scenario("bank", ("earnings", "region"), k=7),)))
    found = default_measures(stated)
    assert deciding(found) == BOTH
    assert "the declared scenarios" in found[0].why
    assert "KAnonymity" not in names(found), "no variable has the role key"
    both = replace(persons(), schema=replace(persons().schema, scenarios=(Scenario("bank", ("region",), k=7),)))
    # each scenario is counted by its own keys and k, within Reidentification
    assert not {"KAnonymity", "IndividualRisk"} & set(names(default_measures(both)))


def test_a_recoded_file_is_counted_and_a_perturbed_one_is_not() -> None:
    data = persons()
    true = (GlobalRecoding(bins={"age": 15}) + LocalSuppression(2)).protect(data, rng=1)
    assert deciding(default_measures(data, true)) == HOMES
    assert {"KAnonymity", "IndividualRisk"} <= set(names(default_measures(data, true)))
    noisy = Noise(0.2, variables=("age",)).protect(data, rng=1)
    assert deciding(default_measures(data, noisy)) == HOMES
    alone = data.take(
        np.unique(data.columns[str(data.schema.household)], return_index=True)[1]
    )  # nobody lives with anybody
    assert deciding(default_measures(alone)) == BOTH
    assert not {"KAnonymity", "IndividualRisk"} & set(names(default_measures(data, noisy)))


def test_a_synthetic_file() -> None:
    data = persons()
    found = default_measures(data, CARTSynthesis().protect(data, rng=1))
    assert deciding(found) == ["DiSCO()", CHARGED]
    assert names(found) == ["DiSCO", "TCAP", "RepU", "NearestRecord", "GlobalDataUtility", "Suppressed"]
    # read from elsewhere it has no treatment: that its records are not the original's shows
    plain = Microdata.beside(data, CARTSynthesis().protect(data, rng=1).to_arrow())
    assert deciding(default_measures(data, replace(plain, matched=False))) == ["DiSCO()", CHARGED]
    public = keyed(data, "region", "sex")
    assert deciding(default_measures(public, CARTSynthesis().protect(public, rng=1)))[0] == "RepU()"
    nobody = keyed(data)
    assert deciding(default_measures(nobody, CARTSynthesis().protect(nobody, rng=1)))[0] == "NearestRecord()"


def test_a_sample() -> None:
    data = persons()
    found = default_measures(data, Sampling(0.5).protect(data, rng=1))
    assert deciding(found) == ["IndividualRisk()", CHARGED]
    assert names(found) == ["IndividualRisk", "KAnonymity", "GlobalDataUtility", "Suppressed"]
    order = np.random.default_rng(1).permutation(len(data))
    turned = replace(data.take(order).without(["id"]), matched=False)
    assert deciding(default_measures(data, turned))[0] == "IndividualRisk()"


def test_weights_that_were_rescaled() -> None:
    data = persons()
    small = replace(data, columns={**data.columns, "weight": data.weights() / data.weights().mean()})
    assert "IndividualRisk" not in names(default_measures(small)), "it would refuse them"
    told = default_measures(small, population=4000)
    assert "IndividualRisk(population=4000.0)" in [repr(chosen.measure) for chosen in told]
    half = replace(small.take(np.arange(100)), matched=False)
    assert deciding(default_measures(small, half))[0] == "KAnonymity()"


def test_every_default_gives_a_figure() -> None:
    data = persons(100)
    keyless = Microdata.from_frame(pa.table({"a": np.arange(60.0), "b": ["x", "y", "z"] * 20}))
    numbers = incomes().without(["region"])
    schema = Schema((Variable("b", "nominal", "key"),))
    for table in (data, keyless, numbers, Microdata.from_frame(keyless, schema)):
        for chosen in default_measures(table):
            assert np.isfinite(chosen.measure.evaluate(table, table, rng=0).value)
