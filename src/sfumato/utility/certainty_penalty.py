"""Certainty penalty: how broad the published values are, as a share of what they could be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure, chosen
from sfumato.data.recoding import Recoding
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.global_utility.deletion import left, present, side_by_side

Floats = NDArray[np.float64]


@catalogued(
    MeasureAbout(
        title="Global certainty penalty (GCP)",
        source="Xu, Wang, Pei, Wang, Shi and Fu (2006), Utility-based anonymization using local recoding, KDD (NCP); "
        "Ghinita, Karras, Kalnis and Mamoulis (2009), A framework for efficient data anonymization under privacy and "
        "accuracy constraints, ACM TODS 34(2) (GCP)",
        purpose="utility",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        joint=False,
        parts="columns",
        missing="a value that is gone may be any: its penalty is 1; one that the original lacks too is not counted",
        caveat="it sees how broad values are, not whether they are true: noise, swapping and synthetic values cost "
        "nothing; and a class of few records costs as much as its width, whoever is in it",
        formula="GCP = sum_j w_j NCP_j / sum_j w_j,   NCP_j = mean over the values of variable j of:\n"
        "numbers      (greatest - least of the original's values that the published one stands for) / range\n"
        "categories   how many categories it stands for / all that occur, and 0 if it stands for one\n"
        "1 if the value is gone;  w_j = 1, or the importance;  range and categories are the original's",
        reading="0 means that every value is as exact as it was, 1 that nothing is left to read. Ages in classes of "
        "ten years of a range of 80 cost 0.11, a region that merges 4 of 16 cost 0.25. By variable it says where the "
        "detail went; the table has the broadest class of each. The loss of ARX differs for categories: it counts "
        "(m - 1) / (all - 1) for m of them.",
    )
)
class CertaintyPenalty(Measure):
    """Mean breadth of the published values, as a share of the range of each variable: GCP, with NCP by variable.

    NCP of a value of a numeric variable is the width of the interval it stands for over the range of the original; of
    a category the share of all categories that it stands for, 0 if it stands for itself alone. A variable's NCP is the
    mean over its values, GCP the mean over the variables, weighted by ``importance`` (1 where nothing is said). What a
    value stands for is read off the original's values that were put together (``sfumato.data.recoding``): of a class
    the least and the greatest that fell into it, of a top-coded amount all beyond the limit, of a rounded one those
    that were rounded to it. So a class that holds only one value of the original costs nothing.

    The variables are the keys that the schema names, which recoding and suppression work on, else all. A value that is
    gone costs 1, and so does every value of a variable that was removed; where records do not match, as many values are
    gone as the share present has fallen. A variable whose recoding cannot be traced is left out, and said.

    Parts: the largest NCP of a variable, and the mean share of values gone. ``by_variable`` holds each NCP, the table
    "variables" the number of classes, the broadest of them and the share gone.

    >>> import pyarrow as pa
    >>> before = pa.table({"age": [20.0, 29.0, 30.0, 60.0], "town": ["A", "B", "C", "D"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "30-60", "30-60"], "town": ["A", "north", "north", None]})
    >>> found = CertaintyPenalty().evaluate(before, after)
    >>> # (2 x 9/40 + 2 x 30/40) / 4, and (0 + 2 x 2/4 + 1) / 4
    >>> {name: round(ncp, 4) for name, ncp in found.by_variable.items()}
    {'age': 0.4875, 'town': 0.5}
    """

    importance: Mapping[str, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.by_variable(self, "importance", '{"age": 3, "sex": 1}')
        for name, worth in (self.importance or {}).items():
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 < worth < np.inf:
                raise parameters.refuse(self, f"the importance of {name!r} must be a number above 0; got {worth!r}")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names = self._names(pair)
        there = tuple(name for name in names if name in pair.protected.schema)
        if not there:
            raise NotApplicable(f"the protected table has no comparable {', '.join(names)}")
        both = side_by_side(pair.gathered(names))
        still = left(both, there).alone
        found: list[Breadth] = []
        notes: list[str] = []
        for name in names:
            if not present(both.original.column(name)).any():
                notes.append(f"left out, for the original has no value: {name}")
            elif name not in there:
                found.append(Breadth(name, 1.0, 0.0, 1, 1.0))
                notes.append(f"removed, so nothing is known of it: {name}")
            elif not both.footing(name).comparable:
                notes.append(f"left out, {name}: {both.footing(name).note}")
            else:
                found.append(_breadth(name, both, still[name]))
        if not found:
            raise NotApplicable(f"how broad the values of {', '.join(names)} are cannot be told")
        strange = [f"{b.name} ({b.strange:,})" for b in found if b.strange]
        if strange:
            notes.append(f"values that no value of the original was made into, taken as exact: {', '.join(strange)}")
        worth = [(self.importance or {}).get(b.name, 1.0) for b in found]
        return self.measurement(
            float(np.average([b.penalty for b in found], weights=worth)),
            parts={
                "largest of a variable": max(b.penalty for b in found),
                "values gone": float(np.mean([b.gone for b in found])),
            },
            by_variable={b.name: b.penalty for b in found},
            tables={"variables": tuple(b.row() for b in found)},
            notes=tuple(notes),
        )

    def _names(self, pair: Pair) -> tuple[str, ...]:
        keys = pair.original.schema.analysed(role="key") if self.variables is None else ()
        names = keys or chosen(self, pair.original.schema)
        strangers = [name for name in self.importance or () if name not in names]
        if strangers:
            raise NotApplicable(f"importance names {strangers[0]!r}, which is not one of {', '.join(names)}")
        return names


@dataclass(frozen=True)
class Breadth:
    """How broad the published values of a variable are."""

    name: str
    gone: float  # share of the values that are no longer there
    mean: float  # penalty of those that are
    classes: int
    broadest: float
    found: str = ""  # where the recoding was found
    strange: int = 0  # values that no value of the original was made into

    @property
    def penalty(self) -> float:
        """NCP: the mean penalty of all values, those gone too."""
        return self.gone + (1 - self.gone) * self.mean

    def row(self) -> Mapping[str, Any]:
        """Lay out one row of the table of variables."""
        return {
            "variable": self.name,
            "penalty": self.penalty,
            "gone": self.gone,
            "classes": self.classes,
            "broadest": self.broadest,
            "found_in": self.found,
        }


def _breadth(name: str, pair: Pair, still: float) -> Breadth:
    """Look up how broad each published value of a variable is."""
    recoding, before = pair.footing(name), pair.original.column(name)
    number = len(np.unique(recoding.original[present(recoding.original)]))
    published = recoding.protected[present(recoding.protected)]
    if not recoding.recoded or not len(published):
        return Breadth(name, 1 - still, 0.0, number, 0.0)
    classes, widths = penalties(before, recoding)
    place = np.minimum(np.searchsorted(classes, published), len(classes) - 1)
    known = classes[place] == published
    mean = float(np.where(known, widths[place], 0.0).mean())
    strange = int(np.count_nonzero(~known))
    return Breadth(name, 1 - still, mean, len(classes), float(widths.max()), recoding.source, strange)


def penalties(before: NDArray[Any], recoding: Recoding) -> tuple[NDArray[Any], Floats]:
    """Return the classes that values of the original were put into, in ascending order, and the NCP of each.

    >>> merged = Recoding("nominal", np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), ("AB", "C"), "records")
    >>> penalties(np.array([0, 1, 2, 2]), merged)[1].round(3)  # two of three categories, and one alone
    array([0.667, 0.   ])
    """
    there = present(before)
    values = before[there]
    classes, class_of = np.unique(recoding.original[there], return_inverse=True)
    if values.dtype.kind == "f":
        low, high = np.full(len(classes), np.inf), np.full(len(classes), -np.inf)
        np.minimum.at(low, class_of, values)
        np.maximum.at(high, class_of, values)
        span = float(values.max() - values.min())
        return classes, (high - low) / span if span > 0 else np.zeros(len(classes))
    categories, code = np.unique(values, return_inverse=True)
    pairs = np.unique(class_of * len(categories) + code)
    members = np.bincount(pairs // len(categories), minlength=len(classes))
    return classes, np.where(members > 1, members / len(categories), 0.0)
