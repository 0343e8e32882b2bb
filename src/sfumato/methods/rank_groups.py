"""Groups of neighbouring ranks, swapped or averaged within (Kyu-Seong Kim)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.display import written
from sfumato.errors import NotApplicable
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats, Integers, Labels, Ranked
from sfumato.methods.microaggregation import group_means
from sfumato.registry import catalogued
from sfumato.table.schema import Schema
from sfumato.table.treatment import BY_RANK, Treatment

SOURCE = "Kyu-Seong Kim, Measures of Data Utility for Complex Survey Data, section 3"


class RankGroups(ColumnMethod):
    """What both methods share: each variable cut into groups of ranks less than ``alpha`` n apart."""

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "alpha")

    def _treatment(self, name: str) -> Treatment:
        return BY_RANK

    def _groups(self, values: Floats) -> NDArray[np.intp]:
        """Label the values: consecutive ranks, any two of a group less than alpha n apart; the last may be shorter."""
        n = values.size
        labels = np.empty(n, dtype=np.intp)
        labels[np.argsort(values, kind="stable")] = np.arange(n) // self._size(n)
        return labels

    def _size(self, n: int) -> int:
        """Return how many ranks a group has."""
        size = int(np.ceil(self.alpha * n - 1e-9))
        if size < 2:
            raise NotApplicable(f"alpha={self.alpha:g} of {n} values leaves groups of one, so nothing would be masked")
        return size


@catalogued(
    MethodAbout(
        title="Swapping within rank groups",
        source=SOURCE,
        missing=MISSING_STAYS,
        random=True,
        grid={"alpha": (0.04, 0.06, 0.08)},
        caveat="a value never leaves its group of ranks, which an intruder who knows alpha can use",
        formula="x'_i = x_s(i),   s = a random permutation within each group of ranks\n"
        "groups = ranks 1..g, g + 1..2g, ...;   g = ceil(alpha n), the last one shorter",
        reading="``alpha`` is the width of a group as a share of the records: 0.04 to 0.08 in the source. Means, "
        "quantiles and all other figures of one variable are unchanged; associations weaken as alpha grows. A value "
        "moves by less than alpha n ranks, and by 0 in one of g cases.",
        group="Change numbers",
        effect="exchanged",
        labels={"alpha": "Width of a group of ranks, as a share of the records (alpha)"},
    )
)
class GroupedSwapping(RankGroups):
    """Each variable's values permuted at random within groups of ranks less than ``alpha`` times n apart.

    Unlike :class:`RankSwapping` the groups are fixed and do not overlap: ranks 1..g, g + 1..2g, ... with g = ceil(alpha
    n), the last one shorter. Marginal distributions are kept exactly. Limits: values at the two ends of neighbouring
    groups are never exchanged, and a value may by chance come back to its own record.
    """

    alpha: float

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        labels = self._groups(values)
        shuffled = np.empty_like(values)
        # the records of each group in two orders: as they stand, and at random
        shuffled[np.lexsort((np.arange(values.size), labels))] = values[np.lexsort((rng.random(values.size), labels))]
        return shuffled

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        n = len(ranked)
        size, draws = self._size(n), ranked.drawn(rng)
        by_record = draws.mapped()

        def shuffled(values: Floats, labels: Labels, numbers: Integers) -> Floats:
            found = np.empty_like(values)
            found[np.argsort(labels, kind="stable")] = values[np.lexsort((by_record[numbers], labels))]
            return found

        yield from ranked.grouped(-(-n // size), size, lambda group: np.minimum(group * size, n), shuffled)
        draws.close()

    def in_words(self, schema: Schema | None = None) -> str:
        share = written(self.alpha, "share")
        return f"{self.subject_is()} swapped between records within {share} of the ranks"


@catalogued(
    MethodAbout(
        title="Averaging within rank groups",
        source=SOURCE,
        missing=MISSING_STAYS,
        random=False,
        grid={"alpha": (0.04, 0.06, 0.08)},
        caveat="the size of the groups grows with the table: at large n a small alpha averages many records",
        formula="x'_i = mean of the values in the group of x_i\n"
        "groups = ranks 1..g, g + 1..2g, ...;   g = ceil(alpha n), the last one shorter,\n"
        "         or part of the one before where it would hold a single value",
        reading="``alpha`` is the width of a group as a share of the records; 0.04 makes about 25 groups, whatever n "
        "is, so that each variable is left with 25 different values. Means are kept exactly and variances shrink.",
        group="Change numbers",
        effect="averaged",
        labels={"alpha": "Width of a group of ranks, as a share of the records (alpha)"},
    )
)
class GroupedMicroaggregation(RankGroups):
    """Each variable's values averaged within groups of ranks less than ``alpha`` times n apart.

    :class:`IndividualRanking` with the group size given as a share of the records: groups of ceil(alpha n) ranks, the
    last one shorter, or joined to the one before if it would be a single value. Limits: as individual ranking, it
    protects values, not records.
    """

    alpha: float

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        labels = self._groups(values)
        if np.count_nonzero(labels == labels.max()) == 1:
            labels[labels == labels.max()] -= 1  # a group of one would be published as it is
        return group_means(values[:, None], labels, 1)[:, 0]

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        n = len(ranked)
        size = self._size(n)
        groups = -(-n // size) - (n % size == 1)  # a group of one is part of the one before
        yield from ranked.grouped(
            groups,
            size,
            lambda group: np.where(group == groups, n, group * size),
            lambda values, labels, _: group_means(values[:, None], labels, 1)[:, 0],
        )

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} replaced by means within {written(self.alpha, 'share')} of the ranks"
