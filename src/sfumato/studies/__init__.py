"""The papers' experiments, runnable: each returns a study that shows our figures beside the printed ones."""

from importlib import import_module
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
    study: Study = import_module(f"sfumato.studies.{name}").run(seed=seed, workers=workers, progress=progress, **given)
    return study
