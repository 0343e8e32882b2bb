"""The plain structure that every renderer reads: text, numbers, tuples and nothing that needs the data again.

It goes to JSON and back, so that a report can be rendered anywhere and at any time after the data are gone.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from sfumato.about import Better, Directed, Purpose, Unit
from sfumato.auditing.findings import Checked
from sfumato.compare import plain
from sfumato.compare.examine.findings import (
    CoefficientChange,
    CorrelationChange,
    KeyLevel,
    PairUtility,
    RecordRisk,
    VariableDetail,
    VariableUtility,
)
from sfumato.compare.figures import Figure, numberless
from sfumato.outcome import Reason, Status

Grade = Literal["not for", "with care", "coarser", "as before", "not compared"]
GRADES: tuple[Grade, ...] = get_args(Grade)
ELSEWHERE = "protected elsewhere"  # the family of a candidate that no method of ours has made


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


@dataclass(frozen=True)
class MeasureLine(Directed):
    """What a reader must know of a measure to read its figures."""

    key: str
    name: str
    title: str
    purpose: Purpose
    better: Better
    unit: Unit
    meaning: str = ""
    source: str = ""
    caveat: str = ""
    recipe: str = ""

    @property
    def heading(self) -> str:
        """The title in plain words, with the unit and the direction."""
        unit = "share of all, " if self.unit == "share" else ""
        return f"{self.title} ({unit}{self.better} is better)"


@dataclass(frozen=True)
class VariableLine:
    """One variable of the original file."""

    name: str
    label: str
    kind: str
    role: str
    missing: int
    distinct: int
    range: str


@dataclass(frozen=True)
class Bound:
    """A limit that a release must keep."""

    key: str
    name: str
    limit: float
    text: str  # such as "at most 5 %"


@dataclass(frozen=True)
class Change:
    """One figure of the original as it is and of the protected table, and the bound it has to keep."""

    what: str
    before: str
    after: str
    bound: str = ""
    kept: bool | None = None  # None: there is no bound
    part: bool = False  # a part of the figure above it


@dataclass(frozen=True)
class Verdict:
    """What was decided and what it costs, for who has ten seconds."""

    publish: bool | None  # None: nothing was to be decided
    words: str
    done: str = ""  # what protects the file, in a sentence
    found: str = ""  # expected re-identifications before and after
    basis: str = ""  # which records figures and details are of, where these are not the same
    price: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()  # what goes out as it was collected, and which of it links two releases
    warnings: tuple[str, ...] = ()  # bounds that ask for nothing, a choice that chance may have made
    advice: tuple[str, ...] = ()  # what to change if nothing can be published
    changes: tuple[Change, ...] = ()
    explained: tuple[str, ...] = ()  # what lines of these mean that their words leave open


@dataclass(frozen=True)
class CandidateLine:
    """One candidate with its figures and its place among the others."""

    label: str
    family: str
    rank: int
    figures: Mapping[str, Figure]
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    on_frontier: bool = False
    doubtful: bool = False
    dominated_by: tuple[str, ...] = ()
    left_out: Reason | None = None
    feasible: bool | None = None
    unsure: bool = False
    tied: bool = False
    chosen: bool = False
    score_parts: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    short: str = ""  # a name in a few words, if the label is long
    why: str = ""  # what it does and why it was tried, in a sentence

    @property
    def name(self) -> str:
        """The short name, or the label if there is none."""
        return self.short or self.label

    @property
    def status(self) -> str:
        """Its place in a few words."""
        if self.chosen:
            return "chosen"
        words = []
        if self.tied:
            words.append("as good as the chosen one")
        if self.on_frontier:
            words.append("on the frontier")
        elif self.dominated_by:
            words.append("dominated")
        if self.doubtful:
            words.append("within error")
        if self.feasible is False:
            words.append("breaks the bound")
        if self.unsure:
            words.append("too near the bound to be sure")
        why = [self.left_out] if self.left_out is not None else self.reasons.values()
        return ", ".join(words) or "; ".join(dict.fromkeys(map(str, why)))


@dataclass(frozen=True)
class Usefulness:
    """What a file is still good for, by variable and pair; ``drawn`` are the pairs on the heat map."""

    value: float
    parts: Mapping[str, float]
    statement: str
    variables: tuple[VariableUtility, ...]
    pairs: tuple[PairUtility, ...]
    drawn: tuple[PairUtility, ...]
    worst: tuple[PairUtility, ...]
    counts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    sampled: bool = False  # whether it is of a sample of the records


@dataclass(frozen=True)
class PairFigures:
    """What one measure says of every pair of variables."""

    key: str  # of the measure
    figures: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class ReleaseVariable:
    """One variable of the protected file, as everyone may know it, with one grade from all that is known of it."""

    name: str
    label: str
    kind: str
    done: str
    missing: float  # share of its values
    grade: Grade
    use: str  # what it is good for, in words


@dataclass(frozen=True)
class Avoid:
    """What not to do with these variables; those that suffered themselves, not all that are named."""

    variables: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class ChangedPair:
    """Two variables whose association is not to be relied on, and why."""

    first: str
    second: str
    what: str


@dataclass(frozen=True)
class Advice:
    """How to handle one trait of the protected file."""

    topic: str
    text: str


@dataclass(frozen=True)
class Release:
    """The protected file in words that may go out with it: no risk, parameter, seed or record."""

    records: int
    done: tuple[str, ...]
    variables: tuple[ReleaseVariable, ...]
    removed: tuple[str, ...]
    statement: str
    avoid: tuple[Avoid, ...]
    changed: tuple[ChangedPair, ...] = ()  # every pair behind what is to be avoided, the worst first
    advice: tuple[Advice, ...] = ()
    besides: tuple[str, ...] = ()  # what was done to the file as a whole: order, numbers, weights

    @property
    def worst_first(self) -> tuple[ReleaseVariable, ...]:
        """The variables that need a word first, else in the order of the file."""
        return tuple(sorted(self.variables, key=lambda variable: GRADES.index(variable.grade)))


@dataclass(frozen=True)
class Detail:
    """One candidate looked at closely."""

    candidate: str
    notes: tuple[str, ...]
    variables: tuple[VariableDetail, ...]
    by_variable: tuple[str, ...]  # keys of the measures that say something per variable
    correlations: tuple[CorrelationChange, ...]
    records: tuple[RecordRisk, ...]
    parts: Mapping[str, Mapping[str, Figure]]
    coefficients: tuple[CoefficientChange, ...] = ()  # those whose intervals overlap least
    usefulness: Usefulness | None = None
    by_pair: tuple[PairFigures, ...] = ()  # of measures that ``usefulness`` does not tell of
    release: Release | None = None
    levels: tuple[KeyLevel, ...] = ()  # of the keys, if the best were sought

    @property
    def telling_risks(self) -> tuple[str, ...]:
        """The measures under which some record that is listed is at risk: a column of zeros tells nothing."""
        listed = self.records[0].risks if self.records else {}
        return tuple(key for key in listed if any(entry.risks[key].value > 0 for entry in self.records))

    @property
    def same(self) -> tuple[VariableDetail, ...]:
        """The variables whose values changed and whose distribution did not."""
        return tuple(v for v in self.variables if v.changed and v.shifted == 0 and not v.gone)


@dataclass(frozen=True)
class Run:
    """What was run, so that it can be run again."""

    command: str = ""
    created: str = ""
    seed: int = 0
    replicates: int = 1
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    schema: str = ""


@dataclass(frozen=True)
class Summary:
    """Everything a report says."""

    kind: Literal["sweep", "compare"]
    title: str
    verdict: Verdict
    file: str
    records: int
    question: str
    sentence: str
    headline: tuple[tuple[str, str], ...]  # the few figures that matter, each with what it is
    variables: tuple[VariableLine, ...]
    measures: tuple[MeasureLine, ...]
    candidates: tuple[CandidateLine, ...]
    run: Run
    risk: str | None = None  # key of the measure on the horizontal axis
    utility: str | None = None
    score: str | None = None
    bounds: tuple[Bound, ...] = ()
    detail: Detail | None = None
    over_records: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of the chosen: bootstrap intervals
    resampling: tuple[str, ...] = ()  # what a reader must know of these intervals
    released: str = ""  # the name of the protected file
    cautions: tuple[str, ...] = ()  # what the figures of the chosen table do not say
    notes: tuple[str, ...] = ()
    original: CandidateLine | None = None  # the original, measured like a candidate
    checked: Checked | None = None  # what was done before the file goes out, and what it then gives back
    decision: Decision | None = None  # who approved the release, if somebody has
    sampled: int = 0  # records that details are of, where these are not all

    @property
    def seen(self) -> str:
        """What a heading adds where not all records were looked at: of how many they are a sample; else nothing."""
        return f", of a random sample of {self.sampled:,} of {self.records:,} records" if self.sampled else ""

    def measure(self, key: str) -> MeasureLine:
        """Return the line of one measure."""
        return next(line for line in self.measures if line.key == key)

    @property
    def names(self) -> dict[str, str]:
        """The short names of the candidates by their labels."""
        return {line.label: line.name for line in self.candidates}

    @property
    def chosen(self) -> CandidateLine | None:
        """The candidate that was chosen."""
        return next((line for line in self.candidates if line.chosen), None)

    @property
    def on_map(self) -> tuple[CandidateLine, ...]:
        """The candidates that have a place on the map: a finite risk and a finite utility."""
        axes = [key for key in (self.risk, self.utility) if key is not None]
        if len(axes) < 2:
            return ()
        having = (line for line in self.candidates if all(key in line.figures for key in axes))
        return tuple(line for line in having if all(math.isfinite(line.figures[key].value) for key in axes))

    @property
    def original_on_map(self) -> CandidateLine | None:
        """The original as a point of the map, if it has both figures."""
        line, axes = self.original, [key for key in (self.risk, self.utility) if key is not None]
        if line is None or len(axes) < 2:
            return None
        there = all(key in line.figures and math.isfinite(line.figures[key].value) for key in axes)
        return line if there else None

    @property
    def off_map(self) -> tuple[Bound, ...]:
        """The bounds on measures that are neither axis of the map."""
        return tuple(bound for bound in self.bounds if bound.key not in (self.risk, self.utility))

    def broken(self, line: CandidateLine, bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        """Return which of these bounds a candidate breaks; one without the figure cannot be said to keep it."""
        return tuple(bound for bound in bounds if not self._keeps(line, bound))

    def _keeps(self, line: CandidateLine, bound: Bound) -> bool:
        if bound.key not in line.figures:
            return False
        return self.measure(bound.key).keeps(line.figures[bound.key].value, bound.limit)

    @property
    def lacking(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every reason for a missing figure, with its candidates; reasons that differ in numbers alone are one."""
        found: dict[str, tuple[str, dict[str, None]]] = {}
        for line in self.candidates:
            for reason in map(str, line.reasons.values()):
                found.setdefault(numberless(reason), (reason, {}))[1][line.label] = None
        return tuple((reason, tuple(labels)) for reason, labels in found.values())

    @property
    def uncomputed(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Of one protected file: every reason for a missing figure, with the measures it holds for."""
        found: dict[str, list[str]] = {}
        for key, reason in self.candidates[0].reasons.items():
            own = reason.who == key.partition("(")[0]  # the class of the measure, which is named already
            refused = reason.text if own else reason.why
            said = refused if reason.status is Status.NOT_APPLICABLE else str(reason)
            found.setdefault(said, []).append(self.measure(key).name)
        return tuple((reason, tuple(names)) for reason, names in found.items())

    @property
    def failed(self) -> tuple[CandidateLine, ...]:
        """The candidates for which some figure could not be computed."""
        return tuple(line for line in self.candidates if line.reasons)


def to_json(summary: Summary) -> str:
    """Write a summary as JSON text; a number that JSON lacks is written as "nan", "inf" or "-inf"."""
    return plain.to_json(summary, indent=1, exact=True)


def from_json(text: str) -> Summary:
    """Read the summary that ``to_json`` wrote."""
    return plain.from_json(Summary, text)
