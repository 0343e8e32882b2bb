"""Labelled files of SPSS, Stata and SAS: values with labels, codes for missing values, formats and dates."""

from typing import Any

from sfumato.data.file_form import Family
from sfumato.errors import FileError

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


def pyreadstat() -> Any:
    """Return the library that reads and writes these files."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise FileError(
            "SPSS, Stata and SAS files need pyreadstat, which is not installed; run: pip install 'sfumato[labelled]'"
        ) from None
    return pyreadstat
