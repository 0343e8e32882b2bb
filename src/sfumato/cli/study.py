"""``sfumato study``: a paper's experiment, run again, beside its printed figures."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Json, Workers, command_line, print_json, tell
from sfumato.errors import ParameterError
from sfumato.project.options import workers_or_default


def study(
    name: Annotated[str, typer.Argument(help="The study: domingo, karr, kim, kocar or woo.", show_default=False)],
    *,
    data: Annotated[
        Path | None,
        typer.Option(help="The Census file; domingo needs it, karr uses it, the others make their own data."),
    ] = None,
    printed: Annotated[
        Path | None,
        typer.Option(help="The printed figures as a CSV file; those of domingo and karr are found beside the data."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder for the report; sfumato-NAME if not said.")] = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            min=1, help="Draws of each random method; 1 if not said, 5 data sets for karr, 1,000 samples for kim."
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(
            min=20, help="Another size: records of a table (karr, woo), of a sample (kim), households (kocar)."
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(min=1, help="Judge statements with as many seeds; one that they do not agree on gets no verdict."),
    ] = 1,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run the experiment of a paper again and put our figures beside the printed ones.

    Example: `sfumato study domingo --data census.csv --replicates 5`, `sfumato study woo --records 2000`
    """
    from sfumato import studies
    from sfumato.project.folder import make_folder
    from sfumato.report.study_page import write_study
    from sfumato.report.vega import altair

    altair()  # a study may take hours: what its page needs is asked for first
    if name not in studies.names():
        raise ParameterError(f"there is no study {name!r}; there are {', '.join(studies.names())}")
    folder = make_folder(out or Path(f"sfumato-{name}"))
    done = studies.run(
        name,
        data=data,
        printed=printed,
        replicates=replicates,
        workers=workers_or_default(workers),
        store=folder / "results.sqlite",
        progress=True,
        records=records,
        seeds=seeds,
    )
    page = write_study(done, folder, command_line())
    if json:
        findings = [
            {"statement": f.statement, "holds": f.holds, "changes with the seed": f.changes, "detail": f.detail}
            for f in done.findings
        ]
        print_json({"study": name, "report": str(page), "findings": findings})
        return
    for finding in done.findings:
        sign = "±" if finding.changes else "–" if finding.holds is None else "✓" if finding.holds else "✗"
        tell(f"{sign} {finding.statement}{f': {finding.detail}' if finding.detail else ''}")
    tell(f"\nreport: {page}")
