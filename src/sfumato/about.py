"""What is known of a method or a measure, said once and typed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sfumato.display import Unit as Unit
from sfumato.table.schema import Kind

Better = Literal["lower", "higher"]
Purpose = Literal["risk", "utility"]
Records = Literal["original", "protected"]
Parts = Literal["summaries", "columns", "sample", "memory"]
Households = Literal["apart", "whole", "suppressed", "suppressed again"]
# where a method stands among others, in this order
Group = Literal["Coarsen", "Suppress", "Change numbers", "Change categories", "Synthesise", "Sample", "Weights"]
# what whoever uses the file must know of how values came about
Effect = Literal["exchanged", "averaged", "noisy", "other categories", "made up", "a part", "reweighted"]


class Directed:
    """What has a better side, lower or higher: the one place that knows what follows from it."""

    better: Better

    @property
    def lower_is_better(self) -> bool:
        """Whether it is."""
        return self.better == "lower"

    @property
    def sign(self) -> float:
        """What a figure is multiplied by to become a cost, which is better when lower."""
        return 1.0 if self.lower_is_better else -1.0

    @property
    def side(self) -> Literal["at most", "at least"]:
        """The words before a bound."""
        return "at most" if self.lower_is_better else "at least"

    @property
    def best(self) -> str:
        """The word for the best of several figures."""
        return "lowest" if self.lower_is_better else "highest"

    def keeps(self, value: float, bound: float) -> bool:
        """Tell whether a figure keeps a bound; an undefined one (NaN) keeps none."""
        return value <= bound if self.lower_is_better else value >= bound  # both are false of NaN


@dataclass(frozen=True, kw_only=True)
class About:
    """What is known of a class, said once: read by the command line, the report, the docs and the contract tests."""

    title: str
    source: str
    missing: str
    kinds: tuple[Kind, ...] = ("numeric",)
    weights: bool = False
    column_order: bool = False  # whether the order of the variables changes the result
    caveat: str = ""  # when it misleads
    formula: str = ""  # in plain characters, one line each
    reading: str = ""  # how to read the figure, or what a parameter value does


@dataclass(frozen=True, kw_only=True)
class MethodAbout(About):
    """What is known of a method."""

    random: bool
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # the values a sweep tries when nobody says
    neutral: Mapping[str, Any] | None = None  # parameters with which the table comes back as it was
    keeps_records: bool = True  # whether record i of the result is record i of what was given
    draws: bool = False  # if it does not, whether its records are a sample that says which it drew (Microdata.drawn)
    # how the members of a household keep what they share: those variables are masked in a table of households, apart
    # from the others; the whole table is masked at once, because equal values stay equal or whole households move; or
    # what is made missing for one member is made missing for all, and if that makes other records rare, once again
    households: Households = "apart"
    group: Group | None = None  # None: by what else is said here
    labels: Mapping[str, str] = field(default_factory=dict)  # what each parameter is called in a form
    effect: Effect | None = None  # None: values are coarser, or changed in no way that needs words of its own


@dataclass(frozen=True, kw_only=True)
class MeasureAbout(Directed, About):
    """What is known of a measure."""

    purpose: Purpose
    better: Better
    range: tuple[float, float]
    unit: Unit = "number"
    paired: bool = True  # whether record i of one table must be record i of the other
    random: bool = False
    joint: bool = True  # whether it sees how variables hang together
    keys: bool = False  # whether its variables are the keys an intruder knows: by default those of that role
    counts: tuple[str, ...] = ()  # how the names of parts begin that are plain numbers, whatever the unit
    cases: str = ""  # how the names of parts begin that are cases, of which the worst counts, not only their mean
    # how the names of parts end that whoever decides must see beside the value: the worst record, a count
    beside: tuple[str, ...] = ()
    records: Records = "original"  # the table whose records by_record tells of, in that table's order
    # how it takes tables in parts: from summaries of each part; by whole columns of the variables it compares, taken
    # together from all parts; a random sample of the records, searched for in all parts; or not at all, because it
    # needs all records in memory
    parts: Parts = "memory"
    parts_if: str = ""  # with which parameters, if not with all

    def unit_of(self, part: str) -> Unit:
        """Return the unit a part is written in."""
        return "number" if part.startswith(self.counts) else self.unit

    def is_case(self, part: str) -> bool:
        """Tell whether a part is one of the cases that the value is the mean of, such as what an intruder knows."""
        return bool(self.cases) and part.startswith(self.cases)
