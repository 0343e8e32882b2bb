"""Re-identification under stated scenarios: who is found again by an intruder who knows these keys, of all kinds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.keys import key_names
from sfumato.data.scenario import Scenario
from sfumato.data.schema import Schema
from sfumato.data.units import counted
from sfumato.errors import NotApplicable
from sfumato.kernels.expected_inverse import expected_inverse
from sfumato.kernels.groups import class_sums, classes
from sfumato.measurement import Measurement
from sfumato.pair import Half, Pair, design_weights
from sfumato.pair.keys import countable, perturbed_key
from sfumato.registry import catalogued
from sfumato.risk.attacks import alike, nearest
from sfumato.risk.distance_linkage import own_is_nearest_mixed
from sfumato.risk.household_attack import Unit, alike_households
from sfumato.risk.individual import household_chances
from sfumato.risk.mixed_points import points
from sfumato.risk.seen_keys import codes_of, scores_of

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Notes = tuple[str, ...]

ALIKE, NEAREST, TRUE_ALIKE, GOWER = "alike", "nearest", "nearest of those alike in true numbers", "Gower's nearest"
ALL_ALIKE = "all members alike"
STATED = "the keys stated"


@catalogued(
    MeasureAbout(
        title="Re-identification under the worst scenario",
        source="Hundepool et al., Statistical Disclosure Control (2012), chapter 3, for scenarios and counts; Pagliuca "
        "and Seri (1998) for the nearest record; Gower (1971) for keys of all kinds; Benedetti and Franconi (1998) "
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
        ),
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        kinds=("numeric", "ordinal", "nominal", "date"),
        missing="a missing key agrees with every value among records alike; as a number, or in Gower's distance, it is "
        "farther from a present value than any two present ones",
        keys=True,
        caveat="an intruder who knows the method may do better, notably against rank swapping; it judges who is found, "
        "not what is learned of those in a crowd (LDiversity, Inference)",
        formula="value = max over the scenarios of (sum_i c_i) / n,   c_i by the attack with the largest sum of\n"
        "alike: 1 / m_i if the own record is among the m_i that agree in all keys, else 0\n"
        "nearest in the numbers, among those alike in the categories: 1 / t_i if none is nearer, else 0\n"
        "nearest of those alike in true numbers: the same among fewer; Gower's nearest: the same among all\n"
        "membership not known: E(1 / F | f) in the population instead of 1 / f\n"
        "with their household: 1 - product over its members of (1 - c_i)\n"
        'unit="household": c of a household by all members alike, 1 / (households alike), or by one member\n'
        "above=a: max over the scenarios of #{c_i > a} / n",
        reading="The share of records that the intruder with the most to gain finds again, on average over guesses; "
        "times n, the expected number. Look at the largest chance of a record and at those above 0.1 as well, because "
        "a mean hides them. Of a copy it is what the keys themselves give away, so look at it before anything is done. "
        "A number released as it was counts as known exactly.",
    )
)
class Reidentification(Measure):
    """Share of records found again by the intruder of the worst scenario, over keys of all kinds.

    A scenario (``Schema.scenarios``, ``[scenarios.neighbour]`` in schema.toml) names the keys that an intruder knows of
    everybody. ``scenarios`` names those to judge, None all; without any declared there is one who knows all variables
    of the role key, and a note says so; ``variables`` states the keys of one instead. For each scenario four attacks
    are tried, and the one with the largest mean counts, since an intruder would choose it:

    - *alike*: he takes one of the records that agree in every key, after what he knows was recoded as the file was
      (``pair.footing``). A missing value agrees with every value. Numbers that were perturbed, and keys he only knows
      about, do not count;
    - *nearest*: among the records that agree in the categories, he takes the nearest in the numbers, each divided by
      its standard deviation in the original;
    - *nearest of those alike in true numbers*: the same, but who differs in a number that was not perturbed is out;
    - *Gower's nearest*: the nearest over all keys, where a category that differs counts as much as the largest
      difference of a number. It does well against changed categories and against few suppressed values.

    Records that look the same share the chance. Of a number that he knows ``about`` the attacks take the true value for
    what he believes: nobody who knows less finds more on average. Where ``knows_membership`` is False and there are
    design weights, a chance of 1/f becomes E(1/F | f) of :class:`IndividualRisk`, with the weights of the records
    alike, or for the nearest with the record's own; else the file is taken for a census.

    The value is the mean chance under the worst scenario, ``by_record`` the chance of each original record there. With
    ``above`` it is the share of records whose chance exceeds that, under the scenario where most do: a bound for the
    single record, as in --at-most "Reidentification(above=0.2)=0%".

    The parts give the mean of every scenario, the expected number, the largest chance of any record under any scenario,
    and the share of records above 0.1 in the worst; where no key of a scenario was perturbed, also the share of
    protected records that fewer than its k agree with ("<scenario>: violating k"). The table ``scenarios`` has a row
    for each.

    Where the schema tells who lives together, finding one member finds all: the part "records, with their
    household" is the mean over records of 1 - product of (1 - chance) over the members, each attacked by himself (as
    in :class:`IndividualRisk`). An intruder who knows a whole family does better. ``unit="household"`` judges him: he
    looks for the households whose members can be matched with those he knows so that all agree (*all members alike*),
    or takes one member and any of the attacks above, whichever finds more. The value is then the share of households
    found. It is far larger where households are large, since k records alike seldom live in k households alike. Nearest
    households are not tried: of a perturbed file more may be found. A file without the household is judged with that
    of the original, as if the members had been put together by what they share.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "scenarios")
        parameters.one_of(self, "unit", get_args(Unit))
        if self.above is not None:
            parameters.share(self, "above")
            whose = f"{self.unit.capitalize()}s with a chance above {self.above:g} to be found"
            self.known_as(title=f"{whose}, under the worst scenario", beside=())  # its parts are those of the mean
        elif self.unit == "household":
            self.known_as(title="Re-identification of households under the worst scenario")
        if self.scenarios is not None and self.variables is not None:
            raise parameters.refuse(self, "give scenarios or variables, not both")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        original, _ = pair.tables()
        intruders, notes = self._intruders(original.schema)
        homes, said_of_homes = pair.homes()
        unit = _households(pair, homes) if self.unit == "household" else None
        found = [
            pair.keep(("found under", scenario, self.unit), partial(_judge, pair, scenario, unit))
            for scenario in intruders
        ]
        worst = max(found, key=lambda judged: judged.value(self.above))
        parts = {judged.scenario.name: judged.mean for judged in found}
        parts |= {
            f"{judged.scenario.name}: violating k": judged.violating for judged in found if judged.violating is not None
        }
        parts |= {
            "expected re-identifications": float(worst.chance.sum()),
            f"largest chance of a {self.unit}": max(float(judged.chance.max()) for judged in found),
            f"{self.unit}s above 0.1": float((worst.chance > 0.1).mean()),
        }
        if unit is None and homes is not None:
            parts |= _with_households(worst.chance, homes.units)
        said = dict.fromkeys(note for judged in found for note in judged.notes)
        notes = (*notes, f"worst scenario: {worst.scenario.name}; best attack: {worst.attack}", *said, *said_of_homes)
        return self.measurement(
            worst.value(self.above),
            parts=parts,
            by_record=worst.chance if unit is None else worst.chance[unit],
            tables={"scenarios": tuple(_row(judged) for judged in found)},
            notes=notes,
        )

    def _intruders(self, schema: Schema) -> tuple[tuple[Scenario, ...], Notes]:
        """Return the scenarios to judge, and what to say of them."""
        if self.variables is not None:
            return (Scenario(STATED, key_names(schema, self.variables)),), ()
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


@dataclass(frozen=True, eq=False)
class _Judged:
    """A scenario with the chance of each record, or household, under its best attack."""

    scenario: Scenario
    attack: str
    chance: Floats
    violating: float | None
    notes: Notes

    @property
    def mean(self) -> float:
        return float(self.chance.mean())

    @property
    def nbytes(self) -> int:
        return self.chance.nbytes

    def value(self, above: float | None) -> float:
        """Return the mean chance, or the share of records whose chance exceeds a limit."""
        return self.mean if above is None else float((self.chance > above).mean())


def _row(judged: _Judged) -> dict[str, object]:
    scenario = judged.scenario
    return {
        "scenario": scenario.name,
        "knows": ", ".join(f"about {name}" if name in scenario.about else name for name in scenario.keys),
        "attack": judged.attack,
        "share": judged.mean,
        "expected": float(judged.chance.sum()),
        "largest": float(judged.chance.max()),
        "k": scenario.k,
        "violating k": judged.violating,
    }


def _judge(pair: Pair, scenario: Scenario, unit: Integers | None) -> _Judged:
    """Try the attacks that the keys of a scenario allow, and keep the best; on households where ``unit`` has them."""
    keys, notes = _comparable(pair, scenario)
    seen = {name: pair.footing(name) for name in keys}
    numbers = [name for name in keys if seen[name].quantitative]
    perturbed = {name for name in keys if perturbed_key(pair, name)}
    untrue = [name for name in numbers if name in perturbed or name in scenario.about]
    true = [name for name in keys if name not in untrue]
    records = len(pair.original)
    codes = codes_of(seen, true, records)
    chances = {ALIKE: alike(*codes)[0]}
    if numbers:
        categories = [name for name in keys if name not in numbers]
        chances[NEAREST] = nearest(*codes_of(seen, categories, records), *scores_of(seen, numbers))
        if untrue and len(untrue) < len(numbers):
            chances[TRUE_ALIKE] = nearest(*codes, *scores_of(seen, untrue))
    if keys:
        chances[GOWER] = own_is_nearest_mixed(*points(pair, keys), share=True)[0]
    weights = None
    if not scenario.knows_membership:
        weights, said = population_weights(pair)
        notes = (*notes, f"{scenario.name}: {said}")
    if unit is not None:
        return _Judged(scenario, *_of_households(chances, codes, unit, weights), None, notes)
    best = _best(chances)
    chance = chances[best]
    if weights is not None:
        chance = _in_population(chance, weights, codes if best == ALIKE else None)
    return _Judged(scenario, best, chance, _violating(pair, scenario, keys, perturbed), notes)


def _best(chances: Mapping[str, Floats]) -> str:
    """Name the attack with the largest mean; the first of those that tie."""
    return max(chances, key=lambda attack: float(chances[attack].mean()))


def _of_households(
    by_record: Mapping[str, Floats], codes: tuple[Codes, Codes], unit: Integers, weights: Floats | None
) -> tuple[str, Floats]:
    """Return the best attack on households and the chance of each: by all members together, or by one of them."""
    attacks = {f"{attack}, one member": attack for attack in by_record}
    chances = {ALL_ALIKE: alike_households(*codes, unit)}
    chances |= {name: _mean_of(by_record[attack], unit) for name, attack in attacks.items()}
    best = _best(chances)
    if weights is None:
        return best, chances[best]
    if best == ALL_ALIKE:
        return best, _in_population(chances[best], _mean_of(weights, unit), None)
    attack = attacks[best]
    return best, _mean_of(_in_population(by_record[attack], weights, codes if attack == ALIKE else None), unit)


def _mean_of(figures: Floats, unit: Integers) -> Floats:
    """Return the mean of a figure over the members of each household."""
    return class_sums(unit, figures, counted(unit)) / np.bincount(unit)


def _households(pair: Pair, homes: Half | None) -> Integers:
    """Return the number of each record's household; refused where the protected table does not tell the same ones."""
    if pair.original.schema.household is None or homes is None:
        raise NotApplicable("the original table does not tell who lives together: its schema names no household")
    before, after = pair.original.units, homes.units
    together, _ = classes(np.column_stack([before, after]))
    if not counted(together) == counted(before) == counted(after):
        raise NotApplicable("the households of the protected table are not those of the original")
    return before


def _with_households(chance: Floats, unit: Integers) -> dict[str, float]:
    """Return the mean over records and the largest of the chance that a member of the household is found."""
    together = household_chances(chance, unit)
    return {
        "records, with their household": float(together[unit].mean()),
        "largest of a household": float(together.max()),
    }


def _comparable(pair: Pair, scenario: Scenario) -> tuple[tuple[str, ...], Notes]:
    """Name the keys of a scenario that tell something of the protected table, and say which do not, and why."""
    gone = [name for name in scenario.keys if name not in pair.protected.schema]
    notes = [f"left out, not in the protected table: {', '.join(gone)}"] if gone else []
    kept = []
    for name in (name for name in scenario.keys if name not in gone):
        found = pair.footing(name)
        if not found.comparable:
            notes.append(f"left out, {name}: {found.note}")
            continue
        if found.note:
            notes.append(f"{name}: {found.note}")
        if all((~_missing(column)).any() for column in (found.original, found.protected)):
            kept.append(name)
        else:
            notes.append(f"left out, {name}: it has no value in one of the tables")
    if not kept:
        notes.append(f"{scenario.name}: the protected table has none of the keys, so the intruder can only guess")
    return tuple(kept), tuple(notes)


def _missing(column: NDArray[np.generic]) -> NDArray[np.bool_]:
    gaps: NDArray[np.bool_] = np.isnan(column) if column.dtype.kind == "f" else column < 0  # type: ignore[operator]
    return gaps


def _in_population(chance: Floats, weights: Floats, codes: tuple[Codes, Codes] | None) -> Floats:
    """Return E(1/F | f) instead of 1/f, because the intruder does not know who is in the file.

    The units of the population are those that the records alike stand for, by their ``codes``; else as many for each
    record as for the own.
    """
    found = np.flatnonzero(chance)
    records = np.rint(1 / chance[found])
    units = records * weights[found] if codes is None else alike(*codes, weights)[2][found]
    lowered = np.zeros(len(chance))
    lowered[found] = expected_inverse(records, np.maximum(units, records))
    return lowered


def population_weights(pair: Pair) -> tuple[Floats | None, str]:
    """Return how many units of the population each record stands for, and what to say of it; None: itself alone."""
    try:
        half, notes = design_weights(pair)
    except NotApplicable as refusal:
        return None, f"{refusal}; the file is taken for a census of the population"
    if half is None:
        return None, notes[0]
    said = f"expected chance 1/F among the units of the population that the weights {half.schema.weight!r} stand for"
    return half.table.weights(), "; ".join([said, *notes])


def _violating(pair: Pair, scenario: Scenario, keys: Iterable[str], perturbed: set[str]) -> float | None:
    """Return the share of protected records that fewer than k agree with; None where counting says nothing."""
    names = [name for name in keys if name in scenario.exact]
    if perturbed & set(names):
        return None
    if not countable(pair.protected, names):
        return None
    found = pair.protected.classes(names)
    return found.share(found.counts < scenario.k)
