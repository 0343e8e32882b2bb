"""A process that computes what it is sent, run as a script: it imports nothing of the package before it is told where.

Frames go over two pipes: eight bytes of length, then a pickle. The first frame holds the paths of modules. Each later
one is answered by a frame with what came of it, the memory used at most so far and the seconds of work.
"""

import os
import pickle
import signal
import struct
import sys
import threading
import time
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")


def send(out: BinaryIO, content: bytes) -> None:
    """Write a frame."""
    out.write(LENGTH.pack(len(content)))
    out.write(content)
    out.flush()


def receive(source: BinaryIO) -> bytes | None:
    """Read a frame; None if there is no more."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    content = source.read(length)
    return content if len(content) == length else None


def answered(content: bytes) -> bytes:
    """Carry out a call and return a pickle of what came of it: whether it went well, and the result or the error."""
    start = time.process_time()
    result: tuple[bool, Any]
    try:
        function, arguments = pickle.loads(content)
        result = True, function(*arguments)
    except BaseException as error:
        result = False, error
    usage = _peak(), time.process_time() - start
    try:
        return pickle.dumps((*result, *usage), protocol=5)
    except Exception as error:  # an error that holds what cannot be sent
        said = RuntimeError(f"{type(result[1]).__name__}: {result[1]} ({error})")
        return pickle.dumps((False, said, *usage), protocol=5)


def _peak() -> int:
    """Return the bytes of memory this process has used at most."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main() -> None:
    """Answer frames until there are no more, or the process that sends them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the one that sends decides
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a function prints must not get into the answers
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    first = receive(source)
    if first is None:
        return
    sys.path[:] = pickle.loads(first)
    while (content := receive(source)) is not None:
        send(out, answered(content))


if __name__ == "__main__":
    main()
