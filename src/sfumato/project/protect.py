"""Protect a file by one method: what ``sfumato protect`` does, from Python."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.arguments import TEXT, YES_OR_NO, require
from sfumato.errors import FileError
from sfumato.project.options import SweepOptions, Tell, options_of, settled_seed, unheard
from sfumato.project.reading import read_method
from sfumato.table.formats import a_path, protected_path

if TYPE_CHECKING:
    from sfumato.auditing.findings import Audit, Checked
    from sfumato.core import Method
    from sfumato.table.microdata import Microdata

UNWRITTEN = (
    "is not written, for it gives values back, or it is not known that it does not; write it all the same with "
    "--despite-audit, if you know why that does no harm"
)

UNDECLARED = "nothing is written; for use inside the house say --as-is"


@dataclass(frozen=True, kw_only=True)
class ProtectedFile:
    """What became of a file: where it was written, what was done, and what an audit of it found."""

    table: Path | None  # None: nothing was written, and ``messages`` say why
    provenance: Path | None = None  # the note on how it was made, with the seed: it must not go out
    method: str
    seed: int
    masked: tuple[str, ...] = ()  # variables
    done: tuple[str, ...] = ()  # to make it ready to go out
    audit: "Audit | None" = None
    unaudited: str = ""  # why there is no audit
    records: int = 0
    messages: tuple[str, ...] = ()


def protect_file(
    file: str | Path,
    method: "str | Method",
    schema: str | Path | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
    as_is: bool = False,
    engine: str | None = None,
    memory: str | None = None,
    tell: Tell | None = None,
    bars: bool = False,
    **options: Any,
) -> ProtectedFile:
    """Protect a file by one method and write it as it may go out, with a note on how it was made beside it.

    It is what ``sfumato protect`` does. Ids are left out, records stand in random order, and what the rest of the file
    gives back is audited and repaired; a table that still gives values back is not written unless ``despite_audit``,
    nor is one with variables of which nobody has said the role unless ``on_undeclared`` says what becomes of them.
    ``as_is`` writes what the method made. A folder or a pattern of files is a table in parts, masked part by part and
    written as a folder. ``options`` are those of :class:`SweepOptions` that concern a release, and ``bars`` shows on
    the terminal how far it is.
    """
    from sfumato.project.engines import engine_for

    require("protect_file", bool, YES_OR_NO, force=force, as_is=as_is, bars=bars)
    require("protect_file", str | None, TEXT, engine=engine, memory=memory)
    asked, one, said = options_of("protect_file", options), read_method(method, "protect"), tell or unheard
    file, target = a_path(file), None if out is None else a_path(out)
    with engine_for(file, engine=engine, memory=memory, bars=bars, tell=said) as parts:
        place = _file(file, target, force=force) if parts is None else _folder(file, target, force=force)
        return _protected(file, one, schema, place, asked, said, as_is=as_is)


def _protected(
    file: Path,
    method: "Method",
    schema: str | Path | None,
    target: Path,
    options: SweepOptions,
    tell: Tell,
    *,
    as_is: bool,
) -> ProtectedFile:
    """Mask a table, make it ready to go out, and write it; of one in parts a sample is audited."""
    from sfumato.auditing.findings import Checked
    from sfumato.auditing.of_parts import at_hand_of_both
    from sfumato.auditing.repairs import Prepared, prepare
    from sfumato.compare.seeds import generator
    from sfumato.compare.work import protected_parts
    from sfumato.core import speaking
    from sfumato.project.plan import settle_undeclared
    from sfumato.project.release import release_name
    from sfumato.project.tables import Provenance, read_table, write_protected

    seed = settled_seed(options.seed, tell)
    data, whole = read_table(file, schema, options.sample, tell, **options.dialect())
    wish = "accept" if as_is else options.on_undeclared
    data, whole, undeclared, without = settle_undeclared(data, whole, wish, tell)
    if undeclared.names:
        said = (*undeclared.sentences, *undeclared.advice(str(file)))
        return ProtectedFile(table=None, method=repr(method), seed=seed, messages=(*said, UNDECLARED))
    with speaking(method):
        masked = method.masked(data)
    rng, key = generator(seed, method, 0), release_name(data if whole is None else whole, method, "")
    if whole is None:
        both = at_hand_of_both(data, method.protect(data, rng=rng, rounded=not as_is), options.sample)
    else:
        in_parts = protected_parts(method, whole, rng, rounded=not as_is)
        both = at_hand_of_both(whole, in_parts, options.sample)
    ready = Prepared(both.protected, None, Checked())
    if not as_is:
        ready = prepare(both.original, both.protected, seed=seed, key=key, **options.kept(), of_parts=both.seen)
    checked, note = ready.checked, None
    if as_is or checked.passed or options.despite_audit:
        how = Provenance(
            source=file,
            original=whole,
            method=method,
            seed=seed,
            figures={},
            notes=checked.done,
            order_key=None if as_is or options.keep_order else key,
            left_out=(*checked.left_out, *without),
        )
        out = ready.table if whole is None else in_parts.only(ready.table.names)
        note = write_protected(out, target, how, tell=tell)
    audited = checked.audit.notes if whole is not None and checked.audit is not None else ()
    stays = _what_stays(data, both.protected, ready.table, masked) if note is not None else (f"{target} {UNWRITTEN}",)
    return ProtectedFile(
        table=None if note is None else target,
        provenance=note,
        method=repr(method),
        seed=seed,
        masked=masked,
        done=checked.done,
        audit=checked.audit,
        unaudited=checked.unaudited,
        records=len(data if whole is None else whole),
        messages=(*both.protected.notes, *checked.done, *audited, *_what_comes_back(checked), *stays),
    )


def _file(file: Path, out: Path | None, *, force: bool) -> Path:
    """Return the file that a protected table is written to; one that is there needs ``force``."""
    target = out or protected_path(file)
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    if target.exists() and target.samefile(file):
        raise FileError(f"{target} is the file the table was read from; choose another name with --out")
    return target


def _folder(file: Path, out: Path | None, *, force: bool) -> Path:
    """Return the folder that a protected table in parts is written to; one that is there needs ``force``."""
    from sfumato.project.folder import folder_of_parts, refuse_file_of_parts
    from sfumato.table.parts import name_of_parts

    target = out or Path(f"{name_of_parts(file)}.protected")
    if out is not None:
        refuse_file_of_parts(out)
    if target.exists() and not force:
        raise FileError(f"{target} exists; overwrite it with --force or choose another name with --out")
    source = folder_of_parts(file)
    if target.resolve() in (source, *source.parents):
        raise FileError(f"{target} holds the table that is read; choose another name with --out")
    return target


def _what_comes_back(checked: "Checked") -> tuple[str, ...]:
    """Warn of what the rest of the file gives back."""
    if checked.unaudited:
        return (f"what the rest of the file gives back was not tried: {checked.unaudited}",)
    routes = checked.audit.routes if checked.audit is not None else ()
    return tuple(f"warning: {route.title} {route.verdict}; {route.repair}" for route in routes if route.alarm)


def _what_stays(
    data: "Microdata", protected: "Microdata", written: "Microdata", masked: tuple[str, ...]
) -> tuple[str, ...]:
    """Say which variables are as they were, and which name the units."""
    followed = [v.name for v in protected.schema if v.sources and v.treatment != data.schema[v.name].treatment]
    untouched = [name for name in protected.schema.analysed() if name not in (*masked, *followed)]
    kept = [v for v in written.schema if v.role == "identifier" or v.name == written.schema.id]
    naming = [v.name for v in kept if not v.treatment.perturbed]  # a synthetic table numbers its records anew
    told = [f"left as they are: {', '.join(untouched)}"] if untouched else []
    if naming:
        end = "leave out --as-is before it goes out"
        told.append(f"still in the file, and naming the units: {', '.join(naming)}; {end}")
    return tuple(told)
