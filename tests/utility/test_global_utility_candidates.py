"""Several candidates of one original: what depends on the original alone is computed once, and nothing else is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from global_utility_tables import survey

import sfumato
from sfumato import GlobalDataUtility, Measurement, Method, Microdata
from sfumato.pair import Half, Pair
from sfumato.utility.association import Column, PairTests, pair_tests
from sfumato.utility.global_utility import measure as measure_module
from tables import weighted

METHODS: tuple[Method, ...] = (
    sfumato.GlobalRecoding(groups=4, rare=0.1),
    sfumato.RankSwapping(0.1, variables=("income",)),
    sfumato.GlobalRecoding(groups=3, rare=0.3),
    sfumato.PRAM(0.8, variables=("region",)),
    sfumato.Rounding(0.5, variables=("income", "age")),
    sfumato.LocalSuppression(3, variables=("region", "owner", "age")),
    sfumato.CARTSynthesis(),
)


def alike(one: Measurement, other: Measurement) -> None:
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.parts == pytest.approx(other.parts, rel=1e-12)
    assert (one.notes, one.statement) == (other.notes, other.statement)
    for name, rows in one.tables.items():
        for mine, theirs in zip(rows, other.tables[name], strict=True):
            for key, value in mine.items():
                expected = pytest.approx(theirs[key], rel=1e-9, abs=1e-12) if isinstance(value, float) else theirs[key]
                assert value == expected, (name, mine, key)


@pytest.mark.parametrize("normality", ["original", "each"])
@pytest.mark.parametrize("with_weights", [False, True])
def test_one_original_for_all_candidates_gives_what_each_gives_alone(normality: str, with_weights: bool) -> None:
    data = survey(400)
    if with_weights:
        data = weighted(data, np.random.default_rng(3).uniform(1, 9, len(data)))
    measure = GlobalDataUtility(normality=normality)  # type: ignore[arg-type]
    shared = Half.of(data)
    for method in METHODS:
        protected = method.protect(data, rng=1)
        alike(measure.evaluate_pair(Pair(shared, Half.of(protected))), measure.evaluate(data, protected))


def test_the_original_is_tested_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey(200)
    calls = []

    def counted(columns: Sequence[Column], **named: Any) -> PairTests:
        calls.append(len(columns))
        return pair_tests(columns, **named)

    monkeypatch.setattr(measure_module, "pair_tests", counted)
    shared = Half.of(data)
    for method in METHODS[:4]:
        GlobalDataUtility().evaluate_pair(Pair(shared, Half.of(method.protect(data, rng=1))))
    assert calls == [7]


def test_weights_that_changed_leave_nothing_as_it_was() -> None:
    data = weighted(survey(300), np.random.default_rng(3).uniform(1, 9, 300))
    name = data.schema.weight
    assert name is not None
    other = data.replace({name: data.columns[name][::-1].copy()})
    found = GlobalDataUtility().evaluate(data, other)
    changed = [row for row in found.tables["pairs"] if row["test"] == "chi-squared"]
    assert changed and all(row["before"] != row["after"] for row in changed)


def test_codes_that_are_equal_by_chance_are_not_the_same_values() -> None:
    data = survey(300)
    renamed = replace(
        data,
        schema=data.schema.replace(replace(data.schema["region"], categories=("w", "x", "y", "z"))),
        matched=False,
    )
    found = GlobalDataUtility(variables=("region", "education")).evaluate(data, renamed)
    assert "cannot be told" in found.tables["pairs"][0]["reason"]


def test_ids_that_differ_are_no_match_in_memory_and_in_parts() -> None:
    data = survey(120)
    table = data.to_arrow().append_column("id", [list(range(120))])
    original = Microdata.from_frame(table, sfumato.Schema(tuple(data.schema), id="id"))
    protected = original.replace({"id": original.columns["id"] + 1000})
    found = GlobalDataUtility().evaluate(original, protected)
    assert found.value == pytest.approx(1.0, abs=1e-5)
    rows = np.arange(50), np.arange(50, 120)
    parts = Pair.of([original.take(part) for part in rows], [protected.take(part) for part in rows])
    alike(GlobalDataUtility().evaluate_pair(parts), found)
