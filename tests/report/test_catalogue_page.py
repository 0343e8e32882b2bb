"""Every class of the catalogue has a whole page: formula, reading, caveat, source, and an example that runs."""

import re
import shlex
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import markdown  # type: ignore[import-untyped]
import pytest
from typer.testing import CliRunner

import sfumato
from sfumato import catalogue
from sfumato.cli.app import app
from sfumato.report.catalogue_page import catalogue_index, catalogue_page

METHODS, MEASURES = catalogue.methods(), catalogue.measures()
CLASSES: dict[str, Any] = {**METHODS, **MEASURES}
EVERY = pytest.mark.parametrize("name", list(CLASSES))
WIDEST = 98  # characters of a formula that a page shows in one line


def blocks(page: str, language: str) -> list[str]:
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return found


@EVERY
def test_the_page_is_whole(name: str) -> None:
    about, page = CLASSES[name].about, catalogue_page(CLASSES[name])
    assert page.startswith(f"# {name}\n")
    for what in ("formula", "reading", "caveat", "source", "title", "missing"):
        assert getattr(about, what).strip(), f"{name} has no {what}"
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    reading = "How to choose its parameters" if name in METHODS else "How to read it"
    wanted = ["Formula", reading, "When it misleads", "Parameters", "What it does with the data", "Try it", "Source"]
    assert [heading for heading in headings if heading != "In detail"] == wanted
    assert [about.formula.strip() + "\n"] == blocks(page, r"{ \.text \.formula }")


@EVERY
def test_a_formula_is_plain_and_a_reading_is_more_than_a_word(name: str) -> None:
    about = CLASSES[name].about
    lines = about.formula.split("\n")
    assert max(map(len, lines)) <= WIDEST and len(lines) <= 8, f"the formula of {name} is too wide or too long"
    assert all(line == line.rstrip() and line.isascii() and "```" not in line for line in lines)
    assert len(about.reading.split()) >= 25, f"the reading of {name} says too little"
    assert about.reading.count("``") % 2 == 0 and "\n" not in about.reading
    assert about.reading.strip()[-1] == "."


def test_a_reading_is_no_copy_of_the_docstring() -> None:
    for name, cls in CLASSES.items():
        doc = " ".join((cls.__doc__ or "").split())
        said = [part for part in re.split(r"(?<=[.;:]) ", " ".join(cls.about.reading.split())) if len(part) > 60]
        assert not [part for part in said if part in doc], name


class Html(HTMLParser):
    """Collects the links, the tags that are open, and the cells of each row of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.rows: list[int] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def rendered(page: str) -> Html:
    found = Html()
    found.feed(markdown.markdown(page, extensions=["tables", "fenced_code"]))
    assert not found.open
    return found


@EVERY
def test_the_page_is_valid_markdown(name: str) -> None:
    page = catalogue_page(CLASSES[name])
    prose = re.sub(r"`[^`]+`", "", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE))
    assert "<" not in prose and "`" not in prose and ":class:" not in prose
    html = rendered(page)
    tags = {"a", "code", "em", "h1", "h2", "li", "p", "pre", "table", "tbody", "td", "th", "thead", "tr", "ul", "hr"}
    assert html.tags <= tags, html.tags - tags  # none from the text itself
    three, two = len(fields(CLASSES[name])) + 1, html.rows.count(2)
    assert html.rows.count(3) == three and two >= 5 and len(html.rows) == three + two
    for link in html.links:
        folder, other = re.fullmatch(r"\.\./(methods|measures)/(\w+)\.md", link).groups()  # type: ignore[union-attr]
        assert other in (METHODS if folder == "methods" else MEASURES) and other != name


def test_the_index_lists_and_links_them_all() -> None:
    html = rendered(catalogue_index(METHODS, MEASURES))
    assert sorted(html.links) == sorted(
        [f"methods/{name}.md" for name in METHODS] + [f"measures/{name}.md" for name in MEASURES]
    )


@pytest.mark.parametrize("name", ["MDAV", "ResidualNoise", "PRAM", "KAnonymity", "IntervalOverlap", "DiSCO"])
def test_the_example_of_the_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = catalogue_page(CLASSES[name])
    (code,), (command,) = blocks(page, "python"), blocks(page, "sh")
    exec(compile(code, name, "exec"), {})
    assert capsys.readouterr().out.startswith("Microdata" if name in METHODS else name)
    monkeypatch.chdir(tmp_path)
    data = sfumato.household_survey(households=60)
    sfumato.write(data, "survey.csv")
    sfumato.write(sfumato.Noise(0.1, variables=("wealth",)).protect(data, rng=1), "protected.csv")
    sfumato.write_schema(data, "schema.toml")
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, f"{command}\n{done.output}\n{done.exception!r}"


@EVERY
def test_the_terminal_shows_the_same(name: str) -> None:
    done = CliRunner().invoke(app, ["methods" if name in METHODS else "measures", name])
    assert done.exit_code == 0, done.output
    shown, about = done.stdout, CLASSES[name].about
    assert all(line in shown for line in about.formula.split("\n"))
    flat = " ".join(shown.split())
    for text in (about.reading, about.caveat, about.source, about.missing):
        words = " ".join(text.replace("``", "").split())
        assert words[1:40] in flat and words[1:].rstrip(".")[-30:] in flat, text  # the first letter is a capital there
    for raw in ("keeps records", "paired", "column_order", "joint "):  # names of fields are not for readers
        assert not re.search(rf"^{raw}\b", shown, re.MULTILINE), raw
