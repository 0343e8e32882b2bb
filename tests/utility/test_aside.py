"""Ranks and codes that are put aside in files give the tests of pairs that those in memory give."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfumato import FileError
from sfumato.pair.statistics import Values
from sfumato.utility.association import Column, normal, normality, pair_tests
from sfumato.utility.association.aside import put_aside, ranks_aside
from sfumato.utility.association.direction import turned
from sfumato.utility.global_utility import distribution
from sfumato.utility.global_utility.distribution import numbers_alike, sorted_numbers_alike


def columns(*, gaps: bool) -> list[Column]:
    rng = np.random.default_rng(5)
    town, trade = rng.integers(-1 if gaps else 0, 4, 500), rng.integers(0, 3, 500)
    pay = np.round(rng.lognormal(size=500) + town, 2)
    pay[:20] = np.nan if gaps else 1.0
    return [
        Column("town", "nominal", town, 4),
        Column("trade", "nominal", trade, 3),
        Column("school", "ordinal", rng.integers(0, 5, 500)),
        Column("pay", "skewed", pay),
        Column("height", "normal", rng.normal(size=500) + trade),
        Column("weight", "normal", rng.normal(size=500)),
    ]


@pytest.mark.parametrize("gaps", [False, True])
def test_tests_of_pairs(tmp_path: Path, gaps: bool) -> None:
    here = columns(gaps=gaps)
    aside = [replace(column, folder=tmp_path) for column in here]
    one, two = pair_tests(here), pair_tests(aside)
    for name in ("statistic", "p", "squared", "count", "reason"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12, err_msg=name)
    pairs = np.array([[0, 1], [0, 3], [1, 4]])
    np.testing.assert_allclose(turned(here, here[::1], pairs), turned(aside, aside, pairs), rtol=1e-12)
    assert not any(tmp_path.iterdir())  # the files have no name


def test_ranks_by_hand(tmp_path: Path) -> None:
    # ranks 1, 2.5, 2.5, 4 less their mean 2.5, doubled
    ranks, squares = ranks_aside(np.array([5.0, 7.0, 7.0, 9.0]), tmp_path)
    assert ranks.tolist() == [-3.0, 0.0, 0.0, 3.0] and squares == 18.0


def test_distances_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, y = np.round(rng.normal(size=700), 1), np.round(rng.normal(0.1, 1, size=900), 1)
    monkeypatch.setattr(distribution, "CHUNK", 50)
    assert sorted_numbers_alike(np.sort(x), np.sort(y)) == numbers_alike(Values.of(x), Values.of(y))
    whole = normal(x)
    monkeypatch.setattr(normality, "BLOCK", 7)
    assert normal(x) == whole


def test_no_room(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be put into"):
        put_aside((10,), np.float64, tmp_path / "nowhere")
