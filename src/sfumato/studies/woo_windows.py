"""Whether the printed figures of rank swapping tell its window: MD and MCM on data that a few records contaminate."""

import numpy as np
import pyarrow as pa

from sfumato.compare.figures import listed
from sfumato.core import Method
from sfumato.data.microdata import Microdata
from sfumato.studies.study import Finding
from sfumato.utility import CDFMaximum, CDFSquares

SHARE, WIDTH, CORRELATION = 0.02, 20.0, 0.8  # of the contaminating records
PRINTED_MD, PRINTED_MCM = 0.009, 0.127  # the largest that print has of Rank on symmetric data
STATEMENT = (
    "MD and MCM of Rank do not tell its window: on symmetric data that 2 % of the records contaminate, the window of "
    "the text, p = .15, has none above the largest printed, 0.009 and 0.127"
)


def contaminated(n: int, seed: int) -> Microdata:
    """Draw n records: uncorrelated standard normal, but for 2 % that are correlated and 20 times as wide.

    Pearson's correlation comes of these few; ranks, on which MD and MCM of swapped data depend, are nearly
    uncorrelated.
    """
    rng = np.random.default_rng([seed, 15])
    far = rng.random(n) < SHARE
    first, other = rng.standard_normal((2, n))
    r, width = np.where(far, CORRELATION, 0.0), np.where(far, WIDTH, 1.0)
    return Microdata.from_frame(pa.table({"x1": width * first, "x2": width * (r * first + np.sqrt(1 - r**2) * other)}))


def windows(methods: dict[str, Method], n: int, seed: int, *, comparable: bool) -> Finding:
    """Measure all methods on contaminated data; without a verdict if the printed tables have another size."""
    data = contaminated(n, seed)
    told, figures = [], {}
    for name, method in methods.items():
        protected = method.protect(data, rng=seed)
        figures[name] = tuple(m.evaluate(data, protected).value for m in (CDFMaximum(), CDFSquares(total=True)))
        told.append(f"{name} {figures[name][0]:.4f} and {figures[name][1]:.3f}")
    pearson = float(np.asarray(np.corrcoef(data.numeric().T))[0, 1])
    near = figures["Rank"][0] <= PRINTED_MD and figures["Rank"][1] <= PRINTED_MCM
    return Finding(
        STATEMENT, near if comparable else None, f"Pearson's r {pearson:.2f}; MD and MCM: {listed(tuple(told), 9)}"
    )
