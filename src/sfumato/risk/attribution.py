"""Disclosure through keys: whether who is alone stays alone, and whether a confidential value can be read off."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MeasureAbout
from sfumato.catalogue import catalogued
from sfumato.core import Measure, Measurement
from sfumato.data.microdata import Microdata
from sfumato.data.recoding import recoding
from sfumato.errors import NotApplicable
from sfumato.kernels.groups import classes
from sfumato.risk.footing import Codes, Floats, Notes, compared_keys, grouped

Integers = NDArray[np.int64]
SOURCE = (
    "Raab, Nowok and Dibben (2024), Practical privacy metrics for synthetic data; synthpop's vignette on disclosure"
)
MISSING_KEYS = "a missing key is a value like any other, equal to missing in the other table"
MISSING_TARGETS = (
    f"{MISSING_KEYS}; a missing target is nothing to disclose: its record counts as not disclosed, but in the "
    "protected table it is a value like any other"
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
        kinds=("numeric", "ordinal", "nominal"),
        paired=False,
        keys=True,
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
    unique in the original itself (what a copy would give), of protected records unique in their table, of originals
    whose keys occur in the protected table at all. ``by_record`` has one value per original record.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "e"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "e"]})
    >>> RepU(variables=("region",)).evaluate(original, protected).value  # e is alone in both; n and s are not
    0.25
    """

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        _, before, after, notes = compared_keys(self, original, protected)
        keys = _Keys.of(before, after)
        ours, theirs = keys.originals, keys.protecteds
        alone = (ours == 1) & (theirs == 1)
        by_record = alone[keys.before].astype(np.float64)
        return self.measurement(
            by_record.mean(),
            parts={
                "unique in the original": float((ours[keys.before] == 1).mean()),
                "unique in the protected table": float((theirs[keys.after] == 1).mean()),
                "keys found": float((theirs[keys.before] > 0).mean()),
            },
            by_record=by_record,
            notes=notes,
        )


@dataclass(frozen=True, eq=False)
class _Keys:
    """The key combination of every record, numbered alike in both tables, and how many records have each."""

    before: Integers
    after: Integers
    originals: Integers
    protecteds: Integers

    @classmethod
    def of(cls, before: Codes, after: Codes) -> "_Keys":
        combination, sizes = classes(np.concatenate([before, after]))
        ours, theirs = combination[: len(before)], combination[len(before) :]
        counts = (np.bincount(side, minlength=len(sizes)) for side in (ours, theirs))
        return cls(ours, theirs, *counts)


@dataclass(frozen=True, eq=False)
class _Cells:
    """One table's records by keys and target: of each key combination its records, and its most frequent targets."""

    size: Integers  # of each combination
    greatest: Integers  # records with its most frequent target
    modes: Integers  # targets as frequent as that
    mode_share: Floats  # the mean share of these targets in the original at large

    @classmethod
    def of(cls, combination: Integers, cell: Integers, target: Codes, number: int, shares: Floats) -> "_Cells":
        counts = np.bincount(cell)
        size, greatest, modes = (np.zeros(number, dtype=np.int64) for _ in range(3))
        mode_share = np.zeros(number)
        first = np.unique(cell, return_index=True)[1]  # one record of each cell stands for it
        where, count = combination[first], counts[cell[first]]
        np.add.at(size, where, count)
        np.maximum.at(greatest, where, count)
        mode = count == greatest[where]
        np.add.at(modes, where[mode], 1)
        np.add.at(mode_share, where[mode], shares[target[first[mode]] + 1])
        return cls(size, greatest, modes, mode_share / np.maximum(modes, 1))


@dataclass(frozen=True, eq=False)
class _Target:
    """A target as codes in both tables, and per original record how many records have its keys, or its target too."""

    truth: Codes
    found: Integers  # protected records with its keys
    agreeing: Integers  # and with its target
    greatest: Integers  # and with the most frequent target among them
    modes: Integers
    mode_share: Floats
    share: Floats  # of the protected records, whatever their keys, that have its target
    own: Integers  # originals with its keys
    own_agreeing: Integers
    own_greatest: Integers

    @classmethod
    def of(cls, keys: _Keys, truth: Codes, shown: Codes) -> "_Target":
        number = len(keys.originals)
        pairs = [np.column_stack([keys.before, truth]), np.column_stack([keys.after, shown])]
        cell, sizes = classes(np.concatenate(pairs))
        ours, theirs = cell[: len(truth)], cell[len(truth) :]
        values = int(max(truth.max(), shown.max())) + 2
        in_original, in_protected = (np.bincount(side + 1, minlength=values) / len(side) for side in (truth, shown))
        here = _Cells.of(keys.before, ours, truth, number, in_original)
        there = _Cells.of(keys.after, theirs, shown, number, in_original)
        return cls(
            truth=truth,
            found=there.size[keys.before],
            agreeing=np.bincount(theirs, minlength=len(sizes))[ours],
            greatest=there.greatest[keys.before],
            modes=there.modes[keys.before],
            mode_share=there.mode_share[keys.before],
            share=in_protected[truth + 1],
            own=here.size[keys.before],
            own_agreeing=np.bincount(ours, minlength=len(sizes))[ours],
            own_greatest=here.greatest[keys.before],
        )

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether there is anything to disclose: the original's target is present."""
        return self.truth >= 0


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

    def _evaluate(self, original: Microdata, protected: Microdata, rng: np.random.Generator) -> Measurement:
        names, before, after, notes = compared_keys(self, original, protected)
        keys = _Keys.of(before, after)
        targets, more = self._targets(original, protected, names)
        found = {}
        for name in targets:
            seen = recoding(original, protected, name, matched=protected.matched)
            if not seen.comparable:
                more = (*more, f"target left out, {name}: {seen.note}")
                continue
            truth, shown, cuts = grouped(seen.kind, seen.original, seen.protected, self.classes)
            if not (truth >= 0).any():
                more = (*more, f"target left out, every value is missing: {name}")
                continue
            found[name] = self._attributed(_Target.of(keys, truth, shown))
            if cuts.size:
                shown_cuts = ", ".join(f"{cut:g}" for cut in cuts)
                more = (*more, f"{name} is compared in {len(cuts) + 1} classes of the original, cut at {shown_cuts}")
        if not found:
            raise NotApplicable(f"{type(self).__name__}: no target can be compared; {'; '.join(more)}")
        values = {name: each.value for name, each in found.items()}
        worst = max(values, key=lambda name: values[name])
        if len(found) > 1:
            more = (*more, f"the value, its parts and the records are those of {worst}, the target most at risk")
        unclaimed = [name for name, each in found.items() if each.parts.get("claims") == 0]
        if unclaimed:
            more = (*more, f"no claim can be made, so that the value is 0: {', '.join(unclaimed)}")
        who = type(self).__name__
        return self.measurement(
            values[worst],
            parts=found[worst].parts,
            by_variable=values,
            by_record=found[worst].by_record,
            tables={"targets": tuple({"target": n, who: each.value, **each.parts} for n, each in found.items())},
            notes=(*notes, *more),
        )

    def _targets(
        self, original: Microdata, protected: Microdata, keys: tuple[str, ...]
    ) -> tuple[tuple[str, ...], Notes]:
        who = type(self).__name__
        named = self.targets if self.targets is not None else original.schema.analysed(role="confidential")
        named = tuple(name for name in named if name not in keys)
        if not named:
            raise NotApplicable(
                f"{who}: no variable but the keys has the role confidential; give targets=[...], or role = "
                '"confidential" in the schema to what must not become known'
            )
        for name in named:
            if name not in original.schema:
                raise NotApplicable(f"{who}: there is no variable {name!r}; there are {', '.join(original.names)}")
        gone = tuple(name for name in named if name not in protected.schema)
        if gone and (self.targets is not None or len(gone) == len(named)):
            raise NotApplicable(f"{who}: the protected table has no target {', '.join(gone)}")
        notes = (f"targets the protected table lacks, left out: {', '.join(gone)}",) if gone else ()
        return tuple(name for name in named if name not in gone), notes

    @abstractmethod
    def _attributed(self, target: _Target) -> "_Attributed":
        """Return the value, its parts, and one value per original record."""


@dataclass(frozen=True, eq=False)
class _Attributed:
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
        kinds=("numeric", "ordinal", "nominal"),
        paired=False,
        keys=True,
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
    the original (what a copy would give); disclosive in the protected table (right or wrong); keys found; the most
    frequent value (what a guess without any file earns). ``by_record`` has one value per original record.

    >>> import pyarrow as pa
    >>> original = pa.table({"region": ["n", "n", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> protected = pa.table({"region": ["n", "s", "s", "s"], "ill": ["yes", "no", "no", "no"]})
    >>> DiSCO(targets=("ill",), variables=("region",)).evaluate(original, protected).value  # all but the second
    0.75
    """

    targets: tuple[str, ...] | None = None
    classes: int = 10

    def _attributed(self, target: _Target) -> _Attributed:
        told, there = target.told, target.found > 0
        certain = there & (target.greatest == target.found)
        right = (told & certain & (target.agreeing == target.found)).astype(np.float64)
        chance = np.where(told & there, target.share ** np.maximum(target.found, 1), 0.0)
        parts = {
            "by chance": float(chance.mean()),
            "disclosive in the original": float((told & (target.own == target.own_greatest)).mean()),
            "disclosive in the protected table": float(certain.mean()),
            "keys found": float(there.mean()),
            "most frequent value": _most_frequent(target),
        }
        return _Attributed(float(right.mean()), parts, right)


@catalogued(
    MeasureAbout(
        title="Targeted correct attribution probability (TCAP)",
        source=f"Taub, Elliot, Pampaka and Smith (2018), Differential correct attribution probability; {SOURCE}",
        purpose="risk",
        better="lower",
        range=(0.0, 1.0),
        unit="share",
        missing=MISSING_TARGETS,
        kinds=("numeric", "ordinal", "nominal"),
        paired=False,
        keys=True,
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

    def _attributed(self, target: _Target) -> _Attributed:
        told = target.told
        probability = target.greatest / np.maximum(target.found, 1)
        claimed = (target.found > 0) & (probability >= self.tau * (1 - 1e-12))
        right = np.where(told & claimed & (target.agreeing == target.greatest), 1 / np.maximum(target.modes, 1), 0.0)
        claims = max(int(claimed.sum()), 1)
        parts = {
            "claims": float(claimed.mean()),
            "by chance": float(target.mode_share[claimed].sum() / claims),
            "DCAP": float(np.where(told, target.agreeing / np.maximum(target.found, 1), 0.0).mean()),
            "DCAP of the original": float(np.where(told, target.own_agreeing / target.own, 0.0).mean()),
            "most frequent value": _most_frequent(target),
        }
        return _Attributed(float(right.sum() / claims), parts, right)


def _most_frequent(target: _Target) -> float:
    return float(np.bincount(target.truth[target.told]).max() / len(target.truth))
