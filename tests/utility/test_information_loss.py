import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    MDAV,
    InformationLoss,
    InformationLossTorres,
    Microdata,
    Noise,
    NotApplicable,
    ParameterError,
    RankSwapping,
    StructureLoss,
)
from tables import incomes, numbers

BEFORE = numbers(a=[1.0, 2.0, 3.0, 6.0], b=[2.0, 1.0, 4.0, 5.0])
AFTER = numbers(a=[1.0, 3.0, 3.0, 5.0], b=[2.0, 2.0, 3.0, 5.0])
# by hand: means a 3 -> 3, b 3 -> 3
# variances (/3): a (4+1+0+9)/3 = 14/3 -> (4+0+0+4)/3 = 8/3;  b (1+4+1+4)/3 = 10/3 -> (1+1+0+4)/3 = 2
# covariance: ((-2)(-1) + (-1)(-2) + 0 + (3)(2))/3 = 10/3 -> ((-2)(-1) + 0 + 0 + (2)(2))/3 = 2
# correlation: 10/sqrt(14 * 10) = 0.845154 -> 6/sqrt(8 * 6) = 0.866025
# |x - x'|: a 0 1 0 1, b 0 1 1 0
R_GAP = 6 / np.sqrt(48) - 10 / np.sqrt(140)
BY_HAND = {
    ("data", "mean square error"): 4 / 8,
    ("data", "mean absolute error"): 4 / 8,
    ("data", "mean variation"): (1 / 2 + 1 / 6 + 1 / 1 + 1 / 4) / 8,
    ("means", "mean square error"): 0.0,
    ("means", "mean absolute error"): 0.0,
    ("means", "mean variation"): 0.0,
    ("covariances", "mean square error"): (2**2 + (4 / 3) ** 2 + (4 / 3) ** 2) / 3,
    ("covariances", "mean absolute error"): (2 + 4 / 3 + 4 / 3) / 3,
    ("covariances", "mean variation"): (6 / 14 + 4 / 10 + 4 / 10) / 3,
    ("variances", "mean square error"): (2**2 + (4 / 3) ** 2) / 2,
    ("variances", "mean absolute error"): (2 + 4 / 3) / 2,
    ("variances", "mean variation"): (6 / 14 + 4 / 10) / 2,
    ("correlations", "mean square error"): R_GAP**2,
    ("correlations", "mean absolute error"): R_GAP,
    ("correlations", "mean variation"): R_GAP / (10 / np.sqrt(140)),
}


@pytest.mark.parametrize(("of", "error"), list(BY_HAND))
def test_by_hand_every_cell_of_table_1(of: str, error: str) -> None:
    found = StructureLoss(of, error).evaluate(BEFORE, AFTER)  # type: ignore[arg-type]
    assert found.value == pytest.approx(BY_HAND[of, error], abs=1e-12)


def test_by_hand_the_two_information_losses_and_their_parts() -> None:
    found = InformationLoss().evaluate(BEFORE, AFTER)
    cells = [BY_HAND[of, "mean variation"] for of in ("data", "means", "covariances", "variances")] + [R_GAP]
    assert list(found.parts.values()) == pytest.approx([100 * cell for cell in cells])
    assert found.value == pytest.approx(100 * sum(cells) / 5)
    assert found.by_variable == pytest.approx({"a": 100 * (1 / 2 + 1 / 6) / 4, "b": 100 * (1 + 1 / 4) / 4})
    torres = InformationLossTorres().evaluate(BEFORE, AFTER)
    x, means, v, s, r = cells
    assert torres.parts == pytest.approx({"IL1": 100 * x, "IL2": 50 * (means + s), "IL3": 50 * (v + r)})
    assert torres.value == pytest.approx(100 * (x + (means + s) / 2 + (v + r) / 2) / 3)


def test_zero_cells_are_left_out_counted_and_said() -> None:
    before = numbers(a=[0.0, 2.0, -2.0, 4.0], b=[1.0, -1.0, 2.0, -2.0])  # b has mean 0
    after = numbers(a=[5.0, 2.0, -2.0, 5.0], b=[1.0, -1.0, 2.0, -2.0])
    found = StructureLoss("data", "mean variation").evaluate(before, after)
    assert found.value == pytest.approx((1 / 4) / 7)  # seven cells are not zero; only 4 -> 5 counts
    assert found.notes == ("1 of 8 data left out of the mean variation: zero",)
    means = StructureLoss("means", "mean variation").evaluate(before, after)
    assert means.value == pytest.approx(1.5)  # a: 1 -> 2.5; b left out
    assert means.notes == ("1 of 2 means left out of the mean variation: zero",)
    assert StructureLoss("data", "mean absolute error").evaluate(before, after).value == pytest.approx(6 / 8)
    with pytest.raises(NotApplicable, match="StructureLoss: no mean variation of the means: every original figure is"):
        StructureLoss("means", variables=("b",)).evaluate(before, after)


def test_a_constant_variable_has_no_correlation_and_no_variance_to_vary_from() -> None:
    before = numbers(a=[5.0, 5.0, 5.0], b=[1.0, 2.0, 4.0], c=[3.0, 1.0, 1.0])
    after = numbers(a=[5.0, 6.0, 5.0], b=[1.0, 2.0, 4.0], c=[3.0, 1.0, 1.0])
    found = InformationLoss().evaluate(before, after)
    assert np.isfinite(found.value)
    assert any("2 of 3 correlations left out" in note for note in found.notes)
    assert any("1 of 3 variances left out" in note for note in found.notes)
    assert any("3 of 6 covariances left out" in note for note in found.notes)


def test_missing_cells_are_left_out_and_moments_taken_over_what_is_present() -> None:
    nan = float("nan")
    before = numbers(a=[1.0, 2.0, nan, 6.0], b=[2.0, 1.0, 4.0, 5.0])
    after = numbers(a=[1.0, 3.0, nan, 5.0], b=[2.0, nan, 3.0, 5.0])
    found = StructureLoss("data", "mean absolute error").evaluate(before, after)
    assert found.value == pytest.approx((0 + 1 + 1 + 0 + 1 + 0) / 6)
    assert found.notes == ("2 of 8 values left out: missing in one of the tables",)


def test_one_variable_has_no_correlation_and_says_so() -> None:
    before, after = numbers(a=[1.0, 2.0, 4.0]), numbers(a=[1.0, 2.5, 4.0])
    found = InformationLoss().evaluate(before, after)
    assert found.parts["correlations"] == 0 and "no two variables that vary" in found.notes[0]
    with pytest.raises(NotApplicable, match="StructureLoss: correlations need at least two variables"):
        StructureLoss("correlations").evaluate(before, after)


def test_by_theory_a_common_factor_moves_values_and_means_alike() -> None:
    # x' = 1.1 x: values and means vary by 0.1, variances and covariances by 0.21, correlations not at all
    data = incomes()
    scaled = data.replace({n: 1.1 * data.columns[n] for n in data.schema.analysed("numeric")})
    found = InformationLoss().evaluate(data, scaled)
    assert found.parts == pytest.approx(
        {"values": 10, "means": 10, "covariances": 21, "variances": 21, "correlations": 0}, abs=1e-9
    )


def test_an_unknown_cell_is_refused() -> None:
    with pytest.raises(ParameterError, match="StructureLoss: of must be one of 'data', 'means'"):
        StructureLoss("medians")  # type: ignore[arg-type]


@pytest.mark.parametrize("constant", [0.1, 0.3, 2.7, 1e9 / 3])
def test_a_constant_that_no_binary_fraction_holds_is_still_a_constant(constant: float) -> None:
    data = incomes()
    plain = InformationLoss(variables=("earnings", "tax"))
    table = data.to_arrow().append_column("c", pa.array(np.full(200, constant)))
    original = Microdata.from_frame(table)
    for method in (MDAV(3), Noise(0.1), RankSwapping(0.1)):
        masked = method.protect(original, rng=1)
        with_constant = InformationLoss(variables=("earnings", "tax", "c")).evaluate(original, masked)
        without = plain.evaluate(original, masked)
        # the constant's values and mean do not vary, the rest of it is left out; nothing is divided by rounding
        assert with_constant.parts["values"] == pytest.approx(without.parts["values"] * 2 / 3)
        assert with_constant.parts["variances"] == pytest.approx(without.parts["variances"])
        assert with_constant.parts["covariances"] == pytest.approx(without.parts["covariances"])
        assert any("3 of 6 covariances left out" in note for note in with_constant.notes)


def test_a_centred_variable_has_mean_zero_and_not_what_rounding_leaves() -> None:
    x = np.random.default_rng(0).lognormal(size=500)
    data = numbers(x=x - x.mean(), y=x)
    found = InformationLoss().evaluate(data, Noise(0.1).protect(data, rng=1))
    assert found.value < 1000
    assert any("1 of 2 means left out" in note for note in found.notes)


def test_what_swapping_leaves_as_it_is_differs_by_nothing() -> None:
    data = incomes(500)
    found = InformationLoss().evaluate(data, RankSwapping(0.3).protect(data, rng=1))
    assert found.parts["means"] == 0 and found.parts["variances"] == 0
    assert found.parts["values"] > 0 and found.parts["correlations"] > 0
