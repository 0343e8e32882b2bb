from dataclasses import replace

import pytest
from hand_made_summary import hand_made_summary
from rich.console import Console

from sfumato.report.summary import Change, Summary
from sfumato.report.terminal import (
    candidates_table,
    deciding_table,
    pair_table,
    records_table,
    rest,
    signs,
    verdict_text,
)


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


def test_a_candidate_takes_one_line_and_its_end_stays(summary: Summary) -> None:
    name = "coarse 4 · remove region, rent · coarse · k=3 · rank swap · weights (2)"
    longer = replace(summary, candidates=(replace(summary.candidates[0], short=name), summary.candidates[1]))
    rows = _printed(candidates_table(longer)).splitlines()
    (row,) = (line for line in rows if "coarse 4" in line)
    assert "…" in row and "hts (2)" in row and max(map(len, rows)) <= 80


def test_what_decides_is_what_is_bounded_and_what_is_optimised(summary: Summary) -> None:
    changes = (
        Change("Risk R", "40 %", "3 %", bound="at most 5 %", kept=True),
        Change("largest chance of a record", "100 %", "12 %", part=True),
        Change("register: violating k", "60 %", "1 %", part=True),
        Change("Another risk", "9 %", "1 %"),
        Change("largest chance of a pair", "9 %", "1 %", part=True),
    )
    text = _printed(deciding_table(replace(summary, verdict=replace(summary.verdict, changes=changes))))
    assert "at most 5 % kept" in text and "largest chance of a record" in text
    assert "violating" not in text and "Another" not in text and "pair" not in text


def test_long_sentences_end_and_the_report_has_the_rest(summary: Summary) -> None:
    words = "word " * 200
    verdict = replace(summary.verdict, publish=True, done=words, warnings=(words, words, words), advice=())
    lines = str(verdict_text(replace(summary, verdict=verdict), 80)).splitlines()
    assert sum("…" in line for line in lines) >= 3
    assert lines[-3].startswith("! … and 1 more in the report") or "! … and 1 more in the report" in lines
    assert len(str(verdict_text(replace(summary, verdict=verdict)))) > 4 * len(words)  # nothing is cut without a width


def test_the_candidates_are_counted(summary: Summary) -> None:
    number = len(summary.candidates)
    assert rest(summary, 1).startswith(f"{number} candidates")
    assert "the rest and all warnings are in the report" in rest(summary, 1)
    assert "the rest" not in rest(summary, number)


def test_markup_in_names_is_text(summary: Summary) -> None:
    line = replace(summary.candidates[0], label="[bold]x[/bold]")
    assert "[bold]x[/bold]" in _printed(candidates_table(replace(summary, candidates=(line,))))


def test_a_pair_shows_values_and_reasons(summary: Summary) -> None:
    failing = replace(summary, candidates=(summary.candidates[4],))
    ((reason, _),) = failing.uncomputed
    assert reason.endswith("JPEG: too few records")
    assert "3.0 %" in _printed(pair_table(summary), 120)


def test_records_are_listed(summary: Summary) -> None:
    assert "17" in _printed(records_table(summary, 5))
    assert records_table(replace(summary, detail=None), 5) is None
