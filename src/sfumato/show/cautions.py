"""What a reader must know before she relies on a figure: what is not masked, not counted, or beyond the bound."""

from collections.abc import Mapping

import numpy as np

from sfumato.compare.figures import listed, written
from sfumato.compare.results import Results
from sfumato.compare.rows import Row
from sfumato.core import Chain, Measure
from sfumato.data.microdata import Microdata
from sfumato.show.wording import count, percentage

GAP = 0.1  # share of values gone before it is worth a warning


def cautions(results: Results, row: Row, protected: Microdata, bounds: Mapping[str, float]) -> tuple[str, ...]:
    """Say what the figures of one candidate do not say."""
    original = results.original
    said = [*_of_gaps(original, protected), *_of_unseen(results, protected)]
    said += [*_of_keys(results, protected), *_of_special_columns(original, protected)]
    for key, limit in bounds.items():
        about = results.figures[key]
        if about.better == "higher" or key not in row.values:
            continue
        sets = {name: value for name, value in row.parts.get(key, {}).items() if name.startswith("knows ")}
        worst = max(sets, key=lambda name: sets[name], default=None)
        if worst is not None and sets[worst] > limit >= row.means[key]:
            said.append(
                f"The bound is on the mean over what an intruder may know. One who {worst} links "
                f"{written(sets[worst], about.unit)} of the records, beyond {written(limit, about.unit)}."
            )
        if row.values[key][0] > limit >= row.means[key]:
            said.append(
                f"{about.title} is bounded by its mean over the draws; that of the table written, the first draw, is "
                f"{written(row.values[key][0], about.unit)}, beyond {written(limit, about.unit)}."
            )
    steps = row.method.steps if isinstance(row.method, Chain) else (row.method,) if row.method is not None else ()
    said += [f"{step.family}: {step.about.caveat}." for step in steps if step.about.caveat]
    return tuple(dict.fromkeys(said))


def _of_gaps(original: Microdata, protected: Microdata) -> list[str]:
    """Tell of variables that lost many of their values."""
    told = []
    for name in original.schema.analysed():
        if name in protected.schema:
            before, after = (float(table.missing(name).mean()) for table in (original, protected))
            if after - before > GAP:
                told.append(
                    f"{name} ({percentage(after)} of the values{f', before {percentage(before)}' if before else ''})"
                )
    if not told:
        return []
    return [f"Much is missing in the protected table: {listed(tuple(told), 8)}. What is left may tell little."]


def _of_unseen(results: Results, protected: Microdata) -> list[str]:
    """Tell of variables that were changed and that a measure of utility for numbers does not look at."""
    schema = results.original.schema
    changed = tuple(
        name
        for name in schema.analysed()
        if name not in protected.schema
        or protected.schema[name].kind != schema[name].kind
        or (schema[name].kind != "numeric" and protected.schema[name].treatment)
    )
    blind = tuple(
        dict.fromkeys(
            type(m).__name__
            for m in results.measures
            if isinstance(m, Measure) and m.about.purpose == "utility" and m.about.kinds == ("numeric",)
        )
    )
    if not changed or not blind:
        return []
    return [
        f"{listed(blind, 6)} look{'s' if len(blind) == 1 else ''} at numbers only: what was done to "
        f"{listed(changed, 8)} does not show there."
    ]


def _of_keys(results: Results, protected: Microdata) -> list[str]:
    """Tell of keys that are released as they are and that no linkage measure counts."""
    schema = results.original.schema
    keys = schema.analysed(role="key")
    linking = [m for m in results.measures if isinstance(getattr(m, "known", None), int)]
    said = []
    if linking and not schema.analysed("numeric", role="key"):
        why = "none of its keys is numeric" if keys else "it names no key"
        said.append(
            f"The schema does not say what an intruder may know ({why}), so linkage starts from the first numeric "
            "variables of the file, in their order."
        )
    if any(m.about.keys or getattr(m, "distance", "") == "gower" for m in results.measures if isinstance(m, Measure)):
        return said  # some measure here counts every key
    bare = tuple(name for name in keys if schema[name].kind != "numeric" and _same(results.original, protected, name))
    if bare:
        table = np.column_stack([protected.columns[name].astype(np.float64) for name in bare])
        _, copies = np.unique(table, axis=0, return_counts=True)
        unique = percentage(float((copies == 1).sum() / len(table)))
        said.append(
            f"{len(bare)} of {count(len(keys), 'key')} are released as they are, and the linkage figures here do not "
            f"count them: {listed(bare, 8)}. In them alone {unique} of the records are unique."
        )
    return said


def _of_special_columns(original: Microdata, protected: Microdata) -> list[str]:
    special: dict[str, str] = {name: role for role, name in original.schema.special().items()}
    special |= {v.name: "identifier" for v in original.schema if v.role == "identifier" and v.name not in special}
    kept = tuple(f"{name} ({role})" for name, role in special.items() if _same(original, protected, name))
    return [f"Look before you publish: the table still holds, unmasked, {listed(kept, 8)}."] if kept else []


def _same(original: Microdata, protected: Microdata, name: str) -> bool:
    if name not in protected.schema or len(original) != len(protected):
        return False
    before, after = original.schema[name], protected.schema[name]
    if before.kind != after.kind or before.categories != after.categories:
        return False
    return bool(np.array_equal(original.columns[name], protected.columns[name], equal_nan=before.kind == "numeric"))
