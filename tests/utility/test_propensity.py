from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from propensity_tables import MODELS, by_formula, normals, table
from scipy.stats import ks_2samp

import sfumato
from sfumato import Microdata, NotApplicable, ParameterError, PropensityUtility, Schema, Variable
from sfumato.pair import Pair
from sfumato.utility.propensity import logistic, scores
from sfumato.utility.propensity.both_files import BothFiles
from sfumato.utility.propensity.measure import Model


@pytest.mark.parametrize("model", MODELS)
def test_identical_files_score_nothing_in_every_model(model: Model) -> None:
    data, _ = by_formula()
    twice = data.take(np.repeat(np.arange(1000), 2))  # n and m differ, the distributions do not
    for other in (data, data.take(np.arange(999, -1, -1)), twice):
        found = PropensityUtility(model, permutations=5).evaluate(data, other, rng=0)
        assert abs(found.value) < 1e-20
        assert found.parts["SPECKS"] < 1e-12
        assert all(abs(value) < 1e-20 for value in found.by_variable.values())


@pytest.mark.parametrize("model", MODELS)
def test_files_of_different_size_and_the_order_of_records(model: Model) -> None:
    first, second = by_formula()
    second = second.take(np.arange(400))
    rng = np.random.default_rng(0)
    straight = PropensityUtility(model, permutations=0, groups=5).evaluate(first, second)
    turned = PropensityUtility(model, permutations=0, groups=5).evaluate(
        first.take(rng.permutation(1000)), second.take(rng.permutation(400))
    )
    c = 400 / 1400
    assert 0 < straight.value < c * (1 - c)
    assert turned.value == pytest.approx(straight.value, rel=1e-9)


def test_the_sum_is_n_times_the_mean() -> None:
    first, second = by_formula()
    mean, total = (PropensityUtility(total=total).evaluate(first, second) for total in (False, True))
    assert total.value == pytest.approx(2000 * mean.value, rel=1e-12)
    assert total.value == mean.parts["sum"] == total.parts["sum"]
    assert total.by_variable["y"] == pytest.approx(2000 * mean.by_variable["y"], rel=1e-12)
    assert mean.value == mean.parts["pMSE"] == total.parts["pMSE"]


@pytest.mark.parametrize("model", MODELS)
def test_weights_equal_copies_and_records_of_weight_zero_do_not_count(model: Model) -> None:
    """Trees count records, so for them only what is not there may weigh nothing."""
    first, second = by_formula(weights=True)  # weights 1, 2 and 3, in both files nearly alike
    measure = PropensityUtility(model, permutations=0, groups=4)
    found = measure.evaluate(first, second).value
    rows = np.arange(1000)
    zero = {"w": np.where(rows % 4 == 0, 0.0, first.columns["w"])}
    without, gone = (
        measure.evaluate(first.replace(zero), second),
        measure.evaluate(first.take(rows[rows % 4 > 0]), second),
    )
    assert without.value == pytest.approx(gone.value, rel=1e-12)
    assert found != pytest.approx(measure.evaluate(*by_formula()).value, rel=1e-3)
    if model != "tree":
        keep = slice(0, 999)  # 999 records weigh 1998 in each file
        copied = []
        for data in (first, second):
            row = rows[keep]
            copied.append(data.take(np.repeat(row, data.columns["w"][keep].astype(int))))
        plain = [Microdata.from_frame(data.to_arrow().drop_columns(["w"])) for data in copied]
        weighted = measure.evaluate(first.take(rows[keep]), second.take(rows[keep])).value
        assert weighted == pytest.approx(measure.evaluate(*plain).value, rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_equal_weights_are_no_weights(model: Model) -> None:
    plain, equal = by_formula(), tuple(data.replace({"w": np.full(1000, 3.7)}) for data in by_formula(weights=True))
    measure = PropensityUtility(model, permutations=3, groups=5)
    one, other = measure.evaluate(*plain, rng=0), measure.evaluate(*equal, rng=0)
    assert other.value == pytest.approx(one.value, rel=1e-12)
    assert other.parts == pytest.approx(one.parts, rel=1e-9)


def test_scores_by_hand() -> None:
    """Two originals a, one b; one protected a, two b: main effects give a the propensity 1/3, b 2/3.

    pMSE = (3 (1/3 - 1/2)^2 + 3 (2/3 - 1/2)^2) / 6 = 1/36. Scores: the original's 1/3, 1/3, 2/3, the protected's 1/3,
    2/3, 2/3: K-S distance 1/3. Four of six are told right: PO50 = 100 x 4/6 - 50 = 16.67.
    """
    first, second = table(v=["a", "a", "b"]), table(v=["a", "b", "b"])
    found = PropensityUtility("main effects").evaluate(first, second)
    assert found.value == pytest.approx(1 / 36)
    assert found.parts["SPECKS"] == pytest.approx(1 / 3)
    assert found.parts["PO50"] == pytest.approx(100 / 6)
    assert found.parts["coefficients"] == 2
    # (k - 1) c (1 - c)^2 / N = (1/8) / 6 and (k - 1) c (1 - c) / N = (1/4) / 6; sqrt(2 (k - 1)) times that
    assert found.parts["expected, fitted model"] == pytest.approx(1 / 48)
    assert found.parts["expected, two samples"] == pytest.approx(1 / 24)
    assert found.parts["standard deviation, two samples"] == pytest.approx(np.sqrt(2) / 24)
    assert found.parts["ratio, fitted model"] == pytest.approx(48 / 36)
    assert found.parts["standardised, two samples"] == pytest.approx((1 / 36 - 1 / 24) / (np.sqrt(2) / 24))
    assert any("neither null" in note for note in found.notes)


def test_specks_is_the_kolmogorov_smirnov_distance() -> None:
    pooled = BothFiles.of(PropensityUtility(), Pair.of(*by_formula())).pooled()
    found = logistic.fit(pooled, "second").scores
    expected = ks_2samp(found[pooled.protected], found[~pooled.protected]).statistic
    assert scores.specks(found, pooled.protected, pooled.weights) == pytest.approx(expected, abs=1e-12)


def test_main_effects_do_not_see_added_noise_and_say_so() -> None:
    data = normals(5000, 1)
    masked = sfumato.Noise(0.5).protect(data, rng=2)
    blind = PropensityUtility("main effects").evaluate(data, masked)
    assert blind.parts["ratio, two samples"] < 1
    assert any("invisible" in note for note in blind.notes)
    assert PropensityUtility().evaluate(data, masked).parts["ratio, two samples"] > 10


def test_a_tree_that_finds_no_split_says_what_that_means() -> None:
    data = normals(1000, 1)
    rng = np.random.default_rng(0)
    shuffled = data.replace({name: rng.permutation(data.columns[name]) for name in data.names})
    found = PropensityUtility("tree").evaluate(data, shuffled, rng=0)
    assert found.value == 0 and found.parts["leaves"] == 1
    assert any("no split pays" in note for note in found.notes)


@pytest.mark.parametrize("model", ["logistic I", "logistic II", "tree"])
def test_the_variable_that_was_masked_drives_the_difference(model: Model) -> None:
    data = normals(2000, 3)
    masked = sfumato.Noise(1.0, variables=("b",)).protect(data, rng=1)
    found = PropensityUtility(model, permutations=0).evaluate(data, masked)
    assert max(found.by_variable, key=lambda name: found.by_variable[name]) == "b"


def test_missing_values_are_marked() -> None:
    """Five of ten protected values are missing, and nothing else differs: missing 1, present 10 of 15.

    e = 1 for the five, 5/15 for the others: pMSE = (5 (1/2)^2 + 15 (1/6)^2) / 20 = 1/12.
    """
    first, second = table(v=[2.0] * 10), table(v=[2.0] * 5 + [np.nan] * 5)
    for model in ("main effects", "logistic I", "logistic II"):
        found = PropensityUtility(model).evaluate(first, second)
        assert found.value == pytest.approx(1 / 12, abs=1e-9)
    nominal = [table(v=data.to_arrow()["v"].cast("string")) for data in (first, second)]
    assert PropensityUtility().evaluate(*nominal).value == pytest.approx(1 / 12, abs=1e-9)


def test_categories_are_told_by_value_and_ordinal_ones_are_scores() -> None:
    levels = ("low", "middle", "high")
    ordinal = Schema((Variable("v", kind="ordinal", categories=levels),))
    fewer = Schema((Variable("v", kind="ordinal", categories=("middle", "high")),))
    first = Microdata.from_frame(table(v=["low", "middle", "high", "high"] * 10).to_arrow(), ordinal)
    second = Microdata.from_frame(table(v=["middle", "high", "high", "high"] * 10).to_arrow(), fewer)
    as_scores = table(v=[0.0, 1.0, 2.0, 2.0] * 10), table(v=[1.0, 2.0, 2.0, 2.0] * 10)
    measure = PropensityUtility("main effects")
    assert measure.evaluate(first, second).value == pytest.approx(measure.evaluate(*as_scores).value, rel=1e-12)
    # a category the original does not know has no place in its order: the variable counts as nominal
    recoded = Microdata.from_frame(
        table(v=["low or middle", "high"] * 20).to_arrow(),
        Schema((Variable("v", kind="ordinal", categories=("low or middle", "high")),)),
    )
    plain = table(v=["low", "middle", "high", "high"] * 10), table(v=["low or middle", "high"] * 20)
    assert measure.evaluate(first, recoded).value == pytest.approx(measure.evaluate(*plain).value, rel=1e-12)


def test_a_variable_of_two_kinds_is_left_out() -> None:
    first = table(age=[20.0, 30.0, 40.0], sex=["f", "m", "f"])
    second = table(age=["20-30", "20-30", "40+"], sex=["m", "m", "f"])
    found = PropensityUtility().evaluate(first, second)
    assert any("of another kind" in note and "age" in note for note in found.notes)
    assert set(found.by_variable) == {"sex"}
    with pytest.raises(NotApplicable, match="no variable is of one kind"):
        PropensityUtility(variables=("age",)).evaluate(first, second)


def test_constant_columns_add_nothing_and_are_named() -> None:
    first, second = by_formula()
    flat = [table(k=[7.0] * 1000, x=d.columns["x"], y=d.columns["y"]) for d in (first, second)]
    for model in MODELS:
        measure = PropensityUtility(model, permutations=0)
        found = measure.evaluate(*flat)
        alone = PropensityUtility(model, permutations=0, variables=("x", "y")).evaluate(first, second)
        assert found.value == pytest.approx(alone.value, rel=1e-9)
        assert any("constant" in note and "k" in note for note in found.notes)
    only = PropensityUtility().evaluate(table(k=[7.0] * 4), table(k=[7.0] * 5))
    assert only.value == pytest.approx(0, abs=1e-30) and "ratio, two samples" not in only.parts


def test_too_many_terms_are_refused_with_the_reason() -> None:
    codes = [f"c{i}" for i in range(2100)]
    with pytest.raises(NotApplicable, match=r"PropensityUtility: .* terms, .*'v' alone takes 2,099 columns"):
        PropensityUtility().evaluate(table(v=codes), table(v=codes))
    found = PropensityUtility("tree", permutations=0).evaluate(table(v=codes), table(v=codes))
    assert found.value == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "logit"}, "model must be one of 'logistic I'"),
        ({"cp": -0.1}, "cp must be a number of at least 0"),
        ({"permutations": 2.5}, "permutations must be a whole number"),
        ({"permutations": 1}, "permutations must be 0 or at least 2"),
        ({"groups": 2.5}, "groups must be a share below 1 or a whole number"),
        ({"groups": 0}, "groups must be a number above 0"),
        ({"lack_of_fit": "entropy"}, "lack_of_fit must be one of"),
        ({"total": "yes"}, "total must be one of"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"PropensityUtility: {message}"):
        PropensityUtility(**given)


def test_a_model_with_more_terms_than_the_records_can_bear_is_refused_at_once() -> None:
    rng = np.random.default_rng(0)
    wide = pa.table({f"x{j}": rng.normal(size=150) for j in range(22)})  # 22 + 22 + 231 terms and the constant
    with pytest.raises(NotApplicable, match=r"276 terms for 300 records.*model='tree'"):
        PropensityUtility().evaluate(wide, wide)
    assert np.isfinite(PropensityUtility(model="main effects").evaluate(wide, wide).value)
