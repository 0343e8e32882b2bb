"""What an attack is: a function from a number and a seed to what was done, which raises what it found."""

import re
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Rng = np.random.Generator
KILLS, FILES, CALLS = "kills", "damaged files", "calls"


class Finding(AssertionError):  # noqa: N818 - what is looked for, not a fault of the search
    """Something that an attack must not be able to do."""


@dataclass(frozen=True)
class Kind:
    """A kind of attack: ``strike`` does one in a folder of its own and counts what it did."""

    name: str
    strike: Callable[[Rng, Path], Counter[str]]
    share: float  # of the time of a long run
    in_tests: int  # how many of them are in `make test`


def drawn_for(seed: int, kind: str, number: int) -> Rng:
    """Return the draws of one attack."""
    return np.random.default_rng([seed, zlib.crc32(kind.encode()), number])


def one_of(rng: Rng, things: Any) -> Any:
    """Draw one of a few things, whatever they are."""
    return things[int(rng.integers(len(things)))]


def several(rng: Rng, things: list[Any], most: int) -> list[Any]:
    """Draw at most so many of the things, none twice."""
    number = int(rng.integers(min(most, len(things)) + 1))
    return [things[place] for place in rng.permutation(len(things))[:number]]


@contextmanager
def only(*allowed: type[BaseException], doing: str) -> Iterator[list[BaseException]]:
    """Let only these exceptions come out of what is done; any other is a finding."""
    refused: list[BaseException] = []
    try:
        yield refused
    except Finding:
        raise
    except allowed as refusal:
        refused.append(refusal)
        told(refusal, doing)
    except Exception as foreign:
        raise Finding(f"{doing}: {_short(foreign)}") from foreign


def told(refusal: BaseException, doing: str) -> None:
    """Require that a refusal says something: one that a person can read."""
    text = str(refusal)
    if not text.strip() or re.fullmatch(r"<[\w. ]+ at 0x[0-9a-f]+>", text):
        raise Finding(f"{doing}: refused without a word: {refusal!r}")


def _short(error: BaseException) -> str:
    """Say what came out and where from, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/sfumato/" in frame.filename]
    at = f" at {'/'.join(Path(ours[-1].filename).parts[-3:])}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}{at}: {str(error)[:300]}"


def described(error: BaseException) -> str:
    """Say what was found, for the list of findings."""
    return str(error) if isinstance(error, Finding) else f"the attack itself failed: {_short(error)}"
