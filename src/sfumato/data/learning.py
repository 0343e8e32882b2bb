"""What the parts of a table have in common: each is looked through once, and those that disagree are named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data import columns as read_columns
from sfumato.data.decimals import EXACT
from sfumato.data.formats.parquet import Place, bounds, raw, types
from sfumato.data.microdata import check_special
from sfumato.data.schema import Category, Schema, Variable, a_kind
from sfumato.errors import DataError, SchemaError

MOST_CATEGORIES = 2**20  # more than that are names of the records, which a schema cannot list


@dataclass(frozen=True)
class Column:
    """What one part tells of one variable."""

    variable: Variable | None  # None: it does not fit what is known of the original's
    type: pa.DataType
    sorted: bool = True  # whether its categories come in ascending order, not in an order of their own

    @property
    def silent(self) -> bool:
        """Whether the part has no value that could tell."""
        return bool(pa.types.is_null(self.type))


@dataclass(frozen=True)
class Learned:
    """What one part tells of all variables."""

    place: Place
    columns: Mapping[str, Column]
    weighs: bool = True  # whether a record has a weight above zero


def learn(place: Place, told: Schema, *, fitting: bool = False, only: Sequence[str] | None = None) -> Learned:
    """Look through a part: read what its types do not tell, and refuse what cannot be right whatever the others hold.

    ``fitting``: what is told comes from the original of a protected table, and need not hold.
    """
    found: dict[str, Column] = {}
    special: dict[str, NDArray[Any]] = {}
    stated = {variable.name: variable for variable in told}
    needed = {told.weight, told.id}
    try:
        for entry in types(place.path):
            if only is not None and entry.name not in only:
                continue
            known = stated.get(entry.name)
            variable = None if entry.name in needed else _by_type(place, entry, known)
            if variable is not None:
                found[entry.name] = Column(variable, entry.type)
                continue
            column = raw(place.path, place.groups, entry.name)
            variable = None if entry.name in needed else _by_texts(entry, column, known)
            if variable is not None:
                found[entry.name] = Column(variable, entry.type)
                continue
            if fitting and known is not None:
                found[entry.name] = Column(read_columns.fitted(known, _decoded(column, entry.type)), entry.type)
                continue
            listed = known is None or known.kind != "ordinal" or bool(known.categories)
            typed = _as_typed(column, entry.type) if listed else _decoded(column, entry.type)
            variable, values = read_columns.read(entry.name, typed, known)
            found[entry.name] = Column(variable, entry.type, not pa.types.is_dictionary(entry.type))
            if entry.name in needed:
                special[entry.name] = values
        weighs = _special(told, found, special)
    except DataError as error:
        raise type(error)(f"part {place.name}: {error}") from None
    return Learned(place, found, weighs)


def _by_type(place: Place, entry: pa.Field, known: Variable | None) -> Variable | None:
    """Return a variable whose kind shows in the type of its column; None: its values must be looked at."""
    if known is not None and not known.kind_by_rule and known.kind != "numeric":
        return None
    bare = Variable(entry.name, declared=False)
    variable = bare if known is None else replace(known, kind="numeric", kind_by_rule=False)
    if pa.types.is_floating(entry.type) or pa.types.is_null(entry.type):
        return variable
    if pa.types.is_integer(entry.type):
        ends = bounds(place.path, place.groups, entry.name)
        if ends is not None and max(abs(end) for end in ends) <= EXACT:
            return variable
    return None


def _by_texts(entry: pa.Field, column: Any, known: Variable | None) -> Variable | None:
    """Return a nominal variable of text by the texts that occur, without a look at who has which; None: not so."""
    if pa.types.is_dictionary(entry.type) or not pa.types.is_dictionary(column.type):
        return None
    variable = Variable(entry.name, kind="nominal", declared=False) if known is None else known
    if variable.kind != "nominal" or variable.kind_by_rule or variable.missing:
        return None
    texts = pa.concat_arrays([chunk.dictionary for chunk in column.chunks]).unique().drop_null().to_pylist()
    if not variable.categories:
        return replace(variable, categories=tuple(sorted(texts)))
    return variable if set(texts).issubset(variable.categories) else None


def _as_typed(column: Any, kind: pa.DataType) -> Any:
    """Return text that is read as codes as what it is: the order of its categories is that of the texts."""
    if pa.types.is_dictionary(kind) or not pa.types.is_dictionary(column.type):
        return column
    whole = column.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    order = pc.sort_indices(whole.dictionary)
    place = np.empty(len(order), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(place).take(whole.indices), whole.dictionary.take(order))


def _decoded(column: Any, kind: pa.DataType) -> Any:
    """Return text as text."""
    return column if pa.types.is_dictionary(kind) else column.cast(kind)


def _special(told: Schema, found: Mapping[str, Column], values: Mapping[str, NDArray[Any]]) -> bool:
    """Refuse weights and ids of this part that cannot be right; tell whether a record has a weight above zero."""
    if not values:
        return True
    variables = tuple(column.variable for name, column in found.items() if name in values and column.variable)
    weight = told.weight if told.weight in values else None
    weighs = weight is None or bool(values[weight].any())
    # a part may weigh nothing as long as another does; missing and negative weights are refused in any
    schema = Schema(variables, weight=weight if weighs else None, id=told.id if told.id in values else None)
    check_special(schema, values)
    return weighs


def common(
    learned: Sequence[Learned], stated: Mapping[str, Variable], *, fitting: bool = False
) -> dict[str, Variable | None]:
    """Return the variables of the whole table; None: of one that does not fit what is known of the original's."""
    first = learned[0]
    for part in learned[1:]:
        if list(part.columns) != list(first.columns):
            odd = sorted(set(part.columns) ^ set(first.columns))
            why = f"its columns differ in {', '.join(odd)}" if odd else "its columns stand in another order"
            raise DataError(f"part {part.place.name} does not go with {first.place.name}: {why}")
    return {name: _common(name, learned, stated.get(name), fitting=fitting) for name in first.columns}


def _common(name: str, learned: Sequence[Learned], known: Variable | None, *, fitting: bool) -> Variable | None:
    telling = [part for part in learned if not part.columns[name].silent] or list(learned[:1])
    found = [part.columns[name].variable for part in telling]
    variables = [variable for variable in found if variable is not None]
    if len(variables) < len(found):
        return None
    first, where = variables[0], telling[0].place.name
    for part, variable in zip(telling, variables, strict=True):
        if variable.kind != first.kind:
            if fitting:
                return None
            raise SchemaError(
                f"part {part.place.name}: variable {name!r} is {a_kind(variable.kind)}, as its column of type "
                f"{part.columns[name].type} says, but {a_kind(first.kind)} in {where}; state its kind in the schema, "
                "or make the files alike"
            )
        if variable.format != first.format:
            raise SchemaError(
                f"part {part.place.name}: variable {name!r} has dates of the form {variable.format!r}, but "
                f"{first.format!r} in {where}; state its format in the schema"
            )
    if first.quantitative or (known is not None and known.categories and not fitting):
        return first
    return replace(first, categories=_categories(name, telling, variables, known))


def _categories(
    name: str, parts: Sequence[Learned], variables: Sequence[Variable], known: Variable | None
) -> tuple[Category, ...]:
    """Put the categories of all parts together, those of the original first."""
    before: tuple[Category, ...] = () if known is None else known.categories
    if not parts[0].columns[name].sorted and variables[0].kind == "ordinal":
        for part, variable in zip(parts, variables, strict=True):
            if variable.categories != variables[0].categories:
                raise SchemaError(
                    f"part {part.place.name}: variable {name!r} has other ordered categories than in "
                    f"{parts[0].place.name}; list them in the schema from lowest to highest"
                )
        return variables[0].categories
    occurring = dict.fromkeys(category for variable in variables for category in variable.categories)
    if len(occurring) > MOST_CATEGORIES:
        raise DataError(
            f"variable {name!r} has more than {MOST_CATEGORIES:,} different values, so it names records rather than "
            "classes; number its values, or leave it out of the files"
        )
    new = [category for category in occurring if category not in set(before)]
    if not parts[0].columns[name].sorted:
        return (*before, *new)
    try:
        return (*before, *sorted(new))  # type: ignore[type-var]
    except TypeError:
        odd = next(p for p, v in zip(parts, variables, strict=True) if _sort(v) != _sort(variables[0]))
        raise SchemaError(
            f"part {odd.place.name}: variable {name!r} has values of another type than in {parts[0].place.name}; make "
            "the files alike"
        ) from None


def _sort(variable: Variable) -> set[type]:
    return {type(category) for category in variable.categories}
