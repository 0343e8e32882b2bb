"""What is kept: each case is a name and a function that makes its text in an empty folder."""

import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from pyarrow import csv

import sfumato
from golden.tables import originals, protected
from golden.texts import json_lines, measurement_lines, neutral, table_lines
from scanned import scanned
from sfumato import Measure, Method, SfumatoError, catalogue
from sfumato.pair import Pair

Case = Callable[[Path], Iterator[str]]
COMMANDS = (
    "demo", "inspect", "hierarchy", "sweep", "look", "sign", "tune", "compare", "audit", "protect", "study", "methods",
    "measures", "open",
)  # fmt: skip
WHOLE = ("verdict", "question", "sentence", "headline", "bounds", "checked", "cautions")
OLD = Path(__file__).parent / "of_0_2_0"


def told(label: str, lines: Callable[[], Iterator[str]]) -> Iterator[str]:
    """Return the lines of one thing under its name, or its refusal."""
    yield f"# {label}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from list(lines())
    except SfumatoError as refusal:
        yield f"refused {type(refusal).__name__}: {refusal}"


def measures(table: str, number: int, folder: Path) -> Iterator[str]:
    """Return what every measure says of one of the tables, in memory or in parts."""
    from test_contract_parts import measures as contract

    before: Any = originals()[table]
    after: Any = protected()[table]
    if number > 1:
        if len(before) != len(after):
            return
        before, after = (scanned(data, folder / side, number) for side, data in (("o", before), ("p", after)))
    for cls in catalogue.measures().values():
        for measure in contract(cls):

            def lines(measure: Measure = measure) -> Iterator[str]:
                pair = Pair.of(before, after) if number == 1 else Pair.of(before.parts, after.parts)
                return measurement_lines(measure.evaluate_pair(pair, rng=1))

            yield from told(repr(measure), lines)


def methods(table: str, folder: Path) -> Iterator[str]:
    """Return every method's table, made in memory of one of the originals."""
    for cls in catalogue.methods().values():
        for method in catalogue.default_grid(cls):

            def lines(method: Method = method) -> Iterator[str]:
                return table_lines(method.protect(originals()[table], rng=5))

            yield from told(repr(method), lines)


def methods_in_parts(folder: Path) -> Iterator[str]:
    """Return the tables of methods that mask tables in parts."""
    from methods_in_parts import METHODS

    data = originals()["gaps"].without(["household"])
    parts = scanned(data, folder / "original", 3)
    for place, method in enumerate(METHODS):

        def lines(method: Method = method, place: int = place) -> Iterator[str]:
            return table_lines(method.protect(parts, rng=5, folder=folder / f"made-{place}").loaded())

        yield from told(repr(method), lines)


def command(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command in a folder, by a process of its own; what it prints comes back."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "CI")}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("steady.py")), *words],
        cwd=folder,
        env=environment | {"PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in codes:
        raise RuntimeError(f"sfumato {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return neutral(done.stdout + done.stderr, folder.resolve())


def swept(folder: Path, out: Path) -> Iterator[str]:
    """Return what a sweep left in its folder: figures, texts in full, and digests of bytes."""
    results = out / "results.json"
    yield from json_lines(
        results, folder, ("verdict", "question", "sentence", "headline", "bounds", "checked", "cautions")
    )
    yield from json_lines(out / "plan.json", folder, ("methods",))
    for name in ("report.md", "reproduce.py", "reproduce.sh"):
        if (out / name).exists():
            yield f"== {name}"
            yield from neutral((out / name).read_text(encoding="utf-8"), folder.resolve()).splitlines()
    for path in sorted((out / "release").rglob("*")) if (out / "release").exists() else ():
        if path.is_file():
            yield f"== {path.name}"
            if path.suffix == ".md":
                yield from neutral(path.read_text(encoding="utf-8"), folder.resolve()).splitlines()
            elif path.suffix == ".json":
                yield from json_lines(path, folder)
            elif path.suffix != ".html":
                yield f"bytes {hashlib.sha256(path.read_bytes()).hexdigest()[:24]}"


def sweep_of(make: Callable[[Path], list[str]], folder: Path) -> Iterator[str]:
    """Return what a sweep prints and leaves."""
    words = make(folder)
    yield from command(folder, *words, "--out", "out", codes=(0, 1)).splitlines()
    yield from swept(folder, folder / "out")


def demo(folder: Path) -> Iterator[str]:
    """Return what `sfumato demo` prints and leaves."""
    yield from command(folder, "demo", "--out", "out").splitlines()
    yield from swept(folder, folder / "out")


def register(folder: Path) -> list[str]:
    """Write a register in parts, and return how it is swept."""
    from register import write_register

    write_register(folder, parts=3, households=500)
    bound = ["--at-most", "Reidentification=10%", "--seed", "20240601", "--replicates", "1", "--breadth", "2"]
    return ["sweep", "register", "--schema", "schema.toml", *bound]


def synthetic(folder: Path) -> list[str]:
    """Write a survey and a synthetic file of it, and return how the second is compared."""
    data = originals()["survey"]
    for name, table in (("survey", data), ("synthetic", protected()["survey"])):
        csv.write_csv(table.to_arrow(), folder / f"{name}.csv")
    sfumato.write_schema(data, folder / "schema.toml")
    return []


def compared(folder: Path) -> Iterator[str]:
    """Return what `compare` and `audit` say of a synthetic file."""
    synthetic(folder)
    words = ("survey.csv", "synthetic.csv", "--schema", "schema.toml")
    kind = ("--synthetic",) if "--synthetic" in command(folder, "compare", "--help") else ()
    yield from command(folder, "compare", *words, *kind, "--seed", "7", codes=(0, 1)).splitlines()
    yield from command(folder, "audit", *words, codes=(0, 1)).splitlines()


def swept_synthetic(folder: Path) -> list[str]:
    """Return how synthetic candidates of a survey are swept."""
    synthetic(folder)
    bound = ["--at-most", "Reidentification=50%", "--seed", "20240602", "--replicates", "1"]
    return ["sweep", "survey.csv", "--schema", "schema.toml", "--method", "CARTSynthesis()", *bound]


def households(folder: Path) -> list[str]:
    """Write a file of households, and return how it is swept."""
    data = originals()["households"]
    csv.write_csv(data.to_arrow(), folder / "households.csv")
    sfumato.write_schema(data, folder / "schema.toml")
    bound = ["--at-most", "Reidentification=20%", "--at-most", "Reidentification(unit='household')=30%"]
    return ["sweep", "households.csv", "--schema", "schema.toml", *bound, "--seed", "20240603", "--replicates", "1"]


def helps(folder: Path) -> Iterator[str]:
    """Return the help of every command."""
    from small_survey import run

    for name in ("", *COMMANDS):
        yield f"# sfumato {name}"
        yield from run(*([name] if name else []), "--help").output.splitlines()


def stub(folder: Path) -> Iterator[str]:
    """Return the public names with their parameters; not where they stand."""
    for name in sorted(sfumato.__all__):
        given = getattr(sfumato, name)
        yield f"{name}{_parameters(given)}"


def _parameters(given: Any) -> str:
    try:
        return f"({', '.join(signature(given).parameters)})" if callable(given) else ""
    except ValueError:
        return "()"


def schemas(folder: Path) -> Iterator[str]:
    """Return every schema as written, and that it comes back as it went."""
    for name, data in originals().items():
        path = folder / f"{name}.toml"
        sfumato.write_schema(data, path)
        text = path.read_text(encoding="utf-8")
        back = sfumato.read_schema(path)
        again = folder / f"{name}-again.toml"
        sfumato.write_schema(sfumato.Microdata.from_frame(data.to_arrow(), back), again)
        yield f"# {name}: {'the same again' if again.read_text(encoding='utf-8') == text else 'another one'}"
        yield from text.splitlines()


def of_0_2_0(folder: Path) -> Iterator[str]:
    """Return what becomes of a sweep's folder that version 0.2.0 wrote: read, and gone on with."""
    import tarfile

    with tarfile.open(OLD / "sweep.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    for path in (folder / "swept").glob("*.json"):  # it names the file where it lay then
        path.write_text(path.read_text(encoding="utf-8").replace("/files/", f"{folder}/"), encoding="utf-8")
    candidates = ("--candidate", "RankSwapping(p=0.1)", "--candidate", "RankSwapping(p=0.3)")
    yield from command(folder, "look", "swept", *candidates, codes=(0, 1, 2)).splitlines()
    words = ("survey.csv", "--schema", "schema.toml", "--at-most", "Reidentification=60%", "--replicates", "1")
    method = ("--method", "RankSwapping(p=[0.1,0.3])", "--on-undeclared", "accept")
    yield from command(folder, "sweep", *words, *method, "--out", "swept", codes=(0, 1, 2)).splitlines()


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    cases: dict[str, Any] = {}
    for table in originals():
        cases[f"measures-{table}"] = partial(measures, table, 1)
        cases[f"measures-{table}-in-parts"] = partial(measures, table, 3)
        cases[f"methods-{table}"] = partial(methods, table)
    cases["methods-in-parts"] = methods_in_parts
    cases["demo"] = demo
    cases["sweep-register-in-parts"] = partial(sweep_of, register)
    cases["sweep-synthetic"] = partial(sweep_of, swept_synthetic)
    cases["sweep-households"] = partial(sweep_of, households)
    cases["compare-synthetic"] = compared
    cases["help"] = helps
    cases["stub"] = stub
    cases["schemas"] = schemas
    if OLD.exists():
        cases["of-0-2-0"] = of_0_2_0
    return cases
