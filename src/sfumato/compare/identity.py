"""Who computed a figure: the name of a method or measure in the store, made of its parameters and of its code.

The code of a class is the text of the module it stands in and of every module of the package that one imports, however
indirectly and wherever in the text, kernels included; comments, docstrings and blank lines do not count. A figure of a
class that has since been edited is therefore never taken for one of the new class, while an edit elsewhere leaves it
valid. Modules that show or list things and compute nothing are not followed (``ASIDE``). What happens outside the
package, in numpy say, is not seen.
"""

import hashlib
import inspect
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import sfumato
from sfumato.core import Measure, Method
from sfumato.errors import SfumatoError
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

ASIDE = ("sfumato.catalogue.", "sfumato.cli.", "sfumato.report.", "sfumato.studies.")
DRAWS = "sfumato.compare.seeds"  # every figure depends on how draws are made
MADE = ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__")  # by dataclass, from the fields
_FOLDER = str(Path(sfumato.__file__).parent)
_STARTED = time.time()
_WORDS = re.compile(
    r'''"""(?:[^"\\]+|\\.|"(?!""))*"""|''' + r"'''(?:[^'\\]+|\\.|'(?!''))*'''|"
    r""""(?:[^"\\\n]+|\\.)*"|'(?:[^'\\\n]+|\\.)*'|\#[^\n]*""",
    re.DOTALL,
)
_IMPORT = re.compile(r"from (sfumato[\w.]*) import (\([^)]*\)|[^\n]*)|import (sfumato[\w.]*)")


def identity(owner: Method | Measure) -> str:
    """Name a method or measure in the store: by its repr, a digest of its code, and the content of files it reads.

    Methods, measures and models inside its fields count too. Of a class that is not Sfumato's, the compiled code of its
    methods and of its bases is digested, and the modules of the package that it names; what such code calls elsewhere
    is not seen.
    """
    read = owner.reads if isinstance(owner, Measure) else ()
    return " ".join([f"{owner!r} {_code(owner)}", *(f"reading {_content(path)}" for path in read)])


def identify(source: Method | Microdata | TableInParts | SfumatoError, *, rounded: bool = False) -> str:
    """Name a candidate in the store: a method as :func:`identity` does, a table made elsewhere by its content."""
    if isinstance(source, Method):
        return f"{identity(source)} rounded" if rounded else identity(source)
    return f"table {source.fingerprint}" if isinstance(source, Microdata | TableInParts) else f"no table: {source}"


def code_of(function: Callable[..., Any]) -> str:
    """Digest the code of a function: the module it is written in with what that imports, or else its own code."""
    return _digest(repr(sorted(_of_function(function))))


def _code(owner: Method | Measure) -> str:
    codes = {code for cls in _classes(owner) for code in _of_class(cls)}
    return _digest(repr(sorted(codes)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _content(path: str) -> str:
    """Digest a file, anew only when it has been written to since."""
    try:
        state = Path(path).stat()
        return _digest_of(Path(path), (state.st_mtime_ns, state.st_size))
    except OSError:  # that there is none, the measure says itself
        return "nothing"


@cache
def _digest_of(path: Path, _state: tuple[int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _classes(value: Any) -> Iterator[type]:
    """Yield the class of a method or measure, and of all that stands in its fields and could compute something."""
    if is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for entry in fields(value):
            yield from _classes(getattr(value, entry.name))
    elif isinstance(value, Mapping):
        yield from _classes(tuple(value.values()))
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _classes(inner)


@cache
def _of_class(cls: type) -> frozenset[str]:
    """Return what makes up the code of a class and of its bases."""
    found = {_modules(DRAWS)}
    for base in cls.__mro__:
        if _ours(base.__module__):
            found.add(_modules(base.__module__))
        elif base.__module__ not in ("abc", "builtins", "typing"):
            found.update(_of_foreign(base))
    return frozenset(found)


def _of_foreign(cls: type) -> Iterator[str]:
    for name, member in sorted(vars(cls).items()):
        inner = _function(member)
        if hasattr(inner, "__code__"):
            if name not in MADE:
                yield f"{cls.__module__}.{cls.__qualname__}.{name}: {sorted(_of_function(inner))}"
        elif not name.startswith("__") and name != "_abc_impl":
            yield f"{name} = {member!r}"


def _function(member: Any) -> Any:
    """Return the function behind a member of a class."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = member.func
    elif isinstance(member, classmethod | staticmethod):
        member = member.__func__
    return inspect.unwrap(member) if callable(member) else member


def _of_function(function: Any) -> Iterator[str]:
    """Yield what makes up a function: its module if that is ours, else its code and the modules of ours it names."""
    if _ours(function.__module__):
        yield _modules(function.__module__)
        return
    yield repr(_plain_code(function.__code__))
    for name in _names(function.__code__):
        known = function.__globals__.get(name)
        module = getattr(known, "__name__", "") if inspect.ismodule(known) else getattr(known, "__module__", "")
        yield from (_modules(place) for place in (name, module) if isinstance(place, str) and _ours(place))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _plain_code(code: CodeType) -> tuple[object, ...]:
    # the order of a set of texts is another in every process
    constants = [
        _plain_code(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
        for c in code.co_consts
    ]
    return code.co_code, code.co_names, constants


def _ours(module: str) -> bool:
    return module.partition(".")[0] == "sfumato"


@cache
def _modules(module: str) -> str:
    """Digest the text of a module of the package and of all it imports."""
    return _digest(repr(sorted((name, _module(name)[0]) for name in _modules_reached(module))))


def _modules_reached(module: str) -> set[str]:
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _module(name)[1]
    return reached


@cache
def _module(module: str) -> tuple[str, tuple[str, ...]]:
    """Digest the text of one module, and name those that it imports.

    A file that was written after this process had started may not be what runs in it; figures of its classes are then
    good for this process only.
    """
    if module not in _files():  # in an archive, say: known by its version alone
        return sfumato.__version__, ()
    path = Path(_files()[module])
    text = bare(path.read_text(encoding="utf-8"))
    edited = _STARTED <= path.stat().st_mtime <= time.time()  # a time to come tells of a wrong clock only
    state = f"edited while running, {_STARTED!r}" if edited else ""
    return _digest(text + state), tuple(sorted(set(_imports(text))))


@cache
def _files() -> dict[str, str]:
    """Return the path of every module of the package by its name."""
    found = {}
    for folder, _, names in os.walk(_FOLDER):
        package = "sfumato" + folder.removeprefix(_FOLDER).replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = package if name == "__init__.py" else f"{package}.{name.removesuffix('.py')}"
                found[module] = os.path.join(folder, name)  # noqa: PTH118 - a path object takes ten times as long
    return found


def _imports(text: str) -> Iterator[str]:
    """Yield the modules of the package that a text imports and that count."""
    for source, names, plain in _IMPORT.findall(text):
        parts = [f"{source}.{name}" for name in re.findall(r"\w+", names)]
        for module in {part if part in _files() else source for part in parts} or {plain}:
            if module in _files() and not f"{module}.".startswith(ASIDE):
                yield module


def bare(text: str) -> str:
    """Return the text of a module without comments, docstrings and blank lines.

    A docstring is a text in three double quotes on lines of its own after a colon or at the beginning.
    """
    code: list[str] = []
    strings: list[str] = []
    end, last = 0, ""  # of what was looked at, and the last character kept that is not blank
    for found in _WORDS.finditer(text):
        start = found.start()
        raw = text[start - 1 : start] in ("r", "R") and not text[start - 2 : start - 1].isalnum()
        before = text[end : start - raw]
        last = before.rstrip()[-1:] or last
        code.append(before)
        end = found.end()
        if text[start] == "#":
            continue
        own_line = not before.rpartition("\n")[2].strip() and text[end : end + 1] in ("\n", "")
        if text.startswith('"""', start) and own_line and last in ("", ":"):
            code.append("pass")
            continue
        code.append("\0")
        strings.append(text[start - raw : end])
        last = '"'
    code.append(text[end:])
    pieces = "\n".join(filter(None, map(str.rstrip, "".join(code).splitlines()))).split("\0")
    return "".join(part for pair in zip(pieces, [*strings, ""], strict=True) for part in pair)
