"""Probability of a correct match: what an intruder believes who knows how the file was masked."""

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes, first_records
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import compared
from sfumato.table.recoding import Recoding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BLOCK = 1 << 21  # likelihoods at a time
ABOVE = 0.1  # a probability worth listing, as in IndividualRisk


@catalogued(
    MeasureAbout(
        title="Probability of a correct match (Duncan and Lambert)",
        source="Duncan and Lambert (1989), The risk of disclosure for microdata, J. Business and Economic Statistics, "
        "as Kocar (2018), section 2.1, tells it; Reiter (2005), Estimating risks of identification disclosure in "
        "microdata, JASA 100",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="of a target whose value is not known every published value is as likely as in the file; a published "
        "value that is missing is as likely for every target",
        caveat="the intruder knows how strongly each variable was masked, but takes the variables as masked one by one "
        "and errors of numbers as normal: one who knows more of the method, as of rank swapping, does better",
        formula="p_ij = (r / n) L_ij / g_j / ((r / n) sum_k L_ik / g_k + 1 - r),   value = mean of p_ii\n"
        "L_ij = product over the known variables of f(y_j | x_i);   g_j = mean over i of L_ij\n"
        "f = share of the records with category x that became y;  normal density of y - x with the mean and\n"
        "standard deviation that the differences have;  1 or 0 if no value was changed;   r = released",
        reading="The expected share of records that are matched rightly by someone who knows these variables of a "
        "person, how the file was masked and, with released=1, that the person is in it. On keys that were not changed "
        "it is the mean of 1 / f, f the records with the same keys. The part with what the intruder believes is the "
        "mean of his best match's probability: above the value he is misled, which may harm as well.",
    )
)
class MatchProbability(Measure):
    """Expected share of correct matches by an intruder who weighs all records, as Duncan and Lambert do.

    It is the third of their scenarios, masked data and an intruder with some knowledge. Of each person the values x of
    the known variables are known. By Bayes' rule each published record j is the person's with a probability that rests
    on three things: the chance ``released`` that the person is in the file at all, how the person's values would look
    if they were (f), and how often others look like that (g). The intruder knows how the masking works: the mean and
    spread of the differences of each number, taken as normal, and the share of each category that became which; a
    variable in which nothing changed must agree. The original's values are first recoded as the protected table's were.
    The known variables are the keys of the schema, else all.

    The value is the mean of p, the probability of the right record (``by_record``). Parts: the share of persons whose
    most probable record is the right one, ties shared; the largest p, and the share of records with p above 0.1; the
    mean probability of the best match, what the intruder believes. The other two scenarios are IndividualRisk: without
    weights (an insider who knows who took part: 1 / f) and with them (an outsider).

    It compares every known combination with every published one: 20,000 records with continuous keys are 400 million.

    >>> import pyarrow as pa
    >>> people = pa.table({"town": ["A", "A", "B", "B", "B"], "sex": ["f", "m", "f", "f", "m"]})
    >>> MatchProbability().evaluate(people, people).by_record  # 1 / f
    array([1. , 1. , 0.5, 0.5, 1. ])
    """

    released: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "released")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        shared, notes = self.shared(pair)
        keys = tuple(name for name in shared if pair.original.schema[name].role == "key")
        pair.tables()  # it needs all records at once
        names = keys if keys and self.variables is None else shared
        columns, more = compared(pair, names, asked=self.variables is not None)
        found = Matches.of([MaskedVariable.of(seen) for seen in columns.values()])
        own, believed, right = found.probabilities(self.released)
        return self.measurement(
            float(own.mean()),
            parts={
                "most probable is right": float(right.mean()),
                "largest": float(own.max()),
                f"records above {ABOVE:g}": float((own > ABOVE).mean()),
                "as the intruder believes": float(believed.mean()),
            },
            by_record=own,
            notes=(*notes, *more),
        )


@dataclass(frozen=True, eq=False)
class MaskedVariable:
    """A variable as the intruder sees it: what is known, what was published, and how likely the one is given the other.

    Values are numbers, or places in the table ``log_share`` of which category became which; NaN or -1 where missing.
    """

    known: NDArray[Any]
    published: NDArray[Any]
    shift: float = 0.0
    spread: float = 0.0  # 0: what was published must be what is known
    log_share: Floats | None = None  # known by published category

    @classmethod
    def of(cls, seen: Recoding) -> "MaskedVariable":
        """Learn from the records how a variable was masked."""
        x, y = seen.original, seen.protected
        if x.dtype.kind != "f":
            return cls._categories(x, y, len(seen.categories))
        with np.errstate(invalid="ignore"):
            apart = y - x
        apart = apart[~np.isnan(apart)]
        if not len(apart) or not apart.any():
            return cls(x, y)
        shift = float(apart.mean())
        spread = float(apart.std())
        size = float(np.nanmax(np.abs(x)))
        return cls(x, y, shift, max(spread, ROUNDING * size, np.finfo(float).tiny))

    @classmethod
    def _categories(cls, x: NDArray[np.int32], y: NDArray[np.int32], number: int) -> "MaskedVariable":
        both = (x >= 0) & (y >= 0)
        counts = np.bincount(x[both] * number + y[both], minlength=number * number).reshape(number, number)
        rows = counts.sum(axis=1, keepdims=True)
        # a category of which nobody's value was published may become any
        shares = np.where(rows > 0, counts / np.maximum(rows, 1), 1 / max(number, 1))
        with np.errstate(divide="ignore"):
            return cls(x, y, log_share=np.log(shares))

    def codes(self) -> tuple[Integers, Integers]:
        """Number the different values that are known, and those that were published."""
        known, published = (np.unique(column, return_inverse=True)[1] for column in (self.known, self.published))
        return known, published

    def log_likelihood(self, known: NDArray[np.intp], published: NDArray[np.intp]) -> Floats:
        """Return log f for each of these known records (rows) and published ones (columns)."""
        x, y = self.known[known], self.published[published]
        if self.log_share is not None:
            found: Floats = self.log_share[x[:, None], y[None, :]]
            found[x < 0] = self._anybodys(y)
            found[:, y < 0] = 0.0
            return found
        apart = y[None, :] - x[:, None]
        found = _log_normal(apart - self.shift, self.spread) if self.spread > 0 else np.where(apart == 0, 0.0, -np.inf)
        found[np.isnan(x)] = self._anybodys(y)
        found[:, np.isnan(y)] = 0.0
        return found

    def _anybodys(self, y: NDArray[Any]) -> Floats:
        """Return log f of a person of whom the value is not known: how often it is published."""
        number = self.log_share is None
        values = self.published[~np.isnan(self.published) if number else self.published >= 0]
        if not len(values):
            return np.zeros(len(y))
        if number and self.spread > 0:
            return _log_normal(y - values.mean(), float(values.std()) or self.spread)
        different, counts = np.unique(values, return_counts=True)
        place = np.minimum(np.searchsorted(different, y), len(different) - 1)
        found: Floats = np.log(counts[place] / len(values))
        return found


def _log_normal(apart: Floats, spread: float) -> Floats:
    return -((apart / spread) ** 2) / 2 - log(spread) - log(2 * pi) / 2


@dataclass(frozen=True, eq=False)
class Matches:
    """All known records beside all published ones; equal ones are compared once."""

    columns: list[MaskedVariable]
    known: Integers  # the class of each record by what is known of it
    published: Integers
    first: tuple[NDArray[np.intp], NDArray[np.intp]]  # a record of each class
    sizes: tuple[Integers, Integers]

    @classmethod
    def of(cls, columns: list[MaskedVariable]) -> "Matches":
        """Put equal records together."""
        if not columns:
            raise NotApplicable("no variable is known")
        coded = [column.codes() for column in columns]
        known, of_known = classes(np.column_stack([codes[0] for codes in coded]))
        published, of_published = classes(np.column_stack([codes[1] for codes in coded]))
        first = first_records(known), first_records(published)
        return cls(columns, known, published, first, (of_known, of_published))

    def probabilities(self, released: float) -> tuple[Floats, Floats, Floats]:
        """Return for each record the probability of its own, that of the most probable, and whether that is its own.

        Where several are as probable, its own is counted in part.
        """
        n = len(self.known)
        others = self._others()
        rows = len(self.first[0])
        own = np.zeros(n)
        believed, right = np.zeros(n), np.zeros(n)
        order = np.argsort(self.known, kind="stable")
        starts = np.searchsorted(self.known[order], np.arange(rows + 1))
        for block in self._blocks():
            odds = self._likelihood(block) - others  # log of L / g
            with np.errstate(over="ignore"):
                ratio = np.exp(odds) * (released / n)
            every = ratio @ self.sizes[1] + (1 - released)
            probability = ratio / every[:, None]
            best = probability.max(axis=1)
            tied = np.isclose(probability, best[:, None], rtol=1e-9, atol=0.0) @ self.sizes[1]
            members = order[starts[block[0]] : starts[block[-1] + 1]]
            row = self.known[members] - block[0]
            own[members] = probability[row, self.published[members]]
            believed[members] = best[row]
            right[members] = np.where(np.isclose(own[members], best[row], rtol=1e-9, atol=0.0), 1 / tied[row], 0.0)
        return own, believed, right

    def _others(self) -> Floats:
        """Return log g: how likely each published record is, if it were anybody's."""
        total = np.full(len(self.first[1]), -np.inf)
        for block in self._blocks():
            likelihood = self._likelihood(block) + np.log(self.sizes[0][block])[:, None]
            total = np.logaddexp(total, np.logaddexp.reduce(likelihood, axis=0))
        return total - log(len(self.known))

    def _blocks(self) -> list[NDArray[np.intp]]:
        rows = len(self.first[0])
        size = max(1, BLOCK // len(self.first[1]))
        return [np.arange(start, min(start + size, rows)) for start in range(0, rows, size)]

    def _likelihood(self, block: NDArray[np.intp]) -> Floats:
        """Return log L of these known classes and all published ones."""
        known, published = self.first[0][block], self.first[1]
        total = np.zeros((len(known), len(published)))
        for column in self.columns:
            total += column.log_likelihood(known, published)
        return total
