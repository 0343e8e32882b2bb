"""k-anonymity: how many records share the keys of each."""

from dataclasses import field
from typing import get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Keys, Pair
from sfumato.pair.keys import MISSING_KEYS
from sfumato.registry import catalogued
from sfumato.risk.household_attack import Unit, alike_households

LEVELS = (2, 3, 5)


@catalogued(
    MeasureAbout(
        title="Records that violate k-anonymity",
        source="Samarati and Sweeney (1998); Sweeney (2002)",
        purpose="risk",
        counts=("smallest class", "classes"),
        beside=("violating 2", "violating 3", "violating 5"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING_KEYS,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        caveat="takes the sample for the population, and says nothing of what a class of k has in common; a blank "
        "agrees with every value, so that blanks alone make a file k-anonymous, although other columns may tell what "
        "was blanked",
        parts_if="records as units",
        formula="value = #{i: f_i < k} / n\n"
        "f_i = records that agree with record i in all keys, itself included; missing agrees with all\n"
        'unit="household": the same of households, f = households of as many members that can be paired so\n'
        "that each pair agrees in all keys",
        reading="0 means that the file is k-anonymous; 3 to 5 are the usual limits. With eight keys of some detail "
        "most records of a survey violate it: 0.9 is nothing unusual before recoding. It counts the file, not the "
        "population, so for a small sample it is far too strict (see IndividualRisk), and it does not look at what "
        "the records of a class have in common.",
    )
)
class KAnonymity(Measure):
    """Share of records whose keys fewer than ``k`` records have: those that violate k-anonymity.

    Records that agree in all keys are one class, and an intruder who knows only the keys cannot tell them apart. A file
    is k-anonymous when the value is 0, that is when the smallest class (``parts``) has k records; the parts also give
    the shares that violate it at 2, 3 and 5, and the table ``smallest classes`` the combinations to recode or suppress
    first. It misleads in two ways: every member of a class may have the same confidential value
    (:class:`LDiversity`), and in a sample of a large population a class of one need not be alone
    (:class:`IndividualRisk`). A missing key agrees with all: of two records, one with a blank in the only key, each has
    the other in its class.

    ``unit="household"`` asks more: each household must be one of k of the same size whose members have, person for
    person, the same keys, because a neighbour knows a family and not one of its members. Size and composition of the
    household are keys then, whether or not the file has a variable for them, and the value is the share of households
    that violate it. A file that lacks the household is judged with the original's, where its records match.

    >>> import pyarrow as pa
    >>> towns = pa.table({"town": ["A", "A", "A", "B", "B"]})
    >>> KAnonymity(3, variables=("town",)).evaluate(towns, towns).value
    0.4
    """

    k: int = 3
    unit: Unit = field(default="record", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k", least=2)
        parameters.one_of(self, "unit", get_args(Unit))
        if self.unit == "household":
            self.known_as(title="Households that violate k-anonymity", parts="memory", parts_if="")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        if self.unit == "household":
            return self._of_households(pair, keys)
        found = keys.classes
        levels = sorted({*LEVELS, self.k})
        return self.measurement(
            found.share(found.counts < self.k),
            parts={
                **{f"violating {level}": found.share(found.counts < level) for level in levels},
                "smallest class": float(found.counts.min()),
                "classes": float(len(found)),
            },
            by_record=found.by_record(found.counts < self.k),
            tables={"smallest classes": keys.rarest()},
            notes=keys.notes,
        )

    def _of_households(self, pair: Pair, keys: Keys) -> Measurement:
        homes, said = pair.homes()
        if homes is None:
            raise NotApplicable("neither table tells who lives together, as far as its records match: name a household")
        unit = homes.units
        codes = keys.half.codes(keys.half.table, keys.names)
        alike = np.rint(1 / alike_households(codes, codes, unit)).astype(np.int64)
        sizes = np.bincount(unit)
        return self.measurement(
            float((alike < self.k).mean()),
            parts={
                **{f"violating {level}": float((alike < level).mean()) for level in sorted({*LEVELS, self.k})},
                "smallest class": float(alike.min()),
                **{f"households of {size}": float((alike[sizes == size] < self.k).mean()) for size in np.unique(sizes)},
            },
            by_record=(alike < self.k)[unit].astype(np.float64),
            notes=(*keys.notes, *said),
        )
