"""Makes the figures and pictures of the page "The measures on one example": run it to make them anew.

Writes img/background.json (every figure on the page), img/background-*.svg, and the two tables in background.md.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from sfumato import Microdata, NotApplicable
from sfumato.core import Measure
from sfumato.measurement import Measurement

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "img" / "background.json", HERE / "background.md"
KEYS = ("region", "sex", "education", "occupation")
AMOUNTS = ("age", "hours", "earnings", "wealth")
MODEL = "earnings ~ age + I(age**2) + hours"
DRAWN = 250  # records of each file in the scatter plots
SEED = 1


def people() -> Microdata:
    """Return the working persons of the demonstration survey, with four keys and four amounts."""
    survey = sfumato.household_survey(households=700)
    columns = survey.columns
    working = (columns["hours"] > 0) & (columns["earnings"] > 0) & ~np.isnan(columns["wealth"])
    names = ("weight", *KEYS, *AMOUNTS)
    table = survey.to_arrow().select(list(names)).filter(pa.array(working))
    roles: Mapping[str, Any] = dict.fromkeys(KEYS, "key") | {"earnings": "confidential", "wealth": "confidential"}
    variables = tuple(replace(survey.schema[name], role=roles.get(name, "other")) for name in names)
    return Microdata.from_frame(table, sfumato.Schema(variables, weight="weight"))


def columns_shuffled(data: Microdata) -> Microdata:
    """Return the table with every column but the weight in a random order of its own: no record is anyone's."""
    rng = np.random.default_rng(SEED)
    return data.replace({name: data.columns[name][rng.permutation(len(data))] for name in (*KEYS, *AMOUNTS)})


def protected(data: Microdata) -> dict[str, Microdata]:
    """Return the nine files, by their short names."""
    recoded = sfumato.GlobalRecoding(3, rare=0.1) + sfumato.LocalSuppression(3)
    methods: dict[str, sfumato.Method] = {
        "noise": sfumato.Noise(0.2, variables=AMOUNTS),
        "swapped": sfumato.RankSwapping(0.1, variables=AMOUNTS),
        "averaged": sfumato.MDAV(5, variables=AMOUNTS),
        "normal": sfumato.NormalSynthesis(variables=AMOUNTS),
    }
    files = {"copy": data} | {name: method.protect(data, rng=SEED) for name, method in methods.items()}
    files["shuffled"] = columns_shuffled(data)
    files["synthetic"] = sfumato.CARTSynthesis(5).protect(data, rng=SEED)
    files["half"] = sfumato.Sampling(0.5).protect(data, rng=SEED)
    files["recoded"] = recoded.protect(data, rng=SEED)
    return files


FILES = ("copy", "noise", "swapped", "averaged", "normal", "shuffled", "synthetic", "half", "recoded")


@dataclass(frozen=True)
class Row:
    """A measure on the page: its name, its figure (the value, or one made of its parts) and how to print it."""

    name: str
    measure: Measure
    figure: Callable[[Measurement], float] = float
    unit: str = ""  # "share" and "percent" as measures have it; "times" for a ratio to what chance gives

    @property
    def page(self) -> str:
        """The class, whose page the name links to."""
        return type(self.measure).__name__

    @property
    def form(self) -> str:
        """The unit in which the figure is printed."""
        return self.unit or self.measure.about.unit


def part(name: str) -> Callable[[Measurement], float]:
    """Return a figure that is a part of a measurement."""
    return lambda found: found.parts.get(name, 0.0)


def over_chance(found: Measurement) -> float:
    """Return cluster utility in units of what chance gives."""
    return found.value / found.parts["expected by chance"]


def rows() -> dict[str, tuple[Row, ...]]:
    """Return the measures of the page, those of utility and those of risk."""
    amounts: dict[str, Any] = {"variables": AMOUNTS}
    known: dict[str, Any] = {"known": (AMOUNTS,), "variables": AMOUNTS}
    samples, drawn = part("ratio, two samples"), part("ratio, permutation")
    tree = sfumato.PropensityUtility("tree", permutations=20, **amounts)
    earnings: dict[str, Any] = {"targets": ("earnings",)}
    return {
        "utility": (
            Row("InformationLoss", sfumato.InformationLoss(**amounts)),
            Row("CDFMaximum", sfumato.CDFMaximum(**amounts)),
            Row("CDFSquares", sfumato.CDFSquares(**amounts)),
            Row("ClusterUtility, over chance", sfumato.ClusterUtility(**amounts), over_chance, "times"),
            Row(
                "pMSE main effects, over chance", sfumato.PropensityUtility("main effects", **amounts), samples, "times"
            ),
            Row("pMSE second order, over chance", sfumato.PropensityUtility("logistic I", **amounts), samples, "times"),
            Row("pMSE tree, over chance", tree, drawn, "times"),
            Row("KullbackLeibler", sfumato.KullbackLeibler(**amounts)),
            Row("IntervalOverlap", sfumato.IntervalOverlap(MODEL)),
            Row("EllipsoidOverlap", sfumato.EllipsoidOverlap(MODEL)),
            Row("ConclusionChanges", sfumato.ConclusionChanges(MODEL)),
            Row("GlobalDataUtility", sfumato.GlobalDataUtility()),
            Row("GlobalDataUtility, effect size", sfumato.GlobalDataUtility(), part("effect size")),
        ),
        "risk": (
            Row("DistanceLinkage", sfumato.DistanceLinkage(**known)),
            Row("ProbabilisticLinkage", sfumato.ProbabilisticLinkage(**known)),
            Row("RankSwappingAttack", sfumato.RankSwappingAttack(**known)),
            Row("RankInterval", sfumato.RankInterval(**amounts)),
            Row("SpreadInterval", sfumato.SpreadInterval(**amounts)),
            Row("KAnonymity", sfumato.KAnonymity(3)),
            Row("IndividualRisk", sfumato.IndividualRisk()),
            Row("SUDA2", sfumato.SUDA2()),
            Row("LogLinearRisk", sfumato.LogLinearRisk("main")),
            Row("LDiversity", sfumato.LDiversity()),
            Row("TCloseness", sfumato.TCloseness()),
            Row("RepU", sfumato.RepU()),
            Row("DiSCO", sfumato.DiSCO(**earnings)),
            Row("TCAP", sfumato.TCAP(**earnings)),
            Row("NearestRecord", sfumato.NearestRecord()),
            Row("SinglingOut", sfumato.SinglingOut()),
            Row("Linkability", sfumato.Linkability()),
            Row("Inference", sfumato.Inference(**earnings)),
        ),
    }


def measured(row: Row, data: Microdata, file: Microdata) -> float | None:
    """Return the figure of a file, None where the measure does not apply."""
    try:
        value = row.figure(row.measure.evaluate(data, file, rng=SEED))
    except NotApplicable:
        return None
    return 0.0 if abs(value) < 1e-12 else value  # what rounding leaves of nothing


def shown(value: float | None, unit: str) -> str:
    """Write a figure as the page does.

    >>> shown(0.17091, "share"), shown(26.61, "percent"), shown(0.001393, "number"), shown(None, "share")
    ('17.1 %', '26.6 %', '0.0014', 'n/a')
    """
    if value is None:
        return "n/a"
    if unit in ("share", "percent"):
        percent = 100 * value if unit == "share" else value
        return f"{_short(percent, 3 if percent >= 1 else 2)} %"
    return f"{value:.2f}" if value >= 0.095 else _short(value, 2)


def _short(value: float, digits: int) -> str:
    """Write a number with so many significant digits, never with an exponent."""
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def table(kind: str, figures: Mapping[str, Any]) -> str:
    """Return one of the two tables of the page."""
    lines = [["Measure", *FILES], ["---", *["---:"] * len(FILES)]]
    for row in rows()[kind]:
        values = [shown(figures[kind][row.name][file], row.form) for file in FILES]
        lines.append([f"[{row.name}](catalogue/measures/{row.page}.md)", *values])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def with_tables(page: str, figures: Mapping[str, Any]) -> str:
    """Return the page with both tables made anew between their marks."""
    for kind in ("utility", "risk"):
        start, end = f"<!-- {kind} -->\n", f"<!-- end of {kind} -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}\n{table(kind, figures)}\n\n{end}{rest.partition(end)[2]}"
    return page


# what only the text and the pictures tell

TOLD = (  # whose parts the text tells
    ("InformationLoss", "swapped"),
    ("InformationLoss", "normal"),
    ("InformationLoss", "shuffled"),
    ("GlobalDataUtility", "shuffled"),
    ("GlobalDataUtility", "noise"),
    ("GlobalDataUtility", "swapped"),
    ("IndividualRisk", "copy"),
    ("SUDA2", "copy"),
    ("DiSCO", "copy"),
    ("DiSCO", "synthetic"),
    ("TCAP", "synthetic"),
    ("NearestRecord", "synthetic"),
    ("NearestRecord", "half"),
    ("SinglingOut", "synthetic"),
    ("Inference", "synthetic"),
)


def parts_of(name: str, data: Microdata, file: Microdata) -> dict[str, float]:
    """Return the parts of a measurement on the page."""
    row = next(row for listed in rows().values() for row in listed if row.name == name)
    return dict(row.measure.evaluate(data, file, rng=SEED).parts)


def linked_by_number(data: Microdata, files: Mapping[str, Microdata]) -> list[dict[str, Any]]:
    """Return the share linked when one, two, three and four amounts are known."""
    sets = tuple(AMOUNTS[:number] for number in range(1, len(AMOUNTS) + 1))
    lines = []
    for file in ("copy", "noise", "swapped", "averaged"):
        for name, measure in (
            ("distance", sfumato.DistanceLinkage(known=sets, variables=AMOUNTS)),
            ("probabilistic", sfumato.ProbabilisticLinkage(known=sets, variables=AMOUNTS)),
        ):
            parts = measure.evaluate(data, files[file], rng=SEED).parts
            for number, known in enumerate(sets, 1):
                lines.append(
                    {"file": file, "linkage": name, "known": number, "share": parts[f"knows {', '.join(known)}"]}
                )
    return lines


def attacks_by_width(data: Microdata) -> list[dict[str, Any]]:
    """Return what each way to link finds of files swapped ever wider, all four amounts known."""
    known: dict[str, Any] = {"known": (AMOUNTS,), "variables": AMOUNTS}
    ways = {
        "DistanceLinkage": sfumato.DistanceLinkage(**known),
        "ProbabilisticLinkage": sfumato.ProbabilisticLinkage(**known),
        "RankSwappingAttack": sfumato.RankSwappingAttack(**known),
    }
    lines = []
    for p in (0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3):
        file = sfumato.RankSwapping(p, variables=AMOUNTS).protect(data, rng=SEED)
        lines += [
            {"p": p, "way": way, "share": measure.evaluate(data, file, rng=SEED).value} for way, measure in ways.items()
        ]
    return lines


def risks_by_class(data: Microdata) -> list[dict[str, Any]]:
    """Return the individual risk of each record beside the number of records that share its keys."""
    risk = sfumato.IndividualRisk().evaluate(data, data).by_record
    assert risk is not None
    _, place, counts = np.unique(data.codes(KEYS), axis=0, return_inverse=True, return_counts=True)
    pairs = sorted({(int(f), round(float(r), 6)) for f, r in zip(counts[place.ravel()], risk, strict=True)})
    return [{"sharing": f, "risk": r} for f, r in pairs]


def curves(files: Mapping[str, Microdata]) -> list[dict[str, Any]]:
    """Return what the model says of earnings by age, at 40 hours, in each file."""
    from sfumato.utility.models.fitting import fit

    lines = []
    for name, file in files.items():
        found = fit(MODEL, file)
        b = dict(zip(found.names, found.coefficients, strict=True))
        squared = next(term for term in b if "**" in term or "^" in term)
        for age in range(20, 66, 3):
            value = b["Intercept"] + b["age"] * age + b[squared] * age**2 + b["hours"] * 40
            lines.append({"file": name, "age": age, "earnings": round(float(value), 1)})
    return lines


def figures_of(data: Microdata, files: Mapping[str, Microdata]) -> dict[str, Any]:
    """Compute every figure of the page."""
    found: dict[str, Any] = {"records": len(data)}
    for kind, listed in rows().items():
        found[kind] = {row.name: {name: measured(row, data, file) for name, file in files.items()} for row in listed}
    found["parts"] = {f"{name}, {file}": parts_of(name, data, files[file]) for name, file in TOLD}
    found["linked"] = linked_by_number(data, files)
    found["attacks"] = attacks_by_width(data)
    found["classes"] = risks_by_class(data)
    found["curves"] = curves(files)
    return found


# pictures


def main() -> None:
    """Compute the figures, draw the pictures and write the tables into the page."""
    data = people()
    files = protected(data)
    figures = figures_of(data, files)
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    from pictures import pictures_of  # which draws from the figures made here

    for name, chart in pictures_of(figures, files).items():
        chart.save(HERE / "img" / f"background-{name}.svg")
    if PAGE.exists():
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
