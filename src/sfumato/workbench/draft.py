"""What the steward has said so far, as plain data: the file, its schema, the recodings, candidates and bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfumato.compare import plain


@dataclass(frozen=True)
class Draft:
    """Everything that a run depends on; the command line can say the same (``sfumato.workbench.commands``).

    Methods, measures and recodings are kept as the texts in which the command line takes them.
    """

    source: str = ""  # the original: a name inside the project's folder, or the absolute path said on the command line
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    confirmed: bool = False  # whether the steward has looked at how the file is read
    schema: str = ""  # as schema.toml says it
    left_behind: str = ""  # what schema.toml still says of the file that was open before
    dismissed: tuple[str, ...] = ()  # proposals for the schema that the steward has declined
    recodings: str = ""  # JSON of the recodings that every candidate begins with
    removed: tuple[str, ...] = ()  # variables that every candidate leaves out
    own: tuple[str, ...] = ()  # methods put together by hand
    proposed: bool = True  # whether candidates are composed to fit the table and the bounds
    breadth: int = 1  # how many of these: 1, 2 or 3
    elsewhere: tuple[str, ...] = ()  # files in the folder that were protected elsewhere
    uses: tuple[str, ...] = ()  # measures of what users do with the file: tables, regressions
    at_most: Mapping[str, float] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)
    bounds_stated: str = ""  # when, UTC: before or after results were seen
    population: float | None = None
    replicates: int = 3
    choose: str | None = None  # the candidate that the steward prefers to the most useful one
    keep_order: bool = False
    keep_weights: bool = False
    keep_households: bool = False
    despite_audit: bool = False

    def to_json(self) -> str:
        """Write the draft as text."""
        return plain.to_json(self, exact=True)

    @classmethod
    def from_json(cls, text: str) -> "Draft":
        """Read the draft that ``to_json`` wrote."""
        return plain.from_json(cls, text)

    def but(self, **changes: Any) -> "Draft":
        """Return the draft with these fields changed."""
        return replace(self, **changes)
