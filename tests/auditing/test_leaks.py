"""Each leak that was met in real releases, built in a made survey: the audit finds it, with its share."""

import numpy as np
import pandas as pd
import pytest
from leaky import SCHEMA, blanked, data, guessed, restored_by_groups, shuffled, survey

from sfumato import Schema, Variable, audit


def alone(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Only these columns, so that one leak is not covered by another."""
    return table[list(names)]


def test_the_weight_tells_the_region() -> None:
    table, _ = shuffled(survey())
    base = table["region"].map({"North": 10.0, "East": 20.0, "South": 30.0, "West": 40.0, "Isles": 40.0})
    table["weight"] = base + (table["household"] % 7)
    kept = alone(table, "weight", "region", "sex", "job")
    masked = blanked(kept, "region", 0.2)
    route = audit(data(kept), masked)["weight"]
    assert route.worst is not None and route.alarm
    expected = restored_by_groups(list(masked["weight"]), list(masked["region"]), list(kept["region"]))
    assert expected > 0.8  # West and Isles share their weights
    assert route.worst.restored == pytest.approx(expected)
    assert route.worst.guess == pytest.approx(guessed(list(masked["region"]), list(kept["region"])))
    assert route.worst.variable == "region" and route.worst.learnt == "the file"
    assert "weight" in route.repair
    for example in route.examples:
        assert kept["region"].iloc[example.record - 1] == example.true
        assert example.published == "blank"
        assert pd.isna(masked["region"].iloc[example.record - 1])


def test_neighbouring_rows_tell_the_region_until_they_are_shuffled() -> None:
    table = alone(survey(), "region", "sex", "job", "noise")
    masked = blanked(table, "region", 0.2)
    found = audit(table, masked)
    route = found["order"]
    right, published, true = 0, list(masked["region"]), list(table["region"])
    blanks = [i for i, value in enumerate(published) if pd.isna(value)]
    for i in blanks:  # the nearest published one above, or else below
        above = [j for j in range(i) if not pd.isna(published[j])]
        below = [j for j in range(i + 1, len(published)) if not pd.isna(published[j])]
        right += published[above[-1] if above else below[0]] == true[i]
    assert route.worst is not None and route.alarm
    assert route.worst.restored == pytest.approx(right / len(blanks))
    assert "random order" in route.repair
    mixed, order = shuffled(masked)
    repaired = audit(table, mixed, order=order)
    assert repaired.passed
    assert repaired["order"].worst is not None
    assert repaired["order"].worst.excess <= 3 * 0.5 / np.sqrt(len(blanks))


@pytest.mark.parametrize("numbered", [True, False])
def test_members_of_a_household_tell_what_is_published_of_them_and_not_what_is_true(*, numbered: bool) -> None:
    """Regions are dealt anew among all records: who knows the households sees members that need not share theirs."""
    table = alone(survey(), "household", "weight", "region", "sex")
    table["weight"] = 10.0 + table["household"] % 50
    masked = table.assign(region=np.random.default_rng(3).permutation(table["region"]))
    found = audit(data(table), masked if numbered else masked.drop(columns="household"))["household"]
    assert not found.alarm
    assert found.worst is not None and found.worst.learnt == "the file"
    assert found.worst.evidence == (("household",) if numbered else ("neighbouring rows",))


def test_another_member_of_the_household_tells_it_until_all_are_blank() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "household", "region", "sex", "job")
    masked = kept.copy()
    size = kept.groupby("household")["sex"].transform("size")
    first = np.flatnonzero((size > 1) & ~kept["household"].duplicated())[:12]
    masked.loc[first, "region"] = None
    found = audit(data(kept), masked)
    route = found["household"]
    assert route.worst is not None and route.alarm
    assert (route.worst.values, route.worst.restored) == (12, 1.0)
    assert "household" in route.repair
    masked.loc[masked["household"].isin(masked["household"].iloc[first]), "region"] = None
    repaired = audit(data(kept), masked)["household"]
    assert not repaired.alarm and repaired.worst is not None and repaired.worst.restored <= repaired.worst.guess


def test_a_single_blank_is_an_alarm_if_the_relation_always_holds() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "household", "region", "sex", "job")
    size = kept.groupby("household")["sex"].transform("size")
    isles = int(np.flatnonzero((kept["region"] == "Isles") & (size > 1))[0])
    masked = kept.copy()
    masked.loc[isles, "region"] = None
    route = audit(data(kept), masked)["household"]
    assert route.alarm and route.worst is not None and route.worst.values == 1 and route.worst.holds == 1.0


def test_households_are_found_without_their_id() -> None:
    table = survey()
    table["weight"] = 5 + np.random.default_rng(0).random(400)[table["household"].astype(int)].round(5)
    table["rooms"] = np.random.default_rng(1).integers(1, 7, 400)[table["household"].astype(int)].astype(float)
    table["region"] = np.array(list("ABCDEFGH"), dtype=object)[
        np.random.default_rng(2).integers(0, 8, 400)[table["household"].astype(int)]
    ]
    kept = alone(table, "household", "weight", "region", "rooms", "sex")
    masked = blanked(kept, "region", 0.05).drop(columns="household")
    found = audit(data(kept), masked)
    route = found["household"]
    expected = restored_by_groups(list(kept["household"]), list(masked["region"]), list(kept["region"]))
    assert expected > 0.5
    assert route.alarm and route.worst is not None
    alone_in_theirs = (1 - expected) * route.worst.guess  # a guess is left for those without other members
    assert route.worst.restored == pytest.approx(expected + alone_in_theirs, abs=0.1)
    assert any("no household id" in note for note in found.notes)


def test_swapped_household_values_are_read_off_the_majority() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "household", "region", "sex")
    masked = kept.copy()
    rng = np.random.default_rng(3)
    hit = np.flatnonzero(rng.random(len(kept)) < 0.1)
    masked.loc[hit, "region"] = rng.permutation(kept["region"].to_numpy())[hit]
    assert audit(data(kept), masked)["household"].alarm


def test_two_undeclared_columns_give_age() -> None:
    table, _ = shuffled(survey(800))
    table["age.f"] = pd.cut(table["age"], list(range(15, 95, 5)), right=False).astype(str)
    table["cohort"] = np.array(["a", "b", "c", "d", "e"], dtype=object)[(table["age"] % 5).astype(int)]
    kept = alone(table, "age", "age.f", "cohort", "sex", "job")
    masked = kept.copy()
    masked["age"] = (masked["age"] // 20 * 20).astype(int).astype(str) + "+"
    route = audit(kept, masked)["combinations"]
    assert route.alarm and route.worst is not None
    assert route.worst.evidence == ("age.f", "cohort")
    assert (route.worst.restored, route.worst.exactly) == (1.0, 1.0)
    assert route.worst.learnt == "the original" and route.worst.level == "in full"
    assert not audit(kept, masked.drop(columns="cohort"))["combinations"].alarm


def test_one_undeclared_column_gives_age_and_stratum_holds_region_and_age_group() -> None:
    table, _ = shuffled(survey())
    table["birth"] = 2020 - table["age"]
    table["stratum"] = table["region"].astype(str) + "-" + (table["age"] // 20).astype(int).astype(str)
    kept = alone(table, "age", "region", "birth", "stratum", "sex")
    masked = blanked(kept, "region", 0.1)
    masked["age"] = (masked["age"] // 10 * 10).astype(int).astype(str) + "s"
    route = audit(kept, masked)["columns"]
    by = {found.variable: found for found in route.by_variable}
    assert by["age"].evidence == ("birth",) and by["age"].restored == 1.0 and by["age"].alarm
    assert by["region"].evidence == ("stratum",) and by["region"].alarm
    expected = restored_by_groups(list(masked["stratum"]), list(masked["region"]), list(kept["region"]))
    assert by["region"].restored == pytest.approx(expected) and expected > 0.99
    assert "birth" in route.repair and "stratum" in route.repair


def test_a_copy_of_the_weight_is_swapped_while_the_weight_stays() -> None:
    table, _ = shuffled(survey())
    table["weight2"] = table["weight"]
    kept = alone(table, "weight", "weight2", "region", "sex")
    masked = kept.copy()
    masked["weight2"] = np.random.default_rng(0).permutation(kept["weight2"])
    route = audit(data(kept), masked)["weight"]
    assert route.alarm and route.worst is not None and route.worst.variable == "weight2"
    assert route.worst.restored > 0.99


@pytest.mark.parametrize("masking", ["blank", "noise", "gone"])
def test_a_total_is_the_sum_of_its_parts(masking: str) -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "rest", "income", "sex", "noise")
    masked = kept.copy()
    rng = np.random.default_rng(2)
    if masking == "blank":
        masked = blanked(kept, "income", 0.1)
    elif masking == "noise":
        masked["income"] = kept["income"] * (1 + 0.3 * rng.normal(size=len(kept)))
    else:
        masked = kept.drop(columns="income")
    route = audit(kept, masked)["sums"]
    assert route.alarm and route.worst is not None
    assert route.worst.evidence == ("rest + wages",)
    assert (route.worst.restored, route.worst.exactly) == (1.0, 1.0)
    if masking != "blank":  # else the totals that are left tell wages
        masked["wages"] = kept["wages"] * (1 + 0.3 * rng.normal(size=len(kept)))
        assert not audit(kept, masked)["sums"].alarm


def test_a_part_is_the_total_less_the_rest_in_spite_of_exceptions() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "rest", "income", "sex", "noise")
    wrong = np.random.default_rng(4).random(len(kept)) < 0.05
    kept = kept.assign(income=np.where(wrong, kept["income"] * 1.7 + 13, kept["income"]))
    masked = blanked(kept, "wages", 0.2)
    route = audit(kept, masked)["sums"]
    blank = masked["wages"].isna().to_numpy()
    assert route.worst is not None and route.worst.evidence == ("income - rest",)
    assert route.worst.exactly == pytest.approx(float((~wrong)[blank].mean()), abs=0.01)


def test_a_single_total_is_an_alarm_if_the_sum_holds_everywhere_else() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "rest", "income", "sex")
    masked = kept.copy()
    masked.loc[5, "income"] = np.nan
    assert audit(kept, masked)["sums"].alarm


def test_a_quotient_is_found() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "age", "sex").assign(rate=table["wages"] / table["age"])
    route = audit(kept, kept.drop(columns="rate"))["sums"]
    assert route.alarm and route.worst is not None and route.worst.restored == 1.0
    assert route.worst.evidence == ("age^-1 x wages",)


@pytest.mark.parametrize("function", [np.log, np.sqrt, lambda x: -(x**3), lambda x: 1 / x])
def test_a_hidden_copy_through_a_monotone_function_is_found(function: object) -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "sex", "job").assign(index=function(table["wages"]))  # type: ignore[operator]
    masked = kept.assign(wages=kept["wages"] * np.exp(np.random.default_rng(1).normal(size=len(kept))))
    route = audit(kept, masked)["columns"]
    assert route.alarm and route.worst is not None
    assert route.worst.evidence == ("index",) and route.worst.restored > 0.99


def test_a_rounded_copy_is_found_with_its_share() -> None:
    table, _ = shuffled(survey())
    kept = alone(table, "wages", "sex", "job").assign(copy=(table["wages"] / 200).round() * 200)
    masked = kept.drop(columns="wages")
    found = audit(kept, masked)
    route = found["columns"]
    assert route.alarm and route.worst is not None and route.worst.evidence == ("copy",)
    values, copies = kept["wages"].to_numpy(), kept["copy"].to_numpy()
    ranks = kept["wages"].rank().to_numpy()
    ordered = np.sort(values)
    right = 0
    for i, copy in enumerate(copies):
        others = np.sort(np.delete(values, i)[np.delete(copies, i) == copy])
        said = others[(len(others) - 1) // 2] if others.size else np.nan
        if not others.size:
            below, above = values[copies < copy], values[copies > copy]
            ends = [below[copies[copies < copy] == copies[copies < copy].max()].max()] if below.size else []
            ends += [above[copies[copies > copy] == copies[copies > copy].min()].min()] if above.size else []
            said = np.mean(ends)
        low, high = np.searchsorted(ordered, said, "left"), np.searchsorted(ordered, said, "right")
        right += abs((low + high + 1) / 2 - ranks[i]) <= 0.01 * len(values)
    assert route.worst.restored == pytest.approx(right / len(values))


def test_two_columns_determine_a_third() -> None:
    table, _ = shuffled(survey(800))
    rng = np.random.default_rng(6)
    n = len(table)
    one, two = rng.integers(0, 6, n), rng.integers(0, 6, n)
    kept = alone(table, "sex", "job").assign(
        a=np.array(list("abcdef"), dtype=object)[one],
        b=np.array(list("abcdef"), dtype=object)[two],
        c=np.array(list("uvwxyz"), dtype=object)[(one + two) % 6],  # neither alone tells anything
    )
    masked = blanked(kept, "c", 0.3)
    found = audit(kept, masked)
    assert not found["columns"].alarm
    route = found["combinations"]
    assert route.alarm and route.worst is not None
    assert route.worst.evidence == ("a", "b") and route.worst.restored == 1.0


def test_three_columns_determine_a_fourth() -> None:
    rng = np.random.default_rng(7)
    digits = rng.integers(0, 3, (1500, 4))
    kept = pd.DataFrame(np.array(list("xyz"), dtype=object)[digits], columns=list("abcd"))
    kept["sum"] = np.array(list("pqrstuv"), dtype=object)[digits[:, :3].sum(axis=1)]
    route = audit(kept, blanked(kept, "sum", 0.2))["combinations"]
    assert route.alarm and route.worst is not None and route.worst.evidence == ("a", "b", "c")


@pytest.mark.parametrize("columns", [4, 5])
def test_as_many_columns_as_it_takes_determine_another(columns: int) -> None:
    digits = np.random.default_rng(0).integers(0, 2, (3000, columns + 1))
    kept = pd.DataFrame(np.array(["n", "y"], dtype=object)[digits], columns=list("abcdef")[: columns + 1])
    kept["job"] = [f"job {code:02d}" for code in digits[:, :columns] @ (2 ** np.arange(columns))]
    route = audit(kept, kept.drop(columns="job"))["combinations"]
    assert route.alarm and route.worst is not None and route.worst.restored == 1.0
    assert route.worst.evidence == tuple("abcdef"[:columns])
    assert audit(kept, kept.drop(columns=["job", "a"])).passed  # half of the values, which is an association


def test_ids_in_the_order_of_the_original_and_speaking_prefixes_tell_the_region() -> None:
    table = alone(survey(), "region", "sex", "job")
    schema = Schema((Variable("id"),), id="id")
    kept, _ = shuffled(table.assign(id=np.arange(len(table)) + 1000.0))
    route = audit(data(kept, schema), blanked(kept, "region", 0.1))["ids"]
    assert route.alarm and route.worst is not None and route.worst.restored > 0.95
    speaking = table["region"].str[:2] + np.random.default_rng(0).permutation(len(table)).astype(str)
    kept, _ = shuffled(table.assign(id=speaking))
    schema = Schema((Variable("id", kind="nominal"),), id="id")
    route = audit(data(kept, schema), blanked(kept, "region", 0.1))["ids"]
    assert route.alarm and route.worst is not None and route.worst.restored == 1.0
    assert route.worst.evidence in (("first character of id",), ("first 2 characters of id",))
    assert "new ids" in route.repair


def test_bands_of_two_releases_intersect() -> None:
    table, _ = shuffled(survey(800))
    kept = alone(table, "age", "sex", "job", "noise")
    tens = kept.assign(age=(kept["age"] // 10).astype(int).astype(str) + "0s")
    shifted = kept.assign(age=((kept["age"] + 3) // 4).astype(int).astype(str) + " fours")
    assert audit(kept, tens).passed
    found = audit(kept, tens, beside={"public file": shifted})
    route = found["beside"]
    assert route.worst is not None and route.worst.evidence == ("age of public file",)
    assert route.alarm and route.worst.restored > 1.5 * route.worst.guess
    exact = audit(kept, tens, beside={"public file": kept})["beside"]
    assert exact.alarm and exact.worst is not None and exact.worst.restored == 1.0
    unlinked = kept.sample(frac=1, random_state=1)[["sex"]].reset_index(drop=True)
    assert not audit(kept, tens, beside={"other": unlinked})["beside"].alarm


def test_what_is_known_of_members_of_the_same_household_is_not_taken_as_known() -> None:
    """Weights that differ from household to household tell nothing of a region that is coarsened for all."""
    table, _ = shuffled(survey())
    number = table["household"].astype(int)
    kept = alone(table, "household", "weight", "region", "sex")
    kept = kept.assign(weight=np.random.default_rng(0).permutation(400)[number] + 5.0)
    masked = kept.assign(region=kept["region"].map({"North": "N", "Isles": "N"}).fillna("S"))
    assert not audit(data(kept, SCHEMA), masked)["weight"].alarm


def test_a_category_that_no_record_shows_any_more_is_told_by_its_weights() -> None:
    table, _ = shuffled(survey())
    table["weight"] = table["region"].map({"North": 10.0, "East": 20.0, "South": 30.0, "West": 40.0, "Isles": 50.0})
    kept = alone(table, "weight", "region", "sex", "job")
    masked = blanked(kept, "region", 0.1)
    masked.loc[kept["region"].isin(["West", "Isles"]), "region"] = None
    found = audit(data(kept), masked)
    assert found["weight"].alarm and found["weight"].worst is not None and found["weight"].worst.restored == 1.0
    assert any("no record shows a category" in note for note in found.notes)
    assert not found["columns"].alarm


def test_members_of_a_household_do_not_tell_each_other_what_none_of_them_shows() -> None:
    table, _ = shuffled(survey())
    own = np.random.default_rng(0).permutation(400)[table["household"].astype(int)] + 5.0
    kept = alone(table, "household", "weight", "region", "sex").assign(weight=own)  # of each household its own
    masked = kept.assign(region=kept["region"].where(~kept["region"].isin(["West", "Isles"]))).drop(columns="household")
    assert not audit(data(kept), masked)["weight"].alarm
