"""What becomes of a sweep: run, reported, the chosen table written, and all of it told."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import console, say

if TYPE_CHECKING:
    from sfumato.compare.examine import Examination, ProtectedTable
    from sfumato.compare.results import Results
    from sfumato.compare.rows import Row
    from sfumato.core import Measure, Method
    from sfumato.data.microdata import Microdata
    from sfumato.restoration.findings import Checked
    from sfumato.show.summary import Summary


MOST_AUDITED = 6  # candidates, from the best on, until one gives nothing back


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a sweep tries, measures and bounds, and where it writes."""

    file: Path
    data: "Microdata"
    methods: "tuple[Method, ...]"
    measures: "tuple[Measure, ...]"
    candidates: "Mapping[str, Microdata]"
    replicates: int
    seed: int
    workers: int
    risk: str
    utility: str
    at_most: Mapping[str, float]
    at_least: Mapping[str, float]
    out: Path
    least_risk: bool = False  # instead of the best utility
    bootstrap: bool = True  # whether the figures of the chosen one are resampled over records
    whys: Mapping[str, str] = field(default_factory=dict)  # what composed candidates do, by label: a sentence each
    keep_order: bool = False  # whether the records of the release stand as in the original
    keep_weights: bool = False  # whether weights that give protected values back are released as they are
    keep_households: bool = False  # whether the households' numbers are, if a protected size can be counted from them
    despite_audit: bool = False  # whether a table that gives values back is released all the same


def carry_out(plan: Plan) -> "Summary":
    """Run the experiment, look closely at the chosen table, and write it and the report."""
    from sfumato.cli.release import (
        forget_release,
        protected_path,
        provenance_path,
        release_folder,
        release_key,
        write_chosen,
    )
    from sfumato.cli.tables import command_line, is_written
    from sfumato.compare.experiment import Experiment
    from sfumato.data.schema_file import schema_text
    from sfumato.show.report import write_report
    from sfumato.show.summarise import summarise

    experiment = Experiment(
        plan.data,
        methods=plan.methods,
        measures=plan.measures,
        replicates=plan.replicates,
        seed=plan.seed,
        candidates=plan.candidates,
    )
    store = plan.out / "results.sqlite"
    _warn(experiment.measure_original(store=store), plan)
    results = _scored(experiment.run(workers=plan.workers, store=store, progress=True, original=True))
    table, checked, passed_over = _chosen(results, plan)
    summary = summarise(
        results,
        _examined(results, table, plan) if table is not None else None,
        risk=plan.risk,
        utility=plan.utility,
        at_most=plan.at_most,
        at_least=plan.at_least,
        least_risk=plan.least_risk,
        whys=plan.whys,
        checked=checked,
        despite_audit=plan.despite_audit,
        passed_over=passed_over,
        file=plan.file.name,
        released=protected_path(plan).name,
        command=command_line(plan.seed),
        schema=schema_text(plan.data.schema),
    )
    if table is None or not summary.verdict.publish:
        forget_release(plan)
        write_report(summary, plan.out)
        return summary
    key = release_key(results, table, summary)
    there = is_written(protected_path(plan), note=provenance_path(plan), source=plan.file, key=key)
    if not there:
        forget_release(plan)
    write_report(summary, plan.out)
    write_report(summary, release_folder(plan), audience="external")
    if not there:
        write_chosen(results, table, plan, summary, key)
    return summary


def _warn(before: "Row", plan: Plan) -> None:
    """Say before anything is protected which bounds on risk the original keeps already: they ask for nothing."""
    from sfumato.compare.choose import keeps
    from sfumato.compare.figures import written

    for measure in plan.measures:
        key, about = repr(measure), measure.about
        limit = {**plan.at_most, **plan.at_least}.get(key, plan.at_most.get(type(measure).__name__))
        if about.purpose == "risk" and limit is not None and key in before.means and keeps(before, key, limit, about):
            say(
                f"warning: the original keeps the bound on {key} without any protection "
                f"({written(before.means[key], about.unit)}): it asks for nothing"
            )


def _chosen(results: "Results", plan: Plan) -> "tuple[ProtectedTable | None, Checked | None, tuple[str, ...]]":
    """Return the best candidate within the bounds that gives nothing back, its check, and those that it comes after.

    One that loses a variable to the repairs comes after those that lose none, for no figure has counted that loss. If
    the first few all give values back, the best of them is told of, and not written.
    """
    from sfumato.cli.release import checked_release
    from sfumato.compare.examine import ProtectedTable

    if not plan.at_most and not plan.at_least:
        return None, None, ()
    wish = {"risk": plan.risk} if plan.least_risk else {"utility": plan.utility}
    choice = results.choose(**wish, at_most=plan.at_most, at_least=plan.at_least)
    tried: list[tuple[ProtectedTable, Checked]] = []
    at_a_loss: tuple[ProtectedTable, Checked, tuple[str, ...]] | None = None
    for candidate in choice.feasible[: 1 if plan.despite_audit else MOST_AUDITED]:
        table = ProtectedTable(results, candidate)
        checked = checked_release(results, table, plan)
        broken = _broken(results, table, checked, plan) if checked.altered else ""
        if checked.passed and not broken:
            found = table, checked, tuple(earlier.candidate for earlier, _ in tried)
            if not checked.lost:
                break
            at_a_loss = at_a_loss or found
        lost = f"would lose {', '.join(checked.lost)}" if checked.passed else "would give values back"
        say(f"{choice.names.get(candidate, candidate)} {broken or lost}")
        tried.append((table, checked))
    else:
        if at_a_loss is None:
            return (*tried[0], ()) if tried else (None, None, ())
        found = at_a_loss
    table, checked, before = found
    return table, _with_utility_after(results, table, checked, plan), before


def _with_utility_after(results: "Results", table: "ProtectedTable", checked: "Checked", plan: Plan) -> "Checked":
    """Say what is left of utility once the repairs have blanked or left out more than was measured."""
    from sfumato.cli.release import repairs_asked

    key = results.key(plan.utility)
    measure = _measure(results, key)
    if not checked.altered or measure is None:
        return checked
    said = results.examined(
        table.candidate,
        f"{key} after repairs, {repairs_asked(plan)}",
        lambda: _utility_after(results, table, measure, plan),
        encode=str.encode,
        decode=bytes.decode,
    )
    if not said:
        return checked
    say(f"release: {said}")
    return replace(checked, done=(*checked.done, said))


def _utility_after(results: "Results", table: "ProtectedTable", measure: "Measure", plan: Plan) -> str:
    from sfumato.compare.figures import written
    from sfumato.errors import NotApplicable

    try:
        value = measure.evaluate(results.original, _repaired(results, table, plan), rng=plan.seed).value
    except NotApplicable:
        return ""
    before = results.row(table.candidate).means[repr(measure)]
    unit, title = measure.about.unit, measure.about.title
    return f"{title} of the file that goes out is {written(value, unit)}, before these repairs {written(before, unit)}"


def _measure(results: "Results", key: str) -> "Measure | None":
    from sfumato.core import Measure

    return next((m for m in results.measures if isinstance(m, Measure) and repr(m) == key), None)


def _repaired(results: "Results", table: "ProtectedTable", plan: Plan) -> "Microdata":
    """Return the table as it goes out, its records as in the original."""
    import numpy as np

    from sfumato.cli.release import prepared_release

    ready = prepared_release(results, table, plan)
    return ready.table if ready.order is None else ready.table.take(np.argsort(ready.order))


def _broken(results: "Results", table: "ProtectedTable", checked: "Checked", plan: Plan) -> str:
    """Say which bound the repaired table breaks, or return what an earlier run found."""
    from sfumato.cli.release import repairs_asked

    bounds = sorted({**plan.at_most, **plan.at_least}.items())
    return results.examined(
        table.candidate,
        f"bounds {bounds} after repairs, {repairs_asked(plan)}",
        lambda: _broken_by_repairs(results, table, checked, plan),
        encode=str.encode,
        decode=bytes.decode,
    )


def _broken_by_repairs(results: "Results", table: "ProtectedTable", checked: "Checked", plan: Plan) -> str:
    """Say which bound the table breaks once the repairs have blanked or left out more than was measured."""
    from sfumato.errors import NotApplicable

    after = _repaired(results, table, plan)
    for which, limit in {**plan.at_most, **plan.at_least}.items():
        key = results.key(which)
        measure = _measure(results, key)
        if measure is None:
            continue
        try:
            value = measure.evaluate(results.original, after, rng=plan.seed).value
        except NotApplicable as refusal:
            return f"has no {key} once {', '.join(checked.altered)} was repaired ({refusal})"
        sign = 1 if measure.about.better == "lower" else -1
        if sign * value > sign * limit:
            return f"breaks the bound on {key} once {', '.join(checked.altered)} was repaired"
    return ""


def _examined(results: "Results", table: "ProtectedTable", plan: Plan) -> "Examination":
    from sfumato.compare.examine import PIECES, examine

    what = [piece for piece in PIECES if plan.bootstrap or piece != "bootstrap"]
    return examine(
        results, table.candidate, what=what, risk=plan.risk, utility=plan.utility, table=table, progress=True
    )


def _scored(results: "Results") -> "Results":
    """Add the first of the papers' scores whose measures were all computed."""
    from sfumato.compare.score import Score, Score2

    for recipe in (Score(), Score2()):
        if all(repr(measure) in results.figures for measure in recipe.measures):
            return results.with_score(recipe)
    return results


def finish(summary: "Summary", plan: Plan, *, json: bool) -> None:
    """Print what was found, and leave with the exit code that says how it went."""
    from sfumato.outcome import Status
    from sfumato.show.summary import to_json

    if json:
        typer.echo(to_json(summary))
    else:
        _print(summary, plan)
    for reason, labels in summary.lacking:
        more = f" and {len(labels) - 3} more" if len(labels) > 3 else ""
        named = ", ".join(summary.names.get(label, label) for label in labels[:3])
        say(f"sfumato: {named}{more} lack{'s' if len(labels) == 1 else ''} a figure: {reason}")
    # that a measure does not apply to a candidate is a finding; that one fails, or none applies, is not
    broken = any(
        not line.figures or any(reason.status is Status.FAILED for reason in line.reasons.values())
        for line in summary.failed
    )
    if broken or summary.verdict.publish is False:
        raise typer.Exit(1)


def print_cautions(summary: "Summary") -> None:
    """Print what the figures do not say."""
    from rich.padding import Padding
    from rich.text import Text

    for caution in summary.cautions:
        console().print(Padding(Text(f"! {caution}", style="yellow"), (0, 0, 0, 2)))
    if summary.cautions:
        console().print()


def _print(summary: "Summary", plan: Plan) -> None:
    from rich.text import Text

    from sfumato.cli.release import protected_path, release_folder
    from sfumato.show.terminal import ROWS, candidates_table, changes_table, signs, text_map, verdict_text

    out = console()
    picture = text_map(summary)
    if picture is not None:
        out.print(picture, "")
    out.print(candidates_table(summary, out.width))
    out.print(Text(signs(summary), style="dim"))
    if len(summary.candidates) > ROWS:
        out.print(f"… and {len(summary.candidates) - ROWS} more in the report", style="dim")
    out.print(Text(f"\n{summary.sentence}\n"))
    print_cautions(summary)
    changes = changes_table(summary)
    if changes is not None:
        out.print(changes, "")
    out.print(verdict_text(summary))  # last, because that is what stays on the screen
    if summary.verdict.publish:
        out.print(Text(f"protected table  {protected_path(plan)}"), soft_wrap=True)
        out.print(Text(f"for the public   {release_folder(plan) / 'about.html'}"), soft_wrap=True)
    out.print(Text(f"internal report  {plan.out / 'report.html'}"), soft_wrap=True)
