"""Seeded mutations of what decides, and whether the tests notice them: ``python tests/mutations.py --seed 1``.

One operator, comparison, boolean or number of ``src`` is changed at a time, in a copy of the project, and the tests
that execute the changed statement run until one fails. Texts, annotations, docstrings and what an About says are left
alone, and so is what only assures, such as ``strict=True``. The tests are those of ``TESTS`` that take a few seconds at
most, the shortest first, until five minutes of processor time are full (``--minutes``); of these a mutant gets the
shortest that take ``--each`` seconds in all. Which test executes which line is traced in the first minutes of a run.

The tests of ``make test`` come first; what only slower ones notice is counted apart.

A mutant that no test notices is looked at by a person: it gets a test, or is listed in ``same_programs.toml`` with the
reason why no test can tell it from the program. Run by hand, on a quiet machine: 200 mutants take ten minutes.
"""

import argparse
import ast
import copy
import gc
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import _lru_cache_wrapper
from hashlib import sha256
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

from tiers import kinds_of

PROJECT = Path(__file__).resolve().parents[1]
SAME = Path(__file__).with_name("same_programs.toml")
MUTATED = (
    "src/sfumato/risk",
    "src/sfumato/auditing",
    "src/sfumato/project/choosing.py",
    "src/sfumato/report/verdict.py",
    "src/sfumato/report/cautions.py",
)
TESTS = (
    "tests/risk",
    "tests/auditing",
    "tests/report/test_verdict.py",
    "tests/report/test_verdict_by_hand.py",
    "tests/report/test_cautions.py",
    "tests/report/test_merged_and_summed.py",
    "tests/project/test_choosing.py",
    "tests/project/test_sweep.py",
    "tests/cli/test_leaks_from_file_to_file.py",
    "tests/compare/test_choose.py",
    "tests/pair/test_values_beyond_memory.py",
)
LONGEST = 5.0  # seconds of processor time: a test that takes longer is not among those that run
FIRST = 25  # tests run together before all others that execute the statement
PLENTY = 30.0  # seconds of processor time beyond which, and ten times what the tests take, a mutant has no end
QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = "min max, minimum maximum, any all, argmin argmax, floor ceil, nanmin nanmax"
NAMES = {a: b for pair in _PAIRS.split(", ") for a, b in (pair.split(), pair.split()[::-1])}
ASSURED = ("strict", "kw_only", "repr", "compare", "copy")  # arguments that assure something and decide nothing
SILENT = ("warn", "debug", "info", "cast", "TypeVar", "register", "catalogued")  # calls whose arguments decide nothing


@dataclass(frozen=True)
class Mutation:
    """A change of a file: where, what the changed expression was and became, and the text of the file with it."""

    path: str
    line: int
    function: str  # "" for what runs when the module is imported
    lines: tuple[int, int]  # of the statement
    was: str
    became: str
    text: str = field(repr=False)


@dataclass
class Cost:
    """What a test takes, in seconds of processor time with its fixtures, and the lines it executes."""

    seconds: float
    lines: dict[str, set[int]]


# ------------------------------------------------------------------------------------------------------- mutations


class Sites(ast.NodeVisitor):
    """Nodes of a module that can be changed, each with the expression whose text is replaced and its surroundings."""

    def __init__(self, *, in_texts: bool) -> None:
        self.in_texts = in_texts
        self.found: list[tuple[ast.AST, ast.AST, str, tuple[int, int]]] = []
        self.function: list[str] = []
        self.statement = (0, 0)
        self.text: ast.JoinedStr | None = None

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self.statement = _extent(node)
        if isinstance(
            node, ast.Compare | ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.Constant | ast.AugAssign | ast.Call
        ):
            self.found.append((node, self.text or node, ".".join(self.function), self.statement))
        super().visit(node)

    def _function(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.function.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.function.pop()

    visit_FunctionDef = _function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if self.in_texts and self.text is None:
            self.text = node
            self.generic_visit(node)
            self.text = None

    def visit_Call(self, node: ast.Call) -> None:
        if (_name(node.func) or "") not in SILENT:
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in ASSURED:
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None: ...

    def visit_Assert(self, node: ast.Assert) -> None: ...


def _extent(node: ast.stmt) -> tuple[int, int]:
    """Return the first and last line of a statement, of a compound one those of its head."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return node.lineno, max(last, node.lineno)


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _variants(node: Any) -> Iterator[Any]:
    """Yield changed copies of a node."""
    new: Any
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                new = copy.deepcopy(node)
                new.ops[i] = other()
                yield new
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        if type(node.op) in OPERATORS and not any(_is_text(one) for one in operands):
            new = copy.deepcopy(node)
            new.op = OPERATORS[type(node.op)]()
            yield new
    elif isinstance(node, ast.BoolOp):
        new = copy.deepcopy(node)
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield new
    elif isinstance(node, ast.UnaryOp):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield ast.Constant(not value)
        elif isinstance(value, int):
            yield from (ast.Constant(other) for other in (value + 1, value - 1) if other >= 0)
        elif isinstance(value, float):
            yield ast.Constant(value * 2 if value else 1.0)
    elif isinstance(node, ast.Call) and (_name(node.func) or "") in NAMES:
        new = copy.deepcopy(node)
        named = NAMES[_name(node.func) or ""]
        if isinstance(new.func, ast.Name):
            new.func.id = named
        else:
            new.func.attr = named
        yield new


class Source:
    """A file, the places at which it can be changed, and the changes of one of them."""

    def __init__(self, root: Path, path: str) -> None:
        self.path = path
        self.text = (root / path).read_bytes()
        self.tree = ast.parse(self.text)
        self.starts = [0]
        for row in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(row))
        sites = Sites(in_texts="/report/" in path)
        sites.visit(self.tree)
        self.places = [site for site in sites.found if any(True for _ in _variants(site[0]))]

    def mutations(self, place: int) -> list[Mutation]:
        """Return the changes of a place whose text reads as the changed tree does: nothing else changes with it."""
        node, outer, function, lines = self.places[place]
        found = []
        for variant in _variants(node):
            target: Any = outer
            written = _written(_replaced(outer, node, variant))
            if written is None:
                continue
            begin = self.starts[target.lineno - 1] + target.col_offset
            end = self.starts[target.end_lineno - 1] + target.end_col_offset
            text = (self.text[:begin] + written.encode() + self.text[end:]).decode()
            if ast.dump(ast.parse(text)) == ast.dump(_replaced(self.tree, node, variant)):
                was, became = ast.unparse(node), ast.unparse(variant)
                found.append(Mutation(self.path, target.lineno, function, lines, was, became, text))
        return found


def _written(node: Any) -> str | None:
    """Return the text of a changed node in parentheses, so that no neighbour takes hold of a part of it."""
    try:
        text = ast.unparse(node)
    except ValueError:  # a text in a text that this Python cannot write
        return None
    return text if isinstance(node, ast.Constant | ast.AugAssign | ast.JoinedStr | ast.Name) else f"({text})"


def _replaced(tree: ast.AST, node: ast.AST, variant: ast.AST) -> ast.AST:
    """Return a copy of the tree in which the variant stands for the node."""
    if tree is node:
        return variant
    new = copy.copy(tree)
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            setattr(new, name, _replaced(value, node, variant))
        elif isinstance(value, list):
            setattr(new, name, [_replaced(v, node, variant) if isinstance(v, ast.AST) else v for v in value])
    return new


def sampled(root: Path, paths: Sequence[str], count: int, seed: int) -> list[Mutation]:
    """Draw mutations at different places, of each file in proportion to the number of its places."""
    rng = random.Random(seed)
    files = sorted({str(f.relative_to(root)) for p in paths for f in _python_files(root / p)})
    sources = {path: Source(root, path) for path in files}
    whole = sum(len(source.places) for source in sources.values())
    quota = {path: min(count, whole) * len(source.places) / whole for path, source in sources.items()}
    number = {path: int(share) for path, share in quota.items()}
    rest = sorted(quota, key=lambda path: (number[path] - quota[path], rng.random()))
    for path in rest[: min(count, whole) - sum(number.values())]:
        number[path] += 1
    drawn: list[Mutation] = []
    for path, source in sources.items():
        order = rng.sample(range(len(source.places)), len(source.places))
        made = (rng.choice(here) for here in map(source.mutations, order) if here)
        drawn += sorted(islice(made, number[path]), key=lambda one: one.line)
    return drawn


def _python_files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


# ----------------------------------------------------------------------------------------- which test executes what


class Trace:
    """A pytest plug-in that notes for each test the lines of the mutated files that it executes, and what it takes."""

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        self.wanted = {str(f): str(f.relative_to(root)) for p in paths for f in _python_files(root / p)}
        self.seen: set[tuple[CodeType, int]] = set()
        self.shared: dict[Any, tuple[set[tuple[CodeType, int]], float]] = {}
        self.ours = 0.0
        self.failed: set[str] = set()
        self.costs: dict[str, Cost] = {}

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename in self.wanted else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.seen.add((frame.f_code, frame.f_lineno))
        return self._line

    def start(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _forget()
        self.seen, self.ours = set(), 0.0
        begin = _processor()
        self.start()
        try:
            result = yield
        finally:
            sys.settrace(None)
        seconds = _processor() - begin - self.ours
        seen = set(self.seen)
        fixtures: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        for defined in fixtures.values():
            for fixture in defined:
                lines, more = self.shared.get(fixture, (set(), 0.0))
                seen |= lines
                seconds += more
        lines_of: dict[str, set[int]] = {}
        for code, line in seen:
            lines_of.setdefault(self.wanted[code.co_filename], set()).add(line)
        self.costs[item.nodeid] = Cost(seconds, lines_of)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        before, self.seen = self.seen, set()
        begin, ours = _processor(), self.ours
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                took = _processor() - begin - (self.ours - ours)
                self.shared[fixturedef] = (self.seen, took)
                self.ours += took
            else:
                before |= self.seen
            self.seen = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


def _processor() -> float:
    """Return the seconds of processor time of this process and of those it has waited for."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _forget() -> None:
    """Empty what functions remember, so that a test does not live by what another one has computed."""
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper) and _is_ours(one):
            one.cache_clear()


def _is_ours(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.startswith("sfumato") or "/tests/" in (getattr(sys.modules.get(module), "__file__", None) or "")


class Chosen:
    """A pytest plug-in that runs the chosen tests only, in their order, and notes the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.order = {test: i for i, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection(self) -> None:
        """Tests count examples, but shrink none: that an example fails is all that is asked."""
        from hypothesis import Phase, settings

        settings.register_profile("mutations", settings.default, phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutations")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (import)"


# ------------------------------------------------------------------------------------------------------------- runs


class Workshop:
    """A copy of the project in which mutants are made and tested by processes forked from this one.

    This process has imported the libraries that tests need, but nothing of the package, so that a forked one imports
    the package as it then is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "project"
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for name in ("src", "tests", "docs", "benchmarks"):
            shutil.copytree(PROJECT / name, self.root / name)
        for file in PROJECT.iterdir():
            if file.is_file() and not file.name.startswith("."):
                shutil.copy2(file, self.root / file.name)
        os.environ |= {"PYTHONPATH": f"{self.root / 'src'}", "CI": "1", "OMP_NUM_THREADS": "1"}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        here = str(Path(__file__).parent)
        sys.path[:] = [str(self.root / "src"), *(p for p in sys.path if p not in (here, str(PROJECT / "src")))]
        os.chdir(self.root)
        for name in ("numba", "scipy.stats", "scipy.optimize", "scipy.spatial", "hypothesis.extra.numpy", "pandas"):
            import_module(name)
        for name in ("pyarrow.parquet", "cloudpickle", "joblib", "jinja2", "typer", "narwhals", "rich.console"):
            import_module(name)
        gc.collect()
        gc.freeze()

    def forked(self, call: Any, seconds: float, log: str) -> str:
        """Return what a call in a forked process returns; "killed" if that takes longer or dies."""
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
            out = os.open(self.folder / log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            code = 1
            try:
                answer.write_text(call(), encoding="utf-8")
                code = 0
            except BaseException:  # what a forked process raises is in its log
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        end = time.monotonic() + 4 * seconds + 60  # a mutant may wait for ever without computing
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.02)
        return answer.read_text(encoding="utf-8") if answer.exists() else "killed"

    def traced(self, paths: Sequence[str], wanted: Sequence[str]) -> dict[str, Cost]:
        """Return what each test that passes takes and executes; what an earlier run in the folder found is kept."""
        kept = self.folder / "trace.json"
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        files = [str(f.relative_to(self.root)) for test in wanted for f in _python_files(self.root / test)]
        files = [file for file in files if Path(file).name.startswith("test_")]
        helpers = [f for f in _python_files(self.root / "tests") if not f.name.startswith("test_")]
        shared = _digest([*_python_files(self.root / "src"), *(f for f in helpers if f.name != Path(__file__).name)])
        digests = {file: f"{shared} {_digest([self.root / file])}" for file in files}
        anew = [file for file in files if known.get(file, {}).get("digest") != digests[file]]

        def run() -> str:
            trace = Trace(self.root, paths)
            pytest.main([*anew, *QUIET], plugins=[trace])
            made: dict[str, Any] = {file: {"digest": digests[file], "costs": {}, "failed": []} for file in anew}
            for test, cost in trace.costs.items():
                lines = {path: sorted(of) for path, of in cost.lines.items()}
                if test in trace.failed:
                    made[test.split("::")[0]]["failed"].append(test)
                elif lines:
                    made[test.split("::")[0]]["costs"][test] = cost.seconds, lines
            return json.dumps(made)

        if anew:
            text = self.forked(run, 3600, "trace.log")
            if text == "killed":
                raise SystemExit(f"the tests could not be traced: see {self.folder / 'trace.log'}")
            known |= json.loads(text)
            kept.write_text(json.dumps(known), encoding="utf-8")
        for test in (test for file in files for test in known[file]["failed"]):
            print(f"fails without a mutation, not used: {test}")
        return {
            test: Cost(seconds, {path: set(lines) for path, lines in of.items()})
            for file in files
            for test, (seconds, of) in known[file]["costs"].items()
        }

    def tested(self, tests: Sequence[str], seconds: float) -> str:
        """Run tests until one fails; return its name, or nothing."""

        def run() -> str:
            chosen = Chosen(tests)
            files = list(dict.fromkeys(test.split("::")[0] for test in tests))
            code = pytest.main([*files, "-x", "--tb=line", *QUIET], plugins=[chosen])
            return chosen.failed or ("" if code in (0, 5) else f"pytest ends with {int(code)}")

        return self.forked(run, seconds, "last.log")

    def noticed_by(self, one: Mutation, tests: dict[str, Cost], each: float) -> str:
        """Return the test that notices a mutation, or nothing."""
        order = covering(one, tests)
        taken = np.cumsum([tests[test].seconds for test in order])
        order = order[: int(np.searchsorted(taken, each)) + 1]
        if not order:
            return ""
        file = self.root / one.path
        original, stamp = file.read_bytes(), file.stat()
        file.write_text(one.text, encoding="utf-8")
        try:
            for batch in (order[:FIRST], order[FIRST:]):
                expected = sum(tests[test].seconds for test in batch)
                found = self.tested(batch, PLENTY + 10 * expected) if batch else ""
                if found:
                    return "no end, or a crash" if found == "killed" else found
            return ""
        finally:
            file.write_bytes(original)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def _digest(files: Sequence[Path]) -> str:
    found = sha256()
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()


def tests_of_minutes(costs: dict[str, Cost], minutes: float) -> dict[str, Cost]:
    """Return the tests that execute something of what is mutated, the shortest first, until the minutes are full."""
    left, chosen = 60 * minutes, {}
    for test, cost in sorted(costs.items(), key=lambda item: item[1].seconds):
        left -= cost.seconds
        if left < 0 or cost.seconds > LONGEST:
            break
        chosen[test] = cost
    return chosen


def covering(one: Mutation, tests: dict[str, Cost]) -> list[str]:
    """Return the tests that execute the statement, its own folder's first, then the shortest.

    What runs when the module is imported concerns all that execute anything of it.
    """
    first, last = one.lines
    own = f"tests/{one.path.split('/')[2]}/"
    found = [
        test
        for test, cost in tests.items()
        if one.path in cost.lines and (not one.function or any(first <= line <= last for line in cost.lines[one.path]))
    ]
    return sorted(found, key=lambda test: (not test.startswith(own), tests[test].seconds))


def same_programs() -> list[dict[str, str]]:
    """Return the mutations that were looked at and change nothing that anybody could see."""
    if not SAME.exists():
        return []
    listed: list[dict[str, str]] = tomllib.loads(SAME.read_text(encoding="utf-8")).get("same", [])
    return listed


def reason(one: Mutation, listed: Sequence[dict[str, str]], source: str) -> str:
    """Return why a mutation is the same program, if somebody found that it is."""
    line = source.splitlines()[one.line - 1].strip()
    for entry in listed:
        if (entry["file"], entry["line"]) == (one.path, line) and entry.get("became", one.became) == one.became:
            return entry["why"]
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="how many mutations are drawn (200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn (1)")
    parser.add_argument(
        "--only", action="append", metavar="PATH", help="a file or folder below the project (again: more)"
    )
    parser.add_argument(
        "--tests", action="append", metavar="PATH", help="tests of this file or folder only (again: more)"
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="processor time of all tests together (5)")
    parser.add_argument("--list", action="store_true", help="show the mutations that would be tried, and end")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="where the project is copied to; kept")
    parser.add_argument("--each", type=float, default=30.0, help="processor time of the tests of one mutant (30)")
    options = parser.parse_args(arguments)
    drawn = sampled(PROJECT, options.only or MUTATED, options.count, options.seed)
    if options.list:
        for one in drawn:
            print(f"{one.path}:{one.line}: {one.was} -> {one.became}")
        return 0
    folder = (options.work or Path(tempfile.mkdtemp(prefix="mutations-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    workshop = Workshop(folder)
    costs = workshop.traced(MUTATED, options.tests or TESTS)
    tests = tests_of_minutes(costs, options.minutes)
    print(
        f"{len(tests)} tests of {sum(cost.seconds for cost in tests.values()):.0f} s, of {len(costs)} traced",
        flush=True,
    )
    return report(drawn, workshop, tests, options.each)


def _slow(test: str) -> bool:
    """Tell whether ``make test`` leaves a test to ``make test-all``."""
    path, _, name = test.removeprefix("tests/").partition("::")
    return bool(kinds_of(path, name))


def report(drawn: Sequence[Mutation], workshop: Workshop, tests: dict[str, Cost], each: float) -> int:
    """Try the mutations, print what became of each, and the shares by folder."""
    listed, begin = same_programs(), time.monotonic()
    tally: dict[str, list[str]] = {}
    told = []
    fast = {test: cost for test, cost in tests.items() if not _slow(test)}
    for one in drawn:
        by = workshop.noticed_by(one, fast, each)
        slowly = not by
        by = by or workshop.noticed_by(one, {test: cost for test, cost in tests.items() if test not in fast}, each)
        source = (PROJECT / one.path).read_text(encoding="utf-8")
        why = "" if by else reason(one, listed, source)
        outcome = ("late" if slowly else "noticed") if by else "same program" if why else "survived"
        folder = one.path.split("/")[2]
        tally.setdefault(folder, []).append(outcome)
        untested = "" if by or covering(one, tests) else ", executed by no test"
        print(
            f"{one.path}:{one.line}: {one.was} -> {one.became}: {f'noticed by {by}' if by else outcome}{untested}",
            flush=True,
        )
        told.append({**asdict(one), "text": "", "outcome": outcome, "by": by})
    (workshop.folder / "outcomes.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    print(
        f"\n{'folder':14} {'drawn':>6} {'make test':>9} {'slow':>6} {'same':>6} {'survived':>9} {'of others':>10}"
        f" {'fast':>8}"
    )
    for folder, outcomes in [*sorted(tally.items()), ("all", [o for of in tally.values() for o in of])]:
        noticed, late, same, survived = (outcomes.count(o) for o in ("noticed", "late", "same program", "survived"))
        whole, quick = (share / max(noticed + late + survived, 1) for share in (noticed + late, noticed))
        print(f"{folder:14} {len(outcomes):6} {noticed:9} {late:6} {same:6} {survived:9} {whole:10.1%} {quick:8.1%}")
    print(f"{time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
