"""A swapped variable holds the same values for other records: records are not matched by it alone."""

import numpy as np
import pandas as pd
import pytest

from sfumato import DataError, LocalSuppression, Microdata, RankSwapping, Schema, Variable, audit
from sfumato.auditing.matching import match


def leaking(n: int = 2000) -> tuple[Microdata, Microdata, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Incomes rank-swapped, regions blanked beside a stratum that tells them, records in random order."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "region": rng.choice(list("ABCDEF"), n),
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "edu": rng.choice(list("abcd"), n),
            "income": np.round(rng.lognormal(8, 0.5, n), 2),
            "rent": np.round(rng.lognormal(6, 0.5, n), 2),
        }
    )
    table["stratum"] = table["region"] + table["sex"]
    names = ("region", "sex", "edu", "stratum")
    keys = tuple(Variable(name, "nominal", role="key") for name in names)
    original = Microdata.from_frame(table, Schema((*keys, Variable("age", role="key"))))
    swapped = RankSwapping(0.2, variables=("income",)).protect(original, rng=1)
    suppression = LocalSuppression(
        3, variables=("region", "sex", "age", "edu"), importance={"age": 9, "edu": 9, "sex": 9}
    )
    order = rng.permutation(n)
    return original, suppression.protect(swapped).take(order), order


def test_the_untouched_variables_match_and_not_the_swapped_one() -> None:
    original, protected, order = leaking()
    found = match(original, protected)
    assert found.how == "values" and len(found.rows) > 0.9 * len(protected)
    assert np.array_equal(found.records, order[found.rows])
    assert audit(original, protected)["columns"].alarm and audit(original, protected, order=order)["columns"].alarm


def test_a_swapped_variable_alone_matches_nothing() -> None:
    original, protected, _ = leaking()
    bare = protected.without(["rent", "stratum"]).take(np.arange(800))
    with pytest.raises(DataError, match="cannot be told"):
        match(original, bare.without(["age", "sex", "edu"]))
    swapped = protected.without(["rent", "stratum", "age", "sex", "edu"])
    with pytest.raises(DataError, match="cannot be told"):
        audit(original, swapped)


def test_one_untouched_variable_matches_if_another_agrees_blanks_aside() -> None:
    original, protected, order = leaking()
    kept = protected.without(["income", "stratum", "age", "sex", "edu"])  # rent, and a region with blanks
    found = match(original, kept)
    assert found.how == "values" and np.array_equal(found.records, order[found.rows])


def test_what_hardly_varies_does_not_confirm_a_swapped_variable() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"income": rng.lognormal(8, 1, 400), "country": ["here"] * 399 + ["there"], "age": np.arange(400) % 60}
    )
    masked = table.assign(income=rng.permutation(table["income"]), age=rng.permutation(table["age"]) + 0.5)
    with pytest.raises(DataError, match="cannot be told"):
        match(Microdata.from_frame(table), Microdata.from_frame(masked.iloc[:300]))
