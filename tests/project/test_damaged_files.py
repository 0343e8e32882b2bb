"""What a sweep left in its folder, cut short or changed: told by the name of the file and the cure."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import FileError
from sfumato.project import decision
from sfumato.project.progress import read_progress
from sfumato.project.record import Record

CONTENTS = [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"by": 3}', b"[" * 100_000, b'{"seed": 1e999}', b'"text"']
READERS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "plan.json": (Record.read, "run the sweep again: its figures are kept"),
    "progress.json": (read_progress, "remove it: the next sweep writes another"),
    "decision.json": (decision.read, "sign the release again"),
    "results.json": (decision.withdraw, "run the sweep again: its figures are kept"),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: repr(content)[:20])
def test_a_damaged_file_is_named_with_the_cure(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    read, cure = READERS[name]
    with pytest.raises(FileError, match=rf"{name}.*; {cure}"):
        read(tmp_path)
