"""Labelled files of SPSS, Stata and SAS: values with labels, codes for missing values, formats and dates."""

from pathlib import Path
from typing import BinaryIO

from sfumato.table.formats.format import Format, ReadOptions
from sfumato.table.frames import Family
from sfumato.table.microdata import Microdata

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


def _read(file: Path, options: ReadOptions) -> Microdata:
    from sfumato.table.formats.labelled.reading import read_labelled  # only where it is needed: it is much

    return read_labelled(file, options.schema, options.encoding)


def _write(table: Microdata, file: Path, out: BinaryIO) -> tuple[str, ...]:
    from sfumato.table.formats.labelled.writing import write_labelled

    return write_labelled(table, file, out.name)


def _format(family: Family) -> Format:
    return Format(
        NAMES[family],
        tuple(suffix for suffix, of in FAMILIES.items() if of == family),
        _read,
        _write,
        options=("encoding",),
        memory=5.0,
        library="pyreadstat",
        extra="labelled",
    )


FORMATS = tuple(_format(family) for family in NAMES)
