"""The law of parts on engines: tables on disk, in any number of parts, give the figures of the table in memory.

Every measure that claims parts is held to it on an engine in this process, through the same pickles as on any other,
and on processes of this machine. No part is looked at while another is computed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, Measure, Microdata, NotApplicable, TableInParts
from sfumato.engine.engine import NESTED
from sfumato.pair import Pair
from sfumato.testing import persons
from test_contract_parts import IN_PARTS, TABLES, measures, same

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


@pytest.mark.parametrize("number", [1, 3, 17])
def test_a_hundred_thousand_records(number: int, processes: Engine, tmp_path: Path) -> None:
    from sfumato.engine import engine

    data = persons(100_000)
    masked = sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)
    parts = Pair.of(scanned(data, tmp_path / "original", number), scanned(masked, tmp_path / "protected", number))
    whole = Pair.of(data, masked)
    engine._entered.append(processes)
    try:
        for measure in (
            sfumato.KAnonymity(3),
            sfumato.IndividualRisk(),
            sfumato.InformationLoss(),
            sfumato.IntervalOverlap("income ~ age + C(sex)"),
        ):
            same(measure.evaluate_pair(whole, rng=1), measure.evaluate_pair(parts, rng=1))
    finally:
        engine._entered.remove(processes)


def held(measure: Measure, tables: tuple[Microdata, Microdata], parts: tuple[TableInParts, TableInParts]) -> None:
    """Require the figures in memory of a measure of two tables in parts, or the same refusal."""
    NESTED.clear()
    try:
        whole = measure.evaluate(*tables, rng=1)
    except NotApplicable as refusal:
        with pytest.raises(NotApplicable) as in_parts:
            measure.evaluate_pair(Pair.of(*parts), rng=1)
        assert str(in_parts.value) == str(refusal)
    else:
        same(whole, measure.evaluate_pair(Pair.of(*parts), rng=1))
    assert not NESTED, "a part was computed that needs the others: ask for what it needs before"


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("cls", IN_PARTS, ids=[cls.__name__ for cls in IN_PARTS])
def test_tables_on_disk_give_the_figures_in_memory(
    cls: type[Measure], file: str, on_disk: dict[tuple[str, int], tuple[TableInParts, TableInParts]]
) -> None:
    with Engine("here", memory="64 MiB"):
        for measure in measures(cls):
            held(measure, TABLES[file], on_disk[file, 17 if cls.about.parts == "summaries" else 3])


@pytest.mark.parametrize("cls", IN_PARTS, ids=[cls.__name__ for cls in IN_PARTS])
def test_processes_give_the_figures_in_memory(
    cls: type[Measure], on_disk: dict[tuple[str, int], tuple[TableInParts, TableInParts]], processes: Engine
) -> None:
    from sfumato.engine import engine

    engine._entered.append(processes)
    try:
        held(measures(cls)[0], TABLES[FILES[0]], on_disk[FILES[0], 3])
    finally:
        engine._entered.remove(processes)
