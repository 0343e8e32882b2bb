"""``sfumato compare``: measure one protected file against its original."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.compare_parts import compare_in_parts, refuse_others
from sfumato.cli.options import (
    Audience,
    Decimal,
    Delimiter,
    Encoding,
    Json,
    MeasureTexts,
    Population,
    SchemaFile,
    affordable,
    command_line,
    console,
    say,
)
from sfumato.project.reading import of_population, read_bounds, read_measures, refuse_unknown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.compare.defaults import Chosen
    from sfumato.compare.examine import Piece
    from sfumato.core import Measure
    from sfumato.data.microdata import Microdata
    from sfumato.restoration.findings import Checked
    from sfumato.show.summary import Summary

CAUTIONS = 9  # lines of what the figures do not say
SHOWN = 8  # figures printed where no measure decides


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
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
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
    from sfumato.data.parts import is_in_parts

    if is_in_parts(original) or is_in_parts(protected):
        external = audience if audience != "internal" else None
        refuse_others(population=population, records=records, report=report, audience=external)
        refuse_others(at_most=at_most, at_least=at_least)
        refuse_others(encoding=encoding, delimiter=delimiter, decimal=decimal)
        compare_in_parts(
            original,
            protected,
            schema=schema,
            protected_schema=protected_schema,
            unmatched=unmatched,
            measures=read_measures(measure) if measure else None,
            engine=engine,
            store=store,
            memory=memory,
            seed=seed,
            json=json,
        )
        return
    from sfumato.catalogue import measures as known
    from sfumato.compare.choose import checked_bounds
    from sfumato.compare.defaults import default_measures
    from sfumato.compare.examine import examine
    from sfumato.compare.experiment import Experiment
    from sfumato.data.files import formulas_in, read
    from sfumato.data.schema_file import schema_text
    from sfumato.project.record import bounds_of_sweep
    from sfumato.project.tables import order_of, read_protected, without_left_out
    from sfumato.show.summarise import summarise_pair
    from sfumato.show.summary import to_json
    from sfumato.utility.global_utility.measure import shown

    asked = read_measures(measure) if measure else None
    data = read(original, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    refuse_unknown(asked or (), data)
    limits, floors = read_bounds("--at-most", at_most or ()), read_bounds("--at-least", at_least or ())
    whose = ""
    if not limits and not floors:
        limits, floors, whose = bounds_of_sweep(protected, data.fingerprint)
    bounded = read_measures((*limits, *floors))
    refuse_unknown(bounded, data)
    written = read_protected(
        protected,
        data,
        protected_schema,
        as_written=True,
        encoding=encoding,
        delimiter=delimiter,
        decimal=decimal,
        tell=say,
    )
    for computed in formulas_in(written, protected):
        say(f"{protected.name}: {computed}")
    noted = order_of(protected, len(written), say)
    order = _order_by_values(data, written) if noted is None and not unmatched else noted
    candidate = written if order is None else written.put_back(order)
    if unmatched:
        candidate = replace(candidate, matched=False)
    usual = sorted(default_measures(data, candidate, population=population), key=lambda chosen: not chosen.decides)
    first = [chosen.measure for chosen in usual]
    others = [cls() for cls in known().values() if cls not in map(type, first)]
    chosen_ones = affordable([*first, *others], data) if asked is None else asked
    wanted = of_population(tuple(dict.fromkeys([*chosen_ones, *bounded])), population)
    experiment = Experiment(data, measures=tuple(wanted), candidates={protected.name: candidate}, seed=seed)
    before = [m for m in dict.fromkeys([*(first if asked is None else asked), *bounded]) if m.about.purpose == "risk"]
    with shown():
        results = experiment.run()
        if before:  # what the original itself would give away, by the measures that matter here
            row = replace(experiment, measures=tuple(of_population(before, population))).measure_original()
            results = replace(results, unprotected=row)
    audited = asked is None and candidate.matched
    checked = _audited(without_left_out(data, protected, say), written, noted) if audited else None
    what = _pieces(wanted, written=report is not None or json, records=records > 0)
    summary = summarise_pair(
        results,
        examine(results, protected.name, what=what, listed=max(records, 10), progress=True),
        file=original.name,
        protected=protected.name,
        deciding=[repr(chosen.measure) for chosen in usual if chosen.decides],
        checked=checked,
        bounds=checked_bounds(results, "compare", limits, floors),
        bounds_of=whose,
        command=command_line(),
        schema=schema_text(data.schema.unnamed()),
    )
    page = None
    if report is not None:
        from sfumato.show.report import write_report

        page = write_report(summary, report, audience)
    if json:
        typer.echo(to_json(summary))
    else:
        _print(summary, records, _deciding(summary, usual, asked), page)
    if page is not None:
        say(f"report: {page}")
    line = summary.candidates[0]
    said = (*(asked or ()), *(bounded if at_most or at_least else ()))
    named = set(map(repr, of_population(said, population)))
    lacking = {key: why for key, why in line.reasons.items() if key in named or not line.figures}
    if not line.figures or lacking:
        for key, why in lacking.items():
            say(f"sfumato: {key} could not be computed: {why}")
        raise typer.Exit(1)
    if (at_most or at_least) and any(change.kept is False for change in summary.verdict.changes):
        raise typer.Exit(1)


def _deciding(summary: "Summary", usual: "Sequence[Chosen]", asked: "Sequence[Measure] | None") -> "Collection[str]":
    """Return the keys of the measures to print: those asked for, else those that decide for such a file."""
    keys = [line.key for line in summary.measures]
    if asked is not None:
        return keys
    deciding = [repr(chosen.measure) for chosen in usual if chosen.decides]
    return [key for key in deciding if key in keys] or keys[:SHOWN]


def _order_by_values(data: "Microdata", written: "Microdata") -> "NDArray[np.intp] | None":
    """Return which record of the original each protected one is, if there is no id and its rows stand otherwise."""
    import numpy as np

    from sfumato.errors import DataError
    from sfumato.restoration.matching import match

    key = data.schema.id
    if len(data) != len(written) or (key is not None and key in written.columns):
        return None
    try:
        found = match(data, written)
    except DataError:  # nothing tells: as they stand, with a caution
        return None
    if found.how != "values":
        return None
    order = np.full(len(written), -1, dtype=np.intp)
    order[found.rows] = found.records
    rest = np.setdiff1d(np.arange(len(data)), found.records)
    order[order < 0] = rest
    said = "the records do not stand as in the original and have no id; they are matched by what was not touched"
    left = (
        f", which leaves {len(rest):,} that are matched as they come: risks may be higher than shown"
        if len(rest)
        else ""
    )
    say(f"{said}{left}")
    return order


def _audited(original: "Microdata", written: "Microdata", order: "NDArray[np.intp] | None") -> "Checked":
    """Try to restore protected values from the rest of the file, as it stands."""
    from sfumato.errors import OF_THE_RUN, SfumatoError, unexpected
    from sfumato.restoration.audit import audit
    from sfumato.restoration.findings import Checked

    sample = len(written) != len(original)
    try:
        return Checked(audit=audit(original, written, order=None if sample else order))
    except OF_THE_RUN:
        raise
    except Exception as error:
        return Checked(unaudited=unexpected(error), excused=sample and isinstance(error, SfumatoError))


def _pieces(measures: "Iterable[Measure]", *, written: bool, records: bool) -> "list[Piece]":
    """Name what is looked at besides the measures: all of it for a report or JSON, else what the terminal shows."""
    from sfumato.compare.examine import PIECES
    from sfumato.utility import GlobalDataUtility

    if written:
        return [piece for piece in PIECES if piece != "bootstrap"]
    wanted: list[Piece] = ["cautions", "release", "detail"]
    wanted += ["records"] if records else []
    wanted += ["usefulness"] if any(isinstance(measure, GlobalDataUtility) for measure in measures) else []
    return wanted


def _print(summary: "Summary", records: int, deciding: "Collection[str]", page: Path | None) -> None:
    """Print a verdict, the figures that decide, or those that were asked for, and where the rest is."""
    from rich.text import Text

    from sfumato.cli.outcome import print_cautions
    from sfumato.show.terminal import audit_verdict, deciding_table, pair_table, records_table, verdict_text

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
    print_cautions(summary, CAUTIONS)
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


def _names(summary: "Summary", keys: "Collection[str]") -> set[str]:
    return {line.name for line in summary.measures if line.key in keys}
