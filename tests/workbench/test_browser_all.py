"""Every screen in a real browser: nobody is shut out, no script of a hostile file runs, no layout overflows."""

from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pages import Running, browser, enter, needs_browser, served, settled
from released import made_once, run

import sfumato
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens import TITLES
from waiting import PATIENCE

__all__ = ["browser", "enter", "made_once"]
pytestmark = needs_browser
WIDTHS = (390, 1280, 1920)
SERIOUS = ("serious", "critical")
HOSTILE = (
    "<img src=x onerror=window.hacked=1>",
    '"><script>window.hacked=2</script>',
    "</script><script>window.hacked=3</script>",
    "'; window.hacked=4; //",
    "{{ 7*7 }}${7*7}",
    "javascript:window.hacked=5",
    "]]><svg/onload=window.hacked=6>",
    "a\u202eb\u2028c\u0007d",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "x" * 300,
)


def violations(page: Any) -> list[str]:
    """Return what axe-core calls serious, each with the places."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{one['id']}: {one['help']} at {[node['target'] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in SERIOUS
    ]


def opened(page: Any) -> None:
    """Open what is folded, so that it is looked at too."""
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")


def overflow(page: Any) -> int:
    """Return by how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_screen_shuts_anybody_out_or_overflows(
    width: int, made_once: Path, enter: Callable[..., Any], tmp_path: Path
) -> None:
    import shutil

    shutil.copytree(made_once, tmp_path / "project")
    with served(tmp_path / "project") as running:
        page = enter(running, width=width)
        base = page.evaluate("document.baseURI")
        found: dict[str, list[str]] = {}
        for slug in (*TITLES, "journal"):
            page.goto(base + slug)
            settled(page)
            told = violations(page)
            opened(page)
            told += [said for said in violations(page) if said not in told]
            if overflow(page) > 0:
                told.append(f"wider than the window by {overflow(page)} pixels")
            if told:
                found[slug] = told
        assert found == {}
        assert page.problems == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a file in which every name, label and category is an attack, with a run behind it."""
    import numpy as np

    folder = tmp_path_factory.mktemp("hostile") / "project"
    desk = Desk(folder)
    rng = np.random.default_rng(5)
    names = [f"{n}{text}"[:200] for n, text in enumerate(HOSTILE)]
    columns: dict[str, Any] = {
        name: [HOSTILE[i] for i in rng.integers(0, 4, 300)] if n < 5 else rng.integers(0, 50, 300).astype(float)
        for n, name in enumerate(names)
    }
    sfumato.write(pa.table(columns), folder / "survey.parquet")
    data = sfumato.read(folder / "survey.parquet")
    labelled = [
        replace(
            v, label=HOSTILE[n], labels=tuple((c, HOSTILE[-1 - n]) for c in v.categories), role="key", declared=True
        )
        if n < 5
        else replace(v, label=HOSTILE[n], declared=True)
        for n, v in enumerate(data.schema)
    ]
    intruder = sfumato.Scenario(HOSTILE[0], keys=tuple(names[:4]), k=3)
    stated = replace(data.schema, variables=tuple(labelled), scenarios=(intruder, replace(intruder, name=HOSTILE[1])))
    own = (f"LocalSuppression(3, variables={names[:4]!r})", f"RankSwapping(p=0.2, variables={names[5:7]!r})")
    draft = Draft(source="survey.parquet", confirmed=True, schema=desk.restated(stated), own=own, proposed=False)
    desk.change(lambda old: draft.but(at_most={"Reidentification": 1.0}, replicates=1), screen="open", what=HOSTILE[2])
    run(desk)
    desk.journal.note("decide", HOSTILE[1])
    return folder


def test_no_text_of_a_hostile_file_runs_on_any_screen(hostile: Path, enter: Callable[..., Any]) -> None:
    with served(hostile) as running:
        page = enter(running)
        base = page.evaluate("document.baseURI")
        for slug in (*TITLES, "journal", "file/report.html", "file/release/about.html"):
            page.goto(base + slug)
            settled(page)
            opened(page)
            settled(page)
            assert page.evaluate("window.hacked") is None, slug
            assert page.locator("main img[src=x], svg[onload], script:not([src]):not([type])").count() == 0 or (
                slug.startswith("file/")
            ), slug
            if not slug.startswith("file/"):
                assert overflow(page) <= 0, slug
        assert page.problems == []


def test_a_hostile_name_of_a_file_is_text(enter: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    desk = Desk(folder)
    name = "a &lt;img src=x onerror=window.hacked=1 'b' {{ 7 }}.csv"
    sfumato.write(pa.table({"x": [1, 2]}), folder / name)
    assert desk.folder == folder.resolve()
    with served(folder) as running:
        page = enter(running, to="open")
        page.select_option("#name", label=name)
        page.click("text=Open it")
        page.wait_for_selector("text=2 records")
        assert page.evaluate("window.hacked") is None
        assert page.problems == []


def test_a_second_user_of_the_machine_gets_nothing(made_once: Path, tmp_path: Path) -> None:
    """Whoever can connect to the port, but cannot read the folder: no page, no file, no token."""
    import http.client
    import shutil
    from urllib.parse import urlsplit

    shutil.copytree(made_once, tmp_path / "project")
    with served(tmp_path / "project") as running:
        port = urlsplit(running.address()).port
        for path in ("/", "/enter", "/enter?token=", "/open", "/static/workbench.js", "/token", "/file/results.json"):
            for method in ("GET", "POST"):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                connection.request(method, path)
                answer = connection.getresponse()
                body = answer.read().decode()
                assert answer.status in (401, 403, 405), (method, path, answer.status)
                assert "survey" not in body
                connection.close()
        for place in (tmp_path / "project").rglob("*"):
            if place.is_file() and "release" not in place.parts:
                assert place.stat().st_mode & 0o077 == 0 or place.name == "survey.csv", place


def test_the_server_is_on_this_machine_alone(running_only: Running) -> None:
    import psutil

    listening = {
        one.laddr.ip for one in psutil.Process(running_only.process.pid).net_connections() if one.status == "LISTEN"
    }
    assert listening == {"127.0.0.1"}


@pytest.fixture
def running_only(tmp_path: Path) -> Any:
    (tmp_path / "project").mkdir()
    with served(tmp_path / "project") as running:
        yield running
