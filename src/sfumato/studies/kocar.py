"""Kocar: global data utility of one survey under protections of every kind, and which rankings one can believe."""

from collections.abc import Callable, Mapping
from itertools import combinations
from time import perf_counter

import numpy as np

from sfumato.compare.figures import listed
from sfumato.compare.progress import steps_of
from sfumato.compare.work import versions
from sfumato.core import Method
from sfumato.errors import ParameterError
from sfumato.measurement import Measurement
from sfumato.methods import (
    MDAV,
    PRAM,
    CARTSynthesis,
    GlobalRecoding,
    LocalSuppression,
    Noise,
    RankSwapping,
    RecordSwapping,
    Sampling,
    Shuffling,
    TopBottomCoding,
    VariableRemoval,
)
from sfumato.studies.study import Curve, Figure, Finding, Line, Settings, Study
from sfumato.table.microdata import Microdata
from sfumato.table.samples import household_survey
from sfumato.utility import GlobalDataUtility
from sfumato.utility.global_utility.univariate import worth

# What section 4 of Kocar asks for: how scores of one, two and more variables go together; and other weights (3.1)

MODELS = ("earnings ~ age + hours", "income ~ age + household_size + hours", "tax ~ income + household_size")
MODELLED = ("age", "household_size", "hours", "earnings", "income", "tax")
KINDS = ("univariate", "bivariate", "multivariate")
WEIGHTS = (0.0, 0.25, 0.75, 1.0)  # of the univariate half, beside the paper's 1/2
Scores = Mapping[str, Mapping[str, float]]  # by file, of each kind


def scored(original: Microdata, protected: list[Microdata]) -> dict[str, float]:
    """Score the variables of the models alone, in pairs and in the models: the means over the files given."""
    measure = GlobalDataUtility(variables=MODELLED, models=MODELS)
    found = [measure.evaluate(original, table).parts for table in protected]
    return {kind: float(np.mean([parts[kind] for parts in found])) for kind in KINDS}


def together(scores: Scores) -> Finding:
    """Correlate the three scores over the files, for the same variables."""
    columns = {kind: [of[kind] for of in scores.values()] for kind in KINDS}
    told = [
        f"{one} and {other} {_rank_correlation(columns[one], columns[other]):.2f}"
        for one, other in combinations(KINDS, 2)
    ]
    apart = max(scores, key=lambda name: abs(scores[name]["bivariate"] - scores[name]["multivariate"]))
    return Finding(
        f"Scores of one, two and more variables together (section 4 asks for it), {len(MODELS)} models of "
        f"{len(MODELLED)} variables, without a verdict",
        None,
        f"rank correlations over {len(scores)} protections: {', '.join(told)}; farthest apart in {apart}: in pairs "
        f"{scores[apart]['bivariate']:.2f}, in models {scores[apart]['multivariate']:.2f}",
    )


def other_weights(halves: Mapping[str, tuple[float, float]]) -> Finding:
    """Order the files by other weights of the univariate half than 1/2."""

    def order(weight: float) -> list[float]:
        return [weight * alone + (1 - weight) * pairs for alone, pairs in halves.values()]

    usual = _places(order(0.5))
    told = []
    for weight in WEIGHTS:
        moved = np.abs(_places(order(weight)) - usual)
        rho = _rank_correlation(order(0.5), order(weight))
        told.append(f"{weight:g}: rank correlation {rho:.2f}, {int((moved >= 3).sum())} move by three places or more")
    first = {weight: list(halves)[int(np.argmax(order(weight)))] for weight in (0.0, 0.5, 1.0)}
    best = tuple(f"{name} ({weight:g})" for weight, name in first.items())
    return Finding(
        "Other weights of the univariate half than 1/2 (3.1), without a verdict",
        None,
        f"order of {len(halves)} protections with {'; '.join(told)}; the best: {listed(best, 3)}",
    )


def _places(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    from scipy.stats import rankdata

    return np.asarray(rankdata([-value for value in values]))


def _rank_correlation(one: list[float], other: list[float]) -> float:
    """Return Spearman's coefficient; NaN where one of them is constant."""
    a, b = _places(one), _places(other)
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")


# the survey, its protections and their rankings

SOURCE = (
    "S. Kocar, A universal global measure of univariate and bivariate data utility for anonymised microdata, "
    "CSRM & SRC Methods Paper 4/2018"
)
COLUMNS = ("GDU", "univariate", "bivariate", "effect size", "GDU, a quarter")
HOUSEHOLDS = 1_700
CORRELATED = ("Spearman", "Pearson", "Pearson, then Spearman")
THRESHOLD = GlobalDataUtility().threshold
KEYS = ("region", "sex", "marital", "education", "occupation")
REMOVED = ("region", "wealth")
ITSELF, SHUFFLED = "the file itself", "every column shuffled"

SETTING = (
    "The paper defines the measure and has no data, so nothing printed stands beside these figures. The file is the "
    "made-up household survey that comes with Sfumato, protected in ways of every kind: values changed, swapped, "
    "averaged, recoded, cut at the ends, suppressed, drawn as a sample, synthesised, variables removed. Two files "
    "frame them: the survey itself, and the survey with every column shuffled by itself, which keeps no association; it"
    " keeps all distributions too, but not the weighted ones that are compared, for the weights stay where they are.",
    "GDU is the mean of its two halves. The effect-size view looks at the same variables and pairs without P values: "
    "one minus the mean distance between distributions, and the share that is left of the associations, as squared "
    "coefficients tell. The last column is GDU again on a quarter of the households, protected in the same way: a "
    "statement about a method should not depend on how many records it was tried on.",
)
REASONS = {
    "values changed": "Noise and averages change the shape of skewed and heaped amounts: the K-S test sees zeros that "
    "are no longer zero and calls the whole distribution another one. A user of means and regressions would say so of "
    "few of them.",
    "values swapped": "Swapping keeps each distribution to the digit, so the first half is 1 whatever was swapped: "
    "what is lost shows in the second half alone, and only what pairs can show.",
    "recoded": "Nothing published is false, yet comparisons within a class are gone: the recoding formula counts "
    "those, the tests on what is left find all as before. Numbers in classes beside a nominal variable are judged by "
    "significance; where both files show them their strength is left open, as the paper leaves it, and the pair is in "
    "no mean.",
    "suppressed": "A missing value is no change of the distribution of those present, unless rare categories go first, "
    "as they do here.",
    "sampled": "Every estimate stays unbiased; what falls is the number of associations that are still significant. "
    "That is a real loss of power, and the measure says so.",
    "synthetic": "Nobody in the file exists, and each distribution and pair is held to the same test as elsewhere.",
    "removed": "A removed variable counts 0 for itself and in each of its pairs; the paper's further factor for fewer "
    "pairs (GRC) is not applied unless asked for.",
    "frames": "The two files between which all others should lie.",
}


def protections() -> dict[str, tuple[str, Method]]:
    """Name the protections, each with its family."""
    return {
        "noise, 10 % of the spread": ("values changed", Noise(0.1)),
        "microaggregation, groups of 5": ("values changed", MDAV(5)),
        "post-randomisation of the keys, 80 % stay": ("values changed", PRAM(0.8, invariant=True)),
        "rank swapping within 5 %": ("values swapped", RankSwapping(0.05)),
        "data shuffling": ("values swapped", Shuffling()),
        "swapping of households, 10 %": ("values swapped", RecordSwapping(0.1)),
        "keys recoded, five groups and no rare category": ("recoded", GlobalRecoding(groups=5, rare=0.05)),
        "top and bottom coding, 5 %": ("recoded", TopBottomCoding(0.05)),
        "local suppression, k = 3 on five keys": ("suppressed", LocalSuppression(3, variables=KEYS)),
        "recoding, then suppression, then swapping": (
            "suppressed",
            GlobalRecoding(groups=5, rare=0.05) + LocalSuppression(3, variables=KEYS) + RankSwapping(0.05),
        ),
        "a half sample": ("sampled", Sampling(0.5)),
        "a sample of 10 %": ("sampled", Sampling(0.1)),
        "sequential trees": ("synthetic", CARTSynthesis(5)),
        "two variables removed": ("removed", VariableRemoval(variables=REMOVED)),
    }


def run(settings: Settings) -> Study:
    """Rank the protections by global data utility; ``records`` sets the number of households."""
    if settings.data is not None or settings.printed is not None:
        raise ParameterError("the Kocar study makes its own survey and nothing is printed; leave out --data, --printed")
    start = perf_counter()
    households, draws = settings.records or HOUSEHOLDS, settings.replicates or 1
    large, small = household_survey(households, seed=2024), household_survey(max(households // 4, 20), seed=2024)
    lines, scores = [], {}
    with steps_of(settings.progress) as steps:
        steps.phase("candidates", total=len(protections()) + 2)
        for name, (family, protect) in _files().items():
            many = [protect(large, settings.seed + draw) for draw in range(draws)]
            few = [protect(small, settings.seed + draw) for draw in range(draws)]
            lines.append(_line(name, family, [_judged(large, p) for p in many], [_judged(small, p) for p in few]))
            if family != "frames":
                scores[name] = scored(large, many)
            steps.ended(name)
    halves = {line.name: (line.figures["univariate"].ours, line.figures["bivariate"].ours) for line in lines}
    halves = {name: halves[name] for name in scores}
    ranked = tuple(sorted(lines, key=lambda line: -line.figures["GDU"].ours))
    return Study(
        name="kocar",
        title="Global data utility of one survey under protections of every kind (Kocar)",
        source=SOURCE,
        setting=SETTING,
        columns=COLUMNS,
        lines=ranked,
        findings=(*findings(ranked), *remarks(large), together(scores), other_weights(halves)),
        reasons=REASONS,
        curves=(figure_1(),),
        ranking="GDU",
        seed=settings.seed,
        replicates=draws,
        seconds=perf_counter() - start,
        versions=versions(),
        fingerprint=large.fingerprint,
    )


def findings(lines: tuple[Line, ...]) -> tuple[Finding, ...]:
    """Say which places in the ranking a statistician would accept, and which she would not."""
    by_name = {line.name: line.figures for line in lines}

    def gdu(name: str, column: str = "GDU") -> float:
        return by_name[name][column].ours

    view = "effect size"
    half, tenth, trees = "a half sample", "a sample of 10 %", "sequential trees"
    noise, recoded = "noise, 10 % of the spread", "keys recoded, five groups and no rare category"
    apart = {line.name: line.figures["GDU, a quarter"].ours - line.figures["GDU"].ours for line in lines}
    fallen = max(apart, key=lambda name: apart[name])
    steady = max(abs(line.figures["effect size"].ours - 1) for line in lines if line.name == noise)
    between = [line.name for line in lines if line.name not in (ITSELF, SHUFFLED)]
    return (
        Finding(
            "To be accepted: the file itself scores 1 to six decimals, and every protection lies between it and the "
            "file with shuffled columns",
            gdu(ITSELF) > 1 - 1e-6 and all(gdu(SHUFFLED) < gdu(name) <= gdu(ITSELF) for name in between),
            f"{gdu(ITSELF):.6f} and {gdu(SHUFFLED):.3f}",
        ),
        Finding(
            "To be accepted: a half sample scores far above a file with shuffled columns, and above a sample of 10 %",
            gdu(half) > gdu(SHUFFLED) + 0.2 and gdu(half) > gdu(tenth),
            f"{gdu(half):.3f}, {gdu(SHUFFLED):.3f} and {gdu(tenth):.3f}",
        ),
        Finding(
            "To be accepted: broader keys keep more of the file than noise in every amount does",
            gdu(recoded) > gdu(noise),
            f"{gdu(recoded):.3f} and {gdu(noise):.3f}",
        ),
        Finding(
            "To be accepted: synthetic records keep distributions better than associations",
            gdu(trees, "univariate") > gdu(trees, "bivariate"),
            f"{gdu(trees, 'univariate'):.3f} and {gdu(trees, 'bivariate'):.3f}",
        ),
        Finding(
            "To be accepted: in the effect-size view too the file with shuffled columns is last, far below noise",
            all(gdu(SHUFFLED, view) < gdu(name, view) for name in between)
            and gdu(SHUFFLED, view) < gdu(noise, view) - 0.1,
            f"{gdu(SHUFFLED, view):.3f} and {gdu(noise, view):.3f}",
        ),
        Finding(
            "Not to be accepted: noise loses much of the first half of its score to tests, though its distributions "
            "are near the original's; the effect-size view ranks it less harshly",
            None,
            f"univariate {gdu(noise, 'univariate'):.3f}, effect size {gdu(noise, 'effect size'):.3f} "
            f"({steady:.3f} below 1)",
        ),
        Finding(
            "Not to be accepted: some protections score lower merely because there are more records, for P values fall "
            "with n",
            None,
            f"{fallen} has {gdu(fallen, 'GDU, a quarter'):.3f} on a quarter of the households and {gdu(fallen):.3f} on "
            f"all; higher on the quarter are {listed(tuple(n for n in apart if apart[n] > 0.01), 4) or 'none'}",
        ),
        Finding(
            "Not to be accepted as it stands: swapping and shuffling get full marks for distributions although most "
            "single values are false; the measure does not look at records, and unless models are named it says "
            "nothing on analyses of three variables or more",
            None,
            f"univariate {gdu('rank swapping within 5 %', 'univariate'):.6f} and "
            f"{gdu('data shuffling', 'univariate'):.6f}",
        ),
    )


def remarks(data: Microdata) -> tuple[Finding, Finding]:
    """Count what two remarks of section 3.4.3 on the strength of associations come to in the survey."""
    from scipy import stats

    names, apart = data.schema.analysed("numeric"), {}
    for pair in combinations(names, 2):
        values = data.numeric(pair)
        values = values[~np.isnan(values).any(axis=1)]
        r, rho = stats.pearsonr(*values.T)[0], stats.spearmanr(*values.T)[0]
        apart[pair] = abs(float(r**2 - rho**2))
    farthest = max(apart, key=lambda pair: apart[pair])
    counts = []
    for name in ("keys recoded, five groups and no rare category", "top and bottom coding, 5 %"):
        found = _judged(data, protections()[name][1].protect(data, rng=0)).tables["pairs"]
        seen = [row for row in found if row["test"] in CORRELATED and row["p_before"] < THRESHOLD]
        moved = [row for row in seen if row["after"] is not None and row["after"] != row["before"]]
        fallen = sum(row["after"] ** 2 < row["before"] ** 2 for row in moved)
        counts.append(f"{fallen} of {len(moved)} that changed ({name})")
    return (
        Finding(
            "The paper remarks that Pearson's and Spearman's coefficients differ very little, of skewed variables too; "
            "amounts with long tails and heaps of zeros show otherwise",
            None,
            f"squared, {np.mean(list(apart.values())):.3f} apart in the mean of {len(apart)} pairs of numbers, at most "
            f"{apart[farthest]:.3f} ({' and '.join(farthest)})",
        ),
        Finding(
            "The paper remarks that associations generally become weaker by recoding and by top and bottom coding; of "
            "those that a correlation measures about half do",
            None,
            f"weaker are {' and '.join(counts)}",
        ),
    )


def figure_1() -> Curve:
    """Return Figure 1 of the paper: what a variable is worth by the P value of the test of its two distributions."""
    points = tuple((p / 1000, worth(p / 1000)) for p in range(0, 1001, 5))
    marks = {f"P = {p:g}: {worth(p):.2f}": (p, worth(p)) for p in (0.01, 0.05, 0.2)}
    return Curve("Figure 1, local data utility", "P value", "1 - exp(-14 P)", points, marks)


def _files() -> dict[str, tuple[str, Callable[[Microdata, int], Microdata]]]:
    """Return how each file is made from the survey and a seed."""

    def by(method: Method) -> Callable[[Microdata, int], Microdata]:
        return lambda data, seed: method.protect(data, rng=seed)

    return {
        ITSELF: ("frames", lambda data, _: data),
        **{name: (family, by(method)) for name, (family, method) in protections().items()},
        SHUFFLED: ("frames", _shuffled),
    }


def _shuffled(data: Microdata, seed: int) -> Microdata:
    rng = np.random.default_rng(seed)
    return data.replace({name: rng.permutation(data.columns[name]) for name in data.schema.analysed()})


def _judged(original: Microdata, protected: Microdata) -> Measurement:
    return GlobalDataUtility().evaluate(original, protected)


def _line(name: str, family: str, many: list[Measurement], few: list[Measurement]) -> Line:
    values = {
        "GDU": [found.value for found in many],
        **{part: [found.parts[part] for found in many] for part in ("univariate", "bivariate", "effect size")},
        "GDU, a quarter": [found.value for found in few],
    }
    method = protections().get(name)
    spelled = repr(method[1]) if method else name
    return Line(name, family, spelled, {column: Figure.of(found) for column, found in values.items()})
