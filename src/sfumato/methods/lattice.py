"""What a search over the levels of the keys found: the best node, those beside it, all that were looked at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from sfumato.errors import ParameterError
from sfumato.kernels.lattice import Assessed, Found, Search, every_node
from sfumato.methods.key_ladders import Ladder

Row = Mapping[str, Any]
Watch = Callable[[Found], None]
MOST_NODES = 200_000  # of which all figures are kept, if asked


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """The levels that lose least, and what other levels would have come to.

    ``found`` is the best node, ``keys`` the levels there are. ``exact`` says that no other choice of levels loses
    less; if the search was stopped, ``bound`` is what any of them loses at least. ``continued`` searches on from there.
    """

    keys: tuple[Ladder, ...]
    found: Found
    search: Search
    higher_is_better: bool = False

    @property
    def levels(self) -> dict[str, int]:
        """The level of each key."""
        return dict(zip(self._names, self._node.levels, strict=True))

    @property
    def suppressed(self) -> float:
        """The share of records that lose all their keys."""
        return self._node.lost.records / self._records

    @property
    def loss(self) -> float:
        """What the best levels lose, or the value of the measure that was given."""
        return self._shown(self.found.loss)

    @property
    def bound(self) -> float:
        """What every choice of levels loses at least."""
        return self._shown(self.found.bound)

    @property
    def exact(self) -> bool:
        """Whether no other choice of levels loses less."""
        return self.found.exact

    @property
    def nodes(self) -> int:
        """How many choices of levels there are."""
        return self.search.assessor.rows.nodes

    @property
    def checked(self) -> int:
        """How many of them were looked at."""
        return self.found.checked

    def beside(self) -> tuple[Row, ...]:
        """Tell for each key what one level less would cost in risk, and one level more in utility.

        A row has the share of records that would have to be suppressed with one level less, whether that may be, and
        the loss with one level more; None where there is no such level. If what is asked cannot be kept, the share is
        of the records that are in the way, and not of what else would have to go.
        """
        rows = []
        for place, key in enumerate(self.keys):
            level = self._node.levels[place]
            less = self._moved(place, -1) if level else None
            more = self._moved(place, 1) if level < key.height else None
            rows.append(
                {
                    "key": key.name,
                    "level": level,
                    "levels": key.height,
                    "less_suppressed": None if less is None else less.lost.records / self._records,
                    "less_kept": None if less is None else less.kept,
                    "more_suppressed": None if more is None else more.lost.records / self._records,
                    "more_loss": None if more is None or not more.kept else self._shown(self.search.loss.value(more)),
                }
            )
        return tuple(rows)

    def table(self) -> tuple[Row, ...]:
        """List the nodes that were looked at: the level of each key, the records to suppress, whether it is kept."""
        return tuple(self._row(node) for _, node in sorted(self.search.checked.items()))

    def whole(self) -> tuple[Row, ...]:
        """List all nodes, those too that the search had no need to look at; no more than 200,000."""
        if self.nodes > MOST_NODES:
            raise ParameterError(f"there are {self.nodes:,} nodes; the figures of {MOST_NODES:,} at most are kept")
        return tuple(self._row(node) for node in sorted(every_node(self.search), key=lambda node: node.levels))

    def continued(self, seconds: float = inf, watch: Watch | None = None) -> "Lattice":
        """Search on for so long at most, or to the end; whoever interrupts it gets the best so far."""
        return replace(self, found=interruptible(self.search, seconds=seconds, watch=watch))

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {level}" for name, level in self.levels.items())
        return f"<Lattice: {told}; suppressed {self.suppressed:.2%}, loss {self.loss:.4g}, {self.effort()}>"

    def effort(self) -> str:
        """Say how sure it is that nothing loses less, and what it took."""
        looked = f"nodes {self.nodes:,}, looked at {self.checked:,}"
        if self.exact:
            return f"none loses less ({looked})"
        least = f"none loses less than {self.bound:.4g}" if isfinite(self.bound) else "others may lose less"
        return f"stopped before the end, {least} ({looked})"

    @property
    def _node(self) -> Assessed:
        assert self.found.node is not None  # a search without any is refused
        return self.found.node

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)

    @property
    def _records(self) -> int:
        return self.search.assessor.rows.records

    def _shown(self, loss: float) -> float:
        return -loss if self.higher_is_better else loss

    def _moved(self, place: int, step: int) -> Assessed:
        levels = list(self._node.levels)
        levels[place] += step
        return self.search.assessor.assess(tuple(levels))[0]

    def _row(self, node: Assessed) -> Row:
        return {
            **dict(zip(self._names, node.levels, strict=True)),
            "suppressed": node.lost.records / self._records,
            "kept": node.kept,
            "loss": self._shown(self.search.loss.value(node)) if self.search.loss.bounded else None,
        }


def interruptible(search: Search, *, seconds: float = inf, nodes: float = inf, watch: Watch | None = None) -> Found:
    """Run a search; whoever interrupts it gets the best so far, if there is one."""
    try:
        return search.run(seconds, nodes, watch)
    except KeyboardInterrupt:
        if search.best is None:
            raise
        return search.found()
