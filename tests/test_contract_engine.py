"""The law of parts on engines: tables on disk, in any number of parts, give the figures of the table in memory.

Every measure that claims parts is held to it on an engine in this process, through the same pickles as on any other,
and on processes of this machine. No part is looked at while another is computed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from every_engine import OnDisk, each_thing, entered, hold
from scanned import scanned
from sfumato import Engine, Measure, Method, TableInParts
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from test_contract_parts import IN_PARTS, TABLES, held, measures

FILES = ("noisy, with gaps", "recoded and suppressed", "synthetic")


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], tuple[TableInParts, TableInParts]]:
    folder = tmp_path_factory.mktemp("parts")
    return {
        (file, number): (
            scanned(TABLES[file][0], folder / f"{place}-{number}-original", number),
            scanned(TABLES[file][1], folder / f"{place}-{number}-protected", number),
        )
        for place, file in enumerate(FILES)
        for number in (3, 17)
    }


@pytest.fixture(scope="module")
def processes() -> Iterator[Engine]:
    engine = Engine("local", processes=2)
    yield engine
    engine.close()


def held_apart(measure: Measure, file: str, parts: tuple[TableInParts, TableInParts]) -> None:
    """Require the figures in memory, each part computed without a look at another."""
    NESTED.clear()
    held(measure, file, Pair.of(*parts))
    assert not NESTED, "a part was computed that needs the others: ask for what it needs before"


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("cls", IN_PARTS, ids=[cls.__name__ for cls in IN_PARTS])
def test_tables_on_disk_give_the_figures_in_memory(
    cls: type[Measure], file: str, on_disk: dict[tuple[str, int], tuple[TableInParts, TableInParts]]
) -> None:
    with Engine("here", memory="64 MiB"):
        for measure in measures(cls):
            held_apart(measure, file, on_disk[file, 17 if cls.about.parts == "summaries" else 3])


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> OnDisk:
    return OnDisk(tmp_path_factory.mktemp("tables"))


@each_thing
def test_processes_give_what_memory_gives(
    thing: Measure | Method, disk: OnDisk, processes: Engine, tmp_path: Path
) -> None:
    NESTED.clear()
    with entered(processes):
        hold(thing, disk, tmp_path)
    assert not NESTED, "a part was computed that needs the others: ask for what it needs before"
