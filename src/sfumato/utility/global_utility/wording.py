"""What is said in words: the paragraph an archive can publish with the file, and notes on the limits of the result."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.kernels.stretches import code_counts
from sfumato.pair import Half, Pair
from sfumato.utility.global_utility import bivariate
from sfumato.utility.global_utility.bivariate import SURVEY_RECORDS, Pairs
from sfumato.utility.global_utility.multivariate import Outcome
from sfumato.utility.global_utility.univariate import VariableUtility

# The paragraph an archive can publish with the file

TRIVIAL_DISTANCE = 0.02  # between two distributions: two in a hundred records would have to change
TRIVIAL_EFFECT = bivariate.MIN_SQUARED_COEFFICIENT  # between squared coefficients
MIN_DISTANCE = 0.1  # between two distributions: not close, though with few records it may be chance
HALF = 0.5  # below it a test at the level of 5 % tells the two distributions apart
LISTED = 12  # pairs and variables named in a sentence
PREDICATES = (
    (bivariate.WEAKER, "is weaker than in the original", "are weaker than in the original"),
    (bivariate.STRONGER, "is stronger than in the original", "are stronger than in the original"),
    (
        bivariate.LOST,
        "is in the original but does not show in this file",
        "are in the original but do not show in this file",
    ),
    (
        bivariate.INTRODUCED,
        "shows in this file but is not in the original, and should not be relied on",
        "show in this file but are not in the original, and should not be relied on",
    ),
    (
        bivariate.REVERSED,
        "takes another direction than in the original, and should not be relied on",
        "take another direction than in the original, and should not be relied on",
    ),
    (
        bivariate.REARRANGED,
        "follows another pattern than in the original, and should not be relied on",
        "follow another pattern than in the original, and should not be relied on",
    ),
    (bivariate.UNTESTABLE, "cannot be analysed in this file", "cannot be analysed in this file"),
)


def statement(variables: Sequence[VariableUtility], pairs: Pairs, models: Sequence[Outcome]) -> str:
    """Say what users may rely on, in words only: no figure of the original, and nothing of what was done to the file.

    Variables that the file lacks are not spoken of, nor are the shares of missing values.
    """
    there = [variable for variable in variables if not variable.removed]
    labels = _labels(there)
    pairs_too = f" and {_count_of(len(pairs), 'pair')} of variables" if len(pairs) else ""
    said = [
        "This note tells users how far results from this file agree with the data it was made from. It covers "
        f"{_count_of(len(there), 'variable')}{pairs_too}."
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
    return "alike" if test.distance < MIN_DISTANCE else "chance"


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
    trivial = _trivial_pairs(pairs)
    said, kept = [], int(np.isin(pairs.outcome, (bivariate.SAME, bivariate.NEITHER)).sum())
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
            f"In {_count_of(slight, 'pair')} the association is weak and differs slightly from the original, which may "
            "decide whether it is significant."
        )
    untold = np.flatnonzero(np.isin(pairs.outcome, (bivariate.UNTRACED, bivariate.INCOMPARABLE)))
    if untold.size:
        subject = _named([pairs.ends(int(place)) for place in untold], labels)
        said.append(f"The association{subject} could not be compared with the original.")
    return said


def _trivial_pairs(pairs: Pairs) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Tell which pairs changed though their squared coefficients hardly differ."""
    changed = np.isin(
        pairs.outcome, (bivariate.WEAKER, bivariate.STRONGER, bivariate.LOST, bivariate.INTRODUCED, *bivariate.TURNED)
    )
    small = np.nan_to_num(pairs.effect, nan=1.0) < TRIVIAL_EFFECT
    return np.asarray(changed & small)


def _share(number: int, every: int) -> str:
    if number == every:
        return "The pair" if every == 1 else "All pairs"
    return f"{number:,} of the {_count_of(every, 'pair')}"


def _model(outcome: Outcome) -> str:
    if outcome.utility >= bivariate.AS_BEFORE:
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
        said.append(f"of {_count_of(len(pairs) - LISTED, 'other pair')}")
    joined = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"{'s' if len(pairs) > 1 else ''} {joined}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > LISTED + 1:
        return f"{', '.join(names[:LISTED])} and {len(names) - LISTED:,} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _count_of(number: int, noun: str) -> str:
    """Write a number of things: "1 pair", "1,200 pairs"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


# What the result says of its own limits

MIN_RECORDS = 100  # records below which little is significant
MIN_RECORDS_NEVER_REPEATED = 50  # records among which a value that never repeats is worth a word


def one_sided_notes(pair: Pair, names: Sequence[str], *, asked: bool, reduction: bool) -> list[str]:
    """Say which variables only one of the tables has, and which seem to number the records.

    ``asked``: somebody named the variables.
    """
    original, protected = pair.original, pair.protected.schema
    said, gone = [], [name for name in names if name not in protected]
    if gone:
        said.append(f"removed, so they count 0: {', '.join(gone)}")
        if not reduction:
            said.append("the global reduction coefficient (reduction=True) would lower the value further")
    if asked:
        return said
    new = [name for name in protected.analysed() if name not in original.schema]
    if new:
        said.append(f"not compared, for the original has no such variable: {', '.join(new)}")
    numbering = [name for name in names if name not in gone and _names_records(original, name)]
    if numbering:
        said.append(
            f"every value of {', '.join(numbering)} occurs once, as if it named the records: compared even so, "
            "unless the schema calls it an id or an identifier"
        )
    return said


def _names_records(half: Half, name: str) -> bool:
    """Tell whether a variable is a running number, or text that never repeats."""
    records = len(half)
    if records < MIN_RECORDS_NEVER_REPEATED:
        return False
    column = half.column(name)
    if not half.schema[name].quantitative:
        return bool(column.min() >= 0) and int(code_counts(column, len(half.schema[name].categories)).max()) == 1
    if column.max() - column.min() + 1 != records:
        return False
    values = half.values(name).values
    return np.array_equal(values - values[0], np.arange(records))


def missing_notes(variables: Sequence[VariableUtility], *, charged: bool) -> list[str]:
    """Say where more values are missing than before, which the tests of the values present do not see."""
    more = [v for v in variables if not v.removed and v.missing[1] > v.missing[0] + 0.001]
    if not more:
        return []
    worst = max(more, key=lambda v: v.missing[1] - v.missing[0])
    others = f" and {len(more) - 1} other variable{'s' if len(more) > 2 else ''}" if len(more) > 1 else ""
    return [
        f"more values are missing than in the original in {worst.name!r} ({100 * worst.missing[0]:.1f} % before, "
        f"{100 * worst.missing[1]:.1f} % after){others}: the tests compare the values present, and do not see that "
        f"there are fewer{', so that each figure is multiplied by the share left' if charged else ''}"
    ]


def untold_notes(variables: Sequence[VariableUtility], pairs: Pairs) -> list[str]:
    """Say what was left out, what is rough, and why."""
    said = [f"variable {v.name!r}: {'; '.join(v.notes)}" for v in variables if v.notes and not v.removed]
    if len(said) > 10:
        said = [*said[:10], f"and notes on {len(said) - 10} more variables; see the table of variables"]
    if pairs.thin.any():
        said.append(
            f"{int(pairs.thin.sum()):,} contingency tables hold fewer than {bivariate.MIN_RECORDS_PER_CELL:g} records "
            "per cell: their chi-squared P values are rough, and V is too large"
        )
    left = np.flatnonzero(pairs.outcome == bivariate.INCOMPARABLE)
    if left.size:
        reasons = dict.fromkeys(pairs.untold[int(place)] for place in left)
        shown = "; ".join(list(reasons)[:3]) + ("; and others" if len(reasons) > 3 else "")
        those = f"{left.size:,} of {len(pairs):,} pairs {'is' if left.size == 1 else 'are'}"
        said.append(f"{those} not comparable and left out of the means: {shown}")
    return said


def interval_note(variables: Sequence[VariableUtility], pairs: Pairs, value: float, ends: Sequence[float]) -> str:
    """Say how far the value may be off because of what cannot be told."""
    untold = [v.name for v in variables if v.unknown]
    count = int(pairs.unknown.sum())
    what = [f"variable{'s' if len(untold) > 1 else ''} {', '.join(untold)}"] if untold else []
    what += [_count_of(count, "pair")] if count else []
    beyond = ": the value, the mean of what is known, is beyond it" if value > ends[1] else ""
    return (
        f"between {ends[0]:.3g} and {ends[1]:.3g}, for of {' and '.join(what)} it cannot be told what is left: nothing "
        f"at the least, at the most what numbers of values and strengths of associations allow{beyond}"
    )


def fewer_note(value: float, fewer: float) -> str:
    """Say what part of the value is the number of records speaking."""
    return (
        f"with {SURVEY_RECORDS:,} records that differ as these do the value would be {fewer:.3f}: the difference of "
        f"{fewer - value:+.3f} is the number of records speaking, through P values"
    )


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
            f"the number of records alone lowers the score of {_count_of(len(driven), 'variable')}: for {worst.name!r} "
            f"a {word} of {test.distance:.2g} is trivial (below {TRIVIAL_DISTANCE:g}), but with {records:,} records it "
            f"is significant (P = {test.p:.2g}); see the parts named effect size"
        )
    trivial = _trivial_pairs(pairs) & (np.nan_to_num(pairs.utility, nan=1.0) < HALF)
    if trivial.any():
        count = int(trivial.sum())
        said.append(
            f"{_count_of(count, 'pair')} of {len(pairs):,} score{'s' if count == 1 else ''} below one half though the "
            f"squared coefficients differ by less than {TRIVIAL_EFFECT:g}: there the number of records and the "
            f"threshold of {threshold:g} decide, not the strength of the association"
        )
    if records < MIN_RECORDS:
        said.append(
            f"with {_count_of(records, 'record')} the tests see little ({_least(records, threshold)}), and what is not "
            "seen in either table counts as kept: the score flatters"
        )
    return said


def _least(records: int, threshold: float) -> str:
    """Say which correlations a test at this level does not see: r = t / sqrt(n - 2 + t^2)."""
    if records < 3:
        return "no correlation at all"
    from scipy.special import stdtrit

    t = float(stdtrit(records - 2, threshold / 2))
    least = 1 / np.sqrt((records - 2) / t / t + 1) if t else 0.0
    return f"no correlation below {least:.2f}"
