"""What became of a sweep, printed, and the exit code that says how it went."""

from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import console, say

if TYPE_CHECKING:
    from sfumato.project.plan import Plan
    from sfumato.show.summary import Summary


def finish(summary: "Summary", plan: "Plan", *, json: bool) -> None:
    """Print what was found, and leave with the exit code that says how it went."""
    from sfumato.outcome import Status
    from sfumato.show.summary import to_json

    if json:
        typer.echo(to_json(summary))
    else:
        _print(summary, plan)
    for reason, labels in summary.lacking:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        named = ", ".join(summary.names.get(label, label) for label in labels[:3])
        say(f"sfumato: {named}{more} lack{'s' if len(labels) == 1 else ''} a figure: {reason}")
    # that a measure does not apply to a candidate is a finding; that one fails, or none applies, is not
    broken = any(
        not line.figures or any(reason.status is Status.FAILED for reason in line.reasons.values())
        for line in summary.failed
    )
    if broken or summary.verdict.publish is False:
        raise typer.Exit(1)


def print_cautions(summary: "Summary") -> None:
    """Print what the figures do not say."""
    from rich.padding import Padding
    from rich.text import Text

    for caution in summary.cautions:
        console().print(Padding(Text(f"! {caution}", style="yellow"), (0, 0, 0, 2)))
    if summary.cautions:
        console().print()


def _print(summary: "Summary", plan: "Plan") -> None:
    from rich.text import Text

    from sfumato.project.release import protected_path, release_folder
    from sfumato.show.terminal import ROWS, candidates_table, changes_table, signs, text_map, verdict_text

    out = console()
    picture = text_map(summary)
    if picture is not None:
        out.print(picture, "")
    out.print(candidates_table(summary, out.width))
    out.print(Text(signs(summary), style="dim"))
    if len(summary.candidates) > ROWS:
        out.print(f"… and {len(summary.candidates) - ROWS} more in the report", style="dim")
    out.print(Text(f"\n{summary.sentence}\n"))
    print_cautions(summary)
    changes = changes_table(summary)
    if changes is not None:
        out.print(changes, "")
    out.print(verdict_text(summary))  # last, because that is what stays on the screen
    if summary.verdict.publish:
        out.print(Text(f"protected table  {protected_path(plan)}"), soft_wrap=True)
        out.print(Text(f"for the public   {release_folder(plan) / 'about.html'}"), soft_wrap=True)
    out.print(Text(f"internal report  {plan.out / 'report.html'}"), soft_wrap=True)
