"""Pairs of variables in two tables: significance, direction, strength, and kinds that changed."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from sfumato import GlobalDataUtility, Measurement, Microdata, Schema, Treatment, Variable

rng = np.random.default_rng(5)


def crossed(table: list[list[int]]) -> Microdata:
    """Two nominal variables with these counts."""
    rows, columns = np.array(table).shape
    cells = [(f"r{i}", f"c{j}") for i in range(rows) for j in range(columns) for _ in range(table[i][j])]
    return Microdata.from_frame(pa.table({"first": [a for a, _ in cells], "second": [b for _, b in cells]}))


def mixed(kinds: Mapping[str, Any], **columns: Any) -> Microdata:
    """A table of which some variables are of stated kinds."""
    return Microdata.from_frame(pa.table(columns), Schema(tuple(Variable(n, **k) for n, k in kinds.items())))


def pair(found: Measurement, first: str = "first", second: str = "second") -> Mapping[str, Any]:
    (row,) = [row for row in found.tables["pairs"] if {row["first"], row["second"]} == {first, second}]
    return row


# two nominal variables, by hand: n = 80, margins 40 and 40, so chi-squared = 80 (a d - b c)^2 / 40^4


@pytest.mark.parametrize(
    ("table", "utility", "reason"),
    [
        ([[30, 10], [10, 30]], 1.0, "as before"),  # V^2 = (900 - 100)^2 / 40^4 = .25
        ([[28, 12], [12, 28]], 0.64, "weaker"),  # V^2 = (784 - 144)^2 / 40^4 = .16; .16 / .25
        ([[36, 4], [4, 36]], 25 / 64, "stronger"),  # V^2 = (1296 - 16)^2 / 40^4 = .64
        ([[20, 20], [20, 20]], 0.0, "association lost"),
        ([[10, 30], [30, 10]], 0.0, "pattern changed"),  # other categories go together
    ],
)
def test_the_three_steps_for_two_nominal_variables(table: list[list[int]], utility: float, reason: str) -> None:
    row = pair(GlobalDataUtility().evaluate(crossed([[30, 10], [10, 30]]), crossed(table)))
    assert (row["test"], row["reason"]) == ("chi-squared", reason)
    assert row["before"] == pytest.approx(0.5)
    assert row["utility"] == pytest.approx(utility)
    assert row["direction"] == ""  # unordered categories have none


def test_an_association_in_one_table_only_or_in_neither() -> None:
    nothing, something = crossed([[20, 20], [20, 20]]), crossed([[30, 10], [10, 30]])
    assert pair(GlobalDataUtility().evaluate(nothing, something))["reason"] == "association introduced"
    neither = pair(GlobalDataUtility().evaluate(nothing, nothing))
    assert (neither["reason"], neither["utility"]) == ("no association in either", 1.0)
    # chi-squared 80 (480 - 320)^2 / 40^4 = .8: P = .371, above any usual threshold and below one half
    slight = crossed([[22, 18], [18, 22]])
    assert pair(GlobalDataUtility().evaluate(slight, slight))["reason"] == "no association in either"
    assert pair(GlobalDataUtility(0.5).evaluate(slight, slight))["reason"] == "as before"


def test_direction_of_groups_by_hand() -> None:
    # mean ranks of the two groups of five: 3 and 8, about 5.5; exchanged, each group's signed SSB changes its sign:
    # sum |MSD_o - MSD_p| = 2 sum |MSD_o|, so the expression is positive
    groups, values = ["a"] * 5 + ["b"] * 5, np.arange(10.0)
    for power in (1, 3):  # near enough to normal, and far from it
        x = Microdata.from_frame(pa.table({"first": groups, "second": values**power}))
        y = Microdata.from_frame(pa.table({"first": groups, "second": values[::-1] ** power}))
        assert pair(GlobalDataUtility().evaluate(x, x))["reason"] == "as before"
        turned = pair(GlobalDataUtility().evaluate(x, y))
        assert (turned["reason"], turned["direction"], turned["utility"]) == ("pattern changed", "", 0.0)


@pytest.mark.parametrize("protected_size", [500, 8000])
def test_another_number_of_records_does_not_turn_a_direction(protected_size: int) -> None:
    def drawn(n: int, seed: int) -> Microdata:
        local = np.random.default_rng(seed)
        group = local.choice(3, n)
        other = np.where(local.random(n) < 0.5, group, local.choice(3, n))
        return Microdata.from_frame(
            pa.table(
                {
                    "group": [f"g{g}" for g in group],
                    "other": [f"o{o}" for o in other],
                    "normal": group + local.normal(size=n),
                    "skewed": np.exp(group + local.normal(size=n)),
                }
            )
        )

    found = GlobalDataUtility().evaluate(drawn(2000, 1), drawn(protected_size, 2))
    assert all(row["reason"] in ("as before", "weaker", "stronger") for row in found.tables["pairs"])
    assert found.parts["bivariate"] > 0.8


def test_an_association_that_grew_in_its_old_direction_is_stronger_not_reversed() -> None:
    # shares .5 against .6 before, .2 against .9 after: the residuals are seven times as large, all with their sign
    row = pair(GlobalDataUtility().evaluate(crossed([[500, 500], [400, 600]]), crossed([[800, 200], [100, 900]])))
    assert row["reason"] == "stronger" and 0 < row["utility"] < 0.1


def test_squared_correlations_by_hand() -> None:
    # ranks 1..6; moved by one exchange of neighbours: sum d^2 = 2, rho = 1 - 6 * 2 / (6 * 35) = 33/35
    kinds = {name: {"kind": "ordinal", "categories": tuple(range(1, 7))} for name in ("first", "second")}
    x = mixed(kinds, first=list(range(1, 7)), second=list(range(1, 7)))
    y = mixed(kinds, first=list(range(1, 7)), second=[2, 1, 3, 4, 5, 6])
    row = pair(GlobalDataUtility().evaluate(x, y))
    assert row["test"] == "Spearman" and (row["before"], row["after"]) == pytest.approx((1.0, 33 / 35))
    assert row["utility"] == pytest.approx((33 / 35) ** 2)
    assert row["effect"] == pytest.approx(1 - (33 / 35) ** 2)
    back = mixed(kinds, first=list(range(1, 7)), second=list(range(6, 0, -1)))
    assert pair(GlobalDataUtility().evaluate(x, back))["reason"] == "direction reversed"
    assert pair(GlobalDataUtility().evaluate(x, back))["effect"] == pytest.approx(2)


# the whole measure, by a double loop over scipy


def sample(n: int, seed: int) -> Microdata:
    local = np.random.default_rng(seed)
    base = local.normal(size=n)
    levels = ("low", "middle", "high")
    columns: dict[str, Any] = {
        "bell": base + local.normal(size=n),
        "bell2": 0.3 * base + local.normal(size=n),
        "skew": np.exp(base + local.normal(size=n)),
        "level": [levels[i] for i in np.digitize(0.5 * base + local.normal(size=n), [-0.5, 0.8])],
        "kind": [f"k{int(i)}" for i in np.digitize(base + 2 * local.normal(size=n), [-1, 0, 1])],
        "coin": local.choice(["heads", "tails"], n),
    }
    for name in ("skew", "level", "kind"):
        gaps = local.random(n) < 0.1
        columns[name] = [None if gap else value for gap, value in zip(gaps, columns[name], strict=True)]
    return mixed({"level": {"kind": "ordinal", "categories": levels}}, **columns)


SCALES = {
    "bell": "normal",
    "bell2": "normal",
    "skew": "skewed",
    "level": "ordinal",
    "kind": "nominal",
    "coin": "nominal",
}


def values(data: Microdata, name: str) -> Any:
    column = data.columns[name].astype(float)
    return np.where(column < 0, np.nan, column) if data.schema[name].kind != "numeric" else column


def by_scipy(data: Microdata, names: tuple[str, str]) -> tuple[float, float, float]:
    """P, squared coefficient and sign of a pair, by Table 1 and scipy."""
    first, second = sorted(names, key=lambda name: SCALES[name] != "nominal")
    x, y = values(data, first), values(data, second)
    both = ~np.isnan(x) & ~np.isnan(y)
    x, y, n = x[both], y[both], int(both.sum())
    scales = SCALES[first], SCALES[second]
    if scales == ("nominal", "nominal"):
        table = stats.contingency.crosstab(x, y).count
        found = stats.chi2_contingency(table, correction=False)
        return found.pvalue, found.statistic / n / (min(table.shape) - 1), 1
    groups = [y[x == g] for g in np.unique(x)]
    if scales == ("nominal", "normal"):
        between = sum(len(g) * (g.mean() - y.mean()) ** 2 for g in groups)
        return stats.f_oneway(*groups).pvalue, between / ((y - y.mean()) ** 2).sum(), 1
    if scales[0] == "nominal":
        h, p = stats.kruskal(*groups)
        return p, h * (n + 1) / (n**2 - 1), 1
    r, p = (stats.pearsonr if scales == ("normal", "normal") else stats.spearmanr)(x, y)
    return p, r**2, np.sign(r)


def test_the_measure_equals_a_double_loop_over_scipy() -> None:
    before, after = sample(900, 1), sample(600, 2)
    found = GlobalDataUtility().evaluate(before, after)
    alone = {}
    for name in SCALES:
        x, y = (values(data, name)[~np.isnan(values(data, name))] for data in (before, after))
        if before.schema[name].kind == "numeric":
            p = stats.ks_2samp(x, y).pvalue
        else:
            counts = [[np.sum(v == c) for c in range(len(before.schema[name].categories))] for v in (x, y)]
            p = stats.chi2_contingency(counts, correction=False).pvalue
        alone[name] = 1 - np.exp(-14 * p)
    together: dict[str, list[float]] = {name: [] for name in SCALES}
    for names in combinations(SCALES, 2):
        (p, a, sign), (q, b, other) = by_scipy(before, names), by_scipy(after, names)
        row = pair(found, *names)
        assert (row["p_before"], row["p_after"]) == pytest.approx((p, q), rel=1e-6, abs=1e-12)
        if p >= 0.05 and q >= 0.05:
            utility = 1.0
        elif p >= 0.05 or q >= 0.05 or sign != other:
            utility = 0.0
        else:
            utility = 1 - abs(a - b) / max(a, b)
        assert row["utility"] == pytest.approx(utility, abs=1e-9), row
        for name in names:
            together[name].append(utility)
    rows = {row["variable"]: row for row in found.tables["variables"]}
    for name in SCALES:
        assert rows[name]["utility"] == pytest.approx(alone[name])
        assert rows[name]["pairs"] == pytest.approx(np.mean(together[name]))
        assert found.by_variable[name] == pytest.approx((alone[name] + np.mean(together[name])) / 2)
    whole = np.mean(list(alone.values())), np.mean([np.mean(own) for own in together.values()])
    assert (found.parts["univariate"], found.parts["bivariate"]) == pytest.approx(whole)
    assert found.value == pytest.approx(sum(whole) / 2)
    assert GlobalDataUtility(univariate_weight=1).evaluate(before, after).value == pytest.approx(whole[0])


# changed kinds (3.4.3)


def in_classes(data: Microdata, name: str, cuts: tuple[float, ...]) -> Microdata:
    labels = tuple(f"class {i}" for i in range(len(cuts) + 1))
    codes = np.digitize(data.columns[name], cuts).astype(np.int32)
    variable = replace(data.schema[name], kind="ordinal", categories=labels, treatment=Treatment(cuts=cuts))
    return data.recast({name: (variable, codes)})


def test_numbers_in_classes_are_compared_with_what_is_at_least_ordinal() -> None:
    data = sample(900, 1)
    found = GlobalDataUtility().evaluate(data, in_classes(data, "bell", (-1.0, 0.0, 1.0)))
    with_normal = pair(found, "bell", "bell2")
    assert with_normal["test"] == "Pearson, then Spearman"
    codes = np.digitize(data.columns["bell"], (-1.0, 0.0, 1.0))
    r = stats.pearsonr(data.columns["bell"], data.columns["bell2"])[0]
    rho = stats.spearmanr(codes, data.columns["bell2"])[0]
    assert with_normal["utility"] == pytest.approx(min(r**2, rho**2) / max(r**2, rho**2))
    assert pair(found, "bell", "level")["test"] == "Spearman"
    # with a nominal partner: eta squared before, epsilon squared after, which the paper does not compare
    with_nominal = pair(found, "bell", "kind")
    assert with_nominal["utility"] is None and ("bell", "kind") not in found.by_pair
    assert with_nominal["reason"].startswith("not comparable: a variable changed its type, and eta squared is no eps")
    # one that neither table shows is none, whatever the coefficient
    assert (pair(found, "bell", "coin")["utility"], pair(found, "bell", "coin")["effect"]) == (1, None)
    assert any("1 of 15 pairs is not comparable" in note for note in found.notes)


def test_numbers_in_classes_beside_a_nominal_variable_are_left_open_as_in_the_paper_or_compared_if_asked_for() -> None:
    data = sample(900, 1)
    masked = in_classes(data, "skew", (0.5, 1.0, 3.0))
    found = GlobalDataUtility().evaluate(data, masked)
    row = pair(found, "skew", "kind")
    assert row["utility"] is None and row["effect"] is None and ("skew", "kind") not in found.by_pair
    assert row["reason"].startswith("not comparable: skew became classes, and the paper leaves open how to compare it")
    assert pair(found, "skew", "coin")["reason"] == "no association in either"
    assert any("1 of 15 pairs is not comparable" in note for note in found.notes)
    asked = GlobalDataUtility(changed_kinds="same test").evaluate(data, masked)
    row = pair(asked, "skew", "kind")
    # Kruskal-Wallis in both tables: epsilon squared = H (n + 1) / (n^2 - 1)
    (_, a, _), (_, b, _) = by_scipy(data, ("skew", "kind")), by_scipy(masked, ("skew", "kind"))
    assert row["test"] == "Kruskal-Wallis" and row["utility"] == pytest.approx(min(a, b) / max(a, b))
    for name in ("bell", "bell2", "level"):  # with what is at least ordinal nothing is left open
        assert pair(found, "skew", name)["utility"] == pair(asked, "skew", name)["utility"] is not None
    # normal numbers have another coefficient then, which nothing makes comparable
    bell = in_classes(data, "bell", (-1.0, 0.0, 1.0))
    assert pair(GlobalDataUtility(changed_kinds="same test").evaluate(data, bell), "bell", "kind")["utility"] is None


def test_a_new_category_inside_an_order_is_ranked_there() -> None:
    local = np.random.default_rng(5)
    base = local.normal(size=500)
    income = np.exp(base + 0.5 * local.normal(size=500))
    levels = ("low", "middle", "high")
    finer = ("low", "below middle", "middle", "high")
    codes, more = np.digitize(base, [-0.5, 0.5]), np.digitize(base, [-0.5, 0.0, 0.5])
    before = mixed(
        {"first": {"kind": "ordinal", "categories": levels}}, first=[levels[c] for c in codes], second=income
    )
    after = mixed({"first": {"kind": "ordinal", "categories": finer}}, first=[finer[c] for c in more], second=income)
    row = pair(GlobalDataUtility().evaluate(before, after))
    assert row["before"] == pytest.approx(stats.spearmanr(codes, income)[0])
    assert row["after"] == pytest.approx(stats.spearmanr(more, income)[0])


def test_the_verdict_on_normality_is_the_originals_or_each_tables_own() -> None:
    local = np.random.default_rng(3)
    group, bell = local.choice(["a", "b"], 800), local.normal(size=800)
    bell = bell + (group == "b")
    before = Microdata.from_frame(pa.table({"first": group, "second": bell}))
    after = Microdata.from_frame(pa.table({"first": group, "second": np.exp(bell)}))
    found = GlobalDataUtility().evaluate(before, after)
    assert pair(found)["test"] == "ANOVA" and any("normal in the original only" in note for note in found.notes)
    each = pair(GlobalDataUtility(normality="each").evaluate(before, after))
    assert each["test"] == "ANOVA, then Kruskal-Wallis" and each["utility"] is None


def test_merged_categories_are_aligned_for_the_direction() -> None:
    # merged under new names, in another order: the direction must be seen through the recoding
    local = np.random.default_rng(4)
    town = local.choice(4, 2000)
    income = np.exp(np.array([0.0, 0.2, 2.0, 2.2])[town] + local.normal(size=2000))
    names = np.array(["a", "b", "c", "d"])[town]
    merged = np.array(["zz", "zz", "aa", "aa"])[town]
    before = Microdata.from_frame(pa.table({"first": names, "second": income}))
    after = Microdata.from_frame(pa.table({"first": merged, "second": income}))
    row = pair(GlobalDataUtility().evaluate(before, after))
    assert row["reason"] == "as before"
    wrong = Microdata.from_frame(pa.table({"first": merged, "second": 1 / income}))
    assert pair(GlobalDataUtility().evaluate(before, wrong))["reason"] == "pattern changed"
    stranger = replace(after.take(local.permutation(2000)), matched=False)
    untold = pair(GlobalDataUtility().evaluate(before, stranger))
    assert untold["utility"] == pytest.approx(row["utility"])  # at most, for all but the pattern is told
    assert untold["outcome"] == "pattern unknown" and "which value of first became which" in untold["reason"]


def test_what_only_the_original_can_tell_is_lost_and_what_it_cannot_is_left_out() -> None:
    data = sample(300, 1)
    empty = data.replace({"kind": np.full(300, -1, dtype=np.int32)})
    lost = GlobalDataUtility().evaluate(data, empty)
    for name in ("bell", "skew", "level", "coin"):
        row = pair(lost, name, "kind")
        assert (row["utility"], row["reason"]) == (0.0, "no longer testable: no record has both")
    assert lost.tables["variables"][4]["utility"] == 0
    unknown = GlobalDataUtility().evaluate(empty, data)
    assert pair(unknown, "bell", "kind")["reason"] == "not comparable: in the original, no record has both"
    assert unknown.tables["variables"][4]["utility"] is None
    assert "kind" not in unknown.by_variable
