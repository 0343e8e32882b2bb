"""What a user says of a model: its formula, read and checked, its family and how much it counts."""

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from types import ModuleType
from typing import Any, Literal, get_args

import numpy as np

from sfumato import parameters
from sfumato.errors import NotApplicable, ParameterError
from sfumato.registry import parameter_class

# What a formula may hold: names, numbers, operators and a short list of functions.
#
# A formula is text from a command line, a plan, a store or a page, and formulaic evaluates parts of it as Python. So
# each part is checked before anything is evaluated: what is not listed here is refused.

MAX_LENGTH = 5_000  # characters of a formula
MAX_DEPTH = 40  # parts inside each other
MAX_TERMS = 10_000  # that crossings may multiply to

FUNCTIONS = frozenset({
    "C", "I", "abs", "bs", "cc", "center", "cr", "cs", "exp", "exp10", "exp2", "log", "log10", "log2", "poly", "round",
    "scale", "standardize",
})  # fmt: skip
CURVES = frozenset({"bs", "cc", "cr", "cs", "poly"})  # which make as many columns as they are told
MAX_COLUMNS = 100
QUOTES = "`'\""
CODINGS = frozenset({"diff", "helmert", "poly", "SAS", "sum", "treatment"})  # contr.treatment('a')
OF_NUMPY = frozenset({
    "abs", "absolute", "arctan", "ceil", "clip", "cos", "exp", "exp2", "expm1", "floor", "isfinite", "isnan", "log",
    "log10", "log1p", "log2", "maximum", "minimum", "round", "sign", "sin", "sqrt", "square", "tan", "tanh", "where",
})  # fmt: skip

_PARTS = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.keyword, ast.Name, ast.Constant,
    ast.List, ast.Tuple, ast.Attribute, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_NOT_THESE = (ast.MatMult, ast.LShift, ast.RShift, ast.Is, ast.IsNot, ast.In, ast.NotIn)
_POWER = re.compile(r"(?:\*\*|\^)\s*\(*\s*([^\s()]*)")
_POWER_OF_POWER = re.compile(r"(?:\*\*|\^)\s*[\s\w()]*(?:\*\*|\^)")
_NAMES = re.compile(r"`[^`]+`|[^\W\d]\w*")


def _check_size(text: str) -> None:
    """Refuse a formula that is too long, or that would multiply to more terms than anybody means."""
    if len(text) > MAX_LENGTH:
        raise ParameterError(f"a model of {len(text):,} characters is too long; at most {MAX_LENGTH:,} are read")
    outside = _without_calls(text)
    names = len(set(_NAMES.findall(outside)))
    for power in _POWER.findall(outside):
        times = int(power) if power.isascii() and power.isdigit() and len(power) < 4 else 0
        times *= not _POWER_OF_POWER.search(outside)
        if not times or sum(math.comb(names, k) for k in range(1, min(times, names) + 1)) > MAX_TERMS:
            raise ParameterError(
                f"the model {_short(text)!r}: terms to the power {power} are not read; a small whole number gives all "
                "products of so many, ** inside I(...) is the power of a number"
            )
    crossings = max((piece.replace("**", "").count("*") for piece in outside.split("+")), default=0)
    if 2 ** (crossings + 1) > MAX_TERMS:
        raise ParameterError(f"the model {_short(text)!r} crosses {crossings + 1} terms; write the products you mean")


def _check_part(text: str) -> tuple[ast.Expression, dict[str, str]]:
    """Return a part that would be evaluated as Python, read, and the names that stood in backticks, by their stand-ins.

    A part that holds more than the grammar has is refused.
    """
    expression, quoted = _without_backticks(text)
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError):
        raise ParameterError(f"cannot read {expression!r} in the model {_short(text)!r}") from None
    except (RecursionError, MemoryError):
        raise _too_deep(text) from None
    for node, depth in _walk(tree):
        if depth > MAX_DEPTH:
            raise _too_deep(text)
        wrong = _wrong(node)
        if wrong:
            raise ParameterError(
                f"the model {_short(text)!r}: {wrong} is not part of a formula; names, numbers, operators, the "
                f"functions {', '.join(sorted(FUNCTIONS))} and those of numpy such as np.sqrt and np.where are"
            )
    return tree, quoted


def _without_backticks(text: str) -> tuple[str, dict[str, str]]:
    """Put plain names in the place of those in backticks.

    Python, formulaic and this function must agree on where a text begins and ends, or else one takes for a name what
    another evaluates. So a backslash, a comment, a backtick in a text and a quote in a name are refused: without them
    there is one way to read it.

    >>> _without_backticks("I(`my pay` == 'a')")
    ("I(_quoted_0_ == 'a')", {'_quoted_0_': 'my pay'})
    """
    odd = next((sign for sign in text if sign in "\\#" or not sign.isprintable()), None)
    if odd is not None:
        raise ParameterError(f"the model {_short(text)!r}: {odd!r} has no place in a formula")
    out: list[str] = []
    quoted: dict[str, str] = {}
    waiting = text
    while waiting:
        sign, waiting = waiting[0], waiting[1:]
        if sign not in QUOTES:
            out.append(sign)
            continue
        inside, end, waiting = waiting.partition(sign)
        if not end:
            raise ParameterError(f"the model {_short(text)!r}: a {sign} is not closed")
        if "`" in inside or (sign == "`" and set(QUOTES) & set(inside)):
            raise ParameterError(f"the model {_short(text)!r}: a backtick in a text, or a quote in a name, is not read")
        if sign != "`":
            out += [sign, inside, end]
            continue
        stand_in = next((known for known, name in quoted.items() if name == inside), f"_quoted_{len(quoted)}_")
        quoted[stand_in] = inside
        out.append(stand_in)
    return "".join(out), quoted


def _too_deep(text: str) -> ParameterError:
    """Return the error that says that parts stand too deep inside each other."""
    return ParameterError(f"the model {_short(text)!r} nests its parts too deeply; at most {MAX_DEPTH} are read")


def _wrong(node: ast.AST) -> str:
    """Name what a node is that a formula may not hold; empty if it may."""
    if not isinstance(node, _PARTS) or isinstance(node, _NOT_THESE):
        return repr(ast.unparse(node)) if isinstance(node, ast.expr) else f"the operator {type(node).__name__}"
    if isinstance(node, ast.Attribute):
        return "" if _listed(node) else repr(ast.unparse(node))
    if isinstance(node, ast.Call):
        known = _listed(node.func) if isinstance(node.func, ast.Attribute) else _named(node.func, FUNCTIONS)
        starred = any(keyword.arg is None for keyword in node.keywords)
        if _named(node.func, CURVES) and _largest(node) > MAX_COLUMNS:
            return f"a curve of more than {MAX_COLUMNS} columns, {ast.unparse(node)},"
        return "" if known and not starred else f"{ast.unparse(node.func)}(...)"
    if isinstance(node, ast.Name):
        return repr(node.id) if node.id.startswith("__") else ""
    if isinstance(node, ast.Constant):
        return "" if isinstance(node.value, bool | int | float | str) else repr(node.value)
    if isinstance(node, ast.BinOp):  # 9**9**9 and 'a' * 10**9 take for ever
        sides = list(ast.walk(node.left)) + list(ast.walk(node.right))
        texts = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right))
        lists = any(isinstance(side, ast.List | ast.Tuple) for side in (node.left, node.right))
        power = isinstance(node.op, ast.Pow) and not any(isinstance(side, ast.Name) for side in sides)
        return repr(ast.unparse(node)) if texts or lists or power else ""
    return ""


def _named(node: ast.expr, names: frozenset[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _largest(node: ast.Call) -> float:
    """Return the largest number that a call is given."""
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    numbers = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, int | float)]
    return max(map(float, numbers), default=0.0)


def _listed(node: ast.Attribute) -> bool:
    """Tell whether it is np.sqrt, contr.treatment and their like."""
    rooms = {"np": OF_NUMPY, "contr": CODINGS}
    return isinstance(node.value, ast.Name) and node.attr in rooms.get(node.value.id, frozenset())


def _walk(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Go through all nodes with their depth, without recursion."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]


def _without_calls(text: str) -> str:
    """Return the text without what stands inside function calls and braces, which is not the formula's own algebra.

    >>> _without_calls("y ~ (a + b)**2 + I(x ** 2)")
    'y ~ (a + b)**2 + I'
    """
    out, inside, before = [], 0, ""
    for sign in text:
        if inside:
            inside += (sign in "({") - (sign in ")}")
        elif sign == "{" or (sign == "(" and (before.isalnum() or before in ("_", "."))):
            inside = 1
        else:
            out.append(sign)
        before = sign if inside or not sign.isspace() else before
    return "".join(out)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


# Formulas: what formulaic makes of the text, as factors and products that are built a block of records at a time

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
    _check_size(text)
    formulaic = load()
    try:
        whole = formulaic.Formula(text)
        sides: list[Any] = [getattr(whole, side, None) for side in ("lhs", "rhs")]
    except formulaic.errors.FormulaicError as error:
        reason = " ".join(_plain(str(error)).split())
        raise ParameterError(f"cannot read the model {text!r}: {reason}") from None
    except (RecursionError, MemoryError):
        raise _too_deep(text) from None
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
    tree, quoted = _check_part(factor.expr)
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


# The model

Family = Literal["linear", "logistic", "poisson"]


@parameter_class
@dataclass(frozen=True)
class Model:
    """A model that users of the file will fit: a formula, a family, and its weight among several models.

    The formula is read by formulaic, in the notation of R: ``"agi ~ emcontrb + fedtax + C(region)"``. ``"agi ~ 1"`` is
    a mean and ``"agi ~ 0 + C(region)"`` are means by group (with one common variance, as in any linear model). The
    response is a number; for a proportion compare a category: ``"I(sex == 'f') ~ 1"``, by group ``"I(sex == 'f') ~ 0 +
    C(region)"``. Names that are not plain words stand in backticks.

    ``family`` is "linear" (least squares), "logistic" (a response of 0 and 1, logit link) or "poisson" (counts, log
    link). A text alone stands for a linear model of weight 1.

    >>> Model("employed ~ age", family="logistic")
    Model('employed ~ age', family='logistic')
    """

    formula: str
    family: Family = "linear"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str):
            raise parameters.refuse(self, f"the formula must be a text such as 'y ~ x'; got {self.formula!r}")
        parameters.one_of(self, "family", get_args(Family))
        parameters.number(self, "weight", above=0)
        parse(self.formula)  # a misspelt formula is refused where it is written

    def __repr__(self) -> str:
        family = "" if self.family == "linear" else f", family={self.family!r}"
        weight = "" if self.weight == 1.0 else f", weight={self.weight!r}"
        return f"Model({self.formula!r}{family}{weight})"

    @property
    def label(self) -> str:
        """The formula, and the family where it is not linear: how results name the model."""
        return self.formula if self.family == "linear" else f"{self.formula} ({self.family})"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the formula needs."""
        return parse(self.formula).variables


def as_models(owner: object, given: "str | Model | Sequence[str | Model]") -> tuple[Model, ...]:
    """Read one model or several; a text is a linear model."""
    listed = (given,) if isinstance(given, str | Model) else tuple(given)
    models = []
    for item in listed:
        if not isinstance(item, str | Model):
            raise parameters.refuse(owner, f"a model is a formula text or a Model; got {item!r}")
        try:
            models.append(item if isinstance(item, Model) else Model(item))
        except ParameterError as error:
            raise parameters.refuse(owner, str(error)) from None
    if not models:
        raise parameters.refuse(owner, "the list of models is empty")
    labels = [model.label for model in models]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise parameters.refuse(owner, f"the model {twice[0]!r} is listed twice; give it a weight instead")
    return tuple(models)
