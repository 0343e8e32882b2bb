"""Who is nearer than the own record, in Euclidean distance."""

from sfumato.kernels import worth_compiling
from sfumato.kernels.euclidean_distance import plain
from sfumato.kernels.euclidean_distance.plain import Counts, Floats


def nearer_and_tied(
    points: Floats, copies: Counts, here: Floats, short: Floats, reach: Floats
) -> tuple[Counts, Counts]:
    """Count, for each row of ``here``, the points nearer than ``short`` (2 for more), and those up to ``reach``.

    ``points`` are distinct, and ``copies`` says how often each occurs.
    """
    if not worth_compiling(int(copies.sum())):
        return plain.nearer_and_tied(points, copies, here, short, reach)
    from sfumato.kernels.euclidean_distance import compiled

    return compiled.nearer_and_tied(points, copies, here, short, reach)
