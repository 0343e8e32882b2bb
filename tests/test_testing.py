"""The checks that a class of your own can run, run over the catalogue; and that they catch what they are for."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import sfumato
from sfumato import Measure, MeasureAbout, Measurement, Method, MethodAbout, Microdata, catalogue
from sfumato.pair import Pair
from sfumato.testing import Check, amounts, checks, persons
from sfumato.testing.of_measures import measured
from sfumato.testing.of_methods import protected, spelled
from sfumato.testing.tables import shuffled

METHODS = [catalogue.default_grid(cls)[-1] for _, cls in sorted(catalogue.methods().items())]
# a model with a fair number of records per term, so that its figures have twelve digits
FITTING = {"PropensityUtility": sfumato.PropensityUtility(model="main effects")}
MEASURES = [FITTING.get(name) or cls() for name, cls in sorted(catalogue.measures().items())]
OWNERS: list[Method | Measure] = [*METHODS, *MEASURES]
BORN = np.datetime64("1930-01-01") + np.random.default_rng(2).integers(0, 25_000, 200)
DATED = Microdata.from_frame(amounts().to_arrow().append_column("born", pa.array(BORN)))
TABLES = {"persons": persons(), "amounts": amounts(), "dates": DATED}
KINDS_OF = {"amounts": ("numeric",), "dates": ("date",)}  # a table of these is for who looks at nothing else
ALL = [
    (name, check)
    for owner in OWNERS
    for name, table in TABLES.items()
    if name == "persons" or owner.about.kinds == KINDS_OF[name]
    for check in checks(owner, data=table)
]


@pytest.mark.parametrize(
    "check", [check for _, check in ALL], ids=[f"{type(check.owner).__name__}, {name}: {check}" for name, check in ALL]
)
def test_the_catalogue_keeps_its_contract(check: Check) -> None:
    check()


@pytest.mark.parametrize("owner", OWNERS, ids=[type(owner).__name__ for owner in OWNERS])
def test_the_checks_have_something_to_look_at(owner: Method | Measure) -> None:
    # a refusal passes them, and so does a method that leaves all as it is
    if isinstance(owner, Measure):
        assert any(measured(owner, table, shuffled(table)) for table in TABLES.values())
        return
    masked = [(table, protected(owner, table, 5)) for table in TABLES.values()]
    assert any(found is not None and spelled(found) != spelled(table) for table, found in masked)


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


class Filling(Method):
    """Fills in what is missing."""

    about = MethodAbout(title="t", source="s", missing="is filled in", random=False)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        return data.replace({name: np.nan_to_num(data.columns[name], nan=1.0) for name in self.masked(data)})


class Losing(Filling):
    """Makes the first value missing, and does not count it."""

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        first = np.arange(len(data)) == 0
        return data.replace({name: np.where(first, np.nan, data.columns[name]) for name in self.masked(data)})


class Reaching(Filling):
    """Changes a variable that it was not told to."""

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        self.masked(data)
        return data.replace({"rent": data.columns["rent"] * 2})


class ByPlace(Filling):
    """Adds to each variable its place in the table."""

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        places = {name: place for place, name in enumerate(data.names)}
        return data.replace({name: data.columns[name] + places[name] for name in names})


class NeverNeutral(ByPlace):
    """Names a parameter that does nothing."""

    about = MethodAbout(title="t", source="s", missing="stays", random=False, column_order=True, neutral={})


class Quiet(ByPlace):
    """Says that it is random, and is not."""

    about = MethodAbout(title="t", source="s", missing="stays", random=True, column_order=True)


class Weighing(Measure):
    """Uses weights, and does not say so."""

    about = measure_about()

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, _ = self.shared(pair)
        sums = [float(np.average(table.columns[names[0]], weights=table.weights())) for table in pair.tables()]
        return self.measurement(abs(sums[0] - sums[1]))


class Unsaying(Measure):
    """Compares what is left, and does not say what is gone."""

    about = measure_about()

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, _ = self.shared(pair)
        return self.measurement(float(len(names)))


class AlwaysFinding(Measure):
    """Gives a figure out of its range for a constant."""

    about = measure_about()

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        names, _ = self.shared(pair)
        column = pair.tables()[0].columns[names[0]]
        return self.measurement(-1.0 if np.nanmin(column) == np.nanmax(column) else 0.0)


@pytest.mark.parametrize(
    ("broken", "caught"),
    [
        (Undeclared(), "the same seed gives the same figure"),
        (ByOrder(), "permuting both tables alike changes nothing"),
        (FirstPartOnly(), "any cut gives the figure of the whole"),
        (Weighing(), "weights count where declared"),
        (Unsaying(), "a variable that is gone is said"),
        (AlwaysFinding(), "odd tables give a figure or a refusal"),
        (Silent(), "the schema tells what was done"),
        (Filling(), "missing values stay missing"),
        (Losing(), "missing values stay missing"),
        (Reaching(), "only the chosen variables change"),
        (ByPlace(), "the order of columns has no meaning unless declared"),
        (NeverNeutral(), "a neutral parameter returns the table"),
        (Quiet(), "the same seed gives the same table"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Measure | Method) else "",
)
def test_a_broken_class_is_caught(broken: Measure | Method, caught: str) -> None:
    data = persons().without(["region", "sex", "education", "health"]) if isinstance(broken, Weighing) else amounts()
    check = next(check for check in checks(broken, data=data) if str(check) == caught)
    with pytest.raises(AssertionError):
        check()


def test_only_methods_and_measures_have_checks() -> None:
    with pytest.raises(sfumato.ParameterError, match="a method or a measure is needed"):
        checks("KAnonymity")
