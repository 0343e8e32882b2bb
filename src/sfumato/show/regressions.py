"""Regressions of the original and the protected table side by side: estimates and intervals."""

from typing import Any

from sfumato.data.microdata import Microdata
from sfumato.errors import SfumatoError
from sfumato.show.plots import AFTER, BEFORE, GREY, dressed
from sfumato.show.summary import CoefficientChange
from sfumato.utility import IntervalOverlap

LISTED = 12
WIDE = 24  # numeric variables up to which every simple regression is fitted unasked


def coefficients_of(
    asked: IntervalOverlap | None, original: Microdata, protected: Microdata
) -> tuple[CoefficientChange, ...]:
    """Return the slopes whose intervals overlap least; none where no regression can be fitted to both tables.

    Unless models were asked for, these are the simple regressions of every numeric variable on every other; of more
    than a couple of dozen variables none, for there would be too many.
    """
    if asked is None and len(original.schema.analysed("numeric")) > WIDE:
        return ()
    try:
        rows = (asked or IntervalOverlap()).table(original, protected, kind="pyarrow").to_pylist()
    except SfumatoError:
        return ()
    slopes = [row for row in rows if row["coefficient"] != "Intercept"]
    worst = sorted(slopes, key=lambda row: row["overlap"])[:LISTED]
    found = (
        CoefficientChange(
            model=row["model"],
            coefficient=row["coefficient"],
            before=(row["original estimate"], row["original low"], row["original high"]),
            after=(row["protected estimate"], row["protected low"], row["protected high"]),
            overlap=row["overlap"],
        )
        for row in worst
    )
    return tuple(change for change in found if change.before != change.after)  # what has not moved is not listed


def interval_plot(found: tuple[CoefficientChange, ...], *, width: int = 420) -> Any:
    """Draw both intervals of each coefficient, in units in which the original's reaches from -1 to 1."""
    import altair as alt

    values = []
    for change in found:
        centre, low, high = change.before
        half = (high - low) / 2 or 1.0
        for table, (estimate, start, end) in (("original", change.before), ("protected", change.after)):
            values.append(
                {
                    "name": f"{change.coefficient} in {change.model}",
                    "table": table,
                    "estimate": (estimate - centre) / half,
                    "low": (start - centre) / half,
                    "high": (end - centre) / half,
                    "said": f"{estimate:.4g} ({start:.4g} to {end:.4g})",
                }
            )
    colour = alt.Color(
        "table:N",
        scale=alt.Scale(domain=["original", "protected"], range=[BEFORE, AFTER]),
        legend=alt.Legend(title=None, orient="top", symbolType="square"),
    )
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y(
            "name:N",
            sort=[f"{change.coefficient} in {change.model}" for change in found],
            title=None,
            axis=alt.Axis(labelLimit=280, ticks=False, domain=False),
        ),
        yOffset=alt.YOffset("table:N", sort=["original", "protected"]),
        color=colour,
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("table:N"), alt.Tooltip("said:N", title="estimate")],
    )
    title = "the original's 95 % interval reaches from -1 to 1"
    rules = base.mark_rule(strokeWidth=2.4).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    points = base.mark_point(filled=True, size=38).encode(x=alt.X("estimate:Q", title=title))
    edges = alt.Chart(alt.InlineData(values=[{"x": -1}, {"x": 1}])).mark_rule(color=GREY, strokeDash=[3, 3])
    words = f"Intervals of {len(found)} regression coefficients in the original and the protected table"
    return dressed(
        alt.layer(edges.encode(x="x:Q"), rules, points).properties(
            width=width, height=max(28 * len(found), 60), description=words
        )
    )
