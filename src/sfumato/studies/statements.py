"""A sentence of a paper, tested row by row: in how many of our rows it holds, beside how many of the printed ones."""

from collections.abc import Mapping

from sfumato.compare.figures import listed
from sfumato.studies.study import Finding


def judged(statement: str, held: Mapping[str, bool], printed: tuple[int, int], of: str = "rows") -> Finding:
    """Judge a statement by its rows: it holds if in as large a share of ours as of the printed ones.

    ``printed`` counts the printed rows in which it holds, and all printed rows that it speaks of.

    >>> judged("A is below B", {"x": True, "y": False}, (7, 8)).detail
    'in 1 of 2 rows of ours, in 7 of 8 printed; not in y'
    """
    failing = tuple(name for name, holds in held.items() if not holds)
    count = len(held) - len(failing)
    detail = f"in {count} of {len(held)} {of} of ours, in {printed[0]} of {printed[1]} printed"
    if failing:
        detail += f"; not in {listed(failing)}"
    return Finding(statement, count * printed[1] >= printed[0] * len(held), detail)
