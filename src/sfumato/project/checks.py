"""What is wrong with a plan, or to be looked at, before anything is computed."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import OF_THE_RUN, DataError, ParameterError, unexpected
from sfumato.project.tell import Tell

if TYPE_CHECKING:
    from sfumato.core import Measure
    from sfumato.data.describe import Doubt
    from sfumato.data.microdata import Microdata
    from sfumato.data.parts import TableInParts
    from sfumato.data.roles import Undeclared
    from sfumato.project.reading import OnUndeclared

OPEN_QUESTIONS: "tuple[Doubt, ...]" = ("identifier", "household", "weight", "nearly numbers", "missing codes")


def check_bounds(measures: "Iterable[Measure]", at_most: Mapping[str, float], at_least: Mapping[str, float]) -> None:
    """Refuse a bound that no share can have, or on the wrong side, before anything is computed."""
    bounds = {**at_most, **at_least}
    for measure in measures:
        for side, better, named in (("--at-least", "higher", at_most), ("--at-most", "lower", at_least)):
            if {repr(measure), type(measure).__name__} & set(named) and measure.about.better == better:
                raise ParameterError(f"{type(measure).__name__} is better when {better}: bound it with {side}")
        for name in {repr(measure), type(measure).__name__} & set(bounds):
            if measure.about.unit == "share" and not 0 <= bounds[name] <= 1:
                hint = f" (did you mean {bounds[name]:g}%?)" if 1 < bounds[name] <= 100 else ""
                raise ParameterError(f"{name} is a share from 0 to 1; its bound cannot be {bounds[name]:g}{hint}")


def with_households(at_most: Mapping[str, float]) -> dict[str, float]:
    """Bound households as persons are: what holds for ``Reidentification`` holds for its households, unless it is said.

    A bound on single records whose chance is large (``above``) is one on persons alone.

    >>> with_households({"Reidentification": 0.05, "ExposedAmounts": 0.0})
    {'Reidentification()': 0.05, 'ExposedAmounts': 0.0, "Reidentification(unit='household')": 0.05}
    >>> with_households({"Reidentification": 0.05, "Reidentification(unit='household')": 0.2})["Reidentification"]
    0.05
    """
    from sfumato.project.reading import bounds_by_name, read_measures
    from sfumato.risk import Reidentification

    named = {name: measure for name in at_most for measure in read_measures([name]) if name.startswith("Reid")}
    bounded = {n: m for n, m in named.items() if isinstance(m, Reidentification) and m.above is None}
    if any(measure.unit == "household" for measure in bounded.values()):
        return dict(at_most)
    more = {repr(replace(m, unit="household", sample=None)): at_most[n] for n, m in bounded.items()}
    return bounds_by_name({**at_most, **more}) if more else dict(at_most)


def as_stated(at_most: Mapping[str, float]) -> dict[str, float]:
    """Return bounds without those on households that follow from the bounds on persons.

    >>> as_stated({"Reidentification()": 0.05, "Reidentification(unit='household')": 0.05})
    {'Reidentification()': 0.05}
    """
    persons = {name: limit for name, limit in at_most.items() if "unit='household'" not in name}
    follow = with_households(persons).items() >= {n: at for n, at in at_most.items() if n not in persons}.items()
    return persons if follow else dict(at_most)


def check_keys(data: "Microdata", measures: "Iterable[Measure]", deciding: set[str]) -> None:
    """Refuse a measure that decides and counts over keys, where there are none: nothing could be decided."""
    from sfumato.core import speaking
    from sfumato.data.keys import key_names

    for measure in (m for m in measures if {repr(m), type(m).__name__} & deciding):
        if measure.about.keys and not (data.schema.scenarios and hasattr(measure, "scenarios")):
            with speaking(measure):
                key_names(data.schema, measure.variables)


def check_weights(
    data: "Microdata", measures: "Iterable[Measure]", deciding: set[str], population: float | None, tell: Tell
) -> None:
    """Say that rescaled weights leave individual risks out, or refuse them if such a risk is to decide."""
    from sfumato.compare.defaults import rescaled

    if population is not None or not rescaled(data):
        return
    said = f"the weights {data.schema.weight!r} fall below one, so they were rescaled"
    hint = "say with --population how many units they should sum to"
    for measure in measures:
        if getattr(measure, "population", 1) is None and {repr(measure), type(measure).__name__} & deciding:
            raise ParameterError(f"{said}, and {measure!r} cannot be computed; {hint}")
    tell(f"to look at: {said}, and IndividualRisk is not computed; {hint}")


def remind(data: "Microdata", found: "Undeclared", tell: Tell) -> None:
    """Repeat what ``inspect`` would ask about columns that the schema leaves to be protected, or not, as they came."""
    from sfumato.compare.figures import listed
    from sfumato.data.describe import describe

    if found.names:
        tell(f"to look at: nobody has said what they are, so nothing will be published: {listed(found.names, 12)}")
    try:
        findings = describe(data)
    except OF_THE_RUN:
        raise
    except Exception as error:
        tell(f"to look at: the columns, which could not be described ({unexpected(error)})")
        return
    for finding in findings:
        if finding.suggestion is not None and finding.suggestion.doubt in OPEN_QUESTIONS:
            tell(f"to look at: {finding.name}: {finding.suggestion.sentence}")


def settle_undeclared(
    data: "Microdata", whole: "TableInParts | None", on_undeclared: "OnUndeclared", tell: Tell
) -> "tuple[Microdata, TableInParts | None, Undeclared, tuple[str, ...]]":
    """Return the table, the columns that keep it from being published, and those that are left out of it.

    Columns of which nobody has said the role are refused, left out or accepted, as ``on_undeclared`` says.
    """
    from typing import get_args

    from sfumato.compare.figures import listed
    from sfumato.data.roles import Undeclared, undeclared
    from sfumato.project.reading import OnUndeclared as Allowed

    if on_undeclared not in get_args(Allowed):
        raise ParameterError(f"on_undeclared is one of {', '.join(get_args(Allowed))}; got {on_undeclared!r}")
    found = undeclared(data)
    if not found.names:
        return data, whole, found, ()
    if on_undeclared == "accept":
        tell(f"nobody has said what they are, and they are accepted as they are: {listed(found.names, 12)}")
        return data, whole, Undeclared(), ()
    if on_undeclared == "leave-out":
        if len(found.names) == len(data.names):
            raise DataError("nobody has said what any variable is, so that nothing would be left; say it in a schema")
        tell(f"left out, because nobody has said what they are: {listed(found.names, 12)}")
        kept = [name for name in data.names if name not in found.names]
        return data.without(found.names), None if whole is None else whole.only(kept), Undeclared(), found.names
    return data, whole, found, ()
