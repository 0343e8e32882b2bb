"""What deletion costs, and what the number of records does to the score."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from global_utility_tables import row, survey
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sfumato
from sfumato import GlobalDataUtility, GlobalRecoding, LocalSuppression, Microdata, Schema, Suppressed, Variable
from sfumato.pair import Half, Pair
from sfumato.pair.statistics import Values
from sfumato.utility.association import TESTS, Column, pair_tests
from sfumato.utility.global_utility.bivariate import p_with
from sfumato.utility.global_utility.coarsening import differing_in_both, pairs_apart
from sfumato.utility.global_utility.univariate import categories_alike, numbers_alike

CHARGED = GlobalDataUtility(deletion="charged")
KEYS = ("age", "education", "marital", "sex", "race")


def census(n: int = 4000, seed: int = 0) -> Microdata:
    """A file of Adult's shape: nine categorical variables and two numeric ones, five of them keys."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=n)
    age = np.clip(np.round(38 + 13 * rng.normal(size=n) + 3 * rng.exponential(size=n)), 17, 90)
    education = np.digitize(0.8 * skill + 0.6 * rng.normal(size=n), np.linspace(-1.9, 1.6, 15))
    occupation = np.clip(np.round(0.6 * education + 2.5 * rng.normal(size=n) + 3), 0, 13)
    sex = rng.random(n) < 0.33
    marital = np.digitize(age / 20 + rng.normal(size=n), [1, 1.5, 2.8, 3.3, 3.6, 4])
    hours = np.clip(np.round(40 + 10 * rng.normal(size=n) * (rng.random(n) < 0.5) - 5 * sex), 1, 99)
    codes = {
        "education": education,
        "marital": marital,
        "occupation": occupation,
        "relationship": np.where(marital > 2, sex, rng.integers(2, 6, n)),
        "race": rng.choice(5, n, p=[0.85, 0.1, 0.03, 0.01, 0.01]),
        "sex": sex,
        "workclass": rng.choice(7, n, p=[0.7, 0.08, 0.06, 0.05, 0.05, 0.04, 0.02]),
        "country": rng.choice(30, n, p=np.append(0.9, np.full(29, 0.1 / 29))),
        "income": skill + 0.03 * (age - 38) + 0.02 * (hours - 40) - 0.5 * sex + rng.normal(size=n) > 1,
    }
    texts = {name: [f"{name} {int(code)}" for code in found] for name, found in codes.items()}
    keys = tuple(Variable(key, kind="numeric" if key == "age" else "nominal", role="key") for key in KEYS)
    return Microdata.from_frame(pa.table({"age": age, "hours": hours, **texts}), Schema(keys))


def emptied(data: Microdata, share: float, seed: int = 0) -> Microdata:
    """The same table with a share of all cells deleted at random."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in data.schema.analysed():
        column = data.columns[name]
        gone = np.nan if column.dtype.kind == "f" else -1
        columns[name] = np.where(rng.random(len(data)) < share, gone, column).astype(column.dtype)
    return data.replace(columns)


def shuffled(data: Microdata, seed: int = 1) -> Microdata:
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed()})


# deletion


def test_a_variable_keeps_the_share_of_its_values_and_a_pair_that_of_its_records() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    before = Microdata.from_frame(pa.table({"x": x, "y": x + rng.normal(size=400)}))
    gone = np.where(np.arange(400) % 4 == 0, np.nan, x), np.where(np.arange(400) % 4 == 1, np.nan, before.columns["y"])
    after = before.replace({"x": gone[0], "y": gone[1]})  # a quarter of each, half of the records without both
    plain, charged = GlobalDataUtility().evaluate(before, after), CHARGED.evaluate(before, after)
    for name in ("x", "y"):
        assert row(charged, name)["values_left"] == 0.75 and row(plain, name)["values_left"] is None
        assert row(charged, name)["utility"] == pytest.approx(0.75 * row(plain, name)["utility"])
    assert charged.by_pair["x", "y"] == pytest.approx(0.5 * plain.by_pair["x", "y"])
    assert charged.parts["univariate"] == pytest.approx(0.75 * plain.parts["univariate"])
    assert charged.parts["effect size, univariate"] == pytest.approx(0.75 * plain.parts["effect size, univariate"])
    assert charged.parts["effect size, bivariate"] == pytest.approx(0.5 * plain.parts["effect size, bivariate"])
    assert any("multiplied by the share left" in note for note in charged.notes)


@pytest.mark.parametrize("data", [sfumato.household_survey(), census()], ids=["demo survey", "Adult's shape"])
def test_charged_utility_falls_strictly_with_the_share_of_cells_deleted(data: Microdata) -> None:
    shares = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
    found = {share: CHARGED.evaluate(data, emptied(data, share)) for share in shares}
    for part in (None, "effect size"):
        figures = [m.value if part is None else m.parts[part] for m in found.values()]
        assert all(high > low for high, low in pairwise(figures))
        assert figures[0] == pytest.approx(1, abs=1e-6)
    # about (1 - s) of each variable and (1 - s)^2 of each pair are left
    assert found[0.5].value < 1 - 0.5 / 2
    assert found[0.5].parts["univariate"] == pytest.approx(0.5, abs=0.02)
    assert found[0.5].parts["bivariate"] < 0.25
    # the paper's rule sees little of it
    assert GlobalDataUtility().evaluate(data, emptied(data, 0.5)).value > 0.85


@pytest.mark.parametrize("k", [3, 5])  # suppression to k = 2 alone protects less, and is as useful
def test_coarser_keys_with_few_values_blank_beat_suppression_alone_with_half_a_key_gone(k: int) -> None:
    data = census()
    groups = {
        "education": {f"education {i}": f"level {i // 4}" for i in range(16)},
        "marital": {f"marital {i}": f"status {i // 3}" for i in range(7)},
        "race": {f"race {i}": "other" for i in range(1, 5)},
    }
    recoded = (GlobalRecoding(map=groups, bins={"age": 10}) + LocalSuppression(3)).protect(data)
    blank = Suppressed(variables=KEYS).evaluate(data, recoded).value
    alone = LocalSuppression(k).protect(data)
    assert blank < 0.01
    assert Suppressed(variables=("age",)).evaluate(data, alone).value > 0.5
    assert CHARGED.evaluate(data, recoded).value > CHARGED.evaluate(data, alone).value
    assert GlobalDataUtility().evaluate(data, recoded).value < GlobalDataUtility().evaluate(data, alone).value


def test_merging_rare_categories_costs_less_than_deleting_them() -> None:
    data = census()
    country = data.columns["country"]
    most = int(np.bincount(country).argmax())
    abroad = {name: "abroad" for code, name in enumerate(data.schema["country"].categories) if code != most}
    merged = GlobalRecoding(map={"country": abroad}).protect(data)
    blank = data.replace({"country": np.where(country == most, country, -1).astype(np.int32)})
    found = [row(CHARGED.evaluate(data, table), "country")["utility"] for table in (merged, blank)]
    # of the pairs of records that differ, 1 - sum p^2, those are lost of which both are abroad
    p = np.bincount(country) / len(country)
    native = p[most]
    assert found[0] == pytest.approx((1 - native**2 - (1 - native) ** 2) / (1 - p @ p), rel=1e-5)
    assert found[0] > 0.9 > found[1]


def test_a_sample_pays_nothing_for_its_size_and_a_synthetic_file_for_its_gaps() -> None:
    data = emptied(survey(), 0.1)
    sample = replace(data.take(np.arange(0, len(data), 2)), matched=False)
    plain, charged = (m.evaluate(data, sample) for m in (GlobalDataUtility(), CHARGED))
    assert charged.value == pytest.approx(plain.value, rel=0.02)
    gaps = emptied(sample, 0.5)
    left = row(CHARGED.evaluate(data, gaps), "income")["values_left"]
    assert left == pytest.approx(0.5, abs=0.06)


def test_what_was_missing_before_is_not_charged() -> None:
    data = emptied(survey(), 0.3)
    assert CHARGED.evaluate(data, data).value == pytest.approx(1, abs=1e-6)


def test_the_rule_is_named_in_the_text_and_the_caveat_follows() -> None:
    assert repr(CHARGED) == "GlobalDataUtility(deletion='charged')"
    assert "does not see that values were deleted" in GlobalDataUtility().about.caveat
    assert "does not see" not in CHARGED.about.caveat
    with pytest.raises(sfumato.ParameterError, match="deletion"):
        GlobalDataUtility(deletion="kept")  # type: ignore[arg-type]


# the effect-size view


def test_shuffled_columns_rank_below_mild_noise_in_the_effect_size_view() -> None:
    data = sfumato.household_survey()
    noise = GlobalDataUtility().evaluate(data, sfumato.Noise(0.1).protect(data, rng=1))
    strong = GlobalDataUtility().evaluate(data, sfumato.Noise(0.5).protect(data, rng=1))
    for seed in range(3):
        scrambled = GlobalDataUtility().evaluate(data, shuffled(data, seed))
        assert scrambled.parts["effect size"] < strong.parts["effect size"] - 0.1
        assert strong.parts["effect size"] < noise.parts["effect size"]
        assert scrambled.parts["effect size, bivariate"] < 0.1


def test_the_effect_size_view_hardly_depends_on_the_number_of_records() -> None:
    def found(n: int) -> dict[str, float]:
        data = survey(n, seed=5)
        return dict(GlobalDataUtility().evaluate(data, sfumato.Noise(0.5).protect(data, rng=2)).parts)

    few, many = found(2_000), found(40_000)
    assert few["effect size"] == pytest.approx(many["effect size"], abs=0.02)
    assert few["univariate"] > many["univariate"]  # for P values fall


def test_where_nothing_is_associated_there_is_little_to_lose() -> None:
    def independent(seed: int) -> Microdata:
        rng = np.random.default_rng(seed)
        return Microdata.from_frame(pa.table({name: rng.normal(size=2000) for name in "abc"}))

    assert GlobalDataUtility().evaluate(independent(1), independent(2)).parts["effect size, bivariate"] > 0.8


# the number of records


def test_the_same_difference_with_a_thousand_records() -> None:
    data = survey(20_000, seed=3)
    masked = sfumato.Noise(0.3).protect(data, rng=1)
    found = GlobalDataUtility().evaluate(data, masked)
    assert found.parts["with 1,000 records"] > found.value
    (said,) = [note for note in found.notes if "the number of records speaking" in note]
    assert f"would be {found.parts['with 1,000 records']:.3f}" in said
    few = survey(1_000)
    assert "with 1,000 records" not in GlobalDataUtility().evaluate(few, few).parts
    assert GlobalDataUtility().evaluate(data, data).parts["with 1,000 records"] == pytest.approx(1, abs=1e-6)


def test_a_distribution_drawn_ten_times_over_scores_as_once_with_as_many_records() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.choice(4, 1000, p=p).astype(np.int32) for p in ([0.4, 0.3, 0.2, 0.1], [0.37, 0.3, 0.22, 0.11]))
    once = categories_alike(x, y, 4)
    often = categories_alike(np.tile(x, 10), np.tile(y, 10), 4)
    assert often.utility < 0.1 < once.utility
    assert often.utility_with(1000) == pytest.approx(once.utility) == once.utility_with(1000)
    u, v = rng.normal(size=1000), rng.normal(loc=0.07, size=1000)
    numbers = [numbers_alike(Values.of(np.tile(u, t)), Values.of(np.tile(v, t))) for t in (1, 12)]
    assert numbers[1].utility_with(1000) == pytest.approx(numbers[0].utility, abs=0.03)


def test_pairs_ten_times_over_have_the_p_values_of_as_many_records() -> None:
    rng = np.random.default_rng(2)
    n = 1000
    kind, place = rng.integers(0, 3, n), rng.integers(0, 4, n)
    x, s = rng.normal(size=n) + 0.05 * kind, rng.exponential(size=n)

    def columns(times: int) -> list[Column]:
        return [
            Column("kind", "nominal", np.tile(kind, times).astype(np.int32), 3),
            Column("place", "nominal", np.tile(place, times).astype(np.int32), 4),
            Column("x", "normal", np.tile(x, times)),
            Column("z", "normal", np.tile(x + 10 * s, times)),
            Column("s", "skewed", np.tile(s, times)),
        ]

    once, often = pair_tests(columns(1)), pair_tests(columns(10))
    assert set(once.test) == set(range(len(TESTS)))
    np.testing.assert_allclose(p_with(often, columns(10), n), once.p, rtol=0.02, atol=1e-12)
    assert np.array_equal(p_with(once, columns(1), n), once.p)


# coarsening


def held(**columns: list[str]) -> Microdata:
    return Microdata.from_frame(pa.table(columns))


def comparisons_left(before: Microdata, after: Microdata) -> dict[tuple[str, str], float]:
    rows = CHARGED.evaluate(before, after).tables["pairs"]
    return {(row["first"], row["second"]): row["comparisons_left"] for row in rows}


def test_a_pair_keeps_the_comparisons_of_records_that_differ_in_both() -> None:
    before = held(town=["a", "a", "b", "b", "c", "c"], sex=["f", "m"] * 3, other=["x"] * 5 + ["y"])
    after = GlobalRecoding(map={"town": {"b": "rest", "c": "rest"}}).protect(before)
    found = comparisons_left(before, after)
    # of 15 pairs of records 3 are of one town, 6 of one sex, none of both: 6 differ in both. Then 1 + 6 are of one
    # town, 6 of one sex, 2 of both: 15 - 7 - 6 + 2 = 4. The last record differs from 5 in "other", from 4 in the town,
    # then from 2
    assert found == pytest.approx({("town", "sex"): (4 / 6) ** 0.5, ("town", "other"): 0.5**0.5, ("sex", "other"): 1.0})
    rows = {(r["first"], r["second"]): r for r in CHARGED.evaluate(before, after).tables["pairs"]}
    plain = GlobalDataUtility().evaluate(before, after)
    assert rows["town", "sex"]["utility"] == pytest.approx(plain.by_pair["town", "sex"] * (4 / 6) ** 0.5)
    assert rows["town", "sex"]["records_left"] == 1
    assert all(r["comparisons_left"] is None for r in plain.tables["pairs"])


def test_comparisons_fall_with_every_merger_and_are_those_counted_pair_by_pair() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, other = rng.integers(-1, 6, 40), rng.integers(-1, 4, 40)
        left = [differing_in_both(one.astype(np.int32), other.astype(np.int32))]
        for merged in range(5, 0, -1):  # the last class goes to one of those before it
            one = np.where(one == merged, rng.integers(0, merged), one)
            left.append(differing_in_both(one.astype(np.int32), other.astype(np.int32)))
            apart = (one[:, None] != one) & (other[:, None] != other)
            there = (one >= 0) & (other >= 0)
            assert left[-1] == (apart & np.outer(there, there)).sum()
        assert left == sorted(left, reverse=True) and left[-1] == 0
    wide = np.arange(90_000, dtype=np.int32)  # too many cells for a table of them
    assert differing_in_both(wide, wide[::-1].copy()) == 90_000 * 89_999


def test_numbers_in_classes_are_charged_as_categories_are_and_renamed_ones_not_at_all() -> None:
    data = survey()
    halves = data.to_frame("pandas")
    halves["age"] = np.where(halves["age"] < 50, "under 50", "50 and over")
    found = comparisons_left(data, Microdata.from_frame(halves))
    age, owner = data.columns["age"], data.columns["owner"]
    old = (age >= 50).astype(np.int64)
    apart = owner[:, None] != owner
    expected = ((old[:, None] != old) & apart).sum() / ((age[:, None] != age) & apart).sum()
    assert found["age", "owner"] == pytest.approx(expected**0.5) and 0.5 < expected < 0.8
    assert all(share == 1 for pair, share in found.items() if "age" not in pair)
    names = {"north": "N", "south": "S", "east": "E", "west": "W"}
    renamed = GlobalRecoding(map={"region": names}).protect(data)
    assert set(comparisons_left(data, renamed).values()) == {1.0}


def test_missing_values_and_tables_without_matching_records_are_charged_by_the_original() -> None:
    data = emptied(survey(), 0.2)
    merged = GlobalRecoding(map={"region": {"south": "rest", "east": "rest", "west": "rest"}}).protect(data)
    whole = comparisons_left(data, merged)
    sample = replace(merged.take(np.arange(0, len(data), 2)), matched=False)
    assert comparisons_left(data, sample) == pytest.approx(whole)
    assert whole["region", "owner"] < 0.9 and whole["age", "owner"] == 1
    blank = emptied(merged, 0.5)  # what is deleted is charged by the records left, not here
    assert comparisons_left(data, blank) == pytest.approx(whole)


def test_what_cannot_be_traced_keeps_no_more_than_as_many_equal_classes() -> None:
    data = survey()
    strange = replace(data.to_frame("pandas").pipe(_in_two).pipe(Microdata.from_frame), matched=False)
    region, owner = data.columns["region"], data.columns["owner"]
    before = ((region[:, None] != region) & (owner[:, None] != owner)).sum()
    found = comparisons_left(data, strange)
    assert found["region", "owner"] == pytest.approx(min(1.0, (len(data) ** 2 / 2 / before) ** 0.5))
    p = np.bincount(region) / len(data)
    assert found["region", "height"] == pytest.approx((0.5 / (1 - p @ p)) ** 0.5, abs=1e-3)  # heights all differ


def _in_two(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(region=np.where(frame["region"] == "north", "first", "second"))


def test_a_recoding_that_leaves_little_scores_clearly_lower() -> None:
    rng = np.random.default_rng(0)
    n = 8000
    code, region = (rng.zipf(1.3, n) - 1) % 8700, rng.integers(0, 16, n)
    pay = np.exp(7 + 0.05 * (code % 7) + 0.03 * region + rng.normal(0, 0.5, n))
    table = {"code": [f"c{c}" for c in code], "region": [f"r{r}" for r in region], "pay": pay}
    data = Microdata.from_frame(pa.table({**table, "age": rng.integers(18, 95, n), "sex": rng.choice(["f", "m"], n)}))
    for name, kept in (("code", "c0"), ("region", "r3")):
        rest = {str(c): "other" for c in data.schema[name].categories if c != kept}
        coarse = GlobalRecoding(map={name: rest}).protect(data)
        found, plain = CHARGED.evaluate(data, coarse), GlobalDataUtility().evaluate(data, coarse)
        p = float((data.columns[name] == data.schema[name].categories.index(kept)).mean())
        left = 2 * p * (1 - p) / (1 - ((np.bincount(data.columns[name]) / n) ** 2).sum())
        # the other variable of the pair is nearly independent, so that the comparisons are those of this one
        assert comparisons_left(data, coarse)[name, "sex"] == pytest.approx(left**0.5, abs=0.01)
        assert found.parts["bivariate"] < plain.parts["bivariate"] - 0.05
        assert found.by_variable[name] < (left + left**0.5) / 2 + 0.01


def test_charged_coarsening_in_parts_is_that_of_the_whole() -> None:
    data = emptied(survey(), 0.1)
    merged = GlobalRecoding(map={"region": {"south": "rest", "east": "rest"}}, bins={"age": 20}).protect(data)
    cut = [0, 400, 410, len(data)]
    parts = [[table.take(np.arange(*ends)) for ends in pairwise(cut)] for table in (data, merged)]
    whole, found = CHARGED.evaluate(data, merged), CHARGED.evaluate_pair(Pair(Half(parts[0]), Half(parts[1])))
    assert found.value == pytest.approx(whole.value, abs=1e-12)
    assert found.by_pair == pytest.approx(whole.by_pair)


@given(arrays(np.int32, st.tuples(st.just(2), st.integers(1, 40)), elements=st.integers(-1, 4)))
def test_pairs_that_differ_in_both_are_the_bits_they_have_in_common(columns: np.ndarray) -> None:
    one, other = columns
    apart = [
        (one[i] != one[j]) & (other[i] != other[j]) & (min(one[i], one[j], other[i], other[j]) >= 0)
        for i, j in combinations(range(len(one)), 2)
    ]
    assert differing_in_both(one, other) == 2 * sum(apart)
    assert np.bitwise_count(pairs_apart(one) & pairs_apart(other)).sum() == 2 * sum(apart)
