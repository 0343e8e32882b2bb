"""What a reader must know before she relies on a figure: what is not masked, not counted, or beyond the bound."""

import math
from collections.abc import Mapping

from sfumato.auditing.findings import Checked
from sfumato.compare.examine.findings import CautionFacts, SpecialColumn
from sfumato.compare.figures import listed, written
from sfumato.compare.results import Results
from sfumato.compare.rows import Row
from sfumato.core import Measure
from sfumato.report.wording import count, percentage


def cautions(
    results: Results,
    row: Row,
    facts: CautionFacts | None,
    bounds: Mapping[str, float],
    *,
    released: Checked | None = None,
) -> tuple[str, ...]:
    """Say what the figures of one candidate do not say; of a table to be ``released``, which leaves out the ids."""
    said = [] if facts is None else _of_tables(results, facts, released=released)
    said += _of_worst_cases(results, row, bounds)
    steps = row.method.steps if row.method is not None else ()
    said += [f"{step.family}: {step.about.caveat}." for step in steps if step.about.caveat]
    return tuple(dict.fromkeys(said))


def by_position(results: Results, row: Row) -> tuple[str, ...]:
    """Say that records of a table made elsewhere are matched as they stand, if nothing else could match them."""
    paired = any(about.paired for about in results.figures.values())
    table = results.tables.get(row.candidate)
    placed = table is not None and table.placed
    if not paired or placed or row.method is not None or results.original.schema.id is not None:
        return ()
    return (
        "Records are compared row by row, for the schema names no id: a file in another order looks ruined and safe.",
    )


def _of_worst_cases(results: Results, row: Row, bounds: Mapping[str, float]) -> list[str]:
    said = []
    for key, limit in bounds.items():
        about, mean = results.figures[key], row.means.get(key, math.inf)
        cases = {name: value for name, value in row.parts.get(key, {}).items() if about.is_case(name)}
        worst = max(cases, key=cases.__getitem__, default=None) if about.lower_is_better else None
        if worst is not None and cases[worst] > limit >= mean:
            said.append(
                f"The bound is on the mean over what an intruder may know. One who {worst} links "
                f"{written(cases[worst], about.unit)} of the records, beyond {written(limit, about.unit)}."
            )
    return said


def _of_tables(results: Results, facts: CautionFacts, *, released: Checked | None) -> list[str]:
    said = [*_of_gaps(facts), *_of_unseen(results, facts), *_of_keys(results, facts)]
    out = [name for name, _ in facts.known_too] if released is None else released.missing
    said += _of_known_too(tuple((name, source) for name, source in facts.known_too if name in out))
    kept = tuple(f"{c.name} ({c.role})" for c in facts.special if not _gone(c, released))
    if kept:
        said.append(f"Look before you publish: the table still holds, as it was, {listed(kept, 8)}.")
    return said


def _gone(column: SpecialColumn, released: Checked | None) -> bool:
    """Tell whether a release does not hold the original's values of a column."""
    if released is None:
        return False
    left_out = bool(released.missing) and column.name not in released.missing
    return column.names_units or left_out or column.name in released.renewed


def _of_known_too(known: tuple[tuple[str, str], ...]) -> list[str]:
    if not known:
        return []
    told = listed(tuple(f"{name} (from {source})" for name, source in known), 8)
    return [
        f"Whoever knows the keys knows as well, and no figure here counts it: {told}. Link it to its source, make it a "
        "key, or leave it out."
    ]


def _of_gaps(facts: CautionFacts) -> list[str]:
    told = tuple(
        f"{gap.name} ({percentage(gap.after)} of the values"
        f"{f', before {percentage(gap.before)}' if gap.before else ''})"
        for gap in facts.gaps
    )
    if not told:
        return []
    return [f"Much is missing in the protected table: {listed(told, 8)}. What is left may tell little."]


def _of_unseen(results: Results, facts: CautionFacts) -> list[str]:
    """Tell of variables that were changed and that a measure of utility for numbers does not look at."""
    blind = tuple(
        dict.fromkeys(
            type(m).__name__
            for m in results.measures
            if isinstance(m, Measure) and m.about.purpose == "utility" and m.about.kinds == ("numeric",)
        )
    )
    if not facts.recoded or not blind:
        return []
    return [
        f"{listed(blind, 6)} look{'s' if len(blind) == 1 else ''} at numbers only: what was done to "
        f"{listed(facts.recoded, 8)} does not show there."
    ]


def _of_keys(results: Results, facts: CautionFacts) -> list[str]:
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
    bare = facts.untouched_keys
    if facts.unique is not None:
        where = "records of the sample are unique, fewer of all" if results.sampled else "records are unique"
        said.append(
            f"{len(bare)} of {count(len(keys), 'key')} are released as they are, and the linkage figures here do not "
            f"count them: {listed(bare, 8)}. In them alone {percentage(facts.unique)} of the {where}."
        )
    return said
