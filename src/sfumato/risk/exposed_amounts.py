"""Amounts that identify by themselves: extreme values that stand in the protected table as they were."""

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

RECORDS_PER_EXTREME = 20  # a small table has few extremes: at most one record in twenty


@catalogued(
    MeasureAbout(
        title="Extreme amounts that stand as they were",
        source="Hundepool et al., Statistical Disclosure Control (2012), chapter 3: outliers of continuous variables "
        "identify without any key",
        purpose="risk",
        counts=("extreme values",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="left out: a missing value is no extreme, and one that was made missing does not stand",
        joint=False,
        caveat="says nothing of amounts that are not extreme, nor of an extreme hidden in a sum or a ratio",
        formula="value = #{extreme values x with |x' - x| <= within |x|} / #{extreme values}\n"
        "extreme: the `most` values farthest from the variable's median, at most n / 20, no ties",
        reading="0 means that no extreme amount was left as it was. The largest income of a town is known to its "
        "neighbours, so anything above 0 wants a look; the part tells of how many variables the farthest value itself "
        "stands. Top coding, rounding of large amounts, noise in proportion and microaggregation remove them.",
    )
)
class ExposedAmounts(Measure):
    """Share of the extreme amounts that stand in the protected table as they were, or nearly so.

    An amount that nobody else has identifies by itself: whoever has heard of the largest fortune finds it without any
    key. Of each variable the ``most`` values farthest from its median are looked at, but at most one record in twenty,
    and no value that ties with the next, since a value that many have is no mark. One stands if the protected value
    differs from it by no more than the share ``within``. Without ``variables`` the confidential numeric ones are looked
    at, or all numeric ones if none is confidential. ``by_variable`` gives the share of each, ``by_record`` is 1 where a
    record shows an extreme, and the part "variables whose farthest value stands" is a share of the variables.

    >>> import pyarrow as pa
    >>> pay = pa.table({"pay": [float(i) for i in range(1, 40)] + [5000.0]})
    >>> ExposedAmounts().evaluate(pay, pay).value
    1.0
    """

    most: int = 10
    within: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "most")
        parameters.share(self, "within")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        before, after = pair.tables()
        secret = set(before.schema.analysed("numeric", role="confidential"))
        if self.variables is None and secret & set(names):
            names = tuple(name for name in names if name in secret)
        shown = np.zeros(len(before), dtype=bool)
        number, standing, farthest, by_variable = 0, 0, 0, {}
        for name in names:
            x, y = before.columns[name], after.columns[name]
            far, first = _extremes(x, min(self.most, max(1, len(x) // RECORDS_PER_EXTREME)))
            stands = far & (np.abs(y - x) <= self.within * np.abs(x))
            number, standing = number + int(far.sum()), standing + int(stands.sum())
            farthest += bool((stands & first).any())
            by_variable[name] = float(stands.sum() / max(far.sum(), 1))
            shown |= stands
        if not names:
            raise NotApplicable("there is no numeric variable to look at")
        return self.measurement(
            standing / max(number, 1),
            parts={"variables whose farthest value stands": farthest / len(names), "extreme values": float(number)},
            by_variable=by_variable,
            by_record=shown.astype(np.float64),
            notes=notes if number else (*notes, "no variable has a value of its own that is farther than all others"),
        )


def _extremes(values: Floats, most: int) -> tuple[Flags, Flags]:
    """Tell which values are farther from the median than all but ``most``, and which of them is the farthest.

    >>> far, first = _extremes(np.array([1.0, 2, 3, 3, 90, -50]), 2)
    >>> far.tolist(), first.tolist()
    ([False, False, False, False, True, True], [False, False, False, False, True, False])
    """
    present = ~np.isnan(values)
    if present.sum() < 2:
        none = np.zeros(len(values), dtype=bool)
        return none, none
    away = np.where(present, np.abs(values / 2 - np.median(values[present] / 2)), -1.0)  # halves: no sum overflows
    next_one = np.partition(away, -most - 1)[-most - 1] if most < len(away) else -1.0
    far = (away > max(next_one, 0.0)) & present
    return far, far & (away == away.max())
