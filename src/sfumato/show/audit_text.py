"""An audit in a terminal: the verdict, its routes, examples, and what to do."""

from rich.table import Table
from rich.text import Text

from sfumato.restoration.findings import Audit, figures

_READINGS = {"restores": "restores", "association": "associated", "luck": "luck?", "nothing": ""}


def audit_verdict(audit: Audit) -> Text:
    """Return the sentence that says whether the file keeps what was protected."""
    return Text(audit.verdict, style="bold green" if audit.passed else "bold red")


def routes_table(audit: Audit) -> Table:
    """Return the routes that were tried, each with its worst variable, in at most 80 columns."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("route", overflow="fold", max_width=30)
    table.add_column("variable", overflow="fold", max_width=14)
    for heading in ("values", "restored", "guess"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for route in audit.routes:
        if route.worst is not None:
            cells = (route.title, *figures(route), _READINGS[route.worst.reading])
            table.add_row(*(Text(cell) for cell in cells), style="bold red" if route.alarm else None)
    return table


def evidence_lines(audit: Audit) -> list[str]:
    """Say of each route that restores which variables it gives back and from what, with examples."""
    lines = []
    for route in (route for route in audit.routes if route.alarm):
        for found in (found for found in route.by_variable if found.alarm):
            level = " in full" if found.level == "in full" else ""
            share = f"{found.restored:.1%} of {found.values:,}, guess {found.guess:.1%}"
            if found.exactly < found.restored:
                share += f"; {found.exactly:.1%} to the last digit, the others near"
            lines.append(f"{found.variable}{level} from {' and '.join(found.evidence)}: {share}")
        for example in route.examples:
            told = f"record {example.record:,}: {example.variable} ({example.published}) is {example.told}"
            lines.append(f"  {told}; {example.how}")
    return lines


def nearness(audit: Audit) -> str:
    """Say when a number counts as restored; nothing where no number was.

    Categories are right or not, so that all that is restored of them is so exactly.
    """
    found = [one for route in audit.routes for one in route.by_variable]
    if not any(one.exactly < one.restored for one in found):
        return ""
    return (
        f"a number or date counts as restored if near: at most {audit.near:.1%} of the records lie between it "
        "and the true one"
    )


def untried_lines(audit: Audit) -> list[str]:
    """Say which routes have no figure and why."""
    return [f"{route.title}: {route.untried}" for route in audit.routes if route.untried]
