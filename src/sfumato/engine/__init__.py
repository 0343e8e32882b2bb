"""Where parts are computed: in this process, in processes of this machine, or on a cluster that is there already."""

from sfumato.engine.engine import Engine, current
from sfumato.engine.processes import LocalProcesses
from sfumato.engine.summaries import Summaries

__all__ = ["Engine", "LocalProcesses", "Summaries", "current"]
