"""What a command settles where nothing was said: the seed, the processes, the folder."""

from pathlib import Path

from sfumato.errors import FileError
from sfumato.project.tell import Tell

GUESSABLE = 2**40  # seeds below are tried out in no time


def settled_seed(seed: int | None, tell: Tell) -> int:
    """Return the seed that was said, with a warning if it can be guessed, or one that is drawn."""
    from sfumato.compare.seeds import drawn_seed

    if seed is not None and seed < GUESSABLE:
        tell("a seed this small can be guessed, and then random methods undone; leave --seed out for a release")
    return drawn_seed() if seed is None else seed


def workers_or_default(workers: int | None) -> int:
    """Return how many processes to use: all cores but one, so that the machine stays usable, if memory has room."""
    import os

    from sfumato.data import capacity

    return workers or max(min((os.cpu_count() or 2) - 1, capacity.free() // (2 * capacity.PROCESS)), 1)


def make_folder(path: Path) -> Path:
    """Make a folder where it is not there."""
    from sfumato.data.atomic import reason

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {reason(error)}") from None
    return path


def remembered_seed(out: Path, seed: int | None, tell: Tell) -> int:
    """Return the seed: the one said, or the one this folder was begun with, or a new one."""
    from sfumato.project.lock import held
    from sfumato.show.page import save

    place = out / "seed"
    if seed is None and place.is_file():
        return _kept_seed(place)
    settled = settled_seed(seed, tell)
    with held(out):  # a sweep that runs goes on with its own
        if seed is None and place.is_file():  # another one was begun in this moment
            return _kept_seed(place)
        save(place, f"{settled}\n".encode())
    return settled


def _kept_seed(place: Path) -> int:
    try:
        return int(place.read_text())
    except ValueError:
        raise FileError(f"{place} should hold the seed this folder was begun with; say --seed") from None
