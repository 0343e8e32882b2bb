"""Linkability: whether the protected table links two records about one person."""

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.errors import NotApplicable
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.attack_and_control import ALL, EXCESS, GUIDANCE, MISSING, Outcome, Question
from sfumato.risk.nearest_links import Bridge, linked, linked_by_others
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Schema


@catalogued(
    MeasureAbout(
        title="Linkability",
        source=f"{GUIDANCE}; {EXCESS}",
        purpose="risk",
        counts=("attacks",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING,
        kinds=ALL,
        paired=False,
        column_order=True,
        caveat="two sources that overlap, or a better way to link, may find more; depends on how variables are divided",
        formula="value = max(0, (A - C) / (1 - C))\n"
        "A = mean chance that i is the original nearest, in the second variables, to the protected record\n"
        "    that is nearest to i in the first ones\n"
        "C = the same with the nearest other original, of another household, for the protected record",
        reading="0: the file links two sources no better than other people's records do; 1: it links all. It needs "
        "two parts of what is known: by default the keys and the rest; name in ``first`` what another register holds. "
        'Read the interval from "low" to "high" before the value.',
    )
)
class Linkability(Question):
    """How much better the protected table links two records about one person than other people's records would.

    Two sources hold one part each of what the original knows of its people: the ``first`` some variables (by default
    the keys, or every other variable where the schema names no key, or nothing else), the second the rest. The intruder
    wants to know which record of the second belongs to one of the first, and uses the protected table as a bridge: the
    protected record nearest in the variables of the first, and the record of the second source nearest to that in the
    variables of the second. He succeeds if both are about one person; where several are as near, one is drawn, and
    what counts is the chance of success. Distances are of Gower's kind, as in :class:`NearestRecord`.

    The control is the same intruder whose bridge is the nearest other original, a true record of somebody else, who is
    not in the second source. The value is (attack - control) / (1 - control), 0 where negative. Parts hold both rates
    and their Wilson intervals at ``level``; low and high, the value at the ends of both intervals that are least and
    most alarming, hence wider than the level; and the attacks, one per original record, as in ``by_record``.
    """

    first: tuple[str, ...] | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "first")

    def _attacked(self, pair: Pair, columns: dict[str, Recoding], rng: np.random.Generator) -> Outcome:
        first, second = self._sources(pair.original.schema, tuple(columns))
        one, two = (Bridge.between(pair, names) for names in (first, second))
        return Outcome(
            attack=linked(one, two),
            control=float(linked_by_others(one, two).mean()),
            notes=(f"one source has {', '.join(first)}; the other {', '.join(second)}",),
        )

    def _sources(self, schema: Schema, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Divide what is known between two sources."""
        if self.first is not None:
            strange = [name for name in self.first if name not in names]
            if strange:
                raise NotApplicable(
                    f"first names {', '.join(strange)}, not among the variables that both tables have "
                    f"({', '.join(names)})"
                )
            first = self.first
        else:
            keys = tuple(name for name in names if schema[name].role == "key")
            first = keys if 0 < len(keys) < len(names) else names[0::2]
        second = tuple(name for name in names if name not in first)
        if not second:
            raise NotApplicable("two variables are needed at least, one for each of two sources")
        return first, second
