"""``sfumato sweep``: many candidates, measured alike, the best one chosen, reported and written."""

from typing import Any

from sfumato.cli.options import EngineName, Json, Memory, SchemaFile, TableOrParts, command_line, say, with_options
from sfumato.project.options import DEFAULTS


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
    from sfumato.cli.outcome import finish
    from sfumato.project.options import SweepOptions
    from sfumato.project.parts_watch import PartsWatch
    from sfumato.project.sweep import swept

    plan, summary = swept(
        file,
        schema,
        SweepOptions(**options),
        engine=engine,
        memory=memory,
        parts_watch=PartsWatch(),
        tell=say,
        bars=True,
        command=lambda plan: command_line(plan.seed),
    )
    finish(summary, plan, json=json)
