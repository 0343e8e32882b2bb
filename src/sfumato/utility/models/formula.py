"""Formulas: what formulaic makes of the text, as factors and products that are built a block of records at a time."""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from sfumato.errors import NotApplicable, ParameterError
from sfumato.utility.models.grammar import check_part, check_size, too_deep

_NAME = r"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*"
_SIMPLE = re.compile(rf"{_NAME}~(?:\s*1\s*|{_NAME})")  # a mean, or a regression on one variable
_CATEGORIES = re.compile(rf"C\({_NAME}\)")


@dataclass(frozen=True)
class Factor:
    """One factor of a term: a variable as it is, the categories of one, or an expression that formulaic evaluates.

    ``reduced`` leaves the first category out, because other terms already hold the constant.
    """

    text: str
    variable: str | None = None  # of which the factor is the values or the categories; None for an expression
    categorical: bool = False
    reduced: bool = False
    parsed: Any = None  # formulaic's factor, for an expression


@dataclass(frozen=True)
class Parsed:
    """A formula taken apart: the variables it names and its two sides."""

    text: str
    variables: tuple[str, ...]
    left: Any  # formulaic's two formulas; for the simplest models, which need no formulaic, names: the response's
    right: Any  # and the predictor's, None for a mean
    simple: bool = False


@lru_cache(maxsize=1024)
def parse(text: str) -> Parsed:
    """Read a formula; what cannot be one is refused with the place that is wrong."""
    found = _SIMPLE.fullmatch(text)
    if found:
        left, right = found[1] or found[2], found[3] or found[4]
        return Parsed(text, tuple(name for name in (left, right) if name), left, right, simple=True)
    check_size(text)
    formulaic = load()
    try:
        whole = formulaic.Formula(text)
        sides: list[Any] = [getattr(whole, side, None) for side in ("lhs", "rhs")]
    except formulaic.errors.FormulaicError as error:
        reason = " ".join(_plain(str(error)).split())
        raise ParameterError(f"cannot read the model {text!r}: {reason}") from None
    except (RecursionError, MemoryError):
        raise too_deep(text) from None
    except Exception as error:  # of what it did not foresee
        raise ParameterError(f"cannot read the model {text!r}: {_reason(error)}") from None
    if not all(isinstance(side, formulaic.SimpleFormula) for side in sides):
        raise ParameterError(f"cannot read the model {text!r}; write for example 'income ~ age + C(region)'")
    left, right = sides
    # checked first: formulaic runs parts of an expression even to list its variables
    factors = [factor for side in sides for term in side for factor in term.factors]
    variables = tuple(sorted(set().union(*map(variables_of, factors))))
    if len(left) != 1 or len(left[0].factors) != 1:
        raise ParameterError(f"the model {text!r} needs one response left of '~'; it has {left}")
    if not len(right):
        raise ParameterError(f"the model {text!r} has no term; for a mean write '{left} ~ 1'")
    return Parsed(text, variables, left, right)


def variables_of(factor: Any) -> set[str]:
    """Name the variables a factor needs; refuse one that holds more than the grammar of formulas has.

    formulaic's own list lacks those inside ``center`` and other transformations that remember the data.
    """
    if factor.eval_method.value != "python":
        return {factor.expr} if factor.eval_method.value == "lookup" else set()
    tree, quoted = check_part(factor.expr)
    apart = {
        id(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call | ast.Attribute)
        and isinstance(root := node.func if isinstance(node, ast.Call) else node.value, ast.Name)
    }
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in apart}
    return {quoted.get(name, name) for name in names}


def load() -> ModuleType:
    """Import formulaic, which few users need."""
    try:
        import formulaic
        import formulaic.errors
    except ModuleNotFoundError:
        raise ParameterError(
            "models with predictors need formulaic, which is not installed; run: pip install 'sfumato[models]'"
        ) from None
    module: ModuleType = formulaic
    return module


def sides(parsed: Parsed, pilot: Any, where: str) -> tuple[Factor, tuple[tuple[Factor, ...], ...]]:
    """Return the response and the terms; ``pilot`` is a small frame of the original that tells numbers from categories.

    The intercept is the term without factors.
    """
    formulaic = load()
    try:
        with np.errstate(all="ignore"):
            left, right = (
                formulaic.model_matrix(side, pilot, context={"np": np}, na_action="ignore").model_spec
                for side in (parsed.left, parsed.right)
            )
    except Exception as error:  # an expression of the user's may fail in any way
        raise NotApplicable(f"{where}: {_reason(error)}") from None
    (response,) = _terms(left)
    if len(response) != 1 or response[0].categorical:
        name = parsed.left
        raise NotApplicable(f"{where}: the response {name} is not a number; compare a category: I({name} == ...)")
    return response[0], tuple(_terms(right))


def _terms(spec: Any) -> list[tuple[Factor, ...]]:
    terms = []
    for term in spec.structure:
        for scoped in term.scoped_terms:
            if scoped.scale not in (None, 1):
                raise NotApplicable(f"the term {term.term} has a factor {scoped.scale}; leave it out")
            terms.append(tuple(_factor(part, spec) for part in scoped.factors))
    return terms


def _factor(scoped: Any, spec: Any) -> Factor:
    parsed, text = scoped.factor.factor, scoped.factor.expr
    kind, _ = spec.encoder_state[text]
    categorical = kind.value == "categorical"
    plain = _CATEGORIES.fullmatch(text)
    if parsed.eval_method.value == "lookup":
        variable = text
    elif plain is not None:
        variable = plain[1] or plain[2]
    else:
        return Factor(text, None, categorical, scoped.reduced, parsed)
    return Factor(text, variable, categorical, scoped.reduced)


def column_names(factors: list[list[str]]) -> list[tuple[str, tuple[int, ...]]]:
    """Name the products of the factors' columns, first factor fastest, with the place of each in its factor."""
    places = product(*(range(len(names)) for names in reversed(factors)))
    named = []
    for place in places:
        straight = tuple(reversed(place))
        parts = [names[i] for names, i in zip(factors, straight, strict=True)]
        named.append((":".join(parts) or "Intercept", straight))
    return named


def _plain(message: str) -> str:
    """Strip the colours and the arrows that formulaic puts around the place that is wrong."""
    return re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", message)


def _reason(error: Exception) -> str:
    return " ".join(_plain(str(error)).split()) or type(error).__name__
