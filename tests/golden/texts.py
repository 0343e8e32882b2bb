"""Measurements, tables and folders as lines of text, and the comparison of two such texts."""

import json
import math
import re
import zlib
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import Measurement, Microdata

DIGITS = 10
TOLERANCE = 1e-7  # relative, between machines and versions of libraries; a wrong formula is farther off
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
DURATION = re.compile(r"\b(?:\d+ min )?\d+(?:\.\d+)? (?:s|seconds?|minutes?)\b")
MEMORY = re.compile(r"\d[\d,]*(?:\.\d+)? [GM]B\b")
VERSIONS = re.compile(r"\b(python|sfumato|numpy|scipy|numba|pyarrow|pillow) \d+\.\d+(?:\.\d+)?\S*")


def number(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def weighed(values: np.ndarray[Any, Any]) -> float:
    """Return a mean that changes when values change places."""
    if not len(values):
        return 0.0
    weights = 1 + np.sin(np.arange(len(values)) * 0.7)
    return float(np.sum(values * weights) / len(values))


def checksum(texts: list[str]) -> int:
    return zlib.crc32("\n".join(texts).encode())


def table_lines(table: Microdata) -> Iterator[str]:
    """Return a line per column: numbers by sums with places, categories by their codes."""
    yield f"records {len(table)}"
    for name in table.names:
        column = table.columns[name]
        if column.dtype.kind == "f":
            there = ~np.isnan(column)
            values = column[there]
            spread = float(np.std(values)) if len(values) else math.nan
            where = weighed(there.astype(np.float64))
            yield f"{name} {number(weighed(values))} {number(spread)} {number(where)}"
        else:
            categories = list(map(str, table.schema[name].categories or ()))
            yield f"{name} categories {len(categories)} {checksum(categories)} codes {zlib.crc32(column.tobytes())}"


def measurement_lines(result: Measurement) -> Iterator[str]:
    """Return a measurement: its value and parts in full, of long things a sum with places."""
    yield f"value {number(result.value)}"
    for name, value in result.parts.items():
        yield f"part {name}: {number(value)}"
    for name, value in result.by_variable.items():
        yield f"variable {name}: {number(value)}"
    if result.by_pair:
        yield f"pairs {len(result.by_pair)} {number(weighed(np.array(list(result.by_pair.values()))))}"
    if result.by_record is not None:
        yield f"records {len(result.by_record)} {number(weighed(np.nan_to_num(result.by_record, nan=-9.0)))}"
    for name, rows in result.tables.items():
        yield f"table {name}: {contents(rows)}"
    for text in (result.statement, *result.notes):
        if text:
            yield f"says {text}"


def contents(value: Any) -> str:
    """Return how many numbers and texts a nested value holds, and a sum of each."""
    numbers: list[float] = []
    texts: list[str] = []

    def walk(each: Any, name: str) -> None:
        if isinstance(each, bool) or each is None:
            texts.append(f"{name}={each}")
        elif isinstance(each, int | float):
            numbers.append(float(each))
        elif isinstance(each, str):
            texts.append(f"{name}={neutral(each)}")
        elif hasattr(each, "items"):
            for key, below in each.items():
                if key not in ("seconds", "created", "versions", "took"):
                    walk(below, str(key))
        else:
            for below in each:
                walk(below, name)

    walk(value, "")
    sums = number(weighed(np.nan_to_num(np.array(numbers, dtype=np.float64), nan=-9.0, posinf=1e9, neginf=-1e9)))
    return f"{len(numbers)} numbers {sums}, {len(texts)} texts {checksum(texts)}"


def neutral(text: str, folder: Path | None = None) -> str:
    """Return a text without folder, time, durations and versions of libraries."""
    if folder is not None:
        text = text.replace(str(folder), "FOLDER")
    text = DATE.sub("DATE", text)
    text = MEMORY.sub("MEMORY", DURATION.sub("DURATION", text))
    return VERSIONS.sub(r"\1 VERSION", text)


def json_lines(path: Path, folder: Path, whole: tuple[str, ...] = ()) -> Iterator[str]:
    """Return a line per entry of a JSON file; the named ones in full."""
    for key, value in json.loads(path.read_text(encoding="utf-8").replace(str(folder), "FOLDER")).items():
        if key in whole:
            yield f"{path.name} {key}: {neutral(json.dumps(value, ensure_ascii=False))}"
        else:
            yield f"{path.name} {key}: {contents(value)}"


def differences(expected: str, made: str) -> list[str]:
    """Return what differs, in lines; numbers are equal if their relative difference is below the tolerance.

    Lines that only one text has are told as such, so that one more at the top is not a difference of all below it.
    """
    one, two = expected.splitlines(), made.splitlines()
    if one[:1] != two[:1]:  # another machine: figures are compared, bytes are not
        one, two = ([line for line in lines if not line.startswith("bytes ")] for lines in (one[1:], two[1:]))
    unequal = []
    for place, a, b in _side_by_side(one, two):
        if a is None or b is None:
            unequal.append(f"line {place}: made too, {b!r}" if a is None else f"line {place}: not made, {a!r}")
        elif a != b and not _near(a, b):
            unequal.append(f"line {place}: expected {a!r}, made {b!r}")
    return unequal


def _side_by_side(one: list[str], two: list[str]) -> Iterator[tuple[int, str | None, str | None]]:
    """Yield the lines of two texts in pairs, with their place in the first; None for one that the other lacks."""
    whole = [("replace", 0, len(one), 0, len(two))]
    blocks = whole if len(one) == len(two) else SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    for _, start, end, first, last in blocks:
        for place, (a, b) in enumerate(zip_longest(one[start:end], two[first:last]), start + 1):
            yield place, a, b


def machine() -> str:
    """Return how this machine rounds: processors and libraries of linear algebra differ in the last digit."""
    drawn = np.random.default_rng(1).normal(size=(40, 40))
    made = (np.exp(drawn), np.linalg.inv(drawn), drawn @ drawn, np.linalg.svd(drawn)[1])
    return f"machine {checksum([each.tobytes().hex() for each in made])}"


def _near(a: str, b: str) -> bool:
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(
        math.isclose(float(x), float(y), rel_tol=TOLERANCE, abs_tol=1e-10)
        for x, y in zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    )
