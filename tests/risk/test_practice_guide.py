"""The ten-record example of the practice guide, whose tables print the figures of sdcMicro.

Benschop, Machingauta and Welch, Statistical Disclosure Control: A Practice Guide, Tables 4.1, 4.3 and 4.5.
"""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import SUDA2, IndividualRisk, KAnonymity, LDiversity, Microdata, SampleUniques, Schema, Variable

KEYS = ("residence", "gender", "education", "labor")


def example() -> Microdata:
    table = pa.table(
        {
            "residence": ["urban"] * 4 + ["rural"] + ["urban"] * 5,
            "gender": ["f", "f", "f", "m", "f", "m", "f", "m", "f", "f"],
            "education": [
                *("secondary incomplete", "secondary incomplete", "primary incomplete", "secondary complete"),
                *("secondary complete", "secondary complete", "primary complete", "post-secondary"),
                *("secondary incomplete", "secondary incomplete"),
            ],
            "labor": [
                *("employed", "employed", "non-LF", "employed", "unemployed"),
                *("employed", "non-LF", "unemployed", "non-LF", "non-LF"),
            ],
            "weight": [180.0, 180, 215, 76, 186, 76, 180, 215, 186, 76],
            "health": ["yes", "yes", "yes", "yes", "yes", "no", "no", "yes", "no", "yes"],
        }
    )
    variables = (*(Variable(key, kind="nominal", role="key") for key in KEYS), Variable("weight"))
    return Microdata.from_frame(
        table, Schema((*variables, Variable("health", kind="nominal", role="confidential")), weight="weight")
    )


def test_individual_risk() -> None:
    data = example()
    found = IndividualRisk().evaluate(data, data)
    printed = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]
    assert found.by_record is not None
    np.testing.assert_array_equal(found.by_record.round(4), printed)
    assert round(found.value, 5) == 0.01582
    assert found.parts["expected re-identifications"] == pytest.approx(10 * found.value)


def test_uniques_and_k_anonymity() -> None:
    data = example()
    assert SampleUniques().evaluate(data, data).parts == {"uniques": 4.0, "records in pairs": 6.0}
    parts = KAnonymity().evaluate(data, data).parts
    assert (parts["violating 2"], parts["violating 3"]) == (0.4, 1.0)


def test_l_diversity() -> None:
    data = example()
    found = LDiversity().evaluate(data, data)
    # printed l of each record: 1 1 1 2 1 2 1 1 2 2
    assert found.by_record is not None and found.by_record.tolist() == [1, 1, 1, 0, 1, 0, 1, 1, 0, 0]


def test_suda_scores() -> None:
    data = example()
    for measure in (SUDA2(fraction=0.01), SUDA2(3, score="handbook", fraction=0.01)):
        scores = {row["row"]: row["score"] for row in measure.evaluate(data, data).tables["riskiest records"]}
        assert scores == {3: 6, 5: 12, 7: 6, 8: 10}
    # {rural}, {secondary complete, unemployed}, {f, unemployed}, {f, secondary complete}
    assert SUDA2().evaluate(data, data).tables["riskiest records"][0]["minimal sample uniques"] == 4


def test_dis_suda_scores_are_those_printed_with_the_scores_of_ihsn() -> None:
    data = example()
    found = SUDA2(score="ihsn", fraction=0.01).evaluate(data, data)
    assert found.by_record is not None
    np.testing.assert_array_equal(
        found.by_record.round(4), [0.0, 0.0, 0.0051, 0.0, 0.0107, 0.0, 0.0051, 0.0088, 0.0, 0.0]
    )


def test_a_missing_value_agrees_with_every_value() -> None:
    # Table 4.2: frequencies 2, 2, 3
    table = pa.table({"education": ["complete", "incomplete", None], "labor": ["employed"] * 3})
    found = KAnonymity(3, variables=("education", "labor")).evaluate(table, table)
    assert found.by_record is not None and found.by_record.tolist() == [1, 1, 0]
