"""Recodings as a value: what is to become of each variable, and the methods of the catalogue that do it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any, Literal

from sfumato.core import Method
from sfumato.errors import ParameterError
from sfumato.methods import GlobalRecoding, TopBottomCoding
from sfumato.parameters import frozen
from sfumato.table.dates import written_out
from sfumato.table.merging import listed
from sfumato.table.schema import Variable

Ends = Literal["both", "top", "bottom"]
Value = str | int | float | bool  # a category, a limit or a cut point, as JSON has them; dates are text
WAYS = ("merge", "cuts", "width", "level", "rare", "limits")


@dataclass(frozen=True)
class Recode:
    """What is to become of one variable; one way of the following.

    - ``merge``: pairs of a category and the group it goes to; others stay as they are.
    - ``cuts``: rising cut points of a number or a date; a class holds its lower one.
    - ``width``: of the classes of a number, or a span of the calendar such as "10 years".
    - ``level``: of the hierarchy that the schema has of the variable.
    - ``rare``: the share of the records below which categories become 'other'.
    - ``bottom`` and ``top``: limits, beyond which values become the limit; or by ``share`` of the records beyond each
      of the ``ends``.

    >>> Recode(cuts=[18, 65]).plain()
    {'cuts': [18, 65]}
    """

    merge: tuple[tuple[Value, Value], ...] = ()
    cuts: tuple[Value, ...] = ()
    width: Value | None = None
    level: int | None = None
    rare: float | None = None
    bottom: Value | None = None
    top: Value | None = None
    share: float | None = None
    ends: Ends = field(default="both", kw_only=True)

    def __post_init__(self) -> None:
        pairs = self.merge.items() if isinstance(self.merge, Mapping) else _listed("merge", self.merge)
        merge = []
        for pair in pairs:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise ParameterError(f"merge must be pairs of a category and its group; got {pair!r}")
            merge.append((_category(pair[0]), _category(pair[1])))
        object.__setattr__(self, "merge", tuple(merge))
        object.__setattr__(self, "cuts", tuple(map(_value, _listed("cuts", self.cuts))))
        for word in ("width", "level", "rare", "bottom", "top", "share"):
            stated = getattr(self, word)
            object.__setattr__(self, word, None if stated is None else _value(stated))
        if len(self._ways()) != 1:
            said = f"both {' and '.join(self._ways())}" if self._ways() else "nothing"
            raise ParameterError(f"give one of {', '.join(WAYS)}; it has {said}")
        if self.share is not None and (self.top is not None or self.bottom is not None):
            raise ParameterError("give limits (bottom, top) or a share beyond them, not both")
        if self.ends != "both" and self.share is None:
            raise ParameterError("ends goes with a share; of stated limits leave out the one there is not")
        twice = [str(category) for category, _ in self.merge]
        if len(set(twice)) < len(twice):
            raise ParameterError("merge puts one category into two groups; name each once")

    def _ways(self) -> list[str]:
        limits = any(stated is not None for stated in (self.bottom, self.top, self.share))
        given = (bool(self.merge), bool(self.cuts), self.width is not None, self.level is not None)
        return [way for way, said in zip(WAYS, (*given, self.rare is not None, limits), strict=True) if said]

    @property
    def way(self) -> str:
        """Which of the ways it is: merge, cuts, width, level, rare or limits."""
        return self._ways()[0]

    def plain(self) -> dict[str, Any]:
        """Return what it says as plain data, which JSON holds."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: _plain(value) for name, value in said.items() if value != getattr(Recode, name)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Recode":
        """Read plain data back; what it does not know is refused."""
        known = [entry.name for entry in fields(cls)]
        odd = [name for name in plain if name not in known] if isinstance(plain, Mapping) else [plain]
        if odd:
            raise ParameterError(f"{odd[0]!r} is no way to recode a variable; there are {', '.join(known)}")
        return cls(**plain)


@dataclass(frozen=True)
class Recodings:
    """What is to become of the variables of a table, each in one way; the order in which they were said does not count.

    ``method()`` gives the chain of Sfumato's own methods that does it, whose repr the command line takes.

    >>> region = Variable("region", "nominal", categories=("north", "east", "south", "west"))
    >>> chosen = Recodings().merged(region, ["north", "east"], "N").with_cuts("age", [18, 65])
    >>> chosen.method()
    GlobalRecoding(map={'region': {'north': 'N', 'east': 'N'}}, bins={'age': (18, 65)})
    >>> chosen.merged(region, ["N", "west"], "not south").plain()["region"]
    {'merge': [['north', 'not south'], ['east', 'not south'], ['west', 'not south']]}
    >>> Recodings.of(chosen.plain()) == chosen
    True
    """

    stated: tuple[tuple[str, Recode], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.stated]
        if len(set(names)) < len(names):
            raise ParameterError(f"a variable is recoded twice: {', '.join(names)}")
        object.__setattr__(self, "stated", tuple(sorted(self.stated, key=lambda entry: entry[0])))
        for name, recode in self.stated:
            _refuse_wrong(name, recode)

    def __iter__(self) -> Iterator[tuple[str, Recode]]:
        return iter(self.stated)

    def __len__(self) -> int:
        return len(self.stated)

    def __bool__(self) -> bool:
        return bool(self.stated)

    def __getitem__(self, name: str) -> Recode | None:
        return dict(self.stated).get(name)

    def of_variables(self, names: Iterable[str]) -> "Recodings":
        """Return what is said of some variables."""
        kept = set(names)
        return replace(self, stated=tuple(entry for entry in self.stated if entry[0] in kept))

    # changes, each to a new value

    def put(self, variable: str, recode: Recode) -> "Recodings":
        """Say what is to become of a variable, whatever was said before."""
        return Recodings((*self.without(variable).stated, (variable, recode)))

    def without(self, variable: str) -> "Recodings":
        """Leave a variable as it is."""
        return replace(self, stated=tuple(entry for entry in self.stated if entry[0] != variable))

    def merged(self, variable: Variable, categories: Iterable[Any], into: Any) -> "Recodings":
        """Put categories, or groups made before, together into one of this name; one alone gets another name.

        ``variable`` is that of the schema, because a group may have the name of a category.
        """
        recode = self[variable.name]
        pairs = {} if recode is None else {str(one): group for one, group in recode.merge}
        present = {category: pairs.get(str(category), category) for category in variable.categories}
        known, asked = {str(group) for group in present.values()}, {*map(str, categories)}
        strange = sorted(asked - known)
        if strange or not asked:
            what = f"no category or group {strange[0]!r}" if strange else "nothing to put together"
            raise ParameterError(f"{variable.name!r} has {what}; name some of {listed(sorted(known))}")
        new = {one: into if str(group) in asked else group for one, group in present.items()}
        return self._mapped(variable.name, new)

    def _mapped(self, variable: str, groups: Mapping[Any, Any]) -> "Recodings":
        moved = tuple((one, group) for one, group in groups.items() if str(group) != str(one))
        return self.put(variable, Recode(merge=moved)) if moved else self.without(variable)

    def split(self, variable: str, group: Any) -> "Recodings":
        """Take a group of merged categories apart again."""
        recode = self[variable]
        pairs = recode.merge if recode is not None else ()
        return self._mapped(variable, {one: into for one, into in pairs if str(into) != str(group)})

    def with_cuts(self, variable: str, cuts: Iterable[Any]) -> "Recodings":
        """Cut a number or a date at these points; at none, leave it as it is."""
        points = tuple(cuts)
        return self.put(variable, Recode(cuts=points)) if points else self.without(variable)

    def with_width(self, variable: str, width: Any) -> "Recodings":
        """Put a number into classes of a width, or a date into spans of the calendar."""
        return self.put(variable, Recode(width=width))

    def with_level(self, variable: str, level: int) -> "Recodings":
        """Put a variable at a level of its hierarchy; level 0 is the variable as it is."""
        return self.put(variable, Recode(level=level)) if level != 0 else self.without(variable)

    def with_rare(self, variable: str, share: float) -> "Recodings":
        """Call the categories of fewer records than a share 'other'."""
        return self.put(variable, Recode(rare=share))

    def with_limits(
        self, variable: str, *, bottom: Any = None, top: Any = None, share: float | None = None, ends: Ends = "both"
    ) -> "Recodings":
        """Replace what lies beyond limits by them: stated ones, or such that a share of the records is beyond."""
        return self.put(variable, Recode(bottom=bottom, top=top, share=share, ends=ends))

    # to methods, and to plain data

    def method(self) -> Method | None:
        """Return the methods that do it: one step for all recoding and one for all limits; None if nothing is said.

        Limits by a share at other ends of other variables are a step each, because a step has one kind of ends.
        """
        return _method(self.stated)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, which JSON holds."""
        return {name: recode.plain() for name, recode in self.stated}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Recodings":
        """Read plain data back; what is wrong is refused with the variable."""
        if not isinstance(plain, Mapping):
            raise ParameterError(f"recodings must be a dict by variable; got {plain!r}")
        stated = []
        for name, entry in plain.items():
            try:
                stated.append((name, Recode.of(entry)))
            except ParameterError as error:
                raise ParameterError(f"{name!r}: {error}") from None
        return cls(tuple(stated))


NOTHING = Recodings()


def _refuse_wrong(name: str, recode: Recode) -> None:
    """Let the method that will do it check what is said of a variable, and name the variable."""
    if not isinstance(name, str) or not isinstance(recode, Recode):
        raise ParameterError(f"recodings are pairs of a variable and its Recode; got {name!r}: {recode!r}")
    try:
        _method([(name, recode)])
    except ParameterError as error:
        said = str(error).partition(": ")[2]
        raise ParameterError(said if repr(name) in said else f"{name!r}: {said}") from None


def _method(stated: Iterable[tuple[str, Recode]]) -> Method | None:
    """Put together the methods of some recodings."""
    recoding: dict[str, Any] = {}
    limits: dict[Ends, dict[str, Any]] = {}
    for name, recode in stated:
        if recode.way == "limits":
            own = limits.setdefault(recode.ends, {})
            for word in ("share", "top", "bottom"):
                if getattr(recode, word) is not None:
                    own.setdefault(word, {})[name] = getattr(recode, word)
        elif recode.way == "merge":
            recoding.setdefault("map", {})[name] = dict(recode.merge)
        elif recode.way in ("cuts", "width"):
            recoding.setdefault("bins", {})[name] = recode.cuts or recode.width
        else:
            recoding.setdefault(recode.way, {})[name] = getattr(recode, recode.way)
    steps: list[Method] = [GlobalRecoding(**recoding)] if recoding else []
    steps += [TopBottomCoding(**own, ends=ends) for ends, own in sorted(limits.items())]
    return reduce(lambda one, then: one + then, steps) if steps else None


def _listed(word: str, stated: Any) -> Iterable[Any]:
    if isinstance(stated, str) or not isinstance(stated, Iterable):
        raise ParameterError(f"{word} must be a list; got {stated!r}")
    return stated


def _category(stated: Any) -> Value:
    """Return a category as JSON has it: what else a column may hold, such as a date, as its text."""
    plain = frozen(stated)
    return plain if isinstance(plain, str | int | float | bool) else str(plain)


def _value(stated: Any) -> Value:
    """Return a cut or a limit as JSON has it, a date as its ISO text."""
    return _category(written_out(stated))


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
