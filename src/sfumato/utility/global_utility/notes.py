"""What the result says of its own limits."""

from collections.abc import Sequence

import numpy as np

from sfumato.kernels.stretches import code_counts
from sfumato.pair import Half, Pair
from sfumato.utility.global_utility import bivariate
from sfumato.utility.global_utility.bivariate import Pairs
from sfumato.utility.global_utility.sample_size import RECORDS
from sfumato.utility.global_utility.univariate import VariableUtility
from sfumato.utility.global_utility.wording import HALF, TRIVIAL_DISTANCE, TRIVIAL_EFFECT, count_of, trivial_pairs

FEW = 100  # records below which little is significant
MANY = 50  # records among which a value that never repeats is worth a word


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
    if records < MANY:
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
            f"{int(pairs.thin.sum()):,} contingency tables hold fewer than {bivariate.THIN:g} records per cell: their "
            "chi-squared P values are rough, and V is too large"
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
    what += [count_of(count, "pair")] if count else []
    beyond = ": the value, the mean of what is known, is beyond it" if value > ends[1] else ""
    return (
        f"between {ends[0]:.3g} and {ends[1]:.3g}, for of {' and '.join(what)} it cannot be told what is left: nothing "
        f"at the least, at the most what numbers of values and strengths of associations allow{beyond}"
    )


def fewer_note(value: float, fewer: float) -> str:
    """Say what part of the value is the number of records speaking."""
    return (
        f"with {RECORDS:,} records that differ as these do the value would be {fewer:.3f}: the difference of "
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
            f"the number of records alone lowers the score of {count_of(len(driven), 'variable')}: for {worst.name!r} "
            f"a {word} of {test.distance:.2g} is trivial (below {TRIVIAL_DISTANCE:g}), but with {records:,} records it "
            f"is significant (P = {test.p:.2g}); see the parts named effect size"
        )
    trivial = trivial_pairs(pairs) & (np.nan_to_num(pairs.utility, nan=1.0) < HALF)
    if trivial.any():
        count = int(trivial.sum())
        said.append(
            f"{count_of(count, 'pair')} of {len(pairs):,} score{'s' if count == 1 else ''} below one half though the "
            f"squared coefficients differ by less than {TRIVIAL_EFFECT:g}: there the number of records and the "
            f"threshold of {threshold:g} decide, not the strength of the association"
        )
    if records < FEW:
        said.append(
            f"with {count_of(records, 'record')} the tests see little ({_least(records, threshold)}), and what is not "
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
