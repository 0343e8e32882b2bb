"""The share of values that were there and are gone."""

from collections.abc import Mapping

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.core import Measure, chosen
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.statistics import Sums
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata

NAMED = 3  # variables that the title names


@catalogued(
    MeasureAbout(
        title="Values lost (suppressed)",
        source="Templ, Kowarik and Meindl (2015), Statistical disclosure control for micro-data using the R package "
        "sdcMicro, J. Stat. Softw. 67(4): number and share of suppressed values of each key",
        purpose="utility",
        counts=("values lost",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="what was missing in the original already is no loss; what is missing in the protected table only is "
        "what the measure counts",
        paired=False,
        joint=False,
        parts="summaries",
        caveat="it sees only what is gone: a value that was changed or made coarser is still there",
        formula="value = mean_j(L_j)\n"
        "L_j = #{i: x_ij present, y_ij missing} / #{i: x_ij present};   1 if the protected table lacks j\n"
        "records that do not match:   L_j = max(0, 1 - present share of y_j / present share of x_j)",
        reading="0 means that every value is still there, 0.05 that one in twenty is blank, in the mean over the "
        "variables. One variable may have lost far more than the mean: the part names the largest share, and a bound "
        'on one variable is written Suppressed(region), as in --at-most "Suppressed(region)=5%". Agencies seldom '
        "publish a variable of which more than a few in a hundred values are blank.",
    )
)
class Suppressed(Measure):
    """Share of the values of the original that are missing in the protected table: the mean over the variables.

    Where records match, cell by cell: of the values that were there, those that are gone. Where they do not (a sample,
    synthetic records), by the change of the share present, never below 0. A variable that the protected table lacks has
    lost all its values. A variable that has no value in the original is left out, and said.

    Parts: the largest share among the variables, and the number of values lost; where records do not match, as many as
    the share makes of the original's values. Survey weights play no part, because values are counted.

    A bound on one variable: ``Suppressed(variables=("region",))``, on the command line ``Suppressed(region)``.

    >>> import pyarrow as pa
    >>> before = pa.table({"town": ["A", "B", "C", None], "sex": ["f", "m", "f", "m"]})
    >>> after = pa.table({"town": ["A", None, "C", None], "sex": ["f", "m", "f", "m"]})
    >>> found = Suppressed().evaluate(before, after)
    >>> {name: round(share, 3) for name, share in found.by_variable.items()}
    {'town': 0.333, 'sex': 0.0}
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variables is not None:  # so that bounds on several variables are told apart
            more = f" and {len(self.variables) - NAMED} more" if len(self.variables) > NAMED else ""
            self.known_as(title=f"Values lost of {', '.join(self.variables[:NAMED])}{more}")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names = chosen(self, pair.original.schema)
        there = tuple(name for name in names if name in pair.protected.schema)
        if not there and self.variables is None:
            raise NotApplicable(f"the protected table has no comparable {', '.join(names)}")
        before = _present(pair.original.total(lambda part: _counts(part, names)), names)
        counted = [name for name in names if before[name] > 0]
        if not counted:
            raise NotApplicable(f"the original has no value of {', '.join(names)}")
        left, said = _left(pair, there, before)
        lost = {name: 1 - left.get(name, 0.0) for name in counted}
        return self.measurement(
            float(np.mean(list(lost.values()))),
            parts={
                "largest share of a variable": max(lost.values()),
                "values lost": float(sum(round(lost[name] * before[name]) for name in counted)),
            },
            by_variable=lost,
            notes=(*_one_sided(names, there, before), *said),
        )


def _one_sided(names: tuple[str, ...], there: tuple[str, ...], before: Mapping[str, int]) -> list[str]:
    """Say which variables are removed, and which had no value."""
    gone = [name for name in names if name not in there]
    empty = [name for name in names if not before[name]]
    said = [f"removed, so all values are lost: {', '.join(gone)}"] if gone else []
    return [*said, *([f"left out, for the original has no value: {', '.join(empty)}"] if empty else [])]


def _left(pair: Pair, names: tuple[str, ...], before: Mapping[str, int]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the share of the values of each variable that is left: record by record, or table by table."""
    told = [name for name in names if before[name] > 0]
    try:
        both = pair.in_order()
    except NotApplicable:
        after = _present(pair.protected.total(lambda part: _counts(part, names)), names)
        sizes = len(pair.original) / len(pair.protected)
        said = "the records do not match: counted by the change of the share of values present"
        return {name: min(1.0, sizes * after[name] / before[name]) for name in told}, (said,)
    kept = _present(both.total(lambda one, other: _counts(one, names, other)), names)
    return {name: kept[name] / before[name] for name in told}, ()


def _counts(part: Microdata, names: tuple[str, ...], beside: Microdata | None = None) -> Sums:
    """Count the values of a part; beside another, those that it has too."""
    gone = [part.missing(name) if beside is None else part.missing(name) | beside.missing(name) for name in names]
    return Sums({"present": np.array([len(part) - int(flags.sum()) for flags in gone], dtype=np.int64)})


def _present(sums: Sums, names: tuple[str, ...]) -> dict[str, int]:
    return dict(zip(names, sums["present"].tolist(), strict=True))
