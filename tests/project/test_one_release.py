"""A folder holds one release: that of an earlier sweep of another file does not stay beside it."""

from pathlib import Path

import sfumato


def swept(file: Path, out: Path) -> None:
    sfumato.sweep(
        file,
        methods=["RankSwapping(p=0.2)"],
        measures=["RankInterval", "InformationLoss"],
        at_most={"RankInterval": 1.0},
        utility="InformationLoss",
        risk="RankInterval",
        bootstrap=False,
        on_undeclared="accept",
        replicates=1,
        seed=7**20,
        out=out,
    )


def test_the_release_of_another_file_goes(tmp_path: Path) -> None:
    numbers = sfumato.household_survey(40).to_frame("pyarrow").select(["income", "wealth", "rent"])
    out = tmp_path / "out"
    for name in ("first.csv", "second.parquet"):
        sfumato.write(numbers, tmp_path / name)
        swept(tmp_path / name, out)
    assert sorted(path.name for path in (out / "release").iterdir()) == [
        "about.html",
        "about.json",
        "about.md",
        "second.protected.parquet",
    ]
    assert [path.name for path in out.glob("*.provenance.json")] == ["second.protected.parquet.provenance.json"]
    swept(tmp_path / "second.parquet", out)  # nothing to do: it stays as it is
    assert (out / "release" / "second.protected.parquet").is_file()


def test_what_a_killed_run_left_of_its_table_goes(tmp_path: Path) -> None:
    """The machine may be another one, and the table under another name; the lock tells that nobody is at it."""
    numbers = sfumato.household_survey(40).to_frame("pyarrow").select(["income", "wealth", "rent"])
    sfumato.write(numbers, tmp_path / "first.csv")
    release = tmp_path / "out" / "release"
    release.mkdir(parents=True)
    (release / ".zero.protected.csv.00000000p1.0123456789ab.part").write_text("income\n1\n")
    (release / ".zero.protected.00000000p1.0123456789ab.old").mkdir()
    swept(tmp_path / "first.csv", tmp_path / "out")
    names = ["about.html", "about.json", "about.md", "first.protected.csv"]
    assert sorted(path.name for path in release.iterdir()) == names
