"""Release of a sample of the records."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, chosen
from sfumato.display import Phrase, written
from sfumato.errors import NotApplicable
from sfumato.methods.selection import refuse_small_weights
from sfumato.pair import Half, Masking
from sfumato.pair.keys import StrataInParts, strata_in_parts
from sfumato.pair.masking import MaskedColumns
from sfumato.registry import catalogued
from sfumato.table.draws import Draws
from sfumato.table.households import counted, units
from sfumato.table.keys import Strata, strata
from sfumato.table.microdata import Microdata
from sfumato.table.on_demand import SelectedRecords
from sfumato.table.parts import TableInParts
from sfumato.table.present import only_present
from sfumato.table.schema import Schema, Variable

# A sample of a table in parts: of each stratum the records with the smallest draws, however the table is cut.
#
# Every record has a draw of its own number. The largest draw that is still taken is found in two passes: one counts the
# draws of each stratum in classes, the other looks at those of the one class in which it lies. Nothing of the records
# is read but the variables that make the strata.

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
DRAWN = "which records are drawn"  # the variable whose draws decide
MAX_CELLS = 2**22  # of the table that counts the draws


@dataclass(frozen=True, eq=False)
class Lot:
    """Which records are drawn: of each stratum those up to the last one taken, by their draws, then their numbers."""

    strata: StrataInParts
    last_draw: Floats
    last_record: Integers

    def rows(self, part: Microdata, first: int, draws: Draws) -> NDArray[np.intp]:
        """Return the records of a part that are drawn."""
        draw, stratum = draws.uniform(DRAWN, first, len(part)), self.strata.of(part)
        last = self.last_draw[stratum]
        tied = (draw == last) & (first + np.arange(len(part)) <= self.last_record[stratum])
        return np.flatnonzero((draw < last) | tied)


def _drawn_by_lot(half: Half, strata: StrataInParts, counts: Integers, draws: Draws) -> Lot:
    """Draw so many records of each stratum without replacement, each with the same chance."""
    number = len(strata.sizes)
    bins = max(MAX_CELLS // number, 1)
    table = np.zeros(number * bins, dtype=np.int64)
    for cells in half.numbered(partial(_cells, strata, draws, bins)):
        table += cells
    reached = np.cumsum(table.reshape(number, bins), axis=1)
    there = np.array([np.searchsorted(row, count) for row, count in zip(reached, counts, strict=True)])
    before = np.where(there > 0, reached[np.arange(number), np.maximum(there - 1, 0)], 0)
    in_class = half.numbered(partial(_of_class, strata, draws, bins, there))
    found = [np.concatenate(column) for column in zip(*in_class, strict=True)]
    order = np.lexsort((found[2], found[1], found[0]))
    stratum, draw, record = (column[order] for column in found)
    last = np.searchsorted(stratum, np.arange(number)) + (counts - before) - 1
    return Lot(strata, draw[last], record[last])


def _cells(strata: StrataInParts, draws: Draws, bins: int, part: Microdata, first: int) -> Integers:
    """Count the draws of a part by stratum and class of draws."""
    cell = (draws.uniform(DRAWN, first, len(part)) * bins).astype(np.int64)
    return np.bincount(strata.of(part) * bins + cell, minlength=len(strata.sizes) * bins)


def _of_class(
    strata: StrataInParts, draws: Draws, bins: int, wanted: Integers, part: Microdata, first: int
) -> tuple[Integers, Floats, Integers]:
    """Return stratum, draw and number of the records of a part whose draw lies in the class looked for."""
    draw, stratum = draws.uniform(DRAWN, first, len(part)), strata.of(part)
    rows = np.flatnonzero((draw * bins).astype(np.int64) == wanted[stratum])
    return stratum[rows], draw[rows], first + rows


@dataclass(frozen=True, eq=False)
class SampledInParts(Masking):
    """The records that are drawn, with weights that let them stand for all."""

    schema: Schema
    lot: Lot
    weight: str
    factor: Floats  # by stratum
    recoded: Mapping[str, Codes]  # by old code, of what names the records
    said: str

    @property
    def changes(self) -> frozenset[str]:
        return frozenset((self.weight, *self.recoded))

    def masked(self, part: Microdata, name: str, first: int, draws: Draws) -> NDArray[Any]:
        if name == self.weight:
            weights: Floats = part.weights() * self.factor[self.lot.strata.of(part)]
            return weights
        return np.take(self.recoded[name], part.columns[name])

    def applied(self, table: TableInParts, draws: Draws, note: str) -> TableInParts:
        """Return the records drawn, in the parts in which they stood; a part without any goes."""
        lot, parts, first = self.lot, [], 0
        chosen = Half.of(table).numbered(lambda part, first: lot.rows(part, first, draws))
        for part, rows in zip((part for part in table.parts if len(part)), chosen, strict=True):
            if len(rows):
                columns = SelectedRecords(MaskedColumns(part, self, first, draws), rows)
                numbers = first + rows if part.drawn is None else part.drawn[rows]
                notes = (*part.notes, note)
                made = replace(part, schema=self.schema, columns=columns, notes=notes, matched=False, drawn=numbers)
                parts.append(made)
            first += len(part)
        return TableInParts(tuple(parts))


def _names_of_drawn(half: Half, lot: Lot, draws: Draws) -> dict[str, tuple[Any, Codes]]:
    """Return what names the records, without the names of those not drawn: the variable, and what each code becomes."""
    apart = set(half.schema.special().values())
    naming = [v for v in half.schema if not v.quantitative and (v.name in apart or v.role == "identifier")]
    found = {}
    for variable in naming:
        used = np.zeros(len(variable.categories), dtype=bool)
        for there in half.numbered(partial(_used, variable.name, lot, draws)):
            used[there] = True
        codes = np.flatnonzero(used).astype(np.int32)
        made, anew = only_present(variable, codes)
        recoded = np.full(len(variable.categories) + 1, -1, dtype=np.int32)
        recoded[codes] = anew
        found[variable.name] = made, recoded
    return found


def _used(name: str, lot: Lot, draws: Draws, part: Microdata, first: int) -> Codes:
    """List the categories of the records of a part that are drawn."""
    codes = part.columns[name][lot.rows(part, first, draws)]
    return np.unique(codes[codes >= 0])


# The method

Rows = NDArray[np.intp]


@catalogued(
    MethodAbout(
        title="Sampling of records",
        source="Hundepool et al. (2012), Statistical Disclosure Control, chapter 3 (sampling); Cochran (1977)",
        missing="comes along as it is; a missing stratum is a stratum, a missing household a household of one",
        kinds=("numeric", "ordinal", "nominal", "date"),
        weights=True,
        random=True,
        grid={"fraction": (0.8, 0.5, 0.2, 0.1)},
        keeps_records=False,
        draws=True,
        caveat="the records drawn are released as they are: sampling makes an intruder unsure whether a unit is in the "
        "file, and helps no one who is known to be in it",
        formula="in each stratum h:  n_h = f_h N_h, rounded (halves up), at least 1, drawn without replacement\n"
        "w' = w N_h / n_h    (w = 1 where the schema names no weight)\n"
        "N_h = records of the stratum, or households where the schema names them",
        reading="``fraction`` is the share released: 0.5 halves the file; extracts of a census are often 0.01 to "
        "0.05. Standard errors grow by about 1 / sqrt(fraction). Risk per record released falls only for an intruder "
        "who does not know that his target is in the file: IndividualRisk and LogLinearRisk count that through the "
        "weights, KAnonymity does not.",
        group="Sample",
        effect="a part",
        labels={
            "fraction": "Share of records to release; by stratum {'north': 0.5} (fraction)",
            "strata": "Separately by (strata)",
        },
    )
)
class Sampling(Method):
    """A random part of the records, each as it is, with weights that let the part stand for all.

    ``fraction`` of the records is drawn without replacement, each with the same chance; with ``strata=["region"]`` that
    fraction of every stratum, or a fraction of its own, ``{"north": 0.5, "south": 0.1}`` (for several strata variables
    by their values in a row: ``{("north", "female"): 0.5, ...}``). Of N units n = fraction times N, rounded, are drawn,
    at least one. Where the schema names a household, whole households are drawn, which must lie in one stratum.

    Weights are multiplied by N / n of the stratum, the inverse of its sampling fraction; where the schema names no
    weight, a column "weight" with N / n is added and becomes the weight. Without households, weights of one add up to
    the number of original records exactly; otherwise totals are right in expectation. Weights below one are refused.
    A stratum so small that all its units are drawn protects nobody in it; the note counts those. The records stay in
    their order; none is counted as the same as one of the original, except by the audit before a release. The id and
    other identifiers of those drawn are kept: to release the part without them, ``Sampling(0.1) + VariableRemoval()``.

    >>> import pyarrow as pa
    >>> drawn = Sampling(0.4).protect(pa.table({"income": [10, 20, 30, 40, 50]}), rng=1)
    >>> drawn.num_rows, drawn["weight"].to_pylist()
    (2, [2.5, 2.5])
    """

    fraction: float | Mapping[Any, float]
    strata: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "strata")
        if not isinstance(self.fraction, Mapping):
            parameters.share(self, "fraction")
            return
        if self.strata is None:
            raise parameters.refuse(self, "a fraction by stratum needs strata, such as strata=['region']")
        object.__setattr__(self, "fraction", parameters.frozen(self.fraction))
        for stratum, value in self.fraction.items():
            good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1
            if not good:
                raise parameters.refuse(self, f"the fraction of {stratum!r} must be in (0, 1]; got {value!r}")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name all variables: records are drawn whole."""
        names = chosen(self, data.schema)
        if self.variables is not None:
            raise NotApplicable("records are drawn whole, so leave variables out")
        return names

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        self.masked(data)
        refuse_small_weights(data)
        parts = strata(data, self.strata or ())
        fractions = self._fractions(parts)
        unit = units(data)
        number = counted(unit)
        part_of_unit = _parts_of_units(parts, unit, number)
        drawn = np.zeros(number, dtype=bool)
        factor = np.ones(len(fractions))
        by_part = np.argsort(part_of_unit, kind="stable")  # once, however many strata there are
        ends = np.searchsorted(part_of_unit[by_part], np.arange(len(fractions) + 1))
        for stratum, fraction in enumerate(fractions):
            members = by_part[ends[stratum] : ends[stratum + 1]]
            count = _count(fraction, members.size)
            drawn[rng.permutation(members)[:count]] = True
            factor[stratum] = members.size / count
        rows = np.flatnonzero(drawn[unit])
        taken = _weighted(_without_unseen(data.take(rows)), factor[parts.codes[rows]])
        what = "households" if data.schema.household is not None else "records"
        drawn_in_words = f"drew {int(drawn.sum()):,} of {number:,} {what}, {rows.size:,} of {len(data):,} records"
        note = f"{type(self).__name__}: {drawn_in_words}{_certain(factor)}"
        drawn_from = (
            rows if taken.drawn is None else taken.drawn
        )  # of a sample of a sample, the rows of the first table
        return replace(taken, notes=(*taken.notes, note), matched=False, drawn=drawn_from)

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Find the last draw that is taken of each stratum; whether a record is drawn depends on its number alone."""
        self.masked(half.parts[0])
        refuse_small_weights(half)
        strata = strata_in_parts(half, self.strata or ())
        fractions = self._fractions(strata.named)
        counts = np.array([_count(*one) for one in zip(fractions, strata.sizes.tolist(), strict=True)])
        lot, factor = _drawn_by_lot(half, strata, counts, draws), strata.sizes / counts
        names = _names_of_drawn(half, lot, draws)
        schema = half.schema.replace(*(variable for variable, _ in names.values()))
        weight = schema.weight
        if weight is None:
            added = _weight_variable(schema)
            weight, schema = added.name, replace(schema, variables=(*schema.variables, added), weight=added.name)
        total = f"{counts.sum():,} of {len(half):,} records"
        drawn_in_words = f"drew {total}, {total}{_certain(factor)}"
        return SampledInParts(
            schema, lot, weight, factor, {name: recoded for name, (_, recoded) in names.items()}, drawn_in_words
        )

    def _fractions(self, parts: Strata) -> list[float]:
        """Return the fraction of each stratum."""
        if not isinstance(self.fraction, Mapping):
            return [self.fraction] * len(parts.values)
        stated = {_key(stratum): value for stratum, value in self.fraction.items()}
        strata_by_key = {_key(values): stratum for stratum, values in enumerate(parts.values)}
        unknown = [stratum for stratum in self.fraction if _key(stratum) not in strata_by_key]
        if unknown:
            known = ", ".join(repr(values[0] if len(values) == 1 else values) for values in parts.values[:12])
            raise NotApplicable(f"fraction names {unknown[0]!r}, which is no stratum; there are {known}")
        lacking = [parts.spelled(stratum) for key, stratum in strata_by_key.items() if key not in stated]
        if lacking:
            raise NotApplicable(f"no fraction for the stratum {lacking[0]}; every stratum needs one")
        return [stated[key] for key in strata_by_key]

    def in_words(self, schema: Schema | None = None) -> str:
        share = "part" if isinstance(self.fraction, Mapping) else written(self.fraction, "share")
        return f"a random {share} of the records is kept"

    def short(self) -> Phrase:
        share = "" if isinstance(self.fraction, Mapping) else written(self.fraction, "share")
        return Phrase("sample", "sample", share)


def _key(stratum: Any) -> tuple[str, ...]:
    """Return a stratum so that 1 and "1", or a value alone and in a tuple, are the same."""
    values = stratum if isinstance(stratum, tuple) else (stratum,)
    return tuple("" if value is None else str(value) for value in values)


def _parts_of_units(parts: Strata, unit: Rows, number: int) -> Rows:
    """Return the stratum of each unit; a household in two strata is refused."""
    part = np.empty(number, dtype=np.intp)
    part[unit] = parts.codes
    split = np.flatnonzero(part[unit] != parts.codes)
    if split.size:
        row = int(split[0])
        strata_of = sorted({parts.spelled(int(code)) for code in parts.codes[unit == unit[row]]})
        households = len(np.unique(unit[split]))
        raise NotApplicable(
            f"{households:,} household{'s lie' if households > 1 else ' lies'} in several strata, for example "
            f"that of row {row + 1} in {' and in '.join(strata_of)}; make strata of what a household has in common"
        )
    return part


def _without_unseen(data: Microdata) -> Microdata:
    """Take the ids and names of the units that were not drawn off the list; what a category means stays as it was."""
    apart = set(data.schema.special().values())
    naming = [v for v in data.schema if not v.quantitative and (v.name in apart or v.role == "identifier")]
    return data.recast({v.name: only_present(v, data.columns[v.name]) for v in naming})


def _weighted(data: Microdata, factor: NDArray[np.float64]) -> Microdata:
    """Return the table with its weights multiplied, or with new ones where it has none."""
    schema = data.schema
    if schema.weight is not None:
        return replace(data, columns={**data.columns, schema.weight: data.weights() * factor})
    variable = _weight_variable(schema)
    return replace(
        data,
        schema=replace(schema, variables=(*schema.variables, variable), weight=variable.name),
        columns={**data.columns, variable.name: factor},
    )


def _weight_variable(schema: Schema) -> Variable:
    """Return the weight that a table without any gets."""
    name = next(name for name in ("weight", "sampling_weight", "weight_of_sampling") if name not in schema)
    return Variable(name, label="inverse of the sampling fraction")


def _count(fraction: float, units: int) -> int:
    """Return how many units of a stratum are drawn."""
    return min(max(1, int(fraction * units + 0.5 + 1e-9)), units)


def _certain(factor: NDArray[np.float64]) -> str:
    """Say in how many strata all units are drawn, given the inverse of the sampling fractions."""
    certain = int((factor == 1).sum())
    if not certain or certain == len(factor):
        return ""
    return f"; all of {certain:,} of {len(factor):,} strata, where it is certain who is in the file"
