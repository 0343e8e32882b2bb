"""The paragraph an archive can publish with the file."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.utility.global_utility import bivariate as steps
from sfumato.utility.global_utility.bivariate import Pairs
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.univariate import VariableUtility

TRIVIAL_DISTANCE = 0.02  # between two distributions: two in a hundred records would have to change
TRIVIAL_EFFECT = steps.SMALL  # between squared coefficients
APART = 0.1  # between two distributions: not close, though with few records it may be chance
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
    (
        steps.REARRANGED,
        "follows another pattern than in the original, and should not be relied on",
        "follow another pattern than in the original, and should not be relied on",
    ),
    (steps.UNTESTABLE, "cannot be analysed in this file", "cannot be analysed in this file"),
)


def statement(variables: Sequence[VariableUtility], pairs: Pairs, models: Sequence[Outcome]) -> str:
    """Say what users may rely on, in words only: no figure of the original, and nothing of what was done to the file.

    Variables that the file lacks are not spoken of, nor are the shares of missing values.
    """
    there = [variable for variable in variables if not variable.removed]
    labels = _labels(there)
    pairs_too = f" and {count_of(len(pairs), 'pair')} of variables" if len(pairs) else ""
    said = [
        "This note tells users how far results from this file agree with the data it was made from. It covers "
        f"{count_of(len(there), 'variable')}{pairs_too}."
    ]
    return " ".join([*said, *_distributions(there, labels), *_associations(pairs, labels), *map(_model, models)])


def _labels(variables: Sequence[VariableUtility]) -> dict[str, str]:
    """Call each variable by its label, and by its name too where another has the same label."""
    number = Counter(variable.label for variable in variables)
    return {v.name: v.label if number[v.label] == 1 else f"{v.label} ({v.name})" for v in variables}


def _distributions(variables: Sequence[VariableUtility], labels: Mapping[str, str]) -> list[str]:
    """Say of each variable whether its distribution is like the original's, which nobody can see from the file."""
    grades: dict[str, list[str]] = {}
    for variable in variables:
        grades.setdefault(_grade(variable), []).append(labels[variable.name])
    said = []
    if unlike := grades.get("unlike"):
        verb = "differ" if len(unlike) > 1 else "differs"
        said.append(f"{_of(unlike)} {verb} from the original and should not be relied on.")
    if broad := grades.get("broad"):
        said.append(f"{_of(broad)} can be seen in broad outline only.")
    if chance := grades.get("chance"):
        verb = "differ" if len(chance) > 1 else "differs"
        said.append(f"{_of(chance)} {verb} visibly from the original, though not by more than chance may do.")
    if alike := grades.get("alike"):
        be = "are" if len(alike) > 1 else "is"
        said.append(f"{_rest(alike, len(variables))} {be} close to the original.")
    if untold := grades.get("untold"):
        said.append(f"{_of(untold)} could not be compared with the original.")
    return said


def _grade(variable: VariableUtility) -> str:
    test = variable.comparison
    if test is None:
        return "untold" if variable.unknown or variable.utility is None else "unlike"
    if test.utility < HALF and test.distance >= TRIVIAL_DISTANCE:
        return "unlike"
    half = HALF if variable.kinds[0] in ("numeric", "date") else HALF**2
    if variable.recoding is not None and variable.recoding < half:
        return "broad"  # of categories, half of them are a quarter of their comparisons
    return "alike" if test.distance < APART else "chance"


def _of(names: Sequence[str]) -> str:
    return f"The distribution{'s' if len(names) > 1 else ''} of {_listed(names)}"


def _rest(names: Sequence[str], every: int) -> str:
    """Name the distributions that are left, or all of them."""
    if len(names) == every > 1:
        return "The distributions of all variables"
    if len(names) <= 2:
        return _of(names)
    return f"The distributions of the other {len(names):,} variables"


def _associations(pairs: Pairs, labels: Mapping[str, str]) -> list[str]:
    if not len(pairs):
        return []
    trivial = trivial_pairs(pairs)
    said, kept = [], int(np.isin(pairs.outcome, (steps.SAME, steps.NEITHER)).sum())
    if kept:
        be = "is" if kept == 1 else "are"
        said.append(f"{_share(kept, len(pairs))} {be} associated as in the original, or not associated in either.")
    for outcome, one, several in PREDICATES:
        places = np.flatnonzero((pairs.outcome == outcome) & ~trivial)
        if places.size:
            worst = places[np.argsort(-np.nan_to_num(pairs.effect[places]), kind="stable")]
            subject = _named([pairs.ends(int(place)) for place in worst], labels)
            said.append(f"The association{subject} {one if places.size == 1 else several}.")
    if trivial.any():
        slight = int(trivial.sum())
        said.append(
            f"In {count_of(slight, 'pair')} the association is weak and differs slightly from the original, which may "
            "decide whether it is significant."
        )
    untold = np.flatnonzero(np.isin(pairs.outcome, (steps.UNTRACED, steps.INCOMPARABLE)))
    if untold.size:
        subject = _named([pairs.ends(int(place)) for place in untold], labels)
        said.append(f"The association{subject} could not be compared with the original.")
    return said


def trivial_pairs(pairs: Pairs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Tell which pairs changed though their squared coefficients hardly differ."""
    changed = np.isin(pairs.outcome, (steps.WEAKER, steps.STRONGER, steps.LOST, steps.INTRODUCED, *steps.TURNED))
    small = np.nan_to_num(pairs.effect, nan=1.0) < TRIVIAL_EFFECT
    return np.asarray(changed & small)


def _share(number: int, every: int) -> str:
    if number == every:
        return "The pair" if every == 1 else "All pairs"
    return f"{number:,} of the {count_of(every, 'pair')}"


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
        said.append(f"of {count_of(len(pairs) - LISTED, 'other pair')}")
    joined = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{'s' if len(pairs) > 1 else ''} {joined}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > LISTED + 1:
        return f"{', '.join(names[:LISTED])} and {len(names) - LISTED:,} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count_of(number: int, noun: str) -> str:
    """Write a number of things: "1 pair", "1,200 pairs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
