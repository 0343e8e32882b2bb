"""Results as a compact ranked table, for a terminal and for a notebook."""

from typing import TYPE_CHECKING

from sfumato.compare.figures import written
from sfumato.display import html_table

if TYPE_CHECKING:
    from sfumato.compare.results import Results

MOST = 25  # rows shown


def as_text(results: "Results") -> str:
    """Write the best candidates in aligned columns."""
    heads, lines = _cells(results)
    widths = [max(len(line[j]) for line in (heads, *lines)) for j in range(len(heads))]
    table = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in (heads, *lines)
    ]
    return "\n".join([_caption(results), *table, *_footer(results)])


def as_html(results: "Results") -> str:
    """Write the best candidates as an HTML table."""
    heads, lines = _cells(results)
    return html_table(_caption(results), heads, lines, _footer(results))


def _cells(results: "Results") -> tuple[list[str], list[list[str]]]:
    figures = results.figures
    names = [key.partition("(")[0] for key in figures]
    heads = [name if names.count(name) == 1 else key for name, key in zip(names, figures, strict=True)]
    lines = []
    for row in results.ranked()[:MOST]:
        shown = [
            written(row.means[key], about.unit, row.errors[key]) if key in row.means else "-"
            for key, about in figures.items()
        ]
        lines.append([row.candidate, *shown])
    return ["candidate", *heads], lines


def _caption(results: "Results") -> str:
    rows, draws = len(results), results.replicates
    replicates = f"{draws} replicate{'s' if draws > 1 else ''}"
    best = results.ranked_by.partition("(")[0]
    return f"{rows} candidate{'s' if rows != 1 else ''}, {replicates}; best {best} first"


def _footer(results: "Results") -> list[str]:
    lines = []
    if len(results) > MOST:
        lines.append(f"... and {len(results) - MOST} more: see to_frame()")
    lines += [f"{score}" for score in results.scores]
    for row in results.ranked()[:MOST]:
        reasons = list(dict.fromkeys(row.reasons.values()))
        if reasons:
            lines.append(f"- {row.candidate}: {reasons[0]}")
    return lines
