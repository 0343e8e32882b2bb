"""A few attacks of each kind, always the same ones; `make adversary` goes on with others."""

from collections import Counter
from collections.abc import Iterator

import pytest

from adversary.attack import Kind
from adversary.kinds import KINDS
from adversary.runner import Attacker

SEED = 18


@pytest.fixture(scope="module")
def attacker() -> Iterator[Attacker]:
    made = Attacker()
    yield made
    made.stop()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_first_attacks_of_each_kind_find_nothing(kind: Kind, attacker: Attacker) -> None:
    done: Counter[str] = Counter()
    findings = []
    for number in range(kind.in_tests):
        answer = attacker.strike(kind.name, SEED, number)
        done.update(answer["done"])
        if answer["found"] is not None:
            findings.append(f"{number}: {answer['found']}")
    assert not findings, "\n".join(findings)
    assert done.total() > 0
