"""The questions of European guidance on anonymised files: each attack beside its control.

The guidance asks of an anonymised file whether a person can be singled out, whether two records about one person can be
linked, and whether a value can be inferred from others. Each measure lets an intruder use the protected table and
counts successes; the control is the same intruder who has true records of other people of the same population instead,
so that what is true of people in general is not held against the file. Members of a household are not other people.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes as classes_of
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import BandedVariable, Notes, compared
from sfumato.risk.nearest_links import Bridge, inferred, inferred_by_others, linked, linked_by_others
from sfumato.table.households import counted
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Kind, Schema

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
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


@catalogued(
    MeasureAbout(
        title="Singling out",
        source=f"{GUIDANCE}; {EXCESS}",
        purpose="risk",
        counts=("attacks",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="a missing value is a value like any other",
        kinds=ALL,
        paired=False,
        random=True,
        records="protected",
        caveat="an isolated record is not yet an identified person; and an intruder may find better descriptions",
        formula="value = max(0, (A - C) / (1 - C))\n"
        "A = share of protected records whose isolating description fits just one original, over `orders`\n"
        "C = the same with a random part of the originals as the file and the rest as the people",
        reading="0: the file isolates nobody whom any other sample would not isolate by chance; 1: every description "
        'finds its person. Read the interval from "low" to "high": if it holds 0, nothing is shown. A alone means '
        "little, since chance alone isolates up to 37 %. Masked files of continuous variables are high, synthetic "
        "ones should be near 0.",
    )
)
class SinglingOut(Question):
    """How much better the protected table lets one person be isolated than other people's records would.

    From each protected record the intruder writes a description: its category, or the class of its number (so many
    quantile ``classes`` of the file he has), in one variable after another, until no other record of the file fits. He
    succeeds if exactly one original fits; a record that no description isolates is a failure. Variables come in
    ``orders`` random orders, over which a record's success is averaged. By chance alone a description that fits one
    person in n isolates someone in up to 37 percent of all attempts (1/e), so the control matters: the same intruder
    with a random part of the original against the rest, in size to each other as the protected table to the original,
    in ``orders`` random divisions. Nobody is in both, so his successes are chance. Of a small sample of true records
    the figure says little: what is alone among few need not be so among all, and the descriptions go no further.

    The value is (attack - control) / (1 - control), 0 where negative: a copy of distinct records comes near 1, fresh
    draws near 0. Parts hold both rates and their Wilson intervals at ``level``; low and high, the value at the ends of
    both intervals that are least and most alarming, hence wider than the level; the attacks; and isolated, the share of
    protected records that a description isolates in their own file. ``by_record`` has one value per protected record.
    """

    classes: int = 10
    orders: int = 10
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "classes", least=2)
        parameters.whole(self, "orders")

    def _attacked(self, pair: Pair, columns: dict[str, Recoding], rng: np.random.Generator) -> Outcome:
        seen = [columns[name] for name in sorted(columns)]  # so that the order of the variables changes no draw
        kinds, ours = [column.kind for column in seen], [column.original for column in seen]
        orders = [rng.permutation(len(seen)) for _ in range(self.orders)]
        file, people = _described(kinds, [column.protected for column in seen], ours, self.classes)
        times = _repeated([column.protected for column in seen])
        attacks = [_isolated(file, people, order, times) for order in orders]
        # the records are drawn by their place in an order of their own, so that that in the table changes no draw
        unit = _ordered_units(people, pair.original.units)
        number, ratio = counted(unit), len(people) / (len(file) // times)
        part = min(max(round(number / (1 + ratio)), 1), number - 1)
        controls = []
        for order in orders:
            place = rng.permutation(number)
            for drawn in (place < part, place >= number - part):  # of equal sizes, one half and the other
                one, other = ([column[side[unit]] for column in ours] for side in (drawn, ~drawn))
                controls.append(_isolated(*_described(kinds, one, other, self.classes), order)[1])
        return Outcome(
            attack=np.mean([found for _, found in attacks], axis=0),
            control=float(np.concatenate(controls).mean()),
            parts={"isolated": float(np.mean([alone for alone, _ in attacks]))},
        )


def _ordered_units(people: Codes, together: Integers) -> Integers:
    """Number the units in the order of what their records hold, not of where they stand in the table."""
    order = np.lexsort(people.T)
    first = np.unique(together[order], return_index=True)[1]  # of each unit, the first of its records in that order
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[together]


def _described(
    kinds: list[Kind], file: list[NDArray[Any]], people: list[NDArray[Any]], bands: int
) -> tuple[Codes, Codes]:
    """Return both tables as codes, one column per variable, numbers in quantile bands of the first."""
    columns = [BandedVariable.of(*three, bands) for three in zip(kinds, file, people, strict=True)]
    return np.column_stack([each.original for each in columns]), np.column_stack([each.protected for each in columns])


def _repeated(columns: list[NDArray[Any]]) -> int:
    """Return how many times every record of a table is there at least: 1, unless it was put in several times over."""
    numbered = np.column_stack([np.unique(column, return_inverse=True)[1] for column in columns])
    return int(classes_of(numbered)[1].min())


def _isolated(file: Codes, people: Codes, order: NDArray[np.intp], times: int = 1) -> tuple[NDArray[np.bool_], Floats]:
    """Tell which records (or ``times`` equal ones) this order of variables isolates, and if one person fits then."""
    alone, found = np.zeros(len(file), dtype=bool), np.zeros(len(file))
    # the records that no description isolates yet, the people who still fit one of these, and who has which description
    left, fitting = np.arange(len(file)), np.arange(len(people))
    label, labels = np.zeros(len(file) + len(people), dtype=np.int64), 1
    for variable in order:
        values = np.concatenate([file[left, variable], people[fitting, variable]]) + 1
        width = int(values.max()) + 1
        label, labels = _renumbered(label * width + values, labels * width)
        mine, theirs = label[: len(left)], label[len(left) :]
        records, persons = (np.bincount(side, minlength=labels) for side in (mine, theirs))
        few = records <= times
        fresh = few[mine]
        alone[left[fresh]], found[left[fresh]] = True, persons[mine[fresh]] == 1
        left, fitting = left[~fresh], fitting[~few[theirs]]
        if not left.size:
            break
        label, labels = (np.cumsum(~few) - 1)[label[~few[label]]], int(np.count_nonzero(~few))
    return alone, found


def _renumbered(label: Integers, labels: int) -> tuple[Integers, int]:
    """Return labels from 0 and how many there may be; those that occur alone if most of them do not."""
    if labels <= 8 * len(label):
        return label, labels
    found, sizes = classes_of(label[:, None])
    return found, len(sizes)


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


@catalogued(
    MeasureAbout(
        title="Inference",
        source=f"{GUIDANCE}; {EXCESS}",
        purpose="risk",
        counts=("attacks",),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=f"{MISSING}; a missing value cannot be inferred: such an attack fails",
        kinds=ALL,
        paired=False,
        caveat="what holds of people in general is in the control, and may still be more than they want known",
        formula="value = max(0, (A - C) / (1 - C)) of the target for which it is greatest\n"
        "A = mean chance that the protected record nearest to i in the known variables shows its target\n"
        "    (the same category, or quantile class of a number)\n"
        "C = the same with the nearest other original, of another household",
        reading="0: the file tells of a person what statistics of other people tell as well; that part is no "
        "disclosure in the sense of the guidance. 0.1: it tells right of one in ten of those for whom the others' "
        'records fail. Of many targets the greatest is partly luck: read "low". A high control means that the target '
        "can be predicted by anyone.",
    )
)
class Inference(Question):
    """How much better the protected table lets a value be inferred from others than other people's records would.

    The intruder knows a person's keys (every other variable where the schema names no key), finds the protected record
    nearest in them, and takes its value of the target for the person's; where several are as near, one is drawn, and
    what counts is the chance that the value is right: the same category, or the same of so many quantile ``classes``
    of the original. ``targets`` are by default the confidential variables, or each variable in turn where the schema
    names none. Distances are of Gower's kind, as in :class:`NearestRecord`.

    The control is the same intruder with the nearest other original: what can be inferred about somebody from true
    records of everyone else. The value is (attack - control) / (1 - control), 0 where negative, of the target for which
    it is greatest (``by_variable`` has them all; the greatest of several is also the luckiest: see low). Parts hold
    both rates and their Wilson intervals at ``level``; low and high, the value at the ends of both intervals that are
    least and most alarming, hence wider than the level; the attacks, one per original record, as in ``by_record``; and
    the most frequent value, what a guess would earn.
    """

    targets: tuple[str, ...] | None = None
    classes: int = 10
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "targets")
        parameters.whole(self, "classes", least=2)

    def _attacked(self, pair: Pair, columns: dict[str, Recoding], rng: np.random.Generator) -> Outcome:
        outcomes, gains = {}, {}
        for target, known in self._attacks(pair.original.schema, tuple(columns)).items():
            values = BandedVariable.between(pair, target, self.classes)
            bridge = Bridge.between(pair, known)
            attack = inferred(bridge, values.original, values.protected)
            control = float(inferred_by_others(bridge, values.original).mean())
            present = values.original[values.original >= 0]
            often = float(np.bincount(present).max() / len(attack)) if present.size else 0.0
            outcomes[target] = Outcome(
                attack=attack,
                control=control,
                parts={"most frequent value": often},
                notes=(f"{target} is inferred from {', '.join(known)}",),
            )
            gains[target] = excess(float(attack.mean()), control)
        worst = max(gains, key=lambda name: gains[name])
        return replace(outcomes[worst], by_variable=gains)

    def _attacks(self, schema: Schema, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """Name the targets, and what is known of each person whose target is inferred."""
        roles = {name: schema[name].role for name in names}
        targets = self.targets
        if targets is None:
            targets = tuple(name for name in names if roles[name] == "confidential") or names
        strange = [name for name in targets if name not in names]
        if strange:
            raise NotApplicable(
                f"targets names {', '.join(strange)}, not among the variables that both tables have "
                f"({', '.join(names)})"
            )
        keys = tuple(name for name in names if roles[name] == "key")
        attacks = {}
        for target in targets:
            known = tuple(name for name in keys if name != target) or tuple(name for name in names if name != target)
            if not known:
                raise NotApplicable("two variables are needed at least, one to know and one to infer")
            attacks[target] = known
        return attacks
