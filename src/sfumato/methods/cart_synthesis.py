"""Synthesis by trees: every variable drawn anew, given those before it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method, Seed, speaking
from sfumato.data.microdata import Microdata
from sfumato.data.schema import Kind, Variable, is_quantitative
from sfumato.data.treatment import PERTURBED
from sfumato.errors import NotApplicable
from sfumato.methods.cart_households import MEMBERS, Levels
from sfumato.methods.cart_smoothing import Smoothing, smoothing
from sfumato.methods.cart_tree import Predictor, Rule, Tree, fit, predictor, visible
from sfumato.methods.cart_uniques import alone, among, digests
from sfumato.registry import catalogued

Column = NDArray[Any]

MOST_CATEGORIES = 5_000  # a table of two such variables still fits
MOST_REDRAWN = 0.05  # of the records; more would bend the distributions
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
    )
)
class CARTSynthesis(Method):
    """Records drawn anew, variable by variable: each from a tree that predicts it by the variables before it.

    The first variable is sampled from its own distribution. Every further one gets a regression tree (numeric and
    ordinal variables, by their values and by 0, 1, 2, ...) or a classification tree (nominal ones, Gini impurity),
    fitted to the original records with the variables before it as predictors; a synthetic record falls into a leaf by
    the values it has so far, and takes the value of one of the leaf's original records, its donor.

    - ``min_leaf``: the fewest donors of a leaf. Larger leaves protect more and tell less; of leaves of 5 (synthpop's)
      somebody can tell better who took part. As in rpart, a node of fewer
      than 3 ``min_leaf`` records is not split, nor one ``max_depth`` levels down; a split must lower the lack of fit by
      ``cp`` of the root's. Trees are not pruned.
    - ``order``: the variables that are drawn first, in this order; the others follow as they stand in the table. Early
      variables are modelled best; those with many categories are better drawn late.
    - ``variables``: None synthesises all and gives a table whose records correspond to none of the original's. Named,
      only these are drawn anew, given all others, which stay with their records (partial synthesis).
    - ``records``: how many to draw; None: as many as there are.
    - ``proper``: leaves are resampled by a Bayesian bootstrap first, so that copies differ as draws from a posterior
      predictive distribution do; the trees themselves stay the same.
    - ``smoothing``: a number that fewer than 10 records hold is drawn from between its neighbours in the leaf and
      rounded as the variable is written, so that no real amount is given out but by chance.
    - ``replicated_uniques``: a synthetic record may equal, in every variable, an original that is alone in its values;
      with few donors per leaf that is two or three times as frequent as in another sample of the population. "redraw"
      draws the last variable of such a record anew, then the last two, and so on until it differs; "keep" leaves it.
      Where more than 5 % of the records are such, as in tables of few variables, none is drawn anew, since that would
      bend the distributions; a note tells how many there are. In partial synthesis they are always kept: there a value
      that may not be drawn would be told by its absence.

    Numbers are split at a threshold, a missing value lies below all others; nominal predictors are split into sets of
    categories, ordered by the mean of the target or by the shares of its classes, however many categories there are.
    A category that a node has not seen follows the larger side.

    In a table synthesised as a whole the survey weight is drawn last, like any other number, and scaled to the
    original's total; trees and donors do not use it: the file resembles the sample, not the population. The id is
    numbered anew from 1. The household and other identifiers are left out, as persons are drawn one by one; the donors
    of a leaf are so many persons, though perhaps of one household. Named variables that the members of a household
    share are drawn once for each household.

    ``unit="household"`` draws households: their number of members and what members share from trees over households,
    then each member from trees over persons, given that, the number of members and the place among them in the file
    (so that whoever stands first is drawn like those who stand first). ``records`` then counts households. Members
    know of each other only what their household tells: put into the table what else must fit, such as the age of the
    head. Replicated uniques are counted, not drawn anew.

    ``copies`` draws several tables from the trees fitted once; an experiment draws one per replicate.
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
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise parameters.refuse(self, f"m must be a whole number of at least 1; got {m!r}")
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
        """Return the method for these variables alone."""
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
        if copied.size > MOST_REDRAWN * len(columns[names[0]]):
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
    if variable.kind == "nominal" and len(variable.categories) > MOST_CATEGORIES:
        raise NotApplicable(
            f"variable {name!r} has {len(variable.categories):,} categories, more than a tree can use "
            f"({MOST_CATEGORIES:,}); recode it, remove it, or give it the role identifier"
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
