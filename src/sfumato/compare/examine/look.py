"""One candidate looked at closely: each piece by its name, kept where the figures are kept, and never made twice."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, TypeVar

from sfumato.arguments import entries, require, require_number, require_whole
from sfumato.compare import plain
from sfumato.compare.bootstrap import adds_up, bootstrap
from sfumato.compare.examine.facts import Blanks, caution_facts, release_facts
from sfumato.compare.examine.findings import (
    PIECES,
    CautionFacts,
    Distributions,
    Examination,
    KeyLevel,
    MoreKnown,
    OverRecords,
    Piece,
    RecordsAtRisk,
    Regressions,
    ReleaseFacts,
    Resampled,
    UtilityFound,
)
from sfumato.compare.examine.records import (
    LISTED,
    RiskByRecord,
    records_at_risk,
    same_records,
    with_keys,
    worst_scenario,
)
from sfumato.compare.examine.variables import distributions, regressions, utility_found
from sfumato.compare.progress import Steps, steps_of
from sfumato.compare.results import Results, Which
from sfumato.core import Measure, Method
from sfumato.errors import OF_THE_RUN, NotApplicable, ParameterError, unexpected
from sfumato.identity import identity
from sfumato.measurement import Measurement
from sfumato.methods import OptimalRecoding
from sfumato.pair.sample import sampled
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

LOOKING: dict[Piece, str] = {
    "cautions": "looking for what to warn of",
    "release": "describing the release",
    "records": "listing the records at risk",
    "knowing": "who knows more than the keys",
    "detail": "comparing each variable before and after",
    "usefulness": "testing every variable and every pair",
    "regressions": "fitting regressions to both tables",
    "bootstrap": "resampling the records",
}
MAX_RESAMPLED_RECORDS = 20_000  # records: in larger tables they hardly matter
REPETITIONS = 100
SECONDS = 10.0  # for all figures together
MAX_SEARCHED, SEARCHED = 20_000, 2_000  # records up to which all are looked for, and of larger tables how many
T = TypeVar("T")


# The protected table of a candidate, made when it is first needed and kept.


class ProtectedTable:
    """The table of one candidate: what is examined and what is written are the same."""

    def __init__(self, results: Results, candidate: str) -> None:
        self.results, self.candidate = results, results.row(candidate).candidate

    @cached_property
    def made(self) -> Microdata:
        """The table itself, of one in parts a sample; to ask for it masks the original, once."""
        if self.results.whole is not None:
            return sampled(self.whole, len(self.results.original))
        return self.results.protect(self.candidate)

    @cached_property
    def whole(self) -> TableInParts:
        """The table in parts, each of which is masked when it is asked for."""
        return self.results.protected(self.candidate)

    @cached_property
    def blanks(self) -> Blanks | None:
        """What is missing in all records, where ``made`` is a sample of them; None: it is all of them."""
        if self.results.whole is None or not self.results.sampled:
            return None
        return Blanks(self.results.whole, self.whole)


# The pieces, each kept under a name that holds all it depends on.


def examine(
    results: Results,
    candidate: str,
    *,
    what: Iterable[Piece] = PIECES,
    risk: Which | None = None,
    utility: Which | None = None,
    listed: int = LISTED,
    seconds: float | None = SECONDS,
    table: ProtectedTable | None = None,
    progress: bool | Steps = False,
) -> Examination:
    """Look closely at one candidate, of which the table of replicate 0 is examined.

    ``what`` names the pieces wanted. ``risk`` orders the ``listed`` records at risk, and the figures of ``risk`` and
    ``utility`` are resampled over records, for at most ``seconds``. What an earlier examination kept is not made
    again. The protected ``table`` is made only if a piece needs it, and then once. ``progress`` is True for a bar on
    the terminal, or the steps to tell. A piece that fails is told of in ``failed``, and the others are looked at.
    """
    require("examine", Results, "the results of an experiment", results=results)
    require("examine", str | Method, "the name of a candidate", candidate=candidate)
    require("examine", ProtectedTable | None, "a ProtectedTable", table=table)
    require_whole("examine", least=0, listed=listed)
    require_number("examine", least=0, seconds=seconds)
    ordered = _ordered(what)
    axes = tuple(dict.fromkeys(results.key(which) for which in (risk, utility) if which is not None))
    first = None if risk is None else results.key(risk)
    found: dict[Piece, Any] = {}
    failed: dict[Piece, str] = {}
    with steps_of(progress) as steps:
        made = table or ProtectedTable(results, candidate)
        look = _Look(results, made, axes, first, listed, seconds, steps=steps)
        steps.phase("examination", total=len(ordered), candidate=steps.now.candidate)
        for piece in ordered:
            steps.began(LOOKING[piece])
            try:
                found[piece] = look.piece(piece)
            except OF_THE_RUN:
                raise
            except Exception as error:
                failed[piece] = unexpected(error)
            steps.ended(LOOKING[piece])
    return Examination(look.candidate, **found, failed=failed)


def examined(results: Results, candidate: str, *, what: Iterable[Piece]) -> Examination | None:
    """Return what an earlier examination of a candidate kept of these pieces; None if one was not looked at yet.

    Nothing is computed. That the usefulness cannot be told is kept nowhere: it was tried if a later piece is there.
    """
    look = _Look(results, ProtectedTable(results, candidate), (), None, LISTED, SECONDS, kept_only=True)
    found: dict[Piece, Any] = {}
    untold = False
    for piece in _ordered(what):
        try:
            found[piece] = look.piece(piece)
        except _NotYet:
            if piece != "usefulness":
                return None
            untold = True
        else:
            untold = False
    return None if untold else Examination(look.candidate, **found)


def _ordered(what: Iterable[Piece]) -> tuple[Piece, ...]:
    wanted = entries("examine", str, "names of pieces", what=what)
    for piece in wanted:
        if piece not in PIECES:
            raise ParameterError(f"examine: there is no {piece!r}; there are {', '.join(PIECES)}")
    return tuple(piece for piece in PIECES if piece in wanted)


class _NotYet(Exception):  # noqa: N818 - a state, not a fault
    """A piece that is not in the store."""


@dataclass(frozen=True, eq=False)
class _Look:
    """The pieces of an examination; each is kept under a name that holds all it depends on."""

    results: Results
    table: ProtectedTable
    axes: tuple[str, ...]
    first: str | None  # the measure of risk that orders records
    listed: int
    seconds: float | None
    kept_only: bool = False  # compute nothing
    steps: Steps = field(default_factory=Steps)

    def piece(self, name: Piece) -> Any:
        """Look at one of the pieces, which are the methods below."""
        return getattr(self, name)()

    @property
    def candidate(self) -> str:
        return self.table.candidate

    def _kept(self, kind: type[T], what: str, compute: Callable[[], T]) -> T:
        if self.results.archive is None:  # put together by hand: there is nowhere to keep it
            return compute()
        if self.kept_only and not self.results.is_examined(self.candidate, what, compute):
            raise _NotYet
        return self.results.examined(
            self.candidate,
            what,
            compute,
            encode=lambda found: plain.to_json(found, exact=True).encode(),
            decode=lambda kept: plain.from_json(kind, kept.decode()),
        )

    def _asked(self, kind: type[T]) -> T | None:
        """Return the first measure of a class that this experiment has."""
        return next((measure for measure in self.results.measures if isinstance(measure, kind)), None)

    def cautions(self) -> CautionFacts:
        original = self.results.original

        def compute() -> CautionFacts:
            facts, blanks = caution_facts(original, self.table.made), self.table.blanks
            return facts if blanks is None else blanks.in_cautions(facts, original.schema.analysed())

        return self._kept(CautionFacts, "cautions", compute)

    def release(self) -> ReleaseFacts:
        original = self.results.original

        def compute() -> ReleaseFacts:
            facts, blanks = release_facts(original, self.table.made), self.table.blanks
            return facts if blanks is None else blanks.in_release(facts)

        return self._kept(ReleaseFacts, "release", compute)

    def detail(self) -> Distributions:
        original, method = self.results.original, self.results.row(self.candidate).method

        def compute() -> Distributions:
            found, blanks = distributions(original, self.table.made), self.table.blanks
            found = replace(found, levels=levels_beside(method, original))
            return found if blanks is None else blanks.in_detail(found)

        return self._kept(Distributions, "detail", compute)

    def records(self) -> RecordsAtRisk:
        row = self.results.row(self.candidate)
        risks = [m for m in self.results.measures if isinstance(m, Measure) and m.about.purpose == "risk"]
        telling = sorted((m for m in risks if repr(m) in row.means), key=lambda m: repr(m) != self.first)

        def compute() -> RecordsAtRisk:
            found = {}
            for measure in telling:
                told = self.results.measurement(self.candidate, measure)
                if told.by_record is not None:
                    found[repr(measure)] = RiskByRecord(
                        told.by_record, measure.about.unit, measure.about.records, worst_scenario(told.tables)
                    )
            theirs = any(risk.records == "protected" for risk in found.values())
            same = theirs and same_records(self.results.original, self.table.made)
            return with_keys(records_at_risk(found, listed=self.listed, same=same), self.results.original)

        return self._kept(RecordsAtRisk, f"{self.listed} records by {', '.join(map(identity, telling))}", compute)

    def knowing(self) -> MoreKnown | None:
        """Look for the records as who knows every variable would; of a large table for a random sample of them."""
        from sfumato.risk import Reidentification

        asked, original = self._asked(Reidentification), self.results.original
        if asked is None or repr(asked) not in self.results.row(self.candidate).means:
            return None  # it says who is found record by record, so that it has no figure where records do not match
        sample = SEARCHED if len(original) > MAX_SEARCHED else None
        measure = Reidentification(knows="everything", sample=sample)

        def compute() -> MoreKnown:
            share = measure.evaluate(original, self.table.made, rng=self.results.seed).value
            return MoreKnown(share, sample or 0)

        return self._kept(MoreKnown, f"found by {identity(measure)}", compute)

    def usefulness(self) -> UtilityFound | None:
        """Look at every variable and pair, as the global data utility asked for did, or one by its defaults."""
        from sfumato.utility import GlobalDataUtility

        asked = self._asked(GlobalDataUtility)
        if asked is not None and repr(asked) in self.results.row(self.candidate).means:
            return utility_found(self.results.measurement(self.candidate, asked))
        measure = asked or GlobalDataUtility()

        def compute() -> UtilityFound:
            found = utility_found(measure.evaluate(self.results.original, self.table.made))
            assert found is not None
            return replace(found, sampled=bool(self.results.sampled))

        try:
            return self._kept(UtilityFound, f"usefulness by {identity(measure)}", compute)
        except NotApplicable:
            return None

    def regressions(self) -> Regressions:
        from sfumato.utility import IntervalOverlap

        asked = self._asked(IntervalOverlap)
        what = f"regressions by {'default' if asked is None else identity(asked)}"
        return self._kept(Regressions, what, lambda: regressions(asked, self.results.original, self.table.made))

    def bootstrap(self) -> OverRecords | None:
        row, original = self.results.row(self.candidate), self.results.original
        known = {repr(m): m for m in self.results.measures if isinstance(m, Measure)}
        measures = {key: known[key] for key in self.axes if key in known and key in row.means}
        if self.results.whole is not None or len(original) > MAX_RESAMPLED_RECORDS or not measures:
            return None

        def compute() -> OverRecords:
            whole = {key: self.results.measurement(self.candidate, measure) for key, measure in measures.items()}
            return over_records(
                original,
                lambda: self.table.made,
                {key: (measure, whole[key], self._takes(key)) for key, measure in measures.items()},
                seed=self.results.seed,
                seconds=self.seconds,
                steps=self.steps,
            )

        named = ", ".join(map(identity, measures.values()))
        return self._kept(OverRecords, f"bootstrap of {named} within {self.seconds} s", compute)

    def _takes(self, key: str) -> float:
        """Return the seconds that one evaluation of a measure takes: the least of all, the others may have compiled."""
        return min((row.measure_seconds[key] for row in self.results.rows if key in row.measure_seconds), default=0.0)


# The figures of the two axes over records, by bootstrap, within a bound on the time.


def over_records(
    original: Microdata,
    protected: Callable[[], Microdata],
    measured: Mapping[str, tuple[Measure, Measurement, float]],
    *,
    seed: int,
    seconds: float | None = SECONDS,
    steps: Steps,
) -> OverRecords:
    """Resample the records of both tables for each measure, given what it says of them and the seconds it took.

    A measure that takes longer than all the time allowed is left out.
    """
    found: dict[str, Resampled] = {}
    left_out: dict[str, str] = {}
    start = perf_counter()
    for key, (measure, whole, takes) in measured.items():
        left = None if seconds is None else max(seconds - (perf_counter() - start), 0.001)
        if left is not None and takes > left:
            left_out[key] = f"one evaluation takes {takes:.0f} s, and {seconds:g} s are allowed for resampling"
            continue
        try:
            made = bootstrap(
                original,
                None if adds_up(whole) else protected(),
                measure,
                repetitions=REPETITIONS,
                rng=seed,
                seconds=left,
                known=whole,
                unless_shifted=True,
                told=lambda done: steps.part(done, REPETITIONS),
            )
        except NotApplicable as error:
            left_out[key] = error.text
            continue
        found[key] = Resampled(made.error, made.interval, made.way, made.values.size, made.wanted, shifted=made.shifted)
    return OverRecords(found, left_out, seconds)


# The levels that an optimal recoding chose, and what lies beside them.


def levels_beside(method: Method | None, original: Microdata) -> tuple[KeyLevel, ...]:
    """Tell of each key what one level less and one more would come to; nothing of a method that sought no levels.

    Of a chain it is told if the search comes first, because it then saw the original. With a measure for utility every
    table would have to be made and measured again, so nothing is told.
    """
    first = method.steps[0] if method is not None else None
    if not isinstance(first, OptimalRecoding) or isinstance(first.utility, Measure):
        return ()
    found = first.chosen(original)
    return tuple(KeyLevel(suppressed=found.suppressed, loss=found.loss, **row) for row in found.beside())
