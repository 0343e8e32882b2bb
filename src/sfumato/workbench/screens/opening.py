"""Screen 1, Open: which file, and how it is read."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.errors import Cancelled, FileError, SchemaError, SfumatoError
from sfumato.table.describe import Finding, describe
from sfumato.table.formats import format_of, known_format, known_suffixes, located
from sfumato.table.formats.delimited import DELIMITED
from sfumato.table.microdata import Microdata
from sfumato.table.schema_file import schema_of, schema_text
from sfumato.workbench.begin import first_schema
from sfumato.workbench.commands import read_call, reading
from sfumato.workbench.desk import SCHEMA, Desk, stamp
from sfumato.workbench.draft import Draft
from sfumato.workbench.readings import StillReading
from sfumato.workbench.screens.screen import ActionResult, Form, Refused, SameCommand, Screen, place_of
from sfumato.workbench.uploads import inside

ROWS = 8  # shown of the file
COLUMNS = 60
ENCODINGS = ("utf-8", "cp1252", "latin-1", "cp1250", "cp1251", "utf-16", "mac-roman", "shift_jis", "gb18030")
ASIDE = "schema.set-aside.toml"
DELIMITERS = {"": "as found", ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
DECIMALS = {"": "as found", ".": "point", ",": "comma"}


@dataclass(frozen=True)
class Preview:
    """The first records of the file, and what it was read as."""

    records: int
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more_columns: int
    codes: tuple[Finding, ...]  # variables that seem to hold codes for missing values
    text: bool  # whether the file is delimited text, so that the way it is read can be chosen
    read_as: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Trouble:
    """Why a file cannot be read, and at which field of the page that can be put right."""

    words: str
    field: str  # encoding, decimal, delimiter, table or schema; empty if none of them helps


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the files of the folder and, if one is chosen, its first records."""
    preview, trouble, file, reading = None, None, None, None
    tables: tuple[str, ...] = ()
    if draft.source:
        file, chosen = located(desk.source(draft))
        try:
            tables = desk.tables(draft)
            data = desk.table(draft)
            of = f"{stamp(file)} {draft.to_json()}"
            preview = desk.read("preview", of, file, lambda: _preview(data, file))
        except StillReading as still:
            reading = still.reading
        except SfumatoError as error:
            trouble = _trouble(error, file, several=len(tables) > 1 and chosen is None)
    return {
        "files": _files(desk),
        "name": "" if file is None else file.name,
        "place": "" if file is None or file.parent == desk.folder else str(file.parent),
        "table": "" if file is None else located(desk.source(draft))[1] or "",
        "tables": tables,
        "is_text": file is not None and format_of(file) is DELIMITED,
        "preview": preview,
        "trouble": trouble,
        "reading": reading,
        "encodings": ENCODINGS,
        "delimiters": DELIMITERS,
        "decimals": DECIMALS,
    }


def _trouble(error: SfumatoError, file: Path, *, several: bool = False) -> Trouble:
    """Say what is wrong with a file in the words of this page, at the field that is the cure."""
    words = str(error).replace(f"{file}", file.name)
    if isinstance(error, Cancelled):
        return Trouble(words, "")
    if several:
        return Trouble(f"{file.name} has several tables: choose the one to protect", "table")
    if isinstance(error, SchemaError):
        return Trouble(words, "schema")
    said = words.lower()
    if "decimal" in said:
        field = "decimal"
    elif "encoding" in said or "utf-" in said:
        field = "encoding"
    else:
        field = "delimiter" if "fields" in said else ""
    return Trouble(words, field)


def _files(desk: Desk) -> list[str]:
    """Name the files of the folder that can be read; what a run wrote is not among them."""
    found = (path for path in desk.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return sorted(path.name for path in found if path.suffix.lower() in known_suffixes())


def _preview(data: Microdata, file: Path) -> Preview:
    names = data.names[:COLUMNS]
    head = data.take(_first(data)).to_arrow()
    rows = tuple(tuple(_cell(head[name][place].as_py()) for name in names) for place in range(head.num_rows))
    codes = tuple(f for f in describe(data) if f.suggestion is not None and f.suggestion.doubt == "missing codes")
    dialect = data.origin.dialect
    said = ""
    if dialect is not None:
        sign = DELIMITERS.get(dialect.delimiter, repr(dialect.delimiter))
        point = "point" if dialect.decimal == "." else "comma"
        said = f"text in {dialect.encoding}, fields divided by {sign}, decimal {point}"
    return Preview(
        records=len(data),
        names=names,
        kinds=tuple(data.schema[name].kind for name in names),
        rows=rows,
        more_columns=len(data.names) - len(names),
        codes=codes,
        text=dialect is not None,
        read_as=said or f"a {file.suffix} file, which says itself what its variables are",
        notes=data.notes,
    )


def _first(data: Microdata) -> Any:
    import numpy as np

    return np.arange(min(ROWS, len(data)))


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:60]


def choose(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take a file of the folder, and read it as it seems to be; with a schema.toml beside it, under that."""
    name = form.text("name")
    if not name:
        raise Refused("name", "choose a file, or drop one here")
    try:
        path = inside(desk.folder, name)
        known_format(path)
    except FileError as error:
        raise Refused("name", str(error).replace(f"{desk.folder}/", "")) from None
    if not path.is_file():
        raise Refused("name", f"there is no file {name} in the project's folder")
    desk.readings.cancel()
    desk.readings.forget(path)
    text = first_schema(desk)
    left = ""
    if text in (draft.schema, draft.left_behind) and name != draft.source:
        text, left = "", text  # it is what was said of a file before
    return ActionResult(lambda old: Draft(source=name, schema=text, left_behind=left), f"opened {name}")


def choose_table(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take one of several sheets or data frames of the file."""
    if not draft.source:
        raise Refused("name", "choose a file first")
    file, _ = located(desk.source(draft))
    table = form.text("table")
    if table not in desk.tables(draft):
        raise Refused("table", f"there is no table {table!r} in {file.name}")
    desk.readings.cancel()
    desk.readings.forget(file)
    source = f"{located(draft.source)[0]}#{table}"
    return ActionResult(lambda old: Draft(source=source), f"opened {file.name}, table {table}")


def cancel(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """End the reading of a file; it is not read again before that is asked for."""
    number = place_of(form.text("reading"))
    if number is None:
        raise Refused("", "there is nothing to cancel")
    desk.readings.cancel(number)
    return ActionResult(what="cancelled the reading of the file")


def read_again(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Read a file once more that could not be read, or whose reading was cancelled."""
    desk.readings.forget(located(desk.source(draft))[0])
    return ActionResult()


def set_schema_aside(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Begin without the schema that does not fit the file; it stays in the folder under another name."""
    place, aside = desk.folder / SCHEMA, desk.folder / ASIDE
    if place.is_file():
        if aside.exists():
            raise Refused("schema", f"there is a {ASIDE} already; take it, or {SCHEMA}, out of the folder")
        place.rename(aside)
    return ActionResult(lambda old: old.but(schema="", confirmed=False), f"{SCHEMA} was set aside as {ASIDE}")


def last_schema(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take back the last schema that could be read; what stands in the file now stays beside it."""
    place, aside = desk.folder / SCHEMA, desk.folder / ASIDE
    if aside.exists():
        raise Refused("", f"there is a {ASIDE} already; take it out of the folder")
    place.rename(aside)
    desk.write_schema(draft)
    desk.unreadable_schema = ""
    return ActionResult(
        what=f"the last {SCHEMA} that could be read was taken back; the other one is {ASIDE}",
        said=f"{SCHEMA} is again as it was read last; what stood there is kept as {ASIDE}.",
    )


def read_as(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Read the file in another encoding, or with other signs."""
    changes = {
        "encoding": form.text("encoding") or None,
        "decimal": form.text("decimal") or None,
        "delimiter": (form.texts("delimiter") or [""])[-1] or None,  # a tab is no blank to be taken off
    }
    file, _ = located(desk.source(draft))
    desk.readings.forget(file)
    try:
        with suppress(StillReading), desk.readings.hurried():  # the page shows how far it is, or why it cannot be
            desk.table(draft.but(**changes))
    except SfumatoError as error:
        trouble = _trouble(error, file)
        raise Refused(trouble.field or "encoding", trouble.words) from None
    return ActionResult(lambda old: old.but(**changes, confirmed=False), "read the file in another way")


def confirm(desk: Desk, draft: Draft, form: Form) -> ActionResult:
    """Take the file as it is shown: from now on the schema says what its variables are."""
    data = desk.table(draft)
    text = draft.schema or schema_text(data, folder=desk.folder)
    stated = schema_of(text, desk.folder / SCHEMA)
    codes = {
        f.name: f.suggestion.codes for f in describe(data) if f.suggestion and f.suggestion.doubt == "missing codes"
    }
    taken = [name for name in form.texts("codes") if name in codes]
    changed = [replace(stated[name], missing=(*stated[name].missing, *codes[name])) for name in taken]
    text = desk.restated(stated.replace(*changed)) if changed else text
    what = f"took {Path(draft.source).name} as it is read" + (f"; missing codes in {', '.join(taken)}" if taken else "")
    return ActionResult(lambda old: old.but(schema=text, confirmed=True), what, goto="variables")


def same(desk: Desk, draft: Draft) -> SameCommand | None:
    """Say how a file is looked at elsewhere."""
    if not draft.source:
        return None
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--out", SCHEMA])
    code = f"import sfumato\n\ndata = {read_call(draft, None)}\nsfumato.write_schema(data, {SCHEMA!r})"
    return SameCommand(command, code)


SCREEN = Screen(
    slug="open",
    title="Open",
    why="A file that is read wrongly is protected wrongly: a decimal comma, an accent or a code such as -9 taken for a "
    "value changes every figure that follows.",
    practice="look at a few records, compare their number with what you expect, and say which codes mean missing.",
    view=view,
    actions={
        "choose": choose,
        "table": choose_table,
        "read_as": read_as,
        "cancel": cancel,
        "again": read_again,
        "without_schema": set_schema_aside,
        "last_schema": last_schema,
        "confirm": confirm,
    },
    done=lambda desk, draft: draft.confirmed,
    same=same,
)
