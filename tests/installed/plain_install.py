"""The built distributions, and an environment in which nothing but the wheel is installed: ``make test-wheel``."""

import os
import subprocess
from pathlib import Path

import pytest

BUILT = Path(os.environ.get("SFUMATO_BUILT", "nowhere"))
needs_wheel = pytest.mark.skipif(not BUILT.is_dir(), reason="needs a built wheel: make test-wheel")


def distribution(kind: str) -> Path:
    """Return the wheel (``whl``) or the source distribution (``tar.gz``)."""
    (found,) = (BUILT / "dist").glob(f"*.{kind}")
    return found


def ran(folder: Path, *words: object, code: int = 0) -> str:
    """Run a command of the plain install in a folder outside the source tree; return all that it said."""
    program, *rest = map(str, words)
    done = subprocess.run(
        [str(BUILT / "plain" / "bin" / program), *rest],
        cwd=folder,
        env={name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    return done.stdout
