"""The commands and the code that say what the pages say: the file, how it is read, and the whole sweep."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sfumato.project.options import DIALECT
from sfumato.workbench.desk import SCHEMA, Desk, stamp
from sfumato.workbench.draft import Draft

if TYPE_CHECKING:
    from sfumato.compare.defaults import Chosen
    from sfumato.compare.recodings import Recodings
    from sfumato.core import Measure, Method

BOUNDS = ("at_most", "at_least")


def reading(draft: Draft) -> list[str]:
    """Return the words of a command that say which file is read, and how."""
    return [_file(draft), *_dialect(draft)]


def _file(draft: Draft) -> str:
    """Return the file as a word that is never taken for an option."""
    return f"./{draft.source}" if draft.source.startswith("-") else draft.source


def _dialect(draft: Draft) -> list[str]:
    words = []
    for option in DIALECT:
        said = getattr(draft, option)
        words += [f"--{option}", said] if said else []
    return words


def of_table(desk: Desk, draft: Draft) -> str:
    """Name all that the table depends on, for what is kept of it."""
    return f"{desk.source(draft)} {stamp(desk.source(draft))} {_dialect(draft)} {draft.schema}"


def read_call(draft: Draft, schema: str | None = SCHEMA) -> str:
    """Return the call that reads the file in Python."""
    said = [repr(draft.source), *([repr(schema)] if schema else [])]
    said += [f"{o}={getattr(draft, o)!r}" for o in DIALECT if getattr(draft, o)]
    return f"sfumato.read({', '.join(said)})"


def recodings_of(draft: Draft) -> "Recodings":
    """Return what is said to become of the variables."""
    from sfumato.compare.recodings import Recodings

    return Recodings.of(json.loads(draft.recodings)) if draft.recodings else Recodings()


def recoded_first(draft: Draft) -> "Method | None":
    """Return what every candidate begins with as one method: variables left out, then recodings; None for nothing."""
    from sfumato.methods import VariableRemoval

    recodings = recodings_of(draft)
    for name in draft.removed:
        recodings = recodings.without(name)
    recoded = recodings.method()
    if not draft.removed:
        return recoded
    removal = VariableRemoval(variables=draft.removed)
    return removal if recoded is None else removal + recoded


def judging(desk: Desk, draft: Draft) -> "list[Measure]":
    """Return the measures that a sweep of the draft computes: those that fit the table, of its uses and its bounds."""
    from sfumato.project.reading import chosen_measures, of_population

    usual = [repr(one.measure) for one in usual_measures(desk, draft)]
    return of_population(chosen_measures([*usual, *draft.uses], [*draft.at_most, *draft.at_least]), draft.population)


def usual_measures(desk: Desk, draft: Draft) -> "tuple[Chosen, ...]":
    """Return the measures that follow from the table and its schema."""
    from sfumato.compare.defaults import default_measures

    return desk.kept(
        "usual measures",
        f"{of_table(desk, draft)} {draft.population}",
        lambda: default_measures(desk.table(draft), population=draft.population),
    )


def sweep_asked(desk: Desk, draft: Draft) -> dict[str, Any]:
    """Return what ``sfumato.sweep`` is asked for, by parameter, without what it does anyway; the folder is ``.``."""
    asked: dict[str, Any] = {"schema": SCHEMA} if draft.schema else {}
    first = recoded_first(draft)
    methods = list(draft.own)
    if first is not None and not methods and not draft.proposed:
        methods, first = [repr(first)], None  # the recodings are the one candidate
    if first is not None:
        asked["first"] = repr(first)
    if methods:
        asked["methods"] = methods
    if methods and draft.proposed:
        asked["also_composed"] = True
    if draft.breadth != 1 and (draft.proposed or not methods):
        asked["breadth"] = draft.breadth
    if draft.uses:
        usual = [repr(one.measure) for one in usual_measures(desk, draft)]
        asked["measures"] = list(dict.fromkeys([*usual, *draft.uses]))
    for side in BOUNDS:
        if getattr(draft, side):
            asked[side] = {_briefly(name, desk, draft): bound for name, bound in getattr(draft, side).items()}
    if draft.population is not None:
        asked["population"] = draft.population
    if draft.elsewhere:
        asked["candidates"] = list(draft.elsewhere)
    rest = {name: value for name, value in draft.given().items() if name not in (*asked, "breadth", *BOUNDS)}
    dialect = {name: rest.pop(name) for name in DIALECT if name in rest}
    return asked | rest | {"out": "."} | dialect


def _briefly(name: str, desk: Desk, draft: Draft) -> str:
    """Return a measure's name as one writes it: without empty brackets, if no other of its class is computed.

    The class alone names persons, not their households.
    """
    alike = [measure for measure in judging(desk, draft) if type(measure).__name__ == name.removesuffix("()")]
    alike = [measure for measure in alike if getattr(measure, "unit", "record") != "household"]
    return name.removesuffix("()") if len(alike) == 1 else name


SAID_SEVERAL_TIMES = {"methods": "--method", "measures": "--measure", "candidates": "--candidate"}


def sweep_words(desk: Desk, draft: Draft) -> list[str]:
    """Return the command of the draft's sweep: the words after ``sfumato``, run in the project's folder."""
    words = ["sweep", _file(draft)]
    for name, value in sweep_asked(desk, draft).items():
        option = SAID_SEVERAL_TIMES.get(name, f"--{name.replace('_', '-')}")
        if isinstance(value, bool):
            words.append(option if value else option.replace("--", "--no-", 1))
        elif isinstance(value, Mapping):
            words += [word for measure, bound in value.items() for word in (option, _bounded(measure, bound))]
        else:
            said = value if isinstance(value, list) else [value]
            words += [word for one in said for word in (option, _number(one) if isinstance(one, float) else str(one))]
    return words


def sweep_call(desk: Desk, draft: Draft) -> str:
    """Return the call of ``sfumato.sweep`` that does the same, a line for each parameter."""
    said = [repr(draft.source)]
    for name, value in sweep_asked(desk, draft).items():
        if isinstance(value, list) and len(value) > 1:
            inside = "".join(f"        {one!r},\n" for one in value)
            said.append(f"{name}=[\n{inside}    ]")
        else:
            said.append(f"{name}={value!r}")
    lines = "".join(f"    {one},\n" for one in said)
    return f"sfumato.sweep(\n{lines})"


def _bounded(measure: str, bound: float) -> str:
    """Write a bound as it is read: a share in percent, if nothing is lost by it.

    >>> _bounded("Reidentification", 0.05), _bounded("InformationLoss", 20.0), _bounded("KAnonymity", 1 / 3)
    ('Reidentification=5%', 'InformationLoss=20', 'KAnonymity=0.3333333333333333')
    """
    from sfumato.project.reading import read_measures, share_in

    percent, share = f"{100 * bound:.12g}", read_measures([measure])[0].about.unit == "share"
    said = f"{percent}%" if share and bound and share_in(percent) == bound else _number(bound)
    return f"{measure}={said}"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
