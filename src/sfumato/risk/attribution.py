"""Attribution: who is still alone, and whether someone who knows the keys can read a confidential value off."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes, first_records
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.compared_variables import MISSING_KEYS, BandedVariable, ComparedKeys, Notes

# Replicated uniques: whether someone who is alone in the original is alone in the protected table as well

SOURCE = (
    "Raab, Nowok and Dibben (2024), Practical privacy metrics for synthetic data; synthpop's vignette on disclosure"
)


@catalogued(
    MeasureAbout(
        title="Replicated uniques (RepU)",
        source=SOURCE,
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_KEYS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="a unique record of a synthetic file may replicate one of the original by chance; what it discloses is "
        "for DiSCO and TCAP to say",
        formula="RepU = #{key combinations q: d_q = 1 and s_q = 1} / n\n"
        "d_q, s_q = original and protected records with the keys q;   n = original records",
        reading='Compare it with its part "unique in the original", what a copy would give. For a synthetic file '
        "even a small share worries people who find themselves in it, right or wrong, and programs can remove such "
        "records; for a masked file it is the share of people who stay alone on their keys. A few percent is common "
        "with many keys: fewer keys, fewer uniques.",
    )
)
class RepU(Measure):
    """Share of original records that are unique in the keys and whose keys are unique in the protected table as well.

    With d_q original and s_q protected records of key combination q: the number of q with d_q = s_q = 1, over the
    number of original records. ``variables`` are the keys (by default those of that role); they are compared after the
    original's values were recoded as the protected table's were. Nothing is said of whether the two records are about
    the same person; of a synthetic file they are not, but an intruder may believe it. Parts: the share of originals
    unique in the original itself (what a copy would give; synthpop's UiO), of protected records unique in their table
    (UiS), of originals that are unique and whose keys occur in the protected table at all (UiOiS), of originals whose
    keys do. ``by_record`` has one value per original record.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "e"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "e"]})
    >>> RepU(variables=("region",)).evaluate(original, protected).value  # e is alone in both; n and s are not
    0.25
    """

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = ComparedKeys.of(pair, self.variables)
        ours, theirs = keys.originals, keys.protecteds
        alone = (ours == 1) & (theirs == 1)
        return self.measurement(
            alone.sum() / len(keys.original),
            parts={
                "unique in the original": float((ours == 1).sum() / len(keys.original)),
                "unique in the protected table": float((theirs == 1).sum() / len(keys.protected)),
                "unique in the original, keys found": float(((ours == 1) & (theirs > 0)).sum() / len(keys.original)),
                "keys found": float(ours[theirs > 0].sum() / len(keys.original)),
            },
            by_record=None if pair.in_parts else alone[keys.original].astype(np.float64),
            notes=keys.notes,
        )


# Records by keys and target: what the protected table says of a target to someone who knows the keys

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TargetCells:
    """The combinations of key class and target that occur in either table, and how many records of each have it.

    A missing target, -1, is a value like any other here. ``cuts`` are those of a numeric target's bands.
    """

    keys: ComparedKeys
    key: Integers  # the key class of each cell
    target: Codes
    originals: Integers
    protecteds: Integers
    cell_of: Integers  # the cell of each original record
    cuts: Floats

    @classmethod
    def of(cls, pair: Pair, keys: ComparedKeys, name: str, bands: int) -> "TargetCells":
        """Put the records of both tables into cells by their keys and a target, a number in bands of the original."""
        found: TargetCells = pair.keep(
            ("target cells", keys.names, name, bands), lambda: cls._of(pair, keys, name, bands)
        )
        return found

    @classmethod
    def _of(cls, pair: Pair, keys: ComparedKeys, name: str, bands: int) -> "TargetCells":
        known = BandedVariable.between(pair, name, bands)
        key = np.concatenate([keys.original, keys.protected])
        target = np.concatenate([known.original, known.protected])
        cell_of, sizes = classes(np.column_stack([key, target]))
        first = first_records(cell_of)
        ours = cell_of[: len(keys.original)]
        originals = np.bincount(ours, minlength=len(sizes))
        return cls(keys, key[first], target[first], originals, sizes - originals, ours, known.cuts)

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        arrays = (self.key, self.target, self.originals, self.protecteds, self.cell_of, self.cuts)
        return sum(array.nbytes for array in arrays)

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Whether there is anything to disclose: the target is present."""
        return self.target >= 0

    @property
    def found(self) -> Integers:
        """How many protected records have the keys of each cell."""
        return self.keys.protecteds[self.key]

    @property
    def own(self) -> Integers:
        """How many original records have the keys of each cell."""
        return self.keys.originals[self.key]

    @cached_property
    def greatest(self) -> Integers:
        """How many of the protected records with its keys have their most frequent target."""
        return self._largest(self.protecteds)

    @cached_property
    def own_greatest(self) -> Integers:
        """How many of the original records with its keys have their most frequent target."""
        return self._largest(self.originals)

    def _largest(self, counts: Integers) -> Integers:
        greatest = np.zeros(len(self.keys.originals), dtype=np.int64)
        np.maximum.at(greatest, self.key, counts)
        return greatest[self.key]

    @cached_property
    def mode(self) -> NDArray[np.bool_]:
        """Whether no target is more frequent among the protected records with its keys."""
        return np.asarray((self.protecteds > 0) & (self.protecteds == self.greatest))

    @cached_property
    def modes(self) -> Integers:
        """How many targets are as frequent as the most frequent one among the protected records with its keys."""
        return np.bincount(self.key[self.mode], minlength=len(self.keys.originals))[self.key]

    @property
    def mode_share(self) -> Floats:
        """The mean share of these most frequent targets in the original at large."""
        shares = self._shares(self.originals)[self.target[self.mode] + 1]
        total = np.bincount(self.key[self.mode], shares, minlength=len(self.keys.originals))
        share: Floats = total[self.key] / np.maximum(self.modes, 1)
        return share

    @property
    def protected_share(self) -> Floats:
        """The share of the protected records, whatever their keys, that have its target."""
        share: Floats = self._shares(self.protecteds)[self.target + 1]
        return share

    @property
    def most_frequent(self) -> float:
        """The share of the original records with the most frequent target: what a guess without any file earns."""
        return float(self._shares(self.originals)[1:].max())

    @property
    def repeated(self) -> float:
        """The chance that two original records drawn at random have the same target, which is present."""
        return float((self._shares(self.originals)[1:] ** 2).sum())

    def _shares(self, counts: Integers) -> Floats:
        """Return the share of a table's records with each target, the missing one first."""
        totals = np.bincount(self.target + 1, counts)
        shares: Floats = totals / totals.sum()
        return shares

    # over the original records

    def share(self, cells: NDArray[np.bool_]) -> float:
        """Return the share of the original records in some of the cells."""
        return float(self.originals[cells].sum() / len(self.cell_of))

    def mean(self, values: Floats) -> float:
        """Return the mean over original records of what is said of each cell."""
        return float((values * self.originals).sum() / len(self.cell_of))


# Attribution: whether a confidential value can be read off the protected table by someone who knows the keys

MISSING_TARGETS = (
    f"{MISSING_KEYS}; a missing target is nothing to disclose: its record counts as not disclosed, but in the "
    "protected table it is a value like any other"
)


class Attribution(Measure):
    """What DiSCO and TCAP share: targets in turn, the worst of which is the value."""

    targets: tuple[str, ...] | None
    classes: int

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.names(self, "targets")
        parameters.whole(self, "classes", least=2)
        both = sorted(set(self.variables or ()) & set(self.targets or ()))
        if both:
            raise parameters.refuse(self, f"{both[0]!r} is named as a key and as a target; it can only be one of them")

    def compute(self, pair: Pair, rng: np.random.Generator) -> Measurement:
        keys = ComparedKeys.of(pair, self.variables)
        targets, notes = self._targets(pair, keys)
        found: dict[str, AttributionResult] = {}
        for name in targets:
            seen = pair.footing(name)
            if not seen.comparable:
                notes = (*notes, f"target left out, {name}: {seen.note}")
                continue
            cells = TargetCells.of(pair, keys, name, self.classes)
            if not cells.originals[cells.told].any():
                notes = (*notes, f"target left out, every value is missing: {name}")
                continue
            found[name] = self._attributed(cells)
            if cells.cuts.size:
                cuts = ", ".join(f"{cut:g}" for cut in cells.cuts)
                notes = (*notes, f"{name} is compared in {len(cells.cuts) + 1} classes of the original, cut at {cuts}")
        if not found:
            raise NotApplicable(f"no target can be compared; {'; '.join(notes)}")
        values = {name: each.value for name, each in found.items()}
        worst = max(values, key=lambda name: values[name])
        if len(found) > 1:
            notes = (*notes, f"the value, its parts and the records are those of {worst}, the target most at risk")
        unclaimed = [name for name, each in found.items() if each.parts.get("claims") == 0]
        if unclaimed:
            notes = (*notes, f"no claim can be made, so that the value is 0: {', '.join(unclaimed)}")
        title = type(self).__name__
        return self.measurement(
            values[worst],
            parts=found[worst].parts,
            by_variable=values,
            by_record=None if pair.in_parts else found[worst].by_record,
            tables={"targets": tuple({"target": n, title: each.value, **each.parts} for n, each in found.items())},
            notes=(*keys.notes, *notes),
        )

    def _targets(self, pair: Pair, keys: ComparedKeys) -> tuple[tuple[str, ...], Notes]:
        """Name the targets, and note those that the protected table lacks."""
        schema = pair.original.schema
        named = self.targets if self.targets is not None else schema.analysed(role="confidential")
        named = tuple(name for name in named if name not in keys.names)
        if not named:
            raise NotApplicable(
                "no variable but the keys has the role confidential; give targets=[...], or role = "
                '"confidential" in the schema to what must not become known'
            )
        for name in named:
            if name not in schema:
                raise NotApplicable(schema.unknown(name))
        gone = tuple(name for name in named if name not in pair.protected.schema)
        if gone and (self.targets is not None or len(gone) == len(named)):
            raise NotApplicable(f"the protected table has no target {', '.join(gone)}")
        notes = (f"targets the protected table lacks, left out: {', '.join(gone)}",) if gone else ()
        return tuple(name for name in named if name not in gone), notes

    @abstractmethod
    def _attributed(self, cells: TargetCells) -> "AttributionResult":
        """Return the value, its parts, and what is said of each cell."""


@dataclass(frozen=True, eq=False)
class AttributionResult:
    """The value of one target, its parts, and how far each original record is disclosed."""

    value: float
    parts: dict[str, float]
    by_record: Floats


@catalogued(
    MeasureAbout(
        title="Disclosive in synthetic, correct in original (DiSCO)",
        source=SOURCE,
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_TARGETS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="a target that nearly everyone shares is disclosed whatever is released: compare the part by chance",
        formula="DiSCO = #{i: s_q > 0 and all s_q protected records with the keys q of i show its target t_i} / n\n"
        "by chance: mean over i of p^s_q (0 where s_q = 0),  p = share of t_i among the protected records\n"
        "n = original records",
        reading="0.1 means that of one person in ten somebody who knows the keys reads the target off the file and "
        'is right. Take away the part "by chance" and compare with "disclosive in the original": near that, the file '
        "protects no better than the original. Keys that nobody shares make it large by themselves, since one record "
        "always agrees with itself.",
    )
)
class DiSCO(Attribution):
    """Share of original records whose keys, in the protected table, go with one target value only: the true one.

    An intruder who knows a person's keys finds all protected records with those keys to agree in the target, and is
    right. ``variables`` are the keys, ``targets`` what is to stay confidential (by default the variables of those
    roles); numeric targets are compared in so many quantile ``classes`` of the original, and keys and targets are
    compared after the original's values were recoded as the protected table's were. The value is that of the target
    most at risk; ``by_variable`` has them all. Parts: by chance, the share if targets were dealt to the protected
    records at random (of a value with share p, and keys that occur m times, p^m: m times the own value); disclosive in
    the original (what a copy would give); disclosive in the protected table (right or wrong); right where the original
    is disclosive too (synthpop's DiSDiO); keys found; the most frequent value (what a guess without any file earns).
    ``by_record`` has one value per original record.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> DiSCO(targets=("ill",), variables=("region",)).evaluate(original, protected).value  # all but the second
    0.75
    """

    targets: tuple[str, ...] | None = None
    classes: int = 10

    def _attributed(self, cells: TargetCells) -> AttributionResult:
        there = cells.found > 0
        certain = there & (cells.greatest == cells.found)
        right = cells.told & there & (cells.protecteds == cells.found)
        chance = np.where(cells.told & there, cells.protected_share ** np.maximum(cells.found, 1), 0.0)
        parts = {
            "by chance": cells.mean(chance),
            "disclosive in the original": cells.share(cells.told & (cells.own == cells.own_greatest)),
            "disclosive in the protected table": cells.share(certain),
            "right and disclosive in both": cells.share(right & (cells.own == cells.own_greatest)),
            "keys found": cells.share(there),
            "most frequent value": cells.most_frequent,
        }
        return AttributionResult(cells.share(right), parts, right[cells.cell_of].astype(np.float64))


@catalogued(
    MeasureAbout(
        title="Targeted correct attribution probability (TCAP)",
        source=f"Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability; {SOURCE}",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_TARGETS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="a share of the records an intruder would claim to know, which may be few: read it beside DiSCO",
        formula="TCAP = sum over claims i of [t_i is a mode of its keys] / (modes) over the number of claims\n"
        "claim on i:  s_q > 0 and max_t s_qt / s_q >= tau,  s_qt = protected records with q and target t\n"
        "DCAP = mean over all originals of s_(q, t_i) / s_q, 0 where s_q = 0",
        reading="How often an intruder who is sure is also right; by chance he would be right as often as the part "
        "of that name. A value near it means that certainty in the file is worth nothing, a value near 1 with many "
        "claims that the file gives the target away. A high value of very few claims is of little weight: read the "
        'part "claims" first.',
    )
)
class TCAP(Attribution):
    """Share of the claims that are right, where an intruder claims what the protected table makes nearly certain.

    Of an original record with known keys the intruder claims the most frequent target among the protected records with
    those keys, if its share there, the within-class attribution probability, is at least ``tau``; the value is the
    share of these claims that are true (targets as frequent as each other share one). It is 0, and a note says so,
    where no claim can be made. Counted over original records, as in synthpop; with tau = 1 it is DiSCO over the
    share of originals whose keys are certain of a target. Keys, ``targets`` and ``classes`` as in :class:`DiSCO`; the
    value is that of the target most at risk. Parts: claims, the share of originals of whom one is made; by chance, the
    share of right claims if they were made of other records (the share of the claimed value in the original at large);
    DCAP, the mean over all originals of the share of the true target among protected records with their keys, 0 where
    there are none; DCAP of the original itself, what a copy would give; the most frequent value, what a guess without
    any file earns. ``by_record`` is, per original record, the chance that a claim is made and right.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "s"], "ill": ["yes", "no", "no", "yes"]})
    >>> found = TCAP(targets=("ill",), variables=("region",)).evaluate(original, protected)
    >>> found.value, found.parts["claims"]  # of the north it says yes, right for one of two; of the south nothing
    (0.5, 0.5)
    """

    tau: float = 1.0
    targets: tuple[str, ...] | None = None
    classes: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "tau")

    def _attributed(self, cells: TargetCells) -> AttributionResult:
        found, own = np.maximum(cells.found, 1), np.maximum(cells.own, 1)
        claimed = (cells.found > 0) & (cells.greatest / found >= self.tau * (1 - 1e-12))
        right = cells.told & claimed & cells.mode
        claims = max(int(cells.originals[claimed].sum()), 1)
        # whole numbers of right claims by how many modes share one, so that the order of records changes no digit
        shared = np.bincount(cells.modes[right], cells.originals[right], minlength=1)
        value = shared[1:] @ (1 / np.arange(1, len(shared))) / claims
        parts = {
            "claims": cells.share(claimed),
            "by chance": float((cells.mode_share * cells.originals)[claimed].sum() / claims),
            "DCAP": cells.mean(np.where(cells.told, cells.protecteds / found, 0.0)),
            "DCAP of the original": cells.mean(np.where(cells.told, cells.originals / own, 0.0)),
            "most frequent value": cells.most_frequent,
        }
        by_cell = np.where(right, 1 / np.maximum(cells.modes, 1), 0.0)
        return AttributionResult(float(value), parts, by_cell[cells.cell_of])


# Correct attribution probability: how often a record drawn by the keys shows the true target

Unmatched = Literal["zero", "left out"]


@catalogued(
    MeasureAbout(
        title="Correct attribution probability (DCAP)",
        source="Elliot (2014), Final report on the disclosure risk associated with the synthetic data produced by the "
        f"SYLLS team; Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability; {SOURCE}",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_TARGETS,
        kinds=("numeric", "ordinal", "nominal", "date"),
        paired=False,
        keys=True,
        parts="columns",
        caveat="read it against the baseline: with a target that most share it is high whatever is released",
        formula="DCAP = mean over originals i of s_(q, t_i) / s_q,  0 or left out where s_q = 0\n"
        "baseline = sum_t p_t^2,  p_t = share of target t in the original\n"
        "WEAP = mean over protected records of s_(q, t) / s_q, that of their own keys and target\n"
        "s_q, s_qt = protected records with the keys q, and with target t too",
        reading="The share of targets that an intruder gets right who draws one of the protected records with the "
        "person's keys. Someone who knows only how frequent each value is gets the baseline right; a copy of the file "
        'gives "of the original". A value near the baseline discloses nothing about persons; the share of the way '
        "from there to the original's is what the file gives away.",
    )
)
class DCAP(Attribution):
    """Mean probability that a protected record drawn by a person's keys shows the person's true target.

    Of each original record: the share of the true target among the protected records with its keys. Keys that the
    protected table does not have count 0, or with ``unmatched="left out"`` not at all. Keys, ``targets`` and
    ``classes`` as in :class:`DiSCO`; the value is that of the target most at risk, ``by_variable`` has them all. Parts:
    the baseline, what the univariate distribution alone gives (synthpop's baseCAPd); DCAP of the original itself, what
    a copy would give (CAPd); WEAP, the mean within-class attribution probability of the protected records, how sure the
    table is of its own targets, right or wrong (CAPs); keys found. ``by_record`` is each original record's probability.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "s"], "ill": ["yes", "no", "no", "yes"]})
    >>> found = DCAP(targets=("ill",), variables=("region",)).evaluate(original, protected)
    >>> round(found.value, 4), found.parts["baseline"]  # (1 + 0 + 2/3 + 2/3) / 4 and (1/4)^2 + (3/4)^2
    (0.5833, 0.625)
    """

    unmatched: Unmatched = "zero"
    targets: tuple[str, ...] | None = None
    classes: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.one_of(self, "unmatched", get_args(Unmatched))

    def _attributed(self, cells: TargetCells) -> AttributionResult:
        found, own = np.maximum(cells.found, 1), np.maximum(cells.own, 1)
        right = np.where(cells.told, cells.protecteds / found, 0.0)
        there = cells.found > 0
        matched = cells.share(there)
        counted = 1.0 if self.unmatched == "zero" else matched
        protected = int(cells.protecteds.sum())
        parts = {
            "baseline": cells.repeated,
            "of the original": cells.mean(np.where(cells.told, cells.originals / own, 0.0)),
            "WEAP": float((cells.protecteds / found * cells.protecteds).sum()) / protected,
            "keys found": matched,
        }
        by_cell = right if self.unmatched == "zero" else np.where(there, right, np.nan)
        value = cells.mean(right) / counted if counted > 0 else 0.0
        return AttributionResult(value, parts, by_cell[cells.cell_of])
