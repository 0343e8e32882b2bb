"""Random generators of an experiment: by name and replicate, so that no figure depends on what else is run.

All parameter values of a method share their draws, which makes curves over a parameter smooth; every method faces
the same attack, for a measure draws by its own name.
"""

import secrets
from zlib import crc32

import numpy as np

from sfumato.core import Measure, Method

LARGEST_SEED = 2**128 - 1  # as many bits as the generators can tell apart


def drawn_seed() -> int:
    """Draw a seed nobody can guess: what protects a table can be undone by whoever knows it."""
    return secrets.randbits(63)


def generator(seed: int, owner: Method | Measure, replicate: int) -> np.random.Generator:
    """Return the generator of a method or measure in one replicate, the same in every process and on every machine.

    The class's name enters by its CRC-32, never by ``hash``, which differs from one run of Python to the next.
    """
    family = owner.family if isinstance(owner, Method) else type(owner).__name__
    name = crc32(family.encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(name, replicate)))
