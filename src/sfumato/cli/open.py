"""``sfumato open``: the workbench in the browser."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import say, with_options
from sfumato.errors import FileError, ParameterError
from sfumato.project.options import DIALECT


@with_options(*DIALECT)
def open_(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A file to protect, or the folder of a project or a sweep to go on with.", show_default=False
        ),
    ] = None,
    *,
    folder: Annotated[
        Path | None, typer.Option(help="The project's folder; census.sfumato for census.csv if not said.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help="A schema.toml to begin with; the project gets a copy.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; any that is free if not said.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it in the browser.")] = True,
    options: dict[str, Any],
) -> None:
    """Work in the browser: from a file to a signed release, step by step, on this machine alone.

    The folder of the project is that of a sweep: go on with `sfumato sweep --out FOLDER` in the terminal, and come
    back, at any time. Runs go on when the page or the server is closed.

    Example: `sfumato open census.csv`
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            f"the workbench needs {error.name}: install it with pip install 'sfumato[workbench]'"
        ) from None
    from sfumato.workbench.begin import begin
    from sfumato.workbench.server import serve

    if file is not None and file.is_dir():
        if folder is not None:
            raise ParameterError(f"{file} is a folder already; leave --folder out, or name a file")
        file, folder = None, file
    if file is not None and not file.exists() and "#" not in file.name:
        raise FileError(f"there is no file {file}")
    place = folder or Path(f"{file.name.partition('.')[0]}.sfumato" if file is not None else "sfumato-project")
    begin(place, file, schema, **options)
    serve(place, port=port, browser=browser, tell=say)
