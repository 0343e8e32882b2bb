"""The categories of a variable that some record has, and values that are made missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata
from sfumato.data.schema import Variable
from sfumato.data.treatment import Treatment

Codes = NDArray[np.int32]


def only_present(variable: Variable, codes: Codes) -> tuple[Variable, Codes]:
    """Take the categories that no record has any more off the list: their names would tell what was taken away.

    Classes of a number stay listed, since where it was cut is stated and not read off the records.

    >>> job = Variable("job", kind="nominal", categories=("baker", "pilot", "teacher"))
    >>> only_present(job, np.array([0, -1, 2], dtype=np.int32))[0].categories
    ('baker', 'teacher')
    """
    used = np.zeros(len(variable.categories), dtype=bool)
    used[codes[codes >= 0]] = True
    if used.all() or variable.treatment.cuts:
        return variable, codes
    kept = tuple(category for category, there in zip(variable.categories, used.tolist(), strict=True) if there)
    named = set(kept)
    recode = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    labels = tuple((category, text) for category, text in variable.labels if category in named)
    return replace(variable, categories=kept, labels=labels), recode[codes]


def made_missing(data: Microdata, hidden: Mapping[str, NDArray[np.bool_]]) -> Microdata:
    """Make the values of these records missing, by variable."""
    changed: dict[str, tuple[Variable, NDArray[Any]]] = {}
    for name, rows in hidden.items():
        variable, column = data.schema[name], data.columns[name].copy()
        column[rows] = np.nan if variable.quantitative else -1
        variable = variable.treated(Treatment(suppressed=int(rows.sum())))
        # a category listed that no record shows would tell what the missing values were
        changed[name] = (variable, column) if variable.quantitative else only_present(variable, column)
    listed = {name: variable.categories for name, (variable, _) in changed.items() if not variable.quantitative}
    return replace(data.recast(changed), origin=data.origin.listing(listed))
