"""Sample uniques: records that are alone with their keys, and which keys make them so."""

from itertools import combinations
from math import comb

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure, Measurement, Table
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import class_sums, classes
from sfumato.registry import catalogued
from sfumato.risk.classes import MISSING_KEYS, KeyClasses, key_classes

MOST_SETS = 10_000  # sets of keys to count


@catalogued(
    MeasureAbout(
        title="Sample uniques",
        source="Skinner, Marsh, Openshaw and Wymer (1994); Hundepool et al., Statistical Disclosure Control (2012)",
        purpose="risk",
        counts=("uniques", "records in pairs"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal"),
        missing=MISSING_KEYS,
        paired=False,
        keys=True,
        records="protected",
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

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        found = key_classes(self, original, protected)
        unique = found.counts == 1
        share = float(unique.mean())
        everything = range(len(found.names))
        without = {
            name: share - _share(found, tuple(j for j in everything if j != place))
            for place, name in enumerate(found.names)
        }
        return self.measurement(
            share,
            parts={"uniques": float(unique.sum()), "records in pairs": float((found.counts == 2).sum())},
            by_variable=without,
            by_record=unique.astype(np.float64),
            tables={"subsets": self._subsets(found)},
            notes=found.notes,
        )

    def _subsets(self, found: KeyClasses) -> Table:
        """Give the share of uniques over every set of up to ``size`` keys, the most telling first."""
        keys, largest = len(found.names), min(self.size, len(found.names))
        number = sum(comb(keys, size) for size in range(1, largest + 1))
        if number > MOST_SETS:
            raise NotApplicable(
                f"SampleUniques: {keys} keys have {number:,} sets of up to {largest}, more than the {MOST_SETS:,} it "
                "counts; give a smaller size, or fewer keys"
            )
        sets = [chosen for size in range(1, largest + 1) for chosen in combinations(range(keys), size)]
        rows = [
            {"keys": ", ".join(found.names[j] for j in chosen), "size": len(chosen), "uniques": _share(found, chosen)}
            for chosen in sets
        ]
        return tuple(sorted(rows, key=lambda row: (-row["uniques"], row["size"])))


def _share(found: KeyClasses, columns: tuple[int, ...]) -> float:
    """Return the share of records that are unique on these keys."""
    cells = found.cells.T[list(columns)].T
    if found.complete:
        class_of, sizes = classes(cells)
        counts = class_sums(class_of, found.sizes, len(sizes))
    else:
        counts = matching_sums(cells, cells, found.sizes)
    return float((counts == 1).sum() / len(found.codes))  # what counts one is one record
