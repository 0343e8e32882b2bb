"""A disk that is full at any byte: a sentence, and a file that is whole or not there."""

import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from adversary.attack import CALLS, Finding, Kind, Rng, one_of, only
from adversary.damaged_stores import experiment
from adversary.readers import table
from sfumato import Microdata, SfumatoError, write, write_schema

FORMS = ["csv", "tsv", "csv.gz", "csv.bz2", "zip", "parquet", "xlsx", "sav", "zsav", "dta", "xpt"]
BATCH = 6


@contextmanager
def full_after(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes; who writes more is told so, as by a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Write tables, schemas and stores while the disk is full after a drawn number of bytes."""
    done: Counter[str] = Counter()
    for number in range(BATCH):
        place = folder / str(number)
        place.mkdir()
        (written_store if rng.random() < 0.2 else written_table)(rng, place)
        done[CALLS] += 1
    return done


def written_table(rng: Rng, place: Path) -> None:
    """Write a table: what is there afterwards is whole."""
    data = _made(rng)
    form = one_of(rng, [*FORMS, "toml"])
    whole, path = place / "whole" / f"table.{form}", place / f"table.{form}"
    whole.parent.mkdir()
    save = write_schema if form == "toml" else write
    with only(SfumatoError, doing=f"writing {form}") as refused:
        save(data, whole)
    if refused:
        return
    size = int(rng.integers(whole.stat().st_size + 1))
    with only(SfumatoError, doing=f"writing {form}, the disk full after {size} bytes"), full_after(size):
        save(data, path)
    if path.exists() and path.read_bytes() != whole.read_bytes():
        raise Finding(f"{form}: a part of a file is left when the disk is full after {size} bytes")
    left = {entry.name for entry in place.iterdir()} - {whole.parent.name, path.name}
    if left:
        raise Finding(f"{form}: left beside the file when the disk is full: {left}")


def written_store(rng: Rng, place: Path) -> None:
    """Run an experiment whose store cannot grow, and again when it can: the second gives the figures."""
    store, size = place / "run.db", int(2 ** rng.uniform(0, 17))
    expected = [dict(row.means) for row in experiment().run().rows]
    with only(SfumatoError, doing=f"a store, the disk full after {size} bytes"), full_after(size):
        experiment().run(store=store)
    with only(doing=f"a store that was full after {size} bytes, with room again"):
        again = [dict(row.means) for row in experiment().run(store=store).rows]
    if again != expected:
        raise Finding(f"other figures after a disk that was full after {size} bytes")


def _made(rng: Rng) -> Microdata:
    return Microdata.from_frame(pa.table(table(rng)))


KIND = Kind("full-disk", strike, share=1.0, in_tests=6)
