"""Microaggregation: groups of at least k records, each value replaced by its group's mean."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import Phrase
from sfumato.errors import NotApplicable
from sfumato.kernels.microaggregation import maximum_distance_groups, mdav_groups
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats, Ranked
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.treatment import BY_RANK, Treatment

Labels = NDArray[np.intp]

MISSING_IN_GROUPS = (
    "counts as the variable's mean when groups are formed and stays missing; a group's mean is that of its values "
    "present, and a group with fewer than k of them shares the mean of the nearest group"
)


@catalogued(
    MethodAbout(
        title="Individual ranking",
        source="Defays and Nanopoulos (1993); Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (MicIR k)",
        missing=MISSING_STAYS,
        random=False,
        grid={"k": (3, 5, 10, 20)},
        neutral={"k": 1},
        caveat="protects single values, not records: combinations of variables stay almost unique",
        formula="x'_i = mean of the values in the group of x_i\n"
        "groups = runs of k values in the order of the variable; there are floor(n / k),\n"
        "the middle one takes the n - k floor(n / k) left over",
        reading="``k`` is the least number of records that share a value: 3 to 5 is usual, 10 to 20 heavy. Each "
        "value then belongs to k records, but in every variable to k others, so distance linkage over two or three "
        "variables still finds most records.",
        group="Change numbers",
        effect="averaged",
        labels={"k": "Records that must share what each one shows (k)"},
    )
)
class IndividualRanking(ColumnMethod):
    """Each variable sorted by itself and averaged over groups of ``k`` neighbours in rank.

    Where ``k`` does not divide the number of values, the group in the middle of the order is the longer one (k to
    2k - 1 values); values that tie take their ranks in file order. Limits: very little is lost and very little
    protected, for records can be linked through any two variables.

    >>> import pyarrow as pa
    >>> IndividualRanking(2).protect(pa.table({"x": [5.0, 1.0, 2.0, 9.0]}))["x"].to_pylist()
    [7.0, 1.5, 1.5, 7.0]
    """

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")

    def _treatment(self, name: str) -> Treatment:
        return BY_RANK

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        _need(values.size, self.k)
        labels = np.empty(values.size, dtype=np.intp)
        labels[np.argsort(values, kind="stable")] = consecutive_groups(values.size, self.k)
        return group_means(values[:, None], labels, self.k)[:, 0]

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        n, k = len(ranked), self.k
        _need(n, k)
        groups = n // k
        longer = n - groups * k  # the middle group takes the remainder
        yield from ranked.grouped(
            groups,
            k,
            lambda group: group * k + np.where(group > groups // 2, longer, 0),
            lambda values, labels, _: group_means(values[:, None], labels, k)[:, 0],
        )

    def in_words(self, schema: Schema | None = None) -> str:
        several = self.variables is None or len(self.variables) > 1
        what = "each number" if self.variables is None else f"each of {self.subject()}" if several else self.subject()
        return f"{what} is replaced by the mean of {self.k} neighbours in rank"

    def short(self) -> Phrase:
        return Phrase("rank means", "rank means", str(self.k))


@catalogued(
    MethodAbout(
        title="Microaggregation on a projection",
        source="Domingo-Ferrer and Mateo-Sanz (2002); Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (MicZ k, "
        "MicPCP k)",
        missing=MISSING_IN_GROUPS,
        random=False,
        grid={"k": (3, 5, 10), "axis": ("zscores", "pca")},
        neutral={"k": 1},
        caveat="records alike on the axis may differ in everything else, so the means erase most of the structure",
        formula="score_i = sum_j z_ij, or the first principal component of z;   z_ij = (x_ij - m_j) / s_j\n"
        "groups = runs of k records in the order of the score: floor(n / k), the middle one longer\n"
        "x'_ij = mean of x_j over the group of record i",
        reading="``k`` is the least number of records that are published alike: 3 to 10. Its guarantee is that of "
        "MDAV and its loss larger, the larger the more variables do not follow the axis: use it where all variables "
        "rise and fall together, or as the first step of ResidualNoise.",
        group="Change numbers",
        effect="averaged",
        labels={"k": "Records that must share what each one shows (k)", "axis": "Records are put in order by (axis)"},
    )
)
class ProjectionMicroaggregation(Method):
    """Records sorted along one axis and averaged over groups of ``k`` neighbours, all variables at once.

    The axis is the sum of the z-scores or, with ``axis="pca"``, the first principal component of the z-scores, with the
    sign that makes its loadings sum to a positive number. Where ``k`` does not divide the number of records, the group
    in the middle of the order is the longer one; records that tie are taken in file order. Limits: fast, but it loses
    far more than :class:`MDAV` as soon as one axis does not describe the data.
    """

    k: int
    axis: Literal["zscores", "pca"] = "zscores"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")
        parameters.one_of(self, "axis", ("zscores", "pca"))

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        return _aggregated(data, [self.masked(data)], self.k, self._groups)

    def _groups(self, z: Floats) -> Labels:
        if self.axis == "zscores":
            scores = z.sum(axis=1)
        else:
            _, axes = np.linalg.eigh(z.T @ z)
            first = axes[:, -1]
            scores = z @ (first if first.sum() >= 0 else -first)
        labels = np.empty(len(z), dtype=np.intp)
        labels[np.argsort(scores, kind="stable")] = consecutive_groups(len(z), self.k)
        return labels

    def in_words(self, schema: Schema | None = None) -> str:
        return _means_in_words(self, self.k)


@dataclass(frozen=True, repr=False)
class _Multivariate(Method):
    """Groups of ``k`` records over several variables at once, or over ``at_a_time`` of them."""

    k: int
    at_a_time: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")
        if self.at_a_time is not None:
            parameters.whole(self, "at_a_time")

    def in_words(self, schema: Schema | None = None) -> str:
        return _means_in_words(self, self.k)


@catalogued(
    MethodAbout(
        title="MDAV microaggregation",
        source="Domingo-Ferrer and Torra (2005)",
        missing=MISSING_IN_GROUPS,
        random=False,
        column_order=True,
        grid={"k": (3, 5, 10, 20)},
        neutral={"k": 1},
        caveat="variances shrink, the more the larger k and the more variables are grouped together",
        formula="3k or more records left: a, the farthest from their centroid, with its k - 1 nearest is a group,\n"
        "                         b, the farthest from a, with its k - 1 nearest the next; and so on\n"
        "2k to 3k - 1 left: the group of a, and the rest;   k to 2k - 1 left: one group\n"
        "x'_ij = mean of x_j over the group of record i;   distances are Euclidean, of z-scores",
        reading="``k`` is the least number of records that share each published combination of values: 3 to 5 is "
        "usual, 10 to 20 heavy, and no intruder links a record with more certainty than 1 / k where all variables are "
        "masked together. Loss grows with k and with the number of variables in a block; ``at_a_time=2`` or 3 keeps "
        "far more of the data and gives the guarantee within each block only.",
        group="Change numbers",
        effect="averaged",
        labels={
            "k": "Records that must share what each one shows (k)",
            "at_a_time": "Variables grouped at a time; none: all together (at_a_time)",
        },
    )
)
class MDAV(_Multivariate):
    """Groups of ``k`` similar records by maximum distance to the average vector, averaged in all variables at once.

    The textbook method, exactly: distances between z-scores; while at least 3k records remain, the one farthest from
    their centroid forms a group with its k - 1 nearest, then the one farthest from it does; the last groups hold k to
    2k - 1 records. Ties go to the record that comes first in the file. ``at_a_time`` masks the variables in blocks of
    two, three, four, ... as they stand in the file, each block by itself (the last block holds what is left); with all
    variables at once and none missing, every combination of values is shared by at least k records. Limits: variances
    shrink; with blocks the guarantee holds within a block only; with missing values it holds for each variable (every
    mean rests on at least k values), not for their combinations, which the pattern of what is missing can tell apart.
    """

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        size = self.at_a_time or len(names)
        blocks = [names[start : start + size] for start in range(0, len(names), size)]
        return _aggregated(data, blocks, self.k, self._groups)

    def _groups(self, z: Floats) -> Labels:
        return mdav_groups(z, self.k)


@catalogued(
    MethodAbout(
        title="Maximum-distance microaggregation",
        source="Mateo-Sanz and Domingo-Ferrer (1999); Domingo-Ferrer and Mateo-Sanz (2002); Domingo-Ferrer, Mateo-Sanz "
        "and Torres, section 2 (Micmul k, Mic2mul k, Mic3mul k, Mic4mul k)",
        missing=MISSING_IN_GROUPS,
        random=False,
        column_order=True,
        grid={"k": (3, 5, 10, 20)},
        neutral={"k": 1},
        caveat="variances shrink, the more the larger k and the more variables are grouped together",
        formula="2k or more records left: a and b, the two most distant; a with its k - 1 nearest is a group,\n"
        "                         b with its k - 1 nearest among the rest the next; and so on\n"
        "k to 2k - 1 left: one group;   fewer: each joins the group whose mean is nearest\n"
        "x'_ij = mean of x_j over the group of record i;   distances are Euclidean, of z-scores",
        reading="``k`` is the least number of records that share each published combination of values, as in MDAV: 3 "
        "to 5 is usual, 10 to 20 heavy. It comes before MDAV, loses about as much and takes longer: use it to repeat "
        "what was done with it, MDAV otherwise. ``at_a_time`` keeps more of the data and gives the guarantee within "
        "each block only.",
        group="Change numbers",
        effect="averaged",
        labels={
            "k": "Records that must share what each one shows (k)",
            "at_a_time": "Variables grouped at a time; none: all together (at_a_time)",
        },
    )
)
class MaximumDistance(_Multivariate):
    """Groups of ``k`` similar records around the two most distant ones left, averaged in all variables at once.

    The heuristic from which :class:`MDAV` came: distances between z-scores; while at least 2k records remain, each of
    the two most distant forms a group with its k - 1 nearest, the one that comes first in the file before the other;
    what remains is a group, or joins the nearest groups if it is fewer than k. Ties go to the record that comes first
    in the file. ``at_a_time`` masks the variables in blocks of two, three, four, ... as they stand in the file, each
    block by itself; variables left over join the last block, which is not said in print but gives its figures. Limits:
    as of MDAV; it takes 3 to 14 times as long, and its time grows with the power 1.5 of the number of records in two
    variables, 1.7 in six and 2 in thirteen.
    """

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        size = min(self.at_a_time or len(names), len(names))
        starts = [size * i for i in range(len(names) // size)]
        blocks = [names[start:end] for start, end in zip(starts, [*starts[1:], len(names)], strict=True)]
        return _aggregated(data, blocks, self.k, self._groups)

    def _groups(self, z: Floats) -> Labels:
        return maximum_distance_groups(z, self.k)


def _means_in_words(method: Method, k: int) -> str:
    means, near = ("the mean", "it") if len(method.variables or ()) == 1 else ("the means", "all of it")
    return f"{method.subject_is()} replaced by {means} of {k} records that are near in {near}"


def consecutive_groups(n: int, k: int) -> Labels:
    """Label n records in order with groups of k; the middle group takes the remainder."""
    groups = n // k
    sizes = np.full(groups, k)
    sizes[groups // 2] += n - groups * k
    return np.repeat(np.arange(groups), sizes)


def group_means(values: Floats, labels: Labels, k: int) -> Floats:
    """Replace each value by the mean of those present in its group; no mean is taken over fewer than k values.

    A group with fewer than k values present of a variable is, for that variable, joined to the nearest group (by the
    distance of the groups' standardised means) that has enough.
    """
    groups = int(labels.max()) + 1
    present = ~np.isnan(values)
    sizes = np.bincount(labels, minlength=groups)
    if present.all():
        first = np.empty(groups, dtype=np.intp)
        first[labels[::-1]] = np.arange(len(labels))[::-1]
        base = values[first][labels]  # sums of differences: the mean of equal values is that value, to the last digit
        return base + (_sums(values - base, labels, groups) / sizes[:, None])[labels]
    counts = _sums(present.astype(np.float64), labels, groups)
    centres = _sums(_zscores(values), labels, groups) / sizes[:, None]
    means = np.full_like(values, np.nan)
    for j, base in enumerate(mean_and_spread(values)[0]):
        joined = _join_short_groups(counts[:, j], centres, k)[labels]
        rows = present[:, j]
        total = np.bincount(joined[rows], values[rows, j] - base, groups)
        means[rows, j] = base + (total / np.maximum(np.bincount(joined[rows], minlength=groups), 1))[joined[rows]]
    return means


def _sums(values: Floats, labels: Labels, groups: int) -> Floats:
    return np.stack([np.bincount(labels, column, groups) for column in values.T], axis=1).astype(np.float64)


def _join_short_groups(counts: Floats, centres: Floats, k: int) -> Labels:
    """Map each group to itself, or to the nearest group with at least k values present if it has fewer."""
    from scipy.spatial import KDTree

    joined = np.arange(len(counts))
    short = np.flatnonzero((counts < k) & (counts > 0))
    enough = np.flatnonzero(counts >= k)
    if short.size and not enough.size:
        joined[short] = short[0]  # together they have k, or the variable would have been refused
    elif short.size:
        joined[short] = enough[KDTree(centres[enough]).query(centres[short])[1]]
    return joined


def _aggregated(
    data: Microdata, blocks: list[tuple[str, ...]], k: int, groups: Callable[[Floats], Labels]
) -> Microdata:
    """Aggregate block by block of variables."""
    masked = data
    for block in blocks:
        values = data.numeric(block)
        for name, present in zip(block, (~np.isnan(values)).sum(axis=0), strict=True):
            _need(int(present), k, f"variable {name!r} has ")
        means = group_means(values, groups(_zscores(values)), k)
        done = Treatment(perturbed=True, averaged=block)
        masked = masked.replace({name: means[:, j] for j, name in enumerate(block)}, treatment=done)
    return masked


def _zscores(values: Floats) -> Floats:
    """Standardise each variable by its values present; a missing value stands at the mean, a constant at zero."""
    scores = standardised(values, *mean_and_spread(values))
    return np.ascontiguousarray(np.where(np.isnan(scores), 0.0, scores))


def _need(values: int, k: int, start: str = "") -> None:
    if values < k:
        plural = "s" if values != 1 else ""
        raise NotApplicable(f"{start}{values} value{plural} present; groups of k={k} need at least {k}")
