"""A summary goes to JSON and back, and every renderer reads it alone."""

import gc
import json
import math
import re
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hand_made_summary import hand_made_summary
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato
from sfumato.compare import plain
from sfumato.compare.examine.findings import Examination, Resampled, VariableDetail
from sfumato.compare.figures import Figure
from sfumato.errors import FileError
from sfumato.outcome import Reason, Status
from sfumato.report.summary import CandidateLine, Summary, from_json, to_json

RISK, UTILITY = "DistanceLinkage", "GlobalDataUtility"
BOUND = {RISK: 0.9}


def survey_results() -> sfumato.Results:
    survey = sfumato.household_survey(60)
    methods = [sfumato.RankSwapping(0.2), sfumato.MDAV(3), sfumato.MDAV(1000)]  # the last needs more records
    measures = [sfumato.DistanceLinkage(known=2), sfumato.GlobalDataUtility(), sfumato.IndividualRisk()]
    return sfumato.Experiment(survey, methods, measures, replicates=2, seed=3).run()


def examined(results: sfumato.Results) -> tuple[Summary, Examination]:
    chosen = results.choose(utility=UTILITY, at_most=BOUND).chosen
    assert chosen is not None
    found = sfumato.examine(results, chosen, risk=RISK, utility=UTILITY)
    return sfumato.summarise(results, found, risk=RISK, utility=UTILITY, at_most=BOUND, file="survey.csv"), found


@pytest.fixture(scope="module")
def whole() -> tuple[Summary, Examination]:
    return examined(survey_results())


def test_a_summary_with_everything_in_it_reads_back_as_it_was(whole: tuple[Summary, Examination]) -> None:
    summary, found = whole
    detail = summary.detail
    assert detail is not None and detail.usefulness is not None and detail.release is not None
    assert detail.records and detail.coefficients and detail.parts and summary.over_records and summary.failed
    assert from_json(to_json(summary)) == summary
    assert plain.from_json(Examination, plain.to_json(found, exact=True)) == found


def test_a_summary_made_by_hand_reads_back() -> None:
    summary = hand_made_summary()
    assert from_json(to_json(summary)) == summary


@given(
    st.floats(),
    st.floats(),
    st.text(),
    st.none() | st.floats(),
    st.sampled_from(Status),
    st.lists(st.floats(0, 1), max_size=3),
)
@settings(max_examples=60)
def test_any_number_and_any_text_read_back(
    value: float, low: float, text: str, error: float | None, status: Status, shares: list[float]
) -> None:
    line = CandidateLine(
        text, text, 1, {text: Figure(value, text, error)}, reasons={text: Reason(status, text, who=text, lacking=2)}
    )
    detail = VariableDetail(text, "nominal", error, shares_before=tuple(shares), shares_after=tuple(shares))
    resampled = Resampled(value, (low, value), "pairs", 3, 4, shifted=low != value)
    for thing in (line, detail, resampled):
        written = plain.to_json(thing, exact=True)
        again = plain.from_json(type(thing), written)
        assert plain.to_json(again, exact=True) == written  # a number that is no number equals none, but its text does
        if not any(math.isnan(number) for number in (value, low, error or 0.0)):
            assert again == thing
        json.loads(written, parse_constant=pytest.fail)  # strict: no NaN in the text


def test_what_is_no_summary_is_refused() -> None:
    told: dict[str, Any] = json.loads(to_json(hand_made_summary()))
    for broken in ({}, {**told, "news": 1}, {**told, "records": "many"}, {**told, "kind": "poem"}, [told]):
        with pytest.raises(FileError, match="holds no Summary of this version"):
            from_json(json.dumps(broken))
    with pytest.raises(FileError, match="holds no Summary"):
        from_json("not even JSON")
    with pytest.raises(TypeError, match="no JSON for object"):
        plain.to_json(object())
    assert plain.to_plain({"a": math.nan, "b": (1, True, None)}) == {"a": None, "b": [1, True, None]}


def test_renderers_need_nothing_but_the_summary(tmp_path: Path) -> None:
    results = survey_results()
    data = weakref.ref(results.original)
    summary, found = examined(results)
    straight = sfumato.write_report(summary, tmp_path / "straight")
    text = to_json(summary)
    del results, summary, found
    gc.collect()
    assert data() is None  # the tables are gone
    again = from_json(text)
    folder = sfumato.write_report(again, tmp_path / "again").parent
    sfumato.write_report(again, tmp_path / "release", audience="external")
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert {"report.html", "report.md", "results.json", "plots/map.svg", "plots/pairs.png"} <= set(names)
    for name in names:
        assert drawn_alike(folder / name) == drawn_alike(straight.parent / name), name


def drawn_alike(path: Path) -> bytes:
    """Read a file without the numbers of gradients, which count on within a process."""
    found = re.sub(rb"gradient_\d+", b"gradient", path.read_bytes())
    return re.sub(rb'src="data:image[^"]*"', b"", found) if path.suffix == ".html" else found


def test_the_terminal_reads_the_summary_alone(whole: tuple[Summary, Examination]) -> None:
    from rich.console import Console

    from sfumato.report.terminal import candidates_table, deciding_table, records_table, verdict_text

    def shown(summary: Summary) -> str:
        console = Console(width=100, record=True, quiet=True)
        records = records_table(summary, 5)
        deciding = deciding_table(summary)
        assert records is not None and deciding is not None
        for part in (candidates_table(summary), verdict_text(summary), records, deciding):
            console.print(part)
        return console.export_text()

    assert shown(from_json(to_json(whole[0]))) == shown(whole[0])


def test_a_summary_without_detail_reads_back(whole: tuple[Summary, Examination]) -> None:
    bare = replace(whole[0], detail=None, over_records={}, resampling=())
    assert from_json(to_json(bare)) == bare
