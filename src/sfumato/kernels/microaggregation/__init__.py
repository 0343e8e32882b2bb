"""Groups of records for microaggregation by maximum distance to the average vector (MDAV)."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.microaggregation import plain


def mdav_groups(X: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Group labels of MDAV microaggregation, numbered from 0 in the order in which the groups are made.

    Maximum distance to average vector (Domingo-Ferrer and Torra 2005, doi 10.1007/s10618-005-0007-5, Algorithm
    MDAV-generic): while 3k records remain, the record farthest from their centroid takes its k - 1 nearest, and
    then the record farthest from that one takes its own; a last pair, or a single group, holds the rest.

    Ties, for the farthest as for the nearest, go to the lowest row. Squared distances are summed over the columns
    in order and the centroid is the correctly rounded sum over the count, here and in the compiled kernel, so
    that both decide ties alike.

    Parameters
    ----------
    X : records by variables, finite, standardised by the caller.
    k : least number of records in a group; the caller refuses fewer than k records.
    """
    if not worth_compiling(len(X)):
        return plain.mdav_groups(X, k)
    from sfumato.kernels.microaggregation import compiled

    return compiled.mdav_groups(X, k)
