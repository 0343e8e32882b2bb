"""Which measures are computed if nobody names any, and which of them decide: from the schema and the treatment alone.

The table of ``docs/how-to/defaults.md`` says the same in words.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.about import Purpose
from sfumato.arguments import YES_OR_NO, require, require_number
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import matching_sums
from sfumato.kernels.groups import classes, first_records
from sfumato.pair import Half, Pair
from sfumato.pair.keys import countable, perturbed_key
from sfumato.risk import (
    TCAP,
    DiSCO,
    DistanceLinkage,
    ExposedAmounts,
    IndividualRisk,
    KAnonymity,
    LDiversity,
    NearestRecord,
    RankInterval,
    Reidentification,
    RepU,
)
from sfumato.table.households import lived_with
from sfumato.table.microdata import Microdata
from sfumato.utility import GlobalDataUtility, InformationLoss, Suppressed


@dataclass(frozen=True)
class Chosen:
    """A measure that is computed by default, whether it decides, and why it is there."""

    measure: Measure
    decides: bool
    why: str


def default_measures(
    data: Microdata,
    protected: Microdata | None = None,
    *,
    population: float | None = None,
    in_parts: bool = False,
) -> tuple[Chosen, ...]:
    """Return the measures for a table, or for a table and its protected version: risk first, then utility.

    The first of each that decides is the axis of the map. Without ``protected`` it is a question of candidates to come,
    whose records match. ``population`` is what design weights should sum to, if they were rescaled. With ``in_parts``
    the data are a sample of a table in parts: measures are those that can be computed of all parts, and where none that
    decides can, the first that can be decides.
    """
    require("default_measures", Microdata, "a Microdata", data=data)
    require("default_measures", Microdata | None, "a Microdata", protected=protected)
    require("default_measures", bool, YES_OR_NO, in_parts=in_parts)
    require_number("default_measures", least=0, population=population)
    if protected is None or _matched(data, protected):
        risks = _of_matched(data, protected, population)
    elif _drawn(data, protected):
        risks = _of_sample(data, protected, population)
    else:
        risks = _of_synthetic(data)
    usual = [*risks, *_of_utility(data, protected)]
    if not in_parts:
        return tuple(usual)
    usual = [one for one in usual if one.measure.about.parts != "memory"]
    for purpose in ("risk", "utility"):
        several = [place for place, one in enumerate(usual) if one.measure.about.purpose == purpose]
        if not several:
            raise NotApplicable(f"no measure of {purpose} for such a table works in parts; name some with --measure")
        if not any(usual[place].decides for place in several):
            usual[several[0]] = replace(usual[several[0]], decides=True)
    return tuple(usual)


def axis(chosen: Iterable[Chosen], purpose: Purpose) -> str:
    """Name the first measure of a purpose that decides."""
    return next(repr(one.measure) for one in chosen if one.decides and one.measure.about.purpose == purpose)


def rescaled(data: Microdata) -> bool:
    """Tell whether a table's weights cannot be design weights as they are: a record stands at least for itself."""
    return data.schema.weight is not None and float(data.weights().min()) < 1


def _of_matched(data: Microdata, protected: Microdata | None, population: float | None) -> Iterator[Chosen]:
    """Masked records: who is found again decides."""
    schema = data.schema
    intruders = schema.intruders()
    if not intruders:
        yield from _without_keys(data)
    else:
        whose = "the declared scenarios" if schema.scenarios else "an intruder who knows every variable of the role key"
        yield Chosen(
            Reidentification(),
            decides=True,
            why=f"records are kept and keys are named: who is found again under {whose}",
        )
        if lived_with(data):
            yield Chosen(
                Reidentification(unit="household"),
                decides=True,
                why="who knows all members of a household looks for all of them together; a bound on persons holds for "
                "households, unless another is said",
            )
        if not schema.scenarios:  # else each has its own keys and its own k, which Reidentification counts by
            yield from _counts(data, protected, population, decides=False)
    yield from _confidential(data)


def _without_keys(data: Microdata) -> Iterator[Chosen]:
    """No key is named: an intruder who knows the first few variables, whatever they are."""
    numbers = data.schema.analysed("numeric") == data.schema.analysed()
    measure = DistanceLinkage() if numbers else DistanceLinkage(distance="gower")
    yield Chosen(
        measure,
        decides=True,
        why="no variable has the role key: the nearest record of an intruder who knows up to seven variables is judged "
        "instead; name the keys for a figure about this file",
    )


def _counts(
    data: Microdata, protected: Microdata | None, population: float | None, *, decides: bool
) -> Iterator[Chosen]:
    """Counts over the keys, if they can be counted over and, as far as is known, are true."""
    keys = data.schema.analysed(role="key")
    if not keys or not _countable(data, protected, keys):
        return
    if protected is not None:
        pair = Pair.of(data, protected)
        if any(perturbed_key(pair, name) for name in keys if name in protected.schema):
            return
    weighed = protected if protected is not None and protected.schema.weight is not None else data
    usable = population is not None or not rescaled(weighed)
    if usable:
        why = "the expected share found in the population" if data.schema.weight else "the same for a census"
        yield Chosen(
            IndividualRisk(population=population),
            decides=decides,
            why=f"{why}, if keys are recoded or suppressed but true",
        )
    k = max(scenario.k for scenario in data.schema.intruders())
    why = f"records that fewer than {k} agree with in all keys, if keys are true"
    yield Chosen(KAnonymity(k), decides=decides and not usable, why=why)


def _confidential(data: Microdata) -> Iterator[Chosen]:
    """What an intruder would learn: of a class of equal keys, of an amount within an interval, of extremes."""
    schema = data.schema
    secret = schema.analysed(role="confidential")
    keys = schema.analysed(role="key")
    if secret and keys and _countable(data, None, keys):
        yield Chosen(
            LDiversity(),
            decides=False,
            why="a class of equal keys in which all have the same confidential value tells it",
        )
    amounts = schema.analysed("numeric", role="confidential") or (() if keys else schema.analysed("numeric"))
    if amounts:
        yield Chosen(RankInterval(), decides=False, why="how near released numbers are to the true ones")
        yield Chosen(ExposedAmounts(), decides=False, why="extreme amounts identify without any key")


def _of_sample(data: Microdata, protected: Microdata, population: float | None) -> Iterator[Chosen]:
    """Records of the original, fewer or in another order: counts over keys hold."""
    found = tuple(_counts(data, protected, population, decides=True))
    yield from found or _of_synthetic(data)


def _of_synthetic(data: Microdata) -> Iterator[Chosen]:
    """Records that are nobody's: what can be read off them."""
    keys, secret = data.schema.analysed(role="key"), data.schema.analysed(role="confidential")
    if keys and secret:
        yield Chosen(
            DiSCO(),
            decides=True,
            why="no record is anybody's: what counts is whether keys lead to one value, the true one",
        )
        yield Chosen(TCAP(), decides=False, why="how often a value read off equal keys is right")
    if keys:
        yield Chosen(RepU(), decides=not secret, why="who is unique in the original and in the file")
    yield Chosen(
        NearestRecord(),
        decides=not keys,
        why="records suspiciously near to original ones; weak evidence, never a reason to release",
    )


def _of_utility(data: Microdata, protected: Microdata | None) -> Iterator[Chosen]:
    """Utility: distributions and associations of all variables decide."""
    yield Chosen(
        GlobalDataUtility(deletion="charged"),
        decides=True,
        why="every variable and every pair, of all kinds, in one figure from 0 to 1; a value made missing is a loss",
    )
    yield Chosen(Suppressed(), decides=False, why="the share of values made missing, by variable")
    matched = protected is None or _matched(data, protected)
    if matched and data.schema.analysed("numeric"):
        yield Chosen(
            InformationLoss(), decides=False, why="what happened to the numbers, record by record, as in the literature"
        )


def _matched(data: Microdata, protected: Microdata) -> bool:
    """Tell whether the records are about the same units: not if they have other ids."""
    try:
        Pair.of(data, protected).in_order()
    except NotApplicable:
        return False
    return True


def _countable(data: Microdata, protected: Microdata | None, keys: tuple[str, ...]) -> bool:
    """Tell whether no key is continuous, so that records agree in it by more than chance."""
    half = Half.of(data if protected is None else protected)
    return countable(half, (name for name in keys if name in half.schema))


def _drawn(data: Microdata, protected: Microdata) -> bool:
    """Tell whether every protected record may be one of the original's: a sample, or the same in another order."""
    if any(variable.treatment.perturbed for variable in protected.schema):
        return False
    pair = Pair.of(data, protected)
    names = [name for name in data.schema.analysed() if name in protected.schema]
    columns = []
    for name in names:
        seen = pair.footing(name)
        if not seen.comparable:
            continue
        both = np.concatenate([seen.original, seen.protected])
        if seen.quantitative:
            values = np.unique(both[~np.isnan(both)])
            both = np.where(np.isnan(both), -1, np.searchsorted(values, both))
        columns.append(both.astype(np.int32))
    if not columns:
        return False
    codes = np.column_stack(columns)
    before, after = ((side, classes(side)) for side in (codes[: len(data)], codes[len(data) :]))
    rows, wanted = (side[first_records(found[0])] for side, found in (before, after))
    return bool((matching_sums(wanted, rows, np.ones(len(rows))) > 0).all())
