"""Rules on modules, names and signatures that no linter knows."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import sfumato

ROOT = Path(sfumato.__file__).parent
MAX_LINES, MIN_LINES, MAX_PARAMETERS = 800, 60, 12
SHORT = {
    "kernels/contingency/compiled.py": "compiled when it is first called",
    "kernels/kolmogorov/compiled.py": "compiled when it is first called",
    "kernels/raking.py": "a kernel: arrays alone, below the layer of its importer",
    "cli/demo.py": "a command",
    "cli/ending.py": "how every command ends",
    "cli/open.py": "a command",
    "cli/screen.py": "where every command prints",
    "cli/sign.py": "a command",
}
# functions with more parameters: figures may shrink, and no function may be added
LONG = {
    ("compare/tune.py", "tune"): 15,
    ("compare/tune.py", "tune_jointly"): 13,
    ("kernels/trees/__init__.py", "plain_split_shares"): 13,
    ("kernels/trees/compiled.py", "split_shares"): 13,
    ("kernels/uniques/compiled.py", "split"): 16,
    ("project/comparison.py", "audit_files"): 16,
    ("project/comparison.py", "compare_files"): 24,  # what a command takes
}
# adjectives, adverbs and participles that leave open what is bounded or held
REFUSED = re.compile(
    "_?(AGAIN|ALONE|APART|ASKED|CLOSE|DEAR|ENOUGH|FAR|FEW|FEWEST|FINE|GONE|KEPT|LARGE|LEAST|LEFT|LITTLE|LONG|LONGEST|"
    "LOOKED|MANY|MORE|MOST|MOSTLY|NEAR|NEARLY|OWN|RARE|REST|SAID|SEVERAL|SHARP|SLOW|SMALL|SPARE|THIN|TOGETHER|TOLD|"
    "TRIED|WEAK|WIDE|(MOST|LEAST|FEWEST)_.*|"
    "Alike|Apart|Asked|Assessed|Attributed|Banded|Became|Below|Beside|Dial|Done|Drawn|Edited|Filled|Followed|Found|"
    "Given|Graded|Grown|Kept|Known|Least|Left|Listed|Lost|Masked|Now|Pruned|Room|Same|Seen|Shared|Sorted|Sought|"
    "Standing|Taken|There|Together|Told|Tried|Unseen)"
)
STILL_THERE = {  # as above: none may be added
    ("table/sample_size.py", "FEWEST"),
    ("auditing/findings.py", "Together"),
    ("workbench/commands.py", "KEPT"),
}


@cache
def trees() -> list[tuple[str, ast.Module, int]]:
    """Return the place, the syntax and the number of lines of each module."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
    return [(place, ast.parse(text), len(text.splitlines())) for place, text in sorted(texts.items())]


def module_of(place: str) -> str:
    """Return the name under which a file is imported."""
    return ".".join(("sfumato", *Path(place).with_suffix("").parts)).removesuffix(".__init__")


def is_scrap(importers: set[str]) -> bool:
    """Tell whether a short module has one importer, other than the catalogue, where each file is an idea."""
    catalogues = {"methods/__init__.py", "risk/__init__.py", "utility/__init__.py"}
    return len(importers) == 1 and not importers & catalogues


def test_no_module_is_long_and_none_is_a_scrap_of_its_only_importer() -> None:
    lines, importers = {}, defaultdict(set)
    names = {module_of(place) for place, _, _ in trees()}
    for place, tree, length in trees():
        lines[place] = length
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    inner = f"{node.module}.{name.name}"
                    importers[inner if inner in names else node.module].add(place)
            elif isinstance(node, ast.Import):
                for name in node.names:
                    importers[name.name].add(place)
    assert [place for place, length in lines.items() if length > MAX_LINES] == []
    scraps = {
        place
        for place, length in lines.items()
        if length < MIN_LINES and not place.endswith("__init__.py") and is_scrap(importers[module_of(place)] - {place})
    }
    assert scraps - SHORT.keys() == set()


def names_of(tree: ast.Module) -> Iterator[str]:
    """Yield the constants and classes that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        for target in node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]:
            yield from (name.id for name in ast.walk(target or node) if target and isinstance(name, ast.Name))


def test_names_say_what_they_are() -> None:
    refused = set()
    for place, tree, _ in trees():
        for name in names_of(tree):
            if REFUSED.fullmatch(name):
                refused.add((place, name))
    assert refused - STILL_THERE == set()


def test_no_function_takes_more_parameters_than_a_reader_can_hold() -> None:
    for place, tree, _ in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not place.startswith("cli/"):
                given = node.args
                number = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                number += (given.vararg is not None) + (given.kwarg is not None)
                assert number <= LONG.get((place, node.name), MAX_PARAMETERS), f"{place}: {node.name}"
