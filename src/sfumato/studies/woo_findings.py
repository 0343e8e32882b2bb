"""What section 3 of Karr, Oganian, Reiter and Woo says of its tables, sentence by sentence and row by row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sfumato.studies.statements import judged
from sfumato.studies.study import Finding, Line

Row = Mapping[str, float]  # one measure of one data type, by method
FITTED_RANK = "Rank, p = .05"
SYMMETRIC, SKEWED = ("symmetric",), ("nonsymmetric high", "nonsymmetric low negative")
NONSYMMETRIC, LOW_POSITIVE = ("nonsymmetric",), ("nonsymmetric low positive",)
ALL = (*SYMMETRIC, *NONSYMMETRIC)
CDF, CLUSTERS, LOGISTIC = ("MD", "MCM"), ("g = 500", "g = 1000"), ("Logistic I", "Logistic II")
SMALL_TREE, LARGE_TREE = ("Tree Model I",), ("Tree Model II",)
MODIFIED = ("Modified Logistic I", "Modified Logistic II")
JOINT = (*CDF, *CLUSTERS, *SMALL_TREE, *LARGE_TREE, *MODIFIED)  # all but the logistic models
THREE = ("Syn", "Micz03", "Micz03+Noise")


@dataclass(frozen=True)
class Statement:
    """A sentence, the rows it speaks of, and in how many of the printed ones it holds."""

    text: str
    types: tuple[str, ...]
    measures: tuple[str, ...]
    holds: Callable[[Row], bool]
    printed: int
    rank: bool = False  # whether it speaks of rank swapping, whose window print contradicts


def _ordered(*order: str) -> Callable[[Row], bool]:
    """Tell whether each method loses less than the next."""
    return lambda row: all(row[a] < row[b] for a, b in pairwise(order))


def _swapping_and_resampling(row: Row) -> bool:
    return max(row["Rank"], row["Resampling"]) < min(row[name] for name in THREE)


def _best_of_three(method: str) -> Callable[[Row], bool]:
    return lambda row: min(THREE, key=lambda name: row[name]) == method


def _alike(row: Row) -> bool:
    return row["Micz03"] == row["Syn"] or abs(row["Micz03"] - row["Syn"]) < 0.15 * row["Syn"]


def _overall_skewed(row: Row) -> bool:
    return row["Resampling"] < row["Rank"] < row["Micz03+Noise"] < min(row["Micz03"], row["Syn"])


OVERALL = ("Resampling", "Rank", "Micz03", "Micz03+Noise", "Syn")
STATEMENTS = (
    Statement("Logistic I scores Syn 0", ALL, LOGISTIC[:1], lambda row: abs(row["Syn"]) < 5e-4, 8),
    Statement(
        "Logistic I is small for Micz03+Noise too, which keeps the moments in expectation: below 0.5",
        ALL,
        LOGISTIC[:1],
        lambda row: row["Micz03+Noise"] < 0.5,
        8,
    ),
    Statement(
        "The degree is crucial: Logistic II gives Syn more than 100 where Logistic I gives 0",
        ALL,
        LOGISTIC[1:],
        lambda row: row["Syn"] > 100,
        8,
    ),
    Statement(
        "Rank and Resampling beat the other three in every measure but the logistic models, symmetric data",
        SYMMETRIC,
        JOINT,
        _swapping_and_resampling,
        32,
        rank=True,
    ),
    Statement(
        "Rank and Resampling beat the other three in every measure but the logistic models, non-symmetric data",
        NONSYMMETRIC,
        JOINT,
        _swapping_and_resampling,
        32,
        rank=True,
    ),
    Statement(
        "Symmetric data, Logistic II: Rank beats Micz03+Noise for some types",
        SYMMETRIC,
        LOGISTIC[1:],
        _ordered("Rank", "Micz03+Noise"),
        2,
        rank=True,
    ),
    Statement(
        "Symmetric data: Micz03 is the best of three and Syn the worst, but for the logistic models and Tree Model II",
        SYMMETRIC,
        tuple(name for name in JOINT if name not in LARGE_TREE),
        _ordered("Micz03", "Micz03+Noise", "Syn"),
        28,
    ),
    Statement(
        "Symmetric data: Logistic II and Tree Model II prefer Micz03+Noise to Micz03",
        SYMMETRIC,
        (*LOGISTIC[1:], *LARGE_TREE),
        _ordered("Micz03+Noise", "Micz03"),
        8,
    ),
    Statement(
        "Tree Model II punishes Micz03, whose records come in threes: it is the worst of all, symmetric data",
        SYMMETRIC,
        LARGE_TREE,
        lambda row: row["Micz03"] == max(row.values()),
        4,
    ),
    Statement(
        "Non-symmetric data but low positive: Micz03+Noise is the best of three in every measure but Logistic I",
        SKEWED,
        (*JOINT, *LOGISTIC[1:]),
        _best_of_three("Micz03+Noise"),
        27,
    ),
    Statement(
        "Non-symmetric low positive data: Micz03 is the best of three in every measure but Logistic I",
        LOW_POSITIVE,
        (*JOINT, *LOGISTIC[1:]),
        _best_of_three("Micz03"),
        9,
    ),
    Statement(
        "Non-symmetric data but low positive: Tree Model II and the clusters make Micz03 the worst of three",
        SKEWED,
        (*CLUSTERS, *LARGE_TREE),
        lambda row: row["Micz03"] == max(row[name] for name in THREE),
        8,
    ),
    Statement(
        "Non-symmetric data but low positive: Micz03 does not differ from Syn, by 15 %, in clusters, Tree Model I and "
        "modified logistic models",
        SKEWED,
        (*CLUSTERS, *SMALL_TREE, *MODIFIED),
        _alike,
        15,
    ),
    Statement(
        "Symmetric data: Resampling beats Rank in all measures but the CDF ones and Tree Model I",
        SYMMETRIC,
        (*CLUSTERS, *LOGISTIC, *LARGE_TREE, *MODIFIED),
        _ordered("Resampling", "Rank"),
        27,
        rank=True,
    ),
    Statement(
        "Non-symmetric data: Resampling beats Rank in all measures but the CDF ones and the trees",
        NONSYMMETRIC,
        (*CLUSTERS, *LOGISTIC, *MODIFIED),
        _ordered("Resampling", "Rank"),
        24,
        rank=True,
    ),
    Statement(
        "The CDF measures hardly tell Rank from Resampling: their MD differ by less than 0.01",
        ALL,
        CDF[:1],
        lambda row: abs(row["Rank"] - row["Resampling"]) < 0.01,
        8,
        rank=True,
    ),
    Statement(
        "The CDF measures favour Rank: its MCM is below that of Resampling",
        ALL,
        CDF[1:],
        _ordered("Rank", "Resampling"),
        6,
        rank=True,
    ),
    Statement(
        "Tree Model I gives 0 to both Rank and Resampling",
        ALL,
        SMALL_TREE,
        lambda row: row["Rank"] == 0 == row["Resampling"],
        8,
        rank=True,
    ),
    Statement(
        "Tree Model II gives 0 to Rank, non-symmetric data",
        NONSYMMETRIC,
        LARGE_TREE,
        lambda row: row["Rank"] == 0,
        4,
        rank=True,
    ),
    Statement(
        "The modified logistic models order the methods as the paper does overall, symmetric and low positive data",
        (*SYMMETRIC, *LOW_POSITIVE),
        MODIFIED,
        _ordered(*OVERALL),
        10,
        rank=True,
    ),
    Statement(
        "The modified logistic models order the methods as the paper does overall, other non-symmetric data",
        SKEWED,
        MODIFIED,
        _overall_skewed,
        6,
        rank=True,
    ),
)


def findings(lines: list[Line]) -> tuple[Finding, ...]:
    """Check the paper's sentences on our figures; where they speak of rank swapping, also at the window that fits."""
    rows = {line.name: {method: figure.ours for method, figure in line.figures.items()} for line in lines}
    found = []
    for statement in STATEMENTS:
        chosen = rows_of(statement, rows)
        held = {name: statement.holds(without_fitted(row)) for name, row in chosen.items()}
        finding = judged(statement.text, held, (statement.printed, len(chosen)))
        if statement.rank and all(FITTED_RANK in row for row in chosen.values()):
            fitted = [statement.holds({**without_fitted(row), "Rank": row[FITTED_RANK]}) for row in chosen.values()]
            finding = Finding(
                finding.statement, finding.holds, f"{finding.detail} (if Rank has p = .05: in {sum(fitted)})"
            )
        found.append(finding)
    return (*found, _degree(rows))


def rows_of(statement: Statement, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Choose the rows that a statement speaks of."""
    return {
        name: row
        for name, row in rows.items()
        if name.startswith(statement.types) and name.partition(": ")[2] in statement.measures
    }


def without_fitted(row: Row) -> dict[str, float]:
    """Leave out rank swapping with the window that is not the paper's."""
    return {method: value for method, value in row.items() if method != FITTED_RANK}


def _degree(rows: Mapping[str, Row]) -> Finding:
    """Check that the degree of the modified logistic model changes no order of the five methods."""

    def order(kind: str, measure: str) -> list[str]:
        row = without_fitted(rows[f"{kind}: {measure}"])
        return sorted(row, key=lambda method: row[method])

    kinds = dict.fromkeys(name.partition(": ")[0] for name in rows)
    held = {kind: order(kind, MODIFIED[0]) == order(kind, MODIFIED[1]) for kind in kinds}
    return judged("Modified logistic models of both degrees order the five methods alike", held, (8, 8), of="types")
