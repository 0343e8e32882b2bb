"""Groups of records for microaggregation: by distance to the average vector (MDAV), or to each other."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.microaggregation import plain

LEAST_RECORDS = 2_500
"""Records from which the compiled search for the most distant pair pays: numpy takes half a second here."""


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


def maximum_distance_groups(X: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Group labels of maximum-distance microaggregation, numbered from 0 in the order in which the groups are made.

    The fixed-size heuristic of Mateo-Sanz and Domingo-Ferrer (1999) and Domingo-Ferrer and Mateo-Sanz (2002, doi
    10.1109/69.979982): while 2k records remain, each of the two most distant takes its k - 1 nearest, the one with the
    lower row first, and neither takes the other. The rest is a group if it has k records; if it has fewer, each of them
    joins the group whose mean is nearest.

    Of pairs that tie the one with the lowest rows is taken, of near records that tie the lowest row.

    Parameters
    ----------
    X : records by variables, finite, standardised by the caller.
    k : least number of records in a group; the caller refuses fewer than k records.
    """
    if worth_compiling(len(X), LEAST_RECORDS):
        from sfumato.kernels.microaggregation import maximum_distance

        labels = maximum_distance.maximum_distance_groups(X, k)
    else:
        labels = plain.maximum_distance_groups(X, k)
    groups = len(X) // (2 * k) * 2  # of the pairs
    rest = np.flatnonzero(labels == groups)
    if 0 < rest.size < k and groups:
        sizes = np.bincount(labels, minlength=groups)[:groups]
        means = np.stack([np.bincount(labels, column, groups)[:groups] / sizes for column in X.T], axis=1)
        for row in rest:
            labels[row] = ((means - X[row]) ** 2).sum(axis=1).argmin()
    return labels
