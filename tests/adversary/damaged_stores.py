"""Damaged stores and notes: the figures of an undisturbed run, or a refusal in a sentence."""

import json
import shutil
import sqlite3
import tempfile
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adversary.attack import FILES, Finding, Kind, Rng, one_of, only
from adversary.mutation import damaged
from sfumato import (
    MDAV,
    Engine,
    Experiment,
    InformationLoss,
    KAnonymity,
    Noise,
    SfumatoError,
    household_survey,
    read_schema,
    scan,
    write_schema,
)
from sfumato.compare.plain import to_json
from sfumato.compare.progress import Progress
from sfumato.pair import Pair
from sfumato.project.progress import read_progress
from sfumato.project.record import Record
from sfumato.workbench.journal import Journal

BATCH = 6
ODD_JSON: list[Any] = [None, True, -1, 1e308, "", "\x1b", [], {}, [[]], "x" * 3000, {"a": 1}]
SQL = [
    "UPDATE {table} SET {column} = NULL", "UPDATE {table} SET {column} = 'text'",
    "UPDATE {table} SET {column} = x'00ff'",
    "UPDATE {table} SET {column} = 7", "UPDATE {table} SET {column} = '{{}}'", "UPDATE {table} SET {column} = '[1'",
    "DELETE FROM {table}", "DROP TABLE {table}", "ALTER TABLE {table} RENAME TO other", "PRAGMA user_version = 1",
    "PRAGMA application_id = 7", "ALTER TABLE {table} RENAME COLUMN {column} TO gone",
]  # fmt: skip


def experiment() -> Experiment:
    """Return a small experiment, always the same."""
    data = household_survey(households=12, seed=1)
    return Experiment(data, [Noise(0.1), Noise(0.2), MDAV(3)], [InformationLoss()], seed=5)


@cache
def kept() -> tuple[Path, Any, float]:
    """Make all that is damaged once: return its folder, the figures, and the figure of the table in parts."""
    folder = Path(tempfile.mkdtemp(prefix="adversary-kept-"))
    figures = _means(experiment().run(store=folder / "run.db"))
    (folder / "parts").mkdir()
    for number in range(3):
        towns = [f"t{(number * 7 + row) % 5}" for row in range(20)]
        pq.write_table(pa.table({"town": towns}), folder / "parts" / f"{number}.parquet")
    value = _in_parts(folder, folder / "summaries.db")
    journal = Journal(folder)
    for number in range(3):
        journal.change(lambda draft: draft.but(left_behind=f"{draft.left_behind}x"), screen="open", what=f"{number}")
    write_schema(household_survey(households=12, seed=1), folder / "schema.toml")
    plan = {
        "fingerprint": "x",
        "methods": ("MDAV(k=3)",),
        "measures": ("InformationLoss()",),
        "risk": "",
        "utility": "",
    }
    Record(**plan, replicates=1, seed=3).save(folder)  # type: ignore[arg-type]
    (folder / "progress.json").write_text(to_json(Progress(state="done", total=3, done=3, message="all"), exact=True))
    return folder, figures, value


def _means(results: Any) -> list[dict[str, float]]:
    return [dict(row.means) for row in results.rows]


def _in_parts(folder: Path, store: Path) -> float:
    table = scan(folder / "parts")
    with Engine("here", store=store):
        return float(KAnonymity(5, variables=("town",)).evaluate_pair(Pair.of(table, table)).value)


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Damage a copy of one of them and use it."""
    given, figures, value = kept()
    done: Counter[str] = Counter()
    for number in range(BATCH):
        name = one_of(
            rng, ["run.db", "run.db", "summaries.db", "journal.sqlite", "schema.toml", "plan.json", "progress.json"]
        )
        place = folder / str(number)
        place.mkdir()
        shutil.copy(given / name, place / name)
        how = hurt(rng, place / name)
        done[FILES] += 1
        doing = f"{name} {how}"
        with only(SfumatoError, doing=doing), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what was lost is said so
            if name == "run.db":
                if _means(experiment().run(store=place / name)) != figures:
                    raise Finding(f"{doing}: other figures than an undisturbed run gives")
            elif name == "summaries.db":
                if _in_parts(given, place / name) != value:
                    raise Finding(f"{doing}: another figure than an undisturbed run gives")
            elif name == "journal.sqlite":
                Journal(place).now()
            elif name == "schema.toml":
                read_schema(place / name)
            else:
                (Record.read if name == "plan.json" else read_progress)(place)
    return done


def hurt(rng: Rng, path: Path) -> str:
    """Damage a file: its bytes, or what stands in it in good order."""
    if path.suffix == ".json" and rng.random() < 0.5:
        held = json.loads(path.read_text(encoding="utf-8"))
        name = one_of(rng, [*held])
        held[name] = one_of(rng, ODD_JSON)
        path.write_text(json.dumps(held), encoding="utf-8")
        return f"with {name} = {held[name]!r:.40}"
    if path.suffix in (".db", ".sqlite") and rng.random() < 0.5:
        return _sql(rng, path)
    path.write_bytes(damaged(rng, path.read_bytes()))
    return "with damaged bytes"


def _sql(rng: Rng, path: Path) -> str:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = one_of(rng, [name for name in tables if not name.startswith("sqlite_")])
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        words = one_of(rng, SQL).format(table=table, column=one_of(rng, columns))
        try:
            connection.execute(words)
        except sqlite3.Error:  # a column that must not be empty, or a key
            return "as it was"
        return f"after {words}"
    finally:
        connection.close()


KIND = Kind("damaged-stores", strike, share=2.0, in_tests=8)
