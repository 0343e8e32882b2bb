"""Attribution: whether a confidential value can be read off the protected table by someone who knows the keys."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.core import Measure
from sfumato.errors import NotApplicable
from sfumato.measurement import Measurement
from sfumato.pair import Pair
from sfumato.registry import catalogued
from sfumato.risk.attribution_cells import TargetCells
from sfumato.risk.compared_keys import MISSING_KEYS, ComparedKeys, Notes
from sfumato.risk.replicated_uniques import SOURCE

Floats = NDArray[np.float64]
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
        found: dict[str, Attributed] = {}
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
    def _attributed(self, cells: TargetCells) -> "Attributed":
        """Return the value, its parts, and what is said of each cell."""


@dataclass(frozen=True, eq=False)
class Attributed:
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

    def _attributed(self, cells: TargetCells) -> Attributed:
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
        return Attributed(cells.share(right), parts, right[cells.cell_of].astype(np.float64))


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

    def _attributed(self, cells: TargetCells) -> Attributed:
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
        return Attributed(float(value), parts, by_cell[cells.cell_of])
