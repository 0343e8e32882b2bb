"""Long columns looked at a stretch at a time, so that what is made of them on the way takes little memory."""

import mmap
from collections.abc import Iterator
from threading import Lock
from typing import Any, BinaryIO, Literal
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

LENGTH = 1 << 20  # records at a time
_MAPS: "WeakSet[mmap.mmap]" = WeakSet()  # of files whose pages are let go when a stretch is done
_LOCK = Lock()


def stretches(length: int, size: int | None = None) -> Iterator[slice]:
    """Cut so many records into stretches of one size, and let go of mapped files every 2^20 records.

    >>> list(stretches(LENGTH + 5))
    [slice(0, 1048576, None), slice(1048576, 1048581, None)]
    """
    size = size or LENGTH
    for start in range(0, length, size):
        if _MAPS and start % LENGTH < size:
            let_go()
        yield slice(start, min(start + size, length))


def mapped(file: BinaryIO, dtype: Any, shape: tuple[int, ...], mode: Literal["r", "r+"]) -> NDArray[Any]:
    """Return a file as an array of which the system reads what is looked at, and which loops over stretches let go."""
    let_go()
    array = np.memmap(file, dtype=dtype, mode=mode, shape=shape)
    with _LOCK:
        _MAPS.add(array._mmap)  # type: ignore[attr-defined]
    return array


def let_go() -> None:
    """Give back the memory of mapped files; what is looked at again is read again."""
    if hasattr(mmap, "MADV_DONTNEED"):
        with _LOCK:
            maps = list(_MAPS)
        for one in maps:
            if not one.closed:
                one.madvise(mmap.MADV_DONTNEED)


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
