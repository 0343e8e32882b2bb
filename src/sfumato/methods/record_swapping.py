"""Record swapping: similar households in different places exchange their geography, risky ones first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import MAX_DETAIL, Phrase, written
from sfumato.errors import NotApplicable
from sfumato.kernels.agreement import frequencies
from sfumato.kernels.groups import classes, first_records
from sfumato.kernels.record_swapping import NO_PARTNER, SWAPPED, swap_pairs
from sfumato.registry import catalogued
from sfumato.table.households import units
from sfumato.table.keys import key_codes, key_names
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema

Integers = NDArray[np.int64]


@catalogued(
    MethodAbout(
        title="Record swapping of geography between households",
        source="Dalenius and Reiss (1982); targeted record swapping as for the European censuses, De Vries and others "
        "(2023); Shlomo, Tudor and Groom (2010)",
        missing="stays missing; a household without geography is not swapped; a missing key value matches any value; "
        "a record without a household is one of its own",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=True,
        households="whole",
        column_order=True,
        grid={"share": (0.02, 0.05, 0.1, 0.2)},
        caveat="records that were not swapped are published as they are, and the weights stay with the records, so "
        "weighted totals of a region may change",
        formula="pairs = share * H / 2, rounded;   H = households\n"
        "a household is risky if, for one of its members, #{records of the place with the same keys} < k\n"
        "order: risky ones (coarse level first, then the rarest), then others at random\n"
        "each exchanges its geography with one drawn from those of the same size and `similar` values,\n"
        "not yet swapped, in another place of its level",
        reading="``share`` is the part of all households that moves: 0.02 to 0.05 is light, 0.2 heavy. Name in "
        "``similar`` what tables by region need to keep, such as household size, age groups and sex: counts of these "
        "by place are exact, and the more is named the fewer partners there are. The note tells how many risky "
        "households were reached; if it is few, raise the share or coarsen the keys.",
        group="Change categories",
        effect="exchanged",
        labels={
            "share": "Share of households that change places (share)",
            "similar": "Alike in those that change places (similar)",
            "keys": "Keys that make a record rare (keys)",
            "k": "A record is rare if fewer share its keys (k)",
            "variables": "Variables that change places, such as the region",
        },
    )
)
class RecordSwapping(Method):
    """Geography exchanged between pairs of similar households, until a ``share`` of all households has moved.

    ``variables`` are the geography, from coarse to fine; by default the first nominal key (without keys, the first
    nominal variable). Households (or single records, where the schema names no household) are similar when they have
    the same size and, member for member, the same values of ``similar``. A household is risky when one of its members
    shares ``keys`` (by default the variables of role key that are not geography) with fewer than ``k`` records of the
    same place, at any level of the geography. Risky households take their turn first, those risky at a coarse level
    before those risky at a fine one, the rarest first, then others drawn at random. Each exchanges all geography
    variables with a household drawn from the similar ones not yet swapped, in another place of the level at which it
    is risky: within the same place of the level above if there is one, else anywhere. Whole households move.

    Counts of households and persons by place are unchanged, also crossed with size and ``similar``; associations of
    geography with anything else weaken. Households that found no partner, and risky ones left because the share was
    reached, are counted in the notes. It misleads where ``share`` is small: most records are true, and an intruder
    who finds a unique one is right with a probability near one minus the share.

    >>> import pyarrow as pa
    >>> people = pa.table({"town": ["A", "A", "B", "B"], "size": [1, 2, 1, 2]})
    >>> RecordSwapping(1.0, similar="size").protect(people, rng=1)["town"].to_pylist()
    ['B', 'B', 'A', 'A']
    """

    share: float
    similar: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.share(self, "share")
        parameters.names(self, "similar")
        parameters.names(self, "keys")
        parameters.whole(self, "k")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the geography variables, from coarse to fine."""
        if self.variables is not None:
            return key_names(data.schema, self.variables)
        nominal = data.schema.analysed("nominal", role="key") or data.schema.analysed("nominal")
        if not nominal:
            raise NotApplicable("the table has no nominal variable to swap; name the geography in variables")
        return nominal[:1]

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        homes = self._households(data, names)
        keys, left_out = self._keys(data, names)
        level, rarest = _risk(homes, key_codes(data, keys) if keys else None, self.k)
        if self.similar is not None:
            alike = key_codes(data, key_names(data.schema, self.similar))
        else:
            alike = np.zeros((len(data), 1), dtype=np.int32)
        risky = rarest < self.k
        turn = np.lexsort((rng.random(homes.number), rarest, np.where(risky, level, homes.depth), ~risky))
        pairs = round(self.share * homes.number / 2)
        if pairs < 1:
            raise NotApplicable(
                f"a share of {self.share:g} of {homes.number} households is less than one pair; raise share"
            )
        profile = np.where(homes.whole, _profiles(homes, alike), -1 - np.arange(homes.number))
        partner, state = swap_pairs(profile, homes.places, level, turn[homes.whole[turn]], rng.random(len(turn)), pairs)
        if not (state == SWAPPED).any():
            raise NotApplicable(
                f"no household has a similar one in another place of {names[-1]!r}, so nothing can be swapped; "
                "name fewer variables in similar, or another geography"
            )
        rows = homes.first[partner][homes.of]  # where each record takes its geography from
        moved = partner[homes.of] != homes.of
        swapped = {name: np.where(moved, data.columns[name][rows], data.columns[name]) for name in names}
        return data.replace(swapped, f"{self!r}: {_note(names, homes, risky, state, 2 * pairs)}{left_out}")

    def _keys(self, data: Microdata, geography: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Name the keys that make a household risky, and say which could not serve."""
        if self.keys is not None:
            both = [name for name in self.keys if name in geography]
            if both:
                raise NotApplicable(f"{both[0]!r} is both a key and geography; take it out of keys")
            return key_names(data.schema, self.keys), ""
        names = [name for name in data.schema.analysed(role="key") if name not in geography]
        kept, left = [], []
        for name in names:
            try:
                key_codes(data, (name,))
                kept.append(name)
            except NotApplicable:  # continuous: every record would be alone
                left.append(name)
        return tuple(kept), f"; keys left out as continuous: {', '.join(left)}" if left else ""

    def _households(self, data: Microdata, names: tuple[str, ...]) -> "_Households":
        """Gather the households, and check that each is in one place."""
        of, _ = classes(units(data)[:, None])
        codes = key_codes(data, names)
        first = first_records(of)
        whole = np.bincount(of, weights=(codes < 0).any(axis=1)) == 0
        split = np.unique(of[(codes != codes[first][of]).any(axis=1) & whole[of]])
        whole[split] = False
        if split.size and (self.variables is not None or not whole.any()):
            raise NotApplicable(
                f"{split.size:,} households have members in different places of {', '.join(names)} (first in "
                f"row {first[split[0]] + 1}); a household moves as a whole, so it must be in one place: correct the "
                "table, or name another geography in variables"
            )
        places = np.column_stack([classes(codes[first][:, : depth + 1])[0] for depth in range(len(names))])
        return _Households(of, first, whole, places, len(split))

    def in_words(self, schema: Schema | None = None) -> str:
        what = self.subject() if self.variables else "the place"
        verb = "are" if self.variables and len(self.variables) > 1 else "is"
        return f"{what} {verb} exchanged between {written(self.share, 'share')} of the units, the rarest first"

    def short(self) -> Phrase:
        what = ", ".join(self.variables or ())
        words = f"swap {what}".strip() if len(what) <= MAX_DETAIL else "swap"
        return Phrase(words, "swap", written(self.share, "share"))


@dataclass(frozen=True, eq=False)
class _Households:
    """Which household each record is in, and where each household is."""

    of: Integers
    first: NDArray[np.intp]  # a record of each
    whole: NDArray[np.bool_]  # whether all its members are in one known place
    places: Integers  # a column per level, from coarse to fine
    split: int

    @property
    def number(self) -> int:
        return len(self.first)

    @property
    def depth(self) -> int:
        return int(self.places.shape[1])


def _risk(homes: _Households, keys: NDArray[np.int32] | None, k: int) -> tuple[Integers, Integers]:
    """Return the coarsest level at which a household is risky (else the finest), and its rarest member's frequency."""
    level = np.full(homes.number, homes.depth - 1)
    rarest = np.full(homes.number, k)
    if keys is None:
        return level, rarest
    for depth in reversed(range(homes.depth)):
        counts = frequencies(np.column_stack([homes.places[homes.of, depth], keys]))
        lowest = np.full(homes.number, np.iinfo(np.int64).max)
        np.minimum.at(lowest, homes.of, counts)
        level[lowest < k] = depth
        rarest = np.where(lowest < k, lowest, rarest)
    return level, rarest


def _profiles(homes: _Households, alike: NDArray[np.int32]) -> Integers:
    """Number households so that those with as many members, and the same values among them, have one number."""
    kind, _ = classes(alike)
    sizes = np.bincount(homes.of)
    members = np.lexsort((kind, homes.of))  # household by household, each one's members in a fixed order
    begins = np.cumsum(sizes) - sizes
    profile = np.empty(homes.number, dtype=np.int64)
    used = 0
    for size in np.unique(sizes):
        these = np.flatnonzero(sizes == size)
        found, counts = classes(kind[members[begins[these][:, None] + np.arange(size)]])
        profile[these] = used + found
        used += len(counts)
    return profile


def _note(
    names: tuple[str, ...], homes: _Households, risky: NDArray[np.bool_], state: NDArray[np.int8], target: int
) -> str:
    """Say who was swapped and who was not, and why."""
    swapped = int((state == SWAPPED).sum())
    said = [f"{', '.join(names)} swapped in {swapped:,} of {homes.number:,} households ({swapped / homes.number:.2%})"]
    said.append(f"{int((risky & (state == SWAPPED)).sum()):,} of {int(risky.sum()):,} risky ones among them")
    if swapped < target:
        said.append(f"the {target:,} meant were not reached, for want of similar households elsewhere")
    for number, reason in (
        (int((risky & (state == NO_PARTNER)).sum()), "risky households found no similar one elsewhere"),
        (int((risky & homes.whole & (state == 0)).sum()), "risky households stayed because the share was reached"),
        (int((~homes.whole).sum()) - homes.split, "households without geography stayed"),
        (homes.split, "households with members in different places stayed"),
    ):
        if number:
            said.append(f"{number:,} {reason}")
    return "; ".join(said)
