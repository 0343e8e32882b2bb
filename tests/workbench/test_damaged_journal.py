"""A journal that SQLite can read and we cannot: told with its path and the cure, and the other files stay."""

import sqlite3
import zlib
from pathlib import Path

import pytest

from sfumato.errors import FileError
from sfumato.workbench.journal import NAME, Journal


@pytest.mark.parametrize(
    "content",
    [b"", b"words", "text", None, 5, zlib.compress(b"{"), zlib.compress(b"[]"), zlib.compress(b"\xff"),
     zlib.compress(b'{"unheard": 1}'), zlib.compress(b"[" * 100_000), zlib.compress(b'{"replicates": "three"}')],
    ids=lambda content: repr(content)[:20],
)  # fmt: skip
def test_a_step_that_cannot_be_read_is_told_with_the_cure(content: object, tmp_path: Path) -> None:
    Journal(tmp_path)
    with sqlite3.connect(tmp_path / NAME) as connection:
        if content is None:
            connection.execute("DELETE FROM steps")
        else:
            connection.execute("UPDATE steps SET draft = ?", (content,))
    connection.close()
    journal = Journal(tmp_path)
    for ask in (
        journal.now,
        lambda: journal.change(lambda draft: draft.but(breadth=2), screen="mask", what="changed"),
        journal.undo,
        journal.redo,
    ):
        with pytest.raises(
            FileError, match=r"journal\.sqlite: .*damaged.*restore the file from a copy, or move it away"
        ):
            ask()


def test_a_journal_of_which_even_the_message_is_no_text(tmp_path: Path) -> None:
    Journal(tmp_path)
    path = tmp_path / NAME
    content = path.read_bytes()
    place = content.index(b"CREATE TABLE")
    path.write_bytes(content[:place] + b"\xff\xfe\xff" + content[place + 3 :])
    with pytest.raises(FileError, match=r"journal\.sqlite"):
        Journal(tmp_path).now()
