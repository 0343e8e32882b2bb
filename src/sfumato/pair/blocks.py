"""Blocks of a table in parts, each protected by itself: gathered from all parts, masked in memory, put back.

One pass over the parts puts the records of each batch of blocks together in files, a batch being as many blocks as fit
into memory, and at least one. The batches are masked wherever the engine computes, and write what becomes of them to
files of their own. From these the masked variables are put together, which the parts then read; records that were made
anew make a table of their own, block after block.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.engine import current
from sfumato.errors import FileError, NotApplicable
from sfumato.pair.files import FileOfNumbers, InFile, dtype_of, in_file, read_numbers, write_numbers
from sfumato.pair.half import Half
from sfumato.pair.masking import ColumnsInFiles, rounded
from sfumato.pair.sorting import Runs, by_record
from sfumato.pair.statistics import Sums
from sfumato.table.atomic import reason
from sfumato.table.draws import Draws
from sfumato.table.keys import Strata
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import Column, OnDemand
from sfumato.table.parts import TableInParts
from sfumato.table.present import agreed, numbered
from sfumato.table.schema import Schema, Variable

Integers = NDArray[np.int64]
# masks one block, given its number and its records
Mask = Callable[[int, Microdata], Microdata]
# what all blocks say of a variable, what their codes become (None: it has none), and where those of each block begin
BlockVariable = tuple[Variable, Integers | None, Integers]
Floats = NDArray[np.float64]

MAX_NOTES = 6  # of single blocks
HELD = 6  # times its own size that a block takes while it is masked
BLOCK = "block of each record"
EQUAL = 1e-9  # loadings that differ by less are equal, so that rounding does not turn the axis


@dataclass(frozen=True, eq=False)
class BlocksMade(ColumnsInFiles):
    """Records made anew, block after block, in place of those of the table."""

    records: int = 0

    def applied(self, table: TableInParts, draws: Draws, note: str) -> TableInParts:
        """Return the new records, in as many parts as there were, of about the same sizes."""
        ends = np.cumsum([0, *table.sizes]) * self.records // len(table)
        first = table.parts[0]
        origin = replace(first.origin, index=None, labelled=None)
        parts = tuple(
            Microdata(
                self.schema,
                _Rows(self.files, int(start), int(stop - start)),
                origin,
                (*first.notes, note),
                matched=False,
            )
            for start, stop in pairwise(ends)
            if stop > start
        )
        return TableInParts(parts)


@dataclass(frozen=True, eq=False)
class _Rows(OnDemand):
    """Some records of variables that lie in files."""

    files: Mapping[str, InFile]
    first: int
    count: int

    @property
    def records(self) -> int:
        return self.count

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    @property
    def digest(self) -> str:
        told = " ".join(file.digest for file in self.files.values())
        return sha256(f"{told} {self.first} {self.count}".encode()).hexdigest()

    def read(self, name: str) -> Column:
        return self.files[name].read(self.first, self.count)


@dataclass(frozen=True)
class Batch:
    """Some blocks whose records lie in files of a folder."""

    folder: Path
    number: int
    records: int

    def path(self, what: str, place: int) -> Path:
        """Return the file of a variable, by its place."""
        return self.folder / f"{what}-{self.number}-{place}"


@dataclass(frozen=True, eq=False)
class BlockOutcome:
    """What became of a block: its schema, which of the codes of each category occur, notes, how many records."""

    schema: Schema
    codes: Mapping[str, Column]
    notes: tuple[str, ...]
    records: int
    kept: bool


def mask_blocks(
    half: Half, of: Callable[[Microdata, int], Integers], sizes: Integers, by: Sequence[str], mask: Mask
) -> tuple[ColumnsInFiles, list[BlockOutcome]]:
    """Mask each block of a table by itself; ``of`` tells the block of each record of a part, given its first number.

    Returns what the parts read, and what became of each block.
    """
    engine = current(len(half))
    inner = half.schema.only([name for name in half.schema.names if name not in by])
    most = engine.memory // (2 * engine.workers * HELD * 8 * (len(inner.names) + 2))
    batch_of = _batches(sizes, max(most, 1))
    try:
        with tempfile.TemporaryDirectory(dir=engine.folder, prefix="blocks-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            counts = _put_together(half, of, inner, batch_of, folder)
            records = np.bincount(batch_of, sizes).astype(np.int64)
            batches = [Batch(folder, number, int(size)) for number, size in enumerate(records)]
            origin, notes = half.parts[0].origin, half.parts[0].notes
            work = _Work(inner, replace(origin, path=None), notes, mask)
            found: list[BlockOutcome] = []
            masked = engine.each(work, [(one,) for one in batches], stored=False)
            for batch, became in zip(batches, masked, strict=True):
                found += became
                for place in range(len(inner.names) + 1):  # not earlier: a worker that dies leaves its batch to another
                    batch.path("before", place).unlink()
            made = _Result(half, of, inner, tuple(by), batch_of, found, batches, counts)
            if len({one.kept for one in found}) > 1:
                raise NotApplicable("some blocks kept their records, and others did not")
            return made.in_place() if found[0].kept else made.anew(), found
    except OSError as error:
        raise FileError(f"blocks of records cannot be put into {engine.folder}: {reason(error)}") from error


def _batches(sizes: Integers, most: int) -> Integers:
    """Put neighbouring blocks together to batches of no more records than that, where a block has not more itself."""
    batch_of = np.empty(len(sizes), dtype=np.int64)
    number, held = 0, 0
    for block, size in enumerate(sizes.tolist()):
        if held and held + size > most:
            number, held = number + 1, 0
        batch_of[block] = number
        held += size
    return batch_of


def _put_together(
    half: Half, of: Callable[[Microdata, int], Integers], inner: Schema, batch_of: Integers, folder: Path
) -> Integers:
    """Write the records of each batch to files, in the order of the table; return how many each part has of each."""
    batches, first, counts = int(batch_of[-1]) + 1, 0, []
    for part in half.parts:
        blocks = of(part, first)
        batch = batch_of[blocks]
        order = np.argsort(batch, kind="stable")
        ends = np.searchsorted(batch[order], np.arange(batches + 1))
        counts.append(np.diff(ends))
        for place, name in enumerate((BLOCK, *inner.names)):
            column = blocks if name == BLOCK else part.columns[name]
            for number in np.flatnonzero(np.diff(ends)).tolist():
                rows = order[ends[number] : ends[number + 1]]
                write_numbers(Batch(folder, number, 0).path("before", place), column[rows], "ab")
        first += len(part)
    return np.array(counts)


@dataclass(frozen=True, eq=False)
class _Work:
    """Masks the blocks of a batch, and writes what becomes of them to files beside it."""

    schema: Schema
    origin: Any
    notes: tuple[str, ...]
    mask: Mask

    def __call__(self, batch: Batch) -> list[BlockOutcome]:
        columns = {}
        for place, name in enumerate((BLOCK, *self.schema.names)):
            dtype = np.dtype(np.int64) if name == BLOCK else dtype_of(self.schema[name])
            columns[name] = read_numbers(batch.path("before", place), dtype.str, 0, batch.records)
        blocks = columns.pop(BLOCK)
        table = Microdata(self.schema, columns, self.origin, self.notes)
        order = np.argsort(blocks, kind="stable")
        number = np.unique(blocks)
        rows = np.split(order, np.searchsorted(blocks[order], number)[1:])
        made = [self.mask(int(block), table.take(there)) for block, there in zip(number, rows, strict=True)]
        kept = all(one.matched and len(one) == len(there) for one, there in zip(made, rows, strict=True))
        for place, name in enumerate(made[0].names):
            column = np.concatenate([one.columns[name] for one in made])
            if kept:
                anew = np.empty_like(column)
                anew[order] = column
                column = anew
            write_numbers(batch.path("after", place), column, "wb")
        return [
            BlockOutcome(
                one.schema,
                {v.name: np.unique(one.columns[v.name]) for v in one.schema if not v.quantitative},
                one.notes[len(self.notes) :],
                len(one),
                kept,
            )
            for one in made
        ]


@dataclass(frozen=True, eq=False)
class _Result:
    """Puts together what became of the blocks."""

    half: Half
    of: Callable[[Microdata, int], Integers]
    inner: Schema
    by: tuple[str, ...]
    batch_of: Integers
    found: Sequence[BlockOutcome]
    batches: Sequence[Batch]
    counts: Integers

    def _agreed(self) -> dict[str, BlockVariable]:
        """Return what is known of each variable, in the order in which the blocks have them."""
        first = self.found[0].schema.names
        for one in self.found[1:]:
            if one.schema.names != first:
                odd = sorted(set(one.schema.names) ^ set(first))
                raise NotApplicable(f"the blocks came back with other variables: {', '.join(odd)} is not in all")
        known: dict[str, BlockVariable] = {}
        for name in first:
            before = next((variable for variable in self.inner if variable.name == name), None)
            each = [one.schema[name] for one in self.found]
            codes = [one.codes.get(name, np.empty(0)) for one in self.found]
            variable, mapped = agreed(before, each, codes)
            if variable.quantitative:
                known[name] = variable, None, np.empty(0, dtype=np.int64)
                continue
            lengths = np.array([len(one.categories) + 1 for one in each])
            begin = np.cumsum(lengths) - lengths
            flat = np.full(int(lengths.sum()), -1, dtype=np.int64)
            here = np.concatenate([start + one for start, one in zip(begin, codes, strict=True)])
            there = np.concatenate(codes) >= 0
            flat[here[there].astype(np.int64)] = mapped[there]
            known[name] = variable, flat, begin
        return known

    def in_place(self) -> ColumnsInFiles:
        """Put masked variables back where their records stand; those that are as they were are left where they are."""
        known, parts = self._agreed(), self.half.parts
        written: dict[str, FileOfNumbers] = {}
        for number, name, column in self._by_record(known):
            variable = known[name][0]
            if name not in written:
                before = parts[number].columns[name]
                if variable == self.inner[name] and np.array_equal(before, column, equal_nan=variable.quantitative):
                    continue
                written[name] = FileOfNumbers(dtype_of(variable), self.half.folder)
                for part in parts[:number]:  # in which it came back as it was
                    written[name].add(part.columns[name])
            written[name].add(column)
        schema = self.half.schema.replace(*(variable for variable, _, _ in known.values()))
        return ColumnsInFiles(schema, {name: written[name].done() for name in known if name in written})

    def _by_record(self, known: Mapping[str, BlockVariable]) -> Iterator[tuple[int, str, Column]]:
        """Yield the number of each part with each of its variables, the records where they stood."""
        done = np.zeros(len(self.batches), dtype=np.int64)
        first = 0
        for number, (part, counts) in enumerate(zip(self.half.parts, self.counts, strict=True)):
            blocks = self.of(part, first)
            order = np.argsort(self.batch_of[blocks], kind="stable")  # as the records were put into the batches
            there = np.flatnonzero(counts).tolist()
            for place, (name, (variable, flat, begin)) in enumerate(known.items()):
                dtype = dtype_of(variable).str
                column, start = np.empty(len(part), dtype=dtype), 0
                for batch in there:
                    path, count = self.batches[batch].path("after", place), int(counts[batch])
                    column[order[start : start + count]] = read_numbers(path, dtype, int(done[batch]), count)
                    start += count
                yield number, name, column if flat is None else _mapped(column, flat, begin, blocks)
            done += counts
            first += len(part)

    def anew(self) -> BlocksMade:
        """Put the records of all blocks one after the other, with the variables that made the blocks."""
        known, sizes = self._agreed(), np.array([one.records for one in self.found])
        order = self.half.schema.names
        names = [name for name in order if name in self.by or name in known]
        names += [name for name in known if name not in order]
        places = {name: place for place, name in enumerate(self.found[0].schema.names)}
        special: dict[Any, Any] = {"weight": None, "household": None, "id": None, **self.found[0].schema.special()}
        files, variables, total = {}, [], int(sizes.sum())
        for name in names:
            if name in self.by:
                variable = self.half.schema[name]
                files[name] = self._file(self._repeated(name, sizes), variable)
            elif name == special["id"] and len(sizes) > 1:
                variable, column = numbered(known[name][0], total)
                files[name] = self._file(iter([column]), variable)
            else:
                variable = known[name][0]
                files[name] = self._file(self._in_blocks(places[name], known[name], sizes), variable)
            variables.append(variable)
        kept = self.half.schema.only([name for name in names if name in self.half.schema])
        schema = replace(kept, variables=tuple(variables), **special)
        return BlocksMade(schema, files, records=total)

    def _in_blocks(self, place: int, known: BlockVariable, sizes: Integers) -> Iterator[Column]:
        variable, flat, begin = known
        ends = np.searchsorted(self.batch_of, np.arange(len(self.batches) + 1))  # neighbours are in one batch
        for batch, start, end in zip(self.batches, ends, ends[1:], strict=False):
            blocks = np.arange(start, end)
            column = read_numbers(batch.path("after", place), dtype_of(variable).str, 0, int(sizes[blocks].sum()))
            yield column if flat is None else _mapped(column, flat, begin, np.repeat(blocks, sizes[blocks]))

    def _repeated(self, name: str, sizes: Integers) -> Iterator[Column]:
        """Yield the value of a variable that makes the blocks, as often as a block has records."""
        values: dict[int, Any] = {}
        first = 0
        for part in self.half.parts:
            blocks, column = self.of(part, first), part.columns[name]
            there, rows = np.unique(blocks, return_index=True)
            for block, row in zip(there.tolist(), rows.tolist(), strict=True):
                values.setdefault(block, column[row])
            first += len(part)
        for block, size in enumerate(sizes.tolist()):
            yield np.full(size, values[block], dtype=dtype_of(self.half.schema[name]))

    def _file(self, column: Iterable[Column], variable: Variable) -> InFile:
        """Write a variable to a file."""
        return in_file(column, dtype_of(variable), self.half.folder)


def _mapped(column: Column, flat: Integers, begin: Integers, blocks: Integers) -> Column:
    """Return codes of blocks as codes of all of them."""
    found = flat[begin[blocks] + np.maximum(column, 0)]
    return np.where(column < 0, -1, found).astype(np.int32)


def told_of_blocks(blocks: Strata, sizes: Sequence[int], notes: Sequence[Sequence[str]]) -> list[str]:
    """Say how many blocks there are and how large they are, then what a reader should know of some."""
    said = [f"{blocks.spelled(block)}: {note}" for block, several in enumerate(notes) for note in several]
    if len(said) > MAX_NOTES:
        said[MAX_NOTES:] = [f"notes on other blocks, left out here: {len(said) - MAX_NOTES:,}"]
    least, most = min(sizes), max(sizes)
    return [f"blocks {len(sizes):,}, records in the smallest {least:,}, in the largest {most:,}", *said]


@dataclass(frozen=True, eq=False)
class Axis:
    """The first principal component of standardised variables; a missing value stands at the mean."""

    names: tuple[str, ...]
    means: Floats
    spreads: Floats  # infinite for a constant, which stands at zero
    loadings: Floats

    @classmethod
    def of(cls, half: Half, names: tuple[str, ...]) -> "Axis":
        """Learn the axis of a table; numbers are rounded, because sums differ in the last digits by how it is cut."""
        found = half.moments(names)
        if not np.isfinite(found.spread).all():
            raise NotApplicable("a variable has values too large to be standardised; rescale it")
        means = np.array([rounded(mean) for mean in found.mean.tolist()])
        spreads = np.array([rounded(spread) or np.inf for spread in found.spread.tolist()])
        flat = cls(names, means, spreads, np.zeros(len(names)))
        products = half.total(lambda part: Sums({"products": _products(flat.standardised(part))}))["products"]
        scale = max(float(np.abs(products).max()), 1.0)
        _, axes = np.linalg.eigh(np.round(products / scale, 12))
        first = np.round(axes[:, -1], 12)
        largest = np.flatnonzero(np.abs(first) >= np.abs(first).max() - EQUAL)[0]
        return cls(names, means, spreads, first if first[largest] >= 0 else -first)

    def standardised(self, part: Microdata) -> list[Floats]:
        """Return the variables of a part, standardised."""
        scores = [
            (part.columns[name] - mean) / spread
            for name, mean, spread in zip(self.names, self.means.tolist(), self.spreads.tolist(), strict=True)
        ]
        return [np.where(np.isnan(score), 0.0, score) for score in scores]

    def scores(self, part: Microdata) -> Floats:
        """Return where the records of a part stand; one variable after the other, so that no cut changes a digit."""
        total = np.zeros(len(part))
        for score, loading in zip(self.standardised(part), self.loadings.tolist(), strict=True):
            total += loading * score
        return total


def _products(columns: list[Floats]) -> Floats:
    values = np.column_stack(columns)
    return np.asarray(values.T @ values)


@dataclass(frozen=True, eq=False)
class BlocksAlong:
    """The block of each record along an axis, and how many records each has."""

    blocks: Integers | InFile
    sizes: Integers

    @property
    def values(self) -> tuple[tuple[object, ...], ...]:
        """What the blocks are called."""
        number = len(self.sizes)
        return tuple((f"{place} of {number} along the first principal component",) for place in range(1, number + 1))

    def of_numbered(self, part: Microdata, first: int) -> Integers:
        """Return the block of each record of a part, given the number of its first."""
        if isinstance(self.blocks, InFile):
            return self.blocks.read(first, len(part))
        return self.blocks[first : first + len(part)]


def blocks_along(half: Half, names: tuple[str, ...], size: int) -> BlocksAlong:
    """Cut a table into blocks of at least ``size`` records, less than twice as many, that are neighbours on an axis.

    Records stand in the order of the first principal component, those that tie in the order of the table. Of a table
    on disk the blocks lie in a file.
    """
    if not names:
        raise NotApplicable("blocks of neighbours need a number or a date that is masked; name variables for blocks")
    axis, records = Axis.of(half, names), len(half)
    number = max(records // size, 1)
    starts = np.arange(number + 1) * records // number
    if not half.on_disk:
        scores = np.concatenate([axis.scores(part) for part in half.parts])
        blocks = np.empty(records, dtype=np.int64)
        blocks[np.argsort(scores, kind="stable")] = np.repeat(np.arange(number), np.diff(starts))
        return BlocksAlong(blocks, np.diff(starts))
    room, what, first = current(records), "blocks of records", 0
    runs = Runs(room, what, records, np.int64)
    for scores in half.numbered(lambda part, _: axis.scores(part)):
        runs.add(scores, np.arange(first, first + len(scores)))
        first += len(scores)
    found = in_file(
        by_record(_placed(runs, starts), records, np.array([-1]), room, what), np.dtype(np.int64), half.folder
    )
    runs.close()
    return BlocksAlong(found, np.diff(starts))


def _placed(runs: Runs, starts: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Yield records in the order of their scores, with the block of each."""
    rank = 0
    for scores, numbers in runs.merged():
        assert numbers is not None
        ranks = np.arange(rank, rank + len(scores))
        yield numbers, np.searchsorted(starts, ranks, side="right") - 1
        rank += len(scores)
