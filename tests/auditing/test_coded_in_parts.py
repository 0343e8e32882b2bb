"""Numbers coded at an end of a large table in parts: few, and looked at all the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato
from scanned import scanned
from sfumato import Engine, Microdata, Schema, TopBottomCoding, Variable, audit
from sfumato.auditing.of_parts import AtHand, SampleDesign, at_hand_of_both, records_at_hand
from sfumato.compare.work import protected_parts
from sfumato.core import Method
from small_survey import run

N, RICH = 20_000, 39
TOP = 90_000.0


def design(both: AtHand) -> SampleDesign:
    assert both.seen is not None
    return both.seen


def register(*, told: bool = True) -> Microdata:
    """Incomes, of which a few are large, and beside them the same once more, or something else."""
    rng = np.random.default_rng(4)
    income = rng.uniform(5_000, TOP, N).round()
    income[rng.choice(N, RICH, replace=False)] = TOP + rng.lognormal(9, 1, RICH).round()
    base = income if told else rng.permutation(income)
    table = pd.DataFrame({"region": rng.choice(list("abcd"), N), "income": income, "tax_base": base})
    keys = (Variable("region", "nominal", role="key"), Variable("income", role="confidential"), Variable("tax_base"))
    return Microdata.from_frame(table, Schema(keys))


CODED = TopBottomCoding(top={"income": TOP})


@pytest.mark.parametrize(
    "method", [CODED, TopBottomCoding(top={"income": TOP}, by="mean"), TopBottomCoding(bottom={"income": 5_100.0})]
)
def test_few_coded_numbers_are_all_looked_at(method: Method, tmp_path: Path) -> None:
    data = register()
    masked = method.protect(data)
    number = int((masked.columns["income"] != data.columns["income"]).sum())
    original, protected = scanned(data, tmp_path / "a", 3), scanned(masked, tmp_path / "b", 4)
    order = np.random.default_rng(3).permutation(N)
    mixed = scanned(masked.take(order), tmp_path / "c", 2)
    with Engine("here"):
        for table, way in ((protected, None), (mixed, order)):
            seen = records_at_hand(original, table, way, None, 400)
            before = seen.original.take(seen.order).columns["income"]
            assert (before != seen.protected.columns["income"]).sum() == number
            assert f"all {number} with coded ends, 0 that show the same categories" in design(seen).notes[0]
            found = audit(original, table, order=way, sample=400)
            assert {one.variable for one in found["columns"].by_variable if one.alarm} == {"income"}
            assert found["columns"].worst is not None and found["columns"].worst.columns == ("tax_base",)


def test_of_many_coded_numbers_some_are_drawn(tmp_path: Path) -> None:
    data = register()
    table = scanned(data, tmp_path / "a", 3)
    with Engine("here"):
        made = protected_parts(TopBottomCoding(top={"income": 60_000.0}), table, np.random.default_rng(1))
        seen = at_hand_of_both(table, made, 4_000)
    number = int((data.columns["income"] > 60_000).sum())
    assert f": 200 of {number:,} with coded ends, " in design(seen).notes[0]


def test_a_copy_of_what_was_coded_goes_and_another_column_stays(tmp_path: Path) -> None:
    for told in (True, False):
        folder = tmp_path / str(told)
        data = register(told=told)
        scanned(data, folder / "register", 3)
        sfumato.write_schema(data, folder / "schema.toml")
        words = [
            "protect",
            folder / "register",
            "--on-undeclared",
            "accept",
            "--schema",
            folder / "schema.toml",
            "--engine",
            "here",
        ]
        words += ["--method", f"TopBottomCoding(top={{'income': {TOP}}})", "--sample", 400, "--seed", "12345678901"]
        done = run(*words, "--memory", "1 GB", "--out", folder / "out")
        assert done.exit_code == 0, done.output
        assert ("tax_base is left out, because it tells income" in done.output) == told
        assert "too few to tell" not in done.output
