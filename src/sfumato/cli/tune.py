"""``sfumato tune``: the parameters of a method or of a chain, found instead of tried."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import (
    EngineName,
    Json,
    Memory,
    SampleSize,
    SchemaFile,
    Seed,
    TableOrParts,
    Workers,
    console,
    print_json,
    say,
    with_options,
)
from sfumato.errors import FileError, ParameterError
from sfumato.project.options import DIALECT, settled_seed, workers_or_default
from sfumato.project.reading import read_bounds, read_measures, refuse_unknown
from sfumato.table.sample_size import SAMPLED

if TYPE_CHECKING:
    from sfumato.compare.tune import JointTuning, Range, Tuning
    from sfumato.core import Method
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts


@with_options(*DIALECT)
def tune(
    file: TableOrParts,
    *,
    method: Annotated[
        str,
        typer.Option(
            help='A method, such as RankSwapping or "MDAV(k=3, at_a_time=4)", or a chain such as '
            '"LocalSuppression(k=3) + RankSwapping(p=0.1)".',
            show_default=False,
        ),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            help='A parameter to search and its range, such as "RankSwapping.p=0.02:0.3", or without a range that of '
            "a sweep; said several times, all are searched at once."
        ),
    ] = None,
    at_most: Annotated[
        list[str] | None, typer.Option(help='A bound such as "Reidentification=5%"; may be said several times.')
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="A bound on a measure that is better when higher.")] = None,
    over: Annotated[str | None, typer.Option(help="The one parameter; the first of the method if not said.")] = None,
    between: Annotated[
        tuple[float, float] | None, typer.Option(help="The least and greatest value; those of a sweep if not said.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Try one parameter in steps as fine as this; a 200th of the range if not said, whole numbers by 1."
        ),
    ] = None,
    utility: Annotated[
        str, typer.Option(help="The measure of utility to make as good as possible.")
    ] = "InformationLoss",
    schema: SchemaFile = None,
    replicates: Annotated[int, typer.Option(min=1, help="Draws at first of each value near the bound.")] = 5,
    budget: Annotated[int, typer.Option(min=10, help="The most tables to make.")] = 50,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the protected table here, in order, with ids, for you alone to read.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
    engine: EngineName = None,
    memory: Memory = None,
    sample: SampleSize = SAMPLED,
    json: Json = False,
    options: dict[str, Any],
) -> None:
    """Find the parameter value of best utility whose risk keeps the bounds, and say how sure that is.

    A sweep tries a few values of many methods; this searches one parameter of a method, near the bound, or with
    --parameter said several times the parameters of a chain together.

    A table in parts, a folder or a pattern, need not fit into memory; the table found is written as a folder.

    Example: `sfumato tune census.csv --method RankSwapping --at-most "DistanceLinkage=5%" --out protected.csv`
    """
    from sfumato.project.engines import engine_for
    from sfumato.project.folder import refuse_file_of_parts
    from sfumato.project.tables import read_table
    from sfumato.table.parts import is_in_parts

    if out is not None and out.exists() and not force:
        raise FileError(f"{out} exists; overwrite it with --force or choose another name with --out")
    if out is not None and is_in_parts(file):
        refuse_file_of_parts(out)
    limits, floors = read_bounds("--at-most", at_most or ()), read_bounds("--at-least", at_least or ())
    if not limits and not floors:
        raise ParameterError('tune needs a bound, such as --at-most "DistanceLinkage=5%"')
    asked, ranges = _method(method), read_ranges(parameter or ())
    if ranges and (over is not None or between is not None):
        raise ParameterError("say --parameter NAME=LOW:HIGH, or --over and --between, not both")
    if tolerance is not None and len(ranges) > 1:
        raise ParameterError("--tolerance is of one parameter; several are searched in about 200 steps each")
    ends = None if between is None else _whole_if_so(between)
    if len(ranges) == 1:
        ((over, ends),) = ranges.items()
    with engine_for(file, engine=engine, memory=memory, workers=workers, bars=True, tell=say):
        data, whole = read_table(file, schema, sample, say, **options)
        refuse_unknown(read_measures((utility, *limits, *floors)), data)
        seed = settled_seed(seed, say)
        wish = {"utility": utility, "at_most": limits, "at_least": floors}
        spend: dict[str, Any] = {
            "replicates": replicates,
            "budget": budget,
            "seed": seed,
            "workers": workers_or_default(workers),
        }
        table = data if whole is None else whole
        if len(ranges) < 2:
            spend["tolerance"] = tolerance
        several = ranges if len(ranges) > 1 else {}
        found = _search(asked, table, several, over, ends, **wish, **spend, rounded=True)
        _tell(found, seed, json=json)
        if not found.keeps:
            raise typer.Exit(1)
        if out is not None:
            _write(found, data, whole, out, source=file, seed=seed)


def _search(
    method: "Method | type[Method]",
    data: "Microdata | TableInParts",
    ranges: "dict[str, Range]",
    over: str | None,
    between: "Range",
    **given: Any,
) -> "Tuning | JointTuning":
    """Search one parameter, or several at once."""
    from sfumato.compare.tune import tune as find
    from sfumato.compare.tune import tune_jointly
    from sfumato.core import Method

    if not ranges:
        return find(method, data, over=over, between=between, **given)
    if not isinstance(method, Method):
        raise ParameterError(f"{method.__name__} needs values for the parameters that are not searched: write them")
    return tune_jointly(method, data, over=ranges, **given)


def _tell(found: "Tuning | JointTuning", seed: int, *, json: bool) -> None:
    """Print what was found."""
    from sfumato.compare.tune import Tuning

    if not json:
        from rich.text import Text

        console().print(Text(f"{found.results}\n"))
        console().print(Text(found.sentence, style="bold"))
        return
    how: dict[str, Any]
    if isinstance(found, Tuning):
        how = {
            "value": found.value,
            "interval": found.interval,
            "alike": found.alike,
            "beside": found.beside,
            "step": found.step,
            "known": found.known,
            "monotone": dict(found.monotone),
        }
    else:
        frontier = () if found.frontier is None else found.frontier.on
        how = {"values": dict(found.values), "error": found.error, "frontier": list(frontier)}
    print_json(
        {
            "method": repr(found.method),
            "keeps": found.keeps,
            **how,
            "seed": seed,
            "tables": found.tables,
            "sentence": found.sentence,
            "tried": found.results.to_records(),
        }
    )


def _write(
    found: "Tuning | JointTuning",
    data: "Microdata",
    whole: "TableInParts | None",
    out: Path,
    *,
    source: Path,
    seed: int,
) -> None:
    """Write the table found, and say what its figures do not.

    It is for its owner alone: no repair was made and no audit, so that ids and the order of the records are there.
    """
    from sfumato.compare.examine.facts import caution_facts
    from sfumato.project.tables import Provenance, write_protected
    from sfumato.report.cautions import cautions

    figures = {key: values[0] for key, values in found.row.values.items()}  # of this table, not of all draws
    name = repr(found.method)
    protected = found.results.protect(name)
    told = cautions(found.results, found.row, caution_facts(data, protected), found.bounds)
    made = Provenance(source=source, original=whole, method=found.method, seed=seed, figures=figures, notes=tuple(told))
    table = protected if whole is None else found.results.protected(name)
    write_protected(table, out, made, private=True, tell=say)
    say(f"wrote {out}, as the method made it and for you alone; `sfumato protect` makes it ready to go out")
    for caution in told:
        say(f"! {caution}")


def read_ranges(texts: Iterable[str]) -> "dict[str, Range]":
    """Read parameters and their ranges.

    >>> read_ranges(["RankSwapping.p=0.02:0.3", "LocalSuppression.k=2:5", "MDAV.k"])
    {'RankSwapping.p': (0.02, 0.3), 'LocalSuppression.k': (2, 5), 'MDAV.k': None}
    """
    ranges: dict[str, Range] = {}
    for text in texts:
        name, equals, ends = (part.strip() for part in text.partition("="))
        try:
            low, high = map(float, ends.split(":")) if equals else (0.0, 0.0)
        except ValueError:
            raise ParameterError(
                f'--parameter must be a name and a range, such as "RankSwapping.p=0.02:0.3"; got {text!r}'
            ) from None
        if name in ranges:
            raise ParameterError(f"--parameter names {name} twice")
        ranges[name] = _whole_if_so((low, high)) if equals else None
    return ranges


def _whole_if_so(ends: tuple[float, float]) -> tuple[float, float]:
    """Return whole numbers as such, since some parameters must be."""
    low, high = (int(end) if end.is_integer() else end for end in ends)
    return low, high


def _method(text: str) -> "Method | type[Method]":
    """Read a method: its name alone, or with the parameters that stay as they are."""
    from sfumato.catalogue import find as look_up
    from sfumato.core import Method
    from sfumato.project.reading import read_methods

    if text.isidentifier():
        cls = look_up(text)
        if not issubclass(cls, Method):
            raise ParameterError(f"{text!r} is not a method; see `sfumato methods`")
        return cls
    found = read_methods([text])
    if len(found) != 1:
        raise ParameterError(f"tune takes one method; {text!r} stands for {len(found)}: give each parameter one value")
    return found[0]
