"""Hierarchies from and to files: ARX's as they are, the trees of sdcHierarchies and tau-ARGUS, JSON, TOML, schemas."""

import datetime as dt
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hierarchies import CUTS, ROWS, SPANS, WIDTHS
from sfumato import (
    FileError,
    GlobalRecoding,
    Hierarchy,
    NotApplicable,
    ParameterError,
    Schema,
    SchemaError,
    Variable,
    read,
    read_hierarchy,
    read_schema,
    write_hierarchy,
    write_schema,
)

# the shapes of the files that come with ARX: no header, semicolons, the value, then wider and wider, at last a star
ARX_AGE = "".join(
    f"{age};{low}-{low + 4};{low // 10 * 10}-{low // 10 * 10 + 9};{low // 20 * 20}-{low // 20 * 20 + 19};*\n"
    for age in range(1, 101)
    for low in [(age - 1) // 5 * 5]
)
ARX_ZIP = "".join(f"{z};{z[:4]}*;{z[:3]}**;{z[:2]}***;{z[0]}****;*\n" for z in map(str, range(81600, 81700)))
ARX_STAY = "".join(f"{days}.0;[1, 987[\n" for days in range(1, 50))
ARX_GENDER = "male;*\nfemale;*\n"
ARX_EDUCATION = "\n".join(
    [
        "Bachelors;Undergraduate;Higher education;*",
        "Some-college;Undergraduate;Higher education;*",
        "11th;High School;Secondary education;*",
        "Masters;Graduate;Higher education;*",
        "Preschool;Primary School;Primary education;*",
    ]
)


def put(folder: Path, text: str | bytes, name: str = "h.csv") -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "height", "row"),
    [
        (ARX_AGE, 4, ("27", "25-29", "20-29", "20-39", "*")),
        (ARX_ZIP, 5, ("81667", "8166*", "816**", "81***", "8****", "*")),
        (ARX_STAY, 1, ("7.0", "[1, 987[")),
        (ARX_GENDER, 1, ("female", "*")),
        ("1;[1, 2, 3]\n4;[4, 5, 6]\n", 1, ("4", "[4, 5, 6]")),
        (ARX_EDUCATION, 3, ("Masters", "Graduate", "Higher education", "*")),
    ],
)
def test_files_as_arx_has_them_are_read_as_they_are(tmp_path: Path, text: str, height: int, row: tuple[str]) -> None:
    for form in (text, text.replace("\n", "\r\n"), "\ufeff" + text, "\n" + text + "\n\n"):
        found = read_hierarchy(put(tmp_path, form))
        assert found.height == height and row in found.rows and len(found.rows) == text.strip().count("\n") + 1
    write_hierarchy(found, tmp_path / "again.csv")
    assert read_hierarchy(tmp_path / "again.csv") == found


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_other_delimiters_and_quotes_are_told(tmp_path: Path, delimiter: str) -> None:
    text = f'Aix{delimiter}"south; sea, sun"{delimiter}F\n"Li""lle"{delimiter}north{delimiter}F\n'
    assert read_hierarchy(put(tmp_path, text)).rows == (("Aix", "south; sea, sun", "F"), ('Li"lle', "north", "F"))


def test_an_age_by_arx_rows_and_a_postcode_go_through_a_table(tmp_path: Path) -> None:
    put(tmp_path, ARX_AGE, "age.csv")
    put(tmp_path, ARX_ZIP, "zip.csv")
    put(tmp_path, "age,zip\n34,81667\n66,81675\n,81667\n", "data.csv")
    schema = put(
        tmp_path,
        '[variables.age]\nkind = "numeric"\nhierarchy = "age.csv"\n'
        '[variables.zip]\nkind = "nominal"\nhierarchy = "zip.csv"\n',
        "schema.toml",
    )
    done = GlobalRecoding(level={"age": 2, "zip": 1}).protect(read(tmp_path / "data.csv", schema))
    frame = done.to_arrow()
    assert frame["age"].to_pylist() == ["30-39", "60-69", None]
    assert frame["zip"].to_pylist() == ["8166*", "8167*", "8166*"]
    put(tmp_path, "age,zip\n101,81667\n", "data.csv")
    with pytest.raises(NotApplicable, match=r"hierarchy of 'age' \(age\.csv\) lacks '101'; add a row for each value"):
        GlobalRecoding(level={"age": 1}).protect(read(tmp_path / "data.csv", schema))


SDC_TABLE = '"level";"name"\n"@";"Total"\n"@@";"A"\n"@@@";"a1"\n"@@@";"a2"\n"@@";"B"\n"@@@";"b1"\n"@@@@";"b1a"\n'
SDC_ROWS = (("a1", "a1", "A", "Total"), ("a2", "a2", "A", "Total"), ("b1a", "b1", "B", "Total"))
SDC_JSON = (
    '[{"id":"A","parent":"#","text":"A","state":{"opened":true,"disabled":false,"selected":false}},'
    '{"id":"B","parent":"#","text":"B"},{"id":"a1","parent":"A","text":"a1"},{"id":"a2","parent":"A","text":"a2"},'
    '{"id":"b1","parent":"B","text":"b1"},{"id":"b1a","parent":"b1","text":"b1a"}]'
)


def test_by_hand_the_trees_of_sdchierarchies_and_tau_argus(tmp_path: Path) -> None:
    starred = tuple((*row[:-1], "*") for row in SDC_ROWS)
    assert read_hierarchy(put(tmp_path, SDC_TABLE)).rows == SDC_ROWS
    assert read_hierarchy(put(tmp_path, SDC_TABLE.replace('"', "").partition("\n")[2])).rows == SDC_ROWS
    assert read_hierarchy(put(tmp_path, SDC_JSON, "h.json")).rows == starred
    typographic = SDC_JSON.replace('"id"', "\u201cid\u201d")
    assert read_hierarchy(put(tmp_path, typographic, "h.json")).rows == starred
    assert read_hierarchy(put(tmp_path, "A\r\n@   a1\r\n@   a2\r\nB\r\n@   b1\r\n@@ b1a\r\n", "h.hrc")).rows == starred


def test_json_and_toml_hold_every_form(tmp_path: Path) -> None:
    rows = (("Aix", "south", "F"), ("Lille", "north", "F"))
    for name, text, expected in [
        ("h.json", '{"Aix": ["south", "F"], "Lille": ["north", "F"]}', Hierarchy(rows=rows)),
        ("h.json", '[["Aix", "south", "F"], ["Lille", "north", "F"]]', Hierarchy(rows=rows)),
        ("h.json", "[5, 10]", Hierarchy(widths=(5, 10))),
        ("h.json", '{"widths": [5, null], "start": 1}', Hierarchy(widths=(5, np.inf), start=1)),
        ("h.toml", 'Aix = ["south", "F"]\nLille = ["north", "F"]', Hierarchy(rows=rows)),
        ("h.toml", "widths = [5, inf]", Hierarchy(widths=(5, np.inf))),
        ("h.toml", 'cuts = [[18, 65], [65]]\nnames = ["a", "b"]', Hierarchy(cuts=((18, 65), (65,)), names=("a", "b"))),
    ]:
        assert read_hierarchy(put(tmp_path, text, name)) == expected
    days = Hierarchy(rows=((dt.date(2021, 3, 1), "2021"),))
    write_hierarchy(days, tmp_path / "days.toml")
    assert read_hierarchy(tmp_path / "days.toml") == days
    write_hierarchy(days, tmp_path / "days.json")
    assert read_hierarchy(tmp_path / "days.json") == days
    with pytest.raises(ParameterError, match=r"no rows but cuts, widths or spans; write \.json or \.toml"):
        write_hierarchy(Hierarchy(widths=(5,)), tmp_path / "h.csv")
    with pytest.raises(FileError, match=r"'\.xlsx'; a hierarchy is written to \.csv"):
        write_hierarchy(days, tmp_path / "days.xlsx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "h.csv is empty; a hierarchy has a row for each category"),
        ("  \n", "h.csv is empty"),
        ("Aix south F\n", "line 1: there is one column only, 'Aix south F'; .* parted by semicolons"),
        ("Aix:south\nNice:south\n", "line 1: there is one column only, 'Aix:south'"),
        ("Aix;s;F\n\nNice;s\n", "line 3: it has 2 entries and line 1 has 3; .* repeat one at the levels"),
        ("Aix;s;F\nNice;;F\n", "line 2: level 1 is empty; name the group"),
        ("Aix;s;F\nNice;s;F\nAix;n;F\n", "line 3: 'Aix' stands in line 1 already; keep one of them"),
        ("Aix;s;F\nNice;s;I\n", "line 2: 's' of level 1 is part of 'F' in line 1 and of 'I' here"),
        ('Aix;"s\nNice;s\n', "h.csv: line 1: .*; check its quotes"),
        ("Aix;s\nM\xfcnchen;s\n".encode("latin-1"), "is not UTF-8: line 2 holds the byte 0xfc; save it as UTF-8"),
        ("@;T\n@@;A\n@@@@;a\n", "line 3: 'a' stands 4 deep and what is above it 2; a step down is one @ more"),
        ("@@;T\n@@@;A\n", "line 1: 'T' stands 2 deep"),
        ("@;T\n@@;A\n@;U\n", "line 3: 'U' is a second top"),
        ("@;T\n@@;A\n@@;A\n", "line 3: 'A' stands in line 2 already"),
        ("@;T\n@@;A\n@@@;T\n", "line 3: 'T' is part of itself"),
        ("@;T\n@@;\n", "line 2: there is no name after the @"),
    ],
)
def test_files_that_hold_no_hierarchy_are_refused_with_the_line_and_the_cure(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        read_hierarchy(put(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h.json", '{"a": ["x"],\n "b" ["y"]}', "line 2: it is not valid JSON"),
        ("h.json", '[{"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}]', "entry 1: 'a' comes back to 'a'"),
        ("h.json", '[{"id": "a", "parent": "b"}]', "'b', the parent of 'a', has no entry; add one"),
        ("h.json", '[{"id": "a", "parent": "#"}, {"id": "a", "parent": "#"}]', "entry 2: 'a' stands there already"),
        ("h.json", '[{"id": "a"}]', 'entry 1 needs an "id" and a "parent"'),
        ("h.json", '{"widths": [5], "begin": 3}', "'begin' is not known in a hierarchy"),
        ("h.json", '{"rows": [1, 2]}', "rows of a hierarchy must be a list of lists"),
        ("h.json", '"age"', "a hierarchy is a dict from each category"),
        ("h.toml", "widths = [5, 12]", "12 is none of 5"),
        ("h.toml", "widths = 5,", "is not valid TOML"),
    ],
)
def test_json_and_toml_that_hold_no_hierarchy_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_hierarchy(put(tmp_path, text, name))


def test_a_schema_names_a_file_or_holds_the_hierarchy_and_gives_either_back(tmp_path: Path) -> None:
    put(tmp_path, ARX_GENDER, "sex.csv")
    (tmp_path / "other").mkdir()
    said = (
        '[variables.sex]\nkind = "nominal"\nhierarchy = "sex.csv"\n'
        '[variables.age]\nkind = "numeric"\nhierarchy = [5, 10]\n'
        '[variables.pay]\nkind = "numeric"\nhierarchy = [[1000, 2000], [2000]]\n'
        '[variables.town]\nkind = "nominal"\nhierarchy = {Aix = ["south"], Lille = ["north"]}\n'
    )
    schema = read_schema(put(tmp_path, said, "schema.toml"))
    assert schema["age"].hierarchy == Hierarchy(widths=(5, 10))
    assert schema["pay"].hierarchy == Hierarchy(cuts=((1000, 2000), (2000,)))
    assert schema["town"].hierarchy == Hierarchy(rows=(("Aix", "south"), ("Lille", "north")))
    for place, reference in ((tmp_path / "again.toml", "sex.csv"), (tmp_path / "other" / "s.toml", "../sex.csv")):
        write_schema(schema, place)
        assert f'hierarchy = "{reference}"' in place.read_text(encoding="utf-8") and read_schema(place) == schema
    (tmp_path / "sex.csv").unlink()
    with pytest.raises(FileError, match=r"variable 'sex': hierarchy: cannot read .*sex\.csv: there is no such file"):
        read_schema(tmp_path / "schema.toml")
    put(tmp_path, "male;x;1\nfemale;x;2\n", "sex.csv")
    with pytest.raises(
        SchemaError, match=r"schema\.toml: variable 'sex': hierarchy: .*sex\.csv, line 2: 'x' of level 1"
    ):
        read_schema(tmp_path / "schema.toml")
    with pytest.raises(SchemaError, match="variable 'age': hierarchy must be a Hierarchy"):
        Variable("age", hierarchy=[5, 10])  # type: ignore[arg-type]


@given(st.one_of(ROWS, CUTS, WIDTHS, SPANS), st.sampled_from(["json", "toml"]))
def test_any_hierarchy_comes_back_from_json_toml_and_a_schema(hierarchy: Hierarchy, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"h.{suffix}"
        write_hierarchy(hierarchy, path)
        assert read_hierarchy(path) == hierarchy
        schema = Schema((Variable("x", kind="nominal", hierarchy=hierarchy),))
        write_schema(schema, Path(folder) / "schema.toml")
        assert read_schema(Path(folder) / "schema.toml") == schema


@given(ROWS, st.sampled_from(["csv", "tsv", "txt"]))
def test_any_rows_come_back_from_arxs_format_as_text(hierarchy: Hierarchy, suffix: str) -> None:
    assume(not all(str(row[0]).startswith("@") for row in hierarchy.rows))  # a tree
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"h.{suffix}"
        write_hierarchy(hierarchy, path)
        assert read_hierarchy(path).rows == tuple(tuple(str(cell) for cell in row) for row in hierarchy.rows)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,[0; 5[,*\n2,[0; 5[,*\n", (("1", "[0; 5[", "*"), ("2", "[0; 5[", "*"))),
        ("1,[0; 5[\n2,[0; 5[\n", (("1", "[0; 5["), ("2", "[0; 5["))),
        ("34;[30, 40[\n45;[40, 50[\n", (("34", "[30, 40["), ("45", "[40, 50["))),
        ("Nice ; south;France\nAix; south;France\n", (("Nice", "south", "France"), ("Aix", "south", "France"))),
        ('"Nice ";"so, uth"\n"Aix";"so, uth"\n', (("Nice ", "so, uth"), ("Aix", "so, uth"))),
    ],
)
def test_separators_inside_labels_and_spaces_outside_them(
    tmp_path: Path, text: str, rows: tuple[tuple[str, ...], ...]
) -> None:
    assert read_hierarchy(put(tmp_path, text)).rows == rows


def test_two_separators_that_part_rows_alike_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"';' and ',' both part all rows into 2 columns, .*double quotes"):
        read_hierarchy(put(tmp_path, "Aix;south, France\nBonn;west, Germany\n"))


def test_what_nests_too_deeply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="nests too deeply"):
        read_hierarchy(put(tmp_path, "[" * 100_000 + "]" * 100_000, "deep.json"))
