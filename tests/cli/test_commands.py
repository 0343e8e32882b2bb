import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.project.tables import protected_schema_path, provenance_path
from small_survey import run
from tables import numbers

COMMANDS = (
    "demo", "inspect", "hierarchy", "protect", "compare", "audit", "sweep", "tune", "study", "methods", "measures",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert "Example: " in result.stdout
    assert f"sfumato {command}" in result.stdout


def test_the_help_teaches_the_order_of_work_and_the_exit_codes() -> None:
    text = run("--help").stdout
    assert text.index("sfumato inspect") < text.index("sfumato sweep") < text.index("sfumato compare")
    assert "Exit codes" in text
    for command in COMMANDS:
        assert command in text


def test_version() -> None:
    import sfumato

    assert run("--version").stdout == f"sfumato {sfumato.__version__}\n"


def test_inspect_prints_and_writes_a_schema_that_can_be_read(survey: Path, tmp_path: Path) -> None:
    from sfumato.table.schema_file import read_schema

    out = tmp_path / "new.toml"
    result = run("inspect", survey, "--out", out)
    assert result.exit_code == 0
    assert "income" in result.stdout
    assert read_schema(out)["region"].kind == "nominal"


def test_inspect_keeps_names_whole_at_80_columns_and_says_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    long = ["relationship_to_household_reference_person", "country_of_birth_of_the_mother_iso3166", "q1"]
    file = tmp_path / "wide.csv"
    file.write_text(",".join(long) + "\n" + "\n".join(f"spouse,FR,{i}" for i in range(30)))
    text = run("inspect", file, "--out", tmp_path / "s.toml").stdout
    for name in long:
        assert any(
            line.startswith(f"{name} ") and ("nominal" in line or "numeric" in line) for line in text.splitlines()
        )
    assert re.search("no room for: .*values", text) and max(map(len, text.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "140")
    assert "no room" not in run("inspect", file, "--out", tmp_path / "s.toml").stdout


def test_inspect_shows_what_the_file_gives_away(
    survey: Path, schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run("inspect", survey, "--schema", schema, "--risk").stdout
    told = text[text.index("What the file gives away") :]
    assert "alone with these values" in told and "records with fewer than 5 alike" in told
    assert (
        "re-identifications to be expected" in told
        and "The largest chance of a record" in told
        and max(map(len, told.splitlines())) <= 80
    )
    plain = json.loads(run("inspect", survey, "--schema", schema, "--risk", "--json").stdout)
    seen = plain["risk"]["scenarios"][0]
    assert set(seen["contributions"]) == set(seen["keys"]) and set(seen["violating"]) == {"2", "3", "5"}
    assert seen["violating"]["2"] == seen["unique"] <= seen["expected"]
    assert set(seen["without"]) == set(seen["keys"]) and seen["unique"] <= seen["below"] <= plain["records"]
    assert "risk" not in json.loads(run("inspect", survey, "--schema", schema, "--json").stdout)


def test_inspect_tells_who_is_found_with_whom_and_which_key_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    # A f 3 times, A m once, B f once, B m twice; 1: A f, A f; 2: A f, A m; 3: B f, B m, B m
    rows = zip("AAAABBB", "fffmfmm", "1122333", range(30, 37), strict=True)
    file, schema = tmp_path / "people.csv", tmp_path / "people.toml"
    file.write_text("town,sex,home,age\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    stated = '[scenarios.neighbour]\nkeys = ["town", "sex", "age"]\nk = 3\nabout = ["age"]\nmembership = false\n'
    schema.write_text(f'household = "home"\n{stated}')
    told = run("inspect", file, "--schema", schema, "--risk").stdout
    assert "Known about and not exactly, so not counted over: age." in told
    for line in (
        "2   28.6 %  records alone with these values",
        "4   57.1 %  records with fewer than 3 alike",
        "7    100 %  records with fewer than 5 alike",
        "4.0   57.1 %  re-identifications to be expected",
        # 1: 1 - (2/3)^2 = 5/9 for two; 2 and 3: 1 for five
        "With their households 6.1 records (87.3 %) are found; the largest chance of one is 100 %.",
        "2 households of two or more members hold a record with fewer than 3 alike",
        "He does not know who took part: the schema names no weight: the file is taken for a census",
        "by their SUDA contributions: town 100 %, sex 100 %.",
    ):
        assert line in told, told


def test_inspect_never_overwrites_an_edited_schema(survey: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.toml"
    run("inspect", survey, "--out", out)
    assert run("inspect", survey, "--out", out).exit_code == 0  # not edited: nothing to lose
    out.write_text("# mine\n" + out.read_text())
    refused = run("inspect", survey, "--out", out)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert out.read_text().startswith("# mine")
    assert run("inspect", survey, "--out", out, "--force").exit_code == 0
    assert not out.read_text().startswith("# mine")


def test_inspect_leaves_the_default_file_alone_and_says_so(
    survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text("# mine\n")
    result = run("inspect", survey)
    assert result.exit_code == 0
    assert "left schema.toml as it is" in result.stderr
    assert Path("schema.toml").read_text() == "# mine\n"


def test_protect_keeps_the_format_and_says_how_it_was_made(survey: Path, schema: Path) -> None:
    result = run("protect", survey, "--schema", schema, "--method", "Noise(scale=0.1)", "--seed", 4, "--as-is")
    assert result.exit_code == 0
    out = survey.with_name("survey.protected.csv")
    before, after = survey.read_text().splitlines(), out.read_text().splitlines()
    assert after[0] == before[0] == "id;income;tax;region"
    assert "," in after[1].split(";")[1]  # the decimal comma
    assert after[8].split(";")[2] == ""  # what was missing stays missing
    assert [line.split(";")[0] for line in after] == [line.split(";")[0] for line in before]
    assert "region" in result.stderr  # not masked, and said so
    note = json.loads(provenance_path(out).read_text())
    assert note["method"] == "Noise(scale=0.1)"
    assert note["seed"] == 4
    assert note["made_from"]["sha256"] == hashlib.sha256(survey.read_bytes()).hexdigest()
    assert note["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()


def test_protect_with_a_seed_repeats_and_without_one_does_not(survey: Path, tmp_path: Path) -> None:
    texts = []
    for i, seed in enumerate((["--seed", 5], ["--seed", 5], [], [])):
        out = tmp_path / f"{i}.csv"
        assert (
            run(
                "protect", survey, "--on-undeclared", "accept", "--method", "Noise(scale=0.1)", "--out", out, *seed
            ).exit_code
            == 0
        )
        texts.append(out.read_text())
    assert texts[0] == texts[1]
    assert texts[2] != texts[3]


def test_protect_does_not_overwrite_unless_told(survey: Path, tmp_path: Path) -> None:
    words = ("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--out", tmp_path / "out.csv")
    assert run(*words).exit_code == 0
    assert run(*words).exit_code == 2
    assert run(*words, "--force").exit_code == 0


def test_compare_measures_a_pair_and_lists_records(survey: Path, schema: Path, tmp_path: Path) -> None:
    out = tmp_path / "masked.csv"
    run("protect", survey, "--on-undeclared", "accept", "--schema", schema, "--method", "MDAV(k=3)", "--out", out)
    result = run("compare", survey, out, "--schema", schema, "--records", 3, "--report", tmp_path / "pair")
    assert result.exit_code == 0
    assert "DistanceLinkage" in result.stdout
    assert "records most at risk" in result.stdout
    assert (tmp_path / "pair" / "report.html").is_file()


def test_compare_with_itself_is_the_worst_risk_and_no_loss(survey: Path, schema: Path) -> None:
    words = ("compare", survey, survey, "--schema", schema, "--measure", "InformationLoss", "--json")
    figures = json.loads(run(*words).stdout)["candidates"][0]["figures"]
    assert figures["InformationLoss()"]["value"] == 0


def test_compare_of_files_with_other_rows_tells_the_reason(survey: Path, tmp_path: Path) -> None:
    shorter = tmp_path / "shorter.csv"
    shorter.write_text("\n".join(survey.read_text().splitlines()[:40]) + "\n")
    named = run("compare", survey, shorter, "--measure", "DistanceLinkage")
    assert named.exit_code == 1
    assert "39 and 80 records" in named.stderr


@pytest.mark.parametrize("words", [("methods",), ("measures",), ("methods", "MDAV"), ("measures", "InformationLoss")])
def test_the_catalogue_prints_and_is_json(words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 0
    found = json.loads(run(*words, "--json").stdout)
    entry = found if len(words) == 2 else found[0]
    assert {"name", "title", "parameters", "source"} <= set(entry)


def test_json_of_inspect_and_protect(survey: Path, tmp_path: Path) -> None:
    inspected = json.loads(run("inspect", survey, "--out", tmp_path / "s.toml", "--json").stdout)
    assert inspected["records"] == 80
    found = {variable["name"]: variable for variable in inspected["variables"]}
    assert found["id"]["doubt"] == "identifier" and "every value occurs once" in found["id"]["suggestion"]
    assert found["income"]["doubt"] is None and found["income"]["suggestion"] == ""
    protected = json.loads(
        run("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--json").stdout
    )
    assert protected["masked"] == ["id", "income", "tax"]  # without a schema numbers are numbers


def test_the_demo_goes_all_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    demo = importlib.import_module("sfumato.cli.sweep")
    monkeypatch.setattr(demo, "HOUSEHOLDS", 60)
    monkeypatch.setattr(demo, "BOUNDS", ("Reidentification=30%", "ExposedAmounts=0%"))  # few persons, so few may hide
    result = run("demo", "--out", tmp_path / "demo", "--workers", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.rstrip().endswith(str(tmp_path / "demo" / "report.html"))
    assert "Publish: " in result.stdout and "Expected re-identifications: " in result.stdout
    for name in ("survey.csv", "schema.toml", "release/survey.protected.csv", "report.html", "plots/pairs.svg"):
        assert (tmp_path / "demo" / name).is_file()
    demo_files = tmp_path / "demo"
    words = ("audit", demo_files / "survey.csv", demo_files / "release" / "survey.protected.csv")
    audited = run(*words, "--schema", demo_files / "schema.toml")
    assert audited.exit_code == 0, audited.output  # the file as it was written passes
    assert "their order and numbers carry no meaning" in (demo_files / "release" / "about.html").read_text()


def test_parquet_in_parquet_out(survey: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from sfumato.table.files import read, write

    path = tmp_path / "survey.parquet"
    write(read(survey), path)
    assert (
        run(
            "protect", path, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--keep-order", "--despite-audit"
        ).exit_code
        == 0
    )
    before, after = pq.read_table(path), pq.read_table(tmp_path / "survey.protected.parquet")
    assert after.column_names == before.column_names
    assert after["region"].equals(before["region"])


def test_a_table_that_gives_values_back_is_not_written_unless_it_is_wanted(survey: Path) -> None:
    words = ("protect", survey, "--on-undeclared", "accept", "--method", "MDAV(k=3)", "--keep-order", "--seed", "1")
    target = survey.with_name("survey.protected.csv")
    refused = run(*words)
    assert refused.exit_code == 1
    assert "warning: order of the records restores" in refused.stderr and "--despite-audit" in refused.stderr
    assert "wrote" not in refused.output
    assert [path.name for path in survey.parent.iterdir() if "protected" in path.name] == []
    told = run(*words, "--json")
    assert told.exit_code == 1 and not target.exists()
    found = json.loads(told.stdout)
    assert found["table"] is None and found["provenance"] is None and found["audit"]["routes"]
    for consent in ("--despite-audit", "--as-is"):
        done = run(*words, consent)
        assert done.exit_code == 0 and target.exists()
        target.unlink()
    assert run(*words[:6]).exit_code == 0 and target.exists(), "in random order nothing comes back"


def test_many_records_leave_out_what_takes_long_unless_asked_for() -> None:
    from sfumato.project.comparison import MAX_LINKED, affordable
    from sfumato.project.reading import read_measures

    measures = read_measures(["InformationLoss", "ProbabilisticLinkage"])
    assert affordable(measures, numbers(x=np.zeros(MAX_LINKED))) == measures
    assert affordable(measures, numbers(x=np.zeros(MAX_LINKED + 1))) == measures[:1]


def test_many_variables_are_told_apart_by_a_tree_unless_asked_otherwise() -> None:
    from sfumato.project.comparison import MAX_TERMS, affordable
    from sfumato.project.reading import read_measures

    measures = read_measures(["InformationLoss", "PropensityUtility"])
    few, many = (numbers(**{f"x{j}": np.zeros(3) for j in range(n)}) for n in (MAX_TERMS, MAX_TERMS + 1))
    assert affordable(measures, few) == measures
    tree = "PropensityUtility(model='tree', permutations=20)"
    assert [repr(m) for m in affordable(measures, many)] == ["InformationLoss()", tree]


def test_a_file_in_another_encoding_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "latin.csv"
    file.write_bytes("name;x\nMüller;1,5\nMeier;2,5\nBöhm;3,5\n".encode("cp1252"))
    refused = run("inspect", file, "--out", tmp_path / "schema.toml")
    assert refused.exit_code == 2 and "encoding" in refused.stderr
    read = run("inspect", file, "--encoding", "cp1252", "--out", tmp_path / "schema.toml")
    assert read.exit_code == 0 and "Müller" in read.stdout


def test_two_spss_files_need_nothing_else_and_labels_appear_instead_of_codes(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    import pandas as pd

    rng = np.random.default_rng(5)
    region, grade = rng.integers(1, 4, 300), rng.integers(1, 5, 300)
    frame = pd.DataFrame({"reg": region * 1.0, "grade": grade * 1.0, "inc": np.round(rng.normal(100 * grade, 40), 1)})
    shuffled = frame.assign(inc=rng.permutation(frame["inc"]), reg=np.where(rng.random(300) < 0.3, 2.0, frame["reg"]))
    labels = {"reg": {1.0: "Highlands", 2.0: "Coast", 3.0: "Plain"}, "grade": {1.0: "low", 4.0: "high"}}
    for name, table in (("original.sav", frame), ("protected.sav", shuffled)):
        pyreadstat.write_sav(
            table,
            tmp_path / name,
            column_labels={"reg": "Region of residence", "grade": "Grade", "inc": "Monthly income"},
            variable_value_labels=labels,
            variable_measure={"reg": "nominal", "grade": "ordinal", "inc": "scale"},
        )
    result = run("compare", tmp_path / "original.sav", tmp_path / "protected.sav", "--report", tmp_path / "report")
    assert result.exit_code == 0, result.output
    assert "GlobalDataUtility" in result.stdout
    # a verdict, a table of what decides, and where the rest is
    assert "pairs of variables no longer hang together" in " ".join(result.stdout.split())
    assert re.search(
        r"\b(inc|grade) (and|with) (inc|grade)\b", " ".join(result.stdout.split())
    )  # by name, the report has the labels
    assert len(result.stdout.splitlines()) <= 40
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Highlands" in page and "Region of residence" in page
    told = json.loads((tmp_path / "report" / "results.json").read_text())
    assert {v["name"]: v["kind"] for v in told["variables"]} == {"reg": "nominal", "grade": "ordinal", "inc": "numeric"}
    bars = next(v for v in told["detail"]["variables"] if v["name"] == "reg")
    assert set(bars["categories"]) == {"Highlands", "Coast", "Plain"}


def test_the_schema_of_a_masked_table_names_no_unit_and_nothing_that_was_suppressed(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    rows = [f"person{i},{'pilot' if i == 5 else 'baker' if i % 2 else 'cook'}" for i in range(30)]
    people.write_text("\n".join(["name,job", *rows]) + "\n")
    schema = tmp_path / "people.toml"
    schema.write_text(
        '[variables.name]\nkind = "nominal"\nrole = "identifier"\n[variables.job]\nkind = "nominal"\nrole = "key"\n'
    )
    out = tmp_path / "masked.csv"
    result = run("protect", people, "--schema", schema, "--method", "LocalSuppression(2)", "--out", out, "--as-is")
    assert "still in the file, and naming the units: name" in result.stderr
    written = protected_schema_path(provenance_path(out))
    assert "pilot" not in written.read_text() and "person" not in written.read_text()
    judged = run("compare", people, out, "--schema", schema, "--protected-schema", written, "--measure", "KAnonymity()")
    assert judged.exit_code == 0
    sampled = run(
        "protect", people, "--schema", schema, "--method", "Sampling(0.2)", "--out", out, "--force", "--as-is"
    )
    assert "naming the units" in sampled.stderr and "person" not in written.read_text()
    assert ("pilot" in written.read_text()) == ("pilot" in out.read_text())  # not listed unless it was drawn
    removed = "LocalSuppression(2) + VariableRemoval()"
    without = run(
        "protect", people, "--on-undeclared", "accept", "--schema", schema, "--method", removed, "--out", out, "--force"
    )
    assert "naming the units" not in without.stderr


def test_unmatched_records_are_not_compared_one_by_one(survey: Path, tmp_path: Path) -> None:
    assert (
        run(
            "protect",
            survey,
            "--on-undeclared",
            "accept",
            "--method",
            "Noise(scale=0.1)",
            "--seed",
            1,
            "--out",
            tmp_path / "m.csv",
        ).exit_code
        == 0
    )
    measures = ("--measure", "InformationLoss", "--measure", "GlobalDataUtility")
    matched = run("compare", survey, tmp_path / "m.csv", *measures)
    unmatched = run("compare", survey, tmp_path / "m.csv", "--unmatched", *measures)
    assert matched.exit_code == 0
    assert "correspond to none" in " ".join(unmatched.stdout.split())
    assert "GlobalDataUtility" in unmatched.stdout


@pytest.mark.parametrize(
    "named", [(), ("KAnonymity", "NearestRecord", "DiSCO", "GlobalDataUtility(deletion='charged')")]
)
def test_what_decides_for_a_synthetic_file_is_the_headline(tmp_path: Path, named: tuple[str, ...]) -> None:
    survey = sfumato.household_survey(60)
    sfumato.write(survey, tmp_path / "o.csv")
    sfumato.write_schema(survey.schema, tmp_path / "schema.toml")
    sfumato.write(sfumato.CARTSynthesis().protect(survey, rng=1), tmp_path / "synthetic.csv")
    measures = [word for name in named for word in ("--measure", name)]
    words = ("compare", tmp_path / "o.csv", tmp_path / "synthetic.csv", "--schema", tmp_path / "schema.toml")
    found = run(*words, "--unmatched", "--json", *measures)
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    titles = {line["key"]: line["title"] for line in told["measures"]}
    deciding = [titles[key] for key in ("DiSCO()", "GlobalDataUtility(deletion='charged')")]
    assert [title for _, title in told["headline"]] == deciding


@pytest.mark.parametrize("command", [(), ("sweep",), ("tune",), ("compare",), ("protect",), ("inspect",), ("audit",)])
def test_help_fits_80_columns_and_cuts_no_name(command: tuple[str, ...]) -> None:
    text = run(*command, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text and not any(line.endswith("...") for line in text.splitlines()[1:])
    assert not any(words in text for words in ("list[", "int range", "float range", "<str>"))


@pytest.mark.parametrize("which", ["methods", "measures"])
def test_the_catalogue_fits_80_columns_and_cuts_no_name(which: str) -> None:
    text = run(which).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_refusals_speak_the_words_of_the_command_line(survey: Path) -> None:
    bound = ("--at-most", "DistanceLinkage=5%")
    wrong = run("tune", survey, "--method", "MDAV", "--between", 5, 3, *bound).stderr
    assert "--between must be two whole numbers, the lower one first; got 5 3" in wrong
    none = run("tune", survey, "--method", "LocalSuppression(k=3)", "--over", "risk", *bound).stderr
    assert "between=" not in none and "--between LOW HIGH" in none
