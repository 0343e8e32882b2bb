"""The schema as a file the user edits: schema.toml.

::

    weight = "w"                       # also household and id; each may be left out

    [proposed]                         # roles below that nobody has confirmed; a name that is deleted here is confirmed
    key = ["region", "education"]      # also confidential, identifier and other

    [variables.income]
    kind = "numeric"                   # numeric, ordinal, nominal or date; by the rule of its column if left out
    role = "confidential"              # key, confidential, other or identifier; other if left out
    reason = "in bands of 10,000"      # why it may go out though it looks like a name or an address; mostly left out
    label = "yearly income"            # may be left out
    missing = [-9, "refused"]          # codes that stand for a missing value; may be left out
    level = "household"                # its members share it; "record": they do not; as the table shows if left out
    linked = "wages"                   # what determines it, or a list: it follows what is done to that; may be left out
    hierarchy = [5000, 10000, 50000]   # what its values are part of: widths, [[cuts], [cuts]], rows, or a file beside

    [variables.born]
    kind = "date"
    format = "%d.%m.%Y"                # how it is written as text; may be left out for 1990-01-31 and columns of dates

    [variables.education]
    kind = "ordinal"
    categories = [1, 2, 3]             # from lowest to highest
    labels = [[1, "primary"], [2, "secondary"], [3, "tertiary"]]    # the words for categories and missing codes

    [variables.education.treatment]    # what protection did to it, in the schema of a protected table
    groups = [[1, 1], [2, 2], [3, 2]]  # also cuts, bottom, top, base, suppressed and perturbed

    [variables.region]
    kind = "nominal"
    hierarchy = "region.csv"           # relative to the schema; ``sfumato.table.hierarchy_file`` says what it reads

    [scenarios.colleague]              # an intruder; as many as there are, none: one who knows all keys
    keys = ["education", "income"]     # what he knows
    about = ["income"]                 # those of them that he knows about, not exactly; may be left out
    k = 5                              # records that must look alike to him; 3 if left out
    membership = true                  # he knows that the person is in the file; true if left out
"""

import datetime as dt
import difflib
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from sfumato.arguments import require
from sfumato.errors import FileError, SchemaError
from sfumato.table import toml_text
from sfumato.table.atomic import reason, replacing
from sfumato.table.dates import day_of, spelled
from sfumato.table.describe import Finding, describe
from sfumato.table.formats import a_path
from sfumato.table.hierarchy import Hierarchy
from sfumato.table.hierarchy_file import hierarchy_toml, read_hierarchy
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Kind, Level, Role, Scenario, Schema, Special, Variable
from sfumato.table.treatment import WRITTEN, Treatment

LISTED = 50  # longer lists of nominal categories are left out of the file
_TOP = (*get_args(Special), "proposed", "variables", "scenarios")
_OF_SCENARIO = ("keys", "about", "k", "membership")
_OF_VARIABLE = (
    "kind", "role", "reason", "categories", "missing", "label", "labels", "level", "linked", "format", "treatment",
    "hierarchy",
)  # fmt: skip
_HUGE = "{} holds a whole number of more than 308 digits, which no column of numbers can hold; correct it"
_PROPOSED = """\
# Nobody has confirmed these roles: correct them below, and delete a name, a line or this whole table to confirm.
# Nothing is published as long as a variable stands here.
[proposed]"""
_HEADER = """\
# Schema for Sfumato. Edit it, then pass it with --schema.
#   kind: numeric, ordinal (ordered categories, lowest first), nominal (categories without order) or date; without it
#   numbers are numeric, columns of dates are dates, all else is nominal
#   format = "%d.%m.%Y" says how a date is written, if it is text and not like 1990-01-31
#   role: key (an intruder may know it), confidential (an intruder would learn it), other, identifier (names the unit)
#   reason = "..." says why a variable that looks like a name, an address or a free text may be published all the same
#   missing = [-9, "refused"] declares codes for missing values; label = "..." is shown in reports
#   labels = [[1, "yes"], [2, "no"]] gives the words for categories
#   level = "household" says that the members of a household share it: it is masked once for each household
#   linked = "age", or a list, says what determines it: it is made missing, coarsened and left out together with that
#   hierarchy = "region.csv" or [5, 10, 20] says what its values are part of; `sfumato hierarchy` writes such a file
#   [scenarios.neighbour] with keys = ["region", "age"] and k = 5 says what one intruder knows and how many records must
#   look alike to him; about = ["age"] if he does not know it exactly. Without any, one knows all variables of role key
# A variable that is taken out gets its kind by the rule again.
"""


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema.toml; what it does not allow is refused with the file, the variable and the allowed words."""
    file = a_path(path)
    try:
        return schema_of(file.read_bytes().decode("utf-8-sig"), file)
    except OSError as error:
        raise FileError(f"cannot read {file}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise SchemaError(f"{file} is not UTF-8 (byte {error.start + 1}); save it as UTF-8") from None


def schema_of(text: str, file: Path) -> Schema:
    """Read a schema from the text of a file; hierarchies that it names are looked for beside the file."""
    try:
        stated = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"{file} is not valid TOML: {error}") from None
    except ValueError:  # of Python, for a whole number of more than 4,300 digits
        raise SchemaError(_HUGE.format(file)) from None
    except RecursionError:
        raise SchemaError(f"{file}: its lists stand too deep inside each other for a schema") from None
    if _holds_huge(stated):
        raise SchemaError(_HUGE.format(file))
    _known(f"{file}", stated, _TOP)
    variables = stated.pop("variables", {})
    _of_type(f"{file}", "variables", variables, dict, "a table such as [variables.income]")
    proposed = _proposed_roles(f"{file}", stated.pop("proposed", {}), variables)
    scenarios = stated.pop("scenarios", {})
    _of_type(f"{file}", "scenarios", scenarios, dict, "a table such as [scenarios.neighbour]")
    for special, name in stated.items():
        _of_type(f"{file}", special, name, str, "the name of a variable in quotes")
    try:
        return Schema(
            tuple(_variable(file, name, said, declared=name not in proposed) for name, said in variables.items()),
            **stated,
            scenarios=tuple(_scenario(file, name, said) for name, said in scenarios.items()),
        )
    except SchemaError as error:
        raise error if str(error).startswith(f"{file}") else SchemaError(f"{file}: {error}") from None


def schema_text(
    data: Microdata | Schema,
    remarks: Mapping[str, str] | None = None,
    *,
    whys: Mapping[str, str] | None = None,
    folder: Path | None = None,
    sample_of: int | None = None,
) -> str:
    """Write a schema as TOML text; a table's schema comes with comments on what its variables hold.

    A hierarchy that came from a file is named by it, as seen from the ``folder`` the text is for; any other is written.
    Of a schema all is written but categories of a type TOML does not have (durations, bytes); of a table long lists of
    nominal categories, and what names units, are left out too, which the table itself has. ``remarks`` are further
    comments by variable, ``whys`` the reasons of proposed roles. Roles that nobody has declared are listed under
    ``[proposed]``. Of a sample, ``sample_of`` says of how many records, and a comment tells that.
    """
    schema = data.schema.unnamed() if isinstance(data, Microdata) else data
    lines = [_HEADER]
    if sample_of is not None and isinstance(data, Microdata):
        lines.append(f"# Figures in the comments are of a random sample of {len(data):,} of {sample_of:,} records.\n")
    for special in get_args(Special):
        name = schema.special().get(special)
        lines.append(f'# {special} = "..."' if name is None else f"{special} = {toml_text.quoted(name)}")
    lines[-1] += "\n"
    lines += _proposed_lines(schema)
    labelled = isinstance(data, Microdata) and data.origin.labelled is not None
    findings = describe(data) if isinstance(data, Microdata) else [None] * len(schema)
    for variable, finding in zip(schema, findings, strict=True):
        lines.append(f"[variables.{toml_text.key(variable.name)}]")
        lines += [] if finding is None else _comments(finding, named=schema.names_units(variable.name))
        why = "" if variable.declared else (whys or {}).get(variable.name, "")
        hierarchy, remark = variable.hierarchy, (remarks or {}).get(variable.name)
        file = None if hierarchy is None else hierarchy.file
        stated = (
            f'kind = "{variable.kind}"' if not variable.kind_by_rule else "",
            f'role = "{variable.role}"{f"    # proposed: {why}" if why else ""}',
            f"reason = {toml_text.quoted(variable.reason)}" if variable.reason else "",
            f"# {remark}" if remark is not None else "",
            f'level = "{variable.level}"' if variable.level is not None else "",
            f"linked = {toml_text.names(variable.sources)}" if variable.sources else "",
            f"format = {toml_text.quoted(variable.format)}" if variable.format else "",
            f"label = {toml_text.quoted(variable.label)}" if variable.label else "",
            f"missing = {toml_text.values(variable.missing)}" if variable.missing else "",
            _categories(variable, shorten=finding is not None) if variable.categories else "",
            _labels(variable, shorten=labelled) if variable.labels else "",
            f"hierarchy = {toml_text.quoted(_seen_from(folder, file))}" if file is not None else "",
        )
        lines += filter(None, stated)
        lines += _treatment(variable) if variable.treatment else []
        lines += _hierarchy(variable.name, hierarchy) if hierarchy is not None and file is None else []
        lines[-1] += "\n"
    for scenario in schema.scenarios:
        lines += _scenario_text(scenario)
    return "\n".join(lines)


def write_schema(data: Microdata | Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema to a file to be edited."""
    require("write_schema", Microdata | Schema, "a Microdata or a Schema", data=data)
    text = schema_text(data, folder=a_path(path).parent)
    with replacing(path, private=True) as out:
        out.write(text.encode("utf-8"))


def _holds_huge(stated: Any) -> bool:
    """Tell whether a whole number stands somewhere that is too large for a float."""
    if isinstance(stated, dict | list):
        return any(map(_holds_huge, stated.values() if isinstance(stated, dict) else stated))
    return isinstance(stated, int) and stated.bit_length() > 1023


def _proposed_lines(schema: Schema) -> list[str]:
    """List the variables whose role nobody has declared, by role."""
    special = set(schema.special().values())
    lines = []
    for role in get_args(Role):
        names = [v.name for v in schema if v.role == role and not v.declared and v.name not in special]
        if names:
            lines.append(f"{role} = {toml_text.values(names)}")
    return [_PROPOSED, *lines[:-1], lines[-1] + "\n"] if lines else []


def _proposed_roles(where: str, said: Any, variables: Mapping[str, Any]) -> set[str]:
    """Return the names that are listed as proposed; their role is that below, whichever list they stand in."""
    _of_type(where, "proposed", said, dict, 'a table of lists: [proposed] with key = ["...", "..."]')
    _known(f"{where}: [proposed]", said, get_args(Role))
    found: set[str] = set()
    for role, names in said.items():
        listed = _of_type(where, f"[proposed] {role}", names, list, "a list of names of variables")
        for name in listed:
            if not isinstance(name, str) or name not in variables:
                raise SchemaError(f"{where}: [proposed] names {name!r}, which is not among the variables below")
            found.add(name)
    return found


def _variable(file: Path, name: str, said: Any, *, declared: bool = True) -> Variable:
    where = f"{file}: variable {name!r}"
    _of_type(where, name, said, dict, f"a table: [variables.{toml_text.key(name)}]")
    _known(where, said, _OF_VARIABLE)
    for word, allowed in (("kind", get_args(Kind)), ("role", get_args(Role)), ("level", get_args(Level))):
        if word in said and said[word] not in allowed:
            raise SchemaError(
                f"{where}: {word} must be one of {_listed(allowed)}; got {said[word]!r}{_near(said[word], allowed)}"
            )
    for word in ("label", "format", "reason"):
        _of_type(where, word, said.get(word, ""), str, "text in quotes")
    for word in ("categories", "missing"):
        _of_type(where, word, said.get(word, []), list, 'a list such as ["yes", "no"]')
        for item in said.get(word, []):
            if _nested(item):
                raise SchemaError(f"{where}: {word} must hold texts, numbers or dates; got {item!r}")
    for pair in _of_type(where, "labels", said.get("labels", []), list, 'a list such as [[1, "yes"], [2, "no"]]'):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str) or _nested(pair[0]):
            raise SchemaError(f'{where}: labels must be pairs such as [1, "yes"]; got {pair!r}')
    try:
        treatment = Treatment(**_treatment_said(where, name, said.get("treatment", {})))
        hierarchy = _hierarchy_said(file, where, said.get("hierarchy"))
        if "format" in said and "kind" not in said:
            said = {**said, "kind": "date"}
        stated = {**said, "treatment": treatment, "hierarchy": hierarchy}
        return Variable(name, **stated, kind_by_rule="kind" not in said, declared=declared)
    except SchemaError as error:
        raise error if str(error).startswith(f"{file}") else SchemaError(f"{file}: {error}") from None


def _hierarchy_said(file: Path, where: str, said: Any) -> Hierarchy | None:
    if said is None:
        return None
    try:
        return read_hierarchy(file.parent / said) if isinstance(said, str) else Hierarchy.of(said)
    except FileError as error:
        raise FileError(f"{where}: hierarchy: {error}") from None
    except SchemaError as error:
        raise SchemaError(f"{where}: hierarchy: {error}") from None


def _scenario(file: Path, name: str, said: Any) -> Scenario:
    where = f"{file}: scenario {name!r}"
    _of_type(where, name, said, dict, f"a table: [scenarios.{toml_text.key(name)}]")
    _known(where, said, _OF_SCENARIO)
    if "keys" not in said:
        raise SchemaError(f'{where} has no keys; write keys = ["...", "..."], the variables this intruder knows')
    given = {word: value for word, value in said.items() if word != "membership"}
    given["knows_membership"] = _of_type(where, "membership", said.get("membership", True), bool, "true or false")
    try:
        return Scenario(name, **given)
    except SchemaError as error:
        raise SchemaError(f"{file}: {error}") from None


def _scenario_text(scenario: Scenario) -> list[str]:
    lines = [f"[scenarios.{toml_text.key(scenario.name)}]", f"keys = {toml_text.values(scenario.keys)}"]
    if scenario.about:
        lines.append(f"about = {toml_text.values(scenario.about)}")
    return [*lines, f"k = {scenario.k}", f"membership = {toml_text.value(scenario.knows_membership)}\n"]


def _treatment_said(where: str, name: str, said: Any) -> dict[str, Any]:
    _of_type(where, "treatment", said, dict, f"a table: [variables.{toml_text.key(name)}.treatment]")
    where = f"{where}: treatment"
    _known(where, said, WRITTEN)
    for pair in _of_type(where, "groups", said.get("groups", []), list, "a list of pairs: from, to"):
        if not isinstance(pair, list) or len(pair) != 2 or _nested(pair[0]) or _nested(pair[1]):
            raise SchemaError(f'{where}: groups must be pairs such as ["north", "N"]; got {pair!r}')
    said = {
        word: _in_days(value) if word in ("cuts", "ends", "bottom", "top") else value for word, value in said.items()
    }
    for number in _of_type(where, "cuts", said.get("cuts", []), list, "a list of numbers"):
        _of_number(where, "cuts", number)
    ends = _of_type(where, "ends", said.get("ends", [0, 0]), list, "a list of two numbers")
    if len(ends) != 2:
        raise SchemaError(f"{where}: ends must be two numbers, the outer boundaries of the classes; got {ends!r}")
    for number in ends:
        _of_number(where, "ends", number)
    for word in ("bottom", "top", "base"):
        _of_number(where, word, said.get(word, 0))
    count = said.get("suppressed", 0)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise SchemaError(f"{where}: suppressed must be a count of 0 or more; got {count!r}")
    for word in ("local", "perturbed"):
        _of_type(where, word, said.get(word, False), bool, "true or false")
    return dict(said)


def _in_days(value: Any) -> Any:
    """Return the dates of a treatment as days since 1970, as a table holds them; numbers as they are."""
    if isinstance(value, list):
        return [_in_days(one) for one in value]
    return day_of(value) if isinstance(value, dt.date) else value


def _comments(finding: Finding, *, named: bool) -> list[str]:
    """Say what a variable holds; of names of units no example."""
    parts = [f"{finding.distinct:,} distinct", f"{finding.missing:,} missing"]
    if finding.kind in ("numeric", "date") and finding.minimum is not None:
        parts.append(f"from {finding.minimum} to {finding.maximum}")
    elif finding.examples and not named:
        shown = ", ".join(_commented(example) for example in finding.examples)
        parts.append(f"most frequent: {shown}")
    lines = ["# " + "; ".join(parts)]
    return [*lines, f"# {finding.suggestion.sentence}"] if finding.suggestion else lines


def _categories(variable: Variable, *, shorten: bool) -> str:
    number = len(variable.categories)
    if shorten and variable.kind == "nominal" and number > LISTED:
        return f"# categories: {number:,} different ones, not listed; all that occur are allowed"
    try:
        return f"categories = {toml_text.values(variable.categories)}"
    except SchemaError:
        return f"# categories: {number:,} of a type TOML has no words for, not listed"


def _labels(variable: Variable, *, shorten: bool) -> str:
    number = len(variable.labels)
    if shorten and number > LISTED:
        return f"# labels: {number:,}, not listed; those of the file hold"
    try:
        return f"labels = {toml_text.lists(variable.labels)}"
    except SchemaError:
        return f"# labels: {number:,} of values TOML has no words for, not listed"


def _treatment(variable: Variable) -> list[str]:
    lines = [f"\n[variables.{toml_text.key(variable.name)}.treatment]"]
    untreated = Treatment()
    for word in WRITTEN:
        said = getattr(variable.treatment, word)
        if said == getattr(untreated, word) or (word == "ends" and not all(map(math.isfinite, said))):
            continue
        if variable.kind == "date" and word in ("bottom", "top") and float(said).is_integer():
            lines.append(f"{word} = {spelled(said)}")
            continue
        try:
            written = {"groups": toml_text.lists, "cuts": toml_text.values, "ends": toml_text.values}.get(
                word, toml_text.value
            )(said)
            lines.append(f"{word} = {written}")
        except SchemaError:
            lines.append(f"# {word}: of a type TOML has no words for, not listed")
    return lines


def _hierarchy(name: str, hierarchy: Hierarchy) -> list[str]:
    try:
        return [f"\n[variables.{toml_text.key(name)}.hierarchy]", *hierarchy_toml(hierarchy)]
    except SchemaError:
        return ["# hierarchy: of values TOML has no words for, not listed"]


def _seen_from(folder: Path | None, file: Path) -> str:
    """Name a file as it is seen from a folder; a text that is for no folder has its name alone."""
    return file.name if folder is None else Path(os.path.relpath(file, folder.resolve())).as_posix()


def _commented(example: object) -> str:
    text = toml_text.quoted(str(example))
    return text if len(text) <= 40 else text[:36] + '..."'


def _known(where: str, said: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for word in said:
        if word not in allowed:
            raise SchemaError(
                f"{where}: {word!r} is not known here; allowed are {_listed(allowed)}{_near(word, allowed)}"
            )


def _of_type(where: str, word: str, value: Any, kind: type, meant: str) -> Any:
    if not isinstance(value, kind):
        raise SchemaError(f"{where}: {word} must be {meant}; got {value!r}")
    return value


def _of_number(where: str, word: str, value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise SchemaError(
            f"{where}: {word} must be {'a list of numbers' if word == 'cuts' else 'a number'}; got {value!r}"
        )


def _nested(item: object) -> bool:
    return isinstance(item, dict | list)


def _near(word: object, allowed: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(word).lower(), allowed, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words)
