"""Which records belong together: the households of a table, or its records one by one."""

import numpy as np
from numpy.typing import NDArray

from sfumato.data.microdata import Microdata


def units(data: Microdata) -> NDArray[np.int64]:
    """Return the number of each record's unit: its household if the schema names one, else the record itself.

    Units are numbered from 0 without gaps: households in the order of their values, then the records whose household is
    missing, each a unit of its own, in the order of the table. ``counted`` says how many there are; the order of first
    appearance is that of ``kernels.groups.classes(units(data)[:, None])``.

    >>> import pyarrow as pa
    >>> from sfumato.data.schema import Schema
    >>> table = pa.table({"home": [7.0, 3.0, None, 7.0, None], "age": [40, 71, 35, 12, 28]})
    >>> units(Microdata.from_frame(table, Schema(household="home")))
    array([1, 0, 2, 1, 3])
    """
    name = data.schema.household
    if name is None:
        return np.arange(len(data))
    alone = data.missing(name)
    number = np.empty(len(data), dtype=np.int64)
    households, number[~alone] = np.unique(data.columns[name][~alone], return_inverse=True)
    number[alone] = len(households) + np.arange(np.count_nonzero(alone))
    return number


def counted(unit: NDArray[np.int64]) -> int:
    """Return how many units there are, given the number of each record's unit.

    >>> counted(np.array([1, 0, 2, 1, 3]))
    4
    """
    return int(unit.max(initial=-1)) + 1
