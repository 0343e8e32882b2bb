"""How results show themselves in a notebook: tables and blocks in which every text stays text."""

from collections.abc import Iterable, Sequence
from html import escape


class Preformatted:
    """In a notebook, the repr with its lines kept."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], after: Iterable[str] = ()) -> str:
    """Return an HTML table with a caption, and lines of text below it.

    >>> html_table("a < b", ["x"], [["1"]], ["note"]).partition("<tbody>")[2]
    '<tr><td>1</td></tr></tbody></table><p>note</p>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(line)}</p>" for line in after)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )
