"""Screen 7, Bounds: the largest risk and the least utility that would be signed, stated before results are seen."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfumato.compare.choose import keeps
from sfumato.compare.defaults import rescaled
from sfumato.compare.figures import written as figure
from sfumato.core import Measure
from sfumato.project.reading import read_measures
from sfumato.workbench import bounding
from sfumato.workbench.commands import sweep_call, sweep_words, usual_measures
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.latest import seen_before
from sfumato.workbench.screens import bounds_added
from sfumato.workbench.screens.screen import Done, Form, Refused, Same, Screen


@dataclass(frozen=True)
class Line:
    """One measure that can be bounded."""

    text: str  # the measure as the command line takes it
    title: str
    meaning: str
    why: str
    risk: bool
    side: str  # "at most" or "at least"
    unit: str
    value: str  # the bound as it is typed; empty: none
    usual: Mapping[str, str]
    decides: bool
    use: bool  # one of what users do
    own: bool  # asked for here alone, so that it can be taken out
    original: str  # the original's figure
    idle: bool  # whether the original keeps the bound already
    trouble: str  # why it cannot be computed


def view(desk: Desk, draft: Draft, query: Mapping[str, str]) -> dict[str, Any]:
    """Show the measures with their bounds, what is usual, what users do, and when bounds were stated."""
    data, draft = desk.table(draft), bounding.named(desk, draft)
    measured = desk.is_kept("original", bounding.original_from(desk, draft)) or query.get("show") == "original"
    before = bounding.original(desk, draft) if measured else None
    lines = [_line(draft, measure, decides, why, before) for measure, decides, why in _measures(desk, draft)]
    return {
        "lines": lines,
        "measured": measured,
        "releases": bounding.RELEASES,
        "seen": seen_before(desk, draft),
        "stated": draft.bounds_stated.replace("T", " ").replace("+00:00", " UTC"),
        "stated_after": not draft.bounds_stated.endswith(bounding.BEFORE),
        "rescaled": rescaled(data),
        "weight": data.schema.weight,
        "records": len(data),
        "names": data.schema.analysed(),
        "keys": data.schema.intruders(),
        "families": bounds_added.FAMILIES,
        "judges": bounds_added.JUDGES,
        "catalogue": bounds_added.listed_measures(),
    }


def _measures(desk: Desk, draft: Draft) -> list[tuple[Measure, bool, str]]:
    """Return the measures that follow from the schema, those of uses, and further ones that are bounded."""
    found = {repr(one.measure): (one.measure, one.decides, one.why) for one in usual_measures(desk, draft)}
    for text in (*draft.uses, *draft.at_most, *draft.at_least):
        for measure in read_measures([text]):
            found.setdefault(repr(measure), (measure, False, ""))
    return list(found.values())


def _line(draft: Draft, measure: Measure, decides: bool, why: str, before: Any) -> Line:  # noqa: FBT001 - of _measures
    text, about = repr(measure), measure.about
    bound = {**draft.at_most, **draft.at_least}.get(text)
    reason = None if before is None else before.reasons.get(text)
    known = before is not None and text in before.means
    return Line(
        text=text,
        title=about.title,
        meaning=bounding.meaning(measure),
        why=why,
        risk=about.purpose == "risk",
        side="at least" if about.better == "higher" else "at most",
        unit="%" if about.unit in ("share", "percent") else "",
        value="" if bound is None else bounding.typed(bound, about),
        usual=bounding.usual_bounds(measure),
        decides=decides,
        use=text in draft.uses,
        own=not why,
        original=figure(before.means[text], about.unit) if known and about.purpose == "risk" else "",
        idle=known and about.purpose == "risk" and bound is not None and keeps(before, text, bound, about),
        trouble="" if reason is None else reason.why,
    )


def state(desk: Desk, draft: Draft, form: Form) -> Done:
    """State the bounds that were typed; an empty field is none."""
    at_most: dict[str, float] = {}
    at_least: dict[str, float] = {}
    stated = bounding.named(desk, draft)
    held = {**stated.at_most, **stated.at_least}
    for name in (name for name in form.names() if name.startswith("measure.")):
        field = name.replace("measure.", "bound.")
        said = form.text(field)
        if not said:
            continue
        (measure,) = read_measures([form.text(name)])
        key, about = repr(measure), measure.about
        same = key in held and said == bounding.typed(held[key], about)
        bound = held[key] if same else bounding.read_bound(measure, said, field)
        (at_least if about.better == "higher" else at_most)[key] = bound
    if not at_most and not at_least:
        raise Refused("", "state one bound at least: without any there is nothing to decide by")
    told = [f"{key} at most {bound:g}" for key, bound in at_most.items()]
    told += [f"{key} at least {bound:g}" for key, bound in at_least.items()]
    said = "The bounds are stated. What they ask of the file is seen once the candidates are run."
    if seen_before(desk, draft):
        said = "The bounds are stated. Explore weighs the candidates under them; run again before you decide."
    return Done(bounding.with_bounds(desk, at_most, at_least), f"bounds: {'; '.join(told)}", said=said)


def typical(desk: Desk, draft: Draft, form: Form) -> Done:
    """Fill in the bounds that are usual for a release, to be edited."""
    release = form.text("release")
    if release not in bounding.RELEASES:
        raise Refused("release", "choose who will have the file")
    draft, bounds = bounding.named(desk, draft), bounding.typical(desk, draft, release)
    kept = {key: bound for key, bound in draft.at_most.items() if not _typical_before(key)}
    title = bounding.RELEASES[release].title.lower()
    said = f"These bounds are usual for {title}. Change what your house does otherwise."
    return Done(
        bounding.with_bounds(desk, {**kept, **bounds}, draft.at_least), f"bounds that are usual for {title}", said=said
    )


def _typical_before(key: str) -> bool:
    """Tell whether a bound is one that a release fills in, so that another release takes its place."""
    every = {name for release in bounding.RELEASES.values() for name in release.bounds}
    return key in {repr(read_measures([name])[0]) for name in every} or key.startswith("IndividualRisk(population")


def settings(desk: Desk, draft: Draft, form: Form) -> Done:
    """Say how many draws there are of what is random, and how large the population is."""
    replicates = form.whole("replicates", least=1, most=100)
    population = form.number("population", least=len(desk.table(draft))) if form.text("population") else None
    return Done(
        lambda old: bounds_added.of_population(old.but(replicates=replicates), population),
        f"{replicates} draws" + ("" if population is None else f", a population of {population:,.0f}"),
    )


def same(desk: Desk, draft: Draft) -> Same | None:
    """Say the sweep with these bounds elsewhere."""
    command = shlex.join(["sfumato", *sweep_words(desk, draft)])
    return Same(command, f"import sfumato\n\n{sweep_call(desk, draft)}")


SCREEN = Screen(
    slug="bounds",
    title="Bounds",
    why="A bound that is set after the figures were seen justifies whatever one wanted anyway.",
    practice="fix the largest risk you would sign before anything is run: 5 % found by the worst intruder is usual for "
    "a file under contract, far less for a public one. State too what users must still be able to do.",
    view=view,
    actions={
        "state": state,
        "typical": typical,
        "settings": settings,
        "add_bound": bounds_added.add_bound,
        "drop": bounds_added.drop,
        "add_table": bounds_added.add_table,
        "add_model": bounds_added.add_model,
    },
    ready=lambda desk, draft: "" if draft.confirmed else "Open a file first, and confirm how it is read.",
    done=lambda desk, draft: bool(draft.at_most or draft.at_least),
    same=same,
)
