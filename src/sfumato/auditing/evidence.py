"""What a file still holds, as evidence: its columns, its ids and their patterns, its households; and what that says.

Evidence says of a record the values of the others that share it, or else of its neighbours in its order. A record never
helps to predict itself. Where a relation is taken as known from the original, neither do the members of its own
household, because their values are protected as well: of each household one record teaches.

A category that no record shows any more is learnt from nobody, least of all if one record had it. But where two columns
go one by one in all other records, as a code beside a text does, a code that only records without the category have is
that category: by the code book, by the order of the codes, or by the label that a file gives it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.auditing.targets import Integers, Lesson, Mask, Rows, Target
from sfumato.table.dates import date_formats, parsed
from sfumato.table.microdata import Microdata

LOOKED_AT = 20  # texts that tell whether to look at all of them for dates
MAX_PREFIXES = 6  # lengths of prefixes that are tried
MIN_SHARE_OF_OWN_TEXTS = 0.5  # of the records have a text of their own, if it is looked at as an id is

MIN_CATEGORIES = 3  # categories that two records show at least, with a code each
MIN_RECORDS = 30  # records that show them
MIN_AGREEMENT = 0.99  # of these, and 9 in 10 of those that show another than the commonest, must go one by one
MIN_AGREEMENT_OF_RARER = 0.9


@dataclass(frozen=True, eq=False)
class Evidence:
    """A column of the file as codes from 0: in the order of its values where they have one.

    ``shown`` names the columns it is made of, or says how it is made of ``parts``. Records with no value have a code of
    their own, the first; ``blank`` tells which these are, of several columns the records without a value of some.
    Without ``ties`` records that share a code do not count, only the next ones in the order; where the relation is
    taken as known ``apart`` records are passed over on each side. ``published``: only what the file publishes of others
    teaches, whatever the variable.
    """

    shown: tuple[str, ...]
    codes: Integers
    ordered: bool
    parts: tuple[str, ...] = ()
    blank: Mask | None = None
    ties: bool = True
    apart: int = 0
    published: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return self.parts or self.shown

    @property
    def number(self) -> int:
        """How many different values there may be."""
        return int(self.codes.max(initial=0)) + 1

    def shows(self, rows: Rows) -> Mask:
        """Tell which of these records have a value."""
        return np.ones(len(rows), dtype=bool) if self.blank is None else ~self.blank[rows]

    def part(self, rows: Rows) -> "Evidence":
        """Return the evidence for some of the records."""
        if len(rows) == len(self.codes):
            return self
        return replace(self, codes=self.codes[rows], blank=None if self.blank is None else self.blank[rows])


def predicted(target: Target, evidence: Evidence, lesson: Lesson, rows: Rows, *, banded: bool) -> NDArray[Any]:
    """Return what the evidence says for these rows: codes or numbers, -1 or NaN where it says nothing.

    Records that share the evidence answer with their most common value, of numbers with the median. If there are none
    and the evidence has an order, the next ones on both sides do. ``banded``: only records of the same band are asked.
    """
    width = evidence.number
    keys = evidence.codes + target.band * width if banded else evidence.codes
    values = lesson.values
    span = max(len(values.levels), 1)
    teaching = keys[lesson.learners]
    taught = values.codes[lesson.learners]
    # ties are equal in key and value, but whose own record is passed over depends on their order
    order = np.argsort(teaching * span + taught, kind="stable")
    sorted_keys, sorted_values, who = teaching[order], taught[order], lesson.learners[order]
    asked = keys[rows]
    low = np.searchsorted(sorted_keys, asked, side="left")
    high = np.searchsorted(sorted_keys, asked, side="right")
    place = np.full(len(values.codes) + 1, -1, dtype=np.int64)
    place[who] = np.arange(len(who))
    own = place[lesson.own[rows]]
    inside = (own >= low) & (own < high)
    others = high - low - inside
    if not evidence.ties:
        others = np.zeros_like(others)
    if target.number:
        found = _median(values.levels, sorted_values, low, others, np.where(inside, own, -1))
    else:
        found = _mode(sorted_keys, sorted_values, low, others, np.where(inside, own, -1))
    if evidence.ordered:
        alone, apart = np.flatnonzero(others == 0), evidence.apart
        before = _step(low[alone] - 1 - apart, own[alone], -1)
        after = _step(high[alone] + apart, own[alone], 1)
        bands = sorted_keys // width
        sides = [
            np.where(_inside(bands, at, asked[alone] // width), sorted_values[np.clip(at, 0, len(who) - 1)], -1)
            if len(who)
            else np.full(len(alone), -1)
            for at in (before, after)
        ]
        found[alone] = _between(values.levels, *sides) if target.number else np.where(sides[0] >= 0, *sides)
    return found


def _median(levels: NDArray[Any], values: Integers, low: Integers, others: Integers, own: Integers) -> NDArray[Any]:
    """Return the median of each run of sorted values without one's own; the lower of two, for it is a value."""
    found = np.full(len(low), np.nan)
    some = np.flatnonzero(others > 0)
    at = low[some] + (others[some] - 1) // 2
    at += (own[some] >= 0) & (at >= own[some])
    found[some] = levels[values[at]]
    return found


def _mode(keys: Integers, values: Integers, low: Integers, others: Integers, own: Integers) -> Integers:
    """Return the most common value of each run of equal keys without one's own; the lower code where two are."""
    found = np.full(len(low), -1, dtype=np.int64)
    some = np.flatnonzero(others > 0)
    if not some.size:
        return found
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    start = np.flatnonzero(new)
    counts = np.diff(np.append(start, len(keys)))
    group = np.cumsum(np.concatenate([[True], keys[1:] != keys[:-1]])) - 1
    of_group, of_value = group[start], values[start]
    best = np.lexsort((of_value, -counts, of_group))
    first = np.searchsorted(of_group[best], np.arange(group[-1] + 1))
    last = np.append(first[1:], len(best))
    mine = np.where(own[some] >= 0, values[np.maximum(own[some], 0)], -1)
    at = first[group[low[some]]]
    two = np.minimum(at + 1, len(best) - 1)
    has_two = at + 1 < last[group[low[some]]]
    one, other = best[at], best[two]
    count_one = counts[one] - (of_value[one] == mine)
    count_two = np.where(has_two, counts[other] - (of_value[other] == mine), 0)
    second = (count_two > count_one) | ((count_two == count_one) & has_two & (of_value[other] < of_value[one]))
    found[some] = np.where(second, of_value[other], of_value[one])
    return found


def _step(at: Integers, own: Integers, way: int) -> Integers:
    """Pass over one's own teacher."""
    return np.asarray(at + way * (at == own))


def _inside(bands: Integers, at: Integers, wanted: Integers) -> Mask:
    there = (at >= 0) & (at < len(bands))
    return np.asarray(there & (bands[np.clip(at, 0, len(bands) - 1)] == wanted))


def _between(levels: NDArray[Any], before: Integers, after: Integers) -> NDArray[Any]:
    """Return the mean of the two neighbours, or the one there is."""
    left, right = (np.where(side >= 0, levels[np.maximum(side, 0)], np.nan) for side in (before, after))
    both = (left + right) / 2
    return np.where(np.isnan(both), np.where(np.isnan(left), right, left), both)


def column(data: Microdata, name: str, shown: str = "") -> Evidence:
    """Return a column as evidence; missing values share a code of their own.

    Text that nobody declared to be dates counts as dates all the same: whoever reads it sees that it is.
    """
    variable, values = data.schema[name], data.columns[name]
    if variable.kind == "nominal" and (days := _days(variable.categories)) is not None:
        values, ordered = np.append(days, np.nan)[values], True
    else:
        ordered = variable.kind != "nominal"
    missing = data.missing(name)
    codes = np.zeros(len(data), dtype=np.int64)
    codes[~missing] = np.unique(values[~missing], return_inverse=True)[1] + 1
    return Evidence((shown or name,), codes, ordered, blank=missing if missing.any() else None)


def _days(categories: Sequence[object]) -> NDArray[np.float64] | None:
    """Return categories that are written as dates in days; None where they are something else."""
    if not categories or not all(isinstance(category, str) for category in categories):
        return None
    texts = [str(category) for category in categories]
    if not date_formats(texts[:LOOKED_AT]):
        return None
    forms = date_formats(texts)
    return parsed("", pa.array(texts), forms[0])[0] if forms else None


def informative(evidence: Evidence) -> bool:
    """Tell whether not all records have the same value."""
    return bool((evidence.codes != evidence.codes[0]).any())


def rows(data: Microdata, apart: int) -> Evidence:
    """Return the order of the records as evidence."""
    return Evidence(("row",), np.arange(len(data), dtype=np.int64), ordered=True, ties=False, apart=apart)


def id_names(original: Microdata, data: Microdata) -> list[str]:
    """Name the columns of a protected table that name units: ids, households, identifiers."""
    named = {table.schema.special().get(key) for table in (original, data) for key in ("id", "household")}
    named |= {variable.name for table in (original, data) for variable in table.schema if variable.role == "identifier"}
    return [name for name in data.names if name in named and name not in (original.schema.weight, data.schema.weight)]


def ids(data: Microdata, name: str, apart: int) -> Iterator[Evidence]:
    """Yield what an id may tell: its order, in which neighbours are ``apart``, and the prefixes of a text."""
    variable = data.schema[name]
    if variable.quantitative:
        yield replace(column(data, name), ties=False, apart=apart)
        return
    texts = [str(category) for category in variable.categories]
    codes = data.columns[name].astype(np.int64)
    blank = data.missing(name) if data.missing(name).any() else None

    def of(keys: list[str] | list[int], shown: str, *, ordered: bool) -> Evidence:
        place = {key: rank for rank, key in enumerate(sorted(set(keys)), start=1)}  # type: ignore[type-var]
        ranked = np.array([*(place[key] for key in keys), 0], dtype=np.int64)[codes]
        return Evidence((shown,), ranked, ordered, (name,), blank, ties=not ordered, apart=apart if ordered else 0)

    figures = [re.sub(r"\D", "", text) for text in texts]
    alphabet = of(texts, f"{name} in alphabetical order", ordered=True)
    numbered = of([int(f) for f in figures], f"figures of {name}", ordered=True) if all(figures) else alphabet
    yield numbered
    for length in range(1, MAX_PREFIXES + 1):
        named = f"first {length} characters of {name}" if length > 1 else f"first character of {name}"
        start = of([text[:length] for text in texts], named, ordered=False)
        if 1 < len(np.unique(start.codes)) <= len(data) / 2:
            yield start
    if not np.array_equal(numbered.codes, alphabet.codes):
        yield alphabet


def counting(data: Microdata, name: str) -> bool:
    """Tell whether a column is a text of which most records have their own, so that it may be like an id."""
    codes = data.columns[name]
    if data.schema[name].kind != "nominal" or _days(data.schema[name].categories) is not None:
        return False
    present = codes[codes >= 0]
    return len(present) > 0 and len(np.unique(present)) > MIN_SHARE_OF_OWN_TEXTS * len(present)


def household(original: Microdata, data: Microdata, units: Integers | None) -> tuple[Evidence, str] | None:
    """Return who belongs together, and how that is seen: by the household's id, or by rows that look alike.

    Without an id, neighbouring rows are taken for a household that have the same weight and agree in the variables that
    are constant within the original's ``units`` and were kept.
    """
    name = original.schema.household
    if name is not None and name in data.columns:
        found = column(data, name)
        alone = data.missing(name)
        codes = np.where(alone, found.number + np.arange(len(data)), found.codes)
        return Evidence((name,), codes, ordered=False, published=True), f"the household id {name!r}"
    weight = original.schema.weight
    names = [weight] if weight is not None and weight in data.columns else []
    if units is not None:
        names += [
            n for n in data.schema.analysed() if n in original.columns and _constant(column(data, n).codes, units)
        ]
    if not names:
        return None
    new = np.zeros(len(data), dtype=bool)
    new[0] = True
    for n in names:
        codes = column(data, n).codes
        new[1:] |= codes[1:] != codes[:-1]
    if new.all() or np.count_nonzero(new) < 2:
        return None
    told = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    found = Evidence(("neighbouring rows",), np.cumsum(new) - 1, ordered=False, published=True)
    return found, f"neighbouring rows alike in {told}"


def _constant(codes: Integers, units: Integers) -> bool:
    """Tell whether a variable is the same throughout nearly all households, and not throughout the file."""
    order = np.argsort(units, kind="stable")
    together = units[order][1:] == units[order][:-1]
    if not together.any() or together.all() or not (codes != codes[0]).any():
        return False
    alike = codes[order][1:] == codes[order][:-1]
    return bool(alike[together].mean() >= 0.99 and alike[~together].mean() < 0.99)


def told_by_code(target: Target, evidence: Evidence) -> Mask | None:
    """Tell which protected rows have a code of their own in a column that recodes the variable; None if it does not.

    They are those of categories that no record shows any more. Such a code is no other record's, but those of the same
    category.
    """
    if target.unseen is None or evidence.published or len(evidence.shown) > 1:
        return None
    (rows, shown), truth, codes = target.unseen, target.truth.codes, evidence.codes
    categories = int(truth.max(initial=-1)) + 1
    if evidence.number > 2 * categories:
        return None
    there = np.ones(len(rows), dtype=bool) if evidence.blank is None else ~evidence.blank
    known, mine = shown & there, rows & there
    if not _one_by_one(truth[known], codes[known]):
        return None
    others = np.bincount(codes[~mine], minlength=evidence.number) > 0
    pairs = np.unique(codes[mine] * categories + truth[mine])
    several = np.bincount(pairs // categories, minlength=evidence.number) > 1
    return np.asarray(mine & ~others[codes] & ~several[codes])


def _one_by_one(truth: Integers, codes: Integers) -> bool:
    """Tell whether each category has its own code and each code its category, but for a few records.

    Categories of single records prove nothing: a number of which each record has its own goes one by one with them.
    """
    counts = np.bincount(truth)
    there = counts[truth] > 1
    truth, codes = truth[there], codes[there]
    if len(truth) < MIN_RECORDS:
        return False
    width = int(codes.max()) + 1
    pairs, place, times = np.unique(truth * width + codes, return_inverse=True, return_counts=True)
    order = np.lexsort((-times, pairs // width))
    _, first = np.unique(pairs[order] // width, return_index=True)
    usual = order[first]  # of each category the pair that most of its records have
    if len(usual) < MIN_CATEGORIES or len(np.unique(pairs[usual] % width)) < len(usual):
        return False
    agree = np.isin(place, usual)
    rarer = truth != counts.argmax()
    return bool(agree.mean() >= MIN_AGREEMENT and agree[rarer].mean() >= MIN_AGREEMENT_OF_RARER)
