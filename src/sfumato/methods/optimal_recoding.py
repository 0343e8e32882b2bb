"""Optimal recoding: the level of each key that keeps records alike and loses least."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf, isfinite
from typing import Any, Literal, get_args

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Measure, Method
from sfumato.display import written
from sfumato.errors import NotApplicable, ParameterError
from sfumato.kernels.lattice import (
    AlikeRequirement,
    AssessedNode,
    Assessor,
    Levels,
    Loss,
    Rows,
    Search,
    SearchResult,
    ValueLoss,
    Values,
    every_node,
    worst,
)
from sfumato.methods.key_ladders import (
    BY_VALUE,
    Ladder,
    LossName,
    MeasuredLoss,
    checked_hierarchies,
    ladders,
    named_loss,
    told_made,
)
from sfumato.methods.selection import refuse_small_weights, refuse_special, refuse_strangers
from sfumato.methods.suppression_sets import KeysAlike, Sets, checked_sets, places, sets_asked
from sfumato.pair import Half
from sfumato.registry import catalogued
from sfumato.table.microdata import Microdata
from sfumato.table.present import made_missing
from sfumato.table.schema import Schema

# What a search over the levels of the keys found: the best node, those beside it, all that were looked at

Row = Mapping[str, Any]
Watch = Callable[[SearchResult], None]
MAX_NODES = 200_000  # of which all figures are kept, if asked


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """The levels that lose least, and what other levels would have come to.

    ``found`` is the best node, ``keys`` the levels there are. ``exact`` says that no other choice of levels loses
    less; if the search was stopped, ``bound`` is what any of them loses at least. ``continued`` searches on from there.
    """

    keys: tuple[Ladder, ...]
    found: SearchResult
    search: Search
    higher_is_better: bool = False

    @property
    def levels(self) -> dict[str, int]:
        """The level of each key."""
        return dict(zip(self._names, self._node.levels, strict=True))

    @property
    def suppressed(self) -> float:
        """The share of records that lose all their keys."""
        return self._node.lost.records / self._records

    @property
    def loss(self) -> float:
        """What the best levels lose, or the value of the measure that was given."""
        return self._shown(self.found.loss)

    @property
    def bound(self) -> float:
        """What every choice of levels loses at least."""
        return self._shown(self.found.bound)

    @property
    def exact(self) -> bool:
        """Whether no other choice of levels loses less."""
        return self.found.exact

    @property
    def nodes(self) -> int:
        """How many choices of levels there are."""
        return self.search.assessor.rows.nodes

    @property
    def checked(self) -> int:
        """How many of them were looked at."""
        return self.found.checked

    def beside(self) -> tuple[Row, ...]:
        """Tell for each key what one level less would cost in risk, and one level more in utility.

        A row has the share of records that would have to be suppressed with one level less, whether that may be, and
        the loss with one level more; None where there is no such level. If what is asked cannot be kept, the share is
        of the records that are in the way, and not of what else would have to go.
        """
        rows = []
        for place, key in enumerate(self.keys):
            level = self._node.levels[place]
            less = self._moved(place, -1) if level else None
            more = self._moved(place, 1) if level < key.height else None
            rows.append(
                {
                    "key": key.name,
                    "level": level,
                    "levels": key.height,
                    "less_suppressed": None if less is None else less.lost.records / self._records,
                    "less_kept": None if less is None else less.kept,
                    "more_suppressed": None if more is None else more.lost.records / self._records,
                    "more_loss": None if more is None or not more.kept else self._shown(self.search.loss.value(more)),
                }
            )
        return tuple(rows)

    def table(self) -> tuple[Row, ...]:
        """List the nodes that were looked at: the level of each key, the records to suppress, whether it is kept."""
        return tuple(self._row(node) for _, node in sorted(self.search.checked.items()))

    def whole(self) -> tuple[Row, ...]:
        """List all nodes, those too that the search had no need to look at; no more than 200,000."""
        if self.nodes > MAX_NODES:
            raise ParameterError(f"there are {self.nodes:,} nodes; the figures of {MAX_NODES:,} at most are kept")
        return tuple(self._row(node) for node in sorted(every_node(self.search), key=lambda node: node.levels))

    def continued(self, seconds: float = inf, watch: Watch | None = None) -> "Lattice":
        """Search on for so long at most, or to the end; whoever interrupts it gets the best so far."""
        return replace(self, found=_interruptible(self.search, seconds=seconds, watch=watch))

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        return f"<Lattice: {told}; suppressed {self.suppressed:.2%}, loss {self.loss:.4g}, {self.effort()}>"

    def effort(self) -> str:
        """Say how sure it is that nothing loses less, and what it took."""
        looked = f"nodes {self.nodes:,}, looked at {self.checked:,}"
        if self.exact:
            return f"none loses less ({looked})"
        least = f"none loses less than {self.bound:.4g}" if isfinite(self.bound) else "others may lose less"
        return f"stopped before the end, {least} ({looked})"

    @property
    def _node(self) -> AssessedNode:
        assert self.found.node is not None  # a search without any is refused
        return self.found.node

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)

    @property
    def _records(self) -> int:
        return self.search.assessor.rows.records

    def _shown(self, loss: float) -> float:
        return -loss if self.higher_is_better else loss

    def _moved(self, place: int, step: int) -> AssessedNode:
        levels = list(self._node.levels)
        levels[place] += step
        return self.search.assessor.assess(tuple(levels))[0]

    def _row(self, node: AssessedNode) -> Row:
        return {
            **dict(zip(self._names, node.levels, strict=True)),
            "suppressed": node.lost.records / self._records,
            "kept": node.kept,
            "loss": self._shown(self.search.loss.value(node)) if self.search.loss.bounded else None,
        }


def _interruptible(
    search: Search, *, seconds: float = inf, nodes: float = inf, watch: Watch | None = None
) -> SearchResult:
    """Run a search; whoever interrupts it gets the best so far, if there is one."""
    try:
        return search.run(seconds, nodes, watch)
    except KeyboardInterrupt:
        if search.best is None:
            raise
        return search.found()


# What the classes of a recoded table must keep: records alike, and confidential values of more than one kind

Diversity = Literal["distinct", "entropy"]


def _alike(names: tuple[str, ...], asked: Sequence[KeysAlike], risk: float | None) -> tuple[AlikeRequirement, ...]:
    """Return the sets of keys by the places of their names."""
    return tuple(AlikeRequirement(tuple(sorted(places(names, one.keys))), one.k, risk) for one in asked)


def confidential(data: Microdata, stated: tuple[str, ...] | None, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Name the confidential variables: those stated, or of that role, that are no keys."""
    schema = data.schema
    named = stated if stated is not None else schema.analysed(role="confidential")
    for name in named:
        if name not in schema:
            raise NotApplicable(schema.unknown(name))
    names = tuple(name for name in named if name not in keys)
    if not names:
        raise NotApplicable(
            "l and t are about confidential variables, and besides the keys there is none; give confidential=[...], or "
            'role = "confidential" in the schema'
        )
    return names


def _bounds(
    data: Microdata, names: Sequence[str], *, different: int | None, diversity: Diversity, close: float | None
) -> tuple[Values, ...]:
    """Return the bounds on what a class tells of each confidential variable."""
    bounds = []
    for name in names:
        column, kind = data.columns[name], data.schema[name].kind
        gaps = data.missing(name)
        values, codes = np.unique(column[~gaps], return_inverse=True)
        codes_of_records = np.full(len(column), -1, dtype=np.int32)
        codes_of_records[~gaps] = codes
        if different is not None:
            bounds.append(Values(codes_of_records, len(values), diversity, float(different)))
        if close is not None:
            distance: Literal["equal distance", "ordered distance"] = (
                "equal distance" if kind == "nominal" else "ordered distance"
            )
            bounds.append(Values(codes_of_records, len(values), distance, close))
    return tuple(bounds)


def refuse_broken(protected: Microdata, asked: Sequence[KeysAlike], values: Sequence[Values]) -> None:
    """Refuse a table of which a measure of risk would find that a class breaks a bound on its values.

    The number alike and the risk need no such look: a value made missing agrees with more records than before.
    """
    half = Half.of(protected)
    for one in asked:
        codes = half.codes(protected, one.keys)
        for bound in values:
            found = worst(codes, bound)
            if found is None:
                continue
            if bound.figure in ("distinct", "entropy"):
                broken = f"of l={bound.bound:g} a class keeps {found:.4g}"
            else:
                broken = f"of t={bound.bound:g} a class is {found:.4g} from the file"
            raise NotApplicable(
                f"{broken}, once suppressed keys agree with every value and the members of a household lose what one "
                f"of them lost (keys {', '.join(one.keys)}); give suppression=0, ask for less, or name fewer keys"
            )


# The method

MAX_MEASURED = 5_000  # nodes whose tables are made and measured if no number is stated
NODES = 50_000  # looked at if no number is stated


@catalogued(
    MethodAbout(
        title="Optimal recoding",
        source="Samarati (2001), Protecting respondents' identities in microdata release, IEEE TKDE 13(6); LeFevre, "
        "DeWitt and Ramakrishnan (2005), Incognito, SIGMOD; El Emam et al. (2009), A globally optimal k-anonymity "
        "method, JAMIA 16(5); suppressed records as in ARX (Prasser, Eicher, Spengler, Bild and Kuhn 2020)",
        missing="stays missing; a missing key is a value of its own, until all values of the key are one group",
        kinds=("numeric", "ordinal", "nominal", "date"),
        random=False,
        households="suppressed",
        grid={"k": (3, 5)},
        neutral={"k": 1},
        caveat="published values are true but coarser; which records were suppressed depends on what is rare, so they "
        "are not missing at random; and the best levels of one table are not those of the next, so that two releases "
        "may narrow each other's classes down",
        formula="one level l_j for each key j:  minimise loss(l)   subject to   #S(l) <= suppression n\n"
        "S(l) = records whose class (equal groups in all keys at levels l) has fewer than k records,\n"
        "       a risk above the bound, fewer than l confidential values (or exp entropy < l), or\n"
        "       values farther than t from the file's;   records of S lose all their keys\n"
        "loss            mean over values: other values in the group / all others, width / range of a\n"
        "                number, 1 in S\n"
        "discernibility  sum over classes of size^2, and n #S;   class size  n / classes",
        reading="``k`` of 3 to 5 and ``suppression`` of 0.01 to 0.05 are usual; more suppression buys finer levels, "
        "at the price of records that analysts drop. The note tells the level of each key and what the search took. "
        "Look at ``search(data).beside()``: a key whose next level costs little is a key to recode, one that saves "
        "nobody with its level is one to leave.",
        group="Coarsen",
        labels={
            "k": "Records that must share what each one shows (k)",
            "suppression": "Share of records that may be blanked altogether (suppression)",
            "utility": "What to lose least of (utility)",
            "l": "Different confidential values in each class, at least (l)",
            "diversity": "Different, counted as (diversity)",
            "t": "Distance of a class from the whole file, at most (t)",
            "risk": "Largest risk of a single record, from 0 to 1 (risk)",
            "confidential": "Confidential variables (confidential)",
            "sets": "Sets of keys, each with its k: (('region', 'age'), 3), (('job',), 5); or scenarios (sets)",
            "hierarchy": "Hierarchies, where the schema has none (hierarchy)",
            "importance": "Importance: how many other values one of this variable is worth (importance)",
            "nodes": "Recodings looked at, at most (nodes)",
        },
    )
)
class OptimalRecoding(Method):
    """The same level of its hierarchy for all values of a key, chosen for all keys together: that which loses least.

    Of all ways to put each key at one level of its hierarchy, the best is found that keeps ``k`` records alike (or
    ``risk``, ``l``, ``t``, ``sets``), if at most the share ``suppression`` of the records loses all its keys. It is the
    best of all, not a good one; if the search stops before the end, the note says so. ``utility`` is what must be
    least: a loss by name, or any measure of utility. ``search(data)`` returns the :class:`Lattice`, with the levels
    beside the best. docs/how-to/best-recoding.md says what each parameter does.

    >>> import pyarrow as pa
    >>> ages = pa.table({"age": [20, 21, 22, 34, 35, 36, 51], "sex": ["f", "m", "f", "m", "f", "m", "f"]})
    >>> keys = {"hierarchy": {"age": [5, 10, 20]}, "variables": ["age", "sex"]}
    >>> OptimalRecoding(3, suppression=0.2, **keys).protect(ages).to_pydict()["age"]
    ['20-39', '20-39', '20-39', '20-39', '20-39', '20-39', None]
    """

    k: int | None = None
    suppression: float = 0.05
    utility: LossName | Measure = "loss"
    l: int | None = field(default=None, kw_only=True)  # noqa: E741 - its name everywhere
    diversity: Diversity = field(default="distinct", kw_only=True)
    t: float | None = field(default=None, kw_only=True)
    risk: float | None = field(default=None, kw_only=True)
    confidential: tuple[str, ...] | None = field(default=None, kw_only=True)
    sets: Sets | None = field(default=None, kw_only=True)
    hierarchy: Mapping[str, Any] | None = field(default=None, kw_only=True)
    importance: Mapping[str, float] | None = field(default=None, kw_only=True)
    nodes: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sets", checked_sets(self, self.sets))
        if all(asked is None for asked in (self.k, self.sets, self.risk, self.l, self.t)):
            raise parameters.refuse(self, "say what must be kept: k=5, or sets=..., risk=0.1, l=3, t=0.2")
        if self.k is not None:
            parameters.whole(self, "k")
        parameters.share(self, "suppression", zero=True)
        if not isinstance(self.utility, Measure):
            parameters.one_of(self, "utility", get_args(LossName))
        elif self.utility.about.purpose != "utility":
            raise parameters.refuse(self, f"utility must be a loss or a measure of utility; got {self.utility!r}")
        self._check_models()
        if self.sets is not None and self.variables is not None:
            raise parameters.refuse(self, "sets names the keys of each set, so leave variables out")
        parameters.by_variable(self, "hierarchy", "{'age': [5, 10, 20]}")
        object.__setattr__(self, "hierarchy", self.hierarchy and checked_hierarchies(self, self.hierarchy))
        parameters.importance(self)
        if self.importance is not None and self.utility not in BY_VALUE:
            raise parameters.refuse(self, f"importance needs a utility of values, one of {', '.join(BY_VALUE)}")
        if self.nodes is not None:
            parameters.whole(self, "nodes")

    def _check_models(self) -> None:
        if self.l is not None:
            parameters.whole(self, "l", least=2)
        parameters.one_of(self, "diversity", get_args(Diversity))
        for name in ("t", "risk"):
            if getattr(self, name) is not None:
                parameters.share(self, name)
        parameters.names(self, "confidential")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        return self._names(self._asked(data))

    def search(self, data: Any, *, seconds: float = inf, watch: Watch | None = None) -> Lattice:
        """Search the levels, and return what was found; ``watch`` is told of the best so far, now and then.

        After so many ``seconds`` it stops, and whoever interrupts it from the keyboard gets the best so far: then the
        levels need not be those of ``protect``, which stops by the number of nodes alone.
        """
        return self._searched(
            Microdata.from_frame(data),
            lambda one, nodes: _interruptible(one, seconds=seconds, nodes=nodes, watch=watch),
        )

    def chosen(self, data: Microdata) -> Lattice:
        """Search as ``protect`` does: the same levels on every machine, and an interruption ends it."""
        return self._searched(data, lambda one, nodes: one.run(nodes=nodes))

    def applied(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Apply the method, then suppress for the members of a household what one lost, and look at the whole again."""
        protected = super().applied(data, rng)
        if data.schema.household is not None:
            self._refuse_broken(data, protected)
        return protected

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        lattice = self.chosen(data)
        levels = tuple(lattice.levels.values())
        note = f"{type(self).__name__}: {self._told(lattice)}"
        protected = _recoded(data, lattice.keys, levels, lattice.search.assessor)
        self._refuse_broken(data, protected)
        return replace(protected, notes=(*protected.notes, note))

    def _refuse_broken(self, data: Microdata, protected: Microdata) -> None:
        if self.l is not None or self.t is not None:
            asked = self._asked(data)
            refuse_broken(protected, asked, self._values(data, self._names(asked)))

    def _asked(self, data: Microdata) -> tuple[KeysAlike, ...]:
        return sets_asked(data, self.sets, self.variables, self.k or 1)

    @staticmethod
    def _names(asked: tuple[KeysAlike, ...]) -> tuple[str, ...]:
        # by name, so that the order of the columns decides no tie
        return tuple(sorted({name for one in asked for name in one.keys}))

    def _searched(self, data: Microdata, run: Callable[[Search, int], SearchResult]) -> Lattice:
        asked = self._asked(data)
        names = self._names(asked)
        self._check(data, names, asked)
        keys = ladders(data, names, self.hierarchy or {})
        weights = None
        if self.risk is not None and data.schema.weight is not None:
            refuse_small_weights(data)
            weights = data.weights()
        rows = Rows.of([key.codes for key in keys], [key.parents for key in keys], weights)
        sets, values = _alike(names, asked, self.risk), self._values(data, names)
        most = floor(self.suppression * len(data) + 1e-9)
        self._refuse_too_many(rows)
        loss = self._loss(data, rows, keys, sets, values, most)
        gains = loss.gains if isinstance(loss, ValueLoss) else None
        assessor = Assessor(rows, sets, values, most=most, gains=gains)
        if assessor.hopeless():
            raise NotApplicable(
                "all records together, as one class, break what is asked, so no table keeps it; ask for less"
            )
        search = Search(assessor, loss)
        result = run(search, NODES if self.nodes is None else self.nodes)
        if result.node is None:
            raise NotApplicable(self._nothing(search, most, exact=result.exact))
        higher = isinstance(self.utility, Measure) and not self.utility.about.lower_is_better
        return Lattice(keys, result, search, higher)

    def _values(self, data: Microdata, names: tuple[str, ...]) -> tuple[Values, ...]:
        if self.l is None and self.t is None:
            return ()
        names_of_values = confidential(data, self.confidential, names)
        return _bounds(data, names_of_values, different=self.l, diversity=self.diversity, close=self.t)

    def _loss(
        self,
        data: Microdata,
        rows: Rows,
        keys: tuple[Ladder, ...],
        sets: tuple[AlikeRequirement, ...],
        values: tuple[Values, ...],
        most: int,
    ) -> Loss:
        if isinstance(self.utility, Measure):
            plain = Assessor(rows, sets, values, most=most)
            return MeasuredLoss(self.utility, data, lambda levels: _recoded(data, keys, levels, plain), rows.top)
        everything = tuple(range(len(keys)))
        least = max((one.k for one in sets if one.columns == everything), default=1)
        return named_loss(self.utility, rows, keys, self.importance or {}, least)

    # what is refused

    def _check(self, data: Microdata, names: tuple[str, ...], asked: tuple[KeysAlike, ...]) -> None:
        refuse_special(data, names)
        most = max(one.k for one in asked)
        if len(data) < most:
            raise NotApplicable(f"the table has {len(data)} records, fewer than k={most}; choose a smaller k")
        refuse_strangers(names, hierarchy=self.hierarchy, importance=self.importance)

    def _refuse_too_many(self, rows: Rows) -> None:
        if self.nodes is None and isinstance(self.utility, Measure) and rows.nodes > MAX_MEASURED:
            raise NotApplicable(
                f"there are {rows.nodes:,} choices of levels, each a table to measure; name fewer keys or levels, a "
                "utility by name such as 'loss', or the number to look at, nodes=5000: the best of them is taken"
            )

    def _nothing(self, search: Search, most: int, *, exact: bool) -> str:
        """Say why no choice of levels will do."""
        records = search.assessor.rows.records
        if not exact:
            looked = len(search.checked)
            return f"of {looked:,} choices of levels looked at none keeps what is asked; look at more with nodes=..."
        top = search.figure(search.assessor.rows.top)
        if isinstance(self.utility, Measure) and search.checked and any(n.kept for n in search.checked.values()):
            return f"{self.utility!r} refuses every table that can be made"
        if top.kept or top.lost.records <= most:
            return "no choice of levels keeps what is asked; ask for less, or give more suppression"
        return (
            f"even at the highest level of every key {top.lost.records:,} of {records:,} records "
            f"({top.lost.records / records:.1%}) break what is asked, and suppression={self.suppression:g} lets "
            f"{most:,} go; give a hierarchy that ends in one group, more suppression, or a smaller k"
        )

    def _told(self, found: Lattice) -> str:
        """Say what was chosen, and what it took."""
        at = "; ".join(f"{key.name} {key.spelled(found.levels[key.name])}" for key in found.keys)
        node = found.search.assessor.rows.records
        gone = round(found.suppressed * node)
        what = self.utility if isinstance(self.utility, str) else type(self.utility).__name__
        return (
            f"{at}; suppressed {gone:,} of {node:,} records ({found.suppressed:.1%}); {what} {found.loss:.4g}, "
            f"{found.effort()}{told_made(found.keys)}"
        )

    def in_words(self, schema: Schema | None = None) -> str:
        asked = [f"at least {self.k} records look alike"] if self.k is not None else []
        asked += ["every scenario finds enough records alike"] if self.sets is not None else []
        asked += ["what a class tells of confidential values is bounded"] if self.l or self.t else []
        asked += [f"no individual risk is above {self.risk:g}"] if self.risk is not None else []
        what = self.subject() if self.variables else "the keys"
        whole = f", at most {written(self.suppression, 'share')} of the records blanked" if self.suppression else ""
        return f"{what} are given at the levels that lose least while {' and '.join(asked)}{whole}"


def _recoded(data: Microdata, keys: tuple[Ladder, ...], levels: Levels, assessor: Assessor) -> Microdata:
    """Put each key at its level, and make all keys missing of the records that have to go."""
    changed = {}
    for key, level in zip(keys, levels, strict=True):
        variable, column = key.hierarchy.at(data.schema[key.name], data.columns[key.name], level)
        if variable is not data.schema[key.name]:
            changed[key.name] = variable, column
    recoded = data.recast(changed)
    gone = assessor.suppressed(levels)
    if not gone.any():
        return recoded
    return made_missing(recoded, {key.name: gone & ~recoded.missing(key.name) for key in keys})
