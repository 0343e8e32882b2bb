"""Values as they are typed into fields, and as Python writes them: numbers, variables, lists, methods, texts."""

import ast
import math
import re
from collections.abc import Iterable
from typing import Any, cast

from sfumato.workbench.screens.screen import Form, Refused


def variable(said: str, known: Iterable[str]) -> str:
    """Return the variable that a form names: a browser sends every line end as two characters."""
    return next((name for name in known if _lines(name) == _lines(said)), said)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def number(form: Form, name: str) -> str:
    """Return a number of a form as Python writes it, whole if it was typed so; refuse what is none."""
    value, said = form.number(name), form.text(name)
    if not math.isfinite(value):
        raise Refused(name, f"a number is needed here; got {said!r}")
    return str(int(said)) if re.fullmatch(r"[+-]?\d+", said) else repr(value)


def literal(said: str) -> str:
    """Return what was typed as Python reads it: a number, a list, a method; anything else is a text.

    >>> literal("[18, 65]"), literal("10 years"), literal("MDAV(k=3)")
    ('[18, 65]', "'10 years'", 'MDAV(k=3)')
    """
    try:
        ast.literal_eval(said)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return said if _is_call(said) else repr(said)
    return said


def _is_call(said: str) -> bool:
    try:
        found = ast.parse(said, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return _calls(found)


def _calls(node: ast.expr) -> bool:
    """Tell whether something is a call, or several joined by +."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and _calls(node.left) and _calls(node.right)
    return isinstance(node, ast.Call)


def shown(value: Any) -> str:
    """Return a value as it is typed into a field, so that ``literal`` reads it back."""
    bare = isinstance(value, str) and value.strip() == value and literal(value) == repr(value)
    return cast(str, value) if bare else repr(value)
