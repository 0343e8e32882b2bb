"""What is known of the original file, variable by variable: the same for every candidate."""

from typing import Any
from weakref import WeakKeyDictionary

from sfumato.compare.examine.findings import OriginalVariable
from sfumato.compare.examine.variables import spelled_categories
from sfumato.data.dates import day_of
from sfumato.data.describe import Finding, describe
from sfumato.data.microdata import Microdata

NAMED = 4  # categories
_KNOWN: "WeakKeyDictionary[Microdata, tuple[OriginalVariable, ...]]" = WeakKeyDictionary()


def original_variables(data: Microdata) -> tuple[OriginalVariable, ...]:
    """Describe every variable of a table; of the same table only once."""
    if data not in _KNOWN:
        _KNOWN[data] = tuple(_variable(data, found) for found in describe(data))
    return _KNOWN[data]


def _variable(data: Microdata, found: Finding) -> OriginalVariable:
    variable = data.schema[found.name]
    numeric, named = variable.quantitative, data.schema.names_units(found.name)
    names = () if numeric or named else tuple(spelled_categories(variable)[:NAMED])
    ends: tuple[Any, Any] = (found.minimum, found.maximum)
    if found.kind == "date":
        ends = (day_of(found.minimum), day_of(found.maximum))
    return OriginalVariable(
        name=found.name,
        label=variable.label,
        kind=found.kind,
        role=found.role,
        missing=found.missing,
        distinct=found.distinct,
        ends=(float(ends[0]), float(ends[1])) if numeric and None not in ends else None,
        categories=names,
        more=0 if numeric or named else len(variable.categories) - len(names),
    )
