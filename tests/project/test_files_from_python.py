"""Files compared and audited from Python: the figures of the commands, in memory and in parts, and clear refusals."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato
from sfumato.auditing.findings import Audit
from sfumato.compare.plain import from_json as plain
from sfumato.errors import FileError, ParameterError
from sfumato.report.summary import from_json
from small_survey import run
from tables import persons

METHOD = sfumato.Noise(0.2, variables=("income",))
ASKED = ("InformationLoss", "Reidentification")


@pytest.fixture
def masked(survey: Path, schema: Path) -> Path:
    data = sfumato.read(survey, schema)
    protected = sfumato.Rounding(10, variables=("income",)).protect(data)
    sfumato.write(protected, survey.with_name("masked.csv"))
    return survey.with_name("masked.csv")


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A table of 90 persons and what became of it, as two files each."""
    data = persons(90)
    for name, table in (("register", data), ("after", METHOD.protect(data, rng=1))):
        (tmp_path / name).mkdir()
        for place in range(2):
            pq.write_table(table.to_arrow()[45 * place : 45 * place + 45], tmp_path / name / f"{place}.parquet")
    sfumato.write_schema(data, tmp_path / "persons.toml")
    return tmp_path / "register", tmp_path / "after", tmp_path / "persons.toml"


def words(option: str, texts: tuple[str, ...]) -> list[str]:
    return [word for text in texts for word in (option, text)]


def test_a_comparison_is_that_of_the_command(survey: Path, schema: Path, masked: Path) -> None:
    heard: list[str] = []
    found = sfumato.compare_files(
        survey, str(masked), schema, measures=["InformationLoss"], at_most={"InformationLoss": 1}, tell=heard.append
    )
    asked = ["--measure", "InformationLoss", "--at-most", "InformationLoss=1"]
    done = run("compare", survey, masked, "--schema", schema, *asked, "--json")
    told = from_json(done.stdout)
    assert found.summary is not None
    figures = {key: figure.value for key, figure in told.candidates[0].figures.items()}
    assert found.figures == figures and list(figures) == ["InformationLoss()"]
    assert found.summary.verdict == told.verdict and found.summary.sentence == told.sentence
    assert found.summary.cautions == told.cautions and found.summary.variables == told.variables
    again = "measures=['InformationLoss()'], at_most={'InformationLoss': 1.0}"
    assert found.summary.run.command == (
        f"sfumato.compare_files({str(survey)!r}, {str(masked)!r}, schema={str(schema)!r}, {again})"
    )
    own = sfumato.InformationLoss().evaluate(sfumato.read(survey, schema), sfumato.read(masked, schema))
    assert figures["InformationLoss()"] == own.value > 1
    assert found.kept is False and not found.passed and done.exit_code == 1
    assert found.records == (80, 80) and found.parts == (1, 1) and found.deciding == ("InformationLoss()",)
    kept = sfumato.compare_files(survey, masked, schema, measures=ASKED[:1], at_most={"InformationLoss": own.value})
    assert kept.kept is True and kept.passed and kept.figures == figures


def test_a_measure_that_was_asked_for_and_has_no_figure_is_named(survey: Path, schema: Path, masked: Path) -> None:
    asked = ("InformationLoss", "KAnonymity")  # there are no keys
    found = sfumato.compare_files(survey, masked, schema, measures=asked)
    done = run("compare", survey, masked, "--schema", schema, *words("--measure", asked))
    assert list(found.figures) == ["InformationLoss()"] and list(found.lacking) == ["KAnonymity()"]
    assert not found.passed and done.exit_code == 1 and found.kept is None
    assert f"sfumato: KAnonymity() could not be computed: {found.lacking['KAnonymity()']}" in done.stderr


def test_a_report_is_written(survey: Path, schema: Path, masked: Path, tmp_path: Path) -> None:
    found = sfumato.compare_files(
        survey, masked, schema, measures=["InformationLoss"], report=tmp_path / "report", audience="external"
    )
    assert found.report == tmp_path / "report" / "about.html" and found.report.is_file()


def test_tables_in_parts_are_compared_as_by_the_command(parts: tuple[Path, Path, Path]) -> None:
    register, after, schema = parts
    found = sfumato.compare_files(register, f"{after}/*.parquet", schema, measures=ASKED, engine="here")
    done = run("compare", register, after, "--schema", schema, "--engine", "here", *words("--measure", ASKED), "--json")
    told = json.loads(done.stdout)
    assert found.figures == {name: one["value"] for name, one in told["figures"].items()} and len(found.figures) == 2
    assert (found.records, found.parts) == ((90, 90), (2, 2)) and told["parts"] == {"original": 2, "protected": 2}
    assert found.passed and done.exit_code == 0 and found.summary is None and found.reasons == {}
    before = sfumato.scan(register, schema).loaded()
    own = sfumato.InformationLoss().evaluate(before, sfumato.scan(after, schema).loaded())
    assert found.figures["InformationLoss()"] == pytest.approx(own.value, rel=1e-12)
    assert found.measurements["InformationLoss()"].by_variable == pytest.approx(dict(own.by_variable), rel=1e-12)


def test_an_audit_is_that_of_the_command(tmp_path: Path) -> None:
    data = sfumato.household_survey(100)
    original, protected = tmp_path / "survey.csv", tmp_path / "masked.csv"
    sfumato.write(data, original)
    sfumato.write(sfumato.LocalSuppression(k=3).protect(data, rng=1), protected)
    schema = tmp_path / "schema.toml"
    schema.write_text('weight = "weight"\nhousehold = "household"\nid = "person"\n')
    for more, beside in (([], None), (["--beside", original], [original])):
        done = run("audit", original, protected, "--schema", schema, "--seed", 4, "--json", *more)
        found = sfumato.audit_files(original, protected, schema, seed=4, beside=beside)
        assert found == plain(Audit, done.stdout) and not found.passed and done.exit_code == 1
    assert sfumato.audit_files(original, original, schema).protected == {}


def test_tables_in_parts_are_audited_as_by_the_command(parts: tuple[Path, Path, Path]) -> None:
    register, after, schema = parts
    done = run("audit", register, after, "--schema", schema, "--engine", "here", "--json")
    found = sfumato.audit_files(register, after, schema, engine="here")
    assert found == plain(Audit, done.stdout) and found.records == 90 and list(found.protected) == ["income"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at_most": {"InformationLoss": "much"}}, "compare_files: a bound in at_most must be a number; got 'much'"),
        ({"measures": "InformationLoss"}, "compare_files: measures must be a list of measures"),
        ({"measures": ["InformationLos"]}, "InformationLoss"),
        ({"records": -1}, "compare_files: records must be a whole number of at least 0"),
        ({"audience": "all"}, "compare_files: audience is one of internal, external; got 'all'"),
        ({"unmatched": 1}, "compare_files: unmatched must be True or False"),
    ],
)
def test_what_cannot_be_meant_is_refused(survey: Path, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        sfumato.compare_files(survey, survey, **given)


def test_what_needs_a_table_in_memory_is_refused_of_parts(parts: tuple[Path, Path, Path]) -> None:
    register, after, schema = parts
    with pytest.raises(ParameterError, match="--records, --at-most: only of tables that fit into memory"):
        sfumato.compare_files(register, after, schema, records=3, at_most={"InformationLoss": 1})
    with pytest.raises(ParameterError, match="--beside: other releases are looked at beside a table in memory only"):
        sfumato.audit_files(register, after, schema, beside=[after], engine="here")


@pytest.mark.parametrize("given", [{"memory": "1 GB"}, {"store": "summaries"}])
def test_what_needs_a_table_in_parts_is_refused_of_one_file(survey: Path, masked: Path, given: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match="--memory and --store are for tables in parts"):
        sfumato.compare_files(survey, masked, **given)  # type: ignore[arg-type]  # texts


def test_a_file_that_is_not_there_is_named(survey: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone\.csv"):
        sfumato.compare_files(survey, tmp_path / "gone.csv")
    with pytest.raises(FileError, match=r"gone\.csv"):
        sfumato.audit_files(tmp_path / "gone.csv", survey)
    with pytest.raises(ParameterError, match="--engine and --memory are for tables in parts"):
        sfumato.audit_files(survey, survey, engine="here")
