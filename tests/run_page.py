"""Runs the code of one page in the current folder: python blocks in one session, as in a notebook, sh blocks by sh.

A ``text`` block that follows directly shows what the block prints: each of its lines must be there, in this order, with
blanks counted as one; a line ``…`` stands for lines left out.

By hand: ``cd somewhere; python .../tests/run_page.py .../docs/tutorial.md``.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
WIDTH = "100"  # of the terminal in which output is shown


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Return the language, the code and the output shown of every block that is to run, in order."""
    return [found for found in BLOCK.findall(text) if found[0] in ("python", "sh")]


def run(page: Path) -> None:
    """Run every block; the first that fails, or prints something else than the page shows, ends it."""
    session: dict[str, Any] = {"__name__": "__main__"}
    for number, (language, code, shown) in enumerate(blocks(page.read_text(encoding="utf-8")), start=1):
        where = f"{page.name}, block {number} ({language})"
        print(f"--- {where}", flush=True)
        printed = _python(code, where, session) if language == "python" else _shell(code)
        print(printed, flush=True)
        _compare(shown, printed, where)


def _python(code: str, where: str, session: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, where, "exec"), session)
    return out.getvalue()


def _shell(code: str) -> str:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", code],
        env={**os.environ, "PATH": tools, "COLUMNS": WIDTH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout, flush=True)
        raise SystemExit(f"exit code {done.returncode} of\n{code}")
    return done.stdout


def _compare(shown: str, printed: str, where: str) -> None:
    rest = iter(_lines(printed))
    for line in _lines(shown):
        if line != "…" and line not in rest:  # reads on to the line, and no further
            raise SystemExit(f"{where} does not print, where the page says so:\n{line}")


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


if __name__ == "__main__":
    run(Path(sys.argv[1]))
