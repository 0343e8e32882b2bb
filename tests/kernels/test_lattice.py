"""The best node of a lattice beside brute force: every node, every model, every loss, with missing keys."""

from collections import Counter, defaultdict
from itertools import product
from math import exp, floor, inf, log, log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels import lattice
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.lattice import (
    AlikeRequirement,
    Assessor,
    ClassSize,
    Discernibility,
    Figure,
    Rows,
    Search,
    ValueLoss,
    Values,
    compiled,
    every_node,
    plain,
    worst,
)

Table = dict[str, Any]
LOSSES = ("values", "discernibility", "class size")
FIGURES: tuple[Figure, ...] = ("distinct", "entropy", "equal distance", "ordered distance")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Keys with hierarchies, missing values, weights and a confidential variable; few records."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    records, keys = draw(st.integers(2, 40)), draw(st.integers(1, 3))
    codes, parents = [], []
    for _ in range(keys):
        number = draw(st.integers(1, 6))
        codes.append(np.where(rng.random(records) < 0.15, -1, rng.integers(0, number, records)).astype(np.int32))
        if draw(st.booleans()):
            codes[-1] = np.maximum(codes[-1], 0)
        levels = [np.arange(number, dtype=np.int32)]
        for _ in range(draw(st.integers(0, 3))):
            merged = rng.integers(0, max(1, int(levels[-1].max()) + 1), int(levels[-1].max()) + 1)
            levels.append(np.unique(merged, return_inverse=True)[1][levels[-1]].astype(np.int32))
        parents.append(levels)
    told = rng.integers(0, draw(st.integers(1, 4)), records).astype(np.int32)
    if draw(st.booleans()):
        told = np.where(rng.random(records) < 0.2, -1, told).astype(np.int32)
    return {
        "codes": codes,
        "parents": parents,
        "told": told,
        "weights": 1 + 9 * rng.random(records) if draw(st.booleans()) else None,
        "costs": [np.sort(rng.random(len(levels))) for levels in parents],
    }


def groups(table: Table, node: tuple[int, ...], columns: tuple[int, ...]) -> list[tuple[int, ...]]:
    """What each record shows at a node: a missing value as such, unless all values are one group."""
    shown = []
    for j in columns:
        parent = table["parents"][j][node[j]]
        alone = parent.max() > 0
        shown.append([int(parent[c]) if c >= 0 else (-1 if alone else 0) for c in table["codes"][j]])
    return list(zip(*shown, strict=True))


def figure(kind: str, told: list[int], whole: list[int]) -> float:
    """How different the values of a class are, or how far from those of the file."""
    here, file = Counter(told), Counter(whole)
    if kind == "distinct":
        return len(here)
    if kind == "entropy":
        return exp(-sum(n / len(told) * log(n / len(told)) for n in here.values()))
    share = {v: here[v] / len(told) - file[v] / len(whole) for v in sorted(file)}
    if kind == "equal distance":
        return sum(map(abs, share.values())) / 2
    running, total = 0.0, 0.0
    for difference in list(share.values())[:-1]:
        running += difference
        total += abs(running)
    return total / max(len(share) - 1, 1)


def fails(one: Values, told: list[int], whole: list[int]) -> bool:
    if not told:
        return False
    found = figure(one.figure, told, whole)
    return found < one.bound - 1e-9 if one.figure in ("distinct", "entropy") else found > one.bound + 1e-12


def by_hand(
    table: Table, node: tuple[int, ...], sets: list[AlikeRequirement], values: list[Values], most: int
) -> tuple[set[int], bool]:
    """Which records have to go, and whether the rest keeps what is asked."""
    gone: set[int] = set()
    classes = []
    for one in sets:
        members = defaultdict(list)
        for i, shown in enumerate(groups(table, node, one.columns)):
            members[shown].append(i)
        for mine in members.values():
            classes.append(mine)
            size = float(len(mine))
            weight = size if table["weights"] is None else float(table["weights"][mine].sum())
            risk = expected_inverse(np.array([size]), np.array([max(weight, size)]))[0]
            if len(mine) < one.k or (one.risk is not None and risk > one.risk):
                gone |= set(mine)
            for bound in values:
                whole = bound.values[bound.values >= 0].tolist()
                if fails(bound, [int(bound.values[i]) for i in mine if bound.values[i] >= 0], whole):
                    gone |= set(mine)
    kept = len(gone) <= most
    parted = len(sets) > 1 and any((code < 0).any() for code in table["codes"])
    for bound in values:  # with the suppressed counted in every class, as the measures of risk do
        whole = bound.values[bound.values >= 0].tolist()
        for mine in classes:
            if set(mine) - gone and gone:
                told = [int(bound.values[i]) for i in set(mine) | gone if bound.values[i] >= 0]
                kept &= not fails(bound, told, whole)
                if parted and (bound.figure != "distinct" or (bound.values < 0).any()):
                    left = [int(bound.values[i]) for i in set(mine) - gone if bound.values[i] >= 0]
                    kept &= not fails(bound, left, whole)
    return gone, kept


def loss_by_hand(table: Table, node: tuple[int, ...], gone: set[int], name: str) -> float:
    codes, costs = table["codes"], table["costs"]
    records = len(codes[0])
    everything = tuple(range(len(codes)))
    left = Counter(shown for i, shown in enumerate(groups(table, node, everything)) if i not in gone)
    if name == "values":
        present = [(i, j) for j in everything for i in range(records) if codes[j][i] >= 0]
        return float(sum(1.0 if i in gone else float(costs[j][node[j]]) for i, j in present))
    if name == "discernibility":
        alone = sum(n * n for n in Counter(zip(*(map(int, c) for c in codes), strict=True)).values())
        penalty = sum(n * n for n in left.values()) + records * len(gone)
        return (penalty - alone) / (records**2 - alone) if records**2 > alone else 0.0
    return records / (len(left) + (1 if gone else 0))


def made(table: Table, sets: list[AlikeRequirement], values: list[Values], most: int, name: str) -> Search:
    rows = Rows.of(table["codes"], table["parents"], table["weights"])
    gains = None
    loss: lattice.Loss
    if name == "values":
        costs = [
            [np.full(len(levels[0]), cost) for cost in mine]
            for levels, mine in zip(table["parents"], table["costs"], strict=True)
        ]
        loss = ValueLoss.of(rows, costs, [np.ones(len(c[0])) for c in costs], [1.0] * len(costs))
        gains = loss.gains
    elif name == "discernibility":
        loss = Discernibility(rows.records, int((rows.table.counts**2).sum()), rows.top)
    else:
        everything = tuple(range(len(rows.top)))
        loss = ClassSize(rows.records, max((one.k for one in sets if one.columns == everything), default=1), rows.top)
    return Search(Assessor(rows, sets, values, most=most, gains=gains), loss)


@st.composite
def asked(draw: st.DrawFn, table: Table) -> tuple[list[AlikeRequirement], list[Values], int, str]:
    keys = len(table["codes"])
    everything = tuple(range(keys))
    risk = draw(st.sampled_from([None, None, 0.1, 0.3]))
    sets = [AlikeRequirement(everything, draw(st.integers(1, 4)), risk)]
    if draw(st.booleans()):
        some = tuple(sorted(draw(st.sets(st.integers(0, keys - 1), min_size=1))))
        sets = (
            [*sets, AlikeRequirement(some, draw(st.integers(1, 6)), risk)]
            if draw(st.booleans())
            else [AlikeRequirement(some, 3, risk)]
        )
    values = []
    for kind in draw(st.lists(st.sampled_from(FIGURES), max_size=2)):
        bound = draw(st.sampled_from([1.5, 2.0, 2.5] if kind in ("distinct", "entropy") else [0.1, 0.3, 0.5]))
        values.append(Values(table["told"], 4, kind, bound))
    most = floor(draw(st.sampled_from([0.0, 0.1, 0.3, 1.0])) * len(table["told"]) + 1e-9)
    return sets, values, most, draw(st.sampled_from(LOSSES))


def single_groups_lose_all(table: Table) -> None:
    """Let a level of one group cost as much as suppression, as every loss of the methods does."""
    for levels, costs in zip(table["parents"], table["costs"], strict=True):
        for level, parent in enumerate(levels):
            if parent.max() == 0:
                costs[level:] = 1.0


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_search_finds_what_brute_force_finds(data: st.DataObject) -> None:
    table = data.draw(tables())
    single_groups_lose_all(table)
    sets, values, most, name = data.draw(asked(table))
    search = made(table, sets, values, most, name)
    best = inf
    for node in product(*(range(height + 1) for height in search.assessor.rows.top)):
        gone, kept = by_hand(table, node, sets, values, most)
        found = search.assessor.assess(node)[0]
        assert found.kept == (kept and len(gone) <= most)
        if found.kept:
            assert set(np.flatnonzero(search.assessor.suppressed(node)).tolist()) == gone
            assert search.loss.value(found) == pytest.approx(loss_by_hand(table, node, gone, name), abs=1e-9)
            best = min(best, loss_by_hand(table, node, gone, name))
    end = search.run()
    assert end.exact
    assert end.loss == pytest.approx(best, abs=1e-9)
    assert end.bound <= end.loss
    assert (end.node is None) == (best == inf)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_what_is_called_nested_is_so_and_bounds_hold(data: st.DataObject) -> None:
    table = data.draw(tables())
    single_groups_lose_all(table)
    sets, values, most, name = data.draw(asked(table))
    search = made(table, sets, values, most, name)
    nodes = {node.levels: node for node in every_node(search)}
    assert len(nodes) == search.assessor.rows.nodes
    for low, high in product(nodes.values(), repeat=2):
        if all(a <= b for a, b in zip(low.levels, high.levels, strict=True)):
            assert low.possible <= high.possible
            if all(one.nested(1) for one in values):  # record by record, and not only if none may go
                assert high.sure.records <= low.sure.records
            if not high.possible:
                continue
            between = search.loss.bound(low.levels, low, high)
            for node in (low, high):
                if node.kept:
                    assert between <= search.loss.value(node) + 1e-9


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_kept_is_kept_where_a_missing_key_agrees_with_every_value(data: st.DataObject) -> None:
    table = data.draw(tables())
    sets, values, most, name = data.draw(asked(table))
    search = made(table, sets, values, most, name)
    if search.assessor.hopeless():
        return
    for node in every_node(search):
        if not node.kept:
            continue
        gone = search.assessor.suppressed(node.levels)
        columns = []
        for code, levels, level in zip(table["codes"], table["parents"], node.levels, strict=True):
            columns.append(np.where((code < 0) | gone, -1, levels[level][np.maximum(code, 0)]))
        for one in sets:
            shown = np.column_stack([columns[j] for j in one.columns])
            for bound in values:
                whole = bound.values[bound.values >= 0].tolist()
                told = [
                    bound.values[((row < 0) | (shown < 0) | (shown == row)).all(axis=1) & (bound.values >= 0)].tolist()
                    for row in shown
                ]
                broken = [figure(bound.figure, mine, whole) for mine in told if fails(bound, mine, whole)]
                assert worst(shown, bound) is None and not broken
        unmade = np.column_stack(table["codes"])
        for bound in values:  # the classes of the table as it is, which may break it
            whole = bound.values[bound.values >= 0].tolist()
            agreeing = [((row < 0) | (unmade < 0) | (unmade == row)).all(axis=1) for row in unmade]
            told = [bound.values[mine & (bound.values >= 0)].tolist() for mine in agreeing]
            broken = [figure(bound.figure, mine, whole) for mine in told if fails(bound, mine, whole)]
            pick = min if bound.figure in ("distinct", "entropy") else max
            assert worst(unmade, bound) == (pytest.approx(pick(broken)) if broken else None)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_classes_rolled_up_from_a_finer_node_are_those_of_the_rows(data: st.DataObject) -> None:
    table = data.draw(tables())
    search = made(table, [AlikeRequirement(tuple(range(len(table["codes"]))), 2)], [], 5, "values")
    rows = search.assessor.rows
    for node in every_node(search):
        fresh = search.assessor.assess(node.levels)[0]
        assert (fresh.classes, fresh.squares, fresh.lost.records) == (node.classes, node.squares, node.lost.records)
        assert fresh.lost.penalty == pytest.approx(node.lost.penalty)
        half = tuple(level // 2 for level in node.levels)
        finer = rows.rolled(rows.table, half)[0]
        assert sorted(rows.rolled(finer, node.levels)[0].counts) == sorted(
            rows.rolled(rows.table, node.levels)[0].counts
        )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_compiled_and_plain_are_twins(data: st.DataObject) -> None:
    table = data.draw(tables())
    sets, values, most, name = data.draw(asked(table))
    found = []
    for twin in (plain, compiled):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Rows, "kernel", twin)
            search = made(table, sets, values, most, name)
            result = search.run()
            found.append((result[:5], search.checked))
    (one, nodes), (other, others) = found
    assert one[3:] == other[3:]
    assert one[1] == pytest.approx(other[1], rel=1e-12)
    assert nodes.keys() == others.keys()
    for levels, node in nodes.items():
        assert (node.kept, node.lost.records, node.classes) == (
            others[levels].kept,
            others[levels].lost.records,
            others[levels].classes,
        )


def test_keys_too_many_for_64_bits_are_taken_in_turn() -> None:
    rng = np.random.default_rng(3)
    columns = [np.repeat(rng.permutation(500), 2).astype(np.int32) for _ in range(9)]  # 500^9 is above 2^62
    rows = Rows.of(columns, [[np.arange(500, dtype=np.int32), np.zeros(500, dtype=np.int32)]] * 9)
    everything = rows.rolled(rows.table, (0,) * 9)[0]
    assert len(everything.rows) == 500 and set(everything.counts) == {2}
    assert rows.rolled(rows.table, (1,) * 9)[0].counts.tolist() == [1000]


def test_a_search_can_be_stopped_and_taken_up_again() -> None:
    rng = np.random.default_rng(1)
    table = {
        "codes": [rng.integers(0, 8, 300).astype(np.int32) for _ in range(5)],
        "parents": [[np.arange(8, dtype=np.int32) // 2**level for level in range(4)]] * 5,
        "costs": [np.array([0.0, 0.2, 0.5, 1.0])] * 5,
        "weights": None,
    }
    everything = AlikeRequirement((0, 1, 2, 3, 4), 5)
    whole = made(table, [everything], [], 15, "values").run()
    search = made(table, [everything], [], 15, "values")
    stopped = search.run(seconds=0)
    assert not stopped.exact and stopped.bound <= whole.loss <= stopped.loss
    looked = len(search.checked)
    some = search.run(nodes=10)
    assert not some.exact and stopped.bound <= some.bound <= whole.loss <= some.loss <= stopped.loss
    assert (
        looked + 10 <= some.checked <= looked + 10 + 2 + sum(search.assessor.rows.top)
    )  # a box more, and the lowering
    again = search.run()
    assert again.exact and again.loss == whole.loss


def test_the_bits_of_entropy_are_no_different_by_hand() -> None:
    # two of value 0 and two of value 1: an entropy of ln 2 is worth 2 values; 3 and 1 are worth 1.75
    for told, worth in (([0, 0, 1, 1], 2.0), ([0, 0, 0, 1], 2 ** -(0.75 * log2(0.75) + 0.25 * log2(0.25)))):
        values = np.array(told, dtype=np.int32)
        entries = (np.zeros(4, np.int32), values, np.ones(4, np.int64), np.zeros(4, bool), np.zeros(2, np.int64))
        for twin in (plain, compiled):
            assert twin.figures(*entries, 1, np.array([0.5, 0.5]), 1)[0][0] == pytest.approx(worth)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.integers(0, 3), number=st.integers(1, 12), extra=st.booleans())
def test_figures_of_many_values_are_those_by_hand(seed: int, kind: int, number: int, extra: bool) -> None:
    rng = np.random.default_rng(seed)
    entries = int(rng.integers(0, 40))
    class_of, value = rng.integers(0, 5, entries).astype(np.int32), rng.integers(0, number, entries).astype(np.int32)
    count = rng.integers(1, 4, entries)
    hidden = rng.random(entries) < 0.2
    more = rng.integers(0, 3, number) if extra else np.zeros(number, dtype=np.int64)
    file = [v for v in range(number) for _ in range(int(rng.integers(1, 5)))]
    whole = np.bincount(file) / len(file)
    for twin in (plain, compiled):
        found, total = twin.figures(class_of, value, count, hidden, more, 5, whole, kind)
        for c in range(5):
            there = np.flatnonzero((class_of == c) & ~hidden)
            told = [int(value[i]) for i in there for _ in range(count[i])]
            told += [v for v in range(number) for _ in range(more[v])]
            assert total[c] == len(told)
            assert not told or found[c] == pytest.approx(figure(FIGURES[kind], told, file), abs=1e-12)


def test_many_confidential_values_in_as_many_classes() -> None:
    # 40,000 classes and as many values: 1.6 thousand million cells, but 40,000 that occur
    rng = np.random.default_rng(2)
    number = 40_000
    whole, ones = np.full(number, 1 / number), np.ones(number, dtype=np.int64)
    class_of, value = np.arange(number, dtype=np.int32), rng.permutation(number).astype(np.int32)
    shown, none = np.zeros(number, dtype=bool), np.zeros(number, dtype=np.int64)
    compiled.figures(class_of[:2], value[:2], ones[:2], shown[:2], none, 2, whole, 0)  # in machine code by now
    for kind, expected in ((0, np.ones(number)), (1, np.ones(number)), (2, np.full(number, 1 - 1 / number))):
        found = compiled.figures(class_of, value, ones, shown, none, number, whole, kind)[0]
        assert found == pytest.approx(expected)
    found = compiled.figures(class_of, value, ones, shown, none, number, whole, 3)[0]
    # all at value v of m: the mean over i < m - 1 of (i + 1) / m below v and 1 - (i + 1) / m from v on
    below, above = value * (value + 1.0) / 2, (number - 1 - value) * (number - value) / 2
    assert found == pytest.approx((below + above) / number / (number - 1))


def test_the_kernel_of_values_is_compiled_for_many_of_them() -> None:
    rows = Rows.of([np.arange(4, dtype=np.int32)], [[np.arange(4, dtype=np.int32)]])
    assert rows.values_kernel(4, 4) is plain
    assert rows.values_kernel(20_000, 20_000) is compiled
