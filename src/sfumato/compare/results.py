"""The figures of an experiment: one row per candidate, and the questions one asks of them."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.about import MeasureAbout
from sfumato.compare.figures import written
from sfumato.compare.rows import Row, standard_error
from sfumato.compare.seeds import generator
from sfumato.compare.store import Archive, Key, identify
from sfumato.compare.work import protected_parts
from sfumato.core import Measure, Method, Seed
from sfumato.display import html_table
from sfumato.errors import NotApplicable, ParameterError
from sfumato.identity import code_of, identity
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.pair.sample import SIZE, sampled
from sfumato.table.frames import FrameKind, Origin, from_arrow
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts

if TYPE_CHECKING:
    from sfumato.compare.bootstrap import Bootstrap
    from sfumato.compare.choose import Choice
    from sfumato.compare.frontier import Frontier
    from sfumato.compare.score import Recipe


__all__ = ["Results", "Row"]
T = TypeVar("T")
Which = Any  # a measure, its class, its class's name or its key; a recipe or its name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Results:
    """The figures of every candidate, and all that is needed to make each of them again.

    Of a table in parts, which is ``whole``, ``original`` is a random sample; figures are of all records, or estimates.
    """

    original: Microdata
    measures: tuple["Measure | Recipe", ...]  # the columns of figures: what was measured, then the scores added
    rows: tuple[Row, ...]
    seed: int
    replicates: int
    seconds: float
    versions: Mapping[str, str]
    tables: Mapping[str, Microdata | TableInParts] = field(default_factory=dict)  # the candidates protected elsewhere
    archive: Archive | None = None  # where whole measurements are read; None: put together by hand
    unprotected: Row | None = None  # the original, measured like a candidate; None: it was not
    whole: TableInParts | None = None  # the original, if it is in parts
    rounded: bool = False  # whether candidates have the decimals of the original

    @property
    def table(self) -> Microdata | TableInParts:
        """The table that the figures are of."""
        return self.original if self.whole is None else self.whole

    @property
    def sampled(self) -> int:
        """How many records are looked at one by one, if these are not all: the size of the sample, else 0."""
        return len(self.original) if len(self.original) < len(self.table) else 0

    @property
    def figures(self) -> dict[str, MeasureAbout]:
        """What is known of each column of figures, by its key: the repr of a measure, the name of a score."""
        return {_key(measure): measure.about for measure in self.measures}

    @property
    def scores(self) -> "tuple[Recipe, ...]":
        """The scores that were added."""
        return tuple(measure for measure in self.measures if not isinstance(measure, Measure))

    def key(self, which: Which) -> str:
        """Return the key of a measure or score, however it is named: instance, class, class's name or key."""
        keys = list(self.figures)
        text = which.__name__ if isinstance(which, type) else which if isinstance(which, str) else _key(which)
        if text in keys:
            return text
        if f"{text}()" in keys:  # of several of a class the name alone is that by defaults
            return f"{text}()"
        named = [_key(measure) for measure in self.measures if type(measure).__name__ == text.removesuffix("()")]
        if len(named) == 1 and not isinstance(which, Measure):
            return named[0]
        problem = f"several measures are called {text}" if len(named) > 1 else f"there is no figure {text}"
        raise ParameterError(f"{problem}; there are {', '.join(keys)}")

    def looked_for(self, key: str) -> int | None:
        """Return how many records an estimate looks for in each replicate; None where its measure does not say."""
        measure = next(measure for measure in self.measures if _key(measure) == key)
        return min(measure.sample or SIZE, len(self.table)) if hasattr(measure, "sample") else None

    def row(self, candidate: str) -> Row:
        """Return the row of a candidate."""
        name = candidate if isinstance(candidate, str) else repr(candidate)
        for row in self.rows:
            if row.candidate == name:
                return row
        raise ParameterError(f"there is no candidate {name}; there are {', '.join(r.candidate for r in self.rows)}")

    def __len__(self) -> int:
        return len(self.rows)

    def with_score(self, recipe: "Recipe") -> "Results":
        """Add a score, computed replicate by replicate from the measures already there."""
        for measure in recipe.measures:
            if repr(measure) not in self.figures:
                raise ParameterError(
                    f"{recipe.name} needs {measure!r}, which was not measured; there are {', '.join(self.figures)}. "
                    f"Add {measure!r} to the experiment's measures, or build the score from those there are"
                )
        if recipe in self.scores:
            return self
        if recipe.name in self.figures:
            raise ParameterError(f"there is already a figure {recipe.name!r}; give the recipe another name")
        return replace(
            self,
            rows=tuple(_scored(row, recipe) for row in self.rows),
            measures=(*self.measures, recipe),
            unprotected=None if self.unprotected is None else _scored(self.unprotected, recipe),
        )

    def frontier(self, *, risk: Which | Iterable[Which], utility: Which | Iterable[Which]) -> "Frontier":
        """Return the candidates that no other beats: at least as good in every measure and better in one."""
        from sfumato.compare.frontier import frontier

        return frontier(self, risk=risk, utility=utility)

    def choose(
        self,
        *,
        utility: Which | None = None,
        risk: Which | None = None,
        at_most: Mapping[Any, float] | None = None,
        at_least: Mapping[Any, float] | None = None,
        passed_over: Collection[str] = (),
        by_hand: str | None = None,
    ) -> "Choice":
        """Choose the candidate of most utility, or of least risk, among those within the bounds, or one ``by_hand``."""
        from sfumato.compare.choose import choose

        wish = {"utility": utility, "risk": risk, "at_most": at_most, "at_least": at_least}
        return choose(self, **wish, passed_over=passed_over, by_hand=by_hand)

    def protect(self, candidate: str) -> Microdata:
        """Make the table of a candidate again, that of replicate 0; one protected elsewhere comes back as given.

        Of a table in parts it is the sample of it, for the whole see ``protected``.
        """
        if self.whole is not None:
            return sampled(self.protected(candidate), len(self.original))  # of matching records, the same
        source = self._source(self.row(candidate))
        if isinstance(source, Microdata):
            return _in_order(self.original, source)
        assert isinstance(source, Method)  # of a table in memory no candidate is in parts
        return source.protect(self.original, rng=generator(self.seed, source, 0), rounded=self.rounded)

    def protected(self, candidate: str) -> TableInParts:
        """Return the table of a candidate in parts, that of replicate 0; each part is masked when it is asked for."""
        source = self._source(self.row(candidate))
        if self.whole is None or isinstance(source, Microdata):
            raise NotApplicable("the table is in memory: ask for results.protect")
        if isinstance(source, TableInParts):
            return source
        return protected_parts(source, self.whole, generator(self.seed, source, 0), rounded=self.rounded)

    def measurement(self, candidate: str, measure: Which) -> Measurement:
        """Return the whole measurement of a candidate in replicate 0, as it was measured; of a score, its recipe's."""
        row = self.row(candidate)
        if isinstance(measure, Measure) and repr(measure) not in self.figures:
            raise ParameterError(
                f"{measure!r} was not measured in this experiment; there are {', '.join(self.figures)}. Add it to the "
                "experiment's measures, or evaluate it on the table that results.protect returns"
            )
        key = self.key(measure)
        if key in row.reasons:
            raise NotApplicable(f"{row.candidate} has no {key}: {row.reasons[key]}")
        known = next(known for known in self.measures if _key(known) == key)
        if not isinstance(known, Measure):
            return known.of({repr(part): row.values[repr(part)][0] for part in known.measures})
        source = identify(self._source(row), rounded=self.rounded)
        return self._kept.measurement(Key(source, identity(known), 0), known.about)

    def examined(
        self,
        candidate: str,
        what: str,
        compute: Callable[[], T],
        *,
        encode: Callable[[T], bytes],
        decode: Callable[[bytes], T],
    ) -> T:
        """Return what was found out about a candidate before, or compute it, and keep it where the figures are kept.

        ``what`` names the examination with all that it depends on besides the original table, the candidate, the seed
        and the code of the module that ``compute`` is written in, with what that imports. What is returned has always
        been encoded and decoded, so that a second report says the same as the first.
        """
        return self._kept.examined(self._examination(candidate, what, compute), compute, encode=encode, decode=decode)

    def is_examined(self, candidate: str, what: str, compute: Callable[[], Any]) -> bool:
        """Tell whether :meth:`examined` would find this without computing it."""
        return self._kept.examination(self._examination(candidate, what, compute)) is not None

    def _examination(self, candidate: str, what: str, compute: Callable[[], Any]) -> str:
        seen = f" in a sample of {self.sampled}" if self.sampled else ""
        source = identify(self._source(self.row(candidate)), rounded=self.rounded)
        return f"{what} of {source}{seen} by {code_of(compute)}"

    @property
    def _kept(self) -> Archive:
        if self.archive is None:
            raise ParameterError("these results were put together by hand: nothing was kept of them")
        return self.archive

    def _source(self, row: Row) -> Method | Microdata | TableInParts:
        """Return how a candidate's table is made, or the table itself."""
        source = row.method or self.tables.get(row.candidate)
        if source is None:
            raise NotApplicable(f"{row.candidate} has no table: {next(iter(row.reasons.values()))}")
        return source

    def bootstrap(
        self,
        candidate: str,
        measure: Which,
        *,
        repetitions: int = 200,
        level: float = 0.95,
        matched: bool | None = None,
        rng: Seed = 0,
    ) -> "Bootstrap":
        """Return the standard error over records of a candidate's figure, of the table of replicate 0."""
        from sfumato.compare.bootstrap import bootstrap

        known = next((m for m in self.measures if _key(m) == self.key(measure)), None)
        return bootstrap(
            self.original,
            self.protect(candidate),
            known,  # type: ignore[arg-type]  # a score is refused there
            repetitions=repetitions,
            level=level,
            matched=matched,
            rng=rng,
        )

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """Return one row per candidate with a mean and a standard error per figure, as the kind of frame asked for.

        Without a kind it is that of the original table.
        """
        columns: dict[str, Any] = {
            "candidate": pa.array([row.candidate for row in self.rows], pa.string()),
            "replicates": pa.array([row.replicates for row in self.rows], pa.int64()),
        }
        for key in self.figures:
            columns[key] = _numbers([row.means.get(key) for row in self.rows])
            columns[f"{key} error"] = _numbers([row.errors.get(key) for row in self.rows])
        columns["seconds"] = pa.array([row.seconds for row in self.rows], pa.float64())
        columns["reasons"] = pa.array([_reasons(row) for row in self.rows], pa.string())
        return from_arrow(pa.table(columns), Origin(kind or self.original.origin.kind))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one dict per candidate that JSON can hold; a number that JSON lacks (NaN, infinite) is None."""
        return [_record(row) for row in self.rows]

    def ranked(self, by: Which | None = None) -> tuple[Row, ...]:
        """Return the rows from best to worst by a figure, those that lack it last.

        Without a figure named it is the last score added, or else the first measure of utility, or else the first.
        """
        key = self.ranked_by if by is None else self.key(by)
        sign = self.figures[key].sign
        return tuple(sorted(self.rows, key=lambda row: sign * row.means[key] if key in row.means else math.inf))

    @property
    def ranked_by(self) -> str:
        """The figure that candidates are ranked by when nobody says which."""
        if self.scores:
            return self.scores[-1].name
        return next(
            (key for key, about in self.figures.items() if about.purpose == "utility"), next(iter(self.figures))
        )

    def __repr__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)


def _key(measure: "Measure | Recipe") -> str:
    return repr(measure) if isinstance(measure, Measure) else str(getattr(measure, "name", repr(measure)))


def _scored(row: Row, recipe: "Recipe") -> Row:
    """Add a score to a row; where one of its measures has no figure, neither has the score."""
    name, keys = recipe.name, [repr(measure) for measure in recipe.measures]
    lacking = [key for key in keys if key not in row.means]
    if lacking:
        return replace(row, reasons={**row.reasons, name: row.reasons[lacking[0]].needed(lacking[0])})
    draws = max(len(row.values[key]) for key in keys)
    # what is not random has one value, which holds in every replicate
    paired = [{key: row.values[key][draw if len(row.values[key]) > 1 else 0] for key in keys} for draw in range(draws)]
    scores = tuple(recipe.of(values).value for values in paired)
    certain = all(row.errors[key] == row.sampling.get(key, 0.0) for key in keys) and draws == 1
    whole = recipe.of(row.means)
    moved = [
        recipe.of({**row.means, key: row.means[key] + row.sampling[key]}).value - whole.value
        for key in keys
        if key in row.sampling
    ]
    sampling = math.hypot(*moved)  # to the first order, as if the samples of two measures had nothing in common
    return replace(
        row,
        means={**row.means, name: whole.value},
        errors={**row.errors, name: sampling if certain else standard_error(scores)},
        sampling={**row.sampling, name: sampling} if moved else row.sampling,
        values={**row.values, name: scores},
        parts={**row.parts, name: whole.parts},
    )


def _numbers(values: list[float | None]) -> Any:
    return pa.array([None if value is None or math.isnan(value) else value for value in values], pa.float64())


def _reasons(row: Row) -> str | None:
    return "; ".join(f"{key}: {reason}" for key, reason in row.reasons.items()) or None


def _record(row: Row) -> dict[str, Any]:
    return {
        "candidate": row.candidate,
        "method": None if row.method is None else repr(row.method),
        "replicates": row.replicates,
        "seconds": row.seconds,
        "protect_seconds": row.protect_seconds,
        "figures": {
            key: {
                "mean": _plain(mean),
                "error": _plain(row.errors[key]),
                "values": [_plain(value) for value in row.values[key]],
                "parts": {name: _plain(value) for name, value in row.parts.get(key, {}).items()},
                "by_variable": {name: _plain(value) for name, value in row.by_variable.get(key, {}).items()},
                "by_pair": [[*pair, _plain(value)] for pair, value in row.by_pair.get(key, {}).items()],
            }
            for key, mean in row.means.items()
        },
        "reasons": {key: str(reason) for key, reason in row.reasons.items()},
        "notes": list(row.notes),
    }


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _in_order(original: Microdata, table: Microdata) -> Microdata:
    """Put a table protected elsewhere into the order of the original, if ids tell which record is which."""
    try:
        return Pair.of(original, table).in_order().protected.table
    except NotApplicable:
        return table


# Results as a compact ranked table, for a terminal and for a notebook.

MAX_LISTED = 25  # rows shown


def _as_text(results: Results) -> str:
    """Write the best candidates in aligned columns."""
    heads, lines = _cells(results)
    widths = [max(len(line[j]) for line in (heads, *lines)) for j in range(len(heads))]
    table = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in (heads, *lines)
    ]
    return "\n".join([_caption(results), *table, *_footer(results)])


def _as_html(results: Results) -> str:
    """Write the best candidates as an HTML table."""
    heads, lines = _cells(results)
    return html_table(_caption(results), heads, lines, _footer(results))


def _cells(results: Results) -> tuple[list[str], list[list[str]]]:
    figures = results.figures
    names = [key.partition("(")[0] for key in figures]
    heads = [name if names.count(name) == 1 else key for name, key in zip(names, figures, strict=True)]
    lines = []
    for row in results.ranked()[:MAX_LISTED]:
        shown = [
            written(row.means[key], about.unit, row.errors[key]) if key in row.means else "-"
            for key, about in figures.items()
        ]
        lines.append([row.candidate, *shown])
    return ["candidate", *heads], lines


def _caption(results: Results) -> str:
    rows, draws = len(results), results.replicates
    replicates = f"{draws} replicate{'s' if draws > 1 else ''}"
    best = results.ranked_by.partition("(")[0]
    return f"{rows} candidate{'s' if rows != 1 else ''}, {replicates}; best {best} first"


def _footer(results: Results) -> list[str]:
    lines = []
    if len(results) > MAX_LISTED:
        lines.append(f"... and {len(results) - MAX_LISTED} more: see to_frame()")
    lines += [f"{score}" for score in results.scores]
    for row in results.ranked()[:MAX_LISTED]:
        reasons = list(dict.fromkeys(row.reasons.values()))
        if reasons:
            lines.append(f"- {row.candidate}: {reasons[0]}")
    return lines
