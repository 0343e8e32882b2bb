"""Cluster utility: by hand, by SciPy's clusters, by theory, and what it does with awkward tables."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from sfumato import (
    MDAV,
    ClusterUtility,
    Microdata,
    Noise,
    NotApplicable,
    ParameterError,
    Resampling,
    Schema,
    Variable,
)
from tables import incomes, numbers, weighted

NAN = float("nan")
LEVELS = ("low", "middle", "high", "top")


def ordinal(values: list[str | None], categories: tuple[str, ...] = LEVELS) -> Microdata:
    schema = Schema((Variable("level", kind="ordinal", categories=categories),))
    return Microdata.from_frame(pa.table({"level": values}), schema)


# by hand


def test_five_and_three_records_by_hand() -> None:
    # Pooled: 0 1 2 3 | 10 11 12 13, originals 0 1 2 10 11, protected 3 12 13; c = 3/8.
    # 4 (1/4 - 3/8)^2 + 4 (2/4 - 3/8)^2 = 0.125
    found = ClusterUtility(2).evaluate(numbers(a=[0.0, 1, 2, 10, 11]), numbers(a=[3.0, 12, 13]))
    assert found.value == pytest.approx(0.125)
    assert found.parts["mean per record"] == pytest.approx(0.125 / 8)
    assert found.parts["mean per cluster"] == pytest.approx(0.125 / 2)  # the form with 1/G
    assert found.parts["clusters"] == 2
    assert found.parts["share in the largest cluster"] == 0.5
    # the greatest possible: 5 (0 - 3/8)^2 + 3 (1 - 3/8)^2 = 8 (3/8) (5/8) = 1.875
    assert found.parts["share of the greatest possible"] == pytest.approx(0.125 / 1.875)
    # c (1 - c) (g - 1) N / (N - 1) = (15/64) (1) (8/7)
    assert found.parts["expected by chance"] == pytest.approx(15 / 64 * 8 / 7)


def test_clusters_of_equal_weight_by_hand() -> None:
    # Clusters {0, 1, 2, 3} with 1 of 4 protected and {10} with 1 of 1; c = 2/5: (1/4 - 2/5)^2 + (1 - 2/5)^2
    before, after = numbers(a=[0.0, 1, 2]), numbers(a=[3.0, 10])
    found = ClusterUtility(2, weights="equal").evaluate(before, after)
    assert found.value == pytest.approx(0.15**2 + 0.6**2)
    assert found.parts["mean per cluster"] == pytest.approx(found.value / 2)
    # (6/25) ((5 - 4) / 4 + (5 - 1) / 1) / 4
    assert found.parts["expected by chance"] == pytest.approx(6 / 25 * 4.25 / 4)
    assert ClusterUtility(2).evaluate(before, after).value == pytest.approx(4 * 0.15**2 + 0.6**2)


def test_survey_weights_by_hand() -> None:
    # Originals 0 (weight 3) and 10 (1), scaled to 1.5 and 0.5; protected 1 and 11 of weight 1 each; c = 1/2.
    # 2.5 (1 / 2.5 - 1/2)^2 + 1.5 (1 / 1.5 - 1/2)^2 = 0.025 + 0.0416667
    original = weighted(numbers(a=[0.0, 10]), np.array([3.0, 1.0]))
    found = ClusterUtility(2).evaluate(original, weighted(numbers(a=[1.0, 11]), np.array([7.0, 7.0])))
    assert found.value == pytest.approx(0.025 + 0.25 / 6)
    # no weight in the protected table: as if all were equal
    assert ClusterUtility(2).evaluate(original, numbers(a=[1.0, 11])).value == pytest.approx(found.value)


def test_standardising_decides_which_variable_counts() -> None:
    # In own units b reaches 150 times as far as a, and parts the records into two fours with two of each table.
    # Standardised (sd 0.5 and 54.1), the tables are 4 apart in a, and their own halves nearer: 8900 / 54.1^2 = 3.04 and
    # 12900 / 54.1^2 = 4.41, when {a = 1} is already 4 + 2 from either half of {a = 0}.
    before = numbers(a=[0.0] * 4, b=[0.0, 40.0, 110.0, 150.0])
    after = numbers(a=[1.0] * 4, b=[10.0, 50.0, 100.0, 140.0])
    assert ClusterUtility(2, standardise="none").evaluate(before, after).value == 0
    assert ClusterUtility(2).evaluate(before, after).value == pytest.approx(8 * 0.25)


def test_ordinal_values_count_by_their_place_in_the_original() -> None:
    # Places 0 0 1 | 3 and protected 1 | 3 3: clusters {0, 0, 1, 1} and {3, 3, 3}; c = 3/7
    before, after = ordinal(["low", "low", "middle", "top"]), ordinal(["top", "middle", "top"], ("top", "middle"))
    expected = 4 * (1 / 4 - 3 / 7) ** 2 + 3 * (2 / 3 - 3 / 7) ** 2
    assert ClusterUtility(2).evaluate(before, after).value == pytest.approx(expected)


# by reference


@given(st.integers(3, 60), st.integers(3, 60), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_figure_equals_that_of_scipys_clusters(n: int, m: int, p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=(n, p)) * 10 ** np.arange(p), rng.normal(size=(m, p)) * 10 ** np.arange(p)
    pooled = np.concatenate([before, after])
    for standardise, points in (("pooled", (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)), ("none", pooled)):
        for g in (2, (n + m) // 3, n + m):
            labels = fcluster(linkage(points, "average", "sqeuclidean"), g, criterion="maxclust")
            size = np.bincount(labels)[1:]
            share = np.bincount(labels, np.repeat([0, 1], [n, m]))[1:] / size
            expected = (size * (share - m / (n + m)) ** 2).sum()
            tables = [numbers(**{f"v{j}": x[:, j] for j in range(p)}) for x in (before, after)]
            found = ClusterUtility(g, standardise=standardise).evaluate(*tables)  # type: ignore[arg-type]
            assert found.value == pytest.approx(expected, rel=1e-9, abs=1e-12)


# by theory


@pytest.mark.parametrize("g", [1, 2, 7, 0.05, 0.5, 400])
def test_identical_tables_score_zero_whatever_the_clusters(g: float) -> None:
    # a record and its copy are one point, never parted, so each cluster has as many of one table as of the other
    data = incomes()
    assert ClusterUtility(g).evaluate(data, data).value == 0
    w = np.random.default_rng(0).uniform(0.5, 3, 200)
    assert ClusterUtility(g).evaluate(weighted(data, w), weighted(data, w)).value == pytest.approx(0, abs=1e-25)


def test_one_cluster_says_nothing_and_one_per_record_all() -> None:
    one, other = incomes(120), incomes(80, seed=1)
    assert ClusterUtility(1).evaluate(one, other).value == pytest.approx(0, abs=1e-12)
    found = ClusterUtility(200).evaluate(one, other)
    assert found.value == pytest.approx(200 * 0.4 * 0.6)
    assert found.parts["share of the greatest possible"] == pytest.approx(1)
    assert found.parts["expected by chance"] == pytest.approx(found.value)


@pytest.mark.parametrize("weights", ["size", "equal"])
def test_two_samples_of_one_population_differ_as_expected_by_chance(weights: str) -> None:
    measure = ClusterUtility(20, weights=weights, variables=("earnings", "tax"))  # type: ignore[arg-type]
    ratios = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        one = weighted(incomes(150, seed=seed), rng.uniform(0.2, 4, 150))
        found = measure.evaluate(one, weighted(incomes(100, seed=seed + 1000), rng.uniform(0.2, 4, 100)))
        ratios.append(found.value / found.parts["expected by chance"])
    assert np.mean(ratios) == pytest.approx(1, abs=3 * np.std(ratios) / np.sqrt(60))


def test_equal_weights_are_no_weights_and_whole_weights_are_copies() -> None:
    data = incomes()
    masked = Noise(0.3).protect(data, rng=1)
    plain = ClusterUtility(25).evaluate(data, masked)
    tenth = np.full(200, 0.1)
    equal = ClusterUtility(25).evaluate(weighted(data, tenth), weighted(masked, tenth))
    assert equal.value == plain.value
    copies = np.random.default_rng(3).integers(0, 4, 200)
    some = ClusterUtility(25).evaluate(
        weighted(data, copies.astype(np.float64)), weighted(masked, copies.astype(np.float64))
    )
    rows = np.repeat(np.arange(200), copies)
    repeated = ClusterUtility(25).evaluate(data.take(rows), masked.take(rows))
    assert some.parts["mean per record"] == pytest.approx(repeated.parts["mean per record"], rel=1e-9)
    zeros = int((copies == 0).sum())
    assert f"left out, of weight 0: {zeros} records of the original table" in some.notes


def test_ties_do_not_hang_on_the_order_of_records_or_variables() -> None:
    rng = np.random.default_rng(5)
    w = rng.uniform(0.5, 2, 300)
    tenths, sevenths = np.arange(5) * 0.1, np.arange(5) * 0.7
    before = weighted(numbers(a=rng.choice(tenths, 300), b=rng.choice(sevenths, 300)), w)
    after = numbers(b=rng.choice(sevenths, 250), a=rng.choice(tenths, 250))
    found = ClusterUtility(6).evaluate(before, after)
    assert found.value > 0
    for seed in range(5):
        turn = np.random.default_rng(seed)
        again = ClusterUtility(6).evaluate(before.take(turn.permutation(300)), after.take(turn.permutation(250)))
        assert again.value == pytest.approx(found.value, rel=1e-12)


def test_large_tables_take_the_compiled_way_to_the_same_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    data = numbers(a=np.random.default_rng(0).normal(size=3_000), b=np.random.default_rng(1).gamma(1, size=3_000))
    masked = Resampling(3).protect(data, rng=1)
    compiled = ClusterUtility(200).evaluate(data, masked)
    monkeypatch.setattr("sfumato.kernels.average_linkage.worth_compiling", lambda _: False)
    assert ClusterUtility(200).evaluate(data, masked).value == pytest.approx(compiled.value, rel=1e-12)
    far = ClusterUtility(200).evaluate(data, data.replace({"b": data.columns["b"] + 1.5}))
    assert far.value > 5 * compiled.value


# where the tables differ


def test_the_clusters_say_where_the_tables_differ() -> None:
    rng = np.random.default_rng(0)
    before = numbers(income=rng.normal(100, 5, 90), age=rng.normal(40, 1, 90))
    moved = np.where(np.arange(90) < 20, before.columns["income"] + 400, before.columns["income"])
    after = before.replace({"income": moved})
    measure = ClusterUtility(2)
    table = measure.clusters(before, after)
    assert table.column_names[:4] == ["original", "protected", "share protected", "adds"]
    first = table.slice(0, 1).to_pylist()[0]
    assert (first["original"], first["protected"], first["share protected"]) == (0, 20, 1.0)
    assert first["centre of income"] == pytest.approx(moved[:20].mean())
    found = measure.evaluate(before, after)
    assert sum(table["adds"].to_pylist()) == pytest.approx(found.value)
    assert found.notes[0].startswith(f"differs most around age {before.columns['age'][:20].mean():.4g}")
    assert "20 records, 100 % protected" in found.notes[0] and f"income {moved[:20].mean():.4g}" in found.notes[0]
    frames = (table.to_arrow().to_pandas() for table in (before, after))
    assert type(measure.clusters(*frames)).__module__.startswith("pandas")


def test_centres_of_ordinal_and_missing_values() -> None:
    table = ClusterUtility(2).clusters(ordinal(["low", "low", None]), ordinal(["middle", "low", None]))
    assert set(table["centre of level"].to_pylist()) == {"low", None}
    found = ClusterUtility(2).evaluate(ordinal(["low", "low", "low"]), ordinal([None, None, "low"]))
    assert "level missing" in " ".join(found.notes)


def test_a_figure_below_chance_is_said_to_be() -> None:
    data = incomes()
    near = ClusterUtility(20).evaluate(data, Noise(0.2).protect(data, rng=1))
    assert any(note.startswith("no more than chance") for note in near.notes)
    far = ClusterUtility(20).evaluate(data, MDAV(50).protect(data))
    assert not any(note.startswith("no more than chance") for note in far.notes)


# awkward tables


def test_missing_values_are_a_category_of_their_own() -> None:
    # {0, 1, 2} of the originals, {missing} of the protected: the missing lie apart by the reach of the present
    found = ClusterUtility(2).evaluate(numbers(a=[0.0, 1, 2]), numbers(a=[NAN, NAN, 1.0]))
    # clusters {0, 1, 2, 1} and {missing, missing}; c = 1/2
    assert found.value == pytest.approx(4 * (1 / 4 - 1 / 2) ** 2 + 2 * (1 - 1 / 2) ** 2)
    # a constant reaches nowhere, yet missing is not the constant
    assert ClusterUtility(2).evaluate(numbers(a=[5.0] * 3), numbers(a=[NAN] * 3)).value == pytest.approx(6 / 4)


def test_constant_variables_change_nothing() -> None:
    before, after = incomes(), Noise(0.5).protect(incomes(), rng=1)
    tables = [
        Microdata.from_frame(t.to_arrow().append_column("one", pa.array(np.full(200, 0.1)))) for t in (before, after)
    ]
    assert ClusterUtility(30).evaluate(*tables).value == ClusterUtility(30).evaluate(before, after).value


def test_one_record_each_and_no_more_distinct_records_than_clusters() -> None:
    assert ClusterUtility(2).evaluate(numbers(a=[1.0]), numbers(a=[2.0])).value == pytest.approx(0.5)
    found = ClusterUtility(5).evaluate(numbers(a=[1.0, 1, 2]), numbers(a=[1.0, 2, 2]))
    assert found.parts["clusters"] == 2
    assert "2 clusters instead of 5: there are no more distinct records" in found.notes


def test_more_clusters_than_records_are_refused_with_both_numbers() -> None:
    with pytest.raises(NotApplicable, match=r"ClusterUtility: g = 1,000 clusters are more than the 400 records"):
        ClusterUtility(1_000).evaluate(incomes(), incomes())


@pytest.mark.parametrize("g", [0, -3, 1.0, 5.0, 0.0, 1.5, NAN, True, "many"])
def test_a_number_of_clusters_that_cannot_be_is_refused(g: float) -> None:
    with pytest.raises(ParameterError, match=r"ClusterUtility: g must be a whole number of clusters .* got "):
        ClusterUtility(g)


def test_other_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="weights must be one of 'size', 'equal'; got 'n'"):
        ClusterUtility(weights="n")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="standardise must be one of"):
        ClusterUtility(standardise="own")  # type: ignore[arg-type]


def test_a_share_is_of_the_pooled_records() -> None:
    # of 150 + 50: 0.05 is 10 clusters; of 3 + 3 at least one
    assert ClusterUtility(0.05).evaluate(incomes(150), incomes(50, seed=1)).parts["clusters"] == 10
    assert ClusterUtility(0.05).evaluate(incomes(3), incomes(3, seed=1)).parts["clusters"] == 1


def test_variables_that_do_not_compare_are_left_out_and_said_or_refused() -> None:
    both = [t.to_arrow() for t in (incomes(4), incomes(4, seed=1))]
    schema = Schema((Variable("level", kind="ordinal", categories=LEVELS),))
    before = Microdata.from_frame(both[0].append_column("level", pa.array(["low", "high", "top", "low"])), schema)
    wider = Schema((Variable("level", kind="ordinal", categories=(*LEVELS, "other")),))
    strange = Microdata.from_frame(both[1].append_column("level", pa.array(["low", "other", "top", "low"])), wider)
    found = ClusterUtility(3).evaluate(before, strange)
    assert "left out, not comparable: level (the original has no category 'other')" in found.notes
    assert found.value == ClusterUtility(3).evaluate(incomes(4), incomes(4, seed=1)).value
    with pytest.raises(NotApplicable, match=r"no comparable level \(the original has no category 'other'\)"):
        ClusterUtility(3, variables=("level",)).evaluate(before, strange)
    unused = Microdata.from_frame(both[1].append_column("level", pa.array(["low", "low", "top", "low"])), wider)
    assert not any("level (" in note for note in ClusterUtility(3).evaluate(before, unused).notes)
    banded = Microdata.from_frame(both[1].append_column("level", pa.array([1.0, 2.0, 3.0, 1.0])))
    found = ClusterUtility(3).evaluate(before, banded)
    assert any("level (ordinal in the original, numeric in the protected table)" in note for note in found.notes)
    empty = numbers(a=[1.0, 2.0], b=[NAN, NAN])
    assert any("b (every value is missing)" in note for note in ClusterUtility(2).evaluate(empty, empty).notes)


def test_huge_and_tiny_values_are_measured_as_any_others() -> None:
    before, after = incomes(), Noise(0.5).protect(incomes(), rng=1)
    expected = ClusterUtility(30).evaluate(before, after).value
    for factor in (2.0**900, 2.0**-900):
        scaled = [t.replace({n: t.columns[n] * factor for n in t.schema.analysed("numeric")}) for t in (before, after)]
        for standardise in ("pooled", "none"):
            measure = replace(ClusterUtility(30), standardise=standardise)
            same = expected if standardise == "pooled" else measure.evaluate(before, after).value
            assert measure.evaluate(*scaled).value == pytest.approx(same, rel=1e-12)
