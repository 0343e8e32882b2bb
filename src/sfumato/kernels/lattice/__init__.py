"""One level for each of several keys: which choice of levels loses least, among those that keep records alike enough.

A node of the lattice is a level for each key. Records whose groups agree in every key at those levels are a class;
``Rows`` holds the different rows once, ``Assessor`` says what a node comes to, ``Search`` finds the best of all nodes
without looking at most of them.
"""

from sfumato.kernels.lattice.agreeing import worst
from sfumato.kernels.lattice.assessor import Alike, Assessed, Assessor, Values
from sfumato.kernels.lattice.losses import ClassSize, Discernibility, Loss, ValueLoss
from sfumato.kernels.lattice.rows import Levels, Rows
from sfumato.kernels.lattice.search import Found, Search, every_node

__all__ = [
    "Alike",
    "Assessed",
    "Assessor",
    "ClassSize",
    "Discernibility",
    "Found",
    "Levels",
    "Loss",
    "Rows",
    "Search",
    "ValueLoss",
    "Values",
    "every_node",
    "worst",
]
