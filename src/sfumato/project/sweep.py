"""A whole sweep in one call: what ``sfumato sweep`` does, from Python."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.arguments import TEXT, YES_OR_NO, require
from sfumato.data.file_names import a_path
from sfumato.project.options import DEFAULTS, SweepOptions, options_of

if TYPE_CHECKING:
    from sfumato.project.plan import Plan
    from sfumato.project.progress import Hears
    from sfumato.project.tell import Tell
    from sfumato.show.summary import Summary


def sweep(
    file: str | Path,
    schema: str | Path | None = None,
    *,
    engine: str | None = None,
    memory: str | None = None,
    tell: "Tell | None" = None,
    watch: "Hears | None" = None,
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
        return _called(plan.file, {"schema": schema, **asked.given(), **where, "seed": plan.seed})

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
    watch: "Hears | None" = None,
    parts_watch: Any = None,
    bars: bool = False,
) -> "tuple[Plan, Summary]":
    """Plan a sweep and carry it out; ``command`` says what it was called by, for the report."""
    from sfumato.project.carry_out import carry_out
    from sfumato.project.in_parts import engine_for
    from sfumato.project.place import refuse_place
    from sfumato.project.plan import planned
    from sfumato.project.tell import unheard
    from sfumato.show.wording import count

    file, out, said = a_path(file), a_path(options.out), tell or unheard
    refuse_place(out, file)
    where: dict[str, Any] = {"engine": engine, "memory": memory, "workers": options.workers, "out": out}
    with engine_for(file, **where, progress=parts_watch, tell=said):
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


def _called(file: Path, told: Mapping[str, Any]) -> str:
    """Write the call, without what was left as it is by default."""
    words = [_written(file), *(f"{name}={_written(value)}" for name, value in told.items() if value is not None)]
    return f"sfumato.sweep({', '.join(words)})"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_written(key)}: {bound!r}' for key, bound in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(str(value)) if isinstance(value, Path) or hasattr(value, "about") else repr(value)
