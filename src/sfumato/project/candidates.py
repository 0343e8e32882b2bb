"""The candidates of a sweep: named, composed to fit the table, and begun with what the steward does first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from sfumato.errors import OF_THE_RUN, NotApplicable, ParameterError, SfumatoError, unexpected
from sfumato.project.options import Tell
from sfumato.project.reading import read_methods

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure, Method
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts

# parameters of methods that name variables, and those that say something by variable
NAMES = ("variables", "strata", "similar", "keys", "given", "confidential")
BY_NAME = (
    *("hierarchy", "level", "map", "bins", "rare", "base", "share", "top", "bottom"),
    *("importance", "caps", "transition"),
)


def named_candidates(methods: "Iterable[Method]", first: "Method | None") -> "list[Candidate]":
    """Return the methods that were named, each behind ``first``, which alone is a candidate too.

    One that begins with ``first`` already stays as it is.
    """
    from sfumato.compare.candidates import Candidate

    if first is None:
        return [Candidate(method, "") for method in methods]
    return [Candidate(first, ""), *(Candidate(behind(first, method), "") for method in methods)]


def refuse_misnamed(methods: "Iterable[Method]", first: "Method | None", data: "Microdata") -> None:
    """Refuse a method that names what is no variable of the table, or one that it can never mask, before all others."""
    for method in (*methods, *(() if first is None else (first,))):
        for name in _variables_named(method):
            if name not in data.schema:
                raise ParameterError(f"{method!r}: {data.schema.unknown(name)}")
        begun = method.steps[0]
        if begun.variables is not None and (first is None or method is first):  # what stands behind sees another table
            try:
                begun.masked(data)
            except NotApplicable as refusal:
                raise ParameterError(f"{method!r}: {refusal}") from None


def _variables_named(step: "Method") -> "Iterator[str]":
    """Name the variables that the parameters of a method name, those of its steps and of what is done in blocks too."""
    from sfumato.composition import Within

    for part in step.steps:
        if isinstance(part, Within):
            yield from (*part.by, *_variables_named(part.method))
        for parameter in NAMES:
            yield from (name for name in getattr(part, parameter, None) or () if isinstance(name, str))
        for parameter in BY_NAME:
            found = getattr(part, parameter, None)
            yield from found if isinstance(found, Mapping) else ()


def behind(first: "Method", method: "Method") -> "Method":
    """Return a method that begins with ``first``: the one given, if it does.

    >>> from sfumato import MDAV, Rounding
    >>> behind(Rounding(10), MDAV(3)), behind(Rounding(10), Rounding(10) + MDAV(3)), behind(Rounding(10), Rounding(10))
    (Rounding(base=10.0) + MDAV(k=3), Rounding(base=10.0) + MDAV(k=3), Rounding(base=10.0))
    """
    given, begun = (one.steps for one in (method, first))
    return method if given[: len(begun)] == begun else first + method


def composed_candidates(
    data: "Microdata",
    measures: "Sequence[Measure]",
    bounds: Mapping[str, float],
    breadth: int,
    *,
    first: "Method | None",
    seed: int,
    tell: Tell,
    whole: int = 0,
) -> "list[Candidate]":
    """Compose candidates that fit the table, or what ``first`` leaves of it, and put that in front.

    Kinds, categories and variables are those of the table that ``first`` returns, so that a candidate applies to it.
    Where ``first`` is coarse enough for the keys, a candidate that only masks amounts is one too. Of a table in parts,
    of ``whole`` so many records, ``data`` is a sample, and what cannot mask parts is left out.
    """
    from sfumato.compare.candidates import Candidate, compose
    from sfumato.compare.coarsening import read_by
    from sfumato.compare.naming import in_words
    from sfumato.compare.seeds import generator

    def composed(table: "Microdata", done: "Sequence[Measure]" = ()) -> "Sequence[Candidate]":
        try:
            return compose(table, measures, bounds, breadth=breadth, done=done, whole=whole)
        except (SfumatoError, *OF_THE_RUN):
            raise
        except Exception as error:
            tell(f"no candidates could be composed ({unexpected(error)})")
            return ()

    if first is None:
        return _for_parts(composed(data), whole, tell)
    begun = first.protect(data, rng=generator(seed, first, 0))
    if first.about.random:
        tell(f"{first!r} is random: the others are composed on one draw of it, and each candidate draws it anew")
    masked = set(first.masked(data))
    done = [measure for measure in measures if masked & set(read_by(measure, data.schema))]
    found = _for_parts(composed(begun, done), whole, tell)
    if not found:
        tell(f"nothing can be composed behind {first!r} that fits this table and these bounds")
    return [Candidate(first + one.method, f"{in_words(first).rstrip('.')}. Then: {one.why}") for one in found]


def candidates_that_fit_any(data: "Microdata", composed: "Sequence[Candidate]", tell: Tell) -> "list[Candidate]":
    """Return what fits any table, without keys or as it is, if nothing was composed that leaves a key; say why."""
    from sfumato.compare.candidates import as_it_is

    found = as_it_is(data)
    if any(found[0].method not in one.method.steps for one in composed):
        return []
    keys = dict.fromkeys(name for intruder in data.schema.intruders() for name in intruder.keys)
    one = [name for name in keys if len(set(data.columns[name][~data.missing(name)].tolist())) < 2]
    why = f"the table has {len(data):,} record{'s' if len(data) > 1 else ''}"
    if one:
        why += f", and {', '.join(one)} {'has one value' if len(one) == 1 else 'have one value each'}"
    left = [name for name in keys if name not in one]
    if left:
        why += f", and no method that is composed by itself masks {', '.join(left)}"
    tried = "; ".join(candidate.why.rstrip(".") for candidate in found)
    tell(
        f"nothing could be composed that masks the keys: {why}. Tried instead: {tried}. Name methods with "
        "--method to try others"
    )
    return list(found)


def _for_parts(found: "Iterable[Candidate]", whole: int, tell: Tell) -> "list[Candidate]":
    """Leave out, of a table in parts, the candidates with a step that needs all records at once.

    Extremes are coded as the limit in parts, because the mean beyond it is one of all records.
    """
    if not whole:
        return list(found)
    listed = [_extremes_at_the_limit(one) for one in found]
    fitting = [one for one in listed if masks_parts(one.method)]
    if len(fitting) < len(listed):
        tell(f"{len(listed) - len(fitting)} of {len(listed)} composed candidates are left out: they cannot mask parts")
    return fitting


def _extremes_at_the_limit(one: "Candidate") -> "Candidate":
    from sfumato.compare.candidates import Candidate
    from sfumato.compare.naming import in_words
    from sfumato.methods import TopBottomCoding

    steps = one.method.steps
    limited = [replace(step, by="limit") if isinstance(step, TopBottomCoding) else step for step in steps]
    if tuple(limited) == steps:
        return one
    method = reduce(add, limited)
    return Candidate(method, in_words(method))


def masks_parts(method: "Method") -> bool:
    """Tell whether a method can learn of a whole table what it needs to mask any part of it."""
    from sfumato.core import Method

    return all(type(step).learn is not Method.learn for step in method.steps)


def refuse_unmakeable(methods: "Sequence[Method]", table: "TableInParts") -> None:
    """Refuse a table in parts that no method can mask, before anything is measured; one that some can is let be."""
    from sfumato.pair.households import Households
    from sfumato.pair.masking import refuse_links

    refuse_links(table.schema)
    able = [method for method in methods if masks_parts(method)]
    if not able:
        needing = next(step for step in methods[0].steps if not masks_parts(step))
        raise NotApplicable(
            f"no candidate can mask a table in parts: {needing!r} needs all records at once; mask it block by block, "
            "within(...), choose a method of docs/how-to/larger-than-memory.md, or protect a table in memory"
        )
    heedless = any(not any(step.heeds_households for step in method.steps) for method in able)
    if table.schema.household is not None and not heedless:
        Households.of(table)


def label_of(
    said: str, methods: "Mapping[str, Method | None]", first: "Method | None", *, option: str = "--choose"
) -> str:
    """Return the label of the candidate that was named by its label, its short name, or its method as it is written."""
    from sfumato.compare.naming import short_names

    if said in methods:
        return said
    names = short_names(methods)
    called = [label for label, name in names.items() if name == said]
    if len(called) == 1:
        return called[0]
    try:
        read = read_methods([said])
    except SfumatoError:
        read = []
    written = [repr(method) for one in read for method in ((one,) if first is None else (one, first + one))]
    meant = [label for label in written if label in methods]
    if len(read) == 1 and meant:
        return meant[0]
    near = get_close_matches(said, [*methods, *names.values()], n=3, cutoff=0.5) or list(names.values())[:5]
    raise ParameterError(f"{option}: there is no candidate {said!r}; did you mean {' or '.join(map(repr, near))}?")
