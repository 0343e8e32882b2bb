"""Variables and keys as an intruder knows and compares them: what is known put into the protected table's terms.

Someone who knows that a person lives in Bonn, and sees a file that says north or south, looks among the northern
records. So values are compared after the original's were recoded as the protected's were (``table/recoding.py``).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.pair import Pair
from sfumato.pair.statistics import Values
from sfumato.table.keys import key_names, refuse_continuous
from sfumato.table.microdata import Microdata
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Kind, Schema, Variable, is_quantitative

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Notes = tuple[str, ...]


def compared(pair: Pair, names: Iterable[str], *, asked: bool) -> tuple[dict[str, Recoding], Notes]:
    """Put each variable of both tables on the same footing; one for which that cannot be told is left out, and said.

    ``asked``: somebody named the variables, so that none may be left out.
    """
    found = {name: pair.footing(name) for name in names}
    untold = [name for name, seen in found.items() if not seen.comparable]
    if untold and (asked or len(untold) == len(found)):
        raise NotApplicable(f"the protected table has no comparable {untold[0]}: {found[untold[0]].note}")
    notes = tuple(f"left out, {name}: {found[name].note}" for name in untold)
    kept = {name: seen for name, seen in found.items() if seen.comparable}
    return kept, (*notes, *(f"{name}: {seen.note}" for name, seen in kept.items() if seen.note))


def followed(original: Microdata, more: Microdata, name: str, seen: Recoding) -> Recoding:
    """Return a variable with further records after the original's, recoded as their nearest original value was.

    A category that no original has stays apart from all others; where categories are ordered it counts as missing.
    """
    before, added = original.columns[name], more.columns[name]
    if original.schema[name].quantitative:
        coded = added.astype(seen.original.dtype) if not seen.recoded else _as_nearest(before, added, seen.original)
    else:
        taken = {original.schema[name].categories[code]: seen.original[place] for code, place in _first(before)}
        place = {category: code for code, category in enumerate(seen.categories)}
        lookup = []
        for category in more.schema[name].categories:
            if category in taken:
                lookup.append(taken[category])
            else:
                lookup.append(-1 if seen.kind == "ordinal" else place.setdefault(category, len(place)))
        coded = np.array([*lookup, -1], dtype=np.int32)[added]
    return replace(seen, original=np.concatenate([seen.original, coded]))


def _as_nearest(before: Floats, added: Floats, coded: NDArray[Any]) -> NDArray[Any]:
    present = np.flatnonzero(~np.isnan(before))
    order = present[np.argsort(before[present], kind="stable")]
    middles = (before[order][1:] + before[order][:-1]) / 2
    found = coded[order[np.searchsorted(middles, added)]]
    return np.where(np.isnan(added), np.nan if coded.dtype.kind == "f" else -1, found).astype(coded.dtype)


def _first(codes: Codes) -> list[tuple[int, int]]:
    """Return each code that occurs, and the first place where it does."""
    values, places = np.unique(codes, return_index=True)
    return [(int(code), int(place)) for code, place in zip(values, places, strict=True) if code >= 0]


# What an intruder is assumed to know: nested sets of variables, one more with every step

KnownVariables = int | tuple[str, ...] | tuple[tuple[str, ...], ...]


def check_known(owner: Measure, known: object) -> KnownVariables:
    """Require a number of variables, a list of names (known one after the other), or a list of such lists."""
    if isinstance(known, Integral) and not isinstance(known, bool) and int(known) >= 1:
        return int(known)
    if isinstance(known, Sequence) and not isinstance(known, str) and known:
        if all(isinstance(name, str) for name in known) and len(set(known)) == len(known):
            return tuple(known)
        if all(
            isinstance(names, Sequence) and not isinstance(names, str) and names and len(set(names)) == len(names)
            for names in known
        ):
            return tuple(tuple(names) for names in known)
    raise parameters.refuse(
        owner,
        f"known must be a number of variables, a list of names or a list of lists of names; got {known!r}"
        + (f" (as text on the command line a list is written ({known!r},))" if isinstance(known, str) else ""),
    )


def known_sets(
    measure: Measure, known: KnownVariables, schema: Schema, shared: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """Spell out the sets of variables an intruder knows.

    A number stands for the first 1, 2, ... of the variables chosen: those the measure was told, else the keys of the
    schema among those it can compare, else all of these, in the order of the table.
    """
    if isinstance(known, int):
        keys = [name for name in shared if schema[name].role == "key"]
        gone = [name for name in schema.analysed(*measure.about.kinds, role="key") if name not in keys]
        if measure.variables is None and gone and not keys:
            raise NotApplicable(
                f"no key is left that it can compare, for {', '.join(gone)} {_was(gone)} recoded or removed; name "
                "others in known, or count all kinds with DistanceLinkage(distance='gower')"
            )
        listed = shared if measure.variables is not None or not keys else tuple(keys)
        return [listed[:size] for size in range(1, min(known, len(listed)) + 1)]
    names = {name for entry in known for name in ((entry,) if isinstance(entry, str) else entry)}
    absent = sorted(names - set(shared))
    if absent:
        raise NotApplicable(
            f"known names {', '.join(absent)}, not among the variables that both tables have ({', '.join(shared)})"
        )
    if isinstance(known[0], str):
        listed = tuple(str(name) for name in known)
        return [listed[:size] for size in range(1, len(listed) + 1)]
    return [tuple(entry) for entry in known]


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


# Numbers in bands: the quantile classes in which a value counts as known


@dataclass(frozen=True, eq=False)
class BandedVariable:
    """A variable of two tables as codes that mean the same, numbers in quantile bands of the first; -1 is missing.

    ``cuts`` are the inner cuts of the bands; a number that is a cut belongs to the band above it.
    """

    original: Codes
    protected: Codes
    cuts: Floats

    @classmethod
    def of(cls, kind: Kind, original: NDArray[Any], protected: NDArray[Any], bands: int) -> "BandedVariable":
        """Put the numbers of two tables into bands; categories stay as they are.

        >>> found = BandedVariable.of("numeric", np.array([1.0, 2, 3, 4, 5, 6]), np.array([0.0, 4.0, np.nan]), 2)
        >>> found.cuts, found.protected
        (array([3.5]), array([ 0,  1, -1], dtype=int32))
        """
        if not is_quantitative(kind):
            return cls(original, protected, np.empty(0))
        cuts = band_cuts(Values.of(original), bands)
        return cls(_codes(original, cuts), _codes(protected, cuts), cuts)

    @classmethod
    def between(cls, pair: Pair, name: str, bands: int) -> "BandedVariable":
        """Put a variable of both tables into bands of the original, the original's values recoded as the protected's.

        The bands are kept with the pair, and those of an original that was not recoded with the original.
        """
        found: BandedVariable = pair.keep(("bands", name, bands), lambda: cls._between(pair, name, bands))
        return found

    @classmethod
    def _between(cls, pair: Pair, name: str, bands: int) -> "BandedVariable":
        seen = pair.footing(name)
        if not seen.quantitative or seen.recoded:
            return cls.of(seen.kind, seen.original, seen.protected, bands)
        cuts = band_cuts(pair.original.values(name), bands)
        codes = pair.original.keep(("bands", name, bands), lambda: _codes(seen.original, cuts))
        return cls(codes, _codes(seen.protected, cuts), cuts)

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.original.nbytes + self.protected.nbytes + self.cuts.nbytes


def band_cuts(found: Values, bands: int) -> Floats:
    """Return the inner cuts that divide these values into quantile bands.

    A value that as many records share as a band would hold is a band of its own (zeros are not small amounts); if no
    more values occur than there are bands, each is.
    """
    values = found.values
    if len(values) <= bands:
        return values[1:]
    own = np.flatnonzero(found.counts * bands >= found.present)
    around = values[np.concatenate([own, own[own + 1 < len(values)] + 1])]
    cuts = np.concatenate([found.quantiles(np.arange(1, bands) / bands), around])
    return np.unique(cuts[cuts > values[0]])


def _codes(numbers: Floats, cuts: Floats) -> Codes:
    """Return the band of each number."""
    codes = np.searchsorted(cuts, numbers, side="right").astype(np.int32)
    codes[np.isnan(numbers)] = -1
    return codes


# The keys of both tables under codes that mean the same, and how many records of each table have which

Integers = NDArray[np.int64]

MISSING_KEYS = "a missing key is a value like any other, equal to missing in the other table"


@dataclass(frozen=True, eq=False)
class ComparedKeys:
    """The key class of every record, numbered alike in both tables, and how many records of each table have it.

    A missing key is a value like any other. A key that the protected table lacks is left out, and ``notes`` says so.
    """

    names: tuple[str, ...]
    original: Integers  # the class of each original record
    protected: Integers
    originals: Integers  # the original records of each class
    protecteds: Integers
    notes: Notes = ()

    @classmethod
    def of(cls, pair: Pair, stated: Iterable[str] | None) -> "ComparedKeys":
        """Find the keys, those stated or those that the schema gives this role, and put both tables into classes."""
        named = key_names(pair.original.schema, stated)
        found: ComparedKeys = pair.keep(("compared keys", named), lambda: cls._of(pair, named))
        return found

    @classmethod
    def _of(cls, pair: Pair, named: tuple[str, ...]) -> "ComparedKeys":
        kept = tuple(name for name in named if name in pair.protected.schema)
        if not kept:
            raise NotApplicable(f"the protected table has none of the keys {', '.join(named)}")
        gone = tuple(name for name in named if name not in kept)
        notes: Notes = (f"keys the protected table lacks, left out: {', '.join(gone)}",) if gone else ()
        codes, suppressed = [], []
        for name in kept:
            seen = pair.footing(name)
            if not seen.comparable:
                raise NotApplicable(f"key {name!r} cannot be matched: {seen.note}")
            if seen.note:
                notes = (*notes, f"{name}: {seen.note}")
            codes.append(np.concatenate(_common_codes(pair.original.schema[name], seen)))
            if _made_missing(pair, name):
                suppressed.append(name)
        class_of, sizes = classes(np.column_stack(codes))
        ours, theirs = class_of[: len(pair.original)], class_of[len(pair.original) :]
        originals = np.bincount(ours, minlength=len(sizes))
        return cls(kept, ours, theirs, originals, sizes - originals, (*notes, *_said(suppressed)))

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return sum(column.nbytes for column in (self.original, self.protected, self.originals, self.protecteds))


def _common_codes(variable: Variable, seen: Recoding) -> tuple[Codes, Codes]:
    """Return a key of both tables as codes, where -1 is a missing value; a continuous key is refused."""
    if not seen.quantitative:
        return seen.original, seen.protected
    found = [Values.of(column) for column in (seen.original, seen.protected)]
    for side in found:
        refuse_continuous(variable, side.values, side.present)
    values = np.union1d(found[0].values, found[1].values)
    return codes_among(values, seen.original), codes_among(values, seen.protected)


def _made_missing(pair: Pair, name: str) -> bool:
    """Tell whether values of a key were made missing."""
    if pair.protected.schema[name].treatment.suppressed:
        return True
    seen = (pair.in_order() if pair.matched else pair).footing(name)
    before, after = (
        np.isnan(column) if column.dtype.kind == "f" else column < 0 for column in (seen.original, seen.protected)
    )
    return bool((after & ~before).any() if pair.matched else after.any() and not before.any())


def _said(suppressed: list[str]) -> Notes:
    """Say that keys were made missing: these measures look for equal keys, an intruder also for those that may be."""
    if not suppressed:
        return ()
    return (
        f"values of {', '.join(suppressed)} were made missing: an intruder who takes such a record for anyone's whose "
        "other keys agree may learn more than this figure says",
    )


# Keys of both tables as an intruder lays them side by side: codes that mean the same, or standardised numbers


def codes_of(seen: dict[str, Recoding], names: Iterable[str], records: int) -> tuple[Codes, Codes]:
    """Return keys of both tables as codes that mean the same in both; missing is -1."""
    columns = [_coded(seen[name]) for name in names]
    both = np.column_stack(columns) if columns else np.empty((2 * records, 0), dtype=np.int32)
    return both[:records], both[records:]


def _coded(found: Recoding) -> Codes:
    both = np.concatenate([found.original, found.protected])
    return codes_among(np.unique(both[~np.isnan(both)]) if found.quantitative else None, both)


def codes_among(values: Floats | None, column: NDArray[Any]) -> Codes:
    """Return a column as codes: of a number its place among these values, and of a category its own; missing is -1."""
    if values is None:
        return column.astype(np.int32)
    return np.where(np.isnan(column), -1, np.searchsorted(values, column)).astype(np.int32)


def scores_of(seen: dict[str, Recoding], names: list[str]) -> tuple[Floats, Floats]:
    """Return numbers of both tables, standardised by the original's means and standard deviations."""
    before = np.column_stack([seen[name].original for name in names])
    after = np.column_stack([seen[name].protected for name in names])
    mean, spread = mean_and_spread(before)
    if not np.isfinite(spread).all():
        name = names[int(np.argmin(np.isfinite(spread)))]
        raise NotApplicable(f"{name!r} has values too large for a standard deviation")
    return standardised(before, mean, spread), standardised(after, mean, spread)
