"""What may be told of a protected file to everyone: what was done in general, what it is good for, what to avoid."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sfumato.auditing.findings import Checked
from sfumato.compare.examine.findings import BrokenSum, Deed, Examination, PairUtility, ReleasedVariable, ReleaseFacts
from sfumato.compare.figures import listed
from sfumato.core import Method
from sfumato.report.advice import advice_on
from sfumato.report.grades import GradedVariable, changed_pairs, graded, is_untold, pairs_there
from sfumato.report.summary import Avoid, ChangedPair, Grade, Release, ReleaseVariable, Usefulness
from sfumato.report.wording import count, lower_first

NAMED = 8  # variables named in one point of what to avoid
POINTS = 6  # of what to avoid: the list of pairs has the rest
NUMBERED = "numbered anew"
DEEDS: dict[Deed, str] = {
    "grouped": "grouped into broader classes",
    "ends coded": "extreme values are coded as one",
    "rounded": "rounded",
    "suppressed": "some values are left blank",
    "perturbed": "values were changed",
}
COUNTED: dict[Grade, str] = {
    "as before": "can be used as before",
    "coarser": "in classes or without extremes",
    "with care": "with care",
    "not for": "not for everything",
    "not compared": "could not be compared",
}


def release_of(
    method: Method | None,
    facts: ReleaseFacts,
    useful: Usefulness | None,
    checked: Checked | None = None,
    broken: Sequence[BrokenSum] = (),
) -> Release:
    """Describe a protected file without a word on risk, parameters, seeds or single records.

    ``checked`` says what was done to it after the method: columns left out and values blanked count too; ``broken``
    are sums that no longer hold.
    """
    facts = _facts_going_out(facts, checked)
    steps = method.steps if method is not None else ()
    pairs = useful.pairs if useful else ()
    told = graded(facts.variables, {v.name: v for v in useful.variables} if useful else {}, pairs)
    told = tuple(_renewed(one, checked) for one in told)
    there = pairs_there(pairs, facts)
    changed = changed_pairs(there)
    return Release(
        records=facts.whole or facts.records,
        done=tuple(dict.fromkeys(lower_first(step.about.title) for step in steps)),
        variables=tuple(
            ReleaseVariable(
                name=one.variable.name,
                label=one.variable.label,
                kind=one.variable.kind,
                done=_done_anew(one.variable, checked) or deeds_in_words(one.variable) or _undone(one.variable, method),
                missing=one.variable.missing,
                grade=one.grade,
                use=one.use,
            )
            for one in told
        ),
        removed=facts.removed,
        statement=_statement(told, there, changed) if useful else "",
        avoid=_avoid(told),
        changed=changed,
        advice=advice_on(
            facts.variables, steps, weighted=any(v.name == facts.weight for v in facts.variables), weight=facts.weight
        ),
        besides=(*(checked.public if checked is not None else ()), *_no_sums(broken), *_sampled(facts)),
    )


def _no_sums(broken: Sequence[BrokenSum]) -> tuple[str, ...]:
    if not broken:
        return ()
    totals = listed(tuple(one.name for one in broken), NAMED)
    is_ = "is" if len(broken) == 1 else "are"
    return (f"In many records {totals} {is_} no longer the sum of the parts: they were protected apart.",)


def _sampled(facts: ReleaseFacts) -> tuple[str, ...]:
    if facts.whole <= facts.records:
        return ()
    return (
        "What is said of variables here, but for how much is missing, was found in a random sample of "
        f"{facts.records:,} of the records.",
    )


def going_out(found: Examination, checked: Checked | None) -> Examination:
    """Return what was found in a candidate without the variables that repairs left out of it."""
    if checked is None or not checked.gone:
        return found
    gone = set(checked.gone)
    release, detail, useful, warned = found.release, found.detail, found.usefulness, found.cautions
    if release is not None:
        release = _facts_going_out(release, checked)
    if detail is not None:
        detail = replace(detail, variables=tuple(v for v in detail.variables if v.name not in gone))
    if useful is not None:
        useful = replace(
            useful,
            variables=tuple(v for v in useful.variables if v.name not in gone),
            pairs=tuple(pair for pair in useful.pairs if gone.isdisjoint((pair.first, pair.second))),
        )
    if warned is not None:
        warned = replace(
            warned,
            gaps=tuple(gap for gap in warned.gaps if gap.name not in gone),
            recoded=tuple(name for name in warned.recoded if name not in gone),
            broken_sums=tuple(s for s in warned.broken_sums if gone.isdisjoint((s.name, *s.parts))),
        )
    return replace(found, release=release, detail=detail, usefulness=useful, cautions=warned)


def _facts_going_out(facts: ReleaseFacts, checked: Checked | None) -> ReleaseFacts:
    """Return the facts with what repairs left out and blanked."""
    if checked is None or not checked.missing:
        return facts
    there, kept = checked.missing, []
    for variable in facts.variables:
        if variable.name in there:
            # repairs of a table in parts leave columns out and blank nothing, and were tried on a sample
            missing = variable.missing if facts.whole else there[variable.name]
            blanked = missing > variable.missing and "suppressed" not in variable.done
            done = (*variable.done, "suppressed") if blanked else variable.done
            kept.append(replace(variable, missing=missing, done=done))
    gone = tuple(v.name for v in facts.variables if v.name not in there)
    return replace(facts, variables=tuple(kept), removed=tuple(dict.fromkeys((*facts.removed, *gone))))


def _renewed(one: GradedVariable, checked: Checked | None) -> GradedVariable:
    """Return the grade of a variable that repairs computed anew: it is of use for one thing."""
    anew = _done_anew(one.variable, checked)
    if not anew:
        return one
    numbers = "its numbers tell who belongs together and nothing else"
    care = numbers if anew == NUMBERED else "estimates differ from those with the original weights"
    return GradedVariable(one.variable, "with care", cares=(care,))


def _done_anew(variable: ReleasedVariable, checked: Checked | None) -> str:
    """Say that repairs replaced a household's number or a weight; nothing of other variables."""
    if checked is None or variable.name not in checked.renewed:
        return ""
    return NUMBERED if variable.name in checked.renumbered else "computed anew"


def deeds_in_words(variable: ReleasedVariable) -> str:
    """Say what was done to a variable.

    >>> deeds_in_words(ReleasedVariable("age", "", "numeric", ("ends coded", "suppressed"), 0.25))
    'extreme values are coded as one; some values are left blank'
    """
    return "; ".join(DEEDS[deed] for deed in variable.done)


def _undone(variable: ReleasedVariable, method: Method | None) -> str:
    """Say of a variable of which nothing is known to have been done whether that is known of it."""
    return "as collected" if variable.same or method is not None else "not told"


def _statement(told: Sequence[GradedVariable], pairs: Sequence[PairUtility], changed: Sequence[ChangedPair]) -> str:
    """Count what the file is good for."""
    number = Counter(one.grade for one in told)
    counts = [f"{number[grade]} {words}" for grade, words in COUNTED.items() if number[grade]]
    said = f"Of {count(len(told), 'variable')} {'; '.join(counts)}."
    if pairs:
        untold = sum(map(is_untold, pairs))
        kept = len(pairs) - untold - len(changed)
        said += f" {kept:,} of {count(len(pairs), 'pair')} of variables hang together much as they did"
        said += f"; {untold:,} could not be compared." if untold else "."
    return said


def _avoid(told: Sequence[GradedVariable]) -> tuple[Avoid, ...]:
    """List what an analyst should not do, by the variables that suffered themselves: a few points, not every pair."""
    points = []
    if gaps := _names(one for one in told if one.gaps):
        points.append(Avoid(gaps, f"The distribution of {listed(gaps, NAMED)}: more than a fifth was left blank."))
    if apart := _names(one for one in told if one.distribution and not one.gaps):
        points.append(Avoid(apart, f"The distribution of {listed(apart, NAMED)}: it is another one than in the data."))
    if alone := _names(one for one in told if one.alone):
        points.append(Avoid(alone, f"Associations of {listed(alone, NAMED)} with any other variable."))
    single = sorted((one for one in told if one.associations and not one.alone), key=lambda o: -len(o.associations))
    room = POINTS - len(points)
    shown = single if len(single) <= room else single[: room - 1]
    for one in shown:
        name = one.variable.name
        points.append(Avoid((name,), f"Associations of {name} with {listed(one.associations, NAMED)}."))
    if rest := _names(single[len(shown) :]):
        points.append(Avoid(rest, f"Single associations of {listed(rest, NAMED)}, which the list of pairs names."))
    return tuple(points)


def _names(told: Iterable[GradedVariable]) -> tuple[str, ...]:
    return tuple(one.variable.name for one in told)
