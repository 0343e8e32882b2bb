"""Survey weights masked: fewer different ones, noisy ones, or ones raked to published margins."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import Phrase
from sfumato.errors import NotApplicable
from sfumato.methods.selection import checked
from sfumato.registry import catalogued
from sfumato.table.households import counted, household_level, units
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.treatment import PERTURBED
from sfumato.table.weights import design_effect, moved_mean, moved_share, raked_weights

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
How = Literal["classes", "noise", "margins"]
MIN_CLASS_SIZE = 3  # households, or records, of a class: the mean of fewer would nearly be a weight
MIN_NOISE_GROUP = 10  # of these with one weight that get one noise: with one each, a weight would number them


@catalogued(
    MethodAbout(
        title="Masking of survey weights",
        source="De Waal and Willenborg (1997), Statistical disclosure control and sampling weights; Deming and Stephan "
        "(1940) for raking; Kish (1965) for the design effect",
        missing="a missing weight is refused; a weight of zero stays zero",
        kinds=("numeric", "ordinal", "nominal"),
        weights=True,
        random=True,
        households="whole",
        grid={"how": ("classes", "margins", "noise")},
        neutral={"how": "noise", "scale": 0.0},
        caveat="estimates with the new weights differ from those with the old ones, and their variances are no longer "
        "those of the design; other variables are released as they are",
        formula="classes: w'_i = mean of w over the class of w_i, the classes being quantiles of the weights\n"
        "noise:   w'_i = b + c (w_i - b) exp(scale z_i),  z_i ~ N(0, 1),  c so that the total holds;\n"
        "         b = 1 if all weights are at least 1, else 0\n"
        "margins: w'_i = c product of a_j(x_ij) over the variables j: each category has the sum of w it had\n"
        "design effect = n sum w^2 / (sum w)^2",
        reading="A weight is made of region, age and response, so exact weights tell these: the audit says how often. "
        "``classes=10`` leaves ten different weights; ``scale=0.1`` moves a weight by about a tenth; ``margins`` "
        "keeps the weighted counts of the published categories and tells no more than they do, but for zeros: "
        "these stay, and the audit says what they tell. The note says what it costs: the weighted share and mean "
        "that move most, and the design effect before and after.",
        group="Weights",
        effect="reweighted",
        labels={
            "how": "How weights are masked (how)",
            "classes": "Different weights that are left (classes)",
            "scale": "Strength of the noise, as a share of the weight (scale)",
            "variables": "Variables whose weighted counts are kept",
        },
    )
)
class WeightMasking(Method):
    """The survey weights coarsened, made noisy or raked to margins; their total holds, and no other column changes.

    ``how="classes"`` puts the weights in at most ``classes`` quantile classes of at least three records, or
    households if there are any, and gives each record the mean of its class. ``how="noise"`` multiplies each weight by
    a lognormal factor with the standard deviation ``scale`` on the log scale; weights of at least one stay so. Where
    records, or households, have the same weight, the factor is drawn for ten or more of them together: a factor for
    each would be a number of the household that goes out with the file. ``how="margins"`` rakes: the new weights are
    equal but for one factor for each category of ``variables`` (all ordinal and nominal ones if not said), such that
    the weighted count of each category holds; categories of fewer than 25 records are taken together.

    Where the members of a household have one weight they have one after it: noise is not drawn within a household, and
    weights are raked to what members share. A weight of zero stays zero, so it still tells who has none. The schema
    must name the weight. Where a recoding or suppression comes before it in a chain, weights are raked to what it left:
    ``LocalSuppression(3) + WeightMasking("margins")``.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"sex": ["f", "f", "f", "m", "m", "m"], "weight": [10.0, 12.0, 14.0, 20.0, 21.0, 25.0]})
    >>> data = Microdata.from_frame(table, Schema(weight="weight"))
    >>> WeightMasking("classes", classes=2).protect(data).weights().tolist()
    [12.0, 12.0, 12.0, 22.0, 22.0, 22.0]
    """

    how: How = "classes"
    classes: int = 10
    scale: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "how", get_args(How))
        parameters.whole(self, "classes")
        parameters.number(self, "scale", least=0)
        if self.how != "noise":
            object.__setattr__(self, "about", replace(self.about, random=False))

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the weight."""
        weight = data.schema.weight
        if weight is None:
            raise NotApplicable('the schema names no weight; write weight = "..." at its top, or leave this step out')
        checked(data, self.variables or ())
        if self.variables is not None and self.how != "margins":
            raise NotApplicable(f"variables are those whose margins are kept: leave them out of how={self.how!r}")
        return (weight,)

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        """Return the method itself: what it masks is named by the schema, and its variables are margins."""
        return self

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        (weight,) = self.masked(data)
        old = data.weights()
        bad = np.flatnonzero(~(old >= 0))
        if bad.size or not old.any():
            why = f"negative or missing in {bad.size:,} (first in row {bad[0] + 1})" if bad.size else "zero in all"
            raise NotApplicable(f"the weight {weight!r} is {why} records, so it cannot weigh them")
        shared = weight in household_level(data)
        if self.how == "classes":
            new, margins = _in_classes(old, self.classes, units(data)), ""
        elif self.how == "noise":
            new, margins = self._noisy(old, units(data) if shared else np.arange(len(old)), rng), ""
        else:
            new, margins = self._raked(data, shared=shared)
        new = new * (old.sum() / new.sum())
        note = f"{self!r}: {weight} has {_different(new):,} different values instead of {_different(old):,}{margins}"
        return data.replace({weight: new}, note + _cost(data, old, new), treatment=PERTURBED)

    def _noisy(self, old: Floats, unit: Integers, rng: np.random.Generator) -> Floats:
        if self.scale == 0:
            return old
        base = np.where(old > 0, 1.0 if (old[old > 0] >= 1).all() else 0.0, 0.0)
        above = old - base
        group = _grouped(old, unit, rng)
        with np.errstate(over="ignore", invalid="ignore"):
            moved = above * np.exp(self.scale * rng.standard_normal(counted(group)))[group]
            good = bool(np.isfinite(moved.sum()) and (moved.sum() > 0) == above.any())
        if not good:
            raise NotApplicable(f"noise of scale {self.scale:g} leaves no weight that can be computed with; take less")
        return base + (moved * (above.sum() / moved.sum()) if above.any() else moved)

    def _raked(self, data: Microdata, *, shared: bool) -> tuple[Floats, str]:
        names = self.variables or data.schema.analysed("ordinal", "nominal")
        numbers = [name for name in names if data.schema[name].kind == "numeric"]
        if numbers:
            raise NotApplicable(f"{numbers[0]!r} is numeric; margins are those of categories, so band it first")
        apart = [name for name in names if shared and name not in household_level(data)]
        if apart and self.variables is not None:
            raise NotApplicable(
                f"the members of a household share the weight but not {apart[0]!r}, so its margins cannot be kept; "
                'leave it out, or declare the weight with level = "record"'
            )
        kept = [name for name in names if name not in apart]
        new, left = raked_weights(data, kept)
        note = f", raked to {', '.join(kept)}" if kept else ", all equal, for there is no margin to keep"
        note += f" (not to {', '.join(apart)}, which the members of a household do not share)" if apart else ""
        return new, note + (f", up to a relative {left:.1g}" if left > 1e-8 else "")

    def in_words(self, schema: Schema | None = None) -> str:
        if self.how == "classes":
            return f"survey weights take at most {self.classes} values"
        return "survey weights are noisy" if self.how == "noise" else "survey weights are raked anew to margins"

    def short(self) -> Phrase:
        classes, noise = f"{self.classes} classes", f"noise {self.scale:g}"
        return Phrase("weights", "weights", {"classes": classes, "noise": noise, "margins": "raked"}[self.how])


def _different(weights: Floats) -> int:
    return len(np.unique(np.round(weights / weights.max(), 12)))


def _grouped(old: Floats, unit: Integers, rng: np.random.Generator) -> Integers:
    """Return groups of records that get one noise: of the units with one weight ten or more, at random, or all."""
    place, first = np.unique(unit, return_index=True, return_inverse=True)[2:0:-1]
    values, of_value, sizes = np.unique(old[first], return_inverse=True, return_counts=True)
    if len(values) == len(first):
        return place.astype(np.int64)
    order = np.lexsort((rng.random(len(first)), of_value))  # the units of a weight in random order
    starts = np.cumsum(sizes) - sizes
    within = np.arange(len(first)) - np.repeat(starts, sizes)
    groups = np.maximum(sizes // MIN_NOISE_GROUP, 1)
    group = np.empty(len(first), dtype=np.int64)
    group[order] = np.repeat(np.cumsum(groups) - groups, sizes) + within % np.repeat(groups, sizes)
    return group[place]


def _in_classes(old: Floats, classes: int, unit: Integers) -> Floats:
    """Return the mean weight of each record's quantile class; equal weights are in one class."""
    new = old.copy()
    weighing = old > 0
    values, place, counts = np.unique(old[weighing], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    of_value = np.floor(middle / counts.sum() * classes).astype(np.int64)
    of_value = _of_enough(of_value, np.split(unit[weighing][np.argsort(place, kind="stable")], np.cumsum(counts)[:-1]))
    sums, sizes = (np.bincount(of_value, weights=w) for w in (values * counts, counts.astype(np.float64)))
    new[weighing] = (sums / np.where(sizes > 0, sizes, 1))[of_value][place]
    return new


def _of_enough(of_value: Integers, owners: list[Integers]) -> Integers:
    """Take classes of too few households together with the next ones, from below; the last with the one before.

    ``owners`` are the households that have each value; without households they are records.
    """
    merged = np.empty_like(of_value)
    number, seen = 0, set[int]()
    for at, owner in enumerate(owners):
        if at and of_value[at] != of_value[at - 1] and len(seen) >= MIN_CLASS_SIZE:
            number, seen = number + 1, set()
        merged[at] = number
        if len(seen) < MIN_CLASS_SIZE:
            seen.update(owner.tolist())
    if len(seen) < MIN_CLASS_SIZE and number:
        merged[merged == number] = number - 1
    return merged


def _cost(data: Microdata, old: Floats, new: Floats) -> str:
    """Say what the new weights cost."""
    schema = data.schema
    note = ""
    share = moved_share(data, schema.analysed("ordinal", "nominal"), old, new)
    if share is not None:
        note += f"; weighted shares move by at most {100 * share[2]:.2g} points ({share[0]} {share[1]})"
    mean = moved_mean(data, schema.analysed("numeric"), old, new)
    if mean is not None:
        note += f"; weighted means by at most {mean[1]:.2g} standard deviations ({mean[0]})"
    return f"{note}; design effect {design_effect(old):.3g} before, {design_effect(new):.3g} after"
