"""What a formula may hold: names, numbers, operators and a short list of functions.

A formula is text from a command line, a plan, a store or a page, and formulaic evaluates parts of it as Python. So each
part is checked before anything is evaluated: what is not listed here is refused.
"""

import ast
import math
import re
from collections.abc import Iterator

from sfumato.errors import ParameterError

LONGEST = 5_000  # characters of a formula
DEEPEST = 40  # parts inside each other
MOST_TERMS = 10_000  # that crossings may multiply to

FUNCTIONS = frozenset({
    "C", "I", "abs", "bs", "cc", "center", "cr", "cs", "exp", "exp10", "exp2", "log", "log10", "log2", "poly", "round",
    "scale", "standardize",
})  # fmt: skip
CURVES = frozenset({"bs", "cc", "cr", "cs", "poly"})  # which make as many columns as they are told
MOST_COLUMNS = 100
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


def check_size(text: str) -> None:
    """Refuse a formula that is too long, or that would multiply to more terms than anybody means."""
    if len(text) > LONGEST:
        raise ParameterError(f"a model of {len(text):,} characters is too long; at most {LONGEST:,} are read")
    outside = _without_calls(text)
    names = len(set(_NAMES.findall(outside)))
    for power in _POWER.findall(outside):
        times = int(power) if power.isascii() and power.isdigit() and len(power) < 4 else 0
        times *= not _POWER_OF_POWER.search(outside)
        if not times or sum(math.comb(names, k) for k in range(1, min(times, names) + 1)) > MOST_TERMS:
            raise ParameterError(
                f"the model {_short(text)!r}: terms to the power {power} are not read; a small whole number gives all "
                "products of so many, ** inside I(...) is the power of a number"
            )
    crossings = max((piece.replace("**", "").count("*") for piece in outside.split("+")), default=0)
    if 2 ** (crossings + 1) > MOST_TERMS:
        raise ParameterError(f"the model {_short(text)!r} crosses {crossings + 1} terms; write the products you mean")


def check_part(text: str) -> tuple[ast.Expression, dict[str, str]]:
    """Return a part that would be evaluated as Python, read, and the names that stood in backticks, by their stand-ins.

    A part that holds more than the grammar has is refused.
    """
    expression, quoted = _without_backticks(text)
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError):
        raise ParameterError(f"cannot read {expression!r} in the model {_short(text)!r}") from None
    except (RecursionError, MemoryError):
        raise too_deep(text) from None
    for node, depth in _walk(tree):
        if depth > DEEPEST:
            raise too_deep(text)
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


def too_deep(text: str) -> ParameterError:
    """Return the error that says that parts stand too deep inside each other."""
    return ParameterError(f"the model {_short(text)!r} nests its parts too deeply; at most {DEEPEST} are read")


def _wrong(node: ast.AST) -> str:
    """Name what a node is that a formula may not hold; empty if it may."""
    if not isinstance(node, _PARTS) or isinstance(node, _NOT_THESE):
        return repr(ast.unparse(node)) if isinstance(node, ast.expr) else f"the operator {type(node).__name__}"
    if isinstance(node, ast.Attribute):
        return "" if _listed(node) else repr(ast.unparse(node))
    if isinstance(node, ast.Call):
        known = _listed(node.func) if isinstance(node.func, ast.Attribute) else _named(node.func, FUNCTIONS)
        starred = any(keyword.arg is None for keyword in node.keywords)
        if _named(node.func, CURVES) and _largest(node) > MOST_COLUMNS:
            return f"a curve of more than {MOST_COLUMNS} columns, {ast.unparse(node)},"
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
