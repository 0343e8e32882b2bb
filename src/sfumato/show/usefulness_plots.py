"""The pictures of what a file is still good for: a heat map of the pairs, bars of the variables."""

from typing import Any

from sfumato.show.plots import AFTER, BEFORE, GREY, INK, PALE, WARN, dressed
from sfumato.show.summary import Usefulness, VariableUtility
from sfumato.show.usefulness import DRAWN


def pair_heat_map(found: Usefulness, *, width: int | None = None) -> Any:
    """Draw how much of each association is left: a square per pair, crossed where the two cannot be compared."""
    import altair as alt

    variables = found.variables[:DRAWN]
    titles = _titles(variables)
    order = [titles[v.name] for v in variables]
    cells = [
        {
            "a": titles[one],
            "b": titles[other],
            "utility": pair.utility,
            "said": "–" if pair.utility is None else f"{pair.utility:.2f}",
            "test": pair.test,
            "before": _coefficient(pair.before),
            "after": _coefficient(pair.after),
            "reason": pair.reason,
        }
        for pair in found.drawn
        for one, other in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    size = max(9, min(26, 620 // max(len(order), 1)))
    side = width or size * len(order)
    x = alt.X("a:N", sort=order, title=None, axis=alt.Axis(labelAngle=-50, labelLimit=150, ticks=False, domain=False))
    y = alt.Y("b:N", sort=order, title=None, axis=alt.Axis(labelLimit=170, ticks=False, domain=False))
    tooltip = [
        alt.Tooltip("a:N", title="variable"),
        alt.Tooltip("b:N", title="with"),
        alt.Tooltip("said:N", title="utility"),
        alt.Tooltip("reason:N", title="what happened"),
        alt.Tooltip("test:N"),
        alt.Tooltip("before:N", title="original"),
        alt.Tooltip("after:N", title="protected"),
    ]
    base = alt.Chart(alt.InlineData(values=cells)).encode(x=x, y=y, tooltip=tooltip)
    colour = alt.Color(
        "utility:Q",
        scale=alt.Scale(domain=[0, 0.5, 1], range=[WARN, "#e8c9a0", AFTER]),
        legend=alt.Legend(
            title="utility of the pair (1 is as before)", orient="bottom", gradientLength=220, format=".1f"
        ),
    )
    judged = base.transform_filter("isValid(datum.utility)").mark_rect(stroke="white", strokeWidth=1)
    unjudged = base.transform_filter("!isValid(datum.utility)")
    layers = [judged.encode(color=colour)]
    if any(cell["utility"] is None for cell in cells):
        layers += [
            unjudged.mark_rect(color=PALE, stroke="white", strokeWidth=1),
            unjudged.mark_text(text="×", color=INK, fontSize=max(8, size - 10)),
        ]
    words = f"Heat map of {len(order)} variables: the utility of each pair from 0 to 1; " + "; ".join(
        f"{number}: {reason}" for reason, number in found.counts
    )
    return dressed(alt.layer(*layers).properties(width=side, height=side, description=words))


def utility_bars(found: Usefulness, *, width: Any = 420) -> Any:
    """Draw the utility of each variable alone and of its pairs, the least useful first."""
    import altair as alt

    variables = found.variables[:DRAWN]
    titles = _titles(variables)
    kinds = ("its distribution", "its associations (mean)")
    values = [
        {"variable": titles[v.name], "of": of, "utility": value, "distance": _coefficient(v.distance), "note": v.note}
        for v in variables
        for of, value in zip(kinds, (v.utility, v.pairs), strict=True)
        if value is not None
    ]
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar()
        .encode(
            y=alt.Y(
                "variable:N",
                sort=[titles[v.name] for v in variables],
                title=None,
                axis=alt.Axis(labelLimit=200, ticks=False, domain=False),
            ),
            yOffset=alt.YOffset("of:N", sort=list(kinds)),
            x=alt.X("utility:Q", title="utility (1 is as before)", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "of:N",
                scale=alt.Scale(domain=list(kinds), range=[BEFORE, AFTER]),
                legend=alt.Legend(title=None, orient="top", symbolType="square"),
            ),
            tooltip=[
                alt.Tooltip("variable:N"),
                alt.Tooltip("of:N"),
                alt.Tooltip("utility:Q", format=".3f"),
                alt.Tooltip("distance:N", title="distance between the distributions"),
                alt.Tooltip("note:N"),
            ],
        )
    )
    words = f"Bars of the utility of {len(variables)} variables, each alone and in the mean of its pairs"
    rule = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_rule(color=GREY).encode(x="x:Q")
    return dressed(
        alt.layer(chart, rule).properties(width=width, height=max(26 * len(variables), 60), description=words)
    )


def _titles(variables: tuple[VariableUtility, ...]) -> dict[str, str]:
    """Return what each variable is called; two of the same label go by their names too."""
    titles = [v.title for v in variables]
    return {v.name: v.title if titles.count(v.title) == 1 else f"{v.title} ({v.name})" for v in variables}


def _coefficient(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
