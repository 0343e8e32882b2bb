"""Rank swapping."""

from collections.abc import Iterator

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.display import Phrase, written
from sfumato.errors import NotApplicable
from sfumato.kernels.rank_swapping import partners_by_stretch, swap_partners
from sfumato.methods.columns import MISSING_STAYS, ColumnMethod, Floats, Ranked
from sfumato.registry import catalogued
from sfumato.table.schema import Schema
from sfumato.table.treatment import BY_RANK, Treatment


@catalogued(
    MethodAbout(
        title="Rank swapping",
        source="Moore (1996); Domingo-Ferrer, Mateo-Sanz and Torres, section 2 (Rank p)",
        missing=MISSING_STAYS,
        kinds=("numeric", "date"),
        random=True,
        grid={"p": (0.02, 0.05, 0.1, 0.15, 0.2)},
        caveat="an intruder who knows p can rule out every record outside the swapping window; distance linkage "
        "understates that risk",
        formula="from the lowest rank r up: value r, if not yet swapped, changes places with one drawn evenly\n"
        "from those not yet swapped of ranks r + 1 .. r + w,   w = floor(p n);  it stays if there is none",
        reading="``p`` is the widest move as a share of the ranks: 0.02 to 0.05 is light, 0.15 to 0.2 heavy. All "
        "figures of one variable are exact at any p; correlations shrink as p grows. Judge the risk by "
        "RankSwappingAttack as well: distance linkage looks for the nearest record, and swapping makes the own record "
        "anything but that.",
        group="Change numbers",
        effect="exchanged",
        labels={"p": "Widest move, as a share of the ranks (p)"},
    )
)
class RankSwapping(ColumnMethod):
    """Each value swapped with one at most ``p`` times n ranks away, one variable at a time.

    The values present are ranked (ties in file order); from the lowest rank up, each value not yet swapped changes
    places with one drawn evenly from the values not yet swapped among the next floor(p n) ranks; if none is left there,
    it stays. ``p`` is a share: 0.15, not 15. Every marginal distribution is kept exactly; associations weaken as p
    grows. Limits: swapping among equal values (zeros) changes nothing, and the window is a guarantee to the intruder
    too.

    >>> import pyarrow as pa
    >>> masked = RankSwapping(0.5).protect(pa.table({"income": [10, 20, 30, 40]}), rng=1)
    >>> sorted(masked["income"].to_pylist())
    [10, 20, 30, 40]
    """

    p: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "p")

    def _treatment(self, name: str) -> Treatment:
        return BY_RANK

    def _column(self, values: Floats, rng: np.random.Generator) -> Floats:
        partner = swap_partners(rng.random(values.size), self._window(values.size))
        order = np.argsort(values, kind="stable")
        swapped = np.empty_like(values)
        swapped[order] = values[order[partner]]
        return swapped

    def _sorted(self, ranked: Ranked, rng: np.random.Generator) -> Iterator[Floats]:
        window = self._window(len(ranked))
        width = max(ranked.width, window // 2)  # ranks within the window are held in any case
        for partner in partners_by_stretch(rng.random, len(ranked), window, width):
            yield ranked.at(partner)

    def _window(self, n: int) -> int:
        window = int(self.p * n + 1e-9)  # 0.29 * 100 is 28.999..., yet 29 ranks are meant
        if window < 1:
            raise NotApplicable(f"p={self.p:g} of {n} values is less than one rank, so nothing would be swapped")
        return window

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} swapped between records within {written(self.p, 'share')} of the ranks"

    def short(self) -> Phrase:
        return Phrase("rank swap", "rank swap", written(self.p, "share"))
