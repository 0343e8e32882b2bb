"""Compare everything with what is expected, or write it anew: ``python -m golden [write] [CASE ...]``.

A case is named, or several by a pattern such as ``'measures-*'``.
"""

import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

from golden.cases import all_cases
from golden.texts import differences, machine

EXPECTED = Path(__file__).parent / "expected"


def made(name: str) -> str:
    """Return the text of a case, made in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        return "\n".join((machine(), *all_cases()[name](Path(folder)))) + "\n"


def named(patterns: list[str]) -> list[str]:
    """Return the cases that patterns name, all of them if there is none."""
    known = list(all_cases())
    unknown = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in known)]
    if unknown:
        raise SystemExit(f"there is no case {', '.join(unknown)}; there are {', '.join(known)}")
    return [name for name in known if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def main(words: list[str]) -> int:
    """Compare or write; 1 if anything differs."""
    write = words[:1] == ["write"]
    chosen = named(words[write:])
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
