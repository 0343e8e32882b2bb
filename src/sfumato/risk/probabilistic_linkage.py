"""Probabilistic record linkage: agreement patterns, Fellegi-Sunter weights, one-to-one assignment."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread
from sfumato.measurement import Measurement
from sfumato.pair import Half, Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import KnownVariables, check_known, known_sets

if TYPE_CHECKING:
    from sfumato.kernels.probabilistic_linkage import LinkageResult

Floats = NDArray[np.float64]


@catalogued(
    MeasureAbout(
        title="Probabilistic linkage disclosure (PLD)",
        source="Fellegi and Sunter (1969); Jaro (1989); Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the "
        "Evaluation of Anonymized Data, sections 4.2 and 5",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing="a comparison in which either value is missing is a disagreement",
        column_order=True,
        random=True,
        caveat="depends on how fine the agreement bins are: too coarse or too fine and true links are missed",
        formula="pair (i, l) has the pattern g:  g_j = 1 if x_ij and y_lj lie in the same bin of variable j\n"
        "weight of g = log2( prod_j m_j^g_j (1 - m_j)^(1 - g_j) / U(g) ), no less than of less agreement\n"
        "m_j = agreement of matches, by EM with n matches in n^2 pairs;   U = patterns of non-matches\n"
        "links = one-to-one assignment of greatest total weight, pairs of weight <= 0 left out\n"
        "PLD = mean over the sets of known variables of the share of records linked to their own\n"
        "graded:  weight = sum_j s_j log2(m_j / u_j) + (1 - s_j) log2((1 - m_j) / (1 - u_j)),\n"
        "         s_j = max(0, 1 - |x_ij - y_lj| / (width sd_j));  for EM, g_j = 1 if s_j >= 1/2\n"
        "links where sum U(g) <= false_match above; none where sum P(g | match) <= false_non_match below",
        reading="The share an intruder re-identifies who knows these variables of everybody and links the two files "
        "as statisticians do: 0.5 is every other record. A blind assignment finds one record in n. Compare it with "
        "DistanceLinkage: the larger of the two is the risk, since an intruder would use the better one. ``bins`` "
        "decides what agrees: 20 suits some thousand records; values moved by less than a bin still agree.",
    )
)
class ProbabilisticLinkage(Measure):
    """Share of records paired with their own by probabilistic record linkage: PLD of the paper.

    Two values agree when they lie between the same two of the original variable's ``bins``-quantiles. EM on the counts
    of agreement patterns over all pairs gives the agreement rates of matches, the number of matches being known from
    the one-to-one design and the patterns of non-matches from pairs of different original records; the Fellegi-Sunter
    weights follow, and a one-to-one assignment of greatest total weight gives the pairs. Pairs of weight zero or less
    are not made. The figure is the mean over the sets of variables that become ``known`` (as in
    :class:`DistanceLinkage`). Records with equal bins cannot be told apart, so each gets the probability that a random
    pairing among them hits its own (``by_record``); among assignments of equal weight one is drawn.

    ``comparator="graded"`` lets numbers agree more or less, as linkage programs compare strings: wholly if equal, not
    at all if ``width`` standard deviations of the original or more apart, and in proportion between; a pair's weight
    lies between those of agreement and disagreement accordingly. It looks at all pairs, so it takes at most 5,000
    records. Which rule the paper's program used is not printed.

    ``false_match`` and ``false_non_match`` are the two bounds that Jaro's program asks for: the most that may be linked
    of the pairs of different persons (there are n of these for each that is none, so that 0.001 of 1,000 records is
    one false link each), and the most that may be given up of the pairs that belong together. With one of them pairs
    of the assignment are links from its cut on. With both, the value counts the links above the first cut, and the part
    "possible links" what is between the two, which an intruder would look through. Without, all of positive weight are
    links, which is the more careful judgement.

    Limits: after heavy
    masking EM may find no agreement to build on, so that a further variable can even lower the share (a note says so);
    time grows with the square of the records, some 4 seconds at 10,000 and 13 at 20,000.
    """

    known: KnownVariables = 7
    bins: int = 20
    comparator: Literal["bins", "graded"] = "bins"
    width: float = 0.1
    false_match: float | None = field(default=None, kw_only=True)
    false_non_match: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known", check_known(self, self.known))
        parameters.whole(self, "bins", least=2)
        parameters.one_of(self, "comparator", ("bins", "graded"))
        parameters.number(self, "width", above=0)
        for name in ("false_match", "false_non_match"):
            if getattr(self, name) is not None:
                parameters.share(self, name, zero=True)
        if self.comparator == "graded" and self._bounded:
            raise parameters.refuse(self, "error bounds are on patterns of agreement: take comparator='bins'")

    @property
    def _bounded(self) -> bool:
        return self.false_match is not None or self.false_non_match is not None

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        from sfumato.kernels import probabilistic_linkage as linkage

        shared, notes = self.shared(pair)
        original, protected = pair.tables()
        sets = known_sets(self, self.known, original.schema, shared)
        longest = max(sets, key=len)
        if len(longest) > linkage.MAX_VARIABLES:
            raise NotApplicable(
                f"{len(longest)} variables known at once have too many agreement patterns; {linkage.MAX_VARIABLES} is "
                "the most"
            )
        for name in dict.fromkeys(name for known in sets for name in known):
            if np.isnan(original.columns[name]).all() or np.isnan(protected.columns[name]).all():
                raise NotApplicable(f"every value of {name!r} is missing in one of the tables")
        nested = all(known == longest[: len(known)] for known in sets)
        found = {}
        for chain in [longest] if nested else sets:  # prefixes of one list share their pattern counts
            for result in self._linked(pair, chain, rng):
                found[chain[: result.variables]] = result
        by_record = np.mean([found[known].probability for known in sets], axis=0)
        faint = sum(bool((m.match_agreement <= m.non_match_agreement).any()) for m in (found[k].model for k in sets))
        if faint:
            notes = (
                *notes,
                f"in {faint} of the {len(sets)} sets EM found a variable on which matches agree no more often",
            )
        unsettled = sum(not found[known].model.converged for known in sets)
        if unsettled:
            notes = (*notes, f"EM had not converged for {unsettled} of the {len(sets)} sets of known variables")
        parts = {f"knows {', '.join(known)}": found[known].share for known in sets}
        looked_at = [found[known].possible for known in sets]
        if self._bounded:
            parts["possible links"] = float(np.mean([own.mean() for own in looked_at if own is not None]))
        return self.measurement(
            float(by_record.mean()),
            parts=parts,
            by_record=by_record,
            notes=notes,
        )

    def _linked(self, pair: Pair, chain: tuple[str, ...], rng: np.random.Generator) -> "list[LinkageResult]":
        """Link the two tables by the first variable of a list, the first two, and so on."""
        from sfumato.kernels import probabilistic_linkage as linkage

        protected = pair.protected.table.numeric(chain)
        if self.comparator == "bins":
            first = _first_file(pair.original, chain, self.bins)
            right = linkage.agreement_bins(protected, first.cuts)
            bounds = linkage.Bounds(self.false_match, self.false_non_match)
            return linkage.nested_linkage(first.codes, right, first.apart, rng, bounds)
        if len(protected) > linkage.MAX_GRADED:
            raise NotApplicable(
                f"the graded comparator looks at all pairs, of at most {linkage.MAX_GRADED:,} records; there are "
                f"{len(protected):,}. Take comparator='bins'"
            )
        original = pair.original.table.numeric(chain)
        return linkage.graded_linkage(original, protected, self.width * mean_and_spread(original)[1], rng)


@dataclass(frozen=True, eq=False)
class _FirstFile:
    """The original's records in agreement bins, where these are cut, and how many of its own pairs agree."""

    cuts: tuple[Floats, ...]
    codes: NDArray[np.int32]
    apart: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.codes.nbytes + self.apart.nbytes


def _first_file(original: Half, names: tuple[str, ...], bins: int) -> _FirstFile:
    """Put the original's records into bins; what every candidate is linked with is computed once."""
    from sfumato.kernels import probabilistic_linkage as linkage

    def binned() -> _FirstFile:
        values = original.table.numeric(names)
        cuts = linkage.bin_cuts(values, bins)
        codes = linkage.agreement_bins(values, cuts)
        return _FirstFile(cuts, codes, linkage.agreeing_within(codes))

    found: _FirstFile = original.keep(("agreement bins", names, bins), binned)
    return found
