"""What the rest of a protected file tells an intruder of the keys that he knows, and the attacks that use it.

He knows the keys of everybody, and with them all that follows from them (``pair.consequences``): functions of the keys
are keys too, whatever became of the keys themselves; a number that is a sum of published parts is added up; and of a
column that a key tells in part he learns how likely each value is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfumato.data.recoding import Recoding
from sfumato.kernels.groups import classes
from sfumato.pair import Pair
from sfumato.pair.consequences import Coded, Consequences, determines, levels
from sfumato.pair.keys import perturbed_key
from sfumato.risk.seen_keys import codes_of
from sfumato.risk.weighed import MOST_PAIRS, Term, weighed

if TYPE_CHECKING:
    from sfumato.risk.judged import Known

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]

LIKELIEST = "likeliest of those alike"
MOST_TERMS = 12  # columns of which the keys tell a part that are looked at, those first of which they tell most
SHOWN = 6  # columns that a note names


@dataclass(frozen=True, eq=False)
class Told:
    """An intruder with what follows from his keys, and the chances under the attack that only he can make."""

    known: "Known"
    chances: dict[str, Floats]


def told_by_others(known: "Known") -> list[Told]:
    """Return the intruder with what the rest of the file tells; without the sums' own keys, too; none if it is nothing.

    A sum of parts may be nearer to the truth than the total that is published.
    """
    pair, scenario = known.pair, known.scenario
    found = Consequences.of(pair.original, scenario.keys)
    functions = _functions(known, found)
    gaps, sums, finer = _gaps(known, found), _sums(pair, found), _finer(known, found)
    terms = [(name, source) for name, source in _parts(known, found, functions) if source not in finer]
    if not (functions or gaps or sums or finer or terms):
        return []
    read = {f"{name} by {column}": seen for name, (column, seen) in finer.items()}
    vague = [name for name in functions if set(found.functions[name]) & set(scenario.about)]
    notes = _said(scenario.name, found, functions, gaps, sums, terms)
    if finer:
        listed = _listed([f"{name} (by {column})" for name, (column, _) in finer.items()])
        notes = (f"{scenario.name}: read from published columns that tell it in full: {listed}", *notes)
    seen = replace(
        known,
        scenario=replace(scenario, keys=(*scenario.keys, *functions), about=(*scenario.about, *vague)),
        keys=(*known.keys, *functions, *gaps, *sums, *read),
        notes=notes,
        derived={**gaps, **sums, **read},
    )
    chances, more = likeliest(seen, terms)
    told = [Told(replace(seen, notes=(*notes, *more)), chances)]
    totals = {name for name, _ in found.sums} & set(known.keys)
    if sums and totals:
        told.append(Told(replace(seen, keys=tuple(name for name in seen.keys if name not in totals), notes=()), {}))
    return told


def with_functions(known: "Known") -> "Known | None":
    """Return the intruder with the functions of his keys that a table in parts publishes; None if there are none.

    Sums and what is learnt of other columns are not tried there: they need the records of both tables at hand.
    """
    pair, scenario = known.pair, known.scenario
    found = Consequences.of(pair.original, scenario.keys)
    offered = [name for name in found.functions if name in pair.protected.schema and _usable(pair.footing(name))]
    if not offered:
        return None
    vague = [name for name in offered if set(found.functions[name]) & set(scenario.about)]
    wider = replace(scenario, keys=(*scenario.keys, *offered), about=(*scenario.about, *vague))
    notes = _said(scenario.name, found, offered, (), (), ())
    return replace(known, scenario=wider, keys=(*known.keys, *offered), notes=notes)


def likeliest(
    known: "Known", told: Sequence[tuple[str, str]] = (), *, learns_all: bool = False
) -> tuple[dict[str, Floats], Notes]:
    """Weigh the records that agree in the true keys by what else they show: blanks, perturbed keys, other columns.

    Of keys that were perturbed it is learnt what became of which value, but only beside other columns that tell of
    them, or if ``learns_all``: what the keys tell by themselves the other attacks look at.
    """
    true = [name for name in known.true if name not in known.perturbed]
    before, after = codes_of(known.seen, true, len(known.pair.original))
    untrue = [name for name in known.keys if name not in true and name not in known.derived]
    learnt = [*((name, name) for name in untrue), *told] if told or learns_all else []
    blank = bool((after < 0).any()) and len(true) == len(known.keys)
    if not learnt and not blank:
        return {}, ()
    terms = _terms(known, learnt[:MOST_TERMS] if learns_all else learnt)
    found = weighed(before, after, terms)
    many = f"more than {MOST_PAIRS:,} pairs of a person and a record that agree"
    if found is None:
        return {}, (f"{known.scenario.name}: an attack is not tried, by who weighs records that agree: {many}",)
    chances, used = found
    few = f"{known.scenario.name}: records are weighed by {used} of {len(terms)} columns, for by more there are {many}"
    return {LIKELIEST: chances}, (few,) if used < len(terms) else ()


def _functions(known: "Known", found: Consequences) -> list[str]:
    """Name the published functions of the keys that tell records apart which the published keys do not."""
    pair = known.pair
    offered = [name for name in found.functions if name in pair.protected.schema and _usable(pair.footing(name))]
    if known.perturbed or not offered:
        return offered
    refining = _refining(known, {name: pair.footing(name) for name in offered})
    return [name for name in offered if name in refining or perturbed_key(pair, name)]


def _refining(known: "Known", offered: Mapping[str, Recoding]) -> set[str]:
    """Name the columns that tell records apart which show the same keys."""
    records, kept = len(known.pair.original), set()
    _, row = codes_of(known.seen, known.keys, records)
    for name, seen in offered.items():
        finer = np.column_stack([row, codes_of({name: seen}, [name], records)[1]])
        if len(classes(finer)[1]) > len(classes(row)[1]):
            kept.add(name)
            row = finer
    return kept


def _usable(seen: Recoding) -> bool:
    return seen.comparable and all((~_missing(column)).any() for column in (seen.original, seen.protected))


def _missing(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    gaps: NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column < 0  # type: ignore[operator]
    return gaps


def _gaps(known: "Known", found: Consequences) -> dict[str, Recoding]:
    """Return which values are missing, of columns where the keys tell that and the published keys do not."""
    before, after = known.pair.tables()
    offered = {}
    for name in (name for name in found.gaps if name in after.schema):
        sides = [table.missing(name).astype(np.int32) for table in (before, after)]
        if (sides[1] > 0).any():
            offered[f"{name} missing"] = Recoding("nominal", sides[0], sides[1], ("no", "yes"))
    if known.perturbed or not offered:
        return offered
    return {name: offered[name] for name in _refining(known, offered)}


def _sums(pair: Pair, found: Consequences) -> dict[str, Recoding]:
    """Add up the published parts of each known number: beside them stands what the intruder knows it to be."""
    sums = {}
    schema = pair.protected.schema
    for name, relation in found.sums:
        if not all(part in schema and schema[part].kind == "numeric" for part in relation.parts):
            continue
        after = relation.applied({part: pair.footing(part).protected for part in relation.parts})
        before = pair.original.column(name)
        if np.isfinite(after).any() and np.isfinite(before).any():
            sums[str(relation)] = Recoding("numeric", before, after)
    return sums


def _shut(known: "Known") -> set[str]:
    """Name the keys that the file shows in full."""
    return {
        name
        for name in known.keys
        if name in known.true and not known.seen[name].recoded and not _missing(known.seen[name].protected).any()
    } - known.perturbed


def _finer(known: "Known", found: Consequences) -> dict[str, tuple[str, Recoding]]:
    """Read keys that the file does not show in full from a published column of which they are functions.

    The column must tell the key as it is published, too: it may have been coarsened, or changed.
    """
    before, after = known.pair.tables()
    finer: dict[str, tuple[str, Recoding]] = {}
    for name in (name for name in found.finer if name not in _shut(known) and name not in known.scenario.about):
        key = Coded.of(before, name)
        for column in (column for column in found.finer[name] if column in after.schema):
            shown = Coded.of(after, column)
            there = shown.codes > 0
            if there.any() and determines(shown.only(there), key.only(there)):
                finer[name] = column, Recoding("nominal", key.codes - 1, _read(shown, key) - 1)
                break
    return finer


def _read(shown: Coded, key: Coded) -> Integers:
    """Return the key's commonest value among the records that show the same; 0 where nothing is shown."""
    cells, counts = np.unique(shown.codes * key.number + key.codes, return_counts=True)
    cells = cells[np.argsort(counts, kind="stable")]
    usual = np.zeros(shown.number, dtype=np.int64)
    usual[cells // key.number] = cells % key.number
    usual[0] = 0
    return usual[shown.codes]


def _parts(known: "Known", found: Consequences, functions: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each published column with the key that tells most of it, of those that the file does not show in full."""
    pair = known.pair
    shut = _shut(known)
    told: dict[str, str] = {}
    for name, source in found.partly:
        if name in pair.protected.schema and name not in functions and source not in shut:
            told.setdefault(name, source)
    return list(told.items())[:MOST_TERMS]


def _terms(known: "Known", told: Iterable[tuple[str, str]]) -> list[Term]:
    """Return what is learnt of: published columns, and beside each what it is told by."""
    pair = known.pair
    before, after = pair.tables()
    return [
        Term(levels(Coded.of(before, source)).codes, levels(Coded.of(after, name)).codes)
        for name, source in told
        if name in after.schema
    ]


def _said(
    scenario: str,
    found: Consequences,
    functions: Sequence[str],
    gaps: Iterable[str],
    sums: Iterable[str],
    told: Sequence[tuple[str, str]],
) -> Notes:
    """Say what the intruder of a scenario knows besides the keys, and from which of them."""
    notes = []
    follow = {name: found.functions[name] for name in functions}
    follow |= {f"whether {name} is": found.gaps[name.removesuffix(" missing")] for name in gaps}
    if follow:
        listed = _listed([f"{name} (from {' and '.join(sources)})" for name, sources in follow.items()])
        notes.append(f"{scenario}: who knows the keys knows as well {listed}")
    if sums:
        totals = {str(relation): name for name, relation in found.sums}
        notes.append(f"{scenario}: added up from published columns: {_listed([f'{totals[s]} = {s}' for s in sums])}")
    if told:
        listed = _listed([f"{name} (by {source})" for name, source in told])
        notes.append(f"{scenario}: told in part by the keys, and learnt from half of the records: {listed}")
    return tuple(notes)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
