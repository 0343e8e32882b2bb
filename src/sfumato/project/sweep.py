"""A whole sweep: planned, carried out, told and written, as ``sfumato sweep`` does it, from Python."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.arguments import TEXT, YES_OR_NO, require
from sfumato.project.options import DEFAULTS, MAX_BREADTH, SweepOptions, Tell, called_by, options_of, unheard
from sfumato.table.formats import a_path

if TYPE_CHECKING:
    from sfumato.compare.examine import Examination, ProtectedTable
    from sfumato.compare.progress import Listener, Steps
    from sfumato.compare.results import Results
    from sfumato.compare.rows import Row
    from sfumato.project.plan import Plan
    from sfumato.report.summary import Summary


def sweep(
    file: str | Path,
    schema: str | Path | None = None,
    *,
    engine: str | None = None,
    memory: str | None = None,
    tell: "Tell | None" = None,
    watch: "Listener | None" = None,
    bars: bool = False,
    **options: Any,
) -> "Summary":
    """Protect a file in many ways, measure each, choose the best within the bounds, report it and write it.

    It is what ``sfumato sweep`` does: same folder, same files, same figures; see there. ``options`` are the fields of
    :class:`SweepOptions`: methods and measures are texts or made already, bounds go by a measure or its name, as in
    ``at_most={"Reidentification": 0.05}``. ``tell`` hears the messages, ``watch`` how far it is; ``bars`` shows that on
    the terminal. The summary says whether to publish: ``summary.verdict.publish``. A column that the schema does not
    name, or whose role is a proposal that nobody has confirmed, keeps a table from being published, unless
    ``on_undeclared`` is "leave-out" or "accept". Run as a script with several ``workers``, call it below
    ``if __name__ == "__main__":``.

    A folder or a pattern of files is a table in parts: its figures are of all records, or estimates with a standard
    error where a measure looks for some of them, computed on the ``engine`` of :class:`Engine` within its ``memory``;
    candidates are composed, details told and the audit done in a random ``sample``.
    """
    require("sweep", str | None, TEXT, engine=engine, memory=memory)
    require("sweep", bool, YES_OR_NO, bars=bars)
    asked = options_of("sweep", options)

    def called(plan: "Plan") -> str:
        where = {"engine": engine, "memory": memory}
        return called_by("sweep", plan.file, **{"schema": schema, **asked.given(), **where, "seed": plan.seed})

    _, summary = swept(
        file, schema, asked, engine=engine, memory=memory, tell=tell, watch=watch, bars=bars, command=called
    )
    return summary


def swept(
    file: str | Path,
    schema: str | Path | None,
    options: SweepOptions,
    *,
    engine: str | None,
    memory: str | None,
    command: "Callable[[Plan], str]",
    tell: "Tell | None" = None,
    watch: "Listener | None" = None,
    bars: bool = False,
) -> "tuple[Plan, Summary]":
    """Plan a sweep and carry it out; ``command`` says what it was called by, for the report."""
    from sfumato.project.engines import engine_for
    from sfumato.project.folder import refuse_place
    from sfumato.project.plan import planned
    from sfumato.report.wording import count

    file, out, said = a_path(file), a_path(options.out), tell or unheard
    refuse_place(out, file)
    where: dict[str, Any] = {"engine": engine, "memory": memory, "workers": options.workers, "out": out}
    with engine_for(file, **where, bars=bars, tell=said):
        plan = planned(file, schema, tell=said, **options.settings())
        ways = f"{count(len(plan.methods), 'way')} ({count(plan.replicates, 'draw')} of random ones)"
        said(f"protecting {plan.name} in {ways} and measuring each …")
        return plan, carry_out(plan, tell=said, watch=watch, bars=bars, command=command(plan))


def _parameters() -> Signature:
    """Return the parameters of ``sweep`` with its options one by one, for help and notebooks."""
    apart = [p for p in signature(sweep).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=DEFAULTS[one.name], annotation=one.type)
        for one in fields(SweepOptions)
    ]
    return Signature([*apart[:2], *options, *apart[2:]], return_annotation="Summary")


sweep.__signature__ = _parameters()  # type: ignore[attr-defined]


def carry_out(
    plan: "Plan", *, tell: Tell = unheard, watch: "Listener | None" = None, bars: bool = False, command: str = ""
) -> "Summary":
    """Run the experiment, look closely at the chosen table, and write it and the report.

    How far it is stands in ``OUT/progress.json`` and is told to ``watch``; with ``bars`` the terminal shows it too. The
    folder is held meanwhile: another sweep into it is refused. ``command`` is what the report says to run it again by.
    """
    from sfumato.project.folder import held, make_folder
    from sfumato.project.progress import recorded

    with (
        held(make_folder(plan.out)),
        recorded(plan.out, hears=watch, bars=bars) as steps,
        _parts_counted(plan, steps),
    ):
        return _carried_out(plan, tell, steps, command)


@contextmanager
def _parts_counted(plan: "Plan", steps: "Steps") -> Iterator[None]:
    """Count the parts of a table in parts, as the engine goes through them."""
    from sfumato.engine import current

    engine = current(0 if plan.whole is None else len(plan.whole))
    before = engine.progress
    engine.progress = steps.part
    try:
        yield
    finally:
        engine.progress = before


def _carried_out(plan: "Plan", tell: Tell, steps: "Steps", command: str) -> "Summary":
    from sfumato.compare.experiment import Experiment
    from sfumato.project.choosing import chosen_table, in_the_way
    from sfumato.project.plan import wider
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
    from sfumato.report.report import write_report
    from sfumato.report.summarise import summarise
    from sfumato.report.verdict import SweepFacts
    from sfumato.table.sample_size import FEWEST
    from sfumato.table.schema_file import schema_text

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
    Record.of(plan).save(plan.out)
    store = plan.out / STORE
    _warn(experiment.measure_original(store=store), plan, tell)
    results = _scored(experiment.run(workers=plan.workers, store=store, progress=steps, original=True))
    table, checked, passed_over = chosen_table(results, plan, tell, steps)
    bounded = bool(plan.at_most or plan.at_least)
    failed = table is None or (checked is not None and not checked.passed and not plan.despite_audit)
    more = wider(plan) if bounded and failed else None
    if more is not None:
        before, after = len(plan.methods), len(more.methods)
        tell(f"none of {before} can be published: {after - before} more are tried, as --breadth {MAX_BREADTH} does")
        plan = more
        Record.of(plan).save(plan.out)
        experiment = replace(experiment, methods=plan.methods)
        results = _scored(experiment.run(workers=plan.workers, store=store, progress=steps, original=True))
        table, checked, passed_over = chosen_table(results, plan, tell, steps)
    summary = summarise(
        results,
        _examined(results, table, plan, steps) if table is not None else None,
        risk=plan.risk,
        utility=plan.utility,
        at_most=plan.at_most,
        at_least=plan.at_least,
        least_risk=plan.least_risk,
        by_hand=plan.choose,
        file=plan.name,
        facts=SweepFacts(
            checked=checked,
            despite_audit=plan.despite_audit,
            undeclared=plan.undeclared,
            passed_over=passed_over,
            whys=plan.whys,
            in_the_way=in_the_way(results, plan) if table is None else (),
            widest=more is not None or plan.breadth == MAX_BREADTH,
            released=protected_path(plan).name,
            command=command,
            schema=schema_text(plan.data.schema.unnamed()),
        ),
    )
    steps.phase("report")
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
    steps.phase("release", candidate=table.candidate)
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


def _examined(results: "Results", table: "ProtectedTable", plan: "Plan", steps: "Steps") -> "Examination":
    from sfumato.compare.examine import PIECES, examine

    what = [piece for piece in PIECES if plan.bootstrap or piece != "bootstrap"]
    return examine(
        results, table.candidate, what=what, risk=plan.risk, utility=plan.utility, table=table, progress=steps
    )


def _scored(results: "Results") -> "Results":
    """Add the first of the papers' scores whose measures were all computed."""
    from sfumato.compare.score import Score, Score2

    for recipe in (Score(), Score2()):
        if all(repr(measure) in results.figures for measure in recipe.measures):
            return results.with_score(recipe)
    return results
