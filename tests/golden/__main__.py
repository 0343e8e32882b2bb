"""Compare everything with what is expected, or write it anew: ``python -m golden [write] [CASE ...]``."""

import sys
import tempfile
from pathlib import Path

from golden.cases import all_cases
from golden.texts import differences, machine

EXPECTED = Path(__file__).parent / "expected"


def made(name: str) -> str:
    """Return the text of a case, made in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        return "\n".join((machine(), *all_cases()[name](Path(folder)))) + "\n"


def main(words: list[str]) -> int:
    """Compare or write; 1 if anything differs."""
    write = words[:1] == ["write"]
    chosen = words[write:] or list(all_cases())
    unequal = 0
    for name in chosen:
        text, path = made(name), EXPECTED / f"{name}.txt"
        if write:
            path.write_text(text, encoding="utf-8")
            continue
        lines = differences(path.read_text(encoding="utf-8"), text)
        unequal += bool(lines)
        print(f"{name}: {f'{len(lines)} lines differ' if lines else 'equal'}", *lines[:12], sep="\n  ", flush=True)
    return int(unequal > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
