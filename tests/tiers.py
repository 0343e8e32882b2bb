"""Which tests ``make test`` leaves to ``make test-all``: kinds of tests by their place, and tests that take long.

``slow_tests.txt`` lists the tests that take over a second of processor time. To make it anew on any machine, however
busy: ``SFUMATO_TIMES=times.tsv make test-all``, then ``python tests/tiers.py times.tsv``.
"""

import resource
import sys
from pathlib import Path, PurePath

TESTS = Path(__file__).parent
LISTED = TESTS / "slow_tests.txt"
SECONDS = 1.0  # of processor time, in this process and in those it started
COMPILES = "[compiled]"  # who uses compiled code first pays for all
KINDS = {
    "docs": ("test_docs.py",),
    "study": ("studies/*",),
    "browser": ("*/test_browser*.py", "workbench/test_pictures.py"),
    "cluster": ("engine/test_dask*.py", "engine/test_spark.py", "engine/test_ray.py"),
    "release": ("installed/*",),
    "process": (
        "adversary/*",
        "attacks/*",
        "cli/test_process.py",
        "cli/test_signals.py",
        "compare/test_killed.py",
        "engine/test_faults.py",
        "project/test_scripts.py",
        "test_contract_engine.py",
        "test_plug_ins.py",
        "workbench/test_killed_server.py",
    ),
}
SWEEPS = ("demo", "sweep", "compare", "of-0-2-0")  # golden results that take a run of the command line


def kinds_of(path: str, name: str) -> list[str]:
    """Return the kinds of a test, and "slow" for all that ``make test`` leaves out.

    >>> kinds_of("workbench/test_browser_open.py", "test_a_page"), kinds_of("risk/test_suda.py", "test_by_hand")
    (['browser', 'slow'], [])
    """
    place = PurePath(path)
    found = [
        kind for kind, patterns in KINDS.items() if any(place.match(f"tests/{p}") or place.match(p) for p in patterns)
    ]
    golden = path.startswith("golden/") and any(f"[{sweep}" in name for sweep in SWEEPS)
    listed = f"{path}::{name}" in slow_tests()
    return [*found, "slow"] if found or golden or listed else []


def slow_tests() -> frozenset[str]:
    """Return the tests that take long, by path and name below ``tests``."""
    return _LISTED


_LISTED = frozenset(LISTED.read_text(encoding="utf-8").splitlines()) if LISTED.exists() else frozenset()


def spent() -> float:
    """Return the processor time of this process and of those it waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def main(times: Path) -> None:
    """Write the list from measured times: a line per test, seconds and name."""
    told = (line.split("\t") for line in times.read_text(encoding="utf-8").splitlines())
    slow = {name.removeprefix("tests/") for seconds, name in told if float(seconds) > SECONDS and COMPILES not in name}
    slow = {name for name in slow if not name.startswith("src/")}
    by_hand = {name for name in slow if not kinds_of(*name.split("::", 1)) or name in slow_tests()}
    LISTED.write_text("".join(f"{name}\n" for name in sorted(by_hand)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
