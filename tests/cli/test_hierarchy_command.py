"""``sfumato hierarchy`` writes what GlobalRecoding reads, and ``inspect`` proposes it."""

import json
from pathlib import Path

import pytest

import sfumato
from sfumato import Hierarchy, read_hierarchy
from small_survey import run

SCHEMA = """
[variables.age]
kind = "numeric"
role = "key"
[variables.zip]
kind = "nominal"
role = "key"
[variables.grade]
kind = "ordinal"
role = "key"
categories = ["none", "low", "middle", "good", "high", "best"]
[variables.job]
kind = "nominal"
role = "key"
"""


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write 240 records: ages from 18 to 77, 24 postcodes, grades, and a job that few have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    grades = ("none", "low", "middle", "good", "high", "best")
    lines = ["age,zip,grade,job,pay"]
    for i in range(240):
        job = "pilot" if i < 2 else ("baker", "clerk", "smith")[i % 3]
        lines.append(f"{18 + i % 60},{80_000 + 7 * (i % 24)},{grades[i % 6]},{job},{1000 + 7.5 * i}")
    Path("survey.csv").write_text("\n".join(lines) + "\n")
    Path("schema.toml").write_text(SCHEMA)
    return Path("survey.csv")


def test_bands_are_written_as_arx_has_them_and_shown_with_counts(survey: Path) -> None:
    done = run("hierarchy", survey, "age", "--bands", 5, 10, 20, "--top")
    assert done.exit_code == 0
    made = read_hierarchy("age.csv")
    assert len(made.rows) == 60 and made.rows[0] == ("18", "15-19", "10-19", "0-19", "*")
    shown = [line.split() for line in done.stdout.splitlines()]
    # every age four times; 15-19 holds 18 and 19, 75-79 holds 75 to 77, others five ages
    assert ["1", "13", "8", "20", "15-19,", "20-24,", "25-29,", "30-34,", "..."] in shown
    assert ["4", "1", "240", "240", "*"] in shown
    assert 'hierarchy = "age.csv"' in done.stderr
    assert run("hierarchy", survey, "age", "--bands", 5, 10, 20, "--top").exit_code == 0  # says the same
    again = run("hierarchy", survey, "age", "--bands", 5)
    assert again.exit_code == 2 and "age.csv exists and says something else; overwrite it with --force" in again.stderr
    assert run("hierarchy", survey, "age", "--bands", 5, "--force").exit_code == 0
    assert read_hierarchy("age.csv").height == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["age", "--bands", "10", "20", "-o", "h.toml", "--ends", "20", "60"], Hierarchy.bands(10, 20, ends=(20, 60))),
        (["age", "--bands", "10", "-o", "h.json", "--start", "5"], Hierarchy.bands(10, start=5)),
        (["age", "--bands", "-o", "h.json"], Hierarchy.bands(5, 10, 20)),
        (["age", "--quantiles", "4", "2", "-o", "h.toml"], Hierarchy(cuts=((33, 48, 63), (48,)))),
        (["age", "--cuts", "30,40,50", "40", "-o", "h.json"], Hierarchy(cuts=((30, 40, 50), (40,)))),
    ],
)
def test_ways_for_numbers(survey: Path, words: list[str], expected: Hierarchy) -> None:
    done = run("hierarchy", survey, *words)
    assert done.exit_code == 0, done.stderr
    found = read_hierarchy(next(word for word in words if word.startswith("h.")))
    if "--quantiles" in words:
        assert [len(cuts) for cuts in found.cuts] == [3, 1]
    else:
        assert found == expected


def test_ways_for_categories_need_the_schema_where_it_says_the_kind(survey: Path) -> None:
    ways: list[tuple[list[object], tuple[str, ...]]] = [
        (["zip", "--truncate", 3, 1], ("80007", "800**", "8****")),
        (["zip", "--truncate", 2, "--mask", ""], ("80007", "80")),
        (["grade", "--merge-neighbours"], ("middle", "middle to good", "none to good")),
        (["grade", "--merge-neighbours", 3], ("middle", "none to middle")),
        (["job", "--rare", 0.05], ("clerk", "clerk")),
    ]
    for words, row in ways:
        done = run("hierarchy", survey, *words, "--schema", "schema.toml", "--force")
        assert done.exit_code == 0, done.stderr
        assert row in read_hierarchy(f"{words[0]}.csv").rows
    lines = [f"{80_000 + 7 * i},d{i % 3},s" for i in range(24)]
    Path("regions.csv").write_text("\n".join(["zip,district,state", *lines]))
    said = ["zip", "--from-table", "regions.csv", "-o", "z.json", "--schema", "schema.toml"]
    assert run("hierarchy", survey, *said).exit_code == 0
    made = read_hierarchy("z.json")
    assert made.names == ("district", "state") and made.rows[1][1:] == ("d1", "s")


def test_a_date_goes_by_the_calendar(survey: Path) -> None:
    lines = ["born", *(f"{day:02d}.{month:02d}.1990" for month in (1, 2, 4) for day in range(1, 29))]
    Path("born.csv").write_text("\n".join(lines))
    Path("born.toml").write_text('[variables.born]\nkind = "date"\nrole = "key"\nformat = "%d.%m.%Y"\n')
    told = json.loads(run("inspect", "born.csv", "--schema", "born.toml", "--json").stdout)["hierarchies"]
    assert told == {"born": "sfumato hierarchy born.csv born --dates month quarter year --schema born.toml"}
    done = run("hierarchy", "born.csv", "born", "--schema", "born.toml", "-o", "b.toml", "--top")
    assert done.exit_code == 0 and read_hierarchy("b.toml") == Hierarchy.dates().topped()
    # January, February and April have 28 records each; the first quarter has 56
    assert ["2", "2", "28", "56", "1990-Q1,", "1990-Q2"] in [line.split() for line in done.stdout.splitlines()]
    words = ("born", "--dates", "month", "--schema", "born.toml", "-o", "b.csv")
    assert run("hierarchy", "born.csv", *words).exit_code == 0
    rows = read_hierarchy("b.csv").rows  # 1 January to 28 April, the days that no record has too
    assert len(rows) == 118 and rows[0] == ("1990-01-01", "1990-01")
    for said, message in [
        (["--bands", "5"], "'born' is a date; take --dates"),
        (["--dates", "soon"], "the spans of a hierarchy are"),
    ]:
        done = run("hierarchy", "born.csv", "born", *said, "--schema", "born.toml")
        assert done.exit_code == 2 and message in done.stderr
    assert "--dates needs kind = 'date'" in run("hierarchy", survey, "age", "--dates").stderr


def test_without_a_way_the_one_that_suits_is_taken_and_inspect_proposes_it(survey: Path) -> None:
    told = json.loads(run("inspect", survey, "--schema", "schema.toml", "--json").stdout)["hierarchies"]
    assert told == {
        "age": "sfumato hierarchy survey.csv age --bands 5 10 20 --schema schema.toml",
        "zip": "sfumato hierarchy survey.csv zip --truncate 4 3 2 --schema schema.toml",
        "grade": "sfumato hierarchy survey.csv grade --merge-neighbours --schema schema.toml",
        "job": "sfumato hierarchy survey.csv job --rare 0.02 0.05 --schema schema.toml",
    }
    text = run("inspect", survey, "--schema", "schema.toml").stdout
    for name, command in told.items():
        assert command in text
        done = run("hierarchy", survey, name, "--schema", "schema.toml")
        assert done.exit_code == 0 and "as if you had said: --" in done.stderr
        assert run(*command.split()[1:]).exit_code == 0  # and writes the same file again
    named = SCHEMA.replace('role = "key"', 'role = "key"\nhierarchy = "NAME.csv"')
    for name in told:
        named = named.replace("NAME", name, 1)
    Path("schema.toml").write_text(named)
    assert json.loads(run("inspect", survey, "--schema", "schema.toml", "--json").stdout)["hierarchies"] == {}
    Path("age.csv").write_text(Path("age.csv").read_text().replace("18;15-19;10-19;0-19\n", ""))
    assert "hierarchy of 'age' (age.csv) lacks '18'" in run("inspect", survey, "--schema", "schema.toml").stderr
    Path("age.csv").unlink()
    run(*told["age"].split()[1:-2])
    data = sfumato.read("survey.csv", "schema.toml")
    done = sfumato.GlobalRecoding(level={"age": 1, "zip": 2, "grade": 1, "job": 1}).protect(data)
    assert all(done.schema[name].treatment for name in told)
    method = "GlobalRecoding(level={'age': 2})"
    done = run(
        "protect",
        survey,
        "--on-undeclared",
        "accept",
        "--schema",
        "schema.toml",
        "--method",
        method,
        "--out",
        "p.csv",
        "--despite-audit",
    )
    assert done.exit_code == 0
    (released,) = Path("p.csv.internal").glob("*.toml")
    assert all(variable.hierarchy is None for variable in sfumato.read_schema(released))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ages", "--bands", "5"], "there is no variable 'ages' (did you mean 'age'?)"),
        (["age", "5", "10"], "say what 5 10 stand for"),
        (["age", "--bands", "--rare", "5"], "--bands and --rare are two ways; give one"),
        (["age", "--bands", "five"], "--bands takes numbers; got 'five'"),
        (["age", "--quantiles", "2.5"], "--quantiles takes whole numbers"),
        (["age", "--bands", "5", "12"], "12 is none of 5"),
        (["age", "--cuts"], "--cuts takes the cut points of each level, parted by commas"),
        (["age", "--merge-neighbours"], "no categories are neighbours; take --bands"),
        (["job", "--merge-neighbours"], "no categories are neighbours; take --rare"),
        (["job", "--bands", "5"], "variable 'job' is nominal; --bands is for numbers"),
        (["job", "--from-table"], "--from-table takes a file"),
        (["age", "--bands", "5", "-o", "survey.csv"], "survey.csv is the table itself"),
        (["age", "--bands", "5", "-o", "age.xlsx"], "a hierarchy is written to .csv"),
    ],
)
def test_what_cannot_be_made_is_refused(survey: Path, words: list[str], message: str) -> None:
    done = run("hierarchy", survey, *words)
    assert done.exit_code == 2 and message in done.stderr
    assert not Path("age.csv").exists()


def test_dates_that_are_text_are_no_codes(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("born\n" + "".join(f"19{50 + i}-0{1 + i % 9}-1{i % 10}\n" for i in range(40)))
    done = run("hierarchy", file, "born", "--out", tmp_path / "born.csv")
    said = " ".join(done.output.split())
    assert done.exit_code and 'are dates, but text: write kind = "date" under [variables.born]' in said
    assert not (tmp_path / "born.csv").exists()


def test_nothing_rare_and_no_cuts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("town,age\n" + "".join(f"{'AB'[i % 2]},{i}\n" for i in range(40)))
    rare = run("hierarchy", file, "town", "--rare", "0.02", "--out", tmp_path / "h.csv")
    assert rare.exit_code and "so none is rare" in " ".join(rare.output.split())
    cuts = run("hierarchy", file, "age", "--cuts", "--out", tmp_path / "h.csv")
    assert cuts.exit_code and "--cuts takes the cut points of each level" in " ".join(cuts.output.split())
