"""Distance-based record linkage: whether the nearest record is the right one."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.data.microdata import Microdata
from sfumato.errors import NotApplicable
from sfumato.kernels.spread import mean_and_spread, standardised
from sfumato.measurement import SAMPLING_ERROR, Measurement
from sfumato.pair import Pair
from sfumato.pair.sample import SIZE, Sample
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import compared
from sfumato.risk.known_variables import Known, check_known, known_sets
from sfumato.risk.linkage_in_parts import Links, euclidean_links, gower_links, refuse_without_scale
from sfumato.risk.mixed_points import points
from sfumato.risk.number_space import with_missing_apart
from sfumato.risk.one_to_one import OwnLinks, own_links
from sfumato.risk.own_nearest import own_is_nearest, own_is_nearest_mixed

Floats = NDArray[np.float64]
MOST_PAIRED = 5_000  # records that are paired one to one: their distances to each other must fit in memory


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
    parts="sample",
    parts_if="links to each",
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

    Of a table in parts ``sample`` records drawn at random (5,000 if nobody says) look for their own among all records
    of the other table, on the scale of the whole tables; the part "standard error" says how sure the mean is; it is
    never 0, for who is linked may not have been drawn. With all records in the sample the figure is that in memory.
    ``sample`` holds for a table in memory, too.
    """

    known: Known = 7
    direction: Literal["original to protected", "protected to original"] = "original to protected"
    standardise: Literal["own", "original"] = "own"
    ties: Literal["share", "linked"] = "share"
    second: bool = False
    distance: Literal["euclidean", "gower"] = "euclidean"
    links: Literal["each", "one to one"] = "each"
    sample: int | None = field(default=None, kw_only=True)

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
            self.known_as(**ONE_TO_ONE, parts="memory", parts_if="")
        if self.sample is not None:
            parameters.whole(self, "sample", least=2)
            if self.links == "one to one":
                raise parameters.refuse(self, "records that are paired one to one are all needed, not a sample")
            self.known_as(random=True)

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        shared, notes = self.shared(pair)
        mixed = self.distance == "gower"
        sample = self._drawn(pair, rng)
        if mixed:
            columns, more = compared(pair, shared, asked=self.variables is not None)
            shared, notes = tuple(columns), (*notes, *more)
        sets = known_sets(self, self.known, pair.original.schema, shared)
        names = tuple(dict.fromkeys(name for known in sets for name in known))
        places = {name: place for place, name in enumerate(names)}
        if sample is not None:
            return self._of_sample(
                pair, names, [[places[name] for name in known] for known in sets], sets, sample, notes
            )
        before, after = points(pair, names) if mixed else self._standardised(pair, names)
        if self.links == "one to one":
            return self._one_to_one(before, after, [[places[name] for name in known] for known in sets], sets, notes)
        found: list[Links] = []
        for known in sets:
            chosen = [places[name] for name in known]
            here, there = before[:, chosen], after[:, chosen]
            if not mixed:
                here, there, _ = with_missing_apart(here, there)
            if self.direction == "protected to original":
                here, there = there, here
            search = own_is_nearest_mixed if mixed else own_is_nearest
            found.append(search(here, there, share=self.ties == "share"))
        by_record, parts = self._together(found, sets)
        return self.measurement(float(by_record.mean()), parts=parts, by_record=by_record, notes=notes)

    def _together(self, found: list[Links], sets: list[tuple[str, ...]]) -> tuple[Floats, dict[str, float]]:
        """Return how surely each record is linked, over the sets, and the share of each set."""
        linked, nearest_two = np.zeros(len(found[0][0])), np.zeros(len(found[0][0]))
        parts: dict[str, float] = {}
        for known, (first, second) in zip(sets, found, strict=True):
            linked += first / len(sets)
            nearest_two += second / len(sets)
            parts[f"knows {', '.join(known)}"] = float(first.mean() + (second.mean() if self.second else 0.0))
        parts["linked to the second nearest"] = float(nearest_two.mean())
        return (linked + nearest_two if self.second else linked), parts

    def _drawn(self, pair: Pair, rng: np.random.Generator) -> Sample | None:
        """Draw the records to look for; None: all of a table in memory."""
        if self.links == "one to one":
            pair.tables()
        if self.sample is None and not pair.in_parts:
            return None
        return Sample.drawn(len(pair.original), self.sample or SIZE, rng)

    def _of_sample(
        self,
        pair: Pair,
        names: tuple[str, ...],
        columns: list[list[int]],
        sets: list[tuple[str, ...]],
        sample: Sample,
        notes: tuple[str, ...],
    ) -> Measurement:
        """Look for the records of a sample among all records of the other table."""
        back, share = self.direction == "protected to original", self.ties == "share"
        if self.distance == "gower":
            found = gower_links(pair, names, columns, sample, back=back, share=share)
        else:
            own = self.standardise == "own"
            found = euclidean_links(pair, names, columns, sample, own=own, back=back, share=share)
        linked, parts = self._together(found, sets)
        if not sample.whole:
            parts[SAMPLING_ERROR] = sample.error(linked)
            among = "all original ones" if back else "all protected ones"
            notes = (*notes, sample.said(parts[SAMPLING_ERROR], among))
        return self.measurement(float(linked.mean()), parts=parts, notes=notes)

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
                here, there, _ = with_missing_apart(here, there)
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
    refuse_without_scale(mean, spread, names, said)
    return _Scores(standardised(values, mean, spread), mean, spread)
