"""What an audit found: plain data that goes to JSON, for the terminal and the internal report, and its sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sfumato.display import Preformatted, html_table
from sfumato.table import toml_text

if TYPE_CHECKING:
    from sfumato.table.schema import Schema

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


def verdict(worst: Restored) -> str:
    """Say what the worst variable of a route loses by it."""
    what = f"{worst.restored:.1%} of {_counted(worst.values, 'protected value')} of {worst.variable}"
    from_what = f" from {' and '.join(worst.evidence)}" if worst.evidence else ""
    exactly = " exactly" if worst.basis == "exactly" else ""
    guess = "a guess from the file alone" if worst.basis == "the file alone" else "the best guess"
    said = f"{what}{exactly}{from_what}, against {worst.guess:.1%} by {guess}"
    if worst.exactly < worst.restored and worst.basis != "exactly":
        said += f"; {worst.exactly:.1%} to the last digit, the others near"
    return {
        "restores": f"restores {said}",
        "association": f"gives {said}: an association, no way back",
        "luck": f"gives {said}: too few to tell from luck",
        "nothing": f"restores nothing ({said})",
    }[worst.reading]


def repair(name: Name, alarms: Sequence[Restored], schema: "Schema") -> str:
    """Say what closes a route."""
    variables = listed(list(dict.fromkeys(found.variable for found in alarms)))
    columns = listed(sorted({column for found in alarms for column in found.evidence}))
    telling = listed([f"{' with '.join(found.evidence)} tells {found.variable}" for found in alarms])
    equal = listed([f"{found.variable} = {' '.join(found.evidence)}" for found in alarms], most=2)
    return {
        "weight": f"coarsen the weight, add noise to it or rake it to margins, so that it no longer tells {variables}",
        "order": f"write the records in random order: their neighbours tell {variables}",
        "household": f"suppress or change {variables} for all members of a household together",
        "ids": f"give new ids in random order: {columns} tells {variables}",
        "columns": f"{_linking(alarms, schema)}drop one or treat both alike: {telling}",
        "combinations": f"declare linked = [...] for what is made of others, or drop or coarsen one of each: {telling}",
        "sums": f"declare linked = [...] for the total, or mask the parts as well, or drop one: {equal}",
        "text": f"leave the text out, or clear it of what it says of the record: {telling}",
        "beside": f"derive this release from the other one: the two together tell {variables}",
    }[name]


def _linking(alarms: Sequence[Restored], schema: "Schema") -> str:
    pairs = dict.fromkeys((found.evidence[0], found.variable) for found in alarms if len(found.evidence) == 1)
    lines = [
        f"linked = {toml_text.quoted(source)} under [variables.{toml_text.key(name)}]"
        for name, source in pairs
        if name in schema and name not in schema.special().values() and not _linked(schema, name, source)
    ]
    return f"declare {listed(lines, most=2)}, so that it follows, or " if lines else ""


def _linked(schema: "Schema", name: str, source: str) -> bool:
    """Tell whether a variable is linked to another, straight or by others, in whichever direction."""
    links = {variable.name: variable.sources for variable in schema.links()}

    def reaches(start: str, end: str) -> bool:
        return any(step == end or reaches(step, end) for step in links.get(start, ()))

    return reaches(name, source) or reaches(source, name)


def overall(routes: Sequence[Route], protected: dict[str, int]) -> str:
    """Say in a sentence whether the file keeps what was protected."""
    values = sum(protected.values())
    if not values:
        return "Nothing to restore: no value of the file differs from the original."
    about = f"{_counted(values, 'protected value')} of {_counted(len(protected), 'variable')}"
    alarms = [route for route in routes if route.alarm]
    if not alarms:
        return f"The file keeps what was protected: {_beyond_guessing(routes, about)}."
    return f"The file gives protected values back by {_counted(len(alarms), 'route')}, of {about}: " + ", ".join(
        route.title for route in alarms
    )


def _beyond_guessing(routes: Sequence[Route], about: str) -> str:
    """Say of routes that restore nothing which of them tell more than a guess does, and how."""
    readings = [route.worst.reading for route in routes if route.worst is not None]
    hows = {"association": "association", "luck": "what may be luck"}
    said = [f"{readings.count(reading)} by {how}" for reading, how in hows.items() if reading in readings]
    if not said:
        return f"no route tells more of {about} than a guess does"
    more = sum(reading in hows for reading in readings)
    tell = "tells" if more == 1 else "tell"
    return f"no route leads back to {about}; {more} of {len(readings)} {tell} more than a guess does, {', '.join(said)}"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' if number != 1 else ''}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """List names in a sentence, the first few of them."""
    shown = list(names[:most])
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
