"""The command line, with figures that do not depend on how busy the machine is: as many repetitions in any time."""

import sys

import sfumato.compare.bootstrap as bootstrap
import sfumato.compare.examine.look as look
from sfumato.cli import main

if __name__ == "__main__":
    bootstrap.perf_counter = look.perf_counter = lambda: 0.0  # type: ignore[attr-defined]
    look.REPETITIONS = 20
    sys.argv[0] = "sfumato"
    main()
