"""The best node of a lattice, by branch and bound over boxes of nodes.

A box holds all nodes between a low and a high one. If the high node cannot be kept, none of the box can, as far as what
is asked is nested; and no node of the box loses less than the bound of the two. The box of least bound is split next,
so that the search may end when the best node found loses no more than that: it is then the best of all. Whatever stops
it before, the least bound left says how far the best found may be from that.
"""

import heapq
import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sfumato.kernels.lattice.assessor import Assessed, Assessor
from sfumato.kernels.lattice.losses import Loss
from sfumato.kernels.lattice.rows import Levels, Table

KEPT = 2**28  # bytes of classes that are kept to make coarser ones of
WORTH = 3  # levels that lie between two nodes whose classes are kept
EVERY = 0.1  # seconds between two looks at a watch


class Found(NamedTuple):
    """The best node that a search found, what it loses, and what any other loses at least.

    ``exact`` says that there is no better one. Without a node that keeps what is asked, ``node`` is None.
    """

    node: Assessed | None
    loss: float
    bound: float
    exact: bool
    checked: int


class Search:
    """A search that can be stopped and taken up again."""

    def __init__(self, assessor: Assessor, loss: Loss) -> None:
        self.assessor, self.loss = assessor, loss
        self.checked: dict[Levels, Assessed] = {}
        self.best: Assessed | None = None
        self.least = math.inf
        self._bytes = 0
        self._tick = 0
        self._heap: list[tuple[float, int, Levels, Levels, Table]] = []
        top = assessor.rows.top
        self._push((0,) * len(top), top, assessor.rows.table)

    def run(
        self, seconds: float = math.inf, nodes: float = math.inf, watch: Callable[[Found], None] | None = None
    ) -> Found:
        """Search to the end, or until so much time passed or so many more nodes were looked at.

        ``watch`` is told now and then. Unless time bounds it, every machine finds the same.
        """
        start = last = time.perf_counter()
        most = len(self.checked) + nodes
        while self._heap and self._heap[0][0] < self.least:
            now = time.perf_counter()
            if now - start >= seconds or len(self.checked) >= most:
                break
            if watch is not None and now - last >= EVERY:
                last = now
                watch(self.found())
            box = heapq.heappop(self._heap)
            try:
                self._split(*box[2:])
            except BaseException:  # whoever interrupts may search on: the box is not done
                heapq.heappush(self._heap, box)
                raise
        self._lower()
        return self.found()

    def found(self) -> Found:
        """Return the best node so far."""
        left = self._heap[0][0] if self._heap else math.inf
        exact = left >= self.least or not self._heap
        return Found(self.best, self.least, min(left, self.least), exact, len(self.checked))

    def figure(self, levels: Levels, source: Table | None = None) -> Assessed:
        """Return what a node comes to, assessed once."""
        return self._assess(levels, source)[0]

    def _assess(self, levels: Levels, source: Table | None) -> tuple[Assessed, Table | None]:
        known = self.checked.get(levels)
        if known is not None:
            return known, None
        node, table = self.assessor.assess(levels, source)
        self.checked[levels] = node
        if node.kept:
            loss = self.loss.value(node)
            if loss < self.least:
                self.best, self.least = node, loss
        return node, table

    def _push(self, low: Levels, high: Levels, source: Table) -> None:
        """Keep a box whose nodes may be kept and lose less than the best so far."""
        node = self.figure(high, source)
        if not node.possible or low == high:
            return
        finest = None
        if self.loss.by_classes:
            finest, table = self._assess(low, source)
            source = self._finer(source, table)
        bound = self.loss.bound(low, finest, node)
        if bound < self.least:
            self._tick += 1
            heapq.heappush(self._heap, (bound, self._tick, low, high, source))

    def _split(self, low: Levels, high: Levels, source: Table) -> None:
        """Split a box by one key, high levels from low ones."""
        if self.assessor.rolls and sum(low) - sum(source.levels) >= WORTH:
            source = self._finer(source, self._assess(low, source)[1])
        gaps = [self.loss.gap(j, a, b) if b > a else -1.0 for j, (a, b) in enumerate(zip(low, high, strict=True))]
        key = gaps.index(max(gaps))
        a, b = low[key], high[key]
        middle = b - 1 if b - a <= WORTH else (a + b) // 2  # of few levels the highest is split off
        self._push(low, (*high[:key], middle, *high[key + 1 :]), source)
        self._push((*low[:key], middle + 1, *low[key + 1 :]), high, source)

    def _lower(self) -> None:
        """Lower the levels of the best node one by one, as long as nothing more is lost: no key is coarser in vain."""
        key = 0
        while self.best is not None and key < len(self.best.levels):
            levels = self.best.levels
            if levels[key]:
                node = self.figure((*levels[:key], levels[key] - 1, *levels[key + 1 :]))
                if node.kept and (loss := self.loss.value(node)) <= self.least + 1e-12 * abs(self.least):
                    self.best, self.least = node, min(loss, self.least)
                    key = 0
                    continue
            key += 1

    def _finer(self, source: Table, table: Table | None) -> Table:
        """Return the classes to make coarser ones of: the new ones if they are much fewer and there is room."""
        if table is None or not self.assessor.rolls or 2 * len(table.rows) > len(source.rows):
            return source
        if self._bytes + table.nbytes > KEPT:
            return source
        self._bytes += table.nbytes
        return table


def every_node(search: Search) -> Iterator[Assessed]:
    """Assess every node, one after the other; the classes of a node are made from those of a finer one."""
    top = search.assessor.rows.top

    def below(levels: Levels, source: Table) -> Iterator[Assessed]:
        key = len(levels)
        for level in range(top[key] + 1):
            node = (*levels, level, *(0,) * (len(top) - key - 1))
            at = source
            if level or not key:
                found, table = search.assessor.assess(node, source)
                search.checked.setdefault(node, found)
                yield found
                at = table
            if key + 1 < len(top):
                yield from below((*levels, level), at)

    yield from below((), search.assessor.rows.table)
