"""What is recorded of a protection, and how two protections in a row add up."""

import pytest

from sfumato import SchemaError, Treatment


def test_groups_are_followed_from_the_first_category_to_the_last() -> None:
    first = Treatment(groups=(("a", "ab"), ("b", "ab"), ("c", "c")))
    second = Treatment(groups=(("ab", "all"), ("c", "all")))
    assert first.then(second).groups == (("a", "all"), ("b", "all"), ("c", "all"))


def test_limits_narrow_counts_add_and_what_was_false_stays_false() -> None:
    first = Treatment(bottom=1.0, top=90.0, suppressed=3, perturbed=True)
    both = first.then(Treatment(bottom=5.0, top=95.0, suppressed=4, base=10.0))
    assert both == Treatment(bottom=5.0, top=90.0, base=10.0, suppressed=7, perturbed=True)


def test_nothing_done_is_false_and_changes_nothing() -> None:
    assert not Treatment()
    cut = Treatment(cuts=(18, 65))
    assert Treatment().then(cut) == cut == cut.then(Treatment())
    assert cut.recoded and not Treatment(suppressed=2).recoded
    assert repr(cut) == "Treatment(cuts=(18.0, 65.0))"


def test_a_category_in_two_groups_and_falling_cuts_are_refused() -> None:
    with pytest.raises(SchemaError, match="one category into two groups"):
        Treatment(groups=(("a", "x"), ("a", "y")))
    with pytest.raises(SchemaError, match="must rise"):
        Treatment(cuts=(5, 5))
