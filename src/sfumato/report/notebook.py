"""Pictures for a notebook, as Altair charts: the map of results, and what a measurement has to show."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfumato.about import Purpose
from sfumato.compare.examine.variables import utility_found
from sfumato.compare.results import Results, Which
from sfumato.errors import ParameterError
from sfumato.measurement import Measurement
from sfumato.report.grades import arranged
from sfumato.report.map_plot import risk_utility_map
from sfumato.report.plots import pair_heat_map, pair_map, utility_bars
from sfumato.report.summarise import summarise
from sfumato.report.vega import AFTER, CONFIG, GREY, INK, Spec, altair, dressed, name, number, unit, values

SHOWN = 40  # bars of a chart


def plot(
    shown: Measurement | Results,
    *,
    risk: Which | None = None,
    utility: Which | None = None,
    at_most: Mapping[Any, float] | None = None,
    at_least: Mapping[Any, float] | None = None,
) -> Any:
    """Draw a measurement or results, as an Altair chart.

    Of a measurement it shows pairs and variables, records, or parts: what there is beyond the value. Of results it
    draws the risk-utility map, unless told by the first measure of risk and of utility, with the bounds given.
    """
    if isinstance(shown, Results):
        return _map_of(shown, risk, utility, at_most, at_least)
    if isinstance(shown, Measurement):
        return _plot_of(shown)
    raise ParameterError(f"plot: a measurement or results are needed; got {type(shown).__name__}")


def _map_of(
    results: Results,
    risk: Which | None,
    utility: Which | None,
    at_most: Mapping[Any, float] | None,
    at_least: Mapping[Any, float] | None,
) -> Any:
    summary = summarise(
        results,
        risk=risk if risk is not None else _first(results, "risk"),
        utility=utility if utility is not None else _first(results, "utility"),
        at_most=at_most,
        at_least=at_least,
    )
    if not summary.on_map:
        raise ParameterError("no candidate has both figures, so there is nothing to draw; see results.rows[0].reasons")
    return _chart(risk_utility_map(summary))


def _chart(spec: Spec) -> Any:
    return altair().Chart.from_dict(spec)


def _first(results: Results, purpose: Purpose) -> str:
    first = next((key for key, about in results.figures.items() if about.purpose == purpose), None)
    if first is None:
        raise ParameterError(f"a map needs a measure of {purpose}; there are {', '.join(results.figures)}")
    return first


def _plot_of(found: Measurement) -> Any:
    told = utility_found(found)
    if told is not None:
        useful = arranged(told)
        charts = [utility_bars(useful)] + ([pair_heat_map(useful)] if useful.drawn else [])
        return _chart(_beside(charts))
    if found.by_pair:
        drawn = [
            _bars(found, found.by_variable, "variable"),
            pair_map(found.about.title, found.by_pair, found.about),
        ]
        return _chart(_beside(drawn))
    if found.by_variable:
        return _chart(_bars(found, found.by_variable, "variable"))
    if found.by_record is not None:
        return _chart(_records(found, np.asarray(found.by_record, dtype=np.float64)))
    if found.parts:
        return _chart(_bars(found, found.parts, "part"))
    raise ParameterError(f"{found.measure} is one number, {found.value:.6g}; there is nothing to draw")


def _beside(charts: list[Spec]) -> Spec:
    bare = [{key: value for key, value in chart.items() if key != "config"} for chart in charts]
    return {"hconcat": bare, "config": CONFIG}


def _bars(found: Measurement, told: Mapping[str, float], what: str) -> Spec:
    worst = sorted(told.items(), key=lambda entry: entry[1], reverse=found.about.lower_is_better)[:SHOWN]
    rows = [{what: label, "value": value} for label, value in worst if np.isfinite(value)]
    encoding = {
        "y": name(what, sort=[str(row[what]) for row in rows], title=None, axis={"labelLimit": 240}),
        "x": number("value", title=f"{found.about.title} ({found.better} is better)", axis=_axis(found)),
        "tooltip": [name(what), number("value", format=".4g")],
    }
    return _picture(found, unit({"type": "bar", "color": AFTER}, encoding, data=values(rows)), f"by {what}")


def _records(found: Measurement, risks: Any) -> Spec:
    present = risks[np.isfinite(risks)]
    counts, edges = np.histogram(present, bins=np.linspace(present.min(), max(present.max(), present.min() + 1e-9), 31))
    rows = [
        {"low": float(low), "high": float(high), "records": int(records)}
        for low, high, records in zip(edges[:-1], edges[1:], counts, strict=True)
        if records
    ]
    encoding = {
        "x": number("low", title=f"{found.about.title}, record by record", axis=_axis(found)),
        "x2": {"field": "high"},
        "y": number("records", title="records", scale={"type": "symlog"}),
        "y2": {"datum": 0},
        "tooltip": [number("low", format=".3g"), number("high", format=".3g"), number("records")],
    }
    drawn = unit({"type": "rect", "color": AFTER, "stroke": GREY, "strokeWidth": 0.5}, encoding, data=values(rows))
    return _picture(found, {**drawn, "height": 220}, f"of {present.size} records")


def _picture(found: Measurement, drawn: Spec, words: str) -> Spec:
    shown = f"{100 * found.value:.3g} %" if found.about.unit == "share" else f"{found.value:.5g}"
    title = f"{found.measure} = {shown}"
    return dressed({**drawn, "title": title, "width": 420, "description": f"{found.measure} {words}"})


def _axis(found: Measurement) -> Spec:
    return {"format": ".3~p" if found.about.unit == "share" else ",.6~g", "tickCount": 6, "titleColor": INK}
