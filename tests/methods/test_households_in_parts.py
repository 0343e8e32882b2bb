"""Households of tables in parts: members keep in common what they had, wherever the table was cut."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, Method, Microdata, NotApplicable, Schema, Variable
from sfumato.table.households import household_level, units

SHARED = ("region", "rent")
METHODS: list[Method] = [
    sfumato.Noise(0.5),
    sfumato.RankSwapping(0.2),
    sfumato.PRAM(0.6, variables=("region", "sex")),
    sfumato.CorrelatedNoise(0.3),
    sfumato.Rounding({"rent": 100.0, "age": 5.0}, random=True),
    sfumato.LocalSuppression(4, variables=("region", "sex", "age")),
    sfumato.GlobalRecoding(bins={"age": 20}) + sfumato.LocalSuppression(3, variables=("region", "sex", "age")),
    sfumato.LocalSuppression(3, variables=("sex", "age")) + sfumato.Noise(0.2),
]


def homes(records: int = 400, seed: int = 5) -> Microdata:
    """Persons sorted by household, some alone with a missing number; members share region and rent."""
    rng = np.random.default_rng(seed)
    household = np.sort(rng.integers(0, records // 2, records)).astype(float)
    number = household.astype(int)
    rent = np.round(rng.gamma(3.0, 200.0, records), 2)[number]
    rent[rng.random(records) < 0.05] = np.nan
    household[rng.random(records) < 0.02] = np.nan
    frame = pa.table(
        {
            "household": pa.array(household, from_pandas=True),
            "region": np.array(["north", "south", "east", "west", "isle"])[rng.integers(0, 5, records)][number],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, records)],
            "age": rng.integers(0, 90, records),
            "rent": pa.array(rent, from_pandas=True),
            "income": rng.lognormal(8, 1, records),
            "weight": rng.uniform(1, 9, records),
        }
    )
    kinds = {"region": "nominal", "sex": "nominal", "age": "numeric"}
    keys = tuple(Variable(name, kind=kind, role="key") for name, kind in kinds.items())  # type: ignore[arg-type]
    return Microdata.from_frame(frame, Schema(keys, household="household", weight="weight"))


def agree(data: Microdata, unit: np.ndarray, name: str) -> bool:
    """Tell whether all members of each household who have a value have the same one."""
    there = ~data.missing(name)
    pairs = np.unique(np.column_stack([unit[there], data.columns[name][there]]), axis=0)
    return len(np.unique(pairs[:, 0])) == len(pairs)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_members_keep_in_common_what_they_had_however_the_table_is_cut(method: Method, tmp_path: Path) -> None:
    data = homes()
    assert household_level(data) == SHARED
    unit, made = units(data), []
    for number in (1, 3, 17):
        parts = scanned(data, tmp_path / f"cut-{number}", number)
        made.append(method.protect(parts, rng=3, folder=tmp_path / f"made-{number}").loaded())
    for other in made[1:]:
        assert other.schema == made[0].schema
        for name in other.names:
            np.testing.assert_array_equal(other.columns[name], made[0].columns[name], err_msg=name)
    for name in SHARED:
        assert agree(made[0], unit, name)
        lost = made[0].missing(name) & ~data.missing(name)
        for home in np.unique(unit[lost]):  # what one member lost no other one shows
            assert made[0].missing(name)[unit == home].all()
    for name in ("region", "rent", "sex"):
        assert (made[0].missing(name) >= data.missing(name)).all()
    changed = [name for name in data.names if not np.array_equal(*both(data, made[0], name), equal_nan=True)]
    assert changed


def both(before: Microdata, after: Microdata, name: str) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.where(one.missing(name), np.nan, one.columns[name]) for one in (before, after))  # type: ignore[return-value]


def test_noise_is_that_of_a_table_of_households(tmp_path: Path) -> None:
    data = homes(3_000)
    made = sfumato.Noise(0.5, variables=("rent",)).protect(
        scanned(data, tmp_path / "t", 4), rng=1, folder=tmp_path / "m"
    )
    noise = made.loaded().columns["rent"] - data.columns["rent"]
    there = ~np.isnan(noise)
    first = np.unique(units(data)[there], return_index=True)[1]
    rent = data.columns["rent"][there][first]
    draws = noise[there][first] / (0.5 * rent.std())  # one for each household: scaled by what households have
    assert abs(draws.mean()) < 4 / np.sqrt(len(draws)) and abs(draws.std() - 1) < 4 / np.sqrt(2 * len(draws))


def test_suppression_where_no_key_is_shared_is_that_of_memory(tmp_path: Path) -> None:
    data = homes()
    method = sfumato.LocalSuppression(3, variables=("sex", "age"))
    expected = method.protect(data, rng=0)
    found = method.protect(scanned(data, tmp_path / "t", 5), rng=0, folder=tmp_path / "m").loaded()
    for name in data.names:
        np.testing.assert_array_equal(found.columns[name], expected.columns[name], err_msg=name)


def test_suppression_keeps_k_after_what_members_lost(tmp_path: Path) -> None:
    data = homes()
    for number in (1, 6):
        worth = {"age": 50.0, "sex": 50.0}
        made = sfumato.LocalSuppression(4, variables=("region", "sex", "age"), importance=worth).protect(
            scanned(data, tmp_path / f"t{number}", number), rng=0, folder=tmp_path / f"m{number}"
        )
        protected = made.loaded()
        alike = np.ones((len(data), len(data)), dtype=bool)
        for name in ("region", "sex", "age"):  # missing agrees with every value
            column, gone = protected.columns[name], protected.missing(name)
            alike &= (column[:, None] == column) | gone[:, None] | gone
        assert alike.sum(axis=1).min() >= 4
        assert any("for the other members of a household too: region" in note for note in made.parts[0].notes)


def test_what_cannot_be_done_once_for_each_household_is_refused(tmp_path: Path) -> None:
    data = homes()
    parts = scanned(data, tmp_path / "t", 3)
    with pytest.raises(NotApplicable, match="households must be counted, not records"):
        sfumato.LocalSuppression(3, variables=("region",)).protect(parts, folder=tmp_path / "a")
    with pytest.raises(NotApplicable, match="may exceed its cap"):
        sfumato.LocalSuppression(3, variables=("region", "sex"), caps={"region": 0.1}).protect(
            parts, folder=tmp_path / "b"
        )
    with pytest.raises(NotApplicable, match="may leave others alone"):
        sfumato.LocalSuppression(3, variables=("region", "sex"), missing="category").protect(
            parts, folder=tmp_path / "c"
        )
    with pytest.raises(NotApplicable, match="Sampling: it draws records, and those of a household"):
        sfumato.Sampling(0.5).protect(parts, folder=tmp_path / "d")
    with pytest.raises(NotApplicable, match="share 'rent' but not 'sex'"):
        sfumato.MDAV(3, variables=("rent",)).within("sex").protect(parts, folder=tmp_path / "e")


def test_households_all_over_the_table_are_refused_and_those_that_are_not_sorted_but_whole_are_not(
    tmp_path: Path,
) -> None:
    data = homes()
    rng = np.random.default_rng(2)
    shuffled = data.take(rng.permutation(len(data)))
    with pytest.raises(NotApplicable, match=r"lie in several parts of the table.*sort the table by 'household'"):
        sfumato.Noise(0.1).protect(scanned(shuffled, tmp_path / "t", 3), folder=tmp_path / "a")
    unit = units(data)
    other = np.argsort(rng.permutation(unit.max() + 1)[unit], kind="stable")  # whole, in an order of their own
    made = sfumato.Noise(0.1).protect(scanned(data.take(other), tmp_path / "u", 4), rng=1, folder=tmp_path / "b")
    assert agree(made.loaded(), unit[other], "rent")


def test_a_household_larger_than_a_part_and_text_for_numbers(tmp_path: Path) -> None:
    number = np.repeat(["a", "b", "c"], [2, 9, 3])
    frame = pa.table({"home": number, "rent": np.repeat([5.0, 7.0, 9.0], [2, 9, 3]), "age": np.arange(14.0)})
    data = Microdata.from_frame(frame, Schema(household="home"))
    for cuts in (2, 7, 14):
        parts = scanned(data, tmp_path / f"t{cuts}", cuts)
        made = sfumato.Noise(0.5).protect(parts, rng=1, folder=tmp_path / f"m{cuts}").loaded()
        assert agree(made, units(data), "rent")
        assert len(np.unique(made.columns["age"])) == 14


def test_on_processes_as_here(tmp_path: Path) -> None:
    data = homes()
    parts = scanned(data, tmp_path / "t", 5)
    chain = sfumato.LocalSuppression(3, variables=("region", "sex", "age")) + sfumato.Noise(0.2, variables=("rent",))
    with Engine("here"):
        here = chain.protect(parts, rng=3, folder=tmp_path / "here").loaded()
    with Engine("local", processes=2, store=tmp_path / "s.sqlite"):
        there = chain.protect(parts, rng=3, folder=tmp_path / "there").loaded()
    for name in here.names:
        np.testing.assert_array_equal(here.columns[name], there.columns[name], err_msg=name)


def test_blocks_that_part_households_are_refused_whatever_is_done_inside(tmp_path: Path) -> None:
    data = homes()
    noisy = sfumato.Noise(0.2, variables=("rent",)) + sfumato.Noise(0.1, variables=("age",))
    suppressing = sfumato.LocalSuppression(3, missing="category", variables=("region", "sex"))
    for method, why in ((noisy.within("sex"), "share 'rent' but not 'sex'"), (suppressing.within("age"), "alone")):
        with pytest.raises(NotApplicable, match=why):
            method.protect(scanned(data, tmp_path / f"t{len(why)}", 3), folder=tmp_path / f"m{len(why)}")
    within = noisy.within("region").protect(scanned(data, tmp_path / "t", 3), rng=1, folder=tmp_path / "m").loaded()
    assert agree(within, units(data), "rent")


def test_no_list_names_a_category_that_went_for_all_members(tmp_path: Path) -> None:
    # the only two records of RARE are of one household; one of them is alone in its sex, and loses the region
    region = np.array(["k"] * 20 + ["RARE", "RARE"])
    frame = pa.table(
        {
            "home": np.append(np.arange(20.0), [99.0, 99.0]),
            "region": region,
            "sex": ["f"] * 10 + ["m"] * 10 + ["f", "m"],
        }
    )
    keys = tuple(Variable(name, kind="nominal", role="key") for name in ("region", "sex"))
    data = Microdata.from_frame(frame, Schema(keys, household="home"))
    method = sfumato.LocalSuppression(2, importance={"region": 1, "sex": 3}, variables=("region", "sex"))
    for number in (1, 4):
        made = method.protect(scanned(data, tmp_path / f"t{number}", number), rng=0, folder=tmp_path / f"m{number}")
        assert made.schema["region"].categories == ("k",)
        loaded = made.loaded()
        assert loaded.missing("region").tolist() == [False] * 20 + [True] * 2
        assert set(loaded.columns["region"][:20].tolist()) == {0}
