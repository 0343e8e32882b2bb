"""``sfumato methods`` and ``sfumato measures``: what there is to protect and to measure with."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from sfumato.cli.options import Json, console, print_json

if TYPE_CHECKING:
    from sfumato.core import Measure, Method

Name = Annotated[str | None, typer.Argument(help="One name, for all there is to know of it.", show_default=False)]


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
    print_json([_described(cls) for cls in known.values()]) if json else _print_all(list(known.values()), word)


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


def _print_all(known: "Sequence[type[Method] | type[Measure]]", word: str) -> None:
    from rich.text import Text

    from sfumato.about import Group, MethodAbout

    width, out = max(len(cls.__name__) for cls in known), console()
    headings = get_args(Group) if word == "method" else ("Risk", "Utility")
    sections: dict[str, list[type[Method] | type[Measure]]] = {heading: [] for heading in headings}
    for cls in known:
        of = cls.about.group or "Others" if isinstance(cls.about, MethodAbout) else cls.about.purpose.capitalize()
        sections.setdefault(of, []).append(cls)
    for section, classes in sections.items():
        if classes:
            out.print(Text(section, style="bold"))
        for cls in classes:
            out.print(Text(f"  {cls.__name__:{width}} {cls.about.title}"), soft_wrap=True)
    out.print(f"\nOne of them with its parameters and its source: sfumato {word}s NAME", style="dim")


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
