"""How text is shown: what cannot be seen by its number, in a notebook as text that stays text; figures and lists."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Literal

Unit = Literal["share", "percent", "number"]
MAX_DETAIL = 16  # characters of a parameter in a short name

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


def written(value: float, unit: Unit, error: float = 0.0) -> str:
    """Write a figure, with its standard error where there is one.

    >>> written(0.0417, "share"), written(13.5534, "percent", 0.2134), written(2.5, "number", math.nan)
    ('4.17 %', '13.55 ± 0.21', '2.5 ± ?')
    >>> written(123456.7, "number"), written(123456.7, "number", 321.0), written(2.5e-07, "share")
    ('123,457', '123,457 ± 321', '0.000025 %')
    """
    scale, sign = (100, " %") if unit == "share" else (1, "")
    value, error = value * scale, error * scale
    if 0 < error < math.inf:  # two digits of the error, but no more than four of the value
        most = 3 - math.floor(math.log10(abs(value))) if value else 4
        decimals = max(min(1 - math.floor(math.log10(error)), most), 0)
        if round(error, decimals) > 0:
            return f"{value:,.{decimals}f} ± {error:,.{decimals}f}{sign}"
    shown = f"{value:,.0f}" if 9999.5 <= abs(value) < math.inf else f"{value:.4g}"
    shown = f"{Decimal(shown):f}" if sign and "e" in shown else shown
    return shown + (" ± ?" if math.isnan(error) else "") + sign


def listed(names: tuple[str, ...], most: int = 5) -> str:
    """List names in a sentence, the first few of them.

    >>> listed(("a", "b", "c")), listed(("a", "b", "c"), most=1)
    ('a, b and c', 'a and 2 others')
    """
    if len(names) > most:
        rest = len(names) - most
        return f"{', '.join(names[:most])} and {rest} other{'s' if rest > 1 else ''}"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def shortened(text: str, most: int) -> str:
    """Cut a text that is too long, and say so.

    >>> shortened("household_income", 10)
    'household…'
    """
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


@dataclass(frozen=True)
class Phrase:
    """What a method does in a few words, in fewer, and the value of its main parameter.

    Of a recoding ``detail_lost`` tells how much it puts together, so that several are numbered from the finest on.
    """

    words: str
    brief: str
    detail: str = ""
    detail_lost: float | None = None
