"""The page that compares the measures on one example: its figures come from docs/figures.py and can be had again."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = (
    ("InformationLoss", "noise"),
    ("CDFMaximum", "half"),
    ("KullbackLeibler", "shuffled"),
    ("IntervalOverlap", "averaged"),
    ("EllipsoidOverlap", "swapped"),
    ("ConclusionChanges", "normal"),
    ("pMSE second order, over chance", "shuffled"),
    ("GlobalDataUtility", "recoded"),
    ("DistanceLinkage", "swapped"),
    ("RankSwappingAttack", "swapped"),
    ("RankInterval", "shuffled"),
    ("KAnonymity", "half"),
    ("IndividualRisk", "copy"),
    ("SUDA2", "recoded"),
    ("DiSCO", "synthetic"),
    ("NearestRecord", "synthetic"),
)
STATED = {"0.95", "10 %", "100 %", "0 %"}  # levels, settings and bounds that no figure has to back


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures_of_the_page", DOCS / "figures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((DOCS / "img" / "background.json").read_text("utf-8"))
    return kept


def test_the_figures_can_be_had_again(script: ModuleType, figures: dict[str, Any]) -> None:
    data = script.people()
    assert len(data) == figures["records"]
    files = script.protected(data)
    rows = {row.name: (kind, row) for kind, listed in script.rows().items() for row in listed}
    for name, file in AGAIN:
        kind, row = rows[name]
        assert script.measured(row, data, files[file]) == pytest.approx(figures[kind][name][file], rel=1e-6), (
            name,
            file,
        )
    assert script.measured(rows["InformationLoss"][1], data, files["synthetic"]) is None


def test_the_tables_of_the_page_are_those_figures(script: ModuleType, figures: dict[str, Any]) -> None:
    page = (DOCS / "background.md").read_text(encoding="utf-8")
    assert script.with_tables(page, figures) == page


def test_every_number_in_the_text_is_one_of_those_figures(script: ModuleType, figures: dict[str, Any]) -> None:
    page = (DOCS / "background.md").read_text(encoding="utf-8")
    text = re.sub(
        r"<!-- (utility|risk) -->.*?<!-- end of \1 -->|`[^`]+`|^\|.*?$", "", page, flags=re.DOTALL | re.MULTILINE
    )
    known = set(STATED)
    for kind, listed in script.rows().items():
        for row in listed:
            known |= {script.shown(value, row.form) for value in figures[kind][row.name].values()}
    for of, parts in figures["parts"].items():
        percent = "percent" if of.startswith("InformationLoss") else "share"
        known |= {script.shown(value, unit) for value in parts.values() for unit in (percent, "number")}
    told = re.findall(r"\d+(?:\.\d+)? %|\d+\.\d+", text)
    assert len(told) > 40
    assert [number for number in told if number not in known] == []


def test_every_picture_is_there_and_says_what_it_shows() -> None:
    page = (DOCS / "background.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[(.+?)\]\((img/.+?\.svg)\)", page)
    assert len(pictures) == 8
    for words, path in pictures:
        assert len(words) > 15
        drawn = (DOCS / path).read_text(encoding="utf-8")
        assert drawn.startswith("<svg") and "http://www.w3.org/2000/svg" in drawn and len(drawn) < 700_000
