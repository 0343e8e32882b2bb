"""Record swapping: what it keeps, whom it moves, what it refuses."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import Microdata, NotApplicable, ParameterError, RecordSwapping, Schema, Variable

KEYS = ("age", "job")


def survey(households: int = 80, seed: int = 0, single: bool = False) -> Microdata:
    """Households of one to three members in districts of regions, members in mixed order."""
    rng = np.random.default_rng(seed)
    sizes = np.ones(households, dtype=int) if single else rng.integers(1, 4, households)
    home = np.repeat(np.arange(households), sizes)[rng.permutation(sizes.sum())]
    region = rng.integers(0, 3, households)
    district = 10 * region + rng.integers(0, 3, households)
    n = len(home)
    table = pa.table(
        {
            "home": [f"h{i}" for i in home],
            "region": [f"r{r}" for r in region[home]],
            "district": [f"d{d}" for d in district[home]],
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(0, 6, n),
            "job": rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.2, 0.05, 0.05]),
            "weight": rng.uniform(1, 9, n),
            "income": rng.normal(size=n),
        }
    )
    names = (Variable("home", kind="nominal"), *(Variable(v, kind="nominal", role="key") for v in ("region", "job")))
    return Microdata.from_frame(table, Schema((*names, Variable("age", role="key")), weight="weight", household="home"))


def homes(data: Microdata, *names: str) -> dict[str, tuple[tuple[object, ...], ...]]:
    """The members' values of each household, in a fixed order."""
    rows = data.to_arrow().select(["home", *names]).to_pylist()
    gathered: dict[str, list[tuple[object, ...]]] = {}
    for row in rows:
        gathered.setdefault(row.pop("home"), []).append(tuple(row.values()))
    return {home: tuple(sorted(members, key=repr)) for home, members in gathered.items()}


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.05, 1),
    st.sampled_from([None, ("sex",), ("sex", "job")]),
    st.sampled_from([("region",), ("region", "district"), ("district",)]),
)
def test_counts_by_place_size_and_similarity_are_kept_and_households_stay_together(
    seed: int, share: float, similar: tuple[str, ...] | None, geography: tuple[str, ...]
) -> None:
    data = survey(seed=seed)
    try:
        swapped = RecordSwapping(share, similar=similar, variables=geography).protect(data, rng=seed)
    except NotApplicable as refusal:
        assert "less than one pair" in str(refusal) or "no household has a similar one" in str(refusal)
        return
    for name in data.names:
        if name not in geography:
            assert np.array_equal(data.columns[name], swapped.columns[name])

    def counts(table: Microdata) -> Counter[object]:
        alike, places = homes(table, *(similar or ())), homes(table, *geography)
        return Counter((members, places[home][0]) for home, members in alike.items())

    assert counts(swapped) == counts(data)
    before, after = homes(data, *geography), homes(swapped, *geography)
    assert all(len(set(places)) == 1 for places in after.values())
    moved = [home for home in before if before[home] != after[home]]
    assert len(moved) % 2 == 0 and len(moved) <= 2 * round(share * 80 / 2)
    assert f"in {len(moved)} of 80 households" in swapped.notes[-1]
    assert {name for name in geography if swapped.schema[name].treatment.perturbed} or not moved


def frequencies(data: Microdata, place: str) -> list[int]:
    rows = [tuple(row.values()) for row in data.to_arrow().select([place, *KEYS]).to_pylist()]
    return [rows.count(row) for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_risky_households_go_first_the_rarest_before_others(seed: int) -> None:
    data = survey(200, seed)
    rarest: dict[str, int] = {}
    for home, count in zip(data.to_arrow()["home"].to_pylist(), frequencies(data, "region"), strict=True):
        rarest[home] = min(count, rarest.get(home, 99))
    swapped = RecordSwapping(0.05, k=2, keys=KEYS, variables=("region",)).protect(data, rng=seed)
    before, after = homes(data, "region"), homes(swapped, "region")
    moved = {home for home in before if before[home] != after[home]}
    risky = {home for home, count in rarest.items() if count < 2}
    assert len(moved) == 10 and len(risky) > 10
    assert len(moved & risky) >= 5  # one of each pair took its turn, and all turns were risky households'
    every = RecordSwapping(1.0, k=2, keys=KEYS, variables=("region",)).protect(data, rng=seed)
    after = homes(every, "region")
    unmoved = {home for home in risky if before[home] == after[home]}
    assert f"{len(risky) - len(unmoved)} of {len(risky)} risky ones among them" in every.notes[-1]


def test_a_household_risky_only_at_the_fine_level_stays_in_its_region() -> None:
    # job b occurs twice in region r0 (k = 2: safe there) but once in each of its districts d0 and d1: both are risky
    # at the level of districts, and the only similar households of r0 elsewhere are in the other district
    rows = [("r0", "d0", "b"), ("r0", "d1", "b"), *[("r0", "d0", "a")] * 4, *[("r0", "d1", "a")] * 4]
    rows += [("r1", "d2", "a")] * 20
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("region", "district", "job"))})
    for seed in range(20):
        swapped = RecordSwapping(2 / 30, k=2, keys=("job",), variables=("region", "district")).protect(table, rng=seed)
        assert swapped["region"].to_pylist() == table["region"].to_pylist()
        places = swapped["district"].to_pylist()
        assert places[0] == "d1" or places[1] == "d0"
        # in the same table with one level only, the whole country may be drawn
    anywhere = [
        RecordSwapping(2 / 30, k=2, keys=("job",), variables=("district",))
        .protect(table, rng=seed)["district"][0]
        .as_py()
        for seed in range(20)
    ]
    assert "d2" in anywhere


def test_at_the_coarse_level_the_partner_is_in_another_region() -> None:
    data = survey(120, 3, single=True)
    swapped = RecordSwapping(0.1, keys=KEYS, k=2, variables=("region", "district")).protect(data, rng=0)
    counts = np.array(frequencies(data, "region"))
    moved = data.columns["district"] != swapped.columns["district"]
    riskiest = moved & (counts < 2)
    assert riskiest.sum() >= 6  # of 12 swapped, one of each pair
    assert (data.columns["region"] != swapped.columns["region"])[riskiest].all()


def test_partners_are_drawn_evenly() -> None:
    # record 0 alone is unique; its four possible partners elsewhere are equally likely
    table = pa.table({"town": ["A", "A", "A", "B", "C", "D", "E"], "job": ["x", "y", "y", "z", "z", "z", "z"]})
    method = RecordSwapping(2 / 7, k=1, variables=("town",))
    drawn: Counter[str] = Counter()
    for seed in range(600):
        towns = method.protect(table, rng=seed)["town"].to_pylist()
        drawn[towns[0]] += 1
    # one pair of the 7; record 0 takes part when drawn or when it is a partner; B to E are alike
    others = [drawn[town] for town in "BCDE"]
    assert max(others) - min(others) < 5 * np.sqrt(np.mean(others))


def test_unmatched_risky_households_are_counted() -> None:
    # the one of size 3 has no household of its size elsewhere
    table = pa.table(
        {
            "home": [1, 1, 1, 2, 3, 4, 5],
            "town": ["A", "A", "A", "A", "A", "B", "B"],
            "job": ["x", "y", "z", "v", "v", "v", "v"],
        }
    )
    data = Microdata.from_frame(table, Schema(household="home"))
    swapped = RecordSwapping(0.9, keys=("job",), k=2, variables=("town",)).protect(data, rng=0)
    assert "4 of 5 households" in swapped.notes[-1]
    assert "1 risky households found no similar one elsewhere" in swapped.notes[-1]


def test_households_without_geography_stay_and_others_do_not_lose_theirs() -> None:
    data = survey(60, 1)
    holes = data.columns["home"] % 4 == 0
    holed = data.replace({"region": np.where(holes, -1, data.columns["region"]).astype(np.int32)})
    swapped = RecordSwapping(0.5, variables=("region",)).protect(holed, rng=1)
    assert np.array_equal(swapped.columns["region"] < 0, holes)
    assert "15 households without geography stayed" in swapped.notes[-1]


def test_refusals() -> None:
    data = survey()
    with pytest.raises(ParameterError, match=r"RecordSwapping: share must be in \(0, 1\]; got 5 \(did you mean 0.05"):
        RecordSwapping(5)
    with pytest.raises(NotApplicable, match="households have members in different places of sex"):
        RecordSwapping(0.1, variables=("sex",)).protect(data)
    with pytest.raises(NotApplicable, match="key 'income' is continuous"):
        RecordSwapping(0.1, similar=("income",)).protect(data)
    with pytest.raises(NotApplicable, match="key 'income' is continuous"):
        RecordSwapping(0.1, keys=("income",)).protect(data)
    with pytest.raises(NotApplicable, match="there is no variable 'regoin'"):
        RecordSwapping(0.1, similar=("regoin",)).protect(data)
    with pytest.raises(NotApplicable, match="'region' is both a key and geography"):
        RecordSwapping(0.1, keys=("age", "region"), variables=("region",)).protect(data)
    with pytest.raises(NotApplicable, match=r"share of 0\.001 of 80 households is less than one pair"):
        RecordSwapping(0.001).protect(data)
    with pytest.raises(NotApplicable, match="no household has a similar one in another place of 'town'"):
        RecordSwapping(1.0).protect(pa.table({"town": ["A"] * 5}))
    with pytest.raises(NotApplicable, match="no nominal variable"):
        RecordSwapping(1.0).protect(pa.table({"x": [1.0, 2.0]}))


def test_a_continuous_key_of_the_schema_is_left_out_and_said() -> None:
    data = survey()
    keyed = Microdata(data.schema.replace(Variable("income", role="key")), data.columns)
    assert "left out as continuous: income" in RecordSwapping(0.2).protect(keyed, rng=0).notes[-1]
