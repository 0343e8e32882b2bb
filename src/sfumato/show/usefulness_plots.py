"""The pictures of what a file is still good for: a heat map of the pairs, bars of the variables."""

from sfumato.compare.examine.findings import VariableUtility
from sfumato.show.summary import Usefulness
from sfumato.show.usefulness import DRAWN
from sfumato.show.vega import AFTER, BARE, BEFORE, GREY, INK, PALE, WARN, Spec, dressed, name, number, unit, values


def pair_heat_map(found: Usefulness, *, width: int | None = None) -> Spec:
    """Draw how much of each association is left: a square per pair, crossed if the two cannot be compared."""
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
    base = {
        "x": name("a", sort=order, title=None, axis={"labelAngle": -50, "labelLimit": 150, **BARE}),
        "y": name("b", sort=order, title=None, axis={"labelLimit": 170, **BARE}),
        "tooltip": [
            name("a", title="variable"),
            name("b", title="with"),
            name("said", title="utility"),
            name("reason", title="what happened"),
            name("test"),
            name("before", title="original"),
            name("after", title="protected"),
        ],
    }
    legend = {
        "title": "utility of the pair (1 is as before)",
        "orient": "bottom",
        "gradientLength": 220,
        "format": ".1f",
    }
    colour = number("utility", scale={"domain": [0, 0.5, 1], "range": [WARN, "#e8c9a0", AFTER]}, legend=legend)
    square = {"type": "rect", "stroke": "white", "strokeWidth": 1}
    layers = [unit(square, {**base, "color": colour}, transform=[{"filter": "isValid(datum.utility)"}])]
    if any(cell["utility"] is None for cell in cells):
        unjudged = [{"filter": "!isValid(datum.utility)"}]
        cross = {"type": "text", "text": "×", "color": INK, "fontSize": max(8, size - 10)}
        layers += [unit({**square, "color": PALE}, base, transform=unjudged), unit(cross, base, transform=unjudged)]
    words = f"Heat map of {len(order)} variables: the utility of each pair from 0 to 1; " + "; ".join(
        f"{number_}: {outcome}" for outcome, number_ in found.counts
    )
    return dressed({"data": values(cells), "layer": layers, "width": side, "height": side, "description": words})


def utility_bars(found: Usefulness, *, width: int = 420) -> Spec:
    """Draw the utility of each variable alone and of its pairs, the least useful first."""
    variables = found.variables[:DRAWN]
    titles = _titles(variables)
    kinds = ["its distribution", "its associations (mean)"]
    rows = [
        {"variable": titles[v.name], "of": of, "utility": value, "distance": _coefficient(v.distance), "note": v.note}
        for v in variables
        for of, value in zip(kinds, (v.utility, v.pairs), strict=True)
        if value is not None
    ]
    encoding = {
        "y": name("variable", sort=[titles[v.name] for v in variables], title=None, axis={"labelLimit": 200, **BARE}),
        "yOffset": name("of", sort=kinds),
        "x": number("utility", title="utility (1 is as before)", scale={"domain": [0, 1]}),
        "color": name(
            "of",
            scale={"domain": kinds, "range": [BEFORE, AFTER]},
            legend={"title": None, "orient": "top", "symbolType": "square"},
        ),
        "tooltip": [
            name("variable"),
            name("of"),
            number("utility", format=".3f"),
            name("distance", title="distance between the distributions"),
            name("note"),
        ],
    }
    words = f"Bars of the utility of {len(variables)} variables, each alone and in the mean of its pairs"
    rule = unit({"type": "rule", "color": GREY}, {"x": number("x")}, data=values([{"x": 1}]))
    height = max(26 * len(variables), 60)
    layers = [unit("bar", encoding, data=values(rows)), rule]
    return dressed({"layer": layers, "width": width, "height": height, "description": words})


def _titles(variables: tuple[VariableUtility, ...]) -> dict[str, str]:
    """Return what each variable is called; two of the same label go by their names too."""
    titles = [v.title for v in variables]
    return {v.name: v.title if titles.count(v.title) == 1 else f"{v.title} ({v.name})" for v in variables}


def _coefficient(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
