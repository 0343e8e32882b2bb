"""Propensity score utility: how well a model tells from which of the two tables a record comes."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels import available_threads
from sfumato.kernels.trees import MIN_LEAF, MIN_SPLIT, grow_pruned
from sfumato.kernels.trees import LackOfFit as LackOfFit
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.propensity import logistic, scores
from sfumato.utility.propensity.both_files import BothFiles
from sfumato.utility.propensity.logistic import Degree
from sfumato.utility.propensity.pooled import Codes, Flags, Floats, Pooled, balanced

# Classification trees with the stopping and collapsing rules of rpart, and their pMSE when files are drawn by lot


class TreeSizes(NamedTuple):
    """The records that a node needs to be split, and that each side of a split needs."""

    split: int = MIN_SPLIT
    leaf: int = MIN_LEAF


DEFAULT_SIZES = TreeSizes()


@dataclass(frozen=True)
class SortedColumns:
    """The columns of the pooled records as splitting needs them; sorted once for any number of trees."""

    rows: Codes  # the records in ascending order of each number column
    ranks: Codes  # the rank of the value of each record, equal for equal values
    codes: Codes  # the category of each record, for each nominal column
    counts: NDArray[np.int64]  # how many categories these have
    variables: tuple[str, ...]  # the variable of each column, numbers first


class Tree(NamedTuple):
    """The propensities, the number of leaves, and the sum of (e - c)^2 that the splits by each variable add to."""

    scores: Floats
    leaves: int
    by_variable: dict[str, float]


def sort_columns(pooled: Pooled) -> SortedColumns:
    """Sort every number column; a table of none gets one that is constant, to hold the list of the records."""
    columns = [number.values for number in pooled.numbers] or [np.zeros(len(pooled))]
    rows = np.empty((len(columns), len(pooled)), dtype=np.int32)
    ranks = np.empty_like(rows)
    for j, values in enumerate(columns):
        rows[j] = np.argsort(values, kind="stable")
        ordered = values[rows[j]]
        ranks[j, rows[j]] = np.concatenate([[0], np.cumsum(ordered[1:] != ordered[:-1])])
    codes = np.empty((len(pooled.categories), len(pooled)), dtype=np.int32)
    for j, category in enumerate(pooled.categories):
        codes[j] = category.codes
    counts = np.array([category.count for category in pooled.categories], dtype=np.int64)
    numbers = tuple(number.variable for number in pooled.numbers) or ("",)
    return SortedColumns(rows, ranks, codes, counts, (*numbers, *(category.variable for category in pooled.categories)))


def fit_tree(
    columns: SortedColumns,
    protected: Flags,
    weights: Floats,
    cp: float,
    lack: LackOfFit,
    sizes: TreeSizes = DEFAULT_SIZES,
) -> Tree:
    """Grow a tree by Gini impurity; collapse what lowers the lack of fit by less than cp of the root's per split."""
    signed = np.where(protected, weights, -weights)
    least = {"least_split": sizes.split, "least_leaf": sizes.leaf}
    grown = grow_pruned(columns.rows, columns.ranks, columns.codes, columns.counts, signed, cp=cp, lack=lack, **least)
    by_variable: dict[str, float] = {}
    for column, gain in grown.gains:
        by_variable[columns.variables[column]] = by_variable.get(columns.variables[column], 0.0) + gain
    return Tree(grown.shares, len(grown.gains) + 1, by_variable)


def trees_by_lot(
    pooled: Pooled,
    columns: SortedColumns,
    cp: float,
    lack: LackOfFit,
    draws: int,
    rng: np.random.Generator,
    sizes: TreeSizes = DEFAULT_SIZES,
) -> Floats:
    """Return pMSE of the trees grown when the files are assigned to the pooled records by lot."""
    from concurrent.futures import ThreadPoolExecutor

    alike = bool((pooled.weights == 1.0).all())  # then so they are in any two files

    def one(own: np.random.Generator) -> float:
        protected = own.permutation(pooled.protected)
        weights = pooled.weights if alike else balanced(pooled.weights, protected)
        return sum(fit_tree(columns, protected, weights, cp, lack, sizes).by_variable.values()) / len(pooled)

    with ThreadPoolExecutor(available_threads()) as pool:  # each draw has its own generator, whichever thread takes it
        return np.array(list(pool.map(one, rng.spawn(draws))))


# The measure

MIN_TERMS_TO_REFUSE = 200  # terms; a model with fewer is fitted whatever the number of records
Model = Literal[
    "logistic I", "logistic II", "main effects", "products", "tree", "modified logistic I", "modified logistic II"
]
Null = Literal["permutation", "halved permutation"]
IN_PARTS: tuple[Model, ...] = ("logistic I", "logistic II", "main effects", "products")
DEGREES: dict[Model, Degree] = {
    "main effects": "first",
    "products": "products",
    "logistic I": "second",
    "logistic II": "paper II",
    "modified logistic I": "first",
    "modified logistic II": "second",
}


@catalogued(
    MeasureAbout(
        title="Propensity score utility (pMSE)",
        source="Woo, Reiter, Oganian and Karr (2009), section 2.3; Snoke, Raab, Nowok, Dibben and Slavkovic (2018), "
        "General and specific utility measures for synthetic data",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        kinds=("numeric", "ordinal", "nominal", "date"),
        weights=True,
        paired=False,
        parts="summaries",
        parts_if="a logistic model",
        missing="a gap in a numeric or ordinal variable is filled with the mean and marked by an indicator; in a "
        "nominal one it is a category of its own",
        caveat="a model sees only what its terms or splits can express: a logistic model of second order is blind to "
        "any difference that leaves means, variances and covariances, a tree to one that no single split betrays",
        formula="pMSE = sum_i w_i (e_i - c)^2 / sum_i w_i,   total=True: N times that\n"
        "e_i = probability, by the model, that record i of the N pooled is protected; c = share protected\n"
        "expected, protected table drawn from a logistic model of the original: (k - 1) c (1 - c)^2 / N\n"
        "expected, two samples of one population:                               (k - 1) c (1 - c) / N\n"
        "k = coefficients, constant included;  ratio = pMSE / expected  (weights: times their mean square)",
        reading="0 means that the model cannot tell the files apart, c (1 - c) (0.25 for files of one size) that it "
        "tells every record. The value grows with the number of terms, so read the ratio: near 1 is what a fresh draw "
        "gives, 10 is a difference ten times as large as chance would make. A copy with little noise scores below 1, "
        "for it is nearer than a fresh sample. A model sees what its terms can express: main effects only means, "
        "logistic I also variances and covariances, a tree whatever a chain of splits isolates.",
    )
)
class PropensityUtility(Measure):
    """Mean squared deviation of the propensity scores from the share of protected records: pMSE = sum (e_i - c)^2 / N.

    The propensity e_i is the probability, by a model fitted to both tables together, that record i comes from the
    protected one; c is the protected share of the N records. 0 means the model cannot tell the tables apart, c (1 - c)
    that it tells every record. ``total=True`` gives the paper's sum over records in place of the mean. ``model``:

    - "logistic I": all terms of first and second order; "logistic II": also all cubes and the products of squares of
      two variables, of the values as they are (a shift of a variable changes these, as in the paper).
    - "main effects": first order only. It compares means: added noise and swapping are invisible to it.
    - "products": first order and the products of two variables, without squares: synthpop's ``utility.gen`` with
      ``method = "logit"``. It sees means and covariances; noise added to each variable by itself escapes it.
    - "tree": rpart's tree: Gini splits, nodes of ``min_split`` records or more split into ``min_leaf`` or more, 30
      levels at most, then collapsed where a split lowers the lack of fit by less than ``cp`` of the root's (the paper's
      Tree I has 0.001, Tree II 0.0001). ``lack_of_fit`` is "squared error", as in rpart with 0 and 1 as response, or
      "misclassification", as with a factor. The paper does not say which; only the first gives resampling the 0.000
      under Tree I that all its tables print. Of splits that gain the same, the first in the order of the variables is
      taken. There are no surrogate splits.
    - "modified logistic I" and "II": average-linkage clusters of the pooled records, ``groups`` of them (a number, or a
      share of the original's records), and a logistic model of first or second order inside each. A cluster with one
      file only has propensity 0 or 1; one of fewer than ``least_group`` records its share of protected ones, because
      a model with as many coefficients as records tells them all apart (10 is a sensible value; 1 fits every group).

    Nominal variables enter logistic models as indicators, trees as sets of categories; ordinal ones as scores 0, 1, 2,
    ... in the order of their categories. Survey weights multiply each record's part in the fit and in the mean, scaled
    so that each file's sum to its number of records; tree sizes count records, whatever their weights.

    Parts: pMSE and its sum; SPECKS (K-S distance between the scores of the two files) and PO50 (percentage of records
    told correctly, less 50); the expected value, standard deviation, ratio and standardised value under a null. For
    logistic models there are two: the protected table was drawn from a model fitted to the original (synthpop's), or
    both are samples of one population; modified models count the coefficients of all groups, which is rough where
    groups are small. For trees the null is ``permutations`` random assignments of the records to the files, two samples
    of one population; ``null="halved permutation"`` takes half of that, as synthpop does for a protected table drawn
    from a model of the original. Expected values are those of pMSE. ``by_variable``, in units of the value: for a tree
    the part that splits by the variable add, which sum to the value; for a logistic model how much less a least squares
    fit explains without the variable's terms (within groups, for modified models).
    """

    model: Model = "logistic I"
    total: bool = False
    cp: float = 0.001
    lack_of_fit: LackOfFit = "squared error"
    groups: float = 0.01
    permutations: int = 50
    least_group: int = 1
    min_split: int = MIN_SPLIT
    min_leaf: int = MIN_LEAF
    null: Null = "permutation"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "model", get_args(Model))
        parameters.one_of(self, "total", (True, False))
        parameters.number(self, "cp", least=0)
        parameters.one_of(self, "lack_of_fit", get_args(LackOfFit))
        parameters.number(self, "groups", above=0)
        if self.groups >= 1 and self.groups != int(self.groups):
            raise parameters.refuse(self, f"groups must be a share below 1 or a whole number; got {self.groups!r}")
        parameters.whole(self, "permutations", least=0)
        parameters.whole(self, "least_group", least=1)
        parameters.whole(self, "min_split", least=2)
        parameters.whole(self, "min_leaf", least=1)
        parameters.one_of(self, "null", get_args(Null))
        if self.model not in IN_PARTS:
            self.known_as(parts="memory")  # trees and clusters need all records at once
        if self.permutations == 1:
            raise parameters.refuse(self, "permutations must be 0 or at least 2, to have a standard deviation; got 1")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        if self.model not in IN_PARTS:
            pair.tables()
        files = BothFiles.of(self, pair)
        notes = _said(files.notes, files.constant, files.dead, files.sizes.share)
        if self.model == "tree":
            return self._of_tree(files.pooled(), notes, rng)
        degree = DEGREES[self.model]
        if self.model in IN_PARTS:
            model = files.design(degree)
            _refuse_too_many(self, len(model), files.sizes.size)
            found = files.estimated(model)
            figures, separated = files.figures(found)
            fit = logistic.Fit(np.empty(0), len(found.model), found.by_variable, found.collinear, separated)
            return self._of_fit(files.sizes, figures, fit, {}, notes)
        pooled = files.pooled()
        originals = int((~pooled.protected).sum())  # records of weight zero do not count
        wanted = int(self.groups) if self.groups >= 1 else max(1, round(self.groups * originals))
        fit, parts, more = logistic.fit_in_groups(pooled, degree, wanted, self.least_group)
        figures = scores.figures(fit.scores, pooled.protected, pooled.weights)
        return self._of_fit(files.sizes, figures, fit, parts, [*notes, *more])

    def _of_fit(
        self,
        sizes: scores.Sizes,
        figures: scores.Figures,
        fit: logistic.Fit,
        parts: dict[str, float],
        notes: list[str],
    ) -> Measurement:
        if self.model == "main effects":
            notes.append("main effects compare means only: added noise and swapping are invisible to this model")
        if fit.collinear:
            listed = ", ".join(fit.collinear[:5]) + (", ..." if len(fit.collinear) > 5 else "")
            notes.append(f"{len(fit.collinear)} terms left out, combinations of the others: {listed}")
        if 10 * fit.coefficients > sizes.size:
            notes.append(
                f"{fit.coefficients:,} coefficients for {sizes.size:,} records: much of the value is what chance "
                "gives; read the ratio, or choose variables"
            )
        if fit.separated == sizes.size:
            notes.append("the files are separable: every record's propensity is 0 or 1 in the limit")
        elif fit.separated:
            notes.append(
                f"{fit.separated:,} of {sizes.size:,} records have propensity 0 or 1: far out, or separated from the "
                "other file"
            )
        nulls = scores.logistic_nulls(sizes, fit.coefficients)
        if sizes.unequal:
            notes.append(
                "expected values and ratios suppose weights that have nothing to do with the variables; where they do, "
                "the ratio is too large"
            )
        parts["coefficients"] = float(fit.coefficients)
        return self._measured(figures, fit.by_variable, parts, nulls, notes)

    def _of_tree(self, pooled: Pooled, notes: list[str], rng: np.random.Generator) -> Measurement:
        columns = sort_columns(pooled)
        sizes = TreeSizes(self.min_split, self.min_leaf)
        grown = fit_tree(columns, pooled.protected, pooled.weights, self.cp, self.lack_of_fit, sizes)
        nulls: dict[str, tuple[float, float]] = {}
        if self.permutations:
            drawn = trees_by_lot(pooled, columns, self.cp, self.lack_of_fit, self.permutations, rng, sizes)
            drawn = drawn if self.null == "permutation" else drawn / 2
            nulls[self.null] = float(drawn.mean()), float(drawn.std(ddof=1))
        if len(pooled) < self.min_split:
            notes.append(f"a tree does not split fewer than {self.min_split} records; there are {len(pooled)}")
        elif grown.leaves == 1:
            notes.append(
                "no split pays, as where each variable by itself is distributed alike; the files may still differ"
            )
        losses = {name: grown.by_variable.get(name, 0.0) for name in pooled.names}
        figures = scores.figures(grown.scores, pooled.protected, pooled.weights)
        return self._measured(figures, losses, {"leaves": float(grown.leaves)}, nulls, notes)

    def _measured(
        self,
        figures: scores.Figures,
        losses: dict[str, float],
        parts: dict[str, float],
        nulls: dict[str, tuple[float, float]],
        notes: list[str],
    ) -> Measurement:
        size, value = figures.size, figures.mean_square
        found = {"pMSE": value, "sum": value * size, "SPECKS": figures.specks, "PO50": figures.over_fifty, **parts}
        for null, (expected, spread) in nulls.items():
            found[f"expected, {null}"] = expected
            found[f"standard deviation, {null}"] = spread
            if spread > 0:
                found[f"ratio, {null}"] = value / expected
                found[f"standardised, {null}"] = (value - expected) / spread
        if nulls and not any(spread > 0 for _, spread in nulls.values()):
            notes.append("no ratio: chance alone never gives this model anything to tell the files apart by")
        elif nulls:
            notes.append(
                "the expected values are for a file drawn anew; a masked copy, record by record, is neither null: read "
                "the ratio as a scale, not as a test"
            )
        unit = 1.0 if self.total else 1 / size
        return self.measurement(
            value * size if self.total else value,
            parts=found,
            by_variable={name: loss * unit for name, loss in losses.items()},
            notes=tuple(notes),
        )


def _said(notes: tuple[str, ...], constant: list[str], dead: int, share: float) -> list[str]:
    """Say what a reader must know of the two files, whatever the model."""
    said = list(notes)
    if constant:
        said.append(f"constant, so they tell nothing: {', '.join(constant)}")
    if dead:
        said.append(f"{dead:,} records of weight zero left out")
    if abs(share - 0.5) > 0.05:
        said.append(
            f"the files differ in size, so PO50 is {100 * max(share, 1 - share) - 50:.3g} even where nothing tells "
            "them apart"
        )
    return said


def _refuse_too_many(measure: PropensityUtility, terms: int, records: int) -> None:
    """Refuse a large model that separates almost any two files: it takes long and tells nothing."""
    if terms > MIN_TERMS_TO_REFUSE and 2 * terms > records:
        raise NotApplicable(
            f"{measure.model!r} has {terms:,} terms for {records:,} records, so it tells almost "
            "any two files apart; choose variables=[...], or model='tree' or 'main effects'"
        )
