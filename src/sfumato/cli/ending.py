"""How a command ends that is told to: a signal ends it like Ctrl-C, keeps what is finished and ends its workers."""

import signal
from types import FrameType

INTERRUPTED = 130
SIGNALS = ("SIGTERM", "SIGHUP")  # from a service manager or `kill`, and from a terminal that is closed


class Told(KeyboardInterrupt):
    """An interruption by a signal, which has a number."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def end_on_signals() -> None:
    """Let signals end the program like Ctrl-C; one that is ignored, as `nohup` has it, stays so."""
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # it is ending already
    raise Told(number)


def exit_code(interruption: BaseException) -> int:
    """Return 128 and the number of the signal, as shells do; it may have been told in other words since."""
    told: BaseException | None = interruption
    while told is not None and not isinstance(told, Told):
        told = told.__context__
    return INTERRUPTED if told is None else 128 + told.number
