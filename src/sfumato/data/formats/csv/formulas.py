"""Cells of a text file that a spreadsheet would compute instead of showing them.

They are pointed out and stay as they are, because every mark that keeps a spreadsheet from computing them is another
value for every other program.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# the signs that https://owasp.org/www-community/attacks/CSV_Injection names, in both widths of East Asian type
_COMPUTED = "^(?:[\t\r\n]| *[=+\\-@\uff1d\uff0b\uff0d\uff20])"
_HARMLESS = r"^\s*(?:[-+=@]*|[-+]+[\s\d.,'\x{a0}\x{202f}]*(?:[eE][-+]?\d+)?\s*%?)$"  # - for "none", and numbers


def formulas(table: pa.Table) -> tuple[str, ...]:
    """Say in a sentence which columns hold such cells, and how many, the name of the column counted; or say nothing.

    >>> formulas(pa.table({"note": ["=1+1", "fine", "-5"], "pay": [-1, 2, 3]}))[0].partition(":")[2]
    " 'note' (1); where it is opened so, import it with its columns as text"
    """
    found = {name: _computed(pa.array([name])) + _count(column) for name, column in _columns(table)}
    told = ", ".join(f"{name!r} ({count:,})" for name, count in found.items() if count)
    if not told:
        return ()
    return (
        "cells begin with a sign such as = + - @, and a spreadsheet that opens the file as it is computes them, which "
        f"may run what they say: {told}; where it is opened so, import it with its columns as text",
    )


def _columns(table: pa.Table) -> Any:
    return zip(table.column_names, table.columns, strict=True)


def _count(column: Any) -> int:
    """Count the cells of a column; of categories, each is looked at once."""
    if pa.types.is_dictionary(column.type):
        return sum(_computed(chunk.dictionary, pc.value_counts(chunk.indices.drop_null())) for chunk in column.chunks)
    return _computed(column)


def _computed(texts: Any, counts: Any = None) -> int:
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return 0
    computed = pc.and_not(pc.match_substring_regex(texts, _COMPUTED), pc.match_substring_regex(texts, _HARMLESS))
    if counts is None:
        return int(pc.sum(computed).as_py() or 0)
    there = computed.take(counts.field("values"))
    return int(pc.sum(counts.field("counts").filter(there)).as_py() or 0)
