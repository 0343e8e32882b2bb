"""What every method and every measure must do, as checks that a class of your own can run too.

::

    import pytest
    import sfumato.testing

    @pytest.mark.parametrize("check", sfumato.testing.checks(PovertyShift, data=my_table), ids=str)
    def test_contract(check):
        check()

A check is called without arguments and raises ``AssertionError`` with a sentence. Sfumato runs the same ones over its
own catalogue.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfumato.core import Measure, Method
from sfumato.errors import ParameterError
from sfumato.table.microdata import Microdata
from sfumato.testing.of_measures import MEASURE_CHECKS
from sfumato.testing.of_methods import METHOD_CHECKS
from sfumato.testing.tables import amounts, persons, with_gaps

__all__ = ["Check", "amounts", "checks", "persons", "with_gaps"]


@dataclass(frozen=True, eq=False)
class Check:
    """One thing that a method or measure must do."""

    owner: Method | Measure
    run: Callable[[Any, Microdata], None]
    data: Microdata

    def __call__(self) -> None:
        """Check it; an ``AssertionError`` says what is wrong."""
        self.run(self.owner, self.data)

    def __str__(self) -> str:
        return self.run.__name__.replace("_", " ")


def checks(owner: Any, *, data: Any = None) -> tuple[Check, ...]:
    """List the checks of a method or measure: a class, which is taken with its defaults, or an instance.

    ``data`` is a table it fits; without one, made-up persons are used, with keys of every kind, amounts, a weight,
    households and an id.
    """
    made = owner() if isinstance(owner, type) else owner
    table = persons() if data is None else Microdata.from_frame(data)
    if isinstance(made, Method):
        return tuple(Check(made, run, table) for run in METHOD_CHECKS)
    if isinstance(made, Measure):
        return tuple(Check(made, run, table) for run in MEASURE_CHECKS)
    raise ParameterError(f"checks: a method or a measure is needed; got {owner!r}")
