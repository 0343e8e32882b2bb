"""``sfumato inspect``: look at a file, and write the schema to edit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Json,
    SchemaFile,
    console,
    print_json,
    say,
)
from sfumato.errors import FileError

if TYPE_CHECKING:
    from sfumato.data.describe import Finding

DEFAULT = Path("schema.toml")


def inspect(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet, SPSS, Stata or SAS file.", show_default=False)],
    *,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the schema; schema.toml if not said.", show_default=False)
    ] = None,
    schema: SchemaFile = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a schema file that was edited.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Show each variable of a file and write schema.toml for you to edit.

    Example: `sfumato inspect census.csv --out census.toml`
    """
    from sfumato.data.describe import describe
    from sfumato.data.files import read
    from sfumato.data.schema_file import schema_text

    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    findings = describe(data)
    if json:
        print_json({"file": str(file), "records": len(data), "variables": [_as_json(found) for found in findings]})
    else:
        _print(file, len(data), findings)
    for note in data.notes:
        say(note)
    written = _write(schema_text(data), out, schema, force=force)
    if written is not None:
        say(f"wrote {written}: edit it, then say --schema {written}")


def _write(text: str, out: Path | None, schema: Path | None, *, force: bool) -> Path | None:
    """Write the schema, but never over one that says something else, unless told so."""
    from sfumato.show.page import save

    target = out or DEFAULT
    if out is None and schema is not None:
        return None  # there is one already, and it is in use
    if target.exists() and not force:
        if target.is_file() and target.read_bytes() == text.encode():
            return target
        if out is None:
            say(f"left {target} as it is, for it says something else; overwrite it with --force or write to --out FILE")
            return None
        raise FileError(f"{target} exists and says something else; overwrite it with --force or choose another name")
    return save(target, text.encode())


def _print(file: Path, records: int, findings: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    from sfumato.show.wording import count

    out = console()
    out.print(Text(f"{file.name}: {count(records, 'record')}, {count(len(findings), 'variable')}\n", style="bold"))
    rows = [[f.name, f.kind, f.role, f"{f.distinct:,}", f"{f.missing:,}", _values(f)] for f in findings]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, heading in enumerate(("variable", "kind", "role", "distinct", "missing")):
        widest = min(max(len(text) for text in (heading, *(row[place] for row in rows))), 32)
        right = heading in ("distinct", "missing")
        table.add_column(heading, justify="right" if right else "left", min_width=widest, overflow="fold")
    table.add_column("values", no_wrap=True, overflow="ellipsis")
    for row, finding in zip(rows, findings, strict=True):
        table.add_row(*(Text(cell) for cell in row), style="yellow" if finding.suggestion else None)
    out.print(table)
    odd = [finding.suggestion for finding in findings if finding.suggestion is not None]
    if odd:
        out.print(Text("\nTo look at:", style="bold"))
    for suggestion in odd:
        out.print(Text(f"  {suggestion.name}: {suggestion.sentence}", style="yellow"))


def _values(finding: "Finding") -> str:
    words = dict(finding.labels)

    def shown(value: object) -> str:
        return f"{value} = {words[value]}" if value in words else str(value)

    label = f"{finding.label}: " if finding.label else ""
    if finding.minimum is not None:
        return f"{label}{shown(finding.minimum)} to {shown(finding.maximum)}"
    return label + ", ".join(map(shown, finding.examples))


def _as_json(finding: "Finding") -> dict[str, object]:
    """Return a finding as plain data; what is suggested as a word to decide by, ``doubt``, and as a sentence."""
    from dataclasses import fields

    plain = {field.name: _plain(getattr(finding, field.name)) for field in fields(finding)}
    suggestion = finding.suggestion
    said = {"doubt": None, "suggestion": ""}
    if suggestion is not None:
        said = {"doubt": suggestion.doubt, "suggestion": suggestion.sentence}
    return {**plain, **said}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
