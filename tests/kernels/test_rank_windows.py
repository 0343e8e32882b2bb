import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.kernels.rank_windows import compiled, search_windows


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 3), st.booleans())
def test_the_tree_counts_what_all_pairs_do(seed: int, n: int, p: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5 if coarse else 200, (n, p)) / 2
    centre = table + rng.integers(-3, 4, (n, p))
    low, high = centre - rng.integers(-1, 6, (n, p)), centre + rng.integers(0, 6, (n, p))  # some windows are empty
    steps = rng.integers(1, 4, p).astype(float)
    own = (np.abs(table - centre) * steps).sum(axis=1)
    found = search_windows(table, low, high, centre, own, steps)
    kernel = compiled.search_windows(table, low, high, centre, own, steps, threads=2)
    for i in range(n):
        inside = [j for j in range(n) if (low[i] <= table[j]).all() and (table[j] <= high[i]).all()]
        moved = [sum(abs(table[j, k] - centre[i, k]) * steps[k] for k in range(p)) for j in inside]
        farther, equal = sum(m > own[i] for m in moved), sum(m == own[i] for m in moved)
        assert found[0][i] == kernel[0][i] == len(inside)
        assert found[1][i] == kernel[1][i] == (farther > 0)
        assert found[2][i] == equal
        if not farther:
            assert kernel[2][i] == equal
