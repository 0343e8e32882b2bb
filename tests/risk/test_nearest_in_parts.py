"""NearestRecord of tables in parts: samples of protected records and of people looked for among all originals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from scanned import scanned
from sfumato import Engine, Microdata, NearestRecord, NotApplicable, ParameterError, write
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.pair.sample import Sample
from sfumato.risk import nearest_record
from sfumato.risk.nearest_record import less_near
from sfumato.testing.of_measures import agree as same
from tables import incomes, numbers, persons
from test_contract_parts import cut, with_gaps
from unseen import error_of_sample

Floats = NDArray[np.float64]
DATA = with_gaps(persons(200), 0.05, seed=2)
FILES = {
    "noisy": sfumato.Noise(0.3, variables=("income", "age")).protect(DATA, rng=1),
    "recoded": sfumato.GlobalRecoding(groups=4, rare=0.1).protect(DATA, rng=1),
    "synthetic": sfumato.CARTSynthesis().protect(DATA, rng=1),
}


def apart(here: Floats, there: Floats) -> Floats:
    """All distances of numbers."""
    return np.abs(here[:, None] - there)


def one_number(rng: np.random.Generator, records: int) -> tuple[Microdata, Microdata, Floats, Floats]:
    """An original, a protected table a quarter of which are copies, and both lists of distances by brute force."""
    x = rng.normal(size=records).round(2)
    y = np.where(rng.random(records) < 0.25, x, rng.normal(size=records).round(2))
    others = apart(x, x)
    np.fill_diagonal(others, np.inf)
    return numbers(x=x), numbers(x=y), apart(y, x).min(axis=1), others.min(axis=1)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("number", [3, 17])
def test_all_records_on_disk_give_the_figure_in_memory(file: str, number: int, tmp_path: Path) -> None:
    before, after = scanned(DATA, tmp_path / "original", number), scanned(FILES[file], tmp_path / "protected", number)
    NESTED.clear()
    with Engine("here", memory="64 MiB"):
        same(NearestRecord().evaluate(DATA, FILES[file]), NearestRecord().evaluate(before, after))
    assert not NESTED


def test_originals_are_searched_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = NearestRecord().evaluate(DATA, FILES["noisy"])
    monkeypatch.setattr(nearest_record, "CHUNK", 23)
    same(whole, NearestRecord().evaluate_pair(Pair.of(cut(DATA, [90]), cut(FILES["noisy"], [90]))))


@pytest.mark.parametrize("missing", [False, True])
def test_members_of_a_household_are_not_other_people_in_any_part(missing: bool) -> None:
    # households of two that share an income, cut in the middle of one; every fourth record may have no household
    homes = DATA.columns["household"].copy()
    income = 10.0 * (1 + np.arange(200) // 2) ** 2
    if missing:
        homes[::4] = np.nan
    data = DATA.replace({"household": homes, "income": income})
    measure = NearestRecord(variables=("income",))
    whole = measure.evaluate(data, FILES["noisy"])
    assert whole.parts["originals with a twin"] == (0.5 if missing else 0.0)  # who has none is no relative of the next
    same(whole, measure.evaluate_pair(Pair.of(cut(data, [3, 91]), cut(FILES["noisy"], [3, 91]))))


def test_one_household_is_refused_in_parts_too() -> None:
    data = DATA.replace({"household": np.zeros(200)})
    with pytest.raises(NotApplicable, match="of one household"):
        NearestRecord(sample=9).evaluate_pair(Pair.of(cut(data, [90]), cut(FILES["noisy"], [90])))


def test_by_hand_a_sample_of_both_sides() -> None:
    before, after, near, others = one_number(np.random.default_rng(3), 120)
    rng = np.random.default_rng(8)
    drawn, people = (Sample.drawn(120, 40, rng).rows for _ in range(2))
    near, others = near[drawn], others[people]
    # Cliff's delta, pair by pair; distances of numbers with two digits are at least 0.01 apart or equal
    nearer = near[:, None] < others - 1e-9
    ties = np.abs(near[:, None] - others) <= 1e-9
    shares = nearer + ties / 2
    error = 2 * np.hypot(error_of_sample(shares.mean(axis=1), 120), error_of_sample(shares.mean(axis=0), 120))
    for ends in ([], [50], [0, 3, 3, 80]):
        found = NearestRecord(sample=40).evaluate_pair(Pair.of(cut(before, ends), cut(after, ends)), rng=8)
        assert found.value == pytest.approx(max(2 * shares.mean() - 1, 0.0), rel=1e-12)
        assert found.parts["standard error"] == pytest.approx(error, rel=1e-9)
        assert found.parts["copies of an original"] == (near == 0).mean()
        assert found.by_record is None
        assert any("40 of 120 protected records and of 40 of 120 originals" in note for note in found.notes)


def test_over_many_samples_the_figure_is_unbiased_and_its_standard_error_right() -> None:
    before, after, near, others = one_number(np.random.default_rng(5), 150)
    truth = 2 * less_near(near, others, np.full(150, 1e-9)).mean() - 1
    assert truth > 0.2  # so that no sample is cut off at zero
    pair = Pair.of(cut(before, [30]), cut(after, [30]))
    found = [NearestRecord(sample=50).evaluate_pair(pair, rng=seed) for seed in range(400)]
    values = np.array([one.value for one in found])
    variance = np.mean([one.parts["standard error"] ** 2 for one in found])
    assert abs(values.mean() - truth) < 4 * np.sqrt(variance / 400)
    # the variance of 400 figures has a relative standard error of sqrt(2 / 400)
    assert values.var(ddof=1) == pytest.approx(variance, rel=4 * np.sqrt(2 / 400))


@pytest.mark.parametrize("protected", [incomes(300, seed=8), incomes(300, seed=4)])
def test_a_holdout_in_parts(protected: Microdata, tmp_path: Path) -> None:
    everyone = incomes(450, seed=4)
    original, held = everyone.take(np.arange(300)), everyone.take(np.arange(290, 450))
    write(held, tmp_path / "held.csv")
    measure = NearestRecord(holdout=str(tmp_path / "held.csv"))
    for ends in ([7], [100, 100, 280]):
        same(
            measure.evaluate(original, protected),
            measure.evaluate_pair(Pair.of(cut(original, ends), cut(protected, ends))),
        )
    found = replace(measure, sample=60).evaluate_pair(Pair.of(cut(original, [9]), cut(protected, [9])), rng=1)
    assert any("of 60 of 160 held-out records" in note for note in found.notes)
    whole = measure.evaluate(original, protected)
    assert abs(found.value - whole.value) < 4 * found.parts["standard error"]


def test_a_holdout_with_ids_of_originals_is_refused_wherever_they_lie(tmp_path: Path) -> None:
    write(DATA.take(np.array([5, 150])), tmp_path / "held.csv")
    measure = NearestRecord(holdout=str(tmp_path / "held.csv"))
    for ends in ([], [90]):
        with pytest.raises(NotApplicable, match="2 of the 2 held-out records have the id of an original"):
            measure.evaluate_pair(Pair.of(cut(DATA, ends), cut(FILES["noisy"], ends)))


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(ParameterError, match="sample"):
        NearestRecord(sample=1)
    assert NearestRecord(sample=9).about.random and not NearestRecord().about.random
