"""A register in parts: the demo survey without households, as files and as one table in memory."""

from pathlib import Path

import sfumato
from sfumato import Microdata

KEYS = ("region", "urbanity", "sex", "age")


def register(households: int = 900) -> Microdata:
    """Return some two records per household: an id, a weight, four keys and a few amounts."""
    survey = sfumato.household_survey(households)
    kept = ("person", "weight", *KEYS, "tenure", "hours", "earnings", "wealth", "rent")
    return survey.without([name for name in survey.names if name not in kept])


def write_register(folder: Path, parts: int = 3, households: int = 900) -> tuple[Path, Path, Microdata]:
    """Write it as so many files; return their folder, the schema beside it, and the table in memory."""
    from scanned import scanned

    data = register(households)
    scanned(data, folder / "register", parts)
    schema = folder / "schema.toml"
    sfumato.write_schema(data, schema)
    return folder / "register", schema, data
