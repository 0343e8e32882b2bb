"""Pairs of similar units: the same as looking at every free unit."""

import numpy as np
import pytest

from sfumato.kernels.record_swapping import NO_PARTNER, NOT_REACHED, SWAPPED, Integers, swap_pairs


def looked_for(
    profile: Integers, places: Integers, level: Integers, turn: Integers, luck: Integers, pairs: int
) -> list[int]:
    """Pair by the rule, each unit looking at all others."""
    partner = list(range(len(profile)))
    done = 0
    for unit in turn.tolist():
        if done == pairs or partner[unit] != unit:
            continue
        depth = level[unit]
        for within in (True, False) if depth else (False,):
            fitting = [
                other
                for other in range(len(profile))
                if partner[other] == other
                and profile[other] == profile[unit]
                and places[other, depth] != places[unit, depth]
                and (not within or places[other, depth - 1] == places[unit, depth - 1])
            ]
            if fitting:
                found = min(fitting, key=lambda other: luck[other])
                partner[unit], partner[found] = found, unit
                done += 1
                break
    return partner


@pytest.mark.parametrize("seed", range(40))
def test_as_by_looking_at_every_unit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    region = rng.integers(0, 1 + seed % 3, n)
    places = np.column_stack([region, 10 * region + rng.integers(0, 4, n)])
    profile, level = rng.integers(0, 3, n), rng.integers(0, 2, n)
    turn, luck, pairs = rng.permutation(n), rng.permutation(n), int(rng.integers(1, n))
    partner, state = swap_pairs(profile, places, level, turn, luck.astype(float), pairs)
    assert partner.tolist() == looked_for(profile, places, level, turn, luck, pairs)
    assert ((partner != np.arange(n)) == (state == SWAPPED)).all()
    assert set(state.tolist()) <= {SWAPPED, NO_PARTNER, NOT_REACHED}
