"""Partners for rank swapping."""

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels import worth_compiling
from sfumato.kernels.rank_swapping import plain


def swap_partners(draws: NDArray[np.float64], window: int) -> NDArray[np.intp]:
    """Pair ranks from the lowest up: rank i with the floor(draws[i] * m)-th of the m free ranks in its window."""
    if not worth_compiling(len(draws)):
        return plain.swap_partners(draws, window)
    from sfumato.kernels.rank_swapping import compiled

    return compiled.swap_partners(draws, window)
