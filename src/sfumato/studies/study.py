"""What a study tells, and how its statements are judged: row by row, and with several seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.compare.experiment import Experiment
from sfumato.compare.figures import listed
from sfumato.compare.results import Results
from sfumato.errors import DataError
from sfumato.table.files import read
from sfumato.table.microdata import Microdata


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a study is told; what is None is as the paper has it."""

    data: Path | None = None
    printed: Path | None = None
    replicates: int | None = None
    seed: int = 0
    workers: int = 1
    store: Path | None = None
    progress: bool = False
    records: int | None = None

    def results_of(self, experiment: Experiment) -> Results:
        """Carry out an experiment."""
        return experiment.run(workers=self.workers, store=self.store, progress=self.progress)


@dataclass(frozen=True)
class Figure:
    """One figure: ours (mean over replicates), the spread between replicates, and the printed one."""

    ours: float
    spread: float  # standard deviation between replicates; 0 where nothing is random, NaN where unknown
    printed: float  # NaN where nothing is printed
    bold: bool = False  # marked among ours, as the paper marks its best in bold
    printed_bold: bool = False  # marked among the printed ones

    @classmethod
    def of(cls, values: Sequence[float], printed: float = math.nan) -> "Figure":
        """Take mean and spread of the figures of several replicates."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)) if len(values) else math.nan, spread, printed)

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


def printed_rows(path: Path, columns: Sequence[str], what: str) -> list[dict[str, Any]]:
    """Read the rows of a printed table from a file that has these columns."""
    table = read(path).to_arrow()
    lacking = [name for name in columns if name not in table.column_names]
    if lacking:
        raise DataError(f"{path} {what}: it has no column {', '.join(lacking)}")
    return list(table.to_pylist())


def census_file(path: Path, names: Iterable[str]) -> Microdata:
    """Read the Census file of the papers, which has these amounts."""
    census = read(path)
    absent = [name for name in names if name not in census.schema.analysed("numeric")]
    if absent:
        raise DataError(f"the study needs the Census file of the paper; {path} has no numeric {', '.join(absent)}")
    return census


# A sentence of a paper, tested row by row: in how many of our rows it holds, beside how many of the printed ones


def judged(statement: str, held: Mapping[str, bool], printed: tuple[int, int], of: str = "rows") -> Finding:
    """Judge a statement by its rows: it holds if in as large a share of ours as of the printed ones.

    ``printed`` counts the printed rows in which it holds, and all printed rows that it speaks of.

    >>> judged("A is below B", {"x": True, "y": False}, (7, 8)).detail
    'in 1 of 2 rows of ours, in 7 of 8 printed; not in y'
    """
    failing = tuple(name for name, holds in held.items() if not holds)
    count = len(held) - len(failing)
    detail = f"in {count} of {len(held)} {of} of ours, in {printed[0]} of {printed[1]} printed"
    if failing:
        detail += f"; not in {listed(failing)}"
    return Finding(statement, count * printed[1] >= printed[0] * len(held), detail)


# Statements judged with several seeds: one whose verdict changes with the seed gets none, and says so

SEEDS = 5

# statements whose verdict was not the same with all of SEEDS seeds, at full size, and with how many of them they held
CHANGING: dict[str, dict[str, int]] = {
    "domingo": {
        "Distortion by probability distribution performs very poorly (section 7): among the worst ten by Score": 1,
    },
    "karr": {
        "EO of Noise(.16) is as printed, within 0.03 or two standard errors": 4,
        "Tables 1 and 2: Rank(.15) has EO below 0.001: its correlations are distorted": 4,
        "EO falls as the dimension grows, or stays within 0.01": 3,
        "IO has no strong dimension effect: it falls throughout in few rows only": 3,
        "KL grows with the dimension": 2,
        "KL is greater with high correlation than with low": 4,
    },
    "kim": {},
    "kocar": {},
    "woo": {
        "Symmetric data, Logistic II: Rank beats Micz03+Noise for some types": 2,
        "Non-symmetric low positive data: Micz03 is the best of three in every measure but Logistic I": 3,
        "Non-symmetric data but low positive: Tree Model II and the clusters make Micz03 the worst of three": 1,
        "Non-symmetric data but low positive: Micz03 does not differ from Syn, by 15 %, in clusters, Tree Model I and "
        "modified logistic models": 1,
    },
}


def unsettled(study: Study) -> Study:
    """Take the verdict from statements that are known to change theirs with the seed."""
    held = CHANGING[study.name]
    return replace(study, findings=tuple(_doubted(f, held.get(f.statement)) for f in study.findings))


def _doubted(finding: Finding, held: int | None) -> Finding:
    if held is None or finding.holds is None:
        return finding
    told = f"{finding.detail}; the verdict changes with the seed: it held with {held} of {SEEDS}"
    return replace(finding, holds=None, changes=True, detail=told)


def over_seeds(studies: Sequence[Study]) -> Study:
    """Join runs of one study with several seeds: a verdict is given where it is the same with all of them.

    Figures are those of the first seed.
    """
    first = studies[0]
    seeds = [study.seed for study in studies]
    others = [{finding.statement: finding for finding in study.findings} for study in studies]
    joined = tuple(_joined([of[f.statement] for of in others if f.statement in of], seeds) for f in first.findings)
    tried = listed(tuple(str(seed) for seed in seeds), 9)
    said = f"Statements were judged with the seeds {tried}; figures are of seed {first.seed}."
    seconds = sum(study.seconds for study in studies)
    return replace(first, findings=joined, setting=(*first.setting, said), seconds=seconds)


def _joined(found: Sequence[Finding], seeds: Iterable[int]) -> Finding:
    """Join what the seeds say of one statement."""
    first = found[0]
    verdicts = {finding.holds for finding in found}
    if verdicts == {None}:
        return first
    if len(verdicts) == 1:
        return replace(first, detail=f"{first.detail}; the same verdict with {len(found)} seeds")
    held = tuple(str(seed) for seed, finding in zip(seeds, found, strict=False) if finding.holds)
    failing = next(finding for finding in found if not finding.holds)
    holding = next((finding for finding in found if finding.holds), first)
    told = (
        f"the verdict changes with the seed: it holds with {len(held)} of {len(found)} "
        f"({listed(held, 9) or 'none'}); where it holds: {holding.detail}; where it does not: {failing.detail}"
    )
    return replace(first, holds=None, changes=True, detail=told)
