"""Who gets in: host, origin, token, cookie, form token; headers; nothing but the project's folder."""

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

import sfumato
from sfumato.workbench import guard
from sfumato.workbench.app import make_app
from sfumato.workbench.desk import Desk
from sfumato.workbench.guard import Sessions
from sfumato.workbench.uploads import RESERVED_NAMES, inside, plain_name

PORT = 8765
BASE = f"http://127.0.0.1:{PORT}"


class Browser:
    """A browser on this machine; it keeps cookies only if it is let in."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk(folder)
        self.sessions = Sessions()
        self.app = make_app(self.desk, self.sessions, PORT)
        self.cookies: dict[str, str] = {}

    @property
    def room(self) -> str:
        return f"/{self.sessions.room}"

    def ask(self, method: str, path: str, **said: object) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=self.cookies) as client:
                return await client.request(method, path, **said)  # type: ignore[arg-type]

        return asyncio.run(asked())

    def enter(self) -> httpx.Response:
        answer = self.ask("GET", f"/enter?token={self.sessions.token()}")
        self.cookies = dict(answer.cookies)
        return answer

    @property
    def csrf(self) -> str:
        found = self.sessions.csrf(next(iter(self.cookies.values())))
        assert found is not None
        return found

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        said = {"Origin": BASE, **(headers or {})}
        return self.ask("POST", self.room + path, data=fields, headers=said)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    sfumato.write(pa.table({"age": [30, 40, 50], "sex": ["m", "f", "f"]}), tmp_path / "survey.csv")
    yield Browser(tmp_path / "project")


def test_the_address_works_once_and_gives_a_strict_cookie_for_the_room_alone(browser: Browser) -> None:
    token = browser.sessions.token()
    first = browser.ask("GET", f"/enter?token={token}")
    again = browser.ask("GET", f"/enter?token={token}")
    assert first.status_code == 200
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    # browsers send cookies to every port of a host: only below this path, which others do not know
    assert f"path={browser.room.lower()}/" in cookie
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("token", ["", "x", "é" * 10, "0" * 43])
def test_a_wrong_token_lets_nobody_in(browser: Browser, token: str) -> None:
    browser.sessions.token()
    answer = browser.ask("GET", "/enter", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_without_the_cookie_no_page_and_no_file_is_shown(browser: Browser) -> None:
    for path in ("/open", "/variables", "/journal", "/pulse", "/file/schema.toml", "/static/workbench.css", "/"):
        assert browser.ask("GET", browser.room + path).status_code == 401
    for path in ("/undo", "/open/confirm"):
        assert browser.post(path, csrf="x").status_code == 401
    assert browser.ask("PUT", browser.room + "/upload?name=a.csv", content=b"a\n1\n").status_code == 401
    assert not (browser.desk.folder / "a.csv").exists()


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil:{PORT}", ""]
)
def test_another_host_is_refused_whatever_the_cookie(browser: Browser, host: str) -> None:
    browser.enter()
    assert browser.ask("GET", browser.room + "/open", headers={"Host": host}).status_code == 421
    assert browser.ask("GET", "/enter?token=x", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:9999"]
)
def test_a_change_from_another_origin_is_refused(browser: Browser, origin: str) -> None:
    browser.enter()
    before = browser.desk.now().revision
    answer = browser.post("/undo", headers={"Origin": origin, "X-CSRF": browser.csrf}, csrf=browser.csrf)
    assert answer.status_code == 403
    assert browser.desk.now().revision == before
    sent = browser.ask(
        "PUT",
        browser.room + "/upload?name=a.csv",
        content=b"a\n1\n",
        headers={"Origin": origin, "X-CSRF": browser.csrf},
    )
    assert sent.status_code == 403


def test_a_change_without_the_form_token_is_refused(browser: Browser) -> None:
    browser.enter()
    for given in ("", "x", "0" * 43):
        assert browser.post("/undo", csrf=given).status_code == 403
        assert browser.post("/undo", headers={"X-CSRF": given}).status_code == 403
    assert (
        browser.ask("PUT", browser.room + "/upload?name=a.csv", content=b"a\n1\n", headers={"Origin": BASE}).status_code
        == 403
    )
    revision = str(browser.desk.now().revision)
    assert browser.post("/undo", csrf=browser.csrf, revision=revision).status_code == 303
    for odd in ("", "x", "-1", "9" * 5000):
        assert browser.post("/undo", csrf=browser.csrf, revision=odd).status_code == 409


def test_the_token_of_another_browser_does_not_serve(browser: Browser) -> None:
    browser.enter()
    theirs = browser.csrf
    browser.enter()
    assert browser.csrf != theirs
    assert browser.post("/undo", csrf=theirs).status_code == 403


def test_a_new_address_is_for_who_can_read_the_folder(browser: Browser) -> None:
    assert browser.ask("POST", "/token").status_code == 403
    assert browser.ask("POST", "/token", headers={"Authorization": "Bearer x"}).status_code == 403
    number, header = guard.question(browser.sessions.secret)
    secret = {"Authorization": header}
    assert browser.ask("GET", "/token", headers=secret).status_code == 403
    assert browser.ask("POST", "/token", headers={**secret, "Origin": "http://evil.example"}).status_code == 403
    assert browser.ask("POST", "/token", headers={"Authorization": guard.question("x" * 43)[1]}).status_code == 403
    token = guard.token_in(browser.sessions.secret, number, browser.ask("POST", "/token", headers=secret).text)
    assert browser.ask("GET", f"/enter?token={token}").status_code == 200


@pytest.mark.parametrize("others", ['a={"b": [1, "c"]}', "odd", "=", "a=b;;", 'q="', "NAME=theirs", "x=1; NAME="])
def test_cookies_that_servers_on_other_ports_set_lock_nobody_out(browser: Browser, others: str) -> None:
    browser.enter()
    ((name, cookie),) = browser.cookies.items()
    others, own, browser.cookies = others.replace("NAME", name), f"{name}={cookie}", {}
    for line in (f"{others}; {own}", f"{own}; {others}"):
        assert browser.ask("GET", f"{browser.room}/open", headers={"Cookie": line}).status_code == 200, line
    assert browser.ask("GET", f"{browser.room}/open", headers={"Cookie": others}).status_code == 401


def test_what_a_page_of_another_port_loads_is_refused(browser: Browser) -> None:
    browser.enter()
    for site in ("cross-site", "same-site"):  # a site is a host: to a browser all its ports are one
        told = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert browser.ask("GET", f"{browser.room}/open", headers=told).status_code == 403
    own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert browser.ask("GET", f"{browser.room}/open", headers=own).status_code == 200


def test_every_answer_keeps_scripts_frames_and_caches_out(browser: Browser) -> None:
    browser.enter()
    for path in ("/open", "/journal", "/nothing", "/static/workbench.js"):
        headers = browser.ask("GET", browser.room + path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
    refused = browser.ask("GET", "/", headers={"Host": "evil.example"})
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]


@pytest.mark.parametrize(
    "place",
    [
        "../survey.csv",
        "..%2fsurvey.csv",
        "%2e%2e/survey.csv",
        "release/../../survey.csv",
        "release/%2e%2e/journal.sqlite",
        "/etc/passwd",
        "//etc/passwd",
        "journal.sqlite",
        "workbench.json",
        "seed",
        "results.sqlite",
        "plan.json",
        "survey.csv",
        "release/",
        "release/a\\..\\b",
        "release/%00",
    ],
)
def test_no_file_is_given_but_those_that_a_page_leads_to(browser: Browser, place: str) -> None:
    browser.enter()
    for name in ("seed", "results.sqlite", "survey.csv", "plan.json"):
        (browser.desk.folder / name).write_text("secret")
    answer = browser.ask("GET", f"{browser.room}/file/{place}")
    assert answer.status_code == 404
    assert "secret" not in answer.text


def test_a_link_in_the_release_folder_leads_nowhere(browser: Browser, tmp_path: Path) -> None:
    browser.enter()
    (browser.desk.folder / "release").mkdir()
    (browser.desk.folder / "release" / "about.html").symlink_to(tmp_path / "survey.csv")
    assert browser.ask("GET", f"{browser.room}/file/release/about.html").status_code == 404


def test_a_report_is_shown_apart_from_the_pages(browser: Browser) -> None:
    browser.enter()
    (browser.desk.folder / "report.html").write_text("<script>1</script>")
    answer = browser.ask("GET", f"{browser.room}/file/report.html")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy


@pytest.mark.parametrize(
    "name", ["../a.csv", "/a.csv", "a/b.csv", "a\\b.csv", ".hidden", "", "a\x00.csv", "a\n.csv", "CON", "nul.csv", " a"]
)
def test_an_upload_needs_a_plain_name(browser: Browser, name: str) -> None:
    browser.enter()
    answer = browser.ask(
        "PUT",
        browser.room + "/upload",
        params={"name": name},
        content=b"a\n1\n",
        headers={"Origin": BASE, "X-CSRF": browser.csrf},
    )
    assert answer.status_code == 422
    assert "plain name" in answer.json()["error"]


@pytest.mark.parametrize("name", [*RESERVED_NAMES, "Decision.json", "RUN.JSON"])
def test_an_upload_never_passes_for_what_the_program_keeps(browser: Browser, name: str) -> None:
    browser.enter()
    said = {"Origin": BASE, "X-CSRF": browser.csrf}
    answer = browser.ask("PUT", browser.room + "/upload", params={"name": name}, content=b"{}", headers=said)
    assert answer.status_code == 422
    assert not (browser.desk.folder / name).exists()


def test_an_upload_is_bounded_whole_and_for_its_owner_alone(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    browser.enter()

    def send(name: str, content: bytes) -> httpx.Response:
        said = {"Origin": BASE, "X-CSRF": browser.csrf}
        return browser.ask("PUT", browser.room + "/upload", params={"name": name}, content=content, headers=said)

    assert send("a.csv", b"x\n1\n").json() == {"name": "a.csv"}
    kept = browser.desk.folder / "a.csv"
    assert kept.read_bytes() == b"x\n1\n"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = send("a.csv", b"y\n2\n")
    assert again.status_code == 422
    assert kept.read_bytes() == b"x\n1\n"
    monkeypatch.setattr("sfumato.workbench.app.MAX_UPLOAD_BYTES", 1000)
    large = send("b.csv", b"0" * 1001)
    assert large.status_code == 422
    assert "more than" in large.json()["error"]
    assert send("c.csv", b"").status_code == 422
    assert sorted(path.name for path in browser.desk.folder.glob("*.csv")) == ["a.csv"]
    assert not list(browser.desk.folder.glob(".*.part"))


def test_a_form_is_bounded(browser: Browser) -> None:
    browser.enter()
    answer = browser.post("/open/choose", csrf=browser.csrf, name="x" * 5_000_000)
    assert answer.status_code == 413


def test_the_folder_and_its_files_are_for_their_owner_alone(browser: Browser) -> None:
    assert stat.S_IMODE(browser.desk.folder.stat().st_mode) == 0o700
    for path in browser.desk.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_other_kinds_of_request_are_refused(browser: Browser) -> None:
    browser.enter()
    for method in ("DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert browser.ask(method, browser.room + "/open").status_code == 405


def test_names_of_files() -> None:
    assert plain_name("Umfrage 2024 (neu).sav") == "Umfrage 2024 (neu).sav"
    with pytest.raises(sfumato.FileError, match="plain name"):
        inside(Path(), "../x")
