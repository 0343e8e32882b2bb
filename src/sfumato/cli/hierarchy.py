"""``sfumato hierarchy``: write what the values of a variable are part of, to be edited and named in the schema."""

from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import Json, SchemaFile, TableFile, console, print_json, say, with_options
from sfumato.errors import FileError, NotApplicable, ParameterError
from sfumato.project.options import DIALECT

if TYPE_CHECKING:
    from sfumato.table.hierarchy import Hierarchy
    from sfumato.table.hierarchy_proposal import Proposal
    from sfumato.table.microdata import Microdata

MAX_ROWS = 10_000  # values of a number that a file of rows may list


@with_options(*DIALECT)
def hierarchy(
    file: TableFile,
    variable: Annotated[str, typer.Argument(help="The variable to make coarser.", show_default=False)],
    values: Annotated[
        list[str] | None, typer.Argument(help="What the way below takes, level by level.", show_default=False)
    ] = None,
    *,
    bands: Annotated[bool, typer.Option("--bands", help="Bands of these widths: --bands 5 10 20.")] = False,
    quantiles: Annotated[
        bool, typer.Option("--quantiles", help="So many groups of about as many records: --quantiles 10 5.")
    ] = False,
    cuts: Annotated[bool, typer.Option("--cuts", help="Own cut points: --cuts 18,25,65 18,65.")] = False,
    dates: Annotated[
        bool, typer.Option("--dates", help='Spans of the calendar: --dates month quarter year "10 years".')
    ] = False,
    truncate: Annotated[
        bool, typer.Option("--truncate", help="So many first characters of codes left: --truncate 4 3 2.")
    ] = False,
    merge_neighbours: Annotated[
        bool, typer.Option("--merge-neighbours", help="So many ordered categories together: --merge-neighbours 2 4.")
    ] = False,
    rare: Annotated[
        bool, typer.Option("--rare", help="Categories below these shares of records called other: --rare 0.02 0.05.")
    ] = False,
    from_table: Annotated[
        bool, typer.Option("--from-table", help="Columns of a file, fine to coarse: --from-table regions.csv.")
    ] = False,
    start: Annotated[float, typer.Option(help="Where bands begin: at multiples of their width from here.")] = 0.0,
    ends: Annotated[
        tuple[float, float] | None, typer.Option(help="Bands are open beyond these: --ends 20 80.", show_default=False)
    ] = None,
    mask: Annotated[str, typer.Option(help='What stands for characters cut off; "" for nothing.')] = "*",
    top: Annotated[bool, typer.Option("--top", help="Add a level in which all is one group, *.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The file to write: .csv as ARX has it, .json, .toml; VARIABLE.csv if not said."
        ),
    ] = None,
    schema: SchemaFile = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that says something else.")] = False,
    json: Json = False,
    options: dict[str, Any],
) -> None:
    """Write a hierarchy of a variable, what each value is part of at each level, and show how large the groups are.

    Without a way the one that suits the values is taken. Name the file in the schema: hierarchy = "age.csv".

    Example: `sfumato hierarchy survey.csv age --bands 5 10 20`
    """
    from sfumato.table.files import read

    asked = {
        "bands": bands,
        "quantiles": quantiles,
        "cuts": cuts,
        "dates": dates,
        "truncate": truncate,
        "merge-neighbours": merge_neighbours,
        "rare": rare,
        "from-table": from_table,
    }
    data = read(file, schema, **options)
    way = _way(data, variable, [word for word, said in asked.items() if said], tuple(values or ()))
    made = way.build(data, start=start, ends=ends, mask=mask)
    made = made.topped() if top else made
    levels = _levels(data, variable, made)
    written = _written(data, variable, made, _target(file, variable, out), force=force)
    if json:
        print_json(
            {"variable": variable, "way": way.way, "values": list(way.values), "file": str(written), "levels": levels}
        )
    else:
        _print(variable, levels)
    place = relpath(written, schema.parent) if schema is not None else written.name
    say(f'wrote {written}: name it in the schema under [variables.{variable}]: hierarchy = "{place}"')


def _way(data: "Microdata", name: str, asked: list[str], values: tuple[str, ...]) -> "Proposal":
    """Return what was asked for, or else what suits the variable."""
    from sfumato.table.hierarchy_proposal import Proposal, dated, propose

    if name not in data.schema:
        raise ParameterError(data.schema.unknown(name))
    if len(asked) > 1:
        raise ParameterError(f"--{asked[0]} and --{asked[1]} are two ways; give one")
    if asked:
        return Proposal(name, asked[0], values)  # type: ignore[arg-type]
    if values:
        raise ParameterError(f"say what {' '.join(values)} stand for: --bands, --quantiles, --cuts or another way")
    found = propose(data, name)
    form = dated(data, name) if found is None else None
    if form is not None:
        stated = "" if form.startswith("%Y-%m-%d") else f' and format = "{form}"'
        raise NotApplicable(
            f'the values of {name!r} are dates, but text: write kind = "date"{stated} under [variables.{name}] in the '
            "schema, then ask for --dates month quarter year"
        )
    if found is None:
        raise NotApplicable(f"{name!r} has few values, and none needs merging; say how: see `sfumato hierarchy --help`")
    say(f"as if you had said: {' '.join([f'--{found.way}', *found.values])}")
    return found


def _distinct(column: Any) -> list[float]:
    import numpy as np

    found: list[float] = np.unique(column[~np.isnan(column)]).tolist()
    return found


def _levels(data: "Microdata", name: str, made: "Hierarchy") -> list[dict[str, object]]:
    """Tell of each level how many groups occur, the records of the smallest and the largest, and the first groups."""
    import numpy as np

    found = made.levels(data.schema[name], data.columns[name])
    told: list[dict[str, object]] = []
    for level, words in enumerate(found.spelled):
        groups = found.groups(level)
        counts = np.bincount(groups[groups >= 0], minlength=len(words))
        told.append(
            {
                "level": level,
                "name": made.names[level - 1] if level and made.names else "",
                "groups": len(words),
                "smallest": int(counts.min(initial=len(groups))),
                "largest": int(counts.max(initial=0)),
                "examples": list(words[:4]),
            }
        )
    return told


def _target(file: Path, name: str, out: Path | None) -> Path:
    target = out or Path(f"{name}.csv")
    if out is None and target.name != f"{name}.csv":
        raise FileError(f"{name!r} is no name for a file; say where to write: --out FILE.csv")
    if target.exists() and file.exists() and target.samefile(file):
        raise FileError(f"{target} is the table itself; write the hierarchy elsewhere: --out FILE.csv")
    return target


def _written(data: "Microdata", name: str, made: "Hierarchy", target: Path, *, force: bool) -> Path:
    """Write the hierarchy, of a number with a row for each value where the file holds rows, and return the file."""
    import numpy as np

    from sfumato.report.page import save
    from sfumato.table.hierarchy_file import ROWS, hierarchy_text

    if not made.rows and target.suffix.lower() in ROWS:
        values = _distinct(data.columns[name])
        if values and all(value == int(value) for value in values) and values[-1] - values[0] < MAX_ROWS:
            values = np.arange(values[0], values[-1] + 1).tolist()  # those between, that no record has, too
        if len(values) > MAX_ROWS:
            raise FileError(
                f"{name!r} has {len(values):,} different values, too many for a row each; write {target.stem}.toml, "
                "which holds the cuts"
            )
        made = made.listing(values, "date" if data.schema[name].kind == "date" else "numeric")
    text = hierarchy_text(made, target).encode()
    if target.exists() and not force and not (target.is_file() and target.read_bytes() == text):
        raise FileError(f"{target} exists and says something else; overwrite it with --force or choose another")
    return save(target, text)


def _print(variable: str, levels: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(f"{variable}: records in the groups of each level\n", style="bold"))
    named = any(level["name"] for level in levels)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("level", *(("name",) if named else ()), "groups", "smallest", "largest", "the first ones"):
        right = heading in ("level", "groups", "smallest", "largest")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
    for level in levels:
        shown = ", ".join(level["examples"]) + (", ..." if level["groups"] > len(level["examples"]) else "")
        cells = [str(level["level"]), *((level["name"],) if named else ())]
        cells += [f"{level[word]:,}" for word in ("groups", "smallest", "largest")]
        table.add_row(*map(Text, [*cells, shown]))
    out.print(table)
