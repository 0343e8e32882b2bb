"""The candidates of a sweep: named, composed to fit the table, and begun with what the steward does first."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, SfumatoError
from sfumato.project.reading import read_methods
from sfumato.project.tell import Tell

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata


def named_candidates(methods: "Iterable[Method]", first: "Method | None") -> "list[Candidate]":
    """Return the methods that were named, each behind ``first``, which alone is a candidate too.

    One that begins with ``first`` already stays as it is.
    """
    from sfumato.compare.candidates import Candidate

    if first is None:
        return [Candidate(method, "") for method in methods]
    return [Candidate(first, ""), *(Candidate(behind(first, method), "") for method in methods)]


def behind(first: "Method", method: "Method") -> "Method":
    """Return a method that begins with ``first``: the one given, if it does.

    >>> from sfumato import MDAV, Rounding
    >>> behind(Rounding(10), MDAV(3)), behind(Rounding(10), Rounding(10) + MDAV(3)), behind(Rounding(10), Rounding(10))
    (Rounding(base=10.0) + MDAV(k=3), Rounding(base=10.0) + MDAV(k=3), Rounding(base=10.0))
    """
    given, begun = (getattr(one, "steps", (one,)) for one in (method, first))
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
) -> "list[Candidate]":
    """Compose candidates that fit the table, or what ``first`` leaves of it, and put that in front.

    Kinds, categories and variables are those of the table that ``first`` returns, so that a candidate applies to it.
    Where ``first`` is coarse enough for the keys, a candidate that only masks amounts is one too.
    """
    from sfumato.compare.candidates import Candidate, compose
    from sfumato.compare.key_sets import read_by
    from sfumato.compare.naming import in_words
    from sfumato.compare.seeds import generator

    if first is None:
        return list(compose(data, measures, bounds, breadth=breadth))
    begun = first.protect(data, rng=generator(seed, first, 0))
    if first.about.random:
        tell(f"{first!r} is random: the others are composed on one draw of it, and each candidate draws it anew")
    masked = set(first.masked(data))
    done = [measure for measure in measures if masked & set(read_by(measure, data.schema))]
    found = compose(begun, measures, bounds, breadth=breadth, done=done)
    if not found:
        tell(f"nothing can be composed behind {first!r} that fits this table and these bounds")
    return [Candidate(first + one.method, f"{in_words(first).rstrip('.')}. Then: {one.why}") for one in found]


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
