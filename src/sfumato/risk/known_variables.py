"""What an intruder is assumed to know: nested sets of variables, one more with every step."""

from collections.abc import Sequence
from numbers import Integral

from sfumato import parameters
from sfumato.core import Measure
from sfumato.data.schema import Schema
from sfumato.errors import NotApplicable

Known = int | tuple[str, ...] | tuple[tuple[str, ...], ...]


def check_known(owner: Measure, known: object) -> Known:
    """Require a number of variables, a list of names (known one after the other), or a list of such lists."""
    if isinstance(known, Integral) and not isinstance(known, bool) and int(known) >= 1:
        return int(known)
    if isinstance(known, Sequence) and not isinstance(known, str) and known:
        if all(isinstance(name, str) for name in known) and len(set(known)) == len(known):
            return tuple(known)
        if all(
            isinstance(names, Sequence) and not isinstance(names, str) and names and len(set(names)) == len(names)
            for names in known
        ):
            return tuple(tuple(names) for names in known)
    raise parameters.refuse(
        owner,
        f"known must be a number of variables, a list of names or a list of lists of names; got {known!r}"
        + (f" (as text on the command line a list is written ({known!r},))" if isinstance(known, str) else ""),
    )


def known_sets(measure: Measure, known: Known, schema: Schema, shared: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Spell out the sets of variables an intruder knows.

    A number stands for the first 1, 2, ... of the variables chosen: those the measure was told, else the keys of the
    schema among those it can compare, else all of these, in the order of the table.
    """
    if isinstance(known, int):
        keys = [name for name in shared if schema[name].role == "key"]
        gone = [name for name in schema.analysed(*measure.about.kinds, role="key") if name not in keys]
        if measure.variables is None and gone and not keys:
            raise NotApplicable(
                f"no key is left that it can compare, for {', '.join(gone)} {_was(gone)} recoded or removed; name "
                "others in known, or count all kinds with DistanceLinkage(distance='gower')"
            )
        listed = shared if measure.variables is not None or not keys else tuple(keys)
        return [listed[:size] for size in range(1, min(known, len(listed)) + 1)]
    names = {name for entry in known for name in ((entry,) if isinstance(entry, str) else entry)}
    absent = sorted(names - set(shared))
    if absent:
        raise NotApplicable(
            f"known names {', '.join(absent)}, not among the variables that both tables have ({', '.join(shared)})"
        )
    if isinstance(known[0], str):
        listed = tuple(str(name) for name in known)
        return [listed[:size] for size in range(1, len(listed) + 1)]
    return [tuple(entry) for entry in known]


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"
