"""A table small enough to count by hand, opened on a desk."""

from pathlib import Path

from pages import Bench

from sfumato.workbench.desk import Desk

# town, sex, age: who is alone, by hand
#   (A, f) 3 records, (A, m) 1, (B, f) 2, (C, m) 2
PEOPLE = """town,sex,age,grade
A,f,20,low
A,f,21,low
A,f,34,middle
A,m,35,middle
B,f,36,high
B,f,50,high
C,m,51,top
C,m,80,top
"""
SCHEMA = """[variables.town]
kind = "nominal"
role = "key"

[variables.sex]
kind = "nominal"
role = "key"

[variables.age]
kind = "numeric"
role = "other"

[variables.grade]
kind = "ordinal"
role = "other"
categories = ["low", "middle", "high", "top"]
"""
TOWN, SEX, AGE, GRADE = range(4)
HOSTILE = """</script><script>alert(1)</script>"""


def people(folder: Path, text: str = PEOPLE, schema: str = SCHEMA) -> Bench:
    """Open the table and take it as it is read."""
    bench = Bench(Desk(folder))
    (bench.desk.folder / "people.csv").write_text(text)
    (bench.desk.folder / "schema.toml").write_text(schema)
    assert bench.post("open", "choose", name="people.csv").status_code == 200
    assert bench.post("open", "confirm").status_code == 200
    assert bench.draft.confirmed
    return bench


def hostile(folder: Path) -> Bench:
    """Open a table whose names and values try to break the page."""
    name = HOSTILE.replace('"', "'")
    long = "x" * 300
    lines = [f'"{name}",{long},"na""me\'s",größe'] + [f'"<b>{i % 3}</b>",{i % 2},"a""{i % 4}",{i}' for i in range(40)]
    bench = Bench(Desk(folder))
    (bench.desk.folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    bench.post("open", "choose", name="people.csv")
    bench.post("open", "confirm")
    return bench
