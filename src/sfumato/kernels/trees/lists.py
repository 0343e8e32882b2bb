"""What growing a tree works on: the records in the order of each predictor, and what a split of a node tells."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]
Criterion = Literal["values", "classes", "shares"]

VALUES, CLASSES, SHARES = 0, 1, 2
"""The criteria of a split, as machine code knows them; ``trees.Aim`` tells what they are."""
BETTER = 1 + 1e-9  # of shares, a split must gain this much more than one found before: rounding does not choose
ROUNDS = 10  # of looking for a better order of the categories; two or three are the rule


class Lists(NamedTuple):
    """The records once in the order of each ordered predictor, with the rank of its value and the target of each.

    A node is the same stretch of every list, and splitting it parts the stretch of each list without changing the order
    on either side, so that sorting is done once. Ranks and targets go with the records: to look them up would cost
    more. Categories are counted along the list ``members``: one of its own behind the ``ordered`` ones, or one of them.
    """

    rows: Codes
    ranks: Codes
    targets: Floats
    ordered: int
    members: int


class Room(NamedTuple):
    """Where splits put what they need for a moment: the side of each record, records held back, counts of classes.

    There is room for one record more than there are; the counts are zero.
    """

    side: Flags
    rows: Codes
    ranks: Codes
    targets: Floats
    whole: Counts
    left: Counts


class Split(NamedTuple):
    """The best split of a node: by which column (ordered ones first, then nominal ones; -1 for none), and its gain.

    ``low`` and ``high`` are the highest rank on the left and the lowest on the right, ``right`` the side of each
    category. ``first`` records go first, with this weight and amount.
    """

    column: int
    gain: float
    low: int
    high: int
    right: Flags
    first: int
    weight: float
    amount: float


class Grown(NamedTuple):
    """A tree, with one entry per node and parents before children.

    ``column`` is the column split by (-1 for a leaf), ``bounds`` the highest rank on its left and the lowest on its
    right, ``children`` the left and the right one, ``stretch`` start and end of its records among ``members``,
    ``begins`` where the flags of a split by categories start in ``flags``: one per category, 1 for right.
    """

    column: Codes
    bounds: Codes
    children: Codes
    stretch: Codes
    members: Codes
    begins: Counts
    flags: Flags
