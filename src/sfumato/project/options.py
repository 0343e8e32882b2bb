"""What a sweep is told: the command line, ``sfumato.sweep``, the workbench and plan.json follow from its fields.

Beside it, who hears its messages, and what is settled where nothing was said: the seed, the processes.
"""

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from sfumato.project.reading import OnUndeclared
from sfumato.table.sample_size import FEWEST, SAMPLED

MAX_BREADTH = 3
Audience = Literal["internal", "external"]  # of a report
Tell = Callable[[str], None]  # messages that are no results: who runs a sweep says where they go
GUESSABLE = 2**40  # seeds below are tried out in no time


def _told(text: str, **more: Any) -> Mapping[str, Any]:
    """Return the help of an option, and what the command line has to know beside its type.

    ``word`` is the word of an option that may be said several times, ``least`` and ``most`` limit a number. An option
    of the ``release`` is one of `sfumato protect` too; what a ``repair`` is told goes to the repairs as it is. What is
    ``settled`` stands in the plan in another form: methods that were composed, a seed that was drawn.
    """
    return {"help": text, **more}


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """What a sweep is told.

    To add an option, add its field here and use it where it acts: plan and record of a sweep are told by the same
    fields.

    >>> SweepOptions(at_most={"Reidentification": 0.05}, keep_order=True).given()
    {'at_most': {'Reidentification': 0.05}, 'keep_order': True}
    """

    methods: Iterable[Any] = field(
        default=(),
        metadata=_told(
            'Such as "MDAV(k=[3, 5, 10])"; may be said several times. Composed to fit the table if not said.',
            word="--method",
            settled=True,
        ),
    )
    also_composed: bool = field(
        default=False, metadata=_told("Compose candidates beside the methods that are named.", settled=True)
    )
    first: Any = field(
        default=None,
        metadata=_told(
            "What every candidate begins with, such as \"GlobalRecoding(bins={'age': 5})\"; alone it is one too.",
            settled=True,
        ),
    )
    breadth: int = field(
        default=1,
        metadata=_told(
            "How many candidates to compose where no method is named: 1, 2 or 3.",
            least=1,
            most=MAX_BREADTH,
            settled=True,
        ),
    )
    measures: Iterable[Any] = field(
        default=(),
        metadata=_told(
            'A measure such as "Reidentification"; may be said several times.', word="--measure", settled=True
        ),
    )
    at_most: Mapping[Any, float] = field(
        default_factory=dict,
        metadata=_told('A bound such as "Reidentification=5%" (or =0.05); may be said several times.', settled=True),
    )
    at_least: Mapping[Any, float] = field(
        default_factory=dict, metadata=_told("A bound on a measure that is better when higher.", settled=True)
    )
    utility: str | None = field(
        default=None,
        metadata=_told("The measure of utility to make as good as possible; follows from the schema.", settled=True),
    )
    risk: str | None = field(
        default=None, metadata=_told("The measure of risk on the map; follows from the schema.", settled=True)
    )
    least_risk: bool = field(
        default=False, metadata=_told("Choose the least risk instead of the best utility: then bound what may be lost.")
    )
    population: float | None = field(
        default=None,
        metadata=_told(
            "What design weights should sum to, if they were rescaled: the size of the population.",
            least=1,
            settled=True,
        ),
    )
    candidates: Iterable[str | Path] = field(
        default=(),
        metadata=_told(
            "A file protected elsewhere, compared with the others; may be said several times.",
            word="--candidate",
            settled=True,
        ),
    )
    replicates: int = field(
        default=3, metadata=_told("Draws of each random method: they give standard errors.", least=1, settled=True)
    )
    bootstrap: bool = field(
        default=True,
        metadata=_told("Resample the records of the chosen table, for at most 10 seconds: intervals over records."),
    )
    keep_order: bool = field(
        default=False,
        metadata=_told(
            "Leave the records in their order, which tells who lives or was asked together; random by default.",
            release=True,
            repair=True,
        ),
    )
    keep_weights: bool = field(
        default=False,
        metadata=_told(
            "Leave the survey weights as they are, even if they give values back.", release=True, repair=True
        ),
    )
    keep_households: bool = field(
        default=False,
        metadata=_told(
            "Leave the numbers of the households, even if a protected size can be counted from them.",
            release=True,
            repair=True,
        ),
    )
    despite_audit: bool = field(
        default=False, metadata=_told("Release a table although the rest of it gives values back.", release=True)
    )
    on_undeclared: OnUndeclared = field(
        default="refuse",
        metadata=_told(
            "What to do with variables of which nobody has said the role: publish nothing (refuse), "
            "publish the file without them (leave-out), or publish them as they are (accept).",
            release=True,
        ),
    )
    choose: str | None = field(
        default=None,
        metadata=_told(
            "Release this candidate, by its label or short name, instead of the best; it has to keep the bounds."
        ),
    )
    seed: int | None = field(
        default=None,
        metadata=_told(
            "Fixes every random draw. Without it one is drawn and noted. Keep it secret: whoever knows it"
            " can undo random methods.",
            least=0,
            settled=True,
        ),
    )
    workers: int | None = field(
        default=None, metadata=_told("Processes to use; all cores but one if not said.", least=1, settled=True)
    )
    out: str | Path = field(
        default=Path("sfumato-sweep"),
        metadata=_told("The folder for the internal report and, in OUT/release, what may be published.", settled=True),
    )
    encoding: str | None = field(
        default=None, metadata=_told("The encoding of text files that are not UTF-8, such as cp1252.")
    )
    delimiter: str | None = field(default=None, metadata=_told("The delimiter of text files, where it cannot be told."))
    decimal: str | None = field(
        default=None, metadata=_told("The decimal sign of text files, where it cannot be told.")
    )
    sample: int = field(
        default=SAMPLED,
        metadata=_told("Of tables in parts: records that are looked at one by one.", least=FEWEST, settled=True),
    )

    def __post_init__(self) -> None:
        from sfumato.arguments import entries, require_bounds  # they load numpy, which the help does without
        from sfumato.table.formats import a_path

        for name, (kind, words) in SEQUENCES.items():
            object.__setattr__(self, name, entries("sweep", kind, words, **{name: getattr(self, name)}))
        for name in ("at_most", "at_least"):
            require_bounds("sweep", **{name: getattr(self, name)})
            object.__setattr__(self, name, getattr(self, name) or {})
        for declared in fields(SweepOptions):
            self._check(declared.name, declared.default, declared.metadata.get("least"))
        object.__setattr__(self, "out", a_path(self.out))

    def _check(self, name: str, default: Any, least: int | None) -> None:
        from sfumato.arguments import LARGEST, TEXT, YES_OR_NO, require, require_number, require_whole

        given = {name: getattr(self, name)}
        if isinstance(default, bool):
            require("sweep", bool, YES_OR_NO, **given)
        elif name in TEXTS:
            require("sweep", str | None if default is None else str, TEXT, **given)
        elif name == "population":
            require_number("sweep", least=0, **given)
        elif least is not None and (given[name] is not None or default is not None):
            least = 0 if name == "workers" else 1 if name == "sample" else least
            require_whole("sweep", least=least, most=None if name == "seed" else LARGEST, **given)
            object.__setattr__(self, name, int(given[name]))

    def given(self) -> dict[str, Any]:
        """Return what is not as it is by default, by name."""
        return {name: value for name, value in self.settings().items() if value != DEFAULTS[name]}

    def settings(self) -> dict[str, Any]:
        """Return every option by its name."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def kept(self) -> dict[str, Any]:
        """Return what the repairs before a release are told to leave as it is."""
        return {name: getattr(self, name) for name in named("repair")}

    def dialect(self) -> dict[str, Any]:
        """Return how text files are written, where it cannot be told."""
        return {name: getattr(self, name) for name in DIALECT}


SEQUENCES: dict[str, tuple[Any, str]] = {  # read more than once
    "methods": (object, "methods"),
    "measures": (object, "measures"),
    "candidates": (str | os.PathLike, "files"),
}
DIALECT = ("encoding", "delimiter", "decimal")
TEXTS = ("utility", "risk", "choose", "on_undeclared", *DIALECT)
DEFAULTS: dict[str, Any] = {one.name: {} if one.default is MISSING else one.default for one in fields(SweepOptions)}
HELP: dict[str, str] = {one.name: one.metadata["help"] for one in fields(SweepOptions)}


def named(mark: str) -> tuple[str, ...]:
    """Return the names of the options that are marked, such as those of the "release".

    >>> named("repair")
    ('keep_order', 'keep_weights', 'keep_households')
    """
    return tuple(one.name for one in fields(SweepOptions) if one.metadata.get(mark))


def options_of(who: str, given: Mapping[str, Any]) -> SweepOptions:
    """Return the options that a call names; a name that is none is answered with the nearest."""
    for name in given:
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{who}() got an unexpected keyword argument {name!r}{hint}")
    return SweepOptions(**given)


def called_by(name: str, *files: Path, **told: Any) -> str:
    """Write a call of a function of Sfumato, without what was left as it is by default.

    >>> called_by("sweep", Path("a.csv"), schema=None, at_most={"Reidentification": 0.05}, measures=("IL1s",))
    "sfumato.sweep('a.csv', at_most={'Reidentification': 0.05}, measures=['IL1s'])"
    """
    given = (f"{option}={_written(value)}" for option, value in told.items() if value is not None)
    return f"sfumato.{name}({', '.join((*map(_written, files), *given))})"


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_written(key)}: {bound!r}' for key, bound in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return repr(str(value)) if isinstance(value, Path) or hasattr(value, "about") else repr(value)


def unheard(message: str) -> None:
    """Leave a message unsaid."""


def settled_seed(seed: int | None, tell: Tell) -> int:
    """Return the seed that was said, with a warning if it can be guessed, or one that is drawn."""
    from sfumato.compare.seeds import drawn_seed

    if seed is not None and seed < GUESSABLE:
        tell("a seed this small can be guessed, and then random methods undone; leave --seed out for a release")
    return drawn_seed() if seed is None else seed


def workers_or_default(workers: int | None) -> int:
    """Return how many processes to use: all cores but one, so that the machine stays usable, if memory has room."""
    from sfumato.table import capacity

    return workers or max(min((os.cpu_count() or 2) - 1, capacity.free() // (2 * capacity.PROCESS)), 1)
