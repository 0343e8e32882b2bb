"""Tuning of a chain beside a full grid: recoding, suppression and rank swapping, three parameters, two bounds.

Run: ``python benchmarks/tune_chain.py [households]``. It masks the demo survey at 8 x 4 x 16 = 512 points of a grid and
then, for three seeds, at 60 points that ``tune_jointly`` asks for; each with the draws of its seed.

Measured with 60 households on two busy cores; GlobalDataUtility of the best within both bounds:

    seed   grid of 512       search of 60
    1      0.9062 (121 s)    0.9059 +- 0.0047 (36 s)
    2      0.9047 (97 s)     0.9044 +- 0.0005 (33 s)
    3      0.9039 (93 s)     0.9080 +- 0.0005 (31 s)
"""

import sys
from itertools import product
from time import perf_counter

import numpy as np

import sfumato
from sfumato import Experiment, tune_jointly

AMOUNTS = ("earnings", "income", "wealth")
KEYS = ("region", "sex", "age", "occupation")
BOUNDS = {f"KAnonymity(k=5, variables={KEYS!r})": 0.10, f"RankInterval(variables={AMOUNTS!r})": 0.60}
UTILITY = "GlobalDataUtility"
OVER = {"GlobalRecoding.groups": (2, 9), "LocalSuppression.k": (2, 5), "RankSwapping.p": (0.02, 0.3)}


def chain(groups: int, k: int, p: float) -> sfumato.Method:
    """Return the chain with these parameters; of the keys any two together are shared by k records."""
    recoding = sfumato.GlobalRecoding(groups, rare=0.05, variables=("age", "education", "occupation"))
    suppression = sfumato.LocalSuppression(k, subsets=2, variables=KEYS)
    return recoding + suppression + sfumato.RankSwapping(p, variables=AMOUNTS)


def main() -> None:
    """Print the best point of the grid and of the search, by seed."""
    survey = sfumato.household_survey(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
    from sfumato.catalogue import parse

    measures = [parse(text)[0] for text in (UTILITY, *BOUNDS)]
    points = product(range(2, 10), range(2, 6), np.round(np.linspace(0.02, 0.3, 16), 4).tolist())
    methods = [chain(*point) for point in points]
    for seed in (1, 2, 3):
        start = perf_counter()
        grid = Experiment(survey, methods, measures, seed=seed).run(workers=2)  # type: ignore[arg-type]
        best = grid.choose(utility=UTILITY, at_most=BOUNDS)
        half = perf_counter()
        found = tune_jointly(
            chain(5, 3, 0.1), survey, over=OVER, utility=UTILITY, at_most=BOUNDS, budget=60, replicates=1, seed=seed
        )
        ours = found.row.means[grid.key(UTILITY)]
        theirs = grid.row(best.chosen).means[grid.key(UTILITY)] if best.chosen else float("nan")
        print(
            f"seed {seed}: grid of {len(methods)} {theirs:.4f} in {half - start:.0f} s; search of {found.tables} "
            f"{ours:.4f} ± {found.error:.4f} in {perf_counter() - half:.0f} s, keeps {found.keeps}: {found.values}"
        )


if __name__ == "__main__":
    main()
