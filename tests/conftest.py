"""What holds for all tests."""

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sfumato.compare.bootstrap import MIN_REPETITIONS
from sfumato.compare.examine.look import REPETITIONS
from small_survey import write_schema, write_survey
from tiers import TESTS, kinds_of, spent

# A busy machine is no failure: no test depends on how long it takes. What must pass before a change lands (CI is set)
# tries the same examples each time, so that only the change can fail; everywhere else new ones are looked for.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("any machine")
os.environ.pop("COLUMNS", None)  # what is printed is as wide as where nobody says how wide the terminal is


TIMES = os.environ.get("SFUMATO_TIMES")  # a file for what each test takes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their kind, and "slow" those that ``make test`` leaves to ``make test-all``."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            for kind in kinds_of(item.path.relative_to(TESTS).as_posix(), item.name):
                item.add_marker(kind)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Write down what each test takes, if that is asked for."""
    begun = spent()
    yield
    if TIMES is not None:
        with Path(TIMES).open("a", encoding="utf-8") as file:
            file.write(f"{spent() - begun:.3f}\t{item.nodeid}\n")


@pytest.fixture(autouse=True)
def known_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments without a seed draw a secret one; tests must give the same figures in every run."""
    for module in ("experiment", "tune"):
        monkeypatch.setattr(import_module(f"sfumato.compare.{module}"), "drawn_seed", lambda: 0)


@pytest.fixture(scope="session", autouse=True)
def few_repetitions() -> Iterator[None]:
    """A figure is resampled as often as an interval needs, not as often as ten seconds of this machine allow.

    A sweep repeats it a hundred times; tests of that say so (``all_repetitions``).
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(import_module("sfumato.compare.examine.look"), "REPETITIONS", MIN_REPETITIONS)
        yield


@pytest.fixture
def all_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure is resampled as often as in a sweep of a user."""
    monkeypatch.setattr(import_module("sfumato.compare.examine.look"), "REPETITIONS", REPETITIONS)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_survey(tmp_path)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return write_schema(tmp_path)
