"""Two checkouts of Sfumato beside each other: whether their figures agree, and what each costs.

    python benchmarks/beside.py OTHER_CHECKOUT [--only figures|keys|commands] [--census FILE]

Figures: every measure of the catalogue by its defaults on the demo survey, a mixed file with missing values and (where
given) the Census file, each protected in several ways; whatever a measurement holds is compared, numbers to 1e-12
relative, and every difference is printed. Costs: processor seconds of the seven measures over keys on 100,000 records,
of ``sfumato demo``, of a sweep with its report and of ``sfumato compare`` from a cold process, each in a process of its
own with empty caches for Python and a warm one for numba (the second of two runs).
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
KEY_MEASURES = ("KAnonymity", "LDiversity", "TCloseness", "SampleUniques", "IndividualRisk", "SUDA2", "LogLinearRisk")
TOLERANCE = 1e-12
ROUNDING = 1e-15  # what is left of a zero


# what one checkout finds, run in a process of its own


def tables(census: str | None) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Every original with its protected tables."""
    import numpy as np

    import sfumato

    def protected(data: Any, **methods: Any) -> dict[str, Any]:
        return {name: method.protect(data, rng=7) for name, method in methods.items()}

    survey = sfumato.household_survey(households=200)
    found = {
        "survey": (
            survey,
            protected(
                survey,
                swapped=sfumato.RankSwapping(0.1),
                recoded=sfumato.GlobalRecoding(groups=5, rare=0.05) + sfumato.LocalSuppression(3),
                randomised=sfumato.PRAM(0.8) + sfumato.Noise(0.1),
                synthetic=sfumato.CARTSynthesis(5),
            ),
        )
    }
    rng = np.random.default_rng(5)
    holes = survey.replace(
        {
            name: np.where(
                rng.random(len(survey)) < 0.06,
                np.nan if survey.schema[name].kind == "numeric" else -1,
                survey.columns[name],
            ).astype(survey.columns[name].dtype)
            for name in survey.schema.analysed()
        }
    )
    found["holes"] = (
        holes,
        protected(
            holes,
            averaged=sfumato.MDAV(3),
            suppressed=sfumato.LocalSuppression(2),
            synthetic=sfumato.CARTSynthesis(5),
        ),
    )
    if census:
        data = sfumato.read(census)
        found["census"] = (
            data,
            protected(data, swapped=sfumato.RankSwapping(0.05), noisy=sfumato.Noise(0.1), averaged=sfumato.MDAV(5)),
        )
    return found


def plain(thing: Any) -> Any:
    """What JSON can hold, numbers to their last digit."""
    import numpy as np

    if isinstance(thing, np.ndarray):
        return [plain(entry) for entry in thing.tolist()]
    if isinstance(thing, dict) or hasattr(thing, "items"):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain(entry) for entry in thing]
    if isinstance(thing, np.generic):
        return plain(thing.item())
    return thing


def figures(census: str | None) -> dict[str, Any]:
    """Everything that every measure says of every table."""
    import sfumato
    from sfumato import catalogue

    found: dict[str, Any] = {}
    for file, (original, candidates) in tables(census).items():
        for way, protected in candidates.items():
            for name, cls in catalogue.measures().items():
                label = f"{file}/{way}/{name}"
                try:
                    m = cls().evaluate(original, protected, rng=11)
                except sfumato.SfumatoError as error:
                    found[label] = {"refused": str(error)}
                    continue
                said = ("value", "parts", "by_variable", "by_pair", "by_record", "tables", "statement", "notes")
                found[label] = {field: plain(getattr(m, field)) for field in said}
    return found


def keys() -> dict[str, float]:
    """Processor seconds of the seven measures over keys on 100,000 records, the kernels loaded: the best of three."""
    import time

    sys.path.insert(0, str(HERE / "benchmarks"))
    from key_risk import MEASURES, evaluated, survey

    evaluated(survey(6_000), MEASURES)
    data, took = survey(100_000), []
    for _ in range(3):
        start = time.process_time()
        evaluated(data, MEASURES)
        took.append(time.process_time() - start)
    return {"seven measures over keys": min(took)}


# the two beside each other


def run(checkout: Path, arguments: list[str], cache: Path, cwd: Path) -> tuple[str, float]:
    """Run this Python with a checkout's package; return what it printed and its processor seconds, children too."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cwd, check=False, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(f"{checkout}: {arguments} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def differences(one: Any, two: Any, where: str) -> list[str]:
    """Say where two measurements differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        names = dict.fromkeys((*one, *two))
        return [d for n in names for d in differences(one.get(n), two.get(n), f"{where}/{n}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        return [d for i, (a, b) in enumerate(zip(one, two, strict=True)) for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(one, float | int) and isinstance(two, float | int):
        allowed = TOLERANCE * max(abs(one), abs(two)) + ROUNDING
        same = one == two or (one != one and two != two) or abs(one - two) <= allowed
        return (
            [] if same else [f"{where}: {one!r} and {two!r}, apart by {abs(one - two) / max(abs(one), abs(two)):.1e}"]
        )
    return [] if one == two else [f"{where}: {one!r} and {two!r}"]


def commands() -> dict[str, list[str]]:
    """The commands whose cost counts."""
    sfumato = ["-m", "sfumato"]
    pair = [*sfumato, "compare", "original.csv", "protected.csv", "--schema", "schema.toml"]
    sweep = [*sfumato, "sweep", "original.csv", "--schema", "schema.toml", "--seed", "1", "--workers", "1"]
    return {
        "import sfumato": ["-c", "import sfumato; print(1)"],
        "compare, all measures": pair,
        "compare, two measures": [*pair, "--measure", "KAnonymity", "--measure", "InformationLoss"],
        "sweep with its report": [*sweep, "--at-most", "DistanceLinkage=5%", "--out", "OUT"],
        "demo": [*sfumato, "demo", "--workers", "1", "--out", "OUT"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--only", choices=("figures", "keys", "commands"))
    parser.add_argument("--census")
    parser.add_argument("--child", choices=("figures", "keys", "files"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child == "figures":
        print(json.dumps(figures(options.census)))
    elif options.child == "keys":
        print(json.dumps(keys()))
    elif options.child == "files":
        import sfumato
        from sfumato.table.schema_file import write_schema

        data = sfumato.household_survey(households=450).take(__import__("numpy").arange(1000))
        sfumato.write(data, "original.csv")
        write_schema(data, Path("schema.toml"))
        masked = (sfumato.PRAM(0.9) + sfumato.Noise(0.1)).protect(data, rng=1)
        sfumato.write(masked, "protected.csv")
        print("written")
    else:
        beside(options.other.resolve(), options.only, options.census)


def beside(other: Path, only: str | None, census: str | None) -> None:
    """Compare this checkout with another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        caches = {checkout: folder / f"numba-{i}" for i, checkout in enumerate((other, HERE))}
        me = str(Path(__file__).resolve())
        if only in (None, "figures"):
            more = ["--census", str(Path(census).resolve())] if census else []
            found = [json.loads(run(c, [me, "--child", "figures", *more], caches[c], folder)[0]) for c in (other, HERE)]
            apart = differences(found[0], found[1], "")
            print(f"{len(found[0])} measurements compared, {len(apart)} differences beyond {TOLERANCE:g}")
            print("\n".join(apart))
        if only in (None, "keys"):
            costs = [json.loads(run(c, [me, "--child", "keys"], caches[c], folder)[0]) for c in (other, HERE)]
            for what in costs[0]:
                show(what, costs[0][what], costs[1][what])
        if only in (None, "commands"):
            run(HERE, [me, "--child", "files"], caches[HERE], folder)
            for what, arguments in commands().items():
                took = []
                for checkout in (other, HERE):
                    for attempt in range(2):
                        out = f"out-{what.replace(' ', '-')}-{caches[checkout].name}-{attempt}"
                        filled = [out if word == "OUT" else word for word in arguments]
                        seconds = run(checkout, filled, caches[checkout], folder)[1]
                    took.append(seconds)
                show(what, *took)


def show(what: str, before: float, after: float) -> None:
    """Print one line of costs."""
    print(f"{what:28} {before:8.2f} s cpu before {after:8.2f} s after   ratio {before / max(after, 1e-9):.2f}")


if __name__ == "__main__":
    main()
