"""Tables of thousands of columns: no pair of columns is looked at one by one."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.auditing.proposals import MAX_VARIABLES, dependencies
from sfumato.table import describe
from sfumato.table.microdata import Microdata

COLUMNS = 300


def wide(columns: int = COLUMNS, records: int = 60) -> Microdata:
    rng = np.random.default_rng(0)
    return Microdata.from_frame(pa.table({f"v{i}": rng.integers(0, 20, records) for i in range(columns)}))


def test_few_pairs_of_columns_are_looked_at_closely(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    closely = describe._constant_within

    def counted(data: Microdata, name: str, *rest: Any) -> bool:
        looked.append(name)
        return closely(data, name, *rest)

    monkeypatch.setattr(describe, "_constant_within", counted)
    describe.behaviours(wide())
    assert len(looked) < COLUMNS  # of COLUMNS squared


def test_a_household_is_found_among_many_columns() -> None:
    data = wide(records=200)
    home = np.arange(200) // 4
    table = data.to_arrow().append_column("home", pa.array(home))
    table = table.append_column("region", pa.array(home % 7)).append_column("rent", pa.array(home * 13 % 101))
    found = {one.name: one for one in describe.behaviours(Microdata.from_frame(table))}
    assert found["home"].behaves == "household"
    assert "constant in each: region, rent" in found["home"].evidence


def test_links_are_looked_for_among_so_many_variables_and_it_is_said() -> None:
    found = dependencies(wide(MAX_VARIABLES + 50, records=40))
    assert f"looked through: the first {MAX_VARIABLES:,} of {MAX_VARIABLES + 50:,} variables" in found.notes
