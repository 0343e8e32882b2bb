"""What SPSS, Stata and SAS files cannot hold: names, texts and numbers beyond their limits."""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.data.file_form import Family
from sfumato.data.formats.labelled.families import NAMES
from sfumato.errors import FileError

SPSS_RESERVED = ("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")
STATA_RESERVED = (
    r"_all|_b|_coef|_cons|_n|_N|_pi|_pred|_rc|_skip|byte|double|float|if|in|int|long|str\d+|strL|using|with"
)
LONGEST_TEXT = {"spss": 32_767, "stata": 2_000_000_000, "sas": 32_767}  # bytes
LONGEST_LABEL = {"spss": 256, "stata": 320, "sas": 255}  # bytes; Stata counts 80 characters
LONGEST_VALUE_LABEL = {"spss": 120, "stata": 32_000, "sas": 0}
LONGEST_FILE_LABEL = {"spss": 64, "stata": 320, "sas": 40}
LARGEST = {"spss": float(np.finfo(float).max), "stata": 2.0**1023, "sas": 9e74}
SMALLEST = {"spss": 0.0, "stata": 0.0, "sas": 5.4e-79}  # what is nearer to zero, SAS transport files hold as zero


def check_names(path: object, family: Family, names: Iterable[str], version: int = 0) -> None:
    """Refuse names that the format does not allow."""
    seen: dict[str, str] = {}
    for name in names:
        wrong = _wrong_name(family, name, version)
        if wrong:
            raise FileError(f"cannot write {path}: the variable {name!r} {wrong}; rename it")
        if family != "stata":
            twin = seen.setdefault(name.upper(), name)
            if twin != name:
                raise FileError(
                    f"cannot write {path}: {twin!r} and {name!r} are the same name to {NAMES[family]}; rename one"
                )


def _wrong_name(family: Family, name: str, version: int) -> str:
    if family == "spss":
        if len(name.encode()) > 64:
            return f"has a name of {len(name.encode())} bytes; SPSS allows 64"
        if not re.fullmatch(r"[^\W\d_][\w.@#$]*", name) or name.endswith("."):
            allowed = "a letter first, then letters, digits and . _ @ # $, no point at the end"
            return f"has a name SPSS does not allow: {allowed}"
        return "has a name that is a word of SPSS" if name.upper() in SPSS_RESERVED else ""
    longest = 32 if family == "stata" or version != 5 else 8
    if len(name) > longest:
        return f"has a name of {len(name)} characters; {NAMES[family]} allows {longest}" + (
            " in transport files of version 5" if longest == 8 else ""
        )
    if not re.fullmatch(r"[^\W\d]\w*", name, flags=re.ASCII if family == "sas" else 0):
        return f"has a name {NAMES[family]} does not allow: a letter or _ first, then letters, digits and _"
    reserved = family == "stata" and re.fullmatch(STATA_RESERVED, name)
    return "has a name that is a word of Stata" if reserved else ""


def check_label_names(path: object, labelled: Iterable[str]) -> None:
    """Refuse names of labelled variables that leave no room for the number in the name of their set of labels."""
    for number, name in enumerate(labelled):
        if len(name) + len(str(number)) > 32:
            raise FileError(
                f"cannot write {path}: the variable {name!r} has labels, whose set is named after it with a number, "
                "and Stata allows 32 characters; shorten its name"
            )


def check_numbers(path: object, family: Family, name: str, numbers: NDArray[np.float64]) -> None:
    """Refuse numbers that would be read back as others."""
    size = np.abs(numbers[~np.isnan(numbers)])
    if (size >= LARGEST[family]).any() or ((size > 0) & (size < SMALLEST[family])).any():
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds numbers too large or too near to zero for a "
            f"{NAMES[family]} file; rescale it"
        )


def check_text(path: object, family: Family, name: str, texts: Iterable[str], version: int = 0) -> int:
    """Refuse text that would be cut; return how many bytes the longest one takes."""
    encoded = [text.encode() for text in texts]
    longest = max(map(len, encoded), default=0)
    allowed = 200 if family == "sas" and version == 5 else LONGEST_TEXT[family]
    if longest > allowed:
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds text of {longest:,} bytes; {NAMES[family]} allows "
            f"{allowed:,} here"
        )
    if any(b"\0" in text for text in encoded):
        raise FileError(
            f"cannot write {path}: the variable {name!r} holds text with the character 0, which ends a text"
        )
    return longest


def cut(text: str, longest: int) -> str:
    """Return text that takes at most so many bytes, whole characters only."""
    return text.encode()[:longest].decode(errors="ignore")
