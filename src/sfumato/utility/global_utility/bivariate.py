"""What is left of the association of each pair of variables: the three steps of section 3.4 and Figure 2."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.stretches import same_values
from sfumato.pair import Half, Pair
from sfumato.table.microdata import Floats
from sfumato.table.recoding import Recoding
from sfumato.utility.association import REASONS, TESTS, Column, PairTests, Scale, normal, pair_tests, turned
from sfumato.utility.global_utility.univariate import Weights

# The variables laid out for the tests of pairs; what is known of the original's columns is kept for all candidates

Normality = Literal["original", "each"]
NORMAL = 0.05  # level of the test of normality


@dataclass(frozen=True, eq=False)
class Side:
    """One variable as the tests take it: on its own footing in each table, and on the common one for directions."""

    name: str
    before: Column
    after: Column  # the same object as ``before`` where the protected table has the same values
    shared: tuple[Column, Column] | None  # None where which category became which cannot be told

    @property
    def untouched(self) -> bool:
        """Whether the protected table has the values of the original, record by record."""
        return self.after is self.before


def sides(pair: Pair, original: Half, names: Iterable[str], normality: Normality) -> tuple[list[Side], list[str]]:
    """Lay out variables of two tables in memory with their places in Table 1, and note what should be known of them.

    ``original`` keeps what depends on the original alone.
    """
    found, other = [], []
    for name in names:
        before, footing = _original(pair, original, name), pair.footing(name)
        kind = pair.original.schema[name].kind
        if kind == footing.kind and _untouched(before.values, footing):
            found.append(Side(name, before, before, (before, before)))
            continue
        if normality == "original" and kind == footing.kind:
            after = before.scale
            if after == "normal" and _scale(footing.kind, footing.protected, original.aside) != after:
                other.append(name)
        else:
            after = _scale(footing.kind, footing.protected, original.aside)
        found.append(_side(before, footing, after, original.aside))
    said = f"normal in the original only, tested as if in both tables: {', '.join(other)}"
    return found, [said] if other else []


def _original(pair: Pair, half: Half, name: str) -> Column:
    """Return a variable of the original as the tests take it."""
    variable, column = pair.original.schema[name], pair.original.column(name)
    kept: Column = half.keep(
        ("column of the tests of pairs", name),
        lambda: Column(name, _scale(variable.kind, column, half.aside), column, len(variable.categories), half.aside),
    )
    return kept


def _side(before: Column, footing: Recoding, scale: Scale, aside: Path | None) -> Side:
    name, count = before.name, len(footing.categories)
    after = Column(name, scale, footing.protected, count, aside)
    if "nominal" not in (before.scale, scale):
        return Side(name, before, after, (before, after))
    if not footing.comparable:
        return Side(name, before, after, None)
    as_before = (before.scale, before.count) == (scale, count) and footing.original is before.values
    common = before if as_before else Column(name, scale, footing.original, count, aside)
    return Side(name, before, after, (common, after))


def _untouched(column: NDArray[Any], footing: Recoding) -> bool:
    """Tell whether the protected column is the original's, with codes that mean the same."""
    if not footing.comparable or not _same(column, footing.protected):
        return False
    return footing.original is column or _same(column, footing.original)


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one is other or same_values(one, other)


def _scale(kind: str, column: NDArray[Any], aside: Path | None) -> Scale:
    """Place a variable among the four types of Table 1."""
    if kind == "nominal":
        return "nominal"
    if kind == "ordinal":
        return "ordinal"
    return "normal" if normal(column, aside)[1] >= NORMAL else "skewed"


# The three steps

Changed = Literal["left open", "same test"]  # a variable that became classes, beside a nominal one
NUMBERS = ("skewed", "normal")
SPARSEST = 0.1  # records per cell: below it a table has next to none with two, and chi-squared says nothing
MIN_RECORDS_PER_CELL = 5.0  # records per cell below which its P is rough
MIN_SQUARED_COEFFICIENT = 0.01  # of squared coefficients: one hundredth of the variance, Cohen's small r of 0.1
AS_BEFORE = 0.9  # squared coefficients within a tenth of the larger one are called the same
CORRELATIONS = tuple(TESTS.index(name) for name in ("Spearman", "Pearson"))
SQUARED = {
    "chi-squared": "Cramér's V",
    "Kruskal-Wallis": "epsilon squared",
    "ANOVA": "eta squared",
    "Spearman": "Spearman's rho",
    "Pearson": "Pearson's r",
}
OUTCOMES = (
    "as before",
    "no association in either",
    "weaker",
    "stronger",
    "association lost",
    "association introduced",
    "direction reversed",
    "pattern changed",
    "pattern unknown",
    "no longer testable",
    "not comparable",
    "removed",
)
(
    SAME,
    NEITHER,
    WEAKER,
    STRONGER,
    LOST,
    INTRODUCED,
    REVERSED,
    REARRANGED,
    UNTRACED,
    UNTESTABLE,
    INCOMPARABLE,
    REMOVED,
) = range(len(OUTCOMES))
# what the paper calls a reversed direction: of unordered categories other ones go together, for they have no direction
TURNED = (REVERSED, REARRANGED)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every pair of the variables that both tables have: tests, outcome, utility.

    The utility is NaN where nothing can be told, and where all but the pattern is told what it is at most.
    """

    names: tuple[str, ...]
    before: PairTests
    after: PairTests
    outcome: NDArray[np.int8]
    utility: Floats
    effect: Floats  # how far the squared coefficients lie apart, those of opposite directions with opposite signs
    untold: Mapping[int, str]  # what cannot be told of a pair and why, by its place
    thin: NDArray[np.bool_]  # tables of few records per cell
    strengths: tuple[Floats, Floats]  # the squared coefficients of both tables, less what chance alone gives
    unknown: NDArray[np.bool_]  # the original tells, and how much of it the protected table says cannot be told
    alike: NDArray[np.bool_]  # whether the two tables have coefficients of one kind
    left: Floats | None = None  # the share of the records with both that still have both; None: not charged
    compared: Floats | None = None  # what recoding left of the comparisons of records; None: not charged

    def __len__(self) -> int:
        return len(self.utility)

    @cached_property
    def worth(self) -> Floats:
        """The utility of each pair, times what is left of it where deletion is charged."""
        return self.charged(self.utility)

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        """Whether both variables of a pair have an order in both tables, so that their association has a direction."""
        return _correlated(self.before, self.after)

    def charged(self, utility: Floats) -> Floats:
        """Multiply utilities of the pairs by what is left of their records and comparisons, where that is charged."""
        return utility if self.charge is None else utility * self.charge

    @cached_property
    def charge(self) -> Floats | None:
        """What deletion and recoding left of each pair; None: it is not charged."""
        return None if self.left is None or self.compared is None else self.left * self.compared

    def least(self) -> Floats:
        """Return the utility of each pair with the unknown counted 0."""
        return np.where(self.unknown, 0.0, self.worth)

    def most(self) -> Floats:
        """Return the utility of each pair with the unknown counted as much as it can be."""
        return np.where(self.unknown & np.isnan(self.utility), self.charged(np.ones(len(self))), self.worth)

    @cached_property
    def means(self) -> Floats:
        """The mean utility of each variable's pairs; NaN where it has none that can be compared."""
        return self.mean(self.worth)

    @cached_property
    def effect_means(self) -> Floats:
        """What is left of each variable's associations: one minus their differences as a share of the associations.

        Both are sums over the variable's pairs of squared coefficients less what chance alone gives, of each pair the
        larger one. Where they come to less than a small association for each pair, the share is of that.
        """
        told, (a, b) = self.alike & ~np.isnan(self.utility), self.strengths
        apart = self.sums(np.where(np.isin(self.outcome, TURNED), a + b, np.abs(a - b)), told)
        number = self.sums(np.ones(len(self)), told)
        there = np.maximum(self.sums(np.maximum(a, b), told), MIN_SQUARED_COEFFICIENT * number)
        kept = np.where(number > 0, 1 - np.minimum(apart / np.where(number > 0, there, 1.0), 1.0), np.nan)
        return kept if self.charge is None else kept * self.mean(np.where(told, self.charge, np.nan))

    def mean(self, values: Floats) -> Floats:
        """Return the mean over each variable's pairs of what is not NaN."""
        told = ~np.isnan(values)
        sums, counts = self.sums(values, told), self.sums(np.ones(len(self)), told)
        return np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan)

    def sums(self, values: Floats, told: NDArray[np.bool_]) -> Floats:
        """Add up the values of each variable's pairs."""
        sums = np.zeros(len(self.names))
        for end in (self.before.first, self.before.second):
            np.add.at(sums, end[told], values[told])
        return sums

    def ends(self, place: int) -> tuple[str, str]:
        """Name the two variables of a pair."""
        return self.names[self.before.first[place]], self.names[self.before.second[place]]

    def reason(self, place: int) -> str:
        """Say what became of a pair."""
        said = OUTCOMES[self.outcome[place]]
        return f"{said}: {self.untold[place]}" if place in self.untold else said

    def test(self, place: int) -> str:
        """Name the test of a pair: both, where it is not the same in both tables."""
        before, after = TESTS[self.before.test[place]], TESTS[self.after.test[place]]
        return before if before == after else f"{before}, then {after}"

    def rows(self, labels: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Lay out the table of pairs."""
        figures = {
            "p_before": self.before.p,
            "p_after": self.after.p,
            "before": self.before.coefficient,
            "after": self.after.coefficient,
            "utility": self.worth,
            "effect": self.effect,
            "left": np.full(len(self), np.nan) if self.left is None else self.left,
            "compared": np.full(len(self), np.nan) if self.compared is None else self.compared,
        }
        told = {
            name: [None if value != value else value for value in found.tolist()] for name, found in figures.items()
        }
        return [self._row(place, labels, {name: told[name][place] for name in told}) for place in range(len(self))]

    def _row(self, place: int, labels: Mapping[str, str], figures: Mapping[str, float | None]) -> Mapping[str, Any]:
        first, second = self.ends(place)
        outcome = self.outcome[place]
        judged = outcome in (SAME, WEAKER, STRONGER) and self.ordered[place]
        return {
            "first": first,
            "second": second,
            "first_label": labels[first],
            "second_label": labels[second],
            "test": self.test(place),
            "p_before": figures["p_before"],
            "p_after": figures["p_after"],
            "before": figures["before"],
            "after": figures["after"],
            "direction": "reversed" if outcome == REVERSED else "same" if judged else "",
            "utility": figures["utility"],
            "effect": figures["effect"],
            "records_left": figures["left"],
            "comparisons_left": figures["compared"],
            "reason": self.reason(place),
            "outcome": OUTCOMES[outcome],
        }


def removed_row(first: str, second: str, labels: Mapping[str, str]) -> Mapping[str, Any]:
    """Lay out the row of a pair of which the protected table lacks a variable."""
    names = {"first": first, "second": second, "first_label": labels[first], "second_label": labels[second]}
    nothing = dict.fromkeys(("p_before", "p_after", "before", "after"))
    return {
        **names,
        "test": "",
        **nothing,
        "direction": "",
        "utility": 0.0,
        "effect": None,
        "records_left": None,
        "comparisons_left": None,
        "reason": OUTCOMES[REMOVED],
        "outcome": OUTCOMES[REMOVED],
    }


def compared(
    sides: Sequence[Side],
    before: PairTests,
    threshold: float,
    weights: Weights | None,
    progress: Callable[[int], None] | None,
    changed: Changed = "left open",
    charge: tuple[Floats, Floats] | None = None,
) -> Pairs:
    """Test every pair in the protected table too, and follow the three steps: significance, direction, strength.

    ``before`` holds the tests of the original. Pairs of variables that are as they were, with weights that are as they
    were, keep them. ``charge`` is what is left of each pair's records, and of their comparisons, where deletion is
    charged.
    """
    of_before, of_after = (None, None) if weights is None else (weights.before, weights.after)
    same = np.array([s.untouched and (weights is None or weights.alike) for s in sides], dtype=bool)
    ticks = None if progress is None else lambda done: progress(len(before.p) + done)
    after = pair_tests([s.after for s in sides], weights=of_after, progress=ticks, known=(before, same))
    outcome = np.full(len(before.p), INCOMPARABLE, dtype=np.int8)
    utility = np.full(len(before.p), np.nan)
    per_cell = _records_per_cell([s.before for s in sides], before)
    silent = _untold(before, per_cell)
    unlike = _changed(sides, before, after, changed)
    blind = _blind(sides, before)
    told = ~_places(silent, len(before.p))
    gone = told & (after.reason > 0)  # the original tells, the protected table no longer does
    outcome[gone], utility[gone] = UNTESTABLE, 0.0
    alike = gone | ~_places(unlike, len(before.p))
    open_ = told & ~gone

    # step 1: significance
    seen, seen_after = before.p < threshold, after.p < threshold
    for found, result, worth in (
        (~seen & ~seen_after, NEITHER, 1.0),
        (seen & ~seen_after, LOST, 0.0),
        (~seen & seen_after, INTRODUCED, 0.0),
    ):
        outcome[open_ & found], utility[open_ & found] = result, worth
    # step 2: direction; coefficients of two kinds are left open from here on (section 3.4.3)
    both = open_ & alike & seen & seen_after
    hidden = both & _places(blind, len(before.p))
    moved = both & ~hidden & ~(same[before.first] & same[before.second])
    opposite = _opposite(sides, before, after, moved, (of_before, of_after))
    ordered = _correlated(before, after)
    outcome[opposite & ordered], outcome[opposite & ~ordered] = REVERSED, REARRANGED
    utility[opposite] = 0.0
    # step 3: strength
    both &= ~opposite
    a, b = before.squared, after.squared
    larger = np.maximum(a, b)
    ratio = 1 - np.abs(a - b) / np.where(larger > 0, larger, 1.0)
    utility[both] = ratio[both]
    outcome[both] = np.where(ratio >= AS_BEFORE, SAME, np.where(b < a, WEAKER, STRONGER))[both]
    outcome[hidden] = UNTRACED
    effect = np.where(opposite, a + b, np.abs(a - b))
    effect[(outcome == INCOMPARABLE) | hidden | ~alike] = np.nan
    thin = open_ & (np.minimum(per_cell, _records_per_cell([s.after for s in sides], after)) < MIN_RECORDS_PER_CELL)
    unknown = hidden | told & (outcome == INCOMPARABLE)
    if charge is not None:  # of what cannot be traced it is known only what is left of the comparisons at most
        unknown |= open_ & _places(blind, len(before.p))
    reasons = {place: why for place, why in {**unlike, **blind}.items() if unknown[place]}
    reasons |= {int(place): REASONS[after.reason[place]] for place in np.flatnonzero(gone)}
    names = tuple(s.name for s in sides)
    strengths = _strengths([s.before for s in sides], before), _strengths([s.after for s in sides], after)
    untold = silent | reasons
    return Pairs(
        names, before, after, outcome, utility, effect, untold, thin, strengths, unknown, alike, *(charge or ())
    )


def _correlated(before: PairTests, after: PairTests) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isin(before.test, CORRELATIONS) & np.isin(after.test, CORRELATIONS)
    return found


def _places(found: Mapping[int, str], size: int) -> NDArray[np.bool_]:
    flags = np.zeros(size, dtype=bool)
    flags[list(found)] = True
    return flags


def _untold(before: PairTests, per_cell: Floats) -> dict[int, str]:
    """Say of which pairs the original tells nothing, and why."""
    sparse = f"fewer than {SPARSEST:g} records per cell of the table, too sparse for a test"
    untold = {int(place): sparse for place in np.flatnonzero(per_cell < SPARSEST)}
    return untold | {
        int(place): f"in the original, {REASONS[before.reason[place]]}" for place in np.flatnonzero(before.reason > 0)
    }


def _blind(sides: Sequence[Side], before: PairTests) -> dict[int, str]:
    """Say of which pairs the pattern cannot be told, for which value became which is not known."""
    blind = np.array([s.shared is None for s in sides], dtype=bool)
    found: dict[int, str] = {}
    for place in np.flatnonzero(blind[before.first] | blind[before.second]):
        end = before.first[place] if blind[before.first[place]] else before.second[place]
        found[int(place)] = f"which value of {sides[end].name} became which cannot be told"
    return found


def _changed(sides: Sequence[Side], before: PairTests, after: PairTests, changed: Changed) -> dict[int, str]:
    """Say of which pairs the coefficients do not compare, and why (section 3.4.3)."""
    found: dict[int, str] = {}
    differ = (before.test != after.test) & ~_correlated(before, after)
    for place in np.flatnonzero(differ):
        one, other = (SQUARED[TESTS[tests.test[place]]] for tests in (before, after))
        found[int(place)] = f"a variable changed its type, and {one} is no {other}"
    if changed == "left open":
        classes = np.array([s.before.scale in NUMBERS and s.after.scale not in NUMBERS for s in sides], dtype=bool)
        grouped = before.test == TESTS.index("Kruskal-Wallis")
        for place in np.flatnonzero(grouped & (classes[before.first] | classes[before.second])):
            end = before.first[place] if classes[before.first[place]] else before.second[place]
            found.setdefault(
                int(place),
                f"{sides[end].name} became classes, and the paper leaves open how to compare its strength with a "
                "nominal variable (changed_kinds='same test' does)",
            )
    return found


def _records_per_cell(columns: Sequence[Column], tests: PairTests) -> Floats:
    """Return how many records a cell of each pair's contingency table holds in the mean."""
    used = np.array([column.used if column.scale == "nominal" else 1 for column in columns], dtype=np.float64)
    cells = used[tests.first] * used[tests.second]
    table = tests.test == TESTS.index("chi-squared")
    return np.where(table, tests.count / np.maximum(cells, 1.0), np.inf)


def _strengths(columns: Sequence[Column], tests: PairTests) -> Floats:
    """Return the squared coefficients less what they are by chance alone in the mean, which falls with the records.

    Without any association V^2 is (k - 1) / n in the mean, k the larger number of categories; epsilon and eta squared
    (k - 1) / (n - 1), rho^2 and r^2 1 / (n - 1). What cannot be tested has no strength.
    """
    used = np.array([column.used if column.scale == "nominal" else 2 for column in columns], dtype=np.float64)
    free = np.maximum(used[tests.first], used[tests.second]) - 1
    table = tests.test == TESTS.index("chi-squared")
    chance = free / np.maximum(tests.effective - ~table, 1.0)
    found: Floats = np.maximum(np.nan_to_num(tests.squared) - chance, 0.0)
    return found


def _opposite(
    sides: Sequence[Side],
    before: PairTests,
    after: PairTests,
    both: NDArray[np.bool_],
    weights: tuple[Floats | None, Floats | None],
) -> NDArray[np.bool_]:
    """Tell which pairs have opposite directions: by the sign, or by sum|MSD_o - MSD_p| - sum|MSD_o| > 0 of 3.4.1.

    As printed, that also exceeds 0 where an association has more than doubled in its old direction. So it must exceed 0
    with either table in the original's place: sum|MSD_o - MSD_p| is then more than both sum|MSD_o| and sum|MSD_p|.
    """
    correlated = _correlated(before, after)
    signs = np.sign(before.coefficient) * np.sign(after.coefficient)
    opposite: NDArray[np.bool_] = both & correlated & (signs < 0)
    shared = [s.shared or (s.before, s.after) for s in sides]
    tables = [s for s, _ in shared], [s for _, s in shared]
    places = np.flatnonzero(both & ~correlated)
    for one, other in ((0, 1), (1, 0)):
        if len(places):
            pairs = np.column_stack([before.first[places], before.second[places]])
            found = turned(tables[one], tables[other], pairs, weights=(weights[one], weights[other]))
            places = places[found > 0]
    opposite[places] = True
    return opposite


# What the number of records alone does to the score: the same differences, tested with fewer records

SURVEY_RECORDS = 1_000  # of a usual survey


def pair_utilities(sides: Sequence[Side], pairs: Pairs, threshold: float, records: int = SURVEY_RECORDS) -> Floats:
    """Return the utility of each pair if its coefficients came from no more than so many records.

    Fewer pairs are significant then: what is in neither table counts 1, what is in one only 0, the others as before.
    """
    seen = p_with(pairs.before, [s.before for s in sides], records) < threshold
    seen_after = p_with(pairs.after, [s.after for s in sides], records) < threshold
    judged = (pairs.unknown | ~np.isnan(pairs.utility)) & (pairs.after.reason == 0)
    found = pairs.utility.copy()
    found[judged & ~seen & ~seen_after] = 1.0
    found[judged & (seen != seen_after)] = 0.0
    return pairs.charged(found)


def p_with(tests: PairTests, columns: Sequence[Column], records: int) -> Floats:
    """Return the P values that these coefficients would have with no more than so many records, never smaller ones.

    The degrees of freedom are those of all categories that occur in a variable.
    """
    from scipy.special import betainc, chdtrc, fdtrc

    used = np.array([column.used if column.scale == "nominal" else 2 for column in columns], dtype=np.float64)
    freedom = np.maximum((used[tests.first] - 1) * (used[tests.second] - 1), 1.0)
    share = np.clip(np.nan_to_num(tests.squared), 0.0, 1.0)
    p = tests.p.copy()
    for name in TESTS[:3]:
        where = (tests.test == TESTS.index(name)) & (tests.effective > records)
        free, part = freedom[where], share[where]
        if name == "chi-squared":
            found = chdtrc(free, tests.statistic[where] * records / tests.effective[where])
        elif name == "Kruskal-Wallis":
            found = chdtrc(free, (records - 1) * part)
        else:
            with np.errstate(divide="ignore"):
                found = fdtrc(
                    free, np.maximum(records - free - 1, 1.0), part / free / ((1 - part) / (records - free - 1))
                )
        p[where] = np.fmax(p[where], found)
    where = np.isin(tests.test, CORRELATIONS) & (tests.effective > records)
    p[where] = np.fmax(p[where], betainc(records / 2 - 1, 0.5, 1 - share[where]))
    return p
