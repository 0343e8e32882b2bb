"""The command line: parse, call, print. Nothing heavy is imported until a command runs."""

import os

# Commands compute in several processes, on small matrices: threads of BLAS would wait for one another there, and sums
# of large ones would depend on their number. Whoever sets these variables has their way.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from sfumato.cli.app import app, main  # noqa: E402  numpy reads the variables when it is imported

__all__ = ["app", "main"]
