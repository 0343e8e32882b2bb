"""The contracts: a method turns a table into a table, a measure turns two tables into a number.

Both are frozen dataclasses whose parameters are their fields, so that repr, equality, pickling, grids and the command
line come for free. Read this file first.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar, overload
from zlib import crc32

import numpy as np

from sfumato import parameters
from sfumato.about import MeasureAbout, MethodAbout
from sfumato.data.draws import Draws
from sfumato.data.households import given_to_members, household_level, once_per_household, suppressed_for_all
from sfumato.data.joined import joined
from sfumato.data.linked import followed
from sfumato.data.magnitude import beyond_arithmetic, within_arithmetic
from sfumato.data.microdata import Microdata
from sfumato.data.parts import TableInParts
from sfumato.data.schema import Schema, a_kind
from sfumato.data.strata import Strata, strata
from sfumato.errors import NotApplicable, ParameterError
from sfumato.measurement import Measurement
from sfumato.pair import Half, Masking, Pair
from sfumato.pair.masking import protect_parts

Seed = int | np.random.Generator | np.random.SeedSequence | None
Frame = TypeVar("Frame")
MOST_NOTES = 6  # of single blocks


class _Described:
    """Repr that evaluates back and names only what differs from the defaults."""

    def __repr__(self) -> str:
        given = []
        for entry in sorted(fields(self), key=lambda entry: entry.name == "variables"):  # type: ignore[arg-type]
            value = getattr(self, entry.name)
            if entry.default is MISSING or value != entry.default:
                given.append(f"{entry.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Method(_Described, ABC):
    """A way to mask a table. Variables it does not mask come back untouched; missing values stay missing."""

    about: ClassVar[MethodAbout]
    variables: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        parameters.names(self, "variables")

    @overload
    def protect(self, data: TableInParts, *, rng: Seed = None, folder: str | os.PathLike[str]) -> TableInParts: ...
    @overload
    def protect(self, data: Microdata, *, rng: Seed = None) -> Microdata: ...
    @overload
    def protect(self, data: Frame, *, rng: Seed = None) -> Frame: ...
    def protect(self, data: Any, *, rng: Seed = None, folder: str | os.PathLike[str] | None = None) -> Any:
        """Return the masked table, of the kind that was given; the table given is not touched.

        Variables that the schema links to others follow what was done to these, once, at the end of all steps. A table
        in parts is written part by part to an empty ``folder``, where it does not depend on how it was cut; its draws
        are numbered by record, and so other ones than in memory.
        """
        if isinstance(data, TableInParts):
            return protect_parts(data, _steps(self), speaking, np.random.default_rng(rng), folder)
        if folder is not None:
            raise ParameterError("protect: a folder is for tables in parts; a table in memory is returned")
        table = Microdata.from_frame(data)
        with speaking(self), within_arithmetic(table):
            protected = followed(table, self.applied(table, np.random.default_rng(rng)))
        return protected if isinstance(data, Microdata) else protected.to_frame()

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Learn of a whole table what is needed to mask any part of it; refused by a method that needs all records."""
        raise NotApplicable(
            "it needs all records at once, so that it cannot mask a table in parts; protect a table in memory, or "
            "choose one of docs/how-to/larger-than-memory.md, such as Noise, Rounding, GlobalRecoding or PRAM"
        )

    @property
    def family(self) -> str:
        """What methods that differ only in their parameters have in common: the name of the class."""
        return type(self).__name__

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

    def by_level(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Mask what households share in a table of households, then the other variables record by record."""
        names, level = self.masked(data), household_level(data)
        shared = tuple(name for name in names if name in level)
        if not shared:
            return self.apply(data, rng)
        homes, place = once_per_household(data, level)
        (stream,) = rng.spawn(1)  # the other variables draw what they would have drawn
        try:
            masked = self.only(shared, homes).apply(homes, stream)
        except NotApplicable as refusal:
            raise NotApplicable(f"{', '.join(shared)}, masked once per household: {refusal}") from refusal
        note = f"{type(self).__name__}: masked once per household: {', '.join(shared)}"
        data = given_to_members(data, replace(masked, notes=(note, *masked.notes)), place, shared)
        others = tuple(name for name in names if name not in shared)
        return self.only(others, data).apply(data, rng) if others else data

    def __add__(self, then: "Method") -> "Chain":
        """Return the method that does this and then the other: ``GlobalRecoding(...) + LocalSuppression(3)``."""
        if not isinstance(then, Method):
            return NotImplemented
        return Chain((*_steps(self), *_steps(then)))

    def within(self, *by: str, least: int = 2) -> "Within":
        """Return the method done inside each category of these variables: ``MDAV(3).within("region")``."""
        return Within(self, by, least=least)

    @abstractmethod
    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Return the protected table; what a method of your own implements. Users call ``protect``."""


def _steps(method: Method) -> tuple[Method, ...]:
    return method.steps if isinstance(method, Chain) else (method,)


@dataclass(frozen=True, repr=False)
class Chain(Method):
    """Methods one after the other, each on what the one before returned; itself a method."""

    steps: tuple[Method, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        if self.variables is not None:
            raise parameters.refuse(self, "each step names its own variables")
        if len(self.steps) < 2 or not all(isinstance(s, Method) and not isinstance(s, Chain) for s in self.steps):
            raise ParameterError(f"a chain needs two methods or more, as in Rounding(10) + Noise(0.1); got {self!r}")

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.steps))

    @property
    def family(self) -> str:
        """The names of the steps."""
        return " + ".join(step.family for step in self.steps)

    @cached_property
    def about(self) -> MethodAbout:  # type: ignore[override]
        """What is known of the steps, taken together."""
        abouts = [step.about for step in self.steps]
        return MethodAbout(
            title=", then ".join(about.title for about in abouts),
            source="; ".join(dict.fromkeys(about.source for about in abouts)),
            missing="; then ".join(dict.fromkeys(about.missing for about in abouts)),
            kinds=tuple(dict.fromkeys(kind for about in abouts for kind in about.kinds)),
            weights=any(about.weights for about in abouts),
            column_order=any(about.column_order for about in abouts),
            caveat="; ".join(dict.fromkeys(about.caveat for about in abouts if about.caveat)),
            random=any(about.random for about in abouts),
            keeps_records=all(about.keeps_records for about in abouts),
            draws=True,  # if one does, and each step sees to it
            households="whole",  # each step sees to it
        )

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables that any step masks, as far as it can be told from the table before the first step."""
        named: dict[str, None] = {}
        for step in self.steps:
            try:
                with speaking(step):
                    named.update(dict.fromkeys(step.masked(data)))
            except NotApplicable:  # of a variable that only an earlier step makes fit for this one
                if step is self.steps[0]:
                    raise
                named.update(dict.fromkeys(name for name in step.variables or () if name in data.schema))
        return tuple(named)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Do one step after the other."""
        for step, stream in zip(self.steps, rng.spawn(len(self.steps)), strict=True):
            with speaking(step):
                data = step.applied(data, stream)
        return data


@dataclass(frozen=True, repr=False)
class Within(Method):
    """A method done separately inside each category of one or more variables; itself a method.

    The records with the same values of ``by`` are a block, a missing value being a value like any other. Each block is
    protected as if it were the whole table, without the variables that make the blocks: these stay as they are. Means,
    ranks, spreads and counts are therefore those of the block. A block of fewer than ``least`` records is refused, and
    so is one that the method refuses, because it would go out as it is. Each block draws from a stream of its own name,
    so that a further block changes no other.
    """

    method: Method
    by: tuple[str, ...]
    least: int = field(default=2, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise parameters.refuse(self, f"a method is needed, as in MDAV(3).within('region'); got {self.method!r}")
        if self.variables is not None:
            raise parameters.refuse(self, "the method inside names its own variables")
        parameters.names(self, "by")
        parameters.whole(self, "least")
        both = [name for name in self.by if name in (self.method.variables or ())]
        if both:
            raise parameters.refuse(self, f"{both[0]!r} makes the blocks, so it cannot be masked within them")

    def __repr__(self) -> str:
        inner = f"({self.method!r})" if isinstance(self.method, Chain) else repr(self.method)
        least = "" if self.least == 2 else f", least={self.least}"
        return f"{inner}.within({', '.join(map(repr, self.by))}{least})"

    @property
    def family(self) -> str:
        """The name of the method inside, and the variables."""
        return f"{self.method.family} within {' and '.join(self.by)}"

    @cached_property
    def about(self) -> MethodAbout:  # type: ignore[override]
        """What is known of the method inside."""
        inner = self.method.about
        return replace(inner, title=f"{inner.title}, within each {' and '.join(self.by)}", grid={}, neutral=None)

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables that the method inside masks."""
        self._blocks(data)
        with speaking(self.method):
            return self.method.masked(data.without(self.by))

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        """Return the method inside for these variables alone, within the same variables."""
        return replace(self, method=self.method.only(names, data))

    def applied(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Apply it so that the members of a household keep in common what they had, though they are in other blocks."""
        whole = self.about.households in ("whole", "apart")
        if data.schema.household is not None and self.about.keeps_records and whole:
            level = household_level(data)
            apart = [name for name in self.by if name not in level]
            shared = [name for name in self.masked(data) if name in level]
            if apart and shared:
                raise NotApplicable(
                    f"the members of a household share {shared[0]!r} but not {apart[0]!r}, so it would be masked in "
                    "several ways within one household; make blocks of what members share, or name other variables"
                )
        return super().applied(data, rng)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Protect block by block, and put the blocks together again."""
        blocks = self._blocks(data)
        rows = np.split(np.argsort(blocks.codes, kind="stable"), np.cumsum(np.bincount(blocks.codes))[:-1])
        root, inner = int(rng.integers(2**63)), data.without(self.by)
        parts, notes = [], []
        for block, there in enumerate(rows):
            stream = np.random.default_rng([root, crc32(repr(blocks.values[block]).encode())])
            try:
                with speaking(self.method):
                    if len(there) < self.least:
                        raise NotApplicable(f"it has fewer records than least={self.least}")
                    parts.append(self.method.apply(inner.take(there), stream))
            except NotApplicable as refusal:
                where = f"block {' and '.join(self.by)} = {blocks.spelled(block)}, records {len(there)}"
                advice = "make larger blocks, of a coarser variable or with GlobalRecoding before"
                raise NotApplicable(f"{where}: {refusal.text}; {advice}", who=refusal.who) from None
            notes += [f"{blocks.spelled(block)}: {note}" for note in parts[-1].notes[len(data.notes) :]]
        with speaking(self.method):
            together = joined(data, rows, parts, self.by)
        if len(notes) > MOST_NOTES:
            notes[MOST_NOTES:] = [f"notes on other blocks, left out here: {len(notes) - MOST_NOTES:,}"]
        sizes = [len(there) for there in rows]
        said = f"{self!r}: blocks {len(rows):,}, records in the smallest {min(sizes):,}, in the largest {max(sizes):,}"
        return replace(together, notes=(*data.notes, said, *notes))

    def _blocks(self, data: Microdata) -> Strata:
        with speaking(self):
            special = {name: what for what, name in data.schema.special().items()}
            for name in self.by:
                if name in special:
                    raise NotApplicable(f"{name!r} is the {special[name]} of the records, which makes no blocks")
            return strata(data, self.by, "block")


@dataclass(frozen=True, repr=False)
class Measure(_Described, ABC):
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
            found = self.compute(pair.in_order() if self.about.paired else pair, np.random.default_rng(rng))
            if extremes and not np.isfinite(found.value):
                raise beyond_arithmetic(extremes)
        if np.isnan(found.value) and not found.notes:
            return replace(found, notes=("the figure is not defined for these two tables",))
        return found

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
        kept, notes = pair.shared(names, self.about.kinds, asked=self.variables is not None)
        key = pair.original.schema.id
        if self.about.paired and key is not None and not pair.by_id:
            notes = (f"records are matched by position: the protected table has no id {key!r}", *notes)
        return kept, notes

    def known_as(self, **changes: Any) -> None:
        """Say of this instance what its parameters make different from its class."""
        object.__setattr__(self, "about", replace(self.about, **changes))

    def measurement(self, value: float, **details: Any) -> Measurement:
        """Dress a value with what is known of this measure."""
        return Measurement(measure=repr(self), about=self.about, value=float(value), **details)


@contextmanager
def speaking(owner: Method | Measure) -> Iterator[None]:
    """Name the class that refuses, once, in front of what it says."""
    try:
        yield
    except NotApplicable as refusal:
        raise refusal.by(type(owner).__name__) from refusal.__cause__


def chosen(owner: Method | Measure, schema: Schema) -> tuple[str, ...]:
    """Name the variables a method or measure works on: those it was told, or all of its kinds."""
    kinds = owner.about.kinds
    names = owner.variables if owner.variables is not None else schema.analysed(*kinds)
    needed = " or ".join(kinds)
    if not names:
        raise NotApplicable(f"the table has no {needed} variable")
    for name in names:
        if name not in schema:
            raise NotApplicable(schema.unknown(name))
        if schema[name].kind not in kinds:
            raise NotApplicable(f"variable {name!r} is {a_kind(schema[name].kind)}; it must be {needed}")
    return names
