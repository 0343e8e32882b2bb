"""Joint frontiers: who is on the frontier of each measure of utility, and of all of them at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.compare.frontier import Frontier, frontier, require_results
from sfumato.display import Preformatted
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.compare.results import Results, Which


@dataclass(frozen=True, kw_only=True)
class JointFrontiers(Preformatted):
    """The frontier of each utility by itself, and the joint one, as in Table 3 of Karr et al. (2006)."""

    single: Mapping[str, Frontier]  # by the key of the utility
    joint: Frontier  # by (11): dominated only by who is at least as good in all of them and better in one
    counts: Mapping[str, int]  # on how many of the single frontiers each candidate lies, most first

    def __repr__(self) -> str:
        width = max(map(len, self.counts), default=0)
        lines = [f"On how many of the {len(self.single)} single frontiers, and whether on the joint one:"]
        for name, count in self.counts.items():
            lines.append(f"  {name.ljust(width)}  {count}  {'joint' if name in self.joint.on else '-'}")
        return "\n".join(lines)


def joint_frontiers(
    results: "Results", *, risk: "Which | Iterable[Which]", utilities: "Iterable[Which]"
) -> JointFrontiers:
    """Find the frontier for each of several measures of utility and for all of them together.

    The more measures, the more candidates are on the joint frontier, and the less it helps to choose. A candidate that
    is on a single frontier may be off the joint one only where it ties there with one that is better otherwise. A
    candidate that lacks a figure is left out of the joint frontier, and of the single ones that need it.
    """
    require_results("joint_frontiers", results)
    several = list(utilities) if isinstance(utilities, list | tuple | set | frozenset) else []
    keys = list(dict.fromkeys(results.key(which) for which in several))
    if len(keys) < 2:
        raise ParameterError(f"joint_frontiers: give a list of two measures of utility or more; got {utilities!r}")
    single = {key: frontier(results, risk=risk, utility=key) for key in keys}
    counts = {row.candidate: sum(row.candidate in found.on for found in single.values()) for row in results.rows}
    return JointFrontiers(
        single=single,
        joint=frontier(results, risk=risk, utility=keys),
        counts=dict(sorted(counts.items(), key=lambda entry: -entry[1])),
    )
