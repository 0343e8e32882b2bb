"""What the program gives on fixed tables is what is kept in ``expected/``: see ``CHANGES.md`` for what was wanted."""

import pytest

from golden.__main__ import EXPECTED, made, named
from golden.cases import all_cases
from golden.texts import differences

HELD = sorted(all_cases())


def test_every_case_has_its_text_and_every_text_its_case() -> None:
    assert sorted(path.stem for path in EXPECTED.glob("*.txt")) == HELD


@pytest.mark.parametrize("name", HELD)
def test_nothing_has_changed(name: str) -> None:
    expected = (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    unequal = differences(expected, made(name))
    assert not unequal, "\n".join(
        [f"if it is wanted: python -m golden write {name}, and a line in CHANGES.md", *unequal[:20]]
    )


def test_a_figure_that_moves_is_seen_and_the_last_digits_are_not() -> None:
    assert not differences("machine 1\nvalue 0.1234567891", "machine 1\nvalue 0.1234567892")
    assert differences("machine 1\nvalue 0.1234567", "machine 1\nvalue 0.1234568")
    assert differences("machine 1\npart a: 1", "machine 1\npart b: 1")
    assert differences("machine 1\nbytes ab", "machine 1\nbytes ac")
    assert not differences("machine 1\nbytes ab", "machine 2\nbytes ac")  # another processor


def test_a_line_more_or_less_is_the_one_difference() -> None:
    longer, shorter = "machine 1\na 1\nb 2\nc 3", "machine 1\nb 2\nc 3.0000000001"
    assert differences(shorter, longer) == ["line 2: made too, 'a 1'"]
    assert differences(longer, shorter) == ["line 2: not made, 'a 1'"]
    assert differences(longer, longer.replace("b", "d")) == ["line 3: expected 'b 2', made 'd 2'"]


def test_cases_are_named_by_patterns() -> None:
    assert named(["stub", "methods-f*"]) == ["methods-few", "stub"] and named([]) == list(all_cases())
    with pytest.raises(SystemExit, match="there is no case measure-few; there are measures-"):
        named(["measure-few"])
