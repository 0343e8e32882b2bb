"""``sfumato sweep``: many candidates, measured alike, the best one chosen, reported and written."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    DespiteAudit,
    Encoding,
    Json,
    KeepHouseholds,
    KeepOrder,
    KeepWeights,
    MeasureTexts,
    Population,
    SchemaFile,
    Seed,
    TableFile,
    Workers,
    make_folder,
    measure_name,
    of_population,
    read_bounds,
    read_measures,
    read_methods,
    refuse_unknown,
    say,
    settled_seed,
    workers_or_default,
)
from sfumato.errors import DataError, FileError, NotApplicable, ParameterError

if TYPE_CHECKING:
    from sfumato.compare.candidates import Candidate
    from sfumato.core import Measure
    from sfumato.data.microdata import Microdata
    from sfumato.data.suggestion import Doubt

OPEN_QUESTIONS: "tuple[Doubt, ...]" = ("identifier", "household", "weight", "nearly numbers", "missing codes")


def sweep(
    file: TableFile,
    *,
    schema: SchemaFile = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help='Such as "MDAV(k=[3, 5, 10])"; may be said several times. Composed to fit the table if not said.'
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
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path, typer.Option(help="The folder for the internal report and, in OUT/release, what may be published.")
    ] = Path("sfumato-sweep"),
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Protect a file in many ways, measure risk and utility of each, choose the best within the bounds, and report.

    Candidates and measures follow from the schema, its scenarios and the bounds unless you name them. The verdict says
    whether to publish, how many would be found before and after, and the price; if nothing keeps the bounds, which one
    fails and what to change, and nothing is written to OUT/release.

    OUT/report.html is for those who decide. OUT/release holds what may go out: the protected table and about.html,
    which tells what was lost without a word on risk, parameters or seed.

    Every finished figure is safe in OUT/results.sqlite at once: run the same command again to continue or to add.

    Example: `sfumato sweep census.csv --schema schema.toml --at-most "Reidentification=5%" --out sweep`
    """
    from sfumato.cli.outcome import Plan, carry_out, finish
    from sfumato.cli.tables import read_protected
    from sfumato.compare.defaults import axis, default_measures
    from sfumato.core import speaking
    from sfumato.data.files import read
    from sfumato.data.keys import key_names

    limits, floors = read_bounds("--at-most", at_most or ()), read_bounds("--at-least", at_least or ())
    if least_risk and not limits and not floors:
        raise ParameterError('--least-risk needs a bound on utility, such as --at-most "InformationLoss=20"')
    utility, risk = (None if said is None else measure_name(said) for said in (utility, risk))
    named = (*filter(None, (utility, risk)), *limits, *floors)
    check_bounds(chosen_measures(measure or (), named), limits, floors)
    asked = read_methods(method) if method else None
    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    usual = default_measures(data, population=population)
    by_default = axis(usual, "risk")
    bounded = next((name for name in named if by_default.startswith(f"{name}(")), by_default)  # as it was named
    texts = measure or ([] if utility or risk else [repr(chosen.measure) for chosen in usual])
    texts = [bounded if text == by_default else text for text in texts]
    utility, risk = utility or axis(usual, "utility"), risk or bounded
    measures = of_population(chosen_measures(texts, (risk, utility, *named)), population)
    refuse_unknown(measures, data)
    tables: dict[str, Microdata] = {}
    for path in candidate or ():
        if path.name in tables:
            raise DataError(f"two candidates are called {path.name}; rename one of the files")
        tables[path.name] = read_protected(path, data, encoding=encoding, delimiter=delimiter, decimal=decimal)
    for deciding in (m for m in measures if {repr(m), type(m).__name__} & {risk, utility, *limits, *floors}):
        # without keys nothing could be decided: say so before anything is computed
        if deciding.about.keys and not (data.schema.scenarios and hasattr(deciding, "scenarios")):
            with speaking(deciding):
                key_names(data.schema, deciding.variables)
    check_weights(data, measures, {risk, *limits}, population)
    make_folder(out)
    found = composed(data, measures, {**limits, **floors}, breadth) if asked is None else ()
    plan = Plan(
        file=file,
        data=data,
        methods=tuple(candidate.method for candidate in found) if asked is None else tuple(asked),
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
        bootstrap=bootstrap,
        whys={repr(candidate.method): candidate.why for candidate in found},
        keep_order=keep_order,
        keep_weights=keep_weights,
        keep_households=keep_households,
        despite_audit=despite_audit,
    )
    remind(data)
    say(f"protecting {file.name} in {len(plan.methods)} ways ({replicates} draws of random ones) and measuring each …")
    finish(carry_out(plan), plan, json=json)


def check_bounds(measures: "Iterable[Measure]", at_most: Mapping[str, float], at_least: Mapping[str, float]) -> None:
    """Refuse a bound that no share can have, or on the wrong side, before anything is computed."""
    bounds = {**at_most, **at_least}
    for measure in measures:
        for side, better, named in (("--at-least", "higher", at_most), ("--at-most", "lower", at_least)):
            if {repr(measure), type(measure).__name__} & set(named) and measure.about.better == better:
                raise ParameterError(f"{type(measure).__name__} is better when {better}: bound it with {side}")
        for name in {repr(measure), type(measure).__name__} & set(bounds):
            if measure.about.unit == "share" and not 0 <= bounds[name] <= 1:
                hint = f" (did you mean {bounds[name]:g}%?)" if 1 < bounds[name] <= 100 else ""
                raise ParameterError(f"{name} is a share from 0 to 1; its bound cannot be {bounds[name]:g}{hint}")


def check_weights(
    data: "Microdata", measures: "Iterable[Measure]", deciding: set[str], population: float | None
) -> None:
    """Say that rescaled weights leave individual risks out, or refuse them if such a risk is to decide."""
    from sfumato.compare.defaults import rescaled

    if population is not None or not rescaled(data):
        return
    said = f"the weights {data.schema.weight!r} fall below one, so they were rescaled"
    hint = "say with --population how many units they should sum to"
    for measure in measures:
        if getattr(measure, "population", 1) is None and {repr(measure), type(measure).__name__} & deciding:
            raise ParameterError(f"{said}, and {measure!r} cannot be computed; {hint}")
    say(f"to look at: {said}, and IndividualRisk is not computed; {hint}")


def remind(data: "Microdata") -> None:
    """Repeat what ``inspect`` would ask about columns that the schema leaves to be protected, or not, as they came."""
    from sfumato.data.describe import describe

    for finding in describe(data):
        if finding.suggestion is not None and finding.suggestion.doubt in OPEN_QUESTIONS:
            say(f"to look at: {finding.name}: {finding.suggestion.sentence}")


def chosen_measures(texts: Iterable[str], named: Iterable[str]) -> "list[Measure]":
    """Read the measures, and add those that a bound or an axis names and that are not among them."""
    measures = read_measures(texts)
    for name in named:
        known = {text for m in measures for text in (repr(m), type(m).__name__)}
        if name not in known:
            measures += read_measures([name])
    return measures


def composed(
    data: "Microdata", measures: "list[Measure]", bounds: Mapping[str, float], breadth: int
) -> "tuple[Candidate, ...]":
    """Return the candidates that fit the table and the bounds; say so where there is none."""
    from sfumato.compare.candidates import compose

    found = compose(data, measures, bounds, breadth=breadth)
    if not found:
        raise NotApplicable("no candidate fits this table and these bounds; name methods with --method")
    return found


def remembered_seed(out: Path, seed: int | None) -> int:
    """Return the seed: the one said, or the one this folder was begun with, or a new one."""
    from sfumato.show.page import save

    place = out / "seed"
    if seed is None and place.is_file():
        try:
            return int(place.read_text())
        except ValueError:
            raise FileError(f"{place} should hold the seed this folder was begun with; say --seed") from None
    seed = settled_seed(seed)
    save(place, f"{seed}\n".encode())
    return seed
