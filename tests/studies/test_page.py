"""The page of the papers: whatever a paper names has a row that says where it is, what we get, what print says, why."""

import re
from pathlib import Path

import pytest

import sfumato
from sfumato import catalogue
from sfumato.studies.karr import STATEMENTS as OF_KARR
from sfumato.studies.study import CHANGING
from sfumato.studies.woo import STATEMENTS as OF_WOO

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
HEAD = ["the paper names", "where", "ours", "print", "why they differ"]

# how the source of a class names each paper, and how the section of the page begins
PAPERS = {
    "domingo": (r"Domingo-Ferrer, Mateo-Sanz and Torres", "Domingo-Ferrer"),
    "woo": (r"\bWoo\b", "Karr, Oganian, Reiter and Woo"),
    "kim": (r"Kyu-Seong Kim", "Kyu-Seong Kim"),
    "karr": (r"Karr, Kohnen", "Karr, Kohnen"),
    "kocar": (r"\bKocar\b", "Kocar"),
}

# what each paper names: methods, measures, tables and figures; its sentences are in the findings of the studies
NAMED = {
    "domingo": (
        "Noise p",
        "Distr",
        "Resamp1, Resamp3",
        "MicIR k",
        "MicZ k, MicPCP k",
        "Mic2mul, Mic3mul, Mic4mul, Micmul",
        "JPEG q",
        "Rank p",
        "Table 1, 15 measures",
        "IL",
        "DLD",
        "linked to 2nd nearest",
        "PLD",
        "upper bounds of false matches and of false non-matches (4.2)",
        "ID",
        "IL of section 6",
        "interval by standard deviations (section 6)",
        "Score",
        "Score2",
        "Table 2",
        "correlation of DLD and PLD",
        "rank swapping scores best",
        "microaggregation of three or four variables comes next",
    ),
    "woo": (
        "Syn",
        "Micz03",
        "Micz03+Noise",
        "Rank",
        "Resampling",
        "MD (2.2)",
        "MCM (2.3)",
        "cluster utility (2.4)",
        "propensity score utility (2.5)",
        "Logistic I (3.1), Logistic II (3.2)",
        "Tree Model I, Tree Model II",
        "Modified Logistic I, Modified Logistic II",
        "eight types of data",
        "Table 1",
        "Tables 2 to 9",
        "Figures 1 to 9",
        "partitions by even splitting (3)",
        "partitions by a tree (3)",
    ),
    "kim": (
        "noise addition",
        "rank swapping",
        "microaggregation",
        "weighted empirical CDF (6)",
        "DU_max (4), DU_sq (5)",
        "DUW_max (7), DUW_sq (8)",
        "Korea welfare panel, 5,712 households",
        "samples of 100, 200 and 300 with unequal probabilities",
        "Table 1",
        "Table 2",
        "data utility rises with the sample size",
        "data utility falls as alpha grows",
        "the new measures exceed the others in all cases",
        "DUW_max is about 1.52 DU_max",
        "DUW_sq is about 2.62 DU_sq",
    ),
    "karr": (
        "Noise(.16)",
        "Rank(.15)",
        "Micir(p,10)",
        "Micz(p,3), Micp(p,3)",
        "Micm(p,3), Micm(3,7)",
        "Resamp(3)",
        "I of (3) and (4)",
        "J of (5)",
        "penalty where I is zero",
        "EO",
        "KL by (15)",
        "KL by (6)",
        "record linkage risk",
        "choice under a bound (1)",
        "frontier (2)",
        "frontier of several utilities (11)",
        "regression (10) and the six known variables",
        "Figure 1 and the frontiers of section 3.2",
        "Noise(.16) at a risk of 10 %",
        "simulated data: six types, five replicates",
        "Tables 1 and 2",
        "bold figures",
        "Table 3",
        "wrong model (footnote 6)",
        "directional switches",
        "significance changes",
        "weighted combination of models",
        "a release of records chosen to keep a family of regressions (4)",
    ),
    "kocar": (
        "GDU, the mean of both halves (3.1)",
        "weights of the two halves, of variables (3.1)",
        "other weights than 1/2 (3.1)",
        "ALDUuni, ALDUbiv (3.1)",
        "LDUunipsr = 1 - exp(-14 P) (3.2)",
        "Figure 1",
        "two-sample K-S test, chi-squared test (3.2)",
        "limited comparisons of merged categories (3.3)",
        "biased allocation (3.3)",
        "heterogeneity of groups (3.3)",
        "recoded and perturbed: the product (3.3)",
        "a recoding that nobody can trace (4 asks for it to be stated)",
        "Table 1: test by the two types (3.4)",
        "test of normality (3.4)",
        "step 1, significance at a threshold (3.4)",
        "step 2, direction by residuals or sums of squares (3.4.1)",
        "step 3, LDUbiv on squared coefficients (3.4.1, 3.4.2)",
        "Cramér's V, eta squared, rho, r",
        "epsilon squared",
        "Figure 2, the procedure",
        "changed type: numbers to ordered classes (3.4.3)",
        "changed type beside a nominal variable (3.4.3)",
        '"generally, effect sizes decrease with global recoding, and top and bottom coding" (3.4.3)',
        '"very little difference" between Pearson and Spearman, skewed or not (3.4.3)',
        "removed variables count 0 (3.5)",
        "GRC (3.5)",
        "models: adjusted R², all standardised betas (3.6)",
        "logistic models: Cox and Snell's R², all odds ratios (3.6)",
        "Cronbach's alpha, all without an item (3.6)",
        "how scores of one, two and more variables go together (4)",
        "results that may be shared with users (4)",
        "weights, derived variables and numbers left out (4)",
        "a program that does it (4)",
        "sample uniques (2.1)",
        "Spruill's share of records nearest to their own (2.1)",
        "Duncan and Lambert: an insider, an outsider (2.1)",
        "Duncan and Lambert: masked data, some knowledge (2.1)",
        "SUDA2 (2.1)",
        "population uniques among sample uniques (2.1)",
        "expected correct matches (2.1)",
        "records with a risk above a threshold (2.1)",
        "log-linear models of risk (2.1)",
        "map of risk and utility (2)",
        "AAD (2.2)",
        "IL1s (2.2)",
        "direct comparison of categories (2.2)",
        "mean square error, mean absolute error, mean variation of data, means, covariances, correlations (2.2)",
        "point estimates, variances, intervals (2.2)",
        "RCV (2.2)",
        "the same of correlations (2.2)",
        "regression coefficients and R² (2.2)",
        "NCP, GCP (2.2)",
        "propensity scores (2.2)",
        "cluster analysis (2.2)",
        "empirical distribution functions (2.2)",
    ),
}


def sections() -> dict[str, str]:
    """Each paper's section of the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    return {
        paper: next(part for title, part in found.items() if title.startswith(start))
        for paper, (_, start) in PAPERS.items()
    }


def rows(section: str) -> list[list[str]]:
    """The rows of the tables that say where things are."""
    found: list[list[str]] = []
    inside = False
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells == HEAD:
            inside = True
        elif not cells:
            inside = False
        elif inside and set(cells[0]) != {"-"}:
            found.append(cells)
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_whatever_a_paper_names_has_a_row(paper: str) -> None:
    found = rows(sections()[paper])
    first = [cells[0] for cells in found]
    missing = [name for name in NAMED[paper] if name not in first]
    assert not missing, f"docs/studies.md has no row for {missing}"
    assert len(first) == len(set(first)), "a row stands twice"
    for cells in found:
        assert len(cells) == 5 and all(cells), cells


@pytest.mark.parametrize("paper", PAPERS)
def test_every_class_that_names_a_paper_as_its_source_has_a_row(paper: str) -> None:
    pattern, _ = PAPERS[paper]
    where = " ".join(cells[1] for cells in rows(sections()[paper]))
    sources = {name: cls.about.source for name, cls in catalogue.methods().items()}
    sources |= {name: cls.about.source for name, cls in catalogue.measures().items()}
    missing = [name for name, source in sources.items() if re.search(pattern, source) and f"`{name}" not in where]
    assert not missing, f"docs/studies.md has no row for the classes {missing}"


@pytest.mark.parametrize("paper", PAPERS)
def test_where_things_are_is_where_they_are(paper: str) -> None:
    for cells in rows(sections()[paper]):
        for named in re.findall(r"`(\w+)[(`.]", cells[1]):
            if named[0].isupper():
                assert hasattr(sfumato, named), cells
        assert "`" in cells[1], f"{cells[0]}: say where it is"


def test_every_sentence_that_the_studies_judge_has_a_row() -> None:
    woo, karr = (rows(sections()[paper]) for paper in ("woo", "karr"))
    said = {"woo": {cells[0]: cells for cells in woo}, "karr": {cells[0]: cells for cells in karr}}
    for statement in OF_WOO:
        row = said["woo"].get(statement.text)
        assert row is not None, f"docs/studies.md has no row for {statement.text!r}"
        assert row[3].startswith(f"{statement.printed} of "), row
    for text, _, printed in OF_KARR:
        row = said["karr"].get(text)
        assert row is not None, f"docs/studies.md has no row for {text!r}"
        assert row[3] == f"{printed} of 6", row


def test_statements_that_change_with_the_seed_are_marked_on_the_page() -> None:
    for paper, of in (("woo", OF_WOO), ("karr", ())):
        marked = {cells[0] for cells in rows(sections()[paper]) if cells[2].startswith("±")}
        known = {text.removeprefix("Tables 1 and 2: ") for text in CHANGING[paper]}
        assert marked == known, paper
        assert not of or known <= {statement.text for statement in of}
    domingo = [cells for cells in rows(sections()["domingo"]) if cells[2].startswith("±")]
    assert len(domingo) == len(CHANGING["domingo"])


def test_a_missing_row_is_noticed() -> None:
    section = f"Kim\n\n| {' | '.join(HEAD)} |\n|---|---|---|---|---|\n| MD | `CDFMaximum` | 1 | 1 | – |\n\ntext\n"
    assert rows(section) == [["MD", "`CDFMaximum`", "1", "1", "–"]]
    assert [name for name in ("MD", "MCM") if name not in [cells[0] for cells in rows(section)]] == ["MCM"]
