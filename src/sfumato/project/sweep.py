"""A whole sweep in one call: what ``sfumato sweep`` does, from Python."""

import os
from collections.abc import Iterable, Mapping
from inspect import signature
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.arguments import LARGEST, TEXT, YES_OR_NO, entries, require, require_bounds, require_number, require_whole
from sfumato.data.formats import a_path
from sfumato.data.sample_size import SAMPLED

if TYPE_CHECKING:
    from sfumato.core import Measure, Method
    from sfumato.project.progress import Hears
    from sfumato.project.reading import OnUndeclared
    from sfumato.project.tell import Tell
    from sfumato.show.summary import Summary


def sweep(
    file: str | Path,
    schema: str | Path | None = None,
    *,
    methods: "Iterable[str | Method]" = (),
    also_composed: bool = False,
    first: "str | Method | None" = None,
    breadth: int = 1,
    measures: "Iterable[str | Measure]" = (),
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
    utility: str | None = None,
    risk: str | None = None,
    least_risk: bool = False,
    population: float | None = None,
    candidates: Iterable[str | Path] = (),
    replicates: int = 3,
    bootstrap: bool = True,
    keep_order: bool = False,
    keep_weights: bool = False,
    keep_households: bool = False,
    despite_audit: bool = False,
    on_undeclared: "OnUndeclared" = "refuse",
    choose: str | None = None,
    seed: int | None = None,
    workers: int | None = None,
    out: str | Path = "sfumato-sweep",
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    engine: str | None = None,
    memory: str | None = None,
    sample: int = SAMPLED,
    tell: "Tell | None" = None,
    watch: "Hears | None" = None,
    bars: bool = False,
) -> "Summary":
    """Protect a file in many ways, measure each, choose the best within the bounds, report it and write it.

    It is what ``sfumato sweep`` does: same folder, same files, same figures; see there. Methods and measures are texts
    or made already, bounds go by a measure or its name, as in ``at_most={"Reidentification": 0.05}``. ``tell`` hears
    the messages, ``watch`` how far it is; ``bars`` shows that on the terminal. The summary says whether to publish:
    ``summary.verdict.publish``. A column that the schema does not name, or whose role is a proposal that nobody has
    confirmed, keeps a table from being published, unless ``on_undeclared`` is "leave-out" or "accept". Run as a script
    with several ``workers``, call it below ``if __name__ == "__main__":``.

    A folder or a pattern of files is a table in parts: its figures are of all records, or estimates with a standard
    error where a measure looks for some of them, computed on the ``engine`` of :class:`Engine` within its ``memory``;
    candidates are composed, details told and the audit done in a random ``sample``.
    """
    asked = dict(locals())
    _check(asked)
    asked |= {
        name: int(given) for name, given in asked.items() if isinstance(given, Integral) and not isinstance(given, bool)
    }
    from sfumato.project.carry_out import carry_out
    from sfumato.project.in_parts import engine_for
    from sfumato.project.place import refuse_place
    from sfumato.project.plan import planned
    from sfumato.project.tell import unheard

    heard = {name: asked.pop(name) for name in ("tell", "watch", "bars")}
    where = {name: asked.pop(name) for name in ("engine", "memory")}
    asked |= {name: entries("sweep", kind, words, **{name: asked[name]}) for name, (kind, words) in SEVERAL.items()}
    file, out = a_path(file), a_path(out)
    refuse_place(out, file)
    said = tell or unheard
    with engine_for(file, **where, workers=workers, out=out, tell=said):
        plan = planned(**asked, tell=said)
        return carry_out(plan, **{**heard, "tell": said}, command=_called({**asked, **where, "seed": plan.seed}))


def _check(asked: Mapping[str, Any]) -> None:
    """Refuse what is of another type than is asked for."""

    def these(*names: str) -> dict[str, Any]:
        return {name: asked[name] for name in names}

    require_bounds("sweep", **these("at_most", "at_least"))
    require("sweep", str | None, TEXT, **these("utility", "risk", "choose", "encoding", "delimiter", "decimal"))
    require("sweep", str, TEXT, **these("on_undeclared"))
    require("sweep", str | None, TEXT, **these("engine", "memory"))
    flags = [name for name, parameter in signature(sweep).parameters.items() if isinstance(parameter.default, bool)]
    require("sweep", bool, YES_OR_NO, **these(*flags))
    require_number("sweep", least=0, **these("population"))
    require_whole("sweep", least=1, **these("replicates", "breadth", "sample"))
    for name, most in (("seed", None), ("workers", LARGEST)):
        if asked[name] is not None:
            require_whole("sweep", least=0, most=most, **these(name))


SEVERAL: dict[str, tuple[Any, str]] = {  # read more than once
    "methods": (object, "methods"),
    "measures": (object, "measures"),
    "candidates": (str | os.PathLike, "files"),
}


def _called(asked: Mapping[str, Any]) -> str:
    """Write the call, without what was left as it is by default."""
    usual = {name: parameter.default for name, parameter in signature(sweep).parameters.items()}
    given = {name: value for name, value in asked.items() if value != usual[name]}
    file = str(given.pop("file"))
    words = [repr(file), *(f"{name}={_written(value)}" for name, value in given.items())]
    return f"sfumato.sweep({', '.join(words)})"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_written(key)}: {bound!r}' for key, bound in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(str(value)) if isinstance(value, Path) or hasattr(value, "about") else repr(value)
