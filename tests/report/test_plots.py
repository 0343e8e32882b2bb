import json
import math
import sys
from dataclasses import replace
from typing import Any

import altair as alt
import pytest
from hand_made_summary import hand_made_summary
from hypothesis import given
from hypothesis import strategies as st
from large_summary import large_summary

from sfumato.compare.examine.findings import CoefficientChange, VariableDetail
from sfumato.compare.figures import Figure
from sfumato.errors import ParameterError
from sfumato.report import map_plot, plots
from sfumato.report.map_plot import Scale, axis_scale
from sfumato.report.summary import Bound, CandidateLine, Summary, from_json, to_json
from sfumato.report.vega import altair


@pytest.fixture(scope="module")
def summary() -> Summary:
    return hand_made_summary()


def _values(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of a layer, which stand in the layer or by name at the top."""
    found: list[dict[str, Any]] = layer["data"].get("values") or spec["datasets"][layer["data"]["name"]]
    return found


def test_the_map_draws_every_candidate_that_has_both_figures(summary: Summary) -> None:
    spec = map_plot.risk_utility_map(summary)
    marks = [layer for layer in spec["layer"] if "shape" in layer["encoding"]]
    assert len(marks) == 1
    assert len(_values(spec, marks[0])) == 4  # the fifth has no figures


def test_who_breaks_a_bound_on_neither_axis_is_drawn_open_and_the_bound_is_named(summary: Summary) -> None:
    scores = {c.label: c.figures["Score()"].value for c in summary.on_map}
    limit = sorted(scores.values())[1]  # two keep it
    bounds = (*summary.bounds, Bound("Score()", "Score", limit, f"at most {limit:g}"))
    bounded = replace(summary, bounds=bounds)
    spec = map_plot.risk_utility_map(bounded)
    hollow, filled = (layer for layer in spec["layer"] if "shape" in layer["encoding"])
    assert hollow["mark"]["filled"] is False and filled["mark"]["filled"] is True
    assert [layer["transform"][0]["filter"] for layer in (hollow, filled)] == ["datum.breaks", "!datum.breaks"]
    breaking = {p["label"] for p in spec["datasets"]["points"] if p["breaks"]}
    assert breaking == {label for label, score in scores.items() if score > limit}
    words = " ".join(spec["title"]["text"])
    assert "open marks" in words and f"Score at most {limit:g}" in words and "DistanceLinkage" not in words
    assert f"{len(breaking)} break Score at most {limit:g}" in map_plot.map_in_words(bounded)
    assert "title" not in map_plot.risk_utility_map(summary)  # its one bound is an axis


def test_who_lacks_the_figure_cannot_be_said_to_keep_the_bound(summary: Summary) -> None:
    bound = Bound("Score()", "Score", 1e9, "at most 1e9")
    lacking = summary.candidates[-1]
    assert summary.broken(lacking, (bound,)) == (bound,)
    assert summary.broken(summary.candidates[0], (bound,)) == ()


def test_the_original_is_a_point_of_its_own_on_axes_that_hold_it(summary: Summary) -> None:
    figures = {"DistanceLinkage()": Figure(0.9, "90 %"), "InformationLoss()": Figure(0.0, "0")}
    with_it = replace(summary, original=CandidateLine("original", "original", 0, figures))
    assert axis_scale(with_it, with_it.measure("DistanceLinkage()")).place(0.9) <= 1
    assert from_json(to_json(with_it)) == with_it
    text = json.dumps(map_plot.risk_utility_map(with_it))
    assert "original, unprotected" in text and "The original: 90 %, 0." in text
    alt.Chart.from_dict(map_plot.risk_utility_map(with_it)).to_dict()
    for bare in (summary, replace(with_it, original=replace(with_it.original, figures={}))):  # type: ignore[type-var]
        assert "unprotected" not in json.dumps(map_plot.risk_utility_map(bare))


def test_labels_are_the_short_names_where_there_are_some(summary: Summary) -> None:
    first = replace(summary.candidates[0], short="swap a tenth")
    assert (first.name, summary.candidates[1].name) == ("swap a tenth", "MDAV(k=5)")
    named = replace(summary, candidates=(first, *summary.candidates[1:]))
    assert named.chosen is not None and "Chosen: swap a tenth" in map_plot.map_in_words(named)
    spec = map_plot.risk_utility_map(named)
    assert {p["short"] for p in spec["datasets"]["points"]} >= {"swap a tenth", "MDAV(k=5)"}
    assert "swap a tenth" in plots.score_bars(named)["layer"][0]["encoding"]["y"]["sort"]
    same = replace(
        named, candidates=(first, replace(summary.candidates[1], short="swap a tenth"), *summary.candidates[2:])
    )
    assert "MDAV(k=5)" in plots.score_bars(same)["layer"][0]["encoding"]["y"]["sort"]  # two of one name keep their own


def test_the_bound_is_a_rule_with_its_side_shaded(summary: Summary) -> None:
    kinds = [layer["mark"]["type"] for layer in map_plot.risk_utility_map(summary)["layer"]]
    assert kinds[:2] == ["rect", "rule"]


def test_the_axes_say_what_and_which_way(summary: Summary) -> None:
    text = json.dumps(map_plot.risk_utility_map(summary))
    assert "Disclosure risk: records correctly linked" in text
    assert "(share, lower is better" in text


def test_the_score_adds_up(summary: Summary) -> None:
    spec = plots.score_bars(summary)
    values = _values(spec, spec["layer"][0])
    first = [v["value"] for v in values if v["label"] == "RankSwapping(p=0.1)"]
    assert sum(first) == pytest.approx(21.0 / 2 + 50 * 0.03)


def test_the_map_in_words_names_the_frontier_and_the_chosen_one(summary: Summary) -> None:
    words = map_plot.map_in_words(summary)
    assert "Noise(scale=0.1)" in words
    assert "Chosen: RankSwapping(p=0.1)" in words


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_every_value_is_on_its_axis(values: list[float]) -> None:
    scale = Scale.of(values)
    places = [scale.place(value) for value in values]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert all(0 <= scale.place(tick) <= 1 for tick in scale.round_values())


def test_an_axis_is_logarithmic_only_where_a_few_lie_far_out() -> None:
    assert Scale.of([1.0, 2.0, 3.0]).constant is None
    scale = Scale.of([1.0, 2.0, 1000.0])
    assert scale.constant == 1.0  # half the median
    # log(1 + 2/1) / log(1 + 1300/1), the axis ending at 1.3 times the largest
    assert scale.place(2.0) == pytest.approx(math.log(3) / math.log(1301))


def test_every_picture_is_valid_vega_lite(summary: Summary) -> None:
    assert summary.detail is not None
    useful = large_summary(5, 4).detail
    assert useful is not None and useful.usefulness is not None
    unjudged = replace(useful.usefulness.drawn[0], utility=None)
    crossed = replace(useful.usefulness, drawn=(unjudged, *useful.usefulness.drawn[1:]))
    change = CoefficientChange("y ~ x", "x", (1.0, 0.0, 2.0), (2.0, 1.0, 3.0), 0.5)
    with_bars = replace(summary, over_records={"DistanceLinkage()": (0.01, 0.05), "InformationLoss()": (20.0, 22.0)})
    first = replace(summary.candidates[0], figures={**summary.candidates[0].figures, "Score()": Figure(1.0, "1")})
    bounds = (*summary.bounds, Bound("InformationLoss()", "InformationLoss", 25.0, "at most 25"))
    specs = [
        map_plot.risk_utility_map(with_bars),
        map_plot.risk_utility_map(replace(summary, bounds=bounds), width="container"),
        plots.score_bars(replace(summary, candidates=(first, *summary.candidates[1:]))),
        *(plots.before_and_after(variable) for variable in summary.detail.variables[:3]),
        plots.interval_plot((change,)),
        plots.pair_heat_map(crossed),
        plots.utility_bars(useful.usefulness),
    ]
    for spec in specs:
        alt.Chart.from_dict(spec).to_dict()  # validates


def test_gaps_are_drawn_as_the_last_bars_and_beside_a_histogram() -> None:
    numbers = VariableDetail(
        "x",
        "numeric",
        0.5,
        edges=(0.0, 1.0, 2.0),
        shares_before=(0.5, 0.5),
        shares_after=(1.0, 0.0),
        missing_shares=(0.1, 0.4),
        suppressed=0.3,
    )
    left, right = plots.before_and_after(numbers)["hconcat"]
    gaps = {(row["bin"], row["table"]): row["share"] for row in right["data"]["values"]}
    assert gaps["suppressed", "protected"] == 0.3 and gaps["suppressed", "original"] == 0.0
    assert gaps["missing", "protected"] == pytest.approx(0.1)
    drawn = [row["share"] for row in left["data"]["values"]]
    assert drawn == pytest.approx([0.45, 0.45, 0.6, 0.0])  # of all records, 10 % and 40 % of which have no value
    coded = replace(numbers, edges=(), categories=("a", "missing"))
    spec = plots.before_and_after(coded)
    assert spec["encoding"]["x"]["sort"] == ["a", "missing", "(missing)", "suppressed"]  # one of them is an answer
    for one in (numbers, coded):
        alt.Chart.from_dict(plots.before_and_after(one)).to_dict()
    assert "suppressed 0.0 % before, 30.0 % after" in spec["description"]
    assert "hconcat" not in plots.before_and_after(replace(numbers, missing_shares=(0.0, 0.0), suppressed=0.0))


def test_intervals_are_drawn_in_units_of_the_originals() -> None:
    change = CoefficientChange("y ~ x", "x", (1.0, 0.0, 2.0), (2.0, 1.0, 3.0), 0.5)
    spec = plots.interval_plot((change,))
    assert "original's 95 % interval" in str(spec)
    # the original's half width is 1: the protected interval from 1 to 3 lies from 0 to 2 around the original's estimate
    assert [(row["low"], row["high"]) for row in _values(spec, spec["layer"][1])] == [(-1.0, 1.0), (0.0, 2.0)]


def test_without_altair_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match=r"need Altair.*pip install 'sfumato\[charts\]'"):
        altair()
