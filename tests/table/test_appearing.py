"""Files and folders written whole or not at all, and what killed processes leave behind."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato import Engine
from sfumato.errors import FileError
from sfumato.table.atomic import appearing, mark, remove_leftovers, replacing


def write(folder: Path, text: str) -> None:
    with appearing(folder) as staged:
        (staged / "part-00000.parquet").write_text(text)


def held(folder: Path) -> str:
    return (folder / "part-00000.parquet").read_text()


def dead_mark() -> str:
    """The mark of a process that is no more."""
    made = subprocess.run(
        [sys.executable, "-c", "from sfumato.table.atomic import mark; print(mark())"],
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.strip()


def test_an_earlier_folder_is_replaced(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    write(tmp_path / "out", "new")
    assert held(tmp_path / "out") == "new" and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_holds_anything_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    (out / "part-00000.parquet").write_text("a part")
    with pytest.raises(FileError, match=r"holds 'thesis\.tex', which is no part of a protected table"):
        write(out, "new")
    assert held(out) == "a part" and (out / "thesis.tex").exists()
    (tmp_path / "file").write_text("text")
    with pytest.raises(FileError, match="it is a file"):
        write(tmp_path / "file", "new")


def test_where_the_new_folder_cannot_take_its_place_the_old_one_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write(out, "old")
    plain = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError(28, "No space left on device")
        return plain(self, target)

    with monkeypatch.context() as patch, pytest.raises(FileError, match="the disk is full"):
        patch.setattr(Path, "rename", failing)
        write(out, "new")
    assert held(out) == "old" and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_process_left_is_removed_and_what_others_are_at_is_not(tmp_path: Path) -> None:
    dead, other = dead_mark(), f"00000000p{os.getpid()}"  # of a process that is no more, and of another machine
    for name in (f".out.{dead}.0123456789ab.part", f".out.{dead}.0123456789ab.old"):
        (tmp_path / name).mkdir()
    kept = (f".out.{mark()}.0123456789ab.part", f".out.{other}.0123456789ab.part", f".outer.{dead}.0123456789ab.part")
    for name in kept:
        (tmp_path / name).mkdir()
    write(tmp_path / "out", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted((*kept, "out"))


def test_a_file_is_its_owners_alone_until_it_is_complete_and_a_killed_one_goes(tmp_path: Path) -> None:
    dead = dead_mark()
    (tmp_path / f".out.csv.{dead}.0123456789ab.part").write_text("half a table")
    other = tmp_path / f".out.csv2.{dead}.0123456789ab.part"
    other.write_text("of another file")
    (tmp_path / "as new files are").touch()
    with replacing(tmp_path / "out.csv") as file:
        file.write(b"whole")
        (part,) = tmp_path.glob(".out.csv.*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    rights = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("out.csv", "as new files are")]
    assert rights[0] == rights[1] and other.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "as new files are", "out.csv"]


def test_names_are_no_patterns(tmp_path: Path) -> None:
    dead = dead_mark()
    (tmp_path / f".oxt.{dead}.0123456789ab.part").mkdir()
    write(tmp_path / "o[xy]t", "new")
    write(tmp_path / "o?t", "new")
    assert (tmp_path / f".oxt.{dead}.0123456789ab.part").exists()


def test_what_a_killed_process_had_taken_away_comes_back_before_anything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "released")
    out.rename(tmp_path / f".out.{dead_mark()}.0123456789ab.old")  # killed between the two renames
    with pytest.raises(FileError, match="the disk is full"), appearing(out):
        raise OSError(28, "No space left on device")
    assert held(out) == "released" and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_killed_engine_leaves_nothing_for_long(tmp_path: Path) -> None:
    program = (
        "import sys, time; from sfumato import Engine\n"
        "with Engine('here', folder=sys.argv[1]) as engine:\n"
        "    (engine.folder / 'column').write_text('original values'); print('there', flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None and killed.stdout.readline() == "there\n"
        with Engine("here", folder=tmp_path) as beside:  # while the other is at work
            assert beside.folder.exists() and len(list(tmp_path.glob("sfumato-*/column"))) == 1
        killed.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and list(tmp_path.glob("sfumato-*")):
        with Engine("here", folder=tmp_path) as after:
            assert after.folder.exists()
    assert not list(tmp_path.glob("sfumato-*"))


def test_a_folder_without_a_mark_is_nobody_s(tmp_path: Path) -> None:
    (tmp_path / "sfumato-demo").mkdir()
    remove_leftovers(tmp_path, "sfumato-*")
    assert (tmp_path / "sfumato-demo").exists()
