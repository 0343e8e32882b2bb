"""Draws the map of the tutorial anew, img/tutorial-map.svg, by running the page up to its first sweep."""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent

if __name__ == "__main__":
    text = (HERE / "tutorial.md").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        page = Path(folder) / "tutorial.md"
        page.write_text(text.partition("## 7.")[0], encoding="utf-8")
        subprocess.run([sys.executable, HERE.parent / "tests" / "run_page.py", page], cwd=folder, check=True)
        shutil.copy(Path(folder) / "sweep" / "plots" / "map.svg", HERE / "img" / "tutorial-map.svg")
