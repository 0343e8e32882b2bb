"""Cluster utility: whether original and protected records are mixed alike wherever records lie."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.average_linkage import partition
from sfumato.kernels.boxes import distinct
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.table.dates import spelled
from sfumato.table.frames import Origin, from_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Variable, a_kind
from sfumato.table.weights import normalised

Floats = NDArray[np.float64]
SHOWN = 3  # clusters told of in the notes
NAMED = 5  # variables named of each


@catalogued(
    MeasureAbout(
        title="Cluster utility",
        source="Karr, Oganian, Reiter and Woo, New Measures of Data Utility, section 2.2; published as Woo, Reiter, "
        "Oganian and Karr (2009), Global Measures of Data Utility for Microdata Masked for Disclosure Limitation",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        kinds=("numeric", "ordinal", "date"),
        weights=True,
        paired=False,
        missing="a category of its own: it stands at the mean of the values present, and as far apart from all of them "
        "as they reach",
        caveat="it sees nothing within a cluster, and how far apart clusters are does not count; it grows with the "
        "number of records and of clusters, so only figures of the same g and tables of the same size compare; with "
        "long tails or many variables one cluster may hold most records, and the figure then tells of the tails; many "
        "clusters are hard on microaggregation, whose records come in equal groups",
        formula="U = sum over clusters j of w_j (n_j1 / n_j - c)^2,   w_j = n_j (or 1)\n"
        "n_j = pooled records in cluster j, n_j1 = protected ones among them, c = share protected of all\n"
        "clusters = average linkage on squared Euclidean distances of the pooled records, cut at g\n"
        "expected by chance: c (1 - c) (g - 1) N / (N - 1),   N = pooled records, without survey weights",
        reading='Compare it with the part "expected by chance": about that much is a file that could be another '
        "sample of the same population, far less is one that stays close to its original record by record, more is "
        "one that puts records where there were none or leaves places empty. The notes say where. With g small it "
        "sees only gross shifts, with g large (a tenth of the records) every group of a few records.",
    )
)
class ClusterUtility(Measure):
    """Sum over clusters of the pooled records of w_j (n_j1 / n_j - c)^2: (2.4) of the paper, 0 for equal tables.

    All N records of both tables are clustered by average linkage on squared Euclidean distances, whatever table they
    come from, and the tree is cut at ``g`` clusters; n_j is the size of cluster j, n_j1 how many of it are protected,
    c the share of protected records in all (counting originals instead gives the same squares). ``g`` is a number, or
    a share of the N pooled records: the paper's 500 and 1,000 are 5 % and 10 % of its n = 10,000 originals, which is
    g=0.025 and g=0.05 of its N = 20,000. ``weights="size"`` takes w_j = n_j as the paper does, ``"equal"`` w_j = 1.
    ``standardise="pooled"`` divides each variable by its standard deviation in the pooled records, ``"none"`` leaves
    it in its own units, so that the widest variable decides; the paper does not say which it used. An ordinal value
    counts as its place among the original's categories.

    Equal records are never parted, so there are fewer clusters than ``g`` where there are fewer distinct records. Ties
    between distances are broken by the values of the records, never by their order in the tables.

    With survey weights a record of weight 3 counts as three, in standardising, in clustering and in all sums; each
    table's weights are first scaled to add up to its number of records, and records of weight 0 do not count.

    Parts: the figure per record where w_j = n_j, and per cluster, which is the form with 1/G in front of the sum (Kocar
    2018, section 2.2); its share of the greatest possible; how many clusters there are, and the share of the records in
    the largest; and what is to be expected by chance, if the same pooled records were dealt to the
    two tables at random: without survey weights c (1 - c) (g - 1) N / (N - 1), which is 125 for the paper's g = 500,
    where its rank swapping scores 103 to 154. A table closer to its original than a fresh sample scores less. Notes
    tell where the tables differ most; ``clusters`` lists all clusters.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 9.0]}), pa.table({"a": [1.5, 8.0, 8.5]})
    >>> round(ClusterUtility(2).evaluate(x, y).value, 6)  # 3 (1/3 - 1/2)^2 + 3 (2/3 - 1/2)^2
    0.166667
    """

    g: float = 0.05
    weights: Literal["size", "equal"] = "size"
    standardise: Literal["pooled", "none"] = "pooled"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.g, Integral) and not isinstance(self.g, bool)
        if not (whole and self.g >= 1) and not (isinstance(self.g, Real) and not whole and 0 < self.g < 1):
            limits = "a whole number of clusters of at least 1, or a share of the pooled records in (0, 1)"
            raise parameters.refuse(self, f"g must be {limits}; got {self.g!r}")
        object.__setattr__(self, "g", int(self.g) if whole else float(self.g))
        parameters.one_of(self, "weights", ("size", "equal"))
        parameters.one_of(self, "standardise", ("pooled", "none"))

    def clusters(self, original: Any, protected: Any) -> Any:
        """List the clusters, those that add most first: sizes, share protected, what each adds, and its centre.

        The table is of the kind of frame the original came in. Centres are means of the values present, in the
        variables' own units; for an ordinal variable the category nearest to the mean place.
        """
        import pyarrow as pa

        pair = Pair.of(original, protected)
        found = self._found(pair)
        order = np.argsort(-found.adds, kind="stable")
        counts = (np.bincount(found.labels[found.rows.protected == side], minlength=len(order)) for side in (0, 1))
        columns: dict[str, Any] = dict(zip(("original", "protected"), (count[order] for count in counts), strict=True))
        columns |= {"share protected": found.share[order], "adds": found.adds[order]}
        for variable, centre in zip(found.rows.variables, found.centres, strict=True):
            shown = [_category(variable, place) for place in centre[order]] if variable.categories else centre[order]
            columns[f"centre of {variable.name}"] = shown
        return from_arrow(pa.table(columns), Origin(pair.original.table.origin.kind))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        found = self._found(pair)
        value = float(found.adds.sum())
        parts = {"mean per record": value / float(found.weight.sum())} if self.weights == "size" else {}
        parts |= {
            "mean per cluster": value / len(found.size),
            "expected by chance": found.by_chance(),
            "clusters": float(len(found.size)),
            "share in the largest cluster": float(found.size.max() / found.size.sum()),
        }
        if self.weights == "size":  # reached when no cluster has records of both tables
            parts["share of the greatest possible"] = value / (len(found.labels) * found.c * (1 - found.c))
        notes = [*found.rows.notes]
        if 0 < value <= parts["expected by chance"]:
            notes.append("no more than chance: two samples of one population are expected to differ as much")
        return self.measurement(value, parts=parts, notes=(*notes, *found.where_most()))

    def _found(self, pair: Pair) -> "_Clusters":
        """Pool the records and cluster them."""
        rows = _pool(self, pair)
        n = len(rows.values)
        g = self.g if isinstance(self.g, int) else max(1, int(self.g * n + 0.5))
        if g > n:
            raise NotApplicable(f"g = {g:,} clusters are more than the {n:,} records of both tables together")
        points, place, _ = distinct(_scaled(rows, self.standardise))
        labels = partition(points, _sums(place, rows.mass), min(g, len(points)))[place]
        if len(points) < g:
            fewer = f"{len(points):,} clusters instead of {g:,}: there are no more distinct records"
            rows = replace(rows, notes=(*rows.notes, fewer))
        return _Clusters(rows, labels, self.weights)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The records of both tables, in an order that depends on their values only, so that no tie hangs on another."""

    variables: tuple[Variable, ...]  # as the original has them
    values: Floats  # record x variable; missing values are NaN
    protected: NDArray[np.bool_]
    mass: Floats
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Clusters:
    """What is known of each cluster."""

    rows: _Rows
    labels: NDArray[np.intp]
    weights: Literal["size", "equal"]

    @cached_property
    def size(self) -> Floats:
        return _sums(self.labels, self.rows.mass)

    @cached_property
    def share(self) -> Floats:
        """Share protected."""
        return _sums(self.labels, np.where(self.rows.protected, self.rows.mass, 0.0)) / self.size

    @cached_property
    def c(self) -> float:
        """Share protected of all; each table's masses add up to its number of records."""
        return float(self.rows.protected.mean())

    @cached_property
    def weight(self) -> Floats:
        return self.size if self.weights == "size" else np.ones(len(self.size))

    @cached_property
    def adds(self) -> Floats:
        """What each cluster adds to the figure."""
        return self.weight * (self.share - self.c) ** 2

    @cached_property
    def centres(self) -> list[Floats]:
        """Mean of the values present of each variable, NaN where a cluster has none."""
        means = []
        for column in self.rows.values.T:
            mass = _sums(self.labels, np.where(np.isnan(column), 0.0, self.rows.mass))
            total = _sums(self.labels, self.rows.mass * np.nan_to_num(column))
            means.append(np.divide(total, mass, out=np.full(len(mass), np.nan), where=mass > 0))
        return means

    def by_chance(self) -> float:
        """Return the mean figure when m of the N records, drawn at random, are called protected.

        A mean of labels with shares a_i that add up to 1 then has variance c (1 - c) (SUM a_i^2 - 1 / N) N / (N - 1).
        """
        n = len(self.labels)
        squares = _sums(self.labels, self.rows.mass**2) / self.size**2
        return float((self.weight * (squares - 1 / n)).sum() * self.c * (1 - self.c) * n / (n - 1))

    def where_most(self) -> list[str]:
        """Tell of the clusters that add most, each by the variables in which it is most unlike the rest."""
        value = self.adds.sum()
        if value < 1e-12 * self.weight.sum():
            return []
        notes: list[str] = []
        records = np.bincount(self.labels)
        typical = [float(np.nanmean(column)) for column in self.rows.values.T]
        spread = [
            float(np.nanmean(np.abs(column - mean))) or 1.0
            for column, mean in zip(self.rows.values.T, typical, strict=True)
        ]
        for cluster in np.argsort(-self.adds, kind="stable")[:SHOWN]:
            centre = np.array([column[cluster] for column in self.centres])
            unlike = np.abs(np.nan_to_num((centre - typical) / spread, nan=np.inf))
            told = sorted(np.argsort(-unlike, kind="stable")[:NAMED])
            at = ", ".join(f"{self.rows.variables[j].name} {_shown(self.rows.variables[j], centre[j])}" for j in told)
            number, part = int(records[cluster]), self.adds[cluster] / value
            notes.append(
                f"{'also' if notes else 'differs most'} around {at}: {number:,} record{'s' if number > 1 else ''}, "
                f"{100 * self.share[cluster]:.0f} % protected, {100 * part:.1f} % of the figure"
            )
        return notes


def _pool(measure: ClusterUtility, pair: Pair) -> _Rows:
    """Put the records of both tables together, those without weight left out."""
    shared, said = measure.shared(pair)
    notes, variables, columns, odd = list(said), [], [], []
    original, protected = tables = pair.tables()
    for name in sorted(shared):  # by name, so that the order of the columns breaks no tie either
        found = _comparable(name, original, protected)
        if isinstance(found, str):
            odd.append(f"{name} ({found})")
        else:
            variables.append(original.schema[name])
            columns.append(np.concatenate(found))
    if odd and (measure.variables is not None or not columns):
        raise NotApplicable(f"the protected table has no comparable {', '.join(odd)}")
    if odd:
        notes.append(f"left out, not comparable: {', '.join(odd)}")
    counted = [table.weights() > 0 for table in tables]
    for which, keep in zip(("original", "protected"), counted, strict=True):
        if not keep.all():
            notes.append(f"left out, of weight 0: {int((~keep).sum()):,} records of the {which} table")
    weights = [table.weights()[keep] for table, keep in zip(tables, counted, strict=True)]
    mass = np.concatenate([normalised(weight) for weight in weights])
    side = np.repeat([False, True], [len(weight) for weight in weights])
    values = np.stack(columns, axis=1)[np.concatenate(counted)]
    order = np.lexsort((mass, *values.T))
    return _Rows(tuple(variables), values[order], side[order], mass[order], tuple(notes))


def _comparable(name: str, original: Microdata, protected: Microdata) -> tuple[Floats, Floats] | str:
    """Return a variable's values in both tables as numbers, or say why they do not compare."""
    before, after = original.schema[name], protected.schema[name]
    if before.kind != after.kind:
        return f"{a_kind(before.kind)} in the original, {a_kind(after.kind)} in the protected table"
    columns = original.columns[name], protected.columns[name]
    if before.quantitative:
        numbers = columns
    else:
        place = {category: float(number) for number, category in enumerate(before.categories)}
        places = [[place.get(category, -1.0) for category in table.categories] for table in (before, after)]
        coded = [np.array([*places, np.nan])[column] for places, column in zip(places, columns, strict=True)]
        if (coded[1] < 0).any():
            strange = after.categories[columns[1][np.argmax(coded[1] < 0)]]
            return f"the original has no category {strange!r}"
        numbers = coded[0], coded[1]
    if all(np.isnan(column).all() for column in numbers):
        return "every value is missing"
    return numbers


def _scaled(rows: _Rows, standardise: Literal["pooled", "none"]) -> Floats:
    """Give each variable its place in the space of distances, and one more axis if values are missing."""
    largest = np.nanmax(np.abs(rows.values), axis=0)
    axes = []
    for column, most in zip(rows.values.T, largest, strict=True):
        here = ~np.isnan(column)
        mass, present = rows.mass[here], column[here]
        if present.min() == present.max():
            present = np.zeros(len(present))
        else:
            present = present / most  # so that no square overflows
            present = present - mass @ present / mass.sum()
            if standardise == "pooled":
                present /= np.sqrt(mass @ present**2 / mass.sum())
            else:
                present *= most / largest.max()
        axis = np.zeros(len(column))
        axis[here] = present
        axes.append(axis)
        if not here.all():
            reach = float(np.ptp(present))
            axes.append(np.where(here, 0.0, reach if reach > 0 else 1.0))
    return np.stack(axes, axis=1)


def _sums(labels: NDArray[np.intp], amounts: Floats) -> Floats:
    """Add up the amounts of each label."""
    return np.asarray(np.bincount(labels, amounts), dtype=np.float64)


def _category(variable: Variable, place: float) -> str | None:
    """Name the category nearest to a place among them."""
    return None if np.isnan(place) else str(variable.categories[int(place + 0.5)])


def _shown(variable: Variable, centre: float) -> str:
    if np.isnan(centre):
        return "missing"
    if variable.categories:
        return str(_category(variable, centre))
    if variable.kind == "date":
        return spelled(round(centre))
    return f"{centre:,.0f}" if 1e4 <= abs(centre) < 1e12 else f"{centre:.4g}"
