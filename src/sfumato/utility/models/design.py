"""Designs: the columns of a model in the original's coding, applied to either table a block of records at a time."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import NotApplicable
from sfumato.pair import Half
from sfumato.pair.statistics import Statistic, Sums, Values, merged
from sfumato.table.microdata import Floats, Microdata
from sfumato.table.schema import Schema, a_kind
from sfumato.utility.models import formula
from sfumato.utility.models.formula import Factor, Model

# The records a model can use, a block at a time, so that no design is ever held whole

BLOCK = 1 << 13  # records of a block: small enough for the cache and for memory that is used again, not mapped anew
Truths = NDArray[np.bool_]
S = TypeVar("S", bound=Statistic)


@dataclass(frozen=True)
class Complete(Statistic):
    """The records that have all of some variables and a positive weight: their number and what they weigh.

    ``incomplete`` counts those of positive weight that lack a value.
    """

    count: int
    incomplete: int
    weight: float
    least: float
    greatest: float

    @classmethod
    def of(cls, part: Microdata, keep: Truths | None) -> Self:
        """Count the records of a part; ``keep`` marks the complete ones of positive weight, None if all are."""
        if part.schema.weight is None:
            count = len(part) if keep is None else int(np.count_nonzero(keep))
            return cls(count, len(part) - count, float(count), 1.0, 1.0)
        whole = part.weights()
        weights = whole if keep is None else whole[keep]
        least, greatest = weights.min(initial=np.inf), weights.max(initial=-np.inf)
        incomplete = int(np.count_nonzero(whole > 0)) - len(weights)
        return cls(len(weights), incomplete, float(weights.sum()), float(least), float(greatest))

    def merge(self, other: Self) -> Self:
        """Add up."""
        return type(self)(
            self.count + other.count,
            self.incomplete + other.incomplete,
            self.weight + other.weight,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
        )


def _complete(half: Half, part: Microdata, variables: tuple[str, ...]) -> Truths | None:
    """Mark the records of positive weight that have all variables; None if all are such. In memory it is kept."""
    if half.in_parts:
        return _marked(part, [part.missing(name) for name in variables])
    gaps = [half.keep(("gaps", name), partial(part.missing, name)) for name in variables]
    found: Truths | None = half.keep(("complete", variables), partial(_marked, part, gaps))
    return found


def _marked(part: Microdata, gaps: list[Truths]) -> Truths | None:
    positive = None if part.schema.weight is None else part.weights() > 0
    if positive is not None and positive.all():
        positive = None
    if not gaps:
        return positive
    present: Truths = ~np.logical_or.reduce(gaps)
    return present if positive is None else positive & present


@dataclass(frozen=True, eq=False)
class Rows:
    """The complete records of positive weight, for the variables of a model.

    ``holed`` names those of the variables that have gaps at all. Models that share them use the same records.
    """

    half: Half
    label: str  # which of the two tables it is, for messages
    holed: tuple[str, ...]
    found: Complete
    held: dict[Any, Any] = field(default_factory=dict)  # what is costly in a block, where the table is in memory

    @property
    def count(self) -> int:
        """How many records there are."""
        return self.found.count

    @property
    def incomplete(self) -> int:
        """How many records are left out because a value is missing."""
        return self.found.incomplete

    @property
    def scale(self) -> float:
        """What weights are multiplied with to sum to the number of records."""
        return self.found.count / self.found.weight

    @property
    def unequal(self) -> bool:
        """Whether the survey weights of these records differ."""
        return self.half.schema.weight is not None and self.found.least < self.found.greatest

    def blocks(self) -> Iterator["Block"]:
        """Yield the records in blocks."""
        for number, part in enumerate(self.half.parts):
            yield from self._blocks(part.at_hand(), number)

    def _blocks(self, part: Microdata, number: int = 0) -> Iterator["Block"]:
        keep = _complete(self.half, part, self.holed)
        for start in range(0, len(part), BLOCK):
            rows = slice(start, min(start + BLOCK, len(part)))
            block = Block(self, part, number, rows, None if keep is None else keep[rows])
            if len(block):
                yield block

    def total(self, of: Callable[["Block"], S]) -> S:
        """Make a statistic of each block and merge them in the order of the records."""
        if not self.half.on_disk:
            return merged(of(block) for block in self.blocks())
        return self.half.total(lambda part: self._total(part, of))

    def _total(self, part: Microdata, of: Callable[["Block"], S]) -> S | None:
        """Make the statistic of a part; None where it has no such record."""
        found = [of(block) for block in self._blocks(part)]
        return merged(found) if found else None

    def levels(self, name: str) -> NDArray[Any]:
        """Return the codes (or numbers) of a variable that occur, in order."""
        found: NDArray[Any] = self.half.keep(("levels", self.holed, name), lambda: self._levels(name))
        return found

    def _levels(self, name: str) -> NDArray[Any]:
        variable = self.half.schema[name]
        if variable.quantitative:
            return self.half.total(lambda part: Values.of(self._column(part, name))).values
        size = len(variable.categories)
        found = self.half.total(lambda part: Sums({"n": np.bincount(self._column(part, name), minlength=size)}))
        return np.flatnonzero(found["n"])

    def _column(self, part: Microdata, name: str) -> NDArray[Any]:
        keep = _complete(self.half, part, self.holed)
        return part.columns[name] if keep is None else part.columns[name][keep]

    def frame(self, variables: tuple[str, ...], most: int | None = None) -> Any:
        """Return variables of all these records, or of the first few, as a pandas frame."""
        columns: dict[str, list[NDArray[Any]]] = {name: [] for name in variables}
        left = self.count if most is None else most
        for block in self.blocks():
            for name in variables:
                columns[name].append(block.column(name)[:left])
            left -= len(block)
            if left <= 0:
                break
        return self.framed({name: np.concatenate(found) for name, found in columns.items()})

    def framed(self, columns: dict[str, NDArray[Any]]) -> Any:
        """Return columns of values and codes as a pandas frame, without the categories that no record has."""
        import pandas as pd

        series: dict[str, Any] = {}
        for name, column in columns.items():
            variable = self.half.schema[name]
            if variable.quantitative:
                series[name] = column
                continue
            levels = pd.Index(list(variable.categories), tupleize_cols=False)
            coded = pd.Categorical.from_codes(column, categories=levels, ordered=variable.kind == "ordinal")
            used = {variable.categories[code] for code in self.levels(name)}
            series[name] = coded.remove_categories([level for level in variable.categories if level not in used])
        return pd.DataFrame(series)


class Block:
    """A few records of a part."""

    def __init__(self, owner: Rows, part: Microdata, number: int, rows: slice, keep: Truths | None) -> None:
        self.owner = owner
        self.place = number, rows.start  # of the block among all
        self._part, self._rows, self._keep = part, rows, keep
        self._length = rows.stop - rows.start if keep is None else int(np.count_nonzero(keep))

    def __len__(self) -> int:
        return self._length

    def column(self, name: str) -> NDArray[Any]:
        """Return the values or codes of a variable."""
        column: NDArray[Any] = self._part.columns[name][self._rows]
        return column if self._keep is None else column[self._keep]

    def weights(self) -> Floats | None:
        """Return the weights, scaled to sum to the number of records in all blocks; None where they are equal."""
        return self.column(str(self._part.schema.weight)) * self.owner.scale if self.owner.unequal else None

    def frame(self, variables: tuple[str, ...]) -> Any:
        """Return variables as a pandas frame, without the categories that no record of any block has."""
        return self.owner.framed({name: self.column(name) for name in variables})

    def held(self, key: Any, compute: Callable[[], Floats]) -> Floats:
        """Compute something of this block; where the table is in memory it is held for the next pass."""
        if self.owner.half.in_parts:
            return compute()
        held, whole = self.owner.held, (key, self.place)
        if whole not in held:
            held[whole] = compute()
        found: Floats = held[whole]
        return found


class Usable:
    """Finds the records of a table that each model can use, once for models that miss the same ones."""

    def __init__(self, table: Half | Microdata, label: str) -> None:
        self.half, self.label = Half.of(table), label
        self._asked: dict[tuple[str, ...], Rows] = {}  # by the variables of models
        self._rows: dict[tuple[str, ...], Rows] = {}  # by those of them that have gaps

    def rows(self, variables: tuple[str, ...]) -> Rows:
        """Return the complete records of positive weight."""
        if variables not in self._asked:
            holed = tuple(sorted({name for name in variables if self._missing(name)}))
            if holed not in self._rows:
                self._rows[holed] = self._complete(holed)
            self._asked[variables] = self._rows[holed]
        return self._asked[variables]

    def _complete(self, holed: tuple[str, ...]) -> Rows:
        found = self.half.total(
            lambda part: Complete.of(part, _complete(self.half, part, holed)), ("complete records", holed)
        )
        return Rows(self.half, self.label, holed, found)

    def _missing(self, name: str) -> int:
        """Count the records that lack a variable."""
        found = self.half.total(
            lambda part: Sums({"missing": np.count_nonzero(part.missing(name))}), ("missing values", name)
        )
        return int(found["missing"])


# The columns of a model in the original's coding

MAX_LEVELS = 500
PILOT = 100  # records that tell formulaic which variables are numbers


@dataclass(frozen=True)
class Number:
    """A numeric variable as it is."""

    variable: str

    @property
    def names(self) -> tuple[str, ...]:
        """The variable's name."""
        return (self.variable,)

    def values(self, block: Block, place: int) -> Floats:
        """Return the values of the records."""
        return block.column(self.variable)


@dataclass(frozen=True)
class Categories:
    """The indicators of a variable's levels in the original; reduced: without the first, the reference level."""

    text: str
    variable: str
    levels: tuple[Any, ...]
    reduced: bool

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each level, as R and formulaic spell them."""
        if self.reduced:
            return tuple(f"{self.text}[T.{level}]" for level in self.levels[1:])
        return tuple(f"{self.text}[{level}]" for level in self.levels)

    def values(self, block: Block, place: int) -> Floats:
        """Return 1 where a record has the level, else 0."""
        level = self.levels[place + self.reduced]
        variable = block.owner.half.schema[self.variable]
        sought = level if variable.quantitative else variable.categories.index(level)
        found: Floats = (block.column(self.variable) == sought).astype(np.float64)
        return found

    def check(self, rows: Rows, where: str) -> None:
        """Refuse a table that lacks a level, or has one the original lacks."""
        variable = rows.half.schema[self.variable]
        found = rows.levels(self.variable)
        have = {float(v) for v in found} if variable.quantitative else {variable.categories[v] for v in found}
        lost = [level for level in self.levels if level not in have]
        if lost:
            raise NotApplicable(
                f"{where}: no record of the {rows.label} table has the level {lost[0]!r} of {self.text}"
            )
        new = sorted((level for level in have if level not in self.levels), key=str)
        if new:
            raise NotApplicable(
                f"{where}: the {rows.label} table has the level {new[0]!r} of {self.text}, which the original lacks"
            )


@dataclass(frozen=True, eq=False)
class Expression:
    """What formulaic evaluates: transformations and other codings, with what they learned from the original."""

    text: str
    variables: tuple[str, ...]
    spec: Any
    names: tuple[str, ...]
    first: int  # the place of the first column, after the constant of a reduced coding
    where: str

    @classmethod
    def learn(cls, factor: Factor, rows: Rows, where: str) -> "Expression":
        """Evaluate on the original's records, so that means, knots and levels are the same for both tables.

        Whole columns are needed for that, of the expression's variables alone.
        """
        formulaic = formula.load()
        from formulaic.parser.types import Term

        term = formulaic.Formula([Term([factor.parsed])])
        variables = tuple(sorted(formula.variables_of(factor.parsed)))
        text = formulaic.Formula([*formulaic.Formula("1"), Term([factor.parsed])]) if factor.reduced else term
        matrix = cls._evaluate(text, rows.frame(variables), where, factor.text, output="pandas")
        first = int(factor.reduced)
        return cls(factor.text, variables, matrix.model_spec, tuple(matrix.columns[first:]), first, where)

    def values(self, block: Block, place: int) -> Floats:
        """Return the values of one column; they must all be numbers.

        They are held for the next pass: formulaic takes longer over them than everything else does.
        """
        found: Floats = block.held(self, lambda: self._matrix(block))[:, place + self.first]
        if not np.isfinite(found).all():
            raise NotApplicable(
                f"{self.where}: {self.text} is not a finite number in some records of the {block.owner.label} table"
            )
        return found

    def ask(self, rows: Rows) -> None:
        """Ask for the levels that its blocks need, before these are computed elsewhere."""
        for name in self.variables:
            if not rows.half.schema[name].quantitative:
                rows.levels(name)

    def _matrix(self, block: Block) -> Floats:
        matrix = self._evaluate(self.spec, block.frame(self.variables), self.where, self.text, output="numpy")
        return np.asarray(matrix, dtype=np.float64)

    @staticmethod
    def _evaluate(what: Any, frame: Any, where: str, text: str, output: str) -> Any:
        from formulaic import model_matrix

        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")  # formulaic warns of levels it has not met
                return model_matrix(what, frame, context={"np": np}, na_action="ignore", output=output)
        except Exception as error:  # an expression of the user's may fail in any way
            raise NotApplicable(f"{where}: {text} cannot be computed: {formula._reason(error)}") from None


Coded = Number | Categories | Expression


@dataclass(frozen=True)
class Column:
    """A column of a design: a product of columns of factors, none for the intercept."""

    name: str
    parts: tuple[tuple[Coded, int], ...]

    def values(self, block: Block) -> Floats | None:
        """Return the values in a block of records; None for the constant 1."""
        if not self.parts:
            return None
        (coded, place), *others = self.parts
        found = coded.values(block, place)
        for coded, place in others:
            found = found * coded.values(block, place)
        return found


@dataclass(frozen=True)
class Design:
    """The response and the columns of a model."""

    model: Model
    where: str
    response: Column
    columns: tuple[Column, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables the model needs."""
        return self.model.variables

    @cached_property
    def intercept(self) -> bool:
        """Whether the first column is the constant."""
        return bool(self.columns) and not self.columns[0].parts

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return tuple(column.name for column in self.columns)

    def rows(self, usable: Usable, original: Schema) -> Rows:
        """Find the records of a table that the model can use; refuse a table that it does not fit."""
        _check_variables(self.variables, original, usable, self.where)
        rows = usable.rows(self.variables)
        _check_count(rows, self.where)
        for column in (self.response, *self.columns):
            for coded, _ in column.parts:
                if isinstance(coded, Categories):
                    coded.check(rows, self.where)
                elif isinstance(coded, Expression) and rows.half.on_disk:
                    coded.ask(rows)
        if rows.count <= len(self.columns):
            raise NotApplicable(
                f"{self.where}: {len(self.columns)} coefficients need more than {rows.count} complete records, which "
                f"is all the {rows.label} table has"
            )
        return rows


class Coding:
    """Builds designs from the original's levels and values; factors of several models are learned once.

    ``schema`` is that of the whole original where only some of its variables are at hand.
    """

    def __init__(self, usable: Usable, schema: Schema | None = None) -> None:
        self.usable, self.schema = usable, schema or usable.half.schema
        self._expressions: dict[tuple[str, bool, int], Expression] = {}

    def design(self, model: Model) -> Design:
        """Build the design of a model."""
        parsed, where = formula.parse(model.formula), f"model {model.label!r}"
        original = self.schema
        _check_variables(parsed.variables, original, self.usable, where)
        rows = self.usable.rows(parsed.variables)
        _check_count(rows, where)
        terms: tuple[tuple[Factor, ...], ...]
        if parsed.simple:
            response, terms = Factor(parsed.left, parsed.left), ((),)
            if parsed.right is not None:
                categorical = not original[parsed.right].quantitative
                terms = (), (Factor(parsed.right, parsed.right, categorical, reduced=categorical),)
        else:
            response, terms = formula.sides(parsed, rows.frame(parsed.variables, PILOT), where)
        if response.variable is not None and not original[response.variable].quantitative:
            variable = original[response.variable]
            raise NotApplicable(
                f"{where}: the response {response.text!r} is {variable.kind}; compare a category: "
                f"I({response.text} == {variable.categories[0]!r})"
            )
        (left,) = self._columns((response,), rows, where)
        return Design(model, where, left, tuple(c for term in terms for c in self._columns(term, rows, where)))

    def _columns(self, term: tuple[Factor, ...], rows: Rows, where: str) -> list[Column]:
        coded = [self._coded(factor, rows, where) for factor in term]
        named = formula.column_names([list(c.names) for c in coded])
        return [Column(name, tuple(zip(coded, places, strict=True))) for name, places in named]

    def _coded(self, factor: Factor, rows: Rows, where: str) -> Coded:
        if factor.variable is None:
            key = factor.text, factor.reduced, id(rows)
            if key not in self._expressions:
                self._expressions[key] = Expression.learn(factor, rows, where)
            return self._expressions[key]
        if not factor.categorical:
            return Number(factor.variable)
        variable, found = rows.half.schema[factor.variable], rows.levels(factor.variable)
        numeric = variable.quantitative
        levels = tuple(map(float, found)) if numeric else tuple(variable.categories[code] for code in found)
        if len(levels) > MAX_LEVELS:
            raise NotApplicable(f"{where}: {factor.text} has {len(levels):,} levels, more than {MAX_LEVELS}")
        if len(levels) == 1 and factor.reduced:
            raise NotApplicable(f"{where}: {factor.text} is constant in the original table: {levels[0]!r}")
        return Categories(factor.text, factor.variable, levels, factor.reduced)


def _check_variables(names: tuple[str, ...], original: Schema, usable: Usable, where: str) -> None:
    schema, which = usable.half.schema, usable.label
    for name in names:
        if name not in original:
            near = get_close_matches(name, original.names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(original.names)}"
            raise NotApplicable(f"{where}: there is no variable {name!r}{hint}")
        if name not in schema:
            raise NotApplicable(f"{where}: the {which} table has no variable {name!r}")
        before, after = original[name], schema[name]
        if before.quantitative is not after.quantitative or (before.quantitative and before.kind != after.kind):
            kinds = f"{a_kind(before.kind)} in the original and {a_kind(after.kind)}"
            raise NotApplicable(f"{where}: {name!r} is {kinds} in the {which} table")


def _check_count(rows: Rows, where: str) -> None:
    if not rows.count:
        raise NotApplicable(f"{where}: no record of the {rows.label} table has all of its variables")
