"""What a file gives away as it is: by hand, and by comparing every pair of records."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sfumato import (
    SUDA2,
    IndividualRisk,
    KAnonymity,
    Microdata,
    Reidentification,
    SampleUniques,
    Scenario,
    Schema,
    Variable,
)
from sfumato.compare.exposure import coarsen_first, exposure
from sfumato.compare.live import Live
from tables import persons


def alike(data: Microdata, keys: tuple[str, ...]) -> NDArray[np.int64]:
    """How many records agree with each one, pair by pair, a missing value with every value."""
    same = np.ones((len(data), len(data)), dtype=bool)
    for name in keys:
        column, gap = data.columns[name], data.missing(name)
        same &= (column[:, None] == column) | gap[:, None] | gap
    return np.asarray(same.sum(axis=1), dtype=np.int64)


def test_by_hand() -> None:
    # A f 3 times, A m once, B f once, B m twice; k = 2: A m and B f are alone, on two keys each, on no one key
    table = pa.table({"town": list("AAAABBB"), "sex": list("fffmfmm"), "pay": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]})
    keys = tuple(Variable(name, kind="nominal", role="key") for name in ("town", "sex"))
    data = Microdata.from_frame(table, Schema(keys, scenarios=(Scenario("neighbour", ("town", "sex", "pay"), 2),)))
    (seen,) = exposure(data).scenarios
    assert (seen.unique, seen.below, seen.households, seen.left_out) == (2, 2, None, ("pay",))
    assert seen.without == {"sex": 0, "town": 0} and seen.alone_on == (0, 2)
    assert [(one.row, dict(one.values)) for one in seen.riskiest] == [
        (4, {"town": "A", "sex": "m"}),
        (5, {"town": "B", "sex": "f"}),
    ]
    assert coarsen_first(seen) == ("sex", "town")
    # 3 x 1/3 + 1 + 1 + 2 x 1/2, and every set on which somebody is alone has both keys
    assert (seen.expected, seen.largest, seen.violating) == (4, 1, {2: 2, 3: 4, 5: 7})
    assert seen.contributions == {"town": 1, "sex": 1} and seen.with_household is None


@pytest.mark.parametrize("gaps", [False, True])
def test_as_every_pair_of_records_says(gaps: bool) -> None:
    data = persons(150)
    if gaps:
        ages = data.columns["age"].copy()
        ages[::11] = np.nan
        data = data.replace({"age": ages})
    keys = ("region", "sex", "education", "age")
    data = replace(data, schema=replace(data.schema, scenarios=(Scenario("x", keys, 4), Scenario("y", keys[:2], 90))))
    first, second = exposure(data).scenarios
    counts = alike(data, keys)
    assert first.unique == (counts == 1).sum() and first.below == (counts < 4).sum()
    assert second.below == (alike(data, keys[:2]) < 90).sum()
    for name, left in first.without.items():
        assert left == (alike(data, tuple(key for key in keys if key != name)) < 4).sum()
    for one in first.riskiest:  # alone on these keys, and on no part of them
        names = tuple(one.values)
        assert alike(data, names)[one.row - 1] == 1
        assert all(alike(data, part)[one.row - 1] > 1 for part in combinations(names, len(names) - 1))
    fewest = np.full(len(data), 9)
    for size in (3, 2, 1):
        for part in combinations(keys, size):
            fewest[alike(data, part) == 1] = size
    assert first.alone_on == tuple((fewest == size).sum() for size in (1, 2, 3))
    home = data.columns["household"]
    members = np.array([(home == one).sum() for one in home])
    assert first.households == len(np.unique(home[(counts < 4) & (members > 1)]))


def test_it_agrees_with_the_measures() -> None:
    data = persons()
    (seen,) = exposure(data).scenarios
    assert seen.name == "all keys" and seen.below / len(data) == KAnonymity(3).evaluate(data, data).value
    assert seen.unique / len(data) == SampleUniques().evaluate(data, data).value


@pytest.mark.parametrize("member", [True, False])
def test_what_is_found_is_what_the_measures_say(member: bool) -> None:
    data = persons()
    keys = ("region", "sex", "education", "age")
    stated = Scenario("x", keys, 4, knows_membership=member)
    data = replace(data, schema=replace(data.schema, scenarios=(stated,)))
    (seen,) = exposure(data).scenarios
    if member:
        judged = replace(data, schema=replace(data.schema, weight=None))
        parts, largest = IndividualRisk(variables=keys).evaluate(judged, judged).parts, "largest"
    else:
        known = data.without([name for name in data.schema.analysed() if name not in keys])  # nothing else tells
        parts, largest = Reidentification().evaluate(known, known).parts, "largest chance of a record"
    assert seen.expected == pytest.approx(parts["expected re-identifications"], rel=1e-12)
    assert seen.largest == pytest.approx(parts[largest], rel=1e-12)
    assert seen.with_household == pytest.approx(parts["records, with their household"], rel=1e-12)
    assert seen.largest_of_household == pytest.approx(parts["largest of a household"], rel=1e-12)
    scores = SUDA2(3, variables=keys).evaluate(data, data).by_variable
    assert dict(seen.contributions) == pytest.approx(dict(scores), rel=1e-12)
    assert [*seen.contributions.values()] == sorted(scores.values(), reverse=True)
    live = Live(data).counts(stated)
    assert live is not None and all(getattr(seen, name) == value for name, value in vars(live).items())


def test_without_keys_all_categories_are_looked_at() -> None:
    (seen,) = exposure(Microdata.from_frame(pa.table({"job": list("aab"), "pay": [1.5, 2.5, 3.5]}))).scenarios
    assert seen.keys == ("job",) and "names no keys" in seen.name and seen.unique == 1
    assert exposure(Microdata.from_frame(pa.table({"pay": [1.5, 2.5, 3.5]}))).scenarios == ()
