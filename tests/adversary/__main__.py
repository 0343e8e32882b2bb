"""The long run as a command: ``python -m adversary --minutes 30 --seed 1``, or one attack again."""

import argparse
import json
import secrets
import sys
from pathlib import Path

from adversary.attack import drawn_for
from adversary.kinds import KINDS
from adversary.runner import run


def main() -> int:
    """Attack for as long as it is told; 1 if anything was found."""
    words = argparse.ArgumentParser(prog="python -m adversary", description=__doc__)
    words.add_argument("--minutes", type=float, default=5.0, help="how long to attack")
    words.add_argument("--seed", type=int, default=None, help="what the attacks are drawn from; drawn if left out")
    words.add_argument("--kind", action="append", choices=[*KINDS], help="only these kinds; all if left out")
    words.add_argument("--again", nargs=2, metavar=("KIND", "NUMBER"), help="do one attack again, here, with traceback")
    words.add_argument("--findings", type=Path, default=None, help="write the findings to this file as JSON")
    asked = words.parse_args()
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    if asked.again:
        return again(asked.again[0], seed, int(asked.again[1]))
    print(f"attacking for {asked.minutes:g} minutes with seed {seed}", flush=True)
    tally = run([KINDS[name] for name in asked.kind or KINDS], seed, asked.minutes, sys.stdout)
    print(tally.table())
    if asked.findings is not None:
        asked.findings.write_text(json.dumps(tally.findings, indent=1), encoding="utf-8")
    return 1 if tally.findings else 0


def again(kind: str, seed: int, number: int) -> int:
    """Do one attack in this process and let what it raises through."""
    import tempfile
    import warnings

    with tempfile.TemporaryDirectory(prefix="adversary-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        print(dict(KINDS[kind].strike(drawn_for(seed, kind, number), Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
