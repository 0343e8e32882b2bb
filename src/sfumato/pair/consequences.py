"""What follows from some variables of a table: the columns that whoever knows these variables knows too.

Somebody who knows a person's age knows the age group, and the band of the pension scheme, too; who knows the marital
status knows for whom the partner's job is missing; who knows an income knows what its parts add up to. What follows
is found once, in the original, and used for every protected table of it.

A key of which nearly all values differ would determine every column by that alone. So a function must show itself in
records that share their value, or in the order of the values; where it does not, nothing is taken to follow.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.pair.half import Half
from sfumato.pair.sample import drawn_records, taken
from sfumato.table.microdata import Microdata
from sfumato.table.sums import Relation, relation

Integers = NDArray[np.int64]

MAX_RECORDS_READ = 20_000  # records of a larger table that are looked through
FIRST = 2_000  # records of these that are looked at first
MIN_RECORDS = 20  # records that contradict a guess at the commonest value and that the function tells
SHARED = 0.8  # of the records must share their value with another one
EXCEPTIONS = 0.002  # of the records a function may not tell
COMBINED = 200  # different values up to which two variables are tried together
LEVELS = 40  # at most, of a variable whose part in another is learnt
EACH = 5  # records for each pair of levels of two variables
TELLING = 0.1  # bits that a key tells of a column, or it tells too little to matter
BEYOND = 6  # standard deviations by which these are more than chance makes
MAX_PARTS = 8  # of a sum


@dataclass(frozen=True, eq=False)
class Consequences:
    """What follows from variables: functions of them by their sources, sums, and what they tell in part.

    ``gaps`` are columns that are missing where their sources say so, such as the partner's job of the unmarried.
    ``finer`` has the columns of which a variable is a function, such as the district of a town: they tell it in full.
    ``sums`` name a variable with the relation of other columns that gives it; ``partly`` pairs a column with each
    variable that tells a part of it, the pair first that tells most.
    """

    functions: Mapping[str, tuple[str, ...]]
    sums: tuple[tuple[str, Relation], ...] = ()
    partly: tuple[tuple[str, str], ...] = ()
    gaps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    finer: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, half: Half, known: Iterable[str]) -> "Consequences":
        """Find what follows from some variables of a table; of a large one in a random sample of its records."""
        names = tuple(dict.fromkeys(name for name in known if name in half.schema))
        found: Consequences = half.keep(("consequences", names), lambda: cls._of(_looked_at(half), names))
        return found

    @classmethod
    def _of(cls, data: Microdata, known: tuple[str, ...]) -> "Consequences":
        others = [name for name in data.schema.analysed() if name not in known]
        sources = {name: CodedColumn.of(data, name) for name in known}
        columns = {name: CodedColumn.of(data, name) for name in others}
        functions = _of_one(sources, columns)
        rest = {name: column for name, column in columns.items() if name not in functions}
        functions |= _of_two(sources, rest)
        functions |= _sums_of(data, known, [name for name in rest if name not in functions])
        rest = {name: column for name, column in rest.items() if name not in functions}
        apart = [name for name in others if name not in functions]  # a copy would be the sum of itself
        gaps = _of_one(sources, {name: column.gap for name, column in rest.items() if (column.codes == 0).any()})
        finer = {name: _finer(one, columns, apart) for name, one in sources.items()}
        return cls(functions, tuple(_sums_for(data, known, apart)), _partly(sources, rest), gaps, finer)


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column by the place of each value among its different values, from 1; a missing value is 0."""

    codes: Integers
    number: int
    ordered: bool  # whether the places are those of quantities or of ordered categories

    @classmethod
    def of(cls, data: Microdata, name: str) -> "CodedColumn":
        """Number the values of a variable; those of a number or a date by their size."""
        column, missing = data.columns[name], data.missing(name)
        codes = np.zeros(len(column), dtype=np.int64)
        values, codes[~missing] = np.unique(column[~missing], return_inverse=True)
        codes[~missing] += 1
        return cls(codes, len(values) + 1, data.schema[name].kind != "nominal")

    @property
    def gap(self) -> "CodedColumn":
        """Whether each value is missing: 1, or 2."""
        return CodedColumn(1 + (self.codes == 0), 3, ordered=False)

    def only(self, records: NDArray[np.bool_]) -> "CodedColumn":
        """Take some of the records."""
        return CodedColumn(self.codes[records], self.number, self.ordered)

    def together(self, other: "CodedColumn") -> "CodedColumn":
        """Number the pairs of values of two columns."""
        values, codes = np.unique(self.codes * other.number + other.codes, return_inverse=True)
        return CodedColumn(codes.astype(np.int64), len(values), ordered=False)


def determines(source: CodedColumn, column: CodedColumn) -> bool:
    """Tell whether a column is a function of another one, by records that share a value or by the order of values.

    >>> age, group = np.repeat(np.arange(20), 5), np.repeat(np.arange(4), 25)
    >>> years, groups = CodedColumn(age, 20, True), CodedColumn(group, 4, True)
    >>> determines(years, groups), determines(groups, years)
    (True, False)
    """
    counts = np.bincount(column.codes, minlength=column.number)
    if counts.max() == len(column.codes):
        return False
    if _contradicted(source.codes[:FIRST], column.codes[:FIRST], len(column.codes)):
        return False
    if source.ordered and _stepwise(source.codes, column, counts):
        return True
    sizes = np.bincount(source.codes, minlength=source.number)
    if int(sizes[sizes > 1].sum()) < SHARED * len(source.codes):
        return False
    return _pure(source.codes, column.codes, sizes) and _without_pile(source.codes, column.codes, sizes)


def _contradicted(source: Integers, column: Integers, records: int) -> bool:
    """Tell whether the first records alone contradict a function more often than all ``records`` may."""
    there = source > 0
    return bool(there.any() and there.sum() - _commonest(source[there], column[there]).sum() > EXCEPTIONS * records)


def _pure(source: Integers, column: Integers, sizes: Integers) -> bool:
    """Tell whether records that share a value of the source share that of the column, and not because most do."""
    wrong = len(column) - int(_commonest(source, column).sum())
    checked = len(column) - np.count_nonzero(sizes)  # the first record of each value proves nothing
    surprising = checked * (1 - np.bincount(column).max() / len(column))
    return bool(surprising >= MIN_RECORDS and wrong <= EXCEPTIONS * len(column) and wrong <= 0.05 * surprising)


def _without_pile(source: Integers, column: Integers, sizes: Integers) -> bool:
    """Tell the same of the records that do not have the commonest value of the source, such as no income."""
    rest = source != sizes.argmax()
    mine, theirs = source[rest], column[rest]
    if not len(mine) or theirs.min() == theirs.max():
        return bool(np.count_nonzero(sizes) == 2)  # a question with two answers
    return _pure(mine, theirs, np.bincount(mine))


def _commonest(source: Integers, column: Integers) -> Integers:
    """Return how many records of each value of the source have the commonest value of the column there."""
    width = int(column.max()) + 1
    cells, counts = np.unique(source * width + column, return_counts=True)
    start = np.unique(cells // width, return_index=True)[1]
    most: Integers = np.maximum.reduceat(counts, start)
    return most


def _stepwise(source: Integers, column: CodedColumn, counts: Integers) -> bool:
    """Tell whether a column changes from value to value along an ordered source, and never comes back: as bands do."""
    there = source > 0
    order = np.argsort(source[there], kind="stable")
    mine, theirs = source[there][order], column.codes[there][order]
    if len(mine) < MIN_RECORDS or _commonest(mine, theirs).sum() < len(mine):
        return False
    changes = int(np.count_nonzero(theirs[1:] != theirs[:-1]))
    different = np.unique(theirs)
    if len(different) < 2:
        return False
    if column.ordered and len(different) >= MIN_RECORDS and (theirs > 0).all():
        steps = np.diff(theirs)
        return bool((steps >= 0).all() or (steps <= 0).all())
    surprising = len(theirs) - counts[different].max()
    return bool(changes == len(different) - 1 and len(different) <= len(mine) / 10 and surprising >= MIN_RECORDS)


def _of_one(sources: Mapping[str, CodedColumn], columns: Mapping[str, CodedColumn]) -> dict[str, tuple[str, ...]]:
    """Find columns that one variable determines, and the first that does."""
    found: dict[str, tuple[str, ...]] = {}
    for name, column in columns.items():
        told = next((source for source, one in sources.items() if determines(one, column)), None)
        if told is not None:
            found[name] = (told,)
    return found


def _finer(one: CodedColumn, columns: Mapping[str, CodedColumn], others: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that determine a variable."""
    return tuple(name for name in others if columns[name].number >= one.number and determines(columns[name], one))


def _of_two(sources: Mapping[str, CodedColumn], columns: Mapping[str, CodedColumn]) -> dict[str, tuple[str, ...]]:
    """Find columns that two variables determine together and neither does alone."""
    found: dict[str, tuple[str, ...]] = {}
    few = [name for name, one in sources.items() if 2 < one.number <= COMBINED]
    for pair in combinations(few, 2):
        both = sources[pair[0]].together(sources[pair[1]])
        for name in (name for name in columns if name not in found):
            if columns[name].number <= both.number and determines(both, columns[name]):
                found[name] = pair
    return found


def _sums_of(data: Microdata, known: Sequence[str], others: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Find columns that are sums or products of variables that are all known."""
    numbers = {name: data.columns[name] for name in known if data.schema[name].kind == "numeric"}
    if len(numbers) < 2:
        return {}
    found = {}
    for name in (name for name in others if data.schema[name].kind == "numeric"):
        holds = relation(data.columns[name], numbers, set(), numbers)
        if holds is not None and holds.holds >= 1 - EXCEPTIONS and 1 < len(holds.parts) <= MAX_PARTS:
            found[name] = holds.parts
    return found


def _sums_for(data: Microdata, known: Sequence[str], others: Sequence[str]) -> Iterable[tuple[str, Relation]]:
    """Yield the known numbers that are sums or products of columns of which some are not known."""
    numbers = [name for name in data.schema.analysed("numeric") if name in known or name in others]
    columns = {name: data.columns[name] for name in numbers}
    for name in (name for name in known if name in columns):
        parts = {other: column for other, column in columns.items() if other != name}
        if parts:
            holds = relation(columns[name], parts, set(known), parts)
            if holds is not None and len(holds.parts) <= MAX_PARTS and set(holds.parts) - set(known):
                yield name, holds


def _partly(sources: Mapping[str, CodedColumn], columns: Mapping[str, CodedColumn]) -> tuple[tuple[str, str], ...]:
    """Find columns of which a variable tells something, by at least so many bits and by more than chance."""
    few = {name: levels(one) for name, one in sources.items()}
    told = []
    for name, column in columns.items():
        grouped = levels(column)
        told += [(-_information(one, grouped), name, source) for source, one in few.items()]
    return tuple((name, source) for bits, name, source in sorted(told) if -bits >= TELLING)


def levels(column: CodedColumn) -> CodedColumn:
    """Return a column in few levels: classes of as many records of an ordered one, else the commonest values."""
    most = max(min(LEVELS, int(np.sqrt(len(column.codes) / EACH))), 2)
    if column.number <= most + 1:
        return column
    counts = np.bincount(column.codes, minlength=column.number)
    if column.ordered:
        below = np.cumsum(counts[1:]) - counts[1:]
        level = 1 + (below * most) // max(int(counts[1:].sum()), 1)
    else:
        rank = np.empty(column.number - 1, dtype=np.int64)
        rank[np.argsort(-counts[1:], kind="stable")] = np.arange(column.number - 1)
        level = 1 + np.minimum(rank, most - 1)
    return CodedColumn(np.concatenate([[0], level])[column.codes], most + 1, column.ordered)


def _information(one: CodedColumn, other: CodedColumn) -> float:
    """Return how many bits one column tells of another, less what chance makes of it (Miller 1955); 0 if that is all.

    Of independent columns 2 n ln 2 times the bits have the chi-square distribution of the test of independence.
    """
    records = len(one.codes)
    counts = np.bincount(one.codes * other.number + other.codes, minlength=one.number * other.number)
    joint = counts.reshape(one.number, other.number) / records
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    expected = np.outer(rows, columns)
    there = joint > 0
    bits = float((joint[there] * np.log2(joint[there] / expected[there])).sum())
    free = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    scale = 2 * records * np.log(2)
    return bits - free / scale if scale * bits > free + BEYOND * np.sqrt(2 * free) else 0.0


def _looked_at(half: Half) -> Microdata:
    """Return the records that are looked through: all of a small table, a random sample of a larger one."""
    rows = drawn_records(len(half), MAX_RECORDS_READ, np.random.default_rng(len(half)))
    if not half.in_parts:
        return half.table if len(rows) == len(half) else half.table.take(rows)
    names = half.schema.analysed()
    return Microdata(half.schema.only(names), taken(half, names, rows))
