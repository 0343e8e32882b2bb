"""``sfumato tune``: the parameter of one method, found instead of tried."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import (
    Decimal,
    Delimiter,
    Encoding,
    Json,
    SchemaFile,
    Seed,
    Workers,
    console,
    print_json,
    read_bounds,
    say,
    workers_or_default,
)
from sfumato.errors import FileError, ParameterError

if TYPE_CHECKING:
    from sfumato.core import Method


def tune(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", show_default=False)],
    *,
    method: Annotated[
        str, typer.Option(help='A method, such as RankSwapping or "MDAV(k=3, at_a_time=4)".', show_default=False)
    ],
    at_most: Annotated[
        list[str] | None, typer.Option(help='A bound such as "DistanceLinkage=5%"; may be said several times.')
    ] = None,
    at_least: Annotated[list[str] | None, typer.Option(help="A bound on a measure that is better when higher.")] = None,
    over: Annotated[str | None, typer.Option(help="The parameter; the first of the method if not said.")] = None,
    between: Annotated[
        tuple[float, float] | None, typer.Option(help="The least and greatest value; those of a sweep if not said.")
    ] = None,
    utility: Annotated[
        str, typer.Option(help="The measure of utility to make as good as possible.")
    ] = "InformationLoss",
    schema: SchemaFile = None,
    replicates: Annotated[int, typer.Option(min=1, help="Draws at first of each value near the bound.")] = 5,
    budget: Annotated[int, typer.Option(min=10, help="The most tables to mask.")] = 50,
    seed: Seed = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(help="Write the masked table here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    json: Json = False,
) -> None:
    """Find the parameter value of best utility whose risk keeps the bounds, and say how sure that is.

    A sweep tries a few values of many methods; this searches one parameter of one method, near the bound.

    Example: `sfumato tune census.csv --method RankSwapping --at-most "DistanceLinkage=5%" --out masked.csv`
    """
    from sfumato.cli.tables import drawn_seed, write_protected
    from sfumato.compare.examine.facts import caution_facts
    from sfumato.compare.tune import tune as find
    from sfumato.data.files import read
    from sfumato.show.cautions import cautions

    if out is not None and out.exists() and not force:
        raise FileError(f"{out} exists; overwrite it with --force or choose another name with --out")
    limits, floors = read_bounds("--at-most", at_most or ()), read_bounds("--at-least", at_least or ())
    if not limits and not floors:
        raise ParameterError('tune needs a bound, such as --at-most "DistanceLinkage=5%"')
    asked = _method(method)
    ends = None if between is None else tuple(int(end) if end.is_integer() else end for end in between)
    data = read(file, schema, encoding=encoding, delimiter=delimiter, decimal=decimal)
    seed = drawn_seed() if seed is None else seed
    found = find(
        asked,
        data,
        over=over,
        between=ends,  # type: ignore[arg-type]
        utility=utility,
        at_most=limits,
        at_least=floors,
        replicates=replicates,
        budget=budget,
        seed=seed,
        workers=workers_or_default(workers),
    )
    if json:
        print_json(
            {
                "method": repr(found.method),
                "value": found.value,
                "keeps": found.keeps,
                "interval": found.interval,
                "alike": found.alike,
                "known": found.known,
                "monotone": dict(found.monotone),
                "seed": seed,
                "tables": found.tables,
                "sentence": found.sentence,
                "tried": found.results.to_records(),
            }
        )
    else:
        from rich.text import Text

        console().print(Text(f"{found.results}\n"))
        console().print(Text(found.sentence, style="bold"))
    if not found.keeps:
        raise typer.Exit(1)
    if out is not None:
        figures = {key: values[0] for key, values in found.row.values.items()}  # of this table, not of all draws
        protected = found.results.protect(repr(found.method))
        told = cautions(found.results, found.row, caution_facts(data, protected), found.bounds)
        write_protected(protected, out, source=file, method=found.method, seed=seed, figures=figures, notes=told)
        say(f"wrote {out}")
        for caution in told:
            say(f"! {caution}")


def _method(text: str) -> "Method | type[Method]":
    """Read a method: its name alone, or with the parameters that stay as they are."""
    from sfumato.catalogue import find as look_up
    from sfumato.cli.options import read_methods
    from sfumato.core import Method

    if text.isidentifier():
        cls = look_up(text)
        if not issubclass(cls, Method):
            raise ParameterError(f"{text!r} is not a method; see `sfumato methods`")
        return cls
    found = read_methods([text])
    if len(found) != 1:
        raise ParameterError(f"tune takes one method; {text!r} stands for {len(found)}: give each parameter one value")
    return found[0]
