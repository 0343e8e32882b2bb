"""``sfumato methods`` and ``sfumato measures``: what there is to protect and to measure with."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import Json, console, print_json

if TYPE_CHECKING:
    from sfumato.core import Measure, Method

Name = Annotated[str | None, typer.Argument(help="One name, for all there is to know of it.", show_default=False)]

KINDS = 4  # of variables: numeric, ordinal, nominal, date


def methods(name: Name = None, *, json: Json = False) -> None:
    """List the methods: ways to protect a table.

    Example: `sfumato methods` and then `sfumato methods RankSwapping`
    """
    from sfumato.catalogue import methods as known

    _show(known(), name, "method", json=json)


def measures(name: Name = None, *, json: Json = False) -> None:
    """List the measures of risk and utility.

    Example: `sfumato measures` and then `sfumato measures Reidentification`
    """
    from sfumato.catalogue import measures as known

    _show(known(), name, "measure", json=json)


def _show(
    known: "dict[str, type[Method]] | dict[str, type[Measure]]", name: str | None, word: str, *, json: bool
) -> None:
    from sfumato.catalogue import find
    from sfumato.errors import ParameterError

    if name is not None:
        cls = find(name)
        if cls.__name__ not in known:
            raise ParameterError(f"{name} is not a {word}; see `sfumato {cls.about.__class__.__name__[:-5].lower()}s`")
        print_json(_described(cls)) if json else _print_one(cls)
        return
    described = [_described(cls) for cls in known.values()]
    print_json(described) if json else _print_all(described, word)


def _described(cls: "type[Method] | type[Measure]") -> dict[str, Any]:
    """Return what is known of a class as plain values."""
    from dataclasses import MISSING, asdict, fields

    about = {key: _plain(value) for key, value in asdict(cls.about).items()}
    parameters = {
        entry.name: "required" if entry.default is MISSING else repr(entry.default)
        for entry in fields(cls)
        if entry.name != "variables"
    }
    return {"name": cls.__name__, "parameters": parameters, **about}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _print_all(described: list[dict[str, Any]], word: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    columns = ["name", "title", "kinds", *(["random"] if word == "method" else ["purpose", "better"])]
    for column in columns:
        table.add_column(column, no_wrap=column != "title" and column != "kinds")
    for entry in described:
        kinds = "all" if len(entry["kinds"]) == KINDS else ", ".join(entry["kinds"])
        cells = [entry["name"], entry["title"], kinds]
        cells += ["yes" if entry["random"] else "no"] if word == "method" else [entry["purpose"], entry["better"]]
        table.add_row(*(Text(cell) for cell in cells))
    out = console()
    out.print(table)
    out.print(f"\nAll there is to know of one, with its parameters and its source: sfumato {word}s NAME", style="dim")


def _print_one(cls: "type[Method] | type[Measure]") -> None:
    import inspect

    from rich.text import Text

    from sfumato.report.catalogue_page import facts, parameters, sentence

    about, out = cls.about, console()
    out.print(Text(cls.__name__, style="bold"), Text(f" {about.title}"), sep="")
    for paragraph in _plain_text(inspect.getdoc(cls) or "").split("\n\n"):
        flowing = not re.search(r"^( |-|>>>)", paragraph, re.MULTILINE)
        out.print(Text("\n" + (" ".join(paragraph.split()) if flowing else paragraph)))
    reading = "How to read it" if hasattr(about, "purpose") else "How to choose its parameters"
    for title, text in (
        ("Formula", about.formula),
        (reading, about.reading and sentence(about.reading)),
        ("When it misleads", about.caveat and sentence(about.caveat)),
    ):
        if text:
            out.print(Text(f"\n{title}", style="bold"))
            out.print(Text(_plain_text(text)), soft_wrap=title == "Formula")
    _print_rows(
        "Parameters",
        [
            (name, f"{takes}; default {default}" if default != "required" else f"{takes}; required")
            for name, takes, default in parameters(cls)
        ],
    )
    _print_rows("What it does with the data", facts(cls))
    out.print(Text("\nSource", style="bold"))
    out.print(Text(sentence(about.source)))


def _print_rows(title: str, rows: list[tuple[str, str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, text in rows:
        table.add_row(Text(name), Text(text))
    out = console()
    out.print(Text(f"\n{title}", style="bold"))
    out.print(table)


def _plain_text(text: str) -> str:
    """Leave out the marks that documentation needs and a terminal does not."""
    return re.sub(r":class:`~?([\w.]+)`", r"\1", text).replace("``", "")
