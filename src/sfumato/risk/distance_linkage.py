"""Distance-based record linkage: whether the nearest record is the right one."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels import mixed_distance as mixed_kernel
from sfumato.kernels.boxes import distinct
from sfumato.kernels.euclidean_distance import nearer_and_tied
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import compared
from sfumato.risk.known_variables import Known, check_known, known_sets
from sfumato.risk.mixed_points import points
from sfumato.risk.one_to_one import OwnLinks, own_links

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
MOST_PAIRED = 5_000  # records that are paired one to one: their distances to each other must fit in memory
SAME = 1e-9  # distances this close to each other, relatively, are a tie: rounding must not break one


ABOUT = MeasureAbout(
    title="Distance linkage disclosure (DLD)",
    source="Pagliuca and Seri (1998); Domingo-Ferrer, Mateo-Sanz and Torres, Concepts for the Evaluation of "
    "Anonymized Data, sections 4.1 and 5",
    purpose="risk",
    better="lower",
    range=(0.0, 1.0),
    unit="share",
    missing="two missing values are equal; a missing and a present value are farther apart than any two present",
    column_order=True,
    cases="knows ",
    caveat="an intruder who knows the masking method may do better, notably against rank swapping",
    formula="DLD = mean over the sets of known variables of (sum_i L_i) / n\n"
    "L_i = 1 / t_i if no record of the other table is nearer to record i than its own, else 0\n"
    '      (t_i = records as near as that; ties="linked": 1 instead of 1 / t_i)\n'
    "distance = Euclidean, of the known variables' z-scores by each table's own means and deviations",
    reading="The share of records that an intruder finds who knows the true values of these variables for "
    "everybody and takes the nearest record. A guess finds 1 / n. Look at the parts: with one variable known "
    "little is found, and every further one adds to it. It is a worst case in what the intruder knows, not in how "
    "clever he is.",
)
MIXED = replace(
    ABOUT,
    title="Distance linkage disclosure (DLD), all kinds",
    source=f"{ABOUT.source}; Gower (1971), A general coefficient of similarity and some of its properties",
    kinds=("numeric", "ordinal", "nominal", "date"),
    missing="two missing values are equal; a missing and a present value are as far apart as can be",
    formula="DLD = mean over the sets of known variables of (sum_i L_i) / n,   L_i as with the Euclidean distance\n"
    "distance = sum over the known variables of:  numeric |x - y| / range of both tables;  ordinal\n"
    "|place - place| / (categories - 1);  nominal 0 if equal, else 1;  one missing 1, both missing 0",
)
ONE_TO_ONE: dict[str, Any] = {
    "title": "Distance linkage disclosure, one to one",
    "source": "Herranz, Nin, Rodriguez and Tassa (2015), Revisiting distance-based record linkage for "
    "privacy-preserving release of statistical datasets",
    "caveat": "it takes the two tables to be of the same people, every one of them once; time grows with the cube of "
    "the records",
    "formula": "records are paired one to one so that the sum of the distances of all pairs is least;\n"
    "value = mean over the sets of known variables of the share paired with their own\n"
    "of several best pairings: the mean of the one with most and the one with fewest own pairs,\n"
    "links of equal rows spread over them",
}


@catalogued(ABOUT)
class DistanceLinkage(Measure):
    """Share of records whose nearest record in the other table is their own: DLD of the paper.

    For each set of variables an intruder may know, every record of one table looks for the nearest of the other; the
    figure is the mean over the sets. ``known`` is a number (the first 1, 2, ..., 7 keys, or variables where the schema
    names no key), a list of names that become known one after the other, or a list of sets. ``direction`` says who
    searches where. ``ties="share"`` gives a record that ties with others an equal part of one link, which is what a
    guess would earn; ``"linked"`` counts it whole, as the paper's figures do. ``second=True`` also counts records whose
    own is second nearest. Parts hold the share for each set and the share linked to the second nearest; ``by_record``
    the share of the sets that link each record.

    ``distance="euclidean"`` is the paper's, of the standardised values of numeric variables:
    ``standardise="own"`` scales each table by its own means and standard deviations, ``"original"`` both by the
    original's. ``distance="gower"`` takes variables of all kinds and adds up one number from 0 to 1 for each: numbers
    differ by their difference over the range of both tables together (so one outlier makes all other differences
    small), ordered categories by their places from first to last, unordered ones by 0 or 1; two missing values by 0,
    a missing and a present one by 1, which is farthest. There the original's values are first recoded as the protected
    table's were, for whoever knows the town knows the region too. Both searches are exact; doubling the records doubles
    the time and a little more, or up to four times where hardly any variable tells records apart.

    ``links="one to one"`` pairs every record of one table with one of the other so that all distances together are
    least, as an intruder would who knows that both tables are of the same people (for 5,000 records at most). Of
    several best pairings the two with most and with fewest own pairs are found, and their shares are parts;
    ``ties="share"`` takes their mean, ``"linked"`` the one with most. The direction makes no difference then.
    """

    known: Known = 7
    direction: Literal["original to protected", "protected to original"] = "original to protected"
    standardise: Literal["own", "original"] = "own"
    ties: Literal["share", "linked"] = "share"
    second: bool = False
    distance: Literal["euclidean", "gower"] = "euclidean"
    links: Literal["each", "one to one"] = "each"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known", check_known(self, self.known))
        parameters.one_of(self, "direction", ("original to protected", "protected to original"))
        parameters.one_of(self, "standardise", ("own", "original"))
        parameters.one_of(self, "ties", ("share", "linked"))
        parameters.one_of(self, "second", (True, False))
        parameters.one_of(self, "distance", ("euclidean", "gower"))
        if self.distance == "gower":
            if self.standardise != "own":
                raise parameters.refuse(self, "standardise is for the Euclidean distance; Gower's scales by ranges")
            object.__setattr__(self, "about", MIXED)
        parameters.one_of(self, "links", ("each", "one to one"))
        if self.links == "one to one":
            if self.second:
                raise parameters.refuse(self, "a record that is paired one to one has no second nearest")
            self.known_as(**ONE_TO_ONE)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        shared, notes = self.shared(pair)
        original, _ = pair.tables()
        mixed = self.distance == "gower"
        if mixed:
            columns, more = compared(pair, shared, asked=self.variables is not None)
            shared, notes = tuple(columns), (*notes, *more)
        sets = known_sets(self, self.known, original.schema, shared)
        names = tuple(dict.fromkeys(name for known in sets for name in known))
        places = {name: place for place, name in enumerate(names)}
        before, after = points(pair, names) if mixed else self._standardised(pair, names)
        if self.links == "one to one":
            return self._one_to_one(before, after, [[places[name] for name in known] for known in sets], sets, notes)
        linked = np.zeros(len(original))
        nearest_two = np.zeros(len(original))
        parts: dict[str, float] = {}
        for known in sets:
            chosen = [places[name] for name in known]
            here, there = before[:, chosen], after[:, chosen]
            if not mixed:
                here, there = with_missing_apart(here, there)
            if self.direction == "protected to original":
                here, there = there, here
            search = own_is_nearest_mixed if mixed else own_is_nearest
            first, second = search(here, there, share=self.ties == "share")
            linked += first / len(sets)
            nearest_two += second / len(sets)
            parts[f"knows {', '.join(known)}"] = float(first.mean() + (second.mean() if self.second else 0.0))
        parts["linked to the second nearest"] = float(nearest_two.mean())
        by_record = linked + nearest_two if self.second else linked
        return self.measurement(float(by_record.mean()), parts=parts, by_record=by_record, notes=notes)

    def _one_to_one(
        self,
        before: Floats,
        after: Floats,
        columns: list[list[int]],
        sets: list[tuple[str, ...]],
        notes: tuple[str, ...],
    ) -> Measurement:
        from scipy.spatial.distance import cdist

        if len(before) > MOST_PAIRED:
            raise NotApplicable(
                f"{len(before):,} records cannot be paired one to one, {MOST_PAIRED:,} is the most; measure a sample, "
                "or take links='each'"
            )
        found: list[OwnLinks] = []
        for chosen in columns:
            here, there = before[:, chosen], after[:, chosen]
            if self.distance == "gower":
                apart = sum(np.minimum(np.abs(x[:, None] - y), 1.0) for x, y in zip(here.T, there.T, strict=True))
                distances = np.asarray(apart, dtype=np.float64)
            else:
                here, there = with_missing_apart(here, there)
                distances = cdist(here, there)
            found.append(own_links(here, there, distances, share=self.ties == "share"))
        by_record = np.mean([each.by_record for each in found], axis=0)
        parts = {
            f"knows {', '.join(known)}": float(each.by_record.mean()) for known, each in zip(sets, found, strict=True)
        }
        parts["fewest of the best pairings"] = float(np.mean([each.fewest for each in found])) / len(before)
        parts["most of the best pairings"] = float(np.mean([each.most for each in found])) / len(before)
        return self.measurement(float(by_record.mean()), parts=parts, by_record=by_record, notes=notes)

    def _standardised(self, pair: Pair, names: tuple[str, ...]) -> tuple[Floats, Floats]:
        """Return the z-scores of both tables, by each table's own means and deviations or by the original's."""
        ours = pair.original.keep(("z-scores", names), lambda: _scores(pair.original.table, names, "original"))
        theirs = pair.protected.keep(("z-scores", names), lambda: _scores(pair.protected.table, names, "protected"))
        if self.standardise == "own":
            return ours.values, theirs.values
        return ours.values, standardised(pair.protected.table.numeric(names), ours.mean, ours.spread)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Variables of a table standardised by its own means and standard deviations, and these."""

    values: Floats
    mean: Floats
    spread: Floats

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.values.nbytes


def _scores(table: Microdata, names: tuple[str, ...], said: str) -> _Scores:
    values = table.numeric(names)
    mean, spread = mean_and_spread(values)
    if np.isnan(mean).any():
        raise NotApplicable(f"every value of {names[int(np.argmax(np.isnan(mean)))]!r} is missing in the {said} table")
    if not np.isfinite(spread).all():
        name = names[int(np.argmin(np.isfinite(spread)))]
        raise NotApplicable(f"{name!r} has values too large for a standard deviation")
    return _Scores(standardised(values, mean, spread), mean, spread)


def own_is_nearest(here: Floats, there: Floats, *, share: bool) -> tuple[Floats, Floats]:
    """Tell how surely row i of ``there`` is the nearest, and the second nearest, of all its rows to row i of ``here``.

    Equal rows of ``there`` are one point of the tree with a number of copies, so that tables full of repeated records
    (microaggregation, zeros) cost no more than others.
    """
    rows, _, copies = distinct(there)
    own = np.sqrt(((here - there) ** 2).sum(axis=1))
    # what rounding does to a distance grows with the coordinates, not only with the distance
    slack = own * SAME + 4 * np.finfo(np.float64).eps * np.abs(there).max()
    short, reach = np.maximum(own - slack, 0.0), own + slack
    nearer, tied = nearer_and_tied(rows, copies, here, short, reach)
    return _linked(nearer, tied, share=share)


def own_is_nearest_mixed(here: Floats, there: Floats, *, share: bool) -> tuple[Floats, Floats]:
    """Tell the same in the capped city-block distance of ``mixed_distance``, which holds all kinds of variables."""
    own = np.minimum(np.abs(here - there), 1.0).sum(axis=1)
    tie = mixed_kernel.slack(own, here.shape[1])
    nearer, tied = mixed_kernel.nearer_and_tied(
        mixed_kernel.Points.of(there), here, np.maximum(own - tie, 0.0), own + tie
    )
    return _linked(nearer, tied, share=share)


def _linked(nearer: Counts, tied: Counts, *, share: bool) -> tuple[Floats, Floats]:
    """Tell how surely the own record comes first, and second, from how many are nearer and how many as near."""
    if not share:
        return (nearer == 0).astype(np.float64), (nearer == 1).astype(np.float64)
    # tied for first with t in all, each place from 1 to t is equally likely to fall to the own record
    part = 1 / np.maximum(tied, 1)
    second = (nearer == 1) | ((nearer == 0) & (tied > 1))
    return np.where(nearer == 0, part, 0.0), np.where(second, part, 0.0)


def with_missing_apart(here: Floats, there: Floats) -> tuple[Floats, Floats]:
    """Give every variable with missing values an axis of its own on which missing and present lie far apart."""
    gap = np.isnan(here).any(axis=0) | np.isnan(there).any(axis=0)
    if not gap.any():
        return here, there
    both = np.concatenate([here, there])
    reach = np.maximum(np.nanmax(both, axis=0) - np.nanmin(both, axis=0), 1.0)  # of a constant, too
    placed = []
    for table in (here, there):
        apart = np.where(np.isnan(table), reach, 0.0)[:, gap]
        placed.append(np.hstack([np.where(np.isnan(table), 0.0, table), apart]))
    return placed[0], placed[1]
