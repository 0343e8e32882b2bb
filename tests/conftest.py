"""What holds for all tests."""

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

from small_survey import write_schema, write_survey

# a busy machine is no failure: no test depends on how long it takes
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def known_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments without a seed draw a secret one; tests must give the same figures in every run."""
    for module in ("experiment", "tune", "tune_jointly"):
        monkeypatch.setattr(import_module(f"sfumato.compare.{module}"), "drawn_seed", lambda: 0)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_survey(tmp_path)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    return write_schema(tmp_path)
