"""Pictures for a notebook: the map of results, and what a measurement has to show."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.about import Purpose
from sfumato.compare.results import Results, Which
from sfumato.core import Measurement
from sfumato.errors import ParameterError
from sfumato.show.plots import AFTER, GREY, INK, dressed, risk_utility_map
from sfumato.show.summarise import summarise
from sfumato.show.usefulness import usefulness_of
from sfumato.show.usefulness_plots import pair_heat_map, utility_bars

SHOWN = 40  # bars of a chart


def map_of(
    results: Results,
    risk: Which | None = None,
    utility: Which | None = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
) -> Any:
    """Draw the risk-utility map of results; where no axis is named, by the first measure of risk and of utility."""
    summary = summarise(
        results,
        risk=risk if risk is not None else _first(results, "risk"),
        utility=utility if utility is not None else _first(results, "utility"),
        at_most=at_most,
        at_least=at_least,
        detail=False,
    )
    if not summary.on_map:
        raise ParameterError("no candidate has both figures, so there is nothing to draw; see results.rows[0].reasons")
    return risk_utility_map(summary)


def _first(results: Results, purpose: Purpose) -> str:
    first = next((key for key, about in results.figures.items() if about.purpose == purpose), None)
    if first is None:
        raise ParameterError(f"a map needs a measure of {purpose}; there are {', '.join(results.figures)}")
    return first


def plot_of(found: Measurement) -> Any:
    """Draw what a measurement has to show: its pairs and variables, its records, or its parts."""
    useful = usefulness_of(found)
    if useful is not None:
        import altair as alt

        charts = [utility_bars(useful)] + ([pair_heat_map(useful)] if useful.drawn else [])
        return _joined(alt, charts)
    if found.by_variable:
        return _bars(found, found.by_variable, "variable")
    if found.by_record is not None:
        return _records(found, np.asarray(found.by_record, dtype=np.float64))
    if found.parts:
        return _bars(found, found.parts, "part")
    raise ParameterError(f"{found.measure} is one number, {found.value:.6g}; there is nothing to draw")


def _joined(alt: Any, charts: list[Any]) -> Any:
    """Put charts side by side under one configuration."""
    specs = [chart.to_dict() for chart in charts]
    configuration = specs[0]["config"]
    for spec in specs:
        spec.pop("config")
    return alt.Chart.from_dict({"$schema": specs[0]["$schema"], "hconcat": specs, "config": configuration})


def _bars(found: Measurement, values: Mapping[str, float], what: str) -> Any:
    import altair as alt

    worst = sorted(values.items(), key=lambda entry: entry[1], reverse=found.better == "lower")[:SHOWN]
    rows = [{what: name, "value": value} for name, value in worst if np.isfinite(value)]
    chart = (
        alt.Chart(alt.InlineData(values=rows), title=_title(found))
        .mark_bar(color=AFTER)
        .encode(
            y=alt.Y(f"{what}:N", sort=[str(row[what]) for row in rows], title=None, axis=alt.Axis(labelLimit=240)),
            x=alt.X("value:Q", title=f"{found.about.title} ({found.better} is better)", axis=_axis(found)),
            tooltip=[alt.Tooltip(f"{what}:N"), alt.Tooltip("value:Q", format=".4g")],
        )
    )
    return dressed(chart.properties(width=420, description=f"{found.measure} by {what}"))


def _records(found: Measurement, risks: Any) -> Any:
    import altair as alt

    present = risks[np.isfinite(risks)]
    counts, edges = np.histogram(present, bins=np.linspace(present.min(), max(present.max(), present.min() + 1e-9), 31))
    rows = [
        {"low": float(low), "high": float(high), "records": int(number)}
        for low, high, number in zip(edges[:-1], edges[1:], counts, strict=True)
        if number
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows), title=_title(found))
        .mark_rect(color=AFTER, stroke=GREY, strokeWidth=0.5)
        .encode(
            x=alt.X("low:Q", title=f"{found.about.title}, record by record", axis=_axis(found)),
            x2="high:Q",
            y=alt.Y("records:Q", title="records", scale=alt.Scale(type="symlog")),
            y2=alt.datum(0),
            tooltip=[alt.Tooltip("low:Q", format=".3g"), alt.Tooltip("high:Q", format=".3g"), "records:Q"],
        )
    )
    return dressed(chart.properties(width=420, height=220, description=f"{found.measure} of {present.size} records"))


def _axis(found: Measurement) -> Any:
    import altair as alt

    return alt.Axis(format=".3~p" if found.about.unit == "share" else ",.6~g", tickCount=6, titleColor=INK)


def _title(found: Measurement) -> str:
    shown = f"{100 * found.value:.3g} %" if found.about.unit == "share" else f"{found.value:.5g}"
    return f"{found.measure} = {shown}"
