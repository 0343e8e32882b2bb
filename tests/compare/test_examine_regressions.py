"""Regressions side by side: the coefficients that suffered most."""

import pytest

import sfumato
from sfumato.compare.examine.variables import SLOPES_LISTED, regressions
from tables import incomes, persons


def test_the_slopes_that_overlap_least_come_first_with_both_intervals() -> None:
    data = incomes()
    masked = sfumato.RankSwapping(0.3).protect(data, rng=1)
    found = regressions(sfumato.IntervalOverlap(), data, masked).coefficients
    rows = sfumato.IntervalOverlap().table(data, masked, kind="pyarrow").to_pylist()
    slopes = [row for row in rows if row["coefficient"] != "Intercept"]
    assert len(found) == min(SLOPES_LISTED, len(slopes))
    assert found[0].overlap == pytest.approx(min(row["overlap"] for row in slopes))
    assert all(low <= estimate <= high for change in found for estimate, low, high in (change.before, change.after))


def test_what_has_not_moved_is_not_listed() -> None:
    data = incomes()
    assert regressions(sfumato.IntervalOverlap(), data, data).coefficients == ()


def test_without_numbers_there_is_nothing_to_regress() -> None:
    data = persons().without(["age", "income"])
    assert regressions(sfumato.IntervalOverlap(), data, data).coefficients == ()
