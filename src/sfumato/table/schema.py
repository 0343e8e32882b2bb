"""What is known of each variable: its kind, its role, its categories; and of the intruders."""

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Literal, get_args

from sfumato.errors import SchemaError, refusing
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.treatment import UNTREATED, Treatment

# Intruder scenarios: who may know what of a person, and how many records must then look alike.

ALL_KEYS = "all keys"  # the scenario of a schema that declares none
EVERYTHING = "all that is in the file"  # the scenario of who knows every variable, whatever is declared


@dataclass(frozen=True)
class Scenario:
    """An intruder: what he knows of a person, and how exactly.

    ``keys`` are the variables whose values he knows, ``about`` those of them that he knows about but not exactly (a
    colleague's income); of categories, ``about`` changes nothing. ``k`` records must look alike to him. He knows that
    the person is in the file unless ``knows_membership`` is False, as of a sample in which anybody might be.

    >>> Scenario("neighbour", keys=("region", "sex", "age"), k=5, about=("age",)).exact
    ('region', 'sex')
    """

    name: str
    keys: tuple[str, ...]
    k: int = 3
    about: tuple[str, ...] = ()
    knows_membership: bool = True

    @refusing(SchemaError)
    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a scenario's name must be text, and not empty; got {self.name!r}")
        for word in ("keys", "about"):
            object.__setattr__(self, word, _names(f"scenario {self.name!r}: {word}", getattr(self, word)))
        if not self.keys:
            raise SchemaError(f"scenario {self.name!r} has no keys; name the variables this intruder knows")
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 2:
            raise SchemaError(f"scenario {self.name!r}: k must be a whole number of 2 or more; got {self.k!r}")
        strange = [name for name in self.about if name not in self.keys]
        if strange:
            raise SchemaError(
                f"scenario {self.name!r}: about names {', '.join(map(repr, strange))}, which is not among its keys "
                f"{', '.join(self.keys)}"
            )
        if not isinstance(self.knows_membership, bool):
            raise SchemaError(
                f"scenario {self.name!r}: knows_membership must be True or False; got {self.knows_membership!r}"
            )

    @property
    def exact(self) -> tuple[str, ...]:
        """The keys that he knows exactly."""
        return tuple(name for name in self.keys if name not in self.about)

    def only(self, names: Iterable[str]) -> "Scenario | None":
        """Return the scenario with those of its keys that are among these; None if none is."""
        kept = set(names)
        keys = tuple(name for name in self.keys if name in kept)
        return replace(self, keys=keys, about=tuple(n for n in self.about if n in kept)) if keys else None


def _names(where: str, said: object) -> tuple[str, ...]:
    """Check a list of names: texts, each once."""
    if isinstance(said, str) or not isinstance(said, Iterable):
        raise SchemaError(f"{where} must be a list of names; got {said!r}")
    names = tuple(said)
    for name in names:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"{where} must be names of variables; got {name!r}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SchemaError(f"{where} names {', '.join(map(repr, twice))} more than once")
    return names


# Variables, and the schema of a table.

Kind = Literal["numeric", "ordinal", "nominal", "date"]
Role = Literal["key", "confidential", "other", "identifier"]
Special = Literal["weight", "household", "id"]
Level = Literal["household", "record"]
Category = object  # text, number, truth value or date: whatever the column held


def is_quantitative(kind: Kind) -> bool:
    """Tell whether values of a kind are quantities: numbers or dates, held as floats with NaN, not as codes."""
    return kind in ("numeric", "date")


def a_kind(kind: Kind) -> str:
    """Say what a variable of this kind is: "numeric", "a date"."""
    return "a date" if kind == "date" else kind


def is_text(text: object) -> bool:
    """Tell whether a text can be written: not if it holds half of a surrogate pair."""
    try:
        str(text).encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Variable:
    """One column: what its values mean and what an intruder may know of it.

    ``kind`` says how its values compare (numeric, ordinal, nominal, date); ``role`` whether an intruder may know them
    (key), would learn from them (confidential), neither (other), or whether they name the unit (identifier).
    ``categories`` lists the values of an ordinal variable from lowest to highest, or of a nominal one; ``missing`` the
    codes that stand for a missing value; ``labels`` pairs categories with the words a reader knows them by; a
    protected variable's ``treatment`` says what was done to it. ``level`` says whether the members of a household share
    the value, so that it is masked once for each (``sfumato.table.households``); None: as is. ``linked``
    names the variables that determine it, wholly or nearly: it follows what is done to them (``sfumato.table.linked``).
    ``hierarchy`` says what each value is part of, level by level, for those who make it coarser. ``format`` says how a
    date is written as text, such as %d.%m.%Y; none: ISO 8601, or a column of dates. ``kind_by_rule``: nobody says the
    kind, so that it follows the column once there is one (``sfumato.table.microdata``). ``declared`` is false where
    nobody has said the role: it is a proposal, or the column is in no schema. ``reason`` is the word of a person why a
    variable that looks like a name or an address may go out in its role.

    >>> Variable("education", kind="ordinal", categories=("primary", "secondary", "tertiary")).kind
    'ordinal'
    """

    name: str
    kind: Kind = "numeric"
    role: Role = "other"
    categories: tuple[Category, ...] = ()
    missing: tuple[Category, ...] = ()
    label: str = ""
    labels: tuple[tuple[Category, str], ...] = ()
    treatment: Treatment = UNTREATED
    level: Level | None = None
    linked: str | Sequence[str] = field(default=(), kw_only=True)
    hierarchy: Hierarchy | None = field(default=None, kw_only=True)
    format: str = field(default="", kw_only=True)
    kind_by_rule: bool = field(default=False, kw_only=True, repr=False, compare=False)
    declared: bool = field(default=True, kw_only=True, repr=False, compare=False)
    reason: str = field(default="", kw_only=True, repr=False, compare=False)

    def __repr__(self) -> str:
        """Name links, a hierarchy and a format only where there are: the fingerprint of other tables stays."""
        said = (one.name for one in fields(self) if one.repr and (not one.kw_only or getattr(self, one.name)))
        return f"Variable({', '.join(f'{name}={getattr(self, name)!r}' for name in said)})"

    @refusing(SchemaError)
    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a variable's name must be text, and not empty; got {self.name!r}")
        if not is_text(self.name) or not is_text(self.label):
            raise SchemaError(f"variable {self.name!r}: no file can hold a half of a surrogate pair; correct the text")
        for word, allowed in (("kind", get_args(Kind)), ("role", get_args(Role))):
            value = getattr(self, word)
            if value not in allowed:
                raise SchemaError(f"variable {self.name!r}: {word} must be one of {', '.join(allowed)}; got {value!r}")
        if self.level is not None and self.level not in get_args(Level):
            levels = ", ".join(get_args(Level))
            raise SchemaError(f"variable {self.name!r}: level must be one of {levels}; got {self.level!r}")
        self._check_links()
        if self.hierarchy is not None and not isinstance(self.hierarchy, Hierarchy):
            raise SchemaError(f"variable {self.name!r}: hierarchy must be a Hierarchy; got {self.hierarchy!r}")
        object.__setattr__(self, "categories", tuple(self.categories))
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "labels", tuple((category, str(text)) for category, text in self.labels))
        if self.kind == "numeric" and self.categories and not self.kind_by_rule:
            raise SchemaError(f"variable {self.name!r} is numeric, so it has no categories; make it ordinal?")
        if self.kind == "date" and self.categories:
            raise SchemaError(f"variable {self.name!r} is a date, so it has no categories; make it ordinal?")
        if self.format and (self.kind != "date" or not isinstance(self.format, str) or "%" not in self.format):
            raise SchemaError(
                f"variable {self.name!r}: format says how a date is written as text, such as '%d.%m.%Y'; got "
                f"{self.format!r} for a variable that is {a_kind(self.kind)}"
            )
        types = {float if type(c) is int else type(c) for c in self.categories}
        if len(types) > 1:
            raise SchemaError(f"variable {self.name!r} lists categories of different types: {self.categories!r}")
        if len(set(self.categories)) < len(self.categories):
            raise SchemaError(f"variable {self.name!r} lists a category twice: {self.categories!r}")

    def _check_links(self) -> None:
        """Take one name for a list of one; refuse what names no other variable."""
        linked = (self.linked,) if isinstance(self.linked, str) else self.linked
        if not isinstance(linked, list | tuple) or not all(isinstance(name, str) and name for name in linked):
            raise SchemaError(
                f"variable {self.name!r}: linked must be the name of a variable, or a list of names; got {linked!r}"
            )
        if self.name in linked:
            raise SchemaError(f"variable {self.name!r} is linked to itself; name the variables that determine it")
        if len(set(linked)) < len(linked):
            raise SchemaError(f"variable {self.name!r}: linked names a variable twice: {', '.join(linked)}")
        object.__setattr__(self, "linked", tuple(linked))

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that this one is linked to."""
        return tuple(self.linked)

    @property
    def quantitative(self) -> bool:
        """Whether its values are quantities: numbers or dates, held as floats with NaN, not as codes."""
        return is_quantitative(self.kind)

    @property
    def title(self) -> str:
        """What a reader knows the variable by: its label, or else its name."""
        return self.label or self.name

    def spelled(self, category: Category) -> str:
        """Return what a reader knows a category by: its label, or else the category itself."""
        return dict(self.labels).get(category, str(category))

    def treated(self, treatment: Treatment) -> "Variable":
        """Return the variable with this treatment after those it had."""
        return replace(self, treatment=self.treatment.then(treatment))


@dataclass(frozen=True)
class Schema:
    """The variables of a table, and which of them is the survey weight, the household, the record's id.

    A schema given to a table may name only some of its columns; the others get the kind of the stated rule
    (``sfumato.table.microdata``). ``scenarios`` say what each intruder knows; without any, one knows all variables of
    the role key (``intruders``).

    >>> schema = Schema((Variable("income", role="confidential"), Variable("w")), weight="w")
    >>> schema.names, schema.analysed("numeric")
    (('income', 'w'), ('income',))
    """

    variables: tuple[Variable, ...] = ()
    weight: str | None = None
    household: str | None = None
    id: str | None = None
    scenarios: tuple[Scenario, ...] = ()

    @refusing(SchemaError)
    def __post_init__(self) -> None:
        for name, kind in (("variables", Variable), ("scenarios", Scenario)):
            stated = getattr(self, name)
            given = tuple(stated) if isinstance(stated, Iterable) else (stated,)
            if not all(isinstance(one, kind) for one in given):
                raise SchemaError(f"{name} of a schema must be a list of {kind.__name__}; got {stated!r}")
            object.__setattr__(self, name, given)
        for special, named in (("weight", self.weight), ("household", self.household), ("id", self.id)):
            if named is not None and not isinstance(named, str):
                raise SchemaError(f"the {special} of a schema is named by a text; got {named!r}")
        if len(self._by_name) < len(self.variables):
            twice = sorted(name for name, times in Counter(self.names).items() if times > 1)
            raise SchemaError(f"the schema names {', '.join(map(repr, twice))} more than once")
        alike = [name for name, times in Counter(scenario.name for scenario in self.scenarios).items() if times > 1]
        if alike:
            raise SchemaError(f"two scenarios are called {alike[0]!r}; give each a name of its own")
        for name, times in Counter(self.special().values()).items():
            if times > 1:
                first, second, *_ = (special for special, named in self.special().items() if named == name)
                raise SchemaError(
                    f"{name!r} is named as {first} and as {second} of the records; a column can only be one of them"
                )
        for special, name in self.special().items():
            if name in self._by_name and self[name].sources:
                raise SchemaError(
                    f"{name!r} is the {special} of the records, so it cannot be linked to {self[name].sources[0]!r}; "
                    "others may be linked to it"
                )
        self.links()

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all variables, in the order of the table."""
        return tuple(variable.name for variable in self.variables)

    def special(self) -> dict[Special, str]:
        """Return the columns that are not data about the unit: weight, household, id."""
        named: tuple[tuple[Special, str | None], ...] = (
            ("weight", self.weight),
            ("household", self.household),
            ("id", self.id),
        )
        return {special: name for special, name in named if name is not None}

    def names_units(self, name: str) -> bool:
        """Tell whether a variable names records or households: the id, the household, identifiers."""
        return name in (self.household, self.id) or self[name].role == "identifier"

    def unnamed(self) -> "Schema":
        """Return the schema without lists of what names units, for texts that are kept: the table itself has them.

        An order that somebody stated stays listed, because it could not be read off the table again.

        >>> person = Variable("person", kind="nominal", role="identifier", categories=("Ann", "Bob"))
        >>> Schema((person,)).unnamed()["person"].categories
        ()
        """
        listed = (v for v in self.variables if v.kind == "nominal" and self.names_units(v.name))
        return self.replace(*(replace(v, categories=(), labels=()) for v in listed))

    def analysed(self, *kinds: Kind, role: Role | None = None) -> tuple[str, ...]:
        """Name the variables that methods mask and measures compare: no weight, household, id or identifier."""
        apart = set(self.special().values())
        return tuple(
            v.name
            for v in self.variables
            if v.name not in apart
            and v.role != "identifier"
            and (not kinds or v.kind in kinds)
            and (role is None or v.role == role)
        )

    def links(self) -> tuple[Variable, ...]:
        """Return the variables that are linked to others, each after those of its sources that are linked themselves.

        >>> Schema((Variable("cohort", linked="year"), Variable("year", linked="age"))).links()[0].name
        'year'
        """
        left = {variable.name: variable for variable in self.variables if variable.sources}
        ordered: list[Variable] = []
        while left:
            ready = [variable for variable in left.values() if not any(source in left for source in variable.sources)]
            if not ready:
                raise SchemaError(
                    f"the links go round in a circle: {', '.join(left)}; one of them must be linked to no other"
                )
            ordered += ready
            left = {name: variable for name, variable in left.items() if variable not in ordered}
        return tuple(ordered)

    def led(self, names: Iterable[str]) -> set[str]:
        """Return those of some variables that are linked to others of them alone, so that they follow by themselves."""
        known = set(names)
        return {
            variable.name for variable in self.links() if variable.name in known and known.issuperset(variable.sources)
        }

    def intruders(self) -> tuple[Scenario, ...]:
        """Return the declared scenarios, or one of all variables of the role key; none where there is no key.

        >>> Schema((Variable("town", "nominal", "key"), Variable("pay"))).intruders()[0].keys
        ('town',)
        """
        keys = self.analysed(role="key")
        return self.scenarios or ((Scenario(ALL_KEYS, keys),) if keys else ())

    def __getitem__(self, name: str) -> Variable:
        if name not in self._by_name:
            raise SchemaError(self.unknown(name))
        return self._by_name[name]

    def unknown(self, name: str) -> str:
        """Say that there is no such variable, and which one may be meant."""
        near = nearest(name, self.names)
        meant = f" (did you mean {near!r}?)" if near is not None else ""
        return f"there is no variable {name!r}{meant}; there are {', '.join(self.names)}"

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def replace(self, *changed: Variable) -> "Schema":
        """Return the schema with these variables in place of their namesakes."""
        by_name = {variable.name: variable for variable in changed}
        return replace(self, variables=tuple(by_name.get(v.name, v) for v in self.variables))

    def only(self, names: Iterable[str]) -> "Schema":
        """Return the schema of a table that has only these columns, in its own order.

        A scenario keeps the keys that are left; one that has none left goes. So does a link to what is gone.
        """
        kept = set(names)
        scenarios = (scenario.only(kept) for scenario in self.scenarios)
        special = {key: (name if name in kept else None) for key, name in self.special().items()}
        return Schema(
            variables=tuple(
                v
                if kept.issuperset(v.sources)
                else replace(v, linked=tuple(name for name in v.sources if name in kept))
                for v in self.variables
                if v.name in kept
            ),
            weight=special.get("weight"),
            household=special.get("household"),
            id=special.get("id"),
            scenarios=tuple(scenario for scenario in scenarios if scenario is not None),
        )


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that may be meant by one that is none; None where nothing is near.

    >>> nearest("Incom", ["age", "income"]), nearest("wgt", ["weight", "age"]), nearest("x", ["age"])
    ('income', 'weight', None)
    """
    folded = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.66)
    return folded[near[0]] if near else None
