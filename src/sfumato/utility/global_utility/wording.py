"""The paragraph an archive can publish with the file, and what the result says of its own limits."""

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.utility.global_utility import bivariate as steps
from sfumato.utility.global_utility.bivariate import Pairs
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.univariate import VariableUtility

TRIVIAL_DISTANCE = 0.02  # between two distributions: two in a hundred records would have to change
TRIVIAL_EFFECT = 0.01  # between squared coefficients: one hundredth of the variance, Cohen's small r of 0.1
HALF = 0.5  # below it a test at the level of 5 % tells the two distributions apart
LISTED = 12  # pairs and variables named in a sentence
PREDICATES = (
    (steps.WEAKER, "is weaker than in the original", "are weaker than in the original"),
    (steps.STRONGER, "is stronger than in the original", "are stronger than in the original"),
    (
        steps.LOST,
        "is in the original but does not show in this file",
        "are in the original but do not show in this file",
    ),
    (
        steps.INTRODUCED,
        "shows in this file but is not in the original, and should not be relied on",
        "show in this file but are not in the original, and should not be relied on",
    ),
    (
        steps.REVERSED,
        "takes another direction than in the original, and should not be relied on",
        "take another direction than in the original, and should not be relied on",
    ),
    (steps.UNTESTABLE, "cannot be analysed in this file", "cannot be analysed in this file"),
)


def statement(
    variables: Sequence[VariableUtility], pairs: Pairs, models: Sequence[Outcome], labels: Mapping[str, str]
) -> str:
    """Say what users may rely on, in words only: no figure of the original, and nothing of what was done to the file.

    Variables that the file lacks are not spoken of, nor are the shares of missing values.
    """
    there = [variable for variable in variables if not variable.removed]
    said = [
        f"This note tells users how far results from this file agree with the data it was made from. It covers "
        f"{_count(len(there), 'variable')} and {_count(len(pairs), 'pair')} of variables."
    ]
    return " ".join([*said, *_distributions(there), *_associations(pairs, labels), *map(_model, models)])


def _distributions(variables: Sequence[VariableUtility]) -> list[str]:
    unlike = [v.label for v in variables if _unlike(v)]
    untold = [v.label for v in variables if v.utility is None]
    alike = len(variables) - len(unlike) - len(untold)
    said = []
    if unlike:
        plural = len(unlike) > 1
        said.append(
            f"The distribution{'s' if plural else ''} of {_listed(unlike)} differ{'' if plural else 's'} from the "
            "original and should not be relied on."
        )
    if alike:
        lead = "The distributions of all variables" if alike == len(variables) > 1 else _others(alike, bool(unlike))
        said.append(f"{lead} {'is' if alike == 1 else 'are'} close to the original.")
    if untold:
        said.append(f"Nothing can be said of the distribution{'s' if len(untold) > 1 else ''} of {_listed(untold)}.")
    return said


def _unlike(variable: VariableUtility) -> bool:
    if variable.comparison is None:
        return variable.utility == 0
    return variable.comparison.utility < HALF and variable.comparison.distance >= TRIVIAL_DISTANCE


def _others(number: int, after: bool) -> str:
    if number == 1:
        return f"The distribution of the {'other' if after else 'one'} variable"
    return f"The distributions of the {'other ' if after else ''}{number:,} variables"


def _associations(pairs: Pairs, labels: Mapping[str, str]) -> list[str]:
    if not len(pairs):
        return []
    trivial = trivial_pairs(pairs)
    said, kept = [], int(np.isin(pairs.outcome, (steps.SAME, steps.NEITHER)).sum())
    whole = "All pairs" if kept == len(pairs) > 1 else f"{kept:,} of the {_count(len(pairs), 'pair')}"
    said.append(f"{whole} {'is' if kept == 1 else 'are'} associated as in the original, or not associated in either.")
    for outcome, one, several in PREDICATES:
        places = np.flatnonzero((pairs.outcome == outcome) & ~trivial)
        if places.size:
            worst = places[np.argsort(-np.nan_to_num(pairs.effect[places]), kind="stable")]
            subject = _named([pairs.ends(int(place)) for place in worst], labels)
            said.append(f"The association{subject} {one if places.size == 1 else several}.")
    if trivial.any():
        said.append("Associations that are very weak in the original may look different.")
    untold = np.flatnonzero(pairs.outcome == steps.INCOMPARABLE)
    if untold.size:
        subject = _named([pairs.ends(int(place)) for place in untold], labels)
        said.append(f"Nothing can be said of the association{subject}.")
    return said


def trivial_pairs(pairs: Pairs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Tell which pairs changed though their squared coefficients hardly differ."""
    changed = np.isin(pairs.outcome, (steps.WEAKER, steps.STRONGER, steps.LOST, steps.INTRODUCED, steps.REVERSED))
    small = np.nan_to_num(pairs.effect, nan=1.0) < TRIVIAL_EFFECT
    return np.asarray(changed & small)


def _model(outcome: Outcome) -> str:
    if outcome.utility >= steps.AS_BEFORE:
        return f"The {_title(outcome)} gives much the same as the original."
    if not outcome.after:
        return f"The {_title(outcome)} cannot be had from this file."
    return f"The {_title(outcome)} gives other results than the original and should not be relied on."


def _title(outcome: Outcome) -> str:
    return outcome.name if outcome.name.startswith("scale") else f"model {outcome.name}"


def _named(pairs: Sequence[tuple[str, str]], labels: Mapping[str, str]) -> str:
    """Name pairs by the variable most of them share: "s of income with age and region, and of rent with age"."""
    left, said = [(labels[first], labels[second]) for first, second in pairs[:LISTED]], []
    while left:
        names = [name for pair in left for name in pair]
        lead = max(dict.fromkeys(names), key=names.count)
        own = [pair for pair in left if lead in pair]
        said.append(f"of {lead} with {_listed([pair[0] if pair[1] == lead else pair[1] for pair in own])}")
        left = [pair for pair in left if lead not in pair]
    if len(pairs) > LISTED:
        said.append(f"of {_count(len(pairs) - LISTED, 'other pair')}")
    joined = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{'s' if len(pairs) > 1 else ''} {joined}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > LISTED + 1:
        return f"{', '.join(names[:LISTED])} and {len(names) - LISTED:,} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# what the result says of its own limits


def size_notes(variables: Sequence[VariableUtility], pairs: Pairs, records: int, threshold: float) -> list[str]:
    """Say where the number of records alone drives the score, up or down."""
    said = []
    driven = [
        v
        for v in variables
        if v.comparison and v.comparison.utility < HALF and v.comparison.distance < TRIVIAL_DISTANCE
    ]
    if driven:
        worst = min(driven, key=lambda v: v.comparison.utility if v.comparison else 1.0)
        test = worst.comparison
        assert test is not None
        word = "K-S distance" if test.test.startswith("K") else "total variation distance"
        said.append(
            f"the number of records alone lowers the score of {_count(len(driven), 'variable')}: for {worst.name!r} a "
            f"{word} of {test.distance:.2g} is trivial (below {TRIVIAL_DISTANCE:g}), but with {records:,} records it "
            f"is significant (P = {test.p:.2g}); see the parts named effect size"
        )
    trivial = trivial_pairs(pairs) & (np.nan_to_num(pairs.utility, nan=1.0) < HALF)
    if trivial.any():
        said.append(
            f"{_count(int(trivial.sum()), 'pair')} of {len(pairs):,} score below one half though the squared "
            f"coefficients differ by less than {TRIVIAL_EFFECT:g}: there the number of records and the threshold of "
            f"{threshold:g} decide, not the strength of the association"
        )
    if records < 100:
        least = 1.96 / np.sqrt(max(records - 2, 1))
        said.append(
            f"with {records:,} records the tests see little (no correlation below about {min(1.0, least):.2f}), and "
            "what is not seen in either table counts as kept: the score flatters"
        )
    return said
