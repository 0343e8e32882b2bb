"""A default sweep of a real file, what it says, and what the intruder finds: said, true and verdict side by side.

``PYTHONPATH=src:tests:tests/attacks python tests/attacks/attacked_files.py`` sweeps all six files and prints the table
of the documentation; names of files and a number of records may follow. With ``ATTACKED_FILES`` a folder it finds the
file that is in no package (see ``real_files.py``).
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato
from intruder import Truth, attacked
from real_files import BOUND, FILES, AbsentError, RealFile
from sfumato.report.summary import Summary

SLACK = 0.015
NO_MEANS = (
    "largest",
    "above",
    "violat",
    "members together",
)  # lines of the verdict that are no shares of records found
OF_FAMILIES = ("household", "famil", "unit")


@dataclass(frozen=True)
class Attacked:
    """A file that was swept by default, and attacked."""

    name: str
    records: int
    summary: Summary
    found: dict[str, Truth]

    @property
    def publish(self) -> bool:
        return bool(self.summary.verdict is not None and self.summary.verdict.publish)

    @property
    def persons(self) -> float:
        return max((truth.records for truth in self.found.values()), default=0.0)

    @property
    def families(self) -> float:
        return max((truth.families for truth in self.found.values()), default=0.0)

    def said(self, *, families: bool = False) -> float:
        """Return the largest share of records, or of families, that a line of the verdict says is found."""
        assert self.summary.verdict is not None
        figures = [self._figure()]
        inside = False
        for change in self.summary.verdict.changes:
            inside = (inside and change.part) or change.what.startswith("Re-identification")
            what = change.what.lower()
            fits = any(word in what for word in OF_FAMILIES) if families else True
            if inside and fits and change.after.endswith("%") and not any(word in what for word in NO_MEANS):
                figures.append(float(change.after.removesuffix("%").strip()) / 100)
        return max(figures)

    def _figure(self) -> float:
        return BOUND  # a bound that is kept says that no more is found

    def honest(self) -> bool:
        """Whether no more is found than the bound and some slack, or the verdict says so."""
        if not self.publish:
            return True
        return all(
            truth <= self.said(families=families) + SLACK
            for truth, families in ((self.persons, False), (self.families, True))
        )

    def row(self) -> str:
        """Return the line of the table."""
        best = max(self.found, key=lambda name: self.found[name].records) if self.found else "nothing to attack"
        cells = [self.name, f"{self.records:,}", "publish" if self.publish else "do not publish"]
        if self.publish:
            cells += [f"{100 * self.said():.1f}", f"{100 * self.persons:.1f} ({best})"]
            families = self.families > 0
            cells += [
                f"{100 * self.said(families=True):.1f}" if families else "",
                f"{100 * self.families:.1f}" if families else "",
            ]
        else:
            cells += [""] * 4
        return "| " + " | ".join([*cells, "yes" if self.honest() else "**no**"]) + " |"


def some(file: RealFile, records: int) -> pd.DataFrame:
    """Read about so many records of a file: whole families where there are any."""
    table = file.read()
    rng = np.random.default_rng(27)
    if file.unit is None:
        rows = np.sort(rng.permutation(len(table))[:records])
        return table.iloc[rows].reset_index(drop=True)
    units = table[file.unit].unique()
    kept = rng.permutation(units)[: max(round(len(units) * records / len(table)), 1)]
    return table[table[file.unit].isin(kept)].reset_index(drop=True)


def swept(name: str, records: int, folder: Path) -> Attacked:
    """Sweep a file by default with a bound of 5 %, and attack what is released."""
    file = FILES[name]
    table = some(file, records)
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "table.csv", index=False)
    (folder / "schema.toml").write_text(file.toml(table))
    summary = sfumato.sweep(
        folder / "table.csv",
        folder / "schema.toml",
        at_most={"Reidentification": BOUND},
        bootstrap=False,
        keep_order=True,  # so that the truth can be counted; the intruder does not use it
        seed=1,
        workers=1,
        out=folder / "sweep",
    )
    release = folder / "sweep" / "release" / "table.protected.csv"
    if not release.exists():
        return Attacked(name, len(table), summary, {})
    published = pd.read_csv(release)
    assert len(published) == len(table)
    shared = [*file.shared] if file.unit is None else [*file.shared, file.unit]
    found = attacked(
        table[list(file.keys)],
        published,
        told=file.told,
        parts=file.parts,
        unit=None if file.unit is None else table[file.unit],
        shared=shared,
    )
    return Attacked(name, len(table), summary, found)


def main(names: Iterable[str], records: int) -> None:
    """Print the table."""
    print("| file | records | verdict | said % | true % | families, said % | true % | said so |", flush=True)
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in names:
        try:
            with tempfile.TemporaryDirectory() as folder:
                done = swept(name, records, Path(folder))
        except AbsentError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            continue
        print(done.row(), flush=True)
        for attack, truth in done.found.items():
            print(f"    {attack}: {truth.records:.3f} of records, {truth.families:.3f} of families", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(FILES))
    parser.add_argument("--records", type=int, default=3000)
    asked = parser.parse_args()
    main(asked.names, asked.records)
