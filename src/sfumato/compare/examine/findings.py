"""What is found when one candidate is looked at: plain data, with nothing that needs the tables again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfumato.compare.bootstrap import Way
from sfumato.compare.figures import Figure
from sfumato.table.schema import Kind

Piece = Literal["cautions", "release", "records", "knowing", "detail", "usefulness", "regressions", "bootstrap"]
Deed = Literal["grouped", "ends coded", "rounded", "suppressed", "perturbed"]
LOOKED_FOR: Mapping[Piece, str] = {  # as a sentence names a piece that failed
    "cautions": "what to look at before publishing",
    "release": "what users of the file may be told",
    "records": "the records most at risk",
    "knowing": "what somebody finds who knows more than the keys",
    "detail": "the variables before and after",
    "usefulness": "the usefulness of variables and pairs",
    "regressions": "regressions before and after",
    "bootstrap": "the intervals over records",
}
PIECES: tuple[Piece, ...] = tuple(LOOKED_FOR)


@dataclass(frozen=True)
class OriginalVariable:
    """One variable of the original file: numbers by their ends, categories by the first few of them."""

    name: str
    label: str
    kind: Kind
    role: str
    missing: int
    distinct: int
    ends: tuple[float, float] | None = None  # None if all is missing, and for categories
    categories: tuple[str, ...] = ()
    more: int = 0  # categories not named


@dataclass(frozen=True)
class Moments:
    """A numeric variable in six figures."""

    mean: float
    sd: float
    minimum: float
    median: float
    maximum: float
    missing: int


@dataclass(frozen=True)
class OwnValues:
    """A recoded variable in the values of the original: shares before, and after with classes spread over their values.

    Numbers have the edges of bins, categories their names. Spread evenly is all that the protected table tells.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()
    clipped: bool = False  # the first and last bin hold all values beyond


@dataclass(frozen=True)
class VariableDetail:
    """One variable before and after."""

    name: str
    kind: str
    changed: float | None  # share of records whose value differs; None if records do not match one to one
    gone: bool = False
    missing: tuple[int, int] | None = None  # records without a value, before and after
    recoded: bool = False  # compared in the broader classes of the protected table
    before: Moments | None = None
    after: Moments | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)  # what measures say of it
    edges: tuple[float, ...] = ()  # numeric: the bins; the first and last hold all beyond if `clipped`
    categories: tuple[str, ...] = ()  # ordinal and nominal: the bars
    shares_before: tuple[float, ...] = ()  # of the records that have a value
    shares_after: tuple[float, ...] = ()
    clipped: bool = False
    missing_shares: tuple[float, float] = (0.0, 0.0)  # of all records, before and after
    suppressed: float | None = None  # share of all records whose value was made missing; None if they do not match
    own: OwnValues | None = None  # of a recoded variable: as it is pictured
    blank: tuple[int, int] | None = None  # as ``missing``, in all records, where the rest is of a sample of them

    @property
    def without(self) -> tuple[int | None, int | None]:
        """How many records have no value before and after, as exactly as it is known; None: none has one."""
        if self.blank or self.missing:
            return self.blank or self.missing or (0, 0)
        before, after = (None if m is None else m.missing for m in (self.before, self.after))
        return before, after

    @property
    def moved(self) -> float:
        """How far the two distributions lie apart: the total variation over the bars, from 0 to 1."""
        return sum(abs(a - b) for a, b in zip(self.shares_before, self.shares_after, strict=True)) / 2

    @property
    def gaps(self) -> tuple[tuple[str, float, float], ...]:
        """The records without a value as bars of their own: what they are, and their shares of all before and after.

        Where records match, values made missing are told apart from those that were missing before.
        """
        before, after = self.missing_shares
        suppressed = self.suppressed or 0.0
        found = (("missing", before, max(after - suppressed, 0.0)), ("suppressed", 0.0, suppressed))
        return tuple(bar for bar in found if bar[1] > 0 or bar[2] > 0)

    @property
    def shifted(self) -> float:
        """How far the two tables lie apart with gaps as bars: the total variation over all records, from 0 to 1."""
        own = zip(*self.of_all_records, strict=True)
        return (sum(abs(a - b) for a, b in own) + sum(abs(a - b) for _, a, b in self.gaps)) / 2

    @property
    def of_all_records(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The shares of the original and of the protected table among all their records, missing ones too."""
        before, after = (1 - missing for missing in self.missing_shares)
        return (
            tuple(share * before for share in self.shares_before),
            tuple(share * after for share in self.shares_after),
        )


@dataclass(frozen=True)
class CorrelationChange:
    """A pair of variables and its correlation before and after."""

    first: str
    second: str
    before: float
    after: float


@dataclass(frozen=True)
class KeyLevel:
    """The level that a search chose for a key, and what one level less or more would come to; None: there is none.

    One less would let more records be suppressed, which may be too many (``less_kept``), one more would lose more.
    """

    key: str
    level: int
    levels: int  # the highest
    suppressed: float  # share of the records, at the levels chosen
    loss: float
    less_suppressed: float | None = None
    less_kept: bool | None = None
    more_suppressed: float | None = None
    more_loss: float | None = None


@dataclass(frozen=True)
class Distributions:
    """Every variable before and after, the correlations that moved most, and the levels chosen if they were sought."""

    variables: tuple[VariableDetail, ...]
    correlations: tuple[CorrelationChange, ...]
    levels: tuple[KeyLevel, ...] = ()


@dataclass(frozen=True)
class VariableUtility:
    """What one variable is still good for, alone and with others."""

    name: str
    title: str
    test: str
    p: float | None
    utility: float | None
    pairs: float | None  # the mean over its pairs
    distance: float | None  # between the two distributions, whatever the number of records
    missing: tuple[float, float]  # shares before and after
    note: str = ""


@dataclass(frozen=True)
class PairUtility:
    """What the association of two variables is still good for."""

    first: str
    second: str
    titles: tuple[str, str]
    test: str
    before: float | None
    after: float | None
    p: tuple[float | None, float | None]
    utility: float | None
    effect: float | None  # how far the squared coefficients lie apart
    reason: str  # what became of it, in words
    outcome: str = ""  # the same as one of a few fixed values
    left: float | None = None  # of its records and comparisons; None if deletion is not charged


@dataclass(frozen=True)
class UtilityFound:
    """What a global data utility says of every variable and every pair."""

    value: float
    parts: Mapping[str, float]
    statement: str
    variables: tuple[VariableUtility, ...]
    pairs: tuple[PairUtility, ...]
    notes: tuple[str, ...] = ()
    sampled: bool = False  # whether it is of a sample of the records


@dataclass(frozen=True)
class CoefficientChange:
    """A regression coefficient with its 95 % interval in both tables, and how far the two overlap."""

    model: str
    coefficient: str
    before: tuple[float, float, float]  # estimate, low, high
    after: tuple[float, float, float]
    overlap: float


@dataclass(frozen=True)
class Regressions:
    """The coefficients whose intervals overlap least."""

    coefficients: tuple[CoefficientChange, ...]


@dataclass(frozen=True)
class RecordRisk:
    """A record by its number in the file (from 1) and its risk under each measure that tells records apart.

    ``alone_by`` is a smallest set of keys that no other record of the original agrees with it in.
    """

    record: int
    risks: Mapping[str, Figure]
    keys: Mapping[str, str] = field(default_factory=dict)  # its values in the original
    alone_by: tuple[str, ...] = ()
    by: str = ""  # the key of the first measure under which it is at risk
    scenario: str = ""  # the scenario that this measure speaks of, if it knows any


@dataclass(frozen=True)
class RecordsAtRisk:
    """The records most at risk, the worst first."""

    records: tuple[RecordRisk, ...]


@dataclass(frozen=True)
class Resampled:
    """One figure over records, by bootstrap: its standard error, its interval, and how many repetitions it rests on."""

    error: float
    interval: tuple[float, float]
    way: Way
    repetitions: int  # made
    wanted: int
    shifted: bool  # resampling moves the figure itself, so that the interval does not hold it


@dataclass(frozen=True)
class OverRecords:
    """The figures of both axes over records, by the key of the measure; ``seconds`` is the time allowed for them."""

    figures: Mapping[str, Resampled]
    left_out: Mapping[str, str]  # why a figure was not resampled
    seconds: float | None


@dataclass(frozen=True)
class MoreKnown:
    """The share of records found by who knows every variable of a person, not only the keys of a scenario."""

    share: float
    sample: int = 0  # the records that were looked for, if not all


@dataclass(frozen=True)
class FewLeft:
    """A variable with little information left: how many different values before and after, and those left.

    ``share`` is the entropy that is left, as a share of the original's; ``categories`` are the commonest ones first.
    """

    before: int
    after: int
    share: float
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Merged:
    """Categories that became one: its name, how many they were, their share of the values, and the largest of them."""

    into: str
    number: int
    share: float
    largest: tuple[tuple[str, float], ...]  # each with its share of the values


@dataclass(frozen=True)
class BrokenSum:
    """A sum of variables that held in the original and no longer does: in which share of the records, before and after.

    Records are counted that have all its values.
    """

    name: str
    formula: str
    parts: tuple[str, ...]
    before: float
    after: float


@dataclass(frozen=True)
class ReleasedVariable:
    """One variable of the protected file: what was done to it, and how much of it is missing and was before."""

    name: str
    label: str
    kind: str
    done: tuple[Deed, ...]
    missing: float
    missing_before: float = 0.0
    was: str = ""  # its kind in the original
    same: bool = False  # record by record as in the original
    one_left: bool = False  # made so coarse that all records show the same
    few_left: FewLeft | None = None  # made so coarse that little information is left
    merged: tuple[Merged, ...] = ()  # categories that became one, the largest group first


@dataclass(frozen=True)
class ReleaseFacts:
    """What a description of the protected file for everyone rests on."""

    records: int
    variables: tuple[ReleasedVariable, ...]
    removed: tuple[str, ...]
    whole: int = 0  # records of the file, where the facts are of a sample of them
    weight: str = ""  # the variable of the file that is its weight


@dataclass(frozen=True)
class Gap:
    """A variable that lost many of its values: the shares missing before and after."""

    name: str
    before: float
    after: float


@dataclass(frozen=True)
class SpecialColumn:
    """A column that is not analysed and that is published as it is: a weight, a household, an id, an identifier."""

    name: str
    role: str
    names_units: bool  # a release leaves it out


@dataclass(frozen=True)
class CautionFacts:
    """What warnings rest on: what is missing, what was changed out of sight, and what was not touched at all."""

    gaps: tuple[Gap, ...] = ()
    recoded: tuple[str, ...] = ()  # variables changed in a way that a measure for numbers does not see
    untouched_keys: tuple[str, ...] = ()  # keys other than numbers that are published as they are
    unique: float | None = None  # share of records unique in those keys; None if there are none
    special: tuple[SpecialColumn, ...] = ()
    known_too: tuple[tuple[str, str], ...] = ()  # variables published as they are that a key tells, and the key
    units_found: tuple[
        tuple[str, str], ...
    ] = ()  # what looks like the number of a household, if none is named, and why
    broken_sums: tuple[BrokenSum, ...] = ()


@dataclass(frozen=True)
class Examination:
    """One candidate looked at closely, piece by piece; a piece is None if it was not wanted or does not apply."""

    candidate: str
    cautions: CautionFacts | None = None
    release: ReleaseFacts | None = None
    records: RecordsAtRisk | None = None
    knowing: MoreKnown | None = None
    detail: Distributions | None = None
    usefulness: UtilityFound | None = None
    regressions: Regressions | None = None
    bootstrap: OverRecords | None = None
    failed: Mapping[Piece, str] = field(default_factory=dict)  # pieces that ended in an error, and which
