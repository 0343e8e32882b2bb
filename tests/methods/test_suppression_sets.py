"""Local suppression for several sets of keys at once, by individual risk, and with caps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import sfumato
from sfumato import (
    IndividualRisk,
    KAnonymity,
    LocalSuppression,
    Microdata,
    NotApplicable,
    ParameterError,
    Scenario,
    Schema,
    Variable,
    catalogue,
)
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.suppression import Answer, RiskBound, SharedKeys, cheapest_shown
from tables import persons

Codes = NDArray[np.int32]
SETS = ((("age", "region", "sex"), 3), (("education", "region"), 5), (("sex",), 10))


def disagreeing(codes: Codes) -> NDArray[np.bool_]:
    """Whether records i and j differ in key v: both present, and not equal."""
    a, b = codes[:, None, :], codes[None, :, :]
    apart: NDArray[np.bool_] = (a != b) & (a >= 0) & (b >= 0)
    return apart


def optimum(codes: Codes, sets: Sequence[SharedKeys], costs: Sequence[float], limits: Mapping[int, int] = {}) -> float:
    """The least cost by one integer program over the whole table, infinite if there is no way.

    s[i, v] = 1 when value v of record i goes; y[i, j, c] = 1 when record j is counted for what i shows of set c, which
    takes s[i, v] = 1 wherever they differ in it. Every i needs k - 1 others in every set; at most limits[v] values of
    key v go.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_matrix

    n, q = codes.shape
    apart = disagreeing(codes)
    triples = [(i, j, c) for i in range(n) for j in range(n) for c in range(len(sets)) if i != j]
    place = {triple: n * q + t for t, triple in enumerate(triples)}
    rows: list[tuple[dict[int, float], float]] = []
    for i, j, c in triples:
        rows += [({place[i, j, c]: -1.0, i * q + v: 1.0}, 0.0) for v in sets[c].keys if apart[i, j, v]]
    for i in range(n):
        rows += [({place[i, j, c]: 1.0 for j in range(n) if j != i}, s.k - 1.0) for c, s in enumerate(sets)]
    for v, most in limits.items():
        rows.append(({i * q + v: -1.0 for i in range(n) if codes[i, v] >= 0}, -float(most)))
    matrix = lil_matrix((len(rows), n * q + len(triples)))
    for r, (entries, _) in enumerate(rows):
        for column, value in entries.items():
            matrix[r, column] = value
    price = np.concatenate([np.tile(costs, n) * (codes >= 0).ravel(), np.zeros(len(triples))])
    constraint = LinearConstraint(matrix.tocsr(), lb=[least for _, least in rows])
    solved = milp(price, constraints=constraint, integrality=np.ones(len(price)), bounds=Bounds(0, 1))
    return float(solved.fun) if solved.success else float("inf")


def cost(codes: Codes, answer: Answer, costs: Sequence[float]) -> float:
    assert not (~answer.shown & (codes < 0)).any()  # what was missing is not suppressed again
    return float((~answer.shown).sum(axis=0) @ np.array(costs))


def satisfied(codes: Codes, sets: Sequence[SharedKeys]) -> bool:
    apart = disagreeing(codes)
    return all((~apart[:, :, list(one.keys)].any(axis=2)).sum(axis=1).min() >= one.k for one in sets)


def drawn(seed: int, most: int = 13) -> tuple[Codes, list[SharedKeys], list[float]]:
    """A small table with three sets of keys that overlap, k = 3, 5 and 10 or less, and what values cost."""
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(11, most)), int(rng.integers(3, 6))
    codes = rng.integers(0, rng.integers(2, 4), size=(n, q)).astype(np.int32)
    if seed % 3 == 0:
        codes[rng.random(codes.shape) < 0.1] = -1
    sets = []
    for k in (3, 5, 10):
        keys = tuple(sorted(rng.choice(q, int(rng.integers(1, q + 1)), replace=False).tolist()))
        sets.append(SharedKeys(keys, k, len(keys)))
    costs = [1.0] * q if seed % 2 else rng.integers(1, 6, q).astype(float).tolist()
    return codes, sets, costs


@pytest.mark.parametrize("seed", range(25))
def test_three_sets_as_cheap_as_integer_programming(seed: int) -> None:
    codes, sets, costs = drawn(seed)
    answer = cheapest_shown(codes, sets, np.array(costs), [0] * len(costs))
    assert cost(codes, answer, costs) == pytest.approx(optimum(codes, sets, costs))
    assert satisfied(np.where(answer.shown, codes, -1), sets)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000))
def test_all_sets_hold_and_it_costs_no_more_than_each_by_itself(seed: int) -> None:
    codes, sets, costs = drawn(seed, most=60)
    answer = cheapest_shown(codes, sets, np.array(costs), [0] * len(costs))
    assert answer.exact and satisfied(np.where(answer.shown, codes, -1), sets)
    # each by itself on the table given: what any of them blanks is a way to satisfy all, and none can cost more
    alone = [cheapest_shown(codes, [one], np.array(costs), [0] * len(costs)) for one in sets]
    shown = np.logical_and.reduce([one.shown for one in alone])
    assert cost(codes, answer, costs) <= cost(codes, Answer(shown, {}), costs) + 1e-9
    assert cost(codes, answer, costs) >= max(cost(codes, one, costs) for one in alone) - 1e-9


def test_one_value_may_serve_two_sets() -> None:
    # record 0 is alone in (a, b) and in (b, c). Without b it shows a=0 (shared by 2) and c=0 (by 2), one value.
    # By themselves: set (a, b) may blank a as well (b=1 is shared by 2), set (b, c) c as well; together only b will do
    # for one value. The others are shared: rows 1, 2 agree in (a, b) = (0, 0), rows 3, 4 in (1, 1), and so on.
    codes = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 0, 0]], dtype=np.int32)
    sets = [SharedKeys((0, 1), 2, 2), SharedKeys((1, 2), 2, 2)]
    answer = cheapest_shown(codes, sets, np.ones(3), [0, 1, 0])
    assert (~answer.shown[0]).tolist() == [False, True, False]


def test_sets_without_a_common_key_are_solved_apart_and_wide_ones_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(1).integers(0, 3, size=(200, 20)).astype(np.int32)
    apart = [SharedKeys(tuple(range(10)), 3, 10), SharedKeys(tuple(range(10, 20)), 5, 10)]
    monkeypatch.setattr("sfumato.kernels.suppression.MAX_KEYS", 12)
    answer = cheapest_shown(codes, apart, np.ones(20), [0] * 20)
    assert answer.exact and satisfied(np.where(answer.shown, codes, -1), apart)
    chained = [SharedKeys(tuple(range(8)), 3, 8), SharedKeys(tuple(range(6, 14)), 5, 8)]
    answer = cheapest_shown(codes, chained, np.ones(20), [0] * 20)
    assert not answer.exact and satisfied(np.where(answer.shown, codes, -1), chained)


def survey() -> Microdata:
    return persons(400)


def test_the_method_satisfies_every_set_it_was_told() -> None:
    data = survey()
    masked = LocalSuppression(sets=SETS).protect(data)
    for keys, k in SETS:
        assert KAnonymity(k, variables=keys).evaluate(data, masked).value == 0
    assert set(LocalSuppression(sets=SETS).masked(data)) == {"region", "sex", "education", "age"}
    chain = LocalSuppression(3, variables=SETS[0][0]) + LocalSuppression(5, variables=SETS[1][0])
    chain = chain + LocalSuppression(10, variables=SETS[2][0])
    lost, one_by_one = (sum(v.treatment.suppressed for v in d.schema) for d in (masked, chain.protect(data)))
    assert lost <= one_by_one


def test_k_is_the_least_of_every_set_and_one_set_is_the_plain_method() -> None:
    data = survey()
    lifted = LocalSuppression(6, sets=SETS).protect(data)
    stated = LocalSuppression(sets=tuple((keys, max(k, 6)) for keys, k in SETS)).protect(data)
    assert lifted.fingerprint == stated.fingerprint
    keys = ("region", "sex", "education", "age")
    one = LocalSuppression(sets=((keys, 3),)).protect(data)
    assert one.fingerprint == LocalSuppression(3).protect(data).fingerprint


def test_the_scenarios_of_the_schema() -> None:
    data = survey()
    scenarios = (
        Scenario("neighbour", keys=("region", "sex", "age"), k=5),
        Scenario("colleague", keys=("education", "income", "age"), about=("income",), k=3),
    )
    data = replace(data, schema=replace(data.schema, scenarios=scenarios))
    masked = LocalSuppression(sets="scenarios").protect(data)
    stated = LocalSuppression(sets=((("region", "sex", "age"), 5), (("education", "age"), 3))).protect(data)
    assert masked.fingerprint == stated.fingerprint  # nobody knows an income exactly, and hardly two are equal
    assert "(neighbour: region, sex, age k=5; colleague: education, age k=3)" in masked.notes[-1]
    # without scenarios: all keys, with the k of a scenario that nobody declared
    plain = LocalSuppression(sets="scenarios").protect(survey())
    assert plain.fingerprint == LocalSuppression(Scenario("x", ("a",)).k).protect(survey()).fingerprint


def test_texts_read_back() -> None:
    for method in (
        LocalSuppression(sets=SETS),
        LocalSuppression(4, sets="scenarios", importance={"age": 3}),
        LocalSuppression(risk=0.1),
        LocalSuppression(3, caps={"age": 0.02, "sex": 0}, risk=0.2),
    ):
        assert catalogue.parse(repr(method)) == [method] and eval(repr(method)) == method
        assert hash(method) == hash(replace(method))
    assert repr(LocalSuppression(sets="scenarios")) == "LocalSuppression(sets='scenarios')"
    assert len(catalogue.parse("LocalSuppression(k=[3, 5], sets='scenarios')")) == 2
    assert LocalSuppression(sets=[[["region", "sex"], 3]]) == LocalSuppression(sets=((("region", "sex"), 3),))  # type: ignore[arg-type]


def test_individual_risk_is_bounded() -> None:
    data = survey()
    before = IndividualRisk().evaluate(data, data).parts["largest"]
    for most in (0.05, 0.02):
        masked = LocalSuppression(risk=most).protect(data)
        assert IndividualRisk().evaluate(data, masked).parts["largest"] <= most < before
    # without weights the file is a census, and a risk of at most 1/3 is three records alike
    census = data.without(["weight"])
    assert LocalSuppression(risk=1 / 3).protect(census).fingerprint == LocalSuppression(3).protect(census).fingerprint
    both = LocalSuppression(2, risk=0.02).protect(data)
    assert KAnonymity(2).evaluate(data, both).value == 0
    assert IndividualRisk().evaluate(data, both).parts["largest"] <= 0.02


def test_individual_risk_by_hand() -> None:
    # weights 4: alone, p = 1/4 and r = (1/3) ln 4 = 0.4621; of two, p = 1/4 and r = 1/3 - (1/9) ln 4 = 0.1793
    table = pa.table({"job": list("aab"), "town": list("NNN"), "w": [4.0, 4.0, 4.0]})
    keys = tuple(Variable(name, kind="nominal", role="key") for name in ("job", "town"))
    data = Microdata.from_frame(table, Schema(keys, weight="w"))
    assert LocalSuppression(risk=0.18).protect(data).to_arrow()["job"].to_pylist() == ["a", "a", None]
    assert LocalSuppression(risk=0.17).protect(data).to_arrow()["job"].to_pylist() == [None, None, None]
    with pytest.raises(NotApplicable, match=r"3 records would be above risk=0\.05 with all key values missing"):
        LocalSuppression(risk=0.05).protect(data)


@given(st.integers(1, 200), st.floats(0, 5_000), st.floats(1, 500))
def test_a_further_record_that_agrees_never_raises_the_risk(f: int, rest: float, weight: float) -> None:
    # so what is missing elsewhere in the protected file can only lower the risk that the suppression bounded
    before = expected_inverse(np.array([float(f)]), np.array([f + rest]))[0]
    after = expected_inverse(np.array([f + 1.0]), np.array([f + rest + weight]))[0]
    assert after <= before * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_cap_on_one_key_as_cheap_as_integer_programming(seed: int) -> None:
    codes, sets, costs = drawn(seed)
    free = (~cheapest_shown(codes, sets, np.array(costs), [0] * len(costs)).shown).sum(axis=0)
    key = int(free.argmax())
    for most in (0, int(free[key]) // 2):
        answer = cheapest_shown(codes, sets, np.array(costs), [0] * len(costs), limits={key: most})
        best = optimum(codes, sets, costs, {key: most})
        assert bool(answer.stuck) == np.isinf(best)
        if not answer.stuck:
            assert (~answer.shown[:, key]).sum() <= most
            assert cost(codes, answer, costs) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
def test_caps_on_several_keys_hold_or_are_refused(seed: int) -> None:
    codes, sets, costs = drawn(seed)
    free = (~cheapest_shown(codes, sets, np.array(costs), [0] * len(costs)).shown).sum(axis=0)
    limits = {key: int(free[key]) * 2 // 3 for key in range(2)}
    answer = cheapest_shown(codes, sets, np.array(costs), [0] * len(costs), limits=limits)
    best = optimum(codes, sets, costs, limits)
    if answer.stuck:
        return
    assert all((~answer.shown[:, key]).sum() <= most for key, most in limits.items())
    assert satisfied(np.where(answer.shown, codes, -1), sets)
    assert cost(codes, answer, costs) >= best - 1e-9


def test_caps_of_the_method() -> None:
    data = survey()
    free = LocalSuppression(3).protect(data)
    assert free.schema["age"].treatment.suppressed > 8
    capped = LocalSuppression(3, caps={"region": 0, "sex": 0.02}).protect(data)
    assert not capped.schema["region"].treatment and capped.schema["sex"].treatment.suppressed <= 8
    assert KAnonymity(3).evaluate(data, capped).value == 0
    with pytest.raises(NotApplicable, match="caps lets 0 % of 'education' be suppressed, but 2 records more"):
        LocalSuppression(3, caps={"age": 0.02, "region": 0, "sex": 0, "education": 0}).protect(data)
    with pytest.raises(NotApplicable, match="caps names 'income', which is not one of the keys"):
        LocalSuppression(3, caps={"income": 0.02}).protect(data)


def test_what_cannot_be_is_refused() -> None:
    for sets in ("scenario", (("region", "sex"), 3), ((("region",), 0),), (((), 3),), ()):
        with pytest.raises(ParameterError, match="LocalSuppression: sets must be 'scenarios' or pairs of keys and k"):
            LocalSuppression(sets=sets)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="say how many records must agree"):
        LocalSuppression()
    with pytest.raises(ParameterError, match="leave variables out"):
        LocalSuppression(sets=SETS, variables=("age",))
    with pytest.raises(ParameterError, match="names a variable twice"):
        LocalSuppression(sets=((("age", "age"), 3),))
    with pytest.raises(ParameterError, match="risk needs missing='matches'"):
        LocalSuppression(3, missing="category", risk=0.1)
    with pytest.raises(ParameterError, match="the cap of 'age' must be a share from 0 to 1; got 2"):
        LocalSuppression(3, caps={"age": 2})
    with pytest.raises(NotApplicable, match="LocalSuppression: there is no variable 'regoin'"):
        LocalSuppression(sets=((("regoin",), 3),)).protect(survey())
    light = survey()
    light = replace(light, columns={**light.columns, "weight": np.full(len(light), 0.5)})
    with pytest.raises(NotApplicable, match="LocalSuppression: the weight 'weight' is below one"):
        LocalSuppression(risk=0.1).protect(light)
    assert sfumato.LocalSuppression(sets=SETS).about.title == "Local suppression"


def test_bounded_risk_of_the_kernel_by_brute_force() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, size=(60, 3)).astype(np.int32)
    weights = rng.uniform(1, 20, 60)
    answer = cheapest_shown(codes, [SharedKeys((0, 1, 2), 1, 3)], np.ones(3), [0] * 3, RiskBound(0.03, weights))
    for row in range(60):
        fits = []
        for mask in range(8):
            kept = [v for v in range(3) if not mask >> v & 1]
            same = (codes[:, kept] == codes[row, kept]).all(axis=1)
            risk = expected_inverse(np.array([float(same.sum())]), np.array([weights[same].sum()]))[0]
            fits += [mask.bit_count()] if risk <= 0.03 else []
        assert (~answer.shown[row]).sum() == min(fits)
