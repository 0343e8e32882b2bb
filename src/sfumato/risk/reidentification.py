"""Re-identification under stated scenarios: who is found again by an intruder who knows these keys, of all kinds."""

from dataclasses import field
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.measurement import AT_LEAST, AT_MOST, BY_MODEL, KNOWING, SAMPLING_ERROR, WITH_REGISTER, Measurement
from sfumato.pair import Half, Pair
from sfumato.pair.consequences import MAX_RECORDS_READ
from sfumato.pair.sample import NORMAL, SIZE, Sample
from sfumato.registry import catalogued
from sfumato.risk.household_attack import Unit
from sfumato.risk.individual import household_chances
from sfumato.risk.judged import WITH_OTHERS, Families, JudgedScenario, judge
from sfumato.risk.population import PopulationModel
from sfumato.table.households import counted, number_published, reassembled, sizes
from sfumato.table.keys import key_names
from sfumato.table.schema import EVERYTHING, Scenario, Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]

STATED = "the keys stated"
Knows = Literal["keys", "everything"]


@catalogued(
    MeasureAbout(
        title="Re-identification under the worst scenario",
        source="Hundepool et al., Statistical Disclosure Control (2012), chapter 3, for scenarios and counts; Pagliuca "
        "and Seri (1998) for the nearest record; Gower (1971) for keys of all kinds; Pitman (1995) "
        "for intruders who do not know who took part",
        purpose="risk",
        counts=("expected re-identifications",),
        beside=(
            "expected re-identifications",
            "largest chance of a record",
            "largest chance of a household",
            "above 0.1",
            "violating k",
            "with their household",
            "lives together",
            WITH_OTHERS,
            WITH_REGISTER,
            KNOWING,
            AT_MOST,
        ),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="a missing key agrees with every value among records alike; as a number, or in Gower's distance, it is "
        "farther from a present value than any two present ones",
        keys=True,
        parts="sample",
        parts_if="records as units",
        caveat="of a file protected elsewhere the method is not known, and an intruder who knows it may do better, "
        "notably against rank swapping; it judges who is found, not what is learned of those in a crowd (LDiversity, "
        "Inference)",
        formula="value = max over the scenarios of (sum_i c_i) / n,   c_i by the attack with the largest sum\n"
        "alike: 1 / m_i if the own record is among the m_i that agree in all keys, else 0\n"
        "nearest, fewest changed keys, by method, likeliest: 1 / t_i if none is before the own, t_i tie\n"
        "with what the rest of the file tells: the same, where what follows from the keys is known too\n"
        "membership not known: E(1 / F | f) in the population instead of 1 / f (PopulationRisk)\n"
        "with their household: 1 - product over its members of (1 - c_i)\n"
        'unit="household": by all members, 1 / (households alike), by the nearest, or by one member\n'
        "above=a: max over scenarios and attacks of #{c_i > a} / n",
        reading="The share of records that the intruder with the most to gain finds again, on average over guesses; "
        "times n, the expected number. Look at the largest chance of a record and at those above 0.1 as well, because "
        "a mean hides them. Of a copy it is what the keys themselves give away, so look at it before anything is done. "
        "A number released as it was counts as known exactly.",
    )
)
class Reidentification(Measure):
    """Share of records found again by the intruder of the worst scenario, over keys of all kinds.

    A scenario names the keys that an intruder knows of everybody; ``variables`` states those of one instead. For each
    scenario several attacks are tried, those too that use what the rest of the file tells of the keys, and the one with
    the largest mean counts. ``above`` gives the share of records whose chance exceeds it, ``unit="household"`` judges
    who knows a whole family, ``knows="everything"`` who knows every variable, ``sample`` looks for some records of a
    large table. docs/how-to/reidentification.md has every attack and every part.

    >>> import pyarrow as pa
    >>> table = pa.table({"town": ["A", "A", "B"], "age": [30.0, 40.0, 40.0]})
    >>> Reidentification(variables=("town", "age")).evaluate(table, table).value
    1.0
    >>> round(Reidentification(variables=("town",)).evaluate(table, table).value, 3)
    0.667
    """

    scenarios: tuple[str, ...] | None = None
    above: float | None = field(default=None, kw_only=True)
    unit: Unit = field(default="record", kw_only=True)
    sample: int | None = field(default=None, kw_only=True)
    population_model: PopulationModel = field(default="Pitman-Yor", kw_only=True)
    knows: Knows = field(default="keys", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "scenarios")
        parameters.one_of(self, "knows", get_args(Knows))
        parameters.one_of(self, "unit", get_args(Unit))
        parameters.one_of(self, "population_model", get_args(PopulationModel))
        if self.above is not None:
            parameters.share(self, "above")
            whose = f"{self.unit.capitalize()}s with a chance above {self.above:g} to be found"
            self.known_as(title=f"{whose}, under the worst scenario", beside=())  # its parts are those of the mean
        elif self.unit == "household":
            self.known_as(title="Re-identification of households under the worst scenario")
        if self.unit == "household" or self.population_model == "log-linear":
            self.known_as(parts="memory", parts_if="")
        if self.sample is not None:
            parameters.whole(self, "sample", least=2)
            if self.unit == "household":
                raise parameters.refuse(self, "a sample is of records; households are judged in memory, all of them")
            if self.population_model == "log-linear":
                raise parameters.refuse(self, "the log-linear model needs all records, not a sample")
            self.known_as(random=True)
        if self.scenarios is not None and self.variables is not None:
            raise parameters.refuse(self, "give scenarios or variables, not both")
        if self.knows == "everything":
            if self.scenarios is not None or self.variables is not None:
                raise parameters.refuse(self, "who knows everything needs no scenarios and no variables")
            self.known_as(title=f"{self.about.title.partition(' under')[0].rstrip(',')} by who knows all variables")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        intruders, notes = self._intruders(pair.original.schema)
        homes, said_of_homes = pair.homes()
        records = len(pair.original)
        sample = self._drawn(pair, rng)
        parted = pair.in_parts or sample is not None
        # few enough for all attacks, at hand
        if sample is not None and sample.whole and len(sample) <= MAX_RECORDS_READ:
            pair, sample = pair.gathered(pair.original.schema.analysed()), None
            homes, said_of_homes = pair.homes()
        families, told = _families(pair, homes) if self.unit == "household" else (None, ())
        found, model = list[JudgedScenario](), self.population_model
        for scenario in intruders:
            tried = partial(judge, pair, scenario, model, sample=sample, homes=homes, families=families)
            drawn = self.unit if sample is None else sample.digest
            found.append(pair.keep(("found under", scenario, drawn, model), tried).at(self.above))
        worst = max(found, key=lambda judged: (judged.value(self.above), judged.chances.mean))
        chances = worst.chances
        parts = {judged.scenario.name: judged.chances.mean for judged in found}
        parts |= {
            f"{judged.scenario.name}: violating k": judged.violating for judged in found if judged.violating is not None
        }
        if worst.given_back is not None:
            parts[WITH_OTHERS] = worst.given_back
        parts |= {
            "expected re-identifications": chances.expected(records),
            f"largest chance of a {self.unit}": max(judged.largest for judged in found),
            f"{self.unit}s above 0.1": chances.above(0.1),
        }
        by_record = None
        if sample is None and not parted:
            by_record = chances.values if families is None else chances.values[families.unit]
        if families is not None:
            parts |= worst.together or {}
            said_of_homes = told
        elif homes is not None:
            parts |= _with_households(chances.values, homes.units) if sample is None else worst.together or {}
        parts |= _of_the_other(worst, self.above)
        said = dict.fromkeys(note for judged in found for note in judged.notes)
        notes = (*notes, f"worst scenario: {worst.scenario.name}; best attack: {worst.attack}", *said, *said_of_homes)
        if sample is not None:
            error, more = _said_of_sample(found, worst, self.above, households=homes is not None)
            parts, notes = parts | error, (*notes, *more)
        return self.measurement(
            worst.value(self.above),
            parts=parts,
            by_record=by_record,
            tables={"scenarios": tuple(judged.row(records) for judged in found)},
            notes=notes,
        )

    def _drawn(self, pair: Pair, rng: np.random.Generator) -> Sample | None:
        """Draw the records to look for; None: all of a table in memory."""
        if self.unit == "household" or self.population_model == "log-linear":
            pair.tables()
        if self.sample is None and not pair.in_parts:
            return None
        return Sample.drawn(len(pair.original), self.sample or SIZE, rng)

    def _intruders(self, schema: Schema) -> tuple[tuple[Scenario, ...], Notes]:
        """Return the scenarios to judge, and what to say of them."""
        if self.variables is not None:
            return (Scenario(STATED, key_names(schema, self.variables)),), ()
        if self.knows == "everything":
            return (Scenario(EVERYTHING, schema.analysed()),), ()
        declared = schema.scenarios
        if self.scenarios is not None:
            known = {scenario.name: scenario for scenario in declared}
            for name in self.scenarios:
                if name not in known:
                    there = ", ".join(map(repr, known)) or "none"
                    raise NotApplicable(f"there is no scenario {name!r}; the schema declares {there}")
            return tuple(known[name] for name in self.scenarios), ()
        for scenario in declared:
            key_names(schema, scenario.keys)  # a key that is no variable is refused by name
        if declared:
            return declared, ()
        keys = key_names(schema, None)
        said = f"no scenario is declared: one intruder who knows all variables of the role key, {', '.join(keys)}"
        return schema.intruders(), (said,)


def _families(pair: Pair, homes: Half | None) -> tuple[Families, Notes]:
    """Return the households, and how the protected table shows them; refused where it does not show the same ones."""
    if pair.original.schema.household is None or homes is None:
        raise NotApplicable("the original table does not tell who lives together: its schema names no household")
    before, after = pair.original.units, homes.units
    together, _ = classes(np.column_stack([before, after]))
    if not counted(together) == counted(before) == counted(after):
        raise NotApplicable("the households of the protected table are not those of the original")
    original, protected = pair.tables()
    name = original.schema.household
    if number_published(protected):
        return Families(before), ()
    unnumbered = f"the file goes out without the number of the household, {name!r}"
    found = reassembled(original, protected)
    if found is None or not found.by:
        said = f"{unnumbered}, and its members share nothing: each is looked for among all records"
        return Families(before, np.zeros(len(before), dtype=np.int64), (), sizes(original)), (said,)
    said = (
        f"{unnumbered}: members are put together by {', '.join(found.by)}, which makes the households of "
        f"{found.share:.1%} of those who live with others whole"
    )
    return Families(before, found.group, found.by, sizes(original)), (said,)


def _with_households(chance: Floats, unit: Integers) -> dict[str, float]:
    """Return the mean over records and the largest of the chance that a member of the household is found."""
    together = household_chances(chance, unit)
    return {
        "records, with their household": float(together[unit].mean()),
        "largest of a household": float(together.max()),
    }


def _of_the_other(worst: JudgedScenario, above: float | None) -> dict[str, float]:
    """Return what an intruder finds who differs in whether he knows who took part, and the interval of an estimate."""
    parts = {}
    estimate = worst.estimate
    estimated = above is None and not worst.scenario.knows_membership
    if estimated and estimate is not None and not np.isnan(estimate.low):
        whole = float(estimate.expected[estimate.decides])
        mean = worst.chances.mean
        parts = {AT_LEAST: mean * estimate.low / whole, AT_MOST: min(mean * estimate.high / whole, 1.0)}
        parts |= {f"{BY_MODEL}{name}": min(mean * said / whole, 1.0) for name, said in estimate.expected.items()}
    other = worst.others_figure(above)
    if other is not None:
        parts[WITH_REGISTER if worst.scenario.knows_membership else KNOWING] = other
    return parts


def _said_of_sample(
    found: list[JudgedScenario], worst: JudgedScenario, above: float | None, *, households: bool
) -> tuple[dict[str, float], Notes]:
    """Return the standard error of what a sample tells, and what to say of it.

    It reaches as far as the interval of any scenario, for another may be the worst over all records.
    """
    sample = next((judged.sampled for judged in found if judged.sampled is not None), None)
    if sample is None:
        return {}, ()
    notes: Notes = ()
    if households and worst.together is None:
        notes = ("those drawn live with too many others, so it is not said what finding a member does to a household",)
    value = worst.value(above)
    errors = ((judged.value(above) - value, judged.error(above)) for judged in found)
    error = max((apart / NORMAL + each for apart, each in errors if each is not None), default=0.0)
    if error <= 0:
        size = f"{len(sample):,} of {sample.records:,} records"
        return {}, (f"counted for all records; other attacks were tried on a simple random sample of {size}", *notes)
    said = sample.said(error)
    if worst.chances.sample is None:
        said = f"counted for all records, but another attack may find more: {said}"
    else:
        notes = ("the largest chance is that of the records drawn, and others may have a larger one", *notes)
    return {SAMPLING_ERROR: error}, (said, *notes)
