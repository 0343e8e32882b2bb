"""What ``sfumato inspect`` tells of a whole file, on a screen of 80 columns: what depends on what, what it shows."""

from typing import TYPE_CHECKING

from sfumato.cli.options import console

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.compare.exposure import Exposure, ScenarioExposure
    from sfumato.restoration.proposals import Dependencies

WORDS = {
    "id": "behaves like an id",
    "household": "behaves like the number of a household",
    "weight": "behaves like a survey weight",
    "labelled codes": "is read as a number, but may be codes",
}
NUMBERS = ("one value", "two", "three")
ADVICE = {
    "id": "name it in the schema as id, or give it the role identifier",
    "household": "name it in the schema as household",
    "weight": "name it in the schema as weight",
    "labelled codes": 'give it kind = "nominal" or "ordinal"',
}


def print_dependencies(linked: "Dependencies") -> None:
    """Print which variables others determine, with the line to write into the schema; nothing where there is none."""
    from sfumato.data.toml_text import key

    out = console()
    if linked.found or linked.apart or linked.notes:
        sample = f" (looked through: {linked.looked:,} of {linked.records:,} records)"
        _line(out, f"\nDetermined by others{sample if linked.looked < linked.records else ''}", style="bold")
    for one in linked.found:
        _line(out, f"  {one.name}: {one.sentence}.", "    ")
        _line(out, f"    To let it follow, write under [variables.{key(one.name)}]: {one.line}", "    ")
    for sentence in (*linked.apart, *linked.notes):
        _line(out, f"  {sentence}.", "    ")


def print_exposure(found: "Exposure") -> None:
    """Print what a file gives away."""
    out = console()
    _line(out, "\nWhat the file gives away before anything is done", style="bold")
    if not found.scenarios:
        _line(out, "  No variable can be counted over: give some the role key, or coarsen them.")
    for seen in found.scenarios:
        _print_scenario(out, seen, found.records)
    if found.found:
        _line(out, "\nFound by behaviour, and not said in the schema", style="bold")
    for one in found.found:
        _line(out, f"  {one.name} {WORDS[one.behaves]}: {one.evidence}.", "    ")
        _line(out, f"    If so, {ADVICE[one.behaves]}.", "    ")


def _print_scenario(out: "Console", seen: "ScenarioExposure", records: int) -> None:
    from sfumato.compare.exposure import coarsen_first
    from sfumato.show.wording import count, percentage

    _line(out, f"\n{seen.name}: knows {', '.join(seen.keys)}; k = {seen.k}", "  ", style="bold")
    if seen.left_out:
        _line(out, f"  Continuous, so not counted over: {', '.join(seen.left_out)}.", "  ")
    if seen.known_about:
        _line(out, f"  Known about and not exactly, so not counted over: {', '.join(seen.known_about)}.", "  ")
    levels = sorted({*seen.violating, seen.k})
    alike = {level: seen.violating.get(level, seen.below) for level in levels if level > 2}
    counted = {"alone with these values": seen.unique} | {f"with fewer than {n} alike": m for n, m in alike.items()}
    for words, number in counted.items():
        _line(out, f"  {number:>9,}  {percentage(number / records):>7}  records {words}", "    ")
    found = f"{seen.expected:,.1f}"
    _line(out, f"  {found:>9}  {percentage(seen.expected / records):>7}  re-identifications to be expected", "    ")
    _line(out, f"  The largest chance of a record to be found is {percentage(seen.largest)}.", "    ")
    if seen.with_household is not None and seen.largest_of_household is not None:
        expected = f"{seen.with_household * records:,.1f} records ({percentage(seen.with_household)})"
        largest = percentage(seen.largest_of_household)
        _line(out, f"  With their households {expected} are found; the largest chance of one is {largest}.", "    ")
    if seen.households:
        several = f"{count(seen.households, 'household')} of two or more members hold a record"
        _line(out, f"  {several} with fewer than {seen.k} alike: who finds it finds all.", "    ")
    for note in seen.notes:
        _line(out, f"  He does not know who took part: {note}.", "    ")
    alone = [f"on {keys} {number:,}" for keys, number in zip(NUMBERS, seen.alone_on, strict=False) if number]
    if alone:
        _line(out, f"  Records that few values suffice to find: {', '.join(alone)}.", "    ")
    first = coarsen_first(seen)
    if first:
        effects = ", ".join(f"{name} ({seen.without[name]:,} left below {seen.k} without it)" for name in first)
        _line(out, f"  To coarsen first: {effects}.", "    ")
    if any(seen.contributions.values()):
        shares = ", ".join(f"{name} {percentage(share)}" for name, share in seen.contributions.items())
        _line(out, f"  Keys that make records alone on few values, by their SUDA contributions: {shares}.", "    ")
    if seen.riskiest:
        _line(out, "  Riskiest combinations, each of one record:")
    for one in seen.riskiest:
        values = ", ".join(f"{name} {value}" for name, value in one.values.items())
        _line(out, f"    row {one.row:,}: {values}", "      ")


def _line(out: "Console", text: str, indent: str = "", *, style: str = "") -> None:
    """Print a text, broken between words and indented where it goes on."""
    import textwrap

    from rich.text import Text

    break_before, body = ("\n", text[1:]) if text.startswith("\n") else ("", text)
    lines = textwrap.wrap(body, out.width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    out.print(Text(break_before + "\n".join(lines), style=style))
