"""What blocks along the first principal component cost: the sum of squares within groups against that of whole MDAV.

    python benchmarks/blocks.py [path of casc_census.csv] [records of the made file]

The loss is the sum of squared differences between original and masked values, standardised, over the total sum of
squares: the usual SSE / SST of microaggregation, in percent.
"""

import sys
import time
from pathlib import Path

import numpy as np
from pyarrow import csv

import sfumato
from sfumato import MDAV, Microdata


def loss(original: Microdata, protected: Microdata) -> float:
    """Return the loss in percent."""
    before, after = original.numeric(), protected.numeric()
    spread = before.std(axis=0)
    keep = spread > 0
    lost = ((after - before)[:, keep] / spread[keep]) ** 2
    return float(100 * lost.sum() / (len(before) * keep.sum()))


def made(records: int) -> Microdata:
    """Return six amounts that hang together, three of them skewed."""
    import pyarrow as pa

    rng = np.random.default_rng(1)
    base = rng.normal(size=(records, 2))
    values = base @ rng.normal(size=(2, 6)) + rng.normal(size=(records, 6))
    values[:, :3] = np.exp(values[:, :3] / 2)
    return Microdata.from_frame(pa.table({f"x{place}": values[:, place] for place in range(6)}))


def told(name: str, data: Microdata, sizes: tuple[int, ...]) -> None:
    """Print the loss and the time of MDAV as a whole and in blocks."""
    for method in (MDAV(3), *(MDAV(3).within(blocks=size) for size in sizes)):
        start = time.process_time()
        protected = method.protect(data)
        print(f"{name:24} {method!r:36} loss {loss(data, protected):7.3f} %   CPU {time.process_time() - start:7.1f} s")


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/data/casc_census.csv")
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    sfumato.MDAV(3).protect(made(5_000))  # compiled before anything is timed
    if path.exists():
        told("CASC census, 1,080 x 13", Microdata.from_frame(csv.read_csv(path)), (540, 360, 180))
    told(f"made, {records:,} x 6", made(records), (50_000, 20_000, 5_000))
