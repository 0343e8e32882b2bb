"""The papers' experiments, runnable: each returns a study that shows our figures beside the printed ones."""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.studies.study import Settings, Study, over_seeds, unsettled

NAMES = ("domingo", "karr", "kim", "kocar", "woo")
DATA_SETS = {"karr": 5}  # drawn with consecutive seeds by a study that is not told how many


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
    seeds: int = 1,
) -> Study:
    """Run a study by name; what is None is as the paper has it, and data are needed where the paper's are public.

    With several ``seeds`` it runs with each, and a statement whose verdict is not the same with all of them gets none.
    With one the same goes for the statements that are known to change theirs (``CHANGING`` of ``studies.study``).
    """
    if seeds < 1:
        raise ParameterError(f"seeds must be at least 1; got {seeds}")
    if name not in NAMES:
        raise ParameterError(f"there is no study {name!r}; there are {', '.join(NAMES)}")
    settings = Settings(
        data=data,
        printed=printed,
        replicates=replicates,
        seed=seed,
        workers=workers,
        store=store,
        progress=progress,
        records=records,
    )
    apart = replicates or DATA_SETS.get(name, 1)  # so that no two runs draw the same
    study = import_module(f"sfumato.studies.{name}")  # the others stay unread
    runs = [study.run(replace(settings, seed=seed + number * apart)) for number in range(seeds)]
    return unsettled(runs[0]) if seeds == 1 else over_seeds(runs)
