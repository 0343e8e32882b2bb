"""The exceptions of Sfumato; each message says what was wrong, where, and what to do.

::

    SfumatoError
    ├── ParameterError      a parameter that cannot be right, whatever the data      (also a ValueError)
    ├── DataError           a table that cannot be used as it stands                 (also a ValueError)
    │   └── SchemaError     a schema that contradicts itself or the table
    ├── NotApplicable       a method or measure that does not fit this table: in an
    │                       experiment it becomes a row with the reason              (also a ValueError)
    ├── FileError           a file that cannot be read or written                    (also an OSError)
    ├── LackOfMemory        work that would need more memory than is free            (also a MemoryError)
    ├── Cancelled           the reading of a file, ended by who watches it
    └── EngineError         processes or a cluster that cannot do what they are sent (also a RuntimeError)
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

T = TypeVar("T")


class SfumatoError(Exception):
    """Anything Sfumato refuses on purpose."""


class ParameterError(SfumatoError, ValueError):
    """A parameter that cannot be right, whatever the data."""


class DataError(SfumatoError, ValueError):
    """A table that cannot be used as it stands."""


class SchemaError(DataError):
    """A schema that contradicts itself or the table."""


class NotApplicable(SfumatoError, ValueError):  # noqa: N818 - it is a finding about the data, not a mistake
    """A method or measure that does not fit this table.

    ``who`` is the class that refuses. It is named once, in front of the text.

    >>> str(NotApplicable("the table has no keys").by("KAnonymity"))
    'KAnonymity: the table has no keys'
    """

    def __init__(self, text: str = "", *, who: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.who = who

    def by(self, who: str) -> "NotApplicable":
        """Return this refusal with the class that speaks, unless it is known already."""
        if not self.who:  # a text that begins with the name already is not made to say it twice
            self.who, self.text = who, self.text.removeprefix(f"{who}: ")
        return self

    def __str__(self) -> str:
        return f"{self.who}: {self.text}" if self.who else self.text


class FileError(SfumatoError, OSError):
    """A file that cannot be read or written."""


class LackOfMemory(SfumatoError, MemoryError):  # noqa: N818 - it is a fact about the machine
    """Work that would need more memory than is free, refused before it is begun."""


class Cancelled(SfumatoError):  # noqa: N818 - nothing is wrong
    """Raised by who watches the reading of a file, to end it."""


class EngineError(SfumatoError, RuntimeError):
    """Processes or a cluster that cannot do what they are sent."""


# what is nothing about a table: it ends a run, which goes on when it is repeated
OF_THE_RUN = (EngineError, MemoryError, OSError)


def unexpected(error: Exception) -> str:
    """Say in a line what went wrong in a look at a table, so that the line can stand for what was looked for.

    >>> unexpected(ZeroDivisionError("division by zero")), unexpected(NotApplicable("the table has no keys"))
    ('ZeroDivisionError: division by zero', 'the table has no keys')
    """
    said = " ".join(str(error).split())[:200]
    return said if isinstance(error, SfumatoError) else f"{type(error).__name__}: {said}".rstrip(": ")


def refusing(kind: type[SfumatoError]) -> Callable[[Callable[[T], None]], Callable[[T], None]]:
    """Let a check refuse with ``kind`` what it was not made for, such as an array where a word is due."""

    def of(check: Callable[[T], None]) -> Callable[[T], None]:
        @wraps(check)
        def checked(self: T) -> None:
            try:
                check(self)
            except SfumatoError:
                raise
            except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, RecursionError) as error:
                raise kind(f"{type(self).__name__}: what is given cannot be used: {error}") from error

        return checked

    return of
