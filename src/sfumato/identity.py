"""Whose code computed a figure: the version, a digest of the package's files, and of those of a plug-in.

What is kept in a store is therefore never taken for what another version would compute: an edit of the package makes
all of it anew. What happens outside the package and the plug-in, in numpy say, is not seen.
"""

import inspect
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from types import CodeType
from typing import Any

import sfumato

OURS = "sfumato"
MADE = ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__")  # by dataclass, from the fields
_STARTED = time.time()


def identity(owner: Any) -> str:
    """Name a method or measure in the store: by its repr, a digest of its code, and the content of files it reads.

    Methods, measures and models inside its fields count too. Of a class that is not Sfumato's, the files of its
    package are digested and the compiled code of its methods, for it may have been typed at a prompt.
    """
    code = {text for cls in _classes(owner) for base in cls.__mro__ for text in _of_class(base)}
    reads = getattr(owner, "reads", ())
    return " ".join([f"{owner!r} {_digest(repr(sorted(code)))}", *(f"reading {_content(path)}" for path in reads)])


def code_of(function: Callable[..., Any]) -> str:
    """Digest the code of a function: the package's, and its own if it is not of the package."""
    own = "" if _package(function) == OURS else repr(_plain_code(function.__code__))
    return _digest(package_code(OURS) + own)


@cache
def package_code(package: str) -> str:
    """Digest all files of code of a package, or the one file of a module; of what has none, its name.

    A file that was written after this process had started may not be what runs in it: what is kept then is good for
    this process only.
    """
    module = sys.modules.get(package)
    places = [Path(place) for place in getattr(module, "__path__", ())]
    file = getattr(module, "__file__", None)
    files = [(place, path) for place in places for path in sorted(place.rglob("*.py"))]
    if not places and file is not None:
        files = [(Path(file).parent, Path(file))]
    digest = sha256(f"{package} {sfumato.__version__ if package == OURS else ''}".encode())
    for place, path in files:
        digest.update(str(path.relative_to(place)).encode())
        digest.update(path.read_bytes())
    # a time to come tells of a wrong clock only
    if any(_STARTED <= path.stat().st_mtime <= time.time() for _, path in files):
        digest.update(f"edited while running, {_STARTED!r}".encode())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _package(owner: Any) -> str:
    return str(owner.__module__).partition(".")[0]


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
        return file_digest(file, "sha256").hexdigest()[:12]


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
    """Return what makes up the code of a class, without its bases."""
    package = _package(cls)
    if package in ("abc", "builtins", "typing"):
        return frozenset()
    own = () if package == OURS else (f"{cls.__qualname__}.{member}" for member in _members(cls))
    return frozenset([package_code(package), *own])


def _members(cls: type) -> Iterator[str]:
    for name, member in sorted(vars(cls).items()):
        function = _function(member)
        if hasattr(function, "__code__"):
            if name not in MADE:
                yield f"{name}: {_plain_code(function.__code__)!r}"
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


def _plain_code(code: CodeType) -> tuple[object, ...]:
    # the order of a set of texts is another in every process
    constants = [
        _plain_code(c) if isinstance(c, CodeType) else sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c)
        for c in code.co_consts
    ]
    return code.co_code, code.co_names, constants
