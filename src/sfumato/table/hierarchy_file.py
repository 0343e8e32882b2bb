"""Hierarchies as files: ARX's rows, the trees of sdcHierarchies and tau-ARGUS, JSON and TOML."""

import csv
import io
import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.arguments import require
from sfumato.errors import FileError, ParameterError, SchemaError
from sfumato.table import toml_text
from sfumato.table.atomic import reason, replacing
from sfumato.table.formats import a_path
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.hierarchy_levels import TOP, row_fault

# Hierarchies written as trees, as sdcHierarchies and tau-ARGUS have them, turned into rows.

Row = tuple[object, ...]


def _of_depths(where: str, nodes: Sequence[tuple[int, int, str]]) -> list[Row]:
    """Return the rows of a tree written line by line: the line, how deep it stands, and what it is called.

    A leaf that stands less deep than others is its own group at the lowest levels.

    >>> _of_depths("h.csv", [(2, 1, "Total"), (3, 2, "A"), (4, 3, "a1"), (5, 3, "a2"), (6, 2, "B")])
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


def _of_parents(where: str, nodes: Sequence[Any]) -> list[Row]:
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


ROWS = (".csv", ".tsv", ".txt")
KNOWN = (*ROWS, ".hrc", ".json", ".toml")
SEPARATORS = (";", "\t", "|", ",")  # ARX's own first, a comma last, since intervals have one
ROW_EXAMPLE = '[["Aix", "south", "France"], ...]'
PathLike = str | os.PathLike[str]


def read_hierarchy(path: PathLike) -> Hierarchy:
    """Read a hierarchy from a file; what makes it none is refused with the line and the cure.

    - .csv, .txt, .tsv: as ARX writes it, a row for each category, a column for each level, no header; parted by
      semicolons, commas, tabs or bars, with or without quotes. Or the table of sdcHierarchies, ``level`` and ``name``,
      where as many @ stand before a name as it is deep.
    - .hrc: tau-ARGUS' tree, with @ before what is deeper; the top, which has no line, is called ``*``.
    - .json: ``{"Aix": ["south", "France"], ...}``, rows, or sdcHierarchies' list of ``id`` and ``parent``.
    - .json, .toml: ``rows``, ``cuts``, ``widths`` or ``spans``, and ``names``, ``labels`` or ``start``, as
      ``Hierarchy`` has them.
    """
    file = a_path(path)
    text = _text(file)
    suffix = file.suffix.lower()
    if suffix not in KNOWN:
        raise FileError(f"{file} has the suffix {file.suffix!r}; a hierarchy is read from {', '.join(KNOWN)}")
    if not text.strip():
        raise SchemaError(f"{file} is empty; a hierarchy has a row for each category: the category, then its groups")
    if suffix == ".json":
        made = _of_json(file, text)
    elif suffix == ".toml":
        made = _of_toml(file, text)
    else:
        made = Hierarchy(rows=tuple(_of_tree(file, text) if suffix == ".hrc" else _of_rows(file, text)))
    return replace(made, file=file.resolve())


def write_hierarchy(hierarchy: Hierarchy, path: PathLike) -> None:
    """Write a hierarchy to a file, by its suffix: ARX's rows (.csv, .txt, .tsv), JSON or TOML.

    A hierarchy by cuts, widths or spans has no rows; ``listing`` makes them, of the values they are wanted for.
    """
    require("write_hierarchy", Hierarchy, "a Hierarchy", hierarchy=hierarchy)
    text = hierarchy_text(hierarchy, a_path(path))
    with replacing(path) as out:
        out.write(text.encode("utf-8"))


def hierarchy_text(hierarchy: Hierarchy, file: Path) -> str:
    """Return a hierarchy as a file of this name has it."""
    suffix = file.suffix.lower()
    if suffix not in (*ROWS, ".json", ".toml"):
        known = f"{', '.join(ROWS)}, .json or .toml"
        raise FileError(f"{file} has the suffix {file.suffix!r}; a hierarchy is written to {known}")
    if suffix in ROWS and not hierarchy.rows:
        raise ParameterError(
            f"cannot write {file}: the hierarchy has no rows but cuts, widths or spans; write .json or .toml, or "
            "hierarchy.listing(values), which has a row for each value"
        )
    if suffix == ".json":
        return _as_json(hierarchy)
    if suffix == ".toml":
        return "\n".join(hierarchy_toml(hierarchy)) + "\n"
    return _as_rows(hierarchy, "\t" if suffix == ".tsv" else ";")


def hierarchy_toml(hierarchy: Hierarchy) -> list[str]:
    """Return a hierarchy as lines of TOML."""
    lines = []
    for word, value in hierarchy.stated().items():
        if word in ("rows", "cuts", "labels"):
            lines.append(f"{word} = {toml_text.lists(value)}")
        elif word == "widths":
            lines.append(f"widths = [{', '.join(map(repr, value))}]")  # inf too, as TOML spells it
        else:
            lines.append(f"{word} = {toml_text.values(value) if isinstance(value, tuple) else toml_text.value(value)}")
    return lines


# in


def _text(file: Path) -> str:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {file}: {reason(error)}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SchemaError(
            f"{file} is not UTF-8: line {line} holds the byte 0x{raw[error.start]:02x}; save it as UTF-8"
        ) from None


def _of_rows(file: Path, text: str) -> list[tuple[object, ...]]:
    delimiters = ("\t",) if file.suffix.lower() == ".tsv" else SEPARATORS
    delimiter = _separator(file, text, delimiters) or max(delimiters, key=text.lstrip().partition("\n")[0].count)
    try:
        rows, lines = _cells(text, delimiter)
    except csv.Error as error:
        raise SchemaError(f"{file}: {error}; check its quotes") from None
    if max(map(len, rows)) == 1:
        raise SchemaError(
            f"{file}, line {lines[0]}: there is one column only, {rows[0][0]!r}; write a category and its groups, "
            "parted by semicolons (commas, tabs and bars are read too)"
        )
    if _is_tree(rows):
        body = rows[1:] if not _depth(rows[0][0]) else rows
        numbers = lines[len(rows) - len(body) :]
        return _of_depths(f"{file}", [(n, _depth(row[0]), str(row[1])) for n, row in zip(numbers, body, strict=True)])
    fault = row_fault(rows, lines)
    if fault is not None:
        raise SchemaError(f"{file}, {fault}")
    return rows


def _separator(file: Path, text: str, delimiters: Sequence[str]) -> str | None:
    """Return what parts all rows alike: of several the one that leaves intervals whole, then that with more columns."""
    found: list[tuple[bool, int, str]] = []
    for delimiter in delimiters:
        try:
            rows, _ = _cells(text, delimiter)
        except csv.Error:
            continue
        if len(rows[0]) > 1 and len({len(row) for row in rows}) == 1:
            whole = all(len(re.findall(r"[][()]", str(cell))) % 2 == 0 for row in rows for cell in row)
            found.append((whole, len(rows[0]), delimiter))
    best = [entry for entry in found if entry[:2] == max(found)[:2]]
    if len(best) > 1:
        signs = " and ".join(repr(delimiter) for _, _, delimiter in best)
        raise SchemaError(
            f"{file}: {signs} both part all rows into {best[0][1]} columns, so which is meant cannot be told; put the "
            "cells in double quotes, or part them by tabs and save it as .tsv"
        )
    return best[0][2] if best else None


def _cells(text: str, delimiter: str) -> tuple[list[tuple[object, ...]], list[int]]:
    """Return the rows of a text that are not blank, and the lines they begin in; spaces count in quotes only."""
    quoted = '"' in text
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[object, ...]] = []
    lines: list[int] = []
    began = 1
    try:
        for cells in reader:
            if cells:
                rows.append(tuple(cells if quoted else (cell.strip() for cell in cells)))
                lines.append(began)
            began = reader.line_num + 1
    except csv.Error as error:
        raise csv.Error(f"line {began}: {error}") from None
    return rows, lines


def _is_tree(rows: list[tuple[object, ...]]) -> bool:
    """Tell the table of sdcHierarchies: two columns, @ in the first of all rows but a header."""
    return all(len(row) == 2 for row in rows) and len(rows) > 1 and all(_depth(row[0]) for row in rows[1:])


def _depth(cell: object) -> int:
    return len(str(cell)) if re.fullmatch("@+", str(cell)) else 0


def _of_tree(file: Path, text: str) -> list[tuple[object, ...]]:
    nodes = [(0, 1, TOP)]
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            name = line.lstrip("@ \t")
            nodes.append((number, 2 + line[: len(line) - len(name)].count("@"), name.strip()))
    return _of_depths(f"{file}", nodes)


def _of_json(file: Path, text: str) -> Hierarchy:
    try:
        stated = json.loads(text)
    except json.JSONDecodeError as error:
        if "\u201c" in text:  # R's dQuote writes typographic quotes
            return _of_json(file, text.replace("\u201c", '"').replace("\u201d", '"'))
        raise SchemaError(f"{file}, line {error.lineno}: it is not valid JSON: {error.msg}") from None
    except RecursionError:
        raise SchemaError(f"{file} nests too deeply; a hierarchy is a list of rows: {ROW_EXAMPLE}") from None
    if isinstance(stated, list) and stated and all(isinstance(entry, dict) for entry in stated):
        return _made(file, {"rows": _of_parents(f"{file}", stated)})
    nested = isinstance(stated, list) and stated and all(isinstance(entry, list) for entry in stated)
    return _made(file, {"rows": stated} if nested else stated)


def _of_toml(file: Path, text: str) -> Hierarchy:
    try:
        return _made(file, tomllib.loads(text))
    except RecursionError:
        raise SchemaError(f"{file} nests too deeply; a hierarchy is rows = {ROW_EXAMPLE}") from None
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{file} is not valid TOML: {error}") from None


def _made(file: Path, stated: Any) -> Hierarchy:
    try:
        return Hierarchy.of(stated)
    except SchemaError as error:
        raise SchemaError(f"{file}: {error}") from None


# out


def _as_rows(hierarchy: Hierarchy, delimiter: str) -> str:
    """Write rows as ARX reads them; all in quotes where a cell holds another delimiter or spaces at its ends."""
    others = [other for other in SEPARATORS if other != delimiter]
    cells = [str(cell) for row in hierarchy.rows for cell in row]
    doubtful = any(cell != cell.strip() or any(other in cell for other in others) for cell in cells)
    out = io.StringIO()
    writer = csv.writer(
        out, delimiter=delimiter, quoting=csv.QUOTE_ALL if doubtful else csv.QUOTE_MINIMAL, lineterminator="\n"
    )
    writer.writerows(hierarchy.rows)
    return out.getvalue()


def _as_json(hierarchy: Hierarchy) -> str:
    stated = hierarchy.stated()
    if "widths" in stated:  # JSON has no infinity: null is one class
        stated["widths"] = [None if width == float("inf") else width for width in stated["widths"]]
    lines = [f"{json.dumps(word)}: {_json_value(value)}" for word, value in stated.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json_value(value: Any) -> str:
    """Write lists of lists a line each, so that a reader finds a row."""
    if isinstance(value, tuple) and value and all(isinstance(entry, tuple) for entry in value):
        return "[\n  " + ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)
