"""What the global data utility says: the paragraph to publish with a file, and notes on its own limits."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from global_utility_tables import row, survey
from scipy import stats

import sfumato
from sfumato import Chain, GlobalDataUtility, Method, Microdata, Schema, Variable


def test_the_statement_names_labels_and_tells_nothing_of_the_protection() -> None:
    data = survey()
    rng = np.random.default_rng(0)
    noisy = np.exp(np.log(data.columns["income"]) + rng.normal(scale=1.0, size=len(data)))
    masked = data.replace({"income": noisy}).without(["height"])
    found = GlobalDataUtility(reduction=True).evaluate(data, masked)
    assert "distribution of monthly income differs from the original and should not be relied on" in found.statement
    assert "weaker than in the original" in found.statement
    assert "monthly income" in found.statement and "tenure" in found.statement
    for secret in ("height", "noise", "removed", "suppress", "perturb", "recod", "swap", "risk", "P =", "0.", "1,500"):
        assert secret not in found.statement


def sentence(statement: str, part: str) -> str:
    (found,) = [said for said in statement.split(". ") if part in said]
    return found.removesuffix(".")


def test_the_statement_does_not_call_close_what_is_broad_or_left_to_chance() -> None:
    data = survey()
    # rounded to 60, an age from 18 to 89 is 0, 60 or 120: the rounded distributions agree, and little of it is left
    broad = GlobalDataUtility().evaluate(data, sfumato.Rounding({"age": 60}).protect(data))
    assert row(broad, "age")["distribution_utility"] == pytest.approx(1, abs=1e-6)
    assert sentence(broad.statement, "outline") == "The distribution of age can be seen in broad outline only"
    assert "The distributions of the other 6 variables are close to the original." in broad.statement
    few = GlobalDataUtility().evaluate(data, replace(data.take(np.arange(20)), matched=False))
    chance = sentence(few.statement, "chance")
    for name in ("age", "income", "rent", "height"):
        label = data.schema[name].title
        told = row(few, name)
        assert (label in chance) == (told["distance"] >= 0.1 and told["utility"] >= 0.5), (name, told)


def test_the_statement_on_a_few_variables_is_good_english() -> None:
    x = np.random.default_rng(0).normal(size=300)
    data = Microdata.from_frame(pa.table({"a": x, "b": x**3, "c": -x}))
    start = "This note tells users how far results from this file agree with the data it was made from. It covers "
    close = "is close to the original."
    one = GlobalDataUtility(variables=("a",)).evaluate(data, data).statement
    assert one == f"{start}1 variable. The distribution of a {close}"
    two = GlobalDataUtility(variables=("a", "b")).evaluate(data, data).statement
    assert two == (
        f"{start}2 variables and 1 pair of variables. The distributions of all variables are close to the original. "
        "The pair is associated as in the original, or not associated in either."
    )
    lost = GlobalDataUtility().evaluate(data, data.replace({"a": np.random.default_rng(1).permutation(x)})).statement
    assert lost.endswith(
        "1 of the 3 pairs is associated as in the original, or not associated in either. The associations of a with b "
        "and c are in the original but do not show in this file."
    )
    untold = replace(data.take(np.arange(150)), matched=False)
    halves = Variable("a", kind="nominal", categories=("p", "q"))
    untold = untold.recast({"a": (halves, np.arange(150, dtype=np.int32) % 2)})
    said = GlobalDataUtility(variables=("a", "b")).evaluate(data, untold).statement
    assert said.endswith(
        "The distribution of b is close to the original. The distribution of a could not be compared with the "
        "original. The association of a with b is in the original but does not show in this file."
    )


def test_variables_of_the_same_label_are_told_apart() -> None:
    x = np.random.default_rng(0).normal(size=300)
    schema = Schema((Variable("a", label="income"), Variable("b", label="income")))
    data = Microdata.from_frame(pa.table({"a": x, "b": x**3, "c": np.exp(x)}), schema)
    said = GlobalDataUtility().evaluate(data, data.replace({"b": np.random.default_rng(1).permutation(x)})).statement
    assert "The distribution of income (b) differs" in said
    assert "The associations of income (b) with income (a) and c are in the original" in said


@pytest.mark.parametrize(("records", "threshold"), [(5, 0.05), (30, 0.05), (30, 0.01)])
def test_the_least_correlation_that_a_few_records_show(records: int, threshold: float) -> None:
    x = np.arange(records, dtype=float)
    data = Microdata.from_frame(pa.table({"x": x, "y": x}))
    (said,) = [
        note for note in GlobalDataUtility(threshold).evaluate(data, data).notes if "the tests see little" in note
    ]
    least = float(said.partition("no correlation below ")[2].partition(")")[0])
    # t = r sqrt(n - 2) / sqrt(1 - r^2) has n - 2 degrees of freedom: at the least r, P is the threshold
    p = 2 * stats.t.sf(least * np.sqrt(records - 2) / np.sqrt(1 - least**2), records - 2)
    assert p == pytest.approx(threshold, rel=0.1)


# words that tell of a protection; "weak" and "direction" tell of the result
SECRETS = (
    *("noise", "noisy", "mask", "anonym", "protect", "perturb", "suppress", "missing", "blank", "recod", "classes"),
    *("categor", "round", "top", "bottom", "cod", "swap", "shuffl", "aggregat", "random", "sampl", "synth", "remov"),
    *("deleted", "lack", "record", "risk", "disclos", "threshold", "P =", "0.", "%"),
)


@pytest.mark.parametrize(
    "method",
    [
        sfumato.Noise(0.2),
        sfumato.MDAV(5),
        sfumato.PRAM(0.7, variables=("region", "owner")),
        sfumato.RankSwapping(0.1),
        sfumato.Rounding({"income": 1000, "age": 20}),
        sfumato.TopBottomCoding(0.1),
        sfumato.GlobalRecoding(groups=3, variables=("age", "income")),
        sfumato.GlobalRecoding(groups=3, variables=("age",)) + sfumato.LocalSuppression(5, variables=("age", "region")),
        sfumato.Sampling(0.1),
        sfumato.CARTSynthesis(),
        sfumato.VariableRemoval(variables=("height", "rent")),
    ],
    ids=lambda method: type(method).__name__,
)
def test_the_statement_tells_nothing_of_any_protection(method: Method) -> None:
    data = survey(800)
    protected = method.protect(data, rng=0)
    said = GlobalDataUtility().evaluate(data, protected).statement
    for secret in SECRETS:
        assert secret not in said, (secret, said)
    for name in data.names:
        if name not in protected.schema:
            assert data.schema[name].title not in said
    steps = method.steps if isinstance(method, Chain) else (method,)
    assert all(step.about.title.lower() not in said.lower() for step in steps)
    assert "  " not in said and ".." not in said and said.endswith(".")
