"""Local recoding: the best levels for most records, then those for the rest of them, until none is left."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.errors import NotApplicable
from sfumato.kernels.lattice import AlikeRequirement, Assessor, Levels, Rows, Search, ValueLoss
from sfumato.methods.key_ladders import Ladder, checked_hierarchies, ladders, named_loss, told_made
from sfumato.methods.selection import refuse_special, refuse_strangers
from sfumato.methods.suppression_sets import sets_asked
from sfumato.registry import catalogued
from sfumato.table.households import units
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing, only_present
from sfumato.table.schema import Schema, Variable
from sfumato.table.treatment import Treatment

NODES = 50_000  # choices of levels that all rounds may look at
Flags = NDArray[np.bool_]
Column = tuple[Variable, NDArray[Any]]
ByValue = Literal["loss", "ncp", "entropy", "precision"]


@catalogued(
    MethodAbout(
        title="Local recoding",
        source="Xu, Wang, Pei, Wang, Shi and Fu (2006), Utility-based anonymization using local recoding, KDD; the "
        "best levels of what is left, again and again, as ARX does (Prasser, Eicher, Spengler, Bild and Kuhn 2020)",
        missing="stays missing; a missing key is a value of its own, until all values of the key are one group",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=False,
        households="whole",
        grid={"k": (3, 5)},
        neutral={"k": 1},
        caveat="one variable holds values of several levels (23, 20-29, *), which few programs can analyse and no list "
        "puts in order; which records are at which level depends on what is rare; measures of utility that "
        "compare categories do so in the class of each record, and see what is missing but not how broad it is: read "
        "CertaintyPenalty, or the loss in the note",
        formula="R = all records; while k records are left:\n"
        "    l = the levels of least loss for R if any number may be suppressed (OptimalRecoding)\n"
        "    records of R in classes of k or more are published at levels l;  R = the others\n"
        "records still left lose all their keys",
        reading="``k`` of 3 to 5 is usual. It keeps far more detail than OptimalRecoding for the same k, and hardly a "
        "record is suppressed; the note tells what each round chose and what is lost in all. Take it if the file is "
        "read record by record, or by programs that know of several levels; for tables and models one level for all "
        "records is of more use.",
        group="Coarsen",
        labels={
            "k": "Records that must share what each one shows (k)",
            "suppression": "Share of records that may be blanked altogether (suppression)",
            "utility": "What to lose least of (utility)",
            "hierarchy": "Hierarchies, where the schema has none (hierarchy)",
            "importance": "Importance: how many other values one of this variable is worth (importance)",
        },
    )
)
class LocalRecoding(Method):
    """Each record at the levels that suit it: the same for most records, coarser ones for those that are then left.

    The best levels for all records are sought, as :class:`OptimalRecoding` does if it may suppress as many records as
    it likes; those in classes of ``k`` or more are published so. Of the others the best levels are sought again, and so
    on, until fewer than k are left or nothing keeps k of them alike; these lose all their keys. ``suppression`` is the
    share of the records that may; if it is not enough, the table is refused. Each round is the best for the records
    left to it, all rounds together are not: it is a heuristic.

    Every record that keeps its keys agrees in them with at least k - 1 others of its round: they show the same groups
    and lack the same keys, but for a key whose values are all one group, which agrees with a missing one because
    neither tells anything. Hierarchies, keys and ``importance`` are as in OptimalRecoding, ``utility`` is one of its
    losses of values. All rounds together look at 50,000 choices of levels at most; the note says if one stopped for
    that. The members of a household are published in the same round, at the same levels. A variable that comes out at
    several levels becomes nominal, its values texts; a group whose name stands for other values at a lower level says
    its own, as in "Paris (level 1)". Its treatment says that it was recoded locally, and measures compare each record
    in the class it was published in, if records match.

    >>> import pyarrow as pa
    >>> towns = {"A": ["AB", "*"], "B": ["AB", "*"], "C": ["CD", "*"], "D": ["CD", "*"]}
    >>> people = pa.table({"town": ["A", "A", "A", "B", "B", "B", "C", "D"]})
    >>> LocalRecoding(2, hierarchy={"town": towns}, variables="town").protect(people)["town"].to_pylist()
    ['A', 'A', 'A', 'B', 'B', 'B', 'CD', 'CD']
    """

    k: int = 3
    suppression: float = 0.05
    utility: ByValue = "loss"
    hierarchy: Mapping[str, Any] | None = field(default=None, kw_only=True)
    importance: Mapping[str, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")
        parameters.share(self, "suppression", zero=True)
        parameters.one_of(self, "utility", get_args(ByValue))
        parameters.by_variable(self, "hierarchy", "{'age': [5, 10, 20]}")
        object.__setattr__(self, "hierarchy", self.hierarchy and checked_hierarchies(self, self.hierarchy))
        parameters.importance(self)

    def masked(self, data: Microdata) -> tuple[str, ...]:
        (asked,) = sets_asked(data, None, self.variables, self.k)
        return tuple(sorted(asked.keys))  # by name, so that the order of the columns decides no tie

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = self.masked(data)
        refuse_special(data, names)
        if len(data) < self.k:
            raise NotApplicable(f"the table has {len(data)} records, fewer than k={self.k}; choose a smaller k")
        refuse_strangers(names, hierarchy=self.hierarchy, importance=self.importance)
        keys = ladders(data, names, self.hierarchy or {})
        homes = None if data.schema.household is None else units(data)
        rounds, left, lost = self._rounds(keys, len(data), homes)
        most = int(self.suppression * len(data) + 1e-9)
        if left.sum() > most:
            raise NotApplicable(
                f"{int(left.sum()):,} of {len(data):,} records ({left.mean():.1%}) cannot be put into classes of "
                f"{self.k}, and suppression={self.suppression:g} lets {most:,} go; give a hierarchy that ends in one "
                "group, more suppression, or a smaller k"
            )
        changed: dict[str, Column] = {}
        for place, key in enumerate(keys):
            found = _at_levels(data, key, [(one.levels[place], one.records) for one in rounds])
            if found is not None:
                changed[key.name] = found
        recoded = data.recast(changed)
        gone = {key.name: left & ~recoded.missing(key.name) for key in keys}
        if left.any():
            recoded = made_missing(recoded, gone)
        elsewhere = {n: v.categories for n, (v, _) in changed.items() if v.treatment.local}
        recoded = replace(recoded, origin=recoded.origin.listing(elsewhere)) if elsewhere else recoded
        return replace(recoded, notes=(*recoded.notes, self._told(keys, rounds, left, lost)))

    def _rounds(
        self, keys: tuple[Ladder, ...], records: int, homes: NDArray[np.int64] | None
    ) -> "tuple[list[_Round], Flags, float]":
        """Seek the best levels for the records left, until there are none; return also what is lost in all."""
        left = np.arange(records)
        rounds: list[_Round] = []
        everything, lost, nodes = AlikeRequirement(tuple(range(len(keys))), self.k), 0.0, NODES
        while len(left) >= self.k:
            rows, loss = self._rows(keys, left)
            search = Search(Assessor(rows, [everything], most=len(left), gains=loss.gains), loss)
            result = search.run(nodes=nodes // 2)  # the rounds to come may look at the rest
            nodes = max(nodes - result.checked, 0)
            node = result.node
            assert node is not None  # any number may be suppressed
            for levels in (node.levels, rows.top):  # of households kept whole, the best levels may keep none
                kept = _kept(rows, levels, self.k, None if homes is None else homes[left])
                if kept.any():
                    break
            else:
                break
            rounds.append(_Round(levels, left[kept], result.exact))
            lost += self._rows(keys, left[kept])[1].unsuppressed(levels)
            left = left[~kept]
        lost += self._rows(keys, left)[1].gone if len(left) else 0.0
        still = np.zeros(records, dtype=bool)
        still[left] = True
        return rounds, still, lost

    def _rows(self, keys: tuple[Ladder, ...], records: NDArray[np.intp]) -> tuple[Rows, ValueLoss]:
        """Return these records, and what they lose."""
        rows = Rows.of([key.codes[records] for key in keys], [key.parents for key in keys])
        loss = named_loss(self.utility, rows, keys, self.importance or {}, self.k)
        assert isinstance(loss, ValueLoss)
        return rows, loss

    def _told(self, keys: tuple[Ladder, ...], rounds: "list[_Round]", left: Flags, lost: float) -> str:
        """Say what each of the first rounds chose, and what is left."""
        notes = []
        for one in rounds[:3]:
            at = ", ".join(f"{key.name} {level}" for key, level in zip(keys, one.levels, strict=True))
            notes.append(f"{len(one.records):,} records at {at}")
        if len(rounds) > 3:
            others = sum(len(one.records) for one in rounds[3:])
            notes.append(f"{others:,} in {len(rounds) - 3:,} more rounds")
        stopped = sum(not one.best for one in rounds)
        if stopped:
            notes.append(f"the search of {stopped:,} of {len(rounds):,} rounds stopped before the end")
        return (
            f"{type(self).__name__}: {'; '.join(notes) or 'no class of so many'}; suppressed {int(left.sum()):,} of "
            f"{len(left):,} records; {self.utility} {lost:.4g}{told_made(keys)}"
        )

    def in_words(self, schema: Schema | None = None) -> str:
        what = self.subject() if self.variables else "the keys"
        return f"{what} are made coarser record by record, as far as {self.k} records must look alike"


@dataclass(frozen=True, eq=False)
class _Round:
    """Records that are published at the same levels, and whether these are the best for the records left."""

    levels: Levels
    records: NDArray[np.intp]
    best: bool


def _kept(rows: Rows, levels: Levels, k: int, homes: NDArray[np.int64] | None) -> Flags:
    """Tell which records are in classes of k or more at these levels, households whole."""
    class_of = rows.rolled(rows.table, levels)[1][rows.row_of]
    kept = np.ones(len(class_of), dtype=bool)
    while True:
        still = kept & (np.bincount(class_of[kept], minlength=int(class_of.max()) + 1)[class_of] >= k)
        if homes is not None:
            apart = np.zeros(int(homes.max()) + 1, dtype=bool)
            apart[homes[~still]] = True
            still &= ~apart[homes]
        if (still == kept).all():
            return kept
        kept = still


def _at_levels(data: Microdata, key: Ladder, parts: list[tuple[int, NDArray[np.intp]]]) -> Column | None:
    """Return a key with each part of the records at its level; None where all are as they were."""
    variable, column = data.schema[key.name], data.columns[key.name]
    levels = sorted({level for level, _ in parts})
    if len(levels) <= 1:
        level = levels[0] if levels else 0
        found = key.hierarchy.at(variable, column, level)
        return None if found[0] is variable else found
    numbers, names = _numbered(key, levels)
    codes = np.full(len(data), -1, dtype=np.int32)
    for level, records in parts:
        group = np.append(key.parents[level], np.int32(-1))[key.codes[records]]
        codes[records] = np.append(numbers[level], np.int32(-1))[group]
    lost = int(((codes < 0) & ~data.missing(key.name)).sum())  # of the records that are left in no class
    several = replace(
        variable, kind="nominal", categories=names, labels=(), missing=(), format="", hierarchy=None
    ).treated(Treatment(local=True, suppressed=lost))
    return only_present(several, codes)


def _numbered(key: Ladder, levels: list[int]) -> tuple[dict[int, NDArray[np.int32]], tuple[str, ...]]:
    """Number the groups of several levels, those of the same name and the same values once; return also their names.

    A name that stands for other values at a lower level says its own level, because a region may be called as its town.
    """
    number_of: dict[tuple[str, bytes], int] = {}
    names: dict[str, None] = {}
    numbers = {}
    for level in levels:
        parent = key.parents[level]
        ends = np.cumsum(np.bincount(parent, minlength=len(key.groups[level])))[:-1]
        members = np.split(np.argsort(parent, kind="stable"), ends)
        numbers_of_level = []
        for name, values in zip(key.groups[level], members, strict=True):
            group = name, values.tobytes()
            if group not in number_of:
                while name in names:
                    name = f"{name} (level {level})"
                names[name] = None
                number_of[group] = len(number_of)
            numbers_of_level.append(number_of[group])
        numbers[level] = np.array(numbers_of_level, dtype=np.int32)
    return numbers, tuple(names)
