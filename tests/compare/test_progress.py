"""The bars of a run: at 80 columns the counter and the times are whole, and the name is what is shortened."""

import io

import pytest
from rich.console import Console

from sfumato.compare import progress
from sfumato.compare.examine import look as examining

NAME = "GlobalRecoding(groups=5, rare=0.05) + LocalSuppression(k=3) + RankSwapping(p=0.05)"


def screen(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [72, 80, 100, 200])
@pytest.mark.parametrize("total", [7, 120, 4000])
def test_the_bar_keeps_counter_and_times(width: int, total: int) -> None:
    console = screen(width)
    with progress._Bar(console, total) as bar:
        bar.running(NAME)
        bar.finished(NAME)
    text = shown(console)
    last = next(line for line in text.splitlines()[::-1] if "tables" in line)
    assert f"1/{total} tables, 0:00:0" in last and "gone, " in last and last.rstrip().endswith("left")
    assert "GlobalR" in last


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_lines_of_an_examination_keep_counter_and_time(width: int) -> None:
    console = screen(width)
    with examining._Shown(console) as lines, lines.running("usefulness") as told:
        told(3, 100)
    last = next(line for line in shown(console).splitlines()[::-1] if "testing" in line)
    assert "1/1" in last and "0:00:0" in last


def test_nobody_watches() -> None:
    with progress.watch(3, 0, shown=False) as silent:
        silent.running(NAME)
