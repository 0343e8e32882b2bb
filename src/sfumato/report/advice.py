"""How to handle what was done to a protected file, in general words: no parameter, no seed, nothing that undoes it."""

from collections.abc import Iterable, Sequence

from sfumato.about import Effect
from sfumato.compare.examine.findings import ReleasedVariable
from sfumato.compare.figures import listed
from sfumato.core import Method
from sfumato.report.summary import Advice

NAMED = 8  # variables named in a sentence
TOPICS: dict[Effect, str] = {
    "exchanged": "Values exchanged between records",
    "averaged": "Values replaced by means",
    "noisy": "Noise",
    "other categories": "Categories changed at random",
    "made up": "Made-up records",
    "a part": "A part of the records",
    "reweighted": "Survey weights changed",
}
TEXTS: dict[Effect, str] = {
    "exchanged": "Such a variable has the values it had, in part with other records. What hangs together with it "
    "comes out weaker on the whole, most so in small groups and small areas.",
    "averaged": "Values were replaced by the means of similar records. Means hold; variances, extremes and shares in "
    "the tails come out too small, and correlations may come out too strong.",
    "noisy": "Random amounts were added. Means hold on the whole; variances may come out too large, and slopes on "
    "such a variable too small, as with any error of measurement: methods for errors in variables apply.",
    "other categories": "Some records have another category than they gave, as if the answer had been misreported. "
    "Associations with such a variable come out weaker, and a rare category holds many who are not of it.",
    "made up": "Records or values were drawn from a model of the data: what the model does not hold is not in the "
    "file. Use it to prepare an analysis and to teach; have results that matter confirmed on the original data, and "
    "do not take the usual standard errors for the whole uncertainty.",
    "a part": "The file holds a part of the records. Use the weights, which make it stand for all; standard errors "
    "are larger than those of the whole.",
    "reweighted": "The survey weights are not those of the design; their total is. Weighted shares and means differ "
    "a little from those of the original weights, and standard errors computed as for the design are approximate.",
}

LEVELLED: dict[Effect, str] = {  # what is said where all weights of the file are equal
    "reweighted": "All records have the same survey weight now: the original ones would have given values back. "
    "Weighted results are those without weights, and may be far from those of the original weights. Do not estimate "
    "totals, shares or means of the population from this file.",
}
UNWEIGHTED: dict[Effect, str] = {  # what is said instead of a file without weights
    "a part": "The file holds a part of the records and no weights: its totals are not those of the whole, and "
    "standard errors are larger.",
    "reweighted": "",
}


def advice_on(
    variables: Sequence[ReleasedVariable], steps: Iterable[Method], *, weighted: bool = False, weight: str = ""
) -> tuple[Advice, ...]:
    """Say how to handle the missing values, the classes and the changed values of a file, where there are any.

    Weights are spoken of only where the file has them (``weighted``); ``weight`` is their variable.
    """
    level = weighted and any(v.one_left for v in variables if v.name == weight)
    effects = dict.fromkeys(method.about.effect for step in steps for method in step.innermost)
    # of other records more may be missing, though nothing was left blank
    others = not {"made up", "a part"}.isdisjoint(effects)
    blank = [v for v in variables if "suppressed" in v.done or (v.missing > v.missing_before and not others)]
    said = [*_of_gaps(blank, weighted=weighted), *_of_classes(variables)]
    changed = [v.name for v in variables if "perturbed" in v.done]
    if changed:
        said.append(
            Advice(
                "Changed values",
                f"In {listed(tuple(changed), NAMED)} a single value need not be the true one. Do not read single "
                "records; results for large groups are nearer to the truth than those for small ones. Standard errors "
                "computed as usual leave out what the protection added.",
            )
        )
    texts = TEXTS | LEVELLED if level else TEXTS if weighted else TEXTS | UNWEIGHTED
    return (*said, *(Advice(TOPICS[one], texts[one]) for one in effects if one is not None and texts[one]))


def _of_gaps(blank: Sequence[ReleasedVariable], *, weighted: bool) -> list[Advice]:
    if not blank:
        return []
    text = (
        f"In {listed(tuple(v.name for v in blank), NAMED)} values were left blank, as a rule where a combination of "
        "answers is rare. So they are not missing at random: if records with a blank are dropped, what is left leans "
        "towards common combinations. Keep these records: count the blanks as a category of their own, or impute them "
        "from the other variables, several times, and say so."
    )
    if weighted:
        text += (
            " Weighted counts of such a variable fall short of the population by the weights of the blanks; report "
            "these beside them, or spread them over the categories."
        )
    if any(v.missing_before for v in blank):
        text += " Some were blank in the data as they were collected; the file does not tell which."
    return [Advice("Missing values", text)]


def _kinds(variables: Sequence[ReleasedVariable]) -> str:
    dates = [v.was == "date" for v in variables]
    return "Dates" if all(dates) else "Numbers and dates" if any(dates) else "Numbers"


def _of_classes(variables: Sequence[ReleasedVariable]) -> list[Advice]:
    def named(wanted: Iterable[ReleasedVariable]) -> str:
        return listed(tuple(v.name for v in wanted), NAMED)

    said = []
    grouped = [v for v in variables if "grouped" in v.done]
    if bands := [v for v in grouped if v.was in ("numeric", "date")]:
        said.append(
            Advice(
                "Bands",
                f"{_kinds(bands)} that are now in bands: {named(bands)}. Use the bands as ordered categories. If "
                "numbers are needed, take midpoints and say so; the first and last band may be open, and a mean or "
                "total depends much on the number chosen for these.",
            )
        )
    if merged := [v for v in grouped if v.was not in ("numeric", "date")]:
        said.append(
            Advice(
                "Merged categories",
                f"Categories of {named(merged)} were put together. Tabulate the classes as they are: they cannot be "
                "split again, and differences within a class do not show.",
            )
        )
    if ends := [v for v in variables if "ends coded" in v.done]:
        said.append(
            Advice(
                "Extreme values",
                f"The extremes of {named(ends)} are coded as one value. Medians and quantiles inside hold; maxima, "
                "variances and measures of inequality do not, and means and totals only if that value is the mean of "
                "those it stands for. Models for censored values apply.",
            )
        )
    if rounded := [v for v in variables if "rounded" in v.done]:
        said.append(
            Advice(
                "Rounded values",
                f"Rounded: {named(rounded)}. Differences smaller than the steps seen in the file mean nothing, and "
                "sums of rounded parts need not give the rounded total.",
            )
        )
    return said
