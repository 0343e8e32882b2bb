"""Long columns looked at a stretch at a time, so that what is made of them on the way takes little memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = 1 << 20  # records at a time


def stretches(length: int) -> Iterator[slice]:
    """Cut so many records into stretches.

    >>> list(stretches(LENGTH + 5))
    [slice(0, 1048576, None), slice(1048576, 1048581, None)]
    """
    return (slice(start, min(start + LENGTH, length)) for start in range(0, length, LENGTH))


def code_counts(codes: NDArray[np.integer[Any]], number: int) -> NDArray[np.int64]:
    """Count how often each of so many codes from 0 up occurs; -1 is missing.

    >>> code_counts(np.array([2, -1, 0, 2]), 4).tolist()
    [1, 0, 2, 0]
    """
    found = np.zeros(number, dtype=np.int64)
    for rows in stretches(len(codes)):
        some = codes[rows]
        found += np.bincount(some[some >= 0], minlength=number)
    return found


def same_values(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Tell whether two columns are the same, missing numbers alike; the first stretch that differs settles it.

    >>> same_values(np.array([1.0, np.nan]), np.array([1.0, np.nan])), same_values(np.array([1]), np.array([1, 2]))
    (True, False)
    """
    numbers = one.dtype.kind == other.dtype.kind == "f"
    return len(one) == len(other) and all(
        np.array_equal(one[rows], other[rows], equal_nan=numbers) for rows in stretches(len(one))
    )
