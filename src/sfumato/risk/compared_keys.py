"""The keys of both tables under codes that mean the same, and how many records of each table have which."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.data.keys import key_names, refuse_continuous
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Variable
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.pair import Pair
from sfumato.pair.statistics import Values

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]

MISSING_KEYS = "a missing key is a value like any other, equal to missing in the other table"


@dataclass(frozen=True, eq=False)
class ComparedKeys:
    """The key class of every record, numbered alike in both tables, and how many records of each table have it.

    A missing key is a value like any other. A key that the protected table lacks is left out, and ``notes`` says so.
    """

    names: tuple[str, ...]
    original: Integers  # the class of each original record
    protected: Integers
    originals: Integers  # the original records of each class
    protecteds: Integers
    notes: Notes = ()

    @classmethod
    def of(cls, pair: Pair, stated: Iterable[str] | None) -> "ComparedKeys":
        """Find the keys, those stated or those that the schema gives this role, and put both tables into classes."""
        named = key_names(pair.original.schema, stated)
        found: ComparedKeys = pair.keep(("compared keys", named), lambda: cls._of(pair, named))
        return found

    @classmethod
    def _of(cls, pair: Pair, named: tuple[str, ...]) -> "ComparedKeys":
        kept = tuple(name for name in named if name in pair.protected.schema)
        if not kept:
            raise NotApplicable(f"the protected table has none of the keys {', '.join(named)}")
        gone = tuple(name for name in named if name not in kept)
        notes: Notes = (f"keys the protected table lacks, left out: {', '.join(gone)}",) if gone else ()
        codes, suppressed = [], []
        for name in kept:
            seen = pair.footing(name)
            if not seen.comparable:
                raise NotApplicable(f"key {name!r} cannot be matched: {seen.note}")
            if seen.note:
                notes = (*notes, f"{name}: {seen.note}")
            codes.append(np.concatenate(_common_codes(pair.original.schema[name], seen)))
            if _made_missing(pair, name):
                suppressed.append(name)
        class_of, sizes = classes(np.column_stack(codes))
        ours, theirs = class_of[: len(pair.original)], class_of[len(pair.original) :]
        originals = np.bincount(ours, minlength=len(sizes))
        return cls(kept, ours, theirs, originals, sizes - originals, (*notes, *_said(suppressed)))

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(column.nbytes for column in (self.original, self.protected, self.originals, self.protecteds))


def _common_codes(variable: Variable, seen: Recoding) -> tuple[Codes, Codes]:
    """Return a key of both tables as codes, where -1 is a missing value; a continuous key is refused."""
    if not seen.quantitative:
        return seen.original, seen.protected
    found = [Values.of(column) for column in (seen.original, seen.protected)]
    for side in found:
        refuse_continuous(variable, side.values, side.present)
    values = np.union1d(found[0].values, found[1].values)
    before, after = (
        np.where(np.isnan(column), -1, np.searchsorted(values, column)).astype(np.int32)
        for column in (seen.original, seen.protected)
    )
    return before, after


def _made_missing(pair: Pair, name: str) -> bool:
    """Tell whether values of a key were made missing."""
    if pair.protected.schema[name].treatment.suppressed:
        return True
    seen = (pair.in_order() if pair.matched else pair).footing(name)
    before, after = (
        np.isnan(column) if column.dtype.kind == "f" else column < 0 for column in (seen.original, seen.protected)
    )
    return bool((after & ~before).any() if pair.matched else after.any() and not before.any())


def _said(suppressed: list[str]) -> Notes:
    """Say that keys were made missing: these measures look for equal keys, an intruder also for those that may be."""
    if not suppressed:
        return ()
    return (
        f"values of {', '.join(suppressed)} were made missing: an intruder who takes such a record for anyone's whose "
        "other keys agree may learn more than this figure says",
    )
