"""Requests that no page of ours would send: each is answered, none is a fault of the program, none stays behind."""

from pathlib import Path

import pytest
from pages import HERE, PORT
from tiny import people

from sfumato.workbench.app import make_app
from sfumato.workbench.draft import Draft
from sfumato.workbench.journal import Journal
from sfumato.workbench.screens.screen import Form, Refused

LONG = "9" * 5000  # Python refuses to read numbers of this many digits


@pytest.mark.parametrize(
    "place",
    [
        f"mask?edit={LONG}.0",
        f"mask?edit=0.{LONG}",
        "mask?edit=²",
        "explore?bound²=1",
        f"explore?bound{LONG}=1",
        f"recode?variable={LONG}",
        f"scenarios?at={LONG}",
        f"variables?part={LONG}",
    ],
)
def test_an_address_that_names_no_place_shows_the_page(tmp_path: Path, place: str) -> None:
    bench = people(tmp_path / "project")
    bench.post("mask", "write", text="LocalSuppression(2)")
    assert bench.get(place).status_code == 200


@pytest.mark.parametrize(
    ("slug", "action", "fields"),
    [
        ("bounds", "settings", {"replicates": "3", "population": "inf"}),
        ("bounds", "settings", {"replicates": "3", "population": "1e400"}),
        ("bounds", "add_bound", {"what": "alike", "alike.k": "inf", "alike.bound": "5"}),
        ("variables", "accept", {"card": "x", "answer": "inf"}),
        ("open", "read_as", {"encoding": "a\0b"}),
        ("open", "read_as", {"delimiter": "²"}),
        ("open", "read_as", {"delimiter": "\0"}),
    ],
)
def test_a_field_that_holds_nonsense_is_refused_and_changes_nothing(
    tmp_path: Path, slug: str, action: str, fields: dict[str, str]
) -> None:
    bench = people(tmp_path / "project")
    before = bench.draft
    assert bench.post(slug, action, **fields).status_code == 422
    assert bench.draft == before
    assert bench.get("bounds").status_code == 200


def test_a_form_of_too_many_fields_is_refused(tmp_path: Path) -> None:
    bench = people(tmp_path / "project")
    before = bench.draft
    answer = bench.send("POST", bench.address("bounds/settings"), content="&".join(f"a{i}=1" for i in range(150_000)))
    assert answer.status_code == 400 and "more than 100,000 fields" in answer.text
    assert bench.draft == before


def test_a_schema_that_was_broken_outside_offers_the_last_good_one(tmp_path: Path) -> None:
    bench = people(tmp_path / "project")
    place = bench.desk.folder / "schema.toml"
    good, broken = place.read_text(), "[variables.town\nkind = nominal"
    place.write_text(broken)
    for slug in ("open", "variables", "bounds", "explore"):
        assert "Take back the last one that could be read" in bench.text(slug)
    refused = bench.post("variables", "say", name="age", role="key")
    assert refused.status_code == 422 and "before schema.toml can be read again" in refused.text
    assert bench.post("", "undo", screen="open").status_code == 422
    assert place.read_text() == broken  # nothing was written over it
    assert "is again as it was read last" in bench.post("open", "last_schema").text
    assert place.read_text() == good
    assert (bench.desk.folder / "schema.set-aside.toml").read_text() == broken
    assert "Take back" not in bench.text("variables")
    assert bench.post("variables", "say", name="age", role="key").status_code == 200


def test_a_missing_code_of_thousands_of_digits_is_a_text(tmp_path: Path) -> None:
    bench = people(tmp_path / "project")
    assert bench.post("variables", "say", name="town", missing=LONG).status_code == 200


def test_a_schema_in_another_encoding_is_told_of(tmp_path: Path) -> None:
    bench = people(tmp_path / "project")
    (bench.desk.folder / "other.csv").write_text("a,b\n1,2\n")
    (bench.desk.folder / "schema.toml").write_bytes('[variables.größe]\nkind = "numeric"\n'.encode("latin-1"))
    answer = bench.post("open", "choose", name="other.csv")
    assert answer.status_code == 422
    assert "save it as UTF-8" in answer.text


@pytest.mark.parametrize("said", ["inf", "-inf", "nan", "1e400", "x", ""])
def test_what_is_no_number_is_refused_at_its_field(said: str) -> None:
    with pytest.raises(Refused, match="a number is needed here") as refused:
        Form([("k", said)]).whole("k")
    assert refused.value.field == "k"


def test_a_form_keeps_several_texts_of_a_name_in_their_order() -> None:
    form = Form([("a", " 1 "), ("b", "2"), ("a", " 3 ")])
    assert form.texts("a") == [" 1 ", " 3 "]
    assert (form.text("a"), form.text("c", "none"), form.has("c"), form.names()) == ("3", "none", False, ["a", "b"])


def test_the_preview_is_that_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    bench = people(tmp_path / "project")
    assert "A" in bench.text("open")
    text = (bench.desk.folder / "people.csv").read_text()
    (bench.desk.folder / "people.csv").write_text(text.replace("A,", "Elsewhere,"))
    assert "Elsewhere" in bench.text("open")


def test_a_long_journal_is_not_read_from_end_to_end_for_every_page(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.change(lambda old: old.but(source="a"), screen="open", what="a")
    with journal._open() as database:
        plan = database.rows(
            "EXPLAIN QUERY PLAN SELECT number FROM steps WHERE parent = (SELECT step FROM now) ORDER BY number DESC"
        )
    assert not [line for *_, line in plan if line.startswith("SCAN steps")]
    assert journal.undo().redo == "a"
    assert journal.redo().draft == Draft(source="a")


def test_a_tab_that_is_closed_in_the_middle_of_an_upload_leaves_nothing_and_is_no_fault(tmp_path: Path) -> None:
    import asyncio

    from starlette.types import Message

    bench = people(tmp_path / "project")
    before = sorted(path.name for path in bench.desk.folder.iterdir())
    said: list[Message] = [
        {"type": "http.request", "body": b"a,b\n1,2\n", "more_body": True},
        {"type": "http.disconnect"},
    ]
    answered: list[Message] = []

    async def receive() -> Message:
        return said.pop(0)

    async def send(message: Message) -> None:
        answered.append(message)

    headers = {**bench.headers, "host": HERE.removeprefix("http://"), "x-csrf": bench.csrf}
    scope = {
        "type": "http",
        "method": "PUT",
        "path": bench.address("upload"),
        "query_string": b"name=new.csv",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(make_app(bench.desk, bench.sessions, PORT)(scope, receive, send))
    assert answered[0]["status"] == 400
    assert sorted(path.name for path in bench.desk.folder.iterdir()) == before
