"""Risk in the population: how many people of it share the keys of a record, so how sure a match with a register is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import classes, first_records
from sfumato.kernels.population import Fit, Pitman, Spectrum, dankar, fitted, pitman, poisson_inverse, snb, zayatz
from sfumato.measurement import MODELS_DIFFER, Measurement
from sfumato.pair import Keys, Pair, design_weights
from sfumato.pair.keys import MISSING_KEYS, countable, repeated_units
from sfumato.pair.statistics import KeyClasses
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import followed
from sfumato.risk.individual import of_households
from sfumato.risk.log_linear import LogLinearRisk
from sfumato.table.microdata import Microdata

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]
PopulationModel = Literal["Pitman-Yor", "log-linear", "Benedetti-Franconi"]

THRESHOLDS = (0.09, 0.2, 0.33)
MIN_UNITS = 300  # units of the sample below which models err by an order of magnitude
# 1.96 standard errors of the log of the expected matches, for each factor e of the population over the sample, by
# which real populations are off the model: with the interval of the likelihood it held the truth in 94 of 100 cases
MODEL_ERROR = 0.15
MAX_CELLS = 100_000  # combinations up to which the log-linear model is fitted beside another that decides


@dataclass(frozen=True, eq=False)
class Matches:
    """How classes of a sample continue in the population, by the model that decides.

    ``chances`` has E(1/F | f) for each class that was given, ``expected`` the matches over all records by every model
    that was fitted; ``low`` and ``high`` enclose the matches in 95 of 100 cases, NaN where nothing is known of them.
    ``decides`` names the model whose chances these are: the one asked for, unless another says more than twice as much,
    or the sample is small and another says more.
    """

    decides: str
    chances: Floats
    expected: Mapping[str, float]
    low: float
    high: float
    fit: Fit | None
    units: float
    population: float
    notes: Notes

    def inverse(self, sizes: Floats) -> Floats:
        """Return E(1/F | f) of classes of f units that need not be among those given.

        Where a model of single combinations decides it is that of a class of units with the mean weight.
        """
        if self.decides == "Benedetti-Franconi":
            return expected_inverse(sizes, sizes * (self.population / self.units))
        if self.fit is None:
            return 1 / sizes
        return self.fit.model.expected_inverse(sizes, self.units, self.population)

    @property
    def all_notes(self) -> Notes:
        """What is to be said of it: what the models say, and what is uncertain."""
        return self.said, *self.notes

    @property
    def said(self) -> str:
        """The range of the models and of the interval, for a note."""
        span = ", ".join(f"{name} {matches:,.4g}" for name, matches in self.expected.items())
        if np.isnan(self.low):
            return f"expected matches by model: {span}"
        sure = f"{self.decides} decides, 95 % between {self.low:,.4g} and {self.high:,.4g}"
        return f"expected matches by model: {span}; {sure}"


def matches(
    sizes: Floats,
    times: Floats,
    population: float,
    model: PopulationModel,
    *,
    records: Floats | None = None,
    whole: NDArray[np.bool_] | None = None,
    counts: Floats | None = None,
    weights: Floats | None = None,
    outside: Floats | None = None,
) -> Matches:
    """Estimate the chances 1/F of the records of classes, given how many units of the sample have each combination.

    ``sizes`` counts the units that show a combination, ``times`` how many such combinations (or parts of one) there
    are; ``records`` counts the records of each where units have several. Where keys are missing, ``counts`` has the
    units that agree with it and ``whole`` says where none is missing: the population is fitted to those. ``weights``
    has the units of the population that these stand for (those that agree, None: the mean weight), ``outside`` those
    that a log-linear model expects outside the sample.
    """
    counts = sizes if counts is None else counts
    units = float(sizes @ times)
    whole = np.ones(len(sizes), dtype=bool) if whole is None else whole
    share = float(sizes[whole] @ times[whole]) / units
    if share == 0:  # every record lacks a key: those that look alike are taken for a class
        whole, share = np.ones(len(sizes), dtype=bool), 1.0
    spectrum = Spectrum.of(sizes[whole], times[whole])
    fit = fitted(spectrum)
    records = sizes * times if records is None else records
    notes: list[str] = []
    by_model: dict[str, Floats] = {}
    if model != "Pitman-Yor" or fit is not None:
        grown = counts * (population / units) if weights is None else np.maximum(weights, counts)
        by_model["Benedetti-Franconi"] = expected_inverse(counts, grown)
    if outside is not None:
        by_model["log-linear"] = poisson_inverse(counts, outside)
    if fit is not None:
        different, place = np.unique(counts, return_inverse=True)
        by_model["Pitman-Yor"] = fit.model.expected_inverse(different, spectrum.units, share * population)[place]
    elif model == "Pitman-Yor":
        notes.append(
            "all units of the sample differ in the keys, so that nothing tells how many are alike in the population: "
            "every one of them is taken for alone in it"
        )
        by_model["Pitman-Yor"] = 1 / counts
    if model not in by_model:
        raise NotApplicable(f"the model {model} could not be fitted to these keys; name another population_model")
    expected = {name: float(chance @ records) for name, chance in by_model.items()}
    expected = {model: expected.pop(model), **expected}
    decides: str = model
    if model == "Pitman-Yor" and fit is not None:
        largest = max(expected, key=lambda name: expected[name])
        if units < MIN_UNITS:
            notes.append(
                f"the sample has {units:,.0f} units: below {MIN_UNITS} any model of the population may be wrong by an "
                "order of magnitude, so the largest figure decides"
            )
            decides = largest
        elif expected[largest] > MODELS_DIFFER * expected[model]:
            decides = largest
            notes.append(
                f"the models differ by more than a factor of {MODELS_DIFFER:g}, so {largest} decides, the larger"
            )
    low, high = _interval(expected[decides], by_model[decides], records, fit, population / units)
    return Matches(
        decides, by_model[decides], expected, low, high, fit, spectrum.units, share * population, tuple(notes)
    )


def _interval(expected: float, chances: Floats, records: Floats, fit: Fit | None, factor: float) -> tuple[float, float]:
    """Return an interval of the matches: of the likelihood, of what a sample of this size has by chance, of the model.

    The three lengths, on the scale of logarithms, add up as squares. Matches grow with the classes that are expected in
    the population, so that the interval of the likelihood is theirs.
    """
    if fit is None or expected <= 0:
        return float("nan"), float("nan")
    units, seen = fit.spectrum.units, fit.spectrum.classes

    def in_all(model: Pitman) -> float:
        return seen + model.new_classes(units, seen, units * (factor - 1))

    best, others = in_all(fit.model), [in_all(one) for one in fit.likely()]
    drawn = 1.96 * float(np.sqrt((chances**2) @ records * (1 - 1 / factor))) / expected
    off = MODEL_ERROR * float(np.log(factor))
    down, up = (float(np.hypot(np.hypot(np.log(best / end), drawn), off)) for end in (min(others), max(others)))
    ends = expected * float(np.exp(-down)), min(expected * float(np.exp(up)), float(records.sum()))
    return float(f"{ends[0]:.9g}"), float(f"{ends[1]:.9g}")  # roots are not surer


def matches_of(
    found: KeyClasses, model: PopulationModel, weights: Floats, *, unit: Integers | None = None, outside: Floats | None
) -> Matches:
    """Estimate it for the classes of a table; ``weights`` are the sums of each combination's own records.

    ``unit`` numbers the unit of each record where several records are about one: units are counted, not records.
    """
    sizes, records = found.sizes.astype(np.float64), found.sizes.astype(np.float64)
    if unit is not None and found.cell_of is not None:  # a unit with records in two classes is one of each
        there = np.unique(np.column_stack([found.cell_of, unit]), axis=0)[:, 0]
        sizes = np.bincount(there, minlength=len(found)).astype(np.float64)
        weights = weights * (sizes / records)
    population = float(f"{weights.sum():.12g}")  # in whatever order they were added up
    counts = np.rint(found.agreeing(sizes))
    if population <= sizes.sum() * (1 + 1e-9):
        return census(counts, records)
    return matches(
        sizes,
        np.ones(len(found)),
        population,
        model,
        records=records,
        whole=np.asarray((found.cells >= 0).all(axis=1)),
        counts=counts,
        weights=found.agreeing(weights),
        outside=outside,
    )


def census(counts: Floats, records: Floats) -> Matches:
    """Return the chances where the sample is the population: 1/f."""
    chances = 1 / counts
    found, size = float(chances @ records), float(records.sum())
    return Matches("census", chances, {"census": found}, found, found, None, size, size, ())


@catalogued(
    MeasureAbout(
        title="Risk in the population (expected share matched)",
        source="Pitman (1995); Hoshino (2001); Zayatz (1991); Chen and Keller-McNulty (1998); Dankar et al. (2012); "
        "El Emam and Dankar (2008) for prosecutor, journalist and marketer",
        purpose="risk",
        counts=("expected matches", "population uniques", "Pitman"),
        beside=("expected matches", "journalist, largest", "journalist, above 0.2"),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing=MISSING_KEYS + "; the population is fitted to the records without a missing key",
        weights=True,
        paired=False,
        keys=True,
        records="protected",
        parts="summaries",
        parts_if="without a register",
        caveat="one model for all keys knows nothing of what they are: for coarse keys it is a little high, and of "
        "fewer than 300 records it may be wrong by an order of magnitude; read the interval. It does not hold for a "
        "perturbed or synthetic file",
        formula="value = mean of r = E(1 / F | f);   f units of the file, F of the population have the same keys\n"
        "Pitman-Yor: F - f is beta-binomial (N - n, f - a, n - f + theta + a); theta, a: largest likelihood\n"
        "log-linear: F - f is Poisson, of the mean that a model of all pairs of keys expects outside\n"
        "Benedetti-Franconi: IndividualRisk;   a register: F is counted in it;   no weights: r = 1 / f\n"
        "prosecutor: 1 / f;   journalist: r of each record;   marketer: mean of r, the value",
        reading="The share of records that somebody with a register of the whole population and these keys matches "
        "rightly; times n, the expected matches. Prosecutor is who knows that a person took part, journalist who shows "
        "that anybody can be found, marketer who matches all. Health agencies ask for .09 (a class of 11) of public "
        "files and .2 or .33 (5 or 3) of files under contract.",
    )
)
class PopulationRisk(Measure):
    """Expected share of records that are matched rightly with a register of the whole population.

    The F people of the population who share a record's keys are not known, only the f of them in the file. The classes
    of the file tell how classes continue: a population model is fitted to how many of them have one record, two, three
    and so on, and gives E(1/F | f). ``population_model`` names it:

    - "Pitman-Yor" (the default): Pitman's sampling formula with two parameters, by maximum likelihood. On populations
      where the truth was counted it was within half and twice the true matches in 97 of 100 cases (docs:
      how-to/register);
    - "log-linear": the model of :class:`LogLinearRisk` with all pairs of keys, extended to classes of any size;
    - "Benedetti-Franconi": :class:`IndividualRisk`, which takes the weights of the f records for all that is known and
      says far too little where keys are many.

    The others are fitted beside the default (the log-linear one where it is small), and if one says more than twice as
    much, it decides, with a note; below 300 records the largest decides always. If all records differ in their keys,
    nothing can be estimated, and all are taken for alone in the population. The parts "expected matches, at least" and
    "at most" enclose the number in 95 of 100 cases. One model is fitted to all records together also where weights are
    unequal, because that was nearer to the truth than a fit by weight. Where the members of a household have all keys
    in common, as the records of a person in a panel whose household is the person, units are counted, not records.

    ``register`` is the path of a file of the whole population with the keys: F is then counted in it, after its values
    were put together as the file's were. ``population`` is the number of people that the weights should sum to.
    Without weights and without either, the file is taken for a census and r is 1/f.

    Where the schema tells who lives together, "records, with their household" is as in :class:`IndividualRisk`.
    The parts say what prosecutor, journalist and marketer find, with the share of records above .09, .2 and .33, and
    how many people are alone with their keys: "among the records" those of the file (expected), and in the whole
    population by Pitman, Zayatz, SNB and by Dankar's rule, which chooses among the three.

    >>> import pyarrow as pa
    >>> people = pa.table({"town": ["A", "A", "B", "C"], "job": ["x", "x", "x", "y"]})
    >>> PopulationRisk(variables=("town", "job")).evaluate(people, people).value  # a census: 1/2, 1/2, 1, 1
    0.75
    """

    register: str | None = field(default=None, kw_only=True)
    population: float | None = field(default=None, kw_only=True)
    population_model: PopulationModel = field(default="Pitman-Yor", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "population_model", get_args(PopulationModel))
        if self.population is not None:
            parameters.number(self, "population", above=0)
        if self.register is not None:
            if not isinstance(self.register, str) or not self.register:
                raise parameters.refuse(self, f"register must be the path of a file; got {self.register!r}")
            if self.population is not None:
                raise parameters.refuse(self, "a register says how large the population is; leave population out")
            self.known_as(parts="memory", parts_if="")

    @property
    def reads(self) -> tuple[str, ...]:
        """The register: a store of figures knows it by its content."""
        return () if self.register is None else (self.register,)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = Keys.of(pair, self.variables)
        found = keys.classes
        if self.register is not None:
            estimate, notes = self._counted(pair, keys, self.register)
        else:
            estimate, notes = self._estimated(pair, keys)
        risk, alike = estimate.chances, 1 / found.counts
        parts = {"expected matches": found.mean(risk) * found.records}
        if not np.isnan(estimate.low):
            parts |= {"expected matches, at least": estimate.low, "expected matches, at most": estimate.high}
        parts |= {f"expected matches by {name}": number for name, number in estimate.expected.items()}
        for intruder, chance in (("prosecutor", alike), ("journalist", risk)):
            parts[f"{intruder}, largest"] = float(chance.max())
            parts |= {f"{intruder}, above {limit:g}": found.share(chance > limit) for limit in THRESHOLDS}
        parts |= {"prosecutor, mean": found.mean(alike), "marketer": found.mean(risk)}
        homes, said = pair.homes()
        if homes is not None:
            parts |= of_households(keys, risk, homes)
        if estimate.fit is not None:
            parts |= _uniques(estimate, estimate.fit)
        elif self.register is not None or estimate.decides == "census":
            alone = found.share((risk == 1.0) & (found.counts == 1)) * found.records
            parts["population uniques among the records"] = alone
        return self.measurement(
            found.mean(risk),
            parts=parts,
            by_record=found.by_record(risk),
            notes=(*keys.notes, *notes, *said),
        )

    def _estimated(self, pair: Pair, keys: Keys) -> tuple[Matches, Notes]:
        """Estimate the chances by a model, or count them in a census."""
        found = keys.classes
        weights, notes = keys.weights(pair, self.population)
        if weights is None:
            counts = found.counts.astype(np.float64)
            return census(counts, found.sizes.astype(np.float64)), notes
        if weights.sum() <= found.records:
            raise NotApplicable(
                f"the weights sum to {weights.sum():,.6g} for {found.records:,} records, so the file is the whole "
                "population or more; leave the weight out of the schema, or say how many people there are: "
                "PopulationRisk(population=...)"
            )
        outside, said = self._outside(pair, keys)
        unit, told = repeated_units(pair, keys.names)
        estimate = matches_of(found, self.population_model, weights, unit=unit, outside=outside)
        return estimate, (*notes, *told, *said, *estimate.all_notes)

    def _outside(self, pair: Pair, keys: Keys) -> tuple[Floats | None, Notes]:
        """Return the units that a log-linear model expects outside the file with the keys of each combination."""
        asked = self.population_model == "log-linear"
        if self.population_model == "Benedetti-Franconi" or (not asked and len(keys.classes) > MAX_CELLS):
            return None, ()
        try:
            found = LogLinearRisk().expected_outside(
                pair, keys, population=self.population, most=None if asked else MAX_CELLS
            )
        except NotApplicable as refusal:
            if asked:
                raise
            return None, (f"no log-linear model beside it: {refusal.text}",)
        return found, ()

    def _counted(self, pair: Pair, keys: Keys, path: str) -> tuple[Matches, Notes]:
        """Count each record's like in a register."""
        codes, register, records = _on_one_footing(pair, keys, path)
        if records < len(pair.protected):
            raise NotApplicable(
                f"the register {path!r} has {records:,} records and the file {len(pair.protected):,}; it must hold "
                "everybody of the population"
            )
        found = keys.classes
        assert found.cell_of is not None
        cell_of, sizes = classes(register)
        asked, _ = classes(codes)
        wanted = codes[first_records(asked)]
        number = np.rint(matching_sums(wanted, register[first_records(cell_of)], sizes.astype(np.float64)))[asked]
        counts = found.counts.astype(np.float64)
        first = first_records(found.cell_of)
        frequency = number[first]
        chances = 1 / np.maximum(frequency, counts)  # who lacks in the register is one of those in the file
        absent = found.share(frequency < counts) * found.records
        notes = [f"counted in the register {path!r} of {records:,} records"]
        if absent:
            notes.append(
                f"the register has fewer records with the keys of {absent:,.0f} records than the file has: it does not "
                "hold everybody, or the keys are written otherwise; these are taken for all that there are"
            )
        total = float(chances @ found.sizes)
        return Matches(
            "register", chances, {"register": total}, total, total, None, float(found.records), float(records), ()
        ), tuple(notes)


def _on_one_footing(pair: Pair, keys: Keys, path: str) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return the keys of the protected table and of a register as codes that mean the same."""
    from sfumato.table.files import read

    original, _ = pair.tables()
    people = Microdata.beside(original, read(path).to_arrow())
    absent = [name for name in keys.names if name not in people.schema]
    if absent:
        raise NotApplicable(f"the register {path!r} has no {', '.join(absent)}")
    sides: list[list[NDArray[np.int32]]] = [[], []]
    for name in keys.names:
        if people.schema[name].kind != original.schema[name].kind:
            raise NotApplicable(
                f"{name!r} is {original.schema[name].kind} in the original and {people.schema[name].kind} in the "
                "register; it must hold values as the original does"
            )
        seen = pair.footing(name)
        if not seen.comparable:
            raise NotApplicable(f"{name!r} of the register cannot be put together as in the file: {seen.note}")
        column = followed(original, people, name, seen).original[len(original) :]
        for side, values in zip(sides, _coded(seen.protected, column), strict=True):
            side.append(values)
    codes, register = (np.column_stack(side) for side in sides)
    return codes, register, len(people)


def _coded(*columns: NDArray[np.generic]) -> tuple[NDArray[np.int32], ...]:
    """Return columns as codes by which values are equal; missing is -1."""
    if columns[0].dtype.kind != "f":
        return tuple(column.astype(np.int32) for column in columns)
    different, codes = np.unique(np.concatenate(columns), return_inverse=True)
    missing = np.isnan(different)
    codes = np.where(missing[codes], -1, codes).astype(np.int32)
    return tuple(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]))


def _uniques(estimate: Matches, fit: Fit) -> dict[str, float]:
    """Return how many are alone in the population with their keys, by the estimators that have a name."""
    found, population = fit.spectrum, estimate.population
    alone = fit.model.alone(found.units, population)
    once = found.of_size(1)
    named = {
        "Pitman": pitman(fit, population),
        "Zayatz": zayatz(found, population),
        "SNB": snb(found, population),
    }
    rule, _ = dankar(named["Pitman"], named["Zayatz"], named["SNB"], found.units / population)
    parts = {
        "population uniques among the records": once * alone,
        "expected matches of uniques": once * float(fit.model.expected_inverse(np.ones(1), found.units, population)[0]),
        "Pitman's theta": fit.model.theta,
        "Pitman's a": fit.model.a,
    }
    parts |= {f"population uniques ({name})": number for name, number in named.items() if np.isfinite(number)}
    return parts | {"population uniques (Dankar)": rule}


# An intruder with a register of the population who does not know who took part: chances of 1/f become those of 1/F

WHOLE = 1e-9  # 1/c is a number of records if it is as near to one, relatively


@dataclass(frozen=True, eq=False)
class Crowds:
    """The crowds that chances are shared in: of f records a share, else of f + 1, so that c = a/f + (1 - a)/(f + 1).

    A chance that is no reciprocal is that of picks that are not always right. Rounded, one of 0.7 would be that of
    somebody alone, who with continuous keys is found for sure.

    >>> Crowds.of(np.array([1.0, 1 / 3, 0.7])).share.round(3).tolist()  # 0.4 x 1 + 0.6 x 1/2 = 0.7
    [1.0, 1.0, 0.4]
    """

    fewer: Floats
    share: Floats

    @classmethod
    def of(cls, chance: Floats) -> "Crowds":
        """Find the crowds behind chances above 0."""
        inverse = 1 / chance
        whole = np.rint(inverse)
        exact = np.abs(inverse - whole) <= WHOLE * inverse
        fewer = np.where(exact, whole, np.floor(inverse))
        share = (chance - 1 / (fewer + 1)) * fewer * (fewer + 1)
        return cls(fewer, np.where(exact, 1.0, np.clip(share, 0.0, 1.0)))

    def mean(self, of_sizes: Callable[[Floats], Floats]) -> Floats:
        """Return what is said of the sizes, by the shares of both."""
        found = of_sizes(self.fewer)
        between = self.share < 1
        if not between.any():
            return found
        return np.where(between, self.share * found + (1 - self.share) * of_sizes(self.fewer + 1), found)

    def records(self) -> tuple[Floats, Floats]:
        """Return the different sizes, and how many records are in crowds of each."""
        sizes, place = np.unique(np.concatenate([self.fewer, self.fewer + 1]), return_inverse=True)
        number: Floats = np.bincount(place, np.concatenate([self.share, 1 - self.share])).astype(np.float64)
        return sizes[number > 0], number[number > 0]


@dataclass(frozen=True, eq=False)
class WithRegister:
    """The population behind the protected table, and the model by which chances fall when all of it may be meant.

    ``weights`` says how many units each record stands for, in the order of the original records. ``sampled``: chances
    are those of some of the records.
    """

    pair: Pair
    model: PopulationModel
    weights: Floats
    sampled: bool = False

    def over(self, names: tuple[str, ...]) -> Matches:
        """Estimate how the key classes of the protected table continue in the population."""
        found: Matches = self.pair.keep(
            ("in the population", names, self.model, self.sampled), lambda: self._over(names)
        )
        return found

    def _over(self, names: tuple[str, ...]) -> Matches:
        keys = Keys(names, self.pair.protected)
        weights, _ = keys.weights(self.pair)
        assert weights is not None
        outside = LogLinearRisk().expected_outside(self.pair, keys) if self.model == "log-linear" else None
        unit = None if self.sampled else repeated_units(self.pair, names)[0]
        return matches_of(keys.classes, self.model, weights, unit=unit, outside=outside)

    def lowered(
        self, chance: Floats, names: tuple[str, ...], own: Floats, units: Callable[[], Floats] | None = None
    ) -> tuple[Floats, Matches | None]:
        """Return the chances of an attack by these keys among the population, and the estimate they rest on.

        The f records that look the same are a class of the keys if these can be counted; the chance is E(1/F | f). A
        record that is alone with continuous keys has no class to hide in: its chance stays. Those that share the
        nearest place are a class of such places. The model of Benedetti and Franconi takes the ``units`` that the f
        records stand for, or else as many for each as for the ``own``.
        """
        if not chance.any():
            return chance, None
        if not names:
            return chance * (len(self.weights) / float(self.weights.sum())), None
        published = tuple(name for name in names if name in self.pair.protected.schema)
        counted = countable(self.pair.protected, published)
        if self.model == "Benedetti-Franconi":
            return _by_weights(chance, own, units, alone_stay=not counted), None
        if not counted or published != names:  # some follow from other columns, so that there are no classes of them
            return _among_places(chance, len(chance) * float(self.weights.mean()), alone_stay=not counted)
        estimate = self.over(names)
        if estimate.decides == "Benedetti-Franconi":
            return _by_weights(chance, own, units), estimate
        found = np.flatnonzero(chance)
        crowds = Crowds.of(chance[found])
        result = np.zeros(len(chance))
        result[found] = crowds.mean(estimate.inverse)
        classes = self.pair.protected.classes(names)
        if classes.cell_of is not None and not self.sampled:  # of a record that is found, the own class
            of_own = classes.cell_of[found]
            own_class = (classes.counts[of_own] == crowds.fewer) & (crowds.share == 1)
            result[found] = np.where(own_class, estimate.chances[of_own], result[found])
        return result, estimate

    def of_households(self, chance: Floats, weights: Floats, names: tuple[str, ...]) -> tuple[Floats, Matches | None]:
        """Return the chances of households found by all their members, each standing for as many as its weight."""
        if not chance.any():
            return chance, None
        published = [name for name in names if name in self.pair.protected.schema]
        alone_stay = not countable(self.pair.protected, published)
        if self.model == "Benedetti-Franconi":
            return _by_weights(chance, weights, None, alone_stay=alone_stay), None
        return _among_places(chance, float(weights.sum()), alone_stay=alone_stay)


def _by_weights(chance: Floats, own: Floats, units: Callable[[], Floats] | None, *, alone_stay: bool = False) -> Floats:
    """Return E(1/F | f) of Benedetti and Franconi."""
    found = np.flatnonzero(chance)
    known = None if units is None else units()[found]

    def inverse(alike: Floats) -> Floats:
        population = alike * own[found] if known is None else known
        expected = expected_inverse(alike, np.maximum(population, alike))
        return np.where(alike == 1, 1.0, expected) if alone_stay else expected

    result = np.zeros(len(chance))
    result[found] = Crowds.of(chance[found]).mean(inverse)
    return result


def _among_places(chance: Floats, population: float, *, alone_stay: bool) -> tuple[Floats, Matches | None]:
    """Return the chances where those that look the same are the classes, whatever the keys are."""
    found = np.flatnonzero(chance)
    crowds = Crowds.of(chance[found])
    sizes, number = crowds.records()
    population *= len(found) / len(chance)
    if population <= len(found) * (1 + 1e-9):
        return chance, None
    estimate = matches(sizes, number / sizes, population, "Pitman-Yor")

    def expected(alike: Floats) -> Floats:
        place = np.minimum(np.searchsorted(sizes, alike), len(sizes) - 1)  # beyond the last is the other half of nobody
        return np.where(alike == 1, 1.0, estimate.chances[place]) if alone_stay else estimate.chances[place]

    result = np.zeros(len(chance))
    result[found] = crowds.mean(expected)
    return result, estimate


def population_weights(pair: Pair) -> tuple[Floats | None, str]:
    """Return how many units of the population each record stands for, and what to say of it; None: itself alone."""
    try:
        half, notes = design_weights(pair)
    except NotApplicable as refusal:
        return None, f"{refusal}; the file is taken for a census of the population"
    if half is None:
        return None, notes[0]
    said = f"expected chance 1/F among the units of the population that the weights {half.schema.weight!r} stand for"
    weights = half.table.weights() if not half.in_parts else half.column(str(half.schema.weight))
    return weights, "; ".join([said, *notes])
