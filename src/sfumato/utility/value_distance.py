"""How far values moved, of all kinds of variables, each distance from 0 to 1."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import Sums
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.utility.distribution_functions import Ordered

Floats = NDArray[np.float64]
Units = Literal["standard deviations", "own"]


@catalogued(
    MeasureAbout(
        title="Distance of values (IL_variables)",
        source="Mlodak (2020), Information loss resulting from statistical disclosure control of output data, "
        "Wiadomosci Statystyczne 65(9); IL_variables of sdcMicro",
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        kinds=("numeric", "ordinal", "nominal", "date"),
        joint=False,
        parts="summaries",
        missing="two missing values are at distance 0, a missing and a present one as far apart as can be",
        caveat="it sees values, not what they add up to: a swapped table may keep every distribution and score high; "
        "and a recoded category is another value",
        formula="value = mean over variables and records of d(x, y)\n"
        "nominal 0 if equal, else 1;   ordinal |place - place| / (categories - 1)\n"
        "numeric (2/pi) arctan(|x - y| / s),   s = the original's standard deviation, or 1 (own units)",
        reading="0 means that no value moved, 1 that all are as far away as can be. A number that moved by one "
        "standard deviation is at distance 0.5, by a tenth at 0.06. Look at the variables: the mean of a nominal one "
        "is the share of its values that changed.",
    )
)
class ValueDistance(Measure):
    """Mean distance between original and protected values, each from 0 to 1: lambda of Mlodak, IL_variables.

    Nominal values are at distance 0 or 1, ordered ones at the difference of their places over the largest one,
    numbers at (2 / pi) arctan of their difference. An arctangent of a difference depends on the unit, so differences
    are in standard deviations of the original unless ``units="own"``, which is what sdcMicro computes. If one of two
    numbers is missing, their difference is the largest that the ranges of both tables allow. ``by_variable`` has the
    mean of each variable.

    >>> import pyarrow as pa
    >>> before, after = pa.table({"a": [1.0, 2.0], "b": ["u", "v"]}), pa.table({"a": [1.0, 3.0], "b": ["u", "u"]})
    >>> ValueDistance(units="own").evaluate(before, after).by_variable
    {'a': 0.25, 'b': 0.5}
    """

    units: Units = "standard deviations"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "units", get_args(Units))

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, notes = self.shared(pair)
        found: dict[str, float] = {}
        apart: list[str] = []
        for name in names:
            kinds = {half.schema[name].kind for half in (pair.original, pair.protected)}
            if kinds in ({"numeric"}, {"date"}):
                sums = self._numbers(pair, name)
            elif kinds & {"numeric", "date"}:
                apart.append(name)
                continue
            else:
                sums = _places(pair, name) if kinds == {"ordinal"} else _labels(pair, name)
            found[name] = float(sums["distance"] / len(pair.original))
        if apart:
            notes = (*notes, f"left out, of another kind in the protected table: {', '.join(apart)}")
        if not found:
            raise NotApplicable(f"no variable is of one kind in both tables ({', '.join(apart)})")
        return self.measurement(float(np.mean(list(found.values()))), by_variable=found, notes=notes)

    def _numbers(self, pair: Pair, name: str) -> Sums:
        before, after = pair.original.moments((name,)), pair.protected.moments((name,))
        unit = float(before.spread[0]) if self.units == "standard deviations" else 1.0
        unit = unit if unit > 0 else 1.0  # of a constant, in its own units
        farthest = max(abs(float(after.low[0] - before.high[0])), abs(float(after.high[0] - before.low[0])))
        farthest = farthest if np.isfinite(farthest) else np.inf  # a table without any value

        def of(one: Microdata, two: Microdata) -> Sums:
            x, y = one.columns[name], two.columns[name]
            gone = np.isnan(x), np.isnan(y)
            moved = np.where(gone[0] & gone[1], 0.0, np.where(gone[0] | gone[1], farthest, np.abs(x - y)))
            return Sums({"distance": float(np.arctan(moved / unit).sum()) * 2 / np.pi})

        return pair.total(of)


def _places(pair: Pair, name: str) -> Sums:
    """Sum the differences of the places of ordered categories, over the largest there is."""
    ordered = Ordered.of(pair, name)
    widest = max(len(ordered.categories) - 1, 1)

    def of(one: Microdata, two: Microdata) -> Sums:
        x, y = (number(part.columns[name]) for number, part in zip(ordered.number, (one, two), strict=True))
        gone = np.isinf(x), np.isinf(y)
        with np.errstate(invalid="ignore"):
            moved = np.where(gone[0] & gone[1], 0.0, np.where(gone[0] | gone[1], widest, np.abs(x - y)))
        return Sums({"distance": float(moved.sum()) / widest})

    return pair.total(of)


def _labels(pair: Pair, name: str) -> Sums:
    """Count the values whose category is another."""
    listed, theirs = (half.schema[name].categories for half in (pair.original, pair.protected))
    place = {category: code for code, category in enumerate(listed)}
    same = np.array([*(place.get(category, -2) for category in theirs), -1])  # missing finds the last place

    def of(one: Microdata, two: Microdata) -> Sums:
        return Sums({"distance": float(np.count_nonzero(one.columns[name] != same[two.columns[name]]))})

    return pair.total(of)
