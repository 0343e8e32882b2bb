"""Which candidate is released: the best within the bounds, also as it goes out, that gives nothing back."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.errors import OF_THE_RUN, ParameterError, unexpected
from sfumato.project.release import checked_release
from sfumato.project.tell import Tell

if TYPE_CHECKING:
    from sfumato.compare.examine import ProtectedTable
    from sfumato.compare.results import Results
    from sfumato.core import Measure
    from sfumato.data.microdata import Microdata
    from sfumato.data.parts import TableInParts
    from sfumato.project.plan import Plan
    from sfumato.project.progress import Recorder
    from sfumato.restoration.findings import Checked

MOST_AUDITED = 6  # candidates, from the best on, until one gives nothing back


def chosen_table(
    results: "Results", plan: "Plan", tell: Tell, recorder: "Recorder"
) -> "tuple[ProtectedTable | None, Checked | None, tuple[str, ...]]":
    """Return the best candidate within the bounds that gives nothing back, its check, and those that it comes after.

    One that loses a variable to the repairs comes after those that lose none, for no figure has counted that loss. If
    the first few all give values back, the best of them is told of, and not written.
    """
    from sfumato.compare.examine import ProtectedTable

    if not plan.at_most and not plan.at_least:
        return None, None, ()
    wish = {"risk": plan.risk} if plan.least_risk else {"utility": plan.utility}
    choice = results.choose(**wish, at_most=plan.at_most, at_least=plan.at_least, by_hand=plan.choose)
    if plan.choose is not None:
        recorder.phase("audit", total=1, candidate=plan.choose)
        return *_by_hand(results, ProtectedTable(results, plan.choose), plan, tell), ()
    tried: list[tuple[ProtectedTable, Checked]] = []
    at_a_loss: tuple[ProtectedTable, Checked, tuple[str, ...]] | None = None
    judged = choice.feasible[: 1 if plan.despite_audit else MOST_AUDITED]
    recorder.phase("audit", total=len(judged))
    for done, candidate in enumerate(judged):
        recorder.step(candidate=candidate, done=done)
        table = ProtectedTable(results, candidate)
        checked = checked_release(results, table, plan)
        broken = _broken(results, table, checked, plan) if checked.altered else ""
        if checked.passed and not broken:
            found = table, checked, tuple(earlier.candidate for earlier, _ in tried)
            if not checked.lost:
                break
            at_a_loss = at_a_loss or found
        lost = f"would lose {', '.join(checked.lost)}" if checked.passed else "would give values back"
        if checked.audit is None and not checked.passed:
            lost = f"was not audited: {checked.unaudited}"
        tell(f"{choice.names.get(candidate, candidate)} {broken or lost}")
        tried.append((table, checked))
    else:
        if at_a_loss is None:
            return (*tried[0], ()) if tried else (None, None, ())
        found = at_a_loss
    table, checked, before = found
    return table, _with_utility_after(results, table, checked, plan, tell), before


def _by_hand(results: "Results", table: "ProtectedTable", plan: "Plan", tell: Tell) -> "tuple[ProtectedTable, Checked]":
    """Check the candidate that the steward chose; one that breaks a bound as it goes out is refused."""
    checked = checked_release(results, table, plan)
    broken = _broken(results, table, checked, plan) if checked.altered else ""
    if broken:
        raise ParameterError(f"{table.candidate} cannot be chosen: it {broken}")
    if checked.passed and checked.lost:
        tell(f"{table.candidate} loses {', '.join(checked.lost)}")
    return table, _with_utility_after(results, table, checked, plan, tell)


def _with_utility_after(
    results: "Results", table: "ProtectedTable", checked: "Checked", plan: "Plan", tell: Tell
) -> "Checked":
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
    tell(f"release: {said}")
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
