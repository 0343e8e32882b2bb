"""What a variable may rather be than its schema says: typed for those who decide by it, in words for those who read."""

from dataclasses import dataclass
from typing import Literal

from sfumato.data import toml_text
from sfumato.data.schema import Category

Doubt = Literal[
    "all missing",
    "one value",
    "household",
    "identifier",
    "weight",
    "missing codes",  # numbers below zero that stand for missing values
    "labelled codes",  # numbers that all have a label
    "codes",  # few whole numbers
    "dates",  # text: every value is a date
    "thousands",  # text: numbers with thousands separators
    "nearly numbers",  # text: numbers but for a few cells
    "shared",  # the same for all members of each household
]


@dataclass(frozen=True)
class Suggestion:
    """What looks odd in a variable, and what to write in the schema if it is so."""

    name: str
    doubt: Doubt
    codes: tuple[Category, ...] = ()  # what may stand for missing values
    cells: int = 0  # how many records have one of these texts
    distinct: int = 0  # how many numbers may be codes
    forms: tuple[str, ...] = ()  # in which the text may be dates; the first is ISO 8601 if it can be
    id_free: bool = True  # the schema names no id yet

    @property
    def sentence(self) -> str:
        """The suggestion in words, and in the words of schema.toml.

        >>> Suggestion("hh", "household").sentence
        'the household? then write household = "hh" at the top'
        >>> Suggestion("age", "missing codes", codes=(-9, -8)).sentence
        'missing codes? nothing else is below zero: missing = [-9, -8]'
        """
        name = toml_text.quoted(self.name)
        at_top = f"id = {name} at the top, or " if self.id_free else ""
        either = "nominal" if self.distinct == 2 else "nominal or ordinal"
        missing = f"missing = {toml_text.values(self.codes)}"
        words: dict[Doubt, str] = {
            "all missing": "all values are missing: leave it out?",
            "one value": "one value only: it tells nothing of a record",
            "household": f"the household? then write household = {name} at the top",
            "identifier": f'an identifier? every value occurs once: {at_top}role = "identifier"',
            "weight": f"a survey weight? then write weight = {name} at the top",
            "missing codes": f"missing codes? nothing else is below zero: {missing}",
            "labelled codes": 'nominal or ordinal? every value has a label: kind = "nominal"',
            "codes": f'{either}? {self.distinct} distinct whole numbers look like codes: kind = "nominal"',
            "thousands": "numbers with thousands separators? they are read as text: remove the separators in the file",
            "shared": 'the same in each household, so masked once for it: level = "household", or "record" if not so',
            "dates": self._as_date,
            "nearly numbers": f'numbers but for {self.cells:,} cells? kind = "numeric", {missing}',
        }
        return words[self.doubt]

    @property
    def _as_date(self) -> str:
        """How the schema says in which format the dates stand; several formats read the same text otherwise."""
        stated = ['kind = "date"' if "%Y-%m-%d" in form else f'kind = "date", format = "{form}"' for form in self.forms]
        if len(stated) < 2:
            return f"dates? {''.join(stated)}"
        return f"dates? no day is above 12, so the day may be first or the month: {', or '.join(stated)}"
