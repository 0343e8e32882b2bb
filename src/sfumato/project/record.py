"""The plan of a sweep, kept in its folder as plain data: what is tried, measured and bounded.

So that who looks at the folder while a sweep goes on, or after it, knows what it is about, and can choose among what is
finished without running anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.project.options import SweepOptions

if TYPE_CHECKING:
    from sfumato.compare.results import Results
    from sfumato.project.plan import Plan
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts

NAME = "plan.json"
STORE = "results.sqlite"
REPORT = "results.json"


# what says nothing of the figures, or stands in the plan in another form
NOT_KEPT = ("also_composed", "candidates", "bootstrap", "workers", "out")


@dataclass(frozen=True, kw_only=True)
class Record(SweepOptions):
    """What a sweep is about: what it was told, settled, with methods and measures as texts of the command line."""

    methods: tuple[str, ...]
    measures: tuple[str, ...]
    first: str | None = None  # what every candidate begins with
    replicates: int
    seed: int
    risk: str
    utility: str
    sample: int = 0  # records of a table in parts that are looked at one by one
    fingerprint: str  # of the original under its schema
    whys: Mapping[str, str] = field(default_factory=dict)  # what a composed candidate does, by its text
    elsewhere: tuple[str, ...] = ()  # names of candidates that were protected elsewhere
    elsewhere_files: tuple[str, ...] = ()  # where these stand, from the root of the file system
    composed: bool = False  # whether candidates were composed to fit the table
    asked: tuple[str, ...] = ()  # measures that were named; those that fit the table follow from it
    file: str = ""  # the original, from the root of the file system
    schema: str = ""  # as schema.toml says it

    def __post_init__(self) -> None:
        """Take everything as it stands: it was checked when the sweep was planned."""
        for name in ("at_most", "at_least"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    @classmethod
    def of(cls, plan: "Plan") -> "Record":
        """Return what is kept of a plan."""
        from sfumato.table.schema_file import schema_text

        settled = {
            "methods": tuple(map(repr, plan.methods)),
            "measures": tuple(map(repr, plan.measures)),
            "first": None if plan.first is None else repr(plan.first),
            "sample": 0 if plan.whole is None else len(plan.data),
        }
        return cls(
            **{name: value for name, value in plan.settings().items() if name not in NOT_KEPT} | settled,
            fingerprint=plan.table.fingerprint,
            whys=dict(plan.whys),
            elsewhere=tuple(plan.elsewhere),
            elsewhere_files=tuple(str(path.resolve()) for path in plan.candidates),
            composed=plan.composed,
            asked=plan.asked,
            file=str(plan.file.resolve()),
            schema=schema_text(plan.data, folder=plan.out),
        )

    def save(self, folder: Path) -> Path:
        """Write the record into a folder, for its owner alone: it holds the seed."""
        from sfumato.compare.plain import to_json
        from sfumato.report.page import save

        kept = {name: value for name, value in vars(self).items() if name not in NOT_KEPT}
        return save(folder / NAME, to_json(kept, indent=1, exact=True).encode())

    @staticmethod
    def read(folder: str | Path) -> "Record | None":
        """Return the record of the last sweep into a folder; None where there was none."""
        from sfumato.compare.plain import from_file

        return from_file(Record, Path(folder) / NAME, "run the sweep again: its figures are kept")

    @staticmethod
    def carried_out(folder: str | Path) -> bool:
        """Tell whether the last sweep into a folder came to its end: its report is written after the record."""
        record, report = Path(folder) / NAME, Path(folder) / REPORT
        try:
            return not record.exists() or report.stat().st_mtime_ns >= record.stat().st_mtime_ns
        except OSError:
            return False

    def results(
        self,
        data: "Microdata | TableInParts",
        folder: str | Path,
        tables: "Mapping[str, Microdata] | Mapping[str, TableInParts] | None" = None,
    ) -> "Results":
        """Return what is finished of the sweep, without computing anything.

        ``data`` is the original under the schema of the sweep, ``tables`` are the candidates protected elsewhere.
        """
        from sfumato.compare.experiment import Experiment
        from sfumato.project.reading import read_measures, read_methods
        from sfumato.table.sample_size import FEWEST

        experiment = Experiment(
            data,
            methods=read_methods(self.methods),
            measures=read_measures(self.measures),
            replicates=self.replicates,
            seed=self.seed,
            candidates={name: table for name, table in (tables or {}).items() if name in self.elsewhere},
            sample=max(self.sample, FEWEST),
            rounded=True,
        )
        return experiment.finished(store=Path(folder) / STORE)


def bounds_of_sweep(path: Path, fingerprint: str) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the bounds of the sweep that wrote a protected file of this table, and whose they are.

    None where no such sweep is known, or its plan cannot be read.
    """
    from sfumato.errors import FileError
    from sfumato.project.tables import written_with

    plan = written_with(path, NAME)
    try:
        record = None if plan is None else Record.read(plan.parent)
    except FileError:
        record = None
    if plan is None or record is None or record.fingerprint != fingerprint:
        return {}, {}, ""
    return dict(record.at_most), dict(record.at_least), f" of the sweep in {plan.parent}"
