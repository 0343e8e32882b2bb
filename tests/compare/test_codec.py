import math
import zlib
from datetime import date
from typing import Any

import numpy as np
import pytest
from compare_toys import Loss
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfumato.compare.store import MARK, Damaged, decode, encode
from sfumato.errors import ParameterError
from sfumato.measurement import Measurement

floats = st.floats(width=64)  # with NaN, infinities, -0.0 and the smallest
names = st.text(st.characters(), max_size=5)  # with lone surrogates, which a damaged file may bring
plain = st.one_of(names, st.integers(), floats, st.booleans(), st.none())
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
whole = st.builds(
    Measurement,
    measure=names,
    about=st.just(Loss.about),
    value=floats,
    parts=st.dictionaries(names, floats, max_size=3),
    by_variable=st.dictionaries(names, floats, max_size=3),
    by_pair=st.dictionaries(st.tuples(names, names), floats, max_size=3),
    by_record=st.none() | arrays(np.float64, st.integers(0, 20), elements=floats),
    tables=st.dictionaries(names, st.lists(st.dictionaries(names, values, max_size=4), max_size=4).map(tuple)),
    statement=names,
    notes=st.lists(names, max_size=3).map(tuple),
)
SAID = ("measure", "value", "parts", "by_variable", "by_pair", "tables", "statement", "notes")


def exact(value: Any) -> Any:
    """A form in which two things are equal only if types, bits and order are the same."""
    if isinstance(value, float):
        return "float", "nan" if math.isnan(value) else value.hex()
    if isinstance(value, dict):
        return "dict", [(exact(key), exact(entry)) for key, entry in value.items()]
    if isinstance(value, tuple):
        return "tuple", [exact(entry) for entry in value]
    return type(value).__name__, value


@given(whole)
@example(Measurement(measure="", about=Loss.about, value=-0.0, by_pair={("a", "b"): -0.0}))
def test_a_measurement_comes_back_exactly(found: Measurement) -> None:
    again = decode(encode(found), found.about)
    for name in SAID:
        assert exact(getattr(again, name)) == exact(getattr(found, name)), name
    assert again.about is found.about
    if found.by_record is None:
        assert again.by_record is None
    else:
        assert again.by_record is not None and again.by_record.dtype == np.float64
        assert again.by_record.tobytes() == found.by_record.tobytes()  # every bit, also of NaN
        again.by_record[:] = 0.0  # one's own copy


def test_numbers_of_numpy_come_back_as_python_s() -> None:
    row = {"a": np.float64(0.1), "b": np.int64(3), "c": np.bool_(True), "d": [np.float32(0.5), "x"], "e": np.str_("y")}
    found = Loss().measurement(1, tables={"t": (row,)})
    (again,) = decode(encode(found), Loss.about).tables["t"]
    assert exact(again) == exact({"a": 0.1, "b": 3, "c": True, "d": (0.5, "x"), "e": "y"})


def test_what_the_format_does_not_know_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"Loss\(\): its table 't' holds datetime.date\(2020, 1, 2\) of type date"):
        encode(Loss().measurement(1, tables={"t": ({"when": date(2020, 1, 2)},)}))
    with pytest.raises(ParameterError, match="the columns of its table 't' must be named by texts"):
        encode(Loss().measurement(1, tables={"t": ({1: 2},)}))


def test_bytes_that_are_no_measurement_are_told_as_such() -> None:
    content = encode(Loss().measurement(1, by_record=np.arange(3.0), tables={"t": ({"a": 1},)}))
    for cut in range(len(content)):
        with pytest.raises(Damaged):
            decode(content[:cut], Loss.about)
    body = zlib.decompress(content[len(MARK) :])
    for old, new in (
        (b'"value"', b'"valve"'),
        (b'"notes":[]', b'"notes":10'),
        (b'"records":3', b'"records":4'),
        (b'"names":[["a"]]', b'"names":[["a","b"]]'[:15]),
        (b'[0,1]', b'[7,1]'),
        (b'"parts":{}', b'"parts":17'),
        (b'"value":1.0', b'"value":"1"'),
        (b'"statement":""', b'"statement":{}'),
        (b'"measure":"Loss()"', b'"measure":[333333]'),
    ):  # fmt: skip
        assert old in body
        with pytest.raises(Damaged):
            decode(MARK + zlib.compress(body.replace(old, new)), Loss.about)
    with pytest.raises(Damaged, match="does not begin as a measurement of this version"):
        decode(content.replace(b"measurement 1", b"measurement 2"), Loss.about)
