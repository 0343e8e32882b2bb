"""Text files read in parts: what a whole file is refused for is refused here too, and nobody's file is written over."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import waiting
from sfumato import FileError, read, scan


def text(path: Path, content: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('"age","income"\n"1",21,1000\n"2",22,2000\n', "record 1 has 3 fields, but the header has 2 names"),
        ("a;b\n1;2;\n3;4;\n5;6;7\n", "record 3 has 3 fields, but the header has 2 names"),
        ("amount\n1,5\n2,5\n", "record 1 has 2 fields, but the header has 1 names"),
    ],
)
def test_values_behind_the_last_name_are_refused(tmp_path: Path, content: str, said: str) -> None:
    file = text(tmp_path / "x.csv", content)
    with pytest.raises(FileError, match="fields, but the header has"):
        read(file)
    with pytest.raises(FileError, match=said) as refused:
        scan(file)
    assert "cannot be read with delimiter" not in str(refused.value)


def test_delimiters_at_the_ends_of_lines_are_no_values(tmp_path: Path) -> None:
    assert scan(text(tmp_path / "x.csv", "a,b\n1,2,\n3,4, \n")).loaded().columns["b"].tolist() == [2.0, 4.0]


def test_one_decimal_sign_for_all_files(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    text(folder / "1.csv", "a;b\n1;x\n2;y\n")  # whole numbers show none
    text(folder / "2.csv", "a;b\n1,5;x\n2,5;y\n")
    assert scan([folder / "1.csv", folder / "2.csv"]).loaded().columns["a"].tolist() == [1.0, 2.0, 1.5, 2.5]
    text(folder / "3.csv", "a;b\n1.500;x\n2.750;y\n")
    with pytest.raises(FileError, match=r"3\.csv has decimal points, and what was read before it decimal commas; say"):
        scan([folder / f"{number}.csv" for number in (1, 2, 3)])


def test_a_copy_replaces_a_copy_and_nothing_else(tmp_path: Path) -> None:
    file = text(tmp_path / "x.csv", "a,b\n1,2\n3,4\n")
    pq.write_table(pa.table({"precious": [1]}), tmp_path / "x.parquet")
    with pytest.raises(FileError, match=r"x\.parquet is there already and no copy of .*x\.csv; name a folder"):
        scan(file, folder=tmp_path)
    assert pq.read_table(tmp_path / "x.parquet").column_names == ["precious"]
    for _ in range(2):
        assert scan(file, folder=tmp_path / "copies").loaded().columns["b"].tolist() == [2.0, 4.0]


@pytest.mark.skipif(sys.platform == "win32", reason="nobody can be asked there whether a process lives")
def test_the_copy_of_a_killed_program_goes_with_the_next(tmp_path: Path) -> None:
    file = text(tmp_path / "x.csv", "a,b\n1,2\n3,4\n")
    aside = tmp_path / "aside"
    aside.mkdir()
    here = {**os.environ, "TMPDIR": str(aside)}
    program = "import sys, time, sfumato; t = sfumato.scan(sys.argv[1]); print('there', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", program, file], stdout=subprocess.PIPE, text=True, env=here) as killed:
        assert killed.stdout is not None and killed.stdout.readline() == "there\n"
        assert list(aside.glob("sfumato-*/x.parquet"))
        killed.send_signal(signal.SIGKILL)
    again = [sys.executable, "-c", "import sys, sfumato; sfumato.scan(sys.argv[1])", str(file)]

    def gone() -> bool:
        subprocess.run(again, env=here, check=True)
        return not list(aside.glob("sfumato-*"))

    waiting.until(gone, "the copy stays")
