"""What a class of records with the same keys tells of confidential values: l-diversity and t-closeness."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure, Measurement, Table
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Kind
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.registry import catalogued
from sfumato.risk.classes import MISSING_KEYS, SHOWN, KeyClasses, key_classes, missing_values

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Diversity = Literal["distinct", "entropy", "recursive"]
ByClass = dict[str, Floats]  # two figures per class, by confidential variable
Notes = tuple[str, ...]
MISSING = f"{MISSING_KEYS}; a missing confidential value is left out of its class, and a class with none tells nothing"


@dataclass(frozen=True, eq=False)
class Profile:
    """How often each class has each confidential value: one entry per class and value that occur together.

    Entries are sorted by class and, within it, by value; ``whole`` has the share of each value in the file.
    """

    cell: Integers
    value: Integers
    count: Floats
    cells: int
    whole: Floats

    @property
    def total(self) -> Floats:
        """How many values each class has."""
        return class_sums(self.cell, self.count, self.cells)

    @property
    def share(self) -> Floats:
        """The share of each value in its class."""
        return self.count / self.total[self.cell]


class Confidential(Measure):
    """What both measures share: the confidential variables, and a figure per class for each of them."""

    confidential: tuple[str, ...] | None

    def _by_class(self, found: KeyClasses, original: Microdata, protected: Microdata) -> tuple[ByClass, Notes]:
        """Return the figures of each class for each confidential variable, and what was left out and why."""
        names, gone = self._confidential(found, original, protected)
        notes = [f"left out, not in the protected table: {', '.join(gone)}"] if gone else []
        values = {name: numbered_values(protected.columns[name]) for name in names}
        shares = {name: whole_shares(value) for name, value in values.items()}
        figures = {name: np.zeros((len(found.sizes), 2)) for name in names}
        for low, high, cell, record in found.members():
            for name in names:
                profile = _profile(cell - low, values[name][record], high - low, shares[name])
                figures[name][low:high] = self._figures(profile, protected.schema[name].kind)
        empty = [name for name in names if (values[name] < 0).all()]
        if empty:
            notes.append(f"{', '.join(empty)}: missing in every record, so nothing can be learned of it")
        perturbed = [name for name in names if protected.schema[name].treatment.perturbed]
        if perturbed:
            notes.append(f"values of {', '.join(perturbed)} were perturbed: what a class tells need not be true")
        return figures, tuple(notes)

    @abstractmethod
    def _figures(self, profile: Profile, kind: Kind) -> Floats:
        """Return two figures for each class of a part of them."""

    def _confidential(
        self, found: KeyClasses, original: Microdata, protected: Microdata
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the confidential variables that are no keys: those the protected table has, and those it has not."""
        who, schema = type(self).__name__, original.schema
        named = self.confidential if self.confidential is not None else schema.analysed(role="confidential")
        for name in named:
            if name not in schema:
                raise NotApplicable(f"{who}: there is no variable {name!r}; there are {', '.join(original.names)}")
        names = tuple(name for name in named if name not in found.names)
        if not names:
            others = [name for name in schema.analysed() if name not in found.names]
            raise NotApplicable(
                f"{who}: no variable besides the keys is confidential; give confidential=[...], or role = "
                f'"confidential" in the schema to one of {", ".join(others) or "the others (none is left)"}'
            )
        kept = tuple(name for name in names if name in protected.schema)
        if not kept:
            raise NotApplicable(f"{who}: the protected table has none of the confidential {', '.join(names)}")
        return kept, tuple(name for name in names if name not in kept)


def _profile(cell: Integers, value: Integers, cells: int, whole: Floats) -> Profile:
    known = value >= 0
    pairs = np.column_stack([cell[known], value[known]])
    entry_of, counts = classes(pairs)
    of, which = pairs[first_records(entry_of)].T
    order = np.lexsort((which, of))
    return Profile(of[order], which[order], counts[order].astype(np.float64), cells, whole)


def numbered_values(column: NDArray[np.float64] | NDArray[np.int32]) -> Integers:
    """Number the values that occur in their order; missing is -1."""
    value = np.full(len(column), -1, dtype=np.int64)
    present = ~missing_values(column)
    value[present] = np.unique(column[present], return_inverse=True)[1]
    return value


def whole_shares(value: Integers) -> Floats:
    """Return the share of each value in the file."""
    counts = np.bincount(value[value >= 0]).astype(np.float64)
    shares: Floats = counts / counts.sum()
    return shares


@catalogued(
    MeasureAbout(
        title="Records in classes that violate l-diversity",
        source="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007)",
        purpose="risk",
        counts=("smallest",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal"),
        missing=MISSING,
        paired=False,
        keys=True,
        records="protected",
        caveat="counts values as different however near they are: two incomes a cent apart are two values",
        formula="value = share of the records whose class (equal keys) violates, for any confidential variable:\n"
        "distinct:   number of different values < l\n"
        "entropy:    exp(-sum_v p_v ln p_v) < l        p_v = share of value v in the class\n"
        "recursive:  r_1 >= c (r_l + ... + r_m)        r_1 >= r_2 >= ... = counts of values in the class",
        reading="0 means that no class gives its value away. ``l=2`` asks only that two values occur, and one member "
        "in a hundred is enough for that; entropy and recursive ask that no value prevails. Continuous amounts pass "
        "by their cents, so recode them first. Classes of one violate always: KAnonymity comes first.",
    )
)
class LDiversity(Confidential):
    """Share of records in classes of equal keys that have too few different confidential values.

    Whoever finds the class of a person learns that person's confidential value if all members share it, though the
    class be large. With ``diversity="distinct"`` a class violates when it has fewer than ``l`` different values; with
    "entropy" when exp(-sum p ln p) of its values' shares p is below l; with "recursive" when its most frequent value
    is not less frequent than ``c`` times all but the l - 1 most frequent together, r_1 >= c (r_l + ... + r_m). A record
    counts when its class violates for any variable in ``confidential`` (by default those of that role), and
    ``by_variable`` gives the share for each. The part "smallest" is the l (effective number of values) of the least
    diverse class. A unique record always violates. It misleads where values are different but alike (all of them
    diseases of the stomach) or where one value is rare in the file as well: see :class:`TCloseness`. Recode a
    continuous variable into classes first.
    """

    l: int = 2  # noqa: E741 - its name everywhere
    diversity: Diversity = "distinct"
    c: float = 3.0
    confidential: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "l", least=2)
        parameters.one_of(self, "diversity", ("distinct", "entropy", "recursive"))
        parameters.number(self, "c", above=0)
        parameters.names(self, "confidential")

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = key_classes(self, original, protected)
        figures, notes = self._by_class(found, original, protected)
        violates = {name: figure[found.cell_of, 0] for name, figure in figures.items()}
        by_record = np.max(list(violates.values()), axis=0)
        levels = {name: figure[:, 1][figure[:, 1] > 0] for name, figure in figures.items()}
        return self.measurement(
            float(by_record.mean()),
            parts={f"smallest, {name}": float(level.min()) for name, level in levels.items() if level.size},
            by_variable={name: float(record.mean()) for name, record in violates.items()},
            by_record=by_record,
            notes=(*found.notes, *notes),
        )

    def _figures(self, profile: Profile, kind: Kind) -> Floats:
        """Tell of each class whether it violates l-diversity, and its number of values, 0 where it has none."""
        some = profile.total > 0
        return np.column_stack([self._violates(profile) & some, np.where(some, self._level(profile), 0.0)])

    def _level(self, profile: Profile) -> Floats:
        """Return the number of different values of each class, or the number that its entropy is worth."""
        if self.diversity == "entropy":
            share = profile.share
            return np.exp(class_sums(profile.cell, -share * np.log(share), profile.cells))
        return np.bincount(profile.cell, minlength=profile.cells).astype(np.float64)

    def _violates(self, profile: Profile) -> NDArray[np.bool_]:
        """Tell which classes are not l-diverse."""
        if self.diversity != "recursive":
            return self._level(profile) < self.l - 1e-9  # an entropy of ln l exactly is enough
        order = np.lexsort((-profile.count, profile.cell))
        number = np.bincount(profile.cell, minlength=profile.cells)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(number) - number, number)
        cell, count = profile.cell[order], profile.count[order]
        largest = class_sums(cell[rank == 0], count[rank == 0], profile.cells)
        rest = class_sums(cell[rank >= self.l - 1], count[rank >= self.l - 1], profile.cells)
        return largest >= self.c * rest


@catalogued(
    MeasureAbout(
        title="Distance from t-closeness",
        source="Li, Li and Venkatasubramanian (2007)",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="number",
        kinds=("numeric", "ordinal", "nominal"),
        missing=MISSING,
        paired=False,
        keys=True,
        records="protected",
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

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = key_classes(self, original, protected)
        figures, notes = self._by_class(found, original, protected)
        largest = np.max([figure[:, 0] for figure in figures.values()], axis=0)
        by_record = largest[found.cell_of]
        return self.measurement(
            float(by_record.max()),
            parts={
                "mean over records": float(by_record.mean()),
                f"beyond {self.t:g}": float((by_record > self.t + 1e-12).mean()),
            },
            by_variable={name: float(figure[:, 0].max()) for name, figure in figures.items()},
            by_record=by_record,
            tables={"farthest classes": _farthest(found, protected, largest)},
            notes=(*found.notes, *notes),
        )

    def _figures(self, profile: Profile, kind: Kind) -> Floats:
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


def _farthest(found: KeyClasses, data: Microdata, distance: Floats) -> Table:
    counts = found.counts[found.first]
    order = np.lexsort((-counts, -distance.round(12)))[:SHOWN]
    return tuple(
        {**found.spelled(data, int(cell)), "records": int(counts[cell]), "distance": float(distance[cell])}
        for cell in order
    )
