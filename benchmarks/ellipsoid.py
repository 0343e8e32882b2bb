"""Ellipsoid overlap side by side with the draws it replaces: time, accuracy, growth with the coefficients.

Run ``python benchmarks/ellipsoid.py``. Both get the same two posteriors (centres, scale matrices, degrees of freedom)
and give both probabilities of the overlap; processor time, the median over repetitions taken in turns, each of one
round of draws and of twenty integrals in a row, as a list of models has them. The error of the draws is their root mean
squared distance from the computed value, that of the integral its own upper estimate.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from sfumato.kernels.quadratic_form import Probability
from sfumato.utility.overlap import Posterior, computed, drawn

Both = tuple[Probability, Probability]
LEVEL = 0.95


def posteriors(p: int, seed: int, df: float) -> tuple[Posterior, Posterior]:
    """Two posteriors about as far apart as noise of a sixth of the variance puts them."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(p, p)) + np.eye(p)
    scale = loads @ loads.T
    root = np.linalg.cholesky(scale)
    change = root @ np.diag(rng.uniform(0.9, 1.4, p)) @ root.T
    return Posterior.of(np.zeros(p), scale, df), Posterior.of(root @ rng.normal(size=p) / np.sqrt(p), change, df)


def by_integral(one: Posterior, two: Posterior) -> Both:
    return computed(one, LEVEL, two), computed(two, LEVEL, one)


def by_draws(one: Posterior, two: Posterior, draws: int, rng: np.random.Generator) -> Both:
    return drawn(one, LEVEL, two, draws, rng), drawn(two, LEVEL, one, draws, rng)


def seconds(run: Callable[[], Both], times: int = 1) -> tuple[float, float]:
    """Processor seconds of one call and the overlap."""
    start = time.process_time()
    for _ in range(times):
        first, second = run()
    return (time.process_time() - start) / times, (first.value + second.value) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--df", type=float, default=9_993.0)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    by_integral(*posteriors(2, 0, 10.0))  # loads scipy
    print(f"both probabilities, {options.draws:,} draws each beside the integral, df {options.df:g}")
    for p in (2, 3, 6, 10, 20, 30):
        one, two = posteriors(p, p, options.df)
        mine, theirs, values = [], [], []
        for _ in range(options.repetitions):
            took, exact = seconds(lambda one=one, two=two: by_integral(one, two), 20)  # type: ignore[misc]
            mine.append(took)
            took, value = seconds(lambda one=one, two=two: by_draws(one, two, options.draws, rng))  # type: ignore[misc]
            theirs.append(took)
            values.append(value - exact)
        own_error = sum(found.error for found in by_integral(one, two)) / 2
        print(
            f"  p = {p:2}: overlap {exact:.4f}; integral {1e3 * np.median(mine):6.2f} ms, error below {own_error:.0e}; "
            f"draws {1e3 * np.median(theirs):6.1f} ms, error {np.sqrt(np.mean(np.square(values))):.0e}; "
            f"draws take {np.median(theirs) / np.median(mine):.0f} times as long"
        )


if __name__ == "__main__":
    main()
