"""``sfumato compare`` of tables in parts: files too large for memory, measured part by part on an engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import console, print_json, say
from sfumato.errors import NotApplicable, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.core import Measure
    from sfumato.data.parts import TableInParts
    from sfumato.measurement import Measurement
    from sfumato.pair import Pair
    from sfumato.project.parts_watch import PartsWatch

Found = dict[str, "Measurement | str"]  # by measure: what it says, or why it says nothing


def refuse_others(**given: object) -> None:
    """Refuse options that need a table in memory."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise ParameterError(f"{', '.join(named)}: only of tables that fit into memory, one file each")


def compare_in_parts(
    original: Path,
    protected: Path,
    *,
    schema: Path | None,
    protected_schema: Path | None,
    unmatched: bool,
    measures: "Sequence[Measure] | None",
    engine: str,
    store: Path | None,
    memory: str | None,
    seed: int,
    json: bool,
) -> None:
    """Measure a protected table in parts against its original, and print the figures."""
    from sfumato.data.parts import scan
    from sfumato.engine import Engine
    from sfumato.pair import Pair
    from sfumato.project.parts_watch import PartsWatch
    from sfumato.project.protected_parts import beside_original, scan_protected

    watch = PartsWatch()
    with Engine(engine, store=store, memory=memory, progress=watch) as where:
        before = scan(original, schema, executor=where.executor)
        after = scan_protected(protected, before, protected_schema, say)
        say(f"original {before!r}, protected {after!r}; memory {where.memory / 1e9:.1f} GB")
        after = after.unmatched() if unmatched else beside_original(after, protected, before, say)
        pair = Pair.of(before, after)
        found = _measured(pair, _wanted() if measures is None else measures, seed, watch)
        lacking = not unmatched and not pair.matched  # half of the measures need to know which record is which
        peak = getattr(where.executor, "peak_bytes", 0)
    if peak:
        say(f"the largest process had {peak / 1e6:,.0f} MB")
    refused = _refused(found)
    failed = len(refused) == len(found) or bool(refused and (measures or lacking))
    if json:
        print_json(_plain(before, after, found))
    else:
        _print(found, {} if failed else refused)  # of a failure they are told below
    if failed:
        for why, names in _by_reason(refused).items():
            say(f"sfumato: {', '.join(names)} could not be computed: {why}")
        raise typer.Exit(1)


def _wanted() -> "list[Measure]":
    """Return every measure whose memory does not grow with the records."""
    from sfumato.catalogue import measures

    return [cls() for cls in measures().values() if cls().about.parts == "summaries"]


def _measured(pair: "Pair", measures: "Sequence[Measure]", seed: int, watch: "PartsWatch") -> Found:
    found: Found = {}
    for measure in measures:
        watch.what = type(measure).__name__
        try:
            found[repr(measure)] = measure.evaluate_pair(pair, rng=seed)
        except NotApplicable as refusal:
            found[repr(measure)] = str(refusal)
    watch.end()
    return found


def _by_reason(refused: "Mapping[str, str]") -> dict[str, list[str]]:
    """Put measures together that were refused for the same reason, which begins with the name of the class."""
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why.removeprefix(f"{name.partition('(')[0]}: "), []).append(name)
    return reasons


def _refused(found: Found) -> dict[str, str]:
    return {name: one for name, one in found.items() if isinstance(one, str)}


def _plain(before: "TableInParts", after: "TableInParts", found: Found) -> dict[str, object]:
    return {
        "records": {"original": len(before), "protected": len(after)},
        "parts": {"original": len(before.parts), "protected": len(after.parts)},
        "figures": {
            name: {
                "value": one.value,
                "parts": dict(one.parts),
                "by_variable": dict(one.by_variable),
                "notes": list(one.notes),
            }
            for name, one in found.items()
            if not isinstance(one, str)
        },
        "reasons": _refused(found),
    }


def _print(found: Found, refused: "Mapping[str, str]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("measure", "better", "value", box=None, pad_edge=False)
    notes: list[str] = []
    for name, one in found.items():
        if not isinstance(one, str):
            table.add_row(name, one.about.better, f"{one.value:.6g}")
            notes += [f"{name}: {note}" for note in one.notes]
    out = console()
    out.print(table)
    whys = [f"{', '.join(names)}: {why}" for why, names in _by_reason(refused).items()]
    for text in (*dict.fromkeys(notes), *whys):
        out.print(Text(f"  {text}", style="dim"))
