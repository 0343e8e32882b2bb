"""Screen 1, Open: which file, and how it is read."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sfumato.data.describe import Finding, describe
from sfumato.data.file_names import PARQUET, TEXT
from sfumato.data.formats.excel import EXCEL
from sfumato.data.formats.labelled.families import FAMILIES
from sfumato.data.formats.r.objects import R
from sfumato.data.microdata import Microdata
from sfumato.data.schema_file import schema_of, schema_text
from sfumato.errors import SfumatoError
from sfumato.workbench.commands import read_call, reading
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.screen import Done, Form, Refused, Same, Screen
from sfumato.workbench.uploads import inside

ROWS = 8  # shown of the file
COLUMNS = 60
READ = (*TEXT, *PARQUET, *EXCEL, *R, *FAMILIES, ".gz", ".bz2", ".xz", ".zst", ".zip")
ENCODINGS = ("utf-8", "cp1252", "latin-1", "cp1250", "cp1251", "utf-16", "mac-roman", "shift_jis", "gb18030")
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


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the files of the folder and, if one is chosen, its first records."""
    preview, trouble = None, ""
    if draft.source:
        try:
            preview = desk.kept("preview", f"{draft.source} {draft.to_json()}", lambda: _preview(desk, draft))
        except SfumatoError as error:
            trouble = str(error)
    return {
        "files": _files(desk),
        "preview": preview,
        "trouble": trouble,
        "encodings": ENCODINGS,
        "delimiters": DELIMITERS,
        "decimals": DECIMALS,
    }


def _files(desk: Desk) -> list[str]:
    """Name the files of the folder that can be read; what a run wrote is not among them."""
    found = (path for path in desk.folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return sorted(path.name for path in found if path.suffix.lower() in READ)


def _preview(desk: Desk, draft: Draft) -> Preview:
    data = desk.table(draft)
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
        read_as=said or f"a {desk.source(draft).suffix} file, which says itself what its variables are",
        notes=data.notes,
    )


def _first(data: Microdata) -> Any:
    import numpy as np

    return np.arange(min(ROWS, len(data)))


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:60]


def choose(desk: Desk, draft: Draft, form: Form) -> Done:
    """Take a file of the folder, and read it as it seems to be; with a schema.toml beside it, under that."""
    name = form.text("name")
    if not name:
        raise Refused("name", "choose a file, or drop one here")
    path = inside(desk.folder, name)
    if not path.is_file():
        raise Refused("name", f"there is no file {name} in the project's folder")
    return Done(lambda old: Draft(source=name, schema=_schema_there(desk)), f"opened {name}")


def _schema_there(desk: Desk) -> str:
    place = desk.folder / SCHEMA
    if not place.is_file():
        return ""
    text = place.read_text(encoding="utf-8-sig")
    schema_of(text, place)
    return text


def read_as(desk: Desk, draft: Draft, form: Form) -> Done:
    """Read the file in another encoding, or with other signs."""
    said = {word: form.text(word) if word != "delimiter" else form.texts(word)[-1] for word in ("encoding", "decimal")}
    delimiter = (form.texts("delimiter") or [""])[-1]
    changes = {"encoding": said["encoding"] or None, "decimal": said["decimal"] or None, "delimiter": delimiter or None}
    tried = draft.but(**changes)
    try:
        desk.table(tried)
    except SfumatoError as error:
        raise Refused("encoding", str(error)) from None
    return Done(lambda old: old.but(**changes, confirmed=False), "read the file in another way")


def confirm(desk: Desk, draft: Draft, form: Form) -> Done:
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
    what = f"took {draft.source} as it is read" + (f"; missing codes in {', '.join(taken)}" if taken else "")
    return Done(lambda old: old.but(schema=text, confirmed=True), what, goto="variables")


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say how a file is looked at elsewhere."""
    if not draft.source:
        return None
    command = shlex.join(["sfumato", "inspect", *reading(draft), "--out", SCHEMA])
    code = f"import sfumato\n\ndata = {read_call(draft, None)}\nsfumato.write_schema(data, {SCHEMA!r})"
    return Same(command, code)


SCREEN = Screen(
    slug="open",
    title="Open",
    why="A file that is read wrongly is protected wrongly: a decimal comma, an accent or a code such as -9 taken for a "
    "value changes every figure that follows.",
    practice="look at a few records, compare their number with what you expect, and say which codes mean missing.",
    view=view,
    actions={"choose": choose, "read_as": read_as, "confirm": confirm},
    done=lambda desk, draft: draft.confirmed,
    same=same,
)
