"""Two releases of one file: the attack in plain pandas first, then what the audit says of them."""

import numpy as np
import pandas as pd
import pytest

from sfumato.auditing.audit import audit
from sfumato.auditing.findings import Together
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

RECORDS = 600
SCHEMA = Schema(
    (
        Variable("region", "nominal", "key"),
        Variable("age", "numeric", "key"),
        Variable("income", "numeric", "confidential"),
        Variable("w", "numeric"),
    ),
    weight="w",
)


def original(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice(["N", "E", "S", "W"], RECORDS),
            "age": rng.integers(18, 90, RECORDS),
            "income": np.round(rng.lognormal(10, 0.7, RECORDS), 2),
            "w": np.round(rng.uniform(50, 500, RECORDS), 4),
        }
    )


def release(frame: pd.DataFrame, begin: int, seed: int, *, weights: bool = True) -> tuple[pd.DataFrame, np.ndarray]:
    """Band ages in tens from ``begin``, add noise to incomes, and put the records in random order."""
    rng = np.random.default_rng(seed)
    out = frame.copy()
    low = (frame["age"] - begin) // 10 * 10 + begin
    out["age"] = low.astype(str) + "-" + (low + 9).astype(str)
    out["income"] = frame["income"] * np.exp(rng.normal(0, 0.15, len(frame)))
    order = rng.permutation(len(frame))
    return (out if weights else out.drop(columns="w")).iloc[order].reset_index(drop=True), order


def near(frame: pd.DataFrame, order: np.ndarray, values: pd.Series) -> float:
    """Count the values within one in a hundred of the ranks; a value equal to another has their middle rank."""
    true = np.sort(frame["income"].to_numpy())
    shown = frame["income"].to_numpy()[order], values.to_numpy()
    places = [(np.searchsorted(true, x, "left") + np.searchsorted(true, x, "right")) / 2 for x in shown]
    apart = np.abs(places[0] - places[1])
    return float((apart <= 0.01 * len(frame)).mean())


def linked(frame: pd.DataFrame, order: np.ndarray, bands: list[pd.Series], region: pd.Series) -> float:
    """Expect how many are found by who knows region and age: one of all that agree with what is published."""
    found = 0.0
    ends = [(band.str.split("-").str[0].astype(int), band.str.split("-").str[1].astype(int)) for band in bands]
    for row, record in enumerate(order):
        age, place = frame["age"].iloc[record], frame["region"].iloc[record]
        fits = region.eq(place)
        for low, high in ends:
            fits &= (low <= age) & (age <= high)
        found += 1 / fits.sum() if fits[row] else 0.0
    return found / len(order)


def test_averages_intersections_and_exact_weights_as_an_attacker_would_use_them() -> None:
    frame = original()
    one, order = release(frame, 0, 2)
    other, _ = release(frame, 5, 3)
    # the attack: weights are distinct and exact, so they join the two; then means and intersections
    both = one.merge(other, on="w", suffixes=("", "_other"), validate="1:1")
    assert len(both) == RECORDS and (both["w"] == one["w"]).all()
    alone_near, both_near = (
        near(frame, order, one["income"]),
        near(frame, order, (both["income"] + both["income_other"]) / 2),
    )
    alone_linked = linked(frame, order, [one["age"]], one["region"])
    both_linked = linked(frame, order, [both["age"], both["age_other"]], both["region"])
    assert both_near > alone_near and both_linked > 1.5 * alone_linked

    data = Microdata.from_frame(frame, SCHEMA)
    found = audit(data, one, order=order, beside={"earlier": other})
    said = found.together
    assert isinstance(said, Together) and said.releases == ("earlier",)
    assert said.joined == 1.0 and said.by == ("w",)
    income = next(line for line in said.near if line.variable == "income")
    assert income.alone == pytest.approx(alone_near) and income.together == pytest.approx(both_near)
    assert said.linked_alone == pytest.approx(alone_linked) and said.linked == pytest.approx(both_linked)
    assert "w" in said.sentence and "earlier" in said.sentence


def test_five_releases_average_the_noise_away() -> None:
    frame = original()
    first, order = release(frame, 0, 10)
    others = {f"release {seed}": release(frame, 0, seed)[0] for seed in range(11, 15)}
    mean = first["income"].copy()
    for other in others.values():
        mean += first[["w"]].merge(other, on="w")["income"]
    data = Microdata.from_frame(frame, SCHEMA)
    found = audit(data, first, order=order, beside=others)
    assert found.together is not None
    income = next(line for line in found.together.near if line.variable == "income")
    assert income.together == pytest.approx(near(frame, order, mean / 5)) and income.together > 1.5 * income.alone
    route = found["beside"]
    of_income = next(one for one in route.by_variable if one.variable == "income")
    assert "average" in of_income.evidence[0]


def test_releases_without_a_column_in_common_that_is_exact_are_joined_by_nearness_or_not_at_all() -> None:
    frame = original()
    one, order = release(frame, 0, 2, weights=False)
    shuffled, places = release(frame, 5, 3, weights=False)
    other = shuffled.iloc[np.argsort(places)].reset_index(drop=True)  # so that the audit knows whose record is whose
    bare = Schema(tuple(v for v in SCHEMA if v.name != "w"))
    found = audit(Microdata.from_frame(frame.drop(columns="w"), bare), one, order=order, beside={"earlier": other})
    said = found.together
    assert said is not None and said.by == () and said.joined < 0.5
    independent = original(7)
    far, _ = release(independent, 0, 9)
    found = audit(
        Microdata.from_frame(frame, SCHEMA), release(frame, 0, 2)[0], order=order, beside={"other people": far}
    )
    assert found.together is None or found.together.joined < 0.05


def test_an_audit_without_another_release_says_nothing_of_it() -> None:
    frame = original()
    one, order = release(frame, 0, 2)
    assert audit(Microdata.from_frame(frame, SCHEMA), one, order=order).together is None
