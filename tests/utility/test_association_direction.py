"""The direction of associations with a nominal variable: by hand, by definition, and where files differ."""

import numpy as np
import pytest
from association_columns import random_columns
from numpy.typing import NDArray
from scipy import stats

from sfumato.errors import DataError, ParameterError
from sfumato.kernels import WORTH_COMPILING
from sfumato.utility.association import Column, turned

Floats = NDArray[np.float64]
PAIR = np.array([[0, 1]])
nan = np.nan


def nominal(name: str, codes: list[int], count: int = 2) -> Column:
    return Column(name, "nominal", np.array(codes, dtype=np.int32), count)


def by_definition(original: list[Column], protected: list[Column], i: int, j: int) -> float:
    """Section 3.4.1 word for word, for files in which as many records have both."""
    if original[i].scale != "nominal":
        i, j = j, i
    strengths = []
    for file in (original, protected):
        one, two = file[i].numbers(), file[j].numbers()
        both = ~(np.isnan(one) | np.isnan(two))
        one, two = one[both], two[both]
        if file[j].scale == "nominal":
            table = np.zeros((file[i].count, file[j].count))
            np.add.at(table, (one.astype(int), two.astype(int)), 1)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            strengths.append(((table - expected) / np.sqrt(np.where(expected > 0, expected, 1))).ravel())
            continue
        if original[j].scale != "normal":
            two = stats.rankdata(two)
        found = np.zeros(file[i].count)
        for category in np.unique(one).astype(int):
            group = two[one == category]
            found[category] = len(group) * (group.mean() - two.mean()) ** 2 * np.sign(group.mean() - two.mean())
        strengths.append(found)
    before, after = strengths
    strength = np.abs(before).sum()
    return float((np.abs(before - after).sum() - strength) / strength) if strength > 1e-12 else 0.0


@pytest.mark.parametrize("records", [120, WORTH_COMPILING + 1])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_every_pair_with_a_nominal_equals_the_definition(records: int, missing: float) -> None:
    original = random_columns(records, 4, seed=1, missing=missing)
    rng = np.random.default_rng(2)
    protected = []
    for column in original:  # a third of the values shuffled, among those present, so that as many are missing
        values = column.values.copy()
        there = np.flatnonzero(~np.isnan(column.numbers()))
        some = rng.choice(there, len(there) // 3, replace=False)
        values[some] = values[rng.permutation(some)]
        protected.append(Column(column.name, column.scale, values, column.count))
    pairs = [(i, j) for i in range(16) for j in range(i) if "nominal" in (original[i].scale, original[j].scale)]
    found = turned(original, protected, np.array(pairs))
    expected = [by_definition(original, protected, i, j) for i, j in pairs]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_residuals_by_hand() -> None:
    # O = 3 1 | 1 3, E = 2: residuals 1/sqrt(2) times + - | - +; the protected has 2 2 | 2 2, and 1 3 | 3 1
    first = nominal("first", [0, 0, 0, 0, 1, 1, 1, 1])
    same = nominal("second", [0, 0, 0, 1, 0, 1, 1, 1])
    none = nominal("second", [0, 0, 1, 1, 0, 0, 1, 1])
    reversed_ = nominal("second", [1, 1, 1, 0, 1, 0, 0, 0])
    for second, expected in ((same, -1.0), (none, 0.0), (reversed_, 1.0)):
        assert turned([first, same], [first, second], PAIR)[0] == pytest.approx(expected)
    # in a file of half the size, 2 0 | 0 2, E = 1, residuals 1 over sqrt(4) of a record: 1/2, beside 1/sqrt(2) over
    # sqrt(8): 1/4; |1/4 - 1/2| / (1/4) - 1 = 0
    half = [nominal("first", [0, 0, 1, 1]), nominal("second", [0, 0, 1, 1])]
    assert turned([first, same], half, PAIR)[0] == pytest.approx(0.0)


def test_groups_by_hand() -> None:
    group = nominal("group", [0, 0, 1, 1, 2, 2], 3)
    # means 1, 3, 5 of 3: signed SSB -8, 0, 8; means 2, 4, 3 of 3: -2, 2, 0
    # |-8 + 2| + |0 - 2| + |8 - 0| = 16, and sum |MSD_o| = 16: the expression is 0
    before = Column("value", "normal", np.array([0.0, 2.0, 2.0, 4.0, 4.0, 6.0]))
    after = Column("value", "normal", np.array([1.0, 3.0, 3.0, 5.0, 2.0, 4.0]))
    assert turned([group, before], [group, after], PAIR)[0] == pytest.approx(0.0)
    # values twice as large in the same order: signed SSB -32, 0, 32: (24 + 24) / 16 - 1 = 2, the expression's weakness
    larger = Column("value", "normal", before.values * 2)
    assert turned([group, before], [group, larger], PAIR)[0] == pytest.approx(2.0)
    # ranks do not change with the unit
    ranked = [Column("value", "skewed", before.values), Column("value", "skewed", larger.values)]
    assert turned([group, ranked[0]], [group, ranked[1]], PAIR)[0] == pytest.approx(-1.0)
    # ranks 1 2 | 3 4 | 5 6, means 1.5, 3.5, 5.5: -8, 0, 8; upside down: 8, 0, -8
    down = Column("value", "skewed", -np.array([0.0, 1.0, 2.0, 4.0, 5.0, 6.0]))
    up = Column("value", "skewed", -down.values)
    assert turned([group, up], [group, down], PAIR)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "skewed", "normal"])
def test_size_of_the_file_is_no_direction(scale: str) -> None:
    columns = [c for c in random_columns(200, 1, seed=5) if c.scale in ("nominal", scale)]
    if scale == "nominal":
        columns.append(Column("again", "nominal", (columns[0].values + 1) % columns[0].count, columns[0].count))
    tripled = [Column(c.name, c.scale, np.tile(c.values, 3), c.count) for c in columns]
    assert turned(columns, tripled, PAIR)[0] == pytest.approx(-1.0, abs=0.02)  # ranks move by half a place


def test_nothing_there() -> None:
    group, flat = nominal("group", [0, 0, 1, 1]), Column("value", "normal", np.full(4, 2.0))
    value = Column("value", "normal", np.array([1.0, 2.0, 3.0, 4.0]))
    empty = Column("value", "normal", np.full(4, nan))
    assert turned([group, flat], [group, value], PAIR)[0] == 0.0
    assert turned([group, value], [group, empty], PAIR)[0] == pytest.approx(0.0)
    gone = nominal("group", [-1, -1, -1, -1])
    assert turned([group, group], [gone, gone], np.array([[0, 1]]))[0] == pytest.approx(0.0)
    assert turned([group, value], [gone, value], PAIR)[0] == pytest.approx(0.0)
    assert len(turned([group], [group], np.zeros((0, 2), dtype=np.intp))) == 0


def test_weights_repeat_records() -> None:
    rng = np.random.default_rng(7)
    columns = [c for c in random_columns(60, 2, seed=8, missing=0.1) if c.scale in ("nominal", "normal")]
    other = [Column(c.name, c.scale, c.values[rng.permutation(60)], c.count) for c in columns]
    pairs = np.array([(i, j) for j in range(4) for i in range(j) if "nominal" in (columns[i].scale, columns[j].scale)])
    times = rng.integers(1, 4, 60)
    repeated = [Column(c.name, c.scale, np.repeat(c.values, times), c.count) for c in columns]
    weighted = turned(columns, other, pairs, weights=(times.astype(float), None))
    assert weighted == pytest.approx(turned(repeated, other, pairs))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units_of_any_size(scale: float) -> None:
    columns = [c for c in random_columns(80, 1, seed=9) if c.scale in ("nominal", "normal")]
    scaled = [columns[0], Column("normal0", "normal", columns[1].values * scale)]
    assert turned(scaled, scaled, PAIR)[0] == pytest.approx(-1.0)
    assert turned(scaled, [scaled[0], Column("normal0", "normal", -scaled[1].values)], PAIR)[0] == pytest.approx(1.0)
    assert np.isfinite(turned(columns, scaled, PAIR)).all()


def test_large_tables_a_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    original = [Column(name, "nominal", rng.integers(0, 90, 300).astype(np.int32), 90) for name in "ab"]
    protected = [original[0], Column("b", "nominal", np.roll(original[1].values, 9), 90)]
    at_once = turned(original, protected, PAIR)
    monkeypatch.setattr("sfumato.kernels.contingency.DENSE", 200)
    monkeypatch.setattr("sfumato.kernels.contingency.CELLS_PER_RECORD", 0)
    monkeypatch.setattr("sfumato.kernels.contingency.FEW_CELLS", 0)
    assert turned(original, protected, PAIR) == pytest.approx(at_once)
    assert at_once[0] == pytest.approx(by_definition(original, protected, 0, 1))


def test_bad_input_is_refused() -> None:
    group, value = nominal("group", [0, 1, 1]), Column("value", "normal", np.arange(3.0))
    with pytest.raises(ParameterError, match="neither of 'value' and 'other' is nominal"):
        turned([value, Column("other", "normal", np.arange(3.0))], [value, value], PAIR)
    with pytest.raises(ParameterError, match="2 and 1 columns"):
        turned([group, value], [group], PAIR)
    with pytest.raises(DataError, match="'group' is nominal in the original and ordinal"):
        turned([group, value], [Column("group", "ordinal", group.values), value], PAIR)
    with pytest.raises(DataError, match="2 categories in the original and 3"):
        turned([group, value], [nominal("group", [0, 1, 2], 3), value], PAIR)
