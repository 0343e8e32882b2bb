"""Screen 5: coarser values, and what they do at once."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from pages import Bench, said
from tiny import AGE, GRADE, SEX, TOWN, hostile, people

from sfumato.compare.recodings import Recode, Recodings
from sfumato.workbench.commands import recodings_of
from sfumato.workbench.screens.recode import SCREEN


@pytest.fixture
def tiny(tmp_path: Path) -> Bench:
    made = people(tmp_path / "tiny")
    made.post("scenarios", "add", preset="took part")
    return made


def recoded(tiny: Bench) -> Recodings:
    return recodings_of(tiny.draft)


def done(tiny: Bench, action: str, variable: int, **fields: Any) -> str:
    return said(tiny.post("recode", f"{action}?variable={variable}", variable=variable, **fields))


# categories


def test_ticked_categories_are_put_together_and_the_risk_follows(tiny: Bench) -> None:
    page = done(tiny, "merge", TOWN, groups=[1, 2], into="country")
    assert recoded(tiny)["town"] == Recode(merge=(("B", "country"), ("C", "country")))
    assert "How it would be published A 4 country 4" in page
    # (A, f) 3, (A, m) 1, (country, f) 2, (country, m) 2: as before; town and sex, 5 below 3
    assert "below 3 5 5" in page
    page = done(tiny, "merge", TOWN, groups=[0, 1], into="everywhere")
    # f 5, m 3
    assert recoded(tiny)["town"] == Recode(merge=(("A", "everywhere"), ("B", "everywhere"), ("C", "everywhere")))
    assert "alone 1 0 below 3 5 0 expected to be found 4 2" in page
    assert "100 % of its detail is lost; 25.0 % of that of all variables" in page


def test_a_group_without_a_name_is_called_by_what_is_in_it(tiny: Bench) -> None:
    done(tiny, "merge", TOWN, groups=[0, 2])
    assert recoded(tiny)["town"] == Recode(merge=(("A", "A or C"), ("C", "A or C")))
    done(tiny, "merge", GRADE, groups=[1, 2])
    assert recoded(tiny)["grade"] == Recode(merge=(("middle", "middle to high"), ("high", "middle to high")))


def test_a_group_can_be_taken_apart(tiny: Bench) -> None:
    done(tiny, "merge", TOWN, groups=[1, 2], into="country")
    done(tiny, "split", TOWN, group=1)
    assert tiny.draft.recodings == ""


def test_one_category_alone_gets_another_name(tiny: Bench) -> None:
    done(tiny, "merge", TOWN, groups=[0], into="capital")
    assert recoded(tiny)["town"] == Recode(merge=(("A", "capital"),))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"groups": []}, "tick two or more categories"),
        ({"groups": [1]}, "tick two or more categories"),
        ({"groups": [0, 1], "into": "C"}, "there is C already; tick it too"),
        ({"groups": [0, 1], "into": "x" * 201}, "at most 200 characters"),
        ({"groups": [77]}, "tick two or more categories"),
    ],
)
def test_what_cannot_be_put_together_is_refused(tiny: Bench, fields: dict[str, Any], told: str) -> None:
    assert told in done(tiny, "merge", TOWN, **fields)
    assert tiny.draft.recodings == ""


def test_categories_in_an_order_are_put_together_with_neighbours_only(tiny: Bench) -> None:
    page = done(tiny, "merge", GRADE, groups=[0, 3], into="ends")
    assert "neighbours" in page
    assert tiny.draft.recodings == ""
    done(tiny, "merge", GRADE, groups=[0, 1], into="lower")
    assert [*recoded(tiny)] == [("grade", Recode(merge=(("low", "lower"), ("middle", "lower"))))]


def test_rare_categories_become_other(tiny: Bench) -> None:
    page = done(tiny, "rare", TOWN, rare="30")  # B and C have 2 of 8
    assert recoded(tiny)["town"] == Recode(rare=0.3)
    assert "Now: categories below 30 % into other" in page
    assert "A 4 other 4" in page
    assert "such as 2 %" in done(tiny, "rare", TOWN, rare="0")


# numbers


def test_cuts_are_typed_in_any_order_and_shown_as_classes(tiny: Bench) -> None:
    page = done(tiny, "cuts", AGE, cuts="50; 30,50")
    assert recoded(tiny)["age"] == Recode(cuts=(30, 50))
    assert "Now: cut at 30, 50" in page
    assert "<30 2 30-49 3 50+ 3" in page
    done(tiny, "cuts", AGE, cuts="  ")
    assert tiny.draft.recodings == ""


@pytest.mark.parametrize("typed", ["18, soon", "nan", "inf", "1e999", "18,,x"])
def test_cuts_that_are_no_numbers_are_refused_with_what_was_typed(tiny: Bench, typed: str) -> None:
    answer = tiny.post("recode", f"cuts?variable={AGE}", variable=AGE, cuts=typed)
    assert answer.status_code == 422
    assert "numbers are needed here" in said(answer)
    assert f'value="{typed}"' in answer.text
    assert 'aria-invalid="true"' in answer.text


@pytest.mark.parametrize(
    ("action", "typed"),
    [
        ("cuts", {"cuts": "200, 300"}),
        ("cuts", {"cuts": "-5"}),
        ("width", {"width": "1000"}),
        ("limits", {"bottom": "", "top": "-10", "share": "", "ends": "both"}),
        ("limits", {"bottom": "200", "top": "", "share": "", "ends": "both"}),
    ],
)
def test_what_would_leave_a_single_value_is_refused_with_the_span(tiny: Bench, action: str, typed: Any) -> None:
    answer = tiny.post("recode", f"{action}?variable={AGE}", variable=AGE, **typed)
    assert answer.status_code == 422 and "age runs from 20 to 80" in said(answer)
    assert tiny.draft.recodings == ""


def test_cuts_beyond_the_values_are_kept_beside_one_that_parts_them(tiny: Bench) -> None:
    done(tiny, "cuts", AGE, cuts="30, 200")
    assert recoded(tiny)["age"] == Recode(cuts=(30, 200))


def test_a_share_that_is_none_is_refused_in_percent(tiny: Bench) -> None:
    page = done(tiny, "limits", AGE, bottom="", top="", share="0", ends="top")
    assert "above 0 % and below 50 %; got 0 %" in page
    page = done(tiny, "limits", AGE, bottom="", top="", share="150", ends="top")
    assert "at least 0 and at most 50; got 150" in page


def test_ten_wide_and_seventy_and_over(tiny: Bench) -> None:
    # ages 20 21 34 35 36 50 51 80: by hand 2 below 30, 3 of 30 to 39, none of 40 to 49, 2 of 50 to 59, none, 1 from 70
    page = done(tiny, "width", AGE, width="10", over="70")
    assert recoded(tiny)["age"] == Recode(cuts=(30, 40, 50, 60, 70))
    assert "<30 2" in page and "30-39 3" in page and "50-59 2" in page and "70+ 1" in page
    assert "the last class must begin above 20 and not above 80" in done(tiny, "width", AGE, width="10", over="90")
    assert "take a larger width" in done(tiny, "width", AGE, width="0.001", over="70")


def test_classes_of_a_width_and_open_ends(tiny: Bench) -> None:
    done(tiny, "width", AGE, width="20")
    assert recoded(tiny)["age"] == Recode(width=20)
    done(tiny, "limits", AGE, bottom="21", top="50", share="", ends="both")
    assert recoded(tiny)["age"] == Recode(bottom=21, top=50)
    done(tiny, "limits", AGE, bottom="", top="", share="12.5", ends="top")
    assert recoded(tiny)["age"] == Recode(share=0.125, ends="top")
    assert "not both" in done(tiny, "limits", AGE, bottom="1", top="", share="5", ends="top")
    assert "give a lowest value" in done(tiny, "limits", AGE, bottom="", top="", share="", ends="top")
    assert "how wide" in done(tiny, "width", AGE, width="-3")
    assert "a number is needed" in done(tiny, "width", AGE, width="wide")


def test_a_form_of_another_kind_of_variable_is_refused(tiny: Bench) -> None:
    page = done(tiny, "width", TOWN, width="5")
    assert tiny.draft.recodings == ""
    assert "town is now a variable of categories" in page
    assert "age is now a number or a date" in done(tiny, "merge", AGE, groups=[0, 1])


def test_dates_are_cut_at_days_and_by_the_calendar(tmp_path: Path) -> None:
    text = "born\n1950-01-01\n1960-05-05\n1990-12-31\n"
    dates = people(tmp_path / "dates", text, '[variables.born]\nkind = "date"\nrole = "key"\n')
    page = done(dates, "cuts", 0, cuts="1980-01-01, 1955-01-01")
    assert recodings_of(dates.draft)["born"] == Recode(cuts=("1955-01-01", "1980-01-01"))
    assert "Now: cut at 1955-01-01, 1980-01-01" in page
    assert "year-month-day" in done(dates, "cuts", 0, cuts="1.1.1980")
    done(dates, "width", 0, width="10 years")
    texts = people(tmp_path / "texts", text, '[variables.born]\nkind = "nominal"\nrole = "key"\n')
    assert "All its texts are dates" in texts.text("recode")
    assert "All its texts are dates" not in dates.text("recode")
    assert recodings_of(dates.draft)["born"] == Recode(width="10 years")


# hierarchies


def test_a_file_of_the_folder_gives_the_levels(tiny: Bench) -> None:
    (tiny.desk.folder / "town.csv").write_text("A;west;all\nB;east;all\nC;east;all\n")
    assert "town.csv" in tiny.text(f"recode?variable={TOWN}")
    page = done(tiny, "attach", TOWN, name="town.csv")
    assert recoded(tiny)["town"] == Recode(level=1)
    assert "2 groups" in page
    assert "Now: level 1 of its hierarchy" in page
    assert 'hierarchy = "town.csv"' in tiny.draft.schema
    done(tiny, "level", TOWN, level="2")
    assert recoded(tiny)["town"] == Recode(level=2)
    assert "level" in done(tiny, "level", TOWN, level="3")
    assert recoded(tiny)["town"] == Recode(level=2)
    done(tiny, "detach", TOWN)
    assert tiny.draft.recodings == ""
    assert "hierarchy" not in tiny.draft.schema.replace("# ", "").split("[variables.town]")[1].split("[")[0]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("", "", "choose a file of the folder"),
        ("../people.csv", "", "cannot be the name of a file"),
        ("none.csv", "", "cannot read none.csv"),
        ("part.csv", "A;west\nB;east\n", "C"),
        ("odd.csv", "A;west\nB\n", "odd.csv"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_at_the_field(tiny: Bench, name: str, text: str, told: str) -> None:
    if text:
        (tiny.desk.folder / name).write_text(text)
    before = tiny.draft
    answer = tiny.post("recode", f"attach?variable={TOWN}", variable=TOWN, name=name)
    assert answer.status_code == 422
    assert told in said(answer)
    assert str(tiny.desk.folder) not in answer.text
    assert tiny.draft == before


def test_a_proposed_hierarchy_is_made(tmp_path: Path) -> None:
    text = "age\n" + "\n".join(str(age) for age in range(18, 90)) + "\n"
    ages = people(tmp_path / "ages", text, '[variables.age]\nkind = "numeric"\nrole = "key"\n')
    assert "Make one: bands of 5, then 10, then 20" in ages.text("recode")
    page = done(ages, "build", 0)
    assert recodings_of(ages.draft)["age"] == Recode(level=1)
    assert "5 wide" in page and "20 wide" in page


# all of it


def test_a_recoding_that_no_longer_fits_is_told_at_its_variable(tiny: Bench) -> None:
    done(tiny, "merge", TOWN, groups=[1, 2], into="country")
    odd = json.dumps({"town": {"merge": [["Z", "country"], ["A", "country"]]}})
    tiny.desk.change(lambda draft: draft.but(recodings=odd), screen="recode", what="made odd")
    answer = tiny.get(f"recode?variable={TOWN}")
    assert answer.status_code == 200
    assert "does not fit" in said(answer)
    assert 'class="problem" role="alert"' in answer.text


def test_a_variable_is_left_as_it_is_again_and_undo_brings_it_back(tiny: Bench) -> None:
    done(tiny, "cuts", AGE, cuts="30")
    done(tiny, "leave", AGE)
    assert tiny.draft.recodings == ""
    answer = tiny.post("", f"undo?variable={AGE}", screen="recode")
    assert recoded(tiny)["age"] == Recode(cuts=(30,))
    assert "Cut points" in said(answer)  # still at the number
    tiny.post("", f"redo?variable={AGE}", screen="recode")
    assert tiny.draft.recodings == ""


def test_an_old_page_changes_nothing(tiny: Bench) -> None:
    old = tiny.desk.now().revision
    done(tiny, "cuts", AGE, cuts="30")
    answer = tiny.post("recode", f"cuts?variable={AGE}", variable=AGE, cuts="60", revision=str(old))
    assert answer.status_code == 409
    assert recoded(tiny)["age"] == Recode(cuts=(30,))


def test_the_list_counts_what_each_key_saves_when_asked(tiny: Bench) -> None:
    assert "saved" not in tiny.text("recode")
    page = tiny.text("recode?saves=yes")
    # without sex 4 of 5 stay below 3, without town none does
    assert "town at most 5 saved" in page
    assert "sex at most 1 saved" in page


def test_an_id_is_not_recoded(tiny: Bench) -> None:
    tiny.post("variables", "choose", id="age")
    if tiny.desk.stated(tiny.draft).id != "age":
        text = tiny.draft.schema
        tiny.desk.change(lambda draft: draft.but(schema=f'id = "age"\n{text}'), screen="variables", what="id")
    assert "is not recoded" in done(tiny, "cuts", AGE, cuts="30")


def test_the_same_elsewhere_does_the_same(tiny: Bench) -> None:
    done(tiny, "cuts", AGE, cuts="30, 50")
    done(tiny, "merge", TOWN, groups=[1, 2], into='it\'s "so"')
    same = SCREEN.same(tiny.desk, tiny.draft)
    assert same is not None
    assert "--first" in same.command
    space: dict[str, object] = {}
    with contextlib.chdir(tiny.desk.folder):
        exec(same.python, space)
    made = space["recoded"].to_arrow().to_pydict()  # type: ignore[attr-defined]
    assert made["age"] == ["<30", "<30", "30-49", "30-49", "30-49", "50+", "50+", "50+"]
    assert made["town"] == ["A"] * 4 + ['it\'s "so"'] * 4
    assert made["sex"] == [*"fffmffmm"]


def test_names_that_would_break_the_page_are_only_text(tmp_path: Path) -> None:
    nasty = hostile(tmp_path / "nasty")
    for variable in range(4):
        page = nasty.get(f"recode?variable={variable}&saves=yes")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<b>0" not in page.text
    answer = nasty.post("recode", "merge?variable=0", variable=0, groups=[0, 1], into="<img src=x>")
    assert answer.status_code == 200
    assert "<img" not in answer.text
    assert nasty.get("recode?variable=%3Cscript%3E&saves=1").status_code == 200


def test_what_is_left_out_of_every_candidate_counts_for_nobody(tmp_path: Path) -> None:
    from sfumato.compare.exposure import exposure
    from sfumato.workbench.commands import recoded_first

    bench = people(tmp_path / "project")
    bench.post("scenarios", "add", preset="")
    bench.post("recode", "merge", variable=SEX, groups=["0", "1"], into="all")
    bench.post("audit", "leave_out", name="town")
    first = recoded_first(bench.draft)
    assert first is not None
    (told,) = exposure(first.protect(bench.desk.table(bench.draft))).scenarios
    assert (told.unique, told.below, told.expected) == (0, 0, 1.0)  # all eight are alike
    assert "alone 1 0 below 3 5 0 expected to be found 4 1" in bench.text("recode")
    assert "5 62.5 % 0 after your recodings" in bench.text("scenarios")
