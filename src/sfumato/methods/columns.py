"""What methods that work on one numeric variable at a time have in common."""

from abc import abstractmethod
from collections.abc import Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato.core import Method
from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.treatment import PERTURBED, Treatment
from sfumato.errors import NotApplicable
from sfumato.methods.ranked import Ranked
from sfumato.methods.whole_columns import WholeColumns
from sfumato.pair import Half, Masking
from sfumato.pair.numbers_on_disk import in_file
from sfumato.pair.sorting import sorted_column

Floats = NDArray[np.float64]

MISSING_STAYS = "stays missing; the values present are masked among themselves"


class ColumnMethod(Method):
    """A method that masks each numeric variable by itself; missing values stay where they are."""

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        masked = {}
        root = int(rng.integers(2**63))
        for name in self.masked(data):
            column = data.columns[name]
            present = ~np.isnan(column)
            if not present.any():
                raise NotApplicable(f"every value of variable {name!r} is missing")
            # a stream per variable name: neither the order of the columns nor a further column changes the draws
            stream = np.random.default_rng([root, crc32(name.encode())])
            try:
                values = self._column(column[present], stream)
            except NotApplicable as error:
                raise NotApplicable(f"variable {name!r}: {error}") from None
            masked[name] = np.where(present, 0.0, np.nan)
            masked[name][present] = values
        for name, column in masked.items():
            data = data.replace({name: column}, treatment=self._treatment(name))
        return data

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Mask one variable after the other, and put it aside for the parts; as in memory, draws and all."""
        files = {}
        for name in self.masked(half.parts[0]):
            try:
                found = self._in_order(half, name, draws) if half.on_disk else self._whole(half, name, draws)
                files[name] = in_file(found, np.dtype(np.float64), half.folder)
            except NotApplicable as error:
                raise NotApplicable(f"variable {name!r}: {error}") from None
        changed = (half.schema[name].treated(self._treatment(name)) for name in files)
        return WholeColumns(half.schema.replace(*changed), files)

    def _whole(self, half: Half, name: str, draws: Draws) -> Iterator[Floats]:
        """Yield a variable that is masked in memory."""
        column = half.column(name)
        present = ~np.isnan(column)
        if not present.any():
            raise NotApplicable("every value is missing")
        masked = np.where(present, 0.0, np.nan)
        masked[present] = self._column(column[present], draws.stream(name))
        yield masked

    def _in_order(self, half: Half, name: str, draws: Draws) -> Iterator[Floats]:
        """Yield a variable that is masked in the order of its values, in stretches of records."""
        if type(self)._sorted is ColumnMethod._sorted:
            yield from self._whole(half, name, draws)
            return
        column = sorted_column(half, name)
        if not len(column):
            raise NotApplicable("every value is missing")
        yield from column.by_record(self._sorted(Ranked(column, half, name), draws.stream(name)))
        column.close()

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield what becomes of each value in ascending order, as ``_column`` would have it; in pieces of any length.

        A method that does not say it is given the whole variable in memory.
        """
        raise NotImplementedError

    def _treatment(self, name: str) -> Treatment:
        """Return what is recorded of a variable it masked."""
        return PERTURBED

    @abstractmethod
    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        """Mask the values present of one variable."""


def in_rank_order_of(values: Floats, replacement: Floats) -> Floats:
    """Give the j-th smallest replacement to the record with the j-th smallest value; ties in file order."""
    placed = np.empty_like(values)
    placed[np.argsort(values, kind="stable")] = np.sort(replacement)
    return placed
