"""Modified logistic models: clusters of the pooled records, and a logistic model inside each."""

import numpy as np
from numpy.typing import NDArray

from sfumato.utility.propensity import logistic
from sfumato.utility.propensity.pooled import Floats, Pooled, standardised
from sfumato.utility.propensity.terms import Degree


def fit(
    pooled: Pooled, degree: Degree, groups: int, least: int = 1
) -> tuple[logistic.Fit, dict[str, float], tuple[str, ...]]:
    """Fit a logistic model in each of ``groups`` clusters of the pooled records.

    A cluster with records of one file only gives them the share of that file, 1 or 0; one of fewer than ``least``
    records its share of protected ones; one whose records the terms separate the limits of the likelihood, 1 and 0.
    Parts tell what the clusters' shares alone explain (the cluster
    utility) and what the models inside them add.
    """
    labels = clusters(pooled, groups)
    order = np.argsort(labels, kind="stable")
    scores = np.empty(len(pooled))
    shares = np.empty(len(pooled))
    coefficients, one_file, small, separable = 0, 0, 0, 0
    losses = dict.fromkeys(pooled.names, 0.0)
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    for rows in members:
        part = pooled.take(rows)
        shares[rows] = np.average(part.protected, weights=part.weights)
        if part.protected.all() or not part.protected.any():
            scores[rows] = shares[rows]
            coefficients += 1
            one_file += 1
            continue
        if len(rows) < least:
            scores[rows] = shares[rows]
            coefficients += 1
            small += 1
            continue
        found = logistic.fit(part, degree)
        scores[rows] = found.scores
        coefficients += found.coefficients
        separable += found.separated > 0
        for name, loss in found.by_variable.items():
            losses[name] += loss
    between = float(np.average((shares - pooled.share) ** 2, weights=pooled.weights))
    whole = float(np.average((scores - pooled.share) ** 2, weights=pooled.weights))
    parts = {"groups": float(len(members)), "between groups": between, "within groups": whole - between}
    notes = []
    if one_file:
        notes.append(f"{one_file} of {len(members)} groups hold records of one file only: propensity 0 or 1")
    if small:
        notes.append(f"{small} of {len(members)} groups have fewer than {least} records: propensity is their share")
    if separable:
        notes.append(f"in {separable} of {len(members)} groups the model gives records propensity 0 or 1")
    return logistic.Fit(scores, coefficients, losses, (), 0), parts, tuple(notes)


def clusters(pooled: Pooled, groups: int) -> NDArray[np.intp]:
    """Return the cluster of each record: average linkage on squared distances, as in the cluster utility.

    Numbers are standardised over the pooled records, and so are marks of missing values; two different categories of a
    nominal variable are at squared distance 2, as are two numbers on average. A record of weight 3 counts as three.
    Equal records fall in one cluster, so there may be fewer than asked for.
    """
    from sfumato.kernels.average_linkage import partition
    from sfumato.kernels.boxes import distinct

    points, place, _ = distinct(_coordinates(pooled))
    masses = np.bincount(place, pooled.weights).astype(np.float64)
    labels = partition(points, masses, min(groups, len(points)))
    return np.asarray(labels[place], dtype=np.intp)


def _coordinates(pooled: Pooled) -> Floats:
    axes = [standardised(number.values, pooled.weights)[0] for number in pooled.numbers]
    for category in pooled.categories:
        axes += [(category.codes == level).astype(np.float64) for level in range(category.count)]
    return np.column_stack(axes)
