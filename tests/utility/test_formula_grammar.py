"""A formula is data, not a program: what is no formula is refused before anything of it is evaluated."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import IntervalOverlap
from sfumato.errors import NotApplicable, ParameterError
from sfumato.utility.models.formula import Model, parse

GOOD = (
    "pay ~ age + C(region)",
    "np.log(pay) ~ age + I(age ** 2) + C(region, contr.treatment('b'))",
    "I(region == 'a') ~ age",
    "pay ~ (age + hours) ** 2",
    "pay ~ age * C(region) + center(age):hours",
    "pay ~ poly(age, 2) + bs(hours, df=4, degree=3)",
    "pay ~ np.where(age > 40, age - 40, 0) + np.maximum(hours, 10)",
    "pay ~ {age + 1}",
    "`net pay` ~ age + I(`net pay` ** 2) + I(region == 'a')",
    "pay ~ I((age > 30) & ~(hours < 20))",
)


@pytest.mark.parametrize("text", GOOD)
def test_what_statisticians_write_is_read_and_computed(text: str) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "pay": rng.lognormal(7, 0.5, 300),
            "age": rng.uniform(20, 60, 300),
            "hours": rng.uniform(5, 50, 300),
            "region": rng.choice(["a", "b", "c"], 300),
            "net pay": rng.normal(2, 1, 300),
        }
    )
    assert IntervalOverlap(text).evaluate(table, table).value == pytest.approx(0.95)  # of identical tables


def hostile(mark: Path) -> list[str]:
    write = f"open({str(mark)!r}, 'w')"
    return [
        f"y ~ I(x + {write}.write('x'))",
        f"y ~ I(x + __import__('pathlib').Path({str(mark)!r}).touch())",
        f"y ~ {{{write}}}",
        f"{write} ~ x",
        f"y ~ (lambda: {write})()",
        f"y ~ I((lambda q: {write})(x))",
        f"y ~ I([{write} for q in (1,)][0])",
        f"y ~ np.fromfile({str(mark)!r})",
        f"y ~ np.save({str(mark)!r}, x)",
        f"y ~ np.lib.format.open_memmap({str(mark)!r}, 'w+')",
        f"y ~ I(x.to_csv({str(mark)!r}))",
        "y ~ I(().__class__.__base__.__subclasses__())",
        "y ~ C(x, contr.treatment.__init__.__globals__['os'])",
        f"y ~ I(eval({write!r}))",
        f"y ~ I(f'{{{write}}}')",
        f"y ~ I((q := {write}))",
        f"y ~ I(np.log(**{{'x': {write}}}))",
        f"y ~ I(x if {write} else x)",
        f"y ~ I({write}[0])",
        f"y ~ {{x + ('`' == {write} or '`' == 0)}}",
        f"y ~ I(x + ('`' == {write} or '`' == 0))",
        f'y ~ I(x + ("`" == {write} or "`" == 0))',
        f"y ~ I(x + ('\\'`' == {write} or '`' == 0))",
        f"y ~ I(`x` + ('`' + str({write}) + '`'))",
        f"y ~ I(x) # ` + {write} + `",
        f"y ~ `open`({str(mark)!r}, 'w')",
        f"y ~ I('''`''' == {write} or '''`''' == 0)",
    ]


def test_no_text_runs_code(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    table = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "x": [1.0, 2.0, 3.0, 5.0]})
    for text in hostile(mark):
        with pytest.raises((ParameterError, NotApplicable)):
            IntervalOverlap(text).evaluate(table, table)
        assert not mark.exists(), text


@pytest.mark.parametrize(
    "text",
    [
        "y ~ I(9 ** 9 ** 9 ** 9)",
        "y ~ I('a' * 10 ** 9)",
        "y ~ I([x] * 10 ** 9)",
        "y ~ I(1 << 10 ** 9)",
        "y ~ (a + b) ** 1000000000",
        "y ~ (a + b) ** 10 ** 9",
        "y ~ " + " * ".join(f"x{i}" for i in range(30)),
        "y ~ (" + " + ".join(f"x{i}" for i in range(60)) + ") ** 9",
        "y ~ " + "(" * 3000 + "x" + ")" * 3000,
        "y ~ I(" + "-" * 4000 + "x)",
        "y ~ I(" + "abs(" * 300 + "x" + ")" * 300 + ")",
        "y ~ x" + " + x" * 5000,
        "y ~ bs(x, df=200000000)",
        "y ~ poly(x, 5000)",
    ],
)
def test_what_would_take_for_ever_or_nests_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Model(text)


def test_the_message_names_the_part_and_what_is_there() -> None:
    with pytest.raises(ParameterError, match=r"foo\(...\) is not part of a formula.*functions C, I, abs.*np.sqrt"):
        parse("y ~ foo(x)")


@given(st.text(alphabet="xy~+-*/:^|()[]{}`'\"1.,= np_IC<>&\\\n\0é", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ParameterError):
        parse(text)
