"""The papers' experiments, runnable: each returns a study that shows our figures beside the printed ones."""

from collections.abc import Callable
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.studies.study import Study, over_seeds, unsettled

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
    given = {"data": data, "printed": printed, "replicates": replicates, "store": store, "records": records}
    apart = replicates or DATA_SETS.get(name, 1)  # so that no two runs draw the same
    runs = [
        _runner(name)(seed=seed + number * apart, workers=workers, progress=progress, **given)
        for number in range(seeds)
    ]
    return unsettled(runs[0]) if seeds == 1 else over_seeds(runs)


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
