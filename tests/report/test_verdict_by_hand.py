"""The verdict's sentences from made figures: who is found, what a bound asks, what it costs, what is not sure."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato import KAnonymity, Schema, Variable
from sfumato.about import MeasureAbout
from sfumato.auditing.findings import Audit, Checked, Restored, Route
from sfumato.compare.choose import Choice, Shortfall
from sfumato.compare.examine.findings import (
    Distributions,
    Examination,
    FewLeft,
    PairUtility,
    ReleasedVariable,
    ReleaseFacts,
    UtilityFound,
    VariableDetail,
    VariableUtility,
)
from sfumato.compare.rows import Row
from sfumato.report.grades import changed_pairs
from sfumato.report.price import collected, price_of
from sfumato.report.summary import Bound, MeasureLine
from sfumato.report.verdict import (
    EXPECTED,
    Case,
    SweepFacts,
    _advice,
    _beyond_any,
    _by_hand,
    _changes,
    _found,
    _given_back,
    _going_out,
    _intruder,
    _kept,
    _left_out,
    _level_weights,
    _persons,
    _price_of_bounds,
    _reachable,
    _repairs,
    _total,
    _unlucky,
    _unsure,
    _warnings,
    basis_of,
    verdict_of,
)
from sfumato.table.roles import Undeclared
from sfumato.table.sensitive import Sensitive

RISK = MeasureLine("R()", "R", "Records found", "risk", "lower", "share")
LOSS = MeasureLine("U()", "U", "Usefulness", "utility", "higher", "share")
LINES = {"R()": RISK, "U()": LOSS}
AT_MOST, AT_LEAST = Bound("R()", "R", 0.05, "at most 5 %"), Bound("U()", "U", 0.8, "at least 80 %")


def row(name: str = "one", risk: float = 0.04, use: float = 0.9, **more: Any) -> Row:
    means = {"R()": risk, "U()": use}
    errors = dict.fromkeys(means, 0.0)
    parts = more.pop("parts", {"R()": {EXPECTED: 400 * risk}})
    values = {key: (value,) for key, value in means.items()}
    return Row(
        candidate=name, method=None, means=means, errors=errors, values=values, replicates=1, parts=parts, **more
    )


def unmade(name: str, **reasons: Any) -> Row:
    return Row(candidate=name, method=None, means={}, errors={}, values={}, replicates=1, reasons=reasons)


def results(
    *rows: Row, before: Row | None = None, records: int = 400, title: str = "Records found", **more: Any
) -> Any:
    """Stand-in for the results of an experiment of two measures."""

    def figure(line: MeasureLine, named: str) -> MeasureAbout:
        return replace(KAnonymity().about, title=named, purpose=line.purpose, better=line.better, beside=(), keys=False)

    class Table(list[int]):
        schema = SimpleNamespace(weight="w")

    return SimpleNamespace(
        rows=rows,
        row=lambda name: next(one for one in rows if one.candidate == name),
        unprotected=before,
        figures={"R()": figure(RISK, title), "U()": figure(LOSS, "Usefulness")},
        table=Table([0] * 400),
        measures=(),
        tables={},
        sampled=more.get("sampled", 0),
        looked_for=lambda key: more.get("looked", 0),
    )


def choice(chosen: str | None = "one", **more: Any) -> Choice:
    return Choice(chosen=chosen, objective="U()", bounds={"R()": 0.05}, best=more.pop("best", chosen), **more)


ROUTE = Route(
    "columns",
    Restored("pay", "as published", ("rent",), 9, 0.9, 0.9, 0.1, None, "the file", "restores"),
    verdict="restores 90 % of pay",
    repair="drop rent",
)
LEAK = Checked(audit=Audit(400, {"pay": 9}, (ROUTE, Route("ids", untried="no")), 0.01, 0.1, "id", "bad"))
FINE = Checked(audit=Audit(400, {}, (), 0.01, 0.1, "id", "fine"))


def decided(one: Row | None, chosen: Choice | None, checked: Checked | None = None, **more: Any) -> Any:
    found = results(*([one] if one else [row("bad", 0.2)]), before=row("before", 0.3, 1.0))
    file = more.pop("file", "")
    return verdict_of(case(found, one, choice=chosen, file=file, facts=SweepFacts(checked=checked, **more)))


def case(found: Any, one: Row | None, **more: Any) -> Case:
    return Case(**{"results": found, "row": one, "name": "it", "measures": LINES, "bounds": (AT_MOST,), **more})


def test_what_is_decided() -> None:
    assert decided(row(), choice()).publish is True
    assert decided(row(), choice()).words == "Publish: it"
    assert decided(row(), choice(by_hand=True)).words == "Publish: it, chosen by hand"
    assert decided(None, None).publish is None
    none = decided(None, choice(None, shortfalls=(Shortfall("R()", 0.05, 0.2, "bad", True, False),)))
    assert (none.publish, none.words) == (False, "Do not publish: no candidate keeps the bounds")
    assert none.advice[0] == "Records found at most 5 % is not reached: 20 % is the lowest (bad)."
    assert none.advice[1].startswith("Try more ways")
    said = verdict_of(case(results(unmade("x")), None, choice=choice(None), name=""))
    assert said.words == "Do not publish: no candidate could be made and measured"


def test_a_table_that_gives_values_back_is_held_back_unless_it_is_wanted_so() -> None:
    held = decided(row(), choice(), LEAK)
    assert held.publish is False
    assert held.words == "Do not publish yet: it keeps the bounds, but the file gives values back"
    assert held.advice == (
        "Drop rent.",
        "Or release it all the same, with --despite-audit, if you know why that does no harm.",
    )
    assert "Another column restores 90 % of pay." in held.warnings
    wanted = decided(row(), choice(), LEAK, despite_audit=True)
    assert (wanted.publish, wanted.advice) == (True, ())
    assert decided(row(), choice(), FINE).publish is True
    assert decided(row(), choice(), Checked(excused=True)).publish is True
    assert _given_back(None) == ()
    assert _given_back(Checked(unaudited="too few")) == (
        "What the rest of the file gives back was not tried: too few.",
    )
    assert len(_given_back(LEAK)) == 1  # the route that was not tried says nothing
    assert _repairs(None) == ()
    assert _repairs(Checked()) == ()


def test_variables_that_had_to_go_are_counted_and_named() -> None:
    gone = replace(FINE, altered=("w", "pay", "age"), missing={"age": 0.0}, after={"U()": 0.5})
    assert decided(row(), choice(), gone).words == "Publish: it, 2 variables left out"
    said = next(iter(_left_out(results(row()), gone)))
    assert said.startswith("2 variables had to be left out of the file that goes out: w and pay.")
    assert "w is the survey weight" in said
    assert said.endswith("Usefulness of the file that goes out is 50 %.")
    assert "survey weight" not in next(iter(_left_out(results(row()), replace(gone, altered=("pay",)))))
    assert list(_left_out(results(row()), FINE)) == []
    assert list(_left_out(results(row()), None)) == []


@pytest.mark.parametrize(("value", "said"), [(0.126, "0.13"), (9.994, "9.99"), (10.4, "10"), (1234.6, "1,235")])
def test_expected_records_are_written_with_the_digits_they_deserve(value: float, said: str) -> None:
    assert _persons(value) == said


def test_who_would_be_found_before_and_after() -> None:
    before, after = row("before", 0.3), row(risk=0.04)
    assert _found(results(after, before=before), after, (AT_MOST,)) == (
        "Expected re-identifications: 120 of 400 records before, 16 after."
    )
    assert _found(results(after, before=before), None, ()) == (
        "Expected re-identifications in the original: 120 of 400 records."
    )
    assert _found(results(after), after, ()) == "Expected re-identifications: 16 of 400 records."
    assert _found(results(row(parts={})), row(parts={}), ()) == ""
    two = row(parts={"R()": {EXPECTED: 16.0}, "U()": {EXPECTED: 50.0}})
    assert "16 of" in _found(results(two), two, (AT_MOST,))  # what is bounded
    assert "50 of" in _found(results(two), two, ())  # what finds most


def test_households_are_counted_where_a_measure_counts_them() -> None:
    of_homes = row(risk=0.04, parts={"R()": {EXPECTED: 4.0}})
    assert _total(results(of_homes, title="Found with their household"), "R()", of_homes) == "100 households"
    assert _total(results(of_homes), "R()", of_homes) == "400 records"
    assert _total(results(row(risk=0.0)), "R()", row(risk=0.0)) == "400 records"
    all_records = results(row(), title="Found with their household")
    assert _total(all_records, "R()", row()) == "400 records"
    assert _total(all_records, "R()", None) == "400 records"


def test_estimates_say_how_many_were_looked_for_and_how_sure_they_are() -> None:
    one, two = row(sampling={"R()": 0.01}), row("two", sampling={"R()": 0.02, "gone": 0.5})
    said = basis_of(results(one, two, looked=50), one, two)
    assert said == (
        "Records found is an estimate, as are most of its parts: 50 of 400 records, drawn at random, were looked for, "
        "standard error 2 %."
    )
    assert "looked for" not in basis_of(results(one), one)
    assert basis_of(results(one), row()) == ""
    parts = basis_of(results(one, sampled=100), one)
    assert parts.startswith("Figures are of all 400 records, but for what is estimated; details")
    assert basis_of(results(one, sampled=100), row()).startswith("Figures are of all 400 records; details and pictures")
    assert basis_of(results(one), None) == ""


def test_a_choice_by_hand_names_what_it_was_preferred_to() -> None:
    best = row("best", use=0.95)
    found = results(row(), best)
    said = list(_by_hand(found, row(), choice(by_hand=True, best="best"), {"best": "B"}))
    assert said == ["Chosen by hand: by its figures B would have been taken (Usefulness 95 %, not 90 %)."]
    assert list(_by_hand(found, row(), choice(by_hand=True, best="one"), {})) == []
    assert list(_by_hand(found, row(), choice(best="best"), {})) == []
    assert list(_by_hand(found, None, choice(by_hand=True, best="best"), {})) == []
    assert list(_by_hand(found, row(), choice(by_hand=True, best=None), {})) == []


def test_what_makes_a_verdict_weaker_is_said() -> None:
    before = row("before", 0.01)
    found = results(row(), before=before)
    idle = list(_warnings(found, row(), choice(idle=("R()",)), (AT_MOST,), LINES))
    assert len(idle) == 1
    assert idle[0].startswith("The bound on records found at most 5 % asks for nothing: the original has 1 %")
    assert list(_warnings(found, row(), choice(), (AT_MOST,), LINES)) == []
    assert list(_warnings(found, row(), choice(), (AT_MOST, AT_LEAST), LINES)) == []  # one bound on risk is enough
    assert next(iter(_warnings(found, row(), choice(), (AT_LEAST,), LINES))).startswith("No risk is bounded")
    assert list(_warnings(results(row()), row(), choice(idle=("R()",)), (AT_MOST,), LINES)) == []
    once = list(_warnings(found, row(), choice(unknown=("one",)), (AT_MOST,), LINES))
    assert once == ["The chosen one is random and was drawn once, so its spread is unknown. Run several replicates."]
    assert list(_warnings(found, row("two"), choice(unknown=("one",)), (AT_MOST,), LINES)) == []
    assert list(_warnings(found, None, choice(unknown=("one",), unsure=("one",)), (AT_MOST,), LINES)) == []


def test_bounds_that_chance_may_decide() -> None:
    near = row(risk=0.04, sampling={"R()": 0.01})
    said = list(_unsure(results(near, looked=50), near, (AT_MOST,)))
    assert said == [
        "Chance may decide whether the bound is kept: the 95 % interval holds it. Look for more records, by "
        "sample=..., or run more replicates."
    ]
    drawn = replace(near, sampling={}, errors={"R()": 0.01, "U()": 0.0}, values={"R()": (0.03, 0.04, 0.05)})
    assert list(_unsure(results(drawn), drawn, (AT_MOST,))) == [
        "Chance may decide whether the bound is kept: the 95 % interval holds it. Run more replicates."
    ]
    far = row(risk=0.02, sampling={"R()": 0.01})  # 1.96 standard errors are less than .03
    assert list(_unsure(results(far, looked=50), far, (AT_MOST,))) == []
    zero = replace(AT_MOST, limit=0.0, text="at most 0 %")
    none = row(risk=0.0, sampling={"R()": 0.01})
    said = list(_unsure(results(none, looked=50), none, (zero,)))
    assert len(said) == 1
    assert said[0].startswith("Records found at most 0 % is not sure: the 50 records looked for keep it")
    assert "all 400 may be off by 1.96 % (95 %)" in said[0]
    assert said[0].endswith("by sample=400, makes it sure.")


def test_figures_stand_side_by_side_with_what_is_bounded_first() -> None:
    before, after = row("before", 0.3, 1.0), row(risk=0.06, use=0.9)
    found = list(_changes(results(after, before=before), after, LINES, (AT_LEAST,), None))
    assert [(one.what, one.before, one.after, one.bound, one.kept) for one in found] == [
        ("Usefulness", "100 %", "90 %", "at least 80 %", True),
        ("Records found", "30 %", "6 %", "", None),
    ]
    broken = next(iter(_changes(results(after, before=before), after, LINES, (AT_MOST,), None)))
    assert (broken.what, broken.kept) == ("Records found", False)
    assert next(iter(_changes(results(after, before=before), None, LINES, (AT_MOST,), None))).kept is None
    plain = list(_changes(results(after, before=before), after, LINES, (), replace(FINE, after={"U()": 0.5})))
    assert [(one.what, one.after, one.part) for one in plain] == [
        ("Records found", "6 %", False),
        ("Usefulness", "90 %", False),
        ("of the file that goes out", "50 %", True),
    ]
    lacking = replace(before, means={"R()": 0.3})
    assert len(list(_changes(results(after, before=lacking), after, LINES, (), None))) == 1
    assert len(list(_changes(results(after, before=lacking), after, LINES, (AT_LEAST,), None))) == 2
    assert next(iter(_changes(results(after, before=lacking), after, LINES, (AT_LEAST,), None))).before == "–"


def test_a_bound_is_kept_at_its_limit_and_by_no_undefined_figure() -> None:
    assert _kept(0.05, AT_MOST, RISK)
    assert not _kept(0.051, AT_MOST, RISK)
    assert _kept(0.8, AT_LEAST, LOSS)
    assert not _kept(0.79, AT_LEAST, LOSS)
    assert not _kept(float("nan"), AT_MOST, RISK)
    assert not _kept(float("nan"), AT_LEAST, LOSS)
    assert not _kept(None, AT_MOST, RISK)


def test_advice_names_the_bound_that_fails() -> None:
    risk, use = Shortfall("R()", 0.05, 0.07, "a", True, False), Shortfall("U()", 0.8, 0.9, "b", True, True)
    found = results(row("a"), row("b"))

    def said(*short: Shortfall, bounds: tuple[Bound, ...] = (AT_MOST, AT_LEAST)) -> list[str]:
        return list(_advice(found, choice(None, shortfalls=short), LINES, bounds, {"a": "A"}))

    assert said(risk, use)[0] == (
        "Records found at most 5 % is not reached: 7 % is the lowest of those that keep the other bounds (A)."
    )
    assert len(said(risk, use)) == 2  # the other can be kept
    assert said(replace(risk, others_kept=False))[0].endswith("7 % is the lowest (A).")
    assert said(risk, bounds=(AT_MOST,))[0].endswith("7 % is the lowest (A).")
    lost = replace(use, reached=False, nearest=0.7)
    assert said(lost) == [
        "Usefulness at least 80 % is not reached: 70 % is the highest of those that keep the other bounds (b).",
        "Accept a larger loss, or ask for less protection.",
    ]
    assert len(said(use)) == 2  # the only one is told although it can be kept
    without = results(*(unmade(str(i), R=f"reason {i}", U="x") for i in range(5)))
    assert list(_advice(without, choice(None), LINES, (AT_MOST,), {})) == [
        "No candidate has the figures to choose by.",
        "Reason 0.",
        "Reason 1.",
        "Reason 2.",
    ]


def detail(name: str, before: int, after: int, **more: Any) -> VariableDetail:
    shares = (before / 100, after / 100)
    made = {"suppressed": max(shares[1] - shares[0], 0.0), **more}
    return VariableDetail(name, "numeric", 0.1, missing=(before, after), missing_shares=shares, **made)


def test_what_protection_costs_in_values() -> None:
    variables = (detail("pay", 5, 15), detail("age", 0, 20), detail("gone", 0, 100, gone=True), detail("sex", 9, 3))
    release = ReleaseFacts(100, (), ())
    found = Examination("one", detail=Distributions(variables, ()), release=release)
    # pay 10 of 95, age 20 of 100, sex 0 of 91: the mean of 10.53 %, 20 % and 0 %, as ``Suppressed`` has it
    assert price_of(found) == ("10.2 % of the values made blank (30); most in age, 20.0 %",)
    # and with another variable, of which all values are lost: (0.1053 + 0.2 + 0 + 1) / 4
    removed = replace(found, release=replace(release, removed=("gone",)))
    assert price_of(removed)[0] == (
        "10.2 % of the values made blank (30); most in age, 20.0 %; with 1 variable removed 32.6 % of the values are "
        "lost"
    )
    # 10 of the 995 and 20 of the 1,000 values of a table in parts
    parts = tuple(replace(v, blank=v.missing) for v in variables)
    whole = replace(found, detail=Distributions(parts, ()), release=replace(release, whole=1000))
    assert price_of(whole) == ("1.0 % of the values made blank (30); most in age, 2.0 %",)
    # where records match, what was blank before and is filled in does not hide what was made blank: 4 of 90 values
    filled = detail("pay", 10, 10, suppressed=0.04)
    assert price_of(replace(found, detail=Distributions((filled,), ()))) == (
        "4.4 % of the values made blank (4); most in pay, 4.4 %",
    )
    nothing = replace(found, detail=Distributions((detail("pay", 5, 5),), ()))
    assert price_of(nothing) == ("no value made blank",)
    assert price_of(replace(found, detail=Distributions((), ()))) == ("no value made blank",)
    assert price_of(Examination("one")) == ()
    # records drawn anew are not those of the original: nothing was made blank, though 10 of 95 values more are missing
    anew = tuple(replace(v, suppressed=None) for v in variables[:1])
    assert price_of(replace(found, detail=Distributions(anew, ()))) == (
        "10.5 % more of the values missing than in the original (10); most in pay, 10.5 %",
    )
    same = (detail("pay", 5, 5, suppressed=None),)
    assert price_of(replace(found, detail=Distributions(same, ()))) == ("no more values missing than in the original",)


def released(name: str, *done: Any, one_left: bool = False) -> ReleasedVariable:
    return ReleasedVariable(name, "", "numeric", done, 0.0, one_left=one_left)


def test_weights_that_are_all_equal_are_warned_of() -> None:
    equal = ReleaseFacts(100, (released("w", "perturbed", one_left=True), released("x", one_left=True)), (), weight="w")
    (said,) = _level_weights(equal)
    assert said.startswith("w, the survey weight, is the same for all records")
    assert not [*_level_weights(replace(equal, weight="x", variables=equal.variables[:1]))]
    assert not [*_level_weights(None)]


def test_what_became_coarser_untrue_or_nothing() -> None:
    variables = (
        released("a", "grouped"),
        released("b", "perturbed"),
        released("c", "grouped", one_left=True),
        released("d"),
    )
    found = Examination("one", release=ReleaseFacts(100, variables, ("e",)))
    assert price_of(found) == (
        "nothing is left of: c",
        "coarser: a",
        "values changed, so that a single one need not be true: b",
        "removed: e",
    )
    sample = Examination("one", release=ReleaseFacts(100, variables, (), whole=900))
    assert price_of(sample)[0] == "nothing is left in the sample of: c"


def test_a_coarse_recoding_is_named_with_what_is_left() -> None:
    codes = FewLeft(8700, 2, 0.01, ("other", "47.11"))
    regions = FewLeft(16, 5, 0.3, ("Mazowieckie", "a label that is far too long for a line", "c", "d"))
    variables = (
        released("a", "grouped"),
        replace(released("region", "grouped"), few_left=regions),
        replace(released("nace", "grouped"), few_left=codes),
    )
    found = Examination("one", release=ReleaseFacts(100, variables, ()))
    # the coarsest first
    assert price_of(found) == (
        "little is left of nace: 8,700 -> 2 (other, 47.11) and region: 16 -> 5 (Mazowieckie, a label that is far too…, "
        "c, d and 1 more)",
        "coarser: a",
    )


def test_what_became_of_associations_and_distributions() -> None:
    def pair(titles: tuple[str, str], outcome: str, effect: float | None) -> PairUtility:
        labels = ("Age, in years", "Pay of all jobs with bonus")  # which no sentence can hold: variables go by name
        return PairUtility(*titles, labels, "", 0.5, 0.1, (0.0, 0.0), 0.5, effect, "", outcome)

    def variable(title: str, distance: float | None) -> VariableUtility:
        return VariableUtility(title, title, "", 0.5, 0.5, None, distance, (0.0, 0.0))

    pairs = (
        pair(("a", "b"), "association lost", 0.1),
        pair(("a", "c"), "direction reversed", 0.4),
        pair(("b", "c"), "pattern changed", 0.3),
        pair(("c", "d"), "association kept", 0.0),
        pair(("d", "e"), "pattern unknown", None),
    )
    variables = (variable("pay", 0.1), variable("age", 0.09), variable("sex", None), variable("town", 0.5))
    found = Examination("one", usefulness=UtilityFound(0.5, {}, "", variables, pairs, ()))
    assert price_of(found) == (
        "3 of 5 pairs of variables no longer hang together as they did (1 could not be compared), most of all a with c "
        "and b with c",
        "distribution changed: pay and town",
    )
    none = Examination("one", usefulness=UtilityFound(0.5, {}, "", (), pairs[3:4], ()))
    assert price_of(none) == ("none of 1 pair of variables hangs together otherwise than before",)
    # a difference of squared coefficients below 0.01 is nobody's loss, as on the public page
    slight = (pair(("a", "b"), "association lost", 0.009), pair(("a", "c"), "association lost", 0.011))
    found = Examination("one", usefulness=UtilityFound(0.5, {}, "", (), slight, ()))
    assert price_of(found)[0].startswith("1 of 2 pairs")
    assert len(changed_pairs(slight)) == 1
    assert price_of(Examination("one", usefulness=UtilityFound(0.5, {}, "", (), (), ()))) == ()


def test_records_drawn_anew_get_a_verdict_against_chance_and_no_re_identifications() -> None:
    synthetic = row(parts={"R()": {"by chance": 0.02}})
    before = row("before", 0.3, 1.0)
    drawn = results(synthetic, before=before)
    drawn.tables = {"one": SimpleNamespace(matched=False)}
    said = verdict_of(case(drawn, synthetic, choice=choice()))
    assert said.found == "Against chance: Records found 4 %, by chance 2 %."
    # the original's expected re-identifications alone say nothing of such a file
    assert _found(drawn, row(parts={}), (AT_MOST,)) == ""
    # a matched file is told of as before
    assert "Expected re-identifications" in decided(row(), choice()).found


def test_columns_of_which_nobody_has_said_what_they_are_keep_it_from_going_out() -> None:
    one, two = Undeclared(silent=("memo",)), Undeclared(silent=("memo", "note"))
    held = decided(row(), choice(), undeclared=one, file="data.csv")
    assert (held.publish, held.words) == (False, "Do not publish: nobody has said what memo is")
    assert decided(row(), choice(), undeclared=two).words == "Do not publish: nobody has said what memo and note are"
    assert held.advice == one.advice("data.csv")
    assert held.warnings[-1:] == one.sentences
    # declared as other, but without a reason
    looks = Undeclared(looks=(Sensitive("mail", "e-mail addresses", "all have an @"),))
    assert decided(row(), choice(), undeclared=looks).words == (
        "Do not publish: mail may name persons, and the schema gives no reason to publish it"
    )
    assert decided(row(), choice(), undeclared=Undeclared()).publish is True
    # what gives values back is mended first or not at all; where nothing was chosen nothing goes out
    assert decided(row(), choice(), LEAK, undeclared=one).advice == (*one.advice(""), *_repairs(LEAK))
    assert decided(row(), choice(), LEAK, undeclared=one, despite_audit=True).advice == one.advice("")
    none = decided(None, None, undeclared=one)
    assert (none.publish, none.advice, one.sentences[0] in none.warnings) == (None, (), False)


def test_what_users_may_be_told_must_be_known() -> None:
    found = results(row(), before=row("before", 0.3, 1.0))

    def words(examination: Examination) -> tuple[bool | None, str]:
        facts = SweepFacts(checked=FINE)
        said = verdict_of(case(found, row(), examination=examination, choice=choice(), facts=facts))
        return said.publish, said.words

    assert words(Examination("one", failed={"release": "why"})) == (
        False,
        "Do not publish yet: it keeps the bounds, but what its users may be told could not be worked out",
    )
    assert words(Examination("one", failed={"detail": "why"})) == (True, "Publish: it")
    unready = Checked(unready="why")
    assert decided(row(), choice(), unready, despite_audit=True).words.endswith("it could not be made ready to go out")
    assert decided(row(), choice(), Checked(unaudited="why")).words.endswith("but it could not be audited")


def test_an_association_of_unknown_size_is_named_after_those_that_are_known() -> None:
    """Of those that changed the two of largest effect are named: .6 and .5, not the one of which none is known."""

    def pair(titles: tuple[str, str], effect: float | None) -> PairUtility:
        return PairUtility(*titles, titles, "", 0.5, 0.1, (0.0, 0.0), 0.5, effect, "", "association lost")

    pairs = (pair(("a", "b"), None), pair(("a", "c"), 0.5), pair(("b", "c"), 0.6), pair(("b", "d"), 0.4))
    found = Examination("one", usefulness=UtilityFound(0.5, {}, "", (), pairs, (), sampled=True))
    assert price_of(found) == (
        "3 of 4 pairs of variables no longer hang together as they did (1 could not be compared) in the sample, most "
        "of all b with c and a with c",
    )


@pytest.mark.parametrize(
    ("limit", "nearest", "reached", "said"),
    [
        (0.002, 0.0025, False, True),  # 1 of 400 is .0025: a bound of .002 nobody can keep
        (0.002, 0.4, False, True),
        (0.0025, 0.01, False, False),  # just what a guess finds
        (0.01, 0.02, False, False),
        (0.002, 0.001, False, False),  # a candidate is below a guess, so it can be
        (0.002, 0.0025, True, False),
    ],
)
def test_no_bound_below_a_guess_among_all_records_can_be_kept(
    limit: float, nearest: float, reached: bool, said: bool
) -> None:
    found = results(row("a"))
    found.figures["R()"] = replace(found.figures["R()"], keys=True, paired=True)
    short = Shortfall("R()", limit, nearest, "a", True, reached)
    assert _beyond_any(short, found, RISK) == said
    advice = list(_advice(found, choice(None, shortfalls=(short,)), LINES, (AT_MOST,), {}))
    assert any("finds the record with a chance of 0.25 % by guessing alone" in line for line in advice) == said
    assert any(line.startswith("Try more ways") for line in advice) != said
    assert not _beyond_any(replace(short, reached=False), found, replace(RISK, better="higher"))
    assert not _beyond_any(replace(short, reached=False), found, replace(RISK, unit="number"))
    unpaired = results(row("a"))
    unpaired.figures["R()"] = replace(unpaired.figures["R()"], keys=True, paired=False)
    assert not _beyond_any(short, unpaired, RISK)


class _Homes:
    """A measure of households found, called R()."""

    unit, about = "household", SimpleNamespace(paired=True)

    def __repr__(self) -> str:
        return "R()"


def of_homes(*rows: Row) -> Any:
    found = results(*rows, title="Found with their household")
    found.measures = (_Homes(),)
    return found


def test_what_a_bound_costs() -> None:
    """.95 is to be had for .2 of the records found, and .945, nine tenths of that gain, for .1: that is named."""
    kept, most, near, less = row(), row("most", 0.2, 0.95), row("near", 0.1, 0.945), row("less", 0.06, 0.93)
    both = replace(choice(), bounds={"R()": 0.05, "U()": 0.8})

    def said(*rows: Row, chosen: Choice = both, of: Any = results) -> list[str]:
        return list(_price_of_bounds(of(kept, *rows), kept, chosen, {"near": "N"}))

    assert said(most, near, less) == [
        "the bound on records found costs Usefulness 90 % instead of 94.5 %: with 10 % in place of 5 % it would be N"
    ]
    assert said(most, less)[0].endswith("with 20 % in place of 5 % it would be most")  # three fifths are not enough
    assert said(row("as good", 0.2, 0.9)) == []
    # two percentage points are dear, and less is said of households alone
    dear, cheap = row("dear", 0.2, 0.925), row("cheap", 0.2, 0.915)
    assert (len(said(dear)), len(said(cheap)), len(said(cheap, of=of_homes))) == (1, 0, 1)
    assert said(replace(most, means={"U()": 0.95})) == []  # not measured
    assert said(most, chosen=replace(both, by_hand=True)) == []
    other = replace(both, bounds={"R()": 0.05, "U()": 0.96})  # another bound that it breaks
    assert said(most, chosen=other) == []
    assert list(_price_of_bounds(results(kept, most), unmade("x"), both, {})) == []


def test_a_bound_on_households_that_can_be_kept() -> None:
    """Reached is .0712, of which the next tenth of a percent is 7.2 %."""
    short = Shortfall("R()", 0.05, 0.0712, "one", True, False)
    (said,) = _reachable(of_homes(row()), short, "U()")
    assert "A bound of 7.2 % on households can be kept, with Usefulness 90 %" in said
    assert '--at-most "R()=7.2%"' in said
    assert list(_reachable(of_homes(replace(row(), means={"R()": 0.1})), short, "U()")) == []
    told = list(_advice(of_homes(row()), choice(None, shortfalls=(short,)), LINES, (AT_MOST, AT_LEAST), {}))
    assert told[1] == said
    alone = replace(short, others_kept=False)
    assert said not in list(_advice(of_homes(row()), choice(None, shortfalls=(alone,)), LINES, (AT_MOST,), {}))


def test_models_of_the_population_that_differ_are_named() -> None:
    def said(high: float, *scenarios: str, **more: float) -> list[str]:
        parts = {"share by the model A": 0.02, "share by the model B": high, "share, at least": 0.01}
        one = row(parts={"R()": {**parts, "share, at most": 0.09, **more}})
        found = results(one)
        found.table.schema.scenarios = scenarios
        return list(_intruder(found, one))

    assert said(0.03) == [
        "Records found rests on a model of the population: 4.0 %, between 1.0 % and 9.0 % in 95 of 100 cases."
    ]
    assert said(0.04) == said(0.03)  # by a factor of two, and no more
    (differ,) = said(0.05)
    assert differ.endswith("Models differ by more than a factor of 2, from 2.0 % (A) to 5.0 % (B); the larger decides.")
    (knowing,) = said(0.03, **{"knowing who took part": 0.3})
    assert knowing.endswith("An intruder who knows who took part finds 30.0 %.")
    register = {"by a register, not knowing who took part": 0.01}
    assert said(0.03, **register)[0].startswith("No scenario is declared, and the file has weights")
    assert len(said(0.03, **register)) == 2
    assert len(said(0.03, "neighbour", **register)) == 1
    assert list(_intruder(results(row()), None)) == list(_intruder(results(row()), row())) == []


def said_of(distinct: dict[str, int], *variables: ReleasedVariable, checked: Checked | None = None) -> list[str]:
    schema = Schema(
        (Variable("age", role="key"), Variable("pay", role="confidential"), Variable("town", "nominal"), Variable("w")),
        weight="w",
    )
    found: Any = SimpleNamespace(original=_Sized(schema))
    return list(collected(found, ReleaseFacts(400, variables, ()), checked, distinct))


class _Sized(list[int]):
    """An original of 400 records."""

    def __init__(self, schema: Schema) -> None:
        super().__init__([0] * 400)
        self.schema = schema


def test_what_goes_out_as_it_was_collected_and_what_links_two_releases() -> None:
    """From 100 different values on, or a quarter of the records, they tell records apart."""
    age, pay, town, weight = (replace(released(name), same=True) for name in ("age", "pay", "town", "w"))
    assert said_of({}, age, pay, town, released("gone", "grouped")) == [
        "3 variables of 4: age (keys); pay (confidential); town (other)"
    ]
    assert said_of({"age": 99, "town": 300}, age, town)[1:] == []  # towns are no numbers
    (fine,) = said_of({"age": 100}, age)[1:]
    assert fine.startswith("age has 100 different exact values")
    assert fine.endswith("round it or put it in classes")
    (weighted,) = said_of({"w": 300}, weight)
    assert weighted.startswith("w, the survey weight, has 300 different exact values")
    assert weighted.endswith("WeightMasking('classes') puts it in classes")
    assert said_of({"w": 300}, weight, checked=Checked(renewed=("w",))) == []
    assert said_of({"age": 100}, replace(age, same=False), replace(pay, done=("rounded",))) == []


def test_long_lists_end_with_how_many_more_there_are() -> None:
    """Six distributions, eight variables in each line, twelve of those that go out as they were collected."""
    names = [f"v{i:02}" for i in range(15)]

    def changed(number: int) -> tuple[str, ...]:
        variables = [VariableUtility(n, n, "", 0.5, 0.5, None, 0.5, (0.0, 0.0)) for n in names[:number]]
        return price_of(Examination("one", usefulness=UtilityFound(0.5, {}, "", tuple(variables), (), ())))

    assert changed(6) == ("distribution changed: v00, v01, v02, v03, v04 and v05",)
    assert changed(7)[0].endswith("v05 and 1 other")

    def treated(number: int, *deeds: Any, left: bool = False) -> str:
        found = ReleaseFacts(100, tuple(released(n, *deeds, one_left=left) for n in names[:number]), ())
        return price_of(Examination("one", release=found))[0]

    for deeds, left in ((("grouped",), False), (("perturbed",), False), ((), True)):
        assert treated(8, *deeds, left=left).endswith("v06 and v07")
        assert treated(9, *deeds, left=left).endswith("v07 and 1 other")
    for number, end in ((8, "v06 and v07"), (9, "v07 and 1 other")):
        removed = ReleaseFacts(100, (), tuple(names[:number]))
        assert price_of(Examination("one", release=removed))[0].endswith(end)
        gone = replace(FINE, altered=tuple(names[:number]))
        assert next(iter(_left_out(results(row()), gone))).endswith(f"{end}.")
    silent = [Undeclared(silent=tuple(names[:number])) for number in (4, 5)]
    assert [decided(row(), choice(), undeclared=one).words.split("what ")[1] for one in silent] == [
        "v00, v01, v02 and v03 are",
        "v00, v01, v02, v03 and 1 other are",
    ]


def drawn(name: str, *use: float) -> Row:
    """A random candidate with the usefulness of its draws."""
    one = row(name, use=sum(use) / len(use))
    return replace(one, values={**one.values, "U()": use}, replicates=len(use))


def test_a_draw_that_goes_out_and_is_worse_than_another_candidate_is_told() -> None:
    """The first draw goes out: .8, with a mean of .85. That of another has .83, whose mean is .8."""
    one, other = drawn("one", 0.8, 0.9), drawn("other", 0.83, 0.77)
    chosen = choice(feasible=("one", "other"))

    def said(*rows: Row, of: Choice = chosen) -> list[str]:
        return list(_unlucky(results(*rows), rows[0], of, {"other": "the other"}))

    assert said(one, other) == [
        "The draw that goes out has Usefulness 80 %, and the mean of the draws is 85 %: the other would go out with "
        "83 %. Choose it with --choose, or draw again with another seed."
    ]
    assert said(one, drawn("other", 0.815, 0.9)) == []  # less than two hundredths better, whatever its other draws
    third, more = drawn("third", 0.84, 0.1), replace(chosen, feasible=("one", "other", "third"))
    assert "go out with 84 %" in said(one, other, third, of=more)[0]  # whatever its mean
    assert said(drawn("one", 0.8), other) == []  # nothing was drawn
    assert said(one, other, of=replace(chosen, passed_over=("other",))) == []
    assert said(one, other, of=replace(chosen, feasible=("one",))) == []
    assert said(drawn("one", float("nan"), 0.9), other) == []


def test_of_several_draws_the_first_goes_out() -> None:
    assert _going_out(drawn("one", 0.8, 0.9), "U()", None) == 0.8
    assert _going_out(drawn("one", 0.8), "U()", None) is None  # it is the mean
    assert _going_out(drawn("one", 0.8, 0.9), "U()", replace(FINE, after={"U()": 0.7})) == 0.7  # after repairs
    assert _going_out(None, "U()", None) is None


def test_lines_that_are_no_measure_are_explained_where_they_stand() -> None:
    assert decided(row(), choice(), FINE).explained == ()
    repaired = decided(row(), choice(), replace(FINE, after={"U()": 0.5}))
    assert len(repaired.changes) == 3  # two measures, and one of them after repairs
    assert [one.split(":")[0] for one in repaired.explained] == ["Of the file that goes out"]
