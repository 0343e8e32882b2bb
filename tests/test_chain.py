"""Methods one after the other are a method."""

import pickle

import numpy as np
import pytest

from sfumato import (
    MDAV,
    Chain,
    DistanceLinkage,
    Experiment,
    InformationLoss,
    Noise,
    NotApplicable,
    ParameterError,
    RankSwapping,
    catalogue,
)
from tables import incomes


def test_each_step_works_on_what_the_one_before_returned() -> None:
    data = incomes()
    chain = MDAV(3) + MDAV(5)
    np.testing.assert_array_equal(
        chain.protect(data).columns["tax"], MDAV(5).protect(MDAV(3).protect(data)).columns["tax"]
    )


def test_a_chain_reads_back_pickles_and_is_flat() -> None:
    chain = MDAV(k=3) + Noise(0.1) + RankSwapping(0.05)
    assert repr(chain) == "MDAV(k=3) + Noise(scale=0.1) + RankSwapping(p=0.05)"
    assert catalogue.parse(repr(chain)) == [chain]
    assert pickle.loads(pickle.dumps(chain)) == chain
    assert isinstance(chain, Chain) and len(chain.steps) == 3
    assert chain.family == "MDAV + Noise + RankSwapping"


def test_lists_in_a_chain_are_a_grid() -> None:
    found = catalogue.parse("MDAV(k=[3, 5]) + Noise([0.1, 0.2])")
    assert [repr(chain) for chain in found] == [
        "MDAV(k=3) + Noise(scale=0.1)",
        "MDAV(k=3) + Noise(scale=0.2)",
        "MDAV(k=5) + Noise(scale=0.1)",
        "MDAV(k=5) + Noise(scale=0.2)",
    ]


def test_what_is_known_of_a_chain_is_what_is_known_of_its_steps() -> None:
    assert not (MDAV(3) + MDAV(5)).about.random
    assert (MDAV(3) + Noise(0.1)).about.random
    assert "then" in (MDAV(3) + Noise(0.1)).about.title


def test_the_same_seed_gives_the_same_table_and_another_another() -> None:
    chain, data = Noise(0.1) + Noise(0.1), incomes()
    one, two, other = (chain.protect(data, rng=seed).columns["tax"] for seed in (1, 1, 2))
    assert np.array_equal(one, two) and not np.array_equal(one, other)
    # each step draws from a stream of its own: twice the same noise would double it
    first = Noise(0.1).protect(data, rng=1).columns["tax"]
    assert not np.allclose(one - first, first - data.columns["tax"])


def test_what_cannot_be_chained_is_refused() -> None:
    with pytest.raises(ParameterError, match="two methods or more"):
        Chain((MDAV(3),))
    with pytest.raises(ParameterError, match="names its own variables"):
        Chain((MDAV(3), Noise(0.1)), variables=("tax",))
    with pytest.raises(TypeError):
        MDAV(3) + 1  # type: ignore[operator]
    with pytest.raises(ParameterError, match="only methods can be chained"):
        catalogue.parse("MDAV(3) + InformationLoss()")
    with pytest.raises(NotApplicable, match="MDAV: there is no variable 'incom'"):
        (MDAV(3, variables=("incom",)) + Noise(0.1)).masked(incomes())


def test_a_chain_is_a_candidate_like_any_other(tmp_path: object) -> None:
    chain = MDAV(3) + RankSwapping(0.05)
    results = Experiment(
        incomes(), methods=[chain, MDAV(3)], measures=[InformationLoss(), DistanceLinkage(known=2)], replicates=2
    ).run()
    assert {row.candidate for row in results.rows} == {repr(chain), "MDAV(k=3)"}
    assert results.row(repr(chain)).replicates == 2
