"""Numbers near the ends of what a float holds: a figure, a note, or a refusal that names the variable."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato import catalogue
from sfumato.core import Measure, Method
from sfumato.errors import NotApplicable, SfumatoError
from sfumato.table.microdata import Microdata
from sfumato.utility import EigenvalueLoss
from test_contract import example

N = 60
RNG = np.random.default_rng(0)
BASE, OTHER, THIRD = RNG.normal(size=(3, N))
TABLES: dict[str, dict[str, Any]] = {
    "near the largest": {"a": BASE * 2e307, "b": OTHER * 1e307, "c": THIRD},
    "both ends": {"a": np.where(BASE > 0, 1.7e308, -1.7e308), "b": OTHER, "c": BASE},
    "squares overflow": {"a": BASE * 1e160, "b": OTHER * 1e155, "c": THIRD},
    "denormal": {"a": BASE * 1e-310, "b": OTHER * 1e-308, "c": THIRD},
    "squares vanish": {"a": BASE * 1e-170, "b": OTHER * 1e-160, "c": THIRD},
    "one of them": {"a": np.where(np.arange(N) == 0, 1.7e308, BASE), "b": OTHER, "c": BASE * 5e-324},
}


def table(kind: str) -> Microdata:
    return Microdata.from_frame(pa.table({**TABLES[kind], "g": np.where(THIRD > 0, "x", "y")}))


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("cls", [pytest.param(cls, id=name) for name, cls in sorted(catalogue.measures().items())])
def test_a_measure_gives_a_figure_a_note_or_a_reason(cls: type[Measure], kind: str) -> None:
    data = table(kind)
    protected = data.replace({"a": data.columns["a"][::-1]})
    try:
        found = cls().evaluate(data, protected, rng=0)  # warnings are errors
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal)
        return
    if np.isnan(found.value):
        assert found.notes
    else:
        assert np.isfinite(found.value)
        assert cls.about.range[0] - 1e-9 <= found.value <= cls.about.range[1] + 1e-9


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("cls", [pytest.param(cls, id=name) for name, cls in sorted(catalogue.methods().items())])
def test_a_method_gives_numbers_or_a_reason(cls: type[Method], kind: str) -> None:
    data = table(kind)
    try:
        protected = example(cls).protect(data, rng=0)
    except SfumatoError as refusal:
        assert cls.__name__ in str(refusal) or "the new values of 'a' are too large" in str(refusal)
        return
    for name in protected.schema.analysed("numeric"):
        assert not np.isinf(protected.columns[name]).any()


def test_the_reason_names_the_variable_and_what_to_do() -> None:
    data = table("squares overflow")
    with pytest.raises(NotApplicable, match=r"EigenvalueLoss: the values of 'a' reach .*e\+160, too large .*rescale"):
        EigenvalueLoss().evaluate(data, data)
