"""``protect``, ``tune``, ``audit`` and ``inspect`` of a table in parts, on the command line."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato
from register import write_register
from sfumato import Microdata
from small_survey import run

HERE = ["--engine", "here", "--memory", "1 GB", "--sample", "700"]
METHOD = "GlobalRecoding(bins={'age': (30, 60)}) + Rounding(1000, variables=('wealth',))"
SEED = ["--seed", "5000000000000"]


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Microdata]:
    return write_register(tmp_path_factory.mktemp("commands of parts"))


def read(folder: Path) -> pa.Table:
    return pa.concat_tables(pq.read_table(file) for file in sorted(folder.iterdir()))


def test_protect_writes_the_masked_records_in_another_order(
    register: tuple[Path, Path, Microdata], tmp_path: Path
) -> None:
    folder, schema, data = register
    out = tmp_path / "protected"
    done = run(
        "protect",
        folder,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        METHOD,
        *HERE,
        *SEED,
        "--out",
        out,
        "--json",
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["records"] == len(data) and told["table"] == str(out)
    assert not list(out.parent.glob("protected/*.json")) and Path(told["provenance"]).is_file()
    written = read(out)
    steps = sfumato.GlobalRecoding(bins={"age": (30, 60)}) + sfumato.Rounding(1000, variables=("wealth",))
    expected = steps.protect(data, rng=1).to_frame()  # nothing in it is random
    assert set(written.column_names) < set(expected.column_names)  # the id is gone
    wealth = np.asarray(written["wealth"], dtype=float)
    assert np.array_equal(np.sort(wealth), np.sort(np.asarray(expected["wealth"], dtype=float)), equal_nan=True)
    assert not np.array_equal(wealth, np.asarray(expected["wealth"], dtype=float), equal_nan=True)
    again = run(
        "protect",
        folder,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        METHOD,
        *HERE,
        *SEED,
        "--out",
        out,
    )
    assert again.exit_code == 2 and "exists; overwrite it with --force" in again.output


def test_audit_finds_which_record_is_which_by_the_note(register: tuple[Path, Path, Microdata], tmp_path: Path) -> None:
    folder, schema, _ = register
    out = tmp_path / "protected"
    assert (
        run(
            "protect",
            folder,
            "--on-undeclared",
            "accept",
            "--schema",
            schema,
            "--method",
            METHOD,
            *HERE,
            *SEED,
            "--out",
            out,
        ).exit_code
        == 0
    )
    done = run("audit", folder, out, "--schema", schema, *HERE, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["records"] == 700 and told["matched"] == "the order given"
    assert any("random sample of 700" in note for note in told["notes"])
    one = next(folder.iterdir())
    mixed = run("audit", folder, one, "--schema", schema, *HERE)
    assert mixed.exit_code == 2 and "is one file and the other table is in parts" in mixed.output


def test_tune_finds_the_value_of_memory(register: tuple[Path, Path, Microdata], tmp_path: Path) -> None:
    folder, schema, data = register
    out = tmp_path / "tuned"
    words = ["--method", "Rounding(100, variables=('wealth',))", "--over", "base", "--between", 10, 100000]
    bound = ["--at-most", "KAnonymity=1", "--utility", "InformationLoss", "--budget", 10, "--replicates", 1]
    done = run("tune", folder, "--schema", schema, *words, *bound, *HERE, *SEED, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    there = sfumato.tune(
        sfumato.Rounding(100, variables=("wealth",)),
        data,
        over="base",
        between=(10, 100000),
        at_most={"KAnonymity": 1},
        utility="InformationLoss",
        budget=10,
        replicates=1,
        seed=5_000_000_000_000,
    )
    assert json.loads(done.stdout)["value"] == there.value
    assert len(read(out)) == len(data)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (out, *out.iterdir()))  # ids are there, in order


def test_inspect_shows_a_sample(register: tuple[Path, Path, Microdata], tmp_path: Path) -> None:
    folder, schema, _ = register
    done = run("inspect", folder, "--schema", schema)
    assert done.exit_code == 0, done.output
    assert "what follows is of" in done.output
    assert "random sample" not in done.output  # the register is no larger than one


def test_inspect_says_of_a_larger_register_what_is_of_a_sample(
    register: tuple[Path, Path, Microdata], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.project import tables

    folder, _, data = register
    read_all = tables.read_table
    monkeypatch.setattr(tables, "read_table", lambda file, schema, **how: read_all(file, schema, 200, **how))
    out = tmp_path / "schema.toml"
    done = run("inspect", folder, "--out", out)
    assert done.exit_code == 0, done.output
    whole = f"{len(data):,} records"
    assert f"{whole}, of which a random sample of 200 is shown" in " ".join(done.stdout.split())
    assert f"# Figures in the comments are of a random sample of 200 of {whole}." in out.read_text()


def test_a_method_that_needs_all_records_is_told_how_to_work_in_blocks(
    register: tuple[Path, Path, Microdata], tmp_path: Path
) -> None:
    folder, schema, _ = register
    done = run(
        "protect",
        folder,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        "MDAV(3)",
        *HERE,
        *SEED,
        "--out",
        tmp_path / "out",
    )
    assert done.exit_code == 2 and ".within('region')" in done.output, done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "nonsense"], "there is no engine"),
        (["--memory", "much"], "memory must be a number of bytes"),
    ],
)
def test_bad_words_end_in_a_sentence(
    register: tuple[Path, Path, Microdata], tmp_path: Path, words: list[str], said: str
) -> None:
    folder, schema, _ = register
    done = run(
        "protect",
        folder,
        "--on-undeclared",
        "accept",
        "--schema",
        schema,
        "--method",
        "Rounding(10)",
        *words,
        "--out",
        tmp_path / "out",
    )
    assert done.exit_code == 2 and said in done.output


def test_protect_replaces_neither_the_register_nor_what_is_beside_it(tmp_path: Path) -> None:
    folder, schema, _ = write_register(tmp_path / "project")
    before = sorted(path.name for path in folder.iterdir())
    (folder.parent / "thesis.tex").write_text("years of work")
    (other := tmp_path / "other").mkdir()
    (other / "notes.txt").write_text("notes")
    for out, why in (
        (folder, "holds the table that is read"),
        (folder.parent, "holds the table"),
        (other, "notes.txt"),
    ):
        command = (
            "protect",
            folder,
            "--on-undeclared",
            "accept",
            "--schema",
            schema,
            "--method",
            METHOD,
            *HERE,
            *SEED,
            "--force",
            "--out",
            out,
        )
        found = run(*command, "--as-is")
        assert found.exit_code == 2 and why in " ".join(found.output.split()), found.output
    assert before == sorted(path.name for path in folder.iterdir())
    assert (folder.parent / "thesis.tex").exists() and (other / "notes.txt").exists()
