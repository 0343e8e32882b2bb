"""The probability of a correct match, for an intruder who knows how the file was masked."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sfumato
from sfumato import IndividualRisk, MatchProbability, Microdata, NotApplicable, ParameterError, Schema, Variable
from tables import numbers, persons


def table(**columns: Sequence[object]) -> Microdata:
    return Microdata.from_frame(pa.table(columns))


def by_record(measure: MatchProbability, before: Microdata, after: Microdata) -> list[float]:
    found = measure.evaluate(before, after).by_record
    assert found is not None
    return list(found)


def test_unchanged_keys_give_one_over_f() -> None:
    # Duncan and Lambert's insider, Reiter's case 1: 1 / n_t among the n_t records with the target's values
    data = persons().without(["weight"])
    keys = ("region", "sex", "education")
    found = MatchProbability(variables=keys).evaluate(data, data)
    assert found.value == pytest.approx(IndividualRisk(variables=keys).evaluate(data, data).value)
    assert found.parts["most probable is right"] == pytest.approx(found.value)
    assert found.parts["as the intruder believes"] == pytest.approx(found.value)


def test_who_may_not_be_in_the_file_is_found_less_often() -> None:
    # case 2: with a chance r of being in the file, each of the f records alike has r / f, about 1 / F
    data = table(town=["A", "A", "B", "B", "B"])
    expected = [0.125, 0.125, 1 / 12, 1 / 12, 1 / 12]
    assert by_record(MatchProbability(0.25), data, data) == pytest.approx(expected)


def test_randomised_categories_by_hand() -> None:
    # known A A A B, published A A B B: an A became A in 2 of 3, B in 1 of 3; a B became B
    before, after = table(town=["A", "A", "A", "B"]), table(town=["A", "A", "B", "B"])
    # g: of a published A (3 x 2/3 + 0) / 4 = 1/2; of a B (3 x 1/3 + 1) / 4 = 1/2
    # target A: L/g = 4/3, 4/3, 2/3, 2/3, sum 4: 1/3 and 1/6;  target B: 0, 0, 2, 2: 1/2
    found = MatchProbability().evaluate(before, after)
    assert by_record(MatchProbability(), before, after) == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 2])
    assert found.value == pytest.approx(1 / 3)
    assert found.parts["most probable is right"] == pytest.approx((1 / 2 + 1 / 2 + 0 + 1 / 2) / 4)
    assert found.parts["as the intruder believes"] == pytest.approx((3 / 3 + 1 / 2) / 4)
    assert found.parts["largest"] == pytest.approx(1 / 2) and found.parts["records above 0.1"] == 1


def test_noise_by_scipys_normal_density() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)) * [1, 10]
    y = x + rng.normal(size=(60, 2)) * [0.5, 2] + [0.1, 0]
    released = 0.7
    before, after = numbers(a=x[:, 0], b=x[:, 1]), numbers(a=y[:, 0], b=y[:, 1])
    found = MatchProbability(released).evaluate(before, after)
    likelihood = np.ones((60, 60))
    for k in range(2):
        apart = y[:, k] - x[:, k]
        likelihood *= norm.pdf(y[None, :, k] - x[:, None, k], apart.mean(), apart.std())
    odds = likelihood / likelihood.mean(axis=0)
    expected = released / 60 * odds / (released / 60 * odds.sum(axis=1, keepdims=True) + 1 - released)
    assert by_record(MatchProbability(released), before, after) == pytest.approx(np.diag(expected).tolist(), rel=1e-9)
    assert found.parts["as the intruder believes"] == pytest.approx(expected.max(axis=1).mean())


def test_missing_values_on_either_side() -> None:
    before = table(town=["A", None, "B", "B"])
    after = table(town=["A", "A", None, "B"])
    # A: became A; B: became B (of the one that is there). Published: A 2 of 3, B 1 of 3.
    # known nothing of record 2: A with 2/3, B with 1/3; a published missing value says nothing
    likelihood = np.array([[1, 1, 1, 0], [2 / 3, 2 / 3, 1, 1 / 3], [0, 0, 1, 1], [0, 0, 1, 1]])
    odds = likelihood / likelihood.mean(axis=0)
    expected = np.diag(odds / odds.sum(axis=1, keepdims=True))
    assert by_record(MatchProbability(), before, after) == pytest.approx(expected.tolist())


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_an_unknown_number_is_published_as_often_as_the_published_ones_are_spread(spread: float) -> None:
    """Of the first nothing is known; the others moved up and down by so much, which changes their order."""
    nan = float("nan")
    before, after = np.array([nan, 1.0, 1.4, 4.0, 4.3]), np.array([3.0, 1.0, 1.4, 4.0, 4.3])
    after[1:] += np.array([1, -1, 1, -1]) * spread
    likelihood = np.array([norm.pdf(after - known, 0.0, spread) for known in before])
    likelihood[0] = norm.pdf(after, after.mean(), after.std())
    odds = likelihood / likelihood.mean(axis=0)
    expected = np.diag(odds / odds.sum(axis=1, keepdims=True))
    found = by_record(MatchProbability(), numbers(a=before), numbers(a=after))
    assert found == pytest.approx(expected.tolist())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.floats(0.001, 1000))
def test_probabilities_are_calibrated_and_units_do_not_matter(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 3))
    y = x + 0.3 * rng.normal(size=(300, 3))
    before, after = (numbers(a=t[:, 0], b=t[:, 1], c=t[:, 2]) for t in (x, y))
    found = MatchProbability().evaluate(before, after)
    # errors are normal as the intruder assumes: what he believes of his best match is how often it is right
    assert found.parts["as the intruder believes"] == pytest.approx(found.parts["most probable is right"], abs=0.12)
    units = (numbers(a=scale * t[:, 0], b=t[:, 1], c=t[:, 2]) for t in (x, y))
    assert MatchProbability().evaluate(*units).value == pytest.approx(found.value, rel=1e-6)
    fewer = MatchProbability(variables=("a", "b")).evaluate(before, after)
    assert fewer.value < found.value


def test_more_noise_is_safer_and_recoded_keys_are_compared_in_their_classes() -> None:
    data = sfumato.household_survey(200)
    keys = ("age", "income")
    values = [
        MatchProbability(variables=keys).evaluate(data, sfumato.Noise(s, variables=keys).protect(data, rng=1)).value
        for s in (0.01, 0.1, 0.5)
    ]
    assert values[0] > values[1] > values[2]
    recoded = sfumato.GlobalRecoding(groups=5, rare=0.05).protect(data)
    assert MatchProbability().evaluate(data, recoded).value < MatchProbability().evaluate(data, data).value


def test_the_keys_are_known_by_default_and_what_cannot_be_is_refused() -> None:
    schema = Schema((Variable("town", kind="nominal", role="key"),))
    data = Microdata.from_frame(pa.table({"town": ["A", "A", "B"], "x": [1.0, 2.0, 3.0]}), schema)
    assert by_record(MatchProbability(), data, data) == pytest.approx([0.5, 0.5, 1])
    assert by_record(MatchProbability(variables=("town", "x")), data, data) == pytest.approx([1, 1, 1])
    with pytest.raises(NotApplicable, match="MatchProbability: record i"):
        MatchProbability().evaluate(data, data.take(np.arange(2)))
    with pytest.raises(ParameterError, match=r"released must be in \(0, 1\]; got 5 \(did you mean 0.05\?\)"):
        MatchProbability(5)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.risk import match_probability

    data = persons()
    masked = sfumato.PRAM(0.8).protect(data, rng=1)
    whole = MatchProbability().evaluate(data, masked)
    records = by_record(MatchProbability(), data, masked)
    monkeypatch.setattr(match_probability, "BLOCK", 500)
    assert by_record(MatchProbability(), data, masked) == pytest.approx(records, rel=1e-12)
    assert MatchProbability().evaluate(data, masked).parts == pytest.approx(dict(whole.parts))
