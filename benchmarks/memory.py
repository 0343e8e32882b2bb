"""How much memory a benchmark took: one way for all of them."""

import resource
import sys
from pathlib import Path


def peak_memory() -> float:
    """Peak memory of this process in MB.

    The kernel's own figure where there is one: getrusage also counts what the parent held when it started this process.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1024)
