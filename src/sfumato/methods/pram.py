"""Post-randomisation of categories."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen, speaking
from sfumato.display import Phrase, written
from sfumato.errors import NotApplicable
from sfumato.methods.selection import checked, keys_or_all, refuse_special
from sfumato.pair import Half, Masking
from sfumato.pair.keys import StrataInParts, strata_in_parts
from sfumato.pair.masking import rounded
from sfumato.pair.statistics import Sums
from sfumato.registry import catalogued
from sfumato.table.draws import Draws
from sfumato.table.households import household_level, once_per_household
from sfumato.table.keys import Strata, strata
from sfumato.table.merging import listed, places
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Schema, Variable, a_kind
from sfumato.table.treatment import PERTURBED

# Transition matrices of post-randomisation: with which probability a category is published as which

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transition:
    """One transition matrix: ``matrix[k, l]`` is the probability that category k is published as category l.

    ``frequencies`` are the (survey-weighted) counts of the categories before; publish the matrix with the file, since
    with it an analyst can correct estimates for what was changed.
    """

    stratum: str
    categories: tuple[Category, ...]
    frequencies: Floats
    matrix: Floats

    @property
    def expected(self) -> Floats:
        """The frequencies to be expected after."""
        expected: Floats = self.matrix.T @ self.frequencies
        return expected

    @property
    def kept(self) -> float:
        """The expected share of values that stay the same."""
        return kept_share(self.matrix, self.frequencies)


def kept_share(matrix: Floats, frequencies: Floats) -> float:
    """Return the expected share of values that a matrix leaves the same."""
    if not frequencies.any():  # of records without weight
        return float(np.diag(matrix).mean())
    return float(np.diag(matrix) @ frequencies / frequencies.sum())


def spread_change(frequencies: Floats, retention: float, *, uniform: bool) -> Floats:
    """Return the matrix that keeps each category with this probability and spreads the change over the others.

    It is spread evenly, or in proportion to the others' frequencies.

    >>> spread_change(np.array([2.0, 1.0, 1.0]), 0.8, uniform=False).round(3).tolist()
    [[0.8, 0.1, 0.1], [0.133, 0.8, 0.067], [0.133, 0.067, 0.8]]
    """
    size = len(frequencies)
    if size < 2:
        return np.eye(size)
    shares = np.tile(np.ones(size) if uniform else frequencies, (size, 1))
    np.fill_diagonal(shares, 0.0)
    alone = shares.sum(axis=1) == 0  # all weight is in this category: the others are as likely as one another
    shares[alone] = 1.0
    np.fill_diagonal(shares, 0.0)
    matrix: Floats = (1 - retention) * shares / shares.sum(axis=1, keepdims=True)
    np.fill_diagonal(matrix, retention)
    return matrix


def two_stage(matrix: Floats, frequencies: Floats) -> Floats:
    """Return the invariant matrix of two stages: its transpose leaves the frequencies as they are.

    The second stage goes back by Bayes' rule, ``Q[l, k] = P[k, l] t[k] / sum_m P[m, l] t[m]``, so that R = P Q has
    ``R' t = t``.
    """
    joint = matrix * frequencies[:, None]
    reached = joint.sum(axis=0)
    back = np.eye(len(frequencies))  # what no weight reaches may go anywhere: it stays
    reached_by_weight = reached > 0
    back[reached_by_weight] = joint.T[reached_by_weight] / reached[reached_by_weight, None]
    invariant: Floats = matrix @ back
    return invariant


def invariant_change(frequencies: Floats, retention: float, *, uniform: bool) -> Floats:
    """Return an invariant matrix that keeps an expected share of ``retention`` of the values, or the least it can.

    A mixture of an invariant matrix and no change is invariant too, which brings the share kept up to what is asked.
    Where even the two stages keep more (with one large category, most must stay for the frequencies to stay), they are
    taken as they are.
    """
    if len(frequencies) < 2 or not frequencies.any():
        return np.eye(len(frequencies))
    stages = two_stage(spread_change(frequencies, retention, uniform=uniform), frequencies)
    changed = 1 - kept_share(stages, frequencies)
    part = min(1.0, (1 - retention) / changed) if changed > 0 else 0.0
    mixed: Floats = part * stages + (1 - part) * np.eye(len(frequencies))
    return mixed


def drawn(codes: NDArray[np.integer], matrix: Floats, draws: Floats) -> NDArray[np.int32]:
    """Draw the published category of each record, by one uniform draw each; low draws keep the category.

    So a record that a low retention leaves alone, a higher one leaves alone as well.
    """
    published = np.empty(len(codes), dtype=np.int32)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(matrix) + 1))
    for k in np.flatnonzero(np.diff(ends)):
        rows = order[ends[k] : ends[k + 1]]
        targets = np.concatenate([[k], np.delete(np.arange(len(matrix)), k)])
        targets = targets[matrix[k, targets] > 0]
        reached = np.cumsum(matrix[k, targets])
        place = np.searchsorted(reached, draws[rows] * reached[-1], side="right")
        published[rows] = targets[np.minimum(place, len(targets) - 1)]
    return published


# The method

Codes = NDArray[np.int32]
MAX_CATEGORIES = 3_000  # of a matrix that is to be held and multiplied
ONE = 1e-9  # how far from one the probabilities of a row may add up


@dataclass(frozen=True, eq=False)
class PRAMInParts(Masking):
    """By variable, the codes that occur in each stratum and the probabilities with which each becomes another."""

    schema: Schema
    strata: StrataInParts
    matrices: Mapping[str, tuple[tuple[Codes, Floats] | None, ...]]  # by stratum; None where all values are missing

    @property
    def changes(self) -> frozenset[str]:
        return frozenset(self.matrices)

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> Codes:
        column, draw = part.columns[name], draws.uniform(name, first, len(part))
        published, present = column.copy(), np.flatnonzero(column >= 0)
        stratum = self.strata.of(part)[present]
        order = present[np.argsort(stratum, kind="stable")]
        ends = np.cumsum(np.bincount(stratum, minlength=len(self.strata.sizes)))[:-1]
        for rows, made in zip(np.split(order, ends), self.matrices[name], strict=True):
            if made is not None and len(rows):
                codes, matrix = made
                published[rows] = codes[drawn(np.searchsorted(codes, column[rows]), matrix, draw[rows])]
        return published


@catalogued(
    MethodAbout(
        title="Post-randomisation (PRAM)",
        source="Gouweleeuw, Kooiman, Willenborg and de Wolf (1998), Journal of Official Statistics 14(4)",
        missing="stays missing; frequencies are of the values present; a missing stratum is a stratum",
        kinds=("ordinal", "nominal"),
        weights=True,
        random=True,
        grid={"retention": (0.95, 0.9, 0.8, 0.7), "invariant": (True,)},
        neutral={"retention": 1.0},
        caveat="single frequencies can be kept or corrected for, but associations weaken and impossible combinations "
        "arise; counts of records that agree in keys no longer say how many agree in truth",
        formula="P(published = l | true = k) = p_kl;   expected frequencies after: P' t,   t = frequencies before\n"
        "retention r:  p_kk = r,  p_kl = (1 - r) t_l / sum_(m not k) t_m    (uniform: (1 - r) / (K - 1))\n"
        "invariant:    R = P Q,  q_lk = p_kl t_k / sum_m p_ml t_m,  so R' t = t; used: a R + (1 - a) I,\n"
        "              a <= 1 such that sum_k t_k (a R_kk + 1 - a) / sum_k t_k = r; a = 1 where none is",
        reading="``retention`` is the share of values that stay: 0.95 is light, 0.7 heavy. With ``invariant=True`` "
        "frequencies need no correction (in expectation); without it an analyst needs the matrix P, with which "
        "(P')^-1 times the published frequencies is unbiased. Associations weaken with every variable changed: a "
        "table of two variables at 0.9 has about 0.81 of its records in their cell.",
        group="Change categories",
        effect="other categories",
        labels={
            "retention": "Share of values that stay (retention)",
            "spread": "Other categories are drawn by (spread)",
            "invariant": "Keep the frequencies, in expectation (invariant)",
            "strata": "Separately by (strata)",
            "transition": "Chances of change: of each variable, {'from': {'to': 0.1}} (transition)",
        },
    )
)
class PRAM(Method):
    """Each category published as itself or, with stated probabilities, as another one, record by record.

    - ``retention=0.9``: every category stays with this probability; the rest is spread over the other categories that
      occur, in proportion to their frequencies or, with ``spread="uniform"``, evenly.
    - ``transition={"smoker": {"yes": {"yes": 0.8, "no": 0.2}, "no": {"no": 1.0}}}``: the matrix itself, a row for each
      category that occurs; what a row does not name has probability 0. Rows must add up to one.

    With P the matrix and t the frequencies before, those after have the expectation P' t. ``invariant=True`` keeps them
    in expectation: P is followed by its way back (Q = P reversed by Bayes' rule), and R = P Q has R' t = t. Given a
    retention, R is mixed with no change until that share of values is expected to stay; where frequencies are so uneven
    that more must stay, the note of the protected table says how many. Frequencies are survey-weighted where the schema
    has a weight, and then it is the weighted ones that are kept. ``strata=["region"]`` does all this within each part
    of the table, so that frequencies in each part are kept as well and no category comes up where it does not occur.

    Works on ``variables``, or if there are none on the keys, or if the schema names none on all variables of its kinds.
    ``transitions`` returns the matrices used.

    >>> import pyarrow as pa
    >>> flags = pa.table({"smoker": ["yes", "no"] * 50})
    >>> PRAM(0.9, invariant=True).transitions(flags)["smoker"][0].matrix.round(3).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """

    retention: float | None = None
    spread: Literal["frequency", "uniform"] = field(default="frequency", kw_only=True)
    invariant: bool = field(default=False, kw_only=True)
    strata: tuple[str, ...] | None = field(default=None, kw_only=True)
    transition: Mapping[str, Mapping[Any, Mapping[Any, float]]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.retention is None and not self.transition:
            raise parameters.refuse(self, "give a retention, such as 0.9, or a transition matrix by variable")
        if self.retention is not None:
            parameters.share(self, "retention")
        elif self.variables is not None:
            raise parameters.refuse(self, "variables goes with a retention; transition names its own")
        parameters.one_of(self, "spread", ("frequency", "uniform"))
        parameters.one_of(self, "invariant", (True, False))
        parameters.names(self, "strata")
        parameters.by_variable(self, "transition", "{'smoker': {'yes': {'yes': 0.8, 'no': 0.2}, 'no': {'no': 1}}}")
        for name, rows in (self.transition or {}).items():
            if not isinstance(rows, Mapping) or not rows:
                raise parameters.refuse(self, f"transition of {name!r} must be a dict of rows; got {rows!r}")
            for category, row in rows.items():
                self._check_row(f"transition of {name!r}, row {category!r}", row)
        both = sorted({*(self.strata or ())} & {*(self.variables or ()), *(self.transition or ())})
        if both:
            raise parameters.refuse(self, f"{', '.join(both)} cannot make strata and be changed within them")

    def _check_row(self, where: str, row: Any) -> None:
        if not isinstance(row, Mapping) or not row:
            raise parameters.refuse(self, f"{where} must be a dict from category to probability; got {row!r}")
        for category, value in row.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= 1:
                what = f"the probability of {category!r}"
                raise parameters.refuse(self, f"{where}: {what} must be in [0, 1]; got {value!r}")
        total = sum(row.values())
        if abs(total - 1) > ONE:
            raise parameters.refuse(self, f"{where}: probabilities must add up to one; they add up to {total:.10g}")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        stated = tuple(self.transition or ())
        checked(data, stated)
        for name in stated:
            if data.schema[name].quantitative:
                kind = a_kind(data.schema[name].kind)
                raise NotApplicable(f"variable {name!r} is {kind}; it must be {' or '.join(self.about.kinds)}")
        others: tuple[str, ...] = ()
        if self.variables is not None:
            others = chosen(self, data.schema)
        elif self.retention is not None:
            others = keys_or_all(data, self.about.kinds, (*stated, *(self.strata or ())))
        refuse_special(data, (*stated, *others))
        return tuple(name for name in data.names if name in stated or name in others)

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        """Return the method for these variables alone: those with a stated matrix, and the others by retention."""
        stated = {name: rows for name, rows in (self.transition or {}).items() if name in names}
        others = tuple(name for name in names if name not in stated)
        return replace(
            self,
            variables=others or None,
            retention=self.retention if others else None,
            transition=stated or None,
        )

    def transitions(self, data: Any) -> dict[str, tuple[Transition, ...]]:
        """Return the matrices by variable, one for each stratum in which the variable occurs.

        Those of a variable at the level of the household are over households.
        """
        table = Microdata.from_frame(data)
        with speaking(self):
            names, level = self.masked(table), household_level(table)
            homes = once_per_household(table, level)[0] if set(names) & set(level) else table
            return {name: self._of_strata(homes if name in level else table, name) for name in names}

    def _of_strata(self, data: Microdata, name: str) -> tuple[Transition, ...]:
        parts = strata(data, self.strata or ())
        return tuple(made for _, _, made in self._matrices(data, name, parts))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        root = int(rng.integers(2**63))
        parts = strata(data, self.strata or ())
        changed, notes = {}, []
        for name in self.masked(data):
            column = data.columns[name]
            # a stream per variable name: neither the order of the columns nor a further column changes the draws
            draws = np.random.default_rng([root, crc32(name.encode())]).random(len(column))
            published = column.copy()
            kept = []
            for rows, codes, made in self._matrices(data, name, parts):
                place = np.searchsorted(codes, column[rows])
                published[rows] = codes[drawn(place, made.matrix, draws[rows])]
                kept.append((len(rows), made.kept))
            changed[name] = published
            total = sum(count for count, _ in kept)
            share = sum(count * part for count, part in kept) / total if total else 1.0
            notes.append(f"{name} {share:.1%}")
        return data.replace(changed, f"{type(self).__name__}: expected to stay the same: {', '.join(notes)}")

    def learn(self, half: Half, draws: Draws) -> Masking:
        strata = strata_in_parts(half, self.strata or ())
        changes = {}
        for name in self.masked(half.parts[0]):
            variable = half.schema[name]
            found = half.total(partial(_weights_in_strata, name, len(variable.categories), strata))
            anywhere = np.flatnonzero(found["records"].any(axis=0)).astype(np.int32)
            stated = self._stated(variable, anywhere) if name in (self.transition or {}) else None
            if not len(anywhere):
                continue
            matrices: list[tuple[Codes, Floats] | None] = []
            for records, weights in zip(found["records"], found["weights"], strict=True):
                there = np.flatnonzero(records).astype(np.int32)
                codes = there if stated is None else np.arange(len(stated), dtype=np.int32)
                known = np.array([rounded(weight) for weight in weights[codes].tolist()])
                matrices.append((codes, self._matrix(name, known, stated)) if len(there) else None)
            changes[name] = tuple(matrices)
        changed = (half.schema[name].treated(PERTURBED) for name in changes)
        return PRAMInParts(half.schema.replace(*changed), strata, changes)

    def _matrices(
        self, data: Microdata, name: str, parts: Strata
    ) -> Iterator[tuple[NDArray[np.intp], Codes, Transition]]:
        """Give for each stratum its records with a value, the codes the matrix is over, and the matrix."""
        variable, column, weights = data.schema[name], data.columns[name], data.weights()
        stated = self._stated(variable, column) if name in (self.transition or {}) else None
        present = np.flatnonzero(column >= 0)
        order = present[np.argsort(parts.codes[present], kind="stable")]
        ends = np.searchsorted(parts.codes[order], np.arange(len(parts.values) + 1))
        for stratum in np.flatnonzero(np.diff(ends)).tolist():
            rows = order[ends[stratum] : ends[stratum + 1]]
            codes = np.unique(column[rows]) if stated is None else np.arange(len(stated), dtype=np.int32)
            place = np.searchsorted(codes, column[rows])
            frequencies = np.bincount(place, weights[rows], minlength=len(codes)).astype(np.float64, copy=False)
            matrix = self._matrix(name, frequencies, stated)
            categories = tuple(variable.categories[code] for code in codes)
            yield rows, codes, Transition(parts.spelled(stratum), categories, frequencies, matrix)

    def _matrix(self, name: str, frequencies: Floats, stated: Floats | None) -> Floats:
        if len(frequencies) > MAX_CATEGORIES:
            raise NotApplicable(
                f"variable {name!r} has {len(frequencies):,} categories; a transition matrix is "
                f"made for up to {MAX_CATEGORIES:,}: recode it first"
            )
        if stated is not None:
            return two_stage(stated, frequencies) if self.invariant else stated
        make = invariant_change if self.invariant else spread_change
        return make(frequencies, float(self.retention or 0), uniform=self.spread == "uniform")

    def _stated(self, variable: Variable, column: Codes) -> Floats:
        """Return a stated matrix over all categories of the variable; one that does not occur needs no row."""
        rows = (self.transition or {})[variable.name]
        where = "transition"
        matrix = np.eye(len(variable.categories))
        row_codes = places(variable, rows, where)
        for category, code in row_codes.items():
            matrix[code] = 0.0
            for target, place in places(variable, rows[category], f"{where}, row {category!r},").items():
                matrix[code, place] = rows[category][target]
        lacking = set(np.unique(column[column >= 0]).tolist()) - set(row_codes.values())
        if lacking:
            absent = [variable.categories[code] for code in sorted(lacking)]
            raise NotApplicable(f"transition of {variable.name!r} has no row for {listed(absent)}")
        return matrix

    def in_words(self, schema: Schema | None = None) -> str:
        if self.retention is None:
            return f"categories of {self.subject(self.transition)} are changed by chance (PRAM)"
        kept = ", their frequencies kept" if self.invariant else ""
        what = "the categories" if self.variables is None else f"the categories of {self.subject()}"
        return f"{written(1 - self.retention, 'share')} of {what} are changed by chance{kept} (PRAM)"

    def short(self) -> Phrase:
        return Phrase("PRAM", "PRAM", "" if self.retention is None else written(1 - self.retention, "share"))


def _weights_in_strata(name: str, categories: int, strata: StrataInParts, part: Microdata) -> Sums:
    """Count the records of a part that have each category in each stratum, and sum what they weigh."""
    column, number = part.columns[name], len(strata.sizes)
    there = np.flatnonzero(column >= 0)
    cell = strata.of(part)[there] * categories + column[there]
    shape = number, categories
    return Sums(
        {
            "records": np.bincount(cell, minlength=number * categories).reshape(shape),
            "weights": np.bincount(cell, part.weights()[there], minlength=number * categories).reshape(shape),
        }
    )
