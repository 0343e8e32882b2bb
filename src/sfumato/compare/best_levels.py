"""Candidates for those who stated hierarchies: the best level of each key, exactly found."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from sfumato.compare.clauses import clause
from sfumato.compare.key_sets import KeySet
from sfumato.compare.masked_numbers import Part
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.methods import OptimalRecoding

SUPPRESSION = (0.02, 0.05)  # the share of records that may lose all their keys
CROWDS = (1.5, 3.0)  # times as many records alike as a guess among them asks for: other columns tell more than that
USUAL_HEIGHT = 3  # of a hierarchy that is made for want of one
MOST_NODES = 1_000_000  # choices of levels that a candidate is worth


def best_levels(data: Microdata, keys: Sequence[str], ways: Sequence[Sequence[KeySet]], found: float) -> Iterator[Part]:
    """Return the recodings that lose least by the hierarchies of the schema; none where it has none of these keys.

    Where the share of records that may be ``found`` is bounded, so many look alike that a guess among them keeps it.
    """
    hierarchies = [data.schema[name].hierarchy for name in keys]
    nodes = math.prod(USUAL_HEIGHT + 1 if one is None else one.height + 1 for one in hierarchies)
    if all(one is None for one in hierarchies) or nodes > MOST_NODES:
        return
    least = [math.ceil(crowd / found) for crowd in CROWDS] if found > 0 else [0]
    for sets in ways:
        for crowd, share in product(least, SUPPRESSION):
            method = _method(data, [replace(one, k=max(one.k, crowd)) for one in sets], share)
            try:
                method.chosen(data)  # an interruption ends it
            except NotApplicable:  # too few records, or no levels that keep them alike
                continue
            yield Part((method,), clause(method))


def _method(data: Microdata, sets: Sequence[KeySet], share: float) -> OptimalRecoding:
    if len(sets) > 1:
        return OptimalRecoding(suppression=share, sets=tuple((one.keys, one.k) for one in sets))
    (only,) = sets
    by_role = only.keys == data.schema.analysed(role="key")
    return OptimalRecoding(only.k, share, variables=None if by_role else only.keys)
