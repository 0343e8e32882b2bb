"""How a project begins: with a file that the command line names, or where it was left."""

from pathlib import Path

from sfumato.errors import FileError, SchemaError
from sfumato.project.options import named
from sfumato.project.plan import as_stated
from sfumato.project.record import Record
from sfumato.table.formats import located
from sfumato.table.schema_file import schema_of
from sfumato.workbench.desk import SCHEMA, Desk
from sfumato.workbench.draft import Draft


def begin(folder: Path, file: Path | None, schema: Path | None, **dialect: str | None) -> None:
    """Put a file on the desk, unless the project has it already; another one is refused."""
    desk = Desk(folder)
    now = desk.journal.now()
    if file is None:
        if schema is not None:
            raise FileError("--schema goes with a file: sfumato open survey.csv --schema schema.toml")
        record = None if now.draft.source else Record.read(desk.folder)
        if record is not None and record.file:
            desk.change(
                lambda draft: _swept(record, desk), screen="open", what="taken over from a sweep in the terminal"
            )
        return
    source = str(file.resolve())
    if now.draft.source:
        # a sheet that was chosen on the page is one of the same file
        if located(desk.source(now.draft))[0].resolve() != located(file)[0].resolve():
            raise FileError(
                f"the project in {folder} is about {Path(now.draft.source).name}; "
                "give another folder for this file: --folder NAME"
            )
        return
    text = first_schema(desk, schema)
    desk.change(
        lambda draft: Draft(source=source, schema=text).but(**dialect), screen="open", what=f"opened {file.name}"
    )


def _swept(record: Record, desk: Desk) -> Draft:
    """Return the draft of a sweep that was run in the terminal, so that the page goes on with it."""
    own = tuple(text for text in record.methods if text not in record.whys)
    told = {name: value for name, value in record.settings().items() if name not in named("settled")}
    return Draft(
        **told,
        source=record.file,
        confirmed=True,
        schema=first_schema(desk) or record.schema,
        own=own,
        proposed=record.composed,
        breadth=record.breadth,
        elsewhere=tuple(path.name for path in desk.folder.iterdir() if path.name in record.elsewhere),
        uses=record.asked,
        at_most=as_stated(record.at_most),
        at_least=record.at_least,
        population=record.population,
        replicates=record.replicates,
    )


def first_schema(desk: Desk, schema: Path | None = None) -> str:
    """Return the schema to begin with: the one named, or one that stands in the folder already."""
    place = schema or desk.folder / SCHEMA
    if schema is None and not place.is_file():
        return ""
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {place}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SchemaError(f"{place} is not UTF-8 (byte {error.start + 1}); save it as UTF-8") from None
    schema_of(text, place)
    return text
