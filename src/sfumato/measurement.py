"""What a measure returns: a value with its parts, its breakdown, and what was left out and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.about import Better, MeasureAbout
from sfumato.display import html_table
from sfumato.errors import ParameterError
from sfumato.table.frames import FrameKind, Origin, from_arrow

Table = tuple[Mapping[str, Any], ...]
SAMPLING_ERROR = "standard error"  # the part that says how sure a value is that rests on some of the records only

# parts of a re-identification: the figure if the intruder of the worst scenario had a register of the population
# instead of knowing who took part, or knew it; and what the models of the population say where one is estimated
WITH_REGISTER, KNOWING = "by a register, not knowing who took part", "knowing who took part"
AT_LEAST, AT_MOST, BY_MODEL = "share, at least", "share, at most", "share by the model "
MODELS_DIFFER = 2.0  # by more than this factor: the larger decides


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """The value of a measure, with its parts, its breakdown and what was left out and why.

    ``tables`` holds longer breakdowns as rows, one mapping each; ``statement`` is what may be published with the file.
    """

    measure: str
    about: MeasureAbout
    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    by_variable: Mapping[str, float] = field(default_factory=dict)
    by_pair: Mapping[tuple[str, str], float] = field(default_factory=dict)
    by_record: NDArray[np.float64] | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    statement: str = ""
    notes: tuple[str, ...] = ()

    @property
    def better(self) -> Better:
        """Which way is better."""
        return self.about.better

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value the measure can take."""
        return self.about.range

    def table(self, name: str, kind: FrameKind = "pandas") -> Any:
        """Return one of the tables as a frame."""
        if name not in self.tables:
            there = ", ".join(map(repr, self.tables)) or "none"
            raise ParameterError(f"{self.measure} has no table {name!r}; there is {there}")
        return from_arrow(pa.Table.from_pylist([dict(row) for row in self.tables[name]]), Origin(kind))

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        lines = [f"{self.measure} = {self.value:.6g}  ({self.about.title}; {self.better} is better)"]
        for title, found in (("parts", self.parts), ("by variable", self.by_variable)):
            if found:
                lines.append(f"  {title}: " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
        if self.by_record is not None:
            worst = np.argsort(-self.by_record, kind="stable")[:5]
            rows = ", ".join(f"row {i + 1}: {self.by_record[i]:.3g}" for i in worst)
            lines.append(f"  by record (largest): {rows}")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        rows = [(f"{kind}: {name}", f"{value:.4g}") for kind, name, value in self._lines()]
        notes = [*self.notes, *([self.statement] if self.statement else [])]
        caption = f"{self.measure} = {self.value:.6g} ({self.about.title}; {self.better} is better)"
        return html_table(caption, ("", "value"), rows, notes)

    def _lines(self) -> list[tuple[str, str, float]]:
        parts = [("part", name, value) for name, value in self.parts.items()]
        return parts + [("variable", name, value) for name, value in list(self.by_variable.items())[:50]]
