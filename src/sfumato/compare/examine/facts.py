"""Facts of the two tables that a release tells of, and that warnings rest on."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.auditing.proposals import Dependency, dependencies
from sfumato.compare.examine.findings import (
    BrokenSum,
    CautionFacts,
    Deed,
    Distributions,
    FewLeft,
    Gap,
    Merged,
    ReleasedVariable,
    ReleaseFacts,
    SpecialColumn,
)
from sfumato.compare.examine.variables import spelled_categories
from sfumato.kernels.groups import classes
from sfumato.pair import Half
from sfumato.pair.statistics import Sums
from sfumato.table import bands
from sfumato.table.dates import spelled
from sfumato.table.describe import behaviours
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.sums import held_by, relation
from sfumato.table.treatment import Treatment

MIN_SHARE_OF_ENTROPY = 1 / 3  # of the entropy of the original: with less left, a recoding is named in the verdict
CLASSES = 20  # of equal size: how much a number is taken to tell at most, so that deciles are not called little
NAMED = 4  # categories left that are named
MEMBERS = 3  # of categories put together, those that are named
BROKEN = 0.02  # share of the records in which a sum no longer holds, before it is worth a warning
GAP = 0.1  # share of values gone before it is worth a warning


def release_facts(original: Microdata, protected: Microdata) -> ReleaseFacts:
    """Say of each variable of a protected file what was done to it and how much of it is missing."""
    names, schema = original.schema.analysed(), protected.schema
    kept = [name for name in names if name in schema]
    # the weight and the household belong to the file; what only names the units is not released
    special = [n for n in (schema.weight, schema.household) if n is not None and schema[n].role != "identifier"]
    return ReleaseFacts(
        records=len(protected),
        variables=tuple(_released(original, protected, name) for name in (*kept, *special)),
        removed=tuple(name for name in names if name not in schema),
        weight=schema.weight if schema.weight in special else "",
    )


def _released(original: Microdata, protected: Microdata, name: str) -> ReleasedVariable:
    variable, there = protected.schema[name], name in original.schema
    return ReleasedVariable(
        name,
        variable.label,
        variable.kind,
        deeds(variable.treatment),
        float(protected.missing(name).mean()),
        missing_before=float(original.missing(name).mean()) if there else 0.0,
        was=original.schema[name].kind if there else "",
        same=same(original, protected, name),
        one_left=_one_left(original, protected, name),
        few_left=_few_left(original, protected, name),
        merged=_merged(original, protected, name),
    )


def _one_left(original: Microdata, protected: Microdata, name: str) -> bool:
    """Tell whether a variable that varied has one value left."""
    if name not in original.schema:
        return False
    before, after = (np.unique(_present(table, name)).size for table in (original, protected))
    return after <= 1 < before


def _few_left(original: Microdata, protected: Microdata, name: str) -> FewLeft | None:
    """Find out whether a recoding left less than a third of the information (entropy) of a variable.

    Entropy is that of the values present, in bits. A number is taken to tell at most as much as twenty classes of equal
    size: of 2,000 different incomes deciles keep 3.3 of 4.3 bits. None: enough is left, or one value only.
    """
    if name not in original.schema:
        return None
    (_, before), (values, after) = (
        np.unique(_present(table, name), return_counts=True) for table in (original, protected)
    )
    if not 1 < len(after) < len(before):
        return None
    whole = entropy(before)
    if original.schema[name].quantitative:
        whole = min(whole, math.log2(CLASSES))
    share = entropy(after) / whole
    if share >= MIN_SHARE_OF_ENTROPY:
        return None
    variable, common = protected.schema[name], values[np.argsort(-after, kind="stable")][:NAMED]
    if variable.quantitative:
        shown = [spelled(value) if variable.kind == "date" else bands.shown(value) for value in common.tolist()]
    else:
        words = spelled_categories(variable)
        shown = [words[code] for code in common.tolist()]
    return FewLeft(len(before), len(after), share, tuple(shown))


def _merged(original: Microdata, protected: Microdata, name: str) -> tuple[Merged, ...]:
    """Say which categories that occur in the original became one in the protected table, as its treatment states."""
    into = dict(protected.schema[name].treatment.groups)
    if not into or name not in original.schema or original.schema[name].quantitative:
        return ()
    before, after, codes = original.schema[name], protected.schema[name], original.columns[name]
    counts = np.bincount(codes[codes >= 0], minlength=len(before.categories))
    words, whole = spelled_categories(before), max(int(counts.sum()), 1)
    called = dict(zip(after.categories, spelled_categories(after), strict=True))
    groups: dict[object, list[int]] = {}
    for code in np.argsort(-counts, kind="stable").tolist():
        if counts[code] and before.categories[code] in into:
            groups.setdefault(into[before.categories[code]], []).append(code)
    found = [
        Merged(
            into=called.get(group, str(group)),
            number=len(members),
            share=float(counts[members].sum() / whole),
            largest=tuple((words[code], float(counts[code] / whole)) for code in members[:MEMBERS]),
        )
        for group, members in groups.items()
        if len(members) > 1
    ]
    return tuple(sorted(found, key=lambda one: -one.share))


def entropy(counts: NDArray[np.intp]) -> float:
    """Return the entropy of a distribution in bits.

    >>> entropy(np.array([2, 1, 1]))  # 1/2 x 1 + 1/4 x 2 + 1/4 x 2
    1.5
    """
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def _present(table: Microdata, name: str) -> NDArray[Any]:
    """Return the values of a variable that are not missing."""
    return table.columns[name][~table.missing(name)]


def deeds(treatment: Treatment) -> tuple[Deed, ...]:
    """Say what was done to a variable, without how much of it.

    >>> deeds(Treatment(top=90.0, suppressed=12))
    ('ends coded', 'suppressed')
    """
    done: dict[Deed, bool] = {
        "grouped": bool(treatment.groups or treatment.cuts or treatment.local),
        "ends coded": treatment.bottom is not None or treatment.top is not None,
        "rounded": treatment.base is not None,
        "suppressed": bool(treatment.suppressed),
        "perturbed": treatment.perturbed,
    }
    return tuple(deed for deed, was in done.items() if was)


def caution_facts(original: Microdata, protected: Microdata) -> CautionFacts:
    """Gather what a reader must be warned of: gaps, changes out of sight, and what was not touched at all."""
    schema = original.schema
    bare = tuple(
        name
        for name in schema.analysed(role="key")
        if schema[name].kind != "numeric" and same(original, protected, name)
    )
    found = dependencies(original).found
    return CautionFacts(
        gaps=_gaps(original, protected),
        recoded=tuple(
            name
            for name in schema.analysed()
            if name not in protected.schema
            or protected.schema[name].kind != schema[name].kind
            or (schema[name].kind != "numeric" and protected.schema[name].treatment)
        ),
        untouched_keys=bare,
        unique=_unique(protected, bare) if bare else None,
        special=_special(original, protected),
        known_too=_known_too(original, protected, found),
        units_found=_units_found(original),
        broken_sums=tuple(_broken_sums(original, protected, found)),
    )


def _broken_sums(original: Microdata, protected: Microdata, found: Iterable[Dependency]) -> Iterator[BrokenSum]:
    """Find sums of linked variables, or such as were found, that hold in the original and no longer in the other."""
    asked = {v.name: v.sources for v in original.schema if v.sources} | {o.name: o.sources for o in found if o.formula}
    for name, parts in asked.items():
        there = [n for n in (name, *parts) if n in protected.schema]
        if len(there) <= len(parts) or len(parts) < 2:
            continue
        if {table.schema[n].kind for table in (original, protected) for n in there} != {"numeric"}:
            continue  # classes cannot be added up, which is no secret
        sums = relation(original.columns[name], {part: original.columns[part] for part in parts}, set(), parts)
        if sums is None:
            continue
        before = held_by(sums, original.columns, name, original.columns)
        after = held_by(sums, protected.columns, name, original.columns)
        if before - after > BROKEN:
            yield BrokenSum(name, str(sums), sums.parts, before, after)


def _units_found(original: Microdata) -> tuple[tuple[str, str], ...]:
    """Find what numbers households, persons of a panel or firms, and is not named so: its records share something."""
    if original.schema.household is not None:
        return ()
    found = (one for one in behaviours(original) if one.behaves == "household" and one.shared)
    return tuple((one.name, one.evidence) for one in found)


def _known_too(original: Microdata, protected: Microdata, found: Iterable[Dependency]) -> tuple[tuple[str, str], ...]:
    """Find what whoever knows a key knows as well, such as the age group beside an age, and is published as it is."""
    keys = {name for intruder in original.schema.intruders() for name in intruder.keys}
    if not keys:
        return ()
    return tuple(
        (one.name, " and ".join(one.sources))
        for one in found
        if one.name not in keys
        and set(one.sources) <= keys
        and one.name in protected.schema
        and same(original, protected, one.name)
        and not all(name in protected.schema and same(original, protected, name) for name in one.sources)
    )


def _gaps(original: Microdata, protected: Microdata) -> tuple[Gap, ...]:
    """Find the variables that lost many of their values."""
    names = (name for name in original.schema.analysed() if name in protected.schema)
    return gaps({name: (float(original.missing(name).mean()), float(protected.missing(name).mean())) for name in names})


def _unique(protected: Microdata, names: tuple[str, ...]) -> float:
    """Return the share of records that are alone with their values of these variables."""
    codes = np.column_stack([np.unique(protected.columns[name], return_inverse=True)[1] for name in names])
    _, sizes = classes(codes)
    return float((sizes == 1).sum() / len(protected))


def _special(original: Microdata, protected: Microdata) -> tuple[SpecialColumn, ...]:
    """Find the columns that are not analysed and that the protected table holds as they were."""
    roles: dict[str, str] = {name: role for role, name in original.schema.special().items()}
    roles |= {v.name: "identifier" for v in original.schema if v.role == "identifier" and v.name not in roles}
    schema = protected.schema
    return tuple(
        SpecialColumn(name, role, names_units=name == schema.id or schema[name].role == "identifier")
        for name, role in roles.items()
        if same(original, protected, name)
    )


def same(original: Microdata, protected: Microdata, name: str) -> bool:
    """Tell whether a column is in the protected table as it was in the original."""
    if name not in protected.schema or len(original) != len(protected):
        return False
    before, after = original.schema[name], protected.schema[name]
    if before.kind != after.kind or before.categories != after.categories:
        return False
    return bool(np.array_equal(original.columns[name], protected.columns[name], equal_nan=before.quantitative))


# What is counted in all records of a table in parts, where the rest is looked at in a sample: values that are
# missing.
#
# A few values made blank among many are seldom in a sample, and what is said of them goes out with the file.


class Blanks:
    """How many values of each variable are missing in all records of an original and of its protected table."""

    def __init__(self, original: TableInParts, protected: TableInParts) -> None:
        self.records = len(original), len(protected)
        self._counts = tuple(map(_counted, (original, protected)))

    def both(self, name: str) -> tuple[int, int]:
        """Return how many values were missing before and are after; of a variable that is in one table, 0 before."""
        before, after = (counts.get(name, 0) for counts in self._counts)
        return before, after

    def shares(self, name: str) -> tuple[float, float]:
        """Return which shares of the values were missing before and are after."""
        before, after = (count / records for count, records in zip(self.both(name), self.records, strict=True))
        return before, after

    def in_detail(self, found: Distributions) -> Distributions:
        """Add the counts to what was found of each variable in a sample."""
        told = (v if v.gone else replace(v, blank=self.both(v.name)) for v in found.variables)
        return replace(found, variables=tuple(told))

    def in_release(self, facts: ReleaseFacts) -> ReleaseFacts:
        """Return the facts of a release with the shares that are missing in all its records."""
        told = []
        for variable in facts.variables:
            before, after = self.shares(variable.name)
            told.append(replace(variable, missing_before=before, missing=after))
        return replace(facts, variables=tuple(told), whole=self.records[1])

    def in_cautions(self, facts: CautionFacts, names: tuple[str, ...]) -> CautionFacts:
        """Return the facts of warnings with the gaps of all records in these variables."""
        return replace(facts, gaps=gaps({name: self.shares(name) for name in names if name in self._counts[1]}))


def gaps(shares: Mapping[str, tuple[float, float]]) -> tuple[Gap, ...]:
    """Name the variables that lost many of their values, by the shares missing before and after."""
    return tuple(Gap(name, *both) for name, both in shares.items() if both[1] - both[0] > GAP)


def _counted(table: TableInParts) -> dict[str, int]:
    names = table.schema.names
    found = Half.of(table).total(partial(_missing, names))["missing"]
    return {name: int(count) for name, count in zip(names, found, strict=True)}


def _missing(names: tuple[str, ...], part: Microdata) -> Sums:
    return Sums({"missing": np.array([np.count_nonzero(part.missing(name)) for name in names], dtype=np.int64)})
