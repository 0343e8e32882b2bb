"""Which hierarchy suits a variable, by a look at its values: for those who have none yet."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.data import bands
from sfumato.data.hierarchy_builders import nice_widths, rarest
from sfumato.data.microdata import Microdata
from sfumato.errors import ParameterError

Way = Literal["bands", "quantiles", "cuts", "dates", "truncate", "merge-neighbours", "rare", "from-table"]
MANY = 20  # values of a number, or categories that are codes, from which on they are worth bands or prefixes
SEVERAL = 6  # ordered categories from which on neighbours are worth merging
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


def propose(data: Microdata, name: str) -> Proposal | None:
    """Propose bands of a number or date, prefixes of codes, neighbours or rare ones merged; None if few values differ.

    >>> import pyarrow as pa
    >>> propose(Microdata.from_frame(pa.table({"age": list(range(18, 90))})), "age")
    Proposal(variable='age', way='bands', values=('5', '10', '20'))
    """
    variable, column = data.schema[name], data.columns[name]
    if variable.kind == "numeric":
        values = np.unique(column[~np.isnan(column)])
        if len(values) < MANY:
            return None
        try:
            return Proposal(name, "bands", tuple(bands.shown(width) for width in nice_widths(column)))
        except ParameterError:  # hardly any values differ
            return None
    if variable.kind == "date":
        days = np.unique(np.floor(column[~np.isnan(column)]))
        return Proposal(name, "dates", ("month", "quarter", "year")) if len(days) >= MANY else None
    counts = np.bincount(column[column >= 0], minlength=len(variable.categories))
    if variable.kind == "ordinal":
        return Proposal(name, "merge-neighbours") if np.count_nonzero(counts) >= SEVERAL else None
    used = [str(category) for category, count in zip(variable.categories, counts, strict=True) if count]
    keep = prefixes(used) if len(used) >= MANY else ()
    if keep:
        return Proposal(name, "truncate", tuple(map(str, keep)))
    shares = [share for share in SHARES if 0 < len(rarest(counts, share)) < len(used) - 1]
    return Proposal(name, "rare", tuple(f"{share:g}" for share in shares)) if shares else None


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
