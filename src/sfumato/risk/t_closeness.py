"""t-closeness: how far the confidential values of a key class are from those of the file."""

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.data.schema import Kind
from sfumato.kernels.groups import class_sums
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import SHOWN
from sfumato.registry import catalogued
from sfumato.risk.class_profiles import MISSING, Confidential, Profile

Floats = NDArray[np.float64]


@catalogued(
    MeasureAbout(
        title="Distance from t-closeness",
        source="Li, Li and Venkatasubramanian (2007)",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="number",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="the largest distance is that of one class; a class of one record is always far from the file",
        formula="value = max over classes and confidential variables of D(P, Q);   P in the class, Q in the file\n"
        "numeric, ordinal:  D = sum_(i<m) |sum_(v<=i) (p_v - q_v)| / (m - 1),   m values that occur\n"
        "nominal:           D = sum_v |p_v - q_v| / 2",
        reading="0: a class tells nothing that the file as a whole does not; 1: it tells all. The limit ``t`` of 0.2 "
        "is a choice, not a law. Being a maximum it is that of the smallest and oddest class; the parts tell the mean "
        "over records and the share beyond ``t``, by which files are better compared. What it protects are shares: it "
        "may be kept by making the file useless for just the association of interest.",
    )
)
class TCloseness(Confidential):
    """Largest earth mover's distance between the confidential values of a class of equal keys and those of the file.

    What an intruder learns beyond what the file tells of everybody: 0 if every class has the distribution of the file;
    the file is t-close for every t of at least the value. Values of a numeric or ordinal variable lie on a line, in
    equal steps from the smallest to the largest value that occurs, of length 1 in all (ordered distance): moving a
    share from one value to the next of m costs 1 / (m - 1). Values of a nominal variable are all at distance 1 (equal
    distance), which makes it half the sum of the absolute differences of shares. With several ``confidential``
    variables (by default those of that role) the largest counts; ``by_variable`` has each. The value is a worst case:
    the parts give the mean over records and the share of records in classes beyond ``t``, and the table ``farthest
    classes`` names them. Steps are ranks, so a distance says nothing of amounts.
    """

    t: float = 0.2
    confidential: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "t")
        parameters.names(self, "confidential")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        figures, notes = self.by_class(keys, pair)
        largest = np.max([figure[:, 0] for figure in figures.values()], axis=0)
        farthest = found.first((-largest.round(12), -found.counts), SHOWN)
        return self.measurement(
            float(largest.max()),
            parts={
                "mean over records": found.mean(largest),
                f"beyond {self.t:g}": found.share(largest > self.t + 1e-12),
            },
            by_variable={name: float(figure[:, 0].max()) for name, figure in figures.items()},
            by_record=found.by_record(largest),
            tables={"farthest classes": keys.listed(farthest, distance=largest)},
            notes=(*keys.notes, *notes),
        )

    def figures(self, profile: Profile, kind: Kind) -> Floats:
        """Return the distance of each class from the file, and its number of values."""
        distance = equal_distance(profile) if kind == "nominal" else ordered_distance(profile)
        return np.column_stack([distance, profile.total])


def equal_distance(profile: Profile) -> Floats:
    """Return half the sum of absolute differences between the shares of each class and of the file."""
    excess = np.maximum(
        profile.share - profile.whole[profile.value], 0.0
    )  # what is too much here is too little elsewhere
    return np.minimum(class_sums(profile.cell, excess, profile.cells), 1.0)


def ordered_distance(profile: Profile) -> Floats:
    """Return the mean absolute difference between the cumulated shares of each class and of the file.

    Between two values of a class its cumulated share stays at one level and the file's rises, so that the sum over the
    values in between splits where the file's passes that level, and sums of the file's alone give it.
    """
    steps = len(profile.whole) - 1
    if steps < 1:
        return np.zeros(profile.cells)
    cumulated = np.cumsum(profile.whole)[:-1]
    sums = np.concatenate([[0.0], np.cumsum(cumulated)])
    number = np.bincount(profile.cell, minlength=profile.cells)
    some = number > 0
    last = np.cumsum(number)[some] - 1
    first = last - number[some] + 1
    running = np.cumsum(profile.count)
    before = np.repeat(running[first] - profile.count[first], number[some])
    level = (running - before) / profile.total[profile.cell]
    start, end = profile.value, np.append(profile.value[1:], 0)
    end[last] = steps
    crossing = np.clip(np.searchsorted(cumulated, level), start, end)
    above = level * (crossing - start) - (sums[crossing] - sums[start])
    below = sums[end] - sums[crossing] - level * (end - crossing)
    moved = class_sums(profile.cell, above + below, profile.cells)
    moved[some] += sums[profile.value[first]]  # below its first value a class has nothing yet
    return np.clip(moved / steps, 0.0, 1.0)
