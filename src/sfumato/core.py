"""The contracts: a method turns a table into a table, a measure turns two tables into a number.

Both are frozen dataclasses whose parameters are their fields, so that repr, equality, pickling, grids and the command
line come for free. Read this file first.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import Better, MeasureAbout, MethodAbout
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable

Seed = int | np.random.Generator | np.random.SeedSequence | None
Frame = TypeVar("Frame")


class _Described:
    """Repr that evaluates back and names only what differs from the defaults."""

    def __repr__(self) -> str:
        given = []
        for entry in sorted(fields(self), key=lambda entry: entry.name == "variables"):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if entry.default is MISSING or value != entry.default:
                given.append(f"{entry.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Method(_Described, ABC):
    """A way to mask a table. Variables it does not mask come back untouched; missing values stay missing."""

    about: ClassVar[MethodAbout]
    variables: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parameters.names(self, "variables")

    @overload
    def protect(self, data: Microdata, *, rng: Seed = None) -> Microdata: ...
    @overload
    def protect(self, data: Frame, *, rng: Seed = None) -> Frame: ...
    def protect(self, data: Any, *, rng: Seed = None) -> Any:
        """Return the masked table, of the kind that was given; the table given is not touched."""
        table = Microdata.from_frame(data)
        protected = self._protect(table, np.random.default_rng(rng))
        return protected if isinstance(data, Microdata) else protected.to_frame()

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables this method masks in this table."""
        return chosen(self, data)

    @abstractmethod
    def _protect(self, data: Microdata, rng: np.random.Generator) -> Microdata: ...


@dataclass(frozen=True, repr=False)
class Measure(_Described, ABC):
    """A number that says how risky or how useful a protected table is, seen against its original."""

    about: ClassVar[MeasureAbout]
    variables: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parameters.names(self, "variables")

    def evaluate(self, original: Any, protected: Any, *, rng: Seed = None) -> "Measurement":
        """Measure a protected table against its original."""
        before, after = self._tables(original, protected)
        return self._evaluate(before, after, np.random.default_rng(rng))

    def _tables(self, original: Any, protected: Any) -> tuple[Microdata, Microdata]:
        """Read both tables, and match their records where the measure needs it."""
        before = Microdata.from_frame(original)
        after = Microdata.beside(before, protected)
        return before, self._paired(before, after) if self.about.paired else after

    @abstractmethod
    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> "Measurement": ...

    def _paired(self, original: Microdata, protected: Microdata) -> Microdata:
        """Put the protected records in the order of the originals: by id where both have one, else as they stand."""
        name = type(self).__name__
        if len(original) != len(protected):
            raise NotApplicable(
                f"{name}: record i of the protected table must be record i of the original, but they have "
                f"{len(protected):,} and {len(original):,} records"
            )
        key = original.schema.id
        if key is None or key != protected.schema.id:
            return protected
        ids, others = (np.asarray(_values(table, key)) for table in (original, protected))
        if ids.dtype.kind != others.dtype.kind or not np.array_equal(np.sort(ids), np.sort(others)):
            raise NotApplicable(f"{name}: the ids in {key!r} are not the same in both tables")
        place = np.empty(len(ids), dtype=np.intp)
        place[np.argsort(ids, kind="stable")] = np.argsort(others, kind="stable")
        return protected if np.array_equal(place, np.arange(len(ids))) else protected.take(place)

    def _shared(self, original: Microdata, protected: Microdata) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the variables to compare, and note those the protected table no longer has as such."""
        names = chosen(self, original)
        notes = []
        if self.about.paired and original.schema.id is not None and original.schema.id != protected.schema.id:
            notes.append(f"records are matched by position: the protected table has no id {original.schema.id!r}")
        kept = tuple(n for n in names if n in protected.schema and protected.schema[n].kind in self.about.kinds)
        gone = tuple(n for n in names if n not in kept)
        if gone and (self.variables is not None or not kept):
            raise NotApplicable(f"{type(self).__name__}: the protected table has no comparable {', '.join(gone)}")
        if gone:
            notes.append(f"left out, not comparable in the protected table: {', '.join(gone)}")
        return kept, tuple(notes)

    def measurement(self, value: float, **details: Any) -> "Measurement":
        """Dress a value with what is known of this measure."""
        return Measurement(measure=repr(self), about=self.about, value=float(value), **details)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measurement:
    """The value of a measure, with its parts, its breakdown and what was left out and why."""

    measure: str
    about: MeasureAbout
    value: float
    parts: Mapping[str, float] = field(default_factory=dict)
    by_variable: Mapping[str, float] = field(default_factory=dict)
    by_pair: Mapping[tuple[str, str], float] = field(default_factory=dict)
    by_record: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()

    @property
    def better(self) -> Better:
        """Which way is better."""
        return self.about.better

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value the measure can take."""
        return self.about.range

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
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


def chosen(owner: Method | Measure, data: Microdata) -> tuple[str, ...]:
    """Name the variables a method or measure works on: those it was told, or all of its kinds."""
    kinds = owner.about.kinds
    names = owner.variables if owner.variables is not None else data.schema.analysed(*kinds)
    who, needed = type(owner).__name__, " or ".join(kinds)
    if not names:
        raise NotApplicable(f"{who}: the table has no {needed} variable")
    for name in names:
        if name not in data.schema:
            raise NotApplicable(f"{who}: there is no variable {name!r}; there are {', '.join(data.names)}")
        if data.schema[name].kind not in kinds:
            raise NotApplicable(f"{who}: variable {name!r} is {data.schema[name].kind}; it must be {needed}")
    return names


def _values(table: Microdata, name: str) -> NDArray[Any]:
    """Return a column's values, categories spelled out."""
    variable = table.schema[name]
    if variable.kind == "numeric":
        return table.columns[name]
    spelled: NDArray[Any] = np.asarray(variable.categories)[table.columns[name]]
    return spelled
