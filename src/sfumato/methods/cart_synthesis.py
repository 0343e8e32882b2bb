"""Synthesis by trees: every variable drawn anew, given those before it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.arguments import require_whole
from sfumato.core import Method, Seed, speaking
from sfumato.errors import NotApplicable
from sfumato.kernels.trees import Criterion, grow
from sfumato.registry import catalogued
from sfumato.table.households import household_level, once_per_household
from sfumato.table.microdata import Microdata
from sfumato.table.resolution import resolution, rounded
from sfumato.table.schema import Kind, Schema, Variable, is_quantitative
from sfumato.table.treatment import PERTURBED

# Trees for synthesis: variables as trees see them, fitting, the leaf a record falls into, and donors from it

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Places = NDArray[np.intp]
Flags = NDArray[np.bool_]

MIN_GAIN = 1e-12  # of the root's lack of fit: what is less is rounding


@dataclass(frozen=True)
class Rule:
    """When a tree stops: the fewest records in a leaf, the most levels, the least gain as a share of the root's.

    ``cells`` are the records times variables of the table, by which growing is worth compiling or not.
    """

    min_leaf: int
    max_depth: int
    cp: float
    cells: int


@dataclass(frozen=True, eq=False)
class Predictor:
    """A variable of the original table as trees see it: its records in order, or their categories."""

    ordered: bool
    places: Codes  # the rank of each record's value among the distinct ones, or its category
    order: Codes  # the records in ascending order; none where there is no order
    levels: Floats  # the distinct values, or the categories


def visible(kind: Kind, column: NDArray[np.generic]) -> Floats:
    """Return a column as splits see it: a missing value is below every other, or a category before every other."""
    if kind == "nominal":
        return column.astype(np.float64) + 1
    numbers = column.astype(np.float64)
    missing = np.isnan(numbers) if is_quantitative(kind) else column.astype(np.int32) < 0
    return np.where(missing, -np.inf, numbers)


def predictor(kind: Kind, column: NDArray[np.generic], categories: int) -> Predictor:
    """Prepare a variable once for all trees that it helps to predict."""
    seen = visible(kind, column)
    if kind == "nominal":
        none = np.empty(0, np.int32)
        return Predictor(ordered=False, places=seen.astype(np.int32), order=none, levels=np.arange(categories + 1.0))
    levels, places = np.unique(seen, return_inverse=True)
    order = np.argsort(places, kind="stable").astype(np.int32)
    return Predictor(ordered=True, places=places.astype(np.int32), order=order, levels=levels)


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree: where it splits, and the donors of each leaf as a stretch of ``members``."""

    column: Codes  # the predictor a node is split by, -1 for a leaf
    threshold: Floats  # what is above it goes to the right
    begins: NDArray[np.int64]  # where the flags of a split by categories begin, -1 for other nodes
    flags: NDArray[np.uint8]
    children: Codes  # left and right
    stretch: Codes  # start and end
    members: Codes

    def leaf(self, columns: Sequence[Floats], count: int) -> Places:
        """Return the leaf each of ``count`` records falls into, by its predictors as splits see them."""
        node = np.zeros(count, dtype=np.intp)
        table = np.stack(columns) if columns else np.empty((0, count))
        moving = np.arange(count)
        while True:
            moving = moving[self.column[node[moving]] >= 0]
            if not moving.size:
                return node
            at = node[moving]
            values = table[self.column[at], moving]
            begin = self.begins[at]
            # a number's place among the flags is meaningless, so it looks at the first
            right = np.where(begin < 0, values > self.threshold[at], self.flags[_flag(begin, values)])
            node[moving] = self.children[right.astype(np.intp), at]

    def donors(self, leaf: Places, rng: np.random.Generator, *, proper: bool) -> Codes:
        """Draw one original record from each leaf named: each alike, or by a Bayesian bootstrap of each leaf."""
        draws = rng.random(leaf.size)
        start, end = self.stretch[0, leaf], self.stretch[1, leaf]
        if not proper:
            place = start + (draws * (end - start)).astype(np.intp)
        else:
            masses = np.concatenate([[0.0], np.cumsum(rng.standard_exponential(self.members.size))])
            sought = masses[start] + draws * (masses[end] - masses[start])
            place = np.searchsorted(masses, sought, side="right") - 1
        return np.asarray(self.members[np.clip(place, start, end - 1)])


def _flag(begin: NDArray[np.int64], values: Floats) -> Places:
    return np.where(begin < 0, 0.0, begin + values).astype(np.intp)


def fit(predictors: Sequence[Predictor], target: NDArray[np.generic], rows: Codes, rule: Rule) -> Tree:
    """Fit a tree to these rows of the target: to its mean if it holds floats, to its classes if it holds codes."""
    ordered = [j for j, found in enumerate(predictors) if found.ordered]
    nominal = [j for j, found in enumerate(predictors) if not found.ordered]
    n = target.size
    inside = np.zeros(n, dtype=bool)
    inside[rows] = True
    orders = [predictors[j].order if rows.size == n else _within(predictors[j].order, inside) for j in ordered]
    aim, criterion, impurity = _aim(target, rows)
    column, bounds, children, stretch, members, begins, flags = grow(
        rows,
        [(order, predictors[j].places) for order, j in zip(orders, ordered, strict=True)],
        _stacked([predictors[j].places for j in nominal], n),
        np.array([predictors[j].levels.size for j in nominal], dtype=np.int64),
        aim,
        criterion,
        least=rule.min_leaf,
        parent=3 * rule.min_leaf,
        depth=rule.max_depth,
        tiny=max(rule.cp, MIN_GAIN) * impurity,
        cells=rule.cells,
    )
    threshold = np.full(column.size, np.inf)
    for place, j in enumerate(ordered):
        nodes = np.flatnonzero(column == place)
        low, high = (predictors[j].levels[bounds[k, nodes]] for k in (0, 1))
        middle = low / 2 + high / 2
        threshold[nodes] = np.where(middle < high, np.maximum(middle, low), low)  # rounding must not reach the higher
    named = np.array([*ordered, *nominal, -1], dtype=np.int32)  # the last one is for leaves
    return Tree(named[column], threshold, begins, flags, children, stretch, members)


def _aim(target: NDArray[np.generic], rows: Codes) -> tuple[Floats, Criterion, float]:
    """Return the target as trees aim at it, by what they split, and the root's lack of fit."""
    if target.dtype.kind == "f":
        values = np.zeros(target.size)
        present = target[rows].astype(np.float64)
        scale = np.abs(present).max(initial=0.0) or 1.0
        scaled = present / scale  # first, so that squares of large numbers stay finite
        values[rows] = scaled - scaled.mean() if rows.size else scaled
        return values, "values", float((values[rows] ** 2).sum())
    sums = np.bincount(target[rows].astype(np.intp))
    return target.astype(np.float64), "classes", rows.size - float((sums * sums).sum()) / max(rows.size, 1)


def _within(order: Codes, inside: Flags) -> Codes:
    kept: Codes = order[inside[order]]
    return kept


def _stacked(columns: Sequence[Codes], length: int) -> Codes:
    return np.stack(columns) if columns else np.empty((0, length), dtype=np.int32)


# Numbers drawn from between a leaf's values in place of the values themselves

FREQUENT = 10  # a value so many records hold, such as no rent or a round amount, points to nobody


@dataclass(frozen=True, eq=False)
class Smoothing:
    """For each original record the stretch its smoothed value is drawn from, and the digits it is rounded to."""

    low: Floats
    high: Floats
    decimals: int

    def drawn(self, donors: Codes, rng: np.random.Generator) -> Floats:
        """Draw a value from the stretch of each donor; a frequent value has a stretch of no length."""
        low, high = self.low[donors], self.high[donors]
        draws = rng.random(donors.size)
        values: Floats = np.where(low == high, low, np.clip(low * (1 - draws) + high * draws, low, high))
        return rounded(values, self.decimals)


def smoothing(tree: Tree, values: Floats, min_leaf: int) -> Smoothing:
    """Find the stretch of every record: half-way to the next lower and the next higher value in its leaf.

    Values of ``FREQUENT`` records or more stay as they are and bound no stretch. A value alone in its leaf takes the
    stretch between the values ``min_leaf`` / 2 places below and above it in the file.
    """
    low, high = values.copy(), values.copy()
    rows = tree.members
    leaf = np.zeros(rows.size, dtype=np.int64)
    leaf[tree.stretch[0, np.flatnonzero(tree.column < 0)]] = 1
    leaf = np.cumsum(leaf)
    distinct, place, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
    rare = counts[place] < FREQUENT
    rows, leaf, place = rows[rare], leaf[rare], place[rare]
    pairs, pair = np.unique(leaf * (distinct.size + 1) + place, return_inverse=True)
    leaf_of, value_of = np.divmod(pairs, distinct.size + 1)
    at = distinct[value_of]
    same = np.diff(leaf_of) == 0  # whether the next pair is of the same leaf
    middle = at[:-1] / 2 + at[1:] / 2
    lower, upper = at.copy(), at.copy()
    lower[1:][same] = middle[same]
    upper[:-1][same] = middle[same]
    alone = lower == upper
    reach = max(min_leaf // 2, 1)
    lower[alone] = distinct[np.maximum(value_of[alone] - reach, 0)]
    upper[alone] = distinct[np.minimum(value_of[alone] + reach, distinct.size - 1)]
    low[rows], high[rows] = lower[pair], upper[pair]
    return Smoothing(low, high, resolution(distinct))


# Synthetic records that equal, in every variable, an original record that is alone with its values

Digests = NDArray[np.uint64]


def digests(columns: Sequence[NDArray[Any]]) -> Digests:
    """Return a number per record that equal records share; others do so once in 10^19 pairs."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        numbers = column.astype(np.float64) + 0.0  # so that -0.0 is 0.0
        numbers[np.isnan(numbers)] = np.nan  # of one pattern of bits
        found = _mixed(found ^ numbers.view(np.uint64))
    return found


def alone(found: Digests) -> Digests:
    """Return the numbers that only one record has, in ascending order."""
    numbers, counts = np.unique(found, return_counts=True)
    return np.asarray(numbers[counts == 1])


def among(found: Digests, sorted_numbers: Digests) -> NDArray[np.intp]:
    """Return the places of the records whose number is among these."""
    if not sorted_numbers.size:
        return np.empty(0, dtype=np.intp)
    place = np.minimum(np.searchsorted(sorted_numbers, found), sorted_numbers.size - 1)
    return np.flatnonzero(sorted_numbers[place] == found)


def _mixed(numbers: Digests) -> Digests:
    """Scatter numbers over all 64 bits, one to one (the finaliser of splitmix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


# The two tables from which whole households are synthesised: one of households, one of their members

Column = NDArray[Any]
MEMBERS, PLACE = "members of the household", "place in the household"


@dataclass(frozen=True, eq=False)
class Levels:
    """A table of households with the number of their members, and one of members with what their household has."""

    homes: Microdata
    persons: Microdata
    shared: tuple[str, ...]  # the variables of households that are synthesised
    own: tuple[str, ...]  # the variables of members that are
    counts: tuple[str, ...]  # those of the shared ones that are the number of members

    @classmethod
    def of(cls, data: Microdata) -> "Levels":
        """Part a table in two."""
        schema = data.schema
        if schema.household is None:
            raise NotApplicable("unit='household' needs a schema that names the household")
        apart = {v.name for v in schema if v.role == "identifier"} | {schema.household, schema.id}
        level = tuple(name for name in household_level(data) if name not in apart)
        homes, place = once_per_household(data, level)
        members = np.bincount(place).astype(np.float64)
        counts = tuple(
            name
            for name in level
            if schema[name].kind == "numeric" and np.array_equal(data.columns[name], members[place])
        )
        shared = tuple(name for name in level if name not in counts)
        homes = _only(_with(homes, {MEMBERS: members}), (MEMBERS, *shared))
        own = tuple(v.name for v in schema if v.name not in {*level, *apart})
        persons = _with(data, {MEMBERS: members[place], PLACE: _places(place)})
        persons = _only(persons, (MEMBERS, PLACE, *shared, *own))
        # the weight of a member is drawn last
        own = tuple(sorted(own, key=lambda name: name == schema.weight))
        return cls(homes, persons, shared, own, counts)

    def members_of(self, homes: Mapping[str, Column]) -> tuple[Column, dict[str, Column]]:
        """Return the household of each member of households drawn, and what all members know of theirs."""
        members = homes[MEMBERS].astype(np.int64)
        place = np.repeat(np.arange(len(members)), members)
        known = {name: column[place] for name, column in homes.items()}
        known[PLACE] = _places(place)
        return place, known


def _places(household: Column) -> Column:
    """Return the place of each record among those of its household, from 1, in the order of the file.

    >>> _places(np.array([0, 1, 0, 0, 1])).tolist()
    [1.0, 1.0, 2.0, 3.0, 2.0]
    """
    order = np.argsort(household, kind="stable")
    sizes = np.bincount(household)
    place = np.empty(len(household))
    place[order] = np.arange(len(household)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return place


def _with(data: Microdata, columns: Mapping[str, Column]) -> Microdata:
    for name in columns:
        if name in data.schema:
            raise NotApplicable(f"the table has a variable {name!r}, which unit='household' needs; rename it")
    variables = (*(Variable(name) for name in columns), *data.schema.variables)
    return replace(data, schema=replace(data.schema, variables=variables), columns={**columns, **data.columns})


def _only(data: Microdata, names: tuple[str, ...]) -> Microdata:
    """Return a table of these variables, without household and id."""
    schema = replace(data.schema.only(names), household=None, id=None)
    return replace(data, schema=schema, columns={name: data.columns[name] for name in schema.names})


# The method

MAX_CATEGORIES = 5_000  # a table of two such variables still fits
MAX_REDRAWN = 0.05  # of the records; more would bend the distributions
Replicated = Literal["redraw", "keep"]


@catalogued(
    MethodAbout(
        title="Synthesis by classification and regression trees",
        source="Reiter (2005), Using CART to generate partially synthetic public use microdata; Nowok, Raab and Dibben "
        "(2016), synthpop: Bespoke creation of synthetic data in R",
        missing="modelled: whether a value is missing is drawn first, then the value; a nominal variable has "
        "missing as a class of its own",
        kinds=("numeric", "ordinal", "nominal", "date"),
        column_order=True,
        random=True,
        grid={"min_leaf": (10, 30, 100)},
        keeps_records=False,
        caveat="persons are drawn one by one unless unit='household' is asked for; single values, rare categories and "
        "extremes among them, are real ones unless smoothing is set; sums that hold in the original hold only roughly",
        formula="x_1 ~ its own distribution;   x_j | x_1 .. x_(j-1) ~ values of the donors of its leaf in tree j\n"
        "tree j splits to lower the sum of squares (numeric, ordinal) or the Gini impurity (nominal)\n"
        "leaves hold min_leaf donors or more; nodes under 3 min_leaf records, max_depth levels down,\n"
        "or where the best split gains less than cp of the root's lack of fit, are not split",
        reading="``min_leaf`` is the number of people a value is drawn from at least: 5 follows the data closely and "
        "tells who took part (an attack by distances, with outsiders to compare, has an area under the curve of .61 on "
        "5,000 records of the Adult census, and finds 5 % of members at 1 % false alarms), 30 is the least of those "
        "tried that keeps the area under .55 (.54 and 2 %), 100 keeps only what is strong. Put into ``order`` first "
        "what matters most. Judge the result as a synthetic file: utility by PropensityUtility and GlobalDataUtility, "
        "risk by DiSCO, RepU and NearestRecord; measures that match records do not apply. Set ``smoothing=True`` where "
        "single amounts would point to somebody.",
        group="Synthesise",
        effect="made up",
        labels={
            "min_leaf": "People from whom a value is drawn, at least (min_leaf)",
            "order": "Order in which variables are drawn (order)",
            "records": "Records to draw (records)",
            "proper": "Draw the model's parameters too (proper)",
            "smoothing": "Smooth numbers, so that no real one is published (smoothing)",
            "replicated_uniques": "Drawn records that copy a unique one (replicated_uniques)",
            "max_depth": "Most questions in a row (max_depth)",
            "cp": "Least gain of a question (cp)",
            "unit": "Drawn at a time (unit)",
        },
    )
)
class CARTSynthesis(Method):
    """Records drawn anew, variable by variable: each from a tree that predicts it by the variables before it.

    The first variable is sampled from its own distribution. For each further one a record falls into a leaf by the
    values it has so far, and takes the value of one of the leaf's original records, its donor. Without ``variables``
    all are drawn, and no record corresponds to one of the original; named, only these are drawn anew, given all others.
    ``copies`` draws several tables from trees fitted once. Every parameter is explained in docs/how-to/synthesise.md.

    >>> import pyarrow as pa
    >>> people = pa.table({"sex": ["f", "m"] * 30, "age": list(range(20, 80))})
    >>> CARTSynthesis(min_leaf=10).protect(people, rng=1).num_rows
    60
    """

    min_leaf: int = 30
    order: tuple[str, ...] | None = None
    records: int | None = None
    proper: bool = False
    smoothing: bool = False
    replicated_uniques: Replicated = "redraw"
    max_depth: int = 30
    cp: float = 1e-8
    unit: Literal["record", "household"] = "record"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "min_leaf")
        parameters.names(self, "order")
        if self.records is not None:
            parameters.whole(self, "records")
        parameters.one_of(self, "proper", (True, False))
        parameters.one_of(self, "smoothing", (True, False))
        parameters.one_of(self, "replicated_uniques", get_args(Replicated))
        parameters.whole(self, "max_depth", least=0)
        parameters.number(self, "cp", least=0)
        parameters.one_of(self, "unit", ("record", "household"))
        if self.unit == "household" and self.variables is not None:
            raise parameters.refuse(self, "unit='household' draws whole households, so leave variables out")

    def copies(self, data: Any, m: int, *, rng: Seed = None) -> tuple[Any, ...]:
        """Draw ``m`` synthetic tables, of the kind that was given, from trees fitted once."""
        require_whole(type(self).__name__, least=1, m=m)
        table = Microdata.from_frame(data)
        with speaking(self):
            models = None if self.unit == "household" else self._models(table)
            drawn = [
                self.apply(table, stream) if models is None else self._drawn(table, models, stream)
                for stream in parameters.random_generator(rng).spawn(m)
            ]
        return tuple(drawn if isinstance(data, Microdata) else (copy.to_frame() for copy in drawn))

    def applied(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Draw named variables level by level, because the others stay with their records."""
        partial = self.variables is not None and data.schema.household is not None
        return self.by_level(data, rng) if partial and self._sequence(data)[0] else self.apply(data, rng)

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        return replace(self, variables=names, order=tuple(name for name in self.order or () if name in names) or None)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        if self.unit == "household":
            return self._households(data, rng)
        return self._drawn(data, self._models(data), rng)

    def _households(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Draw households, then their members given what the household has."""
        for name in self.order or ():
            if name not in data.schema:
                raise NotApplicable(f"order: there is no variable {name!r}; there are {', '.join(data.names)}")
        levels = Levels.of(data)
        root = int(rng.integers(2**63))
        homes = self._level(levels.homes, None, {}, self.records or len(levels.homes), root)
        home, known = levels.members_of(homes)
        columns = {name: known[name] for name in levels.shared} | dict.fromkeys(levels.counts, known[MEMBERS])
        if levels.own:
            columns |= self._level(levels.persons, levels.own, known, len(home), root)
        columns = {name: columns[name] for name in data.names if name in columns}
        names = [name for name in columns if name != data.schema.weight]
        unique = alone(digests([data.columns[name] for name in names]))
        copied = among(digests([columns[name] for name in names]), unique).size
        return _table(data, columns, _said_of_copies(copied, len(home)), home)

    def _level(
        self, table: Microdata, names: tuple[str, ...] | None, known: Mapping[str, Column], count: int, root: int
    ) -> dict[str, Column]:
        """Draw the variables of households, or of members (``names``) given what is known of their household."""
        drawn_here = table.names if names is None else names
        order = tuple(name for name in (MEMBERS, *(self.order or ())) if name in drawn_here)
        models = replace(self, unit="record", variables=names, order=order or None, records=None)._models(table)
        streams = {name: np.random.default_rng([root, crc32(name.encode())]) for name in models.by_name}
        return models.drawn(known, count, streams, proper=self.proper)

    def _sequence(self, data: Microdata) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the variables that stay, and those that are drawn, in their order."""
        names = self.masked(data)
        for name in names:
            if name in (data.schema.id, data.schema.household) or data.schema[name].role == "identifier":
                raise NotApplicable(f"variable {name!r} names the unit, so there is nothing to model")
        others = tuple(name for name in data.schema.analysed() if name not in names)
        stay = others if self.variables is not None else ()
        for name in self.order or ():
            if name not in data.schema:
                raise NotApplicable(f"order: there is no variable {name!r}; there are {', '.join(data.names)}")
            if name not in names:
                raise NotApplicable(f"order names {name!r}, which is not synthesised")
        if stay and self.records is not None:
            raise NotApplicable(
                f"records={self.records} needs all variables synthesised, but {', '.join(stay[:3])} "
                f"{'stays' if len(stay) == 1 else 'stay'} with the original records"
            )
        first = self.order or ()
        return stay, (*first, *(name for name in names if name not in first))

    def _models(self, data: Microdata) -> "_Models":
        """Fit the tree or trees of every variable."""
        stay, drawn = self._sequence(data)
        if len(data) < self.min_leaf:
            raise NotApplicable(
                f"leaves of {self.min_leaf} donors need as many records; there "
                f"{'is' if len(data) == 1 else 'are'} {len(data)}"
            )
        weight = data.schema.weight
        if not stay and weight is not None:  # last, also where it is named
            drawn = (*(name for name in drawn if name != weight), weight)
        cells = len(data) * (len(stay) + len(drawn))
        rule = Rule(self.min_leaf, self.max_depth, self.cp, cells)
        seen = {name: _predictor(data, name) for name in (*stay, *drawn)}
        models = {}
        for place, name in enumerate(drawn):
            before = (*stay, *drawn[:place])
            models[name] = _model(data, name, [seen[other] for other in before], before, rule, smooth=self.smoothing)
        return _Models(stay, models, {variable.name: variable.kind for variable in data.schema})

    def _drawn(self, data: Microdata, models: "_Models", rng: np.random.Generator) -> Microdata:
        """Draw one synthetic table."""
        # a stream per variable name: a further variable changes no draw of those before it
        root = int(rng.integers(2**63))
        streams = {name: np.random.default_rng([root, crc32(name.encode())]) for name in models.by_name}
        few = [name for name, model in models.by_name.items() if 0 < model.present < self.min_leaf]
        notes = [f"fewer than {self.min_leaf} values to draw from: {', '.join(few)}"] if few else []
        count = len(data) if self.records is None else self.records
        columns = models.drawn({name: data.columns[name] for name in models.stay}, count, streams, proper=self.proper)
        if models.stay:
            return data.replace({name: columns[name] for name in models.by_name}, "; ".join(notes))
        if self.replicated_uniques == "redraw":
            copied = self._redrawn(data, models, columns, streams)
            notes += _said_of_copies(copied, count)
        return _table(data, columns, notes)

    def _redrawn(
        self,
        data: Microdata,
        models: "_Models",
        columns: dict[str, Column],
        streams: Mapping[str, np.random.Generator],
    ) -> int:
        """Draw anew, in place, the last variables of records that equal a unique original; return how many still do."""
        names = [name for name in models.by_name if name != data.schema.weight]
        if not names:
            return 0
        unique = alone(digests([data.columns[name] for name in names]))
        copied = among(digests([columns[name] for name in names]), unique)
        if copied.size > MAX_REDRAWN * len(columns[names[0]]):
            return int(copied.size)
        for kept in range(len(names) - 1, -1, -1):
            if not copied.size:
                break
            known = {name: columns[name][copied] for name in names[:kept]}
            again = models.drawn(known, copied.size, streams, proper=self.proper)
            for name, column in again.items():
                columns[name][copied] = column
            copied = copied[among(digests([again[name] for name in names]), unique)]
        return int(copied.size)

    def in_words(self, schema: Schema | None = None) -> str:
        return f"{self.subject_is()} replaced by synthetic values, drawn from trees fitted to the data"


@dataclass(frozen=True, eq=False)
class _Model:
    """How one variable is drawn: its trees, their predictors, and the original values donors give."""

    kind: Kind
    before: tuple[str, ...]
    missing: Tree | None  # whether a value is missing, where some are
    tree: Tree | None  # the value; none where all are missing
    values: Column
    gaps: Column
    smooth: Smoothing | None

    @property
    def present(self) -> int:
        """How many original values there are to draw from."""
        return 0 if self.tree is None else self.tree.members.size

    def drawn(self, seen: Mapping[str, Any], count: int, rng: np.random.Generator, *, proper: bool) -> Column:
        """Draw the variable for records that have the variables before it."""
        columns = [seen[name] for name in self.before]
        drawn = np.full(count, np.nan if is_quantitative(self.kind) else -1, dtype=self.values.dtype)
        present = np.ones(count, dtype=bool)
        if self.missing is not None:
            donors = self.missing.donors(self.missing.leaf(columns, count), rng, proper=proper)
            present = ~self.gaps[donors]
        if self.tree is None:
            return drawn
        places = np.flatnonzero(present)
        leaf = self.tree.leaf([column[places] for column in columns], places.size)
        donors = self.tree.donors(leaf, rng, proper=proper)
        drawn[places] = self.values[donors] if self.smooth is None else self.smooth.drawn(donors, rng)
        return drawn


@dataclass(frozen=True, eq=False)
class _Models:
    """The variables that stay, and how each of the others is drawn, in their order."""

    stay: tuple[str, ...]
    by_name: Mapping[str, _Model]
    kinds: Mapping[str, Kind]

    def drawn(
        self, known: Mapping[str, Column], count: int, streams: Mapping[str, np.random.Generator], *, proper: bool
    ) -> dict[str, Column]:
        """Draw every variable of ``count`` records that is not known yet, each given those before it."""
        columns = dict(known)
        seen = {name: visible(self.kinds[name], column) for name, column in columns.items()}
        for name, model in self.by_name.items():
            if name not in columns:
                columns[name] = model.drawn(seen, count, streams[name], proper=proper)
                seen[name] = visible(model.kind, columns[name])
        return columns


def _model(
    data: Microdata, name: str, predictors: list[Predictor], before: tuple[str, ...], rule: Rule, *, smooth: bool
) -> _Model:
    variable, values = data.schema[name], data.columns[name]
    everyone = np.arange(len(data), dtype=np.int32)
    if variable.kind == "nominal":  # a missing value is a class of its own
        classes = fit(predictors, values + np.int32(1), everyone, rule)
        return _Model(variable.kind, before, None, classes, values, values < 0, None)
    gaps = np.isnan(values) if variable.quantitative else values < 0
    rows = np.flatnonzero(~gaps).astype(np.int32)
    missing = fit(predictors, gaps.astype(np.int32), everyone, rule) if gaps.any() and rows.size else None
    tree = fit(predictors, values.astype(np.float64), rows, rule) if rows.size else None
    smoothed = None
    if smooth and tree is not None and variable.kind == "numeric":
        smoothed = smoothing(tree, values, rule.min_leaf)
    return _Model(variable.kind, before, missing, tree, values, gaps, smoothed)


def _predictor(data: Microdata, name: str) -> Predictor:
    variable = data.schema[name]
    if variable.kind == "nominal" and len(variable.categories) > MAX_CATEGORIES:
        raise NotApplicable(
            f"variable {name!r} has {len(variable.categories):,} categories, more than a tree can use "
            f"({MAX_CATEGORIES:,}); recode it, remove it, or give it the role identifier"
        )
    return predictor(variable.kind, data.columns[name], len(variable.categories))


def _said_of_copies(copied: int, count: int) -> list[str]:
    """Say how many synthetic records equal an original that is alone with its values."""
    if not copied:
        return []
    return [
        f"{copied:,} of {count:,} records equal, in every variable, an original that is alone with its values; "
        "smoothing, or larger leaves, make fewer"
    ]


def _table(
    data: Microdata, columns: dict[str, Column], notes: list[str], home: NDArray[np.int64] | None = None
) -> Microdata:
    """Dress the columns drawn as a table of its own: ids and households from 1, weights with the original's total."""
    schema = data.schema
    count = len(next(iter(columns.values())))
    if schema.weight is not None:
        total = columns[schema.weight].sum()
        if not total:
            raise NotApplicable("every weight drawn is zero, as nearly all of the original's are")
        columns[schema.weight] = columns[schema.weight] * (data.weights().sum() / total)
    variables = {name: schema[name].treated(PERTURBED) for name in columns}
    if schema.id is not None:
        variables[schema.id], columns[schema.id] = _numbered(schema[schema.id], count)
    if schema.household is not None and home is not None:
        variables[schema.household], numbers = _numbered(schema[schema.household], int(home.max()) + 1)
        columns[schema.household] = numbers[home]
    kept = [name for name in data.names if name in columns]
    gone = [name for name in data.names if name not in columns]
    if gone:
        why = "records are drawn one by one" if home is None else "they name the units"
        notes = [f"left out, as {why}: {', '.join(gone)}", *notes]
    return replace(
        data,
        schema=schema.only(kept).replace(*variables.values()),
        columns={name: columns[name] for name in kept},
        origin=replace(data.origin, index=None),
        notes=(*data.notes, *notes),
        matched=False,
        drawn=None,
    )


def _numbered(variable: Variable, count: int) -> tuple[Variable, Column]:
    """Number the records from 1, as numbers or as categories like those there were."""
    if variable.quantitative:
        return variable.treated(PERTURBED), np.arange(1.0, count + 1)
    whole = all(isinstance(category, int) for category in variable.categories)
    categories = tuple(range(1, count + 1)) if whole else tuple(map(str, range(1, count + 1)))
    renamed = replace(variable, categories=categories, labels=()).treated(PERTURBED)
    return renamed, np.arange(count, dtype=np.int32)
