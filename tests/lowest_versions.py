"""The lowest versions of all that Sfumato depends on, extras too, as constraints for pip: ``make test-lowest``.

They are read off pyproject.toml, so that a bound there is one that was tested.
"""

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"^([A-Za-z0-9._-]+)>=([0-9][0-9a-z.]*)$")


def lowest(project: dict[str, Any]) -> dict[str, str]:
    """Return the lowest version by name; each dependency must state one, and the same wherever it is named."""
    stated = chain(project["dependencies"], *project["optional-dependencies"].values())
    found: dict[str, str] = {}
    for text in stated:
        if text.startswith("sfumato["):
            continue
        parts = BOUND.match(text)
        if parts is None or found.setdefault(parts[1], parts[2]) != parts[2]:
            raise SystemExit(f"pyproject.toml: {text!r} must read name>=version, the same wherever it is named")
    return found


if __name__ == "__main__":
    for name, version in lowest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]).items():
        print(f"{name}=={version}")
