"""Ranks and codes that are put aside in files give the tests of pairs that those in memory give."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato import FileError
from sfumato.kernels import stretches
from sfumato.pair import sorting
from sfumato.pair.statistics import Values
from sfumato.utility.association import Column, normal, pair_tests
from sfumato.utility.association import columns as normality
from sfumato.utility.association import columns as put_in_files
from sfumato.utility.association.columns import put_aside, ranks_aside
from sfumato.utility.association.pairs import turned
from sfumato.utility.global_utility import univariate
from sfumato.utility.global_utility.univariate import numbers_alike, numbers_alike_aside


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


def test_what_is_mapped_stays_when_its_memory_is_let_go(tmp_path: Path) -> None:
    array = put_aside((3, 1000), np.float64, tmp_path)
    array[:] = np.arange(3000.0).reshape(3, 1000)
    for rows in stretches.stretches(3, 1):
        array[rows] += 1
        stretches.let_go()
    assert np.array_equal(array, np.arange(1.0, 3001.0).reshape(3, 1000))


def test_ranks_by_hand(tmp_path: Path) -> None:
    # ranks 1, 2.5, 2.5, 4 less their mean 2.5, doubled
    ranks, squares = ranks_aside(np.array([5.0, 7.0, 7.0, 9.0]), tmp_path)
    assert ranks.tolist() == [-3.0, 0.0, 0.0, 3.0] and squares == 18.0


@pytest.fixture(params=["sorted in memory", "sorted on disk"])
def short(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of a few records, and columns that count as long."""
    monkeypatch.setattr(stretches, "LENGTH", 50)
    monkeypatch.setattr(normality, "BLOCK", 7)
    if request.param == "sorted on disk":
        for module in (univariate, normality):
            monkeypatch.setattr(module, "MAX_RECORDS_IN_MEMORY", 0)
            monkeypatch.setattr(module, "MEMORY", 90 * sorting.SHARE * sorting.BYTES)


@pytest.mark.usefixtures("short")
def test_distances_of_long_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x, y = np.round(rng.normal(size=700), 1), np.round(rng.normal(0.1, 1, size=900), 1)
    assert numbers_alike_aside(x, y, tmp_path) == numbers_alike(Values.of(x), Values.of(y))
    assert numbers_alike_aside(x, x[::-1], tmp_path).distance == 0
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_normality_of_long_columns(tmp_path: Path, gaps: float) -> None:
    rng = np.random.default_rng(4)
    for x in (
        rng.normal(3e200, 1e199, 700),
        rng.exponential(size=700),
        np.full(300, 0.1),
        np.array([1.0, 2.0, np.nan]),
    ):
        x[rng.random(len(x)) < gaps] = np.nan
        there = x[~np.isnan(x)]
        found = normal(x, tmp_path)
        if len(np.unique(there)) > 3:
            near = there / there.max()  # so that no square is too large
            z = (near - near.mean()) / near.std(ddof=1)
            assert found[0] == pytest.approx(stats.kstest(z, "norm").statistic, rel=1e-12)
        else:
            assert found == ((0.5, 0.0) if len(there) > 3 else (0.0, 1.0))
    assert not any(tmp_path.iterdir())


def test_no_room(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be put into"):
        put_aside((10,), np.float64, tmp_path / "nowhere")


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 7.0, 1e9]), min_size=1, max_size=80), most=st.integers(1, 90)
)
def test_ranks_of_a_column_that_is_sorted_on_disk(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], most: int
) -> None:
    folder, column = tmp_path_factory.mktemp("ranks"), np.array(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "LENGTH", 7)
        held, squares = ranks_aside(column, folder)
        patch.setattr(put_in_files, "MAX_RECORDS_IN_MEMORY", 0)
        patch.setattr(put_in_files, "MEMORY", most * sorting.SHARE * sorting.BYTES)
        found, same = ranks_aside(column, folder)
    expected = 2 * stats.rankdata(column) - (len(column) + 1)  # doubled and centred
    assert found.tolist() == held.tolist() == expected.tolist()
    assert squares == same == pytest.approx(float((expected**2).sum()), rel=1e-12)
    assert not any(folder.iterdir())
