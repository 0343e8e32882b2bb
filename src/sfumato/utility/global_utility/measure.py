"""Global data utility: what survives of every variable and every pair, whatever was done to the file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure, chosen
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement, Table
from sfumato.pair import Half, Pair
from sfumato.registry import catalogued
from sfumato.table.microdata import Floats
from sfumato.table.schema import Schema
from sfumato.utility.association import WEIGHTED, pair_tests
from sfumato.utility.global_utility import bivariate, multivariate, univariate, wording
from sfumato.utility.global_utility.bivariate import SURVEY_RECORDS, Changed, Normality, Pairs, sides
from sfumato.utility.global_utility.coarsening import Alternative, Deletion, comparisons_left, left, side_by_side
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.univariate import VariableUtility, Weights
from sfumato.utility.models.formula import Model, as_models

# A bar for long comparisons, shown where somebody asked for it and sits at a terminal

MIN_WORK_FOR_BAR = 50_000_000  # pairs times records from which a bar is worth it: about a second
_SHOWN: ContextVar[bool] = ContextVar("shown", default=False)


@contextmanager
def shown() -> Iterator[None]:
    """Show a bar for comparisons made inside this block: for commands, whose own bar does not run meanwhile.

    >>> with shown():
    ...     pass  # measure.evaluate(original, protected)
    """
    before = _SHOWN.set(True)
    try:
        yield
    finally:
        _SHOWN.reset(before)


@contextmanager
def bar(pairs: int, records: int) -> Iterator[Callable[[int], None] | None]:
    """Give what is to be told how many pairs are done so far, or None where nobody watches or the work is short."""
    if not _SHOWN.get() or pairs * records < MIN_WORK_FOR_BAR:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("testing pairs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=pairs)
        yield lambda done: progress.update(task, completed=done)


# From what is left of each variable, pair and model to one figure, its parts and its tables


@dataclass(frozen=True, eq=False)
class Score:
    """Everything that was compared, with the weight of the univariate half."""

    variables: Sequence[VariableUtility]
    pairs: Pairs
    outcomes: Sequence[Outcome]
    univariate_weight: float
    importance: Mapping[str, float] = field(default_factory=dict)  # what a variable counts, 1 where nothing is said
    fewer: Floats | None = None  # the utility of each pair with no more than ``RECORDS`` records; None: there are none

    @cached_property
    def alone(self) -> Floats:
        """The utility of each variable by itself; NaN where it cannot be told."""
        return np.array([np.nan if v.utility is None else v.utility for v in self.variables])

    @cached_property
    def together(self) -> Floats:
        """The mean utility of each variable's pairs."""
        return self._of_pairs(self.pairs.means)

    @cached_property
    def alone_by_effect(self) -> Floats:
        """As ``alone``, in the effect-size view."""
        return np.array([np.nan if v.effect is None else v.effect for v in self.variables])

    @cached_property
    def together_by_effect(self) -> Floats:
        """As ``together``, in the effect-size view."""
        return self._of_pairs(self.pairs.effect_means)

    def _of_pairs(self, means: Floats) -> Floats:
        """Take each variable's mean; the pairs of a removed one count 0."""
        if len(self.variables) == 1:
            return np.array([np.nan])  # a variable alone has no pairs, gone or not
        place = {name: i for i, name in enumerate(self.pairs.names)}
        return np.array([0.0 if v.removed else means[place[v.name]] for v in self.variables])

    def value(self) -> float:
        """Return the mean of the two halves, as they are weighed."""
        return self._joined(self.alone, self.together)

    def with_fewer(self) -> float | None:
        """Return the value if no more than ``RECORDS`` records had been tested; None where there are no more."""
        if self.fewer is None:
            return None
        alone = [v.utility_with(SURVEY_RECORDS) for v in self.variables]
        found = np.array([np.nan if utility is None else utility for utility in alone])
        return self._joined(found, self._of_pairs(self.pairs.mean(self.fewer)))

    @property
    def unknown(self) -> bool:
        """Whether of a variable or a pair that the original tells of it is not known how much is left."""
        return bool(self.pairs.unknown.any()) or any(v.unknown for v in self.variables)

    def interval(self) -> tuple[float, float]:
        """Return the least and the greatest value, whatever became of the variables and pairs of which it is not told.

        They count 0, and as much as they can be.
        """
        untold = np.array([v.unknown for v in self.variables])
        most = np.array([v.most for v in self.variables])
        ends = []
        for bound, pairs in ((0.0, self.pairs.least()), (most, self.pairs.most())):
            ends.append(self._joined(np.where(untold, bound, self.alone), self._of_pairs(self.pairs.mean(pairs))))
        return ends[0], ends[1]

    def multivariate(self) -> float:
        """Return the weighted mean over models and scales."""
        return float(np.average([o.utility for o in self.outcomes], weights=[o.weight for o in self.outcomes]))

    def reduction(self) -> float:
        """Return the global reduction coefficient of the variables removed: GRC = n'(n' - 1) / n(n - 1)."""
        kept, every = sum(not v.removed for v in self.variables), len(self.variables)
        return kept * (kept - 1) / (every * (every - 1)) if every > 1 else 1.0

    def parts(self, *, reduction: bool) -> dict[str, float]:
        """Name the parts that can be told."""
        found = {"univariate": self._mean(self.alone), "bivariate": self._mean(self.together)}
        if self.outcomes:
            found["multivariate"] = self.multivariate()
        if reduction:
            found["reduction"] = self.reduction()
        found |= {
            "effect size": self._joined(self.alone_by_effect, self.together_by_effect),
            "effect size, univariate": self._mean(self.alone_by_effect),
            "effect size, bivariate": self._mean(self.together_by_effect),
        }
        return {name: part for name, part in found.items() if not np.isnan(part)}

    def by_variable(self) -> dict[str, float]:
        """Return what is left of each variable, by itself and in its pairs."""
        halves = zip(self.variables, self.alone.tolist(), self.together.tolist(), strict=True)
        own = {variable.name: self._weighed(alone, together) for variable, alone, together in halves}
        return {name: figure for name, figure in own.items() if not np.isnan(figure)}

    def by_pair(self) -> dict[tuple[str, str], float]:
        """Return what is left of each pair that can be compared."""
        return {(r["first"], r["second"]): r["utility"] for r in self._pair_rows if r["utility"] is not None}

    def tables(self) -> Mapping[str, Table]:
        """Lay out every test."""
        means = [None if np.isnan(mean) else float(mean) for mean in self.together]
        tables: dict[str, Table] = {
            "variables": tuple(v.row(mean) for v, mean in zip(self.variables, means, strict=True)),
            "pairs": self._pair_rows,
        }
        if self.outcomes:
            tables["models"] = tuple(row for outcome in self.outcomes for row in outcome.rows())
        return tables

    @cached_property
    def _pair_rows(self) -> tuple[Mapping[str, Any], ...]:
        labels = {v.name: v.label for v in self.variables}
        lost = {v.name for v in self.variables if v.removed}
        gone = [pair for pair in combinations(labels, 2) if lost & set(pair)] if lost else []
        return (*self.pairs.rows(labels), *(bivariate.removed_row(*pair, labels) for pair in gone))

    def _joined(self, alone: Floats, together: Floats) -> float:
        """Take the means of both halves over the variables, and weigh them."""
        return self._weighed(self._mean(alone), self._mean(together))

    def _weighed(self, alone: float, together: float) -> float:
        """Weigh the two halves; where one cannot be told, the other stands alone."""
        halves = [(alone, self.univariate_weight), (together, 1 - self.univariate_weight)]
        told = [(half, weight) for half, weight in halves if not np.isnan(half)]
        if not told:
            return float("nan")
        total = sum(weight for _, weight in told)
        return sum(half * weight for half, weight in told) / total if total > 0 else told[0][0]

    def _mean(self, values: Floats) -> float:
        """Return the mean over the variables that can be told, each counting as much as it is worth."""
        told = ~np.isnan(values)
        if not told.any():
            return float("nan")
        if not self.importance:
            return float(values[told].mean())
        weights = np.array([self.importance.get(v.name, 1.0) for v in self.variables])
        return float(np.average(values[told], weights=weights[told]))


# The measure

CAVEAT = (
    "it rests on P values, which fall as records grow: compare protections of one file, not files, and read it beside "
    "its effect-size view"
)
WITH_FEWER_RECORDS = f"with {bivariate.SURVEY_RECORDS:,} records"


@catalogued(
    MeasureAbout(
        title="Global data utility (GDU)",
        source="Kocar (2018), A universal global measure of univariate and bivariate data utility for anonymised "
        "microdata, CSRM & SRC Methods Paper 4/2018, section 3",
        purpose="utility",
        better="higher",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        weights=True,
        paired=False,
        parts="columns",
        missing="each test uses the values present (of pairs, the records with both); the shares missing before and "
        "after stand in the table of variables, and a variable with none left counts 0; deletion='charged' multiplies "
        "each figure by the share of what was there that still is",
        caveat=f"{CAVEAT}; by the paper's own rule it does not see that values were deleted (deletion='charged' does)",
        formula="GDU = w mean_j(LDUuni_j) + (1 - w) mean_j(LDUbiv_j),   w = univariate_weight, j by importance\n"
        "LDUuni_j = (1 - exp(-14 P_j)) * what recoding left of j;   P_j of K-S or chi-squared\n"
        "LDUbiv_j = mean over the pairs with j of: 1 if significant in neither table, 0 if in one only or\n"
        "           reversed, else 1 - |a - b| / max(a, b),  a, b the squared V, epsilon, eta, rho or r\n"
        "deletion='charged': LDUuni_j times values left; merged: pairs of records that differ, after/before\n"
        "    a pair times records with both left, and root of the pairs that differ in both, after/before\n"
        "effect size: variables 1 - distance;  pairs of j  1 - sum |a - b| / max(sum max(a, b), 0.01 each)\n"
        "models, scales: (1 - v) GDU + v mean(1 - |a - b| / max(a, b)),  R^2, beta^2, odds ratios, alphas",
        reading="1 is the file as it was, 0 one in which nothing can be relied on. A variable whose distributions "
        "differ with P = 0.05 counts one half, with P = 0.2 already 0.94. In a large file every small difference is "
        'significant and counts against it: the part "with 1,000 records" is what the same differences would score in '
        'a usual survey, and what lies between is the number of records speaking. The part "effect size" hardly '
        "depends on that number and is the one to compare between files; it is near 1/2 if all columns were shuffled. "
        "A recoding that cannot be traced counts with what the numbers of its values leave at most, and the parts "
        '"lowest possible" and "highest possible" say how far the value may be off. '
        "By the paper's rule half of all cells deleted at random cost about a tenth; with "
        "deletion='charged' they leave about a third. By variable and by pair it says what may still be analysed, and "
        "``statement`` says it in words for users.",
    )
)
class GlobalDataUtility(Measure):
    """What a file is still good for: the mean utility of every variable and of every pair of variables (Kocar).

    A variable keeps what a test of its two distributions says, times what recoding left of it; a pair keeps 1 where its
    association is significant in neither table, 0 where in one or reversed, else how near its strength stayed.
    ``deletion="charged"`` takes deleted and merged values for information lost, ``models`` and ``scales`` add what
    analysts fit. docs/how-to/global-data-utility.md has the rules of each step, every parameter, and what differs from
    print.

    >>> import pyarrow as pa
    >>> x = pa.table({"age": [20.0, 31.0, 45.0, 52.0, 68.0], "sex": ["f", "m", "f", "m", "f"]})
    >>> round(GlobalDataUtility().evaluate(x, x).value, 6)
    1.0
    """

    threshold: float = 0.05
    univariate_weight: float = field(default=0.5, kw_only=True)
    importance: Mapping[str, float] | None = field(default=None, kw_only=True)
    recoding: Alternative = field(default="heterogeneity", kw_only=True)
    normality: Normality = field(default="original", kw_only=True)
    changed_kinds: Changed = field(default="left open", kw_only=True)
    deletion: Deletion = field(default="ignored", kw_only=True)
    reduction: bool = field(default=False, kw_only=True)
    models: str | Model | Sequence[str | Model] = field(default=(), kw_only=True)
    scales: Sequence[str] | Sequence[Sequence[str]] = field(default=(), kw_only=True)
    multivariate_weight: float = field(default=1 / 3, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "threshold")
        for name in ("univariate_weight", "multivariate_weight"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
                raise parameters.refuse(self, f"{name} must be in [0, 1]; got {value!r}")
            object.__setattr__(self, name, float(value))
        parameters.by_variable(self, "importance", '{"income": 3, "region": 0.5}')
        for name, worth in (self.importance or {}).items():
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 < worth < np.inf:
                raise parameters.refuse(self, f"the importance of {name!r} must be a number above 0; got {worth!r}")
        parameters.one_of(self, "recoding", get_args(Alternative))
        parameters.one_of(self, "normality", get_args(Normality))
        parameters.one_of(self, "changed_kinds", get_args(Changed))
        parameters.one_of(self, "deletion", get_args(Deletion))
        if self.deletion == "charged":
            self.known_as(caveat=CAVEAT)
        parameters.one_of(self, "reduction", (True, False))
        given: Any = self.models
        if given:
            listed = tuple(given) if isinstance(given, tuple | list) else (given,)
            object.__setattr__(self, "models", listed)
            as_models(self, listed)
        object.__setattr__(self, "scales", self._scales())

    def _scales(self) -> tuple[tuple[str, ...], ...]:
        """Read one list of items or several."""
        given: Any = self.scales
        try:
            listed = (given,) if given and isinstance(given[0], str) else given
            scales = tuple(tuple(items) for items in listed)
        except TypeError:
            raise parameters.refuse(self, f"a scale is a list of items; got {given!r}") from None
        for items in scales:
            if len(set(items)) < 2 or len(set(items)) < len(items) or not all(isinstance(i, str) for i in items):
                raise parameters.refuse(self, f"a scale is a list of two or more different items; got {items!r}")
        return scales

    def _needed(self) -> set[str]:
        """Name the variables of models and scales."""
        models = as_models(self, self.models) if self.models else ()
        return {*(item for items in self._scales() for item in items), *(name for m in models for name in m.variables)}

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names = chosen(self, pair.original.schema)
        there = tuple(name for name in names if name in pair.protected.schema)
        if not there:
            raise NotApplicable(f"the protected table has no comparable {', '.join(names)}")
        strangers = [name for name in self.importance or () if name not in names]
        if strangers:
            raise NotApplicable(f"importance names {strangers[0]!r}, which is not one of {', '.join(names)}")
        original = pair.original  # keeps what depends on it alone, whatever is gathered and put in order below
        gathered = pair.gathered({*names, *self._needed()})
        columns = side_by_side(gathered)
        outcomes = self._multivariate(gathered, columns, original.schema)
        weights, said = _weights(columns)
        still = left(columns, there) if self.deletion == "charged" else None
        variables = [
            univariate.compared(columns, original, name, self.recoding, weights, still.alone[name] if still else None)
            if name in there
            else univariate.removed(original, name)
            for name in names
        ]
        charge = None if still is None else (still.together, comparisons_left(columns, original, there))
        pairs, fewer, of_pairs = self._pairs(columns, original, there, weights, charge)
        score = Score(variables, pairs, outcomes, self.univariate_weight, self.importance or {}, fewer)
        records = max(len(pair.original), len(pair.protected))
        return self._measured(
            score,
            (
                *wording.one_sided_notes(pair, names, asked=self.variables is not None, reduction=self.reduction),
                *said,
                *of_pairs,
                *wording.missing_notes(variables, charged=still is not None),
                *wording.untold_notes(variables, pairs),
                *wording.size_notes(variables, pairs, records, self.threshold),
                *(f"{o.name}: 0, for {o.note}" for o in outcomes if o.note),
            ),
        )

    def _pairs(
        self,
        pair: Pair,
        original: Half,
        names: tuple[str, ...],
        weights: Weights | None,
        charge: tuple[Floats, Floats] | None,
    ) -> tuple[Pairs, Floats | None, list[str]]:
        """Compare every pair of variables; the tests of the original are made once for all candidates.

        The second is what the pairs would score with fewer records, where there are more.
        """
        found, said = sides(pair, original, names, self.normality)
        records = max(len(pair.original), len(pair.protected))
        with bar(len(names) * (len(names) - 1), records) as progress:
            before = original.keep(
                ("tests of pairs", names, weights is not None),
                lambda: pair_tests(
                    [side.before for side in found],
                    weights=None if weights is None else weights.before,
                    progress=progress,
                ),
            )
            pairs = bivariate.compared(found, before, self.threshold, weights, progress, self.changed_kinds, charge)
        if records <= bivariate.SURVEY_RECORDS:
            return pairs, None, said
        return pairs, bivariate.pair_utilities(found, pairs, self.threshold), said

    def _multivariate(self, pair: Pair, columns: Pair, schema: Schema) -> list[Outcome]:
        models = as_models(self, self.models) if self.models else ()
        found = multivariate.models_compared(models, pair.tables(), schema) if models else []
        return found + multivariate.scales_compared(self._scales(), columns.tables())

    def _measured(self, score: Score, said: tuple[str, ...]) -> Measurement:
        value, parts = self._whole(score, score.value()), score.parts(reduction=self.reduction)
        if "bivariate" not in parts:
            said = (*said, "no pair can be compared: the value is that of the variables alone")
        if score.unknown:
            ends = [self._whole(score, end) for end in score.interval()]
            parts |= dict(zip(("lowest possible", "highest possible"), ends, strict=True))
            said = (*said, wording.interval_note(score.variables, score.pairs, value, ends))
        fewer = score.with_fewer()
        if fewer is not None:
            parts[WITH_FEWER_RECORDS] = self._whole(score, fewer)
            said = (*said, wording.fewer_note(value, parts[WITH_FEWER_RECORDS]))
        return self.measurement(
            value,
            parts=parts,
            by_variable=score.by_variable(),
            by_pair=score.by_pair(),
            tables=score.tables(),
            statement=wording.statement(score.variables, score.pairs, score.outcomes),
            notes=said,
        )

    def _whole(self, score: Score, value: float) -> float:
        """Add what models and scales say, and the reduction by variables removed."""
        if score.outcomes:
            value = (1 - self.multivariate_weight) * value + self.multivariate_weight * score.multivariate()
        return value * score.reduction() if self.reduction else value


def _weights(pair: Pair) -> tuple[Weights | None, list[str]]:
    """Return the weights of both tables, None where there are none or all are equal."""
    tables = pair.tables()
    named = [table.schema.weight is not None for table in tables]
    if not any(named):
        return None, []
    if not all(named):
        which = "protected table" if named[0] else "original"
        return None, [f"survey weights are left aside in both tables: the {which} names none"]
    before, after = (table.weights() for table in tables)
    if all(float(w.min()) == float(w.max()) for w in (before, after)):
        return None, []
    return Weights(before, after), [
        "survey weights enter the distributions (K-S by Kish's effective number of records, chi-squared corrected "
        f"by Rao and Scott) and, of the tests of pairs, {', '.join(WEIGHTED[:-1])} and {WEIGHTED[-1]}; the rank "
        "tests have no established weighted form and are unweighted"
    ]
