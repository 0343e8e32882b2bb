"""What an experiment measured, whole, and what was examined of its candidates: read when asked for, never made again.

An experiment with a store reads from its file, which is opened for each question and may be asked long after the run.
Without a store everything is kept in memory, compressed as it would be on disk.

The figures by record, the tables and the statement are kept of replicate 0, whose table is the one that is released
and reported; of the other replicates all the rest is kept, because reports show means over the replicates. In a file
that takes 8 bytes per record, candidate and measure at most, and compressed much less: the store of the demo, 30
candidates with 5 measures and 3 replicates of some 1,800 records, has 2 MB. In memory, figures by record are kept if
they take at most ``MOST_IN_MEMORY`` bytes before they are compressed, for all candidates and measures together;
otherwise for none of them, and each measurement says so in its notes.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from sfumato.about import MeasureAbout
from sfumato.compare.codec import Damaged, decode, encode
from sfumato.compare.store import UNREADABLE, Cell, Key, Scope, Store, Unreadable, damaged
from sfumato.errors import FileError
from sfumato.measurement import Measurement

MOST_IN_MEMORY = 256 * 2**20
NOT_KEPT = "figures by record were not kept in memory, because the table is large: run the experiment with a store"
T = TypeVar("T")


def kept(found: Measurement, replicate: int, *, by_record: bool) -> bytes:
    """Encode what is kept of a measurement: all of it in replicate 0."""
    if replicate > 0:
        return encode(replace(found, by_record=None, tables={}, statement=""))
    if not by_record and found.by_record is not None:
        return encode(replace(found, by_record=None, notes=(*found.notes, NOT_KEPT)))
    return encode(found)


class Archive:
    """The whole measurements of an experiment's cells, and what was examined of its candidates."""

    def __init__(self, scope: Scope, cells: Mapping[Key, Cell]) -> None:
        self._scope = scope
        self._contents = {key: cell.content for key, cell in cells.items() if cell.content is not None}
        self._examined: dict[str, bytes] = {}

    def measurement(self, key: Key, about: MeasureAbout) -> Measurement:
        """Return the whole measurement of a cell that has a figure.

        One that is damaged is taken out of the store with its figure, so that the next run computes it anew.
        """
        try:
            content = self._content(key)
            if content is None:
                raise Damaged(f"there is a figure of {key.measure} but no measurement")
            return decode(content, about)
        except (Damaged, Unreadable) as error:
            if self._scope.path is None:
                raise damaged(None, error) from error
            with Store(self._scope, known=True) as store:
                store.forget(key)
            raise damaged(self._scope.path, error, "run again: this figure is computed anew, and no other") from error

    def _content(self, key: Key) -> bytes | None:
        content = self._contents.get(key)
        if content is None and self._scope.path is not None:
            with Store(self._scope, known=True) as store:
                content = store.content(key)
        return content

    def examined(
        self, key: str, compute: Callable[[], T], *, encode: Callable[[T], bytes], decode: Callable[[bytes], T]
    ) -> T:
        """Return what was examined before under this key, or compute it and keep it; what is damaged is made anew."""
        found = self.examination(key)
        if found is not None:
            with suppress(FileError, *UNREADABLE):
                return decode(found)
        found = encode(compute())  # the file is closed meanwhile: it may take minutes
        if self._scope.path is None:
            self._examined[key] = zlib.compress(found)
        else:
            with Store(self._scope, known=True) as store:
                store.keep_examination(key, found)
        return decode(found)

    def examination(self, key: str) -> bytes | None:
        """Return what was examined under this key; None if nothing was, or if it is damaged."""
        if self._scope.path is None:
            return zlib.decompress(self._examined[key]) if key in self._examined else None
        with Store(self._scope, known=True) as store, suppress(Unreadable):
            return store.examination(key)
        return None


class Averaged(Mapping[str, Mapping[T, float]]):
    """A breakdown of a candidate by measure, averaged over the replicates, read when asked for.

    Measures that have none are left out.
    """

    def __init__(self, cells: Mapping[str, Sequence[Key]], read: Callable[[str, Key], Mapping[T, float]]) -> None:
        self._cells, self._read = cells, read  # the cells of each measure, one per replicate, and what one of them says
        self._found: dict[str, Mapping[T, float]] = {}

    def __getitem__(self, measure: str) -> Mapping[T, float]:
        if measure not in self._found and measure in self._cells:
            each = [self._read(measure, key) for key in self._cells[measure]]
            self._found[measure] = averaged(each)
        if not self._found.get(measure):
            raise KeyError(measure)
        return self._found[measure]

    def __iter__(self) -> Iterator[str]:
        return (measure for measure in self._cells if measure in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def averaged(each: Sequence[Mapping[T, float]]) -> dict[T, float]:
    """Average a breakdown over the replicates that have it, name by name.

    >>> averaged([{"a": 1.0, "b": 2.0}, {"a": 3.0}])
    {'a': 2.0, 'b': 2.0}
    """
    names = dict.fromkeys(name for found in each for name in found)
    values = {name: [found[name] for found in each if name in found] for name in names}
    return {name: sum(several) / len(several) for name, several in values.items()}
