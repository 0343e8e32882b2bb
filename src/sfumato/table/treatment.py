"""What protection did to a variable, as far as it is known, so that measures need not guess."""

import math
from dataclasses import dataclass, field, fields, replace

from sfumato.errors import SchemaError


@dataclass(frozen=True)
class Treatment:
    """What was done to a variable: categories merged, values cut, rounded, suppressed or made false.

    ``groups`` pairs each original category with the one it was merged into; ``cuts`` are the inner boundaries of the
    classes a numeric variable was put into (a class holds its lower boundary), and ``ends`` the outer ones of classes
    that follow the least and the greatest value of the records, so that an empty class there tells of them; values
    below ``bottom`` or above ``top`` were published as one; ``base`` is what numbers were rounded to;
    ``suppressed`` counts the values made missing; ``local`` says that values were put together in some records more
    than in others, so that no list tells which became which; ``perturbed`` says that a published value need
    not be the true one.

    Two fields are for measures of risk and never written into a file, not even their names: ``by_rank`` says that
    values kept their order, or changed places with others near in rank; ``averaged`` names the variables that were
    replaced, together, by the means of groups of records. An intruder who knows the method uses them.

    >>> merged = Treatment(groups=(("north", "N"), ("south", "S")))
    >>> merged.then(Treatment(groups=(("N", "all"), ("S", "all")), suppressed=2))
    Treatment(groups=(('north', 'all'), ('south', 'all')), suppressed=2)
    """

    groups: tuple[tuple[object, object], ...] = ()
    cuts: tuple[float, ...] = ()
    ends: tuple[float, float] | None = None
    bottom: float | None = None
    top: float | None = None
    base: float | None = None
    suppressed: int = 0
    local: bool = False
    perturbed: bool = False
    by_rank: bool = field(default=False, compare=False)
    averaged: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", tuple((before, after) for before, after in self.groups))
        object.__setattr__(self, "cuts", tuple(float(cut) for cut in self.cuts))
        if self.ends is not None:
            low, high = (float(end) for end in self.ends)
            object.__setattr__(self, "ends", (low, high))
        if len({before for before, _ in self.groups}) < len(self.groups):
            raise SchemaError(f"a treatment puts one category into two groups: {self.groups!r}")
        if any(low >= high for low, high in zip(self.cuts, self.cuts[1:], strict=False)):
            raise SchemaError(f"the cuts of a treatment must rise; got {self.cuts!r}")

    def __bool__(self) -> bool:
        return self != UNTREATED

    def __repr__(self) -> str:
        said = {name: getattr(self, name) for name in WRITTEN if getattr(self, name) != getattr(Treatment, name)}
        return f"Treatment({', '.join(f'{name}={value!r}' for name, value in said.items())})"

    @property
    def recoded(self) -> bool:
        """Whether values were put together, so that fewer can be told apart."""
        return bool(self.groups or self.cuts or self.local) or any(
            v is not None for v in (self.bottom, self.top, self.base)
        )

    def then(self, later: "Treatment") -> "Treatment":
        """Return both treatments, one after the other."""
        onward = dict(later.groups)
        groups = tuple((before, onward.get(after, after)) for before, after in self.groups) or later.groups
        lows = [low for low in (self.bottom, later.bottom) if low is not None]
        highs = [high for high in (self.top, later.top) if high is not None]
        return replace(
            self,
            groups=groups,
            cuts=later.cuts or self.cuts,
            ends=later.ends if later.cuts else self.ends,
            bottom=max(lows, default=None),
            top=min(highs, default=None),
            base=later.base if later.base is not None else self.base,
            suppressed=self.suppressed + later.suppressed,
            local=self.local or later.local,
            perturbed=self.perturbed or later.perturbed,
            by_rank=self.by_rank or later.by_rank,
            # groups are known anew only from values that were true, and are groups no more once values are changed
            averaged=self.averaged if not later.perturbed else () if self.perturbed else later.averaged,
        )


WRITTEN = tuple(entry.name for entry in fields(Treatment) if entry.compare)  # what a file may say of it
UNTREATED = Treatment()
OPEN = (-math.inf, math.inf)  # ends of classes of which the outer ones hold all that lies beyond
PERTURBED = Treatment(perturbed=True)
BY_RANK = Treatment(perturbed=True, by_rank=True)
