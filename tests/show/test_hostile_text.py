"""Characters that no picture can hold: the renderer would end the whole process, or refuse."""

import html
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.compare.examine.findings import VariableDetail
from sfumato.display import visible
from sfumato.show.page import save_pictures
from sfumato.show.plots import before_and_after
from sfumato.show.vega import Spec, dressed, name, number, unit, values

# controls of both blocks, the backslash, line separators, halves of surrogate pairs, and what is no character at all
HOSTILE = [*range(0x20), 0x5C, *range(0x7F, 0xA0), 0x2028, 0x2029, 0x202E, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF]


def variable(code: int) -> VariableDetail:
    text = f"a{chr(code)}b"
    return VariableDetail(
        text, "nominal", 0.5, categories=(text, "other"), shares_before=(0.5, 0.5), shares_after=(0.4, 0.6)
    )


def hostile_picture() -> Spec:
    """Put every one of them into every place of one picture where text of a file can stand."""
    rows = [{"label": f"a{chr(code)}b", "value": code} for code in HOSTILE]
    everything = "".join(map(chr, HOSTILE))
    encoding = {
        "y": name("label", sort=[row["label"] for row in rows], title=everything),
        "x": number("value", title=everything),
        "tooltip": [name("label", title=everything)],
        "color": name("label", scale={"domain": [row["label"] for row in rows]}, legend={"title": everything}),
    }
    return dressed({**unit("bar", encoding, data=values(rows)), "title": everything, "description": everything})


def draw_all(folder: Path) -> None:
    """Draw them; run in a process of its own, which a failure would end without a word."""
    save_pictures({"all": hostile_picture()}, folder)
    save_pictures({f"one-{code}": before_and_after(variable(code)) for code in HOSTILE[:12]}, folder)


def test_no_character_ends_the_process_that_draws(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\nfrom test_hostile_text import draw_all\n"
        f"draw_all(Path({str(tmp_path)!r}))\nprint('drawn')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-300:]
    assert done.stdout == "drawn\n"
    assert len(list(tmp_path.glob("*.png"))) == 13
    svg = (tmp_path / "all.svg").read_text(encoding="utf-8")
    assert "a∖x08b" in svg and "a∖u2028b" in svg


def texts(thing: Any) -> Iterator[str]:
    if isinstance(thing, str):
        yield thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from (key, *texts(value))
    elif isinstance(thing, list | tuple):
        for entry in thing:
            yield from texts(entry)


def test_a_picture_holds_none_of_them_and_keeps_labels_apart() -> None:
    spec = hostile_picture()
    left = {ord(character) for text in texts(spec) for character in text} & set(HOSTILE)
    assert left == {0x09}  # a tab is as good as a blank
    labels = [row["label"] for row in spec["data"]["values"]]
    assert len(set(labels)) == len(HOSTILE)
    assert spec["encoding"]["y"]["sort"] == labels  # still the same names


@pytest.mark.parametrize("title", ["a\\", r"a\x00", r'a\", 1/0, "', "a'\"\\", "\\u0008"])
def test_no_title_leaves_its_quotes(title: str, tmp_path: Path) -> None:
    encoding = {
        "x": name("label", title=title),
        "y": number("value", title=title),
        "color": name("label", title=title),
        "tooltip": [name("label", title=title)],
    }
    spec = dressed(unit("bar", encoding, data=values([{"label": title, "value": 1}])))
    save_pictures({"drawn": spec}, tmp_path)
    shown = html.escape(title.replace("\\", "∖"), quote=False)
    assert shown in (tmp_path / "drawn.svg").read_text(encoding="utf-8").replace("&quot;", '"')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve 東京 🎈", "naïve 東京 🎈"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("bell\a", r"bell\x07"),
        ("c1 \x9b31m", r"c1 \x9b31m"),
        ("half \ud83c", r"half \ud83c"),
        ("turned \u202e", r"turned \u202e"),
        ("return\rover", r"return\x0dover"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown
