"""A decision to release a file, signed: who approved it, why, when, and which file it was."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Who approved a release, and of which file; void if the release is another file by now."""

    by: str
    reasons: tuple[str, ...]
    signed: str  # UTC
    candidate: str  # its label
    file: str
    sha256: str
    bounds: tuple[str, ...]  # such as "Reidentification at most 5 %"
    void: str = ""  # why it does not hold any more
