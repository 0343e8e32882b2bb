"""The papers' experiments, runnable: each returns a study that shows our figures beside the printed ones."""

from collections.abc import Callable
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.studies.study import Study

NAMES = ("domingo", "karr", "kim", "kocar", "woo")


def names() -> tuple[str, ...]:
    """Name the studies there are."""
    return NAMES


def run(
    name: str,
    *,
    data: Path | None = None,
    printed: Path | None = None,
    replicates: int | None = None,
    seed: int = 0,
    workers: int = 1,
    store: Path | None = None,
    progress: bool = False,
    records: int | None = None,
) -> Study:
    """Run a study by name; what is None is as the paper has it, and data are needed where the paper's are public."""
    if name not in NAMES:
        raise ParameterError(f"there is no study {name!r}; there are {', '.join(NAMES)}")
    given = {"data": data, "printed": printed, "replicates": replicates, "store": store, "records": records}
    return _runner(name)(seed=seed, workers=workers, progress=progress, **given)


def _runner(name: str) -> Callable[..., Study]:
    """Load one study; the others stay unread."""
    if name == "domingo":
        from sfumato.studies import domingo

        return domingo.run
    if name == "karr":
        from sfumato.studies import karr

        return karr.run
    if name == "kim":
        from sfumato.studies import kim

        return kim.run
    if name == "kocar":
        from sfumato.studies import kocar

        return kocar.run
    from sfumato.studies import woo

    return woo.run
