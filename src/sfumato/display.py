"""How text of a file is shown: what cannot be seen by its number, and in a notebook as text that stays text."""

import re
from collections.abc import Iterable, Sequence
from html import escape

# controls but tab and line feed (a terminal obeys them, a chart renderer dies of them), line separators, marks that
# turn the direction of what follows, halves of surrogate pairs, and what is no character
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Write what cannot be seen, and might be obeyed, by its number; line breaks and tabs stay.

    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _UNSEEN.sub(lambda found: _by_number(ord(found[0])), text)


def _by_number(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


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
