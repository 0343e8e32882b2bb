"""What a class of records with the same keys tells of a confidential variable: l-diversity and t-closeness."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import spans
from sfumato.kernels.groups import class_sums
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import MISSING_KEYS, SHOWN
from sfumato.pair.statistics import Crosstab
from sfumato.registry import catalogued
from sfumato.table.schema import Kind

# how often a class has each value

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ByClass = dict[str, Floats]  # two figures per class, by confidential variable
Notes = tuple[str, ...]
MISSING = f"{MISSING_KEYS}; a missing confidential value is left out of its class, and a class with none tells nothing"
MAX_ENTRIES = 4_000_000  # of classes and values at a time


@dataclass(frozen=True, eq=False)
class Profile:
    """How often each class has each confidential value: one entry per class and value that occur together.

    Entries are sorted by class and, within it, by value; ``whole`` has the share of each value in the file, and
    ``levels`` the values themselves, in ascending order, where they are numbers.
    """

    cell: Integers
    value: Integers
    count: Floats
    cells: int
    whole: Floats
    levels: Floats | None = None

    @property
    def total(self) -> Floats:
        """How many values each class has."""
        return class_sums(self.cell, self.count, self.cells)

    @property
    def share(self) -> Floats:
        """The share of each value in its class."""
        return self.count / self.total[self.cell]


def profiles(keys: Keys, name: str) -> Iterator[tuple[int, int, Profile]]:
    """Yield the profile of the classes from one number up to another.

    Without missing keys every record is in one class and all come at once; with them a record is in many, so they come
    in parts that fit into memory.
    """
    found = keys.crosstab(name)
    known = found.columns >= 0
    cell, code, count = found.rows[known].astype(np.int64, copy=False), found.columns[known], found.counts[known]
    total = np.bincount(code, weights=count)
    value, whole = (np.cumsum(total > 0) - 1)[code], total[total > 0] / total.sum()  # of the values that occur
    numbers = keys.half.coding(name).values
    levels = None if numbers is None else numbers[: len(total)][total > 0]
    cells = len(keys.classes)
    if keys.classes.complete:
        yield 0, cells, Profile(cell, value, count.astype(np.float64), cells, whole, levels)
        return
    one, other = keys.agreeing()
    number = np.bincount(cell, minlength=cells)
    start, length = (np.cumsum(number) - number)[other], number[other]
    ends = np.searchsorted(one, np.arange(cells), "right")  # of the combinations that agree with each one
    entries = np.cumsum(length)[ends - 1]
    low = 0
    while low < cells:
        done = entries[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(entries, done + MAX_ENTRIES, "right")))
        part = slice(ends[low - 1] if low else 0, ends[high - 1])
        entry = spans(start[part], length[part])
        joined = Crosstab.of(np.repeat(one[part], length[part]) - low, value[entry], count[entry])
        yield (
            low,
            high,
            Profile(
                joined.rows.astype(np.int64, copy=False),
                joined.columns.astype(np.int64, copy=False),
                joined.counts.astype(np.float64),
                high - low,
                whole,
                levels,
            ),
        )
        low = high


class Confidential(Measure):
    """What l-diversity and t-closeness share: the confidential variables, and the figures of each class."""

    confidential: tuple[str, ...] | None

    def by_class(self, keys: Keys, pair: Pair) -> tuple[ByClass, Notes]:
        """Return the figures of each class for each confidential variable, and what was left out and why."""
        names, gone = self._confidential(keys, pair)
        notes = [f"left out, not in the protected table: {', '.join(gone)}"] if gone else []
        schema = pair.protected.schema
        figures, empty = {}, []
        for name in names:
            figures[name] = np.zeros((len(keys.classes), 2))
            for low, high, profile in profiles(keys, name):
                figures[name][low:high] = self.figures(profile, schema[name].kind)
            if not len(profile.whole):
                empty.append(name)
        if empty:
            notes.append(f"{', '.join(empty)}: missing in every record, so nothing can be learned of it")
        perturbed = [name for name in names if schema[name].treatment.perturbed]
        if perturbed:
            notes.append(f"values of {', '.join(perturbed)} were perturbed: what a class tells need not be true")
        return figures, tuple(notes)

    @abstractmethod
    def figures(self, profile: Profile, kind: Kind) -> Floats:
        """Return two figures for each class of a part of them."""

    def _confidential(self, keys: Keys, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the confidential variables that are no keys: those the protected table has, and those it has not."""
        schema = pair.original.schema
        named = self.confidential if self.confidential is not None else schema.analysed(role="confidential")
        for name in named:
            if name not in schema:
                raise NotApplicable(schema.unknown(name))
        names = tuple(name for name in named if name not in keys.names)
        if not names:
            others = [name for name in schema.analysed() if name not in keys.names]
            raise NotApplicable(
                'no variable besides the keys is confidential; give confidential=[...], or role = "confidential" in '
                f"the schema to one of {', '.join(others) or 'the others (none is left)'}"
            )
        kept = tuple(name for name in names if name in pair.protected.schema)
        if not kept:
            raise NotApplicable(f"the protected table has none of the confidential {', '.join(names)}")
        return kept, tuple(name for name in names if name not in kept)


# l-diversity: how many different confidential values the records of a key class have

Diversity = Literal["distinct", "entropy", "recursive"]


@catalogued(
    MeasureAbout(
        title="Records in classes that violate l-diversity",
        source="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007)",
        purpose="risk",
        counts=("smallest",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="what is alike but not near counts as different: with near = 0.0001, incomes of 50,000 and 50,010 are "
        "two values, and so are two diseases of the stomach",
        formula="value = share of the records whose class (equal keys) violates, for any confidential variable:\n"
        "distinct:   number of different values < l\n"
        "entropy:    exp(-sum_v p_v ln p_v) < l        p_v = share of value v in the class\n"
        "recursive:  r_1 >= c (r_l + ... + r_m)        r_1 >= r_2 >= ... = counts of values in the class\n"
        "numbers x, y are near if |x - y| <= near max(|x|, |y|, interquartile range of the file)\n"
        "in ascending order a value begins with each number not near to the one that began the last",
        reading="0 means that no class gives its value away. ``l=2`` asks only that two values occur, and one member "
        "in a hundred is enough for that; entropy and recursive ask that no value prevails. Amounts that differ by a "
        "trifle are one value (``near``), since whoever learns them to a ten-thousandth knows them; to ask for more, "
        "recode them first or say near = 0.01. Classes of one violate always: KAnonymity comes first.",
    )
)
class LDiversity(Confidential):
    """Share of records in classes of equal keys that have too few different confidential values.

    Whoever finds the class of a person learns that person's confidential value if all members share it, though the
    class be large. With ``diversity="distinct"`` a class violates when it has fewer than ``l`` different values; with
    "entropy" when exp(-sum p ln p) of its values' shares p is below l; with "recursive" when its most frequent value
    is not less frequent than ``c`` times all but the l - 1 most frequent together, r_1 >= c (r_l + ... + r_m). A record
    counts when its class violates for any variable in ``confidential`` (by default those of that role), and
    ``by_variable`` gives the share for each. The parts "smallest, NAME" are, for each of these variables, the l (the
    number of values, or the number the entropy is worth) of the least diverse class. A unique record always violates.
    It misleads where values are different but alike (all of them diseases of the stomach) or where one value is rare in
    the file as well: see :class:`TCloseness`.

    Numbers count as one value when they differ by no more than the share ``near`` of the larger of them, or of the
    distance between the quartiles of the file, so that 50,000.00 and 50,000.01 protect nobody; the number of values is
    then the most that can be picked from the class so that no two of them are near. Whole numbers below 10,000 stay
    apart with the default unless quartiles lie farther apart than that, dates always; ``near=0`` counts whatever
    differs.

    >>> import pyarrow as pa
    >>> pay = pa.table({"town": ["A", "A", "B", "B"], "pay": [50_000.0, 50_000.01, 50_000.0, 61_000.0]})
    >>> LDiversity(variables=("town",), confidential=("pay",)).evaluate(pay, pay).value
    0.5
    """

    l: int = 2  # noqa: E741 - its name everywhere
    diversity: Diversity = "distinct"
    c: float = 3.0
    confidential: tuple[str, ...] | None = None
    near: float = field(default=1e-4, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "l", least=2)
        parameters.one_of(self, "diversity", ("distinct", "entropy", "recursive"))
        parameters.number(self, "c", above=0)
        parameters.names(self, "confidential")
        parameters.share(self, "near", zero=True)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        figures, notes = self.by_class(keys, pair)
        violates = {name: figure[:, 0] > 0 for name, figure in figures.items()}
        levels = {name: figure[:, 1][figure[:, 1] > 0] for name, figure in figures.items()}
        by_any = np.any(list(violates.values()), axis=0)
        return self.measurement(
            found.share(by_any),
            parts={f"smallest, {name}": float(level.min()) for name, level in levels.items() if level.size},
            by_variable={name: found.share(cells) for name, cells in violates.items()},
            by_record=found.by_record(by_any),
            notes=(*keys.notes, *notes),
        )

    def figures(self, profile: Profile, kind: Kind) -> Floats:
        """Tell of each class whether it violates l-diversity, and its number of values, 0 where it has none."""
        if kind == "numeric" and self.near > 0:
            profile = joined(profile, self.near)
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


def joined(profile: Profile, near: float) -> Profile:
    """Count numbers of a class as one value where they are near to the one with which it begins, upwards.

    >>> levels = np.array([100.0, 100.5, 101.5, 300.0])
    >>> found = Profile(np.zeros(4, dtype=int), np.arange(4), np.array([1.0, 2, 3, 4]), 1, np.full(4, 0.25), levels)
    >>> joined(found, 0.01).count.tolist()  # the quartiles are 100 and 101.5; 101.5 is near to 100.5, not to 100
    [3.0, 3.0, 4.0]
    """
    if profile.levels is None or not len(profile.cell):
        return profile
    last = _last_near(profile.levels, profile.whole, near)[profile.value]
    begins = np.ones(len(last), dtype=bool)
    begins[1:] = (np.diff(profile.cell) != 0) | (profile.value[1:] > last[:-1])  # not near to the one before
    key = profile.cell * (len(profile.levels) + 1) + profile.value
    reach = profile.cell * (len(profile.levels) + 1) + last
    start = np.flatnonzero(begins)
    end = np.append(start[1:], len(last))
    while len(start):  # one more value of each run of neighbours, until it is gone through
        start = np.searchsorted(key, reach[start], "right")
        inside = start < end
        start, end = start[inside], end[inside]
        begins[start] = True
    count = class_sums(np.cumsum(begins) - 1, profile.count, int(begins.sum()))
    return replace(profile, cell=profile.cell[begins], value=profile.value[begins], count=count)


def _last_near(levels: Floats, share: Floats, near: float) -> NDArray[np.intp]:
    """Return, for each number, the place of the largest one that is near to it."""
    cumulated = np.cumsum(share)
    low, high = np.searchsorted(cumulated, np.array([0.25, 0.75]) - 1e-9)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # numbers near the largest there are
        spread = levels[min(int(high), len(levels) - 1)] - levels[low]
        upwards = levels + near * np.maximum(np.abs(levels), spread)
        # of which a number above takes no more than the share off: with a share of 1 that is any, of nought as well
        positive = np.where(levels >= 0, levels / (1 - near) if near < 1 else np.inf, -np.inf)
    return np.asarray(np.searchsorted(levels, np.maximum(upwards, positive), "right") - 1)


# t-closeness: how far the confidential values of a key class are from those of the file


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
