"""One-to-one distance linkage against every pairing there is."""

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato import MDAV, DistanceLinkage, Microdata, Noise, NotApplicable, ParameterError, Schema, Variable
from sfumato.risk.distance_linkage import own_links
from tables import incomes

Floats = NDArray[np.float64]


def best_pairings(distances: Floats) -> list[tuple[int, ...]]:
    """Every pairing of least total distance, by trying them all."""
    n = len(distances)
    costs = {pairing: sum(distances[i, j] for i, j in enumerate(pairing)) for pairing in permutations(range(n))}
    least = min(costs.values())
    return [pairing for pairing, cost in costs.items() if cost <= least + 1e-7]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 2), st.booleans())
def test_the_fewest_and_the_most_of_all_best_pairings(seed: int, n: int, p: int, grid: bool) -> None:
    rng = np.random.default_rng(seed)
    here, there = rng.normal(size=(n, p)), rng.normal(size=(n, p))
    if grid:  # small whole numbers: ties everywhere
        here, there = (rng.integers(0, 3, (n, p)).astype(float) for _ in range(2))
    distances = np.sqrt(((here[:, None] - there[None]) ** 2).sum(axis=2))
    own = [sum(i == j for i, j in enumerate(pairing)) for pairing in best_pairings(distances)]
    found = own_links(here, there, distances, share=True)
    assert (found.fewest, found.most) == (min(own), max(own))
    assert found.fewest - 1e-9 <= n * found.by_record.mean() <= found.most + 1e-9 or len(np.unique(here, axis=0)) < n
    linked = own_links(here, there, distances, share=False)
    assert linked.by_record.sum() == max(own)


def test_equal_records_share_the_chance() -> None:
    """By hand: a group of three whose protected values are all 1, and one record by itself."""
    here, there = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([[1.0], [1.0], [1.0], [9.0]])
    found = own_links(here, there, np.abs(here - there.T), share=True)
    np.testing.assert_allclose(found.by_record, [1 / 3, 1 / 3, 1 / 3, 1])
    assert (found.fewest, found.most) == (1, 4)  # all pairings inside the group cost the same


def test_a_pairing_of_all_finds_what_single_records_do_not() -> None:
    """By hand: 0 and 4 moved to 3 and 7. Each original is nearest to 3, but one to one both find their own.

    Distances 3 and 7 of the first, 1 and 3 of the second: own 3 + 3 = 6 against 7 + 1 = 8. Means and spreads of both
    tables are equal but for the shift, which ``standardise="own"`` takes away, so the original's scale is used.
    """
    original, protected = (pa.table({"a": values}) for values in ([0.0, 4.0], [3.0, 7.0]))
    each = DistanceLinkage(1, standardise="original").evaluate(original, protected)
    paired = DistanceLinkage(1, standardise="original", links="one to one").evaluate(original, protected)
    assert each.value == 0.5 and paired.value == 1.0
    assert paired.parts == {"knows a": 1.0, "fewest of the best pairings": 1.0, "most of the best pairings": 1.0}


def test_the_example_of_sdcmicro() -> None:
    """By hand: ``recordLinkage(x, y, vars = c("age", "sex", "region"), distance = "gower")`` of sdcMicro's page.

    Ages 23, 40, 35 and 24, 39, 35 have the range 17. The costs, times 3: own 1/17, 1/17, 0 + 1 (region B for A);
    the first with the third 12/17 + 1 and the third with the first 11/17; the second with any other has sex 1 more.
    Own pairs cost 2/17 + 1 = 1.118; first and third exchanged 12/17 + 1 + 11/17 + 1/17 = 2.41. All are found.
    """
    kinds = Schema((Variable("age"), Variable("sex", kind="nominal"), Variable("region", kind="nominal")))
    x, y = (
        Microdata.from_frame(pa.table({"age": age, "sex": ["f", "m", "f"], "region": region}), kinds)
        for age, region in (([23.0, 40.0, 35.0], ["A", "B", "A"]), ([24.0, 39.0, 35.0], ["A", "B", "B"]))
    )
    measure = DistanceLinkage((("age", "sex", "region"),), distance="gower", links="one to one")
    assert measure.evaluate(x, y).value == 1.0


def test_identical_tables_are_found_and_masking_hides() -> None:
    data = incomes()
    assert DistanceLinkage(links="one to one").evaluate(data, data).parts["most of the best pairings"] == 1.0
    masked = [
        DistanceLinkage(links="one to one").evaluate(data, Noise(a).protect(data, rng=1)).value for a in (0.05, 1)
    ]
    assert masked[0] > masked[1]
    grouped = DistanceLinkage(links="one to one").evaluate(data, MDAV(5).protect(data, rng=1))
    assert grouped.parts["fewest of the best pairings"] <= grouped.value <= grouped.parts["most of the best pairings"]
    assert "one to one" in grouped.about.title


def test_missing_values_lie_apart() -> None:
    tables = [pa.table({"a": values}) for values in ([1.0, 2.0, None], [1.5, 2.5, None])]
    assert DistanceLinkage(1, links="one to one").evaluate(*tables).value == 1.0
    assert DistanceLinkage(1, links="one to one", distance="gower").evaluate(*tables).value == 1.0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="has no second nearest"):
        DistanceLinkage(links="one to one", second=True)
    with pytest.raises(ParameterError, match="links must be one of"):
        DistanceLinkage(links="all")  # type: ignore[arg-type]
    long = pa.table({"a": np.arange(5_001.0)})
    with pytest.raises(NotApplicable, match="5,001 records cannot be paired one to one"):
        DistanceLinkage(links="one to one").evaluate(long, long)
