"""Non-uniform entropy: how many bits of the original's values the published ones leave open."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.utility.generalisation import Coarsened, generalised_names, traced
from sfumato.utility.global_utility.deletion import present

Floats = NDArray[np.float64]


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

    What a value stands for is read off the original's values that were put together (``sfumato.data.recoding``), as
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
        variables, notes = traced(pair, generalised_names(self, pair), "how much is left of what")
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
class Lost:
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


def _lost(variable: Coarsened) -> Lost:
    """Add up what is lost: record by record where records match, else as if the classes were as in the original."""
    there = present(variable.values)
    values = variable.values[there]
    alone = surprise(values, np.zeros(len(values), dtype=np.int8))
    recoding = variable.recoding
    if recoding is None:
        return Lost(variable.name, float(alone.sum()), float(alone.sum()), 1.0)
    within = surprise(values, recoding.original[there]) if recoding.recoded else np.zeros(len(values))
    if variable.both is not None and variable.both.matched:
        gone = ~present(recoding.protected)[there]
        bits = float(np.where(gone, alone, within).sum())
    else:
        bits = float(variable.left * within.sum() + (1 - variable.left) * alone.sum())
    return Lost(variable.name, bits, float(alone.sum()), 1 - variable.left)


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
