import re
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import ParameterError
from sfumato.project.reading import read_bounds
from small_survey import run, write_survey


def _refused(result: Any, *words: str) -> None:
    """One line on standard error that says what was wrong, exit code 2, nothing on standard output."""
    assert result.exit_code == 2, result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("sfumato: ")
    for word in words:
        assert word in lines[0]
    assert result.stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "nowhere.csv"),
        ("protect", "nowhere.csv", "--method", "MDAV(k=3)"),
        ("compare", "nowhere.csv", "nowhere.csv"),
        ("sweep", "nowhere.csv"),
        ("study", "domingo", "--data", "nowhere.csv"),
    ],
)
def test_no_such_file(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _refused(run(*words), "nowhere.csv", "no such file")


def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    _refused(run("inspect", path), "truncated Parquet")


def test_text_in_a_numeric_column(survey: Path, schema: Path, tmp_path: Path) -> None:
    schema.write_text('[variables.region]\nkind = "numeric"\n')
    _refused(run("sweep", survey, "--schema", schema, "--out", tmp_path / "o"), "'region'", "row 1", "south")


def test_a_percentage_for_a_share(survey: Path) -> None:
    _refused(run("protect", survey, "--method", "RankSwapping(p=15)"), "p must be in (0, 1]", "did you mean 0.15?")


def test_an_unknown_method_is_answered_with_the_nearest(survey: Path) -> None:
    _refused(run("protect", survey, "--method", "RankSwaping(p=0.1)"), "did you mean", "RankSwapping")


def test_a_measure_is_not_a_method_and_the_other_way_round(survey: Path) -> None:
    _refused(run("protect", survey, "--method", "InformationLoss"), "not a method")
    _refused(run("compare", survey, survey, "--measure", "MDAV(k=3)"), "not a measure")
    _refused(run("methods", "InformationLoss"), "not a method")


def test_several_methods_for_protect(survey: Path) -> None:
    _refused(run("protect", survey, "--method", "MDAV(k=[3, 5])"), "stands for 2")


def test_files_without_a_common_column(survey: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n3,4\n")
    _refused(run("compare", survey, other), "no variable of the original", "income")


@pytest.mark.parametrize("command", ["protect", "sweep"])
def test_output_under_a_file(survey: Path, schema: Path, command: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / "out.csv"
    _refused(run(command, survey, "--schema", schema, "--method", "MDAV(k=3)", "--out", out), "cannot")


def test_a_bound_that_is_none(survey: Path, tmp_path: Path) -> None:
    words = ("sweep", survey, "--method", "MDAV(k=3)", "--workers", 1, "--out", tmp_path / "o", "--at-most")
    _refused(run(*words, "DistanceLinkage"), "DistanceLinkage=5%")
    _refused(run(*words, "DistanceLinkage=5"), "did you mean 5%?")
    _refused(run(*words, "DistanceLinkag=5%"), "did you mean DistanceLinkage")


def test_an_unknown_study(survey: Path) -> None:
    _refused(run("study", "domino", "--data", survey), "there are domingo")


def test_a_missing_option_is_bad_usage(survey: Path) -> None:
    result = run("protect", survey)
    assert result.exit_code == 2
    assert "--method" in re.sub(r"\x1b\[[0-9;]*m", "", result.stderr)


def test_bounds_by_hand() -> None:
    assert read_bounds("--at-most", ["KAnonymity(k=5)=5%", "B = 1e-3"]) == {"KAnonymity(k=5)": 0.05, "B": 0.001}
    for text in ("A", "A=", "=3", "A=x", "A=nan"):
        with pytest.raises(ParameterError, match="--at-most must be"):
            read_bounds("--at-most", [text])


def test_the_original_is_never_overwritten(survey: Path) -> None:
    before = survey.read_bytes()
    result = run("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--out", survey, "--force")
    _refused(result, "the file the table was read from")
    assert survey.read_bytes() == before


def test_what_cannot_be_decided_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    out = tmp_path / "o"
    keyless = run("sweep", survey, "--risk", "KAnonymity", "--at-most", "KAnonymity=5%", "--out", out)
    assert keyless.exit_code == 2 and "no variable has the role key" in keyless.stderr
    side = run("sweep", survey, "--at-most", "GlobalDataUtility=50%", "--out", out)
    assert side.exit_code == 2 and "bound it with --at-least" in side.stderr
    sign = run("sweep", survey, "--at-most", "DistanceLinkage<=5%", "--out", out)
    assert sign.exit_code == 2 and "such as" in sign.stderr
    assert not out.exists()
    gdu = run("measures", "GDU")
    assert gdu.exit_code == 2 and "did you mean GlobalDataUtility?" in gdu.stderr


def test_the_schema_written_with_a_masked_table_is_found_beside_it(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    masked = tmp_path / "masked.csv"
    assert run("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--out", masked).exit_code == 0
    found = run("compare", survey, masked, "--measure", "InformationLoss")
    assert found.exit_code == 0 and "masked.csv.schema.toml, which was written with it" in found.stderr


def test_a_bound_in_percent_is_the_share_that_is_written_so() -> None:
    from decimal import Decimal

    for tenths in range(1001):  # seven of a thousand keep a bound of 0.7 %
        said = str(Decimal(tenths) / 10)
        assert read_bounds("--at-most", [f"DistanceLinkage={said}%"]) == {"DistanceLinkage": tenths / 1000}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Reidentification=0,05", "write the number with a decimal point"),
        ("Reidentification<5%", "write = alone, for --at-most says which side it is"),
        ("Reidentification<=5%", "write = alone"),
    ],
)
def test_a_bound_written_otherwise_gets_a_hint(text: str, hint: str) -> None:
    with pytest.raises(ParameterError, match=hint):
        read_bounds("--at-most", [text])


def test_a_schema_that_names_no_column_is_answered_with_the_nearest(survey: Path, tmp_path: Path) -> None:
    place = tmp_path / "near.toml"
    for text, said in (
        ('[variables.incom]\nkind = "numeric"\n', "(did you mean 'income'?)"),
        ('weight = "incme"\n[variables.taxx]\nkind = "numeric"\n', "(did you mean 'tax' for 'taxx', 'income' for 'inc"),
    ):
        place.write_text(text)
        _refused(run("inspect", survey, "--schema", place), said)


def test_a_message_in_the_words_of_python_names_the_option_too(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("name,income\nMüller,3\n".encode("cp1252"))
    _refused(run("inspect", tmp_path / "latin.csv"), 'for example --encoding "cp1252"')


def test_a_pattern_that_nothing_fits_says_whether_the_folder_is_there(tmp_path: Path) -> None:
    _refused(run("inspect", f"{tmp_path}/nothing/*.parquet"), f"there is no folder {tmp_path}/nothing")
    _refused(run("inspect", f"{tmp_path}/*.parquet"), f"none in the folder {tmp_path} fits")
