"""What optimal recoding was asked to keep, judged by the measures where missing keys agree with every value."""

import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    Hierarchy,
    KAnonymity,
    LocalRecoding,
    Microdata,
    NotApplicable,
    OptimalRecoding,
    Schema,
    TCloseness,
    Variable,
)


def test_closeness_holds_for_several_sets_with_a_missing_key() -> None:
    # 7 q and 3 p of f, u and of f, v, the p suppressed for their towns, as are the q of m, u; of two e is missing
    cells = [("f", "u", 7, 3, "p"), ("f", "v", 7, 3, "p"), ("m", "u", 5, 5, "q"), ("m", "v", 3, 7, ""),
             ("m", "w", 3, 7, ""), ("f", None, 1, 1, "")]  # fmt: skip
    towns = iter(range(100))
    records = [
        (f"z{next(towns)}" if c == hidden else "x1", d, e, c) for d, e, q, p, hidden in cells for c in "q" * q + "p" * p
    ]
    table = pa.table(dict(zip("adec", map(list, zip(*records, strict=True)), strict=True)))
    hierarchy = {"a": {v: ["*"] for v in set(table["a"].to_pylist())}, "d": {v: ["*"] for v in "fm"},
                 "e": {v: ["*"] for v in "uvw"}}  # fmt: skip
    sets = ((("a",), 2), (("d", "e"), 2))
    method = OptimalRecoding(sets=sets, t=0.2, confidential=("c",), hierarchy=hierarchy, suppression=0.25)
    protected = method.protect(table)
    for keys, _ in sets:
        assert TCloseness(variables=keys, confidential=("c",)).evaluate(table, protected).value <= 0.2


def household_survey(seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    records = int(rng.integers(16, 50))
    home = np.sort(rng.integers(0, records // 2, records))
    table = {"a": rng.choice(["x1", "x2", "y1", "y2"], size=records)[home].tolist(),
             "b": rng.integers(0, 8, records).astype(float), "d": rng.choice(["f", "m"], records).tolist(),
             "c": rng.choice(["p", "q", "r"], records, p=[0.5, 0.3, 0.2]).tolist(), "home": home}  # fmt: skip
    variables = (
        Variable(
            "a", "nominal", "key", hierarchy=Hierarchy.of({c: [c[0] + "_", "*"] for c in ["x1", "x2", "y1", "y2"]})
        ),
        Variable("b", "numeric", "key", hierarchy=Hierarchy.of([2, 4, 8])),
        Variable("d", "nominal", "key", hierarchy=Hierarchy.of({"f": ["*"], "m": ["*"]})),
        Variable("c", "nominal", "confidential"),
        Variable("home", "nominal"),
    )
    return Microdata.from_frame(pa.table(table), Schema(variables, household="home"))


def test_what_households_lose_for_each_other_breaks_nothing_unsaid() -> None:
    # in that of 208 a member suppressed takes the others' a along, and a class comes to be 0.430 from the file
    with pytest.raises(NotApplicable, match=r"of t=0\.4 a class is 0\.4304 from the file"):
        OptimalRecoding(2, 0.2, t=0.4).protect(household_survey(208))
    for seed in range(20):
        data = household_survey(seed)
        protected = OptimalRecoding(2, 0.2, t=0.4).protect(data)
        assert KAnonymity(2).evaluate(data, protected).value == 0
        assert TCloseness().evaluate(data, protected).value <= 0.4 + 1e-9, seed


@pytest.mark.parametrize("asked", [{"l": 3}, {"l": 3, "diversity": "entropy"}, {"risk": 0.1}])
def test_what_the_file_as_a_whole_breaks_is_refused_though_all_may_go(asked: dict[str, object]) -> None:
    table = pa.table({"a": ["x", "y"] * 4, "c": ["p", "q"] * 4})
    with pytest.raises(NotApplicable, match="all records together, as one class, break what is asked"):
        OptimalRecoding(2, 1.0, variables=("a",), confidential=("c",), **asked).protect(table)  # type: ignore[arg-type]


def test_many_keys_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    spread = rng.normal(size=300)
    names = tuple(f"k{place:02d}" for place in range(14))
    table = pa.table({name: np.clip(np.round(8 + 3 * spread + 3 * rng.normal(size=300)), 0, 15) for name in names})
    keys = {"hierarchy": {name: [2, 4, 8, 16] for name in names}, "variables": names}
    monkeypatch.setattr("sfumato.methods.optimal_recoding.NODES", 200)
    monkeypatch.setattr("sfumato.methods.local_recoding.NODES", 200)
    for method, said in (
        (OptimalRecoding(5, **keys), "stopped before the end, none loses less than"),  # type: ignore[arg-type]
        (LocalRecoding(5, **keys), "rounds stopped before the end"),  # type: ignore[arg-type]
    ):
        data = Microdata.from_frame(table)
        protected = method.protect(data)
        assert said in protected.notes[-1]
        assert KAnonymity(5, variables=names).evaluate(data, protected).value == 0
        assert method.protect(table).equals(method.protect(table))
