"""``sfumato sweep``: many candidates, measured alike, the best one chosen, reported and written."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    DespiteAudit,
    Encoding,
    EngineName,
    Json,
    KeepHouseholds,
    KeepOrder,
    KeepWeights,
    MeasureTexts,
    Memory,
    OnUndeclaredColumns,
    Population,
    SampleSize,
    SchemaFile,
    Seed,
    TableOrParts,
    Workers,
    command_line,
    say,
)
from sfumato.data.sample_size import SAMPLED
from sfumato.project.reading import read_bounds


def sweep(
    file: TableOrParts,
    *,
    schema: SchemaFile = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help='Such as "MDAV(k=[3, 5, 10])"; may be said several times. Composed to fit the table if not said.'
        ),
    ] = None,
    also_composed: Annotated[
        bool, typer.Option("--also-composed", help="Compose candidates beside the methods that are named.")
    ] = False,
    first: Annotated[
        str | None,
        typer.Option(
            help="What every candidate begins with, such as \"GlobalRecoding(bins={'age': 5})\"; alone it is one too."
        ),
    ] = None,
    breadth: Annotated[
        int, typer.Option(min=1, max=3, help="How many candidates to compose where no method is named: 1, 2 or 3.")
    ] = 1,
    measure: MeasureTexts = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(help='A bound such as "Reidentification=5%" (or =0.05); may be said several times.'),
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="A bound on a measure that is better when higher.")] = None,
    utility: Annotated[
        str | None, typer.Option(help="The measure of utility to make as good as possible; follows from the schema.")
    ] = None,
    risk: Annotated[str | None, typer.Option(help="The measure of risk on the map; follows from the schema.")] = None,
    least_risk: Annotated[
        bool,
        typer.Option(
            "--least-risk", help="Choose the least risk instead of the best utility: then bound what may be lost."
        ),
    ] = False,
    population: Population = None,
    candidate: Annotated[
        list[Path] | None,
        typer.Option(help="A file protected elsewhere, compared with the others; may be said several times."),
    ] = None,
    replicates: Annotated[int, typer.Option(min=1, help="Draws of each random method: they give standard errors.")] = 3,
    bootstrap: Annotated[
        bool,
        typer.Option(
            "--bootstrap/--no-bootstrap",
            help="Resample the records of the chosen table, for at most 10 seconds: intervals over records.",
        ),
    ] = True,
    keep_order: KeepOrder = False,
    keep_weights: KeepWeights = False,
    keep_households: KeepHouseholds = False,
    despite_audit: DespiteAudit = False,
    on_undeclared: OnUndeclaredColumns = "refuse",
    choose: Annotated[
        str | None,
        typer.Option(
            help="Release this candidate, by its label or short name, instead of the best; it has to keep the bounds."
        ),
    ] = None,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path, typer.Option(help="The folder for the internal report and, in OUT/release, what may be published.")
    ] = Path("sfumato-sweep"),
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    engine: EngineName = None,
    memory: Memory = None,
    sample: SampleSize = SAMPLED,
    json: Json = False,
) -> None:
    """Protect a file in many ways, measure risk and utility of each, choose the best within the bounds, and report.

    Candidates and measures follow from the schema, its scenarios and the bounds unless you name them. The verdict says
    whether to publish, how many would be found before and after, and the price; if nothing keeps the bounds, which one
    fails and what to change, and nothing is written to OUT/release.

    A variable that the schema does not name, or whose role is an unconfirmed proposal of `sfumato inspect`, keeps the
    table from being published: the verdict names it and says what to write.

    OUT/report.html is for those who decide. OUT/release holds what may go out: the protected table and about.html,
    which tells what was lost without a word on risk, parameters or seed.

    Every finished figure is safe in OUT/results.sqlite at once: run the same command again to continue or to add.

    A table in parts, `"register/*.parquet"` or a folder, need not fit into memory: figures are of all records, or
    estimates with a standard error, details of a random sample, the audit of as many records; OUT/release holds a
    folder of Parquet files.

    Example: `sfumato sweep census.csv --schema schema.toml --at-most "Reidentification=5%" --out sweep`
    """
    from sfumato.cli.outcome import finish
    from sfumato.project.carry_out import carry_out
    from sfumato.project.in_parts import engine_for
    from sfumato.project.parts_watch import PartsWatch
    from sfumato.project.place import refuse_place
    from sfumato.project.plan import planned
    from sfumato.show.wording import count

    refuse_place(out, file)
    with engine_for(file, engine=engine, memory=memory, workers=workers, out=out, progress=PartsWatch(), tell=say):
        plan = planned(
            file,
            schema,
            methods=method or (),
            also_composed=also_composed,
            first=first,
            breadth=breadth,
            measures=measure or (),
            at_most=read_bounds("--at-most", at_most or ()),
            at_least=read_bounds("--at-least", at_least or ()),
            utility=utility,
            risk=risk,
            least_risk=least_risk,
            population=population,
            candidates=candidate or (),
            replicates=replicates,
            bootstrap=bootstrap,
            keep_order=keep_order,
            keep_weights=keep_weights,
            keep_households=keep_households,
            despite_audit=despite_audit,
            on_undeclared=on_undeclared,
            choose=choose,
            seed=seed,
            workers=workers,
            out=out,
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            sample=sample,
            tell=say,
        )
        ways = f"{count(len(plan.methods), 'way')} ({count(replicates, 'draw')} of random ones)"
        say(f"protecting {plan.name} in {ways} and measuring each …")
        summary = carry_out(plan, tell=say, bars=True, command=command_line(plan.seed))
    finish(summary, plan, json=json)
