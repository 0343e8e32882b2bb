"""The questions of European guidance on anonymised files: each attack beside its control.

The guidance asks of an anonymised file whether a person can be singled out, whether two records about one person can be
linked, and whether a value can be inferred from others. Each measure lets an intruder use the protected table and
counts successes; the control is the same intruder who has true records of other people of the same population instead,
so that what is true of people in general is not held against the file. Members of a household are not other people.
"""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.risk.compared_variables import Notes, compared
from sfumato.table.households import counted
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Kind

Floats = NDArray[np.float64]
GUIDANCE = "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216)"
EXCESS = "attack minus control over 1 minus control, with Wilson (1927) intervals"
MISSING = "two missing values are equal; a missing and a present value are as far apart as can be"
ALL: tuple[Kind, ...] = ("numeric", "ordinal", "nominal", "date")


def wilson(rate: float, attacks: int, level: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of successes.

    >>> low, high = wilson(0.5, 100, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle = rate + z * z / (2 * attacks)
    half = z * np.sqrt(rate * (1 - rate) / attacks + z * z / (4 * attacks * attacks))
    low, high = (middle - half) / (1 + z * z / attacks), (middle + half) / (1 + z * z / attacks)
    return max(min(float(low), rate), 0.0), min(max(float(high), rate), 1.0)  # whatever rounding does at 0 and 1


def excess(attack: float, control: float) -> float:
    """Return how much of what the control leaves the attack gains; 0 where it gains nothing, or nothing is left.

    >>> excess(0.75, 0.5), excess(0.2, 0.5), excess(1.0, 1.0)
    (0.5, 0.0, 0.0)
    """
    return float(np.clip((attack - control) / (1 - control), 0.0, 1.0)) if control < 1 else 0.0


class Question(Measure):
    """What the three share: an attack, its control, and what the one gains over the other."""

    level: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "level")
        if not 0.5 <= self.level < 1:
            raise parameters.refuse(self, f"level must be a share from 0.5 to below 1; got {self.level!r}")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        pair.tables()  # refuses tables in parts: every record is searched for among all
        if counted(pair.original.units) < 2:
            raise NotApplicable(
                "all original records are of one person or household, so that nobody is left as a control"
            )
        names, notes = self.shared(pair)
        columns, more = compared(pair, names, asked=self.variables is not None)
        outcome = self._attacked(pair, columns, rng)
        attack, control = float(outcome.attack.mean()), float(outcome.control)
        low, high = wilson(attack, len(outcome.attack), self.level)
        control_low, control_high = wilson(control, len(pair.original), self.level)
        return self.measurement(
            excess(attack, control),
            parts={
                "attack": attack,
                "attack low": low,
                "attack high": high,
                "control": control,
                "control low": control_low,
                "control high": control_high,
                "low": excess(low, control_high),
                "high": excess(high, control_low),
                "attacks": float(len(outcome.attack)),
                **outcome.parts,
            },
            by_variable=outcome.by_variable,
            by_record=outcome.attack,
            notes=(*notes, *more, *outcome.notes),
        )

    @abstractmethod
    def _attacked(self, pair: Pair, columns: dict[str, Recoding], rng: np.random.Generator) -> "Outcome":
        """Attack every record, with the protected table and with other people's records."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The success of each attack, the rate of success of the controls, and what else is known."""

    attack: Floats
    control: float
    parts: dict[str, float] = field(default_factory=dict)
    by_variable: dict[str, float] = field(default_factory=dict)
    notes: Notes = ()
