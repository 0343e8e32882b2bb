"""Global data utility: what survives of every variable and every pair, whatever was done to the file."""

from collections.abc import Sequence
from dataclasses import field
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement, chosen
from sfumato.data.microdata import Floats, Microdata
from sfumato.data.recoding import Recoding, recoding
from sfumato.errors import NotApplicable
from sfumato.utility.association import WEIGHTED, Scale, normal
from sfumato.utility.global_utility import bivariate, multivariate, univariate, wording
from sfumato.utility.global_utility.bivariate import Changed, Pairs, Side
from sfumato.utility.global_utility.coarsening import Alternative
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.progress import bar
from sfumato.utility.global_utility.univariate import VariableUtility, Weights
from sfumato.utility.models.model import Model, as_models

Normality = Literal["original", "each"]
NORMAL = 0.05  # level of the test of normality
MANY = 50  # records among which a value that never repeats is worth a word


@catalogued(
    MeasureAbout(
        title="Global data utility (GDU)",
        source="Kocar (2018), A universal global measure of univariate and bivariate data utility for anonymised "
        "microdata, CSRM & SRC Methods Paper 4/2018, section 3",
        purpose="utility",
        better="higher",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal"),
        weights=True,
        paired=False,
        missing="each test uses the values present (of pairs, the records with both); the shares missing before and "
        "after stand in the table of variables, and a variable with none left counts 0",
        caveat="it rests on P values, which fall as records grow: compare protections of one file, not files, and read "
        "it beside its effect-size view",
        formula="GDU = w mean_j(LDUuni_j) + (1 - w) mean_j(LDUbiv_j),   w = univariate_weight\n"
        "LDUuni_j = (1 - exp(-14 P_j)) * what recoding left of j;   P_j of K-S or chi-squared\n"
        "LDUbiv_j = mean over the pairs with j of: 1 if significant in neither table, 0 if in one only or\n"
        "           reversed, else 1 - |a - b| / max(a, b),  a, b the squared V, epsilon, eta, rho or r\n"
        "with models or scales, v = multivariate_weight:\n"
        "           (1 - v) GDU + v mean of 1 - |a - b| / max(a, b),  a, b the R^2 or alpha",
        reading="1 is the file as it was, 0 one in which nothing can be relied on. A variable whose distributions "
        "differ with P = 0.05 counts one half, with P = 0.2 already 0.94. In a large file every small difference is "
        'significant and counts against it; the part "effect size" does not depend on the number of records and is '
        "the one to compare between files. By variable and by pair it says what may still be analysed, and "
        "``statement`` says it in words for users.",
    )
)
class GlobalDataUtility(Measure):
    """What a file is still good for: the mean utility of every variable and of every pair of variables (Kocar).

    GDU = w mean(LDUuni) + (1 - w) mean(LDUbiv), w the ``univariate_weight``. Each variable: LDUuni = 1 - exp(-14 P), P
    of the two-sample Kolmogorov-Smirnov test (numeric) or the chi-squared test of homogeneity (ordinal, nominal); times
    what recoding left, where values were put together (found by ``sfumato.data.recoding``): for merged categories the
    share of comparisons still possible, for numbers the alternative that ``recoding`` names. Each pair: the test by
    Table 1 in both tables, then significance at ``threshold`` (in neither table: 1; in one: 0), direction (reversed: 0)
    and strength, 1 - |a - b| / max(a, b) of the squared coefficients (V, epsilon, eta, rho, r). A variable's LDUbiv is
    the mean of its pairs.

    ``recoding``: "heterogeneity" (mean distance to the class's mean), "allocation" (records nearer to another class) or
    "comparisons" (counts the different values: next to nothing is left of a continuous variable in classes).
    ``normality="original"``: a numeric variable counts as normal in both tables if the Lilliefors test at 5 % does not
    reject it in the original; "each" asks it of each table, and a nominal partner's pair whose verdict changes is then
    not comparable. ``changed_kinds="left open"``: a numeric variable put into classes is compared with variables that
    are at least ordinal, by rho squared, and not with nominal ones, as section 3.4.3 has it; "same test" compares those
    too where both tables take the Kruskal-Wallis test, that is, where the numbers were not normal.
    ``reduction=True`` multiplies by GRC, n'(n' - 1) / n(n - 1), for variables removed.

    Two things differ from print. The sums that show the direction of a pair with a nominal variable are taken per
    record, so that a file of another size is not a reversed one; and they must speak of reversal with either table in
    the original's place, for as printed an association that more than doubles in its old direction counts as reversed.

    A removed variable and its pairs count 0, but its pairs do not lower the means of the others (the paper's linear
    decrease; GRC is the further penalty). What can be tested in the original but no longer in the protected table
    counts 0; pairs whose coefficients are not comparable (section 3.4.3, or not testable in the original) are left out
    of the means and counted in a note. ``models`` (formulas or ``Model``) and ``scales`` (lists of items) add section
    3.6 with ``multivariate_weight``.

    Parts: both halves, GRC where asked for, and the effect-size view, in which a variable keeps one minus the distance
    of its distributions and a pair one minus the difference of its squared coefficients, whatever the number of
    records. Tables "variables", "pairs" (and "models") have every test; ``statement`` may be published with the file.

    >>> import pyarrow as pa
    >>> x = pa.table({"age": [20.0, 31.0, 45.0, 52.0, 68.0], "sex": ["f", "m", "f", "m", "f"]})
    >>> round(GlobalDataUtility().evaluate(x, x).value, 6)
    1.0
    """

    threshold: float = 0.05
    univariate_weight: float = field(default=0.5, kw_only=True)
    recoding: Alternative = field(default="heterogeneity", kw_only=True)
    normality: Normality = field(default="original", kw_only=True)
    changed_kinds: Changed = field(default="left open", kw_only=True)
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
        parameters.one_of(self, "recoding", get_args(Alternative))
        parameters.one_of(self, "normality", get_args(Normality))
        parameters.one_of(self, "changed_kinds", get_args(Changed))
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

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        names = chosen(self, original.schema)
        there = tuple(name for name in names if name in protected.schema)
        if not there:
            raise NotApplicable(f"GlobalDataUtility: the protected table has no comparable {', '.join(names)}")
        matched, protected = self._beside(original, protected)
        weights, notes = self._weights(original, protected)
        footing = {name: recoding(original, protected, name, matched=matched) for name in there}
        variables = [
            univariate.compared(original, protected, name, footing[name], self.recoding, weights)
            if name in footing
            else univariate.removed(original, name)
            for name in names
        ]
        sides = self._sides(original, footing, notes)
        with bar(len(there) * (len(there) - 1), max(len(original), len(protected))) as progress:
            pairs = bivariate.compared(sides, self.threshold, weights, progress, self.changed_kinds)
        outcomes = self._multivariate(original, protected)
        notes = [
            *self._said(names, there, original, protected),
            *notes,
            *_missing(variables),
            *_untold(variables, pairs),
        ]
        records = max(len(original), len(protected))
        notes += wording.size_notes(variables, pairs, records, self.threshold)
        notes += [f"{o.name}: 0, for {o.note}" for o in outcomes if o.note]
        return self._measured(original, variables, pairs, outcomes, notes)

    def _weights(self, original: Microdata, protected: Microdata) -> tuple[Weights, list[str]]:
        """Return the weights of both tables, None where there are none or all are equal."""
        named = [table.schema.weight is not None for table in (original, protected)]
        if not any(named):
            return None, []
        if not all(named):
            which = "protected table" if named[0] else "original"
            return None, [f"survey weights are left aside in both tables: the {which} names none"]
        weights = original.weights(), protected.weights()
        if all(float(w.min()) == float(w.max()) for w in weights):
            return None, []
        return weights, [
            "survey weights enter the distributions (K-S by Kish's effective number of records, chi-squared corrected "
            f"by Rao and Scott) and, of the tests of pairs, {', '.join(WEIGHTED[:-1])} and {WEIGHTED[-1]}; the rank "
            "tests have no established weighted form and are unweighted"
        ]

    def _beside(self, original: Microdata, protected: Microdata) -> tuple[bool, Microdata]:
        """Tell whether the records are the same, and put them in the same order if they are."""
        try:
            return True, self._paired(original, protected)
        except NotApplicable:  # another number of records, a sample, ids that differ
            return False, protected

    def _sides(self, original: Microdata, footing: dict[str, Recoding], notes: list[str]) -> list[Side]:
        """Lay out the variables for the tests of pairs, with their places in Table 1."""
        sides, other = [], []
        for name, found in footing.items():
            variable, column = original.schema[name], original.columns[name]
            before = _scale(variable.kind, column)
            if self.normality == "original" and variable.kind == found.kind:
                after = before
                if before == "normal" and _scale(found.kind, found.protected) != before:
                    other.append(name)
            else:
                after = _scale(found.kind, found.protected)
            sides.append(bivariate.side(name, found, (before, after), column, len(variable.categories)))
        if other:
            notes.append(f"normal in the original only, tested as if in both tables: {', '.join(other)}")
        return sides

    def _multivariate(self, original: Microdata, protected: Microdata) -> list[Outcome]:
        tables, who = (original, protected), type(self).__name__
        found = multivariate.models_compared(as_models(self, self.models), tables, who) if self.models else []
        return found + multivariate.scales_compared(self._scales(), tables, who)

    def _said(
        self, names: tuple[str, ...], there: tuple[str, ...], original: Microdata, protected: Microdata
    ) -> list[str]:
        """Say which variables only one of the tables has."""
        said, gone = [], [name for name in names if name not in there]
        if gone:
            said.append(f"removed, so they count 0: {', '.join(gone)}")
            if not self.reduction:
                said.append("the global reduction coefficient (reduction=True) would lower the value further")
        new = [name for name in protected.schema.analysed() if name not in original.schema]
        if new and self.variables is None:
            said.append(f"not compared, for the original has no such variable: {', '.join(new)}")
        numbering = [name for name in there if self.variables is None and _names_records(original, name)]
        if numbering:
            said.append(
                f"every value of {', '.join(numbering)} occurs once, as if it named the records: compared even so, "
                "unless the schema calls it an id or an identifier"
            )
        return said

    def _measured(
        self,
        original: Microdata,
        variables: list[VariableUtility],
        pairs: Pairs,
        outcomes: list[Outcome],
        notes: list[str],
    ) -> Measurement:
        place = {name: i for i, name in enumerate(pairs.names)}
        alone = np.array([np.nan if v.utility is None else v.utility for v in variables])
        effects = np.array([np.nan if v.effect is None else v.effect for v in variables])
        together = np.array([pairs.means[place[v.name]] if not v.removed else 0.0 for v in variables])
        strengths = np.array([pairs.effect_means[place[v.name]] if not v.removed else 0.0 for v in variables])
        if len(variables) == 1:
            together = strengths = np.array([np.nan])  # a variable alone has no pairs, gone or not
        value, effect = self._joined(alone, together), self._joined(effects, strengths)
        parts = {"univariate": _mean(alone), "bivariate": _mean(together)}
        if outcomes:
            parts["multivariate"] = float(
                np.average([o.utility for o in outcomes], weights=[o.weight for o in outcomes])
            )
            value = (1 - self.multivariate_weight) * value + self.multivariate_weight * parts["multivariate"]
        if self.reduction:
            kept, every = sum(not v.removed for v in variables), len(variables)
            parts["reduction"] = kept * (kept - 1) / (every * (every - 1)) if every > 1 else 1.0
            value *= parts["reduction"]
        parts |= {
            "effect size": effect,
            "effect size, univariate": _mean(effects),
            "effect size, bivariate": _mean(strengths),
        }
        parts = {name: part for name, part in parts.items() if not np.isnan(part)}
        if "bivariate" not in parts:
            notes.append("no pair can be compared: the value is that of the variables alone")
        labels = {v.name: v.label for v in variables}
        lost = {v.name for v in variables if v.removed}
        gone = [pair for pair in combinations((v.name for v in variables), 2) if lost & set(pair)]
        rows = [pairs.row(i, labels) for i in range(len(pairs))]
        tables = {
            "variables": tuple(
                v.row(None if np.isnan(m) else float(m)) for v, m in zip(variables, together, strict=True)
            ),
            "pairs": (*rows, *(bivariate.removed_row(*pair, labels) for pair in gone)),
        }
        if outcomes:
            tables["models"] = tuple(row for outcome in outcomes for row in outcome.rows())
        own = {v.name: self._joined(alone[[i]], together[[i]]) for i, v in enumerate(variables)}
        return self.measurement(
            value,
            parts=parts,
            by_variable={name: figure for name, figure in own.items() if not np.isnan(figure)},
            by_pair={(r["first"], r["second"]): r["utility"] for r in tables["pairs"] if r["utility"] is not None},
            tables=tables,
            statement=wording.statement(variables, pairs, outcomes),
            notes=tuple(notes),
        )

    def _joined(self, alone: Floats, together: Floats) -> float:
        """Weigh the two halves; where one cannot be told, the other stands alone."""
        halves = [(_mean(alone), self.univariate_weight), (_mean(together), 1 - self.univariate_weight)]
        told = [(half, weight) for half, weight in halves if not np.isnan(half)]
        if not told:
            return float("nan")
        total = sum(weight for _, weight in told)
        return sum(half * weight for half, weight in told) / total if total > 0 else told[0][0]


def _scale(kind: str, column: Any) -> Scale:
    """Place a variable among the four types of Table 1."""
    if kind == "nominal":
        return "nominal"
    if kind == "ordinal":
        return "ordinal"
    return "normal" if normal(column)[1] >= NORMAL else "skewed"


def _names_records(data: Microdata, name: str) -> bool:
    """Tell whether a variable is a running number, or text that never repeats."""
    column, records = data.columns[name], len(data)
    if records < MANY:
        return False
    if data.schema[name].kind == "numeric":
        span = column.max() - column.min() + 1
        return bool(span == records) and np.array_equal(np.sort(column - column.min()), np.arange(records))
    return bool(column.min() >= 0) and int(np.bincount(column).max()) == 1


def _mean(values: Floats) -> float:
    told = values[~np.isnan(values)]
    return float(told.mean()) if told.size else float("nan")


def _missing(variables: list[VariableUtility]) -> list[str]:
    """Say where more values are missing than before, which the tests of the values present do not see."""
    more = [v for v in variables if not v.removed and v.missing[1] > v.missing[0] + 0.001]
    if not more:
        return []
    worst = max(more, key=lambda v: v.missing[1] - v.missing[0])
    others = f" and {len(more) - 1} other variable{'s' if len(more) > 2 else ''}" if len(more) > 1 else ""
    return [
        f"more values are missing than in the original in {worst.name!r} ({100 * worst.missing[0]:.1f} % before, "
        f"{100 * worst.missing[1]:.1f} % after){others}: the tests compare the values present, and do not see that "
        "there are fewer"
    ]


def _untold(variables: list[VariableUtility], pairs: Pairs) -> list[str]:
    """Say what was left out, what is rough, and why."""
    said = [f"variable {v.name!r}: {'; '.join(v.notes)}" for v in variables if v.notes and not v.removed]
    if len(said) > 10:
        said = [*said[:10], f"and notes on {len(said) - 10} more variables; see the table of variables"]
    if pairs.thin.any():
        said.append(
            f"{int(pairs.thin.sum()):,} contingency tables hold fewer than {bivariate.THIN:g} records per cell: their "
            "chi-squared P values are rough, and V is too large"
        )
    left = np.flatnonzero(pairs.outcome == bivariate.INCOMPARABLE)
    if left.size:
        reasons = dict.fromkeys(pairs.untold[int(place)] for place in left)
        shown = "; ".join(list(reasons)[:3]) + ("; and others" if len(reasons) > 3 else "")
        those = f"{left.size:,} of {len(pairs):,} pairs {'is' if left.size == 1 else 'are'}"
        said.append(f"{those} not comparable and left out of the means: {shown}")
    return said
