"""What a screen is: a page that shows a part of the draft, and the changes that can be made on it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.workbench.desk import Desk
    from sfumato.workbench.draft import Draft


class Form:
    """What a page sent: texts by name, several of a name in their order."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._texts: dict[str, list[str]] = {}
        for name, value in pairs:
            self._texts.setdefault(name, []).append(value)

    def text(self, name: str, default: str = "") -> str:
        """Return the last text of a name, without blanks around it."""
        return self._texts[name][-1].strip() if name in self._texts else default

    def texts(self, name: str) -> list[str]:
        """Return all texts of a name."""
        return list(self._texts.get(name, ()))

    def has(self, name: str) -> bool:
        """Tell whether a name was sent, as that of a ticked box is."""
        return name in self._texts

    def number(self, name: str, *, least: float | None = None, most: float | None = None) -> float:
        """Return a number; refuse what is none, at the field that it stands in."""
        said = self.text(name)
        try:
            value = float(said.replace(",", ".")) if said.count(",") == 1 and "." not in said else float(said)
        except ValueError:
            raise Refused(name, f"a number is needed here; got {said[:40]!r}") from None
        if not isfinite(value):
            raise Refused(name, f"a number is needed here; got {said[:40]!r}")
        if not (least is None or value >= least) or not (most is None or value <= most):
            stated = (("at least", least), ("at most", most))
            ends = [f"{word} {end:g}" for word, end in stated if end is not None]
            raise Refused(name, f"this must be {' and '.join(ends)}; got {said[:40]}")
        return value

    def whole(self, name: str, *, least: int | None = None, most: int | None = None) -> int:
        """Return a whole number; refuse what is none, at the field that it stands in."""
        value = self.number(name, least=least, most=most)
        if value != int(value):
            raise Refused(name, f"a whole number is needed here; got {self.text(name)}")
        return int(value)

    @property
    def revision(self) -> int:
        """The revision of the page that the form was on; 0, which none has, if it says none."""
        said = self.text("revision")
        return int(said) if said.isascii() and said.isdigit() and len(said) < 18 else 0

    def names(self) -> list[str]:
        """Return the names that were sent, each once."""
        return list(self._texts)


def place_of(said: str) -> int | None:
    """Return the place in a list that an address or a form names; None for what is none.

    >>> place_of("12"), place_of("-1"), place_of("²"), place_of("9" * 5000)
    (12, None, None, None)
    """
    return int(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


class Refused(SfumatoError):  # noqa: N818 - as NotApplicable
    """What was said in a field cannot be taken; the message is shown at that field."""

    def __init__(self, field_name: str, message: str) -> None:
        super().__init__(message)
        self.field = field_name


@dataclass(frozen=True)
class ActionResult:
    """What an action did: a new draft, or none; the line of the journal; and, if it leads elsewhere, to which screen.

    ``make`` is given the draft that holds when the change is written.
    """

    make: "Callable[[Draft], Draft] | None" = None
    what: str = ""
    goto: str = ""  # the slug of another screen, perhaps with a query; empty: stay
    said: str = ""  # a sentence to show once


@dataclass(frozen=True)
class SameCommand:
    """A command, and code, that do what a screen does, run in the project's folder."""

    command: str
    python: str


@dataclass(frozen=True)
class Screen:
    """One screen of the workbench.

    ``view`` gives what its template, SLUG.html.j2, shows; ``actions`` the changes that can be asked for, by name.
    ``ready`` says why it cannot be worked on yet, or nothing; it and ``done`` are asked for every page, so they are
    cheap. ``same`` says the same in the terminal and in Python.
    """

    slug: str
    title: str
    why: str  # a sentence on why this matters
    practice: str  # a sentence on what good practice is
    view: "Callable[[Desk, Draft, Mapping[str, str]], dict[str, Any]]"
    actions: "Mapping[str, Callable[[Desk, Draft, Form], ActionResult]]" = field(default_factory=dict)
    ready: "Callable[[Desk, Draft], str]" = lambda desk, draft: ""
    done: "Callable[[Desk, Draft], bool]" = lambda desk, draft: False  # whether the steward is through with it
    same: "Callable[[Desk, Draft], SameCommand | None]" = lambda desk, draft: None
    download: "Callable[[Desk, Draft, Mapping[str, str]], tuple[str, str | bytes]] | None" = (
        None  # a file: name, content
    )
    optional: bool = False
