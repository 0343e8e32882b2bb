"""Hostile text in a survey and secrets in its original: neither is obeyed nor told by any file of a sweep."""

import csv
import getpass
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from adversary.attack import CALLS, Finding, Kind, Rng, one_of
from adversary.kills import _unlimited

HOSTILE = [
    "<script>pwned()</script>", '"><img src=x onerror=pwned()>', "</script><script>pwned()</script>", "x\x1b[31mred",
    "<svg onload=pwned()>", "[link](javascript:pwned())", "[bold red]loud[/bold red]", "a|b|c", "`code`", "&lt;b&gt;",
    "{{ 7 * 7 }}", "${7*7}", "%s%n", "back\\slash", "turned\u202e", "naïve 東京", "=cmd|' /C calc'!A0", "]]><!--",
    "'; DROP TABLE cells; --", "javascript:pwned()", "+cmd|' /C calc'!A0", "-2+3+cmd", "@SUM(1+1)", "no\u200bwidth",
    "\u2066apart\u2069", "\ufeffmarked", "right\u200f", "tag\U000e0041", "soft\xad", "\u061cletter",
]  # fmt: skip
UNSEEN = "\x1b\x07\u202e\u200b\u2066\u2069\ufeff\u200f\U000e0041\xad\u061c"
SECRET_TOWN, N = "Canaryville", 60
FORMS = ["csv", "parquet", "xlsx", "sav", "dta"]


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Sweep a hostile survey with a secret in it, and look through every file that was written."""
    form = one_of(rng, FORMS)
    labelled = form in ("sav", "dta")
    hostile = [one_of(rng, HOSTILE) for _ in range(3)]
    if form == "xlsx":  # no sheet can hold a control character
        hostile = [text.replace("\x1b", "") for text in hostile]
    name = "town" if labelled else f"{hostile[0]} name"
    incomes = np.round(rng.lognormal(7, 1, N), 2)
    towns = [f"{hostile[1]} A", f"{hostile[2]} B"] * (N // 2 - 1) + [f"{hostile[1]} A", SECRET_TOWN]
    columns: dict[str, Any] = {"id": [f"person{i:04d}" for i in range(N)], name: towns, "income": incomes}
    path = folder / f"secretname.{form}"
    write(path, columns, f"{hostile[0]} label")
    schema = folder / "schema.toml"
    quoted = "".join(f"\\u{ord(sign):04x}" if ord(sign) < 32 or sign in '"\\' else sign for sign in name)
    schema.write_text(
        f'id = "id"\n[variables.id]\nkind = "nominal"\nrole = "identifier"\n[variables."{quoted}"]\nkind = "nominal"\n'
        'role = "key"\n[variables.income]\nrole = "confidential"\n',
        encoding="utf-8",
    )
    seed = int(rng.integers(2**40, 2**60))
    done = swept(path, schema, folder / "out", seed)
    release = folder / "out" / "release"
    if done.returncode != 0 or not release.is_dir():
        raise Finding(f"{form}, {hostile!r:.200}: code {done.returncode}: {done.stderr[-300:]!r}")
    terminal(done.stdout + done.stderr)
    pointed_out(form, hostile, done.stderr)
    for place in (folder / "out").rglob("*"):
        if place.is_file():
            shown(place)
    leaks(release, folder, seed, [f"{value:.2f}" for value in incomes])
    return Counter({CALLS: 1, "files looked through": sum(place.is_file() for place in (folder / "out").rglob("*"))})


def write(path: Path, columns: dict[str, Any], label: str) -> None:
    """Write the survey in one of the formats, with a label where there is place for one."""
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as out:
            csv.writer(out).writerows([[*columns], *zip(*columns.values(), strict=True)])
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in ([*columns], *zip(*columns.values(), strict=True)):
            book.active.append([None] * len(row))
            for place, value in enumerate(row, start=1):
                cell = book.active.cell(book.active.max_row, place)
                cell.value = float(value) if isinstance(value, np.floating) else value
                cell.data_type = "s" if isinstance(value, str) else "n"
        book.save(path)
    else:
        import polars as pl

        writer = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta
        writer(pl.DataFrame(columns), path, column_labels={"town": label[:60]})


def swept(path: Path, schema: Path, out: Path, seed: int) -> subprocess.CompletedProcess[str]:
    """Run a small sweep as a user would, told that it speaks to a terminal."""
    words = [
        "sweep", path, "--schema", schema, "--out", out, "--method", "LocalSuppression(2) + Noise(0.2)", "--measure",
        "KAnonymity(2)", "--measure", "InformationLoss", "--risk", "KAnonymity(2)", "--utility", "InformationLoss",
        "--at-most", "KAnonymity(2)=99%", "--no-bootstrap", "--despite-audit", "--workers", 1, "--seed", seed,
    ]  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "sfumato", *map(str, words)],
        capture_output=True,
        text=True,
        preexec_fn=_unlimited,
        env={**os.environ, "PYTHONUTF8": "1"},
    )


def terminal(said: str) -> None:
    """Require that nothing of the file is obeyed by a terminal."""
    for sign in UNSEEN:
        if sign in said and (sign != "\x1b" or "\x1b[31mred" in said):
            raise Finding(f"the terminal is handed {sign!r}")
    if "Traceback" in said:
        raise Finding(f"a traceback: {said[-300:]!r}")


def pointed_out(form: str, hostile: list[str], said: str) -> None:
    """Require that formulas are told of where a spreadsheet would compute them, and nowhere else."""
    expected = form == "csv" and any(text[0] in "=+-@" for text in hostile)
    if ("may run what they say" in " ".join(said.split())) != expected:
        raise Finding(f"{form}, {hostile!r:.200}: formulas are {'not ' if expected else ''}pointed out")


def shown(place: Path) -> None:
    """Require that nothing of the survey is obeyed by whoever opens a file, and nothing hidden from who reads it."""
    if place.suffix in (".html", ".svg", ".md"):
        text = re.sub(r"(?s)<script\b.*?</script>", "", place.read_text(encoding="utf-8"))  # with signs of their own
        hidden = [sign for sign in UNSEEN if sign in text]
        if hidden:
            raise Finding(f"{place.name} hands on what cannot be seen: {hidden!r}")
    if place.suffix == ".html":
        _Page(place).feed(place.read_text(encoding="utf-8"))
    elif place.suffix == ".svg":
        for element in ET.fromstring(place.read_bytes()).iter():
            if element.tag.endswith("}script") or any(name.startswith("on") for name in element.attrib):
                raise Finding(f"{place.name} holds {element.tag} with {element.attrib}")
    elif place.suffix == ".md":
        text = place.read_text(encoding="utf-8")
        if (
            re.search(r"<(script|img|svg)\b", text, re.IGNORECASE)
            or re.search(r"(?<!\\)\]\(javascript:", text)
            or "\x1b" in text
        ):
            raise Finding(f"{place.name} hands markup of the survey on")


class _Page(HTMLParser):
    """A page as a browser takes it apart: no element or handler may come from the survey."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._name, self._inside = place.name, ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        for name, value in attributes:
            if (name.startswith("on") and "pwned" in (value or "")) or (value or "").startswith("javascript:pwned"):
                raise Finding(f"{self._name}: <{tag} {name}={value!r}>")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script" and data.strip().startswith("pwned"):
            raise Finding(f"{self._name}: a script of the survey would run")


def leaks(release: Path, folder: Path, seed: int, incomes: list[str]) -> None:
    """Require that no file for the public tells a secret of the original, of the run or of the machine."""
    secrets = {
        "a value that no record has": SECRET_TOWN, "an identifier": "person00", "the seed": str(seed),
        "a path": str(folder), "a home": str(Path.home()) + "/",
    }  # fmt: skip
    if len(getpass.getuser()) > 4:
        secrets["a user"] = getpass.getuser()
    for place in release.rglob("*"):
        held = _held(place) if place.is_file() else ""
        for what, secret in secrets.items():
            if secret in held:
                raise Finding(f"{place.name} tells {what}: {secret}")
        told = [income for income in incomes if re.search(rf"(?<![\d.]){re.escape(income)}(?!\d)", held)]
        if len(told) > N // 10:  # a few may come back by chance
            raise Finding(f"{place.name} tells {len(told)} of {N} protected amounts as they were")


def _held(place: Path) -> str:
    """Return all text of a file."""
    if place.suffix == ".xlsx":
        with zipfile.ZipFile(place) as archive:
            return "".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    if place.suffix == ".parquet":
        table = pq.read_table(place)
        return str((table.to_pydict(), table.schema.metadata))
    return place.read_bytes().decode("latin-1")


KIND = Kind("releases", strike, share=1.5, in_tests=1)
