"""What becomes of a plan: run, reported, the chosen table written, and all of it told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.project.tell import Tell, unheard

if TYPE_CHECKING:
    from sfumato.compare.examine import Examination, ProtectedTable
    from sfumato.compare.results import Results
    from sfumato.compare.rows import Row
    from sfumato.project.plan import Plan
    from sfumato.project.progress import Hears, Recorder
    from sfumato.show.summary import Summary


def carry_out(
    plan: "Plan", *, tell: Tell = unheard, watch: "Hears | None" = None, bars: bool = False, command: str = ""
) -> "Summary":
    """Run the experiment, look closely at the chosen table, and write it and the report.

    How far it is stands in ``OUT/progress.json`` and is told to ``watch``; with ``bars`` the terminal shows it too. The
    folder is held meanwhile: another sweep into it is refused. ``command`` is what the report says to run it again by.
    """
    from sfumato.project.lock import held
    from sfumato.project.progress import recorded
    from sfumato.project.settle import make_folder

    with (
        held(make_folder(plan.out)),
        recorded(plan.out, hears=watch, bars=bars) as recorder,
        _parts_counted(plan, recorder, shown=bars),
    ):
        return _carried_out(plan, tell, recorder, command)


@contextmanager
def _parts_counted(plan: "Plan", recorder: "Recorder", *, shown: bool) -> Iterator[None]:
    """Count the parts of a table in parts, as the engine goes through them."""
    from sfumato.engine import current
    from sfumato.project.parts_watch import PartsWatch

    if plan.whole is None:
        yield
        return
    engine = current(len(plan.whole))
    before, watch = engine.progress, PartsWatch(shown=shown, hears=recorder.part)
    watch.what, watch.quiet = plan.name, lambda: recorder.draws
    engine.progress = watch
    try:
        yield
    finally:
        watch.end()
        engine.progress = before


def _carried_out(plan: "Plan", tell: Tell, recorder: "Recorder", command: str) -> "Summary":
    from sfumato.compare.experiment import Experiment
    from sfumato.data.sample_size import FEWEST
    from sfumato.data.schema_file import schema_text
    from sfumato.project.choosing import chosen_table, in_the_way
    from sfumato.project.record import STORE, Record
    from sfumato.project.release import (
        forget_release,
        only_release,
        protected_path,
        provenance_path,
        release_folder,
        release_key,
        remove_unfinished,
        write_chosen,
    )
    from sfumato.project.scripts import write_scripts
    from sfumato.project.tables import is_written
    from sfumato.show.report import write_report
    from sfumato.show.summarise import summarise

    experiment = Experiment(
        plan.table,
        methods=plan.methods,
        measures=plan.measures,
        replicates=plan.replicates,
        seed=plan.seed,
        candidates=plan.elsewhere,
        sample=max(len(plan.data), FEWEST),
        rounded=True,
    )
    from sfumato.project.options import MAX_BREADTH
    from sfumato.project.plan import wider

    Record.of(plan).save(plan.out)
    store = plan.out / STORE
    _warn(experiment.measure_original(store=store), plan, tell)
    results = _scored(experiment.run(workers=plan.workers, store=store, progress=recorder, original=True))
    table, checked, passed_over = chosen_table(results, plan, tell, recorder)
    bounded = bool(plan.at_most or plan.at_least)
    failed = table is None or (checked is not None and not checked.passed and not plan.despite_audit)
    more = wider(plan) if bounded and failed else None
    if more is not None:
        before, after = len(plan.methods), len(more.methods)
        tell(f"none of {before} can be published: {after - before} more are tried, as --breadth {MAX_BREADTH} does")
        plan = more
        Record.of(plan).save(plan.out)
        experiment = replace(experiment, methods=plan.methods)
        results = _scored(experiment.run(workers=plan.workers, store=store, progress=recorder, original=True))
        table, checked, passed_over = chosen_table(results, plan, tell, recorder)
    summary = summarise(
        results,
        _examined(results, table, plan, recorder) if table is not None else None,
        risk=plan.risk,
        utility=plan.utility,
        at_most=plan.at_most,
        at_least=plan.at_least,
        least_risk=plan.least_risk,
        whys=plan.whys,
        checked=checked,
        despite_audit=plan.despite_audit,
        undeclared=plan.undeclared,
        passed_over=passed_over,
        by_hand=plan.choose,
        file=plan.name,
        released=protected_path(plan).name,
        command=command,
        schema=schema_text(plan.data.schema.unnamed()),
        in_the_way=in_the_way(results, plan) if table is None else (),
        widest=more is not None or plan.breadth == MAX_BREADTH,
    )
    recorder.phase("report")
    remove_unfinished(plan)
    write_scripts(plan, tell)
    if table is None or not summary.verdict.publish:
        forget_release(plan, tell)
        summary = _with_decision(summary, plan, tell)
        write_report(summary, plan.out)
        return summary
    key = release_key(results, table, summary)
    source = plan.file if plan.whole is None else None
    there = is_written(protected_path(plan), note=provenance_path(plan), source=source, key=key)
    there = there and only_release(plan)
    if there:
        summary = _with_decision(summary, plan, tell)
    else:
        forget_release(plan, tell)
    write_report(summary, plan.out)
    write_report(summary, release_folder(plan), audience="external")
    recorder.phase("release", candidate=table.candidate)
    if not there:
        write_chosen(results, table, plan, summary, key, tell)
        signed = _with_decision(summary, plan, tell)  # it holds if the file is the same, byte for byte
        if signed.decision is not None:
            write_report(signed, plan.out)
        return signed
    return summary


def _with_decision(summary: "Summary", plan: "Plan", tell: Tell) -> "Summary":
    """Add the signature under the release, if there is one; say if it is void."""
    from sfumato.project import decision

    found = decision.read(plan.out)
    if found is not None and found.void:
        tell(f"the approval by {found.by} of {found.signed} is void: {found.void}")
    return replace(summary, decision=found)


def _warn(before: "Row", plan: "Plan", tell: Tell) -> None:
    """Say before anything is protected which bounds on risk the original keeps already: they ask for nothing."""
    from sfumato.compare.choose import keeps
    from sfumato.compare.figures import written

    for measure in plan.measures:
        key, about = repr(measure), measure.about
        limit = {**plan.at_most, **plan.at_least}.get(key, plan.at_most.get(type(measure).__name__))
        if about.purpose == "risk" and limit is not None and key in before.means and keeps(before, key, limit, about):
            tell(
                f"warning: the original keeps the bound on {key} without any protection "
                f"({written(before.means[key], about.unit)}): it asks for nothing"
            )


def _examined(results: "Results", table: "ProtectedTable", plan: "Plan", recorder: "Recorder") -> "Examination":
    from sfumato.compare.examine import PIECES, examine

    what = [piece for piece in PIECES if plan.bootstrap or piece != "bootstrap"]
    return examine(
        results, table.candidate, what=what, risk=plan.risk, utility=plan.utility, table=table, progress=recorder
    )


def _scored(results: "Results") -> "Results":
    """Add the first of the papers' scores whose measures were all computed."""
    from sfumato.compare.score import Score, Score2

    for recipe in (Score(), Score2()):
        if all(repr(measure) in results.figures for measure in recipe.measures):
            return results.with_score(recipe)
    return results
