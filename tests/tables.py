"""Tables that many tests share."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato import Microdata, Schema, Variable
from sfumato.testing import amounts as incomes
from sfumato.testing import persons

__all__ = ["census", "incomes", "numbers", "persons", "printed_table", "weighted"]

SHARED = Path(__file__).parents[2] / "shared" / "data"


def census() -> Microdata:
    """The 1080 x 13 file of the paper; the test is skipped where it is absent."""
    path = SHARED / "casc_census.csv"
    if not path.exists():
        pytest.skip("the Census reference file is not beside the project")
    from pyarrow import csv

    return Microdata.from_frame(csv.read_csv(path))


def printed_table(name: str) -> dict[str, dict[str, float]]:
    """A table printed in a paper, by its first column; the test is skipped where it is absent."""
    path = SHARED / name
    if not path.exists():
        pytest.skip("the paper's table is not beside the project")
    from pyarrow import csv

    table = csv.read_csv(path)
    first = table.column_names[0]
    return {row.pop(first): row for row in table.to_pylist()}


def numbers(**columns: list[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> Microdata:
    """A table of numeric columns."""
    return Microdata.from_frame(pa.table(columns))


def weighted(data: Microdata, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Microdata:
    """The same table with a survey weight."""
    table = data.to_arrow().append_column("weight", pa.array(weights))
    return Microdata.from_frame(table, Schema((Variable("weight"),), weight="weight"))
