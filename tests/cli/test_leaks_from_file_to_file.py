"""Each leak met in real releases, from file to file: the audit finds it with its share, and the repairs close it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from leaking_survey import (
    REGIONS,
    by_equals,
    by_neighbours,
    by_tree,
    chance,
    guess,
    near,
    nearest_amount,
    originals,
    survey,
    write,
)

from sfumato.auditing.repairs import record_order
from sfumato.core import Method
from sfumato.project.tables import internal_folder
from small_survey import run

BLANK = "LocalSuppression(6, variables=('region', 'sex', 'job'), importance={'sex': 9, 'job': 9})"
BANDS = "GlobalRecoding(bins={'age': (35, 50, 65)})"
Share = Callable[[pd.DataFrame, pd.DataFrame], float]


def mixed() -> pd.DataFrame:
    """The survey with its records in random order, so that the order is no leak of its own."""
    return survey().drop(columns="home").sample(frac=1, random_state=3).reset_index(drop=True)


def coded(table: pd.DataFrame) -> "pd.Series[int]":
    return table["region"].map({region: code for code, region in enumerate(REGIONS)})


def blanks(table: pd.DataFrame, file: pd.DataFrame, name: str = "region") -> list[int]:
    return [int(i) for i in np.flatnonzero(file[name].isna().to_numpy())]


def equal(evidence: str) -> Share:
    """What the records alike in a column tell of the regions blanked."""
    return lambda table, file: by_equals(
        list(file[evidence]), list(file["region"]), blanks(table, file), list(table["region"])
    )


def naive(folder: Path, table: pd.DataFrame, method: str, **special: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """Write the survey, protect it as the method does and no more, and audit that."""
    file, schema = write(folder, table, **special)
    words = ("--schema", schema, "--method", method, "--seed", 1, "--as-is", "--out", folder / "naive.csv", "--force")
    assert run("protect", file, "--on-undeclared", "accept", *words).exit_code == 0
    result = run("audit", file, folder / "naive.csv", "--schema", schema, "--json")
    assert result.exit_code == 1, "the naive release gives values back"
    return json.loads(result.stdout), pd.read_csv(folder / "naive.csv")


def restored(found: dict[str, Any], route: str, variable: str) -> dict[str, Any]:
    """Return what a route gives back of a variable; it must be an alarm."""
    routes = {entry["name"]: entry for entry in found["routes"]}
    by = [entry for entry in routes[route]["by_variable"] if entry["variable"] == variable]
    assert by and by[0]["reading"] == "restores", (route, routes[route]["verdict"])
    return dict(by[0])


def repaired(
    folder: Path, method: str, variable: str = "region"
) -> tuple[pd.DataFrame, np.ndarray[Any, np.dtype[np.intp]], str]:
    """Protect as is the default; return the file written, the original of each record, and the schema beside it.

    No route may restore the variable more often than luck does. What the repairs left out may go with what is
    published, as variables do.
    """
    out, schema = folder / "release.csv", folder / "schema.toml"
    words = ("--schema", schema, "--method", method, "--seed", 1, "--out", out, "--force")
    assert run("protect", folder / "survey.csv", "--on-undeclared", "accept", *words).exit_code == 0
    again = run("audit", folder / "survey.csv", out, "--schema", schema, "--json")
    assert again.exit_code == 0, again.stdout
    for route in json.loads(again.stdout)["routes"]:
        for one in route["by_variable"]:
            assert one["reading"] != "restores"
            if one["variable"] == variable:
                assert one["restored"] <= chance(one["guess"], one["values"]), (route["name"], one)
    written = pd.read_csv(out)
    return (
        written,
        originals(folder, len(written)),
        (internal_folder(folder / "release.csv") / "release.csv.schema.toml").read_text(),
    )


def attacked(
    file: pd.DataFrame, true: "pd.Series[Any]", name: str, rows: np.ndarray[Any, np.dtype[np.intp]]
) -> dict[str, float]:
    """Attack the blanks of a category in the file as it was written, by routes of one's own: excess over the guess."""
    truth, shown = list(true.to_numpy()[rows]), list(file[name])
    sought = blanks(file, file, name)
    sought = [i for i in sought if not pd.isna(truth[i])]
    luck = chance(guess([truth[i] for i in sought]), len(sought))
    others = file.drop(columns=name)
    found = {"tree": by_tree(others, shown, sought, truth)}
    found["rows"] = by_neighbours(list(range(len(file))), shown, sought, truth)
    for column in others:
        if others[column].nunique() < len(others):
            found[f"alike in {column}"] = by_equals(list(others[column].fillna("")), shown, sought, truth)
        if others[column].dtype.kind in "if":
            found[f"next in {column}"] = by_neighbours(list(others[column].fillna(-1.0)), shown, sought, truth)
    return {how: share for how, share in found.items() if share > luck}


@pytest.mark.parametrize(
    ("leak", "route", "special", "share"),
    [
        (lambda t: t.assign(weight=100.0 + 10 * coded(t) + t["hours"] % 3), "weight", {"weight": "weight"}, "weight"),
        (lambda t: t.assign(stratum=t["region"] + "-" + (t["age"] // 20).astype(str)), "columns", {}, "stratum"),
    ],
)
def test_a_column_that_tells_the_region(
    tmp_path: Path, leak: Callable[[pd.DataFrame], pd.DataFrame], route: str, special: dict[str, str], share: str
) -> None:
    table = leak(mixed())
    found, file = naive(tmp_path, table, BLANK, **special)
    told = restored(found, route, "region")
    assert told["restored"] == pytest.approx(equal(share)(table, file)) and told["restored"] > 0.99
    assert told["guess"] == pytest.approx(guess([table["region"][i] for i in blanks(table, file)]))
    written, rows, _ = repaired(tmp_path, BLANK)
    assert not attacked(written, table["region"], "region", rows)


def test_the_order_of_the_records(tmp_path: Path) -> None:
    table = survey().drop(columns=["home", "weight"])
    found, file = naive(tmp_path, table, BLANK)
    sought, true = blanks(table, file), list(table["region"])
    above = pd.Series(file["region"]).ffill().bfill()
    told = restored(found, "order", "region")
    assert told["restored"] == pytest.approx(np.mean([above[i] == true[i] for i in sought])) and told["restored"] > 0.9
    written, rows, _ = repaired(tmp_path, BLANK)
    assert not attacked(written, table["region"], "region", rows)


def test_an_id_that_begins_with_the_region_and_one_in_the_order_of_the_regions(tmp_path: Path) -> None:
    table = mixed()
    table["id"] = [f"{region[:2]}{row:04}" for row, region in enumerate(table["region"])]
    found, file = naive(tmp_path, table, BLANK, id="id")
    begins = [text[0] for text in table["id"]]
    told = restored(found, "ids", "region")
    by_hand = by_equals(begins, list(file["region"]), blanks(table, file), list(table["region"]))
    assert told["restored"] == pytest.approx(by_hand) == 1.0
    written, rows, schema = repaired(tmp_path, BLANK)
    assert "id" not in written and "[variables.id]" not in schema and "Is0" not in schema
    assert not attacked(written, table["region"], "region", rows)
    table["id"] = table["region"].rank(method="first").astype(int) + 10_000
    found, file = naive(tmp_path, table, BLANK, id="id")
    told = restored(found, "ids", "region")["restored"]
    assert told == pytest.approx(
        by_neighbours(list(table["id"]), list(file["region"]), blanks(table, file), list(table["region"])), abs=0.02
    )
    written, rows, _ = repaired(tmp_path, BLANK)
    assert "id" not in written and not attacked(written, table["region"], "region", rows)


def test_another_member_of_the_household_and_the_household_number(tmp_path: Path) -> None:
    table = survey().sample(frac=1, random_state=3).reset_index(drop=True)
    file, _ = write(tmp_path, table)  # nobody declared the household
    words = ("--schema", tmp_path / "schema.toml", "--method", BLANK, "--seed", 1, "--as-is")
    assert run("protect", file, "--on-undeclared", "accept", *words, "--out", tmp_path / "naive.csv").exit_code == 0
    _, schema = write(tmp_path, table, household="home", weight="weight")
    found = json.loads(run("audit", file, tmp_path / "naive.csv", "--schema", schema, "--json").stdout)
    masked = pd.read_csv(tmp_path / "naive.csv")
    told = restored(found, "household", "region")["restored"]
    assert told == pytest.approx(equal("home")(table, masked), abs=1e-9) and told > 0.5
    assert restored(found, "ids", "region")["restored"] > 0.9, "numbers in the order of the regions"
    written, rows, _ = repaired(tmp_path, BLANK)
    assert set(written["home"]) == set(range(1, written["home"].nunique() + 1))
    assert written.groupby("home")["region"].agg(lambda values: values.isna().nunique()).max() == 1
    assert not attacked(written, table["region"], "region", rows)


@pytest.mark.parametrize("names", [("cohort",), ("age.f",), ("age.f", "cohort")])
def test_columns_that_nobody_declared_give_age(tmp_path: Path, names: tuple[str, ...]) -> None:
    table = mixed()
    birth = 2020 - table["age"]
    # together they tell the year of birth, each alone some of it
    both = {"age.f": "from " + (table["age"] // 4 * 4).astype(str), "cohort": "c" + (birth % 4).astype(str)}
    table = table.assign(**({"cohort": birth} if names == ("cohort",) else {name: both[name] for name in names}))
    found, file = naive(tmp_path, table, BANDS)
    route = "combinations" if len(names) > 1 else "columns"
    told = restored(found, route, "age")
    keys = list(zip(file["age"], *(file[name] for name in names), strict=True))
    assert told["restored"] == pytest.approx(near(keys, list(table["age"]))) and set(told["evidence"]) == set(names)
    written, rows, schema = repaired(tmp_path, BANDS, "age")
    left = [name for name in names if name in written]
    assert len(left) < len(names) and not any(f'"{name}"' in schema for name in set(names) - set(left))
    ages = list(table["age"].to_numpy()[rows])
    best = near(list(written["age"]), ages)
    for column in written.columns.drop("age"):
        keys = list(zip(written["age"], written[column].fillna(""), strict=True))
        assert near(keys, ages) <= chance(best, len(ages)) + 0.1, column  # what the audit grants an association


def test_a_copy_of_the_weight_is_swapped_while_the_weight_stays(tmp_path: Path) -> None:
    table = mixed()
    table["wgt2"] = table["weight"]
    method = "RankSwapping(0.2, variables=('wgt2',))"
    found, file = naive(tmp_path, table, method, weight="weight")
    assert (file["wgt2"] != table["wgt2"]).mean() > 0.9
    told = restored(found, "weight", "wgt2")
    assert told["restored"] == pytest.approx(nearest_amount(table["weight"], table["wgt2"])) and told["restored"] > 0.99
    written, rows, schema = repaired(tmp_path, method, "wgt2")
    assert "wgt2" not in written and "wgt2" not in schema
    np.testing.assert_array_equal(written["weight"], table["weight"].to_numpy()[rows])  # a weight needs no secrecy here


def test_household_income_that_rank_swapping_breaks(tmp_path: Path) -> None:
    table = survey().sample(frac=1, random_state=3).reset_index(drop=True)
    table["hincome"] = np.random.default_rng(1).lognormal(10, 1, 2000).round()[table["home"]]
    method = "RankSwapping(0.02, variables=('hincome',))"
    file, _ = write(tmp_path, table)
    words = ("--schema", tmp_path / "schema.toml", "--method", method, "--seed", 1, "--as-is")
    assert run("protect", file, "--on-undeclared", "accept", *words, "--out", tmp_path / "naive.csv").exit_code == 0
    apart = pd.read_csv(tmp_path / "naive.csv").groupby("home")["hincome"].nunique()
    assert (apart > 1).mean() > 0.3
    write(tmp_path, table, household="home")
    written, rows, _ = repaired(tmp_path, method, "hincome")
    assert written.groupby("home")["hincome"].nunique().max() == 1
    assert (written["hincome"].to_numpy() != table["hincome"].to_numpy()[rows]).mean() > 0.9


@pytest.mark.parametrize("total", ["income", "rate"])
def test_sums_and_ratios(tmp_path: Path, total: str) -> None:
    table = mixed()
    table["income"], table["rate"] = table["wages"] + table["rest"], table["wages"] / table["hours"]
    table = table.drop(columns="rate" if total == "income" else "income")
    method = f"Noise(0.5, variables=('{total}',))"
    found, _ = naive(tmp_path, table, method)
    told = restored(found, "sums", total)
    assert (told["restored"], told["exactly"]) == (1.0, 1.0)
    written, rows, _ = repaired(tmp_path, method, total)
    parts = {"income": ("wages", "rest"), "rate": ("wages", "hours")}[total]
    assert any(part not in written for part in parts), "one of them is left out"
    true = table[total].to_numpy()[rows]
    for column in written.columns:
        if written[column].dtype.kind in "if" and column != total:
            assert nearest_amount(written[column], pd.Series(true)) < 0.2, column


def test_another_release_beside_this_one(tmp_path: Path) -> None:
    table = mixed()
    file, schema = write(tmp_path, table)
    for name, bins in (("one", "(35, 50, 65)"), ("other", str(tuple(range(22, 79, 3)))), ("same", "(35, 50, 65)")):
        words = ("--schema", schema, "--method", f"GlobalRecoding(bins={{'age': {bins}}})", "--seed", 1, "--as-is")
        assert (
            run("protect", file, "--on-undeclared", "accept", *words, "--out", tmp_path / f"{name}.csv").exit_code == 0
        )
    asked = ("audit", file, tmp_path / "one.csv", "--schema", schema, "--json", "--beside")
    found = json.loads(run(*asked, tmp_path / "other.csv").stdout)
    one, other = (pd.read_csv(tmp_path / f"{name}.csv")["age"] for name in ("one", "other"))
    told = restored(found, "beside", "age")
    assert told["restored"] == pytest.approx(near(list(zip(one, other, strict=True)), list(table["age"])))
    derived = run(*asked, tmp_path / "same.csv")  # of the same bands, as the repair says
    assert derived.exit_code == 0, derived.stdout


def leaking_everywhere() -> pd.DataFrame:
    """All leaks in one survey, in the order of the regions."""
    table = survey(400)
    table["weight"] = 100.0 + 10 * coded(table) + table["home"] % 3
    table["person"] = [f"{region[:2]}{row:05}" for row, region in enumerate(table["region"])]
    table["age.f"] = "from " + (table["age"] // 3 * 3).astype(str)
    table["cohort"] = 2020 - table["age"]
    table["stratum"] = table["region"] + "-" + (table["age"] // 20).astype(str)
    table["wgt2"] = table["weight"] * 2.5
    table["hh"] = "H" + table["home"].astype(str)
    return table


def test_a_sweep_of_a_survey_with_all_leaks_writes_a_file_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = leaking_everywhere()
    file, schema = write(tmp_path, table, weight="weight", household="home", id="person")
    method = f"{BANDS} + {BLANK}"
    words = ("sweep", file, "--schema", schema, "--method", method, "--at-most", "KAnonymity(k=2)=50%", "--seed", 1)
    more = ("--replicates", 1, "--workers", 1, "--no-bootstrap", "--out", tmp_path / "out", "--on-undeclared", "accept")
    result = run(*words, *more)
    assert result.exit_code == 0, result.output
    assert "of the file that goes out is" in result.stderr, "utility was measured before columns were left out"
    monkeypatch.setattr(Method, "protect", lambda *_, **__: pytest.fail("made again"))
    again = run(*words, *more)
    assert again.exit_code == 0 and "of the file that goes out is" in again.stderr, again.output
    monkeypatch.undo()
    release = tmp_path / "out" / "release"
    written = pd.read_csv(release / "survey.protected.csv")
    assert not {"person", "cohort", "age.f", "wgt2", "hh"} & set(written.columns)
    told = json.loads((tmp_path / "out" / "survey.protected.csv.provenance.json").read_text())
    rows = record_order(len(written), told["seed"], told["order_key"])
    assert len(blanks(table, written)) > 50
    assert not attacked(written, table["region"], "region", rows)
    ages = list(table["age"].to_numpy()[rows])
    best = near(list(written["age"]), ages)
    for column in written.columns.drop("age"):
        keys = list(zip(written["age"], written[column].fillna(""), strict=True))
        # the age groups of the stratum cut the bands that are published: less than the audit's margin of 0.1
        assert near(keys, ages) <= (best + 0.1 if column == "stratum" else chance(best, len(ages))), column
    published = "".join(path.read_text() for path in release.glob("*") if path.suffix != ".csv")
    assert "carry no meaning" in published, "the page for the public says so of order and numbers"
    for secret in ("Is0", "H1001", told["order_key"], told["sha256"]):
        assert secret not in published, secret
    assert sorted(path.name for path in release.iterdir()) == [
        "about.html",
        "about.json",
        "about.md",
        "survey.protected.csv",
    ]


def test_folders_of_releases_stand_beside_each_other(tmp_path: Path) -> None:
    """Two sweeps of one file with its exact weights: joined by them, their noise is averaged."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {
            "region": rng.choice(list("NESW"), 400),
            "pay": np.round(rng.lognormal(8, 0.6, 400), 2),
            "w": np.round(rng.uniform(50, 500, 400), 3),
        }
    )
    table.to_csv(tmp_path / "survey.csv", index=False)
    schema = tmp_path / "schema.toml"
    schema.write_text('weight = "w"\n[variables.region]\nrole = "key"\n[variables.pay]\nrole = "confidential"\n')
    for number in (1, 2):
        done = run(
            "sweep", tmp_path / "survey.csv", "--schema", schema, "--method", "Noise(scale=0.3, variables=['pay'])",
            "--at-most", "Reidentification=50%", "--seed", 2**50 + number, "--replicates", 1, "--no-bootstrap",
            "--workers", 1, "--despite-audit", "--keep-weights", "--out", tmp_path / f"sweep{number}",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
    release = tmp_path / "sweep1" / "release" / "survey.protected.csv"
    for beside in (tmp_path / "sweep2", tmp_path / "sweep2" / "release"):
        asked = ("audit", tmp_path / "survey.csv", release, "--schema", schema, "--beside", beside)
        told = json.loads(run(*asked, "--json").stdout)["together"]
        # the attack: both files have the weights as they were, and each is there once
        one, other = (pd.read_csv(tmp_path / f"sweep{n}" / "release" / "survey.protected.csv") for n in (1, 2))
        both = one.merge(other, on="w").merge(table, on="w")
        assert len(both) == 400 and told["by"] == ["w"] and told["joined"] == 1.0
        ranks = np.sort(table["pay"].to_numpy())
        true, alone, mean = (
            (np.searchsorted(ranks, value, "left") + np.searchsorted(ranks, value, "right")) / 2
            for value in (both["pay"], both["pay_x"], (both["pay_x"] + both["pay_y"]) / 2)
        )
        near = next(line for line in told["near"] if line["variable"] == "pay")
        assert near["alone"] == pytest.approx((np.abs(true - alone) <= 4).mean())
        assert near["together"] == pytest.approx((np.abs(true - mean) <= 4).mean())
        assert near["together"] > near["alone"]
        assert "with other releases" in run(*asked).stdout
