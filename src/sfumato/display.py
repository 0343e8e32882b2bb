"""How text of a file is shown: what cannot be seen by its number, and in a notebook as text that stays text."""

import re
from collections.abc import Iterable, Sequence
from html import escape

# controls but tab and line feed (a terminal obeys them, a chart renderer dies of them), line separators, marks that
# turn the direction of what follows, halves of surrogate pairs, what is no character, and what has no width: with it
# two names look alike, and a name says what nobody sees
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
    # joiners, but where they join: in scripts from Arabic to those of India, and in pictures made of several
    "|(?<![\u0600-\u1cff\u2190-\u2bff\ua800-\uabff\ufb50-\ufdff\ufe0f\ufe70-\ufefc\U0001f000-\U0001faff])[\u200c\u200d]"
    # what chooses among the forms of a sign, but where there are such: Chinese and Japanese, pictures, digits in a box
    "|(?<![0-9#*\xa9\xae\u1000-\ufdff\ufe10-\U000dffff])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_MARKUP = re.compile(r"(?is)<(script|style|textarea)\b.*?</\1|<[^>]*>")
_LABELS = re.compile(r'(?i)\b(?:alt|title|label|placeholder)="[^"]*"')


def visible(text: str) -> str:
    r"""Write what cannot be seen, and might be obeyed, by its number; line breaks and tabs stay.

    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return _UNSEEN.sub(lambda found: _by_number(ord(found[0])), text)


def visible_page(page: str) -> str:
    r"""Do the same with all text that an HTML page shows.

    Scripts stay as they are, and so do the values of a form, which go back as they came.

    >>> visible_page('<p title="a\u202e">b\u200b<input value="\u200b"></p>')
    '<p title="a\\u202e">b\\u200b<input value="\u200b"></p>'
    """
    if not _UNSEEN.search(page):
        return page
    shown, end = [], 0
    for found in _MARKUP.finditer(page):
        shown.append(visible(page[end : found.start()]))
        shown.append(found[0] if found[1] else _LABELS.sub(lambda words: visible(words[0]), found[0]))
        end = found.end()
    return "".join([*shown, visible(page[end:])])


def _by_number(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class Preformatted:
    """In a notebook, the repr with its lines kept."""

    def _repr_html_(self) -> str:
        return visible_page(f"<pre>{escape(repr(self))}</pre>")


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], after: Iterable[str] = ()) -> str:
    """Return an HTML table with a caption, and lines of text below it.

    >>> html_table("a < b", ["x"], [["1"]], ["note"]).partition("<tbody>")[2]
    '<tr><td>1</td></tr></tbody></table><p>note</p>'
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "".join(f"<p>{escape(line)}</p>" for line in after)
    return visible_page(
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )
