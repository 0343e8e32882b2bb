"""The command line as a process of its own: what it imports, and what an interruption leaves."""

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from small_survey import write_survey
from waiting import PATIENCE, until

HEAVY = ("numpy", "scipy", "numba", "altair", "pyarrow", "pandas", "polars", "vl_convert", "joblib", "PIL", "jinja2")


def _sfumato(*words: object) -> list[str]:
    return [sys.executable, "-m", "sfumato", *map(str, words)]


def test_the_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom sfumato.cli import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_bad_input_leaves_no_traceback() -> None:
    done = subprocess.run(_sfumato("inspect", "nowhere.csv"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_interrupted_sweep_leaves_with_130_and_continues(tmp_path: Path) -> None:
    survey = write_survey(tmp_path)
    out = tmp_path / "release"
    words = ["sweep", survey, "--out", out, "--workers", 1, "--replicates", 400, "--seed", 1, "--json"]
    words += ["--method", "RankSwapping(p=[0.1, 0.2])", "--measure", "InformationLoss"]
    running = subprocess.Popen(_sfumato(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = out / "results.sqlite"
    until(lambda: _finished(store) >= 10 or running.poll() is not None, "the sweep did not get going")
    running.send_signal(signal.SIGINT)
    _, messages = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, messages
    assert "run the same command again to continue" in messages
    kept = _finished(store)
    assert kept >= 10
    words[words.index("--replicates") + 1] = 5  # the first ones are there already
    again = subprocess.run(_sfumato(*words), capture_output=True, text=True, check=True)
    assert len(json.loads(again.stdout)["candidates"]) == 2
    assert _finished(store) >= kept


def _finished(store: Path) -> int:
    """Count the figures that are safe on disk."""
    if not store.is_file():
        return 0
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM cells").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet, or being written
        return 0
    finally:
        connection.close()
