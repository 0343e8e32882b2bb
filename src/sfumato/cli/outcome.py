"""What became of a sweep, printed, and the exit code that says how it went."""

from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import console, say

if TYPE_CHECKING:
    from sfumato.project.plan import Plan
    from sfumato.show.summary import Summary

REASONS = 2  # for figures that are missing; the report has them all


def finish(summary: "Summary", plan: "Plan", *, json: bool) -> None:
    """Print what was found, and leave with the exit code that says how it went."""
    from sfumato.outcome import Status
    from sfumato.show.summary import to_json

    if json:
        typer.echo(to_json(summary))
    else:
        _print(summary, plan)
    for reason, labels in summary.lacking[:REASONS]:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        named = ", ".join(summary.names.get(label, label) for label in labels[:3])
        say(f"sfumato: {named}{more} lack{'s' if len(labels) == 1 else ''} a figure: {reason}")
    if len(summary.lacking) > REASONS:
        say(f"sfumato: {len(summary.lacking) - REASONS} more reasons for missing figures are in the report")
    # that a measure does not apply to a candidate is a finding; that one fails, or none applies, is not
    broken = any(
        not line.figures or any(reason.status is Status.FAILED for reason in line.reasons.values())
        for line in summary.failed
    )
    if broken or summary.verdict.publish is False:
        raise typer.Exit(1)


def print_cautions(summary: "Summary", most: int) -> None:
    """Print what the figures do not say: the first few, cut to three lines each."""
    from rich.text import Text

    from sfumato.show.terminal import some_of

    for caution in some_of(summary.cautions, console().width, most):
        console().print(Text(caution, style="yellow"))


def _print(summary: "Summary", plan: "Plan") -> None:
    """Print the verdict, what decides, the first candidates and where the rest is: 40 lines with what came before."""
    from rich.text import Text

    from sfumato.project.release import protected_path, release_folder
    from sfumato.show.terminal import LINES, ROWS, candidates_table, deciding_table, rest, signs, verdict_text

    out = console()
    files = [f"internal report  {plan.out / 'report.html'}"]
    if summary.verdict.publish:
        files.insert(0, f"for the public   {release_folder(plan) / 'about.html'}")
        files.insert(0, f"protected table  {protected_path(plan)}")
    with out.capture() as printed:
        out.print(verdict_text(summary, out.width))
        if summary.verdict.publish is None:
            out.print(Text(f"{summary.sentence}\n"))
        deciding = deciding_table(summary)
        if deciding is not None and summary.verdict.publish is not None:
            out.print(deciding, "")
    told = printed.get()
    out.file.write(told)
    with out.capture() as none:
        out.print(candidates_table(summary, out.width, 0))
    room = LINES - len(told.splitlines()) - len(none.get().splitlines()) - len(files) - 2
    if room > 0:
        rows = min(room, ROWS)
        out.print(candidates_table(summary, out.width, rows))
        out.print(Text(signs(summary), style="dim"))
        out.print(Text(f"{rest(summary, rows)}", style="dim"))
    else:
        out.print(Text(f"{rest(summary, 0)}", style="dim"))
    for line in files:
        out.print(Text(line), soft_wrap=True)
