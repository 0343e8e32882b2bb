"""Propensity utility side by side with statsmodels and scikit-learn: time, memory and growth.

Run ``python benchmarks/propensity.py``. The peers are no dependency: where they are not installed (``pip install
statsmodels scikit-learn``) their lines are left out. Both get the terms, or the pooled table, ready made; ours includes
everything from the two tables on. scikit-learn's tree is pruned to the same rule (its ``ccp_alpha`` is cp times the
root's impurity); its permutation null is timed on a few shuffles and scaled up, which is said in the output.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from memory import peak_memory
from sfumato import Microdata, PropensityUtility

Floats = NDArray[np.float64]


def tables(n: int, p: int, *, masked: bool, seed: int = 1) -> tuple[Microdata, Microdata]:
    """Skewed, correlated amounts; and the same with noise, or a fresh sample that is a little higher."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)

    def draw() -> Floats:
        drawn: Floats = np.exp(0.5 * (0.6 * rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, p))))
        return drawn

    first = draw()
    second = first * np.exp(0.1 * rng.normal(size=(n, p))) if masked else 1.05 * draw()
    made = [Microdata.from_frame(pa.table({f"v{j}": x[:, j] for j in range(p)})) for x in (first, second)]
    return made[0], made[1]


def clocked(work: Callable[[], float]) -> tuple[float, float, float]:
    """Value, seconds of wall clock and of processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    return value, time.perf_counter() - wall, time.process_time() - cpu


MEASURES = {
    "logistic": lambda: PropensityUtility("logistic I"),
    "modified": lambda: PropensityUtility("modified logistic I"),
    "tree": lambda: PropensityUtility("tree", cp=0.0001),
}


def measure(what: str, n: int, p: int) -> tuple[float, float, float, float]:
    """Value, wall and processor seconds, and peak memory in MB with the two tables, in this process."""
    first, second = tables(n, p, masked=what != "tree")
    if what == "tree":  # so that what is timed is the work, not the loading of the compiled kernel
        small = tables(3_000, p, masked=False)
        PropensityUtility("tree", permutations=0).evaluate(*small)
    found = clocked(lambda: MEASURES[what]().evaluate(first, second, rng=0).value)
    return *found, peak_memory()


def in_fresh_process(what: str, n: int, p: int) -> tuple[float, float, float, float]:
    output = subprocess.run(
        [sys.executable, __file__, "--measure", what, str(n), str(p)], capture_output=True, text=True, check=True
    ).stdout
    value, wall, cpu, memory = map(float, output.split())
    return value, wall, cpu, memory


def terms(first: Microdata, second: Microdata) -> tuple[Floats, Floats]:
    """All terms of first and second order, of standardised values, and which file each record comes from."""
    x = np.vstack([first.numeric(), second.numeric()])
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    pairs = [x[:, i] * x[:, j] for i, j in combinations_with_replacement(range(x.shape[1]), 2)]
    return np.column_stack([x, *pairs]), np.repeat([0.0, 1.0], [len(first), len(second)])


def statsmodels(z: Floats, r: Floats) -> float:
    import statsmodels.api as sm

    fitted = sm.GLM(r, sm.add_constant(z), family=sm.families.Binomial()).fit(tol=1e-12)
    return float(np.mean((fitted.fittedvalues - 0.5) ** 2))


def sklearn_logistic(z: Floats, r: Floats, solver: str, tol: float) -> float:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, solver=solver, max_iter=1000, tol=tol).fit(z, r)
    return float(np.mean((model.predict_proba(z)[:, 1] - 0.5) ** 2))


def sklearn_tree(x: Floats, r: Floats, cp: float) -> float:
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        min_samples_split=20, min_samples_leaf=7, max_depth=30, ccp_alpha=cp * 0.5, random_state=0
    ).fit(x, r)
    return float(np.mean((model.predict_proba(x)[:, 1] - 0.5) ** 2))


def compare_logistic(n: int) -> None:
    print(f"logistic I, {n:,} + {n:,} records x 6 variables, 28 coefficients")
    value, wall, cpu, memory = in_fresh_process("logistic", n, 6)
    print(f"  sfumato                      {value:.9g}  {wall:6.2f} s wall {cpu:6.2f} s cpu {memory:6.0f} MB")
    z, r = terms(*tables(n, 6, masked=True))
    peers: list[tuple[str, str, Callable[[], float]]] = [
        ("statsmodels", "statsmodels GLM", lambda: statsmodels(z, r)),
        ("sklearn", "scikit-learn newton, tol 1e-9", lambda: sklearn_logistic(z, r, "newton-cholesky", 1e-9)),
        ("sklearn", "scikit-learn as it comes", lambda: sklearn_logistic(z, r, "lbfgs", 1e-4)),
    ]
    for package, title, work in peers:
        if find_spec(package) is None:
            print(f"  {title}: not installed")
            continue
        other, wall_other, cpu_other = clocked(work)
        off = other / value - 1
        print(
            f"  {title:28s} {other:.9g}  {wall_other:6.2f} s wall {cpu_other:6.2f} s cpu; off by {off:.1e}; "
            f"ratio {wall_other / wall:.1f} wall {cpu_other / cpu:.1f} cpu"
        )


def compare_tree(n: int, p: int, shuffles: int = 2) -> None:
    print(f"tree, cp = 0.0001, with 50 permutations, {n:,} + {n:,} records x {p} variables")
    value, wall, cpu, memory = in_fresh_process("tree", n, p)
    print(f"  sfumato       {value:.9g}  {wall:6.1f} s wall {cpu:6.1f} s cpu {memory:6.0f} MB")
    if find_spec("sklearn") is None:
        print("  scikit-learn: not installed")
        return
    first, second = tables(n, p, masked=False)
    x = np.vstack([first.numeric(), second.numeric()])
    r = np.repeat([0.0, 1.0], n)
    other, wall_other, cpu_other = clocked(lambda: sklearn_tree(x, r, 0.0001))
    rng = np.random.default_rng(0)
    for _ in range(shuffles):
        _, more_wall, more_cpu = clocked(lambda: sklearn_tree(x, rng.permutation(r), 0.0001))
        wall_other += more_wall * 50 / shuffles
        cpu_other += more_cpu * 50 / shuffles
    print(
        f"  scikit-learn  {other:.9g}  {wall_other:6.1f} s wall {cpu_other:6.1f} s cpu ({shuffles} of 50 shuffles, "
        f"scaled up); ratio {wall_other / wall:.1f} wall {cpu_other / cpu:.1f} cpu"
    )


def growth(what: str, sizes: tuple[int, ...], p: int) -> None:
    print(f"growth as n doubles: {what}, {p} variables")
    before = None
    for n in sizes:
        _, wall, cpu, memory = in_fresh_process(what, n, p)
        times = f"x {cpu / before:.2f}" if before else ""
        print(f"  {n:9,} + {n:9,} {wall:6.2f} s wall {cpu:6.2f} s cpu {memory:6.0f} MB {times}")
        before = cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "N", "P"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(*measure(options.measure[0], int(options.measure[1]), int(options.measure[2])))
        return
    compare_logistic(200_000)
    compare_tree(10_000, 6)
    compare_tree(100_000, 2)
    compare_tree(100_000, 6)
    growth("logistic", (125_000, 250_000, 500_000, 1_000_000), 6)
    growth("tree", (25_000, 50_000, 100_000), 3)
    growth("tree", (10_000, 20_000, 40_000, 80_000), 6)
    growth("modified", (25_000, 50_000, 100_000), 2)


if __name__ == "__main__":
    main()
