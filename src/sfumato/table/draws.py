"""Random draws that are numbered by record, so that they do not depend on how a table is cut into parts.

Philox (Salmon et al. 2011) is a function of a key and a counter. The key is made of the seed, the step of the method
and the variable; the counter is the number of the record in the whole table. These are other draws than those in
memory, where the records of a variable draw one after the other from one stream.
"""

from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
AT_A_TIME = 4  # numbers that one value of the counter gives


@dataclass(frozen=True)
class Draws:
    """The draws of one step of a method: one number for each variable and record of the whole table.

    >>> draws = Draws(7, "Noise")
    >>> both = np.concatenate([draws.uniform("income", 0, 3), draws.uniform("income", 3, 5)])
    >>> bool((both == draws.uniform("income", 0, 8)).all())
    True
    """

    seed: int
    step: str
    number: int = 0  # of the step, from 0

    def stream(self, variable: str) -> np.random.Generator:
        """Return the stream of a variable that is masked whole: that of a single method in memory."""
        further = [self.number] if self.number else []
        return np.random.default_rng([self.seed, crc32(variable.encode()), *further])

    def uniform(self, variable: str, first: int, count: int) -> Floats:
        """Return numbers evenly spread over [0, 1), of ``count`` records from the one numbered ``first`` on."""
        key = sha256(f"{self.seed}|{self.step}|{variable}".encode()).digest()[:16]
        stream = np.random.Philox(key=int.from_bytes(key, "little"), counter=first // AT_A_TIME)
        before = first % AT_A_TIME
        return np.random.Generator(stream).random(before + count)[before:]

    def normal(self, variable: str, first: int, count: int) -> Floats:
        """Return numbers of the standard normal distribution, by the inverse of its distribution function."""
        from scipy.special import ndtri

        # in the middle of the 2^53 steps that a uniform number can take, because at 0 there is none, nor at 1
        found: Floats = ndtri(np.minimum(self.uniform(variable, first, count) + 2.0**-54, 1 - 2.0**-53))
        return found
