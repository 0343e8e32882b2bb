"""Tables for which nothing can be composed, and bounds that so few records cannot keep: each ends with a verdict."""

from pathlib import Path

import pyarrow as pa
import pytest

import sfumato
from sfumato.compare.candidates import as_it_is, compose
from sfumato.report.summary import Summary
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

BOUND = {"Reidentification": 0.05}


def swept(folder: Path, text: str, keys: tuple[str, ...]) -> tuple[Summary, list[str]]:
    (folder / "t.csv").write_text(text)
    names = text.partition("\n")[0].split(",")
    roles = {name: "key" if name in keys else "other" for name in names}
    (folder / "s.toml").write_text("".join(f'[variables.{name}]\nrole = "{role}"\n' for name, role in roles.items()))
    told: list[str] = []
    summary = sfumato.sweep(
        folder / "t.csv",
        folder / "s.toml",
        at_most=BOUND,
        out=folder / "o",
        tell=told.append,
        workers=1,
        replicates=1,
        bootstrap=False,
    )
    return summary, told


def test_a_file_whose_original_keeps_the_bound_goes_out_as_it_is(tmp_path: Path) -> None:
    # one key of two values, a number: 2 classes among 60 records, of which 2 / 60 = 3.3 % are found
    text = "member,amount\n" + "".join(f"{i % 2},{100 + i * i % 37}\n" for i in range(60))
    summary, told = swept(tmp_path, text, ("member",))
    assert summary.verdict.publish is True and summary.chosen is not None
    assert summary.chosen.label == "VariableRemoval()"
    assert any("the original keeps the bound" in line for line in told)
    said = next(line for line in told if line.startswith("nothing could be composed"))
    assert "the table has 60 records, and no method that is composed by itself masks member" in said
    assert "No key stays: member removed" in said and "The table as it is" in said
    released = sfumato.read(next((tmp_path / "o" / "release").glob("*.csv")))
    assert sorted(released.columns["amount"].tolist()) == sorted(100 + i * i % 37 for i in range(60))


def test_keys_of_zeros_and_ones_are_left_out_if_nothing_else_helps(tmp_path: Path) -> None:
    # five such keys tell all 25 records apart: without any key 1 in 25 is found, 4 %
    bits = [[(i >> place) & 1 for place in range(5)] for i in range(25)]
    text = "a,b,c,d,e,town\n" + "".join(f"{','.join(map(str, row))},t{i % 3}\n" for i, row in enumerate(bits))
    summary, _ = swept(tmp_path, text, ("a", "b", "c", "d", "e"))
    assert summary.verdict.publish is True and summary.chosen is not None
    assert summary.chosen.figures[summary.risk or ""].value <= 0.05


def test_a_table_of_one_row_is_told_that_no_way_keeps_the_bound(tmp_path: Path) -> None:
    summary, told = swept(tmp_path, "age,town,amount\n34,Ulm,7\n", ("age", "town"))
    assert summary.verdict.publish is False
    assert any("the table has 1 record, and age, town have one value each" in line for line in told)
    assert "No way to protect it keeps this bound: the table has 1 record" in " ".join(summary.verdict.advice)
    assert "--breadth" not in " ".join(summary.verdict.advice)


def test_fewer_records_than_the_bound_asks_for_are_told_of(tmp_path: Path) -> None:
    # of 12 records a guess finds 1 in 12, 8.3 %, with no key at all
    text = "age,sex,amount\n" + "".join(f"{20 + i},{'fm'[i % 2]},{i}\n" for i in range(12))
    summary, _ = swept(tmp_path, text, ("age", "sex"))
    assert summary.verdict.publish is False
    said = " ".join(summary.verdict.advice)
    assert "8.333 % is the lowest" in said and "by guessing alone" in said and "a chance of 8.33" in said


@pytest.mark.parametrize(("records", "offered"), [(30, True), (300, False)])
def test_no_key_at_all_is_offered_where_one_key_alone_tells_too_much(records: int, offered: bool) -> None:
    # of 30 records no more than 0.85 x 5 % x 30 = 1.3 classes may show, so no key of two values; of 300 there may be 12
    columns = {"sex": ["f", "m", "m"] * (records // 3), "town": ["a", "b"] * (records // 2), "x": [1.0] * records}
    data = Microdata.from_frame(
        pa.table(columns), Schema((Variable("sex", "nominal", "key"), Variable("town", "nominal", "key")))
    )
    found = [one.method for one in compose(data, [sfumato.Reidentification()], BOUND)]
    steps = [step for method in found for step in getattr(method, "steps", (method,))]
    assert (sfumato.VariableRemoval(variables=("sex", "town")) in steps) is offered


@pytest.mark.parametrize("others", [(), ("amount",)])
def test_what_fits_any_table_leaves_something(others: tuple[str, ...]) -> None:
    columns = {"age": [1.0, 2.0], **{name: [3.0, 4.0] for name in others}}
    schema = Schema((Variable("age", role="key"), *map(Variable, others)))
    found = [one.method for one in as_it_is(Microdata.from_frame(pa.table(columns), schema))]
    removed = [sfumato.VariableRemoval(variables=("age",))] if others else []
    assert found == [*removed, sfumato.VariableRemoval()]
