"""Even splitting and trees beside clusters, and contaminated data under rank swapping: by hand and by theory."""

import numpy as np
import pytest

from sfumato import RankSwapping
from sfumato.studies import woo
from sfumato.studies.study import Sample
from tables import numbers


def test_even_cells_by_hand() -> None:
    # ranges 0..10 and 0..100 in two parts each: cuts at 5 and at 50; the number of a cell is 2 a + b
    x = np.array([[0.0, 0.0], [4.9, 60.0], [5.0, 40.0], [10.0, 100.0]])
    assert woo.evenly(x, 2).tolist() == [0, 1, 2, 3]
    assert woo.evenly(np.array([[3.0, 1.0], [3.0, 9.0]]), 10).tolist() == [0, 9]  # one is constant


def test_the_utility_of_a_partition_by_hand() -> None:
    # two cells of two and four records with 2 and 1 protected, c = 1/2: 2 (1 - 1/2)^2 + 4 (1/4 - 1/2)^2
    cells = np.array([5, 5, 9, 9, 9, 9])
    protected = np.array([True, True, True, False, False, False])
    assert woo.utility(cells, protected) == pytest.approx(0.75)


def test_a_finding_of_each_partition() -> None:
    x = numbers(x1=[0.0, 1, 2, 9], x2=[0.0, 1, 2, 9])
    samples = [Sample("toy", x, {"same": x, "moved": numbers(x1=[0.0, 1, 9, 9], x2=[0.0, 1, 9, 9])})]
    cells, orders, tree = woo.partitions(samples, ("same", "moved"), {"toy": {"same": 1.0, "moved": 4.0}}, seed=0)
    assert cells.holds and "of 1,000,000 cells hold any (p = 6)" in cells.detail
    # both partitions score a copy 0 and what moved more than 0. The pooled 0, 1, 2, 9 lie in four cells, of 2 records
    # each with the copy, and with the other 1 + 2 of the 8 are at 9
    assert orders.holds is None and "alike for 1 of 1 types; 4 to 4 of the cells" in orders.detail
    assert "the fullest 25 to 38 % of all" in orders.detail
    assert tree.holds and tree.detail == "leaves: same 1 to 1, moved 4 to 4"
    some = woo.partitions(samples, ("same", "moved"), {"toy": {"same": 2.0, "moved": 4.0}}, seed=0)
    assert not some[2].holds


@pytest.mark.parametrize("seed", range(5))
def test_the_window_of_the_text_can_give_the_printed_figures_of_rank(seed: int) -> None:
    found = woo.windows({"Rank": RankSwapping(0.15)}, woo.RECORDS, seed, comparable=True)
    assert found.holds, found.detail
    pearson = np.asarray(np.corrcoef(woo.contaminated(woo.RECORDS, seed).numeric().T))[0, 1]
    # 2 % of the records with variance 400 and correlation 0.8: 0.02 * 400 * 0.8 / (0.02 * 400 + 0.98) = 0.71
    assert pearson == pytest.approx(0.02 * 400 * 0.8 / (0.02 * 400 + 0.98), abs=0.05)
    assert woo.windows({"Rank": RankSwapping(0.15)}, 400, seed, comparable=False).holds is None
