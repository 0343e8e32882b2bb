"""Households that can be counted, or put together again: what the other members tell does not go out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import GlobalRecoding, LocalSuppression, Microdata, Schema, TopBottomCoding, Variable, VariableRemoval
from sfumato.auditing.belonging import put_together, sizes_to_count
from sfumato.auditing.of_parts import SampleDesign
from sfumato.auditing.repairs import prepare
from sfumato.table.present import made_missing


def families(kind: Any = "numeric") -> Microdata:
    """Persons in households of one to five, with the number of members."""
    rng = np.random.default_rng(0)
    sizes = rng.choice([1, 2, 3, 4, 5], 300, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    home = np.repeat(np.arange(300), sizes)
    table = {"home": home + 700, "size": sizes[home], "sex": rng.choice(["f", "m"], len(home))}
    table |= {"age": rng.integers(0, 90, len(home)), "region": rng.choice(list("ABCD"), 300)[home]}
    keys = (Variable("size", kind, role="key"), Variable("sex", "nominal", role="key"), Variable("age", role="key"))
    return Microdata.from_frame(pa.table(table), Schema(keys, household="home"))


def counted(ready: Any, data: Microdata) -> np.ndarray:
    """Count the members of each household that the release tells, in the original's order; NaN where it tells none."""
    table = ready.table.take(np.argsort(ready.order))
    homes = table.columns["home"]
    return np.array([np.nan if np.isnan(one) else np.count_nonzero(homes == one) for one in homes])


@pytest.mark.parametrize("kind", ["numeric", "ordinal"])
def test_a_blanked_size_cannot_be_counted(kind: str) -> None:
    data = families(kind)
    large = np.bincount(data.columns["home"].astype(int))[data.columns["home"].astype(int)] >= 5
    ready = prepare(data, made_missing(data, {"size": large}), seed=1)
    again = counted(ready, data)
    np.testing.assert_array_equal(np.isnan(again), large)
    assert any("home is blank where size is protected" in said for said in ready.checked.done)
    assert "home" in ready.checked.altered and "home" in ready.checked.renewed
    kept = prepare(data, made_missing(data, {"size": large}), seed=1, keep_households=True)
    assert not np.isnan(counted(kept, data)).any()
    assert "home is kept, though size can be counted from it" in kept.checked.done


def test_one_member_whose_size_is_blank_blanks_the_number_of_all() -> None:
    data = families()
    blank = np.zeros(len(data), dtype=bool)
    blank[np.flatnonzero(data.columns["size"] == 4)[0]] = True
    (rows,) = sizes_to_count(data, made_missing(data, {"size": blank})).values()
    assert rows.sum() == 4


def test_a_size_that_is_coarser_or_gone_takes_the_number_of_the_household_along() -> None:
    data = families()
    top = TopBottomCoding(top={"size": 4}).protect(data)
    again = counted(prepare(data, top, seed=1), data)
    assert np.nanmax(again) == 4 and np.isnan(again[data.columns["size"] == 5]).all()
    for method in (GlobalRecoding(bins={"size": (2, 4)}), VariableRemoval(variables=("size",))):
        ready = prepare(data, method.protect(data), seed=1)
        assert "home" not in ready.table.names and not ready.checked.renewed
        assert "home is left out, because size can be counted from it" in ready.checked.done
        assert not any("numbers of home" in said for said in ready.checked.public)


def test_the_number_of_the_household_stays_if_no_size_is_protected() -> None:
    data = families()
    made = LocalSuppression(3, variables=("sex", "age")).protect(data)
    assert sizes_to_count(data, made) == {} and sizes_to_count(data, data.without(["home"])) == {}
    assert "home" in prepare(data, made, seed=1).table.names
    other = data.without(["size"])  # who has no column of sizes protects none
    assert sizes_to_count(other, LocalSuppression(3, variables=("sex", "age")).protect(other)) == {}


def test_households_are_put_together_by_what_members_share_wherever_they_stand() -> None:
    # homes 1 and 2 have weights of their own; 3 and 4 share theirs and the region, so that nobody can part them
    frame = pa.table(
        {
            "home": [1, 1, 2, 2, 2, 3, 3, 4, 4, 5],
            "weight": [1.5, 1.5, 2.5, 2.5, 2.5, 3.0, 3.0, 3.0, 3.0, 9.0],
            "region": ["n", "n", "n", "n", "n", "s", "s", "s", "s", "s"],
            "age": [30.0, 31, 40, 41, 5, 50, 51, 60, 61, 70],
        }
    )
    data = Microdata.from_frame(frame, Schema(household="home", weight="weight"))
    found = put_together(data, data.without(["home"]))
    assert found is not None and found.by == ("weight", "region")
    assert found.share == 5 / 9  # of the nine who live with others, homes 1 and 2
    assert put_together(data, data) is None  # its households are numbered, and nothing has to be guessed
    assert put_together(data, data.without(["home", "weight", "region"])) is None
    coarse = put_together(data, data.without(["home"]).replace({"weight": np.full(10, 2.0)}))
    assert coarse is not None and coarse.share == 0


def test_it_is_said_if_a_release_without_numbers_of_households_gives_them_away() -> None:
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(200), 3)
    frame = pa.table(
        {
            "home": [f"home {number}" for number in home],
            "weight": rng.uniform(1, 9, 200).round(3)[home],
            "region": np.array(["n", "s"])[rng.integers(0, 2, 200)][home],
            "age": rng.integers(0, 90, 600),
        }
    )
    schema = Schema((Variable("home", kind="nominal", role="identifier"),), household="home", weight="weight")
    data = Microdata.from_frame(frame, schema)
    for weight, said in ((data.columns["weight"], True), (np.full(600, 3.0), False)):
        made = GlobalRecoding(bins={"age": 20}).protect(data.replace({"weight": weight}), rng=1)
        done = prepare(data.replace({"weight": weight}), made, seed=1).checked.done
        assert any("households can still be put together by weight" in line for line in done) == said


def sized(weights: int) -> Microdata:
    """Families with the number of members, and so many different weights, which members share."""
    data = families()
    home = data.columns["home"].astype(int)
    weight = np.random.default_rng(5).permutation(np.arange(1_000) % weights)[home - 700] + 5.0
    table = data.to_arrow().append_column("w", pa.array(weight))
    return Microdata.from_frame(table, replace(data.schema, weight="w"))


@pytest.mark.parametrize("weights", [1_000, 4])
def test_a_protected_size_that_can_be_counted_without_the_number_is_told(weights: int) -> None:
    data = sized(weights)
    made = GlobalRecoding(bins={"size": (2, 4)}).protect(data)
    for of_parts in (None, SampleDesign()):  # at hand are all records of the parts
        ready = prepare(data, made, seed=1, keep_weights=True, of_parts=of_parts)
        assert "home" not in ready.table.names and ready.checked.passed
        told = [said for said in ready.checked.done if "put together" in said]
        if weights == 4:
            assert not told
            continue
        assert len(told) == 1
        assert f"size can be counted so, right in 100 % of {len(data):,} protected values, where the best" in told[0]


def test_of_a_sample_it_is_said_that_nobody_looked() -> None:
    data = sized(1_000)
    made = GlobalRecoding(bins={"size": (2, 4)}).protect(data)
    done = prepare(data, made, seed=1, of_parts=SampleDesign(("a sample",))).checked.done
    said = "whether households can be put together again by size, region and w was not looked at"
    assert any(line.startswith(said) for line in done)
    assert not any("can still be put together" in line for line in done)
