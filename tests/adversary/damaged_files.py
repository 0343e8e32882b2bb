"""Damaged files of every format: refused in a sentence, or read as another reader reads them."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from adversary.attack import FILES, Finding, Kind, Rng, one_of, only
from adversary.mutation import damaged, damaged_inside
from adversary.readers import WRITERS, again, named, plain, table
from sfumato import SfumatoError, read

BATCH = 25  # damaged files of one table


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Write a table, damage the file in many ways and read each."""
    form = one_of(rng, [*WRITERS])
    path = folder / f"table.{form}"
    WRITERS[form](table(rng), path)
    whole = path.read_bytes()
    done: Counter[str] = Counter()
    compare(form, path, "whole file", must_be_read=True)
    for number in range(BATCH):
        content = (damaged if rng.random() < 0.5 else damaged_inside)(rng, whole)
        path.write_bytes(content)
        done[FILES] += 1
        compared = compare(form, path, f"damaged {form} {number}")
        done[compared] += 1
    return done


def compare(form: str, path: Path, doing: str, *, must_be_read: bool = False) -> str:
    """Read a file and hold what is read to another reader; say what came of it."""
    held: dict[str, list[Any]] = {}
    with only(SfumatoError, MemoryError, doing=doing) as refused:
        found = read(path)
        arrow = found.to_arrow()
    if not refused:
        held = _values(arrow)
    if refused:
        if must_be_read:
            raise Finding(f"{doing}: {refused[0]}")
        return "refused"
    other = again(form, path, found)
    if other is None:
        if must_be_read:
            raise Finding(f"{doing}: the other reader has nothing to compare with")
        return "read, not compared"
    differ(doing, held, other)
    return "read alike"


def _values(arrow: pa.Table) -> dict[str, list[Any]]:
    """Return the values of a table; a day that Python has no date for as its number."""
    held = {}
    for name in arrow.column_names:
        try:
            held[name] = arrow[name].to_pylist()
        except (OverflowError, ValueError):
            held[name] = (
                arrow[name].cast(pa.int32() if pa.types.is_date32(arrow[name].type) else pa.int64()).to_pylist()
            )
    return held


def differ(doing: str, ours: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> None:
    """Find the first value that the two readers do not agree on."""
    ours, theirs = ({named(name): values for name, values in found.items()} for found in (ours, theirs))
    if [*ours] != [*theirs]:
        raise Finding(f"{doing}: names {[*ours]} here, {[*theirs]} by the other reader")
    for name, values in ours.items():
        mine, other = [[_same_form(value) for value in column] for column in (values, theirs[name])]
        if len(mine) != len(other):
            raise Finding(f"{doing}: {name!r} has {len(mine)} records here, {len(other)} by the other reader")
        for place, (one, two) in enumerate(zip(mine, other, strict=True)):
            if one != two and not _nearly(one, two):
                raise Finding(f"{doing}: {name!r}, record {place}: {one!r} here, {two!r} by the other reader")


def _same_form(value: Any) -> Any:
    """Return a value as both readers may give it: empty text is missing in labelled files, and ends are stripped."""
    value = plain(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        value = value.partition("\0")[0]  # where one reader ends a text and another goes on
    return value.rstrip() or None if isinstance(value, str) else value


def _nearly(one: Any, two: Any) -> bool:
    return isinstance(one, float) and isinstance(two, float) and abs(one - two) <= 1e-15 * abs(one)


KIND = Kind("damaged-files", strike, share=4.0, in_tests=16)
