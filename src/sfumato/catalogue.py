"""Every method and measure by name: read by the command line, the report, docs and tests.

Sfumato's own are there by their packages. An installed package brings its own along by entry points of the groups
``sfumato.methods`` and ``sfumato.measures``, each of which names a class under ``@catalogued`` (or a module of them).
"""

import ast
import difflib
import warnings
from dataclasses import fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from itertools import product, zip_longest
from typing import Any, cast, get_args, get_origin

import sfumato.methods
import sfumato.risk
import sfumato.utility  # noqa: F401 - their classes enter the catalogue as they are imported
from sfumato.about import MethodAbout
from sfumato.composition import Within
from sfumato.core import Measure, Method
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.parameters import frozen
from sfumato.registry import MEASURES, METHODS, PARAMETERS, catalogued

__all__ = ["catalogued", "default_grid", "find", "measures", "methods", "parse", "plug_ins"]

GROUPS = ("sfumato.methods", "sfumato.measures")


@cache
def plug_ins() -> tuple[str, ...]:
    """Load the classes of installed packages, once, and name them; one that cannot be loaded is warned of."""
    loaded = []
    for group in GROUPS:
        for point in entry_points(group=group):
            try:
                point.load()
            except SfumatoError as error:
                raise type(error)(f"plug-in {_named(point)}: {error}") from None
            except Exception as error:
                warnings.warn(
                    f"plug-in {_named(point)} cannot be loaded and is left out: {type(error).__name__}: {error}",
                    stacklevel=2,
                )
                continue
            loaded.append(point.name)
    return tuple(loaded)


def _named(point: EntryPoint) -> str:
    """Name an entry point by the package it comes from."""
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return f"{point.name!r}{package}"


def methods() -> dict[str, type[Method]]:
    """Every method by name."""
    plug_ins()
    return dict(sorted(METHODS.items()))


def measures() -> dict[str, type[Measure]]:
    """Every measure by name."""
    plug_ins()
    return dict(sorted(MEASURES.items()))


def find(name: str) -> type[Method] | type[Measure]:
    """Look up a method or measure; a misspelt name is answered with the nearest ones."""
    if not isinstance(name, str):
        raise ParameterError(f"a method or measure is found by its name, a text; got {name!r}")
    known: dict[str, type[Method] | type[Measure]] = {**methods(), **measures()}
    if name in known:
        return known[name]
    spelled = {known_name.lower(): known_name for known_name in known}
    meant = [spelled[near] for near in difflib.get_close_matches(name.lower(), spelled, n=2, cutoff=0.6)]
    meant = meant or [known_name for known_name, cls in known.items() if f"({name.upper()})" in cls.about.title]
    hint = f"; did you mean {' or '.join(meant)}?" if meant else "; see `sfumato methods` and `sfumato measures`"
    raise ParameterError(f"there is no method or measure {name!r}{hint}")


def parse(text: str) -> list[Method | Measure]:
    """Build what a text such as ``MDAV(k=[3, 5, 10])`` stands for: one instance per combination of listed values.

    A name alone takes the class's own grid (methods) or defaults (measures). Of a method, a list gives one instance per
    entry; where the parameter is itself a list (names of variables, say), a list of lists does. Of a measure, a list is
    one value, as in Python. Methods joined by ``+`` are done one after the other: ``Rounding(10) + Noise([0.1, 0.2])``
    gives two chains, and ``MDAV([3, 5]).within("region")`` two methods that work region by region. A dict is one value,
    lists inside it too: ``GlobalRecoding(bins={"age": [18, 65]})``. A measure that has no parameter to be given by
    position takes names of variables there: ``Suppressed(region)``.

    >>> parse("Suppressed(region, sex)")
    [Suppressed(variables=('region', 'sex'))]
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if isinstance(call, ast.BinOp) and isinstance(call.op, ast.Add):
            return _chained(call)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "within":
            return _by_blocks(call, call.func.value)
        name = call.id if isinstance(call, ast.Name) else call.func.id  # type: ignore[attr-defined]
        call = _with_variables(name, call)
        positional = [_value(value) for value in getattr(call, "args", [])]
        keywords = {str(k.arg): _value(k.value) for k in getattr(call, "keywords", [])}
    except (ParameterError, SchemaError):  # of a model, a hierarchy or a method inside, which says more
        raise
    except (SyntaxError, ValueError, AttributeError, TypeError):
        raise ParameterError(f"cannot read {text!r}; write for example 'MDAV(k=[3, 5, 10])'") from None
    except (RecursionError, MemoryError):
        raise ParameterError(f"cannot read {text[:60]!r}...: its parts stand too deep inside each other") from None
    cls: Any = find(name)
    if isinstance(call, ast.Name) and isinstance(cls.about, MethodAbout):
        return list(default_grid(cls))
    in_order = [entry.name for entry in fields(cls) if not entry.kw_only]
    given = [*zip_longest(in_order[: len(positional)], positional), *keywords.items()]
    choices = [_choices(cls, parameter, value) for parameter, value in given]
    made: list[Method | Measure] = []
    for combination in product(*choices):
        first, rest = combination[: len(positional)], combination[len(positional) :]
        try:
            made.append(cls(*first, **dict(zip(keywords, rest, strict=True))))
        except TypeError as error:
            raise _misused(cls, error) from None
    return made


def _with_variables(name: str, call: ast.expr) -> ast.expr:
    """Take what stands by position in a measure that has no such parameter as the names of its variables."""
    cls = measures().get(name)
    if cls is None or not isinstance(call, ast.Call) or not call.args or any(not f.kw_only for f in fields(cls)):
        return call
    names = [entry.id if isinstance(entry, ast.Name) else _value(entry) for entry in call.args]
    if not all(isinstance(entry, str) for entry in names) or any(k.arg == "variables" for k in call.keywords):
        raise ParameterError(
            f"cannot read {ast.unparse(call)}: write the names of its variables, {name}(region), or {name}(variables="
            "('region',))"
        )
    given = ast.keyword("variables", ast.Tuple([ast.Constant(entry) for entry in names]))
    return ast.Call(call.func, [], [*call.keywords, given])


def _choices(cls: type[Method] | type[Measure], parameter: str | None, value: Any) -> list[Any]:
    """Return the values a parameter is to take in turn."""
    if not isinstance(value, list) or not isinstance(cls.about, MethodAbout):
        return [frozen(value)]
    hint = next((entry.type for entry in fields(cls) if entry.name == parameter), None)
    if any(get_origin(part) is tuple for part in (hint, *get_args(hint))):  # itself a list, so a list is one value
        several = value and all(isinstance(entry, list | tuple) for entry in value)
        return [frozen(entry) for entry in value] if several else [frozen(value)]
    return [frozen(entry) for entry in value]


def _chained(call: ast.BinOp) -> list[Method | Measure]:
    """Build every chain of a text such as ``Rounding(10) + Noise([0.1, 0.2])``."""
    firsts, seconds = parse(ast.unparse(call.left)), parse(ast.unparse(call.right))
    for part in (*firsts, *seconds):
        if not isinstance(part, Method):
            raise ParameterError(f"only methods can be chained with +; {part!r} is a measure")
    return [first + second for first, second in product(firsts, seconds)]  # type: ignore[operator]


def _by_blocks(call: ast.Call, inside: ast.expr) -> list[Method | Measure]:
    """Build the methods of a text such as ``MDAV(k=[3, 5]).within("region")``."""
    by = [_value(value) for value in call.args]
    options = {str(k.arg): _value(k.value) for k in call.keywords}
    made: list[Method | Measure] = []
    for method in parse(ast.unparse(inside)):
        if not isinstance(method, Method):
            raise ParameterError(f"only methods work by blocks; {method!r} is a measure")
        try:
            made.append(method.within(*by, **options))
        except TypeError as error:
            raise _misused(Within, error) from None
    return made


def _misused(cls: Any, error: TypeError) -> ParameterError:
    """Say which parameters there are."""
    known = ", ".join(entry.name for entry in fields(cls))
    reason = str(error).partition("__init__() ")[2] or str(error)
    return ParameterError(f"{cls.__name__} {reason}; its parameters are {known}")


def _value(node: ast.expr) -> Any:
    """Read a parameter: a literal, a method such as ``of=MDAV(k=3)``, a model, or a list, tuple or dict of these."""
    if isinstance(node, ast.Name):
        raise ParameterError(f"cannot read {node.id}: texts and names of variables stand in quotes, {node.id!r}")
    if isinstance(node, ast.Dict):
        keys = [_value(cast(ast.expr, key)) for key in node.keys]  # None, of **more, is refused as no literal
        return dict(zip(keys, map(_value, node.values), strict=True))
    if isinstance(node, ast.Tuple):
        return tuple(_value(element) for element in node.elts)
    if isinstance(node, ast.Call):
        plug_ins()
        name = getattr(node.func, "id", "")
        if name in PARAMETERS:
            keywords = {str(k.arg): _value(k.value) for k in node.keywords}
            try:
                return PARAMETERS[name](*map(_value, node.args), **keywords)
            except TypeError as error:
                raise _misused(PARAMETERS[name], error) from None
        made = parse(ast.unparse(node))
        return made if len(made) > 1 else made[0]
    if isinstance(node, ast.List):
        return [_value(element) for element in node.elts]
    return ast.literal_eval(node)


def default_grid(cls: type[Method]) -> tuple[Method, ...]:
    """Build the candidates a sweep tries of a method when nobody says which."""
    grid = cls.about.grid
    return tuple(cls(**dict(zip(grid, values, strict=True))) for values in product(*grid.values()))
