"""``sfumato sweep``, with ``demo``, one on a made-up survey, and ``look`` and ``sign``, which go on with its folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import (
    EngineName,
    Json,
    Memory,
    SchemaFile,
    TableOrParts,
    Workers,
    command_line,
    console,
    print_json,
    say,
    with_options,
)
from sfumato.project.options import DEFAULTS, unheard

if TYPE_CHECKING:
    from sfumato.project.plan import Plan
    from sfumato.report.side_by_side import SideBySide
    from sfumato.report.summary import Summary

REASONS = 2  # for figures that are missing; the report has them all
LISTED = 15  # rows of each table of candidates side by side
HOUSEHOLDS, SEED = 850, 2001
BOUNDS = ("Reidentification=5%", "ExposedAmounts=0%")


@with_options(*DEFAULTS)
def sweep(
    file: TableOrParts,
    *,
    schema: SchemaFile = None,
    engine: EngineName = None,
    memory: Memory = None,
    json: Json = False,
    options: dict[str, Any],
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
    from sfumato.project.options import SweepOptions
    from sfumato.project.sweep import swept

    plan, summary = swept(
        file,
        schema,
        SweepOptions(**options),
        engine=engine,
        memory=memory,
        tell=say,
        bars=True,
        command=lambda plan: command_line(plan.seed),
    )
    finish(summary, plan, json=json)


def finish(summary: "Summary", plan: "Plan", *, json: bool) -> None:
    """Print what was found, and leave with the exit code that says how it went."""
    from sfumato.outcome import Status
    from sfumato.report.summary import to_json

    if json:
        typer.echo(to_json(summary))
    else:
        _print_outcome(summary, plan)
    for reason, labels in summary.lacking[:REASONS]:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        named = ", ".join(summary.names.get(label, label) for label in labels[:3])
        say(f"sfumato: {named}{more} lack{'s' if len(labels) == 1 else ''} a figure: {reason}")
    if len(summary.lacking) > REASONS:
        say(f"sfumato: {len(summary.lacking) - REASONS} more reasons for missing figures are in the report")
    # that a measure does not apply to a candidate is a finding; that one fails, or none applies, is not
    broken = any(
        not line.figures or any(reason.status is Status.FAILED for reason in line.reasons.values())
        for line in summary.failed
    )
    if broken or summary.verdict.publish is False:
        raise typer.Exit(1)


def _print_outcome(summary: "Summary", plan: "Plan") -> None:
    """Print the verdict, what decides, the first candidates and where the rest is: 40 lines with what came before."""
    from rich.text import Text

    from sfumato.project.release import protected_path, release_folder
    from sfumato.report.terminal import LINES, ROWS, candidates_table, deciding_table, rest, signs, verdict_text

    out = console()
    files = [f"internal report  {plan.out / 'report.html'}"]
    if summary.verdict.publish:
        files.insert(0, f"for the public   {release_folder(plan) / 'about.html'}")
        files.insert(0, f"protected table  {protected_path(plan)}")
    with out.capture() as printed:
        out.print(verdict_text(summary, out.width))
        if summary.verdict.publish is None:
            out.print(Text(f"{summary.sentence}\n"))
        deciding = deciding_table(summary)
        if deciding is not None and summary.verdict.publish is not None:
            out.print(deciding, "")
    told = printed.get()
    out.file.write(told)
    with out.capture() as none:
        out.print(candidates_table(summary, out.width, 0))
    room = LINES - len(told.splitlines()) - len(none.get().splitlines()) - len(files) - 2
    if room > 0:
        rows = min(room, ROWS)
        out.print(candidates_table(summary, out.width, rows))
        out.print(Text(signs(summary), style="dim"))
        out.print(Text(f"{rest(summary, rows)}", style="dim"))
    else:
        out.print(Text(f"{rest(summary, 0)}", style="dim"))
    for line in files:
        out.print(Text(line), soft_wrap=True)


def look(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.", show_default=False)],
    *,
    candidate: Annotated[
        list[str],
        typer.Option(help="A candidate by its label or short name; one to three.", show_default=False),
    ],
    schema: SchemaFile = None,
    json: Json = False,
) -> None:
    """Lay candidates of a sweep side by side: what becomes of variables, associations and regressions in each of them.

    What is found is kept in FOLDER/results.sqlite: a second look takes a moment.

    Example: `sfumato look sweep --candidate "MDAV(k=3)" --candidate "MDAV(k=5)"`
    """
    from sfumato.project.closely import look as looked
    from sfumato.report.side_by_side import to_json

    found = looked(folder, candidate, schema=schema, tell=say, bars=True)
    if json:
        typer.echo(to_json(found))
    else:
        _print_side_by_side(found)


def _print_side_by_side(found: "SideBySide") -> None:
    from rich.text import Text

    from sfumato.report.terminal import figures_table, pairs_table, uses_table

    out = console()
    if found.basis:
        out.print(Text(f"{found.basis}\n"))
    for place, line in enumerate(found.candidates):
        out.print(Text(f"{line.name}", style="bold"))
        for said in found.prices[place]:
            out.print(Text(f"  {said}"))
    out.print()
    for title, table in (
        ("figures", figures_table(found)),
        ("what variables are good for, where that changed", uses_table(found, LISTED)),
        ("associations that changed", pairs_table(found, LISTED)),
    ):
        if table is not None:
            out.print(Text(f"{title}\n", style="bold"))
            out.print(table, "")


def sign(
    folder: Annotated[Path, typer.Argument(help="The folder of a sweep.", show_default=False)],
    *,
    by: Annotated[str, typer.Option(help="Who approves the release.", show_default=False)],
    reason: Annotated[list[str], typer.Option(help="Why; may be said several times.", show_default=False)],
    json: Json = False,
) -> None:
    """Sign the release of a sweep: who approved it, why, when, and which file it was.

    The decision is kept in FOLDER/decision.json and shown in the internal report. It is void as soon as the release is
    another file.

    Example: `sfumato sign sweep --by "A. Steward" --reason "The bounds are those of the release policy."`
    """
    from sfumato.project.decision import sign as signed

    decision = signed(folder, by=by, reasons=reason)
    if json:
        print_json(decision)
    else:
        typer.echo(f"signed by {decision.by}: {decision.candidate}, {decision.file}, SHA-256 {decision.sha256}")
        typer.echo(f"internal report  {folder / 'report.html'}")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("sfumato-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Fixes every random draw.")] = SEED,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run it all on a made-up household survey: a minute or so, ending with a verdict and a report.

    Two intruders are feared: one who holds a register of all residents, and an acquaintance who knows that a person
    took part. At most 5 % of the persons may be found by either, and no extreme amount may stand as it was.

    Example: `sfumato demo --out sfumato-demo`, then open sfumato-demo/report.html
    """
    from dataclasses import replace

    from sfumato.project.folder import make_folder, remembered_seed
    from sfumato.table.files import write
    from sfumato.table.samples import household_survey
    from sfumato.table.schema import Scenario
    from sfumato.table.schema_file import write_schema

    make_folder(out)
    survey, schema = out / "survey.csv", out / "schema.toml"
    made = household_survey(HOUSEHOLDS)
    intruders = (
        Scenario("register", keys=("region", "sex", "age", "marital"), k=3, knows_membership=False),
        Scenario("acquaintance", keys=("sex", "age", "education", "occupation"), k=5),
    )
    made = replace(made, schema=replace(made.schema, scenarios=intruders))
    remembered_seed(out, seed, unheard)  # from here on it is a sweep's folder, which may hold its survey too
    write(made, survey)
    write_schema(made, schema)
    said = " ".join(f'--at-most "{bound}"' for bound in BOUNDS)
    say(f"wrote {survey} ({len(made):,} made-up persons) and {schema}, which names two intruders; now:")
    say(f"sfumato sweep {survey} --schema {schema} {said} --out {out}")
    # the seed need not be secret here: the survey is made up
    sweep(survey, schema=schema, at_most=list(BOUNDS), seed=seed, workers=workers, out=out, json=json)
    if not json:
        say("next: read the report, then docs/tutorial.md; with a file of yours begin with `sfumato inspect FILE`")
