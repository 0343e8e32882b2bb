"""The keys, what an intruder may know: which they are, their classes in the protected table, what its records weigh."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import agreeing_pairs
from sfumato.kernels.groups import class_sums, classes, first_records
from sfumato.pair.half import Coding, Codings, Half
from sfumato.pair.households import shared_by_members
from sfumato.pair.pair import Pair
from sfumato.pair.statistics import Crosstab, KeyClasses, Sums
from sfumato.table.dates import spelled
from sfumato.table.households import counted, household_level
from sfumato.table.keys import Strata, key_names, refuse_continuous
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import OnDemand

Notes = tuple[str, ...]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Rows = tuple[dict[str, object], ...]
MISSING_KEYS = "a missing key may be any value: it agrees with every other"
SHOWN = 20  # rows of a table in a measurement


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys that the protected table has, its key classes, and what a reader should know of them."""

    names: tuple[str, ...]
    half: Half
    notes: Notes = ()

    @classmethod
    def of(cls, pair: Pair, stated: Iterable[str] | None) -> "Keys":
        """Find the keys: those stated, or the variables that the schema gives the role of key."""
        names, notes = present_keys(pair, stated)
        refuse_continuous_keys(pair.protected, names)
        return cls(names, pair.protected, notes)

    @property
    def classes(self) -> KeyClasses:
        """The records of the protected table by their keys."""
        return self.half.classes(self.names)

    def weights(self, pair: Pair, population: float | None = None) -> tuple[Floats | None, Notes]:
        """Return the sum of the design weights of each combination; None: the file is taken for a census.

        ``population`` is what all weights should sum to, because they were rescaled; without any weight every record
        stands for as many.
        """
        if population is None:
            return self._weights(pair)
        factor, notes = rescaled(pair, population)
        sums, more = self._weights(pair, factor)
        if sums is None:
            return self.classes.sizes.astype(np.float64) * factor, notes
        return sums * factor, (*more, *notes)

    def _weights(self, pair: Pair, factor: float = 1.0) -> tuple[Floats | None, Notes]:
        half, notes = design_weights(pair, factor)
        if half is None:
            return None, notes
        found = self.classes
        if found.cell_of is not None and not half.in_parts:
            return class_sums(found.cell_of, half.table.weights(), len(found)), notes
        # of the same records, merged in the order of the parts too, so these are the same combinations
        return half.classes(self.names, weighted=True).weights, notes

    def locating(self) -> Callable[[Microdata], Integers]:
        """Return what tells the combination of each record of a part; it can go to another process."""
        found = self.classes
        if found.cell_of is not None:
            there = found.cell_of
            return lambda _: there
        codes = self.half.coder(self.names)
        return lambda part: found.located(codes(part))

    def crosstab(self, name: str) -> Crosstab:
        """Count the values of a variable, as coded in this table, in each combination of key values."""
        found: Crosstab = self.half.keep(("by key class", self.names, name), lambda: self._crosstab(name))
        return found

    def _crosstab(self, name: str) -> Crosstab:
        if self.half.in_parts:  # the value as one more key
            each = self.half.classes((*self.names, name))
            return Crosstab.of(self.classes.located(each.cells[:, :-1]), each.cells[:, -1], each.sizes)
        table = self.half.table
        return Crosstab.of(self.locating()(table), self.half.codes(table, (name,))[:, 0])

    def agreeing(self) -> NDArray[np.intp]:
        """Return, as two rows, each combination with each one that agrees with it, itself too."""
        found: NDArray[np.intp] = self.half.keep(
            ("agreeing", self.names), lambda: np.stack(agreeing_pairs(self.classes.cells))
        )
        return found

    def spelled(self, cell: int) -> dict[str, str]:
        """Spell out the key values of a combination."""
        return self.half.spelled(self.names, self.classes.cells[cell])

    def listed(self, cells: Iterable[int], **figures: NDArray[np.generic]) -> Rows:
        """List combinations with the records that agree with them, and with what else is said of each."""
        counts = self.classes.counts
        return tuple(
            {
                **self.spelled(int(cell)),
                "records": int(counts[cell]),
                **{name: values[cell].item() for name, values in figures.items()},
            }
            for cell in cells
        )

    def rarest(self) -> Rows:
        """List the combinations of key values that the fewest records agree with."""
        return self.listed(self.classes.rarest(SHOWN))


def present_keys(pair: Pair, stated: Iterable[str] | None) -> tuple[tuple[str, ...], Notes]:
    """Name the keys that the protected table still has, and say what a reader should know of them."""
    names = key_names(pair.original.schema, stated)
    kept = tuple(name for name in names if name in pair.protected.schema)
    gone = tuple(name for name in names if name not in pair.protected.schema)
    if not kept:
        raise NotApplicable(f"the protected table has none of the keys {', '.join(names)}")
    notes = []
    if gone:
        notes.append(f"left out, not in the protected table: {', '.join(gone)}")
    perturbed = [name for name in kept if perturbed_key(pair, name)]
    if perturbed:
        notes.append(
            f"values of {', '.join(perturbed)} were perturbed, so records that agree in the keys need not do so in "
            "truth: counting them is no valid measure of re-identification; use record linkage"
        )
    household = pair.original.schema.household
    if household is not None and _shared_by_members(pair.original, kept):
        notes.append(
            f"records with the same {household!r} have all keys in common, so they agree with each other: counts of "
            "records say less than they seem, as of a person with several records; count units with unit='household'"
        )
    if not pair.protected.matched:
        notes.append(
            "the protected records correspond to none of the original: of a sample this figure holds, of synthetic "
            "records it says nothing, for there is nobody to re-identify"
        )
    return kept, tuple(notes)


def _shared_by_members(half: Half, names: tuple[str, ...]) -> bool:
    if half.in_parts:
        return shared_by_members(half, names)
    found: tuple[str, ...] = half.keep("shared by members", lambda: household_level(half.table))
    return set(names) <= set(found)


def repeated_units(pair: Pair, names: tuple[str, ...]) -> tuple[Integers | None, Notes]:
    """Number the unit of each protected record where several are about one, and say so; None: records are units.

    That is so where the members of each household have all keys in common, as the records of a person in a panel have
    if the person is named as the household.
    """
    if pair.protected.in_parts or pair.original.in_parts:
        return None, ()
    if pair.original.schema.household is None or not _shared_by_members(pair.original, names):
        return None, ()
    homes, _ = pair.homes()
    if homes is None:
        return None, ()
    said = f"the members of a household have all keys in common: {counted(homes.units):,} of them are counted"
    return homes.units, (f"{said}, not {len(homes):,} records",)


def perturbed_key(pair: Pair, name: str) -> bool:
    """Tell whether a key's published values need not be true: as its treatment says, else as the records show.

    A frame tells no treatment. Where record i is record i, a value that became two different ones was not recoded.
    """
    treatment = pair.protected.schema[name].treatment
    if treatment or not pair.matched:
        return treatment.perturbed
    return bool(pair.keep(("perturbed", name), lambda: _became_several(pair.in_order(), name)))


def _became_several(pair: Pair, name: str) -> bool:
    if _untouched(pair, name):
        return False
    found = pair.crosstab(name)
    known = (found.rows >= 0) & (found.columns >= 0)
    return int(known.sum()) > len(np.unique(found.rows[known]))


def _untouched(pair: Pair, name: str) -> bool:
    """Tell whether a variable has the same values in both tables, record by record."""
    if pair.original.schema[name] == pair.protected.schema[name] and all(
        _same_bytes(before, after, name) for before, after in pair.parts()
    ):
        return True
    if pair.original.on_disk and pair.protected.on_disk:
        found = pair.total(lambda before, after: Sums({"other": not _same(before.columns[name], after.columns[name])}))
        return not found["other"]
    return all(_same(before.columns[name], after.columns[name]) for before, after in pair.parts())


def _same_bytes(before: Microdata, after: Microdata, name: str) -> bool:
    """Tell whether a column of two parts on disk is the same to the byte; False: it must be read to know."""
    if not (isinstance(before.columns, OnDemand) and isinstance(after.columns, OnDemand)):
        return False
    digest = before.columns.column_digest(name)
    return digest is not None and digest == after.columns.column_digest(name)


def _same(before: NDArray[np.generic], after: NDArray[np.generic]) -> bool:
    """Tell whether two columns hold the same values."""
    return before.dtype == after.dtype and np.array_equal(before, after, equal_nan=before.dtype.kind == "f")


def countable(half: Half, names: Iterable[str]) -> bool:
    """Tell whether no key is continuous, so that records agree in them by more than chance."""
    try:
        refuse_continuous_keys(half, names)
    except NotApplicable:
        return False
    return True


def refuse_continuous_keys(half: Half, names: Iterable[str]) -> None:
    """Refuse a continuous key, because nearly every record would be alone with its value."""
    for name in names:
        if half.schema[name].quantitative:
            found = half.values(name)
            refuse_continuous(half.schema[name], found.values, found.present)


def design_weights(pair: Pair, factor: float = 1.0) -> tuple[Half | None, Notes]:
    """Return the table whose weights, times a factor, say how many units of the population each record stands for.

    It is the protected table, with the original's weights where it lacks its own and its records match, in whatever
    order they stand; None: the file is taken for a census.
    """
    half = pair.weighed()
    if half is None:
        return None, ("the schema names no weight: the file is taken for a census of the population",)
    notes: Notes = ()
    if half is not pair.protected:
        notes = (f"the protected table has no weight: the original's {half.schema.weight!r} is used",)
    half.keep(("design weights", factor), lambda: _refuse_low_weights(half, factor))
    return half, notes


def rescaled(pair: Pair, population: float) -> tuple[float, Notes]:
    """Return what the weights are to be multiplied by to sum to the population, and say so."""
    half = pair.weighed() or pair.protected
    if population < len(half):
        raise NotApplicable(f"the population of {population:,g} is smaller than the file of {len(half):,} records")
    total = half.total(lambda part: Sums({"weights": float(part.weights().sum())}), "sum of weights")["weights"]
    if half.schema.weight is None:
        return population / total, (f"every record is taken to stand for {population / total:,.3g} units",)
    said = f"the weights {half.schema.weight!r} sum to {total:,.6g} and were scaled to {population:,g}"
    return population / total, (said,)


def sampling_fraction(pair: Pair) -> tuple[float, Notes]:
    """Return the share of the population that is in the file: its records over the sum of the design weights."""
    half, notes = design_weights(pair)
    if half is None:
        return 1.0, notes
    total = half.total(lambda part: Sums({"weights": float(part.weights().sum())}), "sum of weights")["weights"]
    return len(half) / total, notes


def _refuse_low_weights(half: Half, factor: float) -> bool:
    """Refuse weights below one: a record stands at least for itself."""
    low, first, row, value = 0, 0, 0, 0.0
    for part in half.parts:
        weights = part.weights() * factor
        found = np.flatnonzero(weights < 1)
        if found.size and not low:
            row, value = first + int(found[0]) + 1, float(weights[found[0]])
        low += found.size
        first += len(part)
    if low:
        raise NotApplicable(
            f"the weight {half.schema.weight!r} is below one in {low:,} record{'s' if low > 1 else ''} (first in row "
            f"{row}: {value:g}); a record stands for at least itself, so give weights that sum to the population, or "
            "say what rescaled ones should sum to: IndividualRisk(population=...)"
        )
    return True


# The strata of a table in parts: the combinations of some variables' values, numbered as they are in memory


@dataclass(frozen=True, eq=False)
class StrataInParts:
    """The strata of a table, in the order in which they first appear, and how many records each has."""

    coder: Codings
    cells: Codes
    sizes: Integers
    values: tuple[tuple[object, ...], ...]

    def of(self, part: Microdata) -> Integers:
        """Return the stratum of each record of a part."""
        if not self.cells.shape[1]:
            return np.zeros(len(part), dtype=np.int64)
        # the strata are different, so numbered first
        return classes(np.concatenate([self.cells, self.coder(part)]))[0][len(self.cells) :]

    def of_numbered(self, part: Microdata, first: int) -> Integers:
        """Return the stratum of each record of a part, whatever the number of its first record."""
        return self.of(part)

    @property
    def named(self) -> Strata:
        """The strata without their records."""
        return Strata(np.empty(0, dtype=np.int64), self.values)


def strata_in_parts(half: Half, names: tuple[str, ...], called: str = "strata: key") -> StrataInParts:
    """Part a table by variables; a missing value is a value like any other, no names give one part."""
    for name in names:
        if name not in half.schema:
            raise NotApplicable(half.schema.unknown(name))
        if half.schema[name].quantitative:
            found = half.values(name)
            refuse_continuous(half.schema[name], found.values, found.present, called)
    codings = tuple(half.coding(name) for name in names)
    coder = Codings(codings)
    if not names:
        return StrataInParts(coder, np.empty((1, 0), dtype=np.int32), np.array([len(half)]), ((),))
    cells, sizes = np.empty((0, len(names)), dtype=np.int32), np.empty(0, dtype=np.int64)
    for there, counts in half.numbered(_Appearing(coder)):  # in the order of the parts, so that strata are too
        number, _ = classes(np.concatenate([cells, there]))
        new = number[len(cells) :] >= len(cells)
        cells = np.concatenate([cells, there[new]])
        sizes = np.concatenate([sizes, np.zeros(int(new.sum()), dtype=np.int64)])
        sizes += np.bincount(number[-len(there) :], counts, len(sizes)).astype(np.int64)
    values = tuple(tuple(map(_value, codings, row)) for row in cells.tolist())
    return StrataInParts(coder, cells, sizes, values)


@dataclass(frozen=True, eq=False)
class _Appearing:
    """Lists the combinations of a part in the order in which they first appear, and counts the records of each."""

    coder: Codings

    def __call__(self, part: Microdata, first: int) -> tuple[Codes, Integers]:
        codes = self.coder(part)
        found, sizes = classes(codes)
        return codes[first_records(found)], sizes


def _value(coding: Coding, code: int) -> object:
    """Return the value of a code as ``strata`` of a table in memory does."""
    if code < 0:
        return None
    if coding.values is None:
        category: object = coding.variable.categories[code]
        return category
    found = float(coding.values[code])
    if coding.variable.kind == "date":
        return spelled(found)
    return int(found) if found == int(found) else found
