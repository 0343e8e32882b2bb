"""``sfumato compare``: measure one protected file against its original."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import (
    Json,
    MeasureTexts,
    Population,
    SchemaFile,
    command_line,
    console,
    print_json,
    say,
    with_options,
)
from sfumato.project.options import DIALECT, Audience
from sfumato.project.reading import read_bounds

if TYPE_CHECKING:
    from sfumato.project.comparison import ComparedFiles
    from sfumato.report.summary import Summary

CAUTIONS = 9  # lines of what the figures do not say


@with_options(*DIALECT)
def compare(
    original: Annotated[
        Path, typer.Argument(help="The original file; of a table in parts its folder or a pattern.", show_default=False)
    ],
    protected: Annotated[Path, typer.Argument(help="The protected file, or its parts.", show_default=False)],
    *,
    schema: SchemaFile = None,
    protected_schema: Annotated[
        Path | None, typer.Option(help="The schema of the protected file, if its variables were recoded.")
    ] = None,
    unmatched: Annotated[
        bool,
        typer.Option("--unmatched", help="Record i is not record i: a synthetic file, or one in another order."),
    ] = False,
    measure: MeasureTexts = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(
            help='A bound such as "Reidentification=5%"; may be said several times. Those of its sweep if not said.'
        ),
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="A bound on a measure that is better when higher.")] = None,
    population: Population = None,
    records: Annotated[int, typer.Option(min=0, help="List so many records most at risk, by row number.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this folder.")] = None,
    audience: Annotated[
        Audience,
        typer.Option(help="internal: everything; external: what may be published with the file, without risks."),
    ] = "internal",
    seed: Annotated[int, typer.Option(min=0, help="Fixes the draws of random measures.")] = 0,
    json: Json = False,
    engine: Annotated[
        str, typer.Option(help="Of tables in parts: local, here, dask://host:port or spark://host:port.")
    ] = "local",
    memory: Annotated[
        str | None, typer.Option(help='Of tables in parts: memory to use, such as "2 GB"; half of what is free.')
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Of tables in parts: a file for what was computed, so that a run can go on.")
    ] = None,
    options: dict[str, Any],
) -> None:
    """Measure how risky and how useful a protected file is, seen against its original.

    All measures are tried unless you name some, first those that decide for such a file; those that do not apply are
    listed with the reason.

    Tables in parts, `"register/*.parquet"` or a folder, are measured part by part, by the measures whose memory does
    not grow with the records, or by those named.

    With bounds, said here or those of the sweep that wrote the file, it says for each whether it is kept.

    Exit code 1 if a measure that you named has no figure, or none has one, or a bound that you said is broken; of
    tables in parts also if it cannot be told which record is which, unless you say --unmatched.

    Example: `sfumato compare census.csv protected.csv --records 10 --report comparison`
    """
    from sfumato.project.comparison import compare_files
    from sfumato.report.summary import to_json

    found = compare_files(
        original,
        protected,
        schema,
        protected_schema=protected_schema,
        unmatched=unmatched,
        measures=measure,
        at_most=read_bounds("--at-most", at_most or ()),
        at_least=read_bounds("--at-least", at_least or ()),
        population=population,
        records=records,
        report=report,
        audience=audience,
        seed=seed,
        engine=engine,
        memory=memory,
        store=store,
        details=json,
        tell=say,
        bars=True,
        command=command_line(),
        **options,
    )
    if found.summary is None:
        if json:
            print_json(_plain(found))
        else:
            _print_parts(found)
    elif json:
        typer.echo(to_json(found.summary))
    else:
        _print(found.summary, records, found.deciding, found.report)
    if found.report is not None:
        say(f"report: {found.report}")
    for names, why in _by_reason(found.lacking) if found.summary is None else found.lacking.items():
        say(f"sfumato: {names} could not be computed: {why}")
    if not found.passed:
        raise typer.Exit(1)


def _print(summary: "Summary", records: int, deciding: "Collection[str]", page: Path | None) -> None:
    """Print a verdict, the figures that decide, or those that were asked for, and where the rest is."""
    from rich.text import Text

    from sfumato.report.terminal import audit_verdict, deciding_table, pair_table, records_table, verdict_text

    out = console()
    out.print(Text(summary.title, style="bold"))
    shown = {line.title for line in summary.measures if line.key in deciding}
    if not any(title in summary.verdict.basis for title in shown):  # which figures are estimates: none of these
        summary = replace(summary, verdict=replace(summary.verdict, basis=""))
    out.print(verdict_text(summary, out.width))
    found = summary.checked.audit if summary.checked is not None else None
    if found is not None and found.protected:
        out.print(audit_verdict(found))
        out.print(Text("" if found.passed else f"sfumato audit shows how: {'; '.join(found.repairs)}"))
    bounds = deciding_table(summary) if summary.bounds else None
    if bounds is not None:
        out.print(bounds, "")
    decided = {bound.key for bound in summary.bounds}
    others = pair_table(summary, [key for key in deciding if key not in decided])
    if others.row_count:
        out.print(others, "")
    for reason, names in summary.uncomputed:
        if some := [summary_name for summary_name in names if summary_name in _names(summary, deciding)]:
            out.print(Text(f"not computed: {', '.join(some)}: {reason}", style="dim"))
    _print_cautions(summary, CAUTIONS)
    table = records_table(summary, records) if records else None
    if table is not None:
        out.print(Text("\nrecords most at risk (row numbers of the original, from 1)\n", style="bold"))
        out.print(table)
    elif records:
        say("no measure of risk that applies tells records apart")
    hidden = len(summary.candidates[0].figures.keys() - set(deciding))
    if page is None:
        more = f"{hidden} more figures, " if hidden else ""
        out.print(Text(f"{more}variables, pairs and all warnings: --report FOLDER or --json", style="dim"))


def _print_cautions(summary: "Summary", most: int) -> None:
    """Print what the figures do not say: the first few, cut to three lines each."""
    from rich.text import Text

    from sfumato.report.terminal import some_of

    for caution in some_of(summary.cautions, console().width, most):
        console().print(Text(caution, style="yellow"))


def _names(summary: "Summary", keys: "Collection[str]") -> set[str]:
    return {line.name for line in summary.measures if line.key in keys}


def _plain(found: "ComparedFiles") -> dict[str, object]:
    """Return what was found of tables in parts as it is written as JSON."""
    return {
        "records": dict(zip(("original", "protected"), found.records, strict=True)),
        "parts": dict(zip(("original", "protected"), found.parts, strict=True)),
        "figures": {
            name: {
                "value": one.value,
                "parts": dict(one.parts),
                "by_variable": dict(one.by_variable),
                "notes": list(one.notes),
            }
            for name, one in found.measurements.items()
        },
        "reasons": found.reasons,
    }


def _print_parts(found: "ComparedFiles") -> None:
    """Print the figures of tables in parts, and why some are not there; those that are a failure are told later."""
    from rich.table import Table
    from rich.text import Text

    table = Table("measure", "better", "value", box=None, pad_edge=False)
    notes: list[str] = []
    for name, one in found.measurements.items():
        table.add_row(name, one.about.better, f"{one.value:.6g}")
        notes += [f"{name}: {note}" for note in one.notes]
    out = console()
    out.print(table)
    reasons = {} if found.lacking else found.reasons
    whys = [f"{names}: {why}" for names, why in _by_reason(reasons)]
    for text in (*dict.fromkeys(notes), *whys):
        out.print(Text(f"  {text}", style="dim"))


def _by_reason(refused: "Mapping[str, str]") -> list[tuple[str, str]]:
    """Put measures together that were refused for the same reason, which begins with the name of the class."""
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why.removeprefix(f"{name.partition('(')[0]}: "), []).append(name)
    return [(", ".join(names), why) for why, names in reasons.items()]
