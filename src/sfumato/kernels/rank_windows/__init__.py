"""Points inside the window around each record: how many there are, and whether any has moved farther than the own.

How far a point lies from a centre is the sum over the columns of the difference times ``steps[j]``.
"""

from sfumato.kernels import worth_compiling
from sfumato.kernels.rank_windows import plain
from sfumato.kernels.rank_windows.plain import Floats, Integers


def search_windows(
    table: Floats, low: Floats, high: Floats, centre: Floats, own: Floats, steps: Floats
) -> tuple[Integers, Integers, Integers]:
    """Count the rows of ``table`` in each window [low, high], those farther than ``own`` from its centre, and as far.

    Of a large table 1 stands for one farther or more, and the count of those as far may stop short then.
    """
    if not worth_compiling(len(table)):
        return plain.search_windows(table, low, high, centre, own, steps)
    from sfumato.kernels.rank_windows import compiled

    return compiled.search_windows(table, low, high, centre, own, steps)
