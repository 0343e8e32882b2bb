"""Resampling: averages of ranked bootstrap samples."""

from collections.abc import Iterator

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats, Ranked, in_rank_order_of, in_stretches
from sfumato.registry import catalogued
from sfumato.table.schema import Schema
from sfumato.table.treatment import BY_RANK, Treatment


@catalogued(
    MethodAbout(
        title="Resampling",
        source="Heer (1993); Domingo-Ferrer and Mateo-Sanz (1999); Domingo-Ferrer, Mateo-Sanz and Torres, section 2",
        missing=MISSING_STAYS,
        random=True,
        grid={"t": (1, 3, 5)},
        caveat="ranks are kept, so a record that is extreme in several variables stays recognisable",
        formula="x'_i = (y^1_(r_i) + ... + y^t_(r_i)) / t,   r_i = rank of x_i (ties in file order)\n"
        "y^s_(r) = r-th smallest of the s-th bootstrap sample: n draws with replacement from the n values",
        reading="``t`` is the number of samples averaged: 1 gives values that occur in the variable, 3 to 5 smoother "
        "ones. Larger t moves values less, not more. Loss is small, and so is protection: ranks tell who is who.",
        group="Change numbers",
        labels={"t": "Samples that are averaged (t)"},
    )
)
class Resampling(ColumnMethod):
    """The average of the j-th ranked values of ``t`` bootstrap samples of the variable, given to the record of rank j.

    Samples are drawn with replacement from the values present, one variable at a time; records with equal values take
    their ranks in file order. Limits: every record keeps its rank, so linkage on several variables succeeds often; for
    large ``t`` the values approach the originals' expected order statistics.
    """

    t: int

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "t")

    def _treatment(self, name: str) -> Treatment:
        return BY_RANK

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        total = np.zeros_like(values)
        for _ in range(self.t):
            total += np.sort(rng.choice(values, size=values.size, replace=True))
        return in_rank_order_of(values, total / self.t)

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        n, width = len(ranked), ranked.width
        present = ranked.present()
        values, samples = present.mapped(), []
        for _ in range(self.t):
            runs = ranked.runs()
            for first in range(0, n, width):  # as ``choice`` draws them, a stretch at a time
                runs.add(values[rng.integers(0, n, size=min(width, n - first))])
            samples.append(runs)
        pieces = [in_stretches((sorted_values for sorted_values, _ in runs.merged()), width) for runs in samples]
        for several in zip(*pieces, strict=True):
            yield sum(several, np.zeros(len(several[0]))) / self.t
        present.close()
        for runs in samples:
            runs.close()

    def in_words(self, schema: Schema | None = None) -> str:
        tables = "a resampled table" if self.t == 1 else f"{self.t} resampled tables"
        return f"{self.subject_is()} replaced by values of the same rank in {tables}"
