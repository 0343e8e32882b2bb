"""The rows of the screen of variables: each variable at a glance, and all that can be said of one."""

from dataclasses import dataclass
from typing import Any

from sfumato.data.describe import Thumbnail, thumbnails
from sfumato.data.households import household_level
from sfumato.data.microdata import Microdata
from sfumato.data.roles import ProposedRole
from sfumato.data.schema import Schema, Variable
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.variable_cards import findings, unconfirmed
from sfumato.workbench.screens.variable_wishes import MOST_ORDERED, codes_text, formats

WIDTH, HEIGHT = 120, 30  # of a small histogram, in its own units
GONE = 8  # width of the bar of missing values
LONGEST = 40  # characters of a category that are shown


@dataclass(frozen=True)
class Bars:
    """A small histogram, as the paths of an SVG, and what it shows in words."""

    present: str
    missing: str
    words: str


@dataclass(frozen=True)
class Row:
    """One variable as its row shows it."""

    place: int  # in the table, from 0; names are no good for the names of fields
    variable: Variable  # as the table has it
    special: str  # weight, household or id, if it is that
    distinct: int
    missing: int
    codes: str  # its missing codes
    shared: bool  # whether the members of a household have the same value
    alphabetical: bool  # whether its order is that of the alphabet, which hardly ever is the right one
    bars: Bars
    proposed: ProposedRole | None = None  # the role that nobody has confirmed


@dataclass(frozen=True)
class Editor:
    """What can be said of one variable beside its kind and role."""

    row: Row
    stated: Variable
    others: tuple[str, ...]  # that it may be linked to
    formats: tuple[str, ...]  # in which its texts are dates
    categories: tuple[tuple[int, str], ...]  # in their order: the place among the table's categories, and the words
    too_many: bool  # to be put in order here


def rows(desk: Desk, draft: Draft) -> list[Row]:
    """Return a row for each variable, in the order of the table."""
    data = desk.table(draft)
    form = desk.form(draft)
    bars = desk.kept("bars", form, lambda: bars_of(data))
    alike = desk.kept("shared", f"{form} {[v.level for v in data.schema]}", lambda: frozenset(household_level(data)))
    special = {name: word for word, name in data.schema.special().items()}
    proposed = unconfirmed(desk, draft)
    return [
        Row(
            place=place,
            variable=variable,
            special=special.get(variable.name, ""),
            distinct=finding.distinct,
            missing=finding.missing,
            codes=codes_text(variable.missing),
            shared=variable.name in alike,
            alphabetical=_alphabetical(variable),
            bars=bars[variable.name],
            proposed=proposed.get(variable.name),
        )
        for place, (variable, finding) in enumerate(zip(data.schema, findings(desk, draft), strict=True))
    ]


def _alphabetical(variable: Variable) -> bool:
    """Tell whether words are ordered by their letters: nobody has said their order."""
    words = [one for one in variable.categories if isinstance(one, str) and not one[:1].isdigit()]
    return variable.kind == "ordinal" and len(words) == len(variable.categories) > 2 and words == sorted(words)


def editor(desk: Desk, draft: Draft, row: Row) -> Editor:
    """Return what can be said of one variable."""
    schema, name = desk.table(draft).schema, row.variable.name
    stated: Schema = desk.stated(draft)
    ordinal = row.variable.kind == "ordinal"
    return Editor(
        row=row,
        stated=next((variable for variable in stated if variable.name == name), row.variable),
        others=tuple(other for other in schema.names if other != name),
        formats=(row.variable.format,) if row.variable.format else formats(row.variable),
        categories=tuple(
            (place, row.variable.spelled(category)) for place, category in enumerate(row.variable.categories)
        )
        if ordinal and len(row.variable.categories) <= MOST_ORDERED
        else (),
        too_many=ordinal and len(row.variable.categories) > MOST_ORDERED,
    )


def bars_of(data: Microdata) -> dict[str, Bars]:
    """Draw a small histogram of every variable."""
    return {name: drawn(data.schema[name], found) for name, found in thumbnails(data).items()}


def drawn(variable: Variable, found: Thumbnail) -> Bars:
    """Draw a thumbnail: one bar for each count, and one on the right for missing values.

    >>> drawn(Variable("age"), Thumbnail((1, 2), 0, 0, 1))
    Bars(present='M0 30v-15h59v15zM60 30v-30h59v30z', missing='', words='0 to 1')
    """
    counts = [*found.counts, found.others] if found.others else list(found.counts)
    most = max([*counts, found.missing], default=0) or 1
    room = WIDTH - (GONE + 4 if found.missing else 0)
    wide = room / max(len(counts), 1)
    gap = 1 if wide > 3 else 0
    present = "".join(
        _bar(place * wide, min(wide, 60) - gap, count / most) for place, count in enumerate(counts) if count
    )
    missing = _bar(WIDTH - GONE, GONE, found.missing / most) if found.missing else ""
    return Bars(present, missing, _words(variable, found))


def _bar(left: float, wide: float, share: float) -> str:
    high = max(share * HEIGHT, 1.0)
    return f"M{left:.4g} {HEIGHT}v-{high:.3g}h{wide:.3g}v{high:.3g}z"


def _words(variable: Variable, found: Thumbnail) -> str:
    if variable.quantitative:
        return "no value" if found.least is None else f"{found.least} to {found.greatest}"
    if variable.kind == "ordinal" and len(found.names) > 1:
        return f"{_short(found.names[0])} to {_short(found.names[-1])}"
    return ", ".join(_short(name) for name in found.names[:3]) + (", ..." if len(found.names) > 3 else "")


def _short(text: Any) -> str:
    return str(text) if len(str(text)) <= LONGEST else f"{str(text)[: LONGEST - 3]}..."
