"""A register in which an area code tells the town: what is suppressed in one can be read in the other."""

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato import Microdata, Schema, Variable


def towns(records: int, rare: int = 0, seed: int = 1, *, told: bool = True) -> Microdata:
    """Return keys, an amount and an area code that tells the town, or has nothing to do with it."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 4, records)
    if rare:
        town[rng.choice(records, rare, replace=False)] = np.arange(rare) // 2 + 10  # two persons each
    else:
        town = np.where(rng.random(records) < 0.1, rng.integers(0, 40, records), town)
    area = town if told else rng.permutation(town)
    number = rng.permutation(records) + 10_000
    table = pa.table(
        {
            "id": number,
            "file_no": [f"F{one}" for one in number],
            "town": [f"t{one}" for one in town],
            "area_code": [f"z{one * 7 % 41}" for one in area],
            "age": [f"a{one}" for one in rng.integers(0, 5, records)],
            "income": rng.normal(size=records).round(3),
        }
    )
    kinds: dict[str, Any] = {"town": "key", "area_code": "other", "age": "key", "file_no": "other"}
    said = {"file_no": "the copies of the id that repairs leave out"}  # else nobody has said what it is
    nominal = (Variable(name, kind="nominal", role=role, reason=said.get(name, "")) for name, role in kinds.items())
    schema = Schema((*nominal, Variable("income", role="confidential"), Variable("id", role="identifier")), id="id")
    return Microdata.from_frame(table, schema)
