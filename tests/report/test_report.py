import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hand_made_summary import HOSTILE, hand_made_summary

from sfumato.compare.figures import Figure
from sfumato.errors import FileError
from sfumato.report.map_plot import risk_utility_map
from sfumato.report.page import embeddable
from sfumato.report.report import render, write_report
from sfumato.report.summary import Summary, from_json, to_json


@pytest.fixture(scope="module")
def summary() -> Summary:
    return hand_made_summary()


class _Page(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.addresses: list[str] = []
        self.ids: set[str] = set()
        self.images_without_words = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        self.addresses += [known[name] or "" for name in ("src", "href", "action", "data") if name in known]
        if "id" in known:
            self.ids.add(known["id"] or "")
        if tag == "img" and not known.get("alt"):
            self.images_without_words += 1

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "script":
            self.scripts.append(data)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, summary: Summary) -> Path:
    return write_report(summary, tmp_path_factory.mktemp("report") / "new" / "folder")


@pytest.fixture(scope="module")
def page(written: Path) -> _Page:
    found = _Page()
    found.feed(written.read_text())
    return found


def test_every_picture_is_there_twice(written: Path) -> None:
    names = {path.name for path in (written.parent / "plots").iterdir()}
    stems = {name.rsplit(".", 1)[0] for name in names}
    assert {"map", "score"} <= stems
    assert len(stems) == 4  # the map, the score and the two variables whose distribution changed
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    for path in (written.parent / "plots").glob("*.png"):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_hostile_names_stay_text(page: _Page, written: Path) -> None:
    text = written.read_text()
    assert HOSTILE not in text
    assert "<script>alert" not in text
    assert page.tags.count("script") == 4  # two charts as JSON, the libraries, our own


def test_the_page_needs_no_network(page: _Page, written: Path) -> None:
    assert [address for address in page.addresses if not address.startswith(("#", "data:"))] == []
    assert "default-src 'none'" in written.read_text()
    assert not re.search(r"@import|url\(", written.read_text().split("</style>")[0])


def test_the_contents_lead_somewhere_and_pictures_have_words(page: _Page) -> None:
    links = {address[1:] for address in page.addresses if address.startswith("#")}
    assert links
    assert links <= page.ids
    assert page.images_without_words == 0


def test_records_at_risk_come_with_their_keys_and_the_scenario(written: Path) -> None:
    section = written.read_text().split('id="records"')[1].split("<h3>")[0]
    assert "93" in section and "age × " in section and "scenario “neighbour”" in section
    assert "Score" not in section  # a column of zeros tells nothing
    assert "| 17 | 93 |" in (written.parent / "report.md").read_text()


def test_words_of_the_text_report_do_not_run_together(written: Path) -> None:
    assert "- sfumato 0.1.0, numpy 2.0" in (written.parent / "report.md").read_text()


def test_the_report_is_small_enough_to_mail(written: Path) -> None:
    assert written.stat().st_size < 3_000_000


def test_results_are_json(written: Path) -> None:
    results = json.loads((written.parent / "results.json").read_text())
    assert results["candidates"][0]["label"] == "RankSwapping(p=0.1)"
    assert results["file"] == f"{HOSTILE}.csv"


def test_embedded_json_reads_back() -> None:
    thing = {HOSTILE: ["\u2028", "é", 1.5]}
    text = embeddable(thing)
    assert json.loads(text) == thing
    assert not set("<>&\u2028") & set(text)


def test_a_summary_without_choice_or_detail_renders(summary: Summary) -> None:
    plain = tuple(replace(line, chosen=False, feasible=None) for line in summary.candidates)
    bare = replace(summary, candidates=plain, bounds=(), detail=None, score=None)
    assert "The chosen one" not in render(bare, {})


def test_a_pair_renders(summary: Summary) -> None:
    pair = replace(summary, kind="compare", risk=None, utility=None, score=None, bounds=())
    assert "Variable by variable" in render(pair, {})


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, summary: Summary) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot make the folder"):
        write_report(replace(summary, detail=None, score=None), tmp_path / "file" / "under")


def test_an_infinite_figure_has_no_place_on_the_map(summary: Summary) -> None:
    first = summary.candidates[0]
    far = replace(first, figures={**first.figures, "InformationLoss()": Figure(math.inf, "∞")})
    changed = replace(summary, candidates=(far, *summary.candidates[1:]))
    assert [line.label for line in changed.on_map] == [line.label for line in summary.on_map[1:]]
    assert from_json(to_json(changed)) == changed
    json.dumps(risk_utility_map(changed), allow_nan=False)
