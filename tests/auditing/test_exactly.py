"""Numbers that are published nearly as they were, and that the rest of the file tells to the last digit."""

import numpy as np
import pandas as pd
import pytest

from sfumato import MDAV, GlobalRecoding, Method, Microdata, Noise, RankSwapping, Rounding, Schema, Variable, audit
from sfumato.auditing.repairs import prepare
from sfumato.report.terminal import evidence_lines, nearness
from sfumato.table.present import made_missing


def incomes(n: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "region": rng.choice(list("ABCDEF"), n),
            "wages": np.round(rng.lognormal(8, 0.5, n)),
            "other": np.round(rng.lognormal(6, 0.8, n)),
        }
    )
    return table.assign(income=table["wages"] + table["other"])


def microdata(table: pd.DataFrame) -> Microdata:
    return Microdata.from_frame(table, Schema((Variable("region", "nominal"), Variable("income", role="confidential"))))


@pytest.mark.parametrize(
    "method",
    [
        MDAV(3, variables=("income",)),
        Rounding(100, variables=("income",)),
        Noise(0.01, variables=("income",)),
        RankSwapping(0.005, variables=("income",)),
        GlobalRecoding(bins={"income": 100}),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_sum_tells_exactly_what_is_published_nearly(method: Method) -> None:
    original = microdata(incomes())
    protected = method.protect(original, rng=1)
    route = audit(original, protected)["sums"]
    assert route.worst is not None and route.alarm and route.worst.evidence == ("other + wages",)
    assert (route.worst.restored, route.worst.exactly) == (1.0, 1.0)
    if route.worst.basis == "exactly":
        assert "exactly" in route.verdict and route.worst.guess < 0.9
        assert all(float(example.true) in set(incomes()["income"]) for example in route.examples) and route.examples
    ready = prepare(original, protected, seed=1)
    assert ready.checked.passed and not {"wages", "other"} <= set(ready.table.names)


def test_a_copy_tells_exactly_what_is_published_nearly_and_a_noisy_one_does_not() -> None:
    table = incomes().drop(columns=["wages", "other"])
    rng = np.random.default_rng(1)
    tax = table.assign(tax=(table["income"] / 4))
    noisy = table.assign(tax=table["income"] / 4 * np.exp(0.002 * rng.normal(size=len(table))))
    for kept, alarm in ((tax, True), (noisy, False)):
        original = microdata(kept)
        found = audit(original, MDAV(3, variables=("income",)).protect(original, rng=1))
        assert found.passed is not alarm, found


def test_what_many_share_is_no_exact_restoration() -> None:
    """Of an amount that is mostly zero, zero is guessed; a column that tells who has some tells no figure."""
    rng = np.random.default_rng(2)
    some = rng.random(1500) < 0.2
    capital = np.where(some, np.round(rng.lognormal(6, 1, 1500)), 0.0)
    table = pd.DataFrame({"capital": capital, "has": np.where(some, "y", "n"), "age": rng.integers(18, 80, 1500)})
    masked = table.assign(capital=capital + rng.normal(size=1500) / 4)
    assert audit(table, masked).passed


def test_what_is_restored_nearly_is_not_told_as_if_to_the_last_digit() -> None:
    table, rng = incomes().drop(columns=["wages", "other"]), np.random.default_rng(1)
    original = microdata(table.assign(tax=table["income"] / 4 * np.exp(0.002 * rng.normal(size=len(table)))))
    found = audit(original, made_missing(original, {"income": rng.random(len(table)) < 0.3}))
    worst = found["columns"].worst
    assert worst is not None and worst.alarm and worst.exactly < 0.2 < 0.8 < worst.restored
    assert f"; {worst.exactly:.1%} to the last digit, the others near" in found["columns"].verdict
    near = [example for example in found["columns"].examples if not example.exact]
    assert near and all(example.told == f"about {example.true}" for example in near)
    lines = " ".join(evidence_lines(found))
    assert "to the last digit, the others near" in lines and f"is about {near[0].true}" in lines
    assert f"at most {found.near:.1%} of the records" in nearness(found)


def test_what_is_told_exactly_says_nothing_of_near() -> None:
    original = microdata(incomes())
    found = audit(original, made_missing(original, {"income": np.arange(2000) % 3 == 0}))
    assert found["sums"].alarm and "near" not in found["sums"].verdict
    assert all(example.told == example.true for example in found["sums"].examples)
