"""Hierarchies written as trees, as sdcHierarchies and tau-ARGUS have them, turned into rows."""

from collections.abc import Sequence
from typing import Any

from sfumato.data.hierarchy_checks import TOP
from sfumato.errors import SchemaError

Row = tuple[object, ...]


def of_depths(where: str, nodes: Sequence[tuple[int, int, str]]) -> list[Row]:
    """Return the rows of a tree written line by line: the line, how deep it stands, and what it is called.

    A leaf that stands less deep than others is its own group at the lowest levels.

    >>> of_depths("h.csv", [(2, 1, "Total"), (3, 2, "A"), (4, 3, "a1"), (5, 3, "a2"), (6, 2, "B")])
    [('a1', 'A', 'Total'), ('a2', 'A', 'Total'), ('B', 'B', 'Total')]
    """
    path: list[str] = []
    paths: list[tuple[str, ...]] = []
    seen: dict[str, int] = {}
    for number, (line, depth, name) in enumerate(nodes):
        if not name:
            raise SchemaError(f"{where}, line {line}: there is no name after the @; give one")
        if depth > len(path) + 1 or (not path and depth != 1):
            raise SchemaError(
                f"{where}, line {line}: {name!r} stands {depth} deep and what is above it {len(path)}; a step down is "
                "one @ more than the line above"
            )
        if depth == 1 and path:
            raise SchemaError(f"{where}, line {line}: {name!r} is a second top; a tree has one, so put @ before it")
        if seen.setdefault(name, line) != line:
            said = "is part of itself" if name in path[: depth - 1] else f"stands in line {seen[name]} already"
            raise SchemaError(f"{where}, line {line}: {name!r} {said}; each may stand once: rename or remove one")
        path[depth - 1 :] = [name]
        if number + 1 == len(nodes) or nodes[number + 1][1] <= depth:
            paths.append(tuple(path))
    return _rows(paths)


def of_parents(where: str, nodes: Sequence[Any]) -> list[Row]:
    """Return the rows of a tree in which each node names its parent, the highest ones ``#``: sdcHierarchies' JSON."""
    parent: dict[str, str] = {}
    for number, node in enumerate(nodes, start=1):
        if not isinstance(node, dict) or not isinstance(node.get("id"), str) or not isinstance(node.get("parent"), str):
            raise SchemaError(f'{where}: entry {number} needs an "id" and a "parent", both text; got {node!r}')
        if node["id"] in parent:
            raise SchemaError(f"{where}: entry {number}: {node['id']!r} stands there already; keep one of them")
        parent[node["id"]] = node["parent"]
    inner = set(parent.values())
    paths = []
    for number, leaf in enumerate(parent, start=1):
        above, place = [leaf], parent[leaf]
        while place != "#":
            if place in above:
                raise SchemaError(
                    f"{where}: entry {number}: {leaf!r} comes back to {place!r}; a group is no part of itself"
                )
            if place not in parent:
                raise SchemaError(
                    f"{where}: entry {number}: {place!r}, the parent of {above[-1]!r}, has no entry; add one"
                )
            above.append(place)
            place = parent[place]
        if leaf not in inner:
            paths.append((TOP, *reversed(above)))
    return _rows(paths)


def _rows(paths: Sequence[tuple[str, ...]]) -> list[Row]:
    """Turn paths from the top down into rows from the leaf up, all of one length."""
    deepest = max(map(len, paths))
    return [(*(path[-1],) * (deepest - len(path)), *reversed(path)) for path in paths]
