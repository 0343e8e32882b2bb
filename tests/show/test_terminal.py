from dataclasses import replace

import pytest
from hand_made_summary import hand_made_summary
from rich.console import Console

from sfumato.show.summary import Summary
from sfumato.show.terminal import candidates_table, pair_table, records_table, signs, text_map, uncomputed


@pytest.fixture(scope="module")
def summary() -> Summary:
    return hand_made_summary()


def _printed(thing: object, width: int = 80) -> str:
    console = Console(width=width, record=True, force_terminal=False, color_system=None)
    with console.capture() as captured:
        console.print(thing)
    return captured.get()


def test_figures_are_never_cut_at_80_columns(summary: Summary) -> None:
    text = _printed(candidates_table(summary))
    assert "3.0 % ± 0.5" in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[2].startswith("@")


def test_signs_explain_what_the_table_holds(summary: Summary) -> None:
    assert "! breaks the bound" in signs(summary)
    assert "@ chosen" in signs(summary)


def test_the_map_shows_the_chosen_one_and_the_bound(summary: Summary) -> None:
    text = _printed(text_map(summary))
    assert text.count("@") == 1
    assert text.count("|") >= 10


def test_no_map_without_axes(summary: Summary) -> None:
    assert text_map(replace(summary, risk=None)) is None


def test_markup_in_names_is_text(summary: Summary) -> None:
    line = replace(summary.candidates[0], label="[bold]x[/bold]")
    assert "[bold]x[/bold]" in _printed(candidates_table(replace(summary, candidates=(line,))))


def test_a_pair_shows_values_and_reasons(summary: Summary) -> None:
    failing = replace(summary, candidates=(summary.candidates[4],))
    (line,) = uncomputed(failing)
    assert line.startswith("not computed: ") and line.endswith("JPEG: too few records")
    assert "3.0 %" in _printed(pair_table(summary), 120)


def test_records_are_listed(summary: Summary) -> None:
    assert "17" in _printed(records_table(summary, 5))
    assert records_table(replace(summary, detail=None), 5) is None
