"""Ways to make a hierarchy of a variable, as the command line names them, and which one suits its values."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.errors import NotApplicable, ParameterError
from sfumato.table import bands
from sfumato.table.dates import date_formats
from sfumato.table.files import read
from sfumato.table.hierarchy import Hierarchy, nice_widths, rarest
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind

Way = Literal["bands", "quantiles", "cuts", "dates", "truncate", "merge-neighbours", "rare", "from-table"]
MIN_VALUES = 20  # values of a number, or categories that are codes, from which on they are worth bands or prefixes
MIN_CATEGORIES = 6  # ordered categories from which on neighbours are worth merging
SHARES = (0.02, 0.05)  # below which categories are rare


@dataclass(frozen=True)
class Proposal:
    """A way to make a hierarchy of a variable, and its parameters as the command line takes them."""

    variable: str
    way: Way
    values: tuple[str, ...] = ()

    def command(self, file: str, schema: str | None = None) -> str:
        """Write the command that makes it, of a file and the schema it needs.

        >>> Proposal("age", "bands", ("5", "10", "20")).command("survey.csv")
        'sfumato hierarchy survey.csv age --bands 5 10 20'
        """
        stated = [] if schema is None else ["--schema", schema]
        return shlex.join(["sfumato", "hierarchy", file, self.variable, f"--{self.way}", *self.values, *stated])

    def build(
        self, data: Microdata, *, start: float = 0.0, ends: tuple[float, float] | None = None, mask: str = "*"
    ) -> Hierarchy:
        """Make the hierarchy, with what suits the values where none are said; start and ends of bands, mask of codes.

        >>> import pyarrow as pa
        >>> ages = Microdata.from_frame(pa.table({"age": list(range(18, 90))}))
        >>> Proposal("age", "bands", ("10", "20")).build(ages)
        Hierarchy(widths=(10.0, 20.0))
        """
        if self.way == "cuts" and not self.values:
            raise ParameterError("--cuts takes the cut points of each level, parted by commas: --cuts 18,25,65 18,65")
        variable, column = data.schema[self.variable], data.columns[self.variable]
        if self.way == "from-table":
            return self._of_table()
        if variable.kind == "date" or self.way == "dates":
            return self._of_dates(variable.kind)
        if self.way in ("bands", "quantiles", "cuts"):
            return self._of_numbers(variable.kind, column, start, ends)
        if self.way == "truncate":
            numbers = np.unique(column[~np.isnan(column)]) if variable.kind == "numeric" else np.array([])
            codes = variable.categories or tuple(bands.shown(value) for value in numbers.tolist())
            keep = self._wholes() or prefixes([str(code) for code in codes])
            if not keep:
                raise ParameterError("--truncate: say how many first characters to keep at each level: --truncate 3 2")
            return Hierarchy.truncated(codes, keep, mask=mask)
        if self.way == "rare":
            return Hierarchy.rare(variable, column, *(self._numbers(self.values) or SHARES))
        if variable.kind != "ordinal":
            other = "--bands" if variable.kind == "numeric" else '--rare, or write kind = "ordinal" in the schema'
            raise NotApplicable(
                f"variable {variable.name!r} is {variable.kind}, so no categories are neighbours; take {other}"
            )
        return Hierarchy.ordered(variable.categories, *self._wholes())

    def _of_numbers(self, kind: Kind, column: Any, start: float, ends: tuple[float, float] | None) -> Hierarchy:
        if kind != "numeric":
            raise NotApplicable(
                f"variable {self.variable!r} is {kind}; --{self.way} is for numbers: take --truncate, "
                "--merge-neighbours, --rare or --from-table"
            )
        if self.way == "bands":
            return Hierarchy.bands(*(self._numbers(self.values) or nice_widths(column)), start=start, ends=ends)
        if self.way == "quantiles":
            return Hierarchy.quantiles(column, *(self._wholes() or (10, 5)))
        return Hierarchy(cuts=tuple(self._numbers(text.split(",")) for text in self.values))

    def _of_dates(self, kind: Kind) -> Hierarchy:
        if kind != "date":
            raise NotApplicable(f"variable {self.variable!r} is {kind}; --dates needs kind = 'date' in the schema")
        if self.way == "cuts":
            return Hierarchy.of([text.split(",") for text in self.values])
        if self.way != "dates":
            raise NotApplicable(f"variable {self.variable!r} is a date; take --dates month year, or --cuts 1950-01-01")
        return Hierarchy.dates(*self.values)

    def _of_table(self) -> Hierarchy:
        """Read a table whose columns go from fine to coarse: those named, or the variable's and those after it."""
        if not self.values:
            raise ParameterError("--from-table takes a file, and the columns of it from fine to coarse if not all")
        path, *columns = self.values
        table = read(path).to_arrow()
        names = table.column_names
        if not columns and self.variable in names:
            columns = names[names.index(self.variable) :]
        return Hierarchy.from_table(table, *columns)

    def _numbers(self, texts: Sequence[str]) -> tuple[float, ...]:
        try:
            return tuple(float(text) for text in texts)
        except ValueError:
            raise ParameterError(f"--{self.way} takes numbers; got {' '.join(texts)!r}") from None

    def _wholes(self) -> tuple[int, ...]:
        found = self._numbers(self.values)
        if not all(number.is_integer() for number in found):
            raise ParameterError(f"--{self.way} takes whole numbers; got {' '.join(self.values)!r}")
        return tuple(int(number) for number in found)


def propose(data: Microdata, name: str) -> Proposal | None:
    """Propose bands of a number or date, prefixes of codes, neighbours or rare ones merged; None if few values differ.

    >>> import pyarrow as pa
    >>> propose(Microdata.from_frame(pa.table({"age": list(range(18, 90))})), "age")
    Proposal(variable='age', way='bands', values=('5', '10', '20'))
    """
    variable, column = data.schema[name], data.columns[name]
    if variable.kind == "numeric":
        values = np.unique(column[~np.isnan(column)])
        if len(values) < MIN_VALUES:
            return None
        try:
            return Proposal(name, "bands", tuple(bands.shown(width) for width in nice_widths(column)))
        except ParameterError:  # hardly any values differ
            return None
    if variable.kind == "date":
        days = np.unique(np.floor(column[~np.isnan(column)]))
        return Proposal(name, "dates", ("month", "quarter", "year")) if len(days) >= MIN_VALUES else None
    counts = np.bincount(column[column >= 0], minlength=len(variable.categories))
    if variable.kind == "ordinal":
        return Proposal(name, "merge-neighbours") if np.count_nonzero(counts) >= MIN_CATEGORIES else None
    used = [str(category) for category, count in zip(variable.categories, counts, strict=True) if count]
    if dated(data, name):  # a year and a month are no prefixes of a code
        return None
    keep = prefixes(used) if len(used) >= MIN_VALUES else ()
    if keep:
        return Proposal(name, "truncate", tuple(map(str, keep)))
    shares = [share for share in SHARES if 0 < len(rarest(counts, share)) < len(used) - 1]
    return Proposal(name, "rare", tuple(f"{share:g}" for share in shares)) if shares else None


def dated(data: Microdata, name: str) -> str | None:
    """Return the format in which all texts of a nominal variable are dates; None where they are none.

    >>> import pyarrow as pa
    >>> dated(Microdata.from_frame(pa.table({"born": ["1990-01-31", "2001-12-01"]})), "born")
    '%Y-%m-%d'
    """
    variable = data.schema[name]
    texts = [category for category in variable.categories if isinstance(category, str)]
    if variable.kind != "nominal" or not texts or len(texts) < len(variable.categories):
        return None
    return next(iter(date_formats(texts)), None)


def prefixes(codes: Sequence[str]) -> tuple[int, ...]:
    """Return how many first characters of codes of one length make fewer and fewer groups; none of what is no code.

    >>> prefixes(["81667", "81668", "81925", "80331"])
    (4, 2, 1)
    >>> prefixes(["north", "south", "east"])
    ()
    """
    if len({len(code) for code in codes}) != 1 or not all(any(c.isdigit() for c in code) for code in codes):
        return ()
    groups = {length: len({code[:length] for code in codes}) for length in range(len(codes[0]), 0, -1)}
    fewer = [length for length in groups if length < len(codes[0]) and groups[length] < groups[length + 1]]
    return tuple(length for length in fewer if groups[length] > 1 or length == fewer[-1])
