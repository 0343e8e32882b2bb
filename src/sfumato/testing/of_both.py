"""The checks that methods and measures share."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato import catalogue
from sfumato.composition import Chain, Within
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable, SfumatoError
from sfumato.table.microdata import Microdata

Owner = Method | Measure


def names_itself(owner: Owner, refusal: SfumatoError) -> None:
    """Require that a refusal names the class that refuses."""
    assert any(name in str(refusal) for name in _speakers(owner)), (
        f"a refusal must name the class that refuses: {refusal}"
    )


def _speakers(owner: Owner) -> set[str]:
    """Name the classes that may refuse: of a chain and of blocks the methods inside too."""
    inside = owner.innermost if isinstance(owner, Method) else ()
    return {type(one).__name__ for one in (owner, *inside)}


def it_is_described(owner: Owner, _: Microdata) -> None:
    """Its docstring and its About say what it is."""
    about = owner.about
    assert type(owner).__doc__, "the class needs a docstring whose first line says what it is"
    assert about.title and about.source and about.missing, "About needs a title, a source and what becomes of gaps"


def its_repr_evaluates_back(owner: Owner, _: Microdata) -> None:
    """Repr, pickle, hash and the text of the command line all give the same thing."""
    assert pickle.loads(pickle.dumps(owner)) == owner
    assert hash(owner) == hash(replace(owner))
    if _speakers(owner) <= {*catalogue.methods(), *catalogue.measures(), "Chain", "Within"}:
        assert catalogue.parse(repr(owner)) == [owner], f"{owner!r} does not read back as itself"


def an_unknown_variable_is_refused(owner: Owner, data: Microdata) -> None:
    """A variable that the table lacks is named in the refusal; chains and blocks leave that to what is inside."""
    if isinstance(owner, Chain | Within):
        return
    misnamed: Any = replace(owner, variables=("no such variable",))
    try:
        if isinstance(owner, Method):
            misnamed.protect(data)
        else:
            misnamed.evaluate(data, data)
    except NotApplicable as refusal:
        assert "no such variable" in str(refusal), f"the refusal does not say which variable is lacking: {refusal}"
        return
    raise AssertionError("variables=('no such variable',) was not refused")


CHECKS_OF_BOTH: tuple[Callable[[Any, Microdata], None], ...] = (
    it_is_described,
    its_repr_evaluates_back,
    an_unknown_variable_is_refused,
)
