"""The papers' experiments, runnable: each returns a study that shows our figures beside the printed ones."""

from importlib import import_module
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.studies.study import Study

NAMES = ("domingo",)


def names() -> tuple[str, ...]:
    """Name the studies there are."""
    return NAMES


def run(
    name: str,
    *,
    data: Path,
    printed: Path | None = None,
    replicates: int = 1,
    seed: int = 0,
    workers: int = 1,
    store: Path | None = None,
    progress: bool = False,
) -> Study:
    """Run a study by name."""
    if name not in NAMES:
        raise ParameterError(f"there is no study {name!r}; there are {', '.join(NAMES)}")
    module = import_module(f"sfumato.studies.{name}")
    study: Study = module.run(
        data=data,
        printed=printed,
        replicates=replicates,
        seed=seed,
        workers=workers,
        store=store,
        progress=progress,
    )
    return study
