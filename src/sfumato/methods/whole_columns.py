"""Variables of a table in parts that are masked whole, one after the other, and read by the parts from files."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.data.draws import Draws
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Schema
from sfumato.errors import FileError
from sfumato.pair import Masking

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Aside:
    """A masked variable of the whole table, in a file."""

    path: Path
    digest: str

    def read(self, first: int, count: int) -> Floats:
        """Read some records."""
        try:
            return np.fromfile(self.path, dtype=np.float64, count=count, offset=8 * first)
        except OSError as error:
            raise FileError(
                f"a masked variable cannot be read from {self.path}: {reason(error)}; on a cluster give Engine a "
                "folder that all workers see"
            ) from None


@dataclass(frozen=True)
class WholeColumns(Masking):
    """The masked variables of the whole table."""

    schema: Schema
    files: Mapping[str, Aside]

    @property
    def changes(self) -> frozenset[str]:
        """The variables that are masked."""
        return frozenset(self.files)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Floats:
        """Return a variable of a part."""
        return self.files[name].read(first, len(part))


def column_aside(column: Floats, folder: Path) -> Aside:
    """Put a variable into a file of this folder."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix="masked-", delete=False) as out:
            out.write(column.data)
    except OSError as error:
        raise FileError(f"a masked variable cannot be put into {folder}: {reason(error)}") from error
    return Aside(Path(out.name), sha256(column.data).hexdigest())
