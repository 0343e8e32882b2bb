"""Designs: the columns of a model in the original's coding, applied to either table."""

import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.data.microdata import Floats
from sfumato.data.schema import Schema, a_kind
from sfumato.errors import NotApplicable
from sfumato.utility.models import formula
from sfumato.utility.models.formula import Factor
from sfumato.utility.models.model import Model
from sfumato.utility.models.rows import Block, Rows, Usable

MOST_LEVELS = 500
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
        if len(levels) > MOST_LEVELS:
            raise NotApplicable(f"{where}: {factor.text} has {len(levels):,} levels, more than {MOST_LEVELS}")
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
