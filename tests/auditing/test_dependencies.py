"""What inspect proposes to link: copies, classes, rounded copies, sets, sums; and nothing among independent columns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from leaky import data as of
from leaky import shuffled, survey
from test_no_alarm import independent

from how_often import TABLES
from sfumato import GlobalRecoding, LocalSuppression, Microdata, Schema, Variable, VariableRemoval, audit
from sfumato.auditing import proposals as module
from sfumato.auditing.evidence import column
from sfumato.auditing.proposals import dependencies
from sfumato.auditing.repairs import prepare


def lines(data: Microdata) -> dict[str, str]:
    return {one.name: one.line for one in dependencies(data).found}


def general_survey() -> pd.DataFrame:
    """The made survey with columns that follow from others: cohort, classes, a stratum, copies, sums."""
    table = shuffled(survey(800))[0].drop(columns=["noise"])
    table["cohort"] = 2020 - table["age"]
    table["age.f"] = (table["age"] // 10).astype(int).astype(str) + "0s"
    table["place"] = table["region"].str.upper()
    table["stratum"] = table["region"].astype(str) + " " + table["age.f"]
    table["log"] = np.log(table["wages"])
    table["rounded"] = table["wages"].round(-3)
    return table


def test_each_dependency_is_proposed_with_its_line() -> None:
    assert lines(of(general_survey())) == {
        "cohort": 'linked = "age"',
        "place": 'linked = "region"',
        "log": 'linked = "wages"',
        "rounded": 'linked = "wages"',
        "age.f": 'linked = "age"',
        "stratum": 'linked = ["age.f", "region"]',
        "income": 'linked = ["rest", "wages"]',
    }


def test_copies_come_first_and_say_that_they_are() -> None:
    found = dependencies(of(general_survey())).found
    assert [one.tells for one in found[:3]] == [1.0, 1.0, 1.0]
    assert found[0].sentence == "age tells it in 100.0% of the records, and it tells age"
    total = next(one for one in found if one.name == "income")
    assert total.sentence == "income = rest + wages, in 100.0% of the records"


def test_a_key_is_the_source_wherever_it_stands() -> None:
    table = general_survey()[["cohort", "age", "sex", "job"]]
    assert lines(Microdata.from_frame(table, Schema((Variable("age", role="key"),)))) == {"cohort": 'linked = "age"'}
    assert lines(Microdata.from_frame(table)) == {"age": 'linked = "cohort"'}


def test_a_copy_with_exceptions_is_proposed_and_an_association_is_not() -> None:
    rng = np.random.default_rng(1)
    table = general_survey()[["region", "sex", "age", "job"]]
    nearly = table["region"].str.upper().to_numpy().copy()
    nearly[rng.random(len(table)) < 0.02] = "NORTH"
    table["nearly"] = nearly
    table["often"] = np.where(rng.random(len(table)) < 0.7, table["region"], "North")
    found = dependencies(Microdata.from_frame(table)).found
    assert [(one.name, one.sources) for one in found] == [("nearly", ("region",))]
    assert 0.97 < found[0].holds < 1


def test_a_question_asked_of_some_determines_nothing() -> None:
    rng = np.random.default_rng(2)
    works = rng.random(600) < 0.6
    table = pd.DataFrame(
        {
            "works": np.where(works, "yes", "no"),
            "hours": np.where(works, rng.integers(5, 60, 600), np.nan),
            "pay": np.where(works, rng.lognormal(7, 1, 600).round(), 0.0),
        }
    )
    assert lines(Microdata.from_frame(table)) == {}


def test_links_that_are_declared_are_not_proposed_and_close_no_circle() -> None:
    table = general_survey()[["age", "cohort", "age.f", "sex"]]
    declared = Schema((Variable("age", linked="cohort"),))
    found = lines(Microdata.from_frame(table, declared))
    assert found == {"age.f": 'linked = "cohort"'} or found == {"age.f": 'linked = "age"'}


def test_ids_and_weights_are_said_apart() -> None:
    table = general_survey()[["region", "sex", "job"]]
    table.insert(0, "number", np.arange(len(table)))
    table["w"] = table["region"].map({"North": 3.5, "East": 2.25, "South": 7.0, "West": 4.75, "Isles": 1.5})
    found = dependencies(Microdata.from_frame(table, Schema((Variable("w"),), weight="w")))
    assert found.found == ()
    assert [sentence.split(":")[0] for sentence in found.apart] == ["number", "w"]
    assert "the weight tells region" in found.apart[1]


def test_a_large_table_is_looked_through_on_a_sample_and_a_tiny_one_not_at_all() -> None:
    table = pd.concat([general_survey()[["age", "cohort", "sex"]]] * 3, ignore_index=True)
    found = dependencies(Microdata.from_frame(table))
    assert (found.looked, found.records) == (4000, len(table)) and len(table) > 4000
    assert dependencies(Microdata.from_frame(table.head(10))).looked == 0


def test_independent_columns_give_no_proposal() -> None:
    """At most 1 % of tables; over 200 of these none was seen."""
    false = [seed for seed in range(TABLES) if dependencies(independent(seed)[0]).found]
    assert len(false) <= TABLES // 100, false


# the audit names it, and following closes it


def declared(table: pd.DataFrame) -> Microdata:
    proposed = dependencies(of(table)).found
    variables = [Variable(one.name, of(table).schema[one.name].kind, linked=one.sources) for one in proposed]
    special = (Variable("weight"), Variable("household"))
    return of(table, Schema((*variables, *special), weight="weight", household="household"))


def test_the_audit_says_what_to_declare_and_is_silent_once_it_is_declared() -> None:
    table = general_survey().drop(columns=["weight", "household", "log", "rounded", "income"])
    method = GlobalRecoding(bins={"age": 10}) + VariableRemoval(variables=("region",))
    order = np.random.default_rng(1).permutation(len(table))

    def audited(data: Microdata) -> Any:
        return audit(data, method.protect(data, rng=1).take(order), order=order)

    before = audited(of(table))
    assert before["columns"].alarm
    assert 'declare linked = "age" under [variables.cohort]' in before["columns"].repair
    after = audited(declared(table.assign(weight=1.0, household=np.arange(len(table), dtype=float))))
    assert after.passed, after


def test_without_links_the_repairs_blank_or_leave_out_as_before() -> None:
    table = general_survey()[["age", "cohort", "sex", "job"]]
    made = LocalSuppression(3, variables=("age", "job", "sex")).protect(Microdata.from_frame(table))
    ready = prepare(Microdata.from_frame(table), made, seed=1)
    assert any(
        line.startswith("cohort is blank where age is") or "cohort is left out" in line for line in ready.checked.done
    )


def test_what_the_repairs_blank_is_blank_in_what_is_linked_to_it() -> None:
    # a region blanked for one member only: the repairs blank it for the others, and place has to follow
    table = survey(300)[["household", "region", "sex", "job"]]
    table["place"] = table["region"].str.upper()
    schema = Schema(
        (Variable("household"), Variable("place", "nominal", linked="region")),
        household="household",
    )
    data = Microdata.from_frame(table, schema)
    hit = np.random.default_rng(1).random(len(table)) < 0.05
    made = data.replace({"region": np.where(hit, -1, data.columns["region"]).astype(np.int32)})
    ready = prepare(data, made, seed=1, keep_order=True)
    blank = ready.table.missing("region")
    assert blank.sum() > hit.sum()
    assert "place" not in ready.table.schema or not (blank & ~ready.table.missing("place")).any()


def test_a_wide_table_tries_the_likeliest_sources_of_each_column_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    # thirty columns of eight groups, each of which tells all others: 150 // 30 = 5 are tried for each
    monkeypatch.setattr(module, "MAX_PAIRS", 150)
    monkeypatch.setattr(module, "MIN_PAIRS_OF_COLUMN", 2)
    rng = np.random.default_rng(5)
    group = rng.integers(0, 8, 200)
    wide = Microdata.from_frame(pd.DataFrame({f"c{i}": rng.permutation(8)[group].astype(float) for i in range(30)}))
    found = dependencies(wide)
    assert "tried as a source of a variable: the 5 likeliest ones" in found.notes
    assert found.found and all(one.holds == 1 for one in found.found)
    offered = module.likely_sources(wide, {name: column(wide, name) for name in wide.names}, rng)
    assert {len(sources) for sources in offered.values()} == {5}
    assert module.most_likely(1_000) == 2  # no less, however wide
