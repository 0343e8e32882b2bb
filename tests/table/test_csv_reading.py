"""Delimited text in: every dialect of the field, and clear words for what is no table."""

from pathlib import Path
from typing import Any

import pytest

from sfumato.errors import DataError, FileError, ParameterError
from sfumato.table.files import read, write
from sfumato.table.schema import Schema, Variable


def values(path: Path, text: str | bytes, name: str = "table.csv", **options: Any) -> dict[str, list[Any]]:
    file = path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    found: dict[str, list[Any]] = read(file, **options).to_frame().to_pydict()
    return found


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told_from_the_first_lines(tmp_path: Path, delimiter: str) -> None:
    text = f'age{delimiter}name{delimiter}x\n31{delimiter}"Ann; Lee, jr | x"{delimiter}2\n40{delimiter}Bo{delimiter}3\n'
    assert values(tmp_path, text) == {"age": [31, 40], "name": ["Ann; Lee, jr | x", "Bo"], "x": [2, 3]}


def test_commas_in_a_header_of_semicolons(tmp_path: Path) -> None:
    assert values(tmp_path, "income, total;age\n1,5;30\n2,25;40\n") == {"income, total": [1.5, 2.25], "age": [30, 40]}


def test_a_tsv_is_split_at_tabs_only(tmp_path: Path) -> None:
    assert values(tmp_path, "a,b\n1,x\n", "t.tsv") == {"a,b": ["1,x"]}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_quoted_text_may_hold_anything(tmp_path: Path, newline: str) -> None:
    text = newline.join(['a,"b ""q"""', '"line\nbreak, and ""quote""",1', "plain,2", ""])
    assert values(tmp_path, text) == {"a": ['line\nbreak, and "quote"', "plain"], 'b "q"': [1, 2]}


def test_a_name_over_two_lines_and_spaces_around_names(tmp_path: Path) -> None:
    assert values(tmp_path, '\n\n "x" , y \n1,2\n'.replace(' "x" ', '"net\nincome "')) == {"net\nincome": [1], "y": [2]}


def test_byte_order_mark_and_blank_lines(tmp_path: Path) -> None:
    assert values(tmp_path, b"\xef\xbb\xbfa,b\n\n1,\xc3\xa9\n\n2,x\n\n\n") == {"a": [1, 2], "b": ["é", "x"]}


def test_a_delimiter_at_the_end_of_each_line_is_no_column(tmp_path: Path) -> None:
    assert values(tmp_path, "a,b,\n1,2,\n3,4,\n") == {"a": [1, 3], "b": [2, 4]}
    assert values(tmp_path, "a,b\n1,2,\n3,4,\n") == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(DataError, match="column 3 has no name"):
        values(tmp_path, "a,b,\n1,2,\n3,4,5\n")
    with pytest.raises(FileError, match="line 3 has 3 fields, but the header has 2 names"):
        values(tmp_path, "a,b\n1,2,\n3,4,5\n")


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "NaN", "nan", "null", "NULL", ".", " NA ", '""', '"NA"'])
def test_markers_of_missing_values(tmp_path: Path, marker: str) -> None:
    found = values(tmp_path, f"whole,part,text\n1,1.5,x\n{marker},{marker},{marker}\n3,2.5,y\n")
    assert found == {"whole": [1, None, 3], "part": [1.5, None, 2.5], "text": ["x", None, "y"]}


def test_own_markers_replace_the_list(tmp_path: Path) -> None:
    found = values(tmp_path, "country,income\nNA,1\nDE,-\n", missing=["-"])
    assert found == {"country": ["NA", "DE"], "income": [1, None]}
    assert values(tmp_path, "x\n1\nnan\n", missing=[""]) == {"x": ["1", "nan"]}


def test_whole_numbers_stay_whole_and_identifiers_exact(tmp_path: Path) -> None:
    text = "small,wide,wider,zip,part,signed,hexed\n" + "1,9007199254740993,123456789012345678901,00123,1.50,+5,0x10\n"
    text += "2,-9007199254740993,2,99999,2e3,-5,0x11\n"
    assert values(tmp_path, text) == {
        "small": [1, 2],
        "wide": [2**53 + 1, -(2**53) - 1],
        "wider": ["123456789012345678901", "2"],
        "zip": ["00123", "99999"],
        "part": [1.5, 2000.0],
        "signed": [5.0, -5.0],
        "hexed": ["0x10", "0x11"],
    }


def test_kinds_of_wide_numbers(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"id,x\n{2**53 + 1},{2**53}\n1,2\n")
    assert [variable.kind for variable in read(file).schema] == ["nominal", "numeric"]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(tmp_path: Path, delimiter: str) -> None:
    text = "a;b;c\n1234,5;1;x,y\n-0,25;2;z\n;3;\n".replace(";", delimiter)
    assert values(tmp_path, text) == {"a": [1234.5, -0.25, None], "b": [1, 2, 3], "c": ["x,y", "z", None]}


def test_what_the_decimal_sign_leaves_open_is_asked(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"'a' has decimal commas and variable 'b' decimal points; say decimal="):
        values(tmp_path, "a;b\n1,5;2.5\n")
    assert values(tmp_path, "a;b\n1,5;2.5\n", decimal=",") == {"a": [1.5], "b": ["2.5"]}
    assert values(tmp_path, "a;b\n1,5;2.5\n", decimal=".") == {"a": ["1,5"], "b": [2.5]}
    with pytest.raises(FileError, match=r"'1,234' in variable 'a' may be 1\.234 or 1234"):
        values(tmp_path, "a\tb\n1,234\t1\n12\t2\n")
    assert values(tmp_path, "a;b\n1,234;1\n", decimal=",") == {"a": [1.234], "b": [1]}
    assert values(tmp_path, "a;b\n1,234;0,5\n") == {"a": [1.234], "b": [0.5]}


def test_thousands_separators_are_text(tmp_path: Path) -> None:
    assert values(tmp_path, 'a,b\n"1,234",1\n"5,678,901",2\n') == {"a": ["1,234", "5,678,901"], "b": [1, 2]}
    assert values(tmp_path, "a;b\n1.234,5;0,5\n2.345.678,9;1,5\n")["a"] == ["1.234,5", "2.345.678,9"]


def test_decimal_commas_inside_quotes_on_request(tmp_path: Path) -> None:
    assert values(tmp_path, 'a,b\n"1,5",1\n"2,5",2\n', decimal=",") == {"a": [1.5, 2.5], "b": [1, 2]}


def test_a_text_in_a_numeric_variable_is_named(tmp_path: Path) -> None:
    schema = Schema((Variable("income"),))
    with pytest.raises(DataError, match=r"t\.csv: variable 'income' is numeric, but row 3 holds the text 'lots'"):
        values(tmp_path, "income,b\n1.5,1\n2,2\nlots,3\n", "t.csv", schema=schema)
    with pytest.raises(DataError, match=r"row 2 holds the text 'lots' \(and 1 more row the like\)"):
        values(tmp_path, "income;b\n1,5;1\nlots;2\nmany;2\n", schema=schema)
    assert values(tmp_path, "income;b\n1,5;1\n007;2\n", schema=schema)["income"] == [1.5, 7.0]


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    for text in ("inf", "-Infinity", "1e999"):
        with pytest.raises(DataError, match=r"1 infinite value \(first in row 2"):
            values(tmp_path, f"x,y\n1.5,1\n{text},2\n")


def test_encodings_are_named_not_guessed(tmp_path: Path) -> None:
    latin = "name,x\nAnn,1\nRené,2\n".encode("latin-1")
    with pytest.raises(FileError, match=r"not UTF-8: line 3 holds the byte 0xe9 \(byte 17 of the file\); name its enc"):
        values(tmp_path, latin)
    assert values(tmp_path, latin, encoding="latin-1")["name"] == ["Ann", "René"]
    with pytest.raises(FileError, match="encoding='utf-16'"):
        values(tmp_path, "a,b\n1,é\n".encode("utf-16"))
    assert values(tmp_path, "a,b\n1,é\n".encode("utf-16"), encoding="utf-16") == {"a": [1], "b": ["é"]}
    with pytest.raises(FileError, match="no encoding 'klingon'"):
        values(tmp_path, latin, encoding="klingon")
    with pytest.raises(FileError, match="name another encoding"):
        values(tmp_path, latin, encoding="ascii")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\ufeff", "is empty"),
        (" \n\n", "is empty"),
        ("a,b\n", "has a header but no records"),
        ("a,b", "has a header but no records"),
        ("a,b\n1,2\n3\n", "line 3 has 1 field, but the header has 2 names"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4 has 3 fields"),
        ('a,b\n"x\ny",2\n1,2,3\n', "line 4 has 3 fields"),
        ('"a\nb",c\n1,2\n1\n', "line 4 has 1 field"),
        ("a;b\n1;2\n3;4;5\n", r"delimiter ';'"),
        ('a,b\n1,"2\n3,4\n', "a quote opened in the record of line 2 is never closed"),
        ('"a,b\n1,2\n', "a quote opened in the header is never closed"),
        ('a,"say ""no""%,b\n1,2,3\n', "a quote opened in the header is never closed"),  # a doubled quote closes nothing
    ],
)
def test_files_that_are_no_table(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        values(tmp_path, text)


def test_rows_that_differ_far_down(tmp_path: Path) -> None:
    lines = ["a,b"] + ["1,2"] * 100_000 + ["1"] + ["1,2"] * 10
    with pytest.raises(FileError, match="line 100002 has 1 field"):
        values(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,a\n1,2,3\n", "columns 1, 3 have the same name 'a'"),
        ("a,a \n1,2\n", "columns 1, 2 have the same name 'a'"),
        (",a,,b\n1,2,3,4\n", "column 3 has no name"),
        (",\n1,2\n", "column 1 has no name"),
        ("a," + "x" * 200_000 + "\n1,2\n", "a name in the header has more than 131,072 characters"),
        ("a,\n1,2\n", "column 2 has no name"),
    ],
)
def test_headers_that_do_not_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises((DataError, FileError), match=message):
        values(tmp_path, text)


def test_options_that_cannot_be(tmp_path: Path) -> None:
    for options in ({"delimiter": "::"}, {"decimal": ";"}, {"missing": "NA"}, {"missing": [1]}):
        with pytest.raises(ParameterError, match="read: "):
            values(tmp_path, "a\n1\n", **options)


def test_one_record_one_column_and_all_missing(tmp_path: Path) -> None:
    assert values(tmp_path, "a\n1") == {"a": [1]}
    assert values(tmp_path, "a,b\n1,\n2,NA\n") == {"a": [1, 2], "b": [None, None]}


def test_a_long_file_is_read_in_order(tmp_path: Path) -> None:
    rows = range(200_000)
    found = values(tmp_path, "i;x\n" + "".join(f"{i};{i / 4}\n".replace(".", ",") for i in rows))
    assert found["i"] == list(rows)
    assert found["x"] == [i / 4 for i in rows]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ('size 5",w', ['size 5"', "w"]),
        ('w,size 5"', ["w", 'size 5"']),
        ('a"b"c,w', ['a"b"c', "w"]),
        ('"size 5""",w', ['size 5"', "w"]),
        ('"a\nb",w', ["a\nb", "w"]),
        ('w,"a,""b"",\nc"', ["w", 'a,"b",\nc']),
    ],
)
def test_a_quote_inside_a_name_swallows_no_record(header: str, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n1,2\n3,4\n5,6\n", newline="")
    found = read(path)
    assert list(found.names) == names and len(found) == 3
    write(found, tmp_path / "back.csv")
    assert list(read(tmp_path / "back.csv").names) == names


def test_a_quote_that_opens_a_name_and_is_never_closed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('w,"size\n1,2\n3,4\n')
    with pytest.raises(FileError, match="never closed"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32-le", "utf-8"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(encoding: str, tmp_path: Path) -> None:
    path, back = tmp_path / "t.csv", tmp_path / "back.csv"
    content = ("\ufeff" if encoding != "utf-16" else "") + "a;b\n1;é\n2;x\n"
    path.write_bytes(content.encode(encoding))
    found = read(path, encoding=encoding)
    assert found.names == ("a", "b")
    write(found, back)
    assert back.read_bytes() == path.read_bytes()
