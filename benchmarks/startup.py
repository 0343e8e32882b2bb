"""How long a person waits: import, help, and comparing two files of 1,000 rows with a cold and a warm cache.

Run ``python benchmarks/startup.py``. Cold means that numba's and Python's own caches are empty (a folder of their own
for each run); warm is the run after it.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sfumato


def seconds(command: list[str], cache: Path) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache / "numba"), "PYTHONPYCACHEPREFIX": str(cache / "python")}
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    program = str(Path(sys.executable).parent / "sfumato")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = sfumato.household_survey(households=450)
        data = data.take(sfumato.Microdata.from_frame(data).weights().argsort()[:1000])
        sfumato.write(data, folder / "original.csv")
        sfumato.write(sfumato.Noise(0.1).protect(data, rng=1), folder / "protected.csv")
        compare = [program, "compare", str(folder / "original.csv"), str(folder / "protected.csv")]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "import sfumato": [sys.executable, "-c", "import sfumato"],
            "sfumato --help": [program, "--help"],
            "sfumato compare, 1,000 rows": compare,
        }
        for what, command in commands.items():
            colds, warms = [], []
            for run in range(3):
                cache = folder / f"{what.replace(' ', '-').replace('/', '')}-{run}"
                colds.append(seconds(command, cache))
                warms.append(min(seconds(command, cache) for _ in range(2)))
            cold, warm = min(colds), min(warms)
            print(f"{what:30s} cold {cold:6.2f} s   warm {warm:6.2f} s   ratio {cold / warm:.2f}")


if __name__ == "__main__":
    main()
