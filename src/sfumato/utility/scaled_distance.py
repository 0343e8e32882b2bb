"""IL1s: how far the values moved, in standard deviations."""

from dataclasses import field
from math import sqrt
from typing import Literal, get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import ROUNDING
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.information_loss import Changes

Form = Literal["mean", "sum"]


@catalogued(
    MeasureAbout(
        title="Distance of values in standard deviations (IL1S)",
        source="Yancey, Winkler and Creecy (2002), Disclosure risk assessment in perturbative microdata protection; as "
        "Kocar (2018), section 2.2, writes it",
        purpose="utility",
        better="lower",
        range=(0.0, np.inf),
        missing="a cell missing in either table is left out; standard deviations are of the values present in the "
        "original",
        parts="summaries",
        joint=False,
        caveat="it says how far single values moved, not what that does to an analysis: swapping and shuffling score "
        "high and keep every distribution; one with long tails has a large standard deviation, beside which little "
        "seems to have moved",
        formula="IL1s = (1 / pn) sum over the p variables and n records of |x - x'| / (sqrt(2) S_j)\n"
        "S_j = standard deviation of variable j in the original, with n - 1;   form='sum': without 1 / pn",
        reading="0 means that no value moved. Values of unrelated normal draws are 2 / sqrt(pi) = 1.13 standard "
        "deviations apart in the mean, which is 0.80: from there on nothing of a value is left. The sum grows with "
        "records and variables and compares only files of one shape; sdcMicro's IL1s is the sum.",
    )
)
class IL1s(Measure):
    """Mean distance between the values of both tables, each in sqrt(2) standard deviations of its variable.

    The square root of two makes the denominator the standard deviation of the difference of two independent draws.
    ``form="mean"`` divides by the number of values compared, as the paper prints it; ``"sum"`` does not, as sdcMicro's
    ``dUtility`` of method IL1s. (Its method IL1 is the mean variation of the values: ``StructureLoss()``.) Parts hold
    both, ``by_variable`` each variable's own. A variable that does not vary in the original has no standard deviation:
    it is left out, and said.

    >>> import pyarrow as pa
    >>> x, y = pa.table({"a": [1.0, 2.0, 3.0]}), pa.table({"a": [1.0, 2.0, 4.0]})
    >>> round(IL1s().evaluate(x, y).value, 6)  # 1 / (3 sqrt 2), the standard deviation being 1
    0.235702
    """

    form: Form = field(default="mean")

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "form", get_args(Form))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        changes = Changes.between(self, pair)
        spread = np.sqrt(np.diag(changes.before.covariances))
        varies = spread > ROUNDING * changes.before.size
        if not varies.any():
            raise NotApplicable("no variable varies in the original")
        notes = list(changes.notes)
        if not varies.all():
            constant = [name for name, found in zip(changes.names, varies, strict=True) if not found]
            notes.append(f"left out, for they do not vary in the original: {', '.join(constant)}")
        sums = changes.values["absolute"][varies] / (sqrt(2) * spread[varies])
        counts = changes.values["defined"][varies]
        if not counts.any():
            raise NotApplicable("no value is there in both tables")
        parts = {"mean": float(sums.sum() / counts.sum()), "sum": float(sums.sum())}
        own = sums / np.maximum(counts, 1) if self.form == "mean" else sums
        names = [name for name, found in zip(changes.names, varies, strict=True) if found]
        return self.measurement(
            parts[self.form], parts=parts, by_variable=dict(zip(names, own.tolist(), strict=True)), notes=tuple(notes)
        )
