"""What section 4 of Kocar asks for: how scores of one, two and more variables go together; and other weights (3.1)."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from sfumato.compare.figures import listed
from sfumato.data.microdata import Microdata
from sfumato.studies.study import Finding
from sfumato.utility import GlobalDataUtility

MODELS = ("earnings ~ age + hours", "income ~ age + household_size + hours", "tax ~ income + household_size")
MODELLED = ("age", "household_size", "hours", "earnings", "income", "tax")
KINDS = ("univariate", "bivariate", "multivariate")
WEIGHTS = (0.0, 0.25, 0.75, 1.0)  # of the univariate half, beside the paper's 1/2
Scores = Mapping[str, Mapping[str, float]]  # by file, of each kind


def scored(original: Microdata, protected: list[Microdata]) -> dict[str, float]:
    """Score the variables of the models alone, in pairs and in the models: the means over the files given."""
    measure = GlobalDataUtility(variables=MODELLED, models=MODELS)
    found = [measure.evaluate(original, table).parts for table in protected]
    return {kind: float(np.mean([parts[kind] for parts in found])) for kind in KINDS}


def together(scores: Scores) -> Finding:
    """Correlate the three scores over the files, for the same variables."""
    columns = {kind: [of[kind] for of in scores.values()] for kind in KINDS}
    told = [
        f"{one} and {other} {_rank_correlation(columns[one], columns[other]):.2f}"
        for one, other in combinations(KINDS, 2)
    ]
    apart = max(scores, key=lambda name: abs(scores[name]["bivariate"] - scores[name]["multivariate"]))
    return Finding(
        f"Scores of one, two and more variables together (section 4 asks for it), {len(MODELS)} models of "
        f"{len(MODELLED)} variables, without a verdict",
        None,
        f"rank correlations over {len(scores)} protections: {', '.join(told)}; farthest apart in {apart}: in pairs "
        f"{scores[apart]['bivariate']:.2f}, in models {scores[apart]['multivariate']:.2f}",
    )


def other_weights(halves: Mapping[str, tuple[float, float]]) -> Finding:
    """Order the files by other weights of the univariate half than 1/2."""

    def order(weight: float) -> list[float]:
        return [weight * alone + (1 - weight) * pairs for alone, pairs in halves.values()]

    usual = _places(order(0.5))
    told = []
    for weight in WEIGHTS:
        moved = np.abs(_places(order(weight)) - usual)
        rho = _rank_correlation(order(0.5), order(weight))
        told.append(f"{weight:g}: rank correlation {rho:.2f}, {int((moved >= 3).sum())} move by three places or more")
    first = {weight: list(halves)[int(np.argmax(order(weight)))] for weight in (0.0, 0.5, 1.0)}
    best = tuple(f"{name} ({weight:g})" for weight, name in first.items())
    return Finding(
        "Other weights of the univariate half than 1/2 (3.1), without a verdict",
        None,
        f"order of {len(halves)} protections with {'; '.join(told)}; the best: {listed(best, 3)}",
    )


def _places(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    from scipy.stats import rankdata

    return np.asarray(rankdata([-value for value in values]))


def _rank_correlation(one: list[float], other: list[float]) -> float:
    """Return Spearman's coefficient; NaN where one of them is constant."""
    a, b = _places(one), _places(other)
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")
