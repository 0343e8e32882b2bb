"""What all measures that fit models share: the models to fit, and both tables' estimates."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np

from sfumato import parameters
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.pair import Half, Pair
from sfumato.utility.models import formula
from sfumato.utility.models.fit import BothFits, Fit, fit_both, fit_halves
from sfumato.utility.models.model import Model, as_models

Models = str | Model | Sequence[str | Model] | None


@dataclass(frozen=True)
class Fitted:
    """The models fitted to both tables, and what was left out."""

    both: tuple[BothFits, ...]
    notes: tuple[str, ...]
    variables: tuple[str, ...] = ()  # those compared where no model was named

    def mean(self, values: Sequence[float]) -> float:
        """Return the mean of the models' values, by their weights (section 4 of the paper)."""
        return float(np.average(values, weights=[fits.model.weight for fits in self.both]))

    def by_variable(self, values: Sequence[float]) -> dict[str, float]:
        """Return for each variable the mean over the models it has a part in; nothing where models were named."""
        if not self.variables:
            return {}
        own: dict[str, list[float]] = {name: [] for name in self.variables}
        for fits, value in zip(self.both, values, strict=True):
            for name in formula.parse(fits.model.formula).variables:
                own[name].append(value)
        return {name: float(np.mean(found)) for name, found in own.items()}


@dataclass(frozen=True, repr=False)
class ModelMeasure(Measure):
    """A measure that compares what models say of the two tables.

    ``model`` is a formula, a ``Model``, or several of them. Without one, the simple regressions of each numeric
    variable on each other are compared (one variable alone: its mean), and ``variables`` may choose among them.
    """

    model: Models = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model is None:
            return
        if self.variables is not None:
            raise parameters.refuse(self, "a model names its variables; give model or variables, not both")
        if not isinstance(self.model, str | Model | tuple):
            try:
                object.__setattr__(self, "model", tuple(self.model))
            except TypeError:
                raise parameters.refuse(
                    self, f"model must be a formula text, a Model or a list of them; got {self.model!r}"
                ) from None
        as_models(self, self.model)

    def fitted(self, pair: Pair) -> Fitted:
        """Fit the models to both tables."""
        models, names, notes = self._models(pair)
        both = fit_both(models, pair)
        return Fitted(both, (*notes, *told(both, named=not names)), names)

    def fitted_copies(self, original: Half, copies: Sequence[Half]) -> tuple[tuple[Fit, ...], list[tuple[Fit, ...]]]:
        """Fit the models to the original and to each of several protected copies."""
        models, _, _ = self._models(Pair(original, copies[0]))
        before, *after = fit_halves(models, original, copies)
        return before, after

    def _models(self, pair: Pair) -> tuple[tuple[Model, ...], tuple[str, ...], list[str]]:
        if self.model is not None:
            return as_models(self, self.model), (), []
        shared, notes = self.shared(pair)
        half = pair.original
        names = tuple(
            name for name in shared if "`" not in name and half.keep(("varies", name), partial(_varies, half, name))
        )
        if not names:
            raise NotApplicable(f"none of {', '.join(shared)} varies in the original")
        apart = [name for name in shared if name not in names]
        said = [*notes, *([f"left out, constant in the original: {', '.join(apart)}"] if apart else [])]
        if len(names) == 1:
            return (Model(f"{_quoted(names[0])} ~ 1"),), names, said
        return tuple(Model(f"{_quoted(a)} ~ {_quoted(b)}") for a, b in permutations(names, 2)), names, said


def told(both: tuple[BothFits, ...], *, named: bool) -> list[str]:
    """Say what was left out and how standard errors were had; in one sentence where the models were not named."""
    notes = list(dict.fromkeys(note for fits in both for note in fits.notes)) if named else []
    if not named and any(fits.notes for fits in both):
        notes.append("each regression leaves out the records in which one of its two values is missing")
    if any(fits.original.robust for fits in both):
        notes.append("survey weights: weighted estimates, robust standard errors (n/(n - 1) times HC0) in both tables")
    return notes


def _varies(half: Half, name: str) -> bool:
    """Tell whether a numeric variable has two different values."""
    if half.on_disk:
        found = half.moments((name,))
        return bool(found.low[0] < found.high[0])
    columns = [part.columns[name] for part in half.parts if len(part)]
    low, high = (end.reduce([end.reduce(column) for column in columns]) for end in (np.fmin, np.fmax))
    return bool(low < high)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
