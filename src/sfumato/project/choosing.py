"""Which candidate is released: the best within the bounds, also as it goes out, that gives nothing back."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import OF_THE_RUN, ParameterError, unexpected
from sfumato.project.options import Tell
from sfumato.project.release import checked_release

MAX_RECORDS_ASKED = 20_000  # records of a table up to which it is asked which key stands in the way

if TYPE_CHECKING:
    from sfumato.auditing.findings import Checked
    from sfumato.compare.examine import ProtectedTable
    from sfumato.compare.progress import Steps
    from sfumato.compare.results import Results
    from sfumato.core import Measure
    from sfumato.project.plan import Plan
    from sfumato.table.microdata import Microdata
    from sfumato.table.parts import TableInParts
    from sfumato.table.schema import Scenario


def chosen_table(
    results: "Results", plan: "Plan", tell: Tell, steps: "Steps"
) -> "tuple[ProtectedTable | None, Checked | None, tuple[str, ...]]":
    """Return the best candidate within the bounds as it goes out, its check, and those that it comes after.

    Candidates are audited from the best on. Repairs only take away, so that one whose figure before repairs is no
    better than the figure of the best so far after repairs need not be tried. If all give values back, the best of
    them is told of, and not written. Where the least risk is wanted, the first that loses no variable is taken.
    """
    from sfumato.compare.examine import ProtectedTable

    if not plan.at_most and not plan.at_least:
        return None, None, ()
    wish = {"risk": plan.risk} if plan.least_risk else {"utility": plan.utility}
    choice = results.choose(**wish, at_most=plan.at_most, at_least=plan.at_least, by_hand=plan.choose)
    if plan.choose is not None:
        steps.phase("audit", total=1, candidate=plan.choose)
        return *_by_hand(results, ProtectedTable(results, plan.choose), plan, tell), ()
    judged = choice.feasible[:1] if plan.despite_audit else choice.feasible
    about = results.figures[choice.objective]
    sign = -about.sign
    tried: list[tuple[ProtectedTable, Checked]] = []
    best: tuple[float, ProtectedTable, Checked] | None = None
    steps.phase("audit", total=len(judged))
    for done, candidate in enumerate(judged):
        before = sign * results.row(candidate).means[choice.objective]
        if best is not None and before <= best[0]:
            break
        steps.step(candidate=candidate, done=done)
        table = ProtectedTable(results, candidate)
        checked = checked_release(results, table, plan)
        tried.append((table, checked))
        name = choice.names.get(candidate, candidate)
        broken = _broken(results, table, checked, plan) if checked.altered else ""
        if broken or not checked.passed:
            unaudited = f"was not audited: {checked.unaudited}" if checked.audit is None else "would give values back"
            tell(f"{name} {broken or unaudited}")
            continue
        if plan.least_risk:
            value = -math.inf if checked.lost else before
        else:
            checked = _with_utility_after(results, table, checked, plan)
            value = sign * checked.after.get(choice.objective, sign * before)
        if checked.lost:
            tell(f"{name} would lose {', '.join(checked.lost)}")
        if best is None or value > best[0]:
            best = value, table, checked
    if best is None:
        return (*tried[0], ()) if tried else (None, None, ())
    _, table, checked = best
    if plan.least_risk:
        checked = _with_utility_after(results, table, checked, plan)
    for said in checked.done[-1:] if checked.after else ():
        tell(f"release: {said}")
    place = choice.feasible.index(table.candidate)
    return table, checked, tuple(choice.feasible[:place])


def _by_hand(results: "Results", table: "ProtectedTable", plan: "Plan", tell: Tell) -> "tuple[ProtectedTable, Checked]":
    """Check the candidate that the steward chose; one that breaks a bound as it goes out is refused."""
    checked = checked_release(results, table, plan)
    broken = _broken(results, table, checked, plan) if checked.altered else ""
    if broken:
        raise ParameterError(f"{table.candidate} cannot be chosen: it {broken}")
    if checked.passed and checked.lost:
        tell(f"{table.candidate} loses {', '.join(checked.lost)}")
    checked = _with_utility_after(results, table, checked, plan)
    for said in checked.done[-1:] if checked.after else ():
        tell(f"release: {said}")
    return table, checked


def _with_utility_after(results: "Results", table: "ProtectedTable", checked: "Checked", plan: "Plan") -> "Checked":
    """Say what is left of utility once the repairs have blanked or left out more than was measured."""
    from sfumato.compare.figures import written
    from sfumato.project.release import repairs_asked

    key = results.key(plan.utility)
    measure = _measure(results, key)
    if not checked.altered or measure is None:
        return checked
    value = results.examined(
        table.candidate,
        f"value of {key} after repairs, {repairs_asked(plan)}",
        lambda: _utility_after(results, table, measure, plan),
        encode=lambda found: repr(found).encode(),
        decode=lambda kept: float(kept.decode()),
    )
    if math.isnan(value):
        return checked
    before, unit = results.row(table.candidate).means[key], measure.about.unit
    said = (
        f"{measure.about.title} of the file that goes out is {written(value, unit)}, before these repairs "
        f"{written(before, unit)}"
    )
    return replace(checked, done=(*checked.done, said), after={key: value})


def _utility_after(results: "Results", table: "ProtectedTable", measure: "Measure", plan: "Plan") -> float:
    """Return the figure of the repaired table; NaN where it has none any more."""
    try:
        return float(measure.evaluate(results.table, _repaired(results, table, plan), rng=plan.seed).value)
    except OF_THE_RUN:
        raise
    except Exception:
        return math.nan


def _measure(results: "Results", key: str) -> "Measure | None":
    from sfumato.core import Measure

    return next((m for m in results.measures if isinstance(m, Measure) and repr(m) == key), None)


def _repaired(results: "Results", table: "ProtectedTable", plan: "Plan") -> "Microdata | TableInParts":
    """Return the table as it goes out, its records as in the original."""
    import numpy as np

    if results.whole is not None:
        return table.whole.only(checked_release(results, table, plan).missing)

    from sfumato.project.release import prepared_release

    ready = prepared_release(results, table, plan)
    return ready.table if ready.order is None else ready.table.take(np.argsort(ready.order))


def _broken(results: "Results", table: "ProtectedTable", checked: "Checked", plan: "Plan") -> str:
    """Say which bound the repaired table breaks, or return what an earlier run found."""
    from sfumato.project.release import repairs_asked

    bounds = sorted({**plan.at_most, **plan.at_least}.items())
    return results.examined(
        table.candidate,
        f"bounds {bounds} after repairs, {repairs_asked(plan)}",
        lambda: _broken_by_repairs(results, table, checked, plan),
        encode=str.encode,
        decode=bytes.decode,
    )


def _broken_by_repairs(results: "Results", table: "ProtectedTable", checked: "Checked", plan: "Plan") -> str:
    """Say which bound the table breaks once the repairs have blanked or left out more than was measured."""
    after = _repaired(results, table, plan)
    for which, limit in {**plan.at_most, **plan.at_least}.items():
        key = results.key(which)
        measure = _measure(results, key)
        if measure is None:
            continue
        try:
            value = measure.evaluate(results.table, after, rng=plan.seed).value
        except OF_THE_RUN:
            raise
        except Exception as error:
            return f"has no {key} once {', '.join(checked.altered)} was repaired ({unexpected(error)})"
        if math.isnan(value):
            return f"has no {key} once {', '.join(checked.altered)} was repaired (it is undefined there)"
        if not measure.about.keeps(value, limit):
            return f"breaks the bound on {key} once {', '.join(checked.altered)} was repaired"
    return ""


def in_the_way(results: "Results", plan: "Plan") -> tuple[str, ...]:
    """Say which key keeps a bound on who is found from being reached, of the candidate that comes nearest to it.

    It is the key without which fewest would be found. Tables that are too large to ask for each key are left out.
    """
    from sfumato.compare.figures import written
    from sfumato.risk import Reidentification

    if results.whole is not None or len(results.original) > MAX_RECORDS_ASKED or not (plan.at_most or plan.at_least):
        return ()
    wish = {"risk": plan.risk} if plan.least_risk else {"utility": plan.utility}
    choice = results.choose(**wish, at_most=plan.at_most, at_least=plan.at_least)
    said = []
    for short in choice.shortfalls:
        measure = _measure(results, short.key)
        if short.reached or not isinstance(measure, Reidentification) or measure != Reidentification():
            continue
        worst = _worst_scenario(results, short.candidate, measure)
        if worst is None or len(worst.keys) < 2:
            continue
        table = results.protect(short.candidate)
        without = {
            key: Reidentification(variables=tuple(name for name in worst.keys if name != key))
            .evaluate(results.original, table, rng=plan.seed)
            .value
            for key in worst.keys
            if key in table.schema
        }
        if not without:
            continue
        key = min(without, key=lambda name: without[name])
        name = choice.names.get(short.candidate, short.candidate)
        said.append(
            f"Of what {worst.name!r} knows, {key} stands in the way most: without it {written(without[key], 'share')} "
            f"would be found in {name}, not {written(short.nearest, 'share')}. Coarsen it, leave it out, or ask "
            "whether anybody knows it."
        )
    return tuple(said)


def _worst_scenario(results: "Results", candidate: str, measure: "Measure") -> "Scenario | None":
    """Return the intruder who finds most, if he knows who took part: only the others in the file hide a person."""
    rows = results.measurement(candidate, measure).tables["scenarios"]
    worst = max(rows, key=lambda row: row["share"])["scenario"]
    known = (one for one in results.original.schema.intruders() if one.name == worst and one.knows_membership)
    return next(known, None)
