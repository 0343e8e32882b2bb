"""The checks that a class of your own can run, run over the catalogue; and that they catch what they are for."""

from dataclasses import replace

import numpy as np
import pytest

import sfumato
from sfumato import Measure, MeasureAbout, Measurement, Method, MethodAbout, Microdata, catalogue
from sfumato.pair import Pair
from sfumato.testing import Check, amounts, checks, persons

METHODS = [catalogue.default_grid(cls)[-1] for _, cls in sorted(catalogue.methods().items())]
# a model with a fair number of records per term, so that its figures have twelve digits
FITTING = {"PropensityUtility": sfumato.PropensityUtility(model="main effects")}
MEASURES = [FITTING.get(name) or cls() for name, cls in sorted(catalogue.measures().items())]
OWNERS: list[Method | Measure] = [*METHODS, *MEASURES]
ALL = [
    check
    for owner in OWNERS
    for check in checks(owner, data=amounts() if owner.about.kinds == ("numeric",) else persons())
]


@pytest.mark.parametrize("check", ALL, ids=[f"{type(check.owner).__name__}: {check}" for check in ALL])
def test_the_catalogue_keeps_its_contract(check: Check) -> None:
    check()


# what the checks are for


DRAWS = np.random.default_rng(0)


def measure_about(**given: object) -> MeasureAbout:
    known = {
        "title": "t", "source": "s", "purpose": "utility", "better": "lower", "range": (0.0, 1e9), "missing": "left out"
    }  # fmt: skip
    return MeasureAbout(**{**known, **given})  # type: ignore[arg-type]


class Undeclared(Measure):
    """Draws at random, and does not say so."""

    about = measure_about()

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        self.shared(pair)
        return self.measurement(float(DRAWS.random()))


class ByOrder(Measure):
    """Reads something off the order of the records."""

    about = measure_about()

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, _ = self.shared(pair)
        original, protected = pair.tables()
        return self.measurement(float(abs(protected.columns[names[0]][0] - original.columns[names[0]][1])))


class FirstPartOnly(Measure):
    """Promises parts, and looks at the first alone."""

    about = measure_about(parts="summaries")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, _ = self.shared(pair)
        means = [np.nanmean(half.parts[0].columns[names[0]]) for half in (pair.original, pair.protected)]
        return self.measurement(float(abs(means[0] - means[1])))


class Silent(Method):
    """Changes values and leaves no trace in the schema."""

    about = MethodAbout(title="t", source="s", missing="stays", random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        self.masked(data)
        return replace(data, columns={**data.columns, "rent": data.columns["rent"] + 1})


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (Undeclared(), "the same seed gives the same figure"),
        (ByOrder(), "permuting both tables alike changes nothing"),
        (FirstPartOnly(), "any cut gives the figure of the whole"),
        (Silent(), "the schema tells what was done"),
    ],
    ids=["undeclared draws", "order of records", "first part only", "no treatment"],
)
def test_a_broken_class_is_caught(broken: Measure | Method, caught: str) -> None:
    check = next(check for check in checks(broken, data=amounts()) if str(check) == caught)
    with pytest.raises(AssertionError):
        check()


def test_only_methods_and_measures_have_checks() -> None:
    with pytest.raises(sfumato.ParameterError, match="a method or a measure is needed"):
        checks("KAnonymity")
