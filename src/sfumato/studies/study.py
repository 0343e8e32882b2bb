"""What a study tells: figures of ours beside printed ones, statements that hold or do not, and the reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.data.microdata import Microdata


@dataclass(frozen=True)
class Figure:
    """One figure: ours (mean over replicates), the spread between replicates, and the printed one."""

    ours: float
    spread: float  # standard deviation between replicates; 0 where nothing is random, NaN where unknown
    printed: float  # NaN where nothing is printed
    bold: bool = False  # marked among ours, as the paper marks its best in bold
    printed_bold: bool = False  # marked among the printed ones

    @property
    def difference(self) -> float:
        """Ours minus print."""
        return self.ours - self.printed


@dataclass(frozen=True)
class Line:
    """One row of a printed table: its name in print, the method that stands for it, its figures by column."""

    name: str
    family: str
    method: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True)
class Finding:
    """A statement about our figures and the printed ones; None where printed figures are absent or seeds disagree."""

    statement: str
    holds: bool | None
    detail: str
    changes: bool = False  # whether the verdict changes with the seed, so that none is given


@dataclass(frozen=True)
class Sample:
    """A table and its protected versions by method, for pictures of what the methods do to it."""

    name: str
    original: Microdata
    protected: Mapping[str, Microdata]


@dataclass(frozen=True)
class Scatter:
    """A figure of the paper drawn again: two columns of the lines whose names start alike."""

    name: str
    start: str
    across: str
    upward: str


@dataclass(frozen=True)
class Curve:
    """A function that the paper draws, with the points that it names."""

    name: str
    across: str
    upward: str
    points: tuple[tuple[float, float], ...]
    marks: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """A paper's experiment, done again."""

    name: str
    title: str
    source: str
    setting: tuple[str, ...]  # how it was done, a paragraph each
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)  # by family: why the figures differ from print
    samples: tuple[Sample, ...] = ()
    scatters: tuple[Scatter, ...] = ()
    curves: tuple[Curve, ...] = ()
    ranking: str = ""  # the column by which all lines are listed together, as they stand
    seed: int
    replicates: int
    seconds: float
    versions: Mapping[str, str]
    fingerprint: str  # of the data, or where they come from
