"""A person's first tries beside the choice of a default sweep, at the same bound: ten tries for each of three files.

A steward who knows the field tries what handbooks say: bands of five, ten and twenty years, rare categories merged,
a key or two left out, suppression, local recoding, PRAM. The choice of the tool is to be no worse: for each file the
utility of the choice is printed beside that of the best try which keeps the bound. It ends with exit code 1 if a try is
better by more than two points.

    python benchmarks/tries.py [names of files]
"""

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import sfumato
from sfumato import (
    PRAM,
    GlobalRecoding,
    LocalRecoding,
    LocalSuppression,
    Method,
    Microdata,
    OptimalRecoding,
    Schema,
    Variable,
    VariableRemoval,
)
from sfumato.compare.defaults import default_measures

UTILITY = "GlobalDataUtility(deletion='charged')"
BOUND = {"Reidentification": 0.05}


def survey() -> tuple[Microdata, list[Method]]:
    """The demo survey without its households: region, sex, age, marital status, education and occupation are known."""
    made = sfumato.household_survey(1500)
    keys = ("region", "sex", "age", "marital", "education", "occupation")
    data = _with_keys(made.without(["household", "person"]), keys)
    return data, [
        GlobalRecoding(bins={"age": 10}) + LocalSuppression(3),
        GlobalRecoding(bins={"age": 20}, rare=0.05) + LocalSuppression(3),
        GlobalRecoding(bins={"age": 20}, rare=0.1, groups=3, variables=("education", "occupation"))
        + LocalSuppression(3),
        VariableRemoval(variables=("occupation",)) + GlobalRecoding(bins={"age": 10}) + LocalSuppression(3),
        VariableRemoval(variables=("occupation", "region")) + GlobalRecoding(bins={"age": 5}) + LocalSuppression(3),
        VariableRemoval(variables=("occupation", "education")) + GlobalRecoding(bins={"age": 10}) + LocalSuppression(3),
        GlobalRecoding(groups=3, bins={"age": (30, 60)}, rare=0.15, variables=("education", "occupation", "region"))
        + LocalSuppression(3),
        LocalRecoding(5),
        GlobalRecoding(bins={"age": 10}, rare=0.1, variables=("occupation",)) + PRAM(0.7, invariant=True),
        OptimalRecoding(20, 0.05),
    ]


def income_and_living() -> tuple[Microdata, list[Method]]:
    """EU-SILC of Austria, where it lies beside the project: region, age, sex, activity, citizenship and size."""
    from pathlib import Path

    import pandas as pd

    path = Path(__file__).resolve().parents[2] / "shared" / "data" / "survey_reference" / "eusilc.csv"
    kinds = {"db040": "nominal", "age": "numeric", "rb090": "nominal", "pl030": "nominal", "pb220a": "nominal"}
    names = [*kinds, "hsize", "py010n", "py050n", "eqIncome"]
    table = pd.read_csv(path)[names].iloc[:6000]
    kinds["hsize"] = "ordinal"
    variables = (Variable(n, kinds.get(n, "numeric"), "key" if n in kinds else "confidential") for n in names)  # type: ignore[arg-type]
    data = Microdata.from_frame(table, Schema(tuple(variables)))
    rare = GlobalRecoding(bins={"age": 20}, rare=0.05)
    tries: list[Method] = [
        GlobalRecoding(bins={"age": 10}) + LocalSuppression(3),
        rare + LocalSuppression(3),
        GlobalRecoding(bins={"age": 20}, rare=0.1) + LocalSuppression(3),
        VariableRemoval(variables=("db040",)) + GlobalRecoding(bins={"age": 10}) + LocalSuppression(3),
        VariableRemoval(variables=("db040",)) + GlobalRecoding(bins={"age": 20}, rare=0.1) + LocalSuppression(3),
        VariableRemoval(variables=("db040", "pb220a")) + GlobalRecoding(bins={"age": 5}) + LocalSuppression(3),
        VariableRemoval(variables=("hsize", "pb220a")) + GlobalRecoding(bins={"age": 20}) + LocalSuppression(3),
        LocalRecoding(5),
        GlobalRecoding(bins={"age": 10}, rare=0.1) + PRAM(0.7, invariant=True),
        OptimalRecoding(20, 0.05),
    ]
    swapped = sfumato.RankSwapping(0.05, variables=("py010n", "py050n", "eqIncome"))
    return data, [*tries, *(one + swapped for one in tries)]  # untouched amounts tell of the keys


def made_census() -> tuple[Microdata, list[Method]]:
    """A made register of codes: a town of 120, an occupation of 90, a year of birth, sex and a few answers."""
    rng = np.random.default_rng(11)
    n = 8000
    age = rng.integers(18, 90, n)
    town = (rng.zipf(1.4, n) - 1) % 120
    job = np.where(age > 65, 0, (rng.zipf(1.3, n) - 1) % 90)
    pay = np.round(np.exp(7 + 0.02 * np.minimum(age, 55) + 0.1 * (job % 7) + rng.normal(0, 0.5, n)), 2)
    import pyarrow as pa

    table = pa.table(
        {
            "town": [f"t{code:03d}" for code in town],
            "job": [f"j{code:02d}" for code in job],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "children": np.minimum(rng.poisson(0.9, n), 6),
            "pay": pay,
            "hours": np.where(job == 0, 0, rng.integers(10, 45, n)),
            "health": rng.choice(["good", "fair", "bad"], n, p=[0.6, 0.3, 0.1]),
        }
    )
    keys = {"town": "nominal", "job": "nominal", "age": "numeric", "sex": "nominal", "children": "ordinal"}
    others = {"pay": "numeric", "hours": "numeric", "health": "nominal"}
    schema = Schema(
        (
            *(Variable(name, kind, "key") for name, kind in keys.items()),  # type: ignore[arg-type]
            *(Variable(name, kind, "confidential") for name, kind in others.items()),  # type: ignore[arg-type]
        )
    )
    return Microdata.from_frame(table, schema), [
        GlobalRecoding(bins={"age": 10}, rare=0.05) + LocalSuppression(3),
        GlobalRecoding(bins={"age": 10}, rare=0.1) + LocalSuppression(3),
        GlobalRecoding(bins={"age": 20}, rare=0.05) + LocalSuppression(3),
        GlobalRecoding(bins={"age": 20}, rare=0.02) + LocalSuppression(5),
        VariableRemoval(variables=("town",)) + GlobalRecoding(bins={"age": 10}, rare=0.05) + LocalSuppression(3),
        VariableRemoval(variables=("job",)) + GlobalRecoding(bins={"age": 10}, rare=0.05) + LocalSuppression(3),
        VariableRemoval(variables=("town", "job")) + GlobalRecoding(bins={"age": 5}) + LocalSuppression(3),
        LocalRecoding(5),
        GlobalRecoding(bins={"age": 10}, rare=0.05) + PRAM(0.6, invariant=True),
        OptimalRecoding(20, 0.05),
    ]


FILES: dict[str, Callable[[], tuple[Microdata, list[Method]]]] = {
    "survey": survey,
    "income": income_and_living,
    "register": made_census,
}


def _with_keys(data: Microdata, keys: tuple[str, ...]) -> Microdata:
    variables = (
        replace(v, role="key" if v.name in keys else "confidential" if v.role == "key" else v.role) for v in data.schema
    )
    return replace(data, schema=replace(data.schema, variables=tuple(variables), scenarios=(), household=None, id=None))


def compared(data: Microdata, tries: list[Method]) -> tuple[float, str, float, str]:
    """Return the utility of the choice and what it is, and the same of the best try that keeps the bound."""
    measures = [one.measure for one in default_measures(data)]
    measures = [m for m in measures if repr(m) in (UTILITY, "Reidentification()")]
    composed = [one.method for one in sfumato.compose(data, measures, BOUND)]
    best = []
    for methods in (composed, tries):
        results = sfumato.Experiment(data, methods, measures, seed=1).run()
        kept = [
            (row.means[UTILITY], row.candidate)
            for row in results.rows
            if UTILITY in row.means and row.means["Reidentification()"] <= BOUND["Reidentification"]
        ]
        best.append(max(kept, default=(0.0, "none keeps the bound")))
    (mine, chosen), (theirs, tried) = best
    return mine, chosen, theirs, tried


def main() -> None:
    beaten = False
    for name in sys.argv[1:] or FILES:
        data, tries = FILES[name]()
        mine, chosen, theirs, tried = compared(data, tries)
        print(f"{name}: the choice {100 * mine:.1f}, the best of {len(tries)} tries {100 * theirs:.1f}")
        print(f"  choice: {chosen}\n  try:    {tried}", flush=True)
        beaten |= theirs > mine + 0.02
    sys.exit(int(beaten))


if __name__ == "__main__":
    main()
