"""What was lost by generalisation: certainty penalty, non-uniform entropy and precision, and what they share.

Recoding and suppression work on the keys, so these measures look at the keys that the schema names, or else at all
variables. A variable that was removed has lost all its values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure, chosen
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import SHOWN, Rows
from sfumato.pair.statistics import KeyClasses
from sfumato.registry import catalogued
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Variable, a_kind
from sfumato.utility.global_utility.coarsening import left, present, side_by_side

# Which variables the measures look at, how each was made coarser, records by key class

Notes = tuple[str, ...]


def _generalised_names(measure: Measure, pair: Pair) -> tuple[str, ...]:
    """Name the variables to look at: those the measure was told, the keys of the schema, or else all of its kinds."""
    keys = pair.original.schema.analysed(role="key") if measure.variables is None else ()
    return keys or chosen(measure, pair.original.schema)


def still_there(pair: Pair, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name the variables that the protected table still has; refused where it has none."""
    there = tuple(name for name in names if name in pair.protected.schema)
    if not there:
        raise NotApplicable(f"the protected table has no comparable {', '.join(names)}")
    return there


# one variable at a time


@dataclass(frozen=True, eq=False)
class Coarsened:
    """A variable of the original: its values, the share of them that is left, and the two tables side by side.

    ``both`` is None where the variable was removed.
    """

    name: str
    values: NDArray[Any]
    left: float
    both: Pair | None

    @property
    def recoding(self) -> Recoding | None:
        """How the values were put together; None: the variable was removed."""
        return None if self.both is None else self.both.footing(self.name)


def _one_by_one(pair: Pair, names: tuple[str, ...]) -> tuple[list[Coarsened], list[str]]:
    """Return each variable that has a value in the original, and say which have none and which were removed."""
    there = still_there(pair, names)
    both = side_by_side(pair.gathered(names))
    still = left(both, there).alone
    found: list[Coarsened] = []
    notes: list[str] = []
    for name in names:
        values = both.original.column(name)
        if not present(values).any():
            notes.append(f"left out, for the original has no value: {name}")
        elif name not in there:
            found.append(Coarsened(name, values, 0.0, None))
            notes.append(f"removed, so nothing is known of it: {name}")
        else:
            found.append(Coarsened(name, values, still[name], both))
    return found, notes


def _traced(pair: Pair, names: tuple[str, ...], what: str) -> tuple[list[Coarsened], list[str]]:
    """Return the variables whose recoding can be traced, and say which are left out; refused if all are."""
    variables, notes = _one_by_one(pair, names)
    found = []
    for variable in variables:
        if variable.recoding is None or variable.recoding.comparable:
            found.append(variable)
        else:
            notes.append(f"left out, {variable.name}: {variable.recoding.note}")
    if not found:
        raise NotApplicable(f"{what} the values of {', '.join(names)} are cannot be told")
    return found, notes


# all variables together


@dataclass(frozen=True, eq=False)
class RecordsByKey:
    """The records of both tables by the values they share; a missing value is a value of its own in a class.

    Of the original by all keys, of the protected table by those that are left, because what was removed tells nothing
    apart.
    """

    original: KeyClasses
    keys: Keys
    notes: Notes

    @classmethod
    def of(cls, measure: Measure, pair: Pair) -> "RecordsByKey":
        """Put the records of both tables into classes."""
        names = _generalised_names(measure, pair)
        there = still_there(pair, names)
        gone = [name for name in names if name not in there]
        notes = (f"removed, so it tells no records apart: {', '.join(gone)}",) if gone else ()
        return cls(pair.original.classes(names), Keys(there, pair.protected), notes)

    @property
    def protected(self) -> KeyClasses:
        """The classes of the protected table."""
        return self.keys.classes

    def largest(self) -> Rows:
        """List the classes of most records."""
        sizes = self.protected.sizes
        return self.keys.listed(self.protected.first((-sizes,), SHOWN), class_size=sizes)


def beyond_the_original(before: float, after: float, most: float) -> float:
    """Return how far a figure went from the original's towards the most it can be: 0 as it was, 1 nothing is left.

    So ARX shows its measures of records. A table that tells more apart than the original did is no better.
    """
    return min(1.0, max(0.0, (after - before) / (most - before))) if most > before else 0.0


# Certainty penalty: how broad the published values are, as a share of what they could be

Floats = NDArray[np.float64]
Categories = Literal["share", "others"]


@catalogued(
    MeasureAbout(
        title="Global certainty penalty (GCP)",
        source="Xu, Wang, Pei, Wang, Shi and Fu (2006), Utility-based anonymization using local recoding, KDD (NCP); "
        "Ghinita, Karras, Kalnis and Mamoulis (2009), A framework for efficient data anonymization under privacy and "
        "accuracy constraints, ACM TODS 34(2) (GCP); Iyengar (2002), Transforming data to satisfy privacy constraints, "
        "KDD (the loss of ARX)",
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
        'categories="others": how many others it stands for / all others, (m - 1) / (all - 1)\n'
        "1 if the value is gone;  w_j = 1, or the importance;  range and categories are the original's",
        reading="0 means that every value is as exact as it was, 1 that nothing is left to read. Ages in classes of "
        "ten years of a range of 80 cost 0.11, a region that merges 4 of 16 cost 0.25. By variable it says where the "
        "detail went; the table has the broadest class of each. The loss of ARX counts (m - 1) / (all - 1) for m "
        'categories: categories="others".',
    )
)
class CertaintyPenalty(Measure):
    """Mean breadth of the published values, as a share of the range of each variable: GCP, with NCP by variable.

    NCP of a value of a numeric variable is the width of the interval it stands for over the range of the original; of
    a category the share of all categories that it stands for, 0 if it stands for itself alone. A variable's NCP is the
    mean over its values, GCP the mean over the variables, weighted by ``importance`` (1 where nothing is said). What a
    value stands for is read off the original's values that were put together (``sfumato.table.recoding``): of a class
    the least and the greatest that fell into it, of a top-coded amount all beyond the limit, of a rounded one those
    that were rounded to it. So a class that holds only one value of the original costs nothing.

    The variables are the keys that the schema names, which recoding and suppression work on, else all. A value that is
    gone costs 1, and so does every value of a variable that was removed; where records do not match, as many values are
    gone as the share present has fallen. A variable whose recoding cannot be traced is left out, and said.

    ``categories="others"`` counts the other categories that a value stands for, over all others: the loss of Iyengar,
    which ARX calls loss.

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
    categories: Categories = field(default="share", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.by_variable(self, "importance", '{"age": 3, "sex": 1}')
        parameters.one_of(self, "categories", get_args(Categories))
        for name, worth in (self.importance or {}).items():
            if isinstance(worth, bool) or not isinstance(worth, int | float) or not 0 < worth < np.inf:
                raise parameters.refuse(self, f"the importance of {name!r} must be a number above 0; got {worth!r}")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        variables, notes = _traced(pair, self._names(pair), "how broad")
        found = [self._breadth(variable) for variable in variables]
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
        names = _generalised_names(self, pair)
        strangers = [name for name in self.importance or () if name not in names]
        if strangers:
            raise NotApplicable(f"importance names {strangers[0]!r}, which is not one of {', '.join(names)}")
        return names

    def _breadth(self, variable: Coarsened) -> "Breadth":
        """Look up how broad each published value of a variable is."""
        recoding, gone = variable.recoding, 1 - variable.left
        if recoding is None:
            return Breadth(variable.name, 1.0, 0.0, 1, 1.0)
        number = len(np.unique(recoding.original[present(recoding.original)]))
        published = recoding.protected[present(recoding.protected)]
        if not recoding.recoded or not len(published):
            return Breadth(variable.name, gone, 0.0, number, 0.0)
        classes, widths = penalties(variable.values, recoding, self.categories)
        place = np.minimum(np.searchsorted(classes, published), len(classes) - 1)
        known = classes[place] == published
        mean = float(np.where(known, widths[place], 0.0).mean())
        strange = int(np.count_nonzero(~known))
        return Breadth(variable.name, gone, mean, len(classes), float(widths.max()), recoding.source, strange)


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


def penalties(
    before: NDArray[Any], recoding: Recoding, categories: Categories = "share"
) -> tuple[NDArray[Any], Floats]:
    """Return the classes that values of the original were put into, in ascending order, and the penalty of each.

    >>> merged = Recoding("nominal", np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), ("AB", "C"), "records")
    >>> penalties(np.array([0, 1, 2, 2]), merged)[1].round(3)  # two of three categories, and one alone
    array([0.667, 0.   ])
    >>> penalties(np.array([0, 1, 2, 2]), merged, "others")[1]  # one other of two
    array([0.5, 0. ])
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
    different, code = np.unique(values, return_inverse=True)
    pairs = np.unique(class_of * len(different) + code)
    members = np.bincount(pairs // len(different), minlength=len(classes))
    if categories == "others":
        return classes, (members - 1) / max(len(different) - 1, 1)
    return classes, np.where(members > 1, members / len(different), 0.0)


# Non-uniform entropy: how many bits of the original's values the published ones leave open


@catalogued(
    MeasureAbout(
        title="Non-uniform entropy lost",
        source="de Waal and Willenborg (1999), Information loss through global recoding and local suppression, "
        "Netherlands Official Statistics 14; Gionis and Tassa (2009), k-anonymization with minimal loss of "
        "information, IEEE TKDE 21(2); by variable as in ARX (Prasser, Bild and Kuhn 2016)",
        purpose="utility",
        counts=("bits",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        joint=False,
        parts="columns",
        missing="a value that is gone may be any that occurs; one that the original lacks too is not counted",
        caveat="it sees how much published values leave open, not whether they are true: noise, swapping and synthetic "
        "values cost nothing; and merging rare categories costs little, however different they are",
        formula="value = mean_j(L_j / H_j),   L_j = sum over the values of variable j of -log2 p(value | published)\n"
        "p(value | published) = f(value) / f(all values of the original that the published one stands for)\n"
        "f = how often in the original;   gone: f(value) / f(all);   H_j = L_j if every value were gone",
        reading="0 means that every published value tells the original's, 1 that nothing can be told. Halving what can "
        "be told of two categories that are equally frequent costs a bit for each record, merging one of a thousand "
        "records with another category next to nothing. By variable it says where the detail went.",
    )
)
class NonUniformEntropy(Measure):
    """Share of the information in the values that is gone: non-uniform entropy, the mean over the variables.

    What a published value leaves open of the original's is the information that is lost with it, -log2 of how likely
    the true value is among those that it stands for, by how often each occurs in the original. A value that stands for
    itself alone costs nothing; one that is gone costs as much as if all values had been put into one class. The share
    is of what would be lost if all were gone, which is the entropy of the variable times its values.

    What a value stands for is read off the original's values that were put together (``sfumato.table.recoding``), as
    in :class:`CertaintyPenalty`, which asks how broad a class is and not how often its values occur. The variables are
    the keys that the schema names, else all. Where records do not match, classes are taken to be as frequent as in the
    original, and values gone to be of every kind. A variable that is the same for all records has nothing to lose and
    is left out, and so is one whose recoding cannot be traced; both is said.

    Parts: the largest share of a variable, and the bits lost in all. The table "variables" has for each the bits lost,
    those there were, and the share of values gone.

    >>> import pyarrow as pa
    >>> before = pa.table({"town": ["A", "A", "B", "C"]})
    >>> after = pa.table({"town": ["A", "A", "BC", "BC"]})
    >>> found = NonUniformEntropy().evaluate(before, after)
    >>> found.parts["bits lost"], round(found.value, 4)  # B and C a bit each, of 2 x 1 + 2 x 2
    (2.0, 0.3333)
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        variables, notes = _traced(pair, _generalised_names(self, pair), "how much is left of what")
        found = [_lost(variable) for variable in variables]
        constant = [one.name for one in found if not one.there_were]
        if constant:
            notes.append(f"left out, for it is the same in all records of the original: {', '.join(constant)}")
        told = [one for one in found if one.there_were]
        if not told:
            raise NotApplicable(f"{', '.join(constant)} is the same in all records: there is nothing to lose")
        return self.measurement(
            float(np.mean([one.share for one in told])),
            parts={
                "largest of a variable": max(one.share for one in told),
                "bits lost": float(sum(one.bits for one in told)),
            },
            by_variable={one.name: one.share for one in told},
            tables={"variables": tuple(one.row() for one in told)},
            notes=tuple(notes),
        )


@dataclass(frozen=True)
class InformationLost:
    """The information that is gone with the values of a variable."""

    name: str
    bits: float
    there_were: float  # bits
    gone: float  # share of the values that are no longer there

    @property
    def share(self) -> float:
        """The share of the bits that is lost."""
        return min(1.0, self.bits / self.there_were)  # a sum of all in another order may be greater by a rounding

    def row(self) -> Mapping[str, Any]:
        """Lay out one row of the table of variables."""
        return {
            "variable": self.name,
            "share": self.share,
            "bits_lost": self.bits,
            "bits": self.there_were,
            "gone": self.gone,
        }


def _lost(variable: Coarsened) -> InformationLost:
    """Add up what is lost: record by record where records match, else as if the classes were as in the original."""
    there = present(variable.values)
    values = variable.values[there]
    alone = surprise(values, np.zeros(len(values), dtype=np.int8))
    recoding = variable.recoding
    if recoding is None:
        return InformationLost(variable.name, float(alone.sum()), float(alone.sum()), 1.0)
    within = surprise(values, recoding.original[there]) if recoding.recoded else np.zeros(len(values))
    if variable.both is not None and variable.both.matched:
        gone = ~present(recoding.protected)[there]
        bits = float(np.where(gone, alone, within).sum())
    else:
        bits = float(variable.left * within.sum() + (1 - variable.left) * alone.sum())
    return InformationLost(variable.name, bits, float(alone.sum()), 1 - variable.left)


def surprise(values: NDArray[np.generic], classes: NDArray[np.generic]) -> Floats:
    """Return -log2 of how likely each value is among those of its class.

    Where some records of a value were put together with others and some were not, each counts in its own class.

    >>> surprise(np.array([1, 1, 2, 3]), np.array([0, 0, 0, 7])).round(3)  # 2/3, 2/3, 1/3, and alone
    array([0.585, 0.585, 1.585, 0.   ])
    >>> surprise(np.array([1, 1, 1, 2]), np.array([0, 0, 7, 7])).tolist()  # alone, alone, and 1/2 each
    [0.0, 0.0, 1.0, 1.0]
    """
    _, inside, together = np.unique(classes, return_inverse=True, return_counts=True)
    _, value = np.unique(values, return_inverse=True)
    pairs = value.astype(np.int64) * len(together) + inside
    _, pair, often = np.unique(pairs, return_inverse=True, return_counts=True)
    bits: Floats = np.log2(together[inside]) - np.log2(often[pair])
    return bits


# Precision: how far up their hierarchies the published values are


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
        names = _generalised_names(self, pair)
        variables, notes = _one_by_one(pair, names)
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
