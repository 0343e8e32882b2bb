"""What the steward wants a variable to be, and the schema that says so: tried on the file before it holds."""

import csv
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from sfumato.errors import SfumatoError
from sfumato.table.dates import date_formats, iso_format
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Kind, Level, Role, Schema, Special, Variable
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Refused

MAX_ORDERED = 300  # texts that can be put in order on a page


@dataclass(frozen=True)
class Wish:
    """What is to be said of one variable; None: as it is."""

    name: str
    kind: Kind | None = None
    role: Role | None = None
    label: str | None = None
    missing: tuple[Category, ...] | None = None
    level: Level | Literal["as found"] | None = None
    linked: tuple[str, ...] | None = None
    format: str | None = None
    order: tuple[Category, ...] | None = None  # of an ordinal variable, lowest first
    special: Special | None = None

    @property
    def rereads(self) -> bool:
        """Whether the file must be read again to see that it can be so."""
        columns = self.kind, self.missing, self.format, self.order, self.special
        return any(said is not None for said in columns)


def granted(desk: Desk, draft: Draft, wishes: Iterable[Wish], *, at: str) -> str:
    """Return the text of a schema that grants these wishes; what the file does not bear is refused, at that field."""
    data = desk.table(draft)
    schema = desk.stated(draft)
    try:
        for wish in wishes:
            schema = _granted(desk, draft, data, schema, wish)
        text = desk.restated(schema)
        if any(wish.rereads for wish in wishes):
            desk.table(draft.but(schema=text))
    except Refused as error:
        raise Refused(error.field or at, str(error)) from None
    except SfumatoError as error:
        raise Refused(at, plainly(str(error), desk.source(draft))) from None
    return text


def plainly(words: str, file: object) -> str:
    """Leave the place of the file out of a sentence: the page is about that file.

    >>> plainly("/home/me/survey.csv: variable 'age' is numeric, but", "/home/me/survey.csv")
    "variable 'age' is numeric, but"
    """
    return words.removeprefix(f"{file}: ")


def _granted(desk: Desk, draft: Draft, data: Microdata, schema: Schema, wish: Wish) -> Schema:
    found = data.schema[wish.name]
    if wish.name not in schema:  # a schema may leave variables to the rule
        stated = Variable(wish.name, kind=found.kind, kind_by_rule=True, declared=False)
        schema = replace(schema, variables=(*schema.variables, stated))
    stated = schema[wish.name]
    changes: dict[str, Any] = {
        word: said for word in ("role", "label", "linked") if (said := getattr(wish, word)) is not None
    }
    if wish.role is not None:
        changes["declared"] = True
    if wish.level is not None:
        changes["level"] = None if wish.level == "as found" else wish.level
    for source in wish.linked or ():
        data.schema[source]  # refuses a name that is none, and says which may be meant
    stated = replace(stated, **changes)
    if wish.missing is not None and wish.missing != stated.missing:
        kept = replace(stated, missing=wish.missing, categories=())
        stated = replace(kept, categories=_ordered(desk, draft, schema, kept, found)) if _is_ordered(stated) else kept
    if wish.kind is not None and (wish.kind != stated.kind or stated.kind_by_rule or wish.format is not None):
        stated = _of_kind(desk, draft, schema, stated, found, wish.kind, wish.format)
    elif wish.format is not None and wish.format != stated.format:
        stated = replace(stated, format=wish.format)
    if wish.order is not None:
        stated = replace(stated, categories=wish.order)
    schema = schema.replace(stated)
    if wish.special is not None:
        named: dict[str, Any] = {special: None for special, name in schema.special().items() if name == wish.name}
        schema = replace(schema, **{**named, wish.special: wish.name})
    return schema


def _is_ordered(variable: Variable) -> bool:
    return variable.kind == "ordinal" and bool(variable.categories)


def _of_kind(
    desk: Desk, draft: Draft, schema: Schema, stated: Variable, found: Variable, kind: Kind, form: str | None
) -> Variable:
    """Return a variable as another kind, with what that kind needs."""
    plain = replace(stated, kind="nominal", kind_by_rule=False, categories=(), format="")
    if kind == "date":
        return replace(plain, kind=kind, format=_format(found, form))
    if kind == "ordinal":
        return replace(plain, kind=kind, categories=_ordered(desk, draft, schema, plain, found))
    if kind == "nominal" and found.kind == "ordinal":  # all that may occur stay
        return replace(plain, categories=stated.categories)
    return replace(plain, kind=kind)


def _ordered(desk: Desk, draft: Draft, schema: Schema, variable: Variable, found: Variable) -> tuple[Category, ...]:
    """Return the categories of a variable in an order to begin with: as they were, others behind; numbers by size."""
    there = found.categories
    nominal = replace(variable, kind="nominal", categories=(), format="", kind_by_rule=False)
    if found.quantitative or variable.missing != found.missing:
        read = desk.table(draft.but(schema=desk.restated(schema.replace(nominal))))
        there = read.schema[variable.name].categories
    texts = all(isinstance(category, str) for category in there)
    if texts and len(there) > MAX_ORDERED:
        raise Refused(
            "",
            f"{variable.name} has {len(there):,} different texts, too many to be put in order here; leave it nominal, "
            "or list its categories in schema.toml",
        )
    before = [category for category in found.categories if category in there] if found.kind == "ordinal" else []
    if not texts and not before:
        return ()  # numbers have an order of their own
    return (*before, *sorted((one for one in there if one not in before), key=by_size))


def by_size(category: Category) -> tuple[int, float, str]:
    """Sort what is a number, or begins with one, by size, and before all else.

    >>> sorted(["10-19", "none", "5-9", 3], key=by_size)
    [3, '5-9', '10-19', 'none']
    """
    begins = re.match(r"\s*[+-]?\d+(\.\d+)?", str(category))
    return (0, float(begins.group()), str(category)) if begins else (1, 0.0, str(category))


def _format(found: Variable, form: str | None) -> str:
    """Return the format in which a variable's texts are dates: as said, or the only one that fits."""
    if form is not None:
        return form
    forms = formats(found)
    if len(forms) > 1:
        raise Refused("", f"no day of {found.name} is above 12, so the day may be first or the month: choose which")
    return "" if not forms or iso_format(texts_of(found)) else forms[0]


def formats(found: Variable) -> tuple[str, ...]:
    """Return the formats in which all texts of a variable are dates."""
    texts = texts_of(found)
    return date_formats(texts) if texts and len(texts) == len(found.categories) else ()


def texts_of(found: Variable) -> list[str]:
    """Return the categories that are texts."""
    return [category for category in found.categories if isinstance(category, str)]


def codes_of(said: str) -> tuple[Category, ...]:
    """Read missing codes as one types them: numbers and texts with commas between, quotes where a comma is inside.

    >>> codes_of('-9, refused, "no, thanks"'), codes_of("-9; -8"), codes_of("")
    ((-9, 'refused', 'no, thanks'), (-9, -8), ())
    """
    sign = ";" if ";" in said and "," not in said else ","
    cells = next(csv.reader([said], delimiter=sign, skipinitialspace=True), [])
    return tuple(dict.fromkeys(_code(cell.strip()) for cell in cells if cell.strip()))


def _code(said: str) -> Category:
    try:
        read = tomllib.loads(f"x = {said}")["x"]
    except ValueError:  # no TOML, or a number of thousands of digits
        return said
    return read if isinstance(read, int | float) and not isinstance(read, bool) else said


def codes_text(codes: Iterable[Category]) -> str:
    """Write missing codes as ``codes_of`` reads them.

    >>> codes_text((-9, "no, thanks"))
    '-9, "no, thanks"'
    """
    return ", ".join(_cell(str(code)) for code in codes)


def _cell(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if any(sign in text for sign in ',;"') or text != text.strip() else text
