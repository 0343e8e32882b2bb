"""Several candidates beside each other and beside the original: what users would meet in each of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sfumato.compare import plain
from sfumato.compare.examine.findings import CoefficientChange, Examination, Piece, VariableDetail
from sfumato.compare.results import Results
from sfumato.errors import SfumatoError
from sfumato.measurement import Table
from sfumato.report.grades import CHANGED, is_changed
from sfumato.report.lines import lines_of
from sfumato.report.price import price_of
from sfumato.report.summarise import detail_of
from sfumato.report.summary import CandidateLine, Detail, MeasureLine, ReleaseVariable
from sfumato.report.verdict import basis_of

PIECES: tuple[Piece, ...] = ("release", "detail", "usefulness", "regressions")  # what has to be looked at
AS_BEFORE, UNTOLD = "as before", "not compared"


@dataclass(frozen=True)
class Pair:
    """Two variables whose association changed in some candidate; what became of it in each, and its strength there."""

    first: str
    second: str
    test: str
    before: float | None
    after: tuple[float | None, ...]
    became: tuple[str, ...]


@dataclass(frozen=True)
class Coefficient:
    """A regression coefficient with its interval in the original and in each candidate.

    None: it is not among those of the candidate that moved most.
    """

    model: str
    name: str
    before: tuple[float, float, float]
    after: tuple[tuple[float, float, float] | None, ...]
    overlap: tuple[float | None, ...]


@dataclass(frozen=True)
class Tables:
    """What a measure of tables says of each, in each candidate; ``rows`` hold the variables and one figure each."""

    key: str
    title: str
    figure: str
    rows: tuple[tuple[tuple[str, ...], tuple[float | None, ...]], ...]


@dataclass(frozen=True)
class SideBySide:
    """Two or three candidates as plain data, in the order in which they were named."""

    measures: tuple[MeasureLine, ...]
    original: CandidateLine | None
    candidates: tuple[CandidateLine, ...]
    details: tuple[Detail, ...]
    prices: tuple[tuple[str, ...], ...]  # what each costs users, in words
    pairs: tuple[Pair, ...] = ()
    coefficients: tuple[Coefficient, ...] = ()
    tables: tuple[Tables, ...] = ()
    basis: str = ""  # which records figures and details are of, where these are not the same

    @property
    def variables(self) -> tuple[tuple[VariableDetail, ...], ...]:
        """Each variable as it is in each candidate, the one that moved most in any of them first."""
        if not all(detail.variables for detail in self.details):  # of one they could not be looked at
            return ()
        rows = zip(*(detail.variables for detail in self.details), strict=True)
        return tuple(sorted(rows, key=lambda row: -max(1.0 if one.gone else one.shifted for one in row)))

    @property
    def uses(self) -> tuple[tuple[str, tuple[ReleaseVariable | None, ...]], ...]:
        """What each variable is good for in each candidate; those that are as before in all of them are left out."""
        told = [{v.name: v for v in d.release.variables} if d.release else {} for d in self.details]
        names = dict.fromkeys(name for one in told for name in one)
        rows = ((name, tuple(one.get(name) for one in told)) for name in names)
        return tuple(row for row in rows if any(v is None or v.grade != "as before" for v in row[1]))


def side_by_side(results: Results, found: Sequence[Examination]) -> SideBySide:
    """Lay examined candidates beside each other; nothing is masked or measured here."""
    lines = lines_of(results)
    details = tuple(detail_of(results, one, first=None) for one in found)
    labels = [one.candidate for one in found]
    return SideBySide(
        measures=tuple(lines.measures.values()),
        original=lines.original,
        candidates=tuple(lines.candidates[label] for label in labels),
        details=details,
        prices=tuple(price_of(one) for one in found),
        pairs=tuple(_pairs(found)),
        coefficients=tuple(_coefficients([detail.coefficients for detail in details])),
        tables=tuple(_tables(results, labels, lines.measures)),
        basis=basis_of(results, *map(results.row, labels)),
    )


def to_json(shown: SideBySide) -> str:
    """Write what stands side by side as JSON text."""
    return plain.to_json(shown, indent=1, exact=True)


def _pairs(found: Sequence[Examination]) -> Iterator[Pair]:
    """Yield the pairs that changed in some candidate, those first that changed in most of them and most strongly."""
    each = [{(p.first, p.second): p for p in (one.usefulness.pairs if one.usefulness else ())} for one in found]
    keys = dict.fromkeys(key for one in each for key, pair in one.items() if is_changed(pair))

    def weight(key: tuple[str, str]) -> tuple[int, float]:
        there = [one[key] for one in each if key in one and is_changed(one[key])]
        return -len(there), -max(pair.effect or 0.0 for pair in there)

    for first, second in sorted(keys, key=weight):
        row = [one.get((first, second)) for one in each]
        known = next(pair for pair in row if pair is not None)
        yield Pair(
            first,
            second,
            known.test,
            known.before,
            tuple(None if pair is None else pair.after for pair in row),
            tuple(UNTOLD if pair is None else CHANGED[pair.outcome] if is_changed(pair) else AS_BEFORE for pair in row),
        )


def _coefficients(each: Sequence[Sequence[CoefficientChange]]) -> Iterator[Coefficient]:
    """Yield the coefficients that any candidate moved, the one that overlaps least first."""
    known = [{(c.model, c.coefficient): c for c in one} for one in each]
    keys = dict.fromkeys(key for one in known for key in one)
    for model, name in sorted(keys, key=lambda key: min(one[key].overlap for one in known if key in one)):
        row = [one.get((model, name)) for one in known]
        yield Coefficient(
            model,
            name,
            next(c.before for c in row if c is not None),
            tuple(None if c is None else c.after for c in row),
            tuple(None if c is None else c.overlap for c in row),
        )


def _tables(results: Results, labels: Sequence[str], measures: Mapping[str, MeasureLine]) -> Iterator[Tables]:
    """Yield what measures of tables kept of each table: its ratio to what chance expects, where it is known."""
    for key, line in measures.items():
        each = [_rows(results, label, key) for label in labels]
        first = next((rows for rows in each if rows), ())
        figure = next((name for name in first[0] if name.endswith("ratio")), "") if first else ""
        if not figure:
            continue
        known = [{_named(row): row.get(figure) for row in rows} for rows in each]
        names = dict.fromkeys(name for one in known for name in one)
        rows = tuple((name, tuple(one.get(name) for one in known)) for name in names)
        yield Tables(key, line.title, figure, tuple(sorted(rows, key=lambda row: -max(_number(v) for v in row[1]))))


def _rows(results: Results, label: str, key: str) -> Table:
    try:
        return results.measurement(label, key).tables.get("tables", ())
    except SfumatoError:  # it has no such figure, or is a score
        return ()


def _named(row: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(value for value in row.values() if isinstance(value, str))


def _number(value: float | None) -> float:
    return -1.0 if value is None else value
