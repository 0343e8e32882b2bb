"""Odd arguments through the functions that users call: an answer, or a refusal in Sfumato's words."""

from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato
from adversary.attack import CALLS, Kind, Rng, one_of, only, several
from adversary.odd_values import odd, shown
from sfumato import Microdata, Schema, SfumatoError, Variable

BATCH = 30  # calls of one attack
LONG = {"sweep", "tune", "tune_jointly", "audit", "bootstrap", "examine"}  # which are called less often
DEEP = "in/a/folder/of/its/own"  # from which no odd path leads out
SEVERAL_PROCESSES = {"workers", "executor"}  # what is started there would be tested, not what is refused


@cache
def _data() -> Microdata:
    x = np.random.default_rng(0).lognormal(size=(2, 40))
    table = pa.table(
        {"pay": x[0], "size": x[1], "town": ["north", "south", "east", "west"] * 10, "sex": ["f", "m"] * 20}
    )
    keys = Variable("town", kind="nominal", role="key"), Variable("sex", kind="nominal", role="key")
    return Microdata.from_frame(table, Schema(keys))


@cache
def _protected() -> Microdata:
    return sfumato.MDAV(3).protect(_data())


@cache
def _results() -> Any:
    measures = [sfumato.KAnonymity(), sfumato.RankInterval(), sfumato.InformationLoss(), sfumato.CDFMaximum()]
    return sfumato.Experiment(_data(), [sfumato.MDAV(3), sfumato.MDAV(5), sfumato.Noise(0.1)], measures, seed=1).run()


@cache
def _summary() -> Any:
    return sfumato.summarise(_results(), risk="RankInterval", utility="InformationLoss")


def _wishes() -> dict[str, Any]:
    return {"utility": "InformationLoss", "at_most": {"RankInterval": 0.5}}


def _arguments(name: str, folder: Path) -> dict[str, Any]:
    """Return arguments that are right: every one that may be odd."""
    data, path = _data(), folder / "t.csv"
    nothing = dict.fromkeys(("delimiter", "decimal", "encoding", "missing", "table"))
    match name:
        case "age_at":
            return {"reference": "2020-12-31", "ages": [18, 65]}
        case "audit":
            return {"original": data, "protected": _protected(), "order": None, "beside": None, "near": 0.01,
                    "margin": 0.1, "rng": 0, "sample": 1000}  # fmt: skip
        case "bootstrap":
            return {"original": data, "protected": _protected(), "measure": sfumato.InformationLoss(),
                    "repetitions": 20, "level": 0.95, "matched": None, "rng": 0, "seconds": 1.0}  # fmt: skip
        case "choose":
            return {
                "results": _results(),
                **_wishes(),
                "at_least": None,
                "passed_over": (),
                "by_hand": None,
                "risk": None,
            }
        case "compose":
            return {"data": data, "measures": [sfumato.KAnonymity()], "bounds": {"KAnonymity": 0.0}, "breadth": 1,
                    "done": (), "whole": 0}  # fmt: skip
        case "default_measures":
            return {"data": data, "protected": None, "population": None}
        case "examine":
            return {"results": _results(), "candidate": "MDAV(k=3)", "what": ("release",), "risk": None,
                    "utility": None, "listed": 3, "seconds": 0.1, "table": None}  # fmt: skip
        case "frontier":
            return {"results": _results(), "risk": "RankInterval", "utility": "InformationLoss"}
        case "grid":
            return {"method": sfumato.MDAV, "k": [3, 5]}
        case "household_survey":
            return {"households": 10, "seed": 1}
        case "joint_frontiers":
            return {"results": _results(), "risk": "RankInterval", "utilities": ["InformationLoss", "CDFMaximum"]}
        case "look":
            return {"folder": folder, "candidates": ["MDAV(k=3)"], "schema": None}
        case "plot":
            return {"shown": _results(), "risk": None, "utility": None, "at_most": None, "at_least": None}
        case "read":
            return {"path": path, "schema": None, **nothing}
        case "scan":
            del nothing["encoding"], nothing["table"]
            return {"paths": path, "schema": None, "beside": None, "records": 10, "folder": None, **nothing}
        case "read_hierarchy":
            return {"path": path}
        case "read_schema":
            return {"path": folder / "t.toml"}
        case "summarise":
            return {"results": _results(), "examination": None, "risk": "RankInterval", "utility": "InformationLoss",
                    "at_most": None, "at_least": None, "by_hand": None, "file": "t", "facts": None}  # fmt: skip
        case "sweep":
            bounds = {"KAnonymity": 1.0}
            return {"file": path, "out": folder / "out", "methods": [sfumato.MDAV(3)], "schema": folder / "t.toml",
                    "measures": ["KAnonymity", "InformationLoss"], "at_most": bounds, "at_least": None, "breadth": 1,
                    "first": None, "utility": "InformationLoss", "risk": None, "population": None, "candidates": (),
                    "replicates": 1, "bootstrap": False, "choose": None, "seed": 1, "encoding": None, "delimiter": None,
                    "decimal": None, "engine": None, "memory": None, "sample": 1000}  # fmt: skip
        case "tune":
            return {"method": sfumato.MDAV, "data": data, **_wishes(), "over": None, "between": (3, 5), "risk": None,
                    "at_least": None, "replicates": 1, "budget": 10, "tolerance": None, "seed": 1,
                    "store": None}  # fmt: skip
        case "tune_jointly":
            chain = sfumato.TopBottomCoding(0.05) + sfumato.MDAV(3)
            ranges = {"TopBottomCoding.share": (0.04, 0.06), "MDAV.k": (3, 4)}
            return {"method": chain, "data": data, "over": ranges, **_wishes(), "risk": None, "at_least": None,
                    "replicates": 1, "budget": 20, "seed": 1, "store": None}  # fmt: skip
        case "write":
            return {"data": data, "path": folder / "w.csv", "overwrite": True}
        case "write_hierarchy":
            return {"hierarchy": sfumato.Hierarchy(cuts=((1.0,),)), "path": folder / "h.json"}
        case "write_report":
            return {"summary": _summary(), "directory": folder / "report", "audience": "internal"}
        case "write_schema":
            return {"data": data, "path": folder / "schema.toml"}
        case "Microdata":
            return {"schema": data.schema, "columns": dict(data.columns), "notes": (), "matched": True, "drawn": None}
        case "from_frame":
            return {"frame": data, "schema": None}
        case "run":
            return {"store": None, "progress": False, "memory": None, "original": False}
        case _:
            raise KeyError(name)


OTHERS: dict[str, Callable[..., Any]] = {
    "from_frame": Microdata.from_frame,
    "run": lambda **given: sfumato.Experiment(_data(), [sfumato.MDAV(3)], [sfumato.KAnonymity()]).run(**given),
}
CALLED = [
    "age_at", "audit", "bootstrap", "choose", "compose", "default_measures", "examine", "frontier", "grid",
    "household_survey", "joint_frontiers", "look", "plot", "read", "scan", "read_hierarchy", "read_schema", "summarise",
    "sweep", "tune", "tune_jointly", "write", "write_hierarchy", "write_report", "write_schema", "Microdata",
    "from_frame", "run",
]  # fmt: skip


def strike(rng: Rng, folder: Path) -> Counter[str]:
    """Call functions with one or two odd arguments, the others right."""
    done: Counter[str] = Counter()
    inside = folder / DEEP
    inside.mkdir(parents=True)
    with chdir(inside):
        for _number in range(BATCH):
            name = one_of(rng, CALLED)
            if name in LONG and rng.random() < 0.7:
                continue
            prepare(inside)
            call(rng, name, inside)
            done[CALLS] += 1
    return done


def prepare(folder: Path) -> None:
    """Write the files that are read, anew each time, because odd calls may have written others of their names."""
    sfumato.write(_data(), folder / "t.csv", overwrite=True)
    sfumato.write_schema(_data(), folder / "t.toml")


def call(rng: Rng, name: str, folder: Path) -> None:
    """Call one function."""
    given = _arguments(name, folder)
    for changed in several(rng, list(given), 2) or [one_of(rng, list(given))]:
        given[changed] = odd(rng)
        if rng.random() < 0.15:
            given[changed] = [odd(rng)]
        elif rng.random() < 0.1:
            given[changed] = {"RankInterval": odd(rng)}
    doing = f"{name}({', '.join(f'{key}={shown(value)}' for key, value in given.items())})"
    with only(SfumatoError, doing=doing):
        OTHERS.get(name, getattr(sfumato, name, None))(**given)  # type: ignore[misc]  # one of the two has it


KIND = Kind("public-calls", strike, share=3.0, in_tests=4)
