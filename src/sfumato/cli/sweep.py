"""``sfumato sweep``: many candidates, measured alike, the best one chosen, reported and written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Json,
    MeasureTexts,
    SchemaFile,
    Seed,
    Workers,
    affordable,
    console,
    make_folder,
    print_json,
    read_bounds,
    read_measures,
    read_methods,
    say,
    workers_or_default,
)
from sfumato.errors import DataError, FileError, NotApplicable, ParameterError

if TYPE_CHECKING:
    from sfumato.compare.results import Results
    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata
    from sfumato.show.summary import Summary

MEASURES = ("InformationLoss", "DistanceLinkage", "ProbabilisticLinkage", "RankInterval")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep tries, measures and bounds, and where it writes."""

    file: Path
    data: "Microdata"
    methods: "tuple[Method, ...]"
    measures: "tuple[Measure, ...]"
    candidates: "Mapping[str, Microdata]"
    replicates: int
    seed: int
    workers: int
    risk: str
    utility: str
    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    out: Path
    least_risk: bool = False  # instead of the best utility


def sweep(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", show_default=False)],
    schema: SchemaFile = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help='Such as "MDAV(k=[3, 5, 10])"; may be said several times. All that apply if not said.'),
    ] = None,
    measure: MeasureTexts = None,
    at_most: Annotated[
        list[str] | None,
        typer.Option(help='A bound such as "DistanceLinkage=5%" (or =0.05); may be said several times.'),
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="A bound on a measure that is better when higher.")] = None,
    utility: Annotated[
        str, typer.Option(help="The measure of utility to make as good as possible.")
    ] = "InformationLoss",
    risk: Annotated[str, typer.Option(help="The measure of risk on the map.")] = "DistanceLinkage",
    least_risk: Annotated[
        bool,
        typer.Option(
            "--least-risk", help="Choose the least risk instead of the best utility: then bound what may be lost."
        ),
    ] = False,
    candidate: Annotated[
        list[Path] | None,
        typer.Option(help="A file protected elsewhere, compared with the others; may be said several times."),
    ] = None,
    replicates: Annotated[int, typer.Option(min=1, help="Draws of each random method: they give standard errors.")] = 3,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path, typer.Option(help="The folder for the report, the masked table and what was computed.")
    ] = Path("sfumato-sweep"),
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Mask a file in many ways, measure risk and utility of each, choose the best within the bounds, and report.

    Every finished figure is safe in OUT/results.sqlite at once: run the same command again to continue or to add.

    Example: `sfumato sweep census.csv --schema schema.toml --at-most "DistanceLinkage=5%" --out sweep`
    """
    from sfumato.cli.tables import read_protected
    from sfumato.data.files import read

    limits, floors = read_bounds("--at-most", at_most or ()), read_bounds("--at-least", at_least or ())
    if least_risk and not limits and not floors:
        raise ParameterError('--least-risk needs a bound on utility, such as --at-most "InformationLoss=20"')
    named = (utility, risk, *limits, *floors)
    measures = chosen_measures(measure or MEASURES, named)
    check_shares(measures, {**limits, **floors})
    asked = read_methods(method) if method else None
    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    if not measure and "ProbabilisticLinkage" not in named:
        measures = affordable(measures, len(data))
    tables: dict[str, Microdata] = {}
    for path in candidate or ():
        if path.name in tables:
            raise DataError(f"two candidates are called {path.name}; rename one of the files")
        tables[path.name] = read_protected(path, data, encoding=encoding, delimiter=delimiter, decimal=decimal)
    make_folder(out)
    plan = Plan(
        file=file,
        data=data,
        methods=tuple(applicable(data) if asked is None else asked),
        measures=tuple(measures),
        candidates=tables,
        replicates=replicates,
        seed=remembered_seed(out, seed),
        workers=workers_or_default(workers),
        risk=risk,
        utility=utility,
        at_most=limits,
        at_least=floors,
        out=out,
        least_risk=least_risk,
    )
    remind(data)
    say(f"masking {file.name} in {len(plan.methods)} ways ({replicates} draws of random ones) and measuring each …")
    finish(carry_out(plan), plan, json)


def check_shares(measures: "Iterable[Measure]", bounds: Mapping[str, float]) -> None:
    """Refuse a bound that no share can have before anything is computed."""
    for measure in measures:
        for name in {repr(measure), type(measure).__name__} & set(bounds):
            if measure.about.unit == "share" and not 0 <= bounds[name] <= 1:
                hint = f" (did you mean {bounds[name]:g}%?)" if 1 < bounds[name] <= 100 else ""
                raise ParameterError(f"{name} is a share from 0 to 1; its bound cannot be {bounds[name]:g}{hint}")


def remind(data: "Microdata") -> None:
    """Repeat what ``inspect`` would ask about columns that the schema leaves to be masked, or not, as they came."""
    from sfumato.data.describe import describe

    open_questions = ("an identifier?", "the household?", "a survey weight?", "numbers but for", "missing codes?")
    for finding in describe(data):
        if finding.suggestion.startswith(open_questions):
            say(f"to look at: {finding.name}: {finding.suggestion}")


def chosen_measures(texts: Iterable[str], named: Iterable[str]) -> "list[Measure]":
    """Read the measures, and add those that a bound or an axis names and that are not among them."""
    measures = read_measures(texts)
    for name in named:
        known = {text for m in measures for text in (repr(m), type(m).__name__)}
        if name not in known:
            measures += read_measures([name])
    return measures


def applicable(data: "Microdata") -> "list[Method]":
    """Return every method that fits the table, each over its own grid; say which do not and why."""
    from sfumato.catalogue import default_grid
    from sfumato.catalogue import methods as known

    found: list[Method] = []
    for cls in known().values():
        try:
            candidates = default_grid(cls)
            for method in candidates[:1]:
                method.masked(data)
            found += candidates
        except NotApplicable as reason:
            say(f"left out: {reason}")
    return found


def remembered_seed(out: Path, seed: int | None) -> int:
    """Return the seed: the one said, or the one this folder was begun with, or a new one."""
    from sfumato.cli.tables import drawn_seed
    from sfumato.show.page import save

    place = out / "seed"
    if seed is None and place.is_file():
        try:
            return int(place.read_text())
        except ValueError:
            raise FileError(f"{place} should hold the seed this folder was begun with; say --seed") from None
    seed = drawn_seed() if seed is None else seed
    save(place, f"{seed}\n".encode())
    return seed


def carry_out(plan: Plan) -> "Summary":
    """Run the experiment and write the report and the chosen table."""
    from sfumato.cli.tables import command_line, write_protected
    from sfumato.compare.experiment import Experiment
    from sfumato.data.schema_file import schema_text
    from sfumato.show.report import write_report
    from sfumato.show.summarise import summarise

    experiment = Experiment(
        plan.data,
        methods=plan.methods,
        measures=plan.measures,
        replicates=plan.replicates,
        seed=plan.seed,
        candidates=plan.candidates,
    )
    results = _scored(experiment.run(workers=plan.workers, store=plan.out / "results.sqlite", progress=True))
    summary = summarise(
        results,
        risk=plan.risk,
        utility=plan.utility,
        at_most=plan.at_most,
        at_least=plan.at_least,
        least_risk=plan.least_risk,
        file=plan.file.name,
        command=command_line(plan.seed),
        schema=schema_text(plan.data.schema),
    )
    forget_table(protected_path(plan))
    write_report(summary, plan.out)
    if summary.chosen is not None:
        row = results.row(summary.chosen.label)
        write_protected(
            results.protect(row.candidate),
            protected_path(plan),
            source=plan.file,
            method=row.method,
            seed=plan.seed,
            figures={key: values[0] for key, values in row.values.items()},  # of this table, not of all draws
            notes=summary.cautions,
        )
    return summary


def forget_table(path: Path) -> None:
    """Remove the table of an earlier run: beside a report that chose another, or none, it would mislead."""
    from sfumato.cli.tables import provenance_path

    found = [place for place in (path, provenance_path(path)) if place.exists()]
    try:
        for place in found:
            place.unlink()
    except OSError as error:
        raise FileError(f"cannot remove {path}, the table of an earlier run: {error.strerror}") from None
    if found:
        say(f"removed {path}, the table of an earlier run")


def protected_path(plan: Plan) -> Path:
    """Return where the chosen table goes."""
    return plan.out / f"{plan.file.stem}.protected{plan.file.suffix}"


def _scored(results: "Results") -> "Results":
    """Add the first of the papers' scores whose measures were all computed."""
    from sfumato.compare.score import Score, Score2

    for recipe in (Score(), Score2()):
        if all(repr(measure) in results.figures for measure in recipe.measures):
            return results.with_score(recipe)
    return results


def finish(summary: "Summary", plan: Plan, json: bool) -> None:
    """Print what was found, and leave with the exit code that says how it went."""
    if json:
        print_json(summary)
    else:
        _print(summary, plan)
    failed = summary.failed
    for line in failed:
        for reason in dict.fromkeys(line.reasons.values()):
            say(f"sfumato: {line.label} lacks a figure: {reason}")
    if failed or (summary.bounds and summary.chosen is None):
        raise typer.Exit(1)


def print_cautions(summary: "Summary") -> None:
    """Print what the figures do not say."""
    from rich.padding import Padding
    from rich.text import Text

    for caution in summary.cautions:
        console().print(Padding(Text(f"! {caution}", style="yellow"), (0, 0, 0, 2)))
    if summary.cautions:
        console().print()


def _print(summary: "Summary", plan: Plan) -> None:
    from rich.text import Text

    from sfumato.show.terminal import ROWS, candidates_table, signs, text_map

    out = console()
    picture = text_map(summary)
    if picture is not None:
        out.print(picture, "")
    out.print(candidates_table(summary, out.width))
    out.print(Text(signs(summary), style="dim"))
    if len(summary.candidates) > ROWS:
        out.print(f"… and {len(summary.candidates) - ROWS} more in the report", style="dim")
    out.print(Text(f"\n{summary.sentence}\n", style="bold"))
    print_cautions(summary)
    if summary.chosen is not None:
        out.print(Text(f"masked table  {protected_path(plan)}"), soft_wrap=True)
    out.print(Text(f"report        {plan.out / 'report.html'}"), soft_wrap=True)
