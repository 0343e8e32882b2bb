"""A variable ready to be written to a labelled file, and what the format could not hold of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.file_form import Moment

Floats = NDArray[np.float64]
SMALLEST_INT, LARGEST_INT = -2_147_483_647, 2_147_483_620  # what a whole number of Stata may be


@dataclass(eq=False)
class Stored:
    """A variable ready to be written; ``values`` are floats with NaN or texts with None."""

    name: str
    values: NDArray[Any]
    text: bool = False
    whole: bool = False
    numbered: bool = False  # words under new codes
    moment: Moment | None = None
    label: str = ""
    labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)  # SPSS: single codes, and ranges as (low, high)
    tags: dict[int, str] = field(default_factory=dict)  # Stata: record to letter
    format: str = ""
    measure: str = "unknown"
    display: int = 0
    width: int = 0

    def absent(self) -> NDArray[np.bool_]:
        """Tell which records have no value."""
        absent: NDArray[np.bool_] = self.values == None if self.text else np.isnan(self.values)  # noqa: E711
        return absent


def tell_only_what_is_there(column: Stored) -> None:
    """Leave out labels of values that no record has, and the width of a text that is gone; codes stay declared."""
    there = {*column.values[~column.absent()].tolist(), *column.tags.values()}
    column.labels = {value: label for value, label in column.labels.items() if value in there}
    if column.text:
        column.width = column.display = 0
        column.format = ""


class Losses:
    """What a format cannot hold, with the variables it concerns."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, None]] = {}  # the names in order, each once

    def add(self, what: str, name: str = "") -> None:
        """Note a loss, of a variable or of the file."""
        names = self.found.setdefault(what, {})
        if name:
            names[name] = None

    def notes(self) -> tuple[str, ...]:
        """Say each loss in a sentence."""
        return tuple(f"{what}: {', '.join(names)}" if names else what for what, names in self.found.items())


def labels_of(columns: Mapping[str, Stored]) -> dict[str, dict[Any, str]]:
    """Return the value labels of all columns that have some."""
    return {name: column.labels for name, column in columns.items() if column.labels}


def fit_integers(values: Floats) -> bool:
    """Tell whether all numbers are whole ones that Stata can hold as such."""
    present = values[~np.isnan(values)]
    return all_whole(values) and bool(((present >= SMALLEST_INT) & (present <= LARGEST_INT)).all())


def all_whole(values: Floats) -> bool:
    """Tell whether all numbers are whole ones."""
    present = values[~np.isnan(values)]
    return bool(np.array_equal(present, np.round(present)))
