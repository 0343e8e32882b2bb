"""Who computed a figure: edits that count and edits that do not."""

import ast
import os
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from compare_toys import Jitter, Loss, Shift

import sfumato
from sfumato.compare import identity as module
from sfumato.compare.experiment import Experiment
from sfumato.compare.identity import ASIDE, DRAWS, bare, code_of, identity
from sfumato.methods import Noise, ResidualNoise
from sfumato.risk import NearestRecord
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}))
PACKAGE = Path(sfumato.__file__).parent
FILES = sorted(path for path in PACKAGE.rglob("*.py"))
PROGRAM = """
import sys
from sfumato import CDFMaximum, Experiment, InformationLoss, Noise, household_survey
measures = [CDFMaximum(), InformationLoss()]
experiment = Experiment(household_survey(households=40, seed=1), [Noise(scale=0.1)], measures)
seen = []
for measure in measures:
    cls, compute = type(measure), type(measure).compute
    def told(self, pair, rng, _name=cls.__name__, _compute=compute):
        seen.append(_name)
        return _compute(self, pair, rng)
    cls.compute = told
experiment.run(store=sys.argv[1])
print(*seen)
"""


def measured(package: Path, store: Path) -> set[str]:
    """Run an experiment with a copy of the package and return the measures that were evaluated."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(store)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new, 1))


def test_an_edited_class_is_not_served_from_the_store_and_others_are(tmp_path: Path) -> None:
    package, store = tmp_path / "copy" / "sfumato", tmp_path / "run.db"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    both = {"CDFMaximum", "InformationLoss"}
    assert measured(package, store) == both
    # words, and what only shows figures
    edit(package / "utility" / "cdf.py", '"""', '"""\nOther words.\n')
    edit(package / "utility" / "cdf.py", "\nfrom sfumato", "\n\n# a remark\nfrom sfumato")
    edit(package / "show" / "summary.py", "\nfrom dataclasses", "\nWIDE = 3\nfrom dataclasses")
    assert measured(package, store) == set()
    # the measure itself
    lengthen(package / "utility" / "cdf.py")
    assert measured(package, store) == {"CDFMaximum"}
    # a kernel that it calls and the other does not
    reached = [module._modules_reached(f"sfumato.{name}") for name in ("utility.cdf", "utility.information_loss")]
    kernel = min(name for name in reached[0] - reached[1] if name.startswith("sfumato.kernels."))
    lengthen(package / Path(module._files()[kernel]).relative_to(PACKAGE))
    assert measured(package, store) == {"CDFMaximum"}
    # the method
    lengthen(package / "methods" / "noise.py")
    assert measured(package, store) == both


def lengthen(path: Path) -> None:
    path.write_text(path.read_text() + "\nMORE = 17\n")


class _Silent(ast.NodeTransformer):
    """Put ``pass`` in the place of every docstring."""

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        places = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, places) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
        return node


ABOVE = ("cli", "workbench", "project", "show", "studies", "compare", "sfumato")  # may import the public names


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_the_bare_text_of_a_module_is_its_code_without_docstrings(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.dump(ast.parse(bare(text))) == ast.dump(_Silent().visit(ast.parse(text)))
    assert "#" not in bare("x = 1  # one\n") and bare("\n\nx = 1\n\n") == "x = 1"
    files = module._files()
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import is not followed"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported |= {name if name in files else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
    ours = {name for name in imported if name in files and not f"{name}.".startswith(ASIDE)}
    assert ours <= set(module._imports(bare(text)))
    public = {name for name in imported if name == "sfumato"}
    assert not public or path.parent.name in ABOVE  # names are not followed


def test_what_a_figure_depends_on_is_reached() -> None:
    reached = module._modules_reached("sfumato.risk.k_anonymity")
    assert {"sfumato.core", "sfumato.table.microdata", "sfumato.kernels"} <= reached
    assert module._modules(DRAWS) in module._of_class(Noise)
    assert not [name for name in reached if f"{name}.".startswith(ASIDE) or name.startswith("sfumato.utility")]


def test_a_file_written_since_the_process_began_is_good_for_this_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh() -> str:
        for cached in (module._module, module._modules, module._of_class):
            cached.cache_clear()
        return identity(Noise(0.1))

    known = fresh()
    assert fresh() == known
    monkeypatch.setattr(module, "_STARTED", 0.0)
    assert fresh() != known
    monkeypatch.undo()
    assert fresh() == known


def test_the_code_of_a_class_that_is_not_ours_is_part_of_its_key() -> None:
    def made(value: int) -> Shift:
        class Mine(Shift):
            extra = value

        return Mine()

    assert repr(made(1)) == repr(made(2))
    assert identity(made(1)) != identity(made(2))
    assert identity(made(1)) == identity(made(1))
    assert identity(Noise(scale=0.1)).startswith("Noise(scale=0.1) ")


def test_every_kind_of_member_of_a_class_that_is_not_ours_counts() -> None:
    def made(what: str) -> list[Any]:
        space: dict[str, Any] = {"Loss": Loss, "cached_property": cached_property, "__name__": "prompt"}
        text = (
            "class Mine(Loss):\n"
            "    @property\n    def a(self): return PLAIN\n"
            "    @classmethod\n    def b(cls): return CLASS\n"
            "    @staticmethod\n    def c(): return STATIC\n"
            "    @cached_property\n    def d(self): return CACHED\n"
            "    def e(self, x): return x in {'a', 'b', 'c', 'd'}\n"
        )
        for word in ("PLAIN", "CLASS", "STATIC", "CACHED"):
            text = text.replace(word, "2" if word == what else "1")
        exec(text, space)
        return [space["Mine"]() for _ in range(2)]

    found = {identity(mine) for what in ("", "PLAIN", "CLASS", "STATIC", "CACHED") for mine in made(what)}
    assert len(found) == 5


def test_the_key_of_a_class_that_is_not_ours_is_the_same_in_every_process() -> None:
    program = (
        "from compare_toys import Loss\nfrom sfumato.compare.identity import identity\n"
        "class Mine(Loss):\n"
        "    @property\n    def a(self): return 1\n"
        "    def b(self, x): return x in {'a', 'b', 'c', 'd', 'e'}\n"
        "print(identity(Mine()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(Path(__file__).parent)])}
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1


def test_modules_of_ours_that_foreign_code_names_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(line: str) -> Any:
        space: dict[str, Any] = {"Loss": Loss, "__name__": "prompt"}
        exec(f"from sfumato import parameters\nclass Mine(Loss):\n    def f(self):\n        {line}", space)
        return space["Mine"]()

    lines = ("return parameters", "import sfumato.display")
    monkeypatch.setattr(module, "_modules", str)  # the name itself in the place of its digest
    for line, reached in zip(lines, ("sfumato.parameters", "sfumato.display"), strict=True):
        assert any(reached in code for code in module._of_foreign(type(named(line))))


def test_a_class_typed_at_a_prompt_is_known_by_its_code(tmp_path: Path) -> None:
    def typed(value: str) -> type[Any]:
        space: dict[str, Any] = {"Loss": Loss, "__name__": "prompt"}
        exec(f"class Typed(Loss):\n    def compute(self, pair, rng):\n        return self.measurement({value})", space)
        made: type[Any] = space["Typed"]
        return made

    first, again, second = (typed(value)() for value in ("0.25", "0.25", "0.75"))
    assert identity(first) == identity(again) != identity(second)
    store = tmp_path / "run.db"
    assert Experiment(DATA, [Shift()], [first]).run(store=store).rows[0].means[repr(first)] == 0.25
    assert Experiment(DATA, [Shift()], [second]).run(store=store).rows[0].means[repr(second)] == 0.75


def test_a_method_inside_another_is_known_by_its_code() -> None:
    noises = [ResidualNoise(of) for of in (Shift(), Jitter(), Noise(0.1))]
    assert len({identity(noise).removeprefix(repr(noise)) for noise in noises}) == 3


def test_the_content_of_a_holdout_is_part_of_the_key_of_its_measure(tmp_path: Path) -> None:
    holdout, other = tmp_path / "holdout.csv", tmp_path / "other.csv"
    measure = NearestRecord(holdout=str(holdout))
    absent = identity(measure)
    holdout.write_text("x\n1.5\n2.5\n3.5\n")
    first = identity(measure)
    assert identity(measure) == first != absent and repr(measure) in first
    values = [Experiment(DATA, [Shift()], [measure]).run(store=tmp_path / "run.db").row("Shift()").means]
    other.write_text("x\n1\n2\n300\n")
    other.replace(holdout)  # the same path
    assert identity(measure) != first
    values.append(Experiment(DATA, [Shift()], [measure]).run(store=tmp_path / "run.db").row("Shift()").means)
    assert values[0] != values[1]
    assert "reading" not in identity(NearestRecord())


def test_the_code_of_a_function_is_its_module_or_itself() -> None:
    from sfumato.compare.choose import choose, limits
    from sfumato.compare.exposure import exposure

    assert code_of(choose) == code_of(limits) != code_of(exposure)
    assert code_of(lambda: 1) != code_of(lambda: 2)
