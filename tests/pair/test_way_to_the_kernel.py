"""A count of equal keys is reached in a few steps, which somebody who debugs it can read."""

import inspect
from pathlib import Path

import pytest

import sfumato
from sfumato.kernels import groups
from sfumato.pair import statistics
from tables import persons

PACKAGE = Path(sfumato.__file__).parent


def test_k_anonymity_reaches_its_kernel_in_eight_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[list[str]] = []

    def watched(codes: statistics.Codes) -> object:
        own = [one.function for one in inspect.stack() if PACKAGE in Path(one.filename).parents]
        frames.append([*own[::-1], "classes"])
        return groups.classes(codes)

    monkeypatch.setattr(statistics, "classes", watched)
    data = persons(60)
    sfumato.KAnonymity(3).evaluate(data, data)
    (path,) = frames
    assert path[0] == "evaluate" and len(path) <= 8, path
