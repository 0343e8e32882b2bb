"""Top and bottom coding: what lies beyond a limit is published as one value."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen
from sfumato.display import Phrase, written
from sfumato.errors import NotApplicable
from sfumato.methods.selection import checked
from sfumato.pair import Half, Masking
from sfumato.pair.masking import category_weights
from sfumato.pair.sorting import Ordered
from sfumato.pair.statistics import Sums, Values
from sfumato.registry import catalogued
from sfumato.table import dates
from sfumato.table.bands import is_whole, shown
from sfumato.table.draws import Draws
from sfumato.table.merging import listed, merged, places
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Category, Schema, Variable
from sfumato.table.treatment import Treatment

# Ends of variables coded in a table in parts: limits are those of the whole table


@dataclass(frozen=True, eq=False)
class EndsInParts(Masking):
    """By variable, the least and the greatest number to be published, or what each code becomes."""

    schema: Schema
    limits: Mapping[str, tuple[float, float]]
    codes: Mapping[str, NDArray[np.int32]]  # by old code; the last is that of a missing value

    @property
    def changes(self) -> frozenset[str]:
        return frozenset((*self.limits, *self.codes))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        column = part.columns[name]
        if name in self.codes:
            return np.take(self.codes[name], column)
        coded: NDArray[Any] = np.clip(column, *self.limits[name])
        return coded


# The method

Floats = NDArray[np.float64]
ROUNDING = 1e-12  # of a sum of weights: it must not put one more value beyond a limit
MIN_VALUES = 3  # values whose mean or median is published
Limits = tuple[Any, Any]  # bottom and top; None where there is none


@catalogued(
    MethodAbout(
        title="Top and bottom coding",
        source="Hundepool et al. (2012), Statistical Disclosure Control, chapter 3 (top and bottom coding)",
        missing="stays missing; shares are of the values present",
        kinds=("numeric", "ordinal", "date"),
        weights=True,
        random=False,
        households="whole",
        grid={"share": (0.01, 0.02, 0.05, 0.1)},
        caveat="everything between the limits is released as it is; means, variances and tails are biased unless the "
        "replacement is the mean",
        formula="x' = T if x > T,  B if x < B,  else x   (by mean or median: that of the values beyond, weighted)\n"
        "share s:  T = the least value v with weight(x <= v) >= (1 - s) of the total;  B its mirror image\n"
        "ordinal:  categories beyond the limit are merged with it",
        reading="``share`` is what may lie beyond each limit: 0.01 to 0.05 is usual. Replaced by the limit, a mean "
        'is biased towards the middle; ``by="mean"`` keeps means and totals; medians and quantiles within the limits '
        "are exact either way. It protects the rich and the old, and nobody else.",
        group="Coarsen",
        labels={
            "share": "Share beyond the limit, from 0 to 1 (share)",
            "ends": "Which ends (ends)",
            "top": "Highest value shown (top)",
            "bottom": "Lowest value shown (bottom)",
            "by": "Values beyond are replaced by the (by)",
        },
    )
)
class TopBottomCoding(Method):
    """Values beyond a limit replaced by the limit, or by the mean or median of what lies beyond it.

    - ``share=0.05``: of each variable, the most extreme values with at most that share of the (survey-weighted) records
      at each of the ``ends``. The top limit is the least value v with weight(values <= v) >= 1 - share of the total;
      the bottom limit is its mirror image. ``share={"income": 0.01}`` for some variables only. Where more records than
      the share hold the greatest value, nothing is beyond it and nothing changes.
    - ``top={"income": 100_000, "education": "bachelor"}``, ``bottom={"age": 18, "born": "1930-01-01"}``: stated limits.
      A variable that is named here has these limits only.

    ``by`` says what replaces a number: the ``limit``; the survey-weighted ``mean`` of the values beyond, which keeps
    means and totals; or their weighted ``median``, the least of them with half their weight at or below it. A mean or
    median of fewer than three values would tell them: beyond a stated limit it is refused; beyond one by share the
    limit stands in for it, and the note of the protected table says where. Categories beyond the limit of an ordinal
    variable are merged with it, "bachelor or higher"; where both limits by share meet in one category it stays as it
    is.

    >>> import pyarrow as pa
    >>> pay = pa.table({"income": [5, 20, 30, 40, 50, 900, 1000, 1100]})
    >>> TopBottomCoding(top={"income": 50}).protect(pay)["income"].to_pylist()
    [5, 20, 30, 40, 50, 50, 50, 50]
    >>> TopBottomCoding(top={"income": 50}, by="mean").protect(pay)["income"].to_pylist()
    [5, 20, 30, 40, 50, 1000, 1000, 1000]
    """

    share: float | Mapping[str, float] | None = None
    ends: Literal["both", "top", "bottom"] = field(default="both", kw_only=True)
    top: Mapping[str, Any] | None = field(default=None, kw_only=True)
    bottom: Mapping[str, Any] | None = field(default=None, kw_only=True)
    by: Literal["limit", "mean", "median"] = field(default="limit", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "ends", ("both", "top", "bottom"))
        parameters.one_of(self, "by", ("limit", "mean", "median"))
        self._check_share()
        parameters.by_variable(self, "top", "{'income': 100000}")
        parameters.by_variable(self, "bottom", "{'age': 18}")
        for end in ("top", "bottom"):
            stated = getattr(self, end)
            texts = stated and {name: dates.written_out(limit) for name, limit in stated.items()}
            object.__setattr__(self, end, parameters.frozen(texts))
        if self.share is None and not self.top and not self.bottom:
            raise parameters.refuse(self, "give a share, or limits by variable: top={'income': 100000}")
        if self.variables is not None and not isinstance(self.share, float):
            raise parameters.refuse(self, "variables goes with one share for all; dicts name their own")
        for limits in (self.top or {}, self.bottom or {}):
            for name, limit in limits.items():
                if limit is None or (isinstance(limit, float) and not math.isfinite(limit)):
                    raise parameters.refuse(self, f"the limit of {name!r} must be a finite number; got {limit!r}")
        for name, low in (self.bottom or {}).items():
            high = (self.top or {}).get(name)
            if high is not None and _not_below(low, high):
                raise parameters.refuse(self, f"the bottom of {name!r}, {low}, must be below its top, {high}")
        for name in self.share if isinstance(self.share, Mapping) else ():
            if name in (self.top or {}) or name in (self.bottom or {}):
                raise parameters.refuse(self, f"{name!r} has a share and a stated limit; give one of them")

    def _check_share(self) -> None:
        if self.share is None:
            return
        if isinstance(self.share, Mapping):
            parameters.by_variable(self, "share", "{'income': 0.01}")
        most = 0.5 if self.ends == "both" else 1.0
        for value in self.share.values() if isinstance(self.share, Mapping) else (self.share,):
            good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < most
            if not good:
                raise parameters.refuse(self, f"share must be above 0 and below {most:g}; got {value!r}")
        if not isinstance(self.share, Mapping):
            object.__setattr__(self, "share", float(self.share))

    def masked(self, data: Microdata) -> tuple[str, ...]:
        shares = self.share if isinstance(self.share, Mapping) else {}
        named = {*(self.top or {}), *(self.bottom or {}), *shares}
        checked(data, sorted(named))
        for name in sorted(named):
            if data.schema[name].kind == "nominal":
                raise NotApplicable(f"variable {name!r} is nominal: its categories have no top and no bottom")
        others: tuple[str, ...] = ()
        if isinstance(self.share, float):
            others = chosen(self, data.schema)
        return tuple(name for name in data.names if name in named or name in others)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        changed: dict[str, tuple[Variable, NDArray[Any]]] = {}
        notes: list[str] = []
        for name in self.masked(data):
            variable, column = data.schema[name], data.columns[name]
            code = self._numbers if variable.quantitative else self._categories
            coded, values = code(variable, column, data.weights())
            if coded is not variable:
                changed[name] = coded, values
                notes.append(self._told(coded, column, data.weights()))
        return data.recast(changed, f"{type(self).__name__}: {'; '.join(notes) or 'no value lies beyond a limit'}")

    def learn(self, half: Half, draws: Draws) -> Masking:
        if self.by != "limit":
            raise NotApplicable(
                f"the {self.by} beyond a limit is one of all records; a table in parts takes by='limit'"
            )
        limits, codes, changed = {}, {}, []
        for name in self.masked(half.parts[0]):
            variable = half.schema[name]
            if variable.quantitative:  # each value once, with the weight of all records that have it
                found = half.values_if_they_fit(name, weighted=True) or self._some_values(half, name)
                weights = found.weights if found.weights is not None and found.weights.any() else found.counts
                coded, _ = self._numbers(variable, found.values, weights.astype(np.float64, copy=False))
                done = coded.treatment
                ends = -np.inf if done.bottom is None else done.bottom, np.inf if done.top is None else done.top
                if coded is not variable:
                    limits[name] = ends
            else:
                used = _weights_of_codes(half, name)
                there = np.flatnonzero(used["records"]).astype(np.int32)
                coded, column = self._categories(variable, there, used["weights"][there])
                codes[name] = np.full(len(variable.categories) + 1, -1, dtype=np.int32)
                codes[name][there] = column
            changed.append(coded)
        return EndsInParts(half.schema.replace(*changed), limits, codes)

    def _some_values(self, half: Half, name: str) -> Values:
        """Return the values that the limits of a number follow from, where not all different ones fit into memory."""
        ordered = Ordered.of(half, name, weighted=half.schema.weight is not None)
        if self._stated(name):
            return ordered.around(())
        weight = ordered.upto(len(ordered))
        enough = (1 - self._share(name)) * weight * (1 - ROUNDING)
        return ordered.around((ordered.reaching(enough), ordered.exceeding(weight - enough)))

    def _share(self, name: str) -> float:
        return self.share.get(name, 0.0) if isinstance(self.share, Mapping) else float(self.share or 0)

    def _stated(self, name: str) -> bool:
        return name in (self.top or {}) or name in (self.bottom or {})

    def _limits(self, name: str, values: NDArray[Any], weights: Floats) -> Limits:
        """Return the limits of a variable, bottom and top, as stated or by its share."""
        if self._stated(name):
            return (self.bottom or {}).get(name), (self.top or {}).get(name)
        share = self._share(name)
        bottom = -upper_limit(-values, weights, share) if self.ends != "top" else None
        return bottom, upper_limit(values, weights, share) if self.ends != "bottom" else None

    def _numbers(self, variable: Variable, column: Floats, weights: Floats) -> tuple[Variable, Floats]:
        present = np.flatnonzero(~np.isnan(column))
        if not present.size:
            return variable, column
        limits = self._limits(variable.name, column[present], weights[present])
        coded = column.copy()
        done: dict[str, float] = {}
        for end, limit in zip(("bottom", "top"), limits, strict=True):
            if limit is None:
                continue
            if self._stated(variable.name):
                limit = _limit(variable, end, limit)
            with np.errstate(invalid="ignore"):
                beyond = np.flatnonzero(column < limit if end == "bottom" else column > limit)
            if beyond.size:
                done[end] = float(limit)
                coded[beyond] = self._replacement(variable, limit, column[beyond], weights[beyond])
        if not done:
            return variable, column
        return variable.treated(Treatment(bottom=done.get("bottom"), top=done.get("top"))), coded

    def _replacement(self, variable: Variable, limit: float, beyond: Floats, weights: Floats) -> float:
        name = variable.name
        if self.by == "limit":
            return limit
        number = _counting(weights)
        if number < MIN_VALUES and not self._stated(name):
            return limit
        if number < MIN_VALUES:
            raise NotApplicable(
                f"{number} of the values of {name!r} lie beyond {_written(variable, limit)}, and their "
                f"{self.by} would tell them; code at least {MIN_VALUES}, or replace by the limit"
            )
        if self.by == "mean":
            mean = float(np.average(beyond, weights=weights if weights.any() else None))
            return float(round(mean)) if variable.kind == "date" and is_whole(beyond) else mean
        return upper_limit(beyond, weights, 0.5)

    def _categories(self, variable: Variable, codes: NDArray[Any], weights: Floats) -> tuple[Variable, NDArray[Any]]:
        present = np.flatnonzero(codes >= 0)
        if not present.size:
            return variable, codes
        limits: list[int | None] = []
        stated = self._stated(variable.name)
        for end, limit in zip(
            ("bottom", "top"), self._limits(variable.name, codes[present], weights[present]), strict=True
        ):
            if stated and limit is not None:
                limits += places(variable, [limit], end).values()
            else:
                limits.append(None if limit is None else int(limit))
        low, high = limits
        if low is not None and high is not None and low >= high:
            if stated:
                raise NotApplicable(f"the bottom of {variable.name!r} must be below its top")
            return variable, codes  # most records are in one category: little is left to code
        return _merged_ends(variable, codes, low, high)

    def _told(self, coded: Variable, before: NDArray[Any], weights: Floats) -> str:
        """Say what a variable has become."""
        if not coded.quantitative:
            return f"{coded.name} in {listed(coded.categories, 6)}"
        limits = []
        for word, limit, sign in (("below", coded.treatment.bottom, -1), ("above", coded.treatment.top, 1)):
            if limit is not None:
                few = self.by != "limit" and _counting(weights[sign * before > sign * limit]) < MIN_VALUES
                shown = _written(coded, limit)
                limits.append(f"{word} {shown}{f' (by the limit, too few for a {self.by})' if few else ''}")
        return f"{coded.name} {' and '.join(limits)}"

    def in_words(self, schema: Schema | None = None) -> str:
        by = {"limit": "a limit", "mean": "their mean", "median": "their median"}[self.by]
        ends = {"both": "largest and smallest", "top": "largest", "bottom": "smallest"}[self.ends]
        if isinstance(self.share, float):
            return f"the {ends} {written(self.share, 'share')} of {self.subject()} are replaced by {by}"
        shares = tuple(self.share or ())
        if not shares:
            ends = " and ".join(word for word, limits in (("largest", self.top), ("smallest", self.bottom)) if limits)
        names = dict.fromkeys((*shares, *(self.top or ()), *(self.bottom or ())))
        return f"the {ends} values of {self.subject(names)} are replaced by {by}"

    def short(self) -> Phrase:
        words = {"both": "ends", "top": "top", "bottom": "bottom"}[self.ends]
        if self.share is None:
            words = "ends" if self.top and self.bottom else "top" if self.top else "bottom"
        return Phrase(words, words, written(self.share, "share") if isinstance(self.share, float) else "")


def _weights_of_codes(half: Half, name: str) -> Sums:
    """Return how many records have each category, and what they weigh."""
    number = len(half.schema[name].categories)
    return half.total(partial(category_weights, name, number))


def _counting(weights: Floats) -> int:
    """Return how many values a weighted mean or median is of: those without weight do not count, unless none has."""
    return int(np.count_nonzero(weights)) or weights.size


def upper_limit(values: NDArray[Any], weights: Floats, share: float) -> float:
    """Return the least value with at most a share of the weight above it.

    >>> upper_limit(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4), 0.25)
    3.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order] if weights.any() else np.ones(len(order)))
    enough = (1 - share) * reached[-1]
    place = int(np.searchsorted(reached, enough * (1 - ROUNDING)))
    return float(values[order[min(place, len(order) - 1)]])


def _not_below(low: Any, high: Any) -> bool:
    """Tell whether two limits that are numbers, or dates, stand in the wrong order."""
    if isinstance(low, int | float) and isinstance(high, int | float):
        return low >= high
    days = dates.day_of(low), dates.day_of(high)
    return days[0] is not None and days[1] is not None and days[0] >= days[1]


def _limit(variable: Variable, end: str, limit: Any) -> float:
    """Return a stated limit as a number, that of a date in days."""
    if variable.kind == "date":
        day = dates.day_of(limit)
        if day is None:
            raise NotApplicable(f"{end} of {variable.name!r} must be a date such as '1990-01-31'; got {limit!r}")
        return day
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        raise NotApplicable(f"{end} of {variable.name!r} must be a number, for it is numeric; got {limit!r}")
    return limit


def _written(variable: Variable, limit: float) -> str:
    return dates.spelled(limit) if variable.kind == "date" else shown(limit)


def _merged_ends(
    variable: Variable, codes: NDArray[Any], low: int | None, high: int | None
) -> tuple[Variable, NDArray[Any]]:
    """Merge the categories up to ``low``, and those from ``high``, where any record is beyond."""
    into: list[Category] = list(variable.categories)
    labels: dict[Category, str] = {}
    present = codes[codes >= 0]
    for limit, part, beyond, words in (
        (low, slice(None, None if low is None else low + 1), low is not None and (present < low).any(), "or lower"),
        (high, slice(high, None), high is not None and (present > high).any(), "or higher"),
    ):
        if limit is None or not beyond:
            continue
        category = variable.categories[limit]
        name = f"{category} {words}"
        into[part] = [name] * len(into[part])
        if category in dict(variable.labels):
            labels[name] = f"{variable.spelled(category)} {words}"
    return merged(variable, codes, into, labels=labels)
