"""The verdict: publish or not, what protects the file, who would be found before and after, and what it costs."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.auditing.findings import Checked
from sfumato.compare.choose import Choice, Shortfall, asks_for_all, keeps, left_open
from sfumato.compare.examine.findings import (
    Examination,
    MoreKnown,
    ReleaseFacts,
)
from sfumato.compare.figures import listed, written
from sfumato.compare.results import Results, Row
from sfumato.compare.rows import half_width
from sfumato.measurement import AT_LEAST, AT_MOST, BY_MODEL, KNOWING, MODELS_DIFFER, WITH_REGISTER
from sfumato.report.price import collected, deeds, losses
from sfumato.report.summary import Bound, Change, MeasureLine, Verdict
from sfumato.report.wording import count, lower_first, number, percentage
from sfumato.table.roles import Undeclared

EXPECTED = "expected re-identifications"
BY_CHANCE = ("by chance", "baseline")  # parts that say how often an intruder would be right without the file
SUMS = 3  # that no longer hold and are told with their figures
REASONS = 3  # told where nothing could be measured
GOES_OUT = "of the file that goes out"
PERSONS_FOUND = "Re-identification under the worst scenario"
KNOWING_ALL = "by who knows all variables, too"  # beyond the scenarios
EXPLAINED: Mapping[str, str] = {  # lines of the table before / after, by how they end
    KNOWING_ALL: "an intruder who knows every variable of a person, amounts and answers too, and not only the keys of "
    "a scenario, would find so many records: what the scenarios leave out, on which there is no bound unless it is "
    "asked for",
    "if the file told who lives together": "the file holds no number of the household, and an intruder puts families "
    "together by what their members share; with the number, if it were published, he would find so many",
    "largest chance of a record": "how likely the single record that is easiest to find is found; the bound is on the "
    "mean over all records",
    "largest chance of a household": "how likely the single household that is easiest to find is found; the bound is "
    "on the mean over all households",
    "violating k": "protected records that fewer than k records agree with, where a blank may be any value; "
    "KAnonymity counts blanks by its own rule, told below, so that the two may differ",
    GOES_OUT: "figures of a random method are means over its draws, and repairs come after them; this is the figure of "
    "the one file that is written, as sfumato compare finds it",
}
MIN_LOSS: Mapping[str, float] = {"share": 0.02, "percent": 2.0}  # by unit of utility: a loss that is worth saying
MIN_SHARE_OF_GAIN = 0.8  # of what a wider bound gains


@dataclass(frozen=True, kw_only=True)
class SweepFacts:
    """What is known of a sweep besides its figures.

    ``checked`` is what was done to the chosen table before it goes out, with its audit; one that gives values back is
    published ``despite_audit`` only, and one with columns that are ``undeclared`` not at all. ``passed_over`` are
    candidates that failed their audit, ``whys`` sentences on candidates by their label. Where no candidate keeps the
    bounds, ``in_the_way`` says why, and ``widest`` that no others can be composed.
    """

    checked: Checked | None = None
    despite_audit: bool = False
    undeclared: Undeclared | None = None
    passed_over: Collection[str] = ()
    whys: Mapping[str, str] = field(default_factory=dict)
    in_the_way: Sequence[str] = ()
    widest: bool = False
    released: str = ""  # the name of the file that goes out
    command: str = ""  # that makes it again
    schema: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is judged: the candidate in ``row``, or none, with what was found in it and how it was chosen.

    ``name`` is what the candidate is called, ``done`` what it does to the file, ``names`` are candidates' short names.
    ``distinct`` counts the values of the original's variables.
    """

    results: Results
    row: Row | None
    examination: Examination | None = None
    choice: Choice | None = None
    name: str
    done: str = ""
    measures: Mapping[str, MeasureLine]
    bounds: Sequence[Bound] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    facts: SweepFacts = SweepFacts()
    file: str = ""
    distinct: Mapping[str, int] = field(default_factory=dict)

    @property
    def undeclared(self) -> Undeclared | None:
        """The columns of which nobody has said what they are, if there are any."""
        told = self.facts.undeclared
        return told if told is not None and told.names else None

    @property
    def leaks(self) -> bool:
        """Whether the table may not go out as it is."""
        return self.facts.checked is not None and not self.facts.checked.passed


def verdict_of(case: Case) -> Verdict:
    """Say what was decided of a candidate, or that none can be published and what to change."""
    results, row, found, choice = case.results, case.row, case.examination, case.choice
    measures, bounds, checked = case.measures, case.bounds, case.facts.checked
    publish, words = _decision(case)
    changes = tuple(_changes(results, row, measures, bounds, checked, None if found is None else found.knowing))
    price: list[str] = []
    warnings: list[str] = []
    if found is not None:
        price += losses(found)
    if choice is not None and row is not None:
        price += _price_of_bounds(results, row, choice, case.names)
    if found is not None:
        price += deeds(found)
    if row is not None:
        warnings += _left_out(results, checked)
    if choice is not None:
        warnings += _by_hand(results, row, choice, case.names)
        warnings += _warnings(results, row, choice, bounds, measures)
        warnings += _unlucky(results, row, choice, case.names) if row is not None else ()
    if row is not None:
        warnings += _membership(results, row)
    if found is not None:
        warnings += [*_units_found(found), *_broken_sums(found), *_level_weights(found.release)]
    warnings += _given_back(checked)
    warnings += case.undeclared.sentences if case.undeclared is not None and choice is not None else ()
    release = found.release if found is not None else None
    return Verdict(
        publish=publish,
        words=words,
        done=case.done,
        found=_against_chance(results, row) or _found(results, row, bounds),
        basis=" ".join(filter(None, (basis_of(results, *([row] if row is not None else results.rows)), _draws(row)))),
        price=tuple(price),
        collected=tuple(collected(results, release, checked, case.distinct)) if release is not None else (),
        warnings=tuple(warnings),
        advice=tuple(_what_to_change(case)) if publish is False else (),
        changes=changes,
        explained=tuple(
            f"{words[:1].upper()}{words[1:]}: {what}."
            for words, what in EXPLAINED.items()
            if any(change.part and change.what.endswith(words) for change in changes)
        ),
    )


def _decision(case: Case) -> tuple[bool | None, str]:
    checked, undeclared = case.facts.checked, case.undeclared
    if case.choice is None:
        return None, case.name
    if case.row is None:
        measured = any(one.means for one in case.results.rows)
        why = "no candidate keeps the bounds" if measured else "no candidate could be made and measured"
        return False, f"Do not publish: {why}"
    if undeclared is not None:
        single, names = len(undeclared.names) == 1, listed(undeclared.names, 4)
        if undeclared.silent:
            return False, f"Do not publish: nobody has said what {names} {'is' if single else 'are'}"
        them = "it" if single else "them"
        return False, f"Do not publish: {names} may name persons, and the schema gives no reason to publish {them}"
    why = ""
    if checked is not None and case.leaks and (not case.facts.despite_audit or checked.unready):
        why = _held_back(checked)
    elif case.examination is not None and "release" in case.examination.failed:
        why = "what its users may be told could not be worked out"
    if why:
        return False, f"Do not publish yet: {case.name} keeps the bounds, but {why}"
    return True, f"Publish: {case.name}{', chosen by hand' if case.choice.by_hand else ''}{_without(checked)}"


def _what_to_change(case: Case) -> Iterator[str]:
    """Say what stands in the way of publishing, and what to change."""
    undeclared, facts = case.undeclared, case.facts
    if case.choice is not None and case.row is None:
        yield from _advice(case.results, case.choice, case.measures, case.bounds, case.names, widest=facts.widest)
        yield from facts.in_the_way
        return
    if undeclared is not None:
        yield from undeclared.advice(case.file)
    if undeclared is None or (case.leaks and not facts.despite_audit):
        yield from _repairs(facts.checked)


def basis_of(results: Results, *rows: Row | None) -> str:
    """Say which records figures and details are of, where these are not all; which figures of these rows are estimates.

    Of several rows the largest standard error is told.
    """
    errors: dict[str, float] = {}
    for row in rows:
        for key, error in (row.sampling if row is not None else {}).items():
            errors[key] = max(error, errors.get(key, 0.0))
    said = [_estimate(results, key, error) for key, error in errors.items() if key in results.figures]
    if results.sampled:
        but = ", but for what is estimated" if said else ""
        said.insert(
            0,
            f"Figures are of all {len(results.table):,} records{but}; details and pictures are of a random sample of "
            f"{results.sampled:,}, the audit of as many, with suppressed values first.",
        )
    return " ".join(said)


def _draws(row: Row | None) -> str:
    """Say of a random candidate that its figures are means over several tables, of which one goes out."""
    if row is None or row.method is None or not row.method.about.random or row.replicates < 2:
        return ""
    return f"Figures are means over {row.replicates} draws; the first of them is the file that goes out."


def _estimate(results: Results, key: str, error: float) -> str:
    """Say that a figure is an estimate, of how many records, and how sure it is."""
    about, size = results.figures[key], results.looked_for(key)
    of = f": {size:,} of {count(len(results.table), 'record')}, drawn at random, were looked for" if size else ""
    return f"{about.title} is an estimate, as are most of its parts{of}, standard error {written(error, about.unit)}."


def _held_back(checked: Checked) -> str:
    if checked.unready:
        return "it could not be made ready to go out"
    return "it could not be audited" if checked.audit is None else "the file gives values back"


def _without(checked: Checked | None) -> str:
    return f", {count(len(checked.gone), 'variable')} left out" if checked is not None and checked.gone else ""


def _left_out(results: Results, checked: Checked | None) -> Iterator[str]:
    if checked is None or not checked.gone:
        return
    said = f"{count(len(checked.gone), 'variable')} had to be left out of the file that goes out: "
    said += f"{listed(checked.gone, 8)}."
    weight = results.table.schema.weight
    if weight in checked.gone:
        said += f" {weight} is the survey weight: without it no population estimate can be made."
    for key, value in checked.after.items():
        title, unit = results.figures[key].title, results.figures[key].unit
        said += f" {title} of the file that goes out is {written(value, unit)}."
    yield said


def _given_back(checked: Checked | None) -> tuple[str, ...]:
    """Say what the rest of the file gives back, or why that is not known."""
    if checked is None:
        return ()
    if checked.audit is None:
        return (f"What the rest of the file gives back was not tried: {checked.unaudited}.",)
    return tuple(f"{route.title.capitalize()} {route.verdict}." for route in checked.audit.routes if route.alarm)


def _units_found(examination: Examination) -> Iterator[str]:
    for name, evidence in examination.cautions.units_found if examination.cautions is not None else ():
        yield (
            f"{name} looks like the number of a household, a firm or a person with several records ({evidence}), and "
            "the schema names none: who knows all records of one was not judged. "
            f'Write household = "{name}" if it is so.'
        )


def _broken_sums(examination: Examination) -> Iterator[str]:
    broken = examination.cautions.broken_sums if examination.cautions is not None else ()
    if broken:
        told = [
            f"{one.name} = {one.formula} ({percentage(one.after)} of the records, before {percentage(one.before)})"
            for one in sorted(broken, key=lambda one: one.after)
        ]
        more = f" and {count(len(told) - SUMS, 'other sum')}" if len(told) > SUMS else ""
        yield f"No longer adds up after protection: {', '.join(told[:SUMS])}{more}."


def _level_weights(release: ReleaseFacts | None) -> Iterator[str]:
    for variable in release.variables if release is not None else ():
        if release is not None and variable.name == release.weight and variable.one_left:
            yield (
                f"{variable.name}, the survey weight, is the same for all records of the file that goes out: no "
                "population estimate can be made from it. Where fewer variables are made coarser, more of it is left."
            )


def _of_households(results: Results) -> str | None:
    """Return the key of the measure that tells how many households are found, if one was computed."""
    return next((repr(m) for m in results.measures if getattr(m, "unit", "") == "household" and m.about.paired), None)


def _price_of_bounds(results: Results, row: Row, choice: Choice, names: Mapping[str, str]) -> Iterator[str]:
    """Say what each bound costs that costs much: what would be gained by a wider one, the others kept.

    Of the candidates that gain most of it the one is named that breaks the bound least. What the bound on households
    costs is said in any case.
    """
    if choice.by_hand or choice.objective not in row.means:
        return
    about = results.figures[choice.objective]
    measured = [r for r in results.rows if {choice.objective, *choice.bounds} <= r.means.keys()]

    def gained(other: Row) -> float:
        return about.sign * row.means[choice.objective] - about.sign * other.means[choice.objective]

    for key in choice.bounds:
        others = [(which, bound) for which, bound in choice.bounds.items() if which != key]
        bounded = results.figures[key]
        breaking = [r for r in measured if not keeps(r, key, choice.bounds[key], bounded)]
        allowed = [r for r in breaking if all(keeps(r, w, bound, results.figures[w]) for w, bound in others)]
        most = max(map(gained, allowed), default=0.0)
        if most <= 0 or (most < MIN_LOSS.get(about.unit, math.inf) and key != _of_households(results)):
            continue
        near = [r for r in allowed if gained(r) >= MIN_SHARE_OF_GAIN * most]
        best = min(near, key=lambda r: bounded.sign * r.means[key])
        has, would = (written(r.means[choice.objective], about.unit) for r in (row, best))
        yield (
            f"the bound on {lower_first(bounded.title)} costs {about.title} {has} instead of {would}: with "
            f"{written(best.means[key], bounded.unit)} in place of {written(choice.bounds[key], bounded.unit)} it "
            f"would be {names.get(best.candidate, best.candidate)}"
        )


def _repairs(checked: Checked | None) -> tuple[str, ...]:
    if checked is None or checked.audit is None:
        return ()
    told = tuple(f"{repair[:1].upper()}{repair[1:]}." for repair in checked.audit.repairs)
    return (*told, "Or release it all the same, with --despite-audit, if you know why that does no harm.")


def _by_hand(results: Results, row: Row | None, choice: Choice, names: Mapping[str, str]) -> Iterator[str]:
    """Say which candidate a choice by hand was preferred to, and what that costs or saves."""
    if choice.by_hand and row is not None and choice.best not in (None, row.candidate):
        about = results.figures[choice.objective]
        taken, chosen = (written(r.means[choice.objective], about.unit) for r in (results.row(choice.best), row))
        name = names.get(choice.best, choice.best)
        yield f"Chosen by hand: by its figures {name} would have been taken ({about.title} {taken}, not {chosen})."


def already_kept(bound: Bound, measure: MeasureLine, value: float) -> str:
    """Say that the original keeps a bound as it is.

    >>> line = MeasureLine("X()", "X", "Records found", "risk", "lower", "share")
    >>> already_kept(Bound("X()", "X", 0.05, "at most 5 %"), line, 0.019)
    'records found at most 5 % asks for nothing: the original has 1.9 % without any protection'
    """
    has = written(value, measure.unit)
    return f"{lower_first(measure.title)} {bound.text} asks for nothing: the original has {has} without any protection"


def _warnings(
    results: Results, row: Row | None, choice: Choice, bounds: Sequence[Bound], measures: Mapping[str, MeasureLine]
) -> Iterator[str]:
    """Tell what makes the verdict weaker than it sounds."""
    before = results.unprotected
    if not any(measures[bound.key].purpose == "risk" for bound in bounds):
        yield "No risk is bounded: this is the best under these bounds, however much it gives away. Bound a risk too."
    yield from _intruder(results, row or before)
    for bound in bounds:
        if bound.key in choice.idle and before is not None:
            said = already_kept(bound, measures[bound.key], before.means[bound.key])
            yield f"The bound on {said}. Lower it, or check that the keys are all that an intruder may know."
    if row is not None and row.candidate in choice.unsure:
        yield from _unsure(results, row, bounds)
    if row is not None and row.candidate in choice.unknown:
        yield "The chosen one is random and was drawn once, so its spread is unknown. Run several replicates."


def _unlucky(results: Results, row: Row, choice: Choice, names: Mapping[str, str]) -> Iterator[str]:
    """Warn that the draw that goes out is worse than the mean it was chosen by, and than another candidate's table."""
    key, about = choice.objective, results.figures[choice.objective]
    own = row.values.get(key, ())
    able = set(choice.feasible) - {row.candidate, *choice.passed_over}
    others = [r for r in results.rows if r.candidate in able and r.values.get(key)]
    if len(own) < 2 or not others or math.isnan(own[0]):
        return
    best = min(others, key=lambda r: about.sign * r.values[key][0])
    if about.sign * own[0] - about.sign * best.values[key][0] < MIN_LOSS.get(about.unit, math.inf):
        return
    has, mean, would = (written(value, about.unit) for value in (own[0], row.means[key], best.values[key][0]))
    yield (
        f"The draw that goes out has {about.title} {has}, and the mean of the draws is {mean}: "
        f"{names.get(best.candidate, best.candidate)} would go out with {would}. Choose it with --choose, or draw "
        "again with another seed."
    )


def _membership(results: Results, row: Row) -> Iterator[str]:
    if _drawn_anew(results, row):
        yield (
            "Who took part was not measured. The records are not those of the original, but may lie nearer to them "
            "than to other people's, so that who knows a person may tell whether that person is in the original."
        )


def _drawn_anew(results: Results, row: Row) -> bool:
    """Tell whether a candidate's records are not those of the original, so that nobody can be found again in it."""
    method, elsewhere = row.method, results.tables.get(row.candidate)
    steps = () if method is None else method.steps
    drawn = any(step.about.effect == "made up" and not step.about.keeps_records for step in steps)
    return drawn or (elsewhere is not None and not elsewhere.matched)


def _against_chance(results: Results, row: Row | None) -> str:
    """Say of records drawn anew how often an intruder is right, beside how often he would be right by chance."""
    if row is None or not _drawn_anew(results, row):
        return ""
    told = []
    for key, about in results.figures.items():
        chance = next((row.parts.get(key, {}).get(part) for part in BY_CHANCE if part in row.parts.get(key, {})), None)
        if about.purpose == "risk" and key in row.means and chance is not None:
            unit = about.unit
            told.append(f"{about.title} {written(row.means[key], unit)}, by chance {written(chance, unit)}")
    return f"Against chance: {'; '.join(told)}." if told else ""


def _intruder(results: Results, row: Row | None) -> Iterator[str]:
    """Say which intruder decides and what the other finds, and how sure an estimate of the population is."""
    known = [key for key in results.figures if row is not None and key in row.means]
    silent = [k for k in known if row is not None and WITH_REGISTER in row.parts.get(k, {})]
    if row is not None and silent and not results.table.schema.scenarios:
        units = ["households" if "household" in results.figures[key].title else "records" for key in silent]
        finds, others = (
            " and ".join(f"{percentage(share)} of the {unit}" for share, unit in zip(shares, units, strict=True))
            for shares in ([row.means[key] for key in silent], [row.parts[key][WITH_REGISTER] for key in silent])
        )
        yield (
            f"No scenario is declared, and the file has weights: the intruder who knows who took part decides, and "
            f"finds {finds}. One with a register of the population, who does not know it, finds {others}. Declare who "
            "the intruder is, by membership in a scenario."
        )
    for key in known:
        parts = {} if row is None else row.parts.get(key, {})
        found = 0.0 if row is None else row.means[key]
        by_model = {name.removeprefix(BY_MODEL): share for name, share in parts.items() if name.startswith(BY_MODEL)}
        if not by_model:
            continue
        low, high = (min(by_model, key=lambda n: by_model[n]), max(by_model, key=lambda n: by_model[n]))
        sure = f"between {percentage(parts[AT_LEAST])} and {percentage(parts[AT_MOST])} in 95 of 100 cases"
        said = f"{results.figures[key].title} rests on a model of the population: {percentage(found)}, {sure}."
        if by_model[high] > MODELS_DIFFER * by_model[low]:
            said += (
                f" Models differ by more than a factor of {MODELS_DIFFER:g}, from {percentage(by_model[low])} "
                f"({low}) to {percentage(by_model[high])} ({high}); the larger decides."
            )
        if KNOWING in parts:
            said += f" An intruder who knows who took part finds {percentage(parts[KNOWING])}."
        yield said


def _unsure(results: Results, row: Row, bounds: Sequence[Bound]) -> Iterator[str]:
    near = [bound for bound in bounds if left_open(row, bound.key, bound.limit, results.figures[bound.key])]
    doubtful = []
    for bound in near:
        about, size, records = results.figures[bound.key], results.looked_for(bound.key), len(results.table)
        if bound.key not in row.sampling or not size or not asks_for_all(bound.limit, about):
            doubtful.append(bound)
            continue
        yield (
            f"{about.title} {bound.text} is not sure: the {size:,} records looked for keep it, but the figure of all "
            f"{records:,} may be off by {written(half_width(row, bound.key), about.unit)} (95 %). Only looking for all "
            f"of them, by sample={records}, makes it sure."
        )
    if doubtful:
        looked = any(bound.key in row.sampling for bound in doubtful)
        more = "Look for more records, by sample=..., or run more replicates" if looked else "Run more replicates"
        yield f"Chance may decide whether the bound is kept: the 95 % interval holds it. {more}."


def _found(results: Results, row: Row | None, bounds: Sequence[Bound]) -> str:
    """Tell how many would be found again, before and after: by what is bounded, or else by what finds most.

    Households are told of beside persons.
    """
    before, told = results.unprotected, []
    bounded = {bound.key for bound in bounds}
    for key in results.figures:
        sides = [None if r is None else r.parts.get(key, {}).get(EXPECTED) for r in (before, row)]
        known = [value for value in sides if value is not None]
        if known and (row is None or sides[1] is not None):  # of records drawn anew nobody is found again
            told.append((key not in bounded, -known[-1], key, sides))
    homes = [one for one in told if one[2] == _of_households(results)]
    persons = [one for one in told if one not in homes]
    chosen = [min(some) for some in (persons, homes) if some]
    if not chosen:
        return ""
    said = [_before_and_after(results, row, key, sides) for _, _, key, sides in chosen]
    where = " in the original" if chosen[0][3][1] is None and row is None else ""
    return f"Expected re-identifications{where}: {'; '.join(said)}."


def _before_and_after(results: Results, row: Row | None, key: str, sides: Sequence[float | None]) -> str:
    """Tell of how many units how many would be found, before and after."""
    was, now = sides
    of = _total(results, key, results.unprotected if was is not None else row)
    if was is not None and now is not None:
        return f"{_persons(was)} of {of} before, {_persons(now)} after"
    return f"{_persons(now if now is not None else was or 0.0)} of {of}"


def _total(results: Results, key: str, row: Row | None) -> str:
    """Count what an expected number is a part of: the records, or the households that a measure counts."""
    records = len(results.table)
    share = 0.0 if row is None else row.means.get(key, 0.0)
    units = round(row.parts[key][EXPECTED] / share) if row is not None and share > 0 else records
    households = units < records and "household" in results.figures[key].title
    return count(units, "household") if households else count(records, "record")


def _persons(value: float) -> str:
    """Write an expected number of records with as many digits as it deserves."""
    return f"{value:,.0f}" if value >= 10 else number(round(value, 2))


def _changes(
    results: Results,
    row: Row | None,
    measures: Mapping[str, MeasureLine],
    bounds: Sequence[Bound],
    checked: Checked | None,
    knowing: MoreKnown | None = None,
) -> Iterator[Change]:
    """Put every figure of the original beside that of the candidate: what is bounded first, then risk, then utility."""
    bounded = {bound.key: bound for bound in bounds}
    order = sorted(measures.values(), key=lambda m: (m.key not in bounded, bool(m.recipe), m.purpose != "risk"))
    before = results.unprotected
    for line in order:
        sides = [None if r is None else r.means.get(line.key) for r in (before, row)]
        if sides == [None, None] or (before is not None and sides[0] is None and line.key not in bounded):
            continue
        texts = ["–" if value is None else written(value, line.unit) for value in sides]
        bound = bounded.get(line.key)
        kept = None if bound is None or row is None else _kept(sides[1], bound, line)
        yield Change(line.title, texts[0], texts[1], bound=bound.text if bound else "", kept=kept)
        own = _going_out(row, line.key, checked)
        if own is not None and (checked is None or line.key in checked.after or written(own, line.unit) != texts[1]):
            yield Change(GOES_OUT, texts[0], written(own, line.unit), part=True)
        about = results.figures[line.key]
        known = dict.fromkeys(name for r in (before, row) if r is not None for name in r.parts.get(line.key, {}))
        for part in (name for name in known if about.beside and name.endswith(about.beside)):
            parts = [None if r is None else r.parts.get(line.key, {}).get(part) for r in (before, row)]
            if any(value is not None for value in parts):
                unit = about.unit_of(part)
                told = ["–" if value is None else written(value, unit) for value in parts]
                yield Change(part, told[0], told[1], part=True)
        if knowing is not None and about.title == PERSONS_FOUND:
            yield Change(KNOWING_ALL, "–", written(knowing.share, "share"), part=True)


def _going_out(row: Row | None, key: str, checked: Checked | None) -> float | None:
    """Return the figure of the one table that goes out: after repairs, or of the first draw; None if it is the mean."""
    if checked is not None and key in checked.after:
        return checked.after[key]
    drawn = row.values.get(key, ()) if row is not None else ()
    return drawn[0] if len(drawn) > 1 else None


def _kept(value: float | None, bound: Bound, line: MeasureLine) -> bool:
    return value is not None and line.keeps(value, bound.limit)


def _advice(
    results: Results,
    choice: Choice,
    measures: Mapping[str, MeasureLine],
    bounds: Sequence[Bound],
    names: Mapping[str, str],
    *,
    widest: bool = False,
) -> Iterator[str]:
    """Say which bound fails, how near the candidates come, and what to change."""
    by_key = {bound.key: bound for bound in bounds}
    risks = False
    for short in choice.shortfalls:
        line, bound = measures[short.key], by_key[short.key]
        if short.reached and len(choice.shortfalls) > 1:
            continue  # this one can be kept: it is another that cannot at the same time
        risks |= line.purpose == "risk"
        yield _shortfall(short, line, bound, names.get(short.candidate, short.candidate), several=len(bounds) > 1)
        if short.key == _of_households(results) and short.others_kept:
            yield from _reachable(results, short, choice.objective)
    if not choice.shortfalls:
        yield "No candidate has the figures to choose by."
        why = dict.fromkeys(str(reason) for row in results.rows for reason in list(row.reasons.values())[:1])
        yield from (f"{said[:1].upper()}{said[1:]}." for said in list(why)[:REASONS])
        return
    floor = next((short for short in choice.shortfalls if _beyond_any(short, results, measures[short.key])), None)
    if floor is not None:
        records = len(results.table)
        chance = written(1 / records, "share")
        yield (
            f"No way to protect it keeps this bound: the table has {count(records, 'record')}, and who knows that a "
            f"person is among them finds the record with a chance of {chance} by guessing alone. "
            "Add records, or accept that risk."
        )
    elif risks:
        more = "Coarsen" if widest else "Try more ways with --breadth 3, coarsen"
        yield f"{more} or leave out the key that makes most records rare, or accept more risk."
    else:
        yield "Accept a larger loss, or ask for less protection."


def _beyond_any(short: Shortfall, results: Results, line: MeasureLine) -> bool:
    """Tell whether a bound on records found is below what a guess among all records finds."""
    about, least = results.figures[short.key], 1 / len(results.table)
    single = next((getattr(m, "above", None) for m in results.measures if repr(m) == short.key), None)
    found = single is None and about.keys and about.paired and line.unit == "share" and line.lower_is_better
    return found and not short.reached and short.limit < least <= short.nearest * (1 + 1e-9)


def _reachable(results: Results, short: Shortfall, objective: str) -> Iterator[str]:
    """Say which bound on households can be kept beside the others, at what price, and how to ask for it."""
    row, about = results.row(short.candidate), results.figures[objective]
    if objective in row.means:
        limit = math.ceil(1000 * short.nearest) / 1000
        yield (
            f"A bound of {written(limit, 'share')} on households can be kept, with {about.title} "
            f'{written(row.means[objective], about.unit)}: --at-most "{short.key}={100 * limit:.4g}%". '
            "Whether families may be found more often than persons is for you to say."
        )


def _shortfall(short: Shortfall, line: MeasureLine, bound: Bound, name: str, *, several: bool) -> str:
    best = written(short.nearest, line.unit)
    asked = f"{line.title} {bound.text} is not reached"
    if several and short.others_kept:
        return f"{asked}: {best} is the {line.best} of those that keep the other bounds ({name})."
    return f"{asked}: {best} is the {line.best} ({name})."
