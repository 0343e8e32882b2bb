"""Screen 2: what is said of variables, over HTTP as the page says it."""

import re
from pathlib import Path
from typing import Any

import pytest
from pages import Bench, bench, empty_bench, said

import sfumato
from sfumato.table.describe import Thumbnail
from sfumato.table.schema import Schema, Variable
from sfumato.table.schema_file import read_schema
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.variable_cards import cards, look
from sfumato.workbench.screens.variables import done, drawn, rows

PEOPLE = """name,home,members,sex,degree,born,started,income,age,cohort
"""


def people(folder: Path, records: int = 60) -> Path:
    """Write a file in which every proposal has its variable: homes of 2 and 3, codes, two ways of writing dates."""
    lines = [PEOPLE.strip()]
    homes = [place for place in range(records) for _ in range(2 + place % 2)][:records]
    for i in range(records):
        degree = ("low", "high", "middle")[i * 7 % 3]
        income = "refused" if i == 5 else f"{900 + 37 * i * i % 1100}"
        age = 20 + 7 * i % 45
        born, started = f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1950 + i % 40}", f"0{1 + i % 9}/0{1 + i * 5 % 9}/2001"
        lines.append(
            f"P{i:03d} Q,{homes[i]},{homes.count(homes[i])},{1 + i % 2},{degree},{born},{started},{income},"
            f"{age},{2020 - age}"
        )
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def people_bench(empty_bench: Bench) -> Bench:
    people(empty_bench.desk.folder)
    assert empty_bench.post("open", "choose", name="people.csv").status_code == 200
    assert empty_bench.post("open", "confirm").status_code == 200
    return empty_bench


def stated(bench: Bench) -> Schema:
    """Return what schema.toml in the folder says: the file is what the command line reads."""
    return read_schema(bench.desk.folder / "schema.toml")


def test_every_variable_has_a_row_with_its_kind_role_and_values(people_bench: Bench) -> None:
    found = {row.variable.name: row for row in rows(people_bench.desk, people_bench.draft)}
    assert list(found) == PEOPLE.strip().split(",")
    assert (found["sex"].variable.kind, found["sex"].distinct, found["sex"].missing) == ("numeric", 2, 0)
    assert found["degree"].variable.kind == "nominal"
    assert found["sex"].bars.words == "1 to 2"
    page = people_bench.get("variables").text
    for name in found:
        assert f'aria-label="Kind of {name}"' in page and f'aria-label="Role of {name}"' in page


def test_a_small_histogram_is_as_high_as_its_counts() -> None:
    bars = drawn(Variable("x"), Thumbnail((4, 0, 2), 1, 0, 2))
    assert [float(high) for high in re.findall(r"v-([\d.]+)", bars.present)] == [30, 15]  # none for a count of 0
    assert re.findall(r"v-([\d.]+)", bars.missing) == ["7.5"]


def test_a_role_is_kept_at_once_and_undone(people_bench: Bench) -> None:
    people_bench.post("variables", "say", name="degree", role="key")
    assert stated(people_bench)["degree"].role == "key"
    assert done(people_bench.desk, people_bench.draft)
    people_bench.post("", "undo", screen="variables")
    assert stated(people_bench)["degree"].role == "other"


def test_a_role_does_not_read_the_file_again(people_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    people_bench.get("variables?look=now")

    def refuse(*words: Any, **more: Any) -> Any:
        raise AssertionError("the file was read again")

    monkeypatch.setattr("sfumato.workbench.desk.read", refuse)
    monkeypatch.setattr("sfumato.workbench.screens.variable_cards.describe", refuse)
    monkeypatch.setattr("sfumato.workbench.screens.variable_cards.proposals", refuse)
    monkeypatch.setattr("sfumato.workbench.screens.variables.thumbnails", refuse)
    answer = people_bench.post("variables", "say", name="degree", role="confidential")
    assert answer.status_code == 200 and "1 confidential" in said(answer)


def test_a_change_of_one_row_is_answered_by_that_row(people_bench: Bench) -> None:
    revision = people_bench.desk.now().revision
    answer = people_bench.send(
        "POST",
        people_bench.address("variables/say?part=4"),
        data={"csrf": people_bench.csrf, "revision": str(revision), "once": "x", "name": "degree", "role": "key"},
    )
    assert answer.headers["location"] == "../variables?part=4"
    page = people_bench.get("variables?part=4").text
    assert 'id="row-4"' in page and 'id="row-3"' not in page
    assert f'data-revision="{revision + 1}"' in page


def test_text_that_is_no_number_is_refused_at_its_row_with_the_cure(people_bench: Bench) -> None:
    answer = people_bench.post("variables", "say", name="income", kind="numeric")
    assert answer.status_code == 422
    problem = re.search(r'id="problem-row-7" role="alert">(.*?)</div>', answer.text)
    assert problem is not None
    assert "row 6 holds the text" in problem[1] and "declare it as missing" in problem[1]
    assert "people.csv" not in problem[1]
    people_bench.post("variables", "say", name="income", kind="numeric", missing="refused")
    assert stated(people_bench)["income"].missing == ("refused",)
    row = rows(people_bench.desk, people_bench.draft)[7]
    assert (row.variable.kind, row.missing, row.codes) == ("numeric", 1, "refused")


def test_an_ordinal_text_begins_with_an_order_that_can_be_changed(people_bench: Bench) -> None:
    people_bench.post("variables", "say", name="degree", kind="ordinal")
    assert stated(people_bench)["degree"].categories == ("high", "low", "middle")
    people_bench.post("variables", "say", name="degree", category=["1", "2", "0"])
    assert stated(people_bench)["degree"].categories == ("low", "middle", "high")
    people_bench.post("variables", "say", name="degree", category=["0", "1", "2"], move="2 up")
    assert stated(people_bench)["degree"].categories == ("low", "high", "middle")
    people_bench.post("variables", "say", name="degree", category=["0", "1", "2"], move="turn")
    assert stated(people_bench)["degree"].categories == ("middle", "high", "low")
    answer = people_bench.post("variables", "say", name="degree", category=["0", "1"])
    assert answer.status_code == 422 and "have changed" in said(answer)


def test_a_missing_code_leaves_the_order_of_the_others(people_bench: Bench) -> None:
    people_bench.post("variables", "say", name="degree", kind="ordinal")
    people_bench.post("variables", "say", name="degree", category=["1", "2", "0"])
    people_bench.post("variables", "say", name="degree", missing="middle")
    assert stated(people_bench)["degree"].categories == ("low", "high")
    people_bench.post("variables", "say", name="degree", missing="")
    assert stated(people_bench)["degree"].categories == ("low", "high", "middle")


def test_text_becomes_a_date_by_the_one_format_that_fits(people_bench: Bench) -> None:
    people_bench.post("variables", "say", name="born", kind="date")
    assert (stated(people_bench)["born"].kind, stated(people_bench)["born"].format) == ("date", "%d.%m.%Y")


def test_where_day_and_month_cannot_be_told_apart_it_is_asked(people_bench: Bench) -> None:
    answer = people_bench.post("variables", "say", name="started", kind="date")
    assert answer.status_code == 422
    assert "the day may be first or the month" in said(answer) and "How the dates are written" in said(answer)
    people_bench.post("variables", "say", name="started", kind="date", format="%m/%d/%Y")
    assert stated(people_bench)["started"].format == "%m/%d/%Y"
    back = people_bench.post("variables", "say", name="started", kind="nominal")
    assert back.status_code == 200 and stated(people_bench)["started"].kind == "nominal"


def test_several_variables_get_a_role_and_a_kind(people_bench: Bench) -> None:
    answer = people_bench.post("variables", "many", names=["sex", "members"], role="key", kind="nominal")
    assert "2 variables: role key and kind nominal." in said(answer)
    assert [stated(people_bench)[name].kind for name in ("sex", "members", "age")] == ["nominal", "nominal", "numeric"]
    assert people_bench.desk.table(people_bench.draft).schema.analysed(role="key") == ("members", "sex")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"role": "key"}, "tick the variables"),
        ({"names": ["sex"]}, "choose a role or a kind"),
        ({"names": ["degree", "sex"], "kind": "numeric"}, "'degree' is numeric, but row 1 holds the text"),
    ],
)
def test_what_is_refused_of_several_changes_none(people_bench: Bench, fields: dict[str, Any], words: str) -> None:
    before = people_bench.draft
    answer = people_bench.post("variables", "many", **fields)
    assert answer.status_code == 422
    problem = re.search(r'id="problem-many" role="alert">(.*?)</p>', answer.text)
    assert problem is not None and words.replace("'", "&#39;") in problem[1]
    assert people_bench.draft == before


def test_weight_household_and_id_are_chosen_and_freed(people_bench: Bench) -> None:
    people_bench.post("variables", "choose", household="home")
    assert stated(people_bench).household == "home"
    answer = people_bench.post("variables", "choose", id="home")  # it does not tell records apart
    assert answer.status_code == 422 and 'id="problem-id"' in answer.text
    assert stated(people_bench).household == "home"
    people_bench.post("variables", "choose", id="name")
    people_bench.post("variables", "choose", household="")
    assert (stated(people_bench).household, stated(people_bench).id) == (None, "name")
    answer = people_bench.post("variables", "choose", weight="degree")
    assert answer.status_code == 422 and "must be numeric" in said(answer)


def test_proposals_name_the_household_the_id_copies_and_codes(people_bench: Bench) -> None:
    quick = {card.key for card in cards(people_bench.desk, people_bench.draft)}
    assert "codes sex" in quick and "dates born" in quick and "nearly numbers income" in quick
    seen = look(people_bench.desk, people_bench.draft)
    close = {card.key: card for card in cards(people_bench.desk, people_bench.draft, seen)}
    assert close["id name"].answers[0].wish.special == "id"
    assert close["household home"].answers[0].wish.special == "household"
    assert close["link cohort age"].answers[0].wish.linked == ("age",)
    assert "cohort is a copy of age" in close["link cohort age"].question
    assert [answer.words for answer in close["dates started"].answers] == [
        "Dates: day/month/year",
        "Dates: month/day/year",
    ]


def test_an_accepted_proposal_is_in_the_schema_and_asked_no_more(people_bench: Bench) -> None:
    assert "cohort is a copy of age" in people_bench.text("variables?look=now")
    people_bench.post("variables", "accept", card="link cohort age", answer="0")
    assert stated(people_bench)["cohort"].sources == ("age",)
    assert "cohort is a copy of age" not in people_bench.text("variables")
    people_bench.post("variables", "accept", card="dates started", answer="1")
    assert stated(people_bench)["started"].format == "%m/%d/%Y"
    people_bench.post("variables", "accept", card="nearly numbers income", answer="0")
    assert stated(people_bench)["income"].missing == ("refused",)
    again = people_bench.post("variables", "accept", card="dates started", answer="1")
    assert again.status_code == 422 and "no longer holds" in said(again)


def test_a_change_of_a_kind_keeps_what_was_looked_for_and_offers_to_look_again(people_bench: Bench) -> None:
    assert "Looking for copies" in people_bench.text("variables")
    assert "Look again" not in people_bench.text("variables?look=now")
    people_bench.post("variables", "say", name="sex", kind="nominal")
    page = people_bench.text("variables")
    assert "cohort is a copy of age" in page and "Look again" in page and "Looking for copies" not in page
    assert "Look again" not in people_bench.text("variables?look=now")


def test_the_size_of_the_household_is_proposed_as_a_key(people_bench: Bench) -> None:
    people_bench.post("variables", "choose", household="home")
    assert "members is counted from home" in people_bench.text("variables?look=now")
    people_bench.post("variables", "accept", card="size members")
    assert stated(people_bench)["members"].role == "key"
    assert "members is counted from home" not in people_bench.text("variables")


def test_weight_household_and_id_are_taken_at_once(bench: Bench) -> None:
    page = bench.get("variables?look=now").text
    form = page[page.index("Take weight, household and id") - 900 :]
    assert all(f'name="card" value="{key}"' in form for key in ("weight weight", "household household", "id person"))
    bench.post("variables", "accept", card=["weight weight", "household household", "id person"])
    assert stated(bench).special() == {"weight": "weight", "household": "household", "id": "person"}


def test_a_declined_proposal_stays_declined_until_asked_again(people_bench: Bench) -> None:
    people_bench.post("variables", "dismiss", card="codes sex")
    assert "The numbers of sex are codes?" not in people_bench.text("variables")
    assert "1 declined" in people_bench.text("variables")
    assert Draft.from_json(people_bench.draft.to_json()).dismissed == ("codes sex",)
    people_bench.post("variables", "ask_again")
    assert "The numbers of sex are codes?" in people_bench.text("variables")


def test_the_editor_keeps_label_level_and_links(people_bench: Bench) -> None:
    page = people_bench.get("variables?edit=9").text
    assert 'name="label"' in page and 'name="level"' in page
    people_bench.post(
        "variables", "say", name="cohort", label="year of birth", missing="", level="record", linked=["", "age"]
    )
    found = stated(people_bench)["cohort"]
    assert (found.label, found.level, found.sources) == ("year of birth", "record", ("age",))
    people_bench.post("variables", "say", name="cohort", level="", linked=[""])
    assert (stated(people_bench)["cohort"].level, stated(people_bench)["cohort"].sources) == (None, ())
    circle = people_bench.post("variables", "say", name="age", linked=["", "cohort"])
    assert circle.status_code == 200
    circle = people_bench.post("variables", "say", name="cohort", linked=["", "age"])
    assert circle.status_code == 422 and "circle" in said(circle)
    unknown = people_bench.post("variables", "say", name="cohort", linked=["", "agee"])
    assert unknown.status_code == 422


def test_a_schema_that_names_only_some_variables_takes_what_is_said_of_others(people_bench: Bench) -> None:
    (people_bench.desk.folder / "schema.toml").write_text('[variables.age]\nrole = "key"\n')
    people_bench.get("variables")  # the edit outside is taken over
    people_bench.post("variables", "say", name="sex", role="key")
    assert people_bench.desk.table(people_bench.draft).schema.analysed(role="key") == ("sex", "age")


def test_the_schema_that_the_page_writes_reads_as_the_page_shows_it(people_bench: Bench) -> None:
    people_bench.post("variables", "say", name="degree", kind="ordinal")
    people_bench.post("variables", "say", name="born", kind="date")
    people_bench.post("variables", "many", names=["sex", "age"], role="key")
    folder = people_bench.desk.folder
    there = sfumato.read(folder / "people.csv", folder / "schema.toml")
    here = people_bench.desk.table(people_bench.draft)
    assert there.fingerprint == here.fingerprint
    assert "sfumato inspect people.csv --out schema.toml" in people_bench.text("variables")


@pytest.mark.parametrize(
    ("action", "fields"),
    [("say", {"name": "x", "role": "key"}), ("many", {"names": ["x"], "role": "key"}), ("choose", {"id": "x"})],
)
def test_a_variable_of_another_file_is_refused(people_bench: Bench, action: str, fields: dict[str, Any]) -> None:
    answer = people_bench.post("variables", action, **fields)
    assert answer.status_code == 422 and "there is no variable 'x' in this file" in said(answer)


def test_words_that_are_none_are_refused(people_bench: Bench) -> None:
    assert people_bench.post("variables", "say", name="sex", role="boss").status_code == 422
    assert people_bench.post("variables", "say", name="sex", kind="thing").status_code == 422
    assert people_bench.get("variables?part=999&edit=-1").status_code == 200


def test_hostile_names_and_labels_are_text(empty_bench: Bench) -> None:
    name = "<img src=x onerror=alert(1)>"
    lines = [f'"{name}","\'quoted"', *(f"{i},{i % 3}" for i in range(30))]
    (empty_bench.desk.folder / "odd.csv").write_text("\n".join(lines) + "\n")
    empty_bench.post("open", "choose", name="odd.csv")
    empty_bench.post("open", "confirm")
    empty_bench.post("variables", "say", name=name, label="</textarea><script>alert(1)</script>")
    for place in ("variables", "variables?edit=0", "variables?look=now"):
        page = empty_bench.get(place).text
        assert "<img" not in page and "<script>alert" not in page
    assert stated(empty_bench)[name].label.startswith("</textarea>")


def test_proposed_roles_are_shown_as_unconfirmed_and_confirmed_by_one_or_by_group(people_bench: Bench) -> None:
    page = people_bench.get("variables").text
    assert "Roles that nobody has confirmed" in page and 'aria-label="Confirm: age is key"' in page
    found = {row.variable.name: row.proposed for row in rows(people_bench.desk, people_bench.draft)}
    assert {name: one.role for name, one in found.items() if one} == {
        "name": "identifier",  # another text in every record
        "home": "other",
        "members": "other",
        "sex": "key",
        "degree": "key",
        "born": "identifier",  # dates of birth, read as text
        "started": "other",
        "income": "confidential",
        "age": "key",
        "cohort": "other",
    }
    people_bench.post("variables", "confirm", names="age")
    assert stated(people_bench)["age"].role == "key" and stated(people_bench)["age"].declared
    people_bench.post("variables", "confirm", names=["sex", "degree"])
    assert [v.name for v in stated(people_bench) if v.declared and v.role == "key"] == ["sex", "degree", "age"]
    people_bench.post("variables", "say", name="members", role="other")  # said of what was other already
    assert stated(people_bench)["members"].declared
    people_bench.post("variables", "say", name="cohort", label="year of birth")  # says nothing of its role
    assert not stated(people_bench)["cohort"].declared
    left = {row.variable.name for row in rows(people_bench.desk, people_bench.draft) if row.proposed}
    assert left == {"name", "home", "born", "started", "income", "cohort"}
    refused = people_bench.post("variables", "confirm", names="age")
    assert "confirmed already" in refused.text


def test_what_inspect_proposed_in_the_file_is_unconfirmed_on_the_page(people_bench: Bench) -> None:
    text = '[proposed]\nkey = ["age"]\n[variables.age]\nrole = "confidential"\n[variables.sex]\nrole = "key"\n'
    people_bench.desk.change(lambda old: old.but(schema=text), screen="variables", what="as inspect wrote it")
    found = {row.variable.name: row.proposed for row in rows(people_bench.desk, people_bench.draft)}
    assert found["sex"] is None and found["age"] is not None
    assert (found["age"].role, found["age"].why) == ("confidential", "schema.toml proposes it")
