"""Replicated uniques: whether someone who is alone in the original is alone in the protected table as well."""

import numpy as np

from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_keys import MISSING_KEYS, ComparedKeys

SOURCE = (
    "Raab, Nowok and Dibben (2024), Practical privacy metrics for synthetic data; synthpop's vignette on disclosure"
)


@catalogued(
    MeasureAbout(
        title="Replicated uniques (RepU)",
        source=SOURCE,
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_KEYS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="a unique record of a synthetic file may replicate one of the original by chance; what it discloses is "
        "for DiSCO and TCAP to say",
        formula="RepU = #{key combinations q: d_q = 1 and s_q = 1} / n\n"
        "d_q, s_q = original and protected records with the keys q;   n = original records",
        reading='Compare it with its part "unique in the original", what a copy would give. For a synthetic file '
        "even a small share worries people who find themselves in it, right or wrong, and programs can remove such "
        "records; for a masked file it is the share of people who stay alone on their keys. A few percent is common "
        "with many keys: fewer keys, fewer uniques.",
    )
)
class RepU(Measure):
    """Share of original records that are unique in the keys and whose keys are unique in the protected table as well.

    With d_q original and s_q protected records of key combination q: the number of q with d_q = s_q = 1, over the
    number of original records. ``variables`` are the keys (by default those of that role); they are compared after the
    original's values were recoded as the protected table's were. Nothing is said of whether the two records are about
    the same person; of a synthetic file they are not, but an intruder may believe it. Parts: the share of originals
    unique in the original itself (what a copy would give; synthpop's UiO), of protected records unique in their table
    (UiS), of originals that are unique and whose keys occur in the protected table at all (UiOiS), of originals whose
    keys do. ``by_record`` has one value per original record.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "e"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "e"]})
    >>> RepU(variables=("region",)).evaluate(original, protected).value  # e is alone in both; n and s are not
    0.25
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = ComparedKeys.of(pair, self.variables)
        ours, theirs = keys.originals, keys.protecteds
        alone = (ours == 1) & (theirs == 1)
        return self.measurement(
            alone.sum() / len(keys.original),
            parts={
                "unique in the original": float((ours == 1).sum() / len(keys.original)),
                "unique in the protected table": float((theirs == 1).sum() / len(keys.protected)),
                "unique in the original, keys found": float(((ours == 1) & (theirs > 0)).sum() / len(keys.original)),
                "keys found": float(ours[theirs > 0].sum() / len(keys.original)),
            },
            by_record=None if pair.in_parts else alone[keys.original].astype(np.float64),
            notes=keys.notes,
        )
