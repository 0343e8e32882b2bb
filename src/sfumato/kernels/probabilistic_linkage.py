"""Probabilistic record linkage: agreement bins, pattern counts and the Fellegi-Sunter model, on arrays.

Two values agree when they lie between the same two quantiles of the original variable. How many of the
n x m pairs of records show each of the 2^q patterns of agreement is had by sorting, without visiting the
pairs; EM on those counts gives the weights; a one-to-one assignment (``assignment``) gives the links.

Fellegi and Sunter (1969), A theory for record linkage, JASA 64; Jaro (1989), JASA 84, 414-420.

Probabilistic linkage of numbers that agree more or less: all pairs looked at, weights in between. Two numbers are alike
by 1 where they are equal, by 0 where they are a width or more apart, and in proportion between. EM takes those alike by
at least a half as agreeing; a pair's weight then lies, for each variable, between that of agreement and that of
disagreement, in proportion to the likeness (Winkler 1990, String comparator metrics and enhanced decision rules in the
Fellegi-Sunter model of record linkage).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.assignment import assign, own_link_probability

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
_Labelled = tuple[NDArray[np.intp], NDArray[np.int64]]

MAX_VARIABLES = 16
"""2^q patterns are tabled; beyond this many variables the table, not the records, would be the cost."""
MIN_GAIN = 2.0**-20
"""What one agreement more adds to a weight at least, in bits: enough to break a tie, and no more."""
ROUNDING = 1e-12  # of sums of probabilities
MAX_GRADED = 5_000
"""All pairs are held at once, in two tables of numbers: 0.4 GB here."""


class Bounds(NamedTuple):
    """The two errors that a program of linkage asks for; None: not bounded.

    ``false_match`` is the most that the share of non-matches among all pairs of non-matches may be that are linked,
    ``false_non_match`` the most that the share of matches may be that are taken for non-matches.
    """

    false_match: float | None = None
    false_non_match: float | None = None


NO_BOUNDS = Bounds()


class Patterns(NamedTuple):
    """What the model says of each pattern of the variables that tell something: its weight and two probabilities."""

    weights: Floats
    match: Floats
    non_match: Floats


@dataclass(frozen=True)
class MatchModel:
    """What EM learned of the agreement of matches and of non-matches; bit j of a pattern is variable j.

    ``match_agreement`` and ``non_match_agreement`` are m_j and u_j, ``prior`` the share of matches among all
    pairs, ``weights`` log2 P(pattern | match) / P(pattern | non-match) of all 2^q patterns, raised where one
    agreement more would lower it, and ``log_likelihood`` its value at the start and after every iteration.
    """

    match_agreement: Floats
    non_match_agreement: Floats
    prior: float
    weights: Floats
    log_likelihood: Floats
    iterations: int
    converged: bool
    patterns: Patterns


@dataclass(frozen=True)
class LinkageResult:
    """The links found when the first ``variables`` variables are known.

    ``probability`` is, for each record, that of being paired with its own masked version when records with
    equal bins are paired at random; ``linked`` the number of records paired with any. ``possible`` is the probability
    of a pair with its own that the error bounds leave for somebody to look at.
    """

    variables: int
    probability: Floats
    linked: int
    model: MatchModel
    possible: Floats | None = None

    @property
    def share(self) -> float:
        """The expected share of records correctly paired."""
        return float(self.probability.mean())


def bin_cuts(original: Floats, bins: int) -> tuple[Floats, ...]:
    """The inner cuts that divide the values present of each variable into ``bins`` parts; none if nothing is present.

    Both files are cut at the places of the original, so that a value released as it is always agrees.
    """
    shares = np.arange(1, bins) / bins
    present = [column[~np.isnan(column)] for column in original.T]
    return tuple(np.asarray(np.quantile(values, shares)) if values.size else np.empty(0) for values in present)


def agreement_bins(table: Floats, cuts: Sequence[Floats]) -> Codes:
    """The bin of every value of a file; -1 where missing. A value on a cut belongs to the bin above it."""
    binned = np.full(table.shape, -1, dtype=np.int32)
    for j, inner in enumerate(cuts):
        present = ~np.isnan(table[:, j])
        binned[present, j] = np.searchsorted(inner, table[present, j], side="right")
    return binned


def agreeing_pairs(left: Codes, right: Codes) -> Counts:
    """For every subset of variables (bit mask), the number of pairs of records that agree on all of it.

    Missing (-1) agrees with nothing. The first 2^k entries are those of the first k variables.
    """
    variables = left.shape[1]
    if variables > MAX_VARIABLES:
        raise ValueError(f"agreeing_pairs: at most {MAX_VARIABLES} variables; got {variables}")
    totals = np.zeros(2**variables, dtype=np.int64)
    totals[0] = len(left) * len(right)
    everyone = (np.arange(len(left)), np.zeros(len(left), np.int64))
    others = (np.arange(len(right)), np.zeros(len(right), np.int64))
    for subset, total in _descend(left, right, everyone, others, 0, 0):
        totals[subset] = total
    return totals


def _descend(
    left: Codes, right: Codes, mine: _Labelled, theirs: _Labelled, subset: int, first: int
) -> Iterator[tuple[int, int]]:
    """Subset and total, depth first; records that no longer agree with any other are left behind."""
    for j in range(first, left.shape[1]):
        packed, partner = _pack(left[:, j], mine), _pack(right[:, j], theirs)
        total, mine_kept, theirs_kept = _common(packed, partner)
        if total:
            yield subset | 1 << j, total
            yield from _descend(left, right, mine_kept, theirs_kept, subset | 1 << j, j + 1)


def _pack(codes: Codes, records: _Labelled) -> _Labelled:
    """Records present in one more variable, with label and code in one key (label below 2^31, code too)."""
    rows, labels = records
    added = codes[rows]
    present = added >= 0
    return rows[present], labels[present] << 31 | added[present]


def _common(mine: _Labelled, theirs: _Labelled) -> tuple[int, _Labelled, _Labelled]:
    """The number of pairs with equal keys, and the records that have one, keys renumbered from zero."""
    keys, counts = np.unique(mine[1], return_counts=True)
    their_keys, their_counts = np.unique(theirs[1], return_counts=True)
    shared, at, their_at = np.intersect1d(keys, their_keys, assume_unique=True, return_indices=True)
    total = int(counts[at] @ their_counts[their_at])
    return total, _relabel(mine, shared), _relabel(theirs, shared)


def _relabel(records: _Labelled, shared: NDArray[np.int64]) -> _Labelled:
    rows, keys = records
    if len(shared) == 0:
        return rows[:0], keys[:0]
    labels = np.searchsorted(shared, keys)
    kept = shared[np.minimum(labels, len(shared) - 1)] == keys
    return rows[kept], labels[kept]


def pattern_counts(agreeing: Counts) -> Counts:
    """The number of pairs with exactly each pattern of agreement, from those that agree at least on it.

    Inclusion and exclusion over supersets (Moebius transform), one variable at a time.
    """
    counts = agreeing.copy()
    for j in range(_variables(len(agreeing))):
        by_bit = counts.reshape(-1, 2, 2**j)
        by_bit[:, 0] -= by_bit[:, 1]
    return counts


def agreeing_within(codes: Codes) -> Counts:
    """As ``agreeing_pairs``, for the ordered pairs of different records of one file: surely non-matches."""
    counts = np.bincount((codes >= 0) @ (1 << np.arange(codes.shape[1])), minlength=2 ** codes.shape[1])
    for j in range(codes.shape[1]):
        by_bit = counts.reshape(-1, 2, 2**j)
        by_bit[:, 0] += by_bit[:, 1]
    # counts is now, for each subset, the number of records complete in it: those agree with themselves.
    return agreeing_pairs(codes, codes) - counts


def raked(counts: Counts, rates: Floats) -> Floats:
    """Counts of patterns with these rates of agreement and the odds ratios of the counts given.

    Half a pair is added to each pattern, then each variable's rate is met in turn until nothing moves
    (iterative proportional fitting). A variable on which all or no pairs agree is left as it is.
    """
    bits = _bits(len(rates))
    shares = (counts + 0.5) / (counts + 0.5).sum()
    for _ in range(200):
        before = shares
        for j, rate in enumerate(rates):
            agrees = bits[:, j] > 0
            found = shares[agrees].sum()
            if 0 < rate < 1:
                shares = np.where(agrees, shares * (rate / found), shares * ((1 - rate) / (1 - found)))
        if np.abs(shares - before).max() <= 1e-14:
            break
    return np.asarray(shares * counts.sum())


def fit_matches(
    counts: Counts,
    matches: int,
    non_matches: Counts | Floats | None = None,
    *,
    start: float = 0.9,
    tolerance: float = 1e-5,
    most_iterations: int = 5_000,
) -> MatchModel:
    """Agreement of matches by EM, in the mixture prior * prod_j m_j^a (1 - m_j)^(1-a) + (1 - prior) * U.

    A one-to-one design says how many matches there are, so the prior is held at ``matches`` / pairs. U, the
    patterns of non-matches, is held too: the shares in ``non_matches`` (half a pair added to each pattern),
    which keep the dependence between variables; without them the product of the marginal agreement
    rates u_j, matches being a negligible part of the pairs. What is left, m_j, starts at ``start`` and is
    kept between max(u_j, 1/(2 matches + 2)) and 1 - 1/(2 matches + 2): matches agree at least as often
    as non-matches, which bars the two classes from changing places. Converged: no m_j moved by more than
    ``tolerance``.

    One variable alone has as many parameters as free counts and says nothing of m_1: it stays at the start.
    A variable on which all or no pairs agree carries no information: m_j = u_j, and its bit no weight.
    """
    variables = _variables(len(counts))
    pairs = int(counts.sum())
    bits = _bits(variables)
    marginal = counts @ bits / pairs
    informative = np.flatnonzero((marginal > 0) & (marginal < 1))
    if non_matches is not None and non_matches.sum() > 0:
        within = non_matches @ bits / non_matches.sum()
        informative = informative[(within[informative] > 0) & (within[informative] < 1)]

    kept = _sub_patterns(bits, informative)
    size = 2 ** len(informative)
    observed = _collapse(counts, kept, size)
    sub_bits = _bits(len(informative))
    if non_matches is None:
        u = marginal[informative]
        non_match = np.exp(_log_independent(sub_bits, u))
    else:
        smoothed = _collapse(non_matches, kept, size) + 0.5
        non_match = smoothed / smoothed.sum()
        u = non_match @ sub_bits

    prior = matches / pairs
    nearest = 1 / (2 * matches + 2)
    lowest, highest = np.clip(u, nearest, 1 - nearest), 1 - nearest
    m = np.clip(np.full(len(u), start), lowest, highest)
    log_likelihood = []
    converged = len(m) < 2
    iterations = 0
    while True:
        match = np.exp(_log_independent(sub_bits, m))
        mixture = prior * match + (1 - prior) * non_match
        # Patterns that never occur may have probability zero, and add nothing.
        log_likelihood.append(float(observed @ np.log(np.maximum(mixture, np.finfo(float).tiny))))
        if converged or iterations == most_iterations:
            break
        expected = observed * prior * match / mixture
        updated = np.clip(expected @ sub_bits / expected.sum(), lowest, highest)
        converged = bool(np.abs(updated - m).max() <= tolerance)
        m = updated
        iterations += 1

    match_agreement = marginal.copy()
    match_agreement[informative] = m
    non_match_agreement = marginal.copy()
    non_match_agreement[informative] = u
    weights = _raised_by_agreement(np.log2(match / non_match))
    return MatchModel(
        match_agreement=match_agreement,
        non_match_agreement=non_match_agreement,
        prior=prior,
        weights=weights[kept],
        log_likelihood=np.array(log_likelihood),
        iterations=iterations,
        converged=converged,
        patterns=Patterns(weights, match, non_match),
    )


def cutoffs(patterns: Patterns, bounds: Bounds) -> tuple[float, float]:
    """The weight from which on a pair is linked, and that below which it is taken for a non-match.

    The first is the least weight for which the patterns of as much or more have at most the probability
    ``false_match`` among non-matches, the second the greatest for which those of less have at most ``false_non_match``
    among matches (Fellegi and Sunter 1969; Jaro 1989). Pairs between are left for somebody to look at. With one bound
    there is one cut. Where the second is the greater, both bounds are kept by any cut between; the first decides.
    """
    levels, place = np.unique(patterns.weights, return_inverse=True)
    upper = lower = -np.inf
    if bounds.false_match is not None:
        from_here = np.cumsum(np.bincount(place, patterns.non_match)[::-1])[::-1]
        kept = levels[from_here <= bounds.false_match + ROUNDING]
        upper = float(kept[0]) if kept.size else np.inf
    if bounds.false_non_match is not None:
        by_level = np.bincount(place, patterns.match)
        below = np.cumsum(by_level) - by_level
        lower = float(levels[below <= bounds.false_non_match + ROUNDING][-1])
    if bounds.false_match is None:
        upper = lower
    elif bounds.false_non_match is None:
        lower = upper
    return upper, min(lower, upper)


def _raised_by_agreement(weights: Floats) -> Floats:
    """Each weight, raised where needed to a trifle above those of patterns that agree on less.

    Dependent variables (income and its tax) agree together by chance more often than alone, so that a lone
    agreement, being rarer, would weigh more than both, and a copy could be outweighed.
    """
    raised = weights.copy()
    for j in range(_variables(len(weights))):
        by_bit = raised.reshape(-1, 2, 2**j)
        np.maximum(by_bit[:, 1], by_bit[:, 0] + MIN_GAIN, out=by_bit[:, 1])
    return raised


def _variables(patterns: int) -> int:
    return patterns.bit_length() - 1


def _bits(variables: int) -> Floats:
    """Pattern by variable: 1 where the pattern has the variable agree."""
    return (np.arange(2**variables)[:, np.newaxis] >> np.arange(variables) & 1).astype(np.float64)


def _sub_patterns(bits: Floats, variables: NDArray[np.intp]) -> NDArray[np.int64]:
    """The pattern each pattern becomes when only some variables are looked at."""
    return bits[:, variables].astype(np.int64) @ (1 << np.arange(len(variables)))


def _collapse(counts: Counts | Floats, sub_patterns: NDArray[np.int64], size: int) -> Floats:
    return np.bincount(sub_patterns, counts, size).astype(np.float64)


def _log_independent(bits: Floats, agreement: Floats) -> Floats:
    return np.asarray(bits @ np.log(agreement) + (1 - bits) @ np.log1p(-agreement))


def nested_linkage(
    left: Codes, right: Codes, apart: Counts, rng: np.random.Generator, bounds: Bounds = NO_BOUNDS
) -> list[LinkageResult]:
    """Links when the first variable is known, the first two, ..., all; row i of both files of bins is one record.

    ``apart`` counts the pairs of different records of the left file that agree (``agreeing_within``): non-matches. They
    are raked to the rates at which the two files agree, for masking may move values between bins. ``rng`` orders the
    records for the assignment. Where no pattern has a positive weight, nothing is linked and all probabilities are
    zero. Of the pairs of the assignment those are links whose weights ``bounds`` allow.
    """
    if left.shape != right.shape:
        raise ValueError(f"nested_linkage: files of one shape; got {left.shape} and {right.shape}")
    agreeing = agreeing_pairs(left, right)
    results = []
    for known in range(1, left.shape[1] + 1):
        mine, theirs = left[:, :known], right[:, :known]
        counts = pattern_counts(agreeing[: 2**known])
        rates = agreeing[1 << np.arange(known)] / agreeing[0]
        model = fit_matches(counts, len(left), raked(pattern_counts(apart[: 2**known]), rates))
        partner = assign(mine, theirs, model.weights, rng)
        partner, looked_at = _within_bounds(partner, mine, theirs, model, bounds)
        results.append(
            LinkageResult(
                variables=known,
                probability=own_link_probability(mine, theirs, partner),
                linked=int((partner >= 0).sum()),
                model=model,
                possible=own_link_probability(mine, theirs, looked_at),
            )
        )
    return results


def _within_bounds(
    partner: NDArray[np.int64], left: Codes, right: Codes, model: MatchModel, bounds: Bounds
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Part the pairs into links and those to be looked at; -1 where there is none."""
    nobody = np.full_like(partner, -1)
    if bounds == NO_BOUNDS:
        return partner, nobody
    upper, lower = cutoffs(model.patterns, bounds)
    agree = (left == right[partner]) & (left >= 0)
    weight = model.weights[agree @ (1 << np.arange(left.shape[1]))]
    return np.where(weight >= upper, partner, nobody), np.where((weight >= lower) & (weight < upper), partner, nobody)


def graded_linkage(left: Floats, right: Floats, widths: Floats, rng: np.random.Generator) -> list[LinkageResult]:
    """Links when the first variable is known, the first two, ..., all; row i of both files of values is one record.

    ``widths`` says, for each variable, how far apart two numbers are that are not alike at all. As in
    ``nested_linkage`` non-matches are the pairs of different records of the left file, pairs of weight 0 or less are
    not made, and ``rng`` orders the records for the assignment.
    """
    if left.shape != right.shape:
        raise ValueError(f"graded_linkage: files of one shape; got {left.shape} and {right.shape}")
    across, within = (np.zeros((len(left), len(left)), dtype=np.uint16) for _ in range(2))
    order = rng.permutation(len(left))
    kinds = [np.stack([_codes(column) for column in file.T], axis=1) for file in (left, right)]
    results = []
    for j, width in enumerate(widths):
        across |= (likeness(left[:, j], right[:, j], width) >= 0.5).astype(np.uint16) << np.uint16(j)
        within |= (likeness(left[:, j], left[:, j], width) >= 0.5).astype(np.uint16) << np.uint16(j)
        known = j + 1
        counts, apart = (_counted(patterns, known) for patterns in (across, within))
        apart -= np.bincount(within.diagonal(), minlength=len(apart))  # a record with itself
        rates = counts @ (np.arange(2**known)[:, np.newaxis] >> np.arange(known) & 1) / counts.sum()
        model = fit_matches(counts, len(left), raked(apart, rates))
        partner = graded_assignment(left[:, :known], right[order, :known], widths, model)
        partner[partner >= 0] = order[partner[partner >= 0]]
        probability = own_link_probability(kinds[0][:, :known], kinds[1][:, :known], partner)
        results.append(LinkageResult(known, probability, int((partner >= 0).sum()), model))
    return results


def likeness(left: Floats, right: Floats, width: float) -> Floats:
    """How alike each number of the one file is to each of the other, 1 to 0; a missing one is like none.

    >>> likeness(np.array([0.0, np.nan]), np.array([0.0, 1.0, 2.0, 9.0]), 4.0).tolist()
    [[1.0, 0.75, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large for a difference are not alike
        apart = np.abs(left[:, np.newaxis] - right)
        alike = 1.0 - apart / width if width > 0 else (apart == 0).astype(np.float64)
    return np.asarray(np.fmax(alike, 0.0))  # of a number and no number the number


def graded_assignment(left: Floats, right: Floats, widths: Floats, model: MatchModel) -> NDArray[np.int64]:
    """The right record linked to each left record (-1: none) so that the total weight is the greatest."""
    from scipy.optimize import linear_sum_assignment

    weight = np.zeros((len(left), len(right)))
    for j, (agreeing, apart) in enumerate(zip(*_sides(model), strict=True)):
        weight += apart + likeness(left[:, j], right[:, j], widths[j]) * (agreeing - apart)
    np.maximum(weight, 0.0, out=weight)
    rows, columns = linear_sum_assignment(weight, maximize=True)
    partner = np.full(len(left), -1, dtype=np.int64)
    linked = weight[rows, columns] > 0
    partner[rows[linked]] = columns[linked]
    return partner


def _sides(model: MatchModel) -> tuple[Floats, Floats]:
    """The weights of agreement and of disagreement by variable; 0 for one that tells nothing."""
    m, u = model.match_agreement, model.non_match_agreement
    telling = m != u
    agreeing, apart = np.zeros(len(m)), np.zeros(len(m))
    agreeing[telling] = np.log2(m[telling] / u[telling])
    apart[telling] = np.log2((1 - m[telling]) / (1 - u[telling]))
    return agreeing, apart


def _counted(patterns: NDArray[np.uint16], known: int) -> Counts:
    return np.bincount(patterns.ravel(), minlength=2**known)


def _codes(column: Floats) -> NDArray[np.int32]:
    """Number the values of a variable, so that equal ones can be told by whole numbers; missing ones are equal."""
    return np.unique(column, return_inverse=True)[1].astype(np.int32)
