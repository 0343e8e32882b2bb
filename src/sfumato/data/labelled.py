"""What an SPSS, Stata or SAS file says beyond its values, kept so that a table goes back as it came."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Category, Kind
from sfumato.errors import FileError

Family = Literal["spss", "stata", "sas"]
Moment = Literal["date", "datetime", "time"]
FAMILIES: dict[str, Family] = {
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "spss",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
}
WRITTEN = (".sav", ".zsav", ".dta", ".xpt")  # the others are read only
NAMES: dict[Family, str] = {"spss": "SPSS", "stata": "Stata", "sas": "SAS"}


@dataclass(frozen=True)
class Form:
    """How one variable stands in a labelled file."""

    kind: Kind  # what the file says or the rule gives, before any schema
    text: bool = False
    whole: bool = False  # stored as whole numbers
    moment: Moment | None = None  # read as dates or times
    format: str = ""  # F8.2, %td, DATE9
    measure: str = "unknown"
    display: int = 0  # how many characters wide a column is shown
    width: int = 0  # bytes of a text variable
    ranges: tuple[tuple[float, float], ...] = ()  # ranges of missing values, such as LO THRU -1
    codes: tuple[Category, ...] = ()  # single missing codes
    words: tuple[tuple[Category, str], ...] = ()  # the labels of missing codes


@dataclass(frozen=True, eq=False)
class Cells:
    """The codes for missing values of one variable, cell by cell.

    ``place`` says for every record which of the codes stood there: -1 for a value, -2 for a missing value without code.
    """

    codes: tuple[Category, ...]
    place: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Labelled:
    """What is kept of a labelled file beside the table and its schema."""

    family: Family
    label: str = ""
    notes: tuple[str, ...] = ()
    compression: Literal["none", "rows", "zlib"] = "rows"  # SPSS
    version: int = 0  # the release of a Stata file, the version of a SAS transport file; 0 for the usual one
    table: str = ""  # the name of the table in a SAS file
    forms: Mapping[str, Form] = field(default_factory=dict)
    cells: Mapping[str, Cells] = field(default_factory=dict)
    rows: NDArray[np.intp] | None = None  # which records of the file the table has; None for all of them
    lost: tuple[str, ...] = ()  # what the file holds that cannot be written again

    def take(self, rows: NDArray[np.intp]) -> "Labelled":
        """Return what is kept for a table that has only these records."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def cells_of(self, name: str) -> Cells | None:
        """Return the codes of a variable's missing cells, for the records the table has."""
        cells = self.cells.get(name)
        if cells is None or self.rows is None:
            return cells
        return replace(cells, place=cells.place[self.rows])


def pyreadstat() -> Any:
    """Return the library that reads and writes these files."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise FileError(
            "SPSS, Stata and SAS files need pyreadstat, which is not installed; run: pip install 'sfumato[labelled]'"
        ) from None
    return pyreadstat
