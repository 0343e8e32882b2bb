"""The digits of a column of text that is read a block at a time: which decimals hold them, where floats do not."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.data.decimals import EXACT
from sfumato.data.formats.csv.cells import any_true, with_more_digits

SHORT, LONG = 22, 60  # digits behind the point that 16 before it leave of 38, of decimal128, and of 76, of decimal256


class Digits:
    """What the blocks of a column of numbers have shown so far."""

    def __init__(self) -> None:
        self._more = False  # whether a cell has more digits than a float holds
        self._fit = True  # whether all are plain numbers up to 2^53
        self._behind = 0  # the point, at most

    @classmethod
    def together(cls, found: "Iterable[Digits]") -> "Digits":
        """Return what a column has shown in several files."""
        whole = cls()
        for one in found:
            whole._more, whole._fit = whole._more or one._more, whole._fit and one._fit
            whole._behind = max(whole._behind, one._behind)
        return whole

    def see(self, text: Any, numbers: Any, decimal: str) -> None:
        """Look at a block: its cells, and the numbers that they are read as."""
        if not self._fit or numbers.null_count == len(numbers):
            return
        ends = pc.min_max(numbers).as_py()
        self._fit = -EXACT <= ends["min"] <= ends["max"] <= EXACT
        if not self._fit or not pa.types.is_floating(numbers.type):
            return
        bare = pc.utf8_trim_whitespace(text)
        place = pc.find_substring(bare, decimal)
        behind = pc.if_else(pc.less(place, 0), 0, pc.subtract(pc.subtract(pc.binary_length(bare), place), 1))
        self._behind = max(self._behind, pc.max(behind).as_py())
        self._fit = self._behind <= LONG and not any_true(pc.match_substring_regex(bare, "[eE]"))
        self._more = self._more or with_more_digits(text, numbers, decimal)

    @property
    def kind(self) -> pa.DataType | None:
        """The decimals that hold all digits; None: floats do, or no decimals do."""
        if not (self._more and self._fit):
            return None
        return pa.decimal128(38, self._behind) if self._behind <= SHORT else pa.decimal256(76, self._behind)


def to_decimals(text: Any, kind: pa.DataType, decimal: str) -> Any:
    """Return cells as decimals."""
    return pc.cast(pc.replace_substring(pc.utf8_trim_whitespace(text), decimal, "."), kind)
