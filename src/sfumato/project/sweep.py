"""A whole sweep in one call: what ``sfumato sweep`` does, from Python."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.core import Measure, Method
    from sfumato.project.progress import Hears
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
    choose: str | None = None,
    seed: int | None = None,
    workers: int | None = None,
    out: str | Path = "sfumato-sweep",
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    tell: "Tell | None" = None,
    watch: "Hears | None" = None,
    bars: bool = False,
) -> "Summary":
    """Protect a file in many ways, measure each, choose the best within the bounds, report it and write it.

    It is what ``sfumato sweep`` does: same folder, same files, same figures; see there. Methods and measures are texts
    or made already, bounds go by a measure or its name, as in ``at_most={"Reidentification": 0.05}``. ``tell`` hears
    the messages, ``watch`` how far it is; ``bars`` shows that on the terminal. The summary says whether to publish:
    ``summary.verdict.publish``. Run as a script with several ``workers``, call it below ``if __name__ == "__main__":``.
    """
    asked = dict(locals())
    from sfumato.project.carry_out import carry_out
    from sfumato.project.lock import refuse_running
    from sfumato.project.plan import planned
    from sfumato.project.tell import unheard

    heard = {name: asked.pop(name) for name in ("tell", "watch", "bars")}
    asked = {name: tuple(given) if name in SEVERAL else given for name, given in asked.items()}
    refuse_running(out)
    said = tell or unheard
    plan = planned(**asked, tell=said)
    return carry_out(plan, **{**heard, "tell": said}, command=_called({**asked, "seed": plan.seed}))


SEVERAL = ("methods", "measures", "candidates")  # read more than once


def _called(asked: Mapping[str, Any]) -> str:
    """Write the call, without what was left as it is by default."""
    from inspect import signature

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
