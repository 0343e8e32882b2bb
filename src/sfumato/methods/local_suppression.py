"""Local suppression: single values made missing until k records share what each one shows."""

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.data.keys import key_codes, key_names
from sfumato.data.microdata import Microdata
from sfumato.data.present import only_present
from sfumato.data.schema import Variable
from sfumato.data.treatment import Treatment
from sfumato.errors import NotApplicable
from sfumato.kernels.suppression import MOST_ENTRIES, cheapest_classes, cheapest_shown
from sfumato.registry import catalogued

Missing = Literal["matches", "category"]
MOST_KEYS = 16  # the sets of keys that may stay double with each key


@catalogued(
    MethodAbout(
        title="Local suppression",
        source="De Waal and Willenborg (1998), Optimal local suppression in microdata; missing values counted as in "
        "sdcMicro; with missing='category' Meyerson and Williams (2004)",
        missing="stays missing; a missing key value matches any value, or is a value of its own (missing='category')",
        kinds=("numeric", "ordinal", "nominal"),
        random=False,
        households="suppressed",
        grid={"k": (2, 3, 5)},
        neutral={"k": 1},
        caveat="an intruder who knows that somebody is in the file and trusts every value shown can rule out records "
        "that a missing value is counted to match; what is suppressed depends on what is rare, so it is not missing "
        "at random",
        formula="for each record: the cheapest set of its key values to make missing, so that\n"
        "#{records of the table given that agree with all it still shows} >= k   (subsets=s: any s of it)\n"
        "two values agree if they are equal or either is missing;  cost = sum of the importances (1 each)\n"
        'missing="category": so that k records publish the same keys, missing a value like any other',
        reading="``k`` is the least number of records that share what each one shows: 3 to 5 are the usual limits. "
        "The note tells how many values went and of which keys: a few percent is a fair price, more says that the "
        "keys are too fine, so recode them first (GlobalRecoding(...) + LocalSuppression(3)). Analysts see missing "
        "values, which their programs drop; rare groups lose most.",
    )
)
class LocalSuppression(Method):
    """The fewest key values made missing, so that at least ``k`` records share what each record still shows.

    Of each record those values go that cost least, such that what it still shows agrees with at least k records of the
    table given, itself included; two values agree when they are equal or either is missing (as sdcMicro counts). A
    record that k records share is not touched. The keys are ``variables``, or the variables of role key, or, where no
    variable has that role, all ordinal and nominal ones; numeric keys must be whole numbers that repeat, such as age.

    A value costs 1, or what ``importance`` says: ``importance={"age": 3}`` gives up to three other values rather than
    an age. Where sets of values cost the same, the keys with the most different values lose theirs (then the first by
    name); nothing is drawn. ``subsets=3`` asks that every combination of three keys be shared by k records, not all
    keys together: fewer suppressions, and an intruder who knows more than three keys may still find somebody unique.

    The result is optimal for this rule, for every record. The rule counts the records of the table given, not the
    missing values made here: counted those too, the fewest suppressions would be to blank k - 1 whole records, which
    then match everybody and protect nobody. It misleads in one way: a lone record among five that differ in the value
    it lost is counted with them, though an intruder who knows that value can rule the five out.

    ``missing="category"`` closes that gap: a missing value equals only a missing value, so k records publish exactly
    the same keys. It costs a few per cent more values. That problem is hard: the result, by local search, is usually
    the optimum on small tables, and on large ones its distance from it is bounded by the cost of the first rule. The
    time doubles with each key; 16 are the most.

    >>> import pyarrow as pa
    >>> people = pa.table({"region": ["N", "N", "N", "S", "S"], "job": ["a", "a", "b", "a", "a"]})
    >>> LocalSuppression(2).protect(people)["job"].to_pylist()
    ['a', 'a', None, 'a', 'a']
    """

    k: int
    importance: Mapping[str, float] | None = None
    subsets: int | None = None
    missing: Missing = "matches"

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters.whole(self, "k")
        if self.subsets is not None:
            parameters.whole(self, "subsets")
        parameters.one_of(self, "missing", get_args(Missing))
        if self.missing == "category" and self.subsets is not None:
            raise parameters.refuse(self, "subsets needs missing='matches'")
        if self.missing == "category":  # a value that goes for the other members may leave others alone with theirs
            object.__setattr__(self, "about", replace(self.about, households="suppressed again"))
        parameters.by_variable(self, "importance", '{"age": 3, "sex": 1}')
        for name, worth in (self.importance or {}).items():
            if isinstance(worth, bool) or not isinstance(worth, Real) or not 0 < worth < float("inf"):
                raise parameters.refuse(self, f"the importance of {name!r} must be a number above 0; got {worth!r}")

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the keys."""
        if self.variables is None and not data.schema.analysed(role="key"):
            return key_names(data.schema, data.schema.analysed("ordinal", "nominal") or None)
        return key_names(data.schema, self.variables)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        names = tuple(sorted(self.masked(data)))  # by name, so that the order of the columns decides no tie
        codes = key_codes(data, names)
        self._check(data, names)
        worth = self.importance or {}
        costs = np.array([worth.get(name, 1.0) for name in names])
        # where costs are equal, keys with more different values are suppressed first
        preference = [-len(np.unique(column[column >= 0])) for column in codes.T]
        if self.missing == "category":
            shown = cheapest_classes(codes, self.k, costs, preference)
        else:
            shown = cheapest_shown(codes, self.k, costs, self.subsets or len(names), preference)
        return self._suppressed(data, names, shown)

    def _check(self, data: Microdata, names: tuple[str, ...]) -> None:
        if len(data) < self.k:
            raise NotApplicable(
                f"the table has {len(data)} records, fewer than k={self.k}, so no suppression can "
                "make k of them agree; choose a smaller k"
            )
        if len(names) > MOST_KEYS:
            raise NotApplicable(
                f"{len(names)} keys ({', '.join(names[:5])}, ...) are more than {MOST_KEYS}; name "
                "fewer in variables=[...]"
            )
        if self.missing == "category" and len(data) * 2 ** len(names) > MOST_ENTRIES:
            raise NotApplicable(
                f"{len(names)} keys of {len(data):,} records are too many for missing='category' "
                f"(at most {MOST_ENTRIES:,} records times sets of keys); name fewer, or take missing='matches'"
            )
        if self.subsets is not None and self.subsets > len(names):
            raise NotApplicable(
                f"subsets={self.subsets} asks for combinations of more keys than there are "
                f"({', '.join(names)}); leave it out"
            )
        strangers = [name for name in self.importance or () if name not in names]
        if strangers:
            raise NotApplicable(f"importance names {strangers[0]!r}, which is not one of the keys {', '.join(names)}")

    def _suppressed(self, data: Microdata, names: tuple[str, ...], shown: NDArray[np.bool_]) -> Microdata:
        changed: dict[str, tuple[Variable, NDArray[np.generic]]] = {}
        for name, kept in zip(names, shown.T, strict=True):
            if not kept.all():
                variable, column = data.schema[name], data.columns[name].copy()
                column[~kept] = np.nan if variable.kind == "numeric" else -1
                variable = variable.treated(Treatment(suppressed=int((~kept).sum())))
                # a category listed that no record shows would tell what the missing values were
                changed[name] = (variable, column) if variable.kind == "numeric" else only_present(variable, column)
        lost = dict(zip(names, (~shown).sum(axis=0).tolist(), strict=True))
        counts = ", ".join(f"{name} {number:,}" for name, number in lost.items() if number) or "none was needed"
        touched = int((~shown).any(axis=1).sum())
        touched_records = f"{touched:,} record{'s' if touched != 1 else ''}"
        note = (
            f"{self!r}: {sum(lost.values()):,} of {shown.size:,} key values suppressed in {touched_records}: {counts}"
        )
        if self.variables is None and not data.schema.analysed(role="key"):
            note += "; no variable has the role key, so all ordinal and nominal ones were taken as keys"
        listed = {name: variable.categories for name, (variable, _) in changed.items() if variable.kind != "numeric"}
        return replace(data.recast(changed, note), origin=data.origin.listing(listed))
