"""What the steward has said so far, as plain data: the file, its schema, the recodings, candidates and bounds."""

from dataclasses import dataclass, fields, replace
from typing import Any

from sfumato.compare import plain
from sfumato.project.options import SweepOptions


@dataclass(frozen=True, kw_only=True)
class Draft(SweepOptions):
    """Everything that a run depends on; the command line can say the same (``sfumato.workbench.commands``).

    The options of a sweep are said as the command line takes them; methods and measures of the steward's own stand in
    ``own`` and ``uses``, as texts, because candidates may be proposed beside them.
    """

    source: str = ""  # the original: a name inside the project's folder, or the absolute path said on the command line
    confirmed: bool = False  # whether the steward has looked at how the file is read
    schema: str = ""  # as schema.toml says it
    left_behind: str = ""  # what schema.toml still says of the file that was open before
    dismissed: tuple[str, ...] = ()  # proposals for the schema that the steward has declined
    recodings: str = ""  # JSON of the recodings that every candidate begins with
    removed: tuple[str, ...] = ()  # variables that every candidate leaves out
    own: tuple[str, ...] = ()  # methods put together by hand
    proposed: bool = True  # whether candidates are composed to fit the table and the bounds
    elsewhere: tuple[str, ...] = ()  # files in the folder that were protected elsewhere
    uses: tuple[str, ...] = ()  # measures of what users do with the file: tables, regressions
    bounds_stated: str = ""  # when, UTC: before or after results were seen

    def to_json(self) -> str:
        """Write what was said as text; what is as by default is left out."""
        usual = vars(Draft())
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain.to_json({name: value for name, value in told.items() if value != usual[name]}, exact=True)

    @classmethod
    def from_json(cls, text: str) -> "Draft":
        """Read the draft that ``to_json`` wrote."""
        return plain.from_json(cls, text)

    def but(self, **changes: Any) -> "Draft":
        """Return the draft with these fields changed."""
        return replace(self, **changes)
