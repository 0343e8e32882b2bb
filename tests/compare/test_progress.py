"""The bars of a run: at 80 columns the counter and the times are whole, and the name is what is shortened."""

import io

import pytest
from rich.console import Console

from sfumato.compare.examine.look import LOOKING
from sfumato.compare.progress import Bar, Steps, steps_of

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
    steps = Steps(Bar(console))
    steps.phase("candidates", total=total)
    steps.began(NAME)
    steps.ended(NAME)
    steps.close()
    text = shown(console)
    last = next(line for line in text.splitlines()[::-1] if "tables" in line)
    assert f"1/{total} tables, 0:00:0" in last and "gone, " in last and last.rstrip().endswith("left")
    assert "GlobalR" in last


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_bar_of_an_examination_keeps_counter_and_times(width: int) -> None:
    console = screen(width)
    steps = Steps(Bar(console))
    steps.phase("examination", total=3)
    steps.began(LOOKING["usefulness"])
    steps.part(3, 100)
    steps.ended(LOOKING["usefulness"])
    steps.close()
    last = next(line for line in shown(console).splitlines()[::-1] if "testing" in line)
    assert "1/3" in last and "0:00:0" in last


def test_nobody_watches() -> None:
    with steps_of(False) as silent:
        silent.began(NAME)
    assert silent.now.state == "done"


def test_a_pass_over_parts_has_a_line_that_goes() -> None:
    console = screen(80)
    steps = Steps(Bar(console))
    for done in (1, 2, 3):
        steps.part(done, 3)
    steps.close()
    _, first, second, end = shown(console).split("\r\033[K")
    assert (first, end) == ("looking through the files: part 1 of 3, 0 s left", "")
    assert second.startswith("looking through the files: part 2 of 3, ")
