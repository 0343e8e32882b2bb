"""Local suppression: no violation is left, and nothing cheaper would do."""

from itertools import combinations
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from sfumato import KAnonymity, LocalSuppression, Microdata, NotApplicable, ParameterError, Schema, Variable
from sfumato.kernels import groups
from sfumato.kernels.suppression import SharedKeys
from sfumato.kernels.suppression import cheapest_shown as shown_for_sets
from tables import persons

Codes = NDArray[np.int32]
Agreement = NDArray[np.bool_]
tables = arrays.arrays(np.int32, st.tuples(st.integers(3, 20), st.integers(1, 5)), elements=st.integers(-1, 2))


def cheapest_shown(
    codes: Codes, k: int, costs: NDArray[np.float64], subsets: int, preference: list[int]
) -> NDArray[np.bool_]:
    """What is shown if all keys are one set."""
    answer = shown_for_sets(codes, [SharedKeys(tuple(range(codes.shape[1])), k, subsets)], costs, preference)
    assert answer.exact and not answer.stuck
    return answer.shown


def agreeing(codes: Codes) -> Agreement:
    """Whether records i and j agree in key v: equal, or either missing."""
    a, b = codes[:, None, :], codes[None, :, :]
    agree: Agreement = (a == b) | (a < 0) | (b < 0)
    return agree


def optimum(codes: Codes, k: int, costs: list[float], subsets: int) -> float:
    """The least cost of suppression by integer programming over the whole table.

    s[i, v] = 1 when value v of record i goes; y[i, j, S] = 1 when record j is counted for what i shows of the keys S,
    which takes s[i, v] = 1 wherever they differ in S; each i needs k - 1 others for every S.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_matrix

    n, q = codes.shape
    agree = agreeing(codes)
    sets = list(combinations(range(q), subsets))
    triples = [(i, j, c) for i in range(n) for j in range(n) for c in range(len(sets)) if i != j]
    place = {triple: n * q + t for t, triple in enumerate(triples)}
    rows: list[tuple[dict[int, float], float]] = []
    for i, j, c in triples:
        rows += [({place[i, j, c]: -1, i * q + v: 1}, 0.0) for v in sets[c] if not agree[i, j, v]]
    for i in range(n):
        rows += [({place[i, j, c]: 1.0 for j in range(n) if j != i}, k - 1.0) for c in range(len(sets))]
    matrix = lil_matrix((len(rows), n * q + len(triples)))
    for r, (entries, _) in enumerate(rows):
        for column, value in entries.items():
            matrix[r, column] = value
    price = np.concatenate([np.tile(costs, n) * (codes >= 0).ravel(), np.zeros(len(triples))])
    constraint = LinearConstraint(matrix.tocsr(), lb=[least for _, least in rows])
    solved = milp(price, constraints=constraint, integrality=np.ones(len(price)), bounds=Bounds(0, 1))
    assert solved.success
    return float(solved.fun)


def cost(codes: Codes, shown: NDArray[np.bool_], costs: list[float]) -> float:
    assert not (~shown & (codes < 0)).any()  # what was missing is not suppressed again
    return float((~shown).sum(axis=0) @ np.array(costs))


@pytest.mark.parametrize("seed", range(30))
def test_as_cheap_as_integer_programming(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, q, k = int(rng.integers(5, 13)), int(rng.integers(2, 5)), int(rng.integers(2, 4))
    codes = rng.integers(0, rng.integers(2, 5), size=(n, q)).astype(np.int32)
    if seed % 3 == 0:
        codes[rng.random(codes.shape) < 0.1] = -1
    costs = [1.0] * q if seed % 2 else rng.integers(1, 6, q).astype(float).tolist()
    for subsets in {q, 2}:
        shown = cheapest_shown(codes, k, np.array(costs), subsets, [0] * q)
        assert cost(codes, shown, costs) == pytest.approx(optimum(codes, k, costs, subsets))


@settings(max_examples=120, deadline=None)
@given(tables, st.integers(1, 3), st.integers(1, 5))
def test_no_violation_is_left_and_no_value_went_in_vain(codes: Codes, k: int, subsets: int) -> None:
    q = codes.shape[1]
    subsets = min(subsets, q)
    shown = cheapest_shown(codes, k, np.ones(q), subsets, [0] * q)
    after = np.where(shown, codes, -1)
    for chosen in combinations(range(q), subsets):
        assert (agreeing(after[:, chosen]).all(axis=2).sum(axis=1) >= k).all()
    for row, column in zip(*np.nonzero(~shown), strict=True):
        # shown again, the record as it would be is shared by fewer than k records of the table given
        back = after[row].copy()
        back[column] = codes[row, column]
        matches = (back == codes) | (back < 0) | (codes < 0)
        counts = [matches[:, chosen].all(axis=1).sum() for chosen in combinations(range(q), subsets)]
        assert min(counts) < k
    assert cheapest_shown(after, k, np.ones(q), subsets, [0] * q).all()  # done once, it is done


def test_the_rule_taken_across_the_whole_table_would_blank_whole_records() -> None:
    # why suppressed values of other records do not count: two blank records make a table of uniques 3-anonymous
    codes = np.arange(30, dtype=np.int32).reshape(10, 3)
    codes[:2] = -1
    assert (agreeing(codes).all(axis=2).sum(axis=1) >= 3).all()


def people() -> Microdata:
    """Region and job by hand; the fifth and sixth records are alone."""
    table = pa.table({"region": list("NNNNSS"), "job": list("aaabca"), "pay": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]})
    keys = tuple(Variable(name, kind="nominal", role="key") for name in ("region", "job"))
    return Microdata.from_frame(table, Schema(keys))


def spelled(data: Microdata) -> list[str]:
    return ["".join(value or "?" for value in row.values()) for row in data.to_arrow().drop("pay").to_pylist()]


def test_by_hand() -> None:
    # Na x 3 stays. Nb: without the job N? is shared by 4. Sc: S? is shared by 2. Sa: S? by 2, ?a by 4: equally cheap,
    # so the key with more values (job, 3 against 2) goes.
    masked = LocalSuppression(2).protect(people())
    assert spelled(masked) == ["Na", "Na", "Na", "N?", "S?", "S?"]
    assert masked.schema["job"].treatment.suppressed == 3 and not masked.schema["region"].treatment
    assert masked.notes == ("LocalSuppression(k=2): 3 of 12 key values suppressed in 3 records: job 3",)
    # a job is worth three regions: Nb keeps b only if ?b is shared (it is not), so it goes; Sa loses its region
    masked = LocalSuppression(2, importance={"job": 3}).protect(people())
    assert spelled(masked) == ["Na", "Na", "Na", "N?", "S?", "?a"]
    # three must share: Na stays; Sc and S? (2) are too few, ?c too, so both values of Sc go; Sa becomes ?a (4)
    masked = LocalSuppression(3).protect(people())
    assert spelled(masked) == ["Na", "Na", "Na", "N?", "??", "?a"]
    # each key by itself: b and c occur once, S twice
    masked = LocalSuppression(2, subsets=1).protect(people())
    assert spelled(masked) == ["Na", "Na", "Na", "N?", "S?", "Sa"]


def test_a_missing_value_matches_any() -> None:
    codes = np.array([[0, 0], [0, -1], [1, 1], [1, 1]], dtype=np.int32)
    assert cheapest_shown(codes, 2, np.ones(2), 2, [0, 0]).all()


def test_whole_numbers_become_missing_and_other_columns_stay() -> None:
    data = persons()
    masked = LocalSuppression(3).protect(data)
    lost = np.isnan(masked.columns["age"])
    assert masked.schema["age"].treatment.suppressed == lost.sum() > 0
    assert np.array_equal(masked.columns["age"][~lost], data.columns["age"][~lost])
    for name in ("id", "weight", "income", "health"):
        assert np.array_equal(masked.columns[name], data.columns[name])
    table = data.to_arrow()
    turned = Microdata.from_frame(table.select(table.column_names[::-1]), data.schema)
    again = LocalSuppression(3).protect(turned)
    assert all(np.array_equal(again.columns[n], masked.columns[n], equal_nan=True) for n in data.schema.analysed())


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_measure_of_k_anonymity_finds_no_violation(k: int) -> None:
    data = persons()
    assert KAnonymity(k).evaluate(data, data).value > 0.5
    assert KAnonymity(k).evaluate(data, LocalSuppression(k).protect(data)).value == 0


def test_large_tables_as_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, size=(9_000, 4)).astype(np.int32)
    codes[rng.random(codes.shape) < 0.01] = -1
    hashed = cheapest_shown(codes, 3, np.ones(4), 4, [0] * 4)
    monkeypatch.setattr(groups, "worth_compiling", lambda _: False)
    assert np.array_equal(hashed, cheapest_shown(codes, 3, np.ones(4), 4, [0] * 4))


def test_without_a_schema_all_categories_are_keys() -> None:
    table = pa.table({"region": list("NNS"), "pay": [1.5, 2.5, 3.5]})
    assert LocalSuppression(2).protect(table)["region"].to_pylist() == ["N", "N", None]


def test_refusals() -> None:
    data = persons()
    with pytest.raises(ParameterError, match="LocalSuppression: k must be a whole number of at least 1; got 0"):
        LocalSuppression(0)
    with pytest.raises(ParameterError, match="LocalSuppression: the importance of 'age' must be a number above 0"):
        LocalSuppression(3, importance={"age": 0})
    with pytest.raises(ParameterError, match="LocalSuppression: importance must be a dict"):
        LocalSuppression(3, importance=("age",))  # type: ignore[arg-type]
    with pytest.raises(
        NotApplicable, match="LocalSuppression: importance names 'income', which is not one of the keys"
    ):
        LocalSuppression(3, importance={"income": 2}).protect(data)
    with pytest.raises(NotApplicable, match="LocalSuppression: the table has 240 records, fewer than k=241"):
        LocalSuppression(241).protect(data)
    with pytest.raises(NotApplicable, match="LocalSuppression: subsets=5 asks for combinations of more keys"):
        LocalSuppression(3, subsets=5).protect(data)
    with pytest.raises(NotApplicable, match="LocalSuppression: key 'income' is continuous"):
        LocalSuppression(3, variables=("region", "income")).protect(data)
    many = pa.table({f"v{j:02}": ["a", "b", "a"] for j in range(17)})
    with pytest.raises(NotApplicable, match="LocalSuppression: 17 keys"):
        LocalSuppression(2).protect(many)
    only_numbers = pa.table({"x": [1.5, 2.5]})
    with pytest.raises(NotApplicable, match="LocalSuppression: no variable has the role key"):
        LocalSuppression(2).protect(only_numbers)


@pytest.mark.parametrize("missing", ["matches", "category"])
def test_a_category_that_is_gone_is_not_listed_either(missing: Literal["matches", "category"]) -> None:
    table = pa.table({"job": [*"aaaabbbb", "pilot"]})
    job = Variable("job", kind="nominal", role="key", labels=(("a", "baker"), ("pilot", "flies")))
    masked = LocalSuppression(2, missing=missing).protect(Microdata.from_frame(table, Schema((job,))))
    assert masked.schema["job"].categories == ("a", "b") and masked.schema["job"].labels == (("a", "baker"),)
    shown = masked.to_arrow()["job"].to_pylist()
    assert shown[-1] is None and "pilot" not in shown
    assert "role key" not in masked.notes[-1]


def test_the_note_says_that_all_categories_were_taken_as_keys() -> None:
    masked = LocalSuppression(2).protect(Microdata.from_frame(pa.table({"job": ["a", "a", "b"]})))
    assert "all ordinal and nominal ones were taken as keys" in masked.notes[-1]


@pytest.mark.parametrize("ordered", [True, False])
def test_nor_do_the_column_types_of_frames_list_it(ordered: bool) -> None:
    import pandas as pd
    import polars as pl

    jobs = [*"aaabbb", "pilot"]
    frame = pd.DataFrame({"job": pd.Categorical(jobs, categories=["b", "pilot", "a"], ordered=ordered)})
    masked = LocalSuppression(2, variables=("job",)).protect(frame)
    assert masked["job"].cat.categories.tolist() == ["b", "a"] and masked["job"].cat.ordered == ordered
    assert masked["job"].isna().tolist() == [False] * 6 + [True]
    enum = pl.DataFrame({"job": jobs}, schema={"job": pl.Enum(["b", "pilot", "a"])})
    after = LocalSuppression(2, variables=("job",)).protect(enum)
    assert after.schema["job"] == pl.Enum(["b", "a"]) and after["job"].null_count() == 1
