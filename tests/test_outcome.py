import pickle

import pytest

from sfumato.errors import NotApplicable
from sfumato.outcome import Reason, Status


def test_the_class_that_refuses_is_named_once() -> None:
    assert str(NotApplicable("no keys", who="KAnonymity")) == "KAnonymity: no keys"
    assert str(NotApplicable("no keys").by("KAnonymity")) == "KAnonymity: no keys"
    assert str(NotApplicable("KAnonymity: no keys").by("KAnonymity")) == "KAnonymity: no keys"
    # the one that spoke first is kept: a step of a chain, not the chain
    assert str(NotApplicable("no keys", who="Rounding").by("Chain")) == "Rounding: no keys"


def test_a_refusal_goes_from_one_process_to_another() -> None:
    again = pickle.loads(pickle.dumps(NotApplicable("KAnonymity: no keys").by("KAnonymity")))
    assert (again.who, again.text, str(again)) == ("KAnonymity", "no keys", "KAnonymity: no keys")


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason.of(NotApplicable("no keys", who="KAnonymity")), "not applicable: KAnonymity: no keys"),
        (Reason.of(NotApplicable("no keys")), "not applicable: no keys"),
        (Reason.of(ZeroDivisionError("no luck")), "failed: ZeroDivisionError: no luck"),
        (Reason(Status.FAILED, "lost", lacking=2, replicates=3), "failed: lost (2 of 3 replicates)"),
        (Reason(Status.FAILED, "lost", lacking=3, replicates=3), "failed: lost (all of 3 replicates)"),
        (Reason(Status.FAILED, "lost").needed("Loss()"), "needs Loss(): failed: lost"),
        (Reason(Status.FAILED, "lost").needed("Loss()").needed("Score"), "needs Loss(): failed: lost"),
    ],
)
def test_a_reason_is_told_in_one_sentence(reason: Reason, sentence: str) -> None:
    assert str(reason) == sentence
