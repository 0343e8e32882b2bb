"""What a user says of a model: its formula, its family and how much it counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sfumato import parameters
from sfumato.errors import ParameterError
from sfumato.registry import parameter_class
from sfumato.utility.models import formula

Family = Literal["linear", "logistic", "poisson"]


@parameter_class
@dataclass(frozen=True)
class Model:
    """A model that users of the file will fit: a formula, a family, and its weight among several models.

    The formula is read by formulaic, in the notation of R: ``"agi ~ emcontrb + fedtax + C(region)"``. ``"agi ~ 1"`` is
    a mean and ``"agi ~ 0 + C(region)"`` are means by group (with one common variance, as in any linear model). The
    response is a number; for a proportion compare a category: ``"I(sex == 'f') ~ 1"``, by group ``"I(sex == 'f') ~ 0 +
    C(region)"``. Names that are not plain words stand in backticks.

    ``family`` is "linear" (least squares), "logistic" (a response of 0 and 1, logit link) or "poisson" (counts, log
    link). A text alone stands for a linear model of weight 1.

    >>> Model("employed ~ age", family="logistic")
    Model('employed ~ age', family='logistic')
    """

    formula: str
    family: Family = "linear"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str):
            raise parameters.refuse(self, f"the formula must be a text such as 'y ~ x'; got {self.formula!r}")
        parameters.one_of(self, "family", get_args(Family))
        parameters.number(self, "weight", above=0)
        formula.parse(self.formula)  # a misspelt formula is refused where it is written

    def __repr__(self) -> str:
        family = "" if self.family == "linear" else f", family={self.family!r}"
        weight = "" if self.weight == 1.0 else f", weight={self.weight!r}"
        return f"Model({self.formula!r}{family}{weight})"

    @property
    def label(self) -> str:
        """The formula, and the family where it is not linear: how results name the model."""
        return self.formula if self.family == "linear" else f"{self.formula} ({self.family})"

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the formula needs."""
        return formula.parse(self.formula).variables


def as_models(owner: object, given: "str | Model | Sequence[str | Model]") -> tuple[Model, ...]:
    """Read one model or several; a text is a linear model."""
    listed = (given,) if isinstance(given, str | Model) else tuple(given)
    models = []
    for item in listed:
        if not isinstance(item, str | Model):
            raise parameters.refuse(owner, f"a model is a formula text or a Model; got {item!r}")
        try:
            models.append(item if isinstance(item, Model) else Model(item))
        except ParameterError as error:
            raise parameters.refuse(owner, str(error)) from None
    if not models:
        raise parameters.refuse(owner, "the list of models is empty")
    labels = [model.label for model in models]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise parameters.refuse(owner, f"the model {twice[0]!r} is listed twice; give it a weight instead")
    return tuple(models)
