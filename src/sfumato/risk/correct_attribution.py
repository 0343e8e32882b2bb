"""Correct attribution probability: how often a record drawn by the keys shows the true target."""

from typing import Literal, get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.registry import catalogued
from sfumato.risk.attribution import MISSING_TARGETS, Attributed, Attribution
from sfumato.risk.attribution_cells import TargetCells
from sfumato.risk.replicated_uniques import SOURCE

Unmatched = Literal["zero", "left out"]


@catalogued(
    MeasureAbout(
        title="Correct attribution probability (DCAP)",
        source="Elliot (2014), Final report on the disclosure risk associated with the synthetic data produced by the "
        f"SYLLS team; Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability; {SOURCE}",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_TARGETS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="read it against the baseline: with a target that most share it is high whatever is released",
        formula="DCAP = mean over originals i of s_(q, t_i) / s_q,  0 or left out where s_q = 0\n"
        "baseline = sum_t p_t^2,  p_t = share of target t in the original\n"
        "WEAP = mean over protected records of s_(q, t) / s_q, that of their own keys and target\n"
        "s_q, s_qt = protected records with the keys q, and with target t too",
        reading="The share of targets that an intruder gets right who draws one of the protected records with the "
        "person's keys. Someone who knows only how frequent each value is gets the baseline right; a copy of the file "
        'gives "of the original". A value near the baseline discloses nothing about persons; the share of the way '
        "from there to the original's is what the file gives away.",
    )
)
class DCAP(Attribution):
    """Mean probability that a protected record drawn by a person's keys shows the person's true target.

    Of each original record: the share of the true target among the protected records with its keys. Keys that the
    protected table does not have count 0, or with ``unmatched="left out"`` not at all. Keys, ``targets`` and
    ``classes`` as in :class:`DiSCO`; the value is that of the target most at risk, ``by_variable`` has them all. Parts:
    the baseline, what the univariate distribution alone gives (synthpop's baseCAPd); DCAP of the original itself, what
    a copy would give (CAPd); WEAP, the mean within-class attribution probability of the protected records, how sure the
    table is of its own targets, right or wrong (CAPs); keys found. ``by_record`` is each original record's probability.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "s"], "ill": ["yes", "no", "no", "yes"]})
    >>> found = DCAP(targets=("ill",), variables=("region",)).evaluate(original, protected)
    >>> round(found.value, 4), found.parts["baseline"]  # (1 + 0 + 2/3 + 2/3) / 4 and (1/4)^2 + (3/4)^2
    (0.5833, 0.625)
    """

    unmatched: Unmatched = "zero"
    targets: tuple[str, ...] | None = None
    classes: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "unmatched", get_args(Unmatched))

    def _attributed(self, cells: TargetCells) -> Attributed:
        found, own = np.maximum(cells.found, 1), np.maximum(cells.own, 1)
        right = np.where(cells.told, cells.protecteds / found, 0.0)
        there = cells.found > 0
        matched = cells.share(there)
        counted = 1.0 if self.unmatched == "zero" else matched
        protected = int(cells.protecteds.sum())
        parts = {
            "baseline": cells.repeated,
            "of the original": cells.mean(np.where(cells.told, cells.originals / own, 0.0)),
            "WEAP": float((cells.protecteds / found * cells.protecteds).sum()) / protected,
            "keys found": matched,
        }
        by_cell = right if self.unmatched == "zero" else np.where(there, right, np.nan)
        value = cells.mean(right) / counted if counted > 0 else 0.0
        return Attributed(value, parts, by_cell[cells.cell_of])
