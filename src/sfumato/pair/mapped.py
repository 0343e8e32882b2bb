"""Whole columns of a table on disk, put together in files that are mapped into memory.

For what needs all values of a variable at once: the system reads what is looked at, and may forget it again.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.atomic import reason
from sfumato.data.microdata import Microdata
from sfumato.errors import FileError


def mapped_column(parts: Sequence[Microdata], name: str, folder: Path) -> NDArray[Any]:
    """Put the parts of a column together in a file of this folder, and map it."""
    kind = np.dtype(np.float64 if parts[0].schema[name].quantitative else np.int32)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix="column-", delete=False) as out:
            for part in parts:
                out.write(np.ascontiguousarray(part.columns[name], dtype=kind).data)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"variable {name!r} cannot be put together in {folder}: {reason(error)}") from error
    whole: NDArray[Any] = np.memmap(out.name, dtype=kind, mode="r")
    Path(out.name).unlink()  # the map stays as long as somebody looks at it
    return whole
