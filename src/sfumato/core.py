"""The contracts: a method turns a table into a table, a measure turns two tables into a number.

Both are frozen dataclasses whose parameters are their fields, so that repr, equality, pickling, grids and the command
line come for free. Read this file first.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout, MethodAbout
from sfumato.display import MAX_DETAIL, Phrase, listed, shortened
from sfumato.errors import NotApplicable, ParameterError
from sfumato.measurement import Measurement
from sfumato.pair import Half, Masking, Pair
from sfumato.pair.masking import protect_parts
from sfumato.speaking import chosen as chosen
from sfumato.speaking import speaking as speaking
from sfumato.table.draws import Draws
from sfumato.table.households import masked_by_level, suppressed_for_all
from sfumato.table.linked import followed
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.resolution import at_resolution_of
from sfumato.table.schema import Schema
from sfumato.table.weights import refuse_weights

if TYPE_CHECKING:
    from sfumato.composition import Chain, Within


Seed = int | np.random.Generator | np.random.SeedSequence | None
Frame = TypeVar("Frame")

MAX_NAMED = 3  # variables that a clause names
ALL_OF_KINDS = {  # what is masked if no variable is named
    frozenset(["numeric"]): "all numbers",
    frozenset(["ordinal", "nominal"]): "all categories",
    frozenset(["numeric", "ordinal"]): "all numbers and ordered categories",
    frozenset(["date"]): "all dates",
    frozenset(["numeric", "date"]): "all numbers and dates",
    frozenset(["numeric", "ordinal", "date"]): "all numbers, dates and ordered categories",
}


@dataclass(frozen=True, repr=False)
class Method(parameters.Described, ABC):
    """A way to mask a table. Variables it does not mask come back untouched; missing values stay missing."""

    about: ClassVar[MethodAbout]
    variables: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parameters.names(self, "variables")

    @overload
    def protect(
        self, data: TableInParts, *, rng: Seed = None, folder: str | os.PathLike[str], rounded: bool = False
    ) -> TableInParts: ...
    @overload
    def protect(self, data: Microdata, *, rng: Seed = None, rounded: bool = False) -> Microdata: ...
    @overload
    def protect(self, data: Frame, *, rng: Seed = None, rounded: bool = False) -> Frame: ...
    def protect(
        self,
        data: Any,
        *,
        rng: Seed = None,
        folder: str | os.PathLike[str] | None = None,
        rounded: bool = False,
    ) -> Any:
        """Return the masked table, of the kind that was given; the table given is not touched.

        Variables that the schema links to others follow what was done to these, once, at the end of all steps. A table
        in parts is written part by part to an empty ``folder``, where it does not depend on how it was cut; its draws
        are numbered by record, and so other ones than in memory. With ``rounded`` masked numbers and dates are rounded
        to the decimals of the original, as in a sweep; without it they are as the method's formula has them.
        """
        if isinstance(data, TableInParts):
            return protect_parts(data, self.steps, speaking, parameters.random_generator(rng), folder, rounded=rounded)
        if folder is not None:
            raise ParameterError("protect: a folder is for tables in parts; a table in memory is returned")
        table = Microdata.from_frame(data)
        with speaking(self), within_arithmetic(table):
            made = self.applied(table, parameters.random_generator(rng))
            protected = followed(table, at_resolution_of(table, made) if rounded else made)
            if protected.schema.weight is not None:
                refuse_weights(protected.schema.weight, protected.weights())
        return protected if isinstance(data, Microdata) else protected.to_frame()

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Learn of a whole table what is needed to mask any part of it; refused by a method that needs all records."""
        raise NotApplicable(
            "it needs all records at once, so that it cannot mask a table in parts; mask it block by block, with "
            ".within('region') or .within(blocks=20_000) behind it, protect a table in memory, or choose one of "
            "docs/how-to/larger-than-memory.md, such as Noise, Rounding, GlobalRecoding or PRAM"
        )

    @property
    def family(self) -> str:
        """What methods that differ only in their parameters have in common: the name of the class."""
        return type(self).__name__

    @property
    def steps(self) -> tuple["Method", ...]:
        """What is done one after the other: of a chain its steps, of any other method itself alone."""
        return (self,)

    @property
    def innermost(self) -> tuple["Method", ...]:
        """The methods that it is made of: of a chain its steps, of blocks what is done in each.

        >>> from sfumato import MDAV, Noise, Rounding
        >>> [type(method).__name__ for method in ((Noise(0.1) + MDAV(3)).within("region") + Rounding(5)).innermost]
        ['Noise', 'MDAV', 'Rounding']
        """
        return (self,)

    def in_words(self, schema: Schema | None = None) -> str:
        """Say in a clause what it does to a table, to somebody who knows no methods.

        With the ``schema`` it is known which recoded variables are ordered and which lose their rare categories.
        """
        title = self.about.title
        return f"{title if title[1:2].isupper() else title[:1].lower() + title[1:]} is applied to {self.subject()}"

    def subject(self, names: Iterable[str] | None = None) -> str:
        """Name what it works on, in a sentence: its variables (or these), or all of its kinds."""
        named = tuple(names or self.variables or ())
        return listed(named, MAX_NAMED) if named else ALL_OF_KINDS.get(frozenset(self.about.kinds), "all variables")

    def subject_is(self, names: Iterable[str] | None = None) -> str:
        """Begin a sentence on what it works on: "income is", "all numbers are"."""
        named = tuple(names or self.variables or ())
        return f"{self.subject(named)} {'is' if len(named) == 1 else 'are'}"

    def short(self) -> Phrase:
        """Say it in a few words: the class and what differs from the defaults, the first parameter by its value alone.

        >>> from sfumato import MDAV
        >>> MDAV(5, variables=("income",)).short()
        Phrase(words='MDAV', brief='MDAV', detail='5', detail_lost=None)
        """
        values = []
        for number, entry in enumerate(entry for entry in fields(self) if entry.name != "variables"):
            value = getattr(self, entry.name)
            if entry.default is MISSING or value != entry.default:
                values.append(str(value) if number == 0 else f"{entry.name}={value}")
        return Phrase(self.family, self.family, shortened(", ".join(values), MAX_DETAIL))

    def told_with(self, before: "Method", *, short: bool) -> bool:
        """Whether this step of a chain is told together with the one before, in a clause or in ``short``."""
        return False

    @classmethod
    def run_in_words(cls, run: Sequence[Any], schema: Schema | None = None) -> str:
        """Say in a clause what steps do that are told together."""
        words: str = run[0].in_words(schema)
        return words

    @classmethod
    def run_in_short(cls, run: Sequence[Any]) -> Phrase:
        """Say the same in a few words."""
        phrase: Phrase = run[0].short()
        return phrase

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables this method masks in this table."""
        with speaking(self):
            return chosen(self, data.schema)

    def only(self, names: tuple[str, ...], data: Microdata) -> "Method":
        """Return the method for these variables alone, to be applied to a table that may lack others."""
        return replace(self, variables=names)

    def applied(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Apply the method so that the members of a household keep in common what they had; ``protect`` calls it.

        Variables at the level of the household are masked first, in a table of one record per household, then given to
        the members; the other variables are masked after that, record by record (``about.households`` says otherwise of
        methods that need not). A method over several variables at once works on each level by itself: what it keeps or
        guarantees of variables together holds among those of one level.
        """
        rule = self.about.households
        if not self.about.keeps_records:
            made = self.apply(data, rng)
            return made if self.about.draws else replace(made, drawn=None)  # records made up of a sample are none of it
        if data.schema.household is None or rule == "whole":
            return self.apply(data, rng)
        if rule != "apart":
            again = rule == "suppressed again"
            return suppressed_for_all(data, lambda table: self.apply(table, rng), type(self).__name__, again=again)
        return self.by_level(data, rng)

    @property
    def heeds_households(self) -> bool:
        """Whether it matters to the method which records are of one household."""
        return self.about.households != "whole"

    def check_level(self, half: Half, level: tuple[str, ...], masked: tuple[str, ...]) -> None:
        """Refuse a table in parts where what households share, ``level``, cannot be masked once for each."""

    def by_level(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Mask what households share in a table of households, then the other variables record by record."""
        names = self.masked(data)

        def mask(some: tuple[str, ...], table: Microdata, stream: np.random.Generator) -> Microdata:
            return (self if table is data and some == names else self.only(some, table)).apply(table, stream)

        return masked_by_level(data, names, type(self).__name__, mask, rng)

    def __add__(self, then: "Method") -> "Chain":
        """Return the method that does this and then the other: ``GlobalRecoding(...) + LocalSuppression(3)``."""
        if not isinstance(then, Method):
            return NotImplemented
        from sfumato.composition import Chain  # which itself is made of methods

        return Chain((*self.steps, *then.steps))

    def within(self, *by: str, least: int = 2, blocks: int | None = None) -> "Within":
        """Return the method done inside each category of these variables: ``MDAV(3).within("region")``.

        ``MDAV(3).within(blocks=20_000)`` is done in blocks of about so many records that are alike.
        """
        from sfumato.composition import Within  # which itself is made of methods

        return Within(self, by, least=least, blocks=blocks)

    @abstractmethod
    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Return the protected table; what a method of your own implements. Users call ``protect``."""


@dataclass(frozen=True, repr=False)
class Measure(parameters.Described, ABC):
    """A number that says how risky or how useful a protected table is, seen against its original."""

    about: ClassVar[MeasureAbout]
    variables: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parameters.names(self, "variables")

    def evaluate(self, original: Any, protected: Any, *, rng: Seed = None) -> Measurement:
        """Measure a protected table against its original."""
        with speaking(self):
            pair = Pair.of(original, protected)
        return self.evaluate_pair(pair, rng=rng)

    def evaluate_pair(self, pair: Pair, *, rng: Seed = None) -> Measurement:
        """Measure two tables that are on one footing already; what other measures computed of them is shared."""
        parts = (*pair.original.parts, *pair.protected.parts)
        with speaking(self), within_arithmetic(*parts) as extremes:
            measurement = self.compute(pair.in_order() if self.about.paired else pair, parameters.random_generator(rng))
            if extremes and not np.isfinite(measurement.value):
                raise beyond_arithmetic(extremes)
        if np.isnan(measurement.value) and not measurement.notes:
            measurement = replace(measurement, notes=("the figure is not defined for these two tables",))
        if self.about.paired and pair.by_position:
            key = pair.original.schema.id
            note = f"records are matched by position: the protected table has no id {key!r}"
            measurement = replace(measurement, notes=(note, *measurement.notes))
        return measurement

    @abstractmethod
    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        """Return the measurement; what a measure of your own implements. Users call ``evaluate``.

        A measure that compares record with record (``about.paired``) gets the protected records in the order of the
        originals.
        """

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths of files, besides the tables, that the figure depends on."""
        return ()

    def shared(self, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Name the variables to compare, and note those the protected table no longer has as such."""
        names = chosen(self, pair.original.schema)
        return pair.shared(names, self.about.kinds, asked=self.variables is not None)

    def known_as(self, **changes: Any) -> None:
        """Say of this instance what its parameters make different from its class."""
        object.__setattr__(self, "about", replace(self.about, **changes))

    def measurement(self, value: float, **details: Any) -> Measurement:
        """Dress a value with what is known of this measure."""
        return Measurement(measure=repr(self), about=self.about, value=float(value), **details)


# Numbers so large or small that arithmetic with them overflows: refused with a reason, not warned of and then nan.

MAX_MAGNITUDE, MIN_MAGNITUDE = 1e70, 1e-70  # their fourth powers, which measures of shape need, are still numbers


_KNOWN: WeakKeyDictionary[Microdata, dict[str, float]] = WeakKeyDictionary()  # every measure asks of the same tables


def extreme_numbers(tables: Iterable[Microdata]) -> dict[str, float]:
    """Return the variables whose greatest number, whatever its sign, is beyond these, with that number.

    Of tables in memory: parts on disk would have to be read for it.
    """
    extremes: dict[str, float] = {}
    for table in tables:
        if not table.on_disk:
            if table not in _KNOWN:
                _KNOWN[table] = dict(_beyond(table))
            extremes |= _KNOWN[table]
    return extremes


def _beyond(table: Microdata) -> Iterator[tuple[str, float]]:
    for name in (variable.name for variable in table.schema if variable.kind == "numeric"):  # weights too
        column = table.columns[name].astype(np.float64, copy=False)
        high, low = np.fmax.reduce(column, initial=np.nan), np.fmin.reduce(column, initial=np.nan)
        largest = float(max(high, -low))  # nan where all is missing
        if largest > MAX_MAGNITUDE or 0 < largest < MIN_MAGNITUDE:
            yield name, largest


@contextmanager
def within_arithmetic(*tables: Microdata) -> Iterator[dict[str, float]]:
    """Refuse what overflows in here if the tables have extreme numbers; they are handed over."""
    extremes = extreme_numbers(tables)
    if not extremes:
        yield extremes
        return
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield extremes
    except (ArithmeticError, np.linalg.LinAlgError):  # a FloatingPointError, an OverflowError
        raise beyond_arithmetic(extremes) from None


def beyond_arithmetic(extremes: dict[str, float]) -> NotApplicable:
    """Say which numbers are too large or too small."""
    name, largest = next(iter(extremes.items()))
    size = "large" if largest > MAX_MAGNITUDE else "small"
    reach = "reach" if largest > MAX_MAGNITUDE else "stay below"
    return NotApplicable(
        f"the values of {name!r} {reach} {largest:.3g}, too {size} to compute with; rescale the variable"
    )
