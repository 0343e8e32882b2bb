"""Sample uniques: records that are alone with their keys, and which keys make them so."""

from collections.abc import Iterable
from itertools import combinations
from math import comb

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.uniques import alone_on
from sfumato.measurement import Measurement, Table
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import MISSING_KEYS
from sfumato.pair.statistics import KeyClasses
from sfumato.registry import catalogued

Set = tuple[int, ...]  # of keys, by their places
MAX_SETS = 10_000  # sets of keys to count


@catalogued(
    MeasureAbout(
        title="Sample uniques",
        source="Skinner, Marsh, Openshaw and Wymer (1994); Hundepool et al., Statistical Disclosure Control (2012)",
        purpose="risk",
        counts=("uniques", "records in pairs"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING_KEYS,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="a sample unique need not be unique in the population: an upper bound where the sample is small",
        formula="value = #{i: f_i = 1} / n,   f_i as in KAnonymity\n"
        "by variable: the same minus that without the key;  subsets: the same over up to `size` keys",
        reading="The share that is alone with its keys. In a census such people are found; in a sample of 1 % most "
        "of them have doubles outside it. Use it to see which key to coarsen: the one without which the share falls "
        "most. Records alone on two keys already, in the table of subsets, are the ones to care about.",
    )
)
class SampleUniques(Measure):
    """Share of records that are the only one with their keys.

    Such a record is re-identified by whoever knows its keys and knows that it is in the file. The parts count the
    uniques and the records in pairs (who can re-identify each other), ``by_variable`` says how far the share would fall
    without each key, and the table ``subsets`` gives the share of uniques over every set of up to ``size`` keys: a
    record unique on two keys is in far more danger than one unique on eight (:class:`SUDA2` finds those sets for each
    record). The share grows with every key and shrinks with every record, so compare it between files of one size.

    >>> import pyarrow as pa
    >>> people = pa.table({"town": ["A", "A", "B", "B"], "sex": ["f", "m", "f", "f"]})
    >>> found = SampleUniques(variables=("town", "sex")).evaluate(people, people)
    >>> found.value, found.by_variable
    (0.5, {'town': 0.25, 'sex': 0.5})
    """

    size: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "size")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        sets = self._sets(len(keys.names))
        everything = range(len(keys.names))
        others = [tuple(j for j in everything if j != place) for place in everything]
        alone = uniques_on(found, dict.fromkeys([*sets, *others]))
        share = found.share(found.counts == 1)
        return self.measurement(
            share,
            parts={
                "uniques": float(found.sizes[found.counts == 1].sum()),
                "records in pairs": float(found.sizes[found.counts == 2].sum()),
            },
            by_variable={
                name: share - alone[other] / found.records for name, other in zip(keys.names, others, strict=True)
            },
            by_record=found.by_record(found.counts == 1),
            tables={"subsets": _listed(keys.names, {chosen: alone[chosen] / found.records for chosen in sets})},
            notes=keys.notes,
        )

    def _sets(self, keys: int) -> list[Set]:
        """List the sets of up to ``size`` keys."""
        largest = min(self.size, keys)
        number = sum(comb(keys, size) for size in range(1, largest + 1))
        if number > MAX_SETS:
            raise NotApplicable(
                f"{keys} keys have {number:,} sets of up to {largest}, more than the {MAX_SETS:,} it counts; give a "
                "smaller size, or fewer keys"
            )
        return [chosen for size in range(1, largest + 1) for chosen in combinations(range(keys), size)]


def uniques_on(found: KeyClasses, sets: Iterable[Set]) -> dict[Set, int]:
    """Return how many records are alone on each set of keys."""
    if found.complete:
        return alone_on(found.cells, found.sizes, sets)
    alone = {}
    for chosen in sets:
        fewer = found.of_keys(chosen)
        alone[chosen] = int(fewer.sizes[fewer.counts == 1].sum())
    return alone


def _listed(names: tuple[str, ...], shares: dict[Set, float]) -> Table:
    """List the share of uniques over each set of keys, the most telling first."""
    rows = [
        {"keys": ", ".join(names[j] for j in chosen), "size": len(chosen), "uniques": share}
        for chosen, share in shares.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row["uniques"], row["size"])))
