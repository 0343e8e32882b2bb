"""Households put together without their number, against a count of its own; and columns that say a household's size."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Microdata, Schema, Variable
from sfumato.table.households import by_size, number_published, reassembled, sizes


def rebuilt(original: pd.DataFrame, released: pd.DataFrame, home: str, columns: list[str]) -> float:
    """Return the share of persons who live with others whose household is a group of released records, nobody else.

    Records stand in one order in both tables; ``columns`` are those that an intruder groups by.
    """
    size = original.groupby(home)[home].transform("size")
    group = released.groupby(columns, dropna=False, sort=False).ngroup()
    both = pd.DataFrame({"home": original[home], "group": group})
    homes_of = both.groupby("group")["home"].transform("nunique")
    groups_of = both.groupby("home")["group"].transform("nunique")
    exact = (homes_of == 1) & (groups_of == 1)
    return float(exact[size > 1].mean())


def survey(homes: int = 200, seed: int = 1) -> pd.DataFrame:
    """Persons in households of one to five, whose weight is 100 by size, with a dwelling."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3, 4, 5], homes, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    home = np.repeat(np.arange(homes), size)
    frame = pd.DataFrame({"home": home, "members": size[home].astype(float), "weight": 100.0 / size[home]})
    frame["region"] = rng.choice(list("ABC"), homes)[home]
    frame["rooms"] = rng.integers(1, 7, homes).astype(float)[home]
    frame["rent"] = rng.integers(20, 90, homes).astype(float)[home] * 10
    frame["age"] = rng.integers(0, 90, len(home)).astype(float)
    return frame


def read(frame: pd.DataFrame, weight: str | None = "weight") -> Microdata:
    return Microdata.from_frame(
        pa.Table.from_pandas(frame, preserve_index=False), Schema(household="home", weight=weight)
    )


SHARED = ["weight", "region", "rooms", "rent", "members"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 120), st.sets(st.sampled_from(SHARED), min_size=1))
def test_as_many_are_put_together_as_a_count_of_its_own_says(seed: int, homes: int, kept: set[str]) -> None:
    frame = survey(homes, seed)
    data = read(frame)
    found = reassembled(data, data.without([name for name in ("home", *SHARED) if name not in kept]))
    alone = (frame.groupby("home")["home"].transform("size") == 1).all()
    if found is None:
        assert alone
        return
    assert found.share == pytest.approx(rebuilt(frame, frame, "home", sorted(kept)))


def test_a_weight_that_was_raked_anew_hides_nobody() -> None:
    frame = survey()
    rng = np.random.default_rng(3)
    anew = frame.assign(weight=np.round(frame.weight * rng.uniform(0.8, 1.2, len(frame)), 3))
    data = read(frame)
    found = reassembled(data, read(anew).without(["home"]))
    by_all, by_the_rest = (rebuilt(frame, anew, "home", names) for names in (SHARED, SHARED[1:]))
    assert by_all < 0.02 and by_the_rest > 0.8  # members have weights of their own now: nobody groups by them
    assert found is not None and "weight" not in found.by
    assert found.share == pytest.approx(by_the_rest)


def test_a_column_that_is_blank_for_some_members_is_used_where_it_helps() -> None:
    frame = survey()
    holes = frame.assign(rent=frame.rent.where(np.arange(len(frame)) % 50 > 0))
    data = read(frame[["home", "rent", "region", "age"]], weight=None)
    released = read(holes[["home", "rent", "region", "age"]], weight=None).without(["home"])
    found = reassembled(data, released)
    with_it, without = (rebuilt(frame, holes, "home", names) for names in (["rent", "region"], ["region"]))
    assert with_it > without  # most households have no blank
    assert found is not None and set(found.by) == {"rent", "region"}
    assert found.share == pytest.approx(with_it)


def test_a_column_that_differs_in_one_household_puts_the_others_together() -> None:
    frame = survey()[["home", "rent", "region", "age"]]
    frame.loc[frame.index[frame.home.duplicated()][0], "rent"] += 1  # keyed in wrongly for one member
    data = read(frame, weight=None)
    found = reassembled(data, data.without(["home"]))
    with_it, without = (rebuilt(frame, frame, "home", names) for names in (["rent", "region"], ["region"]))
    assert with_it > 0.3 and without == 0
    assert found is not None and found.by == ("rent", "region")
    assert found.share == pytest.approx(with_it)
    said = Microdata.from_frame(frame, Schema((Variable("rent", level="record"),), household="home"))
    kept_out = reassembled(said, said.without(["home"]))
    assert kept_out is not None and kept_out.by == ("region",)


def test_nothing_shared_is_nothing_to_go_by() -> None:
    data = read(survey()[["home", "age"]], weight=None)
    assert reassembled(data, data.without(["home"])) is None
    alone = read(survey().drop_duplicates("home"))
    assert reassembled(alone, alone.without(["home"])) is None


def test_functions_and_classes_of_the_size_are_sizes() -> None:
    frame = survey()
    size = frame.members.astype(int)
    frame["one_over"] = 1 / size
    frame["square"] = size**2.0
    frame["root"] = np.sqrt(size)
    frame["banded"] = np.where(size <= 2, "1-2", "3 and more")
    frame["topped"] = np.where(size >= 3, "3+", size.astype(str))
    frame["alone"] = np.where(size == 1, "yes", "no")
    frame["odd"] = np.where(size % 2 == 1, "odd", "even")  # 1, 3 and 5 are no neighbours: it is not a size in classes
    frame["all"] = "same"
    data = read(frame)
    assert sizes(data) == ("members", "one_over", "square", "root", "banded", "topped", "alone")
    value = by_size(data, "square")
    assert value is not None and value.tolist()[1:] == [1, 4, 9, 16, 25]
    topped = by_size(data, "topped")
    assert topped is not None
    assert [data.schema["topped"].categories[code] for code in topped[1:]] == ["1", "2", "3+", "3+", "3+"]
    assert by_size(data, "rent") is None and by_size(data, "region") is None
    assert sizes(Microdata.from_frame(pa.Table.from_pandas(frame, preserve_index=False))) == ()


def test_few_households_show_no_function_of_their_size() -> None:
    # three households of three sizes: whatever they share goes with the size, and that says nothing
    frame = pd.DataFrame({"home": [1, 2, 2, 3, 3, 3], "rent": [5.0, 7, 7, 9, 9, 9], "members": [1.0, 2, 2, 3, 3, 3]})
    assert sizes(read(frame, weight=None)) == ("members",)


def test_a_number_of_the_role_identifier_is_not_published() -> None:
    data = read(survey())
    assert number_published(data) and not number_published(data.without(["home"]))
    names = replace(data.schema, variables=(Variable("home", role="identifier"), *data.schema.variables[1:]))
    assert not number_published(replace(data, schema=names))
