"""Small files of bin codes for the tests of linkage."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Codes = NDArray[np.int32]


@st.composite
def files(draw: st.DrawFn, most: int = 12) -> tuple[Codes, Codes]:
    """Two files of bin codes with the same variables, -1 (missing) among them."""
    variables = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bins = draw(st.integers(1, 5))
    rows = draw(st.tuples(st.integers(1, most), st.integers(1, most)))
    left, right = (rng.integers(-1, bins, (n, variables)).astype(np.int32) for n in rows)
    return left, right
