"""Who computed a figure: edits that count and edits that do not."""

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
from sfumato import identity as module
from sfumato.compare.experiment import Experiment
from sfumato.identity import code_of, identity
from sfumato.methods import Noise, ResidualNoise
from sfumato.risk import NearestRecord
from sfumato.table.microdata import Microdata

DATA = Microdata.from_frame(pa.table({"x": [1.0, 2.0, 3.0, 4.0]}))
PACKAGE = Path(sfumato.__file__).parent
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


def test_what_other_code_computed_is_not_served_from_the_store(tmp_path: Path) -> None:
    package, store = tmp_path / "copy" / "sfumato", tmp_path / "run.db"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    both = {"CDFMaximum", "InformationLoss"}
    assert measured(package, store) == both
    assert measured(package, store) == set()
    for place in ("utility/cdf.py", "kernels/spread.py"):  # the measure itself, and what it calls
        lengthen(package / place)
        assert measured(package, store) == both
        assert measured(package, store) == set()


def lengthen(path: Path) -> None:
    path.write_text(path.read_text() + "\nMORE = 17\n")


def test_a_file_written_since_the_process_began_is_good_for_this_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fresh() -> str:
        for cached in (module.package_code, module._of_class):
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
        "from compare_toys import Loss\nfrom sfumato.identity import identity\n"
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


def test_the_code_of_a_function_is_that_of_the_package_or_its_own() -> None:
    from sfumato.compare.choose import choose, limits

    assert code_of(choose) == code_of(limits) != code_of(lambda: 1)
    assert code_of(lambda: 1) != code_of(lambda: 2)
