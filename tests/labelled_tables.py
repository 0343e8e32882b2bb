"""Labelled files that several tests share, made by pyreadstat itself and not by what is tested."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat

DAY = 86_400
SPSS_2020 = 13_797_216_000  # 1 January 2020 in seconds from 14 October 1582: 159,690 days of 86,400 seconds


def survey(path: Path, *, records: int = 1, **options: Any) -> Path:
    """Write an SPSS file with every feature, its eight records so many times over."""
    frame = pl.DataFrame(
        {
            "id": [float(i) for i in range(8 * records)],
            "sex": [1.0, 2.0, 2.0, 1.0, None, -9.0, 2.0, 1.0] * records,
            "educ": [1.0, 2.0, 3.0, 3.0, 99.0, 98.0, 1.0, None] * records,
            "income": [1200.5, -1.0, 800.0, -7.0, None, 99999.0, 0.0, 350.25] * records,
            "likes": [0.0, 5.0, 10.0, 3.0, 7.0, 0.0, 10.0, 2.0] * records,
            "vote": [1.0, 2.0, 1.0, 2.0, 3.0, 1.0, 3.0, 8.0] * records,
            "town": ["Köln".ljust(12), "Aachen", "", "XX", "Bonn", "Bonn", "Köln", "Aachen"] * records,
            "born": [SPSS_2020 + DAY * float(i) for i in range(7 * records)] + [None] * records,
            "wgt": [1.0, 0.5, 2.0, 1.25, 0.75, 1.0, 1.0, 3.5] * records,
        }
    )
    labels: dict[str, Any] = {
        "sex": {1: "male", 2: "female", -9: "refused"},
        "educ": {1: "primary", 2: "secondary", 3: "tertiary", 4: "doctorate", 98: "don't know", 99: "refused"},
        "likes": {0: "not at all", 10: "very much"},
        "vote": {1: "red", 2: "green", 3: "blue", 8: "none"},
        "town": {"Bonn": "Bundesstadt Bonn"},
    }
    pyreadstat.write_sav(
        frame,
        path,
        file_label="A survey",
        note=["Fielded in 2020."],
        column_labels={"sex": "Sex of respondent", "educ": "Highest degree", "income": "Monthly income in euro"},
        variable_value_labels=labels,
        missing_ranges={
            "sex": [-9.0],
            "educ": [98.0, 99.0],
            "income": [{"lo": -math.inf, "hi": -1.0}, 99999.0],
            "town": ["XX"],
        },
        variable_measure={
            "sex": "nominal",
            "educ": "ordinal",
            "income": "scale",
            "town": "nominal",
            "born": "scale",
            "wgt": "scale",
        },
        variable_format={"sex": "F4.0", "income": "COMMA12.2", "born": "EDATE10", "wgt": "F9.4"},
        variable_display_width={"sex": 6, "town": 14, "income": 11},
        **options,
    )
    return path


def raw(path: Path) -> tuple[dict[str, list[Any]], Any]:
    """What pyreadstat itself says of a file: values with user-missing codes, and what it knows of the variables."""
    reader = {".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}[path.suffix]
    options = {} if path.suffix == ".xpt" else {"user_missing": True}
    values, meta = getattr(pyreadstat, reader)(
        str(path), output_format="dict", disable_datetime_conversion=True, **options
    )
    return dict(values), meta


SAID = (
    "column_names",
    "column_names_to_labels",
    "file_label",
    "variable_value_labels",
    "notes",
    "original_variable_types",
    "missing_ranges",
    "missing_user_values",
    "variable_storage_width",
    "variable_display_width",
    "variable_measure",
    "readstat_variable_types",
    "table_name",
)


def said(path: Path) -> dict[str, Any]:
    """All that a file says but its values, without what changes from one writing to the next."""
    return {word: getattr(raw(path)[1], word) for word in SAID}
