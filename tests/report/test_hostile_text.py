"""Characters that no picture can hold: the renderer would end the whole process, or refuse."""

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import (
    Experiment,
    InformationLoss,
    KAnonymity,
    LocalSuppression,
    Microdata,
    Noise,
    Schema,
    Variable,
    examine,
    summarise,
    write_report,
)
from sfumato.compare.examine.findings import VariableDetail
from sfumato.display import html_table, visible, visible_page
from sfumato.report.page import save_pictures
from sfumato.report.plots import before_and_after
from sfumato.report.vega import Spec, dressed, name, number, unit, values
from sfumato.report.verdict import SweepFacts
from sfumato.table.schema_file import schema_text

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
        ("no\u200bwidth", r"no\u200bwidth"),
        ("\ufeffmarked", r"\ufeffmarked"),
        ("\u2066apart\u2069 left\u200e right\u200f", r"\u2066apart\u2069 left\u200e right\u200f"),
        ("soft\xad", r"soft\xad"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("nor\u200cth nor\u200dth", r"nor\u200cth nor\u200dth"),
        ("a\ufe0f", r"a\ufe0f"),
        ("a\U000e0100", r"a\U000e0100"),
        # where joiners join and forms are chosen, they stay
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u0915\u094d\u200d\u0937", "\u0915\u094d\u200d\u0937"),
        ("👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3"),
        ("葛\U000e0100城", "葛\U000e0100城"),
        ("👩\u200d\u200d", "👩\u200d\\u200d"),
    ],
)
def test_what_cannot_be_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


UNSEEN = "\x1b\x07\x9b\xad\u061c\u200b\u200e\u200f\u202a\u202e\u2066\u2069\u2060\ufeff\U000e0041"


def test_no_report_hands_on_what_cannot_be_seen(tmp_path: Path) -> None:
    hostile = f"town{UNSEEN}"
    rng = np.random.default_rng(1)
    names = {hostile: rng.choice(["north", f"south{UNSEEN}", "east"], 80).tolist(), "pay": rng.lognormal(5, 1, 80)}
    schema = Schema(
        (Variable(hostile, "nominal", role="key", label=f"the {hostile}"), Variable("pay", role="confidential"))
    )
    data = Microdata.from_frame(pa.table(names), schema)
    methods = [LocalSuppression(3) + Noise(scale) for scale in (0.1, 0.2)]
    results = Experiment(data, methods, [KAnonymity(3), InformationLoss()], seed=3).run()
    summary = summarise(
        results,
        examine(results, results.rows[0].candidate, what=("release", "detail", "usefulness")),
        risk="KAnonymity",
        utility="InformationLoss",
        at_most={"KAnonymity": 1.0},
        file=f"survey{UNSEEN}.csv",
        facts=SweepFacts(command=f"sfumato sweep survey{UNSEEN}.csv", schema=schema_text(data.schema)),
    )
    for audience in ("internal", "external"):
        write_report(summary, tmp_path / audience, audience)
    pages = [place for place in tmp_path.rglob("*") if place.suffix in (".html", ".md", ".svg")]
    assert {place.suffix for place in pages} == {".html", ".md", ".svg"}
    for place in pages:
        text = place.read_text(encoding="utf-8")
        shown = re.sub(r"(?s)<script\b.*?</script>", "", text)  # the drawing library has such signs of its own
        assert not set(shown) & set(UNSEEN), place.name
        assert "u202e" in shown or place.suffix == ".svg", place.name


def test_in_a_notebook_what_cannot_be_seen_is_shown_by_its_number() -> None:
    shown = html_table(f"caption{UNSEEN}", [f"head{UNSEEN}"], [[f"cell{UNSEEN}"]], [f"after{UNSEEN}"])
    assert not set(shown) & set(UNSEEN)
    assert shown.count(r"\u202e") == 4


def test_of_a_page_the_text_is_made_visible_and_what_a_form_sends_is_not() -> None:
    hidden = "a\u202eb"
    page = (
        f'<script>"{hidden}"</script><p title="{hidden}" data-name="{hidden}">{hidden}</p><TEXTAREA>{hidden}</TEXTAREA>'
        f'<option value="{hidden}" aria-label="{hidden}">{hidden}</option>{hidden}'
    )
    seen = r"a\u202eb"
    assert visible_page(page) == (
        f'<script>"{hidden}"</script><p title="{seen}" data-name="{hidden}">{seen}</p><TEXTAREA>{hidden}</TEXTAREA>'
        f'<option value="{hidden}" aria-label="{seen}">{seen}</option>{seen}'
    )
    assert visible_page("<p>naïve 東京</p>") == "<p>naïve 東京</p>"
