"""``sfumato inspect``: look at a file, and write the schema to edit."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from sfumato.cli.options import Json, SchemaFile, TableOrParts, console, print_json, say, with_options
from sfumato.errors import FileError
from sfumato.project.options import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from sfumato.auditing.proposals import Dependencies
    from sfumato.compare.exposure import Exposure, ScenarioExposure
    from sfumato.table.describe import Finding
    from sfumato.table.microdata import Microdata
    from sfumato.table.roles import ProposedRole

T = TypeVar("T")
DEFAULT = Path("schema.toml")
BETWEEN = 2  # spaces after a column
MIN_WIDTH = 12  # characters of the values that are worth a column
WORDS = {
    "id": "behaves like an id",
    "household": "behaves like the number of a household",
    "weight": "behaves like a survey weight",
    "labelled codes": "is read as a number, but may be codes",
}
NUMBERS = ("one value", "two", "three")
ADVICE = {
    "id": "name it in the schema as id, or give it the role identifier",
    "household": "name it in the schema as household",
    "weight": "name it in the schema as weight",
    "labelled codes": 'give it kind = "nominal" or "ordinal"',
}


@with_options(*DIALECT)
def inspect(
    file: TableOrParts,
    *,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the schema; schema.toml if not said.", show_default=False)
    ] = None,
    schema: SchemaFile = None,
    risk: Annotated[
        bool, typer.Option("--risk", help="Show too what the file gives away before anything is done.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a schema file that was edited.")] = False,
    json: Json = False,
    options: dict[str, Any],
) -> None:
    """Show each variable of a file and write schema.toml for you to edit.

    For each variable of which nobody has said the role, one is proposed from its name and its values. The schema lists
    these under [proposed] until you delete them there; nothing is published as long as they stand.

    Variables that others determine (copies, classes of a number, sums) are pointed out with the line that links them.

    Of a table in parts, a folder or a pattern, a random sample of the records is shown.

    Example: `sfumato inspect census.csv --out census.toml`
    """
    from sfumato.auditing.proposals import proposals
    from sfumato.project.engines import engine_for
    from sfumato.project.tables import read_table
    from sfumato.table.roles import with_proposed_roles
    from sfumato.table.schema_file import schema_text

    with engine_for(file):
        data, whole = read_table(file, schema, tell=say, **options)
    sample_of = len(whole) if whole is not None and len(whole) > len(data) else None
    if whole is not None:
        say(f"{whole!r}: what follows is of {len(data):,} of them")
    looked = proposals(data)
    data = with_proposed_roles(data, looked.roles)
    roles = {one.name: one.role for one in looked.roles}
    findings = tuple(replace(one, role=roles.get(one.name, one.role)) for one in looked.findings)
    linked = looked.links
    failed: list[str] = []
    exposed = _unless_failed("what the file gives away", lambda: _exposed(data), failed) if risk else None
    proposed = _unless_failed("hierarchies", lambda: _hierarchies(data, file, schema), failed) or {}
    if json:
        plain = {"file": str(file), "records": len(data), "variables": [_as_json(found) for found in findings]}
        plain["links"] = {**asdict(linked), "lines": {one.name: one.line for one in linked.found}}
        plain["proposed"] = [asdict(one) for one in looked.specials]
        plain["roles"] = [asdict(one) for one in looked.roles]
        plain["hierarchies"] = proposed
        print_json(plain if exposed is None else {**plain, "risk": asdict(exposed)})
    else:
        _print(file, len(data), findings, sample_of)
        _print_roles(looked.roles)
        _print_dependencies(linked)
        _print_hierarchies(proposed)
        if exposed is not None:
            _print_exposure(exposed)
    for note in (*data.notes, *_unfit(data), *failed):
        say(note)
    remarks = {one.name: f"{one.line}    # proposed: {one.sentence}" for one in linked.found}
    whys = {one.name: one.why for one in looked.roles}
    text = schema_text(data, remarks, whys=whys, folder=(out or DEFAULT).parent, sample_of=sample_of)
    written = _write(text, out, schema, force=force)
    if written is not None:
        say(f"wrote {written}: edit it, then say --schema {written}")


def _unless_failed(what: str, look: "Callable[[], T]", failed: list[str]) -> "T | None":
    """Return what a look at the table finds; None, and a line that says so, if it fails."""
    from sfumato.errors import OF_THE_RUN, SfumatoError, unexpected

    try:
        return look()
    except (SfumatoError, *OF_THE_RUN):
        raise
    except Exception as error:
        failed.append(f"{what}: not worked out ({unexpected(error)})")
        return None


def _hierarchies(data: "Microdata", file: Path, schema: Path | None) -> dict[str, str]:
    """Return the command that writes a hierarchy of each key that has none and may need one."""
    from sfumato.table.hierarchy_proposal import propose

    keys = dict.fromkeys(key for intruder in data.schema.intruders() for key in intruder.keys)
    found = {name: propose(data, name) for name in keys if data.schema[name].hierarchy is None}
    place = None if schema is None else str(schema)
    return {name: proposal.command(str(file), place) for name, proposal in found.items() if proposal is not None}


def _unfit(data: "Microdata") -> list[str]:
    """Say which hierarchies of the schema do not fit their column, and why."""
    from sfumato.errors import NotApplicable

    said = []
    for variable in data.schema:
        try:
            if variable.hierarchy is not None:
                variable.hierarchy.levels(variable, data.columns[variable.name])
        except NotApplicable as refusal:
            said.append(str(refusal))
    return said


def _print_hierarchies(commands: "Mapping[str, str]") -> None:
    from rich.text import Text

    out = console()
    if commands:
        out.print(Text("\nTo make keys coarser step by step, write what their values are part of:", style="bold"))
    for command in commands.values():
        out.print(Text(f"  {command}"), soft_wrap=True)


def _exposed(data: "Microdata") -> "Exposure":
    from sfumato.compare.exposure import exposure

    return exposure(data)


def _write(text: str, out: Path | None, schema: Path | None, *, force: bool) -> Path | None:
    """Write the schema, but never over one that says something else, unless told so."""
    from sfumato.report.page import save

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


def _print(file: Path, records: int, findings: "Sequence[Finding]", sample_of: int | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from sfumato.report.wording import count

    out = console()
    held = count(records, "record")
    if sample_of is not None:
        held = f"{count(sample_of, 'record')}, of which a random sample of {records:,} is shown"
    out.print(Text(f"{file.name}: {held}, {count(len(findings), 'variable')}\n", style="bold"))
    columns: dict[str, list[str]] = {
        "variable": [f.name for f in findings],
        "kind": [f.kind for f in findings],
        "role": [f.role for f in findings],
        "distinct": [f"{f.distinct:,}" for f in findings],
        "missing": [f"{f.missing:,}" for f in findings],
        "values": [_values(f) for f in findings],
    }
    kept = _fitting(columns, out.width)
    table = Table(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold")
    for heading, width in kept.items():
        right = heading in ("distinct", "missing")
        over: Literal["fold", "ellipsis"] = "fold" if heading == "variable" else "ellipsis"
        table.add_column(
            heading, justify="right" if right else "left", width=width, no_wrap=over == "ellipsis", overflow=over
        )
    for place, finding in enumerate(findings):
        cells = (Text(columns[heading][place]) for heading in kept)
        table.add_row(*cells, style="yellow" if finding.suggestion else None)
    out.print(table)
    if len(kept) < len(columns):
        missing = [heading for heading in columns if heading not in kept]
        out.print(Text(f"\nno room for: {', '.join(missing)}; --json has them, or a wider window", style="dim"))
    odd = [finding.suggestion for finding in findings if finding.suggestion is not None]
    if odd:
        out.print(Text("\nTo look at:", style="bold"))
    for suggestion in odd:
        out.print(Text(f"  {suggestion.name}: {suggestion.sentence}", style="yellow"))


def _print_roles(roles: "Sequence[ProposedRole]") -> None:
    """Print the roles that are proposed, with their reasons; of those that nothing speaks of only the names."""
    from rich.text import Text

    from sfumato.compare.figures import listed

    if not roles:
        return
    out = console()
    out.print(Text("\nProposed roles, which nobody has confirmed:", style="bold"))
    for role in ("identifier", "key", "confidential"):
        for one in roles:
            if one.role == role:
                out.print(Text(f"  {one.name}: {role}, for {one.why}"))
    rest = tuple(one.name for one in roles if one.role == "other")
    if rest:
        out.print(Text(f"  other: {listed(rest, 12)}"))


def _fitting(columns: "Mapping[str, Sequence[str]]", width: int) -> dict[str, int]:
    """Choose the columns that have room and their widths: names are whole, values take what is left.

    >>> _fitting({"variable": ["age"], "kind": ["numeric"], "values": ["0 to 105 = very old"]}, 36)
    {'variable': 8, 'kind': 7, 'values': 17}
    >>> _fitting({"variable": ["a_long_name"], "kind": ["numeric"], "values": ["0 to 105"]}, 22)
    {'variable': 11, 'kind': 7}
    """
    from rich.cells import cell_len

    kept: dict[str, int] = {}
    left = width
    for heading, cells in columns.items():
        wanted = max(map(cell_len, (heading, *cells)))
        given = min(wanted, left) if heading in ("variable", "values") else wanted
        if kept and (given > left or given < min(wanted, MIN_WIDTH)):
            break
        kept[heading] = given
        left -= given + BETWEEN
    return kept


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


def _print_dependencies(linked: "Dependencies") -> None:
    """Print which variables others determine, with the line to write into the schema; nothing where there is none."""
    from sfumato.table.toml_text import key

    out = console()
    if linked.found or linked.apart or linked.notes:
        sample = f" (looked through: {linked.looked:,} of {linked.records:,} records)"
        _line(out, f"\nDetermined by others{sample if linked.looked < linked.records else ''}", style="bold")
    for one in linked.found:
        _line(out, f"  {one.name}: {one.sentence}.", "    ")
        _line(out, f"    To let it follow, write under [variables.{key(one.name)}]: {one.line}", "    ")
    for sentence in (*linked.apart, *linked.notes):
        _line(out, f"  {sentence}.", "    ")


def _print_exposure(found: "Exposure") -> None:
    """Print what a file gives away."""
    out = console()
    _line(out, "\nWhat the file gives away before anything is done", style="bold")
    if not found.scenarios:
        _line(out, "  No variable can be counted over: give some the role key, or coarsen them.")
    for seen in found.scenarios:
        _print_scenario(out, seen, found.records)
    if found.found:
        _line(out, "\nFound by behaviour, and not said in the schema", style="bold")
    for one in found.found:
        _line(out, f"  {one.name} {WORDS[one.behaves]}: {one.evidence}.", "    ")
        _line(out, f"    If so, {ADVICE[one.behaves]}.", "    ")


def _print_scenario(out: "Console", seen: "ScenarioExposure", records: int) -> None:
    from sfumato.compare.exposure import coarsen_first
    from sfumato.report.wording import count, percentage

    _line(out, f"\n{seen.name}: knows {', '.join(seen.keys)}; k = {seen.k}", "  ", style="bold")
    if seen.left_out:
        _line(out, f"  Continuous, so not counted over: {', '.join(seen.left_out)}.", "  ")
    if seen.known_about:
        _line(out, f"  Known about and not exactly, so not counted over: {', '.join(seen.known_about)}.", "  ")
    levels = sorted({*seen.violating, seen.k})
    alike = {level: seen.violating.get(level, seen.below) for level in levels if level > 2}
    counted = {"alone with these values": seen.unique} | {f"with fewer than {n} alike": m for n, m in alike.items()}
    for words, number in counted.items():
        _line(out, f"  {number:>9,}  {percentage(number / records):>7}  records {words}", "    ")
    found = f"{seen.expected:,.1f}"
    _line(out, f"  {found:>9}  {percentage(seen.expected / records):>7}  re-identifications to be expected", "    ")
    _line(out, f"  The largest chance of a record to be found is {percentage(seen.largest)}.", "    ")
    if seen.with_household is not None and seen.largest_of_household is not None:
        expected = f"{seen.with_household * records:,.1f} records ({percentage(seen.with_household)})"
        largest = percentage(seen.largest_of_household)
        _line(out, f"  With their households {expected} are found; the largest chance of one is {largest}.", "    ")
    if seen.households:
        several = f"{count(seen.households, 'household')} of two or more members hold a record"
        _line(out, f"  {several} with fewer than {seen.k} alike: who finds it finds all.", "    ")
    for note in seen.notes:
        _line(out, f"  He does not know who took part: {note}.", "    ")
    alone = [f"on {keys} {number:,}" for keys, number in zip(NUMBERS, seen.alone_on, strict=False) if number]
    if alone:
        _line(out, f"  Records that few values suffice to find: {', '.join(alone)}.", "    ")
    first = coarsen_first(seen)
    if first:
        effects = ", ".join(f"{name} ({seen.without[name]:,} left below {seen.k} without it)" for name in first)
        _line(out, f"  To coarsen first: {effects}.", "    ")
    if any(seen.contributions.values()):
        shares = ", ".join(f"{name} {percentage(share)}" for name, share in seen.contributions.items())
        _line(out, f"  Keys that make records alone on few values, by their SUDA contributions: {shares}.", "    ")
    if seen.riskiest:
        _line(out, "  Riskiest combinations, each of one record:")
    for one in seen.riskiest:
        values = ", ".join(f"{name} {value}" for name, value in one.values.items())
        _line(out, f"    row {one.row:,}: {values}", "      ")


def _line(out: "Console", text: str, indent: str = "", *, style: str = "") -> None:
    """Print a text, broken between words and indented where it goes on."""
    import textwrap

    from rich.text import Text

    break_before, body = ("\n", text[1:]) if text.startswith("\n") else ("", text)
    lines = textwrap.wrap(body, out.width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    out.print(Text(break_before + "\n".join(lines), style=style))
