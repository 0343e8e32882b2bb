"""The categories of a variable that some record has."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.data.schema import Variable

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
