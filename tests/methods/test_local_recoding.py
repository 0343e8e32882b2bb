"""Local recoding: by hand, k-anonymous by the house's measure, better than one level for all."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import (
    CertaintyPenalty,
    Hierarchy,
    KAnonymity,
    LocalRecoding,
    Microdata,
    NotApplicable,
    OptimalRecoding,
    ParameterError,
    Schema,
    Variable,
    read_schema,
    write_schema,
)

TOWNS = {"A": ["AB", "*"], "B": ["AB", "*"], "C": ["CD", "*"], "D": ["CD", "*"]}


def people(seed: int, records: int = 80, *, gaps: float = 0.0, homes: int = 0) -> Microdata:
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, homes or records, records))
    town = rng.choice(list(TOWNS), records, p=[0.5, 0.3, 0.15, 0.05])[home if homes else slice(None)]
    table = pa.table(
        {
            "home": home.astype(float),
            "town": pa.array(town.tolist(), mask=rng.random(records) < gaps),
            "age": pa.array(np.round(rng.normal(50, 18, records)).clip(0, 99), mask=rng.random(records) < gaps),
            "sex": pa.array(rng.choice(["f", "m"], records).tolist()),
        }
    )
    variables = (
        Variable("town", "nominal", "key", hierarchy=Hierarchy.of(TOWNS)),
        Variable("age", "numeric", "key", hierarchy=Hierarchy.of([5, 10, 20, float("inf")])),
        Variable("sex", "nominal", "key", hierarchy=Hierarchy(rows=(("f", "*"), ("m", "*")))),
    )
    return Microdata.from_frame(table, Schema(variables, household="home" if homes else None))


def test_rare_towns_are_coarser_than_others_by_hand() -> None:
    # A and B are three each; C and D are alone, and become CD in the second round; E is left over
    towns = {**TOWNS, "E": ["E", "E"]}
    table = pa.table({"town": ["A", "A", "A", "B", "B", "B", "C", "D", "E"]})
    method = LocalRecoding(2, 0.2, hierarchy={"town": towns}, variables=("town",))
    assert method.protect(table)["town"].to_pylist() == ["A"] * 3 + ["B"] * 3 + ["CD", "CD", None]
    (note,) = method.protect(Microdata.from_frame(table)).notes
    # two values that stand for one other of four, and one gone, of nine
    assert f"loss {(2 / 4 + 1) / 9:.4g}" in note and "6 records at town 0; 2 records at town 1; suppressed 1" in note
    with pytest.raises(NotApplicable, match=r"1 of 9 records .* cannot be put into classes of 2"):
        LocalRecoding(2, 0.0, hierarchy={"town": towns}, variables=("town",)).protect(table)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000), k=st.integers(2, 6), gaps=st.sampled_from([0.0, 0.1]), homes=st.sampled_from([0, 30])
)
def test_the_result_is_k_anonymous_and_loses_no_more_than_one_level_for_all(
    seed: int, k: int, gaps: float, homes: int
) -> None:
    data = people(seed, gaps=gaps, homes=homes)
    protected = LocalRecoding(k, 1.0).protect(data)
    assert KAnonymity(k).evaluate(data, protected).value == 0
    if not homes:
        told = float(protected.notes[-1].rpartition("loss ")[2])
        assert told <= OptimalRecoding(k, 1.0).search(data).loss + 1e-3  # the note is rounded
    for name in ("town", "age", "sex"):
        assert (protected.missing(name) >= data.missing(name)).all()


def test_groups_of_one_name_at_two_levels_stay_apart() -> None:
    # Paris is a town and, one level up, the region of three towns; Lyon is a region of its town alone
    region = {"Paris": "Paris", "Versailles": "Paris", "Meaux": "Paris", "Lyon": "Lyon"}
    hierarchy = {"town": {town: [name, "France"] for town, name in region.items()}}
    table = pa.table({"town": ["Paris"] * 5 + ["Versailles", "Meaux"] + ["Lyon"] * 3})
    protected = LocalRecoding(2, 0.0, hierarchy=hierarchy, variables=("town",)).protect(table)
    assert protected["town"].to_pylist() == ["Paris"] * 5 + ["Paris (level 1)"] * 2 + ["Lyon"] * 3


def test_households_stay_together() -> None:
    data = people(3, homes=30)
    protected = LocalRecoding(4, 1.0).protect(data)
    town, variable = protected.columns["town"], protected.schema["town"]
    home = data.columns["home"]
    assert KAnonymity(4).evaluate(data, protected).value == 0
    assert all(len(set(town[home == one].tolist())) == 1 for one in np.unique(home)), variable.categories


def test_dates_come_out_at_several_levels_too() -> None:
    days = [date(1950, 1, 1)] * 8 + [date(1960, 1, 1 + i) for i in range(3)]
    method = LocalRecoding(
        3, 0.0, "precision", hierarchy={"born": Hierarchy.dates("month", "year")}, variables=("born",)
    )
    assert method.protect(pa.table({"born": days}))["born"].to_pylist() == ["1950-01-01"] * 8 + ["1960-01"] * 3


def test_a_variable_at_several_levels_says_so_and_is_compared_record_by_record(tmp_path: object) -> None:
    data = people(1, 300)
    protected = LocalRecoding(4, 1.0, "ncp").protect(data)
    local = [name for name in ("age", "sex", "town") if protected.schema[name].treatment.local]
    assert local and all(protected.schema[name].kind == "nominal" for name in local)
    # what a class stands for is read off its records, so it is no broader than its group of the hierarchy
    penalty = CertaintyPenalty().evaluate(data, protected)
    assert 0 < penalty.value <= float(protected.notes[-1].rpartition("ncp ")[2]) + 1e-3  # the note is rounded
    assert set(penalty.by_variable) == {"town", "age", "sex"}
    path = f"{tmp_path}/schema.toml"
    write_schema(protected, path)
    assert read_schema(path)[local[0]].treatment.local


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"k": 0}, "k must be a whole number"),
        ({"utility": "discernibility"}, "utility must be one of"),
        ({"suppression": 5}, "did you mean 0.05"),
        ({"importance": {"age": -1}}, "importance of 'age'"),
        ({"hierarchy": {"age": 3}}, "hierarchy of 'age'"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        LocalRecoding(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (LocalRecoding(100), "fewer than k=100"),
        (LocalRecoding(3, hierarchy={"home": [5]}), "hierarchy names 'home'"),
    ],
)
def test_tables_it_cannot_recode_are_refused(method: LocalRecoding, said: str) -> None:
    with pytest.raises(NotApplicable, match=f"LocalRecoding: .*{said}"):
        method.protect(people(2))
