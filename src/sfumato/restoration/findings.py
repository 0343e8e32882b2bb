"""What an audit found: plain data that goes to JSON, for the terminal and the internal report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sfumato.display import Preformatted, html_table

Name = Literal["weight", "order", "household", "ids", "columns", "combinations", "sums", "text", "beside"]
Level = Literal["as published", "in full"]
Lesson = Literal["the file", "the original"]
Basis = Literal["the distribution", "exactly", "the file alone"]
Reading = Literal["restores", "association", "luck", "nothing"]

TITLES: dict[Name, str] = {
    "weight": "survey weight",
    "order": "order of the records",
    "household": "members of the household",
    "ids": "ids and their patterns",
    "columns": "another column",
    "combinations": "several columns together",
    "sums": "sums and ratios",
    "text": "what texts say",
    "beside": "other releases",
}


@dataclass(frozen=True)
class Example:
    """One value given back: the record by its row in the original, from 1, and what gave it back."""

    record: int
    variable: str
    published: str
    true: str
    how: str
    exact: bool = True  # whether to the last digit; else the intruder's answer is near the true value

    @property
    def told(self) -> str:
        """What the intruder learns: the true value, or about that."""
        return self.true if self.exact else f"about {self.true}"


@dataclass(frozen=True)
class Restored:
    """One variable by one route: how many of its protected values an intruder gets right, and how many without it.

    ``level`` says what was restored: the value "as published" of others, blanked or changed here, or the value "in
    full" where a class, a rounded figure or nothing was published. ``restored``, ``exactly`` (of numbers: to the last
    digit) and ``guess`` are shares of the ``values``. ``holds`` is the share of unprotected values that the route gets
    right; None where none are left. ``learnt`` says where the intruder has the relation from: the file itself, or the
    original, where the file shows too few values and the relation is taken as known. ``reading`` says what that means:
    it "restores"; it gives more than the guess, but as an "association" does or as "luck" may; or it gives "nothing".

    ``basis`` says what ``restored`` and ``guess`` count. The intruder is granted "the distribution" of the protected
    values. Only where a route tells no more than that, but restores nevertheless, it is another: of numbers, values met
    "exactly", or an intruder with "the file alone". Where he cannot know which values were changed, each unchanged one
    that he puts wrong takes away one that he puts right.
    """

    variable: str
    level: Level
    evidence: tuple[str, ...]
    values: int
    restored: float
    exactly: float
    guess: float
    holds: float | None
    learnt: Lesson
    reading: Reading
    columns: tuple[str, ...] = ()  # the columns of the file that the evidence is made of
    basis: Basis = "the distribution"

    @property
    def alarm(self) -> bool:
        """Whether the route restores the variable."""
        return self.reading == "restores"

    @property
    def excess(self) -> float:
        """How much more is restored than guessed, as a share of the values."""
        return self.restored - self.guess


@dataclass(frozen=True)
class Route:
    """One way back to protected values: its figure is that of the worst variable.

    ``untried`` says why a route could not be tried, and is empty where it was. ``verdict`` and ``repair`` are
    sentences; there is a repair only if the route restores.
    """

    name: Name
    worst: Restored | None = None
    by_variable: tuple[Restored, ...] = ()
    examples: tuple[Example, ...] = ()
    untried: str = ""
    verdict: str = ""
    repair: str = ""

    @property
    def title(self) -> str:
        """What the intruder looks at."""
        return TITLES[self.name]

    @property
    def alarm(self) -> bool:
        """Whether the route restores some variable."""
        return self.worst is not None and self.worst.alarm


@dataclass(frozen=True)
class NearTogether:
    """A number that several releases publish: the share within ``near`` of the ranks, of one release and averaged."""

    variable: str
    values: int
    alone: float
    together: float


@dataclass(frozen=True)
class Together:
    """What this release and others give away together, to one who joins them without the original.

    ``by`` names the columns that stand in both as they were and join them; none where records were joined by nearness.
    ``joined`` is the share of the records that are joined with their own in another release. ``linked_alone`` and
    ``linked`` are the shares that one who knows the ``keys`` finds in this release, and in all of them.
    """

    releases: tuple[str, ...]
    by: tuple[str, ...]
    joined: float
    keys: tuple[str, ...]
    linked_alone: float
    linked: float
    near: tuple[NearTogether, ...] = ()

    @property
    def sentence(self) -> str:
        """Say what they give away."""
        others = " and ".join(filter(None, (", ".join(self.releases[:-1]), self.releases[-1])))
        by = f"by {', '.join(self.by)}, which stand in both as they were" if self.by else "by nearness"
        said = [f"With {others}: {self.joined:.1%} of the records can be joined {by}"]
        if self.keys:
            said.append(
                f"who knows the keys finds {self.linked:.1%} instead of {self.linked_alone:.1%} of the records, among "
                "the nearest"
            )
        gained = sorted(self.near, key=lambda one: one.alone - one.together)[:3]
        said += [
            f"{one.together:.1%} instead of {one.alone:.1%} of the values of {one.variable} are near, averaged"
            for one in gained
            if one.together > one.alone
        ]
        return "; ".join(said) + "."


@dataclass(frozen=True)
class Audit(Preformatted):
    """What the rest of a protected file gives back of its protected values.

    ``protected`` counts the protected values of each variable, ``matched`` says how records were told to be the same.
    A route restores a variable (``alarm``) if it gets right more than the best guess does: by more than ``margin``, and
    by more than chance. Numbers are right within ``near`` of the records in rank.
    """

    records: int
    protected: Mapping[str, int]
    routes: tuple[Route, ...]
    near: float
    margin: float
    matched: str
    verdict: str
    notes: tuple[str, ...] = ()
    together: Together | None = None  # with other releases, where some were given

    @property
    def passed(self) -> bool:
        """Whether no route restores anything."""
        return not any(route.alarm for route in self.routes)

    @property
    def repairs(self) -> tuple[str, ...]:
        """What to do, a sentence for each route that restores."""
        return tuple(dict.fromkeys(route.repair for route in self.routes if route.alarm))

    def __getitem__(self, name: str) -> Route:
        return next(route for route in self.routes if route.name == name)

    def __repr__(self) -> str:
        told = [self.verdict]
        told += [f"  {route.title}: {route.verdict}" for route in self.routes if not route.untried]
        told += [f"  {self.together.sentence}"] if self.together is not None else []
        return "\n".join([*told, *(f"  repair: {repair}" for repair in self.repairs)])

    def _repr_html_(self) -> str:
        tried = [route for route in self.routes if not route.untried]
        rows = [(route.title, *figures(route), "restores" if route.alarm else "") for route in tried]
        heads = ("route", "variable", "values", "restored", "guess", "")
        return html_table(self.verdict, heads, rows, self.repairs)


@dataclass(frozen=True)
class Checked:
    """What was done to a protected table before it goes out, and what it then gives back."""

    done: tuple[str, ...] = ()  # besides the method: sentences for those who decide
    public: tuple[str, ...] = ()  # the same for everyone
    audit: Audit | None = None
    unaudited: str = ""  # why there is no audit
    unready: str = ""  # why it could not be made ready to go out: then it does not, whatever is asked for
    missing: Mapping[str, float] = field(default_factory=dict)  # of each column that goes out, the share missing
    excused: bool = False  # not audited, because no record is one of the original's, or only some are
    altered: tuple[str, ...] = ()  # variables blanked or left out after the figures were measured
    left_out: tuple[str, ...] = ()  # of these, what was left out
    lost: tuple[str, ...] = ()  # and of these, what was more than a copy
    renewed: tuple[str, ...] = ()  # special columns that no longer hold the original's values: weight, household
    renumbered: tuple[str, ...] = ()  # of these, the household
    after: Mapping[str, float] = field(default_factory=dict)  # by measure, what a figure is once all this was done

    @property
    def gone(self) -> tuple[str, ...]:
        """The variables that were measured and that the file which goes out does not have."""
        return tuple(dict.fromkeys(name for name in self.altered if name not in self.missing))

    @property
    def passed(self) -> bool:
        """Whether no route restores anything; a table that could not be audited has not passed, unless excused."""
        return not self.unready and (self.excused if self.audit is None else self.audit.passed)


def figures(route: Route) -> tuple[str, str, str, str]:
    """Return a route's figure as texts: variable, values, restored, guess."""
    worst = route.worst
    if worst is None:
        return "–", "–", "–", "–"
    return worst.variable, f"{worst.values:,}", f"{worst.restored:.1%}", f"{worst.guess:.1%}"
