"""Precision: how far up their hierarchies the published values are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.schema import Variable, a_kind
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.generalisation import Coarsened, generalised_names, one_by_one
from sfumato.utility.global_utility.deletion import present


@catalogued(
    MeasureAbout(
        title="Precision of the keys",
        source="Sweeney (2002), Achieving k-anonymity privacy protection using generalization and suppression, Int. J. "
        "of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5)",
        purpose="utility",
        better="higher",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        joint=False,
        parts="columns",
        missing="a value that is gone is at the top of its hierarchy; one that the original lacks too is not counted",
        caveat="it counts steps of a hierarchy, however much or little a step merges, and sees neither how often "
        "values occur nor whether they are true: numbers and dates published as such are at level 0",
        formula="Prec = 1 - mean over the variables of mean over the values of (level / height)\n"
        "level: of the hierarchy at which the published value is first found;   height: levels above 0\n"
        "gone: level = height;   without a hierarchy: height = 1, as it is or gone",
        reading="1 means that every value is as it was, 0 that all are at the top. One level of four, for all values, "
        "costs 0.25 of a variable. A tall hierarchy makes a step cheap: compare figures of the same hierarchies only.",
    )
)
class Precision(Measure):
    """One less the mean height of the published values in their hierarchies: Sweeney's precision.

    The level of a published value is the lowest one of the variable's hierarchy (``Variable.hierarchy``, of the
    original's schema) that has a value or group of this name. A variable without a hierarchy has two levels: as it is,
    and gone; if it was recoded nevertheless, no level is known, and it is left out, which is said. So is a variable
    with published values that no level of its hierarchy has.

    The variables are the keys that the schema names, else all. A value that is gone is at the top, and so is every
    value of a variable that was removed.

    Parts: the least precision of a variable, and the mean share of values gone. ``by_variable`` holds the precision of
    each, the table "variables" also its height and its lowest and highest level.

    >>> import pyarrow as pa
    >>> from sfumato import Hierarchy, Microdata, Schema
    >>> towns = Hierarchy.of({"Aix": ["south", "France"], "Nice": ["south", "France"], "Lille": ["north", "France"]})
    >>> before = Microdata.from_frame(
    ...     pa.table({"town": ["Aix", "Nice", "Lille", "Lille"]}),
    ...     Schema((Variable("town", kind="nominal", hierarchy=towns),)),
    ... )
    >>> after = pa.table({"town": ["south", "south", "Lille", "France"]})
    >>> Precision().evaluate(before, after).value  # levels 1, 1, 0 and 2 of 2
    0.5
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names = generalised_names(self, pair)
        variables, notes = one_by_one(pair, names)
        found = []
        for one in variables:
            levels = (0.0, 0, 0, 1) if one.both is None else _levels(one, one.both)
            if isinstance(levels, str):
                notes.append(f"left out, {one.name}: {levels}")
            else:
                found.append(Height(one.name, 1 - one.left, *levels))
        if not found:
            raise NotApplicable(f"at which level the values of {', '.join(names)} are cannot be told; {notes[0]}")
        return self.measurement(
            float(np.mean([one.precision for one in found])),
            parts={
                "least of a variable": min(one.precision for one in found),
                "values gone": float(np.mean([one.gone for one in found])),
            },
            by_variable={one.name: one.precision for one in found},
            tables={"variables": tuple(one.row() for one in found)},
            notes=tuple(notes),
        )


@dataclass(frozen=True)
class Height:
    """At which levels of its hierarchy the published values of a variable are."""

    name: str
    gone: float  # share of the values that are no longer there
    mean: float = 0.0  # level of those that are
    lowest: int = 0
    highest: int = 0
    height: int = 1

    @property
    def precision(self) -> float:
        """One less the mean level over the height, values gone being at the top."""
        return max(0.0, (1 - self.gone) * (1 - self.mean / self.height))

    def row(self) -> Mapping[str, Any]:
        """Lay out one row of the table of variables."""
        return {
            "variable": self.name,
            "precision": self.precision,
            "gone": self.gone,
            "lowest_level": self.lowest,
            "highest_level": self.highest,
            "height": self.height,
        }


def _levels(one: Coarsened, both: Pair) -> tuple[float, int, int, int] | str:
    """Return the mean, lowest and highest level of the published values, and the height; or why it cannot be told."""
    before, after, published = (
        both.original.schema[one.name],
        both.protected.schema[one.name],
        both.protected.column(one.name),
    )
    height = 1 if before.hierarchy is None else before.hierarchy.height
    shown = published[present(published)]
    if not len(shown) or (before.kind == after.kind and not after.categories):
        return 0.0, 0, 0, height
    if not after.categories:
        return f"{a_kind(before.kind)} in the original and {a_kind(after.kind)} in the protected table"
    codes, counts = np.unique(shown, return_counts=True)
    level_of = _level_of(before, one.values)
    found = [level_of.get(str(after.categories[code])) for code in codes.tolist()]
    unknown = [str(after.categories[code]) for code, level in zip(codes.tolist(), found, strict=True) if level is None]
    if unknown and before.hierarchy is None:
        return f"its values were recoded ({unknown[0]!r}), and its schema has no hierarchy to tell the level by"
    if unknown:
        return f"no level of its hierarchy has {unknown[0]!r}"
    levels = np.array(found, dtype=np.int64)
    return float(np.average(levels, weights=counts)), int(levels.min()), int(levels.max()), height


def _level_of(variable: Variable, values: NDArray[Any]) -> dict[str, int]:
    """Return the lowest level that has a value or group of each name."""
    if variable.hierarchy is None:
        numbers = {f"{value:g}": 0 for value in np.unique(values[present(values)])} if values.dtype.kind == "f" else {}
        return numbers | {str(category): 0 for category in variable.categories}
    spelled = variable.hierarchy.levels(variable, values).spelled
    # categories that do not occur are of level 0 too
    level_of = {str(category): 0 for category in variable.categories}
    for level, names in enumerate(spelled):
        for name in names:
            level_of.setdefault(name, level)
    return level_of
