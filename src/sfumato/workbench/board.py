"""What is finished of the last run, weighed under bounds: those that the draft states, or others that are tried out.

Nothing is masked or measured here: the store answers, and to choose again takes milliseconds.
"""

import hashlib
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from weakref import WeakKeyDictionary

from sfumato.about import Unit
from sfumato.compare.figures import written
from sfumato.compare.results import Results
from sfumato.errors import ParameterError, SfumatoError
from sfumato.project.reading import share_in
from sfumato.project.record import STORE, Record
from sfumato.report.summarise import summarise
from sfumato.report.summary import Summary
from sfumato.report.verdict import SweepFacts
from sfumato.table.microdata import Microdata
from sfumato.workbench.desk import Desk, stamp
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import Latest

PAUSE_FACTOR = 8  # while a run goes on, looking at it again waits this many times as long as the last look took


@dataclass(frozen=True)
class Limit:
    """A bound with the value that the draft states and the one that is tried out; shares are shown in percent."""

    key: str  # as the draft names it
    title: str
    side: str  # at most, at least
    unit: Unit
    stated: float
    tried: float
    stops: tuple[str, ...] = ()  # round values to move to, as they are shown
    measured: bool = True  # whether the last run has figures of it
    problem: str = ""  # why what was typed cannot be tried

    @property
    def moved(self) -> bool:
        """Whether another value than that of the draft is tried out."""
        return self.tried != self.stated

    @property
    def shown(self) -> str:
        """The value that is tried out as it stands in a field."""
        return shown(self.tried, self.unit)

    @property
    def stated_shown(self) -> str:
        """The value that the draft states as it stands in a field."""
        return shown(self.stated, self.unit)

    @property
    def place(self) -> int:
        """Which of the stops is the nearest."""
        near = [abs(float(stop) - float(self.shown)) for stop in self.stops]
        return near.index(min(near)) if near else 0

    @property
    def words(self) -> str:
        """The bound as a sentence names it, with the value that is tried out."""
        return f"{self.side} {written(self.tried, self.unit)}"

    def read(self, said: str) -> float:
        """Read what stands in the field; one that nobody touched says the value of the draft, to its last digit."""
        return self.stated if said.strip() == self.stated_shown else read_limit(said, self.unit)

    @property
    def stated_words(self) -> str:
        """The value that the draft states."""
        return written(self.stated, self.unit)


@dataclass(frozen=True)
class Board:
    """The candidates under bounds."""

    summary: Summary
    limits: tuple[Limit, ...]
    refused: str = ""  # why the candidate chosen by hand cannot be the chosen one here

    @property
    def moved(self) -> bool:
        """Whether other bounds than those of the draft are tried out."""
        return any(limit.moved for limit in self.limits)

    @property
    def keep(self) -> int:
        """How many candidates keep the bounds."""
        return sum(line.feasible is True for line in self.summary.candidates)


@dataclass
class _CachedBoard:
    """The results that were read last, of which store, and how long that took."""

    key: str = ""
    results: Results | None = None
    when: float = -math.inf
    took: float = 0.0
    lock: Lock = field(default_factory=Lock)


_BOARDS: "WeakKeyDictionary[Desk, _CachedBoard]" = WeakKeyDictionary()


def finished(desk: Desk, draft: Draft, record: Record) -> Results | None:
    """Return what is finished of the last run, on the draft's table; None where nothing is.

    It is read again when the store has changed, but while a run goes on not so often that the run is slowed down.
    """
    store = desk.folder / STORE
    if not store.exists():
        return None
    seen = _BOARDS.setdefault(desk, _CachedBoard())
    table = desk.table(draft)
    about = f"{table.fingerprint} {record!r} {draft.elsewhere}"
    key = f"{stamp(store)} {about}"
    with seen.lock:
        fresh = seen.key == key
        resting = seen.key.endswith(about) and time.monotonic() - seen.when < PAUSE_FACTOR * seen.took
        told = desk.jobs.told()
        if not fresh and not (resting and told is not None and told.running):
            start = time.process_time()
            seen.results = record.results(table, desk.folder, elsewhere(desk, draft))
            seen.key, seen.when, seen.took = key, time.monotonic(), time.process_time() - start
        return seen.results if seen.results is not None and seen.results.rows else None


def elsewhere(desk: Desk, draft: Draft) -> dict[str, Microdata]:
    """Read the candidates that were protected elsewhere; one that cannot be read is left out."""
    from sfumato.project.tables import read_protected

    found = {}

    def read(path: Path) -> Microdata:
        return read_protected(
            path, desk.table(draft), encoding=draft.encoding, delimiter=draft.delimiter, decimal=draft.decimal
        )

    for name in draft.elsewhere:
        path = desk.folder / name
        try:
            key = f"{stamp(path)} {desk.table(draft).fingerprint} {draft.encoding} {draft.delimiter} {draft.decimal}"
            found[Path(name).name] = desk.kept(f"candidate {name}", key, partial(read, path))
        except SfumatoError:
            continue
    return found


def weigh(desk: Desk, draft: Draft, found: Latest, tried: Mapping[int, str] | None = None) -> Board | None:
    """Choose among what is finished, within the draft's bounds or those that are ``tried``, by the bound's place.

    None where nothing is finished, or where the figures are of another table.
    """
    record = found.record
    if record is None or not found.figures_hold:
        return None
    results = finished(desk, draft, record)
    if results is None:
        return None
    limits = tuple(_limits(draft, results, tried or {}))
    bounds = {
        side: {limit.key: limit.tried for limit in limits if limit.measured and limit.side == side}
        for side in ("at most", "at least")
    }

    def summary(by_hand: str | None) -> Summary:
        return summarise(
            results,
            None,
            risk=record.risk,
            utility=record.utility,
            at_most=bounds["at most"],
            at_least=bounds["at least"],
            least_risk=record.least_risk,
            by_hand=by_hand,
            file=Path(draft.source).name,
            facts=SweepFacts(whys=record.whys, passed_over=passed_over(found)),
        )

    if draft.choose is None or not any(bounds.values()):
        return Board(summary(None), limits)
    try:
        return Board(summary(draft.choose), limits)
    except ParameterError as error:
        return Board(summary(None), limits, str(error))


def passed_over(found: Latest) -> tuple[str, ...]:
    """Return the candidates that the last run passed over: they keep the bounds, and give values back or lose some."""
    record, told = found.record, found.summary
    if record is None or record.choose is not None or told is None or told.chosen is None:
        return ()
    if told.run.fingerprint != record.fingerprint:
        return ()
    best = told.chosen.rank
    return tuple(line.label for line in told.candidates if line.feasible and line.rank < best)


def _limits(draft: Draft, results: Results, tried: Mapping[int, str]) -> Iterator[Limit]:
    stated = [("at most", *bound) for bound in draft.at_most.items()]
    stated += [("at least", *bound) for bound in draft.at_least.items()]
    for place, (side, name, value) in enumerate(stated):
        try:
            key = results.key(name)
        except ParameterError:
            yield Limit(name, name, side, "number", value, value, measured=False)
            continue
        about = results.figures[key]
        limit = Limit(name, about.title, side, about.unit, value, value, _stops(results, key, value, about.unit))
        if place in tried:
            limit = _at(limit, tried[place])
        yield limit


def _at(limit: Limit, said: str) -> Limit:
    """Move a bound to what was typed; what is no bound is not tried, and told."""
    try:
        return replace(limit, tried=limit.read(said))
    except ParameterError as error:
        return replace(limit, problem=str(error))


def read_limit(said: str, unit: Unit) -> float:
    """Read a bound as it stands in a field: a share in percent.

    >>> read_limit("5", "share"), read_limit("0,5", "share"), read_limit("20", "number")
    (0.05, 0.005, 20.0)
    """
    text = said.strip().removesuffix("%").strip()
    text = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    try:
        value = float(text)
    except ValueError:
        raise ParameterError(f"a number is needed here; got {said!r}") from None
    if not math.isfinite(value) or (unit == "share" and not 0 <= value <= 100):
        raise ParameterError("a share lies between 0 and 100 %" if unit == "share" else "a finite number is needed")
    return share_in(text) if unit == "share" else value


def shown(value: float, unit: Unit) -> str:
    """Write a bound as it stands in a field.

    >>> shown(0.07, "share"), shown(20.0, "number")
    ('7', '20')
    """
    return f"{100 * value:.12g}" if unit == "share" else f"{value:.12g}"


def _stops(results: Results, key: str, stated: float, unit: Unit) -> tuple[str, ...]:
    """Return round values from none to the largest that occurs, and the one that is stated."""
    rows = [*results.rows, *([results.unprotected] if results.unprotected is not None else [])]
    values = [row.means[key] for row in rows if math.isfinite(row.means.get(key, math.nan))]
    scale = 100.0 if unit == "share" else 1.0
    most = min(max([abs(value) for value in values] + [abs(stated)], default=1.0) * scale or 1.0, 1e12)
    top = 10.0 ** math.ceil(math.log10(most))
    steps = [0.0, *(top * 10.0**-power * factor for power in range(3, 0, -1) for factor in (1, 1.5, 2, 3, 4, 5, 7.5))]
    steps = [step for step in (*steps, top) if step < most * 1.5]
    if any(value < 0 for value in values):
        steps += [-step for step in steps]
    return tuple(dict.fromkeys(f"{step:.6g}" for step in sorted({*steps, stated * scale})))


def mark(label: str) -> str:
    """Return a short name of a candidate for addresses: its label may be long, and holds all kinds of signs."""
    return hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:10]
