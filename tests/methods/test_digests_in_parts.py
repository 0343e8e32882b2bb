"""What a method learned has a digest of its content alone: a store finds again what was computed of masked parts."""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import sfumato
from methods_in_parts import METHODS, table
from scanned import scanned
from sfumato import Engine, Method, ParameterError, TableInParts
from sfumato.compare.work import protected_parts
from sfumato.pair.files import InFile
from sfumato.pair.masking import digest_of_content

WITHIN: list[Method] = [
    sfumato.MDAV(3).within("region"),
    sfumato.MDAV(4).within(blocks=40),
    sfumato.CARTSynthesis(5).within("sex"),
]


def masked(method: Method, parts: TableInParts) -> TableInParts:
    return protected_parts(method, parts, np.random.default_rng(1))


def digests(after: TableInParts) -> list[str]:
    return [part.columns.digest for part in after.parts]  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", METHODS + WITHIN, ids=repr)
@pytest.mark.parametrize("number", [1, 3])
def test_it_stays_the_same(method: Method, number: int, tmp_path: Path) -> None:
    folder = tmp_path / "original"
    schema = scanned(table(200), folder, number).schema
    with Engine("here"):
        fresh = digests(masked(method, sfumato.scan(folder, schema)))
    with Engine("here"):  # learned again, of the same files and not of the same objects, and each asked once
        used, sent = masked(method, sfumato.scan(folder, schema)), masked(method, sfumato.scan(folder, schema))
        for part in used.parts:
            part.loaded()
        assert digests(used) == fresh
        assert digests(pickle.loads(pickle.dumps(sent))) == fresh
        other = protected_parts(method, sfumato.scan(folder, schema), np.random.default_rng(2))
        if method.about.random:
            assert digests(other) != fresh


def test_no_other_process_has_another(tmp_path: Path) -> None:
    scanned(table(200), tmp_path / "original", 3)
    found = []
    for seed in ("1", "2"):  # by which sets are in another order
        code = f"from test_digests_in_parts import told; told({str(tmp_path / 'original')!r})"
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        given = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        found.append(subprocess.run([sys.executable, "-c", code], env=given, check=True, capture_output=True).stdout)
    assert found[0] == found[1] and len(found[0].splitlines()) == len(METHODS + WITHIN)


def told(folder: str) -> None:
    """Print the digests of what all methods make of a table; another process runs it."""
    parts = sfumato.scan(folder, table(200).schema)
    for method in METHODS + WITHIN:
        with Engine("here"):
            print(*digests(masked(method, parts)))


@pytest.mark.parametrize("method", METHODS + WITHIN, ids=repr)
def test_a_store_has_all_of_a_second_run(method: Method, tmp_path: Path) -> None:
    folder, measured = tmp_path / "original", []
    schema = scanned(table(200), folder, 3).schema
    for _ in range(2):
        with Engine("here", store=tmp_path / "store.sqlite") as engine:
            parts = sfumato.scan(folder, schema)
            after = masked(method, parts)
            learned = engine.computed
            sfumato.KAnonymity(3, variables=("health", "education")).evaluate(parts, after)
            measured.append(engine.computed - learned)
    assert measured[0] > 0 and measured[1] == 0


@pytest.mark.parametrize("method", [sfumato.Noise(0.2), sfumato.RankSwapping(0.1), sfumato.PRAM(0.8)], ids=repr)
def test_a_second_run_computes_nothing(method: Method, tmp_path: Path) -> None:
    folder = tmp_path / "original"
    schema = scanned(table(200), folder, 3).schema
    for again in (False, True):
        with Engine("here", store=tmp_path / "store.sqlite") as engine:
            parts = sfumato.scan(folder, schema)
            sfumato.InformationLoss().evaluate(parts, masked(method, parts))
            assert (engine.computed == 0) == again


def test_it_tells_contents_apart_and_not_places() -> None:
    here, there = (InFile(Path(folder) / "a", "<f8", "abc") for folder in ("here", "there"))
    assert digest_of_content({"x": here}) == digest_of_content({"x": there})
    values: list[object] = [
        *(0, 0.0, -0.0, False, None, "0", b"0", (0,), {0}, {0: 0}, ((0,), ()), ((), (0,))),
        *(np.zeros(1), np.zeros((1, 1)), np.zeros(1, dtype=np.int64), here, InFile(here.path, "<f8", "abd")),
    ]
    assert len({digest_of_content(value) for value in values}) == len(values)
    assert digest_of_content(frozenset("abc")) == digest_of_content(frozenset("cba"))


@dataclass
class Unknown:
    """Something learned that nobody can tell from another."""

    learned: object


@pytest.mark.parametrize(
    "learned", [object(), len, Path("a"), np.array([object()])], ids=["object", "len", "a", "array"]
)
def test_what_has_no_content_to_tell_is_refused(learned: object) -> None:
    with pytest.raises(ParameterError, match="there is no digest of a "):
        digest_of_content(Unknown(learned))
