"""Special uniques (SUDA2): records that are alone on few of the keys, scored by how few and how often."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, factorial, perm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import class_sums, first_in_order
from sfumato.kernels.uniques import minimal_uniques
from sfumato.measurement import Measurement, Table
from sfumato.pair import Keys, Pair, sampling_fraction
from sfumato.pair.keys import MISSING_KEYS, SHOWN
from sfumato.pair.statistics import KeyClasses
from sfumato.registry import catalogued

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Score = Literal["sdcmicro", "handbook", "ihsn"]
MAX_SETS = 2**16  # sets of keys to look at
MAX_KEYS = 62  # a set of keys is a 64-bit number


@dataclass(frozen=True, eq=False)
class MinimalUniques:
    """The minimal sample uniques of a file: the key class of each, of one record, and its keys, as a sum of 2^place.

    ``score`` is what a set scores by its size.
    """

    classes: KeyClasses
    cell: Integers
    keys: Integers
    score: Floats

    @cached_property
    def size(self) -> Integers:
        """The number of keys of each set."""
        return np.bitwise_count(self.keys).astype(np.int64)

    @cached_property
    def sizes(self) -> Integers:
        """How many sets of each size each key class has."""
        width = len(self.score)
        counts = np.bincount(self.cell * width + self.size, minlength=len(self.classes) * width)
        return counts.reshape(len(self.classes), width)

    def levels(self, key: int) -> tuple[Integers, Floats]:
        """Return the values of a key that sets with it have, in ascending order, and the sum of their scores."""
        sets = np.flatnonzero(self.keys & 1 << key != 0)
        codes, width = self.classes.cells[:, key].astype(np.int64), len(self.score)
        counts = np.bincount((codes * width)[self.cell[sets]] + self.size[sets], minlength=(codes.max() + 1) * width)
        counts = counts.reshape(-1, width)
        values = np.flatnonzero((counts * (self.score > 0)).any(axis=1))
        return values, counts[values] @ self.score

    def contributions(self) -> Floats:
        """Return the share of all scores that is due to sets with each key; 0 of all where nothing scores."""
        scores = self.score[self.size]
        total = float(scores.sum()) or 1.0
        keys = range(self.classes.cells.shape[1])
        return np.array([float(scores[self.keys & 1 << key != 0].sum() / total) for key in keys])


@catalogued(
    MeasureAbout(
        title="Special uniques (mean DIS-SUDA)",
        source="Elliot, Manning, Mayes, Gurd and Bane (2005); Manning, Haglin and Keane (2008); Skinner and Elliot "
        "(2002)",
        purpose="risk",
        counts=("minimal sample uniques", "largest score"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=f"{MISSING_KEYS}, so that a minimal sample unique holds no missing value",
        weights=True,
        paired=False,
        keys=True,
        records="protected",
        caveat="a score ranks records; DIS-SUDA turns it into a probability by a rule of thumb. Only the mean sampling "
        "fraction enters, not each record's weight",
        formula='S = sum over the minimal sample uniques of a record of (M - s)!, s the size, M keys ("sdcmicro")\n'
        "DIS = U f / (U f + P (1 - f)),   U uniques, P records in pairs, f sampling fraction\n"
        "DIS-SUDA = 1 / (1 + (U / DIS - U) / (S^Q sum of S^-Q)), 0 if S = 0;  Q = max(0, 1 + (8 - M) / 20)\n"
        "value = mean of DIS-SUDA over the records",
        reading="Use it to order records: those at the top are alone on very few keys, a widow of twenty, and are "
        "the ones to suppress or recode by hand; the tables say which keys and which levels make them so. The value "
        "itself is a mean over a file in which most records score 0 and says little alone; compare it between "
        "candidates with the same keys.",
    )
)
class SUDA2(Measure):
    """Mean DIS-SUDA score of the records: how likely a unique match on the keys is correct, special uniques first.

    A minimal sample unique of a record is a set of keys on which it is alone while it is alone on no part of it; all of
    up to ``size`` keys (None: of any size) are found exactly, by the recursive search of SUDA2. The fewer keys it takes
    and the more such sets there are, the likelier the record is unique in the population too. Of M keys, a set of s
    scores by the named variant of ``score``, since programs differ:

    - "sdcmicro": (M - s) (M - s - 1) ... 1 (also Elliot and others, with no limit of size);
    - "handbook": (M - s) ... (M - m), m the largest size searched for but at most M - 1;
    - "ihsn": (2^(M - s) - 1) s! (M - s)! / M!.

    The score S of a record is the sum over its sets. DIS (Skinner and Elliot) is the probability that a unique match
    with the file is correct, U f / (U f + P (1 - f)) with U uniques, P records in pairs and sampling ``fraction`` f
    (None: records over the sum of weights; without weights a census, 1). DIS-SUDA spreads it over the records by their
    scores as sdcMicro does: 1 / (1 + (U / DIS - U) / (S^Q sum of S^-Q)), Q = 1 + (8 - M) / 20; 0 for a record of score
    0. That is ``by_record``, and its mean the value: in a census it is the share of special uniques. From 28 keys on
    that rule would turn the order of the scores round: Q is then 0, all special uniques get the same, and it is said.

    ``by_variable`` is the share of all scores that is due to sets with that key, so the shares add to more than one;
    the tables give the same by ``levels`` of each key, the ``sizes`` of the sets and the ``riskiest records``.
    """

    size: int | None = None
    score: Score = "sdcmicro"
    fraction: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            parameters.whole(self, "size")
        parameters.one_of(self, "score", ("sdcmicro", "handbook", "ihsn"))
        if self.fraction is not None:
            parameters.share(self, "fraction")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        pair.tables()  # the riskiest records are named by their row
        keys = Keys.of(pair, self.variables)
        classes = keys.classes
        fraction, notes = (self.fraction, ()) if self.fraction is not None else sampling_fraction(pair)
        found = self._search(classes)
        scores = class_sums(found.cell, found.score[found.size], len(classes))
        uniques, pairs = (int(classes.sizes[classes.counts == number].sum()) for number in (1, 2))
        file_risk = dis(uniques, pairs, fraction)
        if uniques and not pairs and fraction < 1:
            notes = (*notes, "no two records share their keys, so DIS takes every unique match for a correct one")
        if len(keys.names) >= 28:
            notes = (*notes, "DIS-SUDA's rule of thumb does not hold for so many keys: it is the same for every score")
        risk = dis_suda(scores, uniques, file_risk, len(keys.names))
        levels = [found.levels(place) for place in range(len(keys.names))]
        total = float(scores.sum()) or 1.0
        return self.measurement(
            classes.mean(risk),
            parts={
                "DIS": file_risk,
                "special uniques": classes.share(scores > 0),
                "minimal sample uniques": float(len(found.cell)),
                "largest score": float(scores.max()),
            },
            by_variable=dict(zip(keys.names, found.contributions().tolist(), strict=True)),
            by_record=classes.by_record(risk),
            tables={
                "levels": _levels(keys, levels, total),
                "sizes": _sizes(found),
                "riskiest records": _riskiest(found, scores, risk),
            },
            notes=(*keys.notes, *notes),
        )

    def _search(self, classes: KeyClasses) -> MinimalUniques:
        """Find the minimal sample uniques and score them."""
        keys = classes.cells.shape[1]
        size = keys if self.size is None else min(self.size, keys)
        if keys > MAX_KEYS:
            raise NotApplicable(f"{keys} keys are more than the {MAX_KEYS} it takes; name fewer in variables")
        sets = sum(comb(keys, s) for s in range(1, size + 1))
        if sets > MAX_SETS:
            raise NotApplicable(
                f"{keys} keys have {sets:,} sets of up to {size}, more than the {MAX_SETS:,} it searches; give a "
                "smaller size, such as size=3, or fewer keys"
            )
        score = np.array([score_of(self.score, s, keys, size) for s in range(size + 1)])
        return MinimalUniques(classes, *minimal_uniques(classes.cells, classes.counts == 1, size), score)


def score_of(variant: Score, size: int, keys: int, largest: int) -> float:
    """Return the score of a minimal sample unique of ``size`` of the ``keys``, of at most ``largest`` looked for.

    >>> [score_of("sdcmicro", s, 4, 4) for s in (1, 2, 3, 4)], [score_of("ihsn", s, 4, 4) for s in (1, 2)]
    ([6.0, 2.0, 1.0, 1.0], [1.75, 0.5])
    """
    rest = keys - size
    if variant == "ihsn":
        return float((2**rest - 1) * factorial(size) * factorial(rest) / factorial(keys))
    last = keys - 1 if variant == "sdcmicro" else min(largest, keys - 1)
    return float(perm(rest, max(last - size + 1, 0)))  # rest (rest - 1) ... (keys - last)


def dis(uniques: int, pairs: int, fraction: float) -> float:
    """Return the probability that a unique match between the population and the sample is correct.

    >>> round(dis(uniques=4, pairs=6, fraction=0.01), 6)
    0.006689
    """
    return uniques * fraction / (uniques * fraction + pairs * (1 - fraction)) if uniques else 0.0


def dis_suda(scores: Floats, uniques: int, file_risk: float, keys: int) -> Floats:
    """Spread the file's DIS over its records by their scores."""
    result = np.zeros(len(scores))
    scored = scores > 0
    if scored.any():
        power = scores[scored] ** max(1 + (8 - keys) / 20, 0.0)
        result[scored] = 1 / (1 + (uniques / file_risk - uniques) / (power * (1 / power).sum()))
    return result


def _levels(keys: Keys, levels: Sequence[tuple[Integers, Floats]], total: float) -> Table:
    """Give the share of all scores that is due to sets with each value of each key, the largest first."""
    rows = [
        {"variable": name, "level": keys.half.coding(name).spelled(int(value)), "contribution": float(part / total)}
        for name, (values, sums) in zip(keys.names, levels, strict=True)
        for value, part in zip(values, sums, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: -row["contribution"])[: 5 * SHOWN])  # type: ignore[operator]


def _sizes(found: MinimalUniques) -> Table:
    """Count the minimal sample uniques by their size, and the records that have one."""
    sets, records = found.sizes.sum(axis=0), (found.sizes > 0).sum(axis=0)
    return tuple(
        {"size": int(s), "minimal sample uniques": int(sets[s]), "records": int(records[s])}
        for s in np.flatnonzero(sets)
    )


def _riskiest(found: MinimalUniques, scores: Floats, risk: Floats) -> Table:
    """List the records with the highest scores, by their row."""
    cell_of = found.classes.cell_of
    assert cell_of is not None
    return tuple(
        {
            "row": int((cell_of == cell).argmax()) + 1,
            "score": float(scores[cell]),
            "DIS-SUDA": float(risk[cell]),
            "minimal sample uniques": int(found.sizes[cell].sum()),
            "smallest": int((found.sizes[cell] > 0).argmax()),
        }
        for cell in first_in_order([-scores], SHOWN)  # classes come in the order of their first records
        if scores[cell] > 0
    )
