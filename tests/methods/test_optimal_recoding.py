"""Optimal recoding: by hand, beside brute force over tables, and judged by the measures of risk."""

from itertools import product
from math import floor, inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import (
    CertaintyPenalty,
    GlobalDataUtility,
    GlobalRecoding,
    Hierarchy,
    IndividualRisk,
    KAnonymity,
    LDiversity,
    LocalSuppression,
    Microdata,
    NotApplicable,
    OptimalRecoding,
    ParameterError,
    Scenario,
    Schema,
    TCloseness,
    Variable,
)
from sfumato.compare.examine.look import levels_beside
from sfumato.kernels.lattice import Levels, Search, SearchResult, Table

TOWNS = {
    "Aix": ["south", "France"],
    "Nice": ["south", "France"],
    "Lille": ["north", "France"],
    "Bonn": ["west", "Germany"],
    "Kiel": ["coast", "Germany"],
}


def survey(seed: int, records: int = 60, *, gaps: float = 0.0, weighted: bool = False) -> Microdata:
    """People with hierarchies in their schema."""
    rng = np.random.default_rng(seed)
    town = rng.choice(list(TOWNS), records, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    age = np.clip(np.round(rng.normal(45, 15, records)), 18, 89)
    sex = rng.choice(["f", "m"], records)
    illness = rng.choice(["flu", "asthma", "cancer"], records, p=[0.5, 0.3, 0.2])
    income = np.round(rng.lognormal(7, 0.5, records), -2)

    def holed(values: np.ndarray) -> pa.Array:
        return pa.array(values.tolist(), mask=rng.random(records) < gaps)

    table = {"town": holed(town), "age": holed(age), "sex": holed(sex), "illness": pa.array(illness.tolist()),
             "income": income, "weight": 1 + 20 * rng.random(records)}  # fmt: skip
    variables = (
        Variable("town", "nominal", "key", hierarchy=Hierarchy.of(TOWNS)),
        Variable("age", "numeric", "key", hierarchy=Hierarchy.of([5, 10, 30, inf])),
        Variable("sex", "nominal", "key", hierarchy=Hierarchy(rows=(("f", "*"), ("m", "*")))),
        Variable("illness", "nominal", "confidential"),
        Variable("income", "numeric"),
    )
    return Microdata.from_frame(pa.table(table), Schema(variables, weight="weight" if weighted else None))


def at_levels(data: Microdata, levels: dict[str, int]) -> Microdata:
    return GlobalRecoding(level=levels).protect(data)


# by hand


def test_the_best_levels_of_a_table_by_hand() -> None:
    # A and B are one, C and D another; with k = 3 level 1 has classes of 3 (A, B, B) and 4, level 0 none of 3 but D
    table = pa.table({"town": ["A", "B", "B", "C", "D", "D", "D"]})
    towns = {"A": ["AB", "*"], "B": ["AB", "*"], "C": ["CD", "*"], "D": ["CD", "*"]}
    method = OptimalRecoding(3, 0.0, hierarchy={"town": towns}, variables=("town",))
    assert method.protect(table)["town"].to_pylist() == ["AB", "AB", "AB", "CD", "CD", "CD", "CD"]
    found = method.search(table)
    # 7 values that stand for one other of three
    assert found.levels == {"town": 1} and found.loss == pytest.approx(1 / 3) and found.exact
    # if 4 of 7 may go, D alone may stay: 4 suppressed cost 4/7, and level 1 is still better
    assert OptimalRecoding(3, 0.6, hierarchy={"town": towns}, variables=("town",)).search(table).levels == {"town": 1}
    # by discernibility too: 9 + 16 against 9 + 4 x 7, from 1 + 4 + 1 + 9 to 49
    found = OptimalRecoding(3, 0.6, "discernibility", hierarchy={"town": towns}, variables=("town",)).search(table)
    assert found.levels == {"town": 1} and found.loss == pytest.approx((25 - 15) / (49 - 15))


def test_suppression_buys_finer_levels() -> None:
    # one of the eleven is alone; who may suppress it leaves the others as they are
    table = pa.table({"town": ["A"] * 5 + ["B"] * 5 + ["C"]})
    towns = {"A": ["*"], "B": ["*"], "C": ["*"]}
    all_in_one = OptimalRecoding(2, 0.0, hierarchy={"town": towns}, variables=("town",)).protect(table)
    assert set(all_in_one["town"].to_pylist()) == {"*"}
    method = OptimalRecoding(2, 0.1, hierarchy={"town": towns}, variables=("town",))
    assert method.protect(table)["town"].to_pylist() == ["A"] * 5 + ["B"] * 5 + [None]
    found = method.search(table)
    assert found.loss == pytest.approx(1 / 11) and found.suppressed == pytest.approx(1 / 11)
    (row,) = found.beside()
    assert row["less_suppressed"] is None and row["more_loss"] == 1.0 and row["more_suppressed"] == 0.0


def test_losses_by_hand() -> None:
    table = pa.table({"town": ["A", "A", "A", "B", "C", "C"], "age": [20.0, 21.0, 25.0, 30.0, 30.0, 30.0]})
    data = Microdata.from_frame(table)
    towns = {"A": ["A", "*"], "B": ["BC", "*"], "C": ["BC", "*"]}
    keys = {"hierarchy": {"town": towns, "age": [5, 10]}, "variables": ("town", "age")}
    # k = 3: the only levels with classes of 3 that lose something but not all: towns at 1, ages at 2 (20-29, 30-39)
    for utility, expected in {
        # B and C: 1 other of 2, three times; ages 20 to 25 of 20 to 30, three times
        "loss": (3 * 0.5 / 6 + 3 * 0.5 / 6) / 2,
        # 2 of 3 towns, three times; the ages as before
        "ncp": (3 * 2 / 3 / 6 + 3 * 0.5 / 6) / 2,
        "precision": (1 / 2 + 2 / 2) / 2,
        "discernibility": (18 - (3 + 1 + 4)) / (36 - (3 + 1 + 4)),
        "class size": 3.0,
    }.items():
        found = OptimalRecoding(3, 0.0, utility, **keys).search(data)  # type: ignore[arg-type]
        assert found.levels == {"age": 2, "town": 1}, utility
        assert found.loss == pytest.approx(expected), utility
    # B of B, C, C: log2 3, C twice log2 3/2; of 3 log2 2 + log2 6 + 2 log2 3; ages: 3 log2 3 of that and 6 log2 2
    town = (np.log2(3) + 2 * np.log2(1.5)) / (3 + np.log2(6) + 2 * np.log2(3))
    age = 3 * np.log2(3) / (3 * np.log2(6) + 3)
    found = OptimalRecoding(3, 0.0, "entropy", **keys).search(data)  # type: ignore[arg-type]
    assert found.loss == pytest.approx((town + age) / 2)


# beside brute force, by the measures of the house


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 6),
    suppression=st.sampled_from([0.0, 0.05, 0.2, 1.0]),
    gaps=st.sampled_from([0.0, 0.1]),
)
def test_no_levels_lose_less_and_the_result_is_k_anonymous(seed: int, k: int, suppression: float, gaps: float) -> None:
    data = survey(seed, gaps=gaps)
    method, names = OptimalRecoding(k, suppression, "ncp"), ("town", "age", "sex")
    best = inf
    for town, age, sex in product(range(3), range(5), range(2)):
        recoded = at_levels(data, {"town": town, "age": age, "sex": sex})
        small = _rare(recoded, k, {"town": town, "age": age, "sex": sex})
        if small.sum() <= floor(suppression * len(data) + 1e-9):
            blanked = recoded.replace(
                {n: np.where(small, -1 if recoded.schema[n].kind != "numeric" else np.nan, recoded.columns[n]).astype(
                    recoded.columns[n].dtype) for n in names}
            )  # fmt: skip
            best = min(best, CertaintyPenalty().evaluate(data, blanked).value)
    if best == inf:
        with pytest.raises(NotApplicable, match="even at the highest level of every key"):
            method.protect(data)
        return
    protected = method.protect(data)
    assert method.search(data).loss == pytest.approx(best, abs=1e-9)
    assert CertaintyPenalty().evaluate(data, protected).value == pytest.approx(best, abs=1e-9)
    if k > 1:
        assert KAnonymity(k).evaluate(data, protected).value == 0
    gone = np.all([protected.missing(name) for name in names], axis=0)
    there = np.any([~data.missing(name) for name in names], axis=0)
    assert (gone & there).sum() <= floor(suppression * len(data) + 1e-9)


def _rare(recoded: Microdata, k: int, levels: dict[str, int]) -> np.ndarray:
    """Tell which records fewer than k are like: missing a value of its own, unless the key is one group."""
    shown = []
    for name in levels:
        column = recoded.columns[name].astype(float)
        column[recoded.missing(name)] = -1
        shown.append(np.zeros(len(column)) if len(set(column[column >= 0])) <= 1 else column)
    _, inverse, counts = np.unique(np.column_stack(shown), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse.ravel()] < k)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    gaps=st.sampled_from([0.0, 0.1]),
    suppression=st.sampled_from([0.0, 0.1, 0.4]),
    model=st.sampled_from(
        [{"l": 2}, {"l": 3}, {"l": 2, "diversity": "entropy"}, {"t": 0.3}, {"t": 0.15}, {"l": 2, "t": 0.35}]
    ),
)
def test_what_is_asked_of_confidential_values_is_what_the_measures_find(
    seed: int, gaps: float, suppression: float, model: dict[str, object]
) -> None:
    data = survey(seed, 90, gaps=gaps)
    try:
        protected = OptimalRecoding(2, suppression, **model).protect(data)  # type: ignore[arg-type]
    except NotApplicable:
        assert suppression < 0.4 or gaps  # who lacks keys must go too, and may be more than 40 %
        OptimalRecoding(2, 1.0, **model).protect(data)  # type: ignore[arg-type]
        return
    assert KAnonymity(2).evaluate(data, protected).value == 0
    if "l" in model:
        different = LDiversity(model["l"], model.get("diversity", "distinct"))  # type: ignore[arg-type]
        assert different.evaluate(data, protected).value == 0
    if "t" in model:
        assert TCloseness().evaluate(data, protected).value <= model["t"] + 1e-9  # type: ignore[operator]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), weighted=st.booleans(), gaps=st.sampled_from([0.0, 0.1]))
def test_no_risk_is_above_the_bound(seed: int, weighted: bool, gaps: float) -> None:
    data = survey(seed, 120, gaps=gaps, weighted=weighted)
    protected = OptimalRecoding(risk=0.05, suppression=0.4).protect(data)
    assert IndividualRisk().evaluate(data, protected).parts["largest"] <= 0.05 + 1e-12


def test_every_scenario_is_kept_with_its_own_k() -> None:
    data = survey(4, 200, gaps=0.05)
    scenarios = (Scenario("neighbour", ("town", "sex"), k=20), Scenario("colleague", ("age", "sex"), k=6))
    data = Microdata.from_frame(data.to_arrow(), Schema(data.schema.variables, scenarios=scenarios))
    protected = OptimalRecoding(sets="scenarios").protect(data)
    for one in scenarios:
        assert KAnonymity(one.k, variables=one.keys).evaluate(data, protected).value == 0
    # each scenario alone asks for no more than both
    both = OptimalRecoding(sets="scenarios").search(data).loss
    alone = OptimalRecoding(sets=((("town", "sex"), 20), (("age", "sex"), 1))).search(data).loss
    assert alone <= both


def test_large_tables_go_through_the_compiled_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.kernels.lattice._WORTH", 0)
    data = survey(7, 3000, gaps=0.02)
    for more in ({}, {"l": 3}, {"t": 0.1, "diversity": "entropy"}):
        protected = OptimalRecoding(10, 0.02, **more).protect(data)
        assert KAnonymity(10).evaluate(data, protected).value == 0


# a measure as utility


def test_any_measure_of_utility_may_be_the_loss() -> None:
    data = survey(5)
    by_measure = OptimalRecoding(3, 0.1, CertaintyPenalty()).search(data)
    by_name = OptimalRecoding(3, 0.1, "ncp").search(data)
    assert by_measure.exact and by_measure.loss == pytest.approx(by_name.loss)
    assert eval(repr(OptimalRecoding(3, 0.1, CertaintyPenalty())), {"OptimalRecoding": OptimalRecoding,
                "CertaintyPenalty": CertaintyPenalty}) == OptimalRecoding(3, 0.1, CertaintyPenalty())  # fmt: skip


def test_a_higher_utility_is_better() -> None:
    data = survey(5)
    measure = GlobalDataUtility()
    found = OptimalRecoding(3, 0.0, measure).search(data)
    values = [
        measure.evaluate(data, at_levels(data, {key: row[key] for key in ("age", "sex", "town")}), rng=0).value
        for row in found.whole()
        if row["kept"]
    ]
    assert measure.about.better == "higher" and found.exact
    assert found.loss == pytest.approx(max(values)) and found.loss > min(values)


# what was found


def test_the_lattice_tells_what_lies_beside_the_best_levels() -> None:
    data = survey(6)
    found = OptimalRecoding(4, 0.1).search(data)
    assert found.nodes == 3 * 5 * 2 and found.checked <= found.nodes
    rows = {row["key"]: row for row in found.beside()}
    everything = {tuple(row[key] for key in ("age", "sex", "town")): row for row in found.whole()}
    assert len(everything) == found.nodes
    best = (found.levels["age"], found.levels["sex"], found.levels["town"])
    assert everything[best]["loss"] == found.loss == min(row["loss"] for row in everything.values() if row["kept"])
    for place, key in enumerate(("age", "sex", "town")):
        less = tuple(level - (at == place) for at, level in enumerate(best))
        if best[place]:
            assert rows[key]["less_suppressed"] == everything[less]["suppressed"]
            assert rows[key]["less_kept"] == everything[less]["kept"]
    assert "none loses less" in repr(found)


def test_a_search_that_is_stopped_says_how_far_it_may_be() -> None:
    data = survey(8, 300)
    seen: list[SearchResult] = []
    stopped = OptimalRecoding(5, 0.02).search(data, seconds=1e-9, watch=seen.append)
    best = OptimalRecoding(5, 0.02).search(data)
    assert not stopped.exact and stopped.bound <= best.loss <= stopped.loss
    assert "stopped before the end" in repr(stopped)
    on = stopped.continued()
    assert on.exact and on.loss == best.loss
    method = OptimalRecoding(5, 0.02, nodes=3)
    note = method.protect(data).notes[-1]
    assert "none loses less than" in note
    # what is looked at beside is what was published, however slow the machine
    levels = {row.key: row.level for row in levels_beside(method, data)}
    assert levels == method.chosen(data).levels and not method.chosen(data).exact
    assert all(f"{key} level {level} of" in note for key, level in levels.items() if level)


def test_an_interrupted_search_returns_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey(9, 300)
    best = OptimalRecoding(5, 0.02).search(data)

    def stop(found: SearchResult) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.kernels.lattice.EVERY", 0.0)
    stopped = OptimalRecoding(5, 0.02).search(data, watch=stop)
    assert not stopped.exact and stopped.bound <= best.loss <= stopped.loss
    assert stopped.continued().loss == best.loss


def test_an_interrupted_protection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    data, after = survey(9, 300), iter(range(100))
    split = Search._split

    def interrupted(search: Search, low: Levels, high: Levels, source: Table) -> None:
        if next(after) == 2:
            raise KeyboardInterrupt
        split(search, low, high, source)

    monkeypatch.setattr(Search, "_split", interrupted)
    with pytest.raises(KeyboardInterrupt):
        OptimalRecoding(5, 0.02).protect(data)


def test_the_note_tells_levels_suppressed_records_and_hierarchies_that_were_made() -> None:
    data = survey(3)
    roles = Schema((Variable("town", "nominal", "key"), Variable("age", role="key"), Variable("sex", "nominal", "key")))
    (note,) = OptimalRecoding(3).protect(Microdata.from_frame(data.to_arrow(), roles)).notes
    assert "age by bands 5 10 20" in note and "sex by all in one group" in note
    (note,) = OptimalRecoding(3).protect(data).notes
    assert "suppressed" in note and "none loses less" in note and "made" not in note


def test_protected_tables_can_be_suppressed_further_and_importance_moves_the_choice() -> None:
    data = survey(10, 200)
    chain = OptimalRecoding(3, 0.0) + LocalSuppression(3)
    assert KAnonymity(3).evaluate(data, chain.protect(data)).value == 0
    dear = OptimalRecoding(4, 0.0, importance={"sex": 1000}).search(data)
    cheap = OptimalRecoding(4, 0.0, importance={"sex": 0.001}).search(data)
    assert dear.levels["sex"] <= cheap.levels["sex"]


# refusals


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say what must be kept"),
        ({"k": 0}, "k must be a whole number"),
        ({"k": 3, "suppression": 5}, "did you mean 0.05"),
        ({"k": 3, "suppression": -0.1}, r"suppression must be in \[0, 1\]"),
        ({"k": 3, "utility": "gcp"}, "utility must be one of"),
        ({"k": 3, "utility": KAnonymity()}, "measure of utility"),
        ({"k": 3, "l": 1}, "l must be a whole number of at least 2"),
        ({"k": 3, "t": 0}, "t must be in"),
        ({"k": 3, "importance": {"age": 2}, "utility": "discernibility"}, "importance needs a utility of values"),
        ({"k": 3, "importance": {"age": 0}}, "importance of 'age'"),
        ({"k": 3, "nodes": 0}, "nodes must be a whole number of at least 1"),
        ({"k": 3, "hierarchy": {"age": "wide"}}, "hierarchy of 'age'"),
        ({"sets": ((("age",), 3),), "variables": ("age",)}, "leave variables out"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        OptimalRecoding(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (OptimalRecoding(100), "60 records, fewer than k=100"),
        (OptimalRecoding(3, hierarchy={"income": [100]}), "hierarchy names 'income'"),
        (OptimalRecoding(3, importance={"income": 2}), "importance names 'income'"),
        (OptimalRecoding(3, l=2, confidential=("town",)), "besides the keys there is none"),
        (OptimalRecoding(3, l=2, confidential=("ilness",)), "did you mean 'illness'"),
        (OptimalRecoding(3, variables=("twon",)), "did you mean 'town'"),
        (OptimalRecoding(3, hierarchy={"town": {"Aix": ["south"]}}), "lacks"),
        (OptimalRecoding(2, 0.0, t=0.0001, variables=("town",), hierarchy={"town": {t: [t[0]] for t in TOWNS}}),
         "even at the highest level of every key"),
    ],
)  # fmt: skip
def test_tables_it_cannot_recode_are_refused(method: OptimalRecoding, said: str) -> None:
    with pytest.raises(NotApplicable, match=f"OptimalRecoding: .*{said}"):
        method.protect(survey(2))


def test_too_many_tables_to_measure_are_refused_unless_a_number_is_stated() -> None:
    rng = np.random.default_rng(1)
    table = pa.table({f"k{j}": rng.integers(0, 8, 50).astype(float) for j in range(9)})
    keys = {"hierarchy": {f"k{j}": [2, 4] for j in range(9)}, "variables": tuple(f"k{j}" for j in range(9))}
    with pytest.raises(NotApplicable, match="19,683 choices of levels, each a table to measure"):
        OptimalRecoding(2, 1.0, CertaintyPenalty(), **keys).protect(table)  # type: ignore[arg-type]
    found = OptimalRecoding(2, 1.0, CertaintyPenalty(), nodes=20, **keys).search(table)  # type: ignore[arg-type]
    assert not found.exact and "others may lose less" in repr(found)
