"""Ways to mask the numbers of a table, from mild to strong: parts of the candidates that fit it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.compare.clauses import clauses
from sfumato.core import Method
from sfumato.data.microdata import Microdata
from sfumato.methods import MDAV, IndividualRanking, Noise, RankSwapping, Rounding, Shuffling, TopBottomCoding
from sfumato.risk.exposed_amounts import RECORDS_PER_EXTREME, ExposedAmounts

MOST_TOP = 0.1  # the largest such share
TOP = 0.01  # the share of records whose amounts are coded at the top


@dataclass(frozen=True)
class Part:
    """Some steps of a candidate, and a clause of its sentence."""

    steps: tuple[Method, ...]
    clause: str


def numbers_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[Part]:
    """Return ways to mask numbers that an intruder may compare with his own, from mild to strong."""
    if not names:
        return
    for p in ((0.02, 0.05, 0.1, 0.2, 0.3), (0.02, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3))[breadth > 1]:
        yield _part(RankSwapping(p, variables=names))
    for k in ((3, 5, 10, 20), (3, 4, 5, 7, 10, 15, 20, 30))[breadth > 1]:
        if k <= len(data):
            yield _part(MDAV(k, variables=names))
    for k in (5, 20)[: 2 if breadth > 1 else 1]:
        yield _part(IndividualRanking(k, variables=names))
    for scale in ((0.1, 0.2, 0.5), (0.05, 0.1, 0.15, 0.2, 0.3, 0.5))[breadth > 1]:
        yield _part(Noise(scale, variables=names))
    if len(names) > 1:
        yield _part(Shuffling(variables=names))
    for share in (0.02, 0.05, 0.1)[:breadth]:
        coded = _top(data, names, share)
        if coded is not None:
            yield _part(coded, *_round(data, names, 0.2))


def amounts_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[Part]:
    """Return ways to mask amounts: none leaves exact, and the largest are coded or averaged."""
    if not names:
        return
    coded = _top(data, names, _extreme(data, names))
    top = () if coded is None else (coded,)
    for scale in (0.1, 0.05, 0.2)[:breadth]:
        grid = _round(data, names, scale)
        if grid:
            yield _part(*top, *grid)
    for k in (5, 3, 10)[:breadth]:
        if k <= len(data):
            yield _part(IndividualRanking(k, variables=names))
    for p in (0.05, 0.02, 0.1)[:breadth]:
        yield _part(*top, RankSwapping(p, variables=names))
    for k in (5, 3, 10)[:breadth]:
        if k <= len(data) and len(names) > 1:
            yield _part(MDAV(k, variables=names))


def known_masked(data: Microdata, names: tuple[str, ...], breadth: int) -> Iterator[Part]:
    """Return ways to mask amounts of which an intruder knows some about: as for amounts, but stronger."""
    if not names:
        return
    coded = _top(data, names, _extreme(data, names))
    top = () if coded is None else (coded,)
    for p in (0.1, 0.2, 0.05, 0.3)[: 1 + breadth]:
        yield _part(*top, RankSwapping(p, variables=names))
    for k in (10, 20, 5)[:breadth]:
        if k <= len(data):
            yield _part(MDAV(k, variables=names))
    for scale in (0.5, 0.2, 0.3)[:breadth]:
        yield _part(Noise(scale, variables=names))


def _extreme(data: Microdata, names: tuple[str, ...]) -> float:
    """Return the share of values to code at the top: those that are extreme by themselves, as ExposedAmounts counts."""
    present = sorted(int((~data.missing(name)).sum()) for name in names)
    typical = present[len(present) // 2]  # an amount that few have must not set the limit of all others
    most = min(ExposedAmounts().most, len(data) // RECORDS_PER_EXTREME)
    share = math.ceil(1000 * (most + 2) / max(typical, 1)) / 1000  # two more: some tie at the limit
    return min(max(TOP, share), MOST_TOP)


def _part(*steps: Method) -> Part:
    """Return steps with what they do."""
    return Part(steps, "; ".join(clauses(steps)))


def _top(data: Microdata, names: tuple[str, ...], share: float) -> TopBottomCoding | None:
    """Return the coding of the largest values, where it changes any."""
    coding = TopBottomCoding(share, ends="top", by="mean", variables=names)
    after = coding.protect(data)
    moved = tuple(n for n in names if not np.array_equal(after.columns[n], data.columns[n], equal_nan=True))
    return TopBottomCoding(share, ends="top", by="mean", variables=moved) if moved else None


def _round(data: Microdata, names: tuple[str, ...], scale: float) -> tuple[Rounding, ...]:
    """Return the rounding to a share of the standard deviation, of those numbers that it changes."""
    rounding = Rounding(scale=scale, variables=names)
    after = rounding.protect(data)
    moved = tuple(n for n in names if not np.array_equal(after.columns[n], data.columns[n], equal_nan=True))
    return (Rounding(scale=scale, variables=moved),) if moved else ()
