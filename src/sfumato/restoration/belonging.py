"""Who belongs together in a file, and how many they are: by the number of the household, or without it.

The audit asks the other members of a household for the value that a record lacks. The size of the household they tell
without having it: it can be counted, from the number or from what members share.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.data.households import units
from sfumato.data.microdata import Microdata
from sfumato.data.reassembly import Reassembled, by_size, reassembled, shared_columns, sizes
from sfumato.restoration import wording
from sfumato.restoration.aims import aims
from sfumato.restoration.guess import best_guess
from sfumato.restoration.names import texts

REBUILT = 0.05  # of the persons who live with others: the share from which it is worth a word

Mask = NDArray[np.bool_]


def sizes_to_count(original: Microdata, table: Microdata) -> dict[str, Mask]:
    """Return, by size of the household that is protected, the records whose households can be counted all the same.

    Records are those of the original, in its order. There are none if the table has no number of the household.
    """
    home = original.schema.household
    if home is None or home not in table.columns:
        return {}
    unit = units(original)
    found = {}
    for name in sizes(original):
        there = ~original.missing(name)
        hidden = there.copy()
        if name in table.columns:
            both = there & ~table.missing(name)
            hidden[both] = texts(original, name, both) != texts(table, name, both)
        if hidden.any():
            found[name] = np.isin(unit, unit[hidden]) & ~table.missing(home)
    return {name: rows for name, rows in found.items() if rows.any()}


def put_together(original: Microdata, table: Microdata) -> Reassembled | None:
    """Put households together whose numbers are gone; None where the table has them, or nothing that members share."""
    home = original.schema.household
    return None if home is None or home in table.columns else reassembled(original, table)


def told_of_households(original: Microdata, table: Microdata, near: float, margin: float, *, some: bool) -> list[str]:
    """Say whether households whose numbers are gone can be put together again, and a protected size counted by that.

    A size is told if counting gets right more than ``margin`` above the best guess. ``some``: these are some of the
    records, of which nothing can be said, because the other members of a household may be elsewhere.
    """
    home = original.schema.household
    if home is None or home in table.columns:
        return []
    if some:
        shared = shared_columns(original, table)
        untold = (
            f"whether households can be put together again by {wording.listed(shared, most=6)} was not looked at: of a "
            "table in parts not all members are at hand; --sample with the number of all records has it looked at"
        )
        return [untold] if shared else []
    found = put_together(original, table)
    if found is None:
        return []
    counted = _counted(original, table, found, near, margin)
    if found.share < REBUILT and not counted:
        return []
    return [
        f"households can still be put together by {wording.listed(found.by, most=6)}: those of "
        f"{100 * found.share:.0f} % of the persons who live with others{''.join(counted)}; who knows a family finds it "
        "among them: coarsen the weight with WeightMasking('classes'), or what members share"
    ]


def _counted(original: Microdata, table: Microdata, found: Reassembled, near: float, margin: float) -> list[str]:
    """Say which protected sizes the groups tell, counted; a size in classes, or as a function of it, by its class."""
    members = np.bincount(found.group)[found.group]
    said = []
    for aim in aims(original, table, near):
        value = by_size(original, aim.name)
        if value is None:
            continue
        counted = value[np.minimum(members, len(value) - 1)]
        right = float((counted == original.columns[aim.name])[aim.cells].mean())
        guess = best_guess(aim).share
        if right - guess > margin:
            said.append(
                f"; {aim.name} can be counted so, right in {100 * right:.0f} % of {len(aim.cells):,} protected values, "
                f"where the best guess is in {100 * guess:.0f} %"
            )
    return said
