"""Tables written as Parquet files and scanned, for the tests of tables in parts."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato import Microdata, TableInParts, scan


def scanned(data: Microdata, folder: Path, number: int) -> TableInParts:
    """Return a table as one of so many files, under its own schema."""
    folder.mkdir(parents=True)
    for place, rows in enumerate(np.array_split(np.arange(len(data)), number)):
        pq.write_table(data.take(rows).to_arrow(), folder / f"part-{place:03d}.parquet")
    table = scan(folder, data.schema)
    return table if data.matched else table.unmatched()
