"""A process that attacks: one line in for each attack, one line out for what came of it.

It is a process of its own because an attack may end it: a library that crashes on a damaged file, a kernel that
reads beyond its arrays. Whoever feeds it knows which attack that was.
"""

import json
import os
import resource
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import psutil
import vl_convert

from adversary.attack import described, drawn_for
from adversary.kinds import KINDS

MEMORY = 12 * 2**30  # bytes of address space: a file that claims to be huge must not take the machine


def attack(kind: str, seed: int, number: int) -> dict[str, object]:
    """Do one attack and tell what came of it."""
    began = time.monotonic()
    done: dict[str, int] = {}
    found = None
    with tempfile.TemporaryDirectory(prefix="adversary-") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            done = dict(KINDS[kind].strike(drawn_for(seed, kind, number), Path(folder)))
        except Exception as error:
            found = described(error)
    return {"done": done, "found": found, "seconds": time.monotonic() - began}


def _end_with(parent: int) -> None:
    """End when whoever feeds this process is gone, whatever it is at."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Answer lines of the form ``kind seed number`` until there are no more."""
    vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}})  # it reserves much address space, and dies of
    reserved = psutil.Process().memory_info().vms  # having none; what it has reserved does not count
    resource.setrlimit(resource.RLIMIT_AS, (reserved + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers, sys.stdout = sys.stdout, sys.stderr  # what an attack prints is no answer
    for line in sys.stdin:
        kind, seed, number = json.loads(line)
        answers.write(json.dumps(attack(kind, seed, number)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
