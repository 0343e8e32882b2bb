"""The commands put together, the help that teaches, and what every command does with errors and signals."""

import errno
import os
import re
import signal
import warnings
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import sfumato
from sfumato.cli.audit import audit
from sfumato.cli.catalogue import measures, methods
from sfumato.cli.compare import compare
from sfumato.cli.hierarchy import hierarchy
from sfumato.cli.inspect import inspect
from sfumato.cli.open import open_
from sfumato.cli.options import say
from sfumato.cli.protect import protect
from sfumato.cli.study import study
from sfumato.cli.sweep import demo, look, sign, sweep
from sfumato.cli.tune import tune
from sfumato.display import visible
from sfumato.errors import LackOfMemory, ParameterError, SfumatoError
from sfumato.table.atomic import reason
from sfumato.table.capacity import ALLOWED, in_bytes

UNDONE, BAD_INPUT = 1, 2
INTERRUPTED = 130
SIGNALS = ("SIGTERM", "SIGHUP")  # from a service manager or `kill`, and from a terminal that is closed
UsageError: Any = typer.BadParameter.__base__  # typer has a click of its own, or the one that is installed

# a backslash joins lines: the help keeps the line breaks it is given
HELP = """
Choose how to protect microdata with numbers: protect a table in many ways, measure disclosure risk and utility, \
and release the most useful table under a risk bound.

The usual order of work

1. `sfumato demo` runs it all on a made-up survey, in about a minute.

2. `sfumato open census.csv` does all of what follows in the browser, step by step. Or in the terminal: \
`sfumato inspect census.csv` shows each variable and writes schema.toml. Edit it: which variables are \
categories, which is the weight, and under [scenarios.NAME] what each intruder knows.

3. `sfumato sweep census.csv --schema schema.toml --at-most "Reidentification=5%" --out sweep` composes candidates, \
chooses the most useful one of which no intruder finds more than 5 % of the records, says whether to publish it, and \
writes report and protected table. `sfumato sign sweep --by NAME --reason TEXT` puts a name under it.

4. `sfumato compare census.csv protected.csv` measures a file protected elsewhere.

5. `sfumato audit census.csv protected.csv` tries to restore what was protected from the rest of the file.

6. `sfumato protect census.csv --method "RankSwapping(p=0.15)"` protects by a method you have settled on.

Exit codes: 0 done; 1 no candidate keeps the bounds, protected values can be restored, or some figures could not \
be computed (which, is said), or memory is lacking; \
2 bad usage or bad input; 130 interrupted, 143 or 129 ended by a signal (run the same command again to continue).
"""


WORDS = (  # what messages say in the words of Python, and the same as it is typed
    (r"\b(encoding|decimal|delimiter)=(['\"])(.*?)\2", r'--\1 "\3"'),
    (r"\b(encoding|decimal|delimiter)=", r"--\1 "),
    (r"\bsay which, for example table=\S+, or ", "say which, as "),
    (r"\bor say overwrite=True", "or say --force"),
    (r"\bmax_unpacked='(.*?)'", r'sfumato --max-unpacked "\1" COMMAND ...'),
    (r"\btune: between must", "--between must"),
    (r"\bgot \(([^(),]+), ([^(),]+)\)", r"got \1 \2"),
    (r"\bgive between=\(low, high\)", "give --between LOW HIGH"),
    (r"\bworkers=(\d+)", r"--workers \1"),
)


def _as_typed(message: str) -> str:
    """Say a message in the words of the command line where it is in those of Python.

    >>> _as_typed("name its encoding, for example encoding='cp1252'")
    'name its encoding, for example --encoding "cp1252"'
    >>> _as_typed("tune: between must be two numbers, the lower one first; got (0.3, 0.1)")
    '--between must be two numbers, the lower one first; got 0.3 0.1'
    """
    for python, typed in WORDS:
        message = re.sub(python, typed, message)
    if re.search(r"\bvariables=\[\.\.\.\]", message):
        return f"{message} (inside the method or measure, such as MDAV(3, variables=['income']))"
    return message.rstrip()


TYPES = {
    "<float,float>...": "<low> <high>",
    "<list[str]>": "<text>",
    "<list[Path]>": "<path>",
    "<int range>": "<number>",
    "<float range>": "<number>",
}


class OneCommand(TyperCommand):
    """A command whose help calls what an option takes by words, and not by types of Python."""

    def get_help(self, ctx: Any) -> str:
        """Return the help."""
        text = super().get_help(ctx)
        for python, words in TYPES.items():
            text = text.replace(python, words.ljust(len(python)))
        return re.sub(r"<str> ?", "<text>", text)


class Commands(TyperGroup):
    """Commands that answer a refusal with one line and an exit code instead of a traceback."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, each with its first sentence in full."""
        rows = []
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            first = ((command.help if command is not None else "") or "").split("\n\n")[0]
            rows.append((name, " ".join(first.split())))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except UsageError as error:  # words of the command line, which may be names of files
            error.message = visible(error.message)
            raise
        except LackOfMemory as error:
            say(f"sfumato: {error}")
            raise typer.Exit(UNDONE) from None
        except SfumatoError as error:
            say(f"sfumato: {_as_typed(str(error))}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt as interruption:
            said = str(interruption) or "stopped"
            again = (
                "; run the same command again to continue"
                if ctx.invoked_subcommand in ("demo", "sweep", "study", "look")
                else ""
            )
            with suppress(OSError):  # the terminal may be gone
                say(f"\nsfumato: {said}{again}")
            raise typer.Exit(exit_code(interruption)) from None
        except MemoryError as error:
            wanted = f" ({error})" if str(error) else ""
            advice = "use fewer --workers, fewer variables, or a machine with more"
            say(f"sfumato: there is not enough memory{wanted}; {advice}")
            raise typer.Exit(UNDONE) from None
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read the output has gone: nobody is left to be told
                raise
            place = "" if error.filename is None else f"{str(error.filename)[:200]}: "
            say(f"sfumato: {place}{reason(error)}")
            raise typer.Exit(BAD_INPUT) from None


app = typer.Typer(
    name="sfumato",
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # its tables cut long words at 80 columns
    pretty_exceptions_enable=False,  # its tracebacks show local variables, which are the data
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {sfumato.__version__}")
        raise typer.Exit


def _allow(size: str | None) -> None:
    try:
        os.environ.update({} if size is None else {ALLOWED: str(in_bytes("--max-unpacked", size))})
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from None


@app.callback()
def options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    max_unpacked: Annotated[
        str | None,
        typer.Option(
            callback=_allow,
            metavar="<text>",
            help='What a compressed file may unpack to, such as "4 GB"; mostly 100 times its size.',
        ),
    ] = None,
) -> None:
    """Take the options that come before a command."""


for command in (demo, inspect, hierarchy, sweep, look, sign, tune, compare, audit, protect, study, methods, measures):
    app.command(cls=OneCommand)(command)
app.command("open", cls=OneCommand)(open_)


def main() -> None:
    """Run the command line."""
    end_on_signals()
    warnings.showwarning = _said
    app()


def _said(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,  # noqa: ARG001 - as Python calls it
    line: Any = None,  # noqa: ARG001
) -> None:
    """Say what is warned of in the words of Sfumato; warnings of libraries with their place."""
    ours = category is UserWarning and Path(filename).is_relative_to(Path(sfumato.__file__).parent)
    say(f"warning: {message}" if ours else f"{filename}:{lineno}: {category.__name__}: {message}")


class EndedBySignal(KeyboardInterrupt):
    """An interruption by a signal, which has a number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def end_on_signals() -> None:
    """Let signals end the program like Ctrl-C; one that is ignored, as `nohup` has it, stays so."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # it is ending already
    raise EndedBySignal(number)


def exit_code(interruption: BaseException) -> int:
    """Return 128 and the number of the signal, as shells do; it may have been told in other words since."""
    told: BaseException | None = interruption
    while told is not None and not isinstance(told, EndedBySignal):
        told = told.__context__
    return INTERRUPTED if told is None else 128 + told.number
