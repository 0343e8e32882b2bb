"""What an audit says: verdicts by reading and basis, repairs by route, lists, examples."""

from dataclasses import replace
from typing import Any

import pytest

from sfumato import Schema, Variable
from sfumato.auditing.findings import (
    Audit,
    Checked,
    Example,
    Name,
    Restored,
    Route,
    _counted,
    _linked,
    figures,
    listed,
    overall,
    repair,
    verdict,
)

FOUND = Restored("pay", "as published", ("a", "b"), 1234, 0.9, 0.9, 0.25, None, "the file", "restores")


def route(name: Name = "columns", found: Restored = FOUND, **more: Any) -> Route:
    return Route(name, found, (found,), **more)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "restores 90.0% of 1,234 protected values of pay from a and b, against 25.0% by the best guess"),
        ({"values": 1}, "restores 90.0% of 1 protected value of pay from a and b, against 25.0% by the best guess"),
        ({"evidence": ()}, "restores 90.0% of 1,234 protected values of pay, against 25.0% by the best guess"),
        (
            {"exactly": 0.5, "reading": "association"},
            "gives 90.0% of 1,234 protected values of pay from a and b, against 25.0% by the best guess; 50.0% to the "
            "last digit, the others near: an association, no way back",
        ),
        (
            {"exactly": 0.5, "basis": "exactly"},
            "restores 90.0% of 1,234 protected values of pay exactly from a and b, against 25.0% by the best guess",
        ),
        (
            {"basis": "the file alone", "reading": "luck"},
            "gives 90.0% of 1,234 protected values of pay from a and b, against 25.0% by a guess from the file alone: "
            "too few to tell from luck",
        ),
        (
            {"reading": "nothing"},
            "restores nothing (90.0% of 1,234 protected values of pay from a and b, against 25.0% by the best guess)",
        ),
    ],
)
def test_a_verdict_says_what_is_counted_and_what_it_means(changes: dict[str, Any], said: str) -> None:
    assert verdict(replace(FOUND, **changes)) == said


def test_names_are_listed_as_in_a_sentence() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(list("abcd")) == "a, b, c and d"
    assert listed(list("abcde")) == "a, b, c, d and 1 more"
    assert listed(list("abcde"), most=2) == "a, b and 3 more"
    assert [_counted(n, "route") for n in (0, 1, 2000)] == ["0 routes", "1 route", "2,000 routes"]


def test_a_repair_names_what_to_declare() -> None:
    schema = Schema((Variable("pay"), Variable("rent"), Variable("fee", linked=("rent",)), Variable("w")), weight="w")
    one = replace(FOUND, evidence=("rent",))
    assert repair("columns", [one], schema) == (
        'declare linked = "pay" under [variables.rent], so that it follows, or drop one or treat both alike: '
        "rent tells pay"
    )
    followed = replace(one, variable="fee")
    assert repair("columns", [followed], schema) == "drop one or treat both alike: rent tells fee"  # declared already
    back = replace(one, variable="rent", evidence=("fee",))
    assert repair("columns", [back], schema) == "drop one or treat both alike: fee tells rent"
    for name in ("w", "gone"):  # the weight follows nothing, and what is not there cannot be declared
        told = repair("columns", [replace(one, evidence=(name,))], schema)
        assert told == f"drop one or treat both alike: {name} tells pay"
    assert repair("sums", [FOUND], schema).endswith("or drop one: pay = a b")
    assert repair("combinations", [FOUND], schema).endswith("a with b tells pay")
    assert repair("weight", [FOUND, FOUND], schema).endswith("so that it no longer tells pay")


def test_links_reach_over_several_steps() -> None:
    schema = Schema((Variable("a"), Variable("b", linked=("a",)), Variable("c", linked=("b",)), Variable("d")))
    assert _linked(schema, "c", "a")
    assert _linked(schema, "a", "c")
    assert not _linked(schema, "c", "d")


def test_the_headline() -> None:
    assert overall((), {"pay": 0}) == "Nothing to restore: no value of the file differs from the original."
    alarm = overall((route(), route("ids"), Route("order", untried="no")), {"pay": 7, "town": 3})
    assert alarm == (
        "The file gives protected values back by 2 routes, of 10 protected values of 2 variables: another column, ids "
        "and their patterns"
    )
    nothing = replace(FOUND, reading="nothing")
    association = replace(FOUND, reading="association")
    assert overall((route(found=nothing),), {"pay": 1}) == (
        "The file keeps what was protected: no route tells more of 1 protected value of 1 variable than a guess does."
    )
    assert overall((route(found=nothing), route("ids", association)), {"pay": 2}) == (
        "The file keeps what was protected: no route leads back to 2 protected values of 1 variable; 1 of 2 tells more "
        "than a guess does, 1 by association."
    )
    luck = route("order", replace(FOUND, reading="luck"))
    assert "2 of 2 tell more than a guess does, 1 by association, 1 by what may be luck" in overall(
        (route("ids", association), luck), {"pay": 2}
    )


def test_an_audit_passes_if_no_route_restores() -> None:
    association = replace(FOUND, reading="association")
    quiet = Audit(9, {"pay": 2}, (route(found=association), Route("order", untried="no")), 0.01, 0.1, "id", "fine")
    assert quiet.passed
    assert not route(found=association).alarm
    assert quiet["order"].untried == "no"
    assert quiet.repairs == ()
    loud = replace(quiet, routes=(route(repair="drop it"), route("ids", repair="drop it")))
    assert not loud.passed
    assert loud.repairs == ("drop it",)
    assert repr(quiet) == "fine\n  another column: "
    assert "restores</td>" in loud._repr_html_()
    assert "restores</td>" not in quiet._repr_html_()
    assert figures(route()) == ("pay", "1,234", "90.0%", "25.0%")
    assert figures(Route("order")) == ("–",) * 4
    assert FOUND.excess == pytest.approx(0.65)


def test_a_table_that_was_not_audited_has_not_passed_unless_excused() -> None:
    assert not Checked(unaudited="no record matched").passed
    assert Checked(excused=True).passed
    failed = Audit(9, {"pay": 2}, (route(),), 0.01, 0.1, "id", "bad")
    assert not Checked(audit=failed, excused=True).passed
    assert Checked(altered=("a", "b", "a"), missing={"b": 0.1}).gone == ("a",)


def test_an_example_near_the_value_says_so() -> None:
    assert Example(1, "pay", "blank", "12", "rent = 3").told == "12"
    assert Example(1, "pay", "blank", "12", "rent = 3", exact=False).told == "about 12"
