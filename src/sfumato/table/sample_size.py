"""How many records of a table in parts are looked at one by one."""

from sfumato.errors import ParameterError

SAMPLED = 100_000  # records, unless somebody says otherwise
FEWEST = 100


def check_sample(size: object) -> int:
    """Require a number of records that a sample can have."""
    if isinstance(size, bool) or not isinstance(size, int) or size < FEWEST:
        raise ParameterError(f"sample must be a whole number of records, at least {FEWEST}; got {size!r}")
    return size
