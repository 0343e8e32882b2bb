"""A table of records under a schema: numbers and dates as float64 with NaN, categories as int32 codes with -1.

The rule for kinds that no schema states: a column of numbers is numeric; one of dates or moments is a date, held as
days since 1970 (``sfumato.table.dates``); text, truth values and whole numbers beyond 2^53 or moments in nanoseconds,
which a float cannot hold, are nominal; an ordered categorical is ordinal. Nothing is guessed from text: dates written
as text are dates if a schema says so. Codes such as 1 = yes, 2 = no
therefore count as numbers until a schema says otherwise; ``sfumato inspect`` points them out.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.arguments import as_array, require
from sfumato.errors import DataError, NotApplicable, SchemaError
from sfumato.table import columns as read_columns
from sfumato.table.frames import FrameKind, Origin, from_arrow, to_arrow
from sfumato.table.on_demand import Held, OnDemand, SelectedRecords
from sfumato.table.schema import Kind, Schema, Variable, a_kind, nearest
from sfumato.table.treatment import PERTURBED, Treatment

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Microdata:
    """One row per person or firm, one column per variable, and what is known of the variables.

    >>> import pyarrow as pa
    >>> data = Microdata.from_frame(pa.table({"income": [10.0, 25.0], "region": ["north", "south"]}))
    >>> data
    Microdata(2 records: 1 numeric, 1 nominal)
    >>> data.numeric().shape, data.codes().tolist()
    ((2, 1), [[0], [1]])
    """

    schema: Schema
    columns: Mapping[str, NDArray[Any]]
    origin: Origin = field(default_factory=Origin)
    notes: tuple[str, ...] = ()
    matched: bool = True  # whether record i is about the same unit as record i of the table it was made from
    drawn: NDArray[np.intp] | None = None  # of a sample, the rows of the table it was drawn from; never written
    placed: bool = False  # whether more than its place told which record is which; see ``put_back``

    def __post_init__(self) -> None:
        if isinstance(self.columns, OnDemand):  # of a part on disk: they are read when they are asked for
            return
        require("Microdata", Schema, "a Schema", schema=self.schema)
        require("Microdata", Mapping, "arrays by name", columns=self.columns)
        found = {name: as_array(column) for name, column in self.columns.items()}  # a memory map becomes plain
        columns = {name: column for name, column in found.items() if column is not None and column.ndim == 1}
        if len({column.shape for column in columns.values()}) > 1 or len(columns) < len(found):
            raise DataError("Microdata: columns must be arrays of one dimension, of as many records each")
        for column in columns.values():
            column.flags.writeable = False
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the columns as a plain dict, for a read-only view cannot be pickled; a part on disk by its place."""
        columns = self.columns if isinstance(self.columns, OnDemand) else dict(self.columns)
        return type(self), (self.schema, columns, self.origin, self.notes, self.matched, self.drawn, self.placed)

    @classmethod
    def from_frame(cls, frame: Any, schema: "Schema | str | os.PathLike[str] | None" = None) -> "Microdata":
        """Read a pandas, polars or pyarrow table; columns the schema does not name get the kind of the stated rule.

        ``schema`` is a ``Schema`` or the path of a ``schema.toml``.
        """
        if isinstance(schema, str | os.PathLike):
            from sfumato.table.schema_file import read_schema  # which itself writes the schema of microdata

            schema = read_schema(schema)
        if schema is not None and not isinstance(schema, Schema):
            raise SchemaError(f"schema must be a Schema or the path of a schema.toml; got {type(schema).__name__}")
        if isinstance(frame, Microdata):
            if schema is None:
                return frame
            return replace(cls.from_arrow(frame.to_arrow(), frame.origin, schema), notes=frame.notes)
        return cls.from_arrow(*to_arrow(frame), schema)

    @classmethod
    def from_arrow(cls, table: pa.Table, origin: Origin, schema: Schema | None = None) -> "Microdata":
        """Read an arrow table that goes back out as ``origin`` says."""
        schema = Schema() if schema is None else schema  # a schema that names only the weight has no variables
        if table.num_rows == 0:
            raise DataError("the table has no records")
        present = set(table.column_names)
        check_names(schema, table.column_names)
        absent = [name for name in (*schema.names, *schema.special().values()) if name not in present]
        if absent:
            near = {name: nearest(name, table.column_names) for name in dict.fromkeys(absent)}
            found = {name: one for name, one in near.items() if one is not None}
            meant = [f"{one!r} for {name!r}" if len(near) > 1 else repr(one) for name, one in found.items()]
            hint = f" (did you mean {', '.join(meant)}?)" if meant else ""
            raise SchemaError(
                f"the schema names {', '.join(map(repr, near))}, which the table does not have{hint}; "
                f"it has {', '.join(table.column_names)}"
            )
        variables: list[Variable] = []
        columns: dict[str, NDArray[Any]] = {}
        stated = {variable.name: variable for variable in schema}
        exact = {}
        for name in table.column_names:
            variable, column = read_columns.read(name, table[name], stated.get(name))
            variables.append(variable)
            columns[name] = column
            if (more := read_columns.more_than_read(table[name], variable)) is not None:
                exact[name] = more
        whole = replace(schema, variables=tuple(variables))
        check_special(whole, columns)
        return cls(whole, columns, replace(origin, exact=exact))

    @classmethod
    def beside(cls, original: "Microdata", protected: Any) -> "Microdata":
        """Read a protected table: what is known of the original's variables holds for their namesakes where it can.

        A column that no longer fits (banded, recoded, suppressed to text) keeps the kind its own type gives it, and
        a category the original lacks joins those of its variable.
        """
        if isinstance(protected, Microdata):
            return protected
        table, origin = to_arrow(protected)
        known = original.schema.only(table.column_names)
        fitting = [read_columns.fitted(variable, table[variable.name]) for variable in known]
        return cls.from_arrow(table, origin, replace(known, variables=tuple(v for v in fitting if v is not None)))

    @property
    def parts(self) -> "tuple[Microdata, ...]":
        """The table itself: it is one part."""
        return (self,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of records of each part."""
        return (len(self),)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self.schema.names

    def __len__(self) -> int:
        if isinstance(self.columns, OnDemand):
            return self.columns.records
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __repr__(self) -> str:
        kinds = [variable.kind for variable in self.schema]
        found = ", ".join(f"{kinds.count(k)} {k}" for k in get_args(Kind) if k in kinds)
        return f"Microdata({len(self)} record{'s' if len(self) != 1 else ''}: {found})"

    def numeric(self, names: Iterable[str] | None = None) -> Floats:
        """Return the numeric variables as an n x p array of floats; missing values are NaN."""
        chosen = self._chosen(names, "numeric")
        return self._stacked(chosen, np.dtype(np.float64))

    def quantities(self, names: Iterable[str]) -> Floats:
        """Return these numbers and dates, in days, as an n x p array of floats; missing values are NaN."""
        return self._stacked(self._chosen(names, "numeric", "date"), np.dtype(np.float64))

    def codes(self, names: Iterable[str] | None = None) -> Codes:
        """Return the ordinal and nominal variables as an n x q array of codes; missing values are -1."""
        chosen = self._chosen(names, "ordinal", "nominal")
        return self._stacked(chosen, np.dtype(np.int32))

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Tell which records lack a value of a variable."""
        return _gaps(self.schema[name], self.columns[name])

    def weights(self) -> Floats:
        """Return the survey weights; ones where the schema names none."""
        if self.schema.weight is None:
            return np.ones(len(self))
        return np.asarray(self.columns[self.schema.weight], dtype=np.float64)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Return the table as the kind of frame it came from, or as the kind asked for.

        The types of masked columns list no category that no record has: it would tell what was taken away.
        """
        from sfumato.table.present import as_it_leaves  # which itself works on microdata

        shown = as_it_leaves(self)
        origin = shown.origin if kind is None or kind == shown.origin.kind else Origin(kind)
        return from_arrow(shown.to_arrow(), origin)

    def to_arrow(self) -> pa.Table:
        """Return the table as arrow: numbers that are all whole come back as integers if they came as such.

        A column of which no value was changed comes back as it came, with the digits that a float does not hold.
        """
        moments = dict(self.origin.moments)
        columns = {}
        for v in self.schema:
            came, values = self.origin.exact.get(v.name), self.columns[v.name]
            if came is not None and read_columns.still_read_as(v, came, values):
                columns[v.name] = came
            else:
                columns[v.name] = read_columns.write(
                    v, values, whole=v.name in self.origin.whole, moment=moments.get(v.name)
                )
        return pa.table(columns)

    def replace(
        self, values: Mapping[str, NDArray[Any]], note: str = "", treatment: Treatment = PERTURBED
    ) -> "Microdata":
        """Return a copy with these columns in place of their namesakes; ``note`` says what was done to whom.

        ``treatment`` goes to the variables of which a value changed.
        """
        for name, column in values.items():
            if name not in self.columns or column.shape != (len(self),):
                raise DataError(f"no column {name!r} of {len(self)} records to replace")
            if np.isinf(column).any():
                raise DataError(f"the new values of {name!r} are too large for a number; rescale the variable")
        changed = [
            self.schema[name].treated(treatment)
            for name, column in values.items()
            if not np.array_equal(column, self.columns[name], equal_nan=column.dtype.kind == "f")
        ]
        return replace(
            self,
            schema=self.schema.replace(*changed),
            columns={**self.columns, **values},
            notes=(*self.notes, note) if note else self.notes,
        )

    def recast(self, changed: Mapping[str, tuple[Variable, NDArray[Any]]], note: str = "") -> "Microdata":
        """Return a copy in which these variables have other kinds or categories, and columns that fit them."""
        for name, (variable, column) in changed.items():
            if name not in self.columns or variable.name != name or column.shape != (len(self),):
                raise DataError(f"no column {name!r} of {len(self)} records to recast")
        return replace(
            self,
            schema=self.schema.replace(*(variable for variable, _ in changed.values())),
            columns={**self.columns, **{name: column for name, (_, column) in changed.items()}},
            notes=(*self.notes, note) if note else self.notes,
        )

    def without(self, names: Iterable[str], note: str = "") -> "Microdata":
        """Return a copy that lacks these variables."""
        gone = set(names)
        kept = [name for name in self.names if name not in gone]
        if not kept:
            raise DataError("a table needs at least one variable; all of them would go")
        return replace(
            self,
            schema=self.schema.only(kept),
            columns={name: self.columns[name] for name in kept},
            notes=(*self.notes, note) if note else self.notes,
        )

    def without_identifiers(self) -> "Microdata":
        """Return a copy without what only names the units: the id, and variables of the role identifier."""
        names = [v.name for v in self.schema if v.role == "identifier" or v.name == self.schema.id]
        return self.without(names) if names and len(names) < len(self.schema) else self

    def take(self, rows: NDArray[np.intp]) -> "Microdata":
        """Return the table with these rows, in this order."""
        columns: Mapping[str, NDArray[Any]] = (
            SelectedRecords(self.columns, rows)
            if isinstance(self.columns, OnDemand)
            else {name: column[rows] for name, column in self.columns.items()}
        )
        return replace(
            self,
            columns=columns,
            origin=self.origin.take(rows),
            drawn=None if self.drawn is None else self.drawn[rows],
        )

    def put_back(self, record_of: NDArray[np.intp]) -> "Microdata":
        """Return the table in the order of the one it was made from, of which each row is this record."""
        return replace(self.take(record_of.argsort()), placed=True)

    @property
    def on_disk(self) -> bool:
        """Whether its columns are read when they are asked for, anew each time."""
        return isinstance(self.columns, OnDemand)

    def at_hand(self) -> "Microdata":
        """Return the table with each column held once it was read; of a table in memory, itself."""
        return replace(self, columns=Held(self.columns)) if isinstance(self.columns, OnDemand) else self

    def loaded(self) -> "Microdata":
        """Return the table in memory."""
        if not self.on_disk:
            return self
        exact = {name: came for name in self.names if (came := self.exact(name)) is not None}
        return replace(self, columns=dict(self.columns), origin=replace(self.origin, exact=exact))

    def exact(self, name: str) -> Any:
        """Return a column of arrow as it came, where its values do not tell all of it: digits, or NaN; else None."""
        return self.columns.exact(name) if isinstance(self.columns, OnDemand) else self.origin.exact.get(name)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of schema and values: two tables with the same fingerprint give the same figures."""
        digest = hashlib.sha256(repr(self.schema).encode())
        if isinstance(self.columns, OnDemand):
            digest.update(self.columns.digest.encode())
            return digest.hexdigest()[:16]
        for name in self.names:
            digest.update(np.ascontiguousarray(self.columns[name]).data)
        return digest.hexdigest()[:16]

    def _chosen(self, names: Iterable[str] | None, *kinds: Kind) -> tuple[str, ...]:
        if names is None:
            return self.schema.analysed(*kinds)
        chosen = (names,) if isinstance(names, str) else tuple(names)
        for name in chosen:
            if self.schema[name].kind not in kinds:
                raise NotApplicable(
                    f"variable {name!r} is {a_kind(self.schema[name].kind)}; {' or '.join(kinds)} is needed here"
                )
        return chosen

    def _stacked(self, names: tuple[str, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        stacked = np.empty((len(self), len(names)), dtype=dtype, order="F")
        for j, name in enumerate(names):
            stacked[:, j] = self.columns[name]
        return stacked


def _gaps(variable: Variable, column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(column) if variable.quantitative else column < 0


def check_names(schema: Schema, names: Iterable[str]) -> None:
    """Refuse a scenario with a key, or a link to a variable, that the table does not have."""
    table = Schema(tuple(Variable(name) for name in dict.fromkeys(names)))
    for variable in schema.links():
        for name in variable.sources:
            if name not in table:
                raise SchemaError(f"variable {variable.name!r} is linked to {name!r}: {table.unknown(name)}")
    for scenario in schema.scenarios:
        for name in scenario.keys:
            if name not in table:
                raise SchemaError(f"scenario {scenario.name!r}: {table.unknown(name)}")


def check_special(schema: Schema, columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse weights that cannot weigh and ids that do not tell records apart."""
    if schema.weight is not None:
        if schema[schema.weight].kind != "numeric":
            raise SchemaError(
                f"the weight {schema.weight!r} must be numeric; it is {a_kind(schema[schema.weight].kind)}"
            )
        weights = columns[schema.weight]
        bad = np.flatnonzero(~(weights >= 0))
        if bad.size:
            records = f"{bad.size} record{'s' if bad.size > 1 else ''} (first in row {bad[0] + 1})"
            raise DataError(
                f"the weight {schema.weight!r} is negative or missing in {records}; every record needs one of 0 or more"
            )
        if not weights.any():
            raise DataError(f"the weight {schema.weight!r} is zero in every record")
    if schema.id is not None:
        column = columns[schema.id]
        gaps = np.flatnonzero(_gaps(schema[schema.id], column))
        if gaps.size:
            raise DataError(
                f"the id {schema.id!r} is missing in {gaps.size} record{'s' if gaps.size > 1 else ''} "
                f"(first in row {gaps[0] + 1}); every record needs one"
            )
        ids, counts = np.unique(column, return_counts=True)
        if counts.max() > 1:
            twice = ids[counts.argmax()]
            shown = schema[schema.id].categories[twice] if schema[schema.id].categories else f"{twice:g}"
            raise DataError(
                f"the id {schema.id!r} must tell records apart; {int((counts > 1).sum())} of its values occur more "
                f"than once, for example {shown}. If the file has several records per person, name the person as the "
                f"household instead of the id: the records of a person are then one unit"
            )
