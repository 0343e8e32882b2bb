"""Trees of two files in machine code: to the last bit those that are grown node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.trees import DEEPEST, MIN_LEAF, MIN_SPLIT, LackOfFit, two_files
from sfumato.utility.propensity import measure
from sfumato.utility.propensity.pooled import Categories, Numbers, Pooled


def pooled(n: int, seed: int, decimals: int, nominal: bool) -> Pooled:
    """Records of two files that differ a little, with ties where values are rounded."""
    rng = np.random.default_rng(seed)
    protected = rng.random(n) < rng.choice([0.1, 0.5, 0.7])
    protected[:2] = False, True
    numbers = np.round(rng.normal(size=(3, n)) * np.where(protected, 1.2, 1.0), decimals)
    codes = [(rng.integers(0, k, n) * np.where(protected, 1, rng.random(n) < 0.9)).astype(np.int32) for k in (2, 9)]
    return Pooled(
        tuple(Numbers(f"x{j}", column) for j, column in enumerate(numbers)),
        tuple(Categories(f"f{j}", code, int(code.max()) + 1) for j, code in enumerate(codes)) if nominal else (),
        protected,
        np.ones(n),
        ("x0", "x1", "x2", *(("f0", "f1") if nominal else ())),
    )


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 400),
    seed=st.integers(0, 10**6),
    decimals=st.sampled_from([0, 1, 8]),
    nominal=st.booleans(),
    cp=st.sampled_from([0.0, 1e-8, 0.001, 0.02]),
    lack=st.sampled_from(["squared error", "misclassification"]),
)
def test_the_tree_is_that_of_nodes_split_one_by_one(
    n: int, seed: int, decimals: int, nominal: bool, cp: float, lack: LackOfFit
) -> None:
    data = pooled(n, seed, decimals, nominal)
    columns = measure.sort_columns(data)
    expected = measure.fit_tree(columns, data.protected, data.weights, cp, lack)  # small tables are not compiled
    shares, split_by, gains = two_files.grow(
        columns.rows, columns.ranks, columns.codes, columns.counts, data.protected.view(np.uint8), cp,
        int(lack == "squared error"), MIN_LEAF, MIN_SPLIT, DEEPEST,
    )  # fmt: skip
    assert np.array_equal(shares, expected.scores)
    assert len(gains) + 1 == expected.leaves
    by_variable: dict[str, float] = {}
    for column, gain in zip(split_by, gains, strict=True):
        name = columns.variables[column]
        by_variable[name] = by_variable.get(name, 0.0) + float(gain)
    assert by_variable == pytest.approx(expected.by_variable, rel=1e-12)


def test_one_category_column_alone() -> None:
    # with no numbers there is one constant list, which holds the records
    codes = np.repeat(np.arange(4, dtype=np.int32), 30)
    protected = np.tile([True, False, False], 40)
    protected[codes == 2] = True
    data = Pooled((), (Categories("f", codes, 4),), protected, np.ones(120), ("f",))
    columns = measure.sort_columns(data)
    shares, split_by, _ = two_files.grow(
        columns.rows, columns.ranks, columns.codes, columns.counts, protected.view(np.uint8), 0.01, 1, 7, 20, 30
    )
    assert split_by.tolist() == [1]
    np.testing.assert_allclose(shares, np.where(codes == 2, 1.0, 1 / 3))


@pytest.mark.parametrize("lack", ["squared error", "misclassification"])
def test_a_large_table_goes_this_way_and_gives_the_same(lack: LackOfFit, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pooled(8_000, 3, 2, True)
    columns = measure.sort_columns(data)
    found = measure.fit_tree(columns, data.protected, data.weights, 1e-4, lack)
    asked: list[int] = []
    monkeypatch.setattr(two_files, "grow", lambda *_: asked.append(1))
    # weights that are not 1 take the other way; a power of two changes no rounding
    other = measure.fit_tree(columns, data.protected, 2 * data.weights, 1e-4, lack)
    assert not asked
    assert np.array_equal(found.scores, other.scores) and found.leaves == other.leaves > 50
    for name, gain in found.by_variable.items():
        assert other.by_variable[name] == 2 * gain


def test_chance_does_not_depend_on_the_way() -> None:
    data = pooled(6_000, 5, 3, False)
    columns = measure.sort_columns(data)
    drawn = measure.trees_by_lot(data, columns, 1e-4, "squared error", 3, np.random.default_rng(1))
    # weights of two files that are equal become 1 whatever they were
    heavy = Pooled(data.numbers, (), data.protected, np.full(6_000, 3.0), data.names)
    assert np.array_equal(
        drawn, measure.trees_by_lot(heavy, columns, 1e-4, "squared error", 3, np.random.default_rng(1))
    )
