"""The list of slow tests names tests that are there."""

from tiers import KINDS, TESTS, slow_tests


def test_every_slow_test_is_there() -> None:
    for entry in slow_tests():
        path, _, name = entry.partition("::")
        assert f"def {name.partition('[')[0]}(" in (TESTS / path).read_text(encoding="utf-8"), entry


def test_every_kind_has_its_files() -> None:
    for patterns in KINDS.values():
        assert all(any(TESTS.rglob(pattern.rpartition("/")[2])) for pattern in patterns)
