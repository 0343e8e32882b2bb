"""The page for those who come from other programs: what it names exists, and what it claims of figures holds."""

import ast
import re
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato import Measure, Method, NotApplicable, SpreadInterval, StructureLoss, catalogue
from sfumato.kernels.expected_inverse import expected_inverse
from tables import incomes, persons

PAGE = Path(__file__).parents[1] / "docs" / "coming-from.md"
CLASSES = catalogue.methods() | catalogue.measures()
ROWS = [
    line.strip("|").split(" | ")
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| there")
]
CALL = re.compile(r"([A-Z]\w+)\(([^`]*)\)")


def calls() -> list[str]:
    """Every call of a class of the catalogue in the second column, as it is written."""
    found = []
    for row in ROWS:
        for text in re.findall(r"`([^`]+)`", row[1]):
            match = CALL.fullmatch(text.removesuffix(".copies(data, 5)"))
            if match:
                found.append(match.group(0))
    return list(dict.fromkeys(found))


def test_every_row_says_what_becomes_of_the_figures() -> None:
    assert all(len(row) == 3 for row in ROWS), [row for row in ROWS if len(row) != 3]
    assert len(ROWS) > 60


@pytest.mark.parametrize("text", calls())
def test_every_class_and_option_named_exists(text: str) -> None:
    """A call with values is made; of one that leaves values open (``bins=``) every name must be a parameter."""
    match = CALL.fullmatch(text)
    assert match is not None
    name, arguments = match.groups()
    assert name in CLASSES, f"{name} is no class of the catalogue"
    known = {entry.name for entry in fields(CLASSES[name])}
    assert set(re.findall(r"(\w+)=(?!=)", arguments)) <= known, f"{text} names a parameter that is not there"
    words = re.findall(r"(?:^|, )([a-z]+)(?=,|$)", arguments)  # parameters by position, as in PRAM(retention, ...)
    assert set(words) <= known, f"{text} names a parameter that is not there"
    is_whole = not re.search(r"=(?=,|$)|\.\.\.|\[1, 2, 3\]", arguments) and not words
    if is_whole:
        made = eval(text, {name: CLASSES[name]})
        assert isinstance(made, Method | Measure)
        ast.parse(repr(made))


def test_every_other_name_in_code_that_looks_like_a_class_is_one() -> None:
    for row in ROWS:
        for text in re.findall(r"`([A-Z]\w+)`", row[1]):
            assert hasattr(sfumato, text), f"{text} in {row[1]}"


PARTS = [
    ("IndividualRisk()", ("records, with their household", "largest")),
    ("RobustMahalanobisRisk()", ("RMDID1", "RMDID2", "RMDID1w", "RMDID2w")),
    ("PropensityUtility('products')", ("pMSE", "SPECKS", "PO50", "ratio, fitted model")),
    ("PropensityUtility('tree', null='halved permutation')", ("ratio, halved permutation",)),
    (
        "TableUtility()",
        ("VW", "FT", "G", "JSD", "Bhattacharyya", "absolute difference", "weighted absolute difference"),
    ),
    ("RepU()", ("unique in the original", "unique in the protected table", "unique in the original, keys found")),
    ("DiSCO()", ("disclosive in the original", "keys found", "right and disclosive in both")),
    ("DCAP()", ("baseline", "of the original", "WEAP")),
    ("LDiversity()", ("smallest, health",)),
    ("Discernibility()", ("penalty",)),
    ("AverageClassSize()", ("loss",)),
]


@cache
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("text", "parts"), PARTS)
def test_the_parts_it_names_are_there(text: str, parts: tuple[str, ...]) -> None:
    data = persons()
    (measure,) = catalogue.parse(text)
    assert isinstance(measure, Measure)
    try:
        found = measure.evaluate(data, data, rng=0)
    except NotApplicable:
        found = measure.evaluate(incomes(), incomes(), rng=0)
    for part in parts:
        assert part in found.parts
        assert part.replace("health", "NAME") in page() or part in ("VW", "FT", "G", "JSD")


# claims that are tested nowhere else


def masked() -> tuple[np.ndarray, np.ndarray]:
    """The numbers of an original and a noisy table."""
    data = incomes()
    protected = sfumato.Noise(0.05).protect(data, rng=3)
    return data.numeric(), protected.numeric()


def test_the_figure_of_drisk() -> None:
    """By hand: sds <- apply(xm, 2, sd); mean(rowSums(x < xm - k * sds | x > xm + k * sds) == 0) of dRisk."""
    x, y = masked()
    for k in (0.05, 0.1):
        inside = np.abs(x - y) <= k * y.std(axis=0, ddof=1)
        found = SpreadInterval((200 * k,)).evaluate(incomes(), sfumato.Noise(0.05).protect(incomes(), rng=3))
        assert found.by_record is not None
        assert (found.by_record == 1).mean() == inside.all(axis=1).mean() > 0


def test_the_figures_of_il1_and_il1s() -> None:
    """By hand: sum(100 * abs(x - xm) / abs(x)) and sum(abs(x - xm) / (sd(x) * sqrt(2))) of dUtility."""
    x, y = masked()
    data = incomes()
    protected = sfumato.Noise(0.05).protect(data, rng=3)
    relative = StructureLoss("data", "mean variation").evaluate(data, protected).value
    there = x != 0
    assert 100 * relative * there.sum() == pytest.approx((100 * np.abs(x - y)[there] / np.abs(x)[there]).sum())
    by_variable = [
        len(x) * StructureLoss("data", "mean absolute error", variables=(name,)).evaluate(data, protected).value
        for name in data.schema.analysed("numeric")
    ]
    spread = np.sqrt(2) * x.std(axis=0, ddof=1)
    assert (np.array(by_variable) / spread).sum() == pytest.approx((np.abs(x - y) / spread).sum())


def test_the_figures_of_arx() -> None:
    """By hand: one less (result - min) / (max - min) of the classes QualityModel..., for one level per variable."""
    groups = {"north": "N", "south": "S", "east": "N", "west": "S"}
    ancestors = {region: [group, "*"] for region, group in groups.items()}
    data = persons()
    region = replace(data.schema["region"], hierarchy=sfumato.Hierarchy.of(ancestors))
    data = replace(data, schema=replace(data.schema.replace(region).only(["region", "sex"])),
                   columns={name: data.columns[name] for name in ("region", "sex")})  # fmt: skip
    after = sfumato.GlobalRecoding(map={"region": groups}).protect(data)
    rows = list(zip(*([v.categories[c] for c in data.columns[v.name]] for v in data.schema), strict=True))
    n, coarse = len(rows), [(groups[str(region)], sex) for region, sex in rows]
    before_sizes, sizes = Counter(rows), Counter(coarse)
    squares, at_first = (sum(size**2 for size in found.values()) for found in (sizes, before_sizes))
    measured = {m: m.evaluate(data, after) for m in (sfumato.Discernibility(), sfumato.AverageClassSize())}
    discernible, size = measured.values()
    assert discernible.value == pytest.approx((squares - at_first) / (n**2 - at_first))
    first = n / len(before_sizes)
    assert size.parts["loss"] == pytest.approx((n / len(sizes) - first) / (n - first))
    often, inside = Counter(region for region, _ in rows), Counter(group for group, _ in coarse)
    lost = -sum(np.log2(often[region] / inside[group]) for (region, _), (group, _) in zip(rows, coarse, strict=True))
    most = -sum(np.log2(often[region] / n) for region, _ in rows)
    assert sfumato.NonUniformEntropy().evaluate(data, after).by_variable["region"] == pytest.approx(lost / most)
    assert sfumato.Precision().evaluate(data, after).by_variable == {"region": 0.5, "sex": 1.0}
    loss = sfumato.CertaintyPenalty(categories="others").evaluate(data, after)
    share, domain = 2 / 4, 4  # of every value; (share - 1 / domain) / (1 - 1 / domain)
    assert loss.by_variable["region"] == pytest.approx((share - 1 / domain) / (1 - 1 / domain))


def test_the_figures_of_indivrisk() -> None:
    """By hand: p / q ln(1 / p), p / q - (p / q)^2 ln(1 / p), and the approximation p / (f - 1 + p) for larger f."""
    f, weights = np.array([1.0, 2.0, 3.0, 8.0]), np.array([50.0, 90.0, 200.0, 400.0])
    p = f / weights
    q = 1 - p
    found = expected_inverse(f, weights)
    assert found[0] == pytest.approx(p[0] / q[0] * np.log(1 / p[0]), rel=1e-12)
    assert found[1] == pytest.approx(p[1] / q[1] - (p[1] / q[1]) ** 2 * np.log(1 / p[1]), rel=1e-10)
    assert found[2:] == pytest.approx(p[2:] / (f[2:] - 1 + p[2:]), rel=0.02)
    assert (found[2:] != p[2:] / (f[2:] - 1 + p[2:])).all()
