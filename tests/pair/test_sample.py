"""The standard error of a sample: of figures that vary, and of records that are rare and were not drawn."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from sfumato.pair.sample import NORMAL, Sample

SIZES = [(20_000, 2_000), (2_000, 200), (1_000, 500), (1_000, 940), (100, 10), (50, 5), (200, 2)]


def sample(drawn: int, records: int) -> Sample:
    return Sample(np.arange(drawn), records)


def test_by_hand_nothing_was_seen() -> None:
    # 4 of 8: K records are all missed with a chance of at most (1 - 4/8)^K, 5 % for K = ln 0.05 / ln 0.5 = 4.3219
    assert sample(4, 8).unseen == pytest.approx(4.3219 / 8, rel=1e-5)
    assert NORMAL * sample(4, 8).error(np.zeros(4)) == pytest.approx(4.3219 / 8, rel=1e-5)
    assert NORMAL * sample(4, 8).error(np.ones(4)) == pytest.approx(4.3219 / 8, rel=1e-5)
    # differences of 0 may be 1 or -1 elsewhere; chances of 1/4 may be 1, which is 3/4 away
    assert NORMAL * sample(4, 8).error(np.zeros(4), low=-1.0) == pytest.approx(4.3219 / 8, rel=1e-5)
    assert NORMAL * sample(4, 8).error(np.full(4, 0.25)) == pytest.approx(4.3219 / 8 * 0.75, rel=1e-5)


def test_by_hand_what_was_seen_and_what_was_not_add_up() -> None:
    # variance of 0, 0, 0, 1: 1/4; over 4, times 1 - 4/8: 1/32. Unseen: 4.3219 / 8 x 3/4 = 0.40518, over 1.96: 0.20673
    found = sample(4, 8).error(np.array([0.0, 0.0, 0.0, 1.0]))
    assert found**2 == pytest.approx(1 / 32 + 0.20673**2, rel=1e-4)


def test_with_all_records_nothing_is_left_open() -> None:
    assert sample(8, 8).error(np.array([0.0, 1.0] * 4)) == sample(8, 8).unseen == 0


def test_one_record_tells_nothing() -> None:
    # ln 0.05 / ln(1 - 1/8) = 22.4 of 8: all others may be different
    assert NORMAL * sample(1, 8).error(np.zeros(1)) == pytest.approx(1)


@pytest.mark.parametrize(("records", "drawn"), SIZES)
def test_more_records_than_said_are_missed_by_5_samples_in_100_at_most(records: int, drawn: int) -> None:
    more = np.arange(int(sample(drawn, records).unseen * records) + 1, records + 1)
    assert (hypergeom.pmf(0, records, more, drawn) <= 0.05).all()


@pytest.mark.parametrize(("records", "drawn"), SIZES)
def test_the_interval_holds_the_share_however_rare(records: int, drawn: int) -> None:
    # the chance of each number seen is known, so nothing is simulated; without the unseen it is 10 % for one record
    seen = np.arange(drawn + 1)
    some = (np.arange(drawn) < number for number in seen)
    widths = NORMAL * np.array([sample(drawn, records).error(figures.astype(float)) for figures in some])
    for there in np.unique(np.r_[: min(300, records), np.linspace(0, records, 60)].astype(int)):
        holds = np.abs(seen / drawn - there / records) <= widths + 1e-12
        assert hypergeom.pmf(seen, records, there, drawn) @ holds >= 0.93


def test_the_interval_holds_a_mean_of_rare_differences() -> None:
    rng = np.random.default_rng(1)
    figures = np.zeros(4_000)
    figures[:9], figures[9:12] = 1.0, -1.0
    drawn = [Sample.drawn(4_000, 400, rng) for _ in range(2_000)]
    held = [abs(figures[one.rows].mean() - 6 / 4_000) <= NORMAL * one.error(figures[one.rows], -1.0) for one in drawn]
    assert np.mean(held) >= 0.93
