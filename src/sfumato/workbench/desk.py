"""The project on the desk: its folder, the draft that holds, the table under its schema, and what was worked out."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sfumato.errors import FileError, SfumatoError
from sfumato.table.atomic import reason, replacing
from sfumato.table.files import read, tables_in
from sfumato.table.formats import located
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema
from sfumato.table.schema_file import schema_of, schema_text
from sfumato.workbench.draft import Draft
from sfumato.workbench.jobs import Jobs
from sfumato.workbench.journal import CurrentDraft, Journal, Stale
from sfumato.workbench.readings import Readings

if TYPE_CHECKING:
    from sfumato.workbench.latest import Latest

T = TypeVar("T")
SCHEMA = "schema.toml"
MAX_KEPT = 64  # answers that are kept in memory, the latest ones
TABLES = ("table", "table and schema", "begun")  # answers as large as the file itself
MAX_TABLES = 2  # of each of these: the one that holds, and the one that undo leads to


class Desk:
    """What one server works on: a folder, which is that of a sweep.

    The draft in the journal is what holds; ``schema.toml`` in the folder is the same schema for the command line, and
    an edit of it from outside becomes a step of the journal the next time a page is shown.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.folder = folder.resolve()
            if not any(self.folder.iterdir()):
                self.folder.chmod(0o700)
        except OSError as error:
            raise FileError(f"cannot make the folder {folder}: {reason(error)}") from None
        self.journal = Journal(self.folder)
        self.jobs = Jobs(self.folder)
        self.readings = Readings()
        self.said: dict[str, str] = {}  # a sentence to show once, by browser
        self.unreadable_schema = ""  # why schema.toml cannot be read, after an edit from outside
        self.older: dict[str, Any] = {}  # the latest of what takes long, to be shown until it is made anew
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._making: dict[tuple[str, str], Lock] = {}
        self._lock = RLock()
        self._writing = RLock()  # between a step of the journal and the file that says the same

    # the draft

    def now(self) -> CurrentDraft:
        """Return the draft that holds, after taking over a schema.toml that was edited outside."""
        found = self.journal.now()
        if self._edited_outside(found.draft) is None:
            return found
        with self._writing:  # what another page is just writing is no edit from outside
            found = self.journal.now()
            outside = self._edited_outside(found.draft)
            if outside is None:
                return found
            return self.journal.change(
                lambda draft: draft.but(schema=outside),
                screen="variables",
                what="schema.toml was edited outside the page",
            )

    def change(
        self, make: Callable[[Draft], Draft], *, screen: str, what: str, revision: int | None = None, once: str = ""
    ) -> CurrentDraft:
        """Write a change to the journal, and the schema to its file."""
        return self._written(lambda: self.journal.change(make, screen=screen, what=what, revision=revision, once=once))

    def undo(self, revision: int | None = None) -> CurrentDraft:
        """Go back by one step."""
        return self._written(lambda: self.journal.undo(revision))

    def redo(self, revision: int | None = None) -> CurrentDraft:
        """Go forward again by one step."""
        return self._written(lambda: self.journal.redo(revision))

    def refuse_stale(self, revision: int) -> None:
        """Refuse what a page that is no longer the latest asks for, where no draft is changed by it."""
        if revision != self.now().revision:
            raise Stale

    def _written(self, move: Callable[[], CurrentDraft]) -> CurrentDraft:
        """Move to another draft, and write its schema to the file."""
        with self._writing:
            made = move()
            self.write_schema(made.draft)
            return made

    def _edited_outside(self, draft: Draft) -> str | None:
        """Return what schema.toml says, if that is not what the draft says."""
        try:
            text = (self.folder / SCHEMA).read_text(encoding="utf-8-sig")
        except OSError:
            return None
        except UnicodeError:
            self.unreadable_schema = f"{self.folder / SCHEMA} is not UTF-8; save it as UTF-8"
            return None
        if text == draft.schema or not draft.schema:
            self.unreadable_schema = ""
            return None
        try:
            schema_of(text, self.folder / SCHEMA)
        except SfumatoError as error:  # the pages go on with the last one that could be read, and say so
            self.unreadable_schema = str(error)
            return None
        self.unreadable_schema = ""
        return text

    def write_schema(self, draft: Draft) -> None:
        """Write the schema of a draft to its file."""
        path = self.folder / SCHEMA
        with suppress(OSError, UnicodeError):
            if path.read_text(encoding="utf-8") == draft.schema:
                return
        if draft.schema:
            with replacing(path, private=True) as out:
                out.write(draft.schema.encode())

    # the table

    def source(self, draft: Draft) -> Path:
        """Return the path of the original."""
        if not draft.source:
            raise FileError("no file is open yet; choose one on the first screen")
        return self.folder / draft.source  # an absolute path stays as it is

    def stated(self, draft: Draft) -> Schema:
        """Return the schema as it is stated: what the file itself tells is not in it."""
        return self.kept("stated schema", draft.schema, lambda: schema_of(draft.schema, self.folder / SCHEMA))

    def restated(self, schema: Schema) -> str:
        """Write a stated schema as the text that a draft holds."""
        return schema_text(schema, folder=self.folder)

    def table(self, draft: Draft) -> Microdata:
        """Return the original under the draft's schema; what only roles and names change is not read again."""
        path = self.source(draft)
        stated = self.stated(draft) if draft.schema else None
        dialect = {"encoding": draft.encoding, "delimiter": draft.delimiter, "decimal": draft.decimal}
        columns = self.read("table", self.form(draft), path, lambda: read(path, stated, **dialect))
        if stated is None:
            return columns
        return self.kept("table and schema", f"{self.form(draft)} {draft.schema}", lambda: _under(columns, stated))

    def tables(self, draft: Draft) -> tuple[str, ...]:
        """Name the sheets or data frames of the original, where its format has such."""
        file, _ = located(self.source(draft))
        return self.read("tables", f"{file} {stamp(file)}", file, lambda: tables_in(file))

    def read(self, name: str, depends_on: str, path: Path, make: Callable[[], T]) -> T:
        """Return what is made of a file: in a thread, for which a page waits only a moment."""
        file, _ = located(path)

        def keep(made: T) -> T:
            return self.kept(name, depends_on, lambda: made)

        def make_once() -> T:
            return self.kept(name, depends_on, make) if self.is_kept(name, depends_on) else make()

        if not self.is_kept(name, depends_on):
            self.readings.read(f"{name} {depends_on}", file, make_once, keep)
        return self.kept(name, depends_on, make)

    def form(self, draft: Draft) -> str:
        """Say what the columns of the table depend on: the file, how it is read, kinds and codes, but not roles."""
        path = self.source(draft)
        file = f"{path} {stamp(path)} {draft.encoding} {draft.delimiter!r} {draft.decimal}"
        if not draft.schema:
            return file
        stated = self.stated(draft)
        form = [(v.name, v.kind, v.categories, v.missing, v.format, v.labels, v.kind_by_rule) for v in stated]
        return f"{file} {form} {stated.special()}"

    # the last run

    def latest(self, draft: Draft) -> "Latest":
        """Return the last run in the folder, and whether it is of this draft."""
        from sfumato.workbench.latest import latest

        return latest(self, draft)

    def current(self, draft: Draft) -> str:
        """Say why the last run is not of this draft; nothing if it is."""
        return self.latest(draft).why_old

    # what was worked out

    def kept(self, name: str, depends_on: str, make: Callable[[], T]) -> T:
        """Return what was made before of the same, or make it: once, even if two pages ask at a time."""
        key = name, hashlib.sha256(depends_on.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast(T, self._kept[key])
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._kept:
                    return cast(T, self._kept[key])
            try:
                made = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._kept[key] = made
                alike = [one for one in self._kept if one[0] == name] if name in TABLES else []
                for old in alike[:-MAX_TABLES]:
                    del self._kept[old]
                while len(self._kept) > MAX_KEPT:
                    self._kept.popitem(last=False)
            return made

    def is_kept(self, name: str, depends_on: str) -> bool:
        """Tell whether ``kept`` would answer at once."""
        key = name, hashlib.sha256(depends_on.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            return key in self._kept


def stamp(path: Path) -> str:
    """Name a file as it is now, so that another content is read anew; survey.xlsx#persons is a sheet of a file."""
    try:
        found = located(path)[0].stat()
    except OSError as error:
        raise FileError(f"cannot read {path}: {reason(error)}") from None
    return f"{found.st_mtime_ns} {found.st_size}"


def _under(table: Microdata, stated: Schema) -> Microdata:
    """Return a table under a schema that differs from its own in nothing that the columns depend on."""
    from dataclasses import replace

    variables = []
    for variable in table.schema:
        if variable.name in stated:
            said = stated[variable.name]
            variable = replace(
                variable,
                role=said.role,
                label=said.label or variable.label,
                level=said.level,
                linked=said.linked,
                hierarchy=said.hierarchy,
                declared=said.declared,
                reason=said.reason,
            )
        else:  # the table may have been read when another schema held
            variable = replace(variable, declared=False)
        variables.append(variable)
    return replace(table, schema=replace(stated, variables=tuple(variables)))
