"""Singling out: whether the protected table isolates a person whom other people's records would not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.kernels.groups import classes as classes_of
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.attack_and_control import ALL, EXCESS, GUIDANCE, Floats, Outcome, Question
from sfumato.risk.compared_variables import BandedVariable, Codes
from sfumato.table.households import counted
from sfumato.table.recoding import Recoding
from sfumato.table.schema import Kind

Integers = NDArray[np.int64]


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
