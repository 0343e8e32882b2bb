"""What holds for all tests."""

from importlib import import_module

import pytest
from hypothesis import settings

# a busy machine is no failure: no test depends on how long it takes
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def known_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments without a seed draw a secret one; tests must give the same figures in every run."""
    for module in ("experiment", "tune", "tune_jointly"):
        monkeypatch.setattr(import_module(f"sfumato.compare.{module}"), "drawn_seed", lambda: 0)
