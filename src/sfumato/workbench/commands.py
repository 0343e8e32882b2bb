"""Words that the commands and the code shown on several screens have in common."""

from sfumato.workbench.desk import SCHEMA
from sfumato.workbench.draft import Draft


def reading(draft: Draft) -> list[str]:
    """Return the words of a command that say which file is read, and how."""
    words = [draft.source]
    for option in ("encoding", "delimiter", "decimal"):
        said = getattr(draft, option)
        words += [f"--{option}", said] if said else []
    return words


def read_call(draft: Draft, schema: str | None = SCHEMA) -> str:
    """Return the call that reads the file in Python."""
    said = [repr(draft.source), *([repr(schema)] if schema else [])]
    said += [f"{o}={getattr(draft, o)!r}" for o in ("encoding", "delimiter", "decimal") if getattr(draft, o)]
    return f"sfumato.read({', '.join(said)})"
